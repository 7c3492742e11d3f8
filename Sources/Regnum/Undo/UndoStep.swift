// SPDX-License-Identifier: Apache-2.0
// One step of an undo stack: the objects that a transaction has inserted, deleted and modified, with their values before
// and after it, taken from the difference of two versions.
//
// Objects that are deleted and restored get other keys in the file each time. A step names each object by its first key;
// `UndoKeys` has the present one.

internal import RegnumEngine

/// The value of a column of one object.
enum UndoValue {
    case one(Value)
    case list([Value])
    case set([Value])
    case map([DictionaryEntry])

    init(_ column: Int, of key: ObjectKey, in table: Table) throws(EngineError) {
        switch table.definition.columns[column].collection {
        case .none: self = .one(try table.value(column, of: key))
        case .list: self = .list(try table.listValues(column, of: key))
        case .set: self = .set(try table.listValues(column, of: key))
        case .dictionary: self = .map(try table.dictionaryEntries(column, of: key))
        }
    }

    /// Returns whether both have the same bytes in the file. The order of a set depends on the keys of the objects that
    /// it links to.
    func isIdentical(to other: UndoValue) -> Bool {
        switch (self, other) {
        case (.one(let left), .one(let right)): left.isStored(like: right)
        case (.list(let left), .list(let right)): left.elementsEqual(right) { $0.isStored(like: $1) }
        case (.set(let left), .set(let right)):
            left.elementsEqual(right) { $0.isStored(like: $1) } || left.count == right.count && Set(left) == Set(right)
        case (.map(let left), .map(let right)):
            left.elementsEqual(right) { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value.isStored(like: $1.value) }
        default: false
        }
    }

    /// Stores the value. Writes only differences, except within lists and sets.
    func store(_ column: Int, of key: ObjectKey, in table: Table) throws(EngineError) {
        let old = try UndoValue(column, of: key, in: table)
        if isIdentical(to: old) { return }
        switch self {
        case .one(let value): try table.set(value, column, of: key)
        case .list(let values): try table.listReplace(with: values, column, of: key)
        case .set(let values):
            try table.listRemove(0..<(try table.listCount(column, of: key)), column, of: key)
            for value in values { try table.setInsert(value, column, of: key) }
        case .map(let entries):
            let names = Set(entries.map { Array($0.key.utf8) })
            for entry in try table.dictionaryEntries(column, of: key) where !names.contains(Array(entry.key.utf8)) {
                try table.dictionaryRemove(entry.key, column, of: key)
            }
            for entry in entries { try table.dictionarySet(entry.key, entry.value, column, of: key) }
        }
    }

    /// Calls `body` with each link. `target`: the table to which links of a link column lead.
    func forEachLink(_ target: TableKey?, _ body: (RowKey) -> Void) {
        switch self {
        case .one(let value): value.forEachRow(target, body)
        case .list(let values), .set(let values): for value in values { value.forEachRow(target, body) }
        case .map(let entries): for entry in entries { entry.value.forEachRow(target, body) }
        }
    }

    /// The value with each link replaced by the result of `body`.
    func mappingLinks(_ target: TableKey?, _ body: (RowKey) -> RowKey) -> UndoValue {
        switch self {
        case .one(let value): .one(value.mappingRows(target, body))
        case .list(let values): .list(values.map { $0.mappingRows(target, body) })
        case .set(let values): .set(values.map { $0.mappingRows(target, body) })
        case .map(let entries):
            .map(entries.map { DictionaryEntry(key: $0.key, value: $0.value.mappingRows(target, body)) })
        }
    }

    /// The approximate memory that the value takes.
    var byteCount: Int {
        switch self {
        case .one(let value): value.heldByteCount
        case .list(let values), .set(let values): values.reduce(32) { $0 + $1.heldByteCount }
        case .map(let entries): entries.reduce(32) { $0 + $1.key.utf8.count + $1.value.heldByteCount }
        }
    }
}

extension Value {
    /// Like `isIdentical(to:)`, also inside nested lists and dictionaries.
    fileprivate func isStored(like other: Value) -> Bool {
        switch (self, other) {
        case (.list(let left), .list(let right)): left.elementsEqual(right) { $0.isStored(like: $1) }
        case (.dictionary(let left), .dictionary(let right)):
            left.elementsEqual(right) { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value.isStored(like: $1.value) }
        default: isIdentical(to: other)
        }
    }

    fileprivate func forEachRow(_ target: TableKey?, _ body: (RowKey) -> Void) {
        switch self {
        case .link(let key): if let target { body(RowKey(table: target, key: key)) }
        case .typedLink(let table, let key): body(RowKey(table: table, key: key))
        case .list(let values): for value in values { value.forEachRow(target, body) }
        case .dictionary(let entries): for entry in entries { entry.value.forEachRow(target, body) }
        default: break
        }
    }

    fileprivate func mappingRows(_ target: TableKey?, _ body: (RowKey) -> RowKey) -> Value {
        switch self {
        case .link(let key): target.map { Value.link(body(RowKey(table: $0, key: key)).key) } ?? self
        case .typedLink(let table, let key): .typedLink(table, body(RowKey(table: table, key: key)).key)
        case .list(let values): .list(values.map { $0.mappingRows(target, body) })
        case .dictionary(let entries):
            .dictionary(entries.map { DictionaryEntry(key: $0.key, value: $0.value.mappingRows(target, body)) })
        default: self
        }
    }

    fileprivate var heldByteCount: Int {
        let own = MemoryLayout<Value>.size
        return switch self {
        case .string(let text): own + text.utf8.count
        case .data(let bytes): own + bytes.count
        case .list(let values): values.reduce(own) { $0 + $1.heldByteCount }
        case .dictionary(let entries): entries.reduce(own) { $0 + $1.key.utf8.count + $1.value.heldByteCount }
        default: own
        }
    }
}

/// The present keys of objects that were restored under other keys.
struct UndoKeys {
    private var presents: [RowKey: RowKey] = [:]
    private var firsts: [RowKey: RowKey] = [:]

    /// The present key of an object, by its first one.
    func present(_ first: RowKey) -> RowKey { presents[first] ?? first }

    /// The first key of an object, by its present one.
    func first(_ present: RowKey) -> RowKey { firsts[present] ?? present }

    /// The number of objects whose key has changed.
    var count: Int { presents.count }

    /// Forgets all objects but those with these first keys.
    mutating func keep(_ rows: Set<RowKey>) {
        presents = presents.filter { rows.contains($0.key) }
        firsts = firsts.filter { rows.contains($0.value) }
    }

    /// Records that an object was restored under another key.
    mutating func move(_ first: RowKey, to key: ObjectKey) {
        if let old = presents[first] { firsts[old] = nil }
        let present = RowKey(table: first.table, key: key)
        presents[first] = present
        firsts[present] = first
    }
}

/// The differences that a transaction has made. Objects are named by their first keys, also in links.
struct UndoStep {
    struct Change {
        var before: UndoValue
        var after: UndoValue
    }

    var name: String?
    /// All values of the objects that exist only after the transaction, by column.
    var inserted: [RowKey: [UndoValue]] = [:]
    /// All values of the objects that exist only before it.
    var deleted: [RowKey: [UndoValue]] = [:]
    /// The values that differ, by column.
    var modified: [RowKey: [Int: Change]] = [:]
    /// The primary keys of the modified objects, for messages.
    var primaryKeys: [RowKey: Value] = [:]
    /// Of every table with differences.
    var definitions: [TableKey: TableDefinition] = [:]
    private(set) var byteCount = 0

    var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && modified.isEmpty }

    /// The step that takes this one back.
    var inverted: UndoStep {
        var other = self
        (other.inserted, other.deleted) = (deleted, inserted)
        other.modified = modified.mapValues { $0.mapValues { Change(before: $0.after, after: $0.before) } }
        return other
    }

    /// Calls `body` with each object that the step names, some of them several times.
    func forEachRow(_ body: (RowKey) -> Void) {
        func visit(_ row: RowKey, _ column: Int, _ value: UndoValue) {
            value.forEachLink(definitions[row.table]?.columns[column].target, body)
        }
        for (row, values) in inserted.merging(deleted, uniquingKeysWith: { first, _ in first }) {
            body(row)
            for (column, value) in values.enumerated() { visit(row, column, value) }
        }
        for (row, changes) in modified {
            body(row)
            for (column, change) in changes {
                visit(row, column, change.before)
                visit(row, column, change.after)
            }
        }
    }

    mutating func countBytes() {
        var bytes = 64 * (inserted.count + deleted.count + modified.count)
        for values in inserted.values { for value in values { bytes += value.byteCount } }
        for values in deleted.values { for value in values { bytes += value.byteCount } }
        for changes in modified.values {
            for change in changes.values { bytes += change.before.byteCount + change.after.byteCount }
        }
        byteCount = bytes
    }
}

// MARK: Recording

extension UndoStep {
    /// The differences between two committed versions; nil if they take more than `byteLimit` bytes, or if the classes
    /// have changed.
    init?(
        from older: Session, to newer: Session, _ keys: UndoKeys, byteLimit: Int
    ) throws(EngineError) {
        // An object takes more bytes than this.
        guard let all = try newer.changes(since: older, in: { _ in true }, atMost: byteLimit / 64 + 1) else {
            return nil
        }
        var bytes = 0
        for changes in all {
            guard let before = older.table(changes.table), let after = newer.table(changes.table),
                before.definition == after.definition
            else { return nil }
            definitions[changes.table] = after.definition
            func read(_ column: Int, _ key: ObjectKey, _ table: Table) throws(EngineError) -> UndoValue {
                let value = try UndoValue(column, of: key, in: table)
                bytes += value.byteCount
                return value.mappingLinks(table.definition.columns[column].target) { keys.first($0) }
            }
            func readAll(_ key: ObjectKey, _ table: Table) throws(EngineError) -> [UndoValue] {
                var values: [UndoValue] = []
                for column in table.definition.columns.indices { values.append(try read(column, key, table)) }
                return values
            }
            for key in changes.deleted {
                deleted[keys.first(RowKey(table: changes.table, key: key))] = try readAll(key, before)
                if bytes > byteLimit { return nil }
            }
            for key in changes.inserted {
                inserted[keys.first(RowKey(table: changes.table, key: key))] = try readAll(key, after)
                if bytes > byteLimit { return nil }
            }
            for (key, columns) in zip(changes.modified, changes.columns) {
                var own: [Int: Change] = [:]
                for column in columns.columns {
                    own[column] = Change(before: try read(column, key, before), after: try read(column, key, after))
                }
                let row = keys.first(RowKey(table: changes.table, key: key))
                modified[row] = own
                if let column = after.definition.primaryKey { primaryKeys[row] = try after.value(column, of: key) }
                if bytes > byteLimit { return nil }
            }
        }
        countBytes()
    }

    /// This step and the one after it as one. Nil if others have changed in between what both have changed.
    func joined(with later: UndoStep) -> UndoStep? {
        var whole = self
        for (table, definition) in later.definitions {
            if let known = whole.definitions[table], known != definition { return nil }
            whole.definitions[table] = definition
        }
        for (row, values) in later.inserted {
            if deleted[row] != nil { return nil }
            whole.inserted[row] = values
        }
        for (row, changes) in later.modified where !whole.add(changes, to: row) { return nil }
        for (row, values) in later.deleted where !whole.delete(row, values) { return nil }
        // Others have linked to an object that exists only between the two steps.
        let passing = inserted.keys.filter { later.deleted[$0] != nil }
        if !passing.isEmpty, whole.restoresLinks(to: Set(passing)) { return nil }
        whole.primaryKeys.merge(later.primaryKeys) { $1 }
        whole.primaryKeys = whole.primaryKeys.filter { whole.modified[$0.key] != nil }
        whole.countBytes()
        return whole
    }

    /// True if the values before link to one of the objects.
    private func restoresLinks(to rows: Set<RowKey>) -> Bool {
        var isFound = false
        func visit(_ row: RowKey, _ column: Int, _ value: UndoValue) {
            value.forEachLink(definitions[row.table]?.columns[column].target) { isFound = isFound || rows.contains($0) }
        }
        for (row, values) in deleted { for (column, value) in values.enumerated() { visit(row, column, value) } }
        for (row, changes) in modified { for (column, change) in changes { visit(row, column, change.before) } }
        return isFound
    }

    private mutating func add(_ changes: [Int: Change], to row: RowKey) -> Bool {
        if var values = inserted[row] {
            for (column, change) in changes {
                guard values[column].isIdentical(to: change.before) else { return false }
                values[column] = change.after
            }
            inserted[row] = values
            return true
        }
        var own = modified[row] ?? [:]
        for (column, change) in changes {
            guard let earlier = own[column] else {
                own[column] = change
                continue
            }
            guard earlier.after.isIdentical(to: change.before) else { return false }
            let isBack = earlier.before.isIdentical(to: change.after)
            own[column] = isBack ? nil : Change(before: earlier.before, after: change.after)
        }
        modified[row] = own.isEmpty ? nil : own
        return true
    }

    private mutating func delete(_ row: RowKey, _ values: [UndoValue]) -> Bool {
        if let own = inserted[row] {
            guard own.elementsEqual(values, by: { $0.isIdentical(to: $1) }) else { return false }
            inserted[row] = nil
            return true
        }
        var values = values
        for (column, earlier) in modified[row] ?? [:] {
            guard earlier.after.isIdentical(to: values[column]) else { return false }
            values[column] = earlier.before
        }
        modified[row] = nil
        deleted[row] = values
        return true
    }
}
