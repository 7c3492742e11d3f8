// SPDX-License-Identifier: Apache-2.0
// Images of stored values, and the step that undoes a transaction with them. Embedded objects are part of their owner's
// image. A restored object has a new number, so later undos replace the old number by the new one.

internal import Foundation
internal import RegnumEngine

/// Reads images. Confined to the session.
struct ImageReader {
    let session: Session

    /// The values of the given columns, of all visible ones without `columns`.
    /// Throws `.limit` if embedded objects are nested too deeply.
    func object(
        _ table: Table, _ key: ObjectKey, columns: [Int]? = nil, depth: Int = 0
    ) throws(EngineError) -> PlannedObject {
        try EmbeddedNesting.check(depth)
        let all = table.definition.columns
        var image = PlannedObject(table: table.definition.key)
        for column in columns ?? all.indices.filter({ !all[$0].isHidden }) {
            image.values[column] = try value(column, of: key, in: table, depth)
        }
        return image
    }

    private func value(
        _ column: Int, of key: ObjectKey, in table: Table, _ depth: Int
    ) throws(EngineError) -> PlannedValue {
        let target = table.definition.columns[column].target
        switch table.definition.columns[column].collection {
        case .none: return try value(try table.value(column, of: key), target, depth)
        case .list, .set:
            var elements: [PlannedValue] = []
            for element in try table.listValues(column, of: key) { elements.append(try value(element, target, depth)) }
            return .elements(elements)
        case .dictionary:
            var entries: [(key: String, value: PlannedValue)] = []
            for entry in try table.dictionaryEntries(column, of: key) {
                entries.append((entry.key, try value(entry.value, target, depth)))
            }
            return .entries(entries)
        }
    }

    private func value(_ value: Value, _ target: TableKey?, _ depth: Int) throws(EngineError) -> PlannedValue {
        guard case .link(let key) = value else { return .value(value) }
        if key == .none { return .value(.null) }
        guard let table = target.flatMap({ session.table($0) }), table.definition.isEmbedded else {
            return .value(value)
        }
        return .embedded(try object(table, key, depth: depth + 1))
    }
}

extension PlannedObject {
    /// About the memory that it takes, in bytes.
    var byteCount: Int { values.values.reduce(64) { $0 + $1.byteCount } }
}

extension PlannedValue {
    fileprivate var byteCount: Int {
        switch self {
        case .value(let value): Self.byteCount(value)
        case .embedded(let object): object.byteCount
        case .elements(let elements): elements.reduce(64) { $0 + $1.byteCount }
        case .entries(let entries): entries.reduce(64) { $0 + $1.key.utf8.count + 32 + $1.value.byteCount }
        }
    }

    private static func byteCount(_ value: Value) -> Int {
        switch value {
        case .string(let text): 64 + text.utf8.count
        case .data(let bytes): 64 + bytes.count
        case .list(let values): values.reduce(64) { $0 + byteCount($1) }
        case .dictionary(let entries): entries.reduce(64) { $0 + $1.key.utf8.count + 32 + byteCount($1.value) }
        default: 64
        }
    }
}

/// The values that a transaction has changed, as they were and as they are. **Unstable**, like `Inspector`.
package struct UndoStep: Sendable {
    struct Change: Sendable {
        var row: RowKey
        var before: PlannedObject
        var after: PlannedObject
    }

    /// The classes at that time: the images name columns by their position in them.
    var definitions: [TableDefinition]
    /// Objects that were changed, among them those whose links were cleared.
    var changes: [Change] = []
    /// Objects that were created.
    var inserted: [Change] = []
    /// Objects that were deleted, without embedded ones.
    var deleted: [(row: RowKey, image: PlannedObject)] = []

    package var isEmpty: Bool { changes.isEmpty && inserted.isEmpty && deleted.isEmpty }

    /// About the memory that it takes, in bytes. O(values).
    package var byteCount: Int {
        let changed = (changes + inserted).reduce(0) { $0 + $1.before.byteCount + $1.after.byteCount }
        return deleted.reduce(changed) { $0 + $1.image.byteCount }
    }

    init(_ session: Session) { definitions = session.tables.map(\.definition) }

    /// Replaces the numbers of objects that another undo has restored.
    package mutating func replace(_ restored: RestoredObjects) {
        for index in changes.indices {
            changes[index].row = restored.row(changes[index].row)
            changes[index].before = restored.object(changes[index].before)
            changes[index].after = restored.object(changes[index].after)
        }
        for index in inserted.indices {
            inserted[index].row = restored.row(inserted[index].row)
            inserted[index].after = restored.object(inserted[index].after)
        }
        for index in deleted.indices { deleted[index].image = restored.object(deleted[index].image) }
    }
}

/// The new numbers of objects that were restored. **Unstable**, like `Inspector`.
package struct RestoredObjects: Sendable {
    /// `ObjectKey.none` for an object that is not restored yet: links to it are left out.
    var keys: [RowKey: ObjectKey] = [:]
    /// The class that the links of each link column lead to.
    var targets: [TableKey: [TableKey?]] = [:]

    init(_ session: Session) {
        for table in session.tables { targets[table.definition.key] = table.definition.columns.map(\.target) }
    }

    /// The new number of an object of a class; nil if the object was not restored.
    func key(_ table: TableKey, _ key: ObjectKey) -> ObjectKey? { keys[RowKey(table: table, key: key)] }

    func row(_ row: RowKey) -> RowKey { RowKey(table: row.table, key: keys[row] ?? row.key) }

    func object(_ object: PlannedObject) -> PlannedObject {
        var copy = object
        for (column, value) in object.values {
            copy.values[column] = self.value(value, targets[object.table].flatMap { $0[column] })
        }
        return copy
    }

    private func value(_ planned: PlannedValue, _ target: TableKey?) -> PlannedValue {
        switch planned {
        case .value(let value): return .value(self.value(value, target))
        case .embedded(let object): return .embedded(self.object(object))
        case .elements(let elements):
            return .elements(elements.compactMap { isLeftOut($0, target) ? nil : value($0, target) })
        case .entries(let entries): return .entries(entries.map { ($0.key, value($0.value, target)) })
        }
    }

    private func isLeftOut(_ planned: PlannedValue, _ target: TableKey?) -> Bool {
        guard let target, case .value(.link(let key)) = planned else { return false }
        return self.key(target, key) == ObjectKey.none
    }

    private func value(_ value: Value, _ target: TableKey?) -> Value {
        switch value {
        case .link(let key):
            guard let new = target.flatMap({ self.key($0, key) }) else { return value }
            return new == .none ? .null : .link(new)
        case .typedLink(let table, let key):
            guard let new = self.key(table, key) else { return value }
            return new == .none ? .null : .typedLink(table, new)
        case .list(let values): return .list(values.map { self.value($0, nil) })
        case .dictionary(let entries):
            return .dictionary(entries.map { DictionaryEntry(key: $0.key, value: self.value($0.value, nil)) })
        default: return value
        }
    }
}

/// The reason why a change or an undo was not made: the values are no longer those that it expects. **Unstable**, like
/// `Inspector`.
package struct ChangeConflict: Error, Sendable, CustomStringConvertible {
    package var description: String
}

extension UndoStep {
    /// In a write: restores the state before the transaction. Returns the new numbers of restored objects. Throws
    /// `ChangeConflict` if the values are no longer those that the transaction left, or if another process has changed
    /// one of the classes since then.
    func undo(in session: Session, _ path: String) throws -> RestoredObjects {
        guard definitions.allSatisfy({ session.table($0.key)?.definition == $0 }) else {
            throw ChangeConflict(description: "It cannot be undone: the classes were changed since then.")
        }
        let store = ObjectStore(session: session)
        for change in changes + inserted {
            let isSame = try inspecting(path) { () throws(EngineError) in
                guard let table = session.table(change.row.table), try table.contains(change.row.key) else {
                    return false
                }
                return try store.isSame(change.after, change.row.key)
            }
            guard isSame else {
                throw ChangeConflict(
                    description: "It cannot be undone: an object that it had changed was changed again since then.")
            }
        }
        var restored = RestoredObjects(session)
        for object in deleted { restored.keys[object.row] = ObjectKey.none }
        for object in deleted { try checkPrimaryKey(object.image, session, path) }
        try inspecting(path) { () throws(EngineError) in
            if !inserted.isEmpty { try session.delete(inserted.map(\.row)) }
            // Objects that link to each other: first without those links.
            var keys: [RowKey: ObjectKey] = [:]
            for object in deleted { keys[object.row] = try store.insert(restored.object(object.image)) }
            restored.keys = keys
            for object in deleted {
                guard let key = keys[object.row] else { continue }
                _ = try store.update(key, restored.object(object.image))
            }
            for change in changes { _ = try store.update(change.row.key, restored.object(change.before)) }
        }
        return restored
    }

    private func checkPrimaryKey(_ image: PlannedObject, _ session: Session, _ path: String) throws {
        guard let table = session.table(image.table), let primary = table.definition.primaryKey,
            case .value(let value)? = image.values[primary]
        else { return }
        if try inspecting(path, { () throws(EngineError) in try table.key(forPrimaryKey: value) }) != nil {
            throw ChangeConflict(
                description: "It cannot be undone: there is a new '\(table.definition.name)' with the primary key of a "
                    + "deleted one.")
        }
    }
}
