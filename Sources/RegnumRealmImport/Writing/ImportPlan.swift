// SPDX-License-Identifier: Apache-2.0
// Maps the classes and properties of the source to tables and columns, and lists the properties that have no column.

internal import RegnumEngine
internal import RegnumRealmFile

/// The mapping of one property to a column.
struct ColumnPlan {
    /// Index in the properties of the source's class.
    var source: Int
    /// The name of the property in reports.
    var name: String
    /// Index of the column in its table.
    var column: Int
    var definition: ColumnDefinition
    /// The class that the links of the column point to: index in the classes of the source; nil for other columns.
    var targetClass: Int?

    /// True if all values of the column are links.
    var isLink: Bool { definition.type == .link }
    /// True if a value may hold a link.
    var mayLink: Bool { definition.type == .link || definition.type == .mixed }
}

/// The mapping of one class to a table.
struct ClassPlan {
    /// Index in the classes of the source.
    var source: Int
    var name: String
    /// Nil if the class has no table; its objects are then not imported.
    var table: TableKey?
    var columns: [ColumnPlan]
    /// Properties of the source that have no column.
    var dropped: [DroppedPlan]
    /// Index in `columns`; nil if the class has no primary key.
    var primaryKey: Int?
    var isEmbedded: Bool
}

/// A property of the source that has no column; its values are not imported.
struct DroppedPlan {
    /// Index in the properties of the source's class.
    var source: Int
    var name: String
    var reason: String
}

/// The tables of a new file for the classes of a source.
struct NewSchema {
    private(set) var tables: [NewTable] = []
    /// By class: the indexes of the properties that have a column, in the order of the columns.
    private(set) var carried: [[Int]] = []
    private(set) var dropped: [[DroppedPlan]] = []
    private(set) var notes: [String] = []

    init(_ classes: [SourceClass]) {
        let kinds = Dictionary(classes.map { ($0.name, $0.kind) }, uniquingKeysWith: { first, _ in first })
        for sourceClass in classes {
            var table = NewTable(name: sourceClass.name, isEmbedded: sourceClass.kind == .embedded, columns: [])
            if sourceClass.kind == .asymmetric {
                notes.append("Class '\(sourceClass.name)' is asymmetric in the old file; it becomes an ordinary class.")
            }
            var (carried, dropped): ([Int], [DroppedPlan]) = ([], [])
            for (place, property) in sourceClass.properties.enumerated() {
                if property.isInternal {
                    notes.append(
                        "Property '\(sourceClass.name).\(property.name)' belongs to Realm's synchronisation and is left out."
                    )
                    continue
                }
                if let reason = refusal(of: property, kinds) {
                    dropped.append(DroppedPlan(source: place, name: property.name, reason: reason))
                    continue
                }
                carried.append(place)
                table.columns.append(column(property, sourceClass))
            }
            tables.append(table)
            self.carried.append(carried)
            self.dropped.append(dropped)
        }
    }

    /// True if the file has these tables.
    func isThatOf(_ session: Session) -> Bool {
        tables.allSatisfy { wanted in
            guard let there = session.table(named: wanted.name)?.definition else { return false }
            return there.isEmbedded == wanted.isEmbedded && there.columns.count == wanted.columns.count
                && zip(there.columns, wanted.columns).allSatisfy { column, wanted in
                    column.name == wanted.name && column.type == wanted.type && column.collection == wanted.collection
                        && column.isNullable == wanted.isNullable && column.isPrimaryKey == wanted.isPrimaryKey
                }
        }
    }

    /// Returns the reason why no column can hold the property; nil if a column can.
    private func refusal(of property: SourceProperty, _ kinds: [String: RealmFileTable.Kind]) -> String? {
        switch property.type {
        case .rows: return "a Regnum file holds no tables within tables"
        case .link(let target):
            guard let kind = kinds[target] else { return "it links to table '\(target)', which is left out" }
            return kind == .embedded && property.collection == .set ? "a set cannot contain embedded objects" : nil
        default: return nil
        }
    }

    private mutating func column(_ property: SourceProperty, _ sourceClass: SourceClass) -> NewColumn {
        let label = "'\(sourceClass.name).\(property.name)'"
        guard let type = ColumnType(property.type) else { preconditionFailure("a property without a column type") }
        var column = NewColumn(
            name: property.name, type: type, collection: CollectionKind(property.collection),
            isNullable: type == .mixed || property.isOptional && type != .link)
        if case .link(let target) = property.type { column.targetName = target }
        if property.isPrimaryKey {
            column.isPrimaryKey =
                [.int, .string, .objectID, .uuid].contains(type) && property.collection == .none
                && sourceClass.kind != .embedded
                && sourceClass.primaryKeyIndex.map { sourceClass.properties[$0] } == property
            if !column.isPrimaryKey { notes.append("Property \(label) is the primary key in the old file only.") }
        }
        if property.isIndexed, !property.isPrimaryKey {
            let mayBeIndexed = [.bool, .int, .string, .date, .objectID, .uuid, .mixed].contains(type)
            column.isIndexed = mayBeIndexed && property.collection == .none
            if !column.isIndexed { notes.append("Property \(label) is indexed in the old file only.") }
        }
        if property.hasFullTextIndex {
            column.isContentIndexed = type == .string && [.none, .list].contains(property.collection)
            if column.isContentIndexed { column.isIndexed = false }
        }
        return column
    }
}

extension ClassPlan {
    /// Returns the plans for tables that were created from `schema`.
    static func plans(_ classes: [SourceClass], _ schema: NewSchema, _ session: Session) -> [ClassPlan] {
        let indexes = SourceClass.indexes(classes)
        return classes.enumerated().map { index, sourceClass in
            guard let table = session.table(named: sourceClass.name) else {
                preconditionFailure("a new file without the table \(sourceClass.name)")
            }
            var columns: [ColumnPlan] = []
            for place in schema.carried[index] {
                let property = sourceClass.properties[place]
                columns.append(
                    ColumnPlan(
                        source: place, name: property.name, column: columns.count,
                        definition: table.definition.columns[columns.count],
                        targetClass: property.targetClass(indexes)))
            }
            return ClassPlan(
                source: index, name: sourceClass.name, table: table.definition.key, columns: columns,
                dropped: schema.dropped[index], primaryKey: columns.firstIndex { $0.definition.isPrimaryKey },
                isEmbedded: table.definition.isEmbedded)
        }
    }
}

extension SourceProperty {
    /// The class to which the links lead, by the indexes of the classes; nil for other properties.
    func targetClass(_ indexes: [String: Int]) -> Int? {
        guard case .link(let target) = type else { return nil }
        return indexes[target]
    }
}

extension SourceClass {
    /// The indexes of the classes by their names.
    static func indexes(_ classes: [SourceClass]) -> [String: Int] {
        Dictionary(classes.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
