// SPDX-License-Identifier: Apache-2.0
// A value that threads share, one at a time.
//
// Not the Mutex of Synchronization, for the children of forks: on Linux that one writes the holder's thread id into
// the lock, and the thread that a child begins with still has the id of its parent's thread in mind. As soon as two
// threads of the child want the lock at once, the kernel refuses and the process traps (Swift 6.3).

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The value and the lock that guards it. Not recursive.
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is reached with the lock only.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// What `body` returns, called while no other thread has the value. What it throws is thrown.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        acquire()
        defer { release() }
        return try body(&value.pointee)
    }

    /// For what `withLock` cannot enclose: waits for the lock, until `release` on the same thread.
    package func acquire() { pthread_mutex_lock(mutex) }

    package func release() { pthread_mutex_unlock(mutex) }
}
