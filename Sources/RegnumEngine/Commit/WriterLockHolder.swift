// SPDX-License-Identifier: Apache-2.0
// The holder of the writer lock, reported to threads that have waited for it for a long time.

import RegnumSystem

/// What is known about the holder of the writer lock.
package struct WriterLockHolder: Sendable {
    package enum Holder: Sendable {
        /// A thread of this process, by `CurrentThread.id`.
        case thread(UInt)
        /// No thread yet: the lock is offered to an asynchronous write.
        case offered
        /// Another process, by its identifier.
        case process(UInt64)
    }
    package var holder: Holder
    /// The source location where the session was opened.
    package var origin: SessionOrigin?
    /// The `MonotonicClock` time at which the lock was acquired.
    package var since: UInt64

    init(_ holder: Holder, origin: SessionOrigin? = nil, since: UInt64 = MonotonicClock.now()) {
        self.holder = holder
        self.origin = origin
        self.since = since
    }
}

/// A hook that observes threads waiting for the writer lock. Any thread.
package final class WriterWait: Sendable {
    /// The instance of this process.
    package static let shared = WriterWait()

    private struct Watch {
        // A struct, because a function that is read from a lock through `inout` is wrapped once more at each read: each
        // wait would take more stack than the one before.
        let begin: @Sendable (Database, SessionOrigin?) -> (@Sendable () -> Void)
    }
    private let watch = Lock<Watch?>(nil)

    /// Nanoseconds that a thread waits for another thread of this process before `begin` is called, which costs more
    /// than most waits take.
    static let patience: UInt64 = 10_000_000

    /// Sets the function that is called on a thread that has waited for a moment and keeps waiting, with the source
    /// location that opened its session, if that is known. The function that it returns is called when the wait ends.
    package func set(_ begin: @escaping @Sendable (Database, SessionOrigin?) -> (@Sendable () -> Void)) {
        watch.withLock { $0 = Watch(begin: begin) }
    }

    /// Runs `body`, which waits, between the two functions. The thread has waited for `waited` nanoseconds already.
    func during<R, Failure: Error>(
        _ database: Database, for origin: SessionOrigin? = nil, waited: UInt64 = 0, _ body: () throws(Failure) -> R
    ) throws(Failure) -> R {
        let begin = MonotonicClock.now() &- waited
        let number = database.blockedWriters.enter(origin, since: begin)
        let done = watch.withLock { $0 }?.begin(database, origin)
        defer {
            database.blockedWriters.leave(number)
            database.counters.noteWait(since: begin)
            done?()
        }
        return try body()
    }
}
