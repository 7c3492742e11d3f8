// SPDX-License-Identifier: Apache-2.0
// Detects that this process was created by a fork. The child must not use the parent's mappings, locks and waiting
// threads, and gives them up immediately. A lock belongs to an open file and lasts as long as any process has that file
// open or mapped: a child that kept the files would keep the locks of a parent that was killed.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Counts the forks between the first process and this one. In the child of a fork it zeroes the registered words,
/// closes the parent's descriptors and replaces its mappings.
package enum ForkWatch {
    /// Has a different value in the child of a fork than in the parent. Costs one load.
    // unsafe: written only in a new child, by its only thread.
    @exclusivity(unchecked) package private(set) nonisolated(unsafe) static var generation: UInt = 0

    /// Words to be set to zero in a child. Guard: `mutex`, which is held across every fork.
    // unsafe: see the guard.
    private nonisolated(unsafe) static var words: Set<UnsafeMutablePointer<UInt>> = []

    /// The resources that keep files open.
    struct OpenFiles {
        /// Descriptors that a child closes.
        var descriptors: Set<Int32> = []
        /// Start and length of mapped file bytes, which a child replaces by zeros.
        var mappings: [UnsafeMutableRawPointer: Int] = [:]
    }
    // unsafe: see the guard of `words`.
    private nonisolated(unsafe) static var files = OpenFiles()
    // unsafe: initialised once, then only passed to the mutex functions.
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

    /// Runs in a child, with the mutex held.
    private static func letGo() {
        for (start, byteCount) in files.mappings { SystemCalls.cover(start, byteCount) }
        for descriptor in files.descriptors { SystemCalls.closeFile(descriptor) }
        // Files that the child opens get the same numbers.
        files = OpenFiles()
    }

    /// Runs `body`, which opens, closes, maps or unmaps a file and records that, while no thread can fork. Not
    /// reentrant.
    static func withFiles<Result>(_ body: (inout OpenFiles) -> Result) -> Result {
        _ = install
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&files)
    }

    /// Sets the word to 0 in every child of a later fork, until `remove`.
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
