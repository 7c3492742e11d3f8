// SPDX-License-Identifier: Apache-2.0
// The errors of a repository.

internal import RegnumEngine
internal import RegnumSystem

/// A failure of a backup, a restore, or another operation of a repository.
public struct BackupError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The store has no repository, and none was to be created.
        case noRepository
        /// A newer version of the library wrote the repository.
        case newerFormat
        /// The repository is encrypted with a key of its own, and another key or none was specified; or the other way
        /// round.
        case wrongKey
        /// The repository needs a trait without which the package was built, or was made before the first release.
        case unsupported
        /// Another process is making backups to the repository.
        case inUse
        /// Another process has taken over the repository since this one began.
        case fenced
        /// Objects of the repository are missing or damaged.
        case damaged
        /// No backup of the requested time or version exists.
        case noSuchBackup
        /// The backup cannot be removed: it is the newest one, or of the last hour.
        case recentBackup
        /// Something exists at the path of a restored file.
        case fileExists
        /// The database file cannot be read or opened.
        case database
        /// The store or the file system failed.
        case storage
    }

    public let code: Code
    /// One sentence, with its full stop.
    public let message: String
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error for a failure of the database at `path`.
    init(_ error: EngineError, database path: String) {
        switch error {
        case .fileExists(let path): self.init(.fileExists, "Something exists at '\(path)': a file is never replaced.")
        case .system(let system): self.init(.storage, "\(system).")
        default: self.init(.database, "The database '\(path)' cannot be used: \(error).")
        }
    }

    static func damaged(_ words: String) -> BackupError {
        BackupError(.damaged, "The repository is damaged: \(words).")
    }

    /// Converts the errors of the engine; returns every other error as it is, for example that of a callback.
    static func converting(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as EngineError: BackupError(error, database: path)
        case let error as SystemError: BackupError(.system(error), database: path)
        default: error
        }
    }
}
