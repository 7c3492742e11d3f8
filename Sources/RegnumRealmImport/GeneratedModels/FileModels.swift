// SPDX-License-Identifier: Apache-2.0
// The classes of a file as Swift source and as JSON.

public import Foundation
internal import RegnumRealmFile

/// The classes of a file in Realm's or Regnum's format, as model source for programs that open the file.
///
/// ```swift
/// let models = try FileModels(of: oldURL)
/// try models.swiftSource.write(to: URL(fileURLWithPath: "Models.swift"), atomically: true, encoding: .utf8)
/// ```
///
/// A value; can be used on any thread.
public struct FileModels: Sendable {
    let classes: [SourceClass]
    /// The schema version of the file; nil if it has none.
    public let schemaVersion: UInt64?

    /// Reads the schema of the file. Writes nothing. Any thread.
    ///
    /// - Parameters:
    ///   - url: The file, in Realm's or Regnum's format.
    ///   - encryptionKey: The 64-byte key of an encrypted file.
    /// - Throws: `RealmFileError` or `Realm.Error` if the file cannot be read; `RealmFileImportError` if the key is not
    ///   64 bytes long.
    /// - Complexity: O(schema).
    public init(of url: URL, encryptionKey: Data? = nil) throws {
        self.init(try OpenedSource.open(url, encryptionKey: encryptionKey))
    }

    init(_ source: some ObjectSource) {
        classes = source.classes
        schemaVersion = source.schemaVersion
    }

    /// Swift source with one class for each class of the file, with `@Persisted` properties. A program with these
    /// classes and `schemaVersion` can open the imported file. Names that are not valid in Swift, or that would hide
    /// others, are changed and mapped to the names in the file. O(schema).
    public var swiftSource: String { SwiftModels(classes, schemaVersion).text }

    /// The classes and the schema version as one JSON object on one line, which `ObjectJSON.importLines` accepts as a
    /// schema. O(schema).
    public var json: String { SchemaJSON.text(classes, schemaVersion) }
}
