// SPDX-License-Identifier: Apache-2.0
// The schema of a file: its tables and their properties. The tables of classes are those that a program declared.

/// A table of a file. Tables whose names begin with "class_" hold the objects of a class.
public struct RealmFileTable: Sendable {
    /// How objects of a class live.
    public enum Kind: Sendable, Equatable {
        case topLevel
        /// Each object belongs to one object that links to it.
        case embedded
        /// Objects are deleted once they are sent to a server; the file may hold leftovers.
        case asymmetric
    }

    /// The name of the class; of a table that is none of a class, the name of the table.
    public let name: String
    /// The name in the file, as "class_Dog".
    public let tableName: String
    /// Its index in `RealmFile.tables`.
    public let index: Int
    public let kind: Kind
    /// In the order in which they were declared. Links back from other objects are not stored, and not among them.
    public let properties: [RealmFileProperty]
    /// The primary key's index in `properties`.
    public let primaryKeyIndex: Int?
    /// The number of objects.
    public let objectCount: Int

    let layout: TableLayout

    /// True for the table of a class that a program declared.
    public var isClass: Bool { tableName.hasPrefix(Self.classPrefix) }

    static let classPrefix = "class_"

    /// The index of the property of that name, or nil.
    public func index(of name: String) -> Int? { properties.firstIndex { $0.name == name } }
}

/// A property of a class.
public struct RealmFileProperty: Sendable, Equatable {
    /// What the values, or the elements of the collection, are.
    public enum ValueType: Sendable, Equatable {
        case int, bool, float, double, string, data, date, decimal, objectId, uuid
        /// A value of any type.
        case any
        /// A link to an object of the class.
        case link(String)
        /// Rows of several columns; formats up to 9.
        case rows
    }

    /// Whether a property holds one value or many.
    public enum Collection: Sendable, Equatable { case none, list, set, dictionary }

    /// The name by which the property is read. It is that of the file, where the file has each name once; otherwise the
    /// number of the property is added, as Realm itself does when it upgrades such a file.
    public let name: String
    /// The name in the file: the one that a program has given with `propertiesMapping`, if it has.
    public let storedName: String
    public let type: ValueType
    public let collection: Collection
    /// True if the value, or an element of the collection, may be null.
    public let isOptional: Bool
    public let isPrimaryKey: Bool
    public let isIndexed: Bool
    public let hasFullTextIndex: Bool
    /// True for what Realm's synchronisation has added ("!OID").
    public var isInternal: Bool { storedName.hasPrefix("!") }
}

/// Where the parts of a table lie.
enum TableLayout: Sendable {
    /// Formats from 10 on: the tree of the objects.
    case clusters(key: Int64, root: Int?, columns: [FileColumn])
    /// Formats up to 9: a tree for each column.
    case columns([FileColumn], roots: [Int64], node: Int)
}

/// How the values of one property lie in the file.
struct FileColumn: Sendable {
    let type: FileType
    let attributes: FileAttributes
    /// From format 10 on the index in a cluster; before, the place in the array of columns.
    let index: Int
    /// Index in `RealmFile.tables`.
    let targetTable: Int?
    /// Of a dictionary.
    let keyType: FileType
    /// The root of the interned texts.
    let internedRef: Int?
    /// Of a table within a table.
    let rowColumns: [FileColumn]
}
