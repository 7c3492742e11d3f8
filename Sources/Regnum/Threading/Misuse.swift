// SPDX-License-Identifier: Apache-2.0
// The one way in which a programmer's error ends the program. RealmSwift raises an exception that Swift
// cannot catch; here it is a fatal error whose message starts with the words RealmSwift's users know, then
// says what to do.

package import RegnumEngine

/// Where a test kit listens. Set once, before the first misuse.
package enum MisuseHook {
    /// Gets the message before the process ends. Returns only where nobody catches misuse on this thread.
    // unsafe: written once by the test kit before any misuse it wants to see.
    package nonisolated(unsafe) static var handler: ((String) -> Void)?
}

/// Reports a programmer's error and never returns. Called only at the public boundary: no lock held, nothing
/// half changed, because a test may abandon the call. Prints in release builds too.
@inline(never)
package func misuse(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    MisuseHook.handler?(message)
    fatalError(message, file: file, line: line)
}

/// A failure of the engine where the API has no way to throw: damage or a refusing system met while reading
/// (`Regnum.docc/DamagedFiles.md`), or a write that goes over a limit. Of damage the program's own handler is told
/// first.
@inline(never)
package func misuse(_ error: EngineError, file: StaticString = #fileID, line: UInt = #line) -> Never {
    DamageHandler.beforeEnd(error)
    misuse(error.lastWords, file: file, line: line)
}

/// A Realm that cannot be opened where the API has no way to throw: `message` has the words of `error` in it.
@inline(never)
package func misuse(
    _ message: String, becauseOf error: any Error, file: StaticString = #fileID, line: UInt = #line
) -> Never {
    DamageHandler.beforeEnd(error)
    misuse(message, file: file, line: line)
}

/// Runs engine calls whose failure the public API cannot pass on.
@inline(__always)
package func engine<R>(
    file: StaticString = #fileID, line: UInt = #line, _ body: () throws(EngineError) -> R
) -> R {
    do { return try body() } catch { misuse(error, file: file, line: line) }
}

/// `pthread_self`, declared by hand so that getters inlined into users' modules need no C library import.
@_silgen_name("pthread_self") @usableFromInline func currentThreadWord() -> UInt
