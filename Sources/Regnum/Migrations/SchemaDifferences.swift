// SPDX-License-Identifier: Apache-2.0
// The differences between a class and its table, in RealmSwift's wording. Any difference needs a new schema version
// (`OpeningMigration.need`). Index changes are not listed and need none.

internal import RegnumEngine
internal import RegnumQuery

/// One difference between a class and its table.
struct SchemaDifference {
    /// The effect on the existing objects if the migration block does not intervene. Columns are the table's, by
    /// position.
    enum Effect {
        /// All values are kept.
        case nothing
        /// Each object gets a value.
        case addition
        /// The values of the column are lost.
        case values(column: Int)
        /// Nulls of the column become zero or empty.
        case nulls(column: Int)
        /// Each object must have exactly one owner: objects without a link to them are deleted, those with several are
        /// copied.
        case owners
    }

    let text: String
    let effect: Effect

    init(_ text: String, _ effect: Effect = .nothing) {
        self.text = text
        self.effect = effect
    }
}

struct SchemaDifferences {
    let schema: ClassSchema
    let table: TableDefinition
    let session: Session
    /// All classes of the Realm; nil if constraints and delete rules are not known.
    let classes: [ClassSchema]?

    /// Like `found`, but returns only the sentences.
    func list(toleratingColumns: Bool) -> [String] { found(toleratingColumns: toleratingColumns).map(\.text) }

    /// One sentence for each difference: removed and changed columns in the order of the file, then added ones, the
    /// primary key, and the kind of class. With `toleratingColumns` (for read-only files), only differences that make
    /// values unreadable, and different keys.
    func found(toleratingColumns: Bool) -> [SchemaDifference] {
        var found: [SchemaDifference] = []
        let stored = schema.properties.filter { !$0.isComputed }
        var names: Set<String> = []
        for (place, column) in table.columns.enumerated() where !column.isHidden {
            names.insert(column.name)
            guard let property = stored.first(where: { $0.columnName == column.name }) else {
                if !toleratingColumns {
                    found.append(
                        SchemaDifference(
                            "Property '\(schema.name).\(column.name)' has been removed.", .values(column: place)))
                }
                continue
            }
            if let (words, effect) = change(property, column, place) {
                found.append(
                    SchemaDifference("Property '\(schema.name).\(property.name)' has been \(words).", effect))
            }
        }
        if !toleratingColumns {
            for property in stored where !names.contains(property.columnName) {
                found.append(
                    SchemaDifference("Property '\(schema.name).\(property.name)' has been added.", .addition))
            }
            if let classes { found += ruleChanges(stored, classes).map { SchemaDifference($0) } }
        }
        if let change = primaryKeyChange() {
            found.append(SchemaDifference("Primary Key for class '\(schema.name)' has \(change)."))
        }
        if toleratingColumns { return found }
        if table.isEmbedded != schema.isEmbedded {
            let kinds = table.isEmbedded ? "Embedded to TopLevel" : "TopLevel to Embedded"
            found.append(
                SchemaDifference(
                    "Class '\(schema.name)' has been changed from \(kinds).",
                    schema.isEmbedded ? .owners : .nothing))
        }
        return found
    }

    private func change(
        _ property: ClassProperty, _ column: ColumnDefinition, _ place: Int
    ) -> (String, SchemaDifference.Effect)? {
        let wanted = property.newColumn
        let target = column.target.flatMap { session.table($0)?.definition.name }
        let old = Self.name(column.type, column.collection, target)
        let new = Self.name(wanted.type, wanted.collection, wanted.targetName)
        if old != new { return ("changed from '\(old)' to '\(new)'", .values(column: place)) }
        if column.isNullable == wanted.isNullable { return nil }
        if wanted.isNullable { return ("made optional", .nothing) }
        return ("made required", .nulls(column: place))
    }

    private func primaryKeyChange() -> String? {
        let old = table.primaryKey.map { table.columns[$0].name }
        let new = schema.primaryKey.map { schema.properties[$0].columnName }
        switch (old, new) {
        case (nil, .some): return "been added"
        case (.some, nil): return "been removed"
        case (.some(let old), .some(let new)) where old != new: return "changed from '\(old)' to '\(new)'"
        default: return nil
        }
    }

    /// Changes of constraints and delete rules: a program that does not know them must not write.
    private func ruleChanges(_ stored: [ClassProperty], _ classes: [ClassSchema]) -> [String] {
        let old = table.uniques.map { unique in
            unique.columns.compactMap { key in table.columns.first { $0.key == key }?.name }
        }
        let new = schema.uniqueColumns
        var found = new.filter { !old.contains($0) }.map { "has been declared: \($0.joined(separator: ", "))" }
        found += old.filter { !new.contains($0) }.map { "is not declared any more: \($0.joined(separator: ", "))" }
        found = found.map { "Unique constraint of class '\(schema.name)' \($0)." }
        for property in stored {
            guard let column = table.columns.first(where: { $0.name == property.columnName && !$0.isHidden }),
                column.type == .link, property.hasTarget
            else { continue }
            if column.deleteRule != property.deleteRule {
                found.append(
                    "Delete rule of property '\(schema.name).\(property.name)' is '\(property.deleteRule)', not "
                        + "'\(column.deleteRule)'.")
            }
            if let rule = schema.originRule(of: property, among: classes), rule != column.originRule {
                found.append(
                    "Delete rule of the linking objects of property '\(schema.name).\(property.name)' is '\(rule)', "
                        + "not '\(column.originRule)'.")
            }
        }
        return found
    }

    static func name(_ type: ColumnType, _ collection: CollectionKind, _ target: String?) -> String {
        let element = type == .link ? "<\(target ?? "?")>" : type.shown
        return switch collection {
        case .none: element
        case .list: type == .link ? "array<\(target ?? "?")>" : "array<\(element)>"
        case .set: type == .link ? "set<\(target ?? "?")>" : "set<\(element)>"
        case .dictionary: "dictionary<string, \(type == .link ? target ?? "?" : element)>"
        }
    }
}
