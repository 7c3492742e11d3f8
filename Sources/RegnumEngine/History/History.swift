// SPDX-License-Identifier: Apache-2.0
// The kept versions of a file in memory, as a writer maintains them: each commit appends the version that it was built
// on, and drops versions from the oldest on. `HistoryLayout.swift` has the layout in the file.
//
// Versions are dropped strictly from the oldest on, so that a freed block belongs to one record: that of the last kept
// version that needs it. Dropping a version costs only the blocks of its record. A commit drops versions while the
// limits are exceeded, but not many more blocks or pages than it adds, so that no commit pays for a whole history at
// once.

import RegnumSystem

/// Owned by the holder of the writer lock, as part of `RecordedSpace`.
package struct History: Sendable {
    /// A commit drops this number of blocks, or four times as many as it adds.
    private static let leastDropped = 1024
    /// If it adds many pages in few blocks, it drops twice as many pages, in about this number of blocks at most.
    private static let mostDropped = 1 << 18
    /// Bytes of records in the head, at least, before they move to a chunk.
    private static let headByteCount = 2048

    /// Its `records` are unused: those are in `all`.
    private(set) var head: HistoryHead
    /// The kept versions are those from `first` on, oldest first.
    private var all: [KeptVersion] = []
    private var first = 0
    /// A commit drops more blocks than this only if they belong to one version: the free log of a commit, and the
    /// record of a version, hold about 8 million. Less in tests.
    var blockLimit = 1 << 22
    /// Where the versions begin that are in no chunk.
    private var firstInHead = 0
    /// Pages of freed blocks that only kept versions need.
    private(set) var heldPages = 0
    /// Pages of the chunks: each commit needs the sum, and there may be thousands.
    private var chunkPages = 0
    /// The number of versions that `load` has taken from a known history instead of reading them.
    private(set) var knownCount = 0

    package var versions: ArraySlice<KeptVersion> { all[first...] }
    /// Those that `load` has read.
    var versionsRead: ArraySlice<KeptVersion> { all[max(first, knownCount)...] }

    /// The history of a file that keeps nothing yet.
    init(_ limits: HistoryLimits) { head = HistoryHead(limits: limits, time: 0, oldest: 0) }

    /// Reads the history of version `number`, whose blocks are below `highWater`. Chunks of `known`, the history of an
    /// earlier version whose blocks are below `highWater` too, are not read again: a writer that follows the commits of
    /// another process does not read all kept versions for each of them.
    static func load(
        _ ref: BlockRef, of number: UInt64, highWater: UInt64, _ reader: BlockReader, reusing known: History? = nil
    ) throws(EngineError) -> History {
        let head = try HistoryHead.read(ref, of: number, reader)
        var history = History(head.limits)
        history.head = head
        history.chunkPages = head.chunks.reduce(0) { $0 + $1.ref.pageCount }
        let reused = history.take(from: known)
        for chunk in head.chunks[reused...] { history.all += try head.records(of: chunk, reader) }
        history.firstInHead = history.all.count
        history.all += head.records
        history.head.records = []
        var before = history.all[..<history.knownCount].last?.number ?? 0
        for version in history.all[history.knownCount...] {
            guard version.number > before else { throw corrupted("the versions of a history are not in order") }
            before = version.number
            for block in version.freed {
                guard block.extent.end <= highWater else {
                    throw corrupted("a history names blocks outside the file", page: block.extent.page)
                }
                history.heldPages += block.extent.pageCount
            }
            guard UInt64(history.heldPages) <= highWater else { throw corrupted("a history holds a page twice") }
        }
        return history
    }

    /// Takes over the kept versions in those of the first chunks that are chunks of `known` too. Returns the number of
    /// these chunks.
    private mutating func take(from known: History?) -> Int {
        guard let known, !head.chunks.isEmpty, known.versions.first?.number ?? .max <= head.oldest,
            let start = known.head.chunks.firstIndex(where: { $0.ref == head.chunks[0].ref })
        else { return 0 }
        let pairs = zip(head.chunks, known.head.chunks[start...])
        let count = pairs.prefix { $0.ref == $1.ref && $0.last == $1.last }.count
        guard count > 0 else { return 0 }
        let last = head.chunks[count - 1].last
        // A chunk ends with the version that the directory names, and begins after the one before it.
        let versions = known.versions.drop { $0.number < head.oldest }.prefix { $0.number <= last }
        guard versions.last?.number == last else { return 0 }
        all = Array(versions)
        knownCount = all.count
        heldPages = all.reduce(0) { $0 + $1.heldPages }
        return count
    }

    /// The blocks of the record itself.
    var blocks: [BlockRef] { [head.ref, head.directory].filter { !$0.isNone } + head.chunks.map(\.ref) }

    /// Bytes that only kept versions need, with the record of them.
    package var byteCount: Int { (heldPages + recordPages) << 12 }

    private var recordPages: Int {
        [head.ref, head.directory].reduce(chunkPages) { $1.isNone ? $0 : $0 + $1.pageCount }
    }

    // MARK: A commit

    mutating func setLimits(_ limits: HistoryLimits) { head.limits = limits }

    /// Appends the version that a commit is built on; `freed` are the blocks that the commit frees.
    mutating func append(_ version: Version, freed: [BlockRef]) {
        let kept = KeptVersion(
            number: version.number, time: head.time, catalog: version.catalog, highWater: version.highWater,
            freed: freed.map { KeptVersion.FreedBlock($0) })
        all.append(kept)
        heldPages += kept.heldPages
    }

    /// Drops the oldest versions while the limits are exceeded at `now`, the time of the commit. Returns the blocks
    /// that no version needs any longer.
    mutating func prune(now: Int64) -> [KeptVersion.FreedBlock] {
        let limit = max(4 * (all.last?.freed.count ?? 0), Self.leastDropped)
        let pageLimit = 2 * (all.last?.heldPages ?? 0)
        let recordPages = recordPages
        var dropped: [KeptVersion.FreedBlock] = []
        var droppedPages = 0
        while first < all.count {
            let isLarge = (heldPages + recordPages) << 12 > head.limits.byteCount
            guard dropped.count < limit || isLarge && droppedPages < pageLimit && dropped.count < Self.mostDropped
            else { break }
            guard isLarge || isFirstOld(now) else { break }
            guard dropped.isEmpty || dropped.count + all[first].freed.count <= blockLimit else { break }
            let pages = all[first].heldPages
            heldPages -= pages
            droppedPages += pages
            dropped += all[first].freed
            all[first].freed = []
            first += 1
        }
        if first > 64, first > all.count / 2 {
            all.removeFirst(first)
            firstInHead = max(firstInHead - first, 0)
            knownCount = max(knownCount - first, 0)
            first = 0
        }
        firstInHead = max(firstInHead, first)
        return dropped
    }

    /// True if the time is over for which the oldest version is kept. It is needed to show the past until the next
    /// commit. If the clock was set back since then, the first commit after that counts: otherwise the version, and all
    /// later ones, would stay until the clock reaches that time again.
    private func isFirstOld(_ now: Int64) -> Bool {
        let end = all[(first + 1)...].first { $0.time <= now }?.time ?? now
        let (age, overflow) = now.subtractingReportingOverflow(end)
        return !overflow && age > head.limits.age
    }

    /// Drops all versions and the record of them. Returns the blocks that no version needs any longer.
    func end() -> [KeptVersion.FreedBlock] {
        versions.flatMap(\.freed) + blocks.map { KeptVersion.FreedBlock($0) }
    }

    /// Adds the blocks that record the history for commit `number`, made at `now`. Returns the blocks of the record
    /// that they replace.
    mutating func seal(
        _ number: UInt64, now: Int64, into sealer: Sealer
    ) throws(EngineError) -> [KeptVersion.FreedBlock] {
        var replaced = head.ref.isNone ? [] : [head.ref]
        let oldest = versions.first?.number ?? number
        let live = head.chunks.firstIndex { $0.last >= oldest } ?? head.chunks.count
        let dropped = head.chunks[..<live].map(\.ref)
        replaced += dropped
        chunkPages -= dropped.reduce(0) { $0 + $1.pageCount }
        head.chunks.removeFirst(live)
        let inHead = all[firstInHead...].reduce(0) { $0 + $1.byteCount }
        // Half of what a free log holds: a later commit drops the version and records the blocks there, beside its own.
        guard (all.last?.freed.count ?? 0) <= blockLimit, inHead < Sealer.blockPageLimit << 11 else {
            throw .limit("The transaction frees more blocks than the history can record: commit less at once.")
        }
        var isDirectoryNew = false
        if inHead > max(Self.headByteCount, 48 * head.chunks.count / 8), let last = all.last {
            var writer = HistoryHead.writer(.chunk)
            writer.records(all[firstInHead...])
            head.chunks.append(HistoryHead.Chunk(last: last.number, ref: writer.seal(.history, into: sealer).ref))
            firstInHead = all.count
            isDirectoryNew = true
        }
        if isDirectoryNew || head.chunks.isEmpty {
            if !head.directory.isNone { replaced.append(head.directory) }
            head.directory = head.chunks.isEmpty ? .none : directoryBlock(into: sealer)
        }
        (head.time, head.oldest) = (now, oldest)
        var writer = HistoryHead.writer(.head)
        writer.integer(now)
        writer.integer(head.limits.age)
        writer.integer(UInt64(head.limits.byteCount))
        writer.integer(oldest)
        writer.ref(head.directory)
        writer.records(all[firstInHead...])
        head.ref = writer.seal(.history, into: sealer).ref
        return replaced.map { KeptVersion.FreedBlock($0) }
    }

    private func directoryBlock(into sealer: Sealer) -> BlockRef {
        var writer = HistoryHead.writer(.directory)
        writer.integer(UInt32(head.chunks.count))
        for chunk in head.chunks {
            writer.integer(chunk.last)
            writer.ref(chunk.ref)
        }
        return writer.seal(.history, into: sealer).ref
    }

    /// Replaces the refs of the blocks added by `seal`, which have pages now.
    mutating func place(_ sealer: Sealer) {
        head.ref = sealer.placed(head.ref)
        head.directory = sealer.placed(head.directory)
        guard let last = head.chunks.last, last.ref.isPending else { return }
        let ref = sealer.placed(last.ref)
        head.chunks[head.chunks.count - 1].ref = ref
        chunkPages += ref.pageCount
    }
}

extension HistoryHead {
    static func writer(_ form: Form) -> ByteWriter {
        var writer = ByteWriter()
        writer.integer(UInt64(form.rawValue))
        return writer
    }
}
