// SPDX-License-Identifier: Apache-2.0
// What a process that cannot write any more tells the others of commits that have failed there, so that they can.
//
// The pages of a failed commit are free for all who go by the file. A session may show them as long as it likes, so
// its process keeps the writer's lock until a commit of its own says whose they are (`Database.recordFailed`). Where
// the database is latched there is no such commit: then the process shows the highest number of its failed commits and
// where their pages end, pins their numbers as any other, and lets go of the lock. As long as it shows them, others
//
//  1  write to no free page before that end, but behind it and at the end of the file: what the failed commits have
//     written stays
//  2  give no number to a version that a failed commit had: what these share with the version that they were built on
//     is needed up to their numbers, and so stays by their pins
//
// It ends with the last of those sessions, or with the process. Where these words are damaged they count for nothing:
// with a failing disk and a damaged lock file at once, a session may show what others have written there.

extension SharedFile {
    /// Zeros where nothing is shown.
    struct Failed {
        /// The highest number.
        var last: UInt64 = 0
        /// First page behind all that these commits have written.
        var end: UInt64 = 0
    }

    private static let failedWord = 66
    static let failedEndWord = 67

    /// Shows it until `clearFailed`; false where nobody can see it. Below the writer's lock: whoever has it next looks.
    func showFailed(_ failed: Failed) -> Bool {
        guard slot >= 0, isMapped else { return false }
        self.failed = failed
        writeFailed()
        return true
    }

    /// At any time: others have kept clear of more than they had to.
    func clearFailed() {
        failed = Failed()
        if slot >= 0, isMapped { writeFailed() }
    }

    /// With a slot, where the memory can be touched.
    func writeFailed() {
        pinWord(slot, Self.failedWord).value = failed.last
        pinWord(slot, Self.failedEndWord).value = failed.end
    }

    /// What the process of that slot shows.
    func shownFailed(of slot: Int) -> Failed {
        Failed(last: pinWord(slot, Self.failedWord).value, end: pinWord(slot, Self.failedEndWord).value)
    }
}
