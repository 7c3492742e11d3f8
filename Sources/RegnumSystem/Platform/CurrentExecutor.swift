// SPDX-License-Identifier: Apache-2.0
// Determines whether the calling code runs on an actor. The Swift runtime can answer that, but the standard library
// offers it only as a check that traps.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum CurrentExecutor {
    /// True if the caller runs on `executor`; nil if the runtime function is not available, as in statically linked
    /// programs. About 17 ns.
    package static func isCurrent(_ executor: UnownedSerialExecutor) -> Bool? {
        guard let ask else { return nil }
        // A reference to an executor is two words: the object and its implementation.
        let words = unsafeBitCast(executor, to: (UInt, UInt).self)
        // Flags 0: return the answer, do not trap.
        return ask(words.0, words.1, 0)
    }

    /// Looked up at run time, because the compiler already knows this function and rejects a declaration of it.
    private static let ask: (@convention(c) (UInt, UInt, UInt) -> Bool)? =
        dlsym(nil, "swift_task_isCurrentExecutorWithFlags").map {
            unsafeBitCast($0, to: (@convention(c) (UInt, UInt, UInt) -> Bool).self)
        }
}
