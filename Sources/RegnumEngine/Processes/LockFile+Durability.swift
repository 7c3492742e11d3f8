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
// counts as a failure.

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
        guard let noted = word(at: Self.unsyncedFailuresOffset).checked,
            let now = word(at: Self.failuresOffset).checked
        else { return false }
        return noted != now
    }

    func isSyncing(_ slot: Int) -> Bool { pinWord(slot, Self.syncingWord).value > 0 }

    /// Records a failure if the process of that slot ended in a sync. Requires accessible memory (`isMapped`) and the
    /// lock of the slot.
    func takeFailure(ofDead slot: Int) {
        if isSyncing(slot) { countFailure() }
    }

    /// Number of failed syncs; nil if the file is damaged.
    var failureCount: UInt64? { isMapped ? word(at: Self.failuresOffset).checked : nil }

    /// Records that a commit that is not durable was published, with only durable ones before it, after `failures`
    /// failed syncs.
    func noteUnsynced(_ failures: UInt64?) {
        if let failures, isMapped { word(at: Self.unsyncedFailuresOffset).value = failures }
    }

    func noteFailure() {
        if isMapped { countFailure() }
    }

    private func countFailure() { word(at: Self.failuresOffset).update { (($0 ?? 0) + 1) & (1 << 47 - 1) } }
}
