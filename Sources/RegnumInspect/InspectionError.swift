// SPDX-License-Identifier: Apache-2.0
// Why a file cannot be inspected, in a sentence and as a reason that programs can compare.

internal import RegnumEngine
internal import RegnumSystem

/// Why a file cannot be inspected. **Unstable**, as `Inspector` is.
public struct InspectionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What exactly is wrong. The raw values of reasons that `Realm.Error.Reason` has too are the same.
    public enum Reason: String, Sendable, CaseIterable {
        /// The caller asked for something that the file does not have or allow.
        case unspecified
        /// There is no file at the path.
        case missingFile
        /// The path leads to a folder, a device, a pipe or a socket.
        case notARegularFile
        /// The system denies reading or writing the file or its folder.
        case noPermission
        /// The file is shorter than any database.
        case tooSmall
        /// The file is of another kind, or its beginning was overwritten.
        case notARealmFile
        /// The file was written by MongoDB's or Realm Inc.'s database.
        case olderRealmFile
        /// The file needs something that only a newer version of this library knows.
        case newerFormat
        /// The file ends before its content does.
        case truncated
        /// A part of the file does not hold what was written to it.
        case damaged
        /// The file is encrypted with another key.
        case wrongKey
        /// The file is encrypted, and no key was given.
        case encryptedWithoutKey
        /// A key was given, and the file is not encrypted.
        case notEncrypted
        /// This build has no encryption.
        case unavailableFeature
        /// The operating system refused an operation.
        case inputOutput
        /// An earlier commit failed, so that the file can only be read until it is opened again.
        case writesStopped
        /// A value is larger than the format allows.
        case overLimit
        /// A unique constraint or a delete rule of the file forbids the change.
        case refusedByRule
        /// The file with the name of the lock file is another program's, or was deleted or replaced while others use the database.
        case foreignLockFile
        /// Another process did not let go of the file for as long as it was waited for.
        case busy
        /// There is a file, and there must not be one.
        case fileExists
        /// The file system is full.
        case noSpace
        /// The process has no address space left to map the file.
        case noAddressSpace
        /// The process or the system has too many files open.
        case tooManyFiles
        /// A part of the path has more bytes than the file system allows.
        case nameTooLong
        /// The path is a loop of symbolic links, or a link stands in the place of a file.
        case linkLoop
    }

    public let path: String
    public let reason: Reason
    /// A sentence for people.
    public let description: String

    init(path: String, reason: Reason = .unspecified, description: String) {
        self.path = path
        self.reason = reason
        self.description = description
    }

    init(path: String, _ error: EngineError) {
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

/// Runs engine calls; their errors become `InspectionError`.
func inspecting<R>(_ path: String, _ body: () throws(EngineError) -> R) throws -> R {
    do { return try body() } catch { throw InspectionError(path: path, error) }
}
