// SPDX-License-Identifier: Apache-2.0
// Errors of reading a file: a code for programs and a message for the user.

public import Foundation

/// An error of reading a file in Realm's format.
///
/// Thread: a value that can be thrown on any thread and sent to any other.
public struct RealmFileError: Error, Sendable, Equatable {
    /// The kinds of errors.
    public enum Code: Sendable, Equatable {
        /// There is no file at the path.
        case notFound
        /// The system denies access to the file.
        case permissionDenied
        /// The system could not read the file.
        case unreadable
        /// The file is empty, or not in Realm's format. This is also the error for an encrypted file that is opened
        /// without its key.
        case notARealmFile
        /// A key was given for a file that is not encrypted.
        case notEncrypted
        /// No page of the file matches the key.
        case wrongKey
        /// This build cannot read encrypted files: the package trait `Encryption` is off.
        case encryptionUnavailable
        /// The file has a format that no released version of Realm wrote, or that this reader does not know.
        case unsupportedFormat(Int)
        /// Realm started to upgrade the file from format 9 and did not finish.
        case unfinishedUpgrade
        /// There is no previous snapshot to read.
        case noPreviousSnapshot
        /// The bytes of the file contradict the format.
        case damaged
        /// The file has no class of that name, the class has no property of that name, or there is no object with that
        /// key.
        case unknownName
    }

    /// The kind of error.
    public let code: Code
    /// A message that describes the problem and, if possible, says what to do.
    public let message: String
    /// The path of the file.
    public internal(set) var filePath: String
    /// The offset of the damaged node, in bytes from the start of the decrypted file.
    public let ref: UInt64?
    /// The class and property where the error was found, such as "Dog.name".
    public internal(set) var location: String?

    package init(_ code: Code, _ message: String, filePath: String = "", ref: UInt64? = nil, location: String? = nil) {
        self.code = code
        self.message = message
        self.filePath = filePath
        self.ref = ref
        self.location = location
    }

    /// Creates every damage error that concerns a node, so that one breakpoint here catches them all.
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
