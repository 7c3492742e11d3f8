// SPDX-License-Identifier: Apache-2.0
// Commits on their way to the medium.
//
//     commit, with the gate ──▶ line ──▶ a sync takes all that stand in it ──▶ published, `CommitTicket` done
//        │ relaxed: slot written                  └─failed─▶ abandoned: all that stand in line fail together
//        └──▶ published, `unsynced` ──▶ the next sync
//
// The blocks of a commit in line are in the file, its slot is not; only the next writer of this process sees it. The
// writer's gate is free as soon as a commit stands in line, so the next one is made while the disk works, and one
// sync serves all that have come meanwhile: it writes the slot of the last one, whose manifest names the pages of all.
//
// A relaxed commit writes its slot at once, over that of the relaxed commit before it and never over that of the last
// durable one; its manifest names all pages since that one. After a power loss the last whole slot counts. While
// anything stands in line a relaxed commit stands in line too.
//
// Who syncs has `isBusy` and nobody else writes a slot; it needs neither the gate nor, for relaxed commits, the lock
// among processes.

import RegnumSystem

/// What a commit waits for. Each level is atomic after a power loss, and none loses anything when processes end.
package enum CommitDurability: Sendable {
    /// Its pages, then its slot, each until it is on the medium: nothing rests on a checksum.
    case paranoid
    /// All of it on the medium, with one sync.
    case full
    /// Nothing: a power loss may take back what was committed in the last second.
    case relaxed
}

/// Whether a commit has become durable. Guard: the monitor of the line.
package final class CommitTicket: @unchecked Sendable {
    // Sendable: see above.
    enum State {
        case waiting, durable
        case failed(EngineError)
    }
    var state = State.waiting
    /// Where those sleep who wait for it.
    fileprivate var waiting: Signal?
    fileprivate var waitingCount = 0
    /// Called once, on any thread, when it is done; then nil, because sessions keep their ticket and what is to be
    /// called may keep the session.
    fileprivate(set) var onDone: (@Sendable (EngineError?) -> Void)?
    init(_ onDone: (@Sendable (EngineError?) -> Void)?) { self.onDone = onDone }

    var isWaiting: Bool { if case .waiting = state { true } else { false } }
    var failure: EngineError? { if case .failed(let error) = state { error } else { nil } }
}

/// State of the commits of a database that are not known to be durable. Guard of all of it: `monitor`.
final class CommitLine: @unchecked Sendable {
    // Sendable: see above.
    struct Commit {
        var version: Version
        /// Without manifest.
        var slot: CommitSlot
        var runs: [Extent]
        /// Nil where its pages are to be synced before its slot is written.
        var manifest: [CommitSlot.Run]?
        var byteCount: Int
        var ticket: CommitTicket
        /// Before its first block was written.
        var failures: Failures
    }

    /// Syncs that have failed, which may have dropped what was written before them.
    struct Failures: Equatable {
        /// Of this process.
        var own: UInt64 = 0
        /// Of all that have the file open; nil where that is not known.
        var all: UInt64?

        func hasMoved(since noted: Failures) -> Bool {
            if own != noted.own { return true }
            guard let all, let before = noted.all else { return false }
            return all != before
        }
    }

    /// Commits that have failed: their pages stay as they are while one of this process's sessions shows them.
    struct Abandoned {
        var first: UInt64
        var last: UInt64
        var runs: [Extent]
    }

    let monitor = Monitor()

    // The writer's lock among processes: kept while commits stand in line, which only this process knows.
    var isWriterInside = false
    var isLockHeld = false
    var lockedAt: UInt64 = 0
    /// True while it is kept for a session that shows what has failed.
    var isHeldForFailed = false

    /// False until the file's slots were looked at, and after another process may have written.
    var isKnown = false
    /// True where what was met could not be made durable: it is met again before anything else.
    private(set) var mustMeet = false
    /// A version of which a sync has failed.
    private var suspect: UInt64?
    /// Syncs of this process that have failed.
    private(set) var failures: UInt64 = 0
    /// Newest commit on the medium, and where its slot lies.
    var durable: UInt64
    var durableSlot = FormatLimits.slotAByteOffset
    /// `BlockReader.slotMark` of it, where it is known.
    var durableMark: SIMD2<UInt64>?
    /// The manifest of that slot names pages written after this commit. Some were freed before `durable`, and may not
    /// be used again while a power loss makes an opening look at that manifest.
    private(set) var covered: UInt64
    /// True once this process has made a commit: then `durable` is known, and not what the file said when it was opened.
    var hasCommitted = false
    /// Newest commit that was published.
    var newest: UInt64
    /// What was published since `durable`: pages, and the slot, which lies where that of `durable` does not.
    var unsynced: [CommitSlot.Run] = []
    var unsyncedByteCount = 0
    var unsyncedSlot: [UInt8]?
    var unsyncedSince: UInt64 = 0
    /// Before the first of it was written.
    var unsyncedFailures = Failures()
    /// True where the system may have dropped pages of `unsynced`: they must be written again, with the lock among
    /// processes.
    var mustRewrite = false
    /// Oldest first.
    var commits: [Commit] = []
    var isBusy = false
    var abandoned: [Abandoned] = []
    /// Moves when commits are abandoned: free space as known to the writer is no longer right.
    var generation: UInt64 = 0
    /// The next commit has at least this number; no number is used for two commits that a session may have seen.
    var leastNumber: UInt64 = 0
    /// Why nothing can be written until the file is opened again.
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

    /// The slot that the next commit is written to.
    private var nextSlot: Int {
        mutant == .oneSlot ? durableSlot : CommitSlot.otherByteOffset(durableSlot)
    }

    var isIdle: Bool { commits.isEmpty && unsyncedSlot == nil && !mustMeet }

    /// Throws where nothing may be committed that was built on `base`.
    func check(_ base: CommitTicket?) throws(EngineError) {
        if let latch { throw .latched(latch) }
        if let error = base?.failure { throw error }
    }

    /// What a sync does.
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

    /// All that there is to do. Inside the monitor, with `isBusy`.
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

    /// While somebody is busy: until the ticket is done, or who waits for it is the one to sync, or for no reason.
    func wait(for ticket: CommitTicket) {
        let signal = ticket.waiting ?? Signal()
        ticket.waiting = signal
        ticket.waitingCount += 1
        monitor.wait(on: signal)
        ticket.waitingCount -= 1
    }

    /// What somebody was busy with is over. Of those that wait for tickets, only who is the next to sync is woken.
    func endBusy() {
        isBusy = false
        commits.first { $0.ticket.waitingCount > 0 }?.ticket.waiting?.tell()
        monitor.tellAll()
    }

    /// Returns what is to be called, outside of the monitor.
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

    /// After a sync: what is to be called.
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

    /// Nothing published is waited for any more.
    func setSynced() {
        unsynced = []
        unsyncedByteCount = 0
        unsyncedSlot = nil
        mustRewrite = false
    }

    /// After a sync that failed: all that stand in line were built on what has failed.
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

    /// Before the writer's first commit, and after others have written: `found` is the version that counts. If it is
    /// not `durable`, the newest that is known to be on the medium, it must be made so before anything else.
    func meet(_ found: CommitSlot.Placed, durable known: UInt64?, _ failures: Failures, hasFailed: Bool) {
        isKnown = true
        mustMeet = false
        durableMark = nil
        newest = found.slot.version
        setSynced()
        // Their pages may have been used by others.
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
        // After a failed sync another one would confirm nothing. Else it may be all there is, and is not written over.
        mustRewrite = known != nil && hasFailed || suspect == newest
        unsyncedFailures = failures
    }

    /// What was met could not be made durable: the next writer begins anew with what the file has then.
    func forget() {
        suspect = newest
        setSynced()
        isKnown = false
        mustMeet = true
        unsyncedSince = MonotonicClock.now()
    }

    func noteFailure() { failures += 1 }
}
