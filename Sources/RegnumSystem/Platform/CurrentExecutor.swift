// SPDX-License-Identifier: Apache-2.0
// Whether the calling code runs on an actor: the runtime knows, the library of Swift only asks in order to end the
// program.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum CurrentExecutor {
    /// True where the caller runs on `executor`; nil where the runtime cannot be asked, as in programs that are
    /// linked statically. About 17 ns.
    package static func isCurrent(_ executor: UnownedSerialExecutor) -> Bool? {
        guard let ask else { return nil }
        // A reference to an executor is two words: the object, and how to call it.
        let words = unsafeBitCast(executor, to: (UInt, UInt).self)
        // No flags: answer, do not trap.
        return ask(words.0, words.1, 0)
    }

    /// Looked up: the compiler knows the function itself and refuses a declaration.
    private static let ask: (@convention(c) (UInt, UInt, UInt) -> Bool)? =
        dlsym(nil, "swift_task_isCurrentExecutorWithFlags").map {
            unsafeBitCast($0, to: (@convention(c) (UInt, UInt, UInt) -> Bool).self)
        }
}
