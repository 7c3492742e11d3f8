// SPDX-License-Identifier: Apache-2.0
// Notices that this process was made by fork: what its parent had open (mappings, locks, threads that wait) is not
// the child's to use, and the child lets go of it at once. A lock belongs to an open file and lasts as long as any
// process has that open or mapped: a child that kept the files would keep the locks of a parent that is killed.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Counts the forks on the way from the first process to this one, marks words in the child, and ends there what keeps
/// files of the parent open.
package enum ForkWatch {
    /// Differs from what was read before a fork in the child of that fork. One load.
    // unsafe: written only by the one thread of a child that was just made.
    @exclusivity(unchecked) package private(set) nonisolated(unsafe) static var generation: UInt = 0

    /// Words to be zeroed in a child. Guard: `mutex`, which is held across every fork.
    // unsafe: see the guard.
    private nonisolated(unsafe) static var words: Set<UnsafeMutablePointer<UInt>> = []

    /// What keeps files open.
    struct OpenFiles {
        /// Closed in a child.
        var descriptors: Set<Int32> = []
        /// Where bytes of files stand, and how many: zeros in a child.
        var mappings: [UnsafeMutableRawPointer: Int] = [:]
    }
    // unsafe: see the guard of `words`.
    private nonisolated(unsafe) static var files = OpenFiles()
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
                ForkWatch.letGo()
                pthread_mutex_unlock(ForkWatch.mutex)
            })
    }()

    /// In a child, with the mutex.
    private static func letGo() {
        for (start, byteCount) in files.mappings { SystemCalls.cover(start, byteCount) }
        for descriptor in files.descriptors { SystemCalls.closeFile(descriptor) }
        // The files that it opens itself get the same numbers.
        files = OpenFiles()
    }

    /// Runs `body`, which opens, closes, maps or unmaps a file and notes it, while no thread forks. It must not come
    /// here again.
    static func withFiles<Result>(_ body: (inout OpenFiles) -> Result) -> Result {
        _ = install
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&files)
    }

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
