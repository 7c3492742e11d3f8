// SPDX-License-Identifier: Apache-2.0
// `catchAsyncMisuse`: what `catchMisuse` is for asynchronous calls. The body is a task whose jobs all run on one thread,
// made for it, inside one `catchMisuse`; at a misuse that thread ends, and the task never goes on.

internal import Foundation
internal import Regnum
internal import Synchronization

#if os(Linux) && canImport(Glibc)

    /// Runs `body` as a task on a thread of its own and returns the message of the first misuse in it, or nil where there
    /// was none.
    ///
    /// ```swift
    /// let words = try await catchAsyncMisuse {
    ///     let realm = try Realm()
    ///     await Task.yield()
    ///     realm.add(Dog())
    /// }
    /// #expect(words?.contains("in a write transaction") == true)
    /// ```
    ///
    /// - Parameter body: what to run. It is isolated to no actor, so it uses Realms that it opens itself, that belong to
    ///   actors of its own, or frozen ones; Realms of the caller are on another thread, and using one is misuse.
    /// - Returns: the message; nil where `body` came to its end.
    /// - Throws: what `body` throws.
    /// - Thread: any. Task-local values reach `body`, and so does cancelling the caller. It costs a thread.
    ///
    /// What is said of `catchMisuse` about what is abandoned is true here, and three things besides:
    /// - Realms that belong to actors and are held by abandoned code are taken for leaks by test realms.
    /// - An actor on which the misuse happens never runs again: who waits for it waits for ever.
    /// - Caught is what happens in `body`, in its child tasks and on actors that they call. Misuse on the main actor, on
    ///   an actor with an executor of its own, and in tasks that `body` starts with `Task { }` ends the process.
    public func catchAsyncMisuse<Failure: Error>(
        _ body: @escaping @Sendable () async throws(Failure) -> Void
    ) async throws(Failure) -> String? {
        MisuseCatcher.listen()
        let thread = BodyThread()
        let thrown = Thrown<Failure>()
        let task = Task(executorPreference: thread) {
            do throws(Failure) { try await body() } catch { thrown.set(error) }
            thread.end()
        }
        let message = await withTaskCancellationHandler {
            await thread.run()
        } onCancel: {
            task.cancel()
        }
        if let failure = thrown.value { throw failure }
        return message
    }

    /// What a body has thrown.
    private final class Thrown<Failure: Error>: Sendable {
        private let error = Mutex<Failure?>(nil)
        var value: Failure? { error.withLock { $0 } }
        func set(_ failure: Failure) { error.withLock { $0 = failure } }
    }

    /// Runs the jobs of one body on one thread, until the body ends or is abandoned.
    private final class BodyThread: TaskExecutor, @unchecked Sendable {
        // Sendable: everything mutable is behind the condition's lock.
        private let condition = NSCondition()
        private var jobs: [UnownedJob] = []
        private var isOver = false
        private var isAbandoned = false

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isLate = condition.withLock {
                // What belongs to an abandoned body does not go on.
                if isOver || isAbandoned { return !isAbandoned }
                jobs.append(job)
                condition.signal()
                return false
            }
            // An actor that the body has used may still have turns of others to hand on.
            if isLate { DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
        }

        /// To be called in the last job of the body.
        func end() {
            condition.withLock {
                isOver = true
                condition.signal()
            }
        }

        private func next() -> UnownedJob? {
            condition.withLock {
                while jobs.isEmpty, !isOver { condition.wait() }
                return jobs.isEmpty ? nil : jobs.removeFirst()
            }
        }

        /// The message of the misuse at which the body was abandoned.
        func run() async -> String? {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    let message = MisuseCatcher.run {
                        while let job = self.next() { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
                    }
                    if message != nil { self.condition.withLock { self.isAbandoned = true } }
                    // Not from here: after a misuse the runtime still takes the abandoned task for this thread's.
                    DispatchQueue.global().async { continuation.resume(returning: message) }
                }
                thread.start()
            }
        }
    }

#else

    /// Not available on this platform; see `catchMisuse`.
    @available(*, unavailable, message: "catchAsyncMisuse needs Linux with Glibc; use an exit test here")
    public func catchAsyncMisuse<Failure: Error>(
        _ body: @escaping @Sendable () async throws(Failure) -> Void
    ) async throws(Failure) -> String? {
        try await body()
        return nil
    }

#endif

/// Asynchronous calls are `catchAsyncMisuse`'s.
@available(*, unavailable, renamed: "catchAsyncMisuse", message: "a body that awaits needs catchAsyncMisuse")
public func catchMisuse(_ body: () async throws -> Void) async rethrows -> String? {
    try await body()
    return nil
}
