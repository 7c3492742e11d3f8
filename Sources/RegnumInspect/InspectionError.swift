// SPDX-License-Identifier: Apache-2.0
// Errors of inspecting a file: a message for the user and a reason that programs can compare.

package import RegnumEngine
internal import RegnumSystem

/// An error of inspecting a file. **Unstable**, like `Inspector`.
public struct InspectionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The exact reason. Reasons that also exist in `Realm.Error.Reason` have the same raw values.
    public enum Reason: String, Sendable, CaseIterable {
        /// The caller asked for something that the file does not have or does not allow.
        case unspecified
        /// There is no file at the path.
        case missingFile
        /// The path leads to a folder, a device, a pipe or a socket.
        case notARegularFile
        /// The system denies read or write access to the file or its folder.
        case noPermission
        /// The file is shorter than any database.
        case tooSmall
        /// The file is of another kind, or its beginning was overwritten.
        case notARealmFile
        /// The file was written by the database of MongoDB or Realm Inc.
        case olderRealmFile
        /// The file uses a feature that only a newer version of this library supports.
        case newerFormat
        /// The file ends before its contents do.
        case truncated
        /// A part of the file does not contain what was written to it.
        case damaged
        /// The file is encrypted with another key.
        case wrongKey
        /// The file is encrypted, and no key was given.
        case encryptedWithoutKey
        /// A key was given, but the file is not encrypted.
        case notEncrypted
        /// This build has no encryption.
        case unavailableFeature
        /// An operation of the operating system failed.
        case inputOutput
        /// An earlier commit failed, so the file can only be read until it is opened again.
        case writesStopped
        /// A value is larger than the format allows.
        case overLimit
        /// A unique constraint or a delete rule of the file forbids the change.
        case refusedByRule
        /// The lock file's path holds another program's file, or the lock file was deleted or replaced while others use
        /// the database.
        case foreignLockFile
        /// Another process did not release the file within the time limit.
        case busy
        /// The caller has ended the work.
        case stopped
        /// There is a file at the path, but there must not be one.
        case fileExists
        /// The file system is full.
        case noSpace
        /// The process has no address space left to map the file.
        case noAddressSpace
        /// The process or the system has too many files open.
        case tooManyFiles
        /// A component of the path has more bytes than the file system allows.
        case nameTooLong
        /// The path contains a loop of symbolic links, or there is a link at the path instead of a file.
        case linkLoop
    }

    public let path: String
    public let reason: Reason
    /// A message for the user.
    public let description: String
    /// For a query that cannot be used: its text.
    public let query: String?
    /// For a query that cannot be used: the UTF-8 offset of the error in its text, if it is known.
    public let position: Int?

    package init(
        path: String, reason: Reason = .unspecified, description: String, query: String? = nil, position: Int? = nil
    ) {
        self.path = path
        self.reason = reason
        self.description = description
        self.query = query
        self.position = position
    }

    package init(path: String, _ error: EngineError) {
        let words =
            if case .system = error { "\(error)." } else { "'\(path)' cannot be read: \(error)." }
        self.init(path: path, reason: Reason(error), description: words)
    }
}

extension InspectionError.Reason {
    fileprivate init(_ error: EngineError) {
        self =
            switch error {
            case .notADatabase(_, .tooSmall): .tooSmall
            case .notADatabase(_, .wrongMagic): .notARealmFile
            case .notADatabase(_, .oldRealmCore): .olderRealmFile
            case .notADatabase(_, .directory): .notARegularFile
            case .unsupported: .newerFormat
            case .encryption(_, .keyMissing): .encryptedWithoutKey
            case .encryption(_, .wrongKey), .encryption(_, .otherKeyInUse): .wrongKey
            case .encryption(_, .notEncrypted): .notEncrypted
            case .encryption(_, .unavailable): .unavailableFeature
            case .corrupted(let damage): damage.isTruncation ? .truncated : .damaged
            case .overwritten: .damaged
            case .system(let error): Self(error.kind)
            case .latched: .writesStopped
            case .lockFile, .foreignLockFile: .foreignLockFile
            case .busy: .busy
            case .fileExists: .fileExists
            case .limit: .overLimit
            case .refused: .refusedByRule
            case .stopped: .stopped
            }
    }

    private init(_ kind: SystemError.Kind) {
        self =
            switch kind {
            case .notFound, .notDirectory: .missingFile
            case .permissionDenied: .noPermission
            case .isDirectory, .notAFile: .notARegularFile
            case .exists: .fileExists
            case .noSpace: .noSpace
            case .addressSpace: .noAddressSpace
            case .tooManyFiles: .tooManyFiles
            case .nameTooLong: .nameTooLong
            case .linkLoop: .linkLoop
            default: .inputOutput
            }
    }
}

/// Runs engine calls, and converts their errors to `InspectionError`.
package func inspecting<R>(_ path: String, _ body: () throws(EngineError) -> R) throws -> R {
    do { return try body() } catch { throw InspectionError(path: path, error) }
}
