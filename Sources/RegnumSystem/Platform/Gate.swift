// SPDX-License-Identifier: Apache-2.0
// A fair lock that one thread may take and another give back, as an actor's transaction needs: waiters go in
// the order in which they came.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package final class Gate: @unchecked Sendable {
    // Sendable: `next` and `serving` are only touched with `mutex` held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    /// Ticket that the next comer draws, and the one whose turn it is.
    private var next: UInt64 = 0
    private var serving: UInt64 = 0

    package init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Waits for its turn, then holds the gate until `leave`.
    package func enter() {
        pthread_mutex_lock(mutex)
        let ticket = next
        next += 1
        while serving != ticket { pthread_cond_wait(changed, mutex) }
        pthread_mutex_unlock(mutex)
    }

    /// Takes the gate only if nobody holds or awaits it.
    package func tryEnter() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard serving == next else { return false }
        next += 1
        return true
    }

    package func leave() {
        pthread_mutex_lock(mutex)
        serving += 1
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }
}
