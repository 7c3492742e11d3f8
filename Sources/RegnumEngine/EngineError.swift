// SPDX-License-Identifier: Apache-2.0
// The errors of the engine. Damage in bytes from disk and failures of the system are reported here; broken invariants
// of the engine itself trap.

package import RegnumSystem

/// Any failure of the engine, with the operation during which it occurs.
package enum EngineError: Error, Equatable {
    /// While opening: the file at the path is not a Regnum database.
    case notADatabase(path: String, why: NotADatabase)
    /// While opening: a newer version wrote the file; `feature` is a name from the file.
    case unsupported(path: String, feature: String)
    /// While opening: the key does not match the file.
    case encryption(path: String, EncryptionProblem)
    /// At any time: a block or a header has invalid content. Created only by `corrupted(...)`.
    case corrupted(Corruption)
    /// When a read, a write or a commit begins: another program has overwritten the file while it was open.
    case overwritten(path: String)
    /// At any time: the operating system reported an error.
    case system(SystemError)
    /// While writing: an earlier commit failed in a way that allows only reading until the file is reopened.
    case latched(String)
    /// While opening: other processes have the file open, and the lock file at `path`, through which they coordinate,
    /// is no longer theirs.
    case lockFile(path: String)
    /// While opening: the file at `path` has the name of the lock file but belongs to another program. It is left
    /// unchanged.
    case foreignLockFile(path: String)
    /// Another process or thread did not release the file before the timeout. The message names it.
    case busy(String)
    /// While creating a file: one already exists at `path`.
    case fileExists(path: String)
    /// A value exceeds a limit of the format (`FormatLimits`).
    case limit(String)
    /// While committing: objects violate a unique constraint or a delete rule.
    case refused(Refusal, String)
    /// While scanning: the owner of the session has ended the scan (`ScanStop`).
    case stopped

    package enum Refusal: String, Sendable {
        case duplicate, deniedDelete
    }

    package enum NotADatabase: String, Sendable {
        case tooSmall, wrongMagic, oldRealmCore, directory
    }
}

extension EngineError: CustomStringConvertible {
    /// The problem, as a sentence without its full stop and without the path of the database: callers add the path and
    /// say what to do. System errors name the file that they concern.
    package var description: String {
        switch self {
        case .notADatabase(_, .tooSmall): "it is too short to be a Regnum database"
        case .notADatabase(_, .wrongMagic): "it is not a Regnum database, or its beginning was overwritten"
        case .notADatabase(_, .oldRealmCore): "it is a Realm Core file, written by RealmSwift or another SDK of Realm"
        case .notADatabase(_, .directory): "it is a folder, a device, a pipe or a socket, not a file"
        case .unsupported(_, let feature): "a newer version of Regnum wrote it (\(feature))"
        case .encryption(_, .keyMissing): "it is encrypted, and no key was given"
        case .encryption(_, .wrongKey): "it is encrypted with another key"
        case .encryption(_, .notEncrypted): "a key was given, but it is not encrypted"
        case .encryption(_, .unavailable): "it needs a build with encryption"
        case .encryption(_, .otherKeyInUse): "this process has it open with another key"
        case .corrupted(let damage): damage.description
        case .overwritten: "it was overwritten while it was open"
        case .system(let error): error.description
        case .latched(let words): words
        case .lockFile(let path):
            "other processes have it open, and their lock file '\(path)' was deleted, replaced or damaged"
        case .foreignLockFile(let path):
            "the file '\(path)', which has the name of its lock file, belongs to another program: rename that file or the database"
        case .fileExists(let path): "a file already exists at '\(path)'"
        case .limit(let words), .refused(_, let words), .busy(let words): words
        case .stopped: "the scan was stopped"
        }
    }

    /// The description in findings of the integrity check.
    package var damage: String { description }
}

/// The kind and location of damage.
package struct Corruption: Sendable, Equatable, CustomStringConvertible {
    package var what: String
    /// The first page of the damaged block, or nil if no block is at fault.
    package var page: UInt64?
    package var sourceLine: UInt
    /// The path of the file with the damaged block, if the code that found the damage knows it.
    package var path: String?

    /// True if the end of the file is missing.
    package var isTruncation: Bool { what.contains("truncated") || what.contains("ends before") }

    package var description: String {
        page.map { "\(what) (block at page \($0), check \(sourceLine))" } ?? "\(what) (check \(sourceLine))"
    }
}

/// Creates the error for damage. No other code does: a breakpoint here catches all damage.
@inline(never)
package func corrupted(_ what: String, page: UInt64? = nil, line: UInt = #line) -> EngineError {
    .corrupted(Corruption(what: what, page: page, sourceLine: line))
}
