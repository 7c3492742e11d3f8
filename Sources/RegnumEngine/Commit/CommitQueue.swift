// SPDX-License-Identifier: Apache-2.0
// The commit queue: commits that are written but not yet known to be on stable storage.
//
//     commit, under the writer lock ──▶ queue ──▶ one sync covers all queued commits ──▶ published, `CommitTicket` done
//        │ relaxed: slot written                    └─failed─▶ abandoned: all queued commits fail together
//        └──▶ published, `unsynced` ──▶ the next sync
//
// The blocks of a queued commit are in the file, its slot is not; only the next writer of this process sees it. The
// writer lock is released as soon as the commit is queued, so the next transaction can run while the disk works. One
// sync covers all commits queued in the meantime (group commit): it writes the slot of the last one, whose manifest
// names the pages of all of them.
//
// A relaxed commit writes its slot at once. It overwrites the slot of the previous relaxed commit, never that of the
// last durable commit, and its manifest names all pages written since the durable one. After a power loss the newest
// whole slot counts. While any commit is queued, relaxed commits are queued too.
//
// The thread that syncs sets `isBusy`; while it is set, no other thread writes a slot. Syncing needs neither the writer
// lock nor, for relaxed commits, the cross-process writer lock.

import RegnumSystem

/// How durable a commit must be before it is acknowledged. Each level is atomic after a power loss, and none loses
/// anything when only the process ends.
package enum CommitDurability: Sendable {
    /// Syncs its pages, then its slot: nothing depends on a checksum.
    case paranoid
    /// Pages and slot are on stable storage, with one sync.
    case full
    /// Waits for nothing: a power loss may undo the commits of the last second.
    case relaxed
}

/// Whether a commit has become durable. Guard: the monitor of the commit queue.
package final class CommitTicket: @unchecked Sendable {
    // Sendable: see above.
    enum State {
        case waiting, durable
        case failed(EngineError)
    }
    var state = State.waiting
    /// What the threads that wait for this commit sleep on.
    fileprivate var waiting: Signal?
    fileprivate var waitingCount = 0
    /// Called once, on any thread, when the commit is durable or has failed; then nil, because sessions keep their
    /// ticket and the closure may keep the session.
    fileprivate(set) var onDone: (@Sendable (EngineError?) -> Void)?
    init(_ onDone: (@Sendable (EngineError?) -> Void)?) { self.onDone = onDone }

    var isWaiting: Bool { if case .waiting = state { true } else { false } }
    var failure: EngineError? { if case .failed(let error) = state { error } else { nil } }
}

/// The commits of a database that are not yet known to be durable. Guard of all state: `monitor`.
final class CommitQueue: @unchecked Sendable {
    // Sendable: see above.
    struct Commit {
        var version: Version
        /// The slot without its manifest, which the sync adds.
        var slot: CommitSlot
        var runs: [Extent]
        /// Nil if its pages must be synced before its slot is written.
        var manifest: [CommitSlot.Run]?
        var byteCount: Int
        var ticket: CommitTicket
        /// The failure counts before its first block was written.
        var failures: Failures
    }

    /// Counts of failed syncs: a failed sync may have dropped everything written before it.
    struct Failures: Equatable {
        /// Of this process.
        var own: UInt64 = 0
        /// Of all processes that have the file open; nil if unknown.
        var all: UInt64?

        func hasMoved(since noted: Failures) -> Bool {
            if own != noted.own { return true }
            guard let all, let before = noted.all else { return false }
            return all != before
        }
    }

    /// Failed commits: their pages must not be reused while a session of this process shows them.
    struct Abandoned {
        var first: UInt64
        var last: UInt64
        var runs: [Extent]
    }

    let monitor = Monitor()

    // The cross-process writer lock: kept while commits are queued, because only this process knows them.
    var isWriterInside = false
    var isLockHeld = false
    var lockedAt: UInt64 = 0
    /// True while it is kept for a session that shows a failed commit.
    var isHeldForFailed = false

    /// False until the file's slots have been read, and again once another process may have written.
    var isKnown = false
    /// True if the newest commit of the file could not be made durable: catch up with it again before anything else.
    private(set) var mustMeet = false
    /// A version whose sync has failed.
    private var suspect: UInt64?
    /// The number of failed syncs of this process.
    private(set) var failures: UInt64 = 0
    /// The newest commit on stable storage, and the byte offset of its slot.
    var durable: UInt64
    var durableSlot = FormatLimits.slotAByteOffset
    /// `BlockReader.slotMark` of that slot, if known.
    var durableMark: SIMD2<UInt64>?
    /// That slot's manifest names pages written after this commit. Some of them were freed before `durable`; they must
    /// not be reused while an opening after a power loss would check that manifest.
    private(set) var covered: UInt64
    /// True once this process has made a commit: from then on `durable` is known rather than read from the file at
    /// opening.
    var hasCommitted = false
    /// The newest published commit.
    var newest: UInt64
    /// The pages published since `durable`, and the slot that names them, which is not the slot of `durable`.
    var unsynced: [CommitSlot.Run] = []
    var unsyncedByteCount = 0
    var unsyncedSlot: [UInt8]?
    var unsyncedSince: UInt64 = 0
    /// The failure counts before the first of them was written.
    var unsyncedFailures = Failures()
    /// True if the system may have dropped pages of `unsynced`: they must be rewritten under the cross-process writer
    /// lock.
    var mustRewrite = false
    /// Oldest first.
    var commits: [Commit] = []
    var isBusy = false
    var abandoned: [Abandoned] = []
    /// Incremented when commits are abandoned: the writer's view of the free space is then stale.
    var generation: UInt64 = 0
    /// The least number of the next commit; two commits that a session may have seen never share a number.
    var leastNumber: UInt64 = 0
    /// Why nothing can be written until the file is reopened; nil unless the database has failed.
    var latch: String?

    // The thread that syncs in the background.
    var hasThread = false
    var isClosed = false

    private let mutant: ProtocolMutant?

    init(_ slot: CommitSlot, _ mutant: ProtocolMutant?) {
        durable = slot.version
        covered = slot.isTwoStep ? slot.version : slot.previousDurable
        newest = slot.version
        self.mutant = mutant
    }

    /// The byte offset of the slot that the next commit writes.
    private var nextSlot: Int {
        mutant == .oneSlot ? durableSlot : CommitSlot.otherByteOffset(durableSlot)
    }

    var isIdle: Bool { commits.isEmpty && unsyncedSlot == nil && !mustMeet }

    /// Throws if the database has failed, or if the commit that a transaction was built on has failed.
    func check(_ base: CommitTicket?) throws(EngineError) {
        if let latch { throw .latched(latch) }
        if let error = base?.failure { throw error }
    }

    /// What one sync has to do.
    struct Work {
        var last: Commit?
        var count: Int
        var manifest: [CommitSlot.Run]?
        var slot: [UInt8]?
        var mustRewrite: Bool
        var rewrites: [CommitSlot.Run]
        var offset: Int
        var durable: UInt64
        var newest: UInt64
    }

    /// Collects everything there is to sync. Call inside the monitor, with `isBusy` set.
    func work() -> Work {
        var manifest: [CommitSlot.Run]? = unsynced
        var byteCount = unsyncedByteCount
        for commit in commits {
            byteCount += commit.byteCount
            guard let runs = commit.manifest, let before = manifest else {
                manifest = nil
                break
            }
            manifest = mutant == .ownPagesInManifest ? runs : before + runs
        }
        if (manifest?.count ?? 0) > CommitSlot.manifestLimit || byteCount > Database.manifestByteLimit {
            manifest = nil
        }
        return Work(
            last: commits.last, count: commits.count, manifest: manifest, slot: unsyncedSlot, mustRewrite: mustRewrite,
            rewrites: unsynced, offset: nextSlot, durable: durable, newest: newest)
    }

    // MARK: Waiting

    /// Blocks until the ticket is done or its waiter is elected to sync; may wake spuriously. Call inside the monitor,
    /// while `isBusy` is set.
    func wait(for ticket: CommitTicket) {
        let signal = ticket.waiting ?? Signal()
        ticket.waiting = signal
        ticket.waitingCount += 1
        monitor.wait(on: signal)
        ticket.waitingCount -= 1
    }

    /// Clears `isBusy`. Of the threads that wait for tickets, wakes only the one that syncs next.
    func endBusy() {
        isBusy = false
        commits.first { $0.ticket.waitingCount > 0 }?.ticket.waiting?.tell()
        monitor.tellAll()
    }

    /// Completes the tickets and returns the callbacks to call outside the monitor.
    private static func settle(
        _ commits: some Sequence<Commit>, as state: CommitTicket.State
    ) -> [@Sendable (EngineError?) -> Void] {
        commits.compactMap { commit in
            commit.ticket.state = state
            commit.ticket.waiting?.tell()
            defer { commit.ticket.onDone = nil }
            return commit.ticket.onDone
        }
    }

    /// Records a successful sync. Returns the callbacks to call.
    func succeed(_ work: Work) -> [@Sendable (EngineError?) -> Void] {
        let done = Self.settle(commits.prefix(work.count), as: .durable)
        commits.removeFirst(work.count)
        durable = work.last?.version.number ?? work.newest
        covered = work.last != nil && work.manifest == nil ? durable : work.durable
        durableSlot = work.offset
        durableMark = nil
        if let last = work.last { newest = last.version.number }
        abandoned.removeAll { $0.last < durable }
        setSynced()
        return done
    }

    /// In memory every commit is as durable as it will ever be.
    func setVolatile(_ number: UInt64) {
        durable = number
        covered = number
    }

    /// Records that no published commit waits for a sync any longer.
    func setSynced() {
        unsynced = []
        unsyncedByteCount = 0
        unsyncedSlot = nil
        mustRewrite = false
    }

    /// Records a failed sync: all queued commits were built on what has failed, and fail too. Returns the callbacks to
    /// call.
    func fail(_ error: EngineError) -> [@Sendable (EngineError?) -> Void] {
        mustRewrite = unsyncedSlot != nil
        if mustRewrite { suspect = newest }
        unsyncedSince = MonotonicClock.now()
        guard let first = commits.first, let last = commits.last else { return [] }
        let done = Self.settle(commits, as: .failed(error))
        abandoned.append(
            Abandoned(first: first.version.number, last: last.version.number, runs: commits.flatMap(\.runs)))
        leastNumber = last.version.number + 1
        generation += 1
        commits = []
        return done
    }

    /// Catches up with `found`, the version that counts, before the writer's first commit and after other processes
    /// have written. Unless it is `known`, the newest version known to be on stable storage, it must be made durable
    /// before anything else.
    func meet(_ found: CommitSlot.Placed, durable known: UInt64?, _ failures: Failures, hasFailed: Bool) {
        isKnown = true
        mustMeet = false
        durableMark = nil
        newest = found.slot.version
        setSynced()
        // Other processes may have reused their pages.
        abandoned = []
        generation += 1
        covered = found.slot.isTwoStep ? newest : found.slot.previousDurable
        if known == newest {
            durable = newest
            durableSlot = found.byteOffset
            return
        }
        durable = found.slot.previousDurable
        durableSlot = CommitSlot.otherByteOffset(found.byteOffset)
        unsynced = found.slot.manifest
        unsyncedByteCount = unsynced.reduce(0) { $0 + $1.extent.pageCount << 12 }
        unsyncedSlot = found.bytes
        // After a failed sync another sync would prove nothing. Otherwise the file may hold the only copy, which must
        // not be overwritten.
        mustRewrite = known != nil && hasFailed || suspect == newest
        unsyncedFailures = failures
    }

    /// Discards what is known of the file's newest commit, because it could not be made durable: the next writer reads
    /// the slots again.
    func forget() {
        suspect = newest
        setSynced()
        isKnown = false
        mustMeet = true
        unsyncedSince = MonotonicClock.now()
    }

    func noteFailure() { failures += 1 }
}
