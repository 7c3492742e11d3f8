// SPDX-License-Identifier: Apache-2.0
// The schema of a file: its tables and their properties. Tables of classes are those that a program declared.

/// A table of a file. Tables whose names begin with "class_" hold the objects of a class.
public struct RealmFileTable: Sendable {
    /// The kind of a class.
    public enum Kind: Sendable, Equatable {
        case topLevel
        /// Each object belongs to one object that links to it.
        case embedded
        /// Objects are deleted once they are sent to a server; the file may hold leftovers.
        case asymmetric
    }

    /// The name of the class, or of the table if it does not belong to a class. It is the name in the file if that is
    /// unique; otherwise the number of the table is appended to the name of a table that belongs to no class. A table
    /// without a name is called "table_" and its number.
    public let name: String
    /// The name in the file, such as "class_Dog".
    public let tableName: String
    /// The index in `RealmFile.tables`.
    public let index: Int
    public let kind: Kind
    /// The properties in the order of their declaration. Backlinks are not stored, so they are not included.
    public let properties: [RealmFileProperty]
    /// The index of the primary key in `properties`.
    public let primaryKeyIndex: Int?
    /// The number of objects.
    public let objectCount: Int
    /// The error because of which no object of the table can be read; nil for other tables. Such a table may lack its
    /// properties and its count of objects. Reading its objects throws this error.
    public internal(set) var damage: RealmFileError?

    let layout: TableLayout

    /// True for the table of a class that a program declared.
    public var isClass: Bool { tableName.hasPrefix(Self.classPrefix) }

    static let classPrefix = "class_"

    /// True for the tables in which Realm itself keeps schema versions, primary keys and the state of synchronisation.
    package var isInternal: Bool {
        switch tableName {
        case "metadata": index(of: "version") != nil
        case "pk": index(of: "pk_table") != nil
        default: Self.internalNames.contains(tableName) || tableName.hasPrefix("flx_") || tableName.hasPrefix("!")
        }
    }

    /// True for the tables that imports, exports and models carry over: all except Realm's internal ones, those that
    /// synchronisation has added, and those whose objects exist only until they are sent. Programs that use realm-core
    /// without an SDK have tables that belong to no class.
    package var isCarriedOver: Bool {
        kind != .asymmetric && !isInternal && !(isClass && Self.synchronisationNames.contains(name))
    }

    /// The classes of permissions and subscriptions of Realm's query-based synchronisation.
    private static let synchronisationNames: Set<String> = [
        "__User", "__Role", "__Permission", "__Class", "__Realm", "__ResultSets",
    ]

    private static let internalNames: Set<String> = [
        "pending_bootstraps", "client_reset_metadata", "sync_internal_schemas",
    ]

    /// The index of the property of that name, or nil.
    public func index(of name: String) -> Int? { properties.firstIndex { $0.name == name } }
}

/// A property of a class.
public struct RealmFileProperty: Sendable, Equatable {
    /// The type of the values, or of the elements of a collection.
    public enum ValueType: Sendable, Equatable {
        case int, bool, float, double, string, data, date, decimal, objectId, uuid
        /// A value of any type.
        case any
        /// A link to an object of the class.
        case link(String)
        /// Rows of several columns (formats up to 9).
        case rows
    }

    /// Whether a property holds one value or many.
    public enum Collection: Sendable, Equatable { case none, list, set, dictionary }

    /// The name by which the property is read. It is the name in the file if that is unique; otherwise the number of
    /// the property is appended, as Realm itself does when it upgrades such a file.
    public let name: String
    /// The name in the file, which may be set by `propertiesMapping`.
    public let storedName: String
    public let type: ValueType
    public let collection: Collection
    /// True if the value, or an element of the collection, may be null.
    public let isOptional: Bool
    public let isPrimaryKey: Bool
    public let isIndexed: Bool
    public let hasFullTextIndex: Bool
    /// True for properties that Realm's synchronisation has added ("!OID").
    public var isInternal: Bool { storedName.hasPrefix("!") }
}

/// The location of the parts of a table.
enum TableLayout: Sendable {
    /// Formats from 10 on: the tree of the objects.
    case clusters(key: Int64, root: Int?, columns: [FileColumn])
    /// Formats up to 9: a tree for each column.
    case columns([FileColumn], roots: [Int64], node: Int)
}

/// The location and encoding of the values of one property.
struct FileColumn: Sendable {
    let type: FileType
    let attributes: FileAttributes
    /// From format 10 on the index in a cluster; before, the index in the array of columns.
    let index: Int
    /// The index in `RealmFile.tables`.
    let targetTable: Int?
    /// The type of the keys, for a dictionary.
    let keyType: FileType
    /// The root of the interned strings.
    let internedRef: Int?
    /// The columns of a table within a table.
    let rowColumns: [FileColumn]
}
