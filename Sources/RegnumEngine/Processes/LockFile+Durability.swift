// SPDX-License-Identifier: Apache-2.0
// Shared facts of the lock file about stable storage: the newest durable version, and syncs in progress and failed.
//
// After a failed sync the system may drop the pages, and it tells only the processes that have the file open by then. A
// process that opens the file later must not take a sync of its own for a proof. So a sync is shown in three steps:
//
//  1  before it, the process counts it in its slot
//  2  after it, the process records a failure, or the version that is durable now
//  3  then it counts the sync as ended
//
// Before its first commit, a process that has joined others waits until no other process shows a sync (`awaitSyncs`).
// Each sync that may have failed before it opened the file is then recorded, and of later ones the system tells it. If a
// process has ended in a sync, the result stays unknown: it counts as a failure for processes that open the file later.

import RegnumSystem

extension LockFile {
    static let syncingWord = 68
    /// After that time the result of another process's sync counts as unknown: a debugger may have stopped the process.
    private static let longestSync: UInt64 = 30_000_000_000
    private static let countMask: UInt64 = 1 << 47 - 1

    // MARK: Durable versions

    /// May be called without the writer lock: another process may have recorded a newer version by now.
    func noteDurable(_ number: UInt64) {
        if isMapped { word(at: Self.durableOffset).update { $0.map { $0 >= number } == true ? nil : number } }
    }

    /// The last version known to be durable; nil if the file is damaged.
    var durable: UInt64? { isMapped ? word(at: Self.durableOffset).checked : nil }

    private var isNewestDurable: Bool { newest.map { durable ?? 0 >= $0 } ?? false }

    // MARK: Syncs in progress

    /// Shows that this process syncs the database file, until `endSync`. Calls of several threads may overlap.
    func beginSync() {
        if slot >= 0, isMapped { pinWord(slot, Self.syncingWord).update { ($0 ?? 0) + 1 } }
    }

    /// Call after the result has been recorded.
    func endSync() {
        guard slot >= 0, isMapped else { return }
        pinWord(slot, Self.syncingWord).update { $0.flatMap { $0 > 0 ? $0 - 1 : nil } }
    }

    func isSyncing(_ slot: Int) -> Bool { pinWord(slot, Self.syncingWord).value > 0 }

    /// Waits for the results of syncs that other processes show, before this process's first commit and before it
    /// rewrites the pages of others' commits: a rewrite must not damage what another process makes durable meanwhile. If
    /// a result stays unknown, records a failure, so that no process relies on the pages before they are rewritten.
    /// Requires the writer lock, so that the waiting ends.
    func awaitSyncs() throws(EngineError) {
        guard isMapped, slot >= 0, mustAwaitSyncs || hasFailedSinceUnsynced else { return }
        if isNewestDurable {
            mustAwaitSyncs = false
            return
        }
        let end = MonotonicClock.now() + Self.longestSync
        var isUnknown = false
        for i in 0..<slotsInUse where i != slot {
            // System calls are made between looks: the lock file may have been truncated.
            while isMapped, isSyncing(i) {
                if MonotonicClock.now() > end {
                    isUnknown = true
                    break
                }
                do throws(SystemError) {
                    if try !clearSlotIfDead(i) { CurrentThread.sleep(nanoseconds: 100_000) }
                } catch { throw .system(error) }
            }
        }
        guard isMapped else { return }
        isUnknown = isUnknown || mustAwaitSyncs && hasUnknownSinceUnsynced
        mustAwaitSyncs = false
        if isUnknown, !isNewestDurable { noteFailure() }
    }

    /// Clears the slot of another process if that has ended. Returns false if it is running.
    func clearSlotIfDead(_ i: Int) throws(SystemError) -> Bool {
        if try database.isLocked(byte: Self.firstSlotByte + i) { return false }
        // A slot is claimed only with this lock, and its new owner clears it too.
        guard try database.tryLock(byte: Self.firstSlotByte + i) else { return true }
        if isMapped { clearDeadSlot(i) }
        database.unlock(byte: Self.firstSlotByte + i)
        return true
    }

    /// Clears the slot of a process that has ended. Counts a sync in which it ended. Requires accessible memory
    /// (`isMapped`) and the lock of the slot.
    func clearDeadSlot(_ i: Int) {
        if isSyncing(i) { increment(Self.unknownSyncsOffset) }
        clearSlot(i)
    }

    // MARK: Failed syncs

    /// Counts of syncs, of all processes.
    struct SyncCounts: Equatable {
        var failed: UInt64
        /// Of processes that ended in them.
        var unknown: UInt64
    }

    /// Nil if the file is damaged.
    var syncCounts: SyncCounts? {
        guard isMapped, let failed = word(at: Self.failuresOffset).checked,
            let unknown = word(at: Self.unknownSyncsOffset).checked
        else { return nil }
        return SyncCounts(failed: failed, unknown: unknown)
    }

    /// True if a sync has failed since the first commit that is not durable. The number noted may be that of an earlier
    /// commit: if no sync has failed since that one, none has failed since the later one.
    var hasFailedSinceUnsynced: Bool { isMapped && hasMoved(Self.failuresOffset, since: Self.unsyncedFailuresOffset) }

    /// True if a process has ended in a sync since the first commit that is not durable.
    private var hasUnknownSinceUnsynced: Bool { hasMoved(Self.unknownSyncsOffset, since: Self.unsyncedUnknownsOffset) }

    /// Like `hasFailedSinceUnsynced`, for the only process that has the file open: all others have ended.
    var mayHaveFailedSinceUnsynced: Bool {
        guard isMapped else { return false }
        return hasFailedSinceUnsynced || hasUnknownSinceUnsynced || (0..<slotsInUse).contains(where: isSyncing)
    }

    private func hasMoved(_ offset: Int, since noted: Int) -> Bool {
        guard let noted = word(at: noted).checked, let now = word(at: offset).checked else { return false }
        return noted != now
    }

    /// Records that a commit that is not durable was published, with only durable ones before it. Its pages were
    /// written after the counts were read.
    func noteUnsynced(_ counts: SyncCounts?) {
        guard let counts, isMapped else { return }
        word(at: Self.unsyncedFailuresOffset).value = counts.failed
        word(at: Self.unsyncedUnknownsOffset).value = counts.unknown
    }

    func noteFailure() {
        if isMapped { increment(Self.failuresOffset) }
    }

    /// Replaces damaged counts.
    func restoreSyncCounts() {
        let pairs = [
            (Self.failuresOffset, Self.unsyncedFailuresOffset), (Self.unknownSyncsOffset, Self.unsyncedUnknownsOffset),
        ]
        for (offset, noted) in pairs {
            if word(at: offset).checked == nil { word(at: offset).value = 0 }
            if word(at: noted).checked == nil { word(at: noted).value = word(at: offset).value }
        }
    }

    private func increment(_ offset: Int) { word(at: offset).update { (($0 ?? 0) + 1) & Self.countMask } }
}
