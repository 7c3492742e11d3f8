// SPDX-License-Identifier: Apache-2.0
// A thread-local pointer, initially nil. Its target is never freed: the code that sets the pointer resets it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package struct ThreadPointer: Sendable {
    private let key: pthread_key_t

    /// Creates a key. Keys are scarce, so each use creates one per process.
    package init() {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no thread-local key is left")
        self.key = key
    }

    /// The calling thread's pointer.
    package var value: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set {
            let code = pthread_setspecific(key, newValue)
            precondition(code == 0, "no memory for a thread-local value")
        }
    }
}
