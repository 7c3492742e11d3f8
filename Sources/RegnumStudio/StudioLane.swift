// SPDX-License-Identifier: Apache-2.0
// One queue of requests, which gives up waiting for one after a time. A request that is given up is not begun any more;
// if it has begun, its scan is stopped.

internal import Dispatch
internal import Foundation
internal import RegnumEngine

final class StudioLane: Sendable {
    private let queue: DispatchQueue
    private let timeLimit: Duration

    init(_ label: String, timeLimit: Duration) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
        self.timeLimit = timeLimit
    }

    /// Runs `body` on the queue after some seconds.
    func later(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + seconds, execute: body)
    }

    /// Runs `body` on the queue. Throws `StudioFailure.timeout` if it has not ended within the limit, the error of `turn`
    /// if a newer request replaces it, and `CancellationError` if the task is cancelled: it is not begun then, or is
    /// stopped and its result dropped. A change is different: once begun, its end is waited for.
    func run<R: Sendable>(
        isChange: Bool = false, _ turn: PageTurn? = nil, _ body: @escaping @Sendable (ScanStop) throws -> R
    ) async throws -> R {
        let caller = WaitingCaller<R>()
        let place = try turn?.take { caller.leave(StudioFailure.superseded) }
        defer { place?.leave() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard caller.wait(continuation) else { return }
                queue.async {
                    if caller.begin(isChange: isChange) { caller.resume(Result { try body(caller.stop) }) }
                }
                let limit = Double(timeLimit.components.seconds) + Double(timeLimit.components.attoseconds) / 1e18
                DispatchQueue.global().asyncAfter(deadline: .now() + limit) {
                    caller.leave(StudioFailure.timeout)
                }
            }
        } onCancel: {
            caller.leave(CancellationError())
        }
    }
}

/// The caller of a request, until it has an answer.
///
///     new ──wait──▶ waiting ──begin──▶ running ──resume, leave──▶ over
///      │               │  └───begin of a change──▶ changing ──resume──▶ over
///      │               └──leave──▶ over
///      └──leave──▶ left ──wait──▶ over
final class WaitingCaller<R: Sendable>: @unchecked Sendable {
    // Sendable: the lock guards the state.
    private typealias Continuation = CheckedContinuation<R, any Error>

    private enum State {
        case new
        case left(any Error)
        case waiting(Continuation)
        case running(Continuation)
        case changing(Continuation)
        case over
    }

    private let lock = NSLock()
    private var state = State.new
    /// Stopped when the caller leaves.
    let stop = ScanStop()

    /// The caller waits. Returns false, and resumes it, if it has left already.
    func wait(_ continuation: CheckedContinuation<R, any Error>) -> Bool {
        let error = lock.withLock { () -> (any Error)? in
            guard case .left(let error) = state else {
                assertState("a caller waits once") { if case .new = $0 { true } else { false } }
                state = .waiting(continuation)
                return nil
            }
            state = .over
            return error
        }
        guard let error else { return true }
        continuation.resume(throwing: error)
        return false
    }

    /// The work begins. Returns false if the caller no longer waits. The caller of a change waits for its end.
    func begin(isChange: Bool) -> Bool {
        lock.withLock {
            guard case .waiting(let continuation) = state else {
                assertState("work begins once") { if case .over = $0 { true } else { false } }
                return false
            }
            state = isChange ? .changing(continuation) : .running(continuation)
            return true
        }
    }

    /// Resumes the caller with an error and stops its scan, unless it has an answer or waits for the end of a change.
    func leave(_ error: any Error) {
        let waiting = lock.withLock { () -> Continuation? in
            switch state {
            case .new:
                state = .left(error)
                return nil
            case .waiting(let continuation), .running(let continuation):
                state = .over
                return continuation
            case .left, .changing, .over: return nil
            }
        }
        guard let waiting else { return }
        stop.stop()
        waiting.resume(throwing: error)
    }

    func resume(_ result: Result<R, any Error>) {
        let waiting = lock.withLock { () -> Continuation? in
            switch state {
            case .running(let continuation), .changing(let continuation):
                state = .over
                return continuation
            default:
                assertState("a result comes after the work has begun") { if case .over = $0 { true } else { false } }
                return nil
            }
        }
        waiting?.resume(with: result)
    }

    private func assertState(_ rule: StaticString, _ isAllowed: (State) -> Bool) {
        assert(isAllowed(state), "\(rule)")
    }
}
