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

    /// Runs `body` with the file. Throws `StudioFailure.timeout` if it has not ended within the limit: it is not begun
    /// then, or its result is dropped.
    func run<R: Sendable>(_ body: @escaping @Sendable (StudioFile) throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            let caller = WaitingCaller(continuation)
            queue.async { [self] in if caller.isWaiting { caller.resume(Result { try body(file) }) } }
            let limit = Double(timeLimit.components.seconds) + Double(timeLimit.components.attoseconds) / 1e18
            DispatchQueue.global().asyncAfter(deadline: .now() + limit) {
                caller.resume(.failure(StudioFailure.timeout))
            }
        }
    }
}

/// A continuation that the first of two parties resumes.
private final class WaitingCaller<R: Sendable>: @unchecked Sendable {
    // Sendable: the lock guards the continuation.
    private let lock = NSLock()
    private var continuation: CheckedContinuation<R, any Error>?

    init(_ continuation: CheckedContinuation<R, any Error>) { self.continuation = continuation }

    var isWaiting: Bool { lock.withLock { continuation != nil } }

    func resume(_ result: Result<R, any Error>) {
        let waiting = lock.withLock {
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }
}
