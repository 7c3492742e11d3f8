// SPDX-License-Identifier: Apache-2.0
// The errors of opening and writing a Realm. Everything else that goes wrong is a programmer error and is reported by
// `misuse`. The codes and the beginnings of the messages are those of RealmSwift; `reason` distinguishes errors that
// share a code. `RealmError+Engine.swift` creates these values from the errors of the engine.

public import Foundation

extension Realm {
    /// An error of opening, writing or managing the files of a Realm.
    ///
    /// ```swift
    /// do { _ = try Realm(configuration: configuration) }
    /// catch Realm.Error.fileNotFound { ... }
    /// catch let error as Realm.Error where error.reason == .olderRealmFile { ... }
    /// ```
    public struct Error: Swift.Error, Sendable {
        /// The kinds of error; the raw values are those of RealmSwift.
        public enum Code: Int, Sendable, CaseIterable {
            case fail = 1
            case fileAccess = 2
            case filePermissionDenied = 3
            case fileExists = 4
            case fileNotFound = 5
            case fileFormatUpgradeRequired = 6
            case incompatibleLockFile = 8
            case addressSpaceExhausted = 9
            case schemaMismatch = 10
            case alreadyOpen = 12
            case invalidInput = 13
            case outOfDiskSpace = 14
            case incompatibleSession = 15
            case unsupportedFileFormatVersion = 16
            case multipleSyncAgents = 17
            case subscriptionFailed = 18
            case fileOperationFailed = 19
            case invalidDatabase = 20
            case incompatibleHistories = 21
            case noSubscriptionForWrite = 22
        }

        /// The domain of these errors as `NSError`.
        public static let domain = "io.realm"

        /// The kind of error.
        public let code: Code
        /// The exact cause; distinguishes errors that share a code.
        public let reason: Reason
        /// The file concerned, if there is one.
        public let fileURL: URL?
        /// The message for the user; empty if none was given.
        let message: String

        package init(_ code: Code, _ reason: Reason, _ message: String, fileURL: URL? = nil) {
            self.code = code
            self.reason = reason
            self.message = message
            self.fileURL = fileURL
        }

        /// Creates an error to throw: `throw Realm.Error(.fail)`. The entries `NSLocalizedDescriptionKey` and
        /// `NSFilePathErrorKey` of `userInfo` are kept.
        public init(_ code: Code, userInfo: [String: Any] = [:]) {
            let path = userInfo[NSFilePathErrorKey] as? String
            self.init(
                code, .unspecified, userInfo[NSLocalizedDescriptionKey] as? String ?? "",
                fileURL: path.map { URL(fileURLWithPath: $0) })
        }

        /// An error with the message "Call failed".
        public static let callFailed = Error(.fail, .unspecified, "Call failed")
    }
}

extension Realm.Error {
    /// The exact cause of an error. New versions may add reasons: compare with known ones, and do not rely on the list
    /// being complete.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the reason.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// Nothing is known beyond the code.
        public static let unspecified = Reason(rawValue: "unspecified")
        /// There is no file at the path.
        public static let missingFile = Reason(rawValue: "missingFile")
        /// The folder that should hold the file does not exist.
        public static let missingFolder = Reason(rawValue: "missingFolder")
        /// The folder of the default file could not be created.
        public static let noDefaultFolder = Reason(rawValue: "noDefaultFolder")
        /// A component of the path that should be a folder is a file.
        public static let parentIsNotAFolder = Reason(rawValue: "parentIsNotAFolder")
        /// The path leads to a folder.
        public static let isAFolder = Reason(rawValue: "isAFolder")
        /// The path leads to a device, a pipe or a socket.
        public static let notARegularFile = Reason(rawValue: "notARegularFile")
        /// The system denies reading or writing the file or its folder.
        public static let noPermission = Reason(rawValue: "noPermission")
        /// The file has no content, and it may not be written because it is opened read-only.
        public static let emptyFile = Reason(rawValue: "emptyFile")
        /// The file is shorter than any Realm file.
        public static let tooSmall = Reason(rawValue: "tooSmall")
        /// The file is not a Realm file.
        public static let notARealmFile = Reason(rawValue: "notARealmFile")
        /// The file was written by MongoDB's or Realm Inc.'s database.
        public static let olderRealmFile = Reason(rawValue: "olderRealmFile")
        /// The file needs a feature that only a newer version of this library has.
        public static let newerFormat = Reason(rawValue: "newerFormat")
        /// The file ends before its content does.
        public static let truncated = Reason(rawValue: "truncated")
        /// A part of the file does not contain what was written to it.
        public static let damaged = Reason(rawValue: "damaged")
        /// The file was encrypted with another key.
        public static let wrongKey = Reason(rawValue: "wrongKey")
        /// The file is encrypted, and the configuration has no key.
        public static let encryptedWithoutKey = Reason(rawValue: "encryptedWithoutKey")
        /// The configuration has a key, and the file is not encrypted.
        public static let notEncrypted = Reason(rawValue: "notEncrypted")
        /// The disk is full.
        public static let noSpace = Reason(rawValue: "noSpace")
        /// The process has no address space left to map the file.
        public static let noAddressSpace = Reason(rawValue: "noAddressSpace")
        /// The process cannot open any more files.
        public static let tooManyFiles = Reason(rawValue: "tooManyFiles")
        /// The name or the path has more bytes than the file system allows.
        public static let nameTooLong = Reason(rawValue: "nameTooLong")
        /// The file system does not allow the name.
        public static let invalidName = Reason(rawValue: "invalidName")
        /// The path is a loop of symbolic links, or a link where a file must be.
        public static let linkLoop = Reason(rawValue: "linkLoop")
        /// The file system, or a limit of the process, does not allow the file to grow.
        public static let fileTooLarge = Reason(rawValue: "fileTooLarge")
        /// The system's table of file locks is full.
        public static let noLocks = Reason(rawValue: "noLocks")
        /// The system has no memory for the operation.
        public static let noMemory = Reason(rawValue: "noMemory")
        /// The file system cannot lock, map or sync files in the way a database needs.
        public static let unsupportedFileSystem = Reason(rawValue: "unsupportedFileSystem")
        /// A network file system does not respond, or no longer knows the file.
        public static let unreachable = Reason(rawValue: "unreachable")
        /// The operating system reported that an operation on the file failed.
        public static let inputOutput = Reason(rawValue: "inputOutput")
        /// An earlier commit failed in such a way that the file can only be read until it is opened again.
        public static let writesStopped = Reason(rawValue: "writesStopped")
        /// A value is larger than the format allows.
        public static let overLimit = Reason(rawValue: "overLimit")
        /// Objects have equal values although a unique constraint forbids it.
        public static let duplicateValues = Reason(rawValue: "duplicateValues")
        /// A delete rule denies the deletion of an object.
        public static let deniedDelete = Reason(rawValue: "deniedDelete")
        /// More versions are alive than `maximumNumberOfActiveVersions` allows.
        public static let tooManyVersions = Reason(rawValue: "tooManyVersions")
        /// The file keeps no older versions: `history` of the configuration is off.
        public static let noHistory = Reason(rawValue: "noHistory")
        /// The file no longer keeps the version.
        public static let versionNotKept = Reason(rawValue: "versionNotKept")
        /// A change cursor is of another file, or of the file before it was compacted.
        public static let foreignCursor = Reason(rawValue: "foreignCursor")
        /// A change cursor is of a commit that is not in the file: a power loss undid it, or an earlier copy of the
        /// file was restored.
        public static let commitLost = Reason(rawValue: "commitLost")
        /// Other processes use the file, and its lock file has been deleted or replaced in the meantime.
        public static let foreignLockFile = Reason(rawValue: "foreignLockFile")
        /// Other users of the file did not release it within the waiting time.
        public static let busy = Reason(rawValue: "busy")
        /// The file exists, but must not.
        public static let fileExists = Reason(rawValue: "fileExists")
        /// The file is in use.
        public static let inUse = Reason(rawValue: "inUse")
        /// The classes differ from the tables of the file.
        public static let migrationNeeded = Reason(rawValue: "migrationNeeded")
        /// A migration requested something impossible, or left duplicate primary keys.
        public static let migrationFailed = Reason(rawValue: "migrationFailed")
        /// The file has a higher schema version than the configuration.
        public static let newerSchemaVersion = Reason(rawValue: "newerSchemaVersion")
        /// The file was never opened with classes, so it has no schema version.
        public static let neverVersioned = Reason(rawValue: "neverVersioned")
        /// The model classes are inconsistent, or break the rules of a schema.
        public static let invalidSchema = Reason(rawValue: "invalidSchema")
        /// The configuration requests a feature that this version of the library lacks.
        public static let unavailableFeature = Reason(rawValue: "unavailableFeature")
        /// The text of a predicate cannot be parsed.
        public static let malformedPredicate = Reason(rawValue: "malformedPredicate")
    }
}

// The names for `catch Realm.Error.fileNotFound` and `error.code == Realm.Error.fail`.
extension Realm.Error {
    /// Same as `Code.fail`.
    public static var fail: Code { .fail }
    /// Same as `Code.fileAccess`.
    public static var fileAccess: Code { .fileAccess }
    /// Same as `Code.filePermissionDenied`.
    public static var filePermissionDenied: Code { .filePermissionDenied }
    /// Same as `Code.fileExists`.
    public static var fileExists: Code { .fileExists }
    /// Same as `Code.fileNotFound`.
    public static var fileNotFound: Code { .fileNotFound }
    /// Same as `Code.fileFormatUpgradeRequired`.
    public static var fileFormatUpgradeRequired: Code { .fileFormatUpgradeRequired }
    /// Same as `Code.incompatibleLockFile`.
    public static var incompatibleLockFile: Code { .incompatibleLockFile }
    /// Same as `Code.addressSpaceExhausted`.
    public static var addressSpaceExhausted: Code { .addressSpaceExhausted }
    /// Same as `Code.schemaMismatch`.
    public static var schemaMismatch: Code { .schemaMismatch }
    /// Same as `Code.alreadyOpen`.
    public static var alreadyOpen: Code { .alreadyOpen }
    /// Same as `Code.invalidInput`.
    public static var invalidInput: Code { .invalidInput }
    /// Same as `Code.outOfDiskSpace`.
    public static var outOfDiskSpace: Code { .outOfDiskSpace }
    /// Same as `Code.incompatibleSession`.
    public static var incompatibleSession: Code { .incompatibleSession }
    /// Same as `Code.unsupportedFileFormatVersion`.
    public static var unsupportedFileFormatVersion: Code { .unsupportedFileFormatVersion }
    /// Same as `Code.multipleSyncAgents`.
    public static var multipleSyncAgents: Code { .multipleSyncAgents }
    /// Same as `Code.subscriptionFailed`.
    public static var subscriptionFailed: Code { .subscriptionFailed }
    /// Same as `Code.fileOperationFailed`.
    public static var fileOperationFailed: Code { .fileOperationFailed }
    /// Same as `Code.invalidDatabase`.
    public static var invalidDatabase: Code { .invalidDatabase }
    /// Same as `Code.incompatibleHistories`.
    public static var incompatibleHistories: Code { .incompatibleHistories }
    /// Same as `Code.noSubscriptionForWrite`.
    public static var noSubscriptionForWrite: Code { .noSubscriptionForWrite }
}

extension Realm.Error: CustomNSError, LocalizedError, CustomStringConvertible {
    /// The domain of these errors as `NSError`.
    public static var errorDomain: String { domain }
    /// The code as a number.
    public var errorCode: Int { code.rawValue }

    /// The user info of the error as an `NSError`.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: description]
        if let fileURL { info[NSFilePathErrorKey] = fileURL.path }
        return info
    }

    /// Like `errorUserInfo`: the message and, if a file is concerned, its path under `NSFilePathErrorKey`.
    public var userInfo: [String: Any] { errorUserInfo }

    /// A sentence that describes the error and says what to do.
    public var errorDescription: String? { description }

    /// The description of the error, and advice on what to do.
    public var localizedDescription: String { description }

    public var description: String {
        message.isEmpty ? "The operation couldn’t be completed. (\(Self.domain) error \(code.rawValue).)" : message
    }
}

extension Realm.Error: Hashable {
    /// True if both have the same code.
    public static func == (left: Realm.Error, right: Realm.Error) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension Realm.Error.Code {
    /// Lets `catch Realm.Error.fileNotFound` match.
    public static func ~= (code: Self, error: any Swift.Error) -> Bool {
        (error as? Realm.Error)?.code == code
    }
}

/// True if both errors have the same domain and code.
public func == (left: any Error, right: any Error) -> Bool {
    left._domain == right._domain && left._code == right._code
}
