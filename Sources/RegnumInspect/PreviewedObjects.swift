// SPDX-License-Identifier: Apache-2.0
// The objects that an import would create or change, in memory: a preview of an import without a transaction, for which
// no writer of the file has to wait.

internal import RegnumEngine

/// Confined to the session. Memory: the given values of each object if the class has a primary key, by which a later one
/// may update it, otherwise those of its unique constraints.
final class PreviewedObjects {
    private let session: Session
    private let table: Table
    private let store: ObjectStore
    private let firstNew: UInt64
    private var next: UInt64
    /// The values that were given, of new objects and of those that differ.
    private var given: [ObjectKey: PlannedObject] = [:]
    /// New objects by the bytes of their primary key; `nullKey` has none.
    private var keys: [[UInt8]: ObjectKey] = [:]
    private var nullKey: ObjectKey?
    /// By constraint: the objects of `given` by the bytes of their values.
    private var holders: [[[UInt8]: ObjectKey]]

    init(_ session: Session, _ table: Table) {
        self.session = session
        self.table = table
        store = ObjectStore(session: session)
        firstNew = table.nextKey
        next = table.nextKey
        holders = Array(repeating: [:], count: table.definition.uniques.count)
    }

    // MARK: Finding

    func contains(_ key: ObjectKey, in table: Table) -> Bool {
        table.definition.key == self.table.definition.key && (firstNew..<next).contains(key.rawValue)
    }

    /// The new object with a primary key.
    func key(forPrimaryKey value: Value, in table: Table) -> ObjectKey? {
        guard table.definition.key == self.table.definition.key else { return nil }
        return Table.uniqueBytes([value]).map { keys[$0] } ?? nullKey
    }

    /// The value of a column of an object; nil if it was not given for one that is stored.
    func value(_ column: Int, of key: ObjectKey) -> Value? {
        if case .value(let value)? = given[key]?.values[column] { return value }
        return key.rawValue >= firstNew ? table.definition.columns[column].standard : nil
    }

    /// The object that has these values of a constraint.
    func holder(_ number: Int, _ values: [Value]) throws(EngineError) -> ObjectKey? {
        guard let bytes = Table.uniqueBytes(values) else { return nil }
        if let key = holders[number][bytes] { return key }
        guard let stored = try table.key(inUnique: number, equalTo: values) else { return nil }
        // Another value may have been given for it.
        return try uniqueBytes(number, of: stored) == bytes ? stored : nil
    }

    private func uniqueBytes(_ number: Int, of key: ObjectKey) throws(EngineError) -> [UInt8]? {
        var values: [Value] = []
        for column in table.definition.positions(of: table.definition.uniques[number]) {
            if let value = value(column, of: key) {
                values.append(value)
            } else {
                values.append(try table.value(column, of: key))
            }
        }
        return Table.uniqueBytes(values)
    }

    // MARK: Storing

    /// Notes the values of a checked object; `old` is the object that it updates.
    func put(
        _ planned: PlannedObject, _ old: ObjectKey?
    ) throws(EngineError) -> (key: ObjectKey, outcome: ObjectEditor.Outcome) {
        guard let old else {
            let key = ObjectKey(next)
            next += 1
            try note(planned, key)
            if let primary = table.definition.primaryKey, case .value(let value)? = planned.values[primary] {
                if let bytes = Table.uniqueBytes([value]) { keys[bytes] = key } else { nullKey = key }
            }
            return (key, .inserted)
        }
        for (column, value) in planned.values where try !isSame(value, column, of: old) {
            try note(planned, old)
            return (old, .updated)
        }
        return (old, .unchanged)
    }

    private func note(_ planned: PlannedObject, _ key: ObjectKey) throws(EngineError) {
        for number in holders.indices {
            if let bytes = try oldBytes(number, key), holders[number][bytes] == key { holders[number][bytes] = nil }
        }
        var object = given[key] ?? PlannedObject(table: table.definition.key)
        let keepsAll = table.definition.primaryKey != nil
        let unique = Set(table.definition.uniques.flatMap { table.definition.positions(of: $0) })
        for (column, value) in planned.values where keepsAll || unique.contains(column) {
            object.values[column] = value
        }
        if keepsAll || !unique.isEmpty { given[key] = object }
        for number in holders.indices {
            if let bytes = try uniqueBytes(number, of: key) { holders[number][bytes] = key }
        }
    }

    private func oldBytes(_ number: Int, _ key: ObjectKey) throws(EngineError) -> [UInt8]? {
        given[key] == nil ? nil : try uniqueBytes(number, of: key)
    }

    // MARK: Comparing

    private func isSame(_ planned: PlannedValue, _ column: Int, of key: ObjectKey) throws(EngineError) -> Bool {
        if let known = given[key]?.values[column] {
            return isSame(planned, known, isSet: table.definition.columns[column].collection == .set)
        }
        if key.rawValue >= firstNew { return isStandard(planned, table.definition.columns[column]) }
        return try store.isSame(PlannedObject(table: table.definition.key, values: [column: planned]), key)
    }

    private func isStandard(_ planned: PlannedValue, _ column: ColumnDefinition) -> Bool {
        switch planned {
        case .value(let value): ObjectStore.isSame(value, column.standard)
        case .embedded: false
        case .elements(let elements): elements.isEmpty
        case .entries(let entries): entries.isEmpty
        }
    }

    private func isSame(_ new: PlannedValue, _ old: PlannedValue, isSet: Bool = false) -> Bool {
        switch (new, old) {
        case (.value(let new), .value(let old)): return ObjectStore.isSame(new, old)
        case (.embedded(let new), .embedded(let old)):
            // A property that is not given would stay, but a new object would not have it.
            guard let columns = session.table(new.table)?.definition.columns,
                new.values.count == columns.filter({ !$0.isHidden }).count, old.values.count == new.values.count
            else { return false }
            return new.values.allSatisfy { column, value in
                old.values[column].map { isSame(value, $0, isSet: columns[column].collection == .set) } ?? false
            }
        case (.elements(let new), .elements(let old)):
            if isSet {
                let values = old.compactMap { element -> Value? in
                    if case .value(let value) = element { value } else { nil }
                }
                return ObjectStore.isSameSet(new, values)
            }
            return new.count == old.count && zip(new, old).allSatisfy { isSame($0, $1) }
        case (.entries(let new), .entries(let old)):
            guard new.count == old.count else { return false }
            return zip(Self.sorted(new), Self.sorted(old)).allSatisfy { entry, other in
                entry.key.utf8.elementsEqual(other.key.utf8) && isSame(entry.value, other.value)
            }
        default: return false
        }
    }

    private static func sorted(
        _ entries: [(key: String, value: PlannedValue)]
    ) -> [(key: String, value: PlannedValue)] {
        entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}

extension ColumnDefinition {
    /// The value of a new object.
    var standard: Value { isNullable || type == .link ? .null : .zero(type) }
}

extension TableDefinition {
    /// The positions of the columns of a constraint.
    func positions(of unique: UniqueDefinition) -> [Int] {
        unique.columns.compactMap { key in columns.firstIndex { $0.key == key } }
    }
}
