// SPDX-License-Identifier: Apache-2.0
// Reads the objects of a repository and compares them with their hashes, falling back to their copies. Keeps the
// segments of page maps that were read last, which consecutive backups share. Confined to one thread.

internal import RegnumEngine

final class ObjectAccess {
    private static let keptSegments = 4096
    /// Blocks of a pack are read together if no more bytes than this are between them.
    private static let longestGap = 64 << 10

    let store: any BackupStore
    let hasher: Hasher128
    private var segments: [Manifest.Segment: [BlockRecord]] = [:]
    /// Map objects that were read to get the segments of one map.
    private var maps: [PackName: [UInt8]] = [:]

    init(_ store: any BackupStore, _ hasher: Hasher128) {
        self.store = store
        self.hasher = hasher
    }

    // MARK: Maps

    /// Returns the page map of a backup. Throws `.damaged`. `step` is called before each segment.
    func map(_ manifest: Manifest, step: () throws -> Void = {}) throws -> PageMap {
        defer { maps = [:] }
        var found: [[BlockRecord]] = []
        for (number, segment) in manifest.segments.enumerated() {
            try step()
            found.append(try segment.map { try records($0, number) } ?? [])
        }
        return PageMap(segments: found)
    }

    /// Calls `body` with each segment of a page map that is not in `seen`, and its blocks. Adds them to `seen`. Throws
    /// `.damaged`.
    func visitSegments(
        _ manifest: Manifest, except seen: inout Set<Manifest.Segment>,
        _ body: (Manifest.Segment, [BlockRecord]) throws -> Void
    ) throws {
        defer { maps = [:] }
        for (number, segment) in manifest.segments.enumerated() {
            guard let segment, !seen.contains(segment) else { continue }
            try body(segment, try records(segment, number))
            seen.insert(segment)
        }
    }

    private func records(_ segment: Manifest.Segment, _ number: Int) throws -> [BlockRecord] {
        if let known = segments[segment] { return known }
        for name in [segment.object.mapName, ObjectName.copies + segment.object.mapName] {
            guard let bytes = try part(segment, name), hasher.digest(bytes) == segment.digest else { continue }
            let records = try PageMap.segment(bytes, number: number)
            keep(records, segment)
            return records
        }
        throw BackupError.damaged("the page map '\(segment.object.mapName)' and its copy cannot be read")
    }

    func keep(_ records: [BlockRecord], _ segment: Manifest.Segment) {
        if segments.count >= Self.keptSegments { segments.removeAll(keepingCapacity: true) }
        segments[segment] = records
    }

    private func part(_ segment: Manifest.Segment, _ name: String) throws -> [UInt8]? {
        let isCopy = name.hasPrefix(ObjectName.copies)
        let kept = isCopy ? nil : maps[segment.object]
        guard let bytes = try kept ?? store.get(name) else { return nil }
        if !isCopy { maps[segment.object] = bytes }
        let end = Int(segment.offset) + Int(segment.byteCount)
        return end <= bytes.count ? Array(bytes[Int(segment.offset)..<end]) : nil
    }

    // MARK: Packs

    /// Calls `body` with the bytes of each block, all of which are in one pack, in the order of their offsets, after
    /// comparing them with their digests. Calls `lost` with a block whose bytes neither the pack nor its copies have.
    func read(
        _ records: [BlockRecord], in pack: PackName, lost: (BlockRecord) throws -> Void,
        _ body: (BlockRecord, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var copies: [[UInt8]?] = []
        for part in Self.parts(records, of: pack) {
            // The whole pack, unless most of it is not needed.
            let isWhole = part.range == 0..<Int(pack.byteCount)
            let bytes = try isWhole ? store.get(pack.packName) : store.get(pack.packName, range: part.range)
            for record in part.records {
                if try deliver(record, bytes, from: part.range.lowerBound, body) { continue }
                var isFound = false
                for (number, prefix) in [ObjectName.copies, ObjectName.healing].enumerated() where !isFound {
                    if copies.count == number { copies.append(try store.get(prefix + pack.packName)) }
                    isFound = try deliver(record, copies[number], from: 0, body)
                }
                if !isFound { try lost(record) }
            }
        }
    }

    /// The ranges of a pack to read, ascending, with the blocks in each.
    private static func parts(
        _ records: [BlockRecord], of pack: PackName
    ) -> [(range: Range<Int>, records: [BlockRecord])] {
        let wanted = records.reduce(0) { $0 + $1.byteCount }
        let ordered = records.sorted { $0.offset < $1.offset }
        if wanted * 2 >= Int(pack.byteCount) { return [(0..<Int(pack.byteCount), ordered)] }
        var parts: [(range: Range<Int>, records: [BlockRecord])] = []
        for record in ordered {
            let range = record.range
            if let last = parts.last, range.lowerBound - last.range.upperBound <= longestGap {
                let end = max(last.range.upperBound, range.upperBound)
                parts[parts.count - 1].range = last.range.lowerBound..<end
                parts[parts.count - 1].records.append(record)
            } else {
                parts.append((range, [record]))
            }
        }
        return parts
    }

    /// Returns false if `bytes`, which begin at `start` in the pack, do not have those of the block.
    private func deliver(
        _ record: BlockRecord, _ bytes: [UInt8]?, from start: Int,
        _ body: (BlockRecord, UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        guard let bytes, let part = record.bytes(in: bytes, from: start), hasher.digest(part) == record.digest else {
            return false
        }
        try part.withUnsafeBytes { try body(record, $0) }
        return true
    }
}
