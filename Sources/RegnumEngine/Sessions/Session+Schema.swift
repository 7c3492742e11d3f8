// SPDX-License-Identifier: Apache-2.0
// Changes to the definitions of tables within a write transaction: new tables, the schema version, features.

import RegnumSystem

extension Session {
    func replaceTable(at place: Int, by table: Table) { tables[place] = table }

    func removeTable(_ table: Table) { tables.removeAll { $0 === table } }

    /// In a write: recomputes the link origins after definitions have changed.
    func schemaMoved() {
        isSchemaChanged = true
        resolveOrigins()
        moved()
    }

    /// In a write: sets the schema version of the file; 0 ... UInt64.max - 1.
    package func setSchemaVersion(_ version: UInt64) {
        precondition(state.pointee.isWriting)
        catalog.schemaVersion = version
    }

    /// In a write: declares a feature that readers may or must know.
    package func addFeature(_ feature: Feature) {
        precondition(state.pointee.isWriting)
        schema.features.append(feature)
        isSchemaChanged = true
    }

    package var features: [Feature] { schema.features }

    /// In a write: creates empty tables. Resolves link targets by name among existing and new tables.
    package func addTables(_ new: [NewTable]) throws(EngineError) {
        precondition(state.pointee.isWriting)
        var keys: [String: TableKey] = [:]
        for table in tables { keys[table.definition.name] = table.definition.key }
        for table in new {
            guard table.name.utf8.count <= FormatLimits.tableNameByteCount else {
                throw .limit("Class name '\(table.name)' is longer than \(FormatLimits.tableNameByteCount) bytes.")
            }
            precondition(keys[table.name] == nil, "table \(table.name) is there already")
            keys[table.name] = TableKey(catalog.nextTableKey)
            catalog.nextTableKey += 1
        }
        try change { () throws(EngineError) in for table in new { try addTable(table, keys) } }
        schemaMoved()
    }

    private func addTable(_ new: NewTable, _ keys: [String: TableKey]) throws(EngineError) {
        guard new.columns.count <= FormatLimits.columnCount else {
            throw .limit(
                "Class '\(new.name)' has \(new.columns.count) properties: a class can have at most "
                    + "\(FormatLimits.columnCount). Split it into several classes.")
        }
        var columns: [ColumnDefinition] = []
        for (i, column) in new.columns.enumerated() {
            guard column.name.utf8.count <= FormatLimits.columnNameByteCount else {
                throw .limit("Property name '\(column.name)' is longer than \(FormatLimits.columnNameByteCount) bytes.")
            }
            let target = column.targetName.flatMap { keys[$0] }
            precondition(column.type != .link || target != nil, "link to an unknown table")
            columns.append(
                ColumnDefinition(
                    key: ColumnKey(UInt32(i + 1)), name: column.name, type: column.type, collection: column.collection,
                    isNullable: column.isNullable, isIndexed: column.isIndexed, isPrimaryKey: column.isPrimaryKey,
                    isHidden: column.isHidden, isContentIndexed: column.isContentIndexed, target: target))
        }
        guard let key = keys[new.name] else { preconditionFailure("a new table without a key") }
        let definition = TableDefinition(
            key: key, name: new.name, isEmbedded: new.isEmbedded, columns: columns,
            nextColumnKey: UInt32(columns.count + 1))
        let record = TableRecord(key: key, nextObjectKey: 1, count: 0, root: .none, trees: [])
        tables.append(try Table(definition, record, self))
    }
}
