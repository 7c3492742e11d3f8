// SPDX-License-Identifier: Apache-2.0
// How a process that can no longer write publishes its failed commits, so that other processes can keep writing.
//
// According to the file, the pages of a failed commit are free. Sessions may keep showing that commit for as long as
// they like, so their process keeps the writer lock until a commit of its own records those pages as in use
// (`Database.recordFailed`). A database that has itself failed can make no such commit. Its process then publishes the
// highest number of its failed commits and the end of their pages, pins their numbers like any others, and releases the
// lock. While they are published, other processes
//
//  1  write to no free page before that end, only after it and at the end of the file, so the pages that the failed
//     commits have written stay intact
//  2  assign no version the number of a failed commit: the blocks that failed commits share with the version they
//     were built on are needed up to those numbers, so the pins keep them
//
// This ends with the last of those sessions, or with the process. Damaged words count as zero: if the disk has failed
// and the lock file is damaged too, a session may show pages that others have overwritten.

extension LockFile {
    /// Failed commits that a process shows; zeros if none.
    struct Failed {
        /// The highest version number.
        var last: UInt64 = 0
        /// First page after everything that these commits have written.
        var end: UInt64 = 0
    }

    private static let failedWord = 66
    static let failedEndWord = 67

    /// Publishes `failed` until `clearFailed`; false if no other process can see it. Requires the writer lock, so that
    /// the next holder reads it.
    func showFailed(_ failed: Failed) -> Bool {
        guard slot >= 0, isMapped else { return false }
        self.failed = failed
        writeFailed()
        return true
    }

    /// May be called at any time: until then, others have only avoided more pages than necessary.
    func clearFailed() {
        failed = Failed()
        if slot >= 0, isMapped { writeFailed() }
    }

    /// Requires a slot and accessible memory (`isMapped`).
    func writeFailed() {
        pinWord(slot, Self.failedWord).value = failed.last
        pinWord(slot, Self.failedEndWord).value = failed.end
    }

    /// Returns the failed commits that the process of that slot has published.
    func shownFailed(of slot: Int) -> Failed {
        Failed(last: pinWord(slot, Self.failedWord).value, end: pinWord(slot, Self.failedEndWord).value)
    }
}
