// SPDX-License-Identifier: Apache-2.0
// The part of a commit that keeps older versions, and sessions that show them.

import RegnumSystem

/// What a write transaction changes about the history of the file.
enum HistoryChange: Sendable {
    case keep(HistoryLimits)
    case stop
}

extension Database {
    /// Decides which pages the commit `number` frees, and adds the blocks that record the kept versions. Without a
    /// history these are the blocks that the transaction no longer needs. With one, those blocks are kept for the
    /// version that the commit is built on, and the blocks of versions that are no longer kept are freed.
    ///
    /// A dropped version may be pinned by a session. All its blocks count as freed by this commit, although most were
    /// freed by earlier ones: they must not be reused before this commit is durable, because until then a power loss
    /// brings back a history that names them. Guard: writer lock.
    func freeBlocks(
        _ space: inout RecordedSpace, _ sealed: Sealed, _ number: UInt64
    ) throws(EngineError) -> [PendingExtent] {
        func pending(_ blocks: [KeptVersion.FreedBlock]) -> [PendingExtent] {
            blocks.map { PendingExtent(extent: $0.extent, birth: $0.birth, death: number) }
        }
        let freed = sealed.blocks.freed
        let isKept = space.history != nil
        switch sealed.history {
        case .keep(let limits)?:
            if !isKept { space.history = History(limits) }
            space.history?.setLimits(limits)
        case .stop?:
            let ended = space.history?.end() ?? []
            space.history = nil
            return Self.extents(freed, death: number) + pending(ended)
        case nil:
            break
        }
        if space.history == nil { return Self.extents(freed, death: number) }
        // A block that the transaction itself has spilled and freed belongs to no older version. The version before the
        // first one with a history is not kept: when it was committed is unknown.
        let kept = isKept ? freed.filter { $0.birth < number } : []
        let unneeded = isKept ? freed.filter { $0.birth >= number } : freed
        if isKept { space.history?.append(sealed.before, freed: kept) }
        let now = options.wallClock()
        let dropped = space.history?.prune(now: now) ?? []
        let replaced = try space.history?.seal(number, now: now, into: sealed.blocks.sealer) ?? []
        return Self.extents(unneeded, death: number) + pending(dropped + replaced)
    }

    static func extents(_ refs: [BlockRef], death: UInt64) -> [PendingExtent] {
        refs.map {
            PendingExtent(extent: Extent(page: $0.page, pageCount: $0.pageCount), birth: $0.birth, death: death)
        }
    }
}

extension Session {
    /// In a write: keeps older versions from this commit on, within the limits; nil stops that and drops the kept ones.
    package func setHistory(_ limits: HistoryLimits?) {
        precondition(state.pointee.isWriting)
        historyChange = limits.map { .keep($0) } ?? .stop
        if schema.keepsHistory == (limits != nil) { return }
        schema.keepsHistory = limits != nil
        isSchemaChanged = true
    }

    /// The history of the version shown; nil if the file keeps none. Of a kept version, and in a write of changes to
    /// the history, nothing is known. Reads two blocks.
    package func history() throws(EngineError) -> HistoryHead? {
        if current.history.isNone { return nil }
        return try HistoryHead.read(current.history, of: current.number, space.reader)
    }

    /// Calls `body` with the kept versions from `number` on, oldest first, until it returns false. The version shown is
    /// not among them.
    package func visitHistory(
        from number: UInt64, _ body: (KeptVersion) throws(EngineError) -> Bool
    ) throws(EngineError) {
        try history()?.visit(from: number, space.reader, body)
    }

    /// Returns the number of the newest version, among the kept ones and the one shown, that was committed at `time` or
    /// earlier; nil if there is none, or no history. Reads the whole history.
    package func version(at time: Int64) throws(EngineError) -> UInt64? {
        guard let head = try history() else { return nil }
        if head.time <= time { return version }
        var found: UInt64?
        try head.visit(from: 0, space.reader) { (version) throws(EngineError) in
            if version.time <= time { found = version.number }
            return true
        }
        return found
    }

    /// The size of the history of the version shown; nil if the file keeps none. Reads the whole history.
    package func historySize() throws(EngineError) -> HistorySize? {
        if current.history.isNone { return nil }
        let history = try History.load(
            current.history, of: current.number, highWater: current.highWater, space.reader)
        return HistorySize(
            limits: history.head.limits, versions: history.versions.count, byteCount: history.byteCount,
            oldest: history.versions.first?.time ?? history.head.time)
    }

    /// Identifies the version shown, beside its number: two commits with the same number differ in it, except in
    /// memory.
    package var stamp: UInt64 { current.catalog.tagLow }
}

/// How much a file keeps of the past.
package struct HistorySize: Sendable, Equatable {
    package var limits: HistoryLimits
    /// The number of kept versions, without the newest version.
    package var versions: Int
    /// Bytes that only kept versions need, with the record of them.
    package var byteCount: Int
    /// When the oldest version was committed, in microseconds since 1970.
    package var oldest: Int64
}

extension KeptVersion {
    /// See `Session.stamp`.
    package var stamp: UInt64 { catalog.tagLow }
}

extension Version {
    /// A version that the file keeps. Its history and its free log are gone. All pages that it needs are below the
    /// high-water mark of `newest`; the record of a crafted file may claim more, and memory is allocated by this number.
    init(_ kept: KeptVersion, of newest: Version, in reader: BlockReader) {
        number = kept.number
        catalog = kept.catalog
        freeLog = .none
        history = .none
        highWater = min(kept.highWater, newest.highWater)
        mark = reader.mark(kept.catalog)
    }
}

extension Database {
    /// Identifies the file: no other file has the same one, except its copies as files.
    package var identifier: (low: UInt64, high: UInt64) { (header.identifierLow, header.identifierHigh) }

    /// Returns a session that shows version `number` and never advances; nil if the version is not kept, is newer than
    /// the newest one, or was never published.
    package func makeSession(at number: UInt64, origin: SessionOrigin? = nil) throws(EngineError) -> Session? {
        // Ensures that a version that exists is known here as published.
        let known = try versions.pinNewest()
        versions.unpin(known.number)
        guard number > 0, number <= known.number else { return nil }
        // Pinned before the newest history is read. If that lists the version, every commit that drops it comes later,
        // and finds the pin before it reuses a page.
        versions.pin(number)
        var found: Version?
        do throws(EngineError) {
            let newest = try versions.pinNewest()
            defer { versions.unpin(newest.number) }
            if newest.number == number {
                found = newest
            } else if !newest.history.isNone {
                let head = try HistoryHead.read(newest.history, of: newest.number, reader)
                found = try head.version(number, reader).map { Version($0, of: newest, in: reader) }
            }
        } catch {
            versions.unpin(number)
            throw error
        }
        guard let found else {
            versions.unpin(number)
            return nil
        }
        return try Session(self, at: found, isFrozen: true, origin: origin)
    }
}
