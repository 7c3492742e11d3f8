// SPDX-License-Identifier: Apache-2.0
// One pointer for each thread, nil at first. Nobody frees what it points at: whoever sets it resets it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package struct ThreadPointer: Sendable {
    private let key: pthread_key_t

    /// To be made once in a process: there are few keys.
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
