// SPDX-License-Identifier: Apache-2.0
// Shared facts of the lock file about stable storage: the newest durable version, and failed syncs.
//
// After a failed sync the system may drop the pages, and it tells only the processes that have the file open by then. A
// process that opens the file later must not take a sync of its own for a proof. So a sync is shown in two steps:
//
//  1  before it, the process counts it in its slot
//  2  after it, the process records a failure, if it was one, and then counts the sync as ended
//
// A process that catches up with commits that are not durable reads the slots before the number of failures, so it sees
// the one or the other. While another process is syncing, or if it has ended in a sync, the result is unknown, and
// counts as a failure for a process that catches up. It is none for processes that are syncing commits of their own:
// the system tells them.

import RegnumSystem

extension LockFile {
    static let syncingWord = 68

    /// May be called without the writer lock: another process may have recorded a newer version by now.
    func noteDurable(_ number: UInt64) {
        if isMapped { word(at: Self.durableOffset).update { $0.map { $0 >= number } == true ? nil : number } }
    }

    /// The last version known to be durable; nil if the file is damaged.
    var durable: UInt64? { isMapped ? word(at: Self.durableOffset).checked : nil }

    /// Calls `body`, which syncs the database file and, if that fails, calls `noteFailure`.
    func whileSyncing<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R {
        let isShown = slot >= 0 && isMapped
        if isShown { pinWord(slot, Self.syncingWord).update { ($0 ?? 0) + 1 } }
        defer {
            if isShown, isMapped {
                pinWord(slot, Self.syncingWord).update { $0.flatMap { $0 > 0 ? $0 - 1 : nil } }
            }
        }
        return try body()
    }

    /// True if a sync has failed, or may have failed, since the first commit that is not durable. The number noted may
    /// be that of an earlier commit: if no sync has failed since that one, none has failed since the later one.
    var hasFailedSinceUnsynced: Bool {
        guard isMapped else { return false }
        // Before the numbers of failures: see above.
        if (0..<slotsInUse).contains(where: { $0 != slot && isSyncing($0) }) { return true }
        guard let noted = word(at: Self.unsyncedFailuresOffset).checked, let now = syncCounts else { return false }
        return noted != now.sum
    }

    func isSyncing(_ slot: Int) -> Bool { pinWord(slot, Self.syncingWord).value > 0 }

    /// Counts a sync in which the process of that slot ended. Requires accessible memory (`isMapped`) and the lock of the
    /// slot.
    func takeUnknownSync(ofDead slot: Int) {
        if isSyncing(slot) { increment(Self.unknownSyncsOffset) }
    }

    /// Counts of syncs, of all processes.
    struct SyncCounts: Equatable {
        var failed: UInt64
        /// Of processes that ended in them.
        var unknown: UInt64

        var sum: UInt64 { (failed &+ unknown) & LockFile.countMask }
    }

    /// Nil if the file is damaged.
    var syncCounts: SyncCounts? {
        guard isMapped, let failed = word(at: Self.failuresOffset).checked,
            let unknown = word(at: Self.unknownSyncsOffset).checked
        else { return nil }
        return SyncCounts(failed: failed, unknown: unknown)
    }

    /// Records that a commit that is not durable was published, with only durable ones before it. Its pages were
    /// written after the counts were read.
    func noteUnsynced(_ counts: SyncCounts?) {
        if let counts, isMapped { word(at: Self.unsyncedFailuresOffset).value = counts.sum }
    }

    func noteFailure() {
        if isMapped { increment(Self.failuresOffset) }
    }

    fileprivate static let countMask: UInt64 = 1 << 47 - 1

    private func increment(_ offset: Int) { word(at: offset).update { (($0 ?? 0) + 1) & Self.countMask } }
}
