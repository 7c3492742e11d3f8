// SPDX-License-Identifier: Apache-2.0
// The record of the older versions that a file keeps readable, in files with the feature "history". Each commit writes
// a head; the commit slot refers to it. When the records in the head become long, they move to a chunk, whose ref is in
// the directory. So a commit writes a few KB, however many versions are kept.
//
//   every block, after the block header (all integers little endian, packed)
//     u8 form (1 head, 2 chunk, 3 directory) · 7 bytes zero
//   head
//     i64 time of the commit, in microseconds since 1970 · i64 microseconds for which versions are kept · u64 bytes
//     that they may take · u64 number of the oldest kept version (of the commit itself if none is kept) · ref of the
//     directory (none: no chunks) · u32 records · the records
//   chunk
//     u32 records · the records
//   directory
//     u32 chunks · per chunk, oldest first: u64 number of its last version · ref
//   record of a kept version, oldest first
//     u64 number · i64 time · ref of its catalog · u64 high-water mark · u32 blocks that the next commit freed · per
//     block: u64 location as in a ref · u64 birth
//
// A kept version needs its catalog and all that it leads to. Its blocks are those of the newest version, and the freed
// blocks of its own record and of later ones. The pages of freed blocks in records are neither free nor pending. When a
// version is no longer kept, the blocks of its record become pending: no older version is kept that needs them.
//
// Records below the oldest kept version are ignored; chunks that hold only such records are freed, and their refs in
// the directory must not be followed.

import RegnumSystem

/// How long a file keeps older versions readable, and how much space they may take.
package struct HistoryLimits: Sendable, Hashable {
    /// Microseconds from the next commit on, for which a version is kept.
    package var age: Int64
    /// Bytes that only kept versions need, with the record of them.
    package var byteCount: Int
    package init(age: Int64, byteCount: Int) {
        self.age = max(age, 0)
        self.byteCount = max(byteCount, 0)
    }
}

/// An older version that the file keeps readable.
package struct KeptVersion: Sendable, Equatable {
    package var number: UInt64
    /// When it was committed, in microseconds since 1970.
    package var time: Int64
    package var catalog: BlockRef
    var highWater: UInt64
    /// The blocks that the next commit freed.
    var freed: [FreedBlock] = []

    /// A block that the newest version no longer needs.
    struct FreedBlock: Sendable, Equatable {
        var location: UInt64
        var birth: UInt64

        init(_ ref: BlockRef) { (location, birth) = (ref.location, ref.birth) }
        init(location: UInt64, birth: UInt64) { (self.location, self.birth) = (location, birth) }

        var extent: Extent { Extent(page: location >> 16, pageCount: Int(location & 0xffff) + 1) }
    }

    var byteCount: Int { 68 + 16 * freed.count }
    var heldPages: Int { freed.reduce(0) { $0 + $1.extent.pageCount } }
}

/// The head of a version's history, with the directory, but without the records in chunks.
package struct HistoryHead: Sendable {
    enum Form: UInt8 { case head = 1, chunk, directory }

    struct Chunk: Sendable {
        /// The number of the last version in it.
        var last: UInt64
        var ref: BlockRef
    }

    package var limits: HistoryLimits
    /// When the version itself was committed.
    package var time: Int64
    /// The number of the oldest kept version; of the version itself if none is kept.
    package var oldest: UInt64
    var ref = BlockRef.none
    var directory = BlockRef.none
    /// The chunks with records of kept versions, oldest first.
    var chunks: [Chunk] = []
    /// The newest kept versions, oldest first: those that are in no chunk.
    var records: [KeptVersion] = []

    /// Reads the head that version `number` refers to, and its directory.
    static func read(_ ref: BlockRef, of number: UInt64, _ reader: BlockReader) throws(EngineError) -> HistoryHead {
        var input = try Self.input(ref, .head, reader)
        var head = HistoryHead(limits: HistoryLimits(age: 0, byteCount: 0), time: 0, oldest: 0, ref: ref)
        head.time = try input.integer(Int64.self)
        let age = try input.integer(Int64.self)
        head.limits = HistoryLimits(age: age, byteCount: Int(clamping: try input.integer(UInt64.self)))
        head.oldest = try input.integer(UInt64.self)
        guard head.oldest <= number else { throw corrupted("a history keeps versions of the future", page: ref.page) }
        head.directory = try input.ref()
        head.records = try records(&input, from: head.oldest, below: number, ref)
        guard !head.directory.isNone else { return head }
        var list = try Self.input(head.directory, .directory, reader)
        let count = Int(try list.integer(UInt32.self))
        try list.require(count, of: 8 + BlockRef.byteCount)
        var before: UInt64 = 0
        for _ in 0..<count {
            let chunk = Chunk(last: try list.integer(UInt64.self), ref: try list.ref())
            guard chunk.last > before, chunk.last < (head.records.first?.number ?? number) else {
                throw corrupted("the chunks of a history are not in order", page: head.directory.page)
            }
            before = chunk.last
            if chunk.last >= head.oldest { head.chunks.append(chunk) }
        }
        return head
    }

    /// Reads the records of kept versions in a chunk.
    func records(of chunk: Chunk, _ reader: BlockReader) throws(EngineError) -> [KeptVersion] {
        var input = try Self.input(chunk.ref, .chunk, reader)
        let found = try Self.records(&input, from: oldest, below: chunk.last + 1, chunk.ref)
        guard found.last?.number == chunk.last else {
            throw corrupted("a chunk of a history ends with another version", page: chunk.ref.page)
        }
        return found
    }

    private static func input(
        _ ref: BlockRef, _ form: Form, _ reader: BlockReader
    ) throws(EngineError) -> ByteReader {
        guard ref.kind == BlockKind.history.rawValue else {
            throw corrupted("a history is a block of another kind", page: ref.page)
        }
        var input = ByteReader(
            try reader.bytes(ref), from: BlockHeader.byteCount, to: ref.byteCount, page: ref.page)
        guard try input.integer(UInt64.self) == UInt64(form.rawValue) else {
            throw corrupted("a block of a history has another form", page: ref.page)
        }
        return input
    }

    /// Reads records, which must ascend and be below `end`. Leaves out those of versions before `oldest`.
    private static func records(
        _ input: inout ByteReader, from oldest: UInt64, below end: UInt64, _ ref: BlockRef
    ) throws(EngineError) -> [KeptVersion] {
        let count = Int(try input.integer(UInt32.self))
        try input.require(count, of: 68)
        var found: [KeptVersion] = []
        var before: UInt64 = 0
        for _ in 0..<count {
            var version = KeptVersion(
                number: try input.integer(UInt64.self), time: try input.integer(Int64.self),
                catalog: try input.ref(), highWater: try input.integer(UInt64.self))
            guard version.number > before, version.number < end, version.catalog.birth <= version.number,
                version.highWater < 1 << 47
            else { throw corrupted("the versions of a history are not in order", page: ref.page) }
            before = version.number
            let blocks = Int(try input.integer(UInt32.self))
            try input.require(blocks, of: 16)
            version.freed.reserveCapacity(blocks)
            for _ in 0..<blocks {
                let block = KeptVersion.FreedBlock(
                    location: try input.integer(UInt64.self), birth: try input.integer(UInt64.self))
                guard block.location >> 63 == 0, block.extent.page >= FormatLimits.reservedPages,
                    block.birth <= version.number
                else { throw corrupted("a history names impossible blocks", page: ref.page) }
                version.freed.append(block)
            }
            if version.number >= oldest { found.append(version) }
        }
        return found
    }

    // MARK: Looking up versions

    /// Calls `body` with the kept versions from `number` on, oldest first, until it returns false.
    package func visit(
        from number: UInt64, _ reader: BlockReader, _ body: (KeptVersion) throws(EngineError) -> Bool
    ) throws(EngineError) {
        for chunk in chunks where chunk.last >= number {
            for version in try records(of: chunk, reader) where version.number >= number {
                guard try body(version) else { return }
            }
        }
        for version in records where version.number >= number {
            guard try body(version) else { return }
        }
    }

    /// Returns the kept version with that number, or nil. Reads at most one chunk.
    package func version(_ number: UInt64, _ reader: BlockReader) throws(EngineError) -> KeptVersion? {
        if number < oldest { return nil }
        if let chunk = chunks.first(where: { $0.last >= number }) {
            return try records(of: chunk, reader).first { $0.number == number }
        }
        return records.first { $0.number == number }
    }
}

extension ByteWriter {
    mutating func records(_ versions: some Collection<KeptVersion>) {
        integer(UInt32(versions.count))
        for version in versions {
            integer(version.number)
            integer(version.time)
            ref(version.catalog)
            integer(version.highWater)
            integer(UInt32(version.freed.count))
            for block in version.freed {
                integer(block.location)
                integer(block.birth)
            }
        }
    }
}
