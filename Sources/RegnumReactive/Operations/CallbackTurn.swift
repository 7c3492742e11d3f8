// SPDX-License-Identifier: Apache-2.0
// Work to be run on the thread or queue it belongs to.

#if canImport(Combine) || Publishers
    internal import Dispatch

    /// A piece of work.
    struct CallbackTurn: @unchecked Sendable {
        // Sendable: run once, on the thread or queue it was made for.
        let run: () -> Void
    }

    /// Schedules work on a thread or queue, in the order of the calls.
    typealias Turns = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Schedules work on `queue`.
    func turns(on queue: DispatchQueue) -> Turns {
        { work in queue.async { work() } }
    }
#endif
