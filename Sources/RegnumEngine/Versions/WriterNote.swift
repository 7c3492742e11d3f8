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

/// Where whoever waits for the writer's turn can be watched.
package enum WriterWait {
    package typealias Watch = @Sendable (Database) -> (@Sendable () -> Void)
    private static let watch = Lock<Watch?>(nil)

    /// Sets what is called where a thread begins to wait, on that thread; it returns what is called at the end.
    package static func set(_ new: @escaping Watch) { watch.withLock { $0 = new } }

    /// Runs `body`, which waits.
    static func during<R>(
        _ database: Database, _ body: () throws(EngineError) -> R
    ) throws(EngineError) -> R {
        let done = watch.withLock { $0 }?(database)
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
