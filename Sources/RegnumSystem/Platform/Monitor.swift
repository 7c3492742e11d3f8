// SPDX-License-Identifier: Apache-2.0
// A lock whose holder can wait for others to change what it guards, and threads for work that nobody waits for.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where those sleep who wait in a monitor for the same thing.
package final class Signal: @unchecked Sendable {
    // Sendable: an object of the system that threads share.
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

    /// Inside the monitor: ends the waiting of all. No call of the system where nobody waits.
    package func tell() { pthread_cond_broadcast(condition) }
}

package final class Monitor: @unchecked Sendable {
    // Sendable: an object of the system that threads share.
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

    /// Inside `withLock`: lets others in until one of them calls `tellAll`, or for no reason.
    package func wait() { wait(on: changed) }

    /// As `wait`, until `MonotonicClock` shows `deadline` at most.
    package func wait(until deadline: UInt64) { wait(on: changed, until: deadline) }

    /// As `wait`, until somebody tells the signal. Woken one by one, many who wait do not stand in each other's way.
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

    /// Ends the waiting of all who wait on no signal of their own.
    package func tellAll() { changed.tell() }
}

package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a thread of its own, which ends with it. False where the system gives no thread.
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
