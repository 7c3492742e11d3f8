// SPDX-License-Identifier: Apache-2.0
// The end of a process by `exit` or by return from its main function; not by a signal, `_exit` or `abort`.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum ProcessEnd {
    /// Calls `body` when the process ends, on the thread that ends it, while other threads keep running. The child of a
    /// fork inherits the registration.
    package static func call(_ body: @escaping @convention(c) () -> Void) { _ = atexit(body) }

    /// Runs `body` on a new thread and waits for it until `deadline` of `MonotonicClock` at most. The process must end
    /// even if a lock that `body` needs is held by a thread that waits for the calling one.
    package static func run(until deadline: UInt64, _ body: @escaping @Sendable () -> Void) {
        let monitor = Monitor()
        let isDone = Done()
        let isStarted = DetachedThread.start {
            body()
            monitor.withLock {
                isDone.value = true
                monitor.tellAll()
            }
        }
        guard isStarted else { return }
        monitor.withLock {
            while !isDone.value, MonotonicClock.now() < deadline { monitor.wait(until: deadline) }
        }
    }

    private final class Done: @unchecked Sendable {
        // Sendable: guarded by the monitor of `run`.
        var value = false
    }
}
