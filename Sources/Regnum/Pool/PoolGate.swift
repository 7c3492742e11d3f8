// SPDX-License-Identifier: Apache-2.0
// Lets a limited number of tasks in at a time, in the order of their calls. A pool has one gate for its readers, with a
// slot for each, and one for its writer, with one slot.
//
//     created ──enter──▶ waiting ──a slot is free──▶ inside ──release──▶ outside ──end──▶ ended
//        │                  └──cancel──▶ cancelled                  (the next task is let in)
//        └──cancel──▶ cancelled
//
// A task waits here and not on the executor of a reader or of the writer: a job that an executor has queued cannot be
// taken back, but a task that is cancelled while it waits here leaves the queue at once.

internal import RegnumSystem

/// The error of a call whose task was cancelled after the gate had let it in, and before its closure ran. Not the
/// `CancellationError` of a closure, with which the call fails.
struct CancelledInside: Error {}

final class PoolGate: Sendable {
    /// One task's way through the gate.
    final class Pass: @unchecked Sendable {
        // Sendable: guarded by the gate's lock. `slot` is written before the task continues, and then only read.
        fileprivate enum Phase { case created, waiting, inside, outside, cancelled }
        fileprivate var phase = Phase.created
        /// Its place among the tasks that wait.
        fileprivate var number = -1
        /// The time of the last change from waiting or to inside, of the monotonic clock.
        fileprivate var since: UInt64 = 0
        fileprivate(set) var slot = 0
    }

    private struct Waiter: Sendable {
        let pass: Pass
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        /// The free slots; the one that was used last is last.
        var idle: [Int]
        /// By the number of the pass; the numbers ascend in the order of the calls. A dictionary, because thousands of
        /// tasks may be cancelled at once: each leaves in O(1).
        var waiting: [Int: Waiter] = [:]
        /// The numbers of tasks that wait are in this range.
        var numbers = 0..<0
        /// Tasks from `inside` to `ended`.
        var active = 0
        var isClosed = false
        /// The callers of `close`.
        var closers: [CheckedContinuation<Void, Never>] = []
        var activity = RealmPool.Metrics.Activity()

        mutating func addWaiter(_ waiter: Waiter) {
            waiter.pass.number = numbers.upperBound
            waiting[waiter.pass.number] = waiter
            numbers = numbers.lowerBound..<(numbers.upperBound + 1)
        }

        /// Removes the task that has waited longest; nil if none waits. Skips the numbers of cancelled ones.
        mutating func removeFirstWaiter() -> Waiter? {
            if waiting.isEmpty { numbers = numbers.upperBound..<numbers.upperBound }
            while let number = numbers.first {
                numbers = (number + 1)..<numbers.upperBound
                if let waiter = waiting.removeValue(forKey: number) { return waiter }
            }
            return nil
        }

        mutating func letIn(_ pass: Pass, _ slot: Int) {
            let now = MonotonicClock.now()
            if pass.phase == .waiting { activity.timeWaited += .nanoseconds(now &- pass.since) }
            pass.phase = .inside
            pass.since = now
            pass.slot = slot
            active += 1
        }
    }

    private let waitingLimit: Int
    private let state: Lock<State>

    /// Creates a gate. `waitingLimit` limits the number of tasks that wait.
    init(slots: Int, waitingLimit: Int?) {
        self.waitingLimit = waitingLimit ?? .max
        state = Lock(State(idle: Array((0..<slots).reversed())))
    }

    /// The counts so far.
    var activity: RealmPool.Metrics.Activity {
        state.withLock { state in
            var activity = state.activity
            (activity.running, activity.waiting) = (state.active, state.waiting.count)
            return activity
        }
    }

    // MARK: The way in

    /// Waits for a slot. Throws `RealmPoolError`, and `CancellationError` if the task is cancelled before it has one.
    func enter() async throws -> Pass {
        let pass = Pass()
        if Task.isCancelled {
            state.withLock { $0.activity.cancelled += 1 }
            throw CancellationError()
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { admit(Waiter(pass: pass, continuation: $0)) }
        } onCancel: {
            cancel(pass)
        }
        return pass
    }

    private func admit(_ waiter: Waiter) {
        let pass = waiter.pass
        let decision = state.withLock { state -> Result<Bool, any Error> in
            if pass.phase == .cancelled { return .failure(CancellationError()) }
            if state.isClosed || state.idle.isEmpty && state.waiting.count >= waitingLimit {
                state.activity.refused += 1
                return .failure(
                    state.isClosed ? RealmPoolError.closed : RealmPoolError.tooManyWaiting(limit: waitingLimit))
            }
            if let slot = state.idle.popLast() {
                state.letIn(pass, slot)
                return .success(true)
            }
            pass.phase = .waiting
            pass.since = MonotonicClock.now()
            state.addWaiter(waiter)
            state.activity.mostWaiting = max(state.activity.mostWaiting, state.waiting.count)
            return .success(false)
        }
        switch decision {
        case .failure(let error): waiter.continuation.resume(throwing: error)
        case .success(let isInside): if isInside { waiter.continuation.resume() }
        }
    }

    /// Any thread; even before `admit`.
    private func cancel(_ pass: Pass) {
        let waiter = state.withLock { state -> Waiter? in
            guard pass.phase == .created || pass.phase == .waiting else { return nil }
            pass.phase = .cancelled
            state.activity.cancelled += 1
            return state.waiting.removeValue(forKey: pass.number)
        }
        waiter?.continuation.resume(throwing: CancellationError())
        wakeClosers()
    }

    // MARK: The way out

    /// Gives the slot to the next task. Does nothing if it was given before.
    func release(_ pass: Pass) {
        let next = state.withLock { state -> Waiter? in
            guard pass.phase == .inside else { return nil }
            pass.phase = .outside
            guard let next = state.removeFirstWaiter() else {
                state.idle.append(pass.slot)
                return nil
            }
            state.letIn(next.pass, pass.slot)
            return next
        }
        next?.continuation.resume()
    }

    /// Ends a call that has returned a result.
    func end(_ pass: Pass) { end(pass, \.completed) }

    /// Ends a call that has thrown an error. Returns the error for its caller.
    func end(_ pass: Pass, with error: any Error) -> any Error {
        let isCancelled = error is CancelledInside
        end(pass, isCancelled ? \.cancelled : \.failed)
        return isCancelled ? CancellationError() : error
    }

    /// Releases the slot, if it is still held, and counts the call.
    private func end(_ pass: Pass, _ count: WritableKeyPath<RealmPool.Metrics.Activity, Int>) {
        release(pass)
        state.withLock { state in
            state.active -= 1
            state.activity.timeRun += .nanoseconds(MonotonicClock.now() &- pass.since)
            state.activity[keyPath: count] += 1
        }
        wakeClosers()
    }

    // MARK: Closing

    /// Refuses all calls from now on.
    func refuseCalls() { state.withLock { $0.isClosed = true } }

    /// Waits until all calls that were accepted have ended; call `refuseCalls` first.
    func waitForCalls() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.closers.append(continuation) }
            wakeClosers()
        }
    }

    private func wakeClosers() {
        let closers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.isClosed, state.active == 0, state.waiting.isEmpty else { return [] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
