// SPDX-License-Identifier: Apache-2.0
// Why an import cannot be done, apart from what is wrong with the source and what the file system refuses.

public import Foundation

/// An error of an import. A value; any thread.
///
/// An import throws `RealmFileError` if the source cannot be read, `Realm.Error` if the new file cannot be written, and this for
/// all else.
public struct RealmFileImportError: Error, Sendable, Equatable {
    /// What kind of error it is.
    public enum Code: Sendable, Equatable {
        /// A key that is not 64 bytes long.
        case wrongKey
        /// The new file does not hold what the source holds.
        case verificationFailed
        /// Lines of JSON that are none, or do not fit to their schema.
        case malformedJSON
        /// The Realm or its classes cannot take the import.
        case unsuitableTarget
        /// The file is neither in Realm's format nor a Regnum file.
        case unknownFile
    }

    public let code: Code
    /// A sentence for people.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension RealmFileImportError: CustomStringConvertible, LocalizedError {
    public var description: String { message }
    public var errorDescription: String? { message }
}
