// SPDX-License-Identifier: Apache-2.0
// The blocks of a backed-up version: where each is in the file, what it contains, and which pack has it. The map is
// divided into segments of 1,024 pages, which are stored on their own, so that a backup stores only those that it
// changes.
//
//   segment   u32 packs · per pack: name (u64 token, digest, u32 byte count) · u32 blocks · per block, by page:
//             u64 page · u32 pages · u64 birth · 2 u64 tag of its ref · u8 kind · digest of its bytes in the file ·
//             u32 number of its pack · u32 offset in the pack

internal import RegnumEngine

struct BlockRecord: Hashable, Sendable {
    var page: UInt64
    var pageCount: UInt32
    var birth: UInt64
    var tag: SIMD2<UInt64>
    var kind: UInt8
    var digest: Digest
    var pack: PackName
    var offset: UInt32

    init(_ ref: BlockRef, digest: Digest, pack: PackName, offset: UInt32) {
        page = ref.page
        pageCount = UInt32(ref.pageCount)
        birth = ref.birth
        tag = SIMD2(ref.tagLow, ref.tagHigh)
        kind = ref.kind
        self.digest = digest
        self.pack = pack
        self.offset = offset
    }

    var byteCount: Int { Int(pageCount) << 12 }
    /// Its bytes in the pack.
    var range: Range<Int> { Int(offset)..<Int(offset) + byteCount }
    var end: UInt64 { page + UInt64(pageCount) }
    var extent: Extent { Extent(page: page, pageCount: Int(pageCount)) }

    /// A ref to the block, without what a parent keeps about its content.
    var ref: BlockRef {
        BlockRef(
            location: page << 16 | UInt64(pageCount - 1), birth: birth, tagLow: tag.x, tagHigh: tag.y,
            info: UInt64(kind) << 56)
    }

    /// The bytes at its place in a part of the pack that begins at `start`; nil if the part ends sooner.
    func bytes(in part: [UInt8], from start: Int = 0) -> [UInt8]? {
        let own = range.lowerBound - start..<range.upperBound - start
        return own.lowerBound >= 0 && own.upperBound <= part.count ? Array(part[own]) : nil
    }

    /// True if `ref` names this block: such a ref has equal content, and so has everything that it refers to.
    func isNamed(by ref: BlockRef) -> Bool {
        page == ref.page && Int(pageCount) == ref.pageCount && birth == ref.birth
            && tag == SIMD2(ref.tagLow, ref.tagHigh)
    }
}

struct PageMap: Sendable {
    static let pagesPerSegment: UInt64 = 1024

    /// The blocks that begin in each segment, by page.
    private(set) var segments: [[BlockRecord]] = []

    init() {}

    init(segments: [[BlockRecord]]) { self.segments = segments }

    /// Makes the map of some blocks, which do not overlap.
    init(_ records: [BlockRecord]) {
        for record in records.sorted(by: { $0.page < $1.page }) {
            let number = Int(record.page / Self.pagesPerSegment)
            while segments.count <= number { segments.append([]) }
            segments[number].append(record)
        }
    }

    var records: [BlockRecord] { segments.flatMap { $0 } }

    /// Returns the block that begins at a page.
    func record(at page: UInt64) -> BlockRecord? {
        let number = Int(page / Self.pagesPerSegment)
        guard number < segments.count else { return nil }
        let segment = segments[number]
        var low = 0
        var high = segment.count
        while low < high {
            let middle = (low + high) / 2
            if segment[middle].page < page { low = middle + 1 } else { high = middle }
        }
        return low < segment.count && segment[low].page == page ? segment[low] : nil
    }

    /// Returns the block that a ref names; nil if the map does not have it.
    func record(of ref: BlockRef) -> BlockRecord? {
        guard let found = record(at: ref.page), found.isNamed(by: ref) else { return nil }
        return found
    }

    // MARK: Bytes

    static func bytes(ofSegment records: [BlockRecord]) -> [UInt8] {
        var packs: [PackName] = []
        var numbers: [PackName: UInt32] = [:]
        for record in records where numbers[record.pack] == nil {
            numbers[record.pack] = UInt32(packs.count)
            packs.append(record.pack)
        }
        var writer = ObjectWriter()
        writer.integer(UInt32(packs.count))
        for pack in packs { writer.pack(pack) }
        writer.integer(UInt32(records.count))
        for record in records {
            writer.integer(record.page)
            writer.integer(record.pageCount)
            for value in [record.birth, record.tag.x, record.tag.y] { writer.integer(value) }
            writer.integer(record.kind)
            writer.digest(record.digest)
            writer.integer(numbers[record.pack] ?? 0)
            writer.integer(record.offset)
        }
        return writer.bytes
    }

    /// Reads segment `number`, whose digest has been compared.
    static func segment(_ bytes: [UInt8], number: Int) throws -> [BlockRecord] {
        var reader = ObjectReader(bytes)
        var packs: [PackName] = []
        for _ in 0..<(try reader.count(of: 28)) { packs.append(try reader.pack()) }
        var records: [BlockRecord] = []
        let count = try reader.count(of: 61)
        records.reserveCapacity(count)
        var next: UInt64 = 0
        for _ in 0..<count {
            let page = try reader.integer(UInt64.self)
            let pageCount = try reader.integer(UInt32.self)
            let birth = try reader.integer(UInt64.self)
            let tag = SIMD2(try reader.integer(UInt64.self), try reader.integer(UInt64.self))
            let kind = try reader.integer(UInt8.self)
            let digest = try reader.digest()
            let pack = Int(try reader.integer(UInt32.self))
            let offset = try reader.integer(UInt32.self)
            guard page >= next, page / pagesPerSegment == UInt64(number), page >= FormatLimits.reservedPages,
                (1...65536).contains(pageCount), pack < packs.count,
                Int(offset) + Int(pageCount) << 12 <= Int(packs[pack].byteCount)
            else { throw BackupError.damaged("a page map has impossible numbers") }
            next = page + UInt64(pageCount)
            let ref = BlockRef(
                location: page << 16 | UInt64(pageCount - 1), birth: birth, tagLow: tag.x, tagHigh: tag.y,
                info: UInt64(kind) << 56)
            records.append(BlockRecord(ref, digest: digest, pack: packs[pack], offset: offset))
        }
        return records
    }
}
