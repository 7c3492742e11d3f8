// SPDX-License-Identifier: Apache-2.0
// `catchAsyncMisuse`: `catchMisuse` for asynchronous calls. The body is a task whose jobs all run on a new thread,
// inside one `catchMisuse`. At a programmer error that thread ends, and the task is never resumed.

internal import Foundation
internal import Regnum
internal import Synchronization

#if os(Linux) && canImport(Glibc)

    /// Runs `body` as a task on a new thread. Returns the message of the first programmer error in it, or nil if there
    /// is none.
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
    /// - Parameter body: The code to run. It is isolated to no actor, so it may use Realms that it opens itself, Realms
    ///   of its own actors, and frozen ones. The caller's Realms are on another thread, so their use is a programmer
    ///   error.
    /// - Returns: The message; nil if `body` ran to its end.
    /// - Throws: The error that `body` throws.
    /// - Thread: Any. `body` inherits task-local values, and is cancelled with the caller. Creates a thread.
    ///
    /// Abandoned code has the same limits as in `catchMisuse`, and three more:
    /// - Realms that belong to actors and are held by abandoned code are reported as leaks by test realms.
    /// - An actor on which the programmer error happens never runs again: code that awaits it waits forever.
    /// - Errors are caught in `body`, in its child tasks and on actors that they call. Programmer errors on the main
    ///   actor, on an actor with its own executor, and in tasks that `body` starts with `Task { }` end the process.
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

    /// The error that a body has thrown.
    private final class Thrown<Failure: Error>: Sendable {
        private let error = Mutex<Failure?>(nil)
        var value: Failure? { error.withLock { $0 } }
        func set(_ failure: Failure) { error.withLock { $0 = failure } }
    }

    /// Runs the jobs of one body on one thread, until the body ends or is abandoned.
    private final class BodyThread: TaskExecutor, @unchecked Sendable {
        // Sendable: everything mutable is guarded by the condition's lock.
        private let condition = NSCondition()
        private var jobs: [UnownedJob] = []
        private var isOver = false
        private var isAbandoned = false

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isLate = condition.withLock {
                // Jobs of an abandoned body are dropped.
                if isOver || isAbandoned { return !isAbandoned }
                jobs.append(job)
                condition.signal()
                return false
            }
            // An actor that the body has used may still have jobs of other tasks to hand over.
            if isLate { DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
        }

        /// Called in the last job of the body.
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

        /// Runs the jobs. Returns the message of the programmer error at which the body was abandoned.
        func run() async -> String? {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    let message = MisuseCatcher.run {
                        while let job = self.next() { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
                    }
                    if message != nil { self.condition.withLock { self.isAbandoned = true } }
                    // Not resumed on this thread, for which the runtime still considers the abandoned task to be
                    // current.
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

/// Not available: asynchronous calls need `catchAsyncMisuse`.
@available(*, unavailable, renamed: "catchAsyncMisuse", message: "a body that awaits needs catchAsyncMisuse")
public func catchMisuse(_ body: () async throws -> Void) async rethrows -> String? {
    try await body()
    return nil
}
