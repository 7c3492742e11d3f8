// SPDX-License-Identifier: Apache-2.0
// Why a file could not be read, in kinds that programs tell apart and in a sentence for people.

public import Foundation

/// An error of reading a file in Realm's format.
///
/// Values: it may be thrown on any thread and sent to any other.
public struct RealmFileError: Error, Sendable, Equatable {
    /// What kind of error it is.
    public enum Code: Sendable, Equatable {
        /// There is no file at the path.
        case notFound
        /// The system refuses to read the file.
        case permissionDenied
        /// The system could not read the file.
        case unreadable
        /// The file is empty, or no file in Realm's format. An encrypted file that is opened without its key looks so too.
        case notARealmFile
        /// A key was given for a file that is not encrypted.
        case notEncrypted
        /// No page of the file fits to the key.
        case wrongKey
        /// This build reads no encrypted files: the trait `Encryption` of the package is off.
        case encryptionUnavailable
        /// The file has a format that no released version of Realm wrote, or the preview of a later one.
        case unsupportedFormat(Int)
        /// Realm began to upgrade the file from format 9 and did not finish.
        case unfinishedUpgrade
        /// There is no previous snapshot to read.
        case noPreviousSnapshot
        /// Bytes of the file contradict the format.
        case damaged
        /// The file has no class of that name, the class no property of that name, or no object of that key.
        case unknownName
    }

    /// The kind of error.
    public let code: Code
    /// A sentence that says what is wrong and, if possible, what to do.
    public let message: String
    /// The path of the file.
    public internal(set) var filePath: String
    /// The offset of the node that is damaged, in bytes from the start of the decrypted file.
    public let ref: UInt64?
    /// The class, property and object at which the error was met, as "Dog.name".
    public internal(set) var location: String?

    package init(_ code: Code, _ message: String, filePath: String = "", ref: UInt64? = nil, location: String? = nil) {
        self.code = code
        self.message = message
        self.filePath = filePath
        self.ref = ref
        self.location = location
    }

    /// The one place that makes errors of damage: a breakpoint here meets all of them.
    static func damaged(_ ref: Int, _ reason: String) -> RealmFileError {
        RealmFileError(.damaged, reason, ref: UInt64(truncatingIfNeeded: ref))
    }
}

extension RealmFileError: CustomStringConvertible, LocalizedError {
    public var description: String {
        var text = filePath.isEmpty ? "" : "'\(filePath)': "
        if code == .damaged { text += "the file is damaged: " }
        text += message
        if let ref { text += " (node at byte \(ref)" + (location.map { ", \($0))" } ?? ")") }
        if ref == nil, let location { text += " (\(location))" }
        return text
    }

    public var errorDescription: String? { description }
}
