// SPDX-License-Identifier: Apache-2.0
// Changes the tables to fit the classes, in one write transaction. Three steps:
//
//     begin    creates missing tables, adds columns, changes nullability, indexes and keys. A column that no property
//              uses any more is parked: hidden under another name, with its values, because the migration block may
//              still rename it
//     block    the user's block; renames take columns out of the parked ones
//     finish   drops the parked columns, embeds the tables of embedded classes, and refuses duplicate primary keys

internal import RegnumEngine

final class SchemaMigrator {
    let session: Session
    let classes: [ClassSchema]
    /// Columns that no property uses any more, with their former names, by table.
    private var parked: [TableKey: [ColumnKey: String]] = [:]
    /// Columns added to existing tables in this transaction; they contain only what the block stored.
    private var added: [TableKey: Set<ColumnKey>] = [:]
    private var toEmbed: Set<TableKey> = []
    /// Tables whose primary keys may have duplicates.
    private var rekeyed: Set<TableKey> = []
    /// Tables of removed classes, without objects.
    private var unwanted: Set<TableKey> = []
    /// Columns that the block has renamed to names that no property has: it must rename them again.
    private var halfway: [TableKey: Set<ColumnKey>] = [:]
    /// True while steps run: names are column names, whatever the classes call them.
    var goesByColumns = false

    init(session: Session, classes: [ClassSchema]) {
        self.session = session
        self.classes = classes
    }

    var missing: [ClassSchema] { classes.filter { session.table(named: $0.name) == nil } }

    /// True if tables are missing, or differ from the classes in any way that `begin` changes.
    var isNeeded: Bool {
        if !missing.isEmpty { return true }
        // On a temporary instance, because `adapted` records what it changes.
        let trial = SchemaMigrator(session: session, classes: classes)
        return classes.contains { schema in
            session.table(named: schema.name).map { trial.adapted($0.definition, to: schema) != $0.definition } ?? true
        }
    }

    func begin() throws(EngineError) {
        let missing = missing
        for schema in missing { Logger.log(.debug, "DB: Add class '\(schema.name)'") }
        if !missing.isEmpty { try session.addTables(missing.map(\.newTable)) }
        try adapt(classes)
    }

    private func adapt(_ classes: [ClassSchema]) throws(EngineError) {
        var definitions: [TableDefinition] = []
        for schema in classes {
            guard let table = session.table(named: schema.name) else { continue }
            let definition = adapted(table.definition, to: schema)
            if definition != table.definition { definitions.append(definition) }
        }
        if !definitions.isEmpty { try session.reshape(definitions) }
    }

    /// The definition with a column for each property. Columns keep their order, so that other processes that have the
    /// file open find them at the same positions.
    private func adapted(_ old: TableDefinition, to schema: ClassSchema) -> TableDefinition {
        var new = old
        var wantedNames: Set<String> = []
        for property in schema.properties where !property.isComputed {
            let wanted = property.newColumn
            wantedNames.insert(wanted.name)
            let target = wanted.targetName.flatMap { session.table(named: $0)?.definition.key }
            if let place = new.columns.firstIndex(where: { $0.name == wanted.name && !$0.isHidden }) {
                let column = new.columns[place]
                if column.type == wanted.type, column.collection == wanted.collection, column.target == target {
                    // Nulls become zero or empty, which may equal another object's key.
                    let losesNull = column.isNullable && !wanted.isNullable
                    if wanted.isPrimaryKey && (!column.isPrimaryKey || losesNull) { rekeyed.insert(old.key) }
                    new.columns[place].isNullable = wanted.isNullable
                    new.columns[place].isIndexed = wanted.isIndexed
                    new.columns[place].isPrimaryKey = wanted.isPrimaryKey
                    new.columns[place].isContentIndexed = wanted.isContentIndexed
                    continue
                }
                park(place, of: &new)
            }
            if wanted.isPrimaryKey { rekeyed.insert(old.key) }
            let key = ColumnKey(new.nextColumnKey)
            new.nextColumnKey += 1
            added[old.key, default: []].insert(key)
            new.columns.append(
                ColumnDefinition(
                    key: key, name: wanted.name, type: wanted.type, collection: wanted.collection,
                    isNullable: wanted.isNullable, isIndexed: wanted.isIndexed, isPrimaryKey: wanted.isPrimaryKey,
                    isContentIndexed: wanted.isContentIndexed, target: target))
        }
        for place in new.columns.indices where !new.columns[place].isHidden {
            if !wantedNames.contains(new.columns[place].name) { park(place, of: &new) }
        }
        applyRules(of: schema, to: &new)
        if new.isEmbedded != schema.isEmbedded {
            if schema.isEmbedded { toEmbed.insert(old.key) } else { new.isEmbedded = false }
        }
        return new
    }

    /// Constraints whose columns stay the same keep their keys, and so their trees.
    private func applyRules(of schema: ClassSchema, to new: inout TableDefinition) {
        var uniques: [UniqueDefinition] = []
        for wanted in schema.uniqueColumns {
            let columns = wanted.compactMap { name in new.columns.first { $0.name == name && !$0.isHidden }?.key }
            if let kept = new.uniques.first(where: { $0.columns == columns }) {
                uniques.append(kept)
                continue
            }
            uniques.append(UniqueDefinition(key: ColumnKey(new.nextColumnKey), columns: columns))
            new.nextColumnKey += 1
        }
        new.uniques = uniques
        for property in schema.properties where !property.isComputed {
            guard let place = new.columns.firstIndex(where: { $0.name == property.columnName && !$0.isHidden }),
                new.columns[place].type == .link
            else { continue }
            new.columns[place].deleteRule = property.deleteRule
            if let rule = schema.originRule(of: property, among: classes) { new.columns[place].originRule = rule }
        }
    }

    private func park(_ place: Int, of definition: inout TableDefinition) {
        let column = definition.columns[place]
        parked[definition.key, default: [:]][column.key] = column.name
        definition.columns[place].name = ".removed.\(column.key.rawValue)"
        definition.columns[place].isHidden = true
        definition.columns[place].isIndexed = false
        definition.columns[place].isPrimaryKey = false
        definition.columns[place].isContentIndexed = false
        definition.columns[place].deleteRule = .nullify
        definition.columns[place].originRule = .nullify
        definition.uniques.removeAll { $0.columns.contains(column.key) }
    }

    /// Called when the block has stored a primary key.
    func noteKey(of table: TableKey) { rekeyed.insert(table) }

    /// True if duplicate keys are checked for at the end.
    func hasUnprovedKeys(_ table: TableKey) -> Bool { rekeyed.contains(table) }

    /// Removes the table together with the last column that links to it.
    func remove(_ table: TableKey) { unwanted.insert(table) }

    /// Drops unused columns and tables, and checks the keys for duplicates. Throws `Failure` and `EngineError`.
    func finish() throws {
        for (table, columns) in halfway.sorted(by: { $0.key < $1.key }) {
            guard let name = session.table(table)?.definition.name else { continue }
            let names = columns.compactMap { parked[table]?[$0] }.sorted()
            throw Failure.differences(names.map { "Property '\(name).\($0)' has been removed." })
        }
        var definitions: [TableDefinition] = []
        for (key, columns) in parked {
            guard var definition = session.table(key)?.definition else { continue }
            definition.columns.removeAll { columns[$0.key] != nil }
            definitions.append(definition)
        }
        definitions.sort { $0.key < $1.key }
        if !definitions.isEmpty { try session.reshape(definitions) }
        let embedded = toEmbed.filter { session.table($0) != nil }.sorted()
        if !embedded.isEmpty { try session.embed(embedded) }
        for key in unwanted.sorted() where !session.isTarget(key) { try session.removeTable(key) }
        for key in rekeyed.sorted() {
            guard let table = session.table(key), let column = table.definition.primaryKey,
                try table.sharedPrimaryKey() != nil
            else { continue }
            throw Failure.sharedKey(
                "Primary key property '\(table.definition.name).\(table.definition.columns[column].name)' has duplicate "
                    + "values after migration.")
        }
    }

    /// Errors in the changes that the block made.
    enum Failure: Error {
        case differences([String])
        case sharedKey(String)
    }
}

// MARK: Renaming

extension SchemaMigrator {
    /// Moves the values of one property to another. Returns nil on success, otherwise the reason why it is not
    /// possible.
    func renameProperty(of typeName: String, from oldName: String, to newName: String) throws(EngineError) -> String? {
        guard let table = session.table(named: typeName) else {
            return "Cannot rename properties for type '\(typeName)' because it does not exist."
        }
        guard let schema = classes.first(where: { $0.name == typeName }) else {
            return "Cannot rename properties for type '\(typeName)' because it has been removed from the Realm."
        }
        let rename = "Cannot rename property '\(typeName).\(oldName)'"
        let key = table.definition.key
        let newColumn = declared(newName, in: schema)?.columnName ?? newName
        let isWanted = schema.properties.contains { $0.columnName == oldName || $0.name == oldName }
        let left = parked[key]?.first { $0.value == oldName }?.key
        if isWanted, left == nil || declared(oldName, in: schema) != nil {
            return "\(rename) to '\(newName)' because the source property still exists."
        }
        var definition = table.definition
        guard let left, let from = definition.columns.firstIndex(where: { $0.key == left }) else {
            return "\(rename) because it does not exist."
        }
        guard let to = definition.columns.firstIndex(where: { $0.name == newColumn && !$0.isHidden }) else {
            parked[key]?[left] = newName
            halfway[key, default: []].insert(left)
            return nil
        }
        let old = definition.columns[from]
        let new = definition.columns[to]
        guard old.type == new.type, old.collection == new.collection, old.target == new.target else {
            return "\(rename) to '\(newName)' because it would change from type '\(shownName(old))' to "
                + "'\(shownName(new))'."
        }
        if old.isNullable && !new.isNullable {
            return "\(rename) to '\(newName)' because it would change from optional to required."
        }
        unpark(from, as: to, of: &definition)
        try session.reshape([definition])
        return nil
    }

    /// The property with that name.
    private func declared(_ name: String, in schema: ClassSchema) -> ClassProperty? {
        if !goesByColumns { return schema.property(named: name) }
        return schema.properties.first { $0.columnName == name && !$0.isComputed }
    }

    private func shownName(_ column: ColumnDefinition) -> String {
        SchemaDifferences.name(
            column.type, column.collection, column.target.flatMap { session.table($0)?.definition.name })
    }

    /// Puts a parked column in the position of a column added for the class, and removes the added one.
    private func unpark(_ from: Int, as to: Int, of definition: inout TableDefinition) {
        let key = definition.columns[from].key
        var column = definition.columns[to]
        let replaced = column.key
        column.key = key
        definition.columns[from] = column
        definition.columns.remove(at: to)
        for i in definition.uniques.indices {
            let columns = definition.uniques[i].columns.map { $0 == replaced ? key : $0 }
            if columns == definition.uniques[i].columns { continue }
            // The values differ, so the constraint needs another tree.
            definition.uniques[i] = UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: columns)
            definition.nextColumnKey += 1
        }
        parked[definition.key]?[key] = nil
        halfway[definition.key]?.remove(key)
        if halfway[definition.key]?.isEmpty == true { halfway[definition.key] = nil }
        added[definition.key]?.remove(replaced)
    }

    /// Moves the objects of one class to another. Returns nil on success, otherwise the reason why it is not possible.
    func renameClass(from oldName: String, to newName: String) throws(EngineError) -> String? {
        let rename = "Cannot rename class '\(oldName)'"
        guard let table = session.table(named: oldName) else { return "\(rename) because it does not exist." }
        if classes.contains(where: { $0.name == oldName }) {
            return "\(rename) to '\(newName)' because the source class still exists."
        }
        let key = table.definition.key
        if let other = session.table(named: newName) {
            // An empty table is new, or from a program that ran with the new class before its migration was written.
            guard other.count == 0 else {
                return "\(rename) to '\(newName)' because the file has objects of '\(newName)' already."
            }
            try replaceTarget(other.definition.key, by: key)
            try session.removeTable(other.definition.key)
        }
        guard var definition = session.table(key)?.definition else { return nil }
        definition.name = newName
        try session.reshape([definition])
        try adapt(classes.filter { $0.name == newName })
        try takeBack()
        return nil
    }

    /// Makes columns that link to the table of the class link to the renamed table.
    private func replaceTarget(_ old: TableKey, by new: TableKey) throws(EngineError) {
        var definitions: [TableDefinition] = []
        for table in session.tables where table.definition.key != old {
            var definition = table.definition
            for i in definition.columns.indices where definition.columns[i].target == old {
                definition.columns[i].target = new
            }
            if definition != table.definition { definitions.append(definition) }
        }
        if !definitions.isEmpty { try session.reshape(definitions) }
    }

    /// Restores columns that were parked only because their target had another name.
    private func takeBack() throws(EngineError) {
        var definitions: [TableDefinition] = []
        for (key, columns) in parked {
            guard var definition = session.table(key)?.definition else { continue }
            for (column, name) in columns.sorted(by: { $0.key < $1.key }) {
                guard let from = definition.columns.firstIndex(where: { $0.key == column }),
                    let to = definition.columns.firstIndex(where: { $0.name == name && !$0.isHidden }),
                    added[key]?.contains(definition.columns[to].key) == true
                else { continue }
                let (old, new) = (definition.columns[from], definition.columns[to])
                guard old.type == new.type, old.collection == new.collection, old.target == new.target else { continue }
                unpark(from, as: to, of: &definition)
            }
            if definition != session.table(key)?.definition { definitions.append(definition) }
        }
        definitions.sort { $0.key < $1.key }
        if !definitions.isEmpty { try session.reshape(definitions) }
    }
}
