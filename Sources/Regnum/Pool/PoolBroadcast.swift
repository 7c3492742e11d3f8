// SPDX-License-Identifier: Apache-2.0
// Passes the updates of one observation to many listeners, each with a buffer of its own.
//
//     listener   current ──its buffer is full──▶ overflown ──it reads the contents──▶ current
//                   └──the pool is closed──▶ ended ◀──┘

internal import RegnumSystem

/// One loop over a sequence of changes. The observer's queue appends, the task of the loop takes.
final class PoolListener: Sendable {
    enum Signal: Sendable {
        case update(PoolUpdate)
        /// Updates were lost: the contents have to be read.
        case overflow
        case end
    }

    private struct State: Sendable {
        var updates: [PoolUpdate] = []
        var hasOverflown = false
        var hasEnded = false
        /// The task, while it waits for a signal.
        var waiter: CheckedContinuation<Signal, Never>?

        /// The next signal, if there is one.
        mutating func take() -> Signal? {
            if hasEnded { return .end }
            if hasOverflown { return .overflow }
            return updates.isEmpty ? nil : .update(updates.removeFirst())
        }
    }

    private let limit: Int
    private let state = Lock(State())

    init(limit: Int) { self.limit = limit }

    /// Appends an update. If the buffer is full, drops all of it.
    func send(_ update: PoolUpdate) {
        wake { state in
            if state.hasOverflown || state.hasEnded { return }
            if state.updates.count < limit { return state.updates.append(update) }
            state.updates = []
            state.hasOverflown = true
        }
    }

    /// Call on the observer's queue, when the contents of this moment are handed to the task.
    func restart() {
        state.withLock { state in
            state.updates = []
            state.hasOverflown = false
        }
    }

    func end() { wake { $0.hasEnded = true } }

    private func wake(_ change: (inout State) -> Void) {
        let (waiter, signal) = state.withLock { state -> (CheckedContinuation<Signal, Never>?, Signal) in
            change(&state)
            guard let waiter = state.waiter, let signal = state.take() else { return (nil, .end) }
            state.waiter = nil
            return (waiter, signal)
        }
        waiter?.resume(returning: signal)
    }

    /// True while the task waits for a signal; for tests.
    var isWaiting: Bool { state.withLock { $0.waiter != nil } }

    /// Waits for the next signal. A listener whose task is cancelled has ended. Only one task may wait.
    func next() async -> Signal {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (signal, isShared) = state.withLock { state -> (Signal?, Bool) in
                    if let signal = state.take() { return (signal, false) }
                    // A continuation that is replaced would never be resumed.
                    if state.waiter != nil { return (nil, true) }
                    state.waiter = continuation
                    return (nil, false)
                }
                if isShared {
                    misuse("Two tasks use one iterator of `changes` at the same time. Begin a loop in each task.")
                }
                if let signal { continuation.resume(returning: signal) }
            }
        } onCancel: {
            end()
        }
    }
}

/// The listeners of one observation. They keep it alive; without listeners it ends.
final class PoolBroadcast: Sendable {
    private struct WeakListener: Sendable { weak var listener: PoolListener? }
    private struct State: Sendable {
        var listeners: [WeakListener] = []
        /// Set once it has begun; nil after the end.
        var entry: ObservationEntry?
    }
    private let state = Lock(State())
    /// Called on any thread when it is released.
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit {
        state.withLock { $0.entry }?.end()
        onRelease()
    }

    func begin(_ entry: ObservationEntry) { state.withLock { $0.entry = entry } }

    func add(_ listener: PoolListener) {
        state.withLock { state in
            // Copies of an iterator share their listener, which receives each update once.
            state.listeners.removeAll { $0.listener == nil || $0.listener === listener }
            state.listeners.append(WeakListener(listener: listener))
        }
    }

    /// Call on the observer's queue.
    func send(_ update: PoolUpdate) {
        for listener in living { listener.send(update) }
    }

    /// Ends the observation and all listeners.
    func end() {
        for listener in living { listener.end() }
        let entry = state.withLock { state in
            defer { state.entry = nil }
            return state.entry
        }
        entry?.end()
    }

    private var living: [PoolListener] { state.withLock { $0.listeners.compactMap(\.listener) } }
}
