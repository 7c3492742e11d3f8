// SPDX-License-Identifier: Apache-2.0
// The threads of this process that have been waiting for the writer lock of a file for a moment. Entered only on the
// slow path of a wait, see `WriterWait`.

import RegnumSystem

/// A thread that waits for the writer lock.
package struct BlockedWriter: Sendable {
    /// `CurrentThread.id` of the thread.
    package var thread: UInt
    /// The source location that opened the session that wants to write; nil if it is not known.
    package var origin: SessionOrigin?
    /// The `MonotonicClock` time at which the wait began.
    package var since: UInt64
}

/// Thread-safe.
package final class BlockedWriters: Sendable {
    private struct State: Sendable {
        var last = 0
        var waiting: [Int: BlockedWriter] = [:]
    }
    private let state = Lock(State())

    /// Adds the calling thread. Returns a number for `leave`.
    func enter(_ origin: SessionOrigin?, since begin: UInt64) -> Int {
        let writer = BlockedWriter(thread: CurrentThread.id, origin: origin, since: begin)
        return state.withLock { state in
            state.last += 1
            state.waiting[state.last] = writer
            return state.last
        }
    }

    func leave(_ number: Int) { state.withLock { $0.waiting[number] = nil } }

    /// The `MonotonicClock` time at which the wait of the calling thread began; now if it does not wait.
    package var ownBeginning: UInt64 {
        state.withLock { state in
            state.waiting.values.first { $0.thread == CurrentThread.id }?.since ?? MonotonicClock.now()
        }
    }

    /// The waiting threads, the longest wait first.
    package var all: [BlockedWriter] { state.withLock { $0.waiting.values.sorted { $0.since < $1.since } } }
}
