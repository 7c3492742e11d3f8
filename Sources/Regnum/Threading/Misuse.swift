// SPDX-License-Identifier: Apache-2.0
// The only way in which a programmer error ends the program. RealmSwift raises an exception that Swift cannot catch;
// here it is a fatal error whose message begins with RealmSwift's wording and then says what to do.

package import RegnumEngine

/// A hook for a test kit. Set once, before the first programmer error.
package enum MisuseHook {
    /// Receives the message before the process ends. Returns only if this thread is not catching programmer errors.
    // unsafe: written once by the test kit, before any programmer error that it wants to catch.
    package nonisolated(unsafe) static var handler: ((String) -> Void)?
}

/// Reports a programmer error and never returns. Called only at the public boundary, with no lock held and nothing half
/// changed, because a test may abandon the call. Prints in release builds too.
@inline(never)
package func misuse(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    MisuseHook.handler?(message)
    fatalError(message, file: file, line: line)
}

/// Reports an engine error in a call that cannot throw: damage or an error of the operating system while reading
/// (`Regnum.docc/DamagedFiles.md`), or a write that exceeds a limit. For damage, calls the program's handler first.
@inline(never)
package func misuse(_ error: EngineError, file: StaticString = #fileID, line: UInt = #line) -> Never {
    DamageHandler.beforeEnd(error)
    misuse(error.lastWords, file: file, line: line)
}

/// Reports that a Realm cannot be opened, in a call that cannot throw; `message` contains the message of `error`.
@inline(never)
package func misuse(
    _ message: String, becauseOf error: any Error, file: StaticString = #fileID, line: UInt = #line
) -> Never {
    DamageHandler.beforeEnd(error)
    misuse(message, file: file, line: line)
}

/// Runs engine calls whose errors the public API cannot throw.
@inline(__always)
package func engine<R>(
    file: StaticString = #fileID, line: UInt = #line, _ body: () throws(EngineError) -> R
) -> R {
    do { return try body() } catch { misuse(error, file: file, line: line) }
}

/// `pthread_self`, declared by hand so that getters inlined into users' modules need no import of the C library.
@_silgen_name("pthread_self") @usableFromInline func currentThreadWord() -> UInt
