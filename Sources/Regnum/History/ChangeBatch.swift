// SPDX-License-Identifier: Apache-2.0
// What the change feed delivers: values that may be sent anywhere and stored.

public import Foundation
internal import RegnumEngine
internal import RegnumObservation

/// Names a version of a Realm, for a reader of its changes. Store it, in this Realm or elsewhere, when everything up to
/// it has been processed; pass it to `changes(since:)` later, also in another process.
///
/// Opaque: its text may change with the library, but texts that were stored stay valid.
public struct ChangeCursor: Hashable, Sendable, LosslessStringConvertible {
    let cursor: FeedCursor

    init(_ cursor: FeedCursor) { self.cursor = cursor }

    /// Reads a stored text; nil if it is not a cursor.
    public init?(_ description: String) {
        guard let cursor = FeedCursor(text: description) else { return nil }
        self.cursor = cursor
    }

    public var description: String { cursor.text }
}

extension ChangeCursor: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let cursor = FeedCursor(text: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is not a change cursor.")
        }
        self.cursor = cursor
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The changes of a Realm between two versions. See `changes(since:)`.
public struct ChangeBatch: Sendable {
    /// What identifies an object.
    public enum Identity: Hashable, Sendable, CustomStringConvertible {
        /// A primary key; of an enum, its raw value.
        case int(Int)
        /// See `int`.
        case string(String)
        /// A primary key.
        case objectId(ObjectId)
        /// A primary key.
        case uuid(UUID)
        /// The primary key nil.
        case null
        /// The number of an object of a class without a primary key. Numbers are not used again.
        case number(UInt64)

        public var description: String {
            switch self {
            case .int(let value): "\(value)"
            case .string(let value): value
            case .objectId(let value): value.stringValue
            case .uuid(let value): value.uuidString
            case .null: "nil"
            case .number(let value): "#\(value)"
            }
        }
    }

    /// A changed object.
    public struct Modification: Hashable, Sendable {
        public let object: Identity
        /// The properties that differ, in the order of the class.
        public let properties: [String]
    }

    /// The changes of the objects of one class. No object is in two of the lists.
    public struct ClassChanges: Sendable {
        /// The name of the class in the file.
        public let className: String
        public let inserted: [Identity]
        /// An object that was deleted, and created again with the same primary key, counts as modified in all its
        /// properties.
        public let modified: [Modification]
        public let deleted: [Identity]
    }

    /// The classes with changes. Classes of embedded objects are included.
    public let classes: [ClassChanges]
    /// The version after these changes.
    public let cursor: ChangeCursor
    /// True if classes or properties were added, changed or removed. A new property is no modification of the objects.
    public let isSchemaChanged: Bool

    /// True if nothing has changed.
    public var isEmpty: Bool { classes.isEmpty && !isSchemaChanged }

    /// The changes of a class; nil if there are none.
    public subscript(className: String) -> ClassChanges? { classes.first { $0.className == className } }
}

/// The Swift names of columns, by class and column, where they differ.
struct FeedNames: Sendable {
    private var names: [String: [String: String]] = [:]

    init(_ classes: [ClassSchema]) {
        for schema in classes {
            for property in schema.properties where !property.isComputed && property.columnName != property.name {
                names[schema.name, default: [:]][property.columnName] = property.name
            }
        }
    }

    func batch(_ changes: VersionChanges) -> ChangeBatch {
        ChangeBatch(
            classes: changes.classes.map { found in
                let own = names[found.name] ?? [:]
                return ChangeBatch.ClassChanges(
                    className: found.name, inserted: found.inserted.map { Self.identity($0) },
                    modified: found.modified.map { modified in
                        ChangeBatch.Modification(
                            object: Self.identity(modified.object), properties: modified.columns.map { own[$0] ?? $0 })
                    },
                    deleted: found.deleted.map { Self.identity($0) })
            }, cursor: ChangeCursor(changes.cursor), isSchemaChanged: changes.isNewSchema)
    }

    private static func identity(_ object: VersionChanges.Object) -> ChangeBatch.Identity {
        switch object.primaryKey {
        case .int(let value)?: .int(Int(value))
        case .string(let value)?: .string(value)
        case .objectID(let low, let high)?: .objectId(ObjectId(low: low, high: high))
        case .uuid(let low, let high)?: .uuid(UUID(words: (low, high)))
        case .null?: .null
        default: .number(object.key.rawValue)
        }
    }
}
