// SPDX-License-Identifier: Apache-2.0
// Notices that this process was made by fork: what its parent had open (mappings, locks, threads that wait) is not
// the child's to use.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Counts the forks on the way from the first process to this one, and marks words in the child.
package enum ForkWatch {
    /// Differs from what was read before a fork in the child of that fork. One load.
    // unsafe: written only by the one thread of a child that was just made.
    package private(set) nonisolated(unsafe) static var generation: UInt = 0

    /// Words to be zeroed in a child. Guard: `mutex`, which is held across every fork.
    // unsafe: see the guard.
    private nonisolated(unsafe) static var words: Set<UnsafeMutablePointer<UInt>> = []
    // unsafe: initialised once, then only handed to the mutex functions.
    private nonisolated(unsafe) static let mutex: UnsafeMutablePointer<pthread_mutex_t> = {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        return mutex
    }()

    private static let install: Void = {
        pthread_atfork(
            { pthread_mutex_lock(ForkWatch.mutex) }, { pthread_mutex_unlock(ForkWatch.mutex) },
            {
                ForkWatch.generation &+= 1
                for word in ForkWatch.words { word.pointee = 0 }
                pthread_mutex_unlock(ForkWatch.mutex)
            })
    }()

    /// Forks are noticed from now on.
    package static func begin() { _ = install }

    /// From now on the word becomes 0 in every child of a fork, until `remove`.
    package static func add(_ word: UnsafeMutablePointer<UInt>) {
        _ = install
        pthread_mutex_lock(mutex)
        words.insert(word)
        pthread_mutex_unlock(mutex)
    }

    package static func remove(_ word: UnsafeMutablePointer<UInt>) {
        pthread_mutex_lock(mutex)
        words.remove(word)
        pthread_mutex_unlock(mutex)
    }
}
