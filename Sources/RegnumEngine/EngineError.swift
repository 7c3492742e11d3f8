// SPDX-License-Identifier: Apache-2.0
// What the engine throws. Bytes from disk and refusals of the system come out here; broken invariants of the
// engine itself trap.

package import RegnumSystem

/// Any failure of the engine, grouped by when a caller meets it.
package enum EngineError: Error, Equatable {
    /// While opening: what lies at the path is not one of our files.
    case notADatabase(path: String, why: NotADatabase)
    /// While opening: written by a newer version; `feature` is a name from the file.
    case unsupported(path: String, feature: String)
    /// While opening: the file and the key do not fit.
    case encryption(path: String, EncryptionProblem)
    /// At any time: a block or a header does not hold what it must. Minted only by `corrupted(...)`.
    case corrupted(Corruption)
    /// When a read or a write begins, or a commit: another program has written over the file while it was open.
    case overwritten(path: String)
    /// At any time: the operating system refused.
    case system(SystemError)
    /// While writing: an earlier commit failed in a way that leaves only reading possible until reopening.
    case latched(String)
    /// While opening: other processes have the file open, and the file at `path`, by which processes agree, is not
    /// theirs any more.
    case lockFile(path: String)
    /// While opening: the file at `path`, whose name is that of the lock file, is somebody else's. It is left as it is.
    case foreignLockFile(path: String)
    /// Another process, or another thread, did not let go of the file for as long as somebody waited for it. The sentence
    /// says who.
    case busy(String)
    /// While making a file: there is one at `path`.
    case fileExists(path: String)
    /// A value is over a limit of the format (`FormatLimits`).
    case limit(String)
    /// While committing: objects break a rule that the file keeps, a unique constraint or a delete rule.
    case refused(Refusal, String)

    package enum Refusal: String, Sendable {
        case duplicate, deniedDelete
    }

    package enum NotADatabase: String, Sendable {
        case tooSmall, wrongMagic, oldRealmCore, directory
    }
}

extension EngineError: CustomStringConvertible {
    /// What is wrong, in a sentence without its last stop and without the path of the database: callers add the path and
    /// say what to do. Errors of the system name the file that they are about.
    package var description: String {
        switch self {
        case .notADatabase(_, .tooSmall): "it is too short to be a Regnum database"
        case .notADatabase(_, .wrongMagic): "it is not a Regnum database, or its beginning was overwritten"
        case .notADatabase(_, .oldRealmCore): "it is a Realm Core file, written by RealmSwift or another SDK of Realm"
        case .notADatabase(_, .directory): "it is a folder, a device, a pipe or a socket, not a file"
        case .unsupported(_, let feature): "a newer version of Regnum wrote it (\(feature))"
        case .encryption(_, .keyMissing): "it is encrypted, and no key was given"
        case .encryption(_, .wrongKey): "it is encrypted with another key"
        case .encryption(_, .notEncrypted): "a key was given, and it is not encrypted"
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
        case .fileExists(let path): "there is a file at '\(path)' already"
        case .limit(let words), .refused(_, let words), .busy(let words): words
        }
    }

    /// For findings.
    package var damage: String { description }
}

/// Where and what damage was found.
package struct Corruption: Sendable, Equatable, CustomStringConvertible {
    package var what: String
    /// First page of the damaged block, or nil where no block is at fault.
    package var page: UInt64?
    package var sourceLine: UInt
    /// The file, where whoever found the damage knows it: of a damaged block.
    package var path: String?

    /// True where the end of the file is missing.
    package var isTruncation: Bool { what.contains("truncated") || what.contains("ends before") }

    package var description: String {
        page.map { "\(what) (block at page \($0), check \(sourceLine))" } ?? "\(what) (check \(sourceLine))"
    }
}

/// The one place where damage becomes an error: a breakpoint here catches all of it.
@inline(never)
package func corrupted(_ what: String, page: UInt64? = nil, line: UInt = #line) -> EngineError {
    .corrupted(Corruption(what: what, page: page, sourceLine: line))
}
