// SPDX-License-Identifier: Apache-2.0
// Who has the writer's turn, for those who wait for it long.

import RegnumSystem

/// Who writes, as far as it is known.
package struct WriterNote: Sendable {
    package enum Holder: Sendable {
        /// A thread of this process, by `CurrentThread.id`.
        case thread(UInt)
        /// Nobody yet: the turn is offered to an asynchronous write.
        case offered
        /// Another process, by its identifier.
        case process(UInt64)
    }
    package var holder: Holder
    /// Where the session was made.
    package var origin: SessionOrigin?
    /// `MonotonicClock` when it got the turn.
    package var since: UInt64

    init(_ holder: Holder, origin: SessionOrigin? = nil, since: UInt64 = MonotonicClock.now()) {
        self.holder = holder
        self.origin = origin
        self.since = since
    }
}

/// Where whoever waits for the writer's turn can be watched. Any thread.
package final class WriterWait: Sendable {
    /// That of the process.
    package static let shared = WriterWait()

    private struct Watch {
        // A struct, because a function that is read from a lock through `inout` is wrapped once more at each reading:
        // each wait would take more of the stack than the one before.
        let begin: @Sendable (Database) -> (@Sendable () -> Void)
    }
    private let watch = Lock<Watch?>(nil)

    /// Nanoseconds that a thread of this process waits for another one before that is watched, which costs more than most
    /// waits take.
    static let patience: UInt64 = 10_000_000

    /// Sets what is called where a thread has waited for a moment and goes on waiting, on that thread; it returns what is
    /// called at the end.
    package func set(_ begin: @escaping @Sendable (Database) -> (@Sendable () -> Void)) {
        watch.withLock { $0 = Watch(begin: begin) }
    }

    /// Runs `body`, which waits.
    func during<R, Failure: Error>(
        _ database: Database, _ body: () throws(Failure) -> R
    ) throws(Failure) -> R {
        let done = watch.withLock { $0 }?.begin(database)
        defer { done?() }
        return try body()
    }
}

extension Database {
    /// To be called with the turn.
    func noteWriter(_ note: WriterNote?) { writer.withLock { $0 = note } }

    /// Who has the turn; nil where nobody has it, or it cannot be known.
    package var writerNote: WriterNote? { shared?.otherWriter ?? writer.withLock { $0 } }
}
