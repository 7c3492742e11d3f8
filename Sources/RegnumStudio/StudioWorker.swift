// SPDX-License-Identifier: Apache-2.0
// Runs work on the database on one queue, and gives up waiting for it after a time. Between requests it goes on to the
// newest version, as the space of an old one is not reused while it is held.

internal import Dispatch
internal import Foundation

final class StudioWorker: Sendable {
    // unsafe: used on `queue` only.
    private nonisolated(unsafe) let file: StudioFile
    private let queue = DispatchQueue(label: "regnum.studio", qos: .userInitiated)
    private let timeLimit: Duration

    init(_ file: StudioFile, timeLimit: Duration) {
        self.file = file
        self.timeLimit = timeLimit
        refreshLater()
    }

    private func refreshLater() {
        queue.asyncAfter(deadline: .now() + 10) { [weak self] in
            guard let self else { return }
            try? file.refresh()
            refreshLater()
        }
    }

    /// Runs `body` on the queue after some seconds.
    func later(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + seconds, execute: body)
    }

    /// Runs `body` with the file. Throws `StudioFailure.timeout` if it has not ended within the limit: it is not begun
    /// then, or its result is dropped. The result of a change is not dropped: once begun, its end is waited for.
    func run<R: Sendable>(
        isChange: Bool = false, _ body: @escaping @Sendable (StudioFile) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let caller = WaitingCaller(continuation)
            queue.async { [self] in
                if caller.begin(staying: isChange) { caller.resume(Result { try body(file) }) }
            }
            let limit = Double(timeLimit.components.seconds) + Double(timeLimit.components.attoseconds) / 1e18
            DispatchQueue.global().asyncAfter(deadline: .now() + limit) {
                caller.leave(StudioFailure.timeout)
            }
        }
    }
}

/// A continuation that the first of two parties resumes.
private final class WaitingCaller<R: Sendable>: @unchecked Sendable {
    // Sendable: the lock guards the continuation.
    private let lock = NSLock()
    private var continuation: CheckedContinuation<R, any Error>?
    private var isStaying = false

    init(_ continuation: CheckedContinuation<R, any Error>) { self.continuation = continuation }

    /// The work begins. Returns false if the caller no longer waits. A caller that stays waits for the end.
    func begin(staying: Bool) -> Bool {
        lock.withLock {
            isStaying = staying
            return continuation != nil
        }
    }

    /// Resumes the caller with an error, unless it stays.
    func leave(_ error: any Error) {
        let waiting = lock.withLock { () -> CheckedContinuation<R, any Error>? in
            if isStaying { return nil }
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(throwing: error)
    }

    func resume(_ result: Result<R, any Error>) {
        let waiting = lock.withLock {
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }
}
