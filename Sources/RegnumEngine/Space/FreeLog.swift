// SPDX-License-Identifier: Apache-2.0
// The record of free space in the file. A commit writes either the space that it freed and took (a delta), or all free
// space (a snapshot), which frees the chain of logs before it. It writes a snapshot whenever that fits into a page,
// otherwise at every 64th commit or when the deltas have grown to 64 KiB. Opening reads one snapshot and at most 64
// deltas.
//
//   offset size  meaning
//        0   32  block header
//       32    1  1 = snapshot, 0 = delta
//       33    7  zero
//       40    8  number of the commit
//       48    8  high-water mark after it
//       56   40  ref of the free log before it (none for a snapshot)
//       96    4  freed entries
//      100    4  taken extents (0 for a snapshot)
//      104  32f  freed: page (8), page count (8), birth (8), death (8); a free extent has birth = death = 0
//        …  16t  taken: page (8), page count (8)

import RegnumSystem

package enum FreeLog {
    private static let headByteCount = 104
    package static let deltasPerSnapshot = 64
    package static let deltaByteLimit = 65536

    package struct Record: Equatable {
        package var isSnapshot: Bool
        package var version: UInt64
        package var highWater: UInt64
        package var previous: BlockRef
        package var freed: [PendingExtent]
        package var taken: [Extent]
        package init(
            isSnapshot: Bool, version: UInt64, highWater: UInt64, previous: BlockRef, freed: [PendingExtent],
            taken: [Extent]
        ) {
            self.isSnapshot = isSnapshot
            self.version = version
            self.highWater = highWater
            self.previous = previous
            self.freed = freed
            self.taken = taken
        }
    }

    package static func byteCount(freed: Int, taken: Int) -> Int { headByteCount + freed * 32 + taken * 16 }

    /// Fills a block of `room` bytes, which the record must not exceed. `previous` must be committed.
    package static func write(_ record: Record, to p: UnsafeMutableRawPointer, room: Int) {
        precondition(
            byteCount(freed: record.freed.count, taken: record.taken.count) <= room, "a free log outgrows its block")
        p.storeBytes(of: record.isSnapshot ? 1 : 0, toByteOffset: 32, as: UInt8.self)
        p.storeBytes(of: record.version, toByteOffset: 40, as: UInt64.self)
        p.storeBytes(of: record.highWater, toByteOffset: 48, as: UInt64.self)
        record.previous.write(to: p + 56)
        p.storeBytes(of: UInt32(record.freed.count), toByteOffset: 96, as: UInt32.self)
        p.storeBytes(of: UInt32(record.taken.count), toByteOffset: 100, as: UInt32.self)
        var at = headByteCount
        for entry in record.freed {
            p.storeBytes(of: entry.extent.page, toByteOffset: at, as: UInt64.self)
            p.storeBytes(of: UInt64(entry.extent.pageCount), toByteOffset: at + 8, as: UInt64.self)
            p.storeBytes(of: entry.birth, toByteOffset: at + 16, as: UInt64.self)
            p.storeBytes(of: entry.death, toByteOffset: at + 24, as: UInt64.self)
            at += 32
        }
        for extent in record.taken {
            p.storeBytes(of: extent.page, toByteOffset: at, as: UInt64.self)
            p.storeBytes(of: UInt64(extent.pageCount), toByteOffset: at + 8, as: UInt64.self)
            at += 16
        }
    }

    package static func read(_ ref: BlockRef, _ p: UnsafeRawPointer) throws(EngineError) -> Record {
        guard ref.kind == BlockKind.freeLog.rawValue else {
            throw corrupted("the free log is a block of another kind", page: ref.page)
        }
        let freedCount = Int(p.load(fromByteOffset: 96, as: UInt32.self))
        let takenCount = Int(p.load(fromByteOffset: 100, as: UInt32.self))
        guard freedCount <= ref.byteCount / 32, takenCount <= ref.byteCount / 16,
            byteCount(freed: freedCount, taken: takenCount) <= ref.byteCount
        else { throw corrupted("a free log is longer than its block", page: ref.page) }
        func extent(_ at: Int) throws(EngineError) -> Extent {
            let page = p.load(fromByteOffset: at, as: UInt64.self)
            let count = p.load(fromByteOffset: at + 8, as: UInt64.self)
            guard page >= FormatLimits.reservedPages, page < 1 << 47, count >= 1, count < 1 << 32 else {
                throw corrupted("a free log names impossible pages", page: ref.page)
            }
            return Extent(page: page, pageCount: Int(count))
        }
        var record = Record(
            isSnapshot: p.load(fromByteOffset: 32, as: UInt8.self) == 1,
            version: p.load(fromByteOffset: 40, as: UInt64.self),
            highWater: p.load(fromByteOffset: 48, as: UInt64.self), previous: BlockRef(reading: p + 56), freed: [],
            taken: [])
        var at = headByteCount
        for _ in 0..<freedCount {
            record.freed.append(
                PendingExtent(
                    extent: try extent(at), birth: p.load(fromByteOffset: at + 16, as: UInt64.self),
                    death: p.load(fromByteOffset: at + 24, as: UInt64.self)))
            at += 32
        }
        for _ in 0..<takenCount {
            record.taken.append(try extent(at))
            at += 16
        }
        return record
    }
}

/// Free space together with the chain of blocks that records it. Owned by the holder of the writer lock.
package struct RecordedSpace: Sendable {
    package var free: FreeSpace
    /// Newest first; the last one is a snapshot.
    package var chain: [BlockRef]
    package var deltaByteCount: Int
    /// The kept versions, whose pages are neither free nor pending; nil if the file keeps none.
    package internal(set) var history: History?

    package init(free: FreeSpace, chain: [BlockRef] = [], deltaByteCount: Int = 0) {
        self.free = free
        self.chain = chain
        self.deltaByteCount = deltaByteCount
    }

    /// The number of snapshot entries that fit into one page.
    private static let pageEntries = 120

    /// True if the next commit, which frees `freed` extents, should write a snapshot: when the chain has grown long,
    /// and whenever the snapshot fits into a page. In the second case no log outlives its commit, everything that a
    /// commit wrote is free again as a whole two commits later, and small commits keep finding one contiguous run.
    package func wantsSnapshot(freed: Int) -> Bool {
        if chain.isEmpty || chain.count > FreeLog.deltasPerSnapshot || deltaByteCount > FreeLog.deltaByteLimit {
            return true
        }
        let known = freed + chain.count + free.pending.count
        return known < Self.pageEntries && known + free.countFreeExtents(upTo: Self.pageEntries) < Self.pageEntries
    }

    /// If the next commit, which frees `freed`, should write a snapshot: adds the chain, which it frees too, and returns
    /// true.
    func addChain(to freed: inout [PendingExtent], death: UInt64) -> Bool {
        guard wantsSnapshot(freed: freed.count) else { return false }
        freed += Database.extents(chain, death: death)
        return true
    }

    /// Records that a commit has written `record` to the block `log`.
    mutating func note(_ record: FreeLog.Record, at log: BlockRef) {
        chain = record.isSnapshot ? [log] : [log] + chain
        deltaByteCount =
            record.isSnapshot
            ? 0 : deltaByteCount + FreeLog.byteCount(freed: record.freed.count, taken: record.taken.count)
    }

    /// Gives the blocks of the history the pages that the commit has placed them at. Returns the ref of its head.
    mutating func historyRef(_ sealer: Sealer) -> BlockRef {
        history?.place(sealer)
        return history?.head.ref ?? .none
    }

    /// Reads the state of the space at `version`, with the pages that are kept for older versions. Of these, `known` is
    /// not read again; see `History.load`.
    package static func load(
        _ version: Version, _ reader: BlockReader, reserving reserved: [PendingExtent] = [],
        reusing known: History? = nil
    ) throws(EngineError) -> RecordedSpace {
        var space = try load(version.freeLog, highWater: version.highWater, reader, reserving: reserved)
        if !version.history.isNone {
            space.history = try History.load(
                version.history, of: version.number, highWater: version.highWater, reader, reusing: known)
        }
        return space
    }

    /// Reads the state that the free log `newest` describes. The extents in `reserved` override it: they are pending,
    /// and recorded with the next commit.
    package static func load(
        _ newest: BlockRef, highWater: UInt64, _ reader: BlockReader, reserving reserved: [PendingExtent] = []
    ) throws(EngineError) -> RecordedSpace {
        var records: [FreeLog.Record] = []
        var chain: [BlockRef] = []
        var ref = newest
        while !ref.isNone {
            guard chain.count <= FreeLog.deltasPerSnapshot * 4 else {
                throw corrupted("the free log has no end", page: ref.page)
            }
            let record = try FreeLog.read(ref, try reader.bytes(ref))
            chain.append(ref)
            records.append(record)
            if record.isSnapshot { break }
            ref = record.previous
        }
        guard let oldest = records.last, oldest.isSnapshot else {
            throw corrupted("the free log has no snapshot", page: newest.page)
        }
        var space = RecordedSpace(free: FreeSpace(highWater: highWater), chain: chain)
        var pending: [PendingExtent] = []
        for record in records.reversed() {
            try space.free.take(record.taken, below: highWater, outOf: &pending, newest)
            try space.free.release(record.freed, below: highWater, &pending)
            // Pages that the commit removed at the end of the file are no longer free; they are new when allocated
            // again.
            if record.highWater < highWater {
                let tail = Extent(page: record.highWater, pageCount: Int(highWater - record.highWater))
                Self.remove([tail], from: &pending)
                space.free.cut(to: record.highWater)
                space.free.raise(to: highWater)
            }
            if !record.isSnapshot {
                space.deltaByteCount += FreeLog.byteCount(freed: record.freed.count, taken: record.taken.count)
            }
        }
        guard records[0].highWater == highWater, space.free.highWater == highWater else {
            throw corrupted("the free log and the commit disagree", page: newest.page)
        }
        for entry in reserved.sorted(by: { $0.extent.page < $1.extent.page }) {
            // Pages that the abandoned commit skipped at the end of the file, or spilled and dropped.
            let end = space.free.highWater
            Self.remove([entry.extent], from: &pending)
            try space.free.take(entry.extent)
            if entry.extent.page > end {
                try space.free.release(Extent(page: end, pageCount: Int(entry.extent.page - end)))
            }
            pending.append(entry)
            Self.sort(&pending)
            // The next commit must write a snapshot: a delta cannot express this.
            space.deltaByteCount = FreeLog.deltaByteLimit + 1
        }
        try Self.requireDisjoint(pending)
        for entry in pending { space.free.addPending(entry) }
        return space
    }
}

extension RecordedSpace {
    /// Throws if two pending extents overlap.
    private static func requireDisjoint(_ pending: [PendingExtent]) throws(EngineError) {
        let extents = pending.map(\.extent).sorted { $0.page < $1.page }
        for (extent, next) in zip(extents, extents.dropFirst()) where extent.end > next.page {
            throw corrupted("a page is free twice", page: next.page)
        }
    }

    /// Sorts by page, as `remove` requires.
    fileprivate static func sort(_ pending: inout [PendingExtent]) { pending.sort { $0.extent.page < $1.extent.page } }

    /// Cuts `extents`, sorted and disjoint, out of `pending`, which is sorted too. Linear in both: a hostile log may
    /// have a hundred thousand of each.
    fileprivate static func remove(_ extents: [Extent], from pending: inout [PendingExtent]) {
        guard !extents.isEmpty, !pending.isEmpty else { return }
        var cut: [PendingExtent] = []
        cut.reserveCapacity(pending.count)
        var first = 0
        for entry in pending {
            while first < extents.count, extents[first].end <= entry.extent.page { first += 1 }
            // Keep the parts of the entry before, between and after the extents.
            var page = entry.extent.page
            var next = first
            while next < extents.count, extents[next].page < entry.extent.end {
                cut.append(entry.part(page, extents[next].page))
                page = extents[next].end
                next += 1
            }
            cut.append(entry.part(page, entry.extent.end))
        }
        pending = cut.filter { $0.extent.pageCount > 0 }
    }
}

extension PendingExtent {
    /// Its pages from `page` up to `end` (exclusive); empty if there are none.
    fileprivate func part(_ page: UInt64, _ end: UInt64) -> PendingExtent {
        PendingExtent(
            extent: Extent(page: page, pageCount: page < end ? Int(end - page) : 0), birth: birth, death: death)
    }
}

extension FreeSpace {
    /// Applies the pages below `limit` that a recorded commit freed: they become free immediately, or pending. Throws
    /// if more pages are pending than exist.
    fileprivate mutating func release(
        _ freed: [PendingExtent], below limit: UInt64, _ pending: inout [PendingExtent]
    ) throws(EngineError) {
        var pendingPages = pending.reduce(0) { $0 + $1.extent.pageCount }
        for entry in freed {
            guard let extent = entry.extent.below(limit) else { continue }
            if entry.death == 0 {
                try release(extent)
                continue
            }
            pendingPages += extent.pageCount
            guard pendingPages <= limit else { throw corrupted("a page is free twice", page: extent.page) }
            pending.append(PendingExtent(extent: extent, birth: entry.birth, death: entry.death))
        }
        if !freed.isEmpty { RecordedSpace.sort(&pending) }
    }

    /// Applies the pages below `limit` that a recorded commit took. They may have been pending when it was recorded.
    fileprivate mutating func take(
        _ taken: [Extent], below limit: UInt64, outOf pending: inout [PendingExtent], _ log: BlockRef
    ) throws(EngineError) {
        var extents: [Extent] = []
        var pages = 0
        for extent in taken {
            guard let extent = extent.below(limit) else { continue }
            pages += extent.pageCount
            guard pages <= limit else { throw corrupted("a free log takes pages outside the file", page: log.page) }
            try take(extent)
            extents.append(extent)
        }
        RecordedSpace.remove(Self.joined(extents), from: &pending)
    }
}

extension Extent {
    /// The part below `limit`; nil if there is none. Earlier commits of a log may have had a longer file.
    fileprivate func below(_ limit: UInt64) -> Extent? {
        if end <= limit { return self }
        return page < limit ? Extent(page: page, pageCount: Int(limit - page)) : nil
    }
}
