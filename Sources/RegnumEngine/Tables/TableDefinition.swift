// SPDX-License-Identifier: Apache-2.0
// The identities used inside the engine: keys, column types, and the definition of a table.

/// Identity of an object in its table: 1, 2, 3 ... in the order of insertion, never reused. 0 is no object.
@usableFromInline @frozen
package struct ObjectKey: RawRepresentable, Hashable, Comparable, Sendable {
    @usableFromInline package var rawValue: UInt64
    @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }
    @inlinable package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    @inlinable package static func < (a: ObjectKey, b: ObjectKey) -> Bool { a.rawValue < b.rawValue }
    package static let none = ObjectKey(0)
}

/// Identity of a table, stable across renames.
package struct TableKey: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (a: TableKey, b: TableKey) -> Bool { a.rawValue < b.rawValue }
}

/// Identity of a column in its table, stable across renames and never reused.
package struct ColumnKey: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (a: ColumnKey, b: ColumnKey) -> Bool { a.rawValue < b.rawValue }
}

/// The type of a column's values. The raw value is stored on disk.
package enum ColumnType: UInt8, Sendable, CaseIterable {
    case bool = 1, int, float, double, string, data, date, objectID, uuid, link, decimal128, mixed
}

/// Whether a column holds one value or a collection. The raw value is stored on disk.
package enum CollectionKind: UInt8, Sendable { case none = 0, list, set, dictionary }

/// The effect that deleting the object at one end of a link has on the object at the other end. The raw value is stored
/// on disk.
package enum LinkRule: UInt8, Sendable, CaseIterable {
    /// They stay, and the link is cleared.
    case nullify = 0
    /// They are deleted as well.
    case cascade
    /// If there are any, the delete is denied.
    case deny
}

/// A unique constraint: no two objects hold the same values in these columns. An object with a null among them equals
/// no other.
package struct UniqueDefinition: Sendable, Equatable {
    /// Identifies the constraint's tree; a column key that no column has.
    package var key: ColumnKey
    package var columns: [ColumnKey]
    package init(key: ColumnKey, columns: [ColumnKey]) {
        self.key = key
        self.columns = columns
    }
}

package struct ColumnDefinition: Sendable, Equatable {
    package var key: ColumnKey
    package var name: String
    package var type: ColumnType
    package var collection: CollectionKind
    /// For a collection: whether its elements may be null.
    package var isNullable: Bool
    package var isIndexed: Bool
    package var isPrimaryKey: Bool
    /// A system column: stored with the object, never exposed as a property.
    package var isHidden: Bool
    /// True if the column has a full-text index (String or list of String) or a geospatial index (list of Double).
    package var isContentIndexed: Bool
    /// The table that links point to.
    package var target: TableKey?
    /// For links: the rule when the object that holds them is deleted.
    package var deleteRule = LinkRule.nullify
    /// For links: the rule when the object that they point to is deleted. `nullify` clears the link, `cascade` deletes
    /// the object that holds it.
    package var originRule = LinkRule.nullify

    package init(
        key: ColumnKey, name: String, type: ColumnType, collection: CollectionKind = .none, isNullable: Bool = false,
        isIndexed: Bool = false, isPrimaryKey: Bool = false, isHidden: Bool = false, isContentIndexed: Bool = false,
        target: TableKey? = nil
    ) {
        self.key = key
        self.name = name
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.isIndexed = isIndexed
        self.isPrimaryKey = isPrimaryKey
        self.isHidden = isHidden
        self.isContentIndexed = isContentIndexed
        self.target = target
    }
}

package struct TableDefinition: Sendable, Equatable {
    package var key: TableKey
    package var name: String
    package var isEmbedded: Bool
    package var columns: [ColumnDefinition]
    /// The key that the next new column gets.
    package var nextColumnKey: UInt32
    package var uniques: [UniqueDefinition] = []

    package init(key: TableKey, name: String, isEmbedded: Bool, columns: [ColumnDefinition], nextColumnKey: UInt32) {
        self.key = key
        self.name = name
        self.isEmbedded = isEmbedded
        self.columns = columns
        self.nextColumnKey = nextColumnKey
    }

    /// The index of the primary key's column.
    package var primaryKey: Int? { columns.firstIndex { $0.isPrimaryKey } }
    package func column(named name: String) -> Int? { columns.firstIndex { $0.name == name } }
}

/// The definition of a table to create.
package struct NewTable: Sendable, Equatable {
    package var name: String
    package var isEmbedded: Bool
    package var columns: [NewColumn]
    package init(name: String, isEmbedded: Bool = false, columns: [NewColumn]) {
        self.name = name
        self.isEmbedded = isEmbedded
        self.columns = columns
    }
}

/// The definition of a column to create. `targetName` names the table that links point to.
package struct NewColumn: Sendable, Equatable {
    package var name: String
    package var type: ColumnType
    package var collection: CollectionKind
    package var isNullable: Bool
    package var isIndexed: Bool
    package var isPrimaryKey: Bool
    package var isHidden: Bool
    package var isContentIndexed: Bool
    package var targetName: String?

    package init(
        name: String, type: ColumnType, collection: CollectionKind = .none, isNullable: Bool = false,
        isIndexed: Bool = false, isPrimaryKey: Bool = false, isHidden: Bool = false, isContentIndexed: Bool = false,
        targetName: String? = nil
    ) {
        self.name = name
        self.type = type
        self.collection = collection
        self.isNullable = isNullable
        self.isIndexed = isIndexed
        self.isPrimaryKey = isPrimaryKey
        self.isHidden = isHidden
        self.isContentIndexed = isContentIndexed
        self.targetName = targetName
    }
}

/// A point in time: seconds since 1970 and nanoseconds (magnitude below 10^9) of the same sign.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var seconds: Int64
    package var nanoseconds: Int32
    package init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
    package static func < (a: Timestamp, b: Timestamp) -> Bool {
        a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds
    }
}

extension ColumnDefinition {
    /// The form of the column's values in a writable group.
    package var writableForm: ColumnForm {
        if collection != .none { return .slots }
        switch type {
        case .bool: return .bits
        case .int, .date, .link: return .int64
        case .float: return .float32
        case .double: return .float64
        case .string, .data, .mixed: return .slots
        case .objectID: return .bytes12
        case .uuid, .decimal128: return .bytes16
        }
    }

    /// True if nulls are marked by validity bits (a null link is key 0).
    package var hasValidity: Bool { isNullable && collection == .none && type != .link }
    /// True if the column's type can be indexed; for other types an index would read bytes that do not exist.
    package var mayBeIndexed: Bool {
        guard collection == .none else { return false }
        switch type {
        case .bool, .int, .string, .data, .date, .objectID, .uuid, .mixed: return true
        case .float, .double, .link, .decimal128: return false
        }
    }
    /// True if a unique constraint may name the column.
    package var mayBeUnique: Bool {
        guard collection == .none else { return false }
        switch type {
        case .bool, .int, .string, .date, .objectID, .uuid, .link: return true
        case .float, .double, .data, .decimal128, .mixed: return false
        }
    }
    /// True if the column maintains backlinks, the reverse of its links.
    package var hasBacklinks: Bool { type == .link || type == .mixed }
}
