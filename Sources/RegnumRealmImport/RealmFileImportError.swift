// SPDX-License-Identifier: Apache-2.0
// Errors of an import other than those of the source file and the file system.

public import Foundation

/// An error of an import. A value; can be used on any thread.
///
/// An import throws `RealmFileError` if the source cannot be read, `Realm.Error` if the new file cannot be written, and
/// this type for its other errors.
public struct RealmFileImportError: Error, Sendable, Equatable {
    /// The kind of an error.
    public enum Code: Sendable, Equatable {
        /// The encryption key is not 64 bytes long.
        case wrongKey
        /// The new file differs from the source.
        case verificationFailed
        /// Another program has written to the source during the import or export.
        case sourceChanged
        /// The file of JSON lines cannot be read, a line or the schema is not valid, or a line does not match the
        /// schema.
        case malformedJSON
        /// The export names a class that the file does not have.
        case unknownClass
    }

    /// The kind of the error.
    public let code: Code
    /// The message for the user.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension RealmFileImportError: CustomStringConvertible, LocalizedError {
    /// The same as `message`.
    public var description: String { message }
    /// The same as `message`.
    public var errorDescription: String? { message }
}
