// SPDX-License-Identifier: Apache-2.0
// The classes of a file as Swift source and as JSON.

public import Foundation
internal import RegnumRealmFile

/// The classes of a file, in Realm's format or Regnum's, for programs that are to open it.
///
/// ```swift
/// let models = try FileModels(of: oldURL)
/// try models.swiftSource.write(to: URL(fileURLWithPath: "Models.swift"), atomically: true, encoding: .utf8)
/// ```
///
/// A value; any thread.
public struct FileModels: Sendable {
    let classes: [SourceClass]
    /// The schema version of the file; nil if it has none.
    public let schemaVersion: UInt64?

    /// Reads the schema of the file; nothing is written.
    ///
    /// - Throws: `RealmFileError` or `Realm.Error`.
    public init(of url: URL, encryptionKey: Data? = nil) throws {
        self.init(try OpenedSource.open(url, encryptionKey: encryptionKey))
    }

    init(_ source: some ObjectSource) {
        classes = source.classes
        schemaVersion = source.schemaVersion
    }

    /// One class of Swift for each class of the file, with `@Persisted` properties. A program with these classes and
    /// `schemaVersion` opens the imported file. Names that Swift cannot have, or that would hide others, are mapped.
    public var swiftSource: String { SwiftModels(classes, schemaVersion).text }

    /// The same as one JSON object in one line; `ObjectJSON` reads it.
    public var json: String { SchemaJSON.text(classes, schemaVersion) }
}
