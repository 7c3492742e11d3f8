// SPDX-License-Identifier: Apache-2.0
// Stores checked objects in a write transaction.

internal import RegnumEngine

/// Confined to the session.
struct ObjectStore {
    let session: Session

    private func table(_ key: TableKey) -> Table {
        guard let table = session.table(key) else { preconditionFailure("a checked object of no class") }
        return table
    }

    /// Creates an object. Properties without a value are null, zero or empty.
    func insert(_ planned: PlannedObject) throws(EngineError) -> ObjectKey {
        let table = table(planned.table)
        let location = try table.insertRow()
        for (column, value) in planned.values {
            if case .value(let value) = value { table.fill(value, column, at: location) }
        }
        try table.finishInsert(location)
        let key = location.key
        for column in planned.values.keys.sorted() {
            guard let value = planned.values[column] else { continue }
            if case .value = value { continue }
            try set(value, column, of: key, in: table, isNew: true)
        }
        return key
    }

    /// Sets the given properties of an object that differ. Returns true if there are any.
    func update(_ key: ObjectKey, _ planned: PlannedObject) throws(EngineError) -> Bool {
        let table = table(planned.table)
        var isChanged = false
        for column in planned.values.keys.sorted() {
            guard let value = planned.values[column] else { continue }
            if try isSame(value, column, of: key, in: table) { continue }
            isChanged = true
            try set(value, column, of: key, in: table, isNew: false)
        }
        return isChanged
    }

    private func set(
        _ planned: PlannedValue, _ column: Int, of key: ObjectKey, in table: Table, isNew: Bool
    ) throws(EngineError) {
        let definition = table.definition.columns[column]
        switch planned {
        case .value, .embedded: try table.set(try value(planned), column, of: key)
        case .elements(let elements):
            if !isNew { try table.listRemove(0..<(try table.listCount(column, of: key)), column, of: key) }
            var values: [Value] = []
            for element in elements { values.append(try value(element)) }
            if definition.collection == .set {
                for value in values { try table.setInsert(value, column, of: key) }
            } else if !values.isEmpty {
                try table.listInsert(values, column, of: key, at: 0)
            }
        case .entries(let entries):
            if !isNew { try table.dictionaryRemoveAll(column, of: key) }
            for entry in entries { try table.dictionarySet(entry.key, try value(entry.value), column, of: key) }
        }
    }

    /// The value to store; an embedded object is created.
    private func value(_ planned: PlannedValue) throws(EngineError) -> Value {
        switch planned {
        case .value(let value): return value
        case .embedded(let object): return .link(try insert(object))
        case .elements, .entries: preconditionFailure("a collection within a collection")
        }
    }

    // MARK: Comparing

    /// True if the object has the given values. The values are those of an object of a class that is not embedded, or
    /// of some of its properties.
    func isSame(_ planned: PlannedObject, _ key: ObjectKey) throws(EngineError) -> Bool {
        let table = table(planned.table)
        for (column, value) in planned.values where try !isSame(value, column, of: key, in: table) { return false }
        return true
    }

    private func isSame(
        _ planned: PlannedValue, _ column: Int, of key: ObjectKey, in table: Table
    ) throws(EngineError) -> Bool {
        let target = table.definition.columns[column].target
        switch planned {
        case .value, .embedded: return try isSame(planned, try table.value(column, of: key), target)
        case .elements(let elements):
            let values = try table.listValues(column, of: key)
            if table.definition.columns[column].collection == .set { return Self.isSameSet(elements, values) }
            guard values.count == elements.count else { return false }
            for (element, value) in zip(elements, values) where try !isSame(element, value, target) { return false }
            return true
        case .entries(let entries):
            let old = try table.dictionaryEntries(column, of: key)
            let new = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            guard old.count == new.count else { return false }
            for (entry, other) in zip(new, old) {
                guard entry.key.utf8.elementsEqual(other.key.utf8), try isSame(entry.value, other.value, target) else {
                    return false
                }
            }
            return true
        }
    }

    /// True if the set has the given elements, of which some may be given twice.
    static func isSameSet(_ elements: [PlannedValue], _ values: [Value]) -> Bool {
        var given: Set<SetElement> = []
        for element in elements {
            guard case .value(let value) = element else { return false }
            given.insert(SetElement(value: value))
        }
        return given == Set(values.map { SetElement(value: $0) })
    }

    private func isSame(_ planned: PlannedValue, _ value: Value, _ target: TableKey?) throws(EngineError) -> Bool {
        switch planned {
        case .value(let new): return Self.isSame(new, value)
        case .embedded(let object):
            guard case .link(let key) = value, key != .none, let target, let table = session.table(target) else {
                return false
            }
            // A property that is not given would stay, but a new object would not have it.
            let visible = table.definition.columns.indices.filter { !table.definition.columns[$0].isHidden }
            guard object.values.count == visible.count else { return false }
            for (column, planned) in object.values where try !isSame(planned, column, of: key, in: table) {
                return false
            }
            return true
        case .elements, .entries: preconditionFailure("a collection within a collection")
        }
    }

    static func isSame(_ new: Value, _ old: Value) -> Bool {
        switch (new, old) {
        case (.null, _): old == .null || old == .link(.none)
        // Strings are equal if their bytes are.
        case (.string(let new), .string(let old)): new.utf8.elementsEqual(old.utf8)
        // Also -0.0 and 0.0 differ, and NaN is the same as NaN.
        case (.double(let new), .double(let old)): new.bitPattern == old.bitPattern || new.isNaN && old.isNaN
        case (.float(let new), .float(let old)): new.bitPattern == old.bitPattern || new.isNaN && old.isNaN
        default: new == old
        }
    }
}

/// An element of a set: equal as the file compares values, so that two spellings of one text are two elements.
private struct SetElement: Hashable {
    let value: Value

    static func == (a: SetElement, b: SetElement) -> Bool { ObjectStore.isSame(a.value, b.value) }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
