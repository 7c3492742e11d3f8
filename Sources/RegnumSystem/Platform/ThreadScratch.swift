// SPDX-License-Identifier: Apache-2.0
// A small thread-local buffer for data that is built and used immediately.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum ThreadScratch {
    package static let byteCount = 2048

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { free($0) }
        precondition(code == 0, "no thread-local key is left")
        return key
    }()

    /// The calling thread's buffer, aligned to 16 bytes, freed when the thread ends. The next user on this thread may
    /// overwrite it.
    package static var bytes: UnsafeMutableRawPointer {
        if let memory = pthread_getspecific(key) { return memory }
        guard let memory = malloc(byteCount), pthread_setspecific(key, memory) == 0 else {
            fatalError("no memory for a thread")
        }
        return memory
    }
}
