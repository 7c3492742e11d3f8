// SPDX-License-Identifier: Apache-2.0
// A mutex with the value that it protects.
//
// It does not use the Mutex of Synchronization, which fails in the child of a fork: on Linux that mutex stores the
// holder's thread id, and the first thread of a child still has its parent's id cached. As soon as two threads of the
// child contend for the mutex, the kernel reports an error and the process traps (Swift 6.3).

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value and the lock that guards it. Not recursive.
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is accessed only with the lock held.
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

    /// Calls `body` with exclusive access to the value. Returns what `body` returns and rethrows its error.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        acquire()
        defer { release() }
        return try body(&value.pointee)
    }

    /// Takes the lock for a section that `withLock` cannot enclose, until `release` on the same thread.
    package func acquire() { pthread_mutex_lock(mutex) }

    package func release() { pthread_mutex_unlock(mutex) }
}
