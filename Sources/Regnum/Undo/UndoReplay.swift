// SPDX-License-Identifier: Apache-2.0
// Reverses a step in a running write transaction. First everything is checked, then everything is written:
//
//   check     every value that the step has written is still there; the values that it restores can be stored
//   delete    the objects that the step has inserted
//   insert    the objects that it has deleted, empty and under new keys
//   store     the values before, with links to the present keys
//
// Embedded objects are rows like others here. They are inserted before the links that own them, and deleted with the
// links that owned them; no other change makes them lose their owner.

internal import Foundation
internal import RegnumEngine

struct UndoReplay {
    private let core: RealmCore
    private let step: UndoStep
    private(set) var keys: UndoKeys

    private var session: Session { core.session }

    init(_ step: UndoStep, _ keys: UndoKeys, in core: RealmCore) {
        (self.core, self.step, self.keys) = (core, step, keys)
    }

    /// Throws `UndoConflict`, with nothing written, or `EngineError`.
    mutating func run() throws {
        try check()
        try write()
    }

    // MARK: Checking

    private func check() throws {
        for (key, definition) in step.definitions where session.table(key)?.definition != definition {
            throw UndoConflict(.schemaChanged, definition.name)
        }
        for row in step.inserted.keys.sorted(by: Self.isBefore) {
            try checkExists(row)
            for (column, value) in (step.inserted[row] ?? []).enumerated() { try check(value, column, row) }
            try checkLinks(to: row)
        }
        for row in step.modified.keys.sorted(by: Self.isBefore) {
            try checkExists(row)
            let changes = (step.modified[row] ?? [:]).sorted { $0.key < $1.key }
            for (column, change) in changes { try check(change.after, column, row) }
            for (column, change) in changes { try checkTargets(of: change.before, column, row) }
        }
        for row in step.deleted.keys.sorted(by: Self.isBefore) {
            let values = step.deleted[row] ?? []
            if try table(of: row).contains(keys.present(row).key) { throw conflict(.exists, row) }
            try checkPrimaryKey(row, values)
            for (column, value) in values.enumerated() { try checkTargets(of: value, column, row) }
        }
    }

    private static func isBefore(_ left: RowKey, _ right: RowKey) -> Bool {
        (left.table, left.key) < (right.table, right.key)
    }

    private func table(of row: RowKey) -> Table {
        guard let table = session.table(row.table) else { preconditionFailure("a table that was there before") }
        return table
    }

    private func present(_ value: UndoValue, _ column: Int, _ table: Table) -> UndoValue {
        value.mappingLinks(table.definition.columns[column].target) { keys.present($0) }
    }

    private func checkExists(_ row: RowKey) throws {
        guard try table(of: row).contains(keys.present(row).key) else { throw conflict(.deleted, row) }
    }

    /// Checks that the object still has this value.
    private func check(_ value: UndoValue, _ column: Int, _ row: RowKey) throws {
        let table = table(of: row)
        let found = try UndoValue(column, of: keys.present(row).key, in: table)
        if !found.isIdentical(to: present(value, column, table)) { throw conflict(.changed, row, column) }
    }

    /// Checks that all links to an object that is to be deleted are those that the step has made.
    private func checkLinks(to row: RowKey) throws {
        let (table, key) = (table(of: row), keys.present(row).key)
        for (origin, column) in table.linkColumns {
            guard let other = session.table(origin) else { continue }
            for holder in try table.backlinks(to: key, from: other, column: column) {
                let first = keys.first(RowKey(table: origin, key: holder))
                if step.inserted[first] != nil || step.modified[first]?[column] != nil { continue }
                throw conflict(.linked, first, column)
            }
        }
    }

    /// Checks that the objects to which a value links exist, or are to be restored.
    private func checkTargets(of value: UndoValue, _ column: Int, _ row: RowKey) throws {
        var targets: [RowKey] = []
        value.forEachLink(table(of: row).definition.columns[column].target) { targets.append($0) }
        for target in targets where step.deleted[target] == nil {
            guard let table = session.table(target.table), try table.contains(keys.present(target).key),
                step.inserted[target] == nil
            else { throw conflict(.missingTarget, row, column) }
        }
    }

    /// Checks that no other object has the primary key of an object that is to be restored.
    private func checkPrimaryKey(_ row: RowKey, _ values: [UndoValue]) throws {
        let table = table(of: row)
        guard let column = table.definition.primaryKey, case .one(let value) = values[column],
            let found = try table.key(forPrimaryKey: value)
        else { return }
        if step.inserted[keys.first(RowKey(table: row.table, key: found))] == nil {
            throw conflict(.exists, row, column)
        }
    }

    private func conflict(_ reason: UndoConflict.Reason, _ row: RowKey, _ column: Int? = nil) -> UndoConflict {
        let table = table(of: row)
        let schema = (core.binding(forTable: row.table) ?? core.dynamicBinding(table)).schema
        let names: [String: String] = schema.properties.reduce(into: [:]) { $0[$1.columnName] = $1.name }
        let name = column.map { table.definition.columns[$0].name }
        return UndoConflict(
            reason, schema.name, primaryKey: primaryKey(of: row, table), property: name.map { names[$0] ?? $0 })
    }

    private func primaryKey(of row: RowKey, _ table: Table) -> SnapshotValue? {
        guard let column = table.definition.primaryKey else { return nil }
        if let value = step.primaryKeys[row] { return SnapshotValue(value) }
        if case .one(let value)? = (step.deleted[row] ?? step.inserted[row])?[column] { return SnapshotValue(value) }
        guard let value = try? table.value(column, of: keys.present(row).key) else { return nil }
        return SnapshotValue(value)
    }

    // MARK: Writing

    private mutating func write() throws(EngineError) {
        var gone: [TableKey: [ObjectKey]] = [:]
        for row in step.inserted.keys.sorted(by: Self.isBefore) {
            gone[row.table, default: []].append(keys.present(row).key)
        }
        if !gone.isEmpty { try session.deleteWithoutRules(gone) }
        let restored = step.deleted.keys.sorted(by: Self.isBefore)
        for row in restored {
            let table = table(of: row)
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            keys.move(row, to: key)
        }
        for row in restored {
            let (table, key) = (table(of: row), keys.present(row).key)
            for (column, value) in (step.deleted[row] ?? []).enumerated() {
                try present(value, column, table).store(column, of: key, in: table)
            }
        }
        for row in step.modified.keys.sorted(by: Self.isBefore) {
            let (table, key) = (table(of: row), keys.present(row).key)
            for (column, change) in (step.modified[row] ?? [:]).sorted(by: { $0.key < $1.key }) {
                try present(change.before, column, table).store(column, of: key, in: table)
            }
        }
    }
}

extension SnapshotValue {
    /// A stored primary key.
    fileprivate init?(_ value: Value) {
        switch value {
        case .null: self = .null
        case .int(let number): self = .int(Int(number))
        case .string(let text): self = .string(text)
        case .objectID:
            guard let id = ObjectId._shown(_RawValue(value)) as? ObjectId else { return nil }
            self = .objectId(id)
        case .uuid:
            guard let id = UUID._shown(_RawValue(value)) as? UUID else { return nil }
            self = .uuid(id)
        default: return nil
        }
    }
}
