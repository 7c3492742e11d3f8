// SPDX-License-Identifier: Apache-2.0
// The commit queue: commits that are written but not yet known to be on stable storage.
//
//     commit, under the writer lock ──▶ queue ──▶ one sync covers all queued commits ──▶ published, `CommitTicket` done
//        │ relaxed: slot written                    └─failed─▶ abandoned: all queued commits fail together
//        └──▶ published, `unsynced` ──▶ the next sync
//
// The blocks of a queued commit are in the file, but its slot is not; only the next writer of this process sees the
// commit. The writer lock is released as soon as the commit is queued, so the next transaction can run while the disk
// works. One sync covers all commits queued in the meantime (group commit): it writes the slot of the last one, whose
// manifest names the pages of all of them.
//
// A relaxed commit writes its slot immediately. It overwrites the slot of the previous relaxed commit, never that of
// the last durable commit, and its manifest names all pages written since the durable one. After a power loss the
// newest complete commit counts. While any commit is queued, relaxed commits are queued too.
//
// The state has four parts, each with its own transitions; every transition ends with `assertState()`.
//
//     slots       free ──take──▶ busy ──endBusy──▶ free              One thread at a time writes slots and syncs. That needs
//                                                                     neither the writer lock nor, for relaxed commits, the
//                                                                     cross-process writer lock.
//     published   synced ──publish, catchUp──▶ unsynced ──succeed──▶ synced
//                                                 └──requireRewrite, fail──▶ mustRewrite ──succeed──▶ synced
//     knowledge   stale ──catchUp, confirm──▶ current ──release──▶ stale
//                   └──forget──▶ mustCatchUp ──catchUp──▶ current
//     health      working ──giveUp──▶ failed, until the file is reopened

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
    /// The condition variable of the threads that wait for this commit.
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
        /// Of all processes that have the file open; nil if the lock file is damaged.
        var all: LockFile.SyncCounts?

        func hasMoved(since noted: Failures) -> Bool {
            if own != noted.own { return true }
            guard let all, let before = noted.all else { return false }
            return all.failed != before.failed
        }
    }

    /// Failed commits: their pages must not be reused while a session of this process shows them.
    struct Abandoned {
        var first: UInt64
        var last: UInt64
        var runs: [Extent]
    }

    /// The published commits since the last durable one.
    enum Published {
        case synced
        /// They wait for a sync.
        case unsynced(Unsynced)
        /// The system may have dropped their pages: these must be rewritten under the cross-process writer lock.
        case mustRewrite(Unsynced)
    }

    struct Unsynced {
        /// Their pages, as the manifest of the slot names them.
        var runs: [CommitSlot.Run]
        var byteCount: Int
        /// The slot that names them, which is not the slot of `durable`.
        var slot: [UInt8]
        /// The failure counts before the first of them was written.
        var failures: Failures
    }

    /// What this process knows about the newest commit in the file.
    enum Knowledge {
        /// The slots have not been read, or another process may have written since.
        case stale
        case current
        /// The newest commit could not be made durable: catch up with it again before anything else.
        case mustCatchUp
    }

    enum Health {
        case working
        /// Nothing can be written until the file is reopened, for this reason.
        case failed(String)
    }

    let monitor = Monitor()
    var processLock = ProcessLockState()

    private(set) var isBusy = false
    private(set) var published = Published.synced
    private(set) var knowledge = Knowledge.stale
    private(set) var health = Health.working

    /// Queued commits, oldest first.
    private(set) var commits: [Commit] = []
    private(set) var abandoned: [Abandoned] = []
    /// Incremented when commits are abandoned: the writer's view of the free space is then stale.
    private(set) var generation: UInt64 = 0
    /// The lowest number that the next commit may have; two commits that a session may have seen never share a number.
    private(set) var leastNumber: UInt64 = 0

    /// The newest published commit.
    private(set) var newest: UInt64
    /// The newest commit on stable storage, and the byte offset of its slot.
    private(set) var durable: UInt64
    private(set) var durableSlot = FormatLimits.slotAByteOffset
    /// `BlockReader.slotMark` of that slot, if known.
    private(set) var durableMark: SIMD2<UInt64>?
    /// That slot's manifest names pages written after this commit. Some of them were freed before `durable`; they must
    /// not be reused while an opening after a power loss would check that manifest.
    private(set) var covered: UInt64
    /// True once this process has made a commit: from then on `durable` is known rather than read from the file at
    /// opening.
    private(set) var hasCommitted = false
    /// A version whose sync has failed.
    private var suspect: UInt64?
    /// The number of failed syncs of this process.
    private(set) var failures: UInt64 = 0
    /// The number of syncs that made queued commits durable, and of these commits.
    private(set) var groups: (syncs: UInt64, commits: UInt64) = (0, 0)
    /// The background thread waits from here before it syncs or tries again.
    private var waitsSince: UInt64 = 0

    // The thread that syncs in the background.
    private var hasThread = false
    private var isClosed = false

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

    var isKnown: Bool { knowledge == .current }
    var mustCatchUp: Bool { knowledge == .mustCatchUp }

    var unsynced: Unsynced? {
        switch published {
        case .synced: nil
        case .unsynced(let unsynced), .mustRewrite(let unsynced): unsynced
        }
    }
    var mustRewrite: Bool { if case .mustRewrite = published { true } else { false } }

    /// The reason why nothing can be written until the file is reopened; nil unless the database has failed.
    var failure: String? { if case .failed(let why) = health { why } else { nil } }

    var isIdle: Bool { commits.isEmpty && unsynced == nil && !mustCatchUp }

    /// Throws if the database has failed, or if the commit that a transaction was built on has failed.
    func check(_ base: CommitTicket?) throws(EngineError) {
        if let failure { throw .latched(failure) }
        if let error = base?.failure { throw error }
    }

    /// The work of one sync.
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

    /// Collects everything that is to be synced. Call inside the monitor, with `isBusy` set.
    func work() -> Work {
        assert(isBusy, "a sync needs the slots")
        let unsynced = unsynced
        var manifest: [CommitSlot.Run]? = unsynced?.runs ?? []
        var byteCount = unsynced?.byteCount ?? 0
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
            last: commits.last, count: commits.count, manifest: manifest, slot: unsynced?.slot,
            mustRewrite: mustRewrite,
            rewrites: unsynced?.runs ?? [], offset: nextSlot, durable: durable, newest: newest)
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

    // MARK: Slots

    /// Takes the slots: until `endBusy`, only the calling thread writes them and syncs.
    func take() {
        assert(!isBusy, "two threads write slots")
        isBusy = true
    }

    /// Releases the slots. Among the threads that wait for tickets, wakes only the one that syncs next.
    func endBusy() {
        assert(isBusy, "the slots were not taken")
        isBusy = false
        commits.first { $0.ticket.waitingCount > 0 }?.ticket.waiting?.tell()
        monitor.tellAll()
        assertState()
    }

    // MARK: Commits

    /// Queues a commit, whose blocks are in the file and whose slot is not.
    func enqueue(_ commit: Commit) {
        hasCommitted = true
        commits.append(commit)
        assertState()
    }

    /// Records a relaxed commit, whose slot is in the file. `runs` are the pages of all published commits since the
    /// last durable one, `byteCount` are the bytes of this one. Call with the slots taken.
    func publish(
        _ version: UInt64, slot: [UInt8], runs: [CommitSlot.Run], byteCount: Int, failures: Failures
    ) {
        assert(isBusy, "a slot was written by a thread that had not taken it")
        if var unsynced {
            unsynced.runs = runs
            unsynced.byteCount += byteCount
            unsynced.slot = slot
            setUnsynced(unsynced)
        } else {
            waitsSince = MonotonicClock.now()
            published = .unsynced(Unsynced(runs: runs, byteCount: byteCount, slot: slot, failures: failures))
        }
        newest = version
        hasCommitted = true
        assertState()
    }

    /// Replaces the published commits. Does not change whether they must be rewritten.
    private func setUnsynced(_ unsynced: Unsynced) {
        published = mustRewrite ? .mustRewrite(unsynced) : .unsynced(unsynced)
    }

    /// Records that the pages of published commits may have been dropped. Does nothing if none waits for a sync.
    func requireRewrite() {
        if let unsynced { published = .mustRewrite(unsynced) }
        assertState()
    }

    /// Ensures that the next commit gets a number above `last`.
    func reserveNumbers(through last: UInt64) { leastNumber = max(leastNumber, last + 1) }

    /// Records the mark of the durable commit's slot.
    func setMark(_ mark: SIMD2<UInt64>?) { durableMark = mark }

    /// Prevents all writing until the file is reopened. With `isLost` the published commits are gone.
    func giveUp(_ why: String, isLost: Bool = false) {
        if isLost { published = .synced } else { requireRewrite() }
        health = .failed(why)
        assertState()
    }

    /// Makes the background thread wait again before its next attempt.
    func postpone() { waitsSince = MonotonicClock.now() }

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
        if work.count > 0 { groups = (groups.syncs + 1, groups.commits + UInt64(work.count)) }
        durable = work.last?.version.number ?? work.newest
        covered = work.last != nil && work.manifest == nil ? durable : work.durable
        durableSlot = work.offset
        durableMark = nil
        if let last = work.last { newest = last.version.number }
        abandoned.removeAll { $0.last < durable }
        published = .synced
        assertState()
        return done
    }

    /// In memory every commit is as durable as it will ever be.
    func setVolatile(_ number: UInt64) {
        durable = number
        covered = number
        newest = number
    }

    /// Records a failed sync: all queued commits were built on the failed state, and fail too. Returns the callbacks to
    /// call.
    func fail(_ error: EngineError) -> [@Sendable (EngineError?) -> Void] {
        requireRewrite()
        if mustRewrite { suspect = newest }
        postpone()
        guard let first = commits.first, let last = commits.last else { return [] }
        let done = Self.settle(commits, as: .failed(error))
        abandoned.append(
            Abandoned(first: first.version.number, last: last.version.number, runs: commits.flatMap(\.runs)))
        leastNumber = last.version.number + 1
        generation += 1
        commits = []
        assertState()
        return done
    }

    /// Catches up with `found`, the version that counts, before the writer's first commit and after other processes
    /// have written. Unless it is `known`, the newest version known to be on stable storage, it must be made durable
    /// before anything else.
    func catchUp(with found: CommitSlot.Placed, durable known: UInt64?, _ failures: Failures, hasFailed: Bool) {
        knowledge = .current
        durableMark = nil
        newest = found.slot.version
        published = .synced
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
        let runs = found.slot.manifest
        let unsynced = Unsynced(
            runs: runs, byteCount: runs.reduce(0) { $0 + $1.extent.pageCount << 12 }, slot: found.bytes,
            failures: failures)
        // After a failed sync another sync would prove nothing. Otherwise the file may hold the only copy, which must
        // not be overwritten.
        let mustRewrite = known != nil && hasFailed || suspect == newest
        published = mustRewrite ? .mustRewrite(unsynced) : .unsynced(unsynced)
        assertState()
    }

    /// Records that no other process has written since this one did.
    func confirm() {
        assert(!mustCatchUp, "the newest commit is not durable")
        knowledge = .current
    }

    /// Records that other processes may have written: the next writer catches up.
    func markStale() { if knowledge == .current { knowledge = .stale } }

    /// Discards the known newest commit of the file, because it could not be made durable: the next writer reads the
    /// slots again.
    func forget() {
        suspect = newest
        published = .synced
        knowledge = .mustCatchUp
        postpone()
        assertState()
    }

    func noteFailure() { failures += 1 }

    // MARK: The background thread

    /// Returns true if the caller has to start the thread; wakes it if it runs.
    func needsThread() -> Bool {
        monitor.tellAll()
        defer { hasThread = true }
        return !hasThread
    }

    /// Records that the thread could not be started.
    func threadFailed() { hasThread = false }

    /// Ends the thread.
    func close() {
        isClosed = true
        monitor.tellAll()
    }

    /// Waits until there is something to sync; false if the thread has nothing left to do and ends.
    func waitForWork(_ delay: UInt64) -> Bool {
        monitor.withLock {
            var idleSince = MonotonicClock.now()
            while true {
                let now = MonotonicClock.now()
                let isWaitedFor = unsynced != nil || mustCatchUp || processLock.isKeptForFailed
                let hasNothing = commits.isEmpty && !isWaitedFor
                if isClosed || hasNothing && (now - idleSince > 2_000_000_000 || failure != nil) {
                    hasThread = false
                    return false
                }
                if !isIdle { idleSince = now }
                if commits.contains(where: { $0.ticket.onDone != nil }) { return true }
                if isWaitedFor, commits.isEmpty, now >= waitsSince + delay { return true }
                monitor.wait(until: isWaitedFor ? max(now + 1_000_000, waitsSince + delay) : now + 2_000_000_000)
            }
        }
    }

    // MARK: Checks

    /// Checks the invariants. Call inside the monitor.
    func assertState() { Invariants.require("commit queue", isSeeded: mutant != nil, findings) }

    /// Returns a description of each violated invariant; empty if all hold. Call inside the monitor.
    var findings: [String] {
        var findings: [String] = []
        // Queued commits are newer than all published ones, sorted by number, and not yet durable.
        var last = newest
        for commit in commits {
            if commit.version.number <= last { findings.append("commit \(commit.version.number) follows \(last)") }
            if !commit.ticket.isWaiting { findings.append("commit \(commit.version.number) is queued and done") }
            last = commit.version.number
        }
        if durable > newest { findings.append("commit \(durable) is durable, \(newest) is the newest") }
        // The manifest names each page of the published commits once.
        if let unsynced, unsynced.runs.reduce(0, { $0 + $1.extent.pageCount }) << 12 != unsynced.byteCount {
            findings.append("the manifest does not name the \(unsynced.byteCount) bytes of the published commits")
        }
        // Failed commits never count again.
        for failed in abandoned where failed.first > failed.last || failed.last >= leastNumber {
            findings.append("commits \(failed.first)...\(failed.last) failed, and the next may be \(leastNumber)")
        }
        return findings
    }
}
