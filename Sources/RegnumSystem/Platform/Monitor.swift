// SPDX-License-Identifier: Apache-2.0
// A lock with condition variables, and detached threads.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A condition variable of a monitor, for threads that wait for the same condition.
package final class Signal: @unchecked Sendable {
    // Sendable: a system object that threads may share.
    fileprivate let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        #if canImport(Darwin)
            pthread_cond_init(condition, nil)
        #else
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Wakes all waiting threads. Called inside the monitor. Makes no system call if no thread waits.
    package func tell() { pthread_cond_broadcast(condition) }
}

package final class Monitor: @unchecked Sendable {
    // Sendable: a system object that threads may share.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed = Signal()

    package init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Called inside `withLock`: releases the lock until `tellAll` is called. May wake spuriously.
    package func wait() { wait(on: changed) }

    /// Like `wait()`, but at most until `deadline` of `MonotonicClock`.
    package func wait(until deadline: UInt64) { wait(on: changed, until: deadline) }

    /// Like `wait()`, but until `signal` is signalled. Many waiting threads with a signal each can be woken one at a
    /// time, so that they do not contend for the lock.
    package func wait(on signal: Signal) { pthread_cond_wait(signal.condition, mutex) }

    package func wait(on signal: Signal, until deadline: UInt64) {
        var time = timespec()
        #if canImport(Darwin)
            let now = MonotonicClock.now()
            guard deadline > now else { return }
            time.tv_sec = Int((deadline - now) / 1_000_000_000)
            time.tv_nsec = Int((deadline - now) % 1_000_000_000)
            pthread_cond_timedwait_relative_np(signal.condition, mutex, &time)
        #else
            time.tv_sec = Int(deadline / 1_000_000_000)
            time.tv_nsec = Int(deadline % 1_000_000_000)
            pthread_cond_timedwait(signal.condition, mutex, &time)
        #endif
    }

    /// Wakes all threads that wait without a signal of their own.
    package func tellAll() { changed.tell() }
}

package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread, which ends when `body` returns. Returns false if the system cannot create a thread.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let box = Unmanaged.passRetained(Body(body))
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, nil,
            { argument in
                #if canImport(Darwin)
                    let box = Unmanaged<Body>.fromOpaque(argument)
                #else
                    guard let argument else { return nil }
                    let box = Unmanaged<Body>.fromOpaque(argument)
                #endif
                box.takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return false
        }
        #if canImport(Darwin)
            if let thread { pthread_detach(thread) }
        #else
            pthread_detach(thread)
        #endif
        return true
    }
}
