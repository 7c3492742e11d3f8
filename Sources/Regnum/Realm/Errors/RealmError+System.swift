// SPDX-License-Identifier: Apache-2.0
// Translates errors of the operating system into the public error type. Each kind has a sentence that says what to do;
// if the file concerned is not the database itself, the sentence names it.

internal import Foundation
internal import RegnumSystem

extension Realm.Error {
    /// Translates a system error; `start` names the failed operation on the database at `path`.
    init(_ error: SystemError, _ start: String, _ path: String, readOnly: Bool) {
        let url = URL(fileURLWithPath: path)
        switch error.kind {
        case .notFound, .notDirectory, .isDirectory, .permissionDenied, .exists:
            self = Self.path(error, start, path, readOnly: readOnly)
        case .nameTooLong, .invalidName, .linkLoop, .notAFile, .unsupported:
            self = Self.name(error, start, path)
        case .noSpace, .fileTooLarge, .addressSpace, .tooManyFiles, .noLocks, .noMemory:
            let (code, reason, words) = Self.shortage(error.kind)
            self.init(code, reason, start + words, fileURL: url)
        case .busy:
            self.init(
                .fileAccess, .inUse,
                start + "\(Self.subject(error, path)) is in use by the system, as a swap file, a mounted image or a "
                    + "running program (\(Self.shown(error))). Stop using it there, or choose another fileURL.",
                fileURL: url)
        case .unreachable:
            self.init(
                .fileAccess, .unreachable,
                start
                    + "the file system does not respond, or no longer knows the file (\(Self.shown(error))). Check the "
                    + "network and the server of the file system, then close all Realms of the file and open it again.",
                fileURL: url)
        case .io:
            self.init(
                .fileAccess, .inputOutput,
                start
                    + "\(Self.shown(error)). The storage device or the file system reported an error: check it, then "
                    + "open the file again.", fileURL: url)
        }
    }

    /// The operation and its code, such as "sync failed (errno 5)".
    private static func shown(_ error: SystemError) -> String {
        "\(error.operation) failed" + (error.code == 0 ? "" : " (errno \(error.code))")
    }

    /// The path of the file concerned, if it is not the database at `path`.
    private static func other(_ error: SystemError, _ path: String) -> String? {
        let isDatabase = error.path == path || error.path == PosixFileSystem.shared.linked(path)
        return isDatabase ? nil : error.path
    }

    private static func subject(_ error: SystemError, _ path: String) -> String {
        other(error, path).map { "'\($0)'" } ?? "the file"
    }

    // MARK: Paths and permissions

    private static func path(_ error: SystemError, _ start: String, _ path: String, readOnly: Bool) -> Realm.Error {
        func make(_ code: Code, _ reason: Reason, _ words: String) -> Realm.Error {
            Realm.Error(code, reason, start + words, fileURL: URL(fileURLWithPath: path))
        }
        let folder = FileFacts.folder(of: path)
        switch error.kind {
        case .notDirectory:
            // RealmSwift's wording: its first step is the lock file.
            let first = readOnly ? start : "Failed to open file at path '\(path).lock': "
            return Realm.Error(
                .fileOperationFailed, .parentIsNotAFolder,
                first + "parent path is not a directory. "
                    + "A part of '\(folder)' is a file: choose another fileURL.", fileURL: URL(fileURLWithPath: path))
        case .isDirectory:
            if let other = other(error, path) {
                return make(
                    .fileOperationFailed, .isAFolder,
                    "'\(other)' is a directory, where Regnum keeps a file. Remove or rename the directory, or choose "
                        + "another fileURL.")
            }
            return make(
                .fileOperationFailed, .isAFolder,
                "Is a directory. fileURL must name a file: append a file name, such as 'default.realm'.")
        case .permissionDenied:
            let refused = other(error, path).map { " The system refuses to \(error.operation) '\($0)'." } ?? ""
            return make(
                .filePermissionDenied, .noPermission,
                "Permission denied. Please use a path where your app has read-write permissions.\(refused) Neither the "
                    + "file nor the folder '\(folder)' may be write-protected, nor their file system mounted read-only; "
                    + "a file that is only read can be opened with `readOnly`.")
        case .exists:
            return make(.fileExists, .fileExists, "File exists. Choose a path at which nothing exists.")
        default:
            if !FileFacts.exists(folder) {
                return make(
                    .fileNotFound, .missingFolder,
                    "No such file or directory. The folder '\(folder)' does not exist: create it first, or choose "
                        + "another fileURL.")
            }
            return make(
                .fileNotFound, .missingFile,
                "No such file or directory. "
                    + (readOnly
                        ? "A read-only Realm must exist: open it once without `readOnly`."
                        : "Check the fileURL of the configuration."))
        }
    }

    // MARK: Names and file systems

    /// The maximum number of bytes by which the names of files beside a database exceed its own: ".lock.", 16 digits
    /// and ".tmp".
    private static let sideNameByteCount = 26

    private static func name(_ error: SystemError, _ start: String, _ path: String) -> Realm.Error {
        func make(_ reason: Reason, _ words: String) -> Realm.Error {
            Realm.Error(.fileAccess, reason, start + words, fileURL: URL(fileURLWithPath: path))
        }
        switch error.kind {
        case .nameTooLong:
            return make(
                .nameTooLong,
                "File name too long. Regnum keeps files beside the database whose names are up to "
                    + "\(sideNameByteCount) bytes longer: use a file name of at most \(255 - sideNameByteCount) bytes, and "
                    + "a path of at most 4,000 bytes.")
        case .invalidName:
            return make(
                .invalidName,
                "the file system does not allow the name of \(subject(error, path)) (\(shown(error))). Choose a fileURL "
                    + "without special characters.")
        case .linkLoop:
            return make(
                .linkLoop,
                "Too many levels of symbolic links: \(subject(error, path)) leads back to itself, or is a link where a "
                    + "file has to be. Remove the link, or choose another fileURL.")
        case .notAFile:
            return Realm.Error(
                .fileOperationFailed, .notARegularFile,
                start + "Not a regular file. \(subject(error, path)) is a device, a pipe or a socket: choose another "
                    + "fileURL.", fileURL: URL(fileURLWithPath: path))
        default:
            return make(
                .unsupportedFileSystem,
                "the file system cannot \(error.operation) \(subject(error, path)) (\(shown(error))). "
                    + "Put the database on a file system that can lock, map and sync files, such as a local one.")
        }
    }

    // MARK: Exhausted resources

    private static func shortage(_ kind: SystemError.Kind) -> (Code, Reason, String) {
        switch kind {
        case .noSpace:
            (
                .outOfDiskSpace, .noSpace,
                "No space left on device. Nothing was changed: free some space, or ask for a larger quota, and try again."
            )
        case .fileTooLarge:
            (
                .fileAccess, .fileTooLarge,
                "File too large. The file system, or the limit of the process (ulimit -f), does not let the file grow. "
                    + "Nothing was changed: raise the limit, move the file to a file system that takes larger ones, or "
                    + "delete objects and compact it."
            )
        case .addressSpace:
            (
                .addressSpaceExhausted, .noAddressSpace,
                "the process has no address space left to map it. "
                    + "Close Realms that are not needed, or raise the limit (ulimit -v)."
            )
        case .tooManyFiles:
            (
                .fileAccess, .tooManyFiles,
                "Too many open files. Close Realms that are not needed, or raise the limit (ulimit -n)."
            )
        case .noLocks:
            (
                .fileAccess, .noLocks,
                "No locks available. The system has no room for another file lock, or the lock service of the network "
                    + "file system is not running: start it, or put the database on a local file system."
            )
        default:
            (
                .fileAccess, .noMemory,
                "Cannot allocate memory. The system has no memory for the operation. Nothing was changed: try again "
                    + "later."
            )
        }
    }
}
