// SPDX-License-Identifier: Apache-2.0
// The free space of an open file, as its writers keep it from one transaction to the next. The law of reuse:
// `FreeSpace.swift`, law 2.
//
//     unknown ──load──▶ known ──take──▶ unknown: a commit changes the space in place
//        ▲                │                └──put──▶ known, if the commit succeeds; otherwise the file is read again
//        └──invalidate────┘
//
// Guard of everything here: the writer lock.

import RegnumSystem

final class SpaceManager {
    enum State {
        case unknown
        /// The free space of the newest version, queued commits included.
        case known(RecordedSpace)
    }

    private(set) var state = State.unknown
    /// The history that was known before `invalidate`, and the high-water mark of its version. Held only until the
    /// space is read again: the arrays of the known history must have one owner.
    private var outdated: (history: History, highWater: UInt64)?
    /// The `generation` of the commit queue for which the state is valid.
    private var generation: UInt64 = 0
    /// Free pages before this one are quarantined: sessions of other processes show failed commits there.
    private var quarantineEnd: UInt64 = 0
    /// The spilled part of the running transaction.
    var spilled: Spill?
    /// Progress of the traversal that moves blocks to shorten the file.
    var shrinking = Shrinking()

    private let file: any File
    private let reader: BlockReader
    private let versions: VersionRegistry
    private let queue: CommitQueue
    private let lockFile: LockFile?
    private let mutant: ProtocolMutant?

    init(
        _ file: any File, _ reader: BlockReader, versions: VersionRegistry, queue: CommitQueue, lockFile: LockFile?,
        mutant: ProtocolMutant?
    ) {
        (self.file, self.reader, self.versions, self.queue) = (file, reader, versions, queue)
        (self.lockFile, self.mutant) = (lockFile, mutant)
    }

    /// The free space of the newest version if it is known; nil otherwise.
    var recorded: RecordedSpace? { if case .known(let space) = state { space } else { nil } }

    /// Returns the free space of the newest version, and reads it from the file if it is unknown.
    func load() throws(EngineError) -> RecordedSpace {
        var space = try read()
        space.free.barred = quarantineEnd
        return space
    }

    private func read() throws(EngineError) -> RecordedSpace {
        let (now, abandoned) = queue.monitor.withLock { (queue.generation, queue.abandoned) }
        if let recorded, generation == now { return recorded }
        // Queued commits count: the next commit is built on them.
        let newest = queue.monitor.withLock { queue.commits.last?.version } ?? versions.newest
        let reserved = abandoned.flatMap { old in
            old.runs.map { PendingExtent(extent: $0, birth: old.first, death: old.last + 1) }
        }
        let known = outdated.flatMap { $0.highWater <= newest.highWater ? $0.history : nil }
        outdated = nil
        var loaded = try RecordedSpace.load(newest, reader, reserving: reserved, reusing: known)
        // Every block of a small file was checked when it was opened.
        try loaded.checkRoots(newest, try loaded.vacant(), reader)
        if Invariants.areChecked, reader.isTrusted || mutant != nil {
            loaded.free.ledger = PageLedger(loaded.free, isSeeded: mutant != nil)
        }
        state = .known(loaded)
        generation = now
        return loaded
    }

    /// Returns the free space without the pages that the running transaction has taken. The caller changes it in place,
    /// because a copy would take time proportional to the file. If the commit fails, it is read again.
    func take() throws(EngineError) -> RecordedSpace {
        if let spilled { return spilled.space }
        defer { state = .unknown }
        return try load()
    }

    /// Stores the free space after a commit, which has changed the space that it got from `take`.
    func put(_ space: RecordedSpace) {
        state = .known(space)
    }

    /// Forgets the known free space. Call if another process may have written.
    func invalidate() {
        if let recorded { outdated = recorded.history.map { ($0, recorded.free.highWater) } }
        state = .unknown
    }

    /// Frees the pages that no reader needs any longer. Called when a write begins.
    func reclaim() throws(EngineError) {
        let limits = reuseLimits
        // Read before anything is changed: if it fails, the known space stays valid.
        let others = try lockFile?.pinsOfOthers() ?? []
        try quarantine(others.map(\.failed))
        var space = try load()
        guard !space.free.pending.isEmpty else { return }
        state = .unknown
        try reclaim(&space.free, others, limits)
        try space.free.checkInvariants(mutant)
        put(space)
    }

    /// Moves pages that no reader of this or another process needs from pending to free.
    func reclaim(_ free: inout FreeSpace) throws(EngineError) {
        let limits = reuseLimits
        try reclaim(&free, try lockFile?.pinsOfOthers() ?? [], limits)
    }

    /// Read before the pins: a session that pins an older version, and then finds it in a history that does not know of
    /// these commits, must be among the pins that are read.
    private var reuseLimits: (durable: UInt64, covered: UInt64) {
        queue.monitor.withLock { (queue.durable, queue.covered) }
    }

    private func reclaim(
        _ free: inout FreeSpace, _ found: [LockFile.OtherPins], _ limits: (durable: UInt64, covered: UInt64)
    ) throws(EngineError) {
        let isDue = Invariants.isDue()
        let before = isDue ? free.pending : []
        var others = found
        if mutant == .othersPinsIgnored { others = [] }
        let own = versions.pinned
        let pins = others.isEmpty ? own : (own + others.flatMap(\.pins)).sorted()
        var (durable, covered) = limits
        if mutant == .relaxedSpaceReused { durable = .max }
        if mutant == .coveredSpaceReused { covered = .max }
        try free.reclaim(
            pins: pins, floor: others.compactMap(\.floor).min(), durable: durable, covered: covered)
        guard isDue else { return }
        Invariants.require(
            "free space", isSeeded: mutant != nil,
            Self.findings(
                reclaimed: before, but: free.pending, pins: own + found.flatMap(\.pins),
                floors: found.compactMap(\.floor), limits))
    }

    /// Quarantines the pages of failed commits that sessions of other processes show.
    private func quarantine(_ failed: [LockFile.Failed]) throws(EngineError) {
        quarantineEnd = failed.map(\.end).max() ?? 0
        if quarantineEnd > 0 {
            // A failed commit has written only within the file, whatever the lock file says.
            do { quarantineEnd = min(quarantineEnd, UInt64(try file.byteCount() >> 12)) } catch { throw .system(error) }
        }
        guard let last = failed.map(\.last).max(), last > 0, last < CommitSlot.versionLimit - 1 else { return }
        queue.monitor.withLock { queue.reserveNumbers(through: last) }
    }

    /// True for a block in the second half of a file that is more than half free: when it is written again it moves to
    /// lower pages, and the end of the file can be truncated.
    func keepsFileLong(_ ref: BlockRef) -> Bool {
        guard let space = recorded?.free, !ref.isPending else { return false }
        return space.isMostlyFree && ref.page > space.highWater / 2
    }
}
