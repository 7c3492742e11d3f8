// SPDX-License-Identifier: Apache-2.0
// The classes and properties known to the binder.

package import RegnumEngine

/// The column or the backlinks that a property stands for.
package enum QueryProperty: Sendable {
    /// A column of the class's table, by its number in the table.
    case column(Int, ColumnDefinition)
    /// LinkingObjects: the objects of another table that link to this one.
    case backlinks(originTable: TableKey, originColumn: Int, originClassName: String)
}

package struct QueryClass: Sendable {
    /// The name used in error messages.
    package var name: String
    package var table: TableKey
    /// Properties by Swift name.
    package var properties: [String: QueryProperty]
    package var isEmbedded: Bool

    package init(
        name: String, table: TableKey, properties: [String: QueryProperty], isEmbedded: Bool = false
    ) {
        self.name = name
        self.table = table
        self.properties = properties
        self.isEmbedded = isEmbedded
    }
}

package protocol QuerySchema {
    func queryClass(_ table: TableKey) -> QueryClass?
}

/// A schema made from table definitions: every column that is not hidden is a property with the column's name.
package struct TableSchema: QuerySchema, Sendable {
    private var classes: [TableKey: QueryClass] = [:]

    package init(_ tables: [TableDefinition]) {
        for table in tables {
            var properties: [String: QueryProperty] = [:]
            for (number, column) in table.columns.enumerated() where !column.isHidden {
                properties[column.name] = .column(number, column)
            }
            classes[table.key] = QueryClass(
                name: table.name, table: table.key, properties: properties, isEmbedded: table.isEmbedded)
        }
    }

    /// Adds a LinkingObjects property.
    package mutating func addBacklinks(_ name: String, to table: TableKey, from origin: TableKey, column: Int) {
        let originName = classes[origin]?.name ?? ""
        classes[table]?.properties[name] = .backlinks(
            originTable: origin, originColumn: column, originClassName: originName)
    }

    package func queryClass(_ table: TableKey) -> QueryClass? { classes[table] }
}

extension ColumnType {
    /// The name in RealmSwift's error messages.
    package var shown: String {
        switch self {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .double: "double"
        case .string: "string"
        case .data: "data"
        case .date: "date"
        case .objectID: "object id"
        case .uuid: "uuid"
        case .link: "object"
        case .decimal128: "decimal128"
        case .mixed: "mixed"
        }
    }
}
