// SPDX-License-Identifier: Apache-2.0
// What becomes of the tables in one write transaction, so that they fit the classes. In three steps:
//
//   begin    makes missing tables, adds columns, changes nulls, indexes and keys. A column that no property wants any
//            more is parked: hidden under another name, its values in place, because the migration block may still
//            rename it
//   block    the user's; renames take columns out of the park
//   finish   drops what is parked, embeds what is to be embedded, refuses primary keys that are there twice

internal import RegnumEngine

final class SchemaWork {
    let session: Session
    let classes: [ClassSchema]
    /// Columns that nothing wants any more, with the names that they had. By table.
    private var parked: [TableKey: [ColumnKey: String]] = [:]
    /// Columns of older tables made in this transaction; empty but for what the block stored.
    private var added: [TableKey: Set<ColumnKey>] = [:]
    private var toEmbed: Set<TableKey> = []
    /// Tables whose primary keys may be there twice.
    private var rekeyed: Set<TableKey> = []
    /// Tables of classes that are gone, without objects.
    private var unwanted: Set<TableKey> = []
    /// Columns that the block renamed to names that no property has: it has to rename them again.
    private var halfway: [TableKey: Set<ColumnKey>] = [:]
    /// True while steps run: names are those of columns, whatever the classes call them.
    var goesByColumns = false

    init(session: Session, classes: [ClassSchema]) {
        self.session = session
        self.classes = classes
    }

    var missing: [ClassSchema] { classes.filter { session.table(named: $0.name) == nil } }

    /// True where tables are missing, or differ from the classes in any way that `begin` changes.
    var isNeeded: Bool {
        if !missing.isEmpty { return true }
        // On a copy that is thrown away: adapting takes notes.
        let trial = SchemaWork(session: session, classes: classes)
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

    /// The definition with a column for each property. Columns keep their order, so that others who have the file
    /// open find them where they were.
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
                    // Nulls become zero or empty, which another object may have.
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

    /// Constraints keep their keys, and so their trees, where their columns stay the same.
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

    /// The block stored a primary key.
    func noteKey(of table: TableKey) { rekeyed.insert(table) }

    /// True where keys that are there twice are found at the end.
    func hasUnprovedKeys(_ table: TableKey) -> Bool { rekeyed.contains(table) }

    /// The table goes with the last column whose links lead to it.
    func remove(_ table: TableKey) { unwanted.insert(table) }

    /// Drops what nothing wants, and proves the keys. Throws `Failure` and `EngineError`.
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

    /// What is wrong with what the block did.
    enum Failure: Error {
        case differences([String])
        case sharedKey(String)
    }
}

// MARK: Renaming

extension SchemaWork {
    /// Gives the values of one property to another. Nil where it went well, else what stands against it.
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

    /// The property that goes by that name.
    private func declared(_ name: String, in schema: ClassSchema) -> ClassProperty? {
        if !goesByColumns { return schema.property(named: name) }
        return schema.properties.first { $0.columnName == name && !$0.isComputed }
    }

    private func shownName(_ column: ColumnDefinition) -> String {
        SchemaDifferences.name(
            column.type, column.collection, column.target.flatMap { session.table($0)?.definition.name })
    }

    /// The parked column takes the place of one made for the class.
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
            // Other values: another tree.
            definition.uniques[i] = UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: columns)
            definition.nextColumnKey += 1
        }
        parked[definition.key]?[key] = nil
        halfway[definition.key]?.remove(key)
        if halfway[definition.key]?.isEmpty == true { halfway[definition.key] = nil }
        added[definition.key]?.remove(replaced)
    }

    /// Gives the objects of one class to another. Nil where it went well, else what stands against it.
    func renameClass(from oldName: String, to newName: String) throws(EngineError) -> String? {
        let rename = "Cannot rename class '\(oldName)'"
        guard let table = session.table(named: oldName) else { return "\(rename) because it does not exist." }
        if classes.contains(where: { $0.name == oldName }) {
            return "\(rename) to '\(newName)' because the source class still exists."
        }
        let key = table.definition.key
        if let other = session.table(named: newName) {
            // An empty one is new, or of a program that was run with the new class before its migration was written.
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

    /// Columns whose links lead to the table of the class lead to the renamed one.
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

    /// Columns that were parked only because their target had another name.
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
