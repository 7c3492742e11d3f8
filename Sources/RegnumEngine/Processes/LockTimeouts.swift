// SPDX-License-Identifier: Apache-2.0
// The times for which processes and threads wait for each other, and the error that names the ones that caused the
// wait.

import RegnumSystem

extension Database.OpenOptions {
    /// Nanoseconds that an opening waits for processes that open, compact or delete the file, if `busyTimeout` is nil.
    static let openingTimeout: UInt64 = 30_000_000_000

    /// The `MonotonicClock` time at which an opening that starts now gives up.
    var openingDeadline: UInt64 { Self.deadline(busyTimeout ?? Self.openingTimeout) }

    /// Like `openingDeadline`, for a write.
    var writeDeadline: UInt64 { busyTimeout.map { Self.deadline($0) } ?? FairLock.never }

    private static func deadline(_ timeout: UInt64) -> UInt64 {
        let now = MonotonicClock.now()
        return timeout < FairLock.never - now ? now + timeout : FairLock.never
    }
}

extension LockFile {
    /// Describes the processes that hold the lock on a byte of the database file.
    func holders(of byte: Int) -> String {
        let holders = LockHolder.find(database.identity, byte: byte).map(\.words)
        return holders.isEmpty ? "a process that this one may not inspect" : holders.joined(separator: ", ")
    }
}

extension Database {
    /// The error of a write that began to wait at `begin` and has timed out.
    func busyError(since begin: UInt64) -> EngineError {
        let now = MonotonicClock.now()
        func seconds(_ since: UInt64) -> String {
            let tenths = (now &- min(since, now)) / 100_000_000
            return "\(tenths / 10).\(tenths % 10) s"
        }
        var words: String
        switch writerNote.map({ ($0.holder, $0) }) {
        case (.process(let process), let note)?:
            words =
                "\(LockHolder(process: Int32(truncatingIfNeeded: process)).words) has been writing for "
                + seconds(note.since)
        case (.thread(let thread), let note)?:
            words = "thread \(String(thread, radix: 16)) of this process has been writing for \(seconds(note.since))"
            if let origin = note.origin { words += ", in the Realm opened at \(origin.fileID):\(origin.line)" }
        case (.offered, _)?: words = "an asynchronous write of this process holds the writer lock"
        case nil:
            words =
                shared.map { "its lock is held by \($0.holders(of: LockFile.writerByte))" }
                ?? "another writer is active"
        }
        return .busy(
            "The file is being written by others: \(words). Waited \(seconds(begin)). "
                + "Nothing was changed: try again later.")
    }
}
