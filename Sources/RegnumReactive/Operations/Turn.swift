// SPDX-License-Identifier: Apache-2.0
// Work on its way to the place that it belongs to.

#if canImport(Combine) || Publishers
    internal import Dispatch

    /// A piece of work.
    struct Turn: @unchecked Sendable {
        // Sendable: run once, at the one place that it was made for.
        let run: () -> Void
    }

    /// Brings work to a place, in the order of the calls.
    typealias Turns = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Those of a queue.
    func turns(on queue: DispatchQueue) -> Turns {
        { work in queue.async { work() } }
    }
#endif
