// SPDX-License-Identifier: Apache-2.0
// The effect of a migration on each class: compares a file before it with the same file after it.

internal import RegnumEngine

/// The effect of a migration on a class. **Unstable**, like `Inspector`.
public struct MigratedClass: Sendable, Equatable {
    /// The name before the migration; of a new class, the name after it.
    public internal(set) var name: String
    /// The name after the migration, if the class was renamed.
    public internal(set) var newName: String?
    /// Nil if the class is new.
    public internal(set) var objectsBefore: Int?
    /// Nil if the class is gone.
    public internal(set) var objectsAfter: Int?
    /// True if a property was removed, added or renamed, or has another type, if another one is the primary key, or if
    /// the class is gone or became embedded or no longer is.
    public internal(set) var isReshaped = false
    /// The new names of renamed properties, by the old ones.
    public internal(set) var renamedProperties: [String: String] = [:]
    /// The number of objects whose counterparts were found, and compared with them.
    public internal(set) var comparedObjects = 0
    /// The number of them whose properties of unchanged type all have the values that they had.
    public internal(set) var keptObjects = 0
    /// For each property, the number of compared objects that had a value in it and no longer have one. Null, an empty
    /// collection, and zero or an empty text in a property that is not optional are no values. No entry means none.
    public internal(set) var lostValues: [String: Int] = [:]
    /// For each collection of unchanged type, the number of compared objects in which it has fewer elements than before,
    /// but not none. No entry means none.
    public internal(set) var shorterCollections: [String: Int] = [:]
    /// The number of objects without a counterpart. Embedded objects, which a change of their parents replaces, and
    /// objects without primary keys in a new file cannot be told from others: of these, the number by which there are
    /// fewer than before.
    public internal(set) var lostObjects = 0
}

extension Inspector {
    /// The effect of a migration that made `migrated` of this file, in ascending order of the names of the classes.
    ///
    /// In a migrated copy of this file, classes, properties and objects are recognised by their numbers, which are never
    /// reused, whatever their names and primary keys are now; and what was deleted and made again, by its name or primary
    /// key. In a new file they are compared by their names and primary keys, and by the numbers of the objects if a class
    /// has no primary key or has another one. Embedded objects are objects of their own class; links are the same if
    /// their targets are. Calls `progress` now and then with the number of objects that were read. Reads all objects of
    /// both files; memory does not depend on their number.
    ///
    /// Throws `InspectionError`, and any error that `progress` throws.
    public func migratedClasses(
        in migrated: Inspector, progress: (Int) throws -> Void = { _ in }
    ) throws -> [MigratedClass] {
        let (before, after) = (try makeSession(), try migrated.makeSession())
        let (header, other) = (database.header, migrated.database.header)
        // Copies have the seed of their origin.
        let isCopy = header.seedLow == other.seedLow && header.seedHigh == other.seedHigh
        let tables = Self.counterparts(before, after, isCopy)
        var classes: [MigratedClass] = []
        var done = 0
        for old in before.tables {
            var result = MigratedClass(name: old.definition.name, objectsBefore: old.count)
            if let new = tables[old.definition.key].flatMap({ after.table($0) }) {
                var comparison = MigrationComparison(before, after, old, new, tables, isCopy, result)
                try comparison.run(migrated.database.path) {
                    done += $0
                    try progress(done)
                }
                result = comparison.result
            } else {
                result.isReshaped = true
                result.lostObjects = old.count
            }
            classes.append(result)
        }
        let known = Set(tables.values)
        for new in after.tables where !known.contains(new.definition.key) {
            classes.append(MigratedClass(name: new.definition.name, objectsAfter: new.count))
        }
        return classes.sorted { $0.name < $1.name }
    }

    /// For each table the one that has its objects after the migration: in a copy the table with the same key, which is
    /// never reused; or else the table with the same name, unless it is another one of this file under a new name.
    private static func counterparts(
        _ before: Session, _ after: Session, _ isCopy: Bool
    ) -> [TableKey: TableKey] {
        var found: [TableKey: TableKey] = [:]
        for old in before.tables {
            let key = old.definition.key
            if isCopy, after.table(key) != nil {
                found[key] = key
            } else if let new = after.table(named: old.definition.name)?.definition.key {
                if !isCopy || before.table(new) == nil { found[key] = new }
            }
        }
        return found
    }
}

/// The comparison of a class. Confined to the sessions.
private struct MigrationComparison {
    /// A property before the migration.
    private struct Property {
        let name: String
        let old: Int
        /// Its place after the migration; nil if it is gone.
        let new: Int?
        /// True if its type is unchanged, so that its values should be.
        let isComparable: Bool
    }

    private let before: Session
    private let after: Session
    private let old: Table
    private let new: Table
    /// The keys of tables after the migration, by the keys before it.
    private let tables: [TableKey: TableKey]
    /// True if the keys of tables are those of the file before; those of columns and objects are, too, if the table is
    /// the same.
    private let isCopy: Bool
    private let properties: [Property]
    private(set) var result: MigratedClass

    /// The number of objects between two calls of `progress`.
    private static let step = 1000

    init(
        _ before: Session, _ after: Session, _ old: Table, _ new: Table, _ tables: [TableKey: TableKey],
        _ isCopy: Bool, _ result: MigratedClass
    ) {
        (self.before, self.after, self.old, self.new, self.tables) = (before, after, old, new, tables)
        (self.isCopy, self.result) = (isCopy, result)
        let (from, to) = (old.definition, new.definition)
        var properties: [Property] = []
        var isReshaped = from.isEmbedded != to.isEmbedded
        var kept: Set<Int> = []
        for (place, column) in from.columns.enumerated() where !column.isHidden {
            let found = Self.counterpart(of: column, from, to, isSameTable: isCopy && from.key == to.key)
            let other = found.map { to.columns[$0] }
            let isComparable =
                other.map {
                    $0.type == column.type && $0.collection == column.collection && $0.isNullable == column.isNullable
                        && $0.target == column.target.flatMap { tables[$0] }
                } ?? false
            properties.append(Property(name: column.name, old: place, new: found, isComparable: isComparable))
            if let found { kept.insert(found) }
            if let other, other.name != column.name { self.result.renamedProperties[column.name] = other.name }
            if !isComparable || other?.name != column.name || other?.isPrimaryKey != column.isPrimaryKey {
                isReshaped = true
            }
        }
        if to.columns.indices.contains(where: { !to.columns[$0].isHidden && !kept.contains($0) }) { isReshaped = true }
        self.properties = properties
        self.result.isReshaped = isReshaped
        self.result.objectsAfter = new.count
        if to.name != from.name { self.result.newName = to.name }
    }

    /// The place of the property with the same key, if the table is the same; or else of the one with the same name,
    /// unless it is another property of the table under a new name.
    private static func counterpart(
        of column: ColumnDefinition, _ from: TableDefinition, _ to: TableDefinition, isSameTable: Bool
    ) -> Int? {
        let same = to.columns.firstIndex { isSameTable && $0.key == column.key && !$0.isHidden }
        if let same { return same }
        return to.columns.firstIndex { other in
            other.name == column.name && !other.isHidden
                && !(isSameTable && from.columns.contains { $0.key == other.key && !$0.isHidden })
        }
    }

    /// Compares all objects. Calls `progress` with the number of objects that it has read since the last call.
    mutating func run(_ path: String, progress: (Int) throws -> Void) throws {
        var start = 0
        while start < old.count {
            let end = min(start + Self.step, old.count)
            try inspecting(path) { () throws(EngineError) in
                for position in start..<end { try compare(try old.key(atPosition: position)) }
            }
            try progress(end - start)
            start = end
        }
        let isUnknown = old.definition.isEmbedded || !isCopy && primaryKeys(old, new) == nil
        result.lostObjects = isUnknown ? max(0, old.count - new.count) : old.count - result.comparedObjects
    }

    private mutating func compare(_ key: ObjectKey) throws(EngineError) {
        guard let other = try counterpart(of: key, old, new) else { return }
        result.comparedObjects += 1
        var isKept = true
        for property in properties {
            if property.isComparable, let place = property.new {
                if try isSame(key, property.old, other, place) { continue }
                isKept = false
            }
            let left = try Self.content(old, property.old, key)
            if !left.isValue { continue }
            if let place = property.new {
                let right = try Self.content(new, place, other)
                if property.isComparable, right.count > 0, right.count < left.count {
                    result.shorterCollections[property.name, default: 0] += 1
                }
                if right.isValue || left.isZero && right.isZero { continue }
            }
            result.lostValues[property.name, default: 0] += 1
        }
        if isKept { result.keptObjects += 1 }
    }

    private func isSame(_ old: Table, _ new: Table) -> Bool { isCopy && old.definition.key == new.definition.key }

    /// The object with the same key, if the table is the same; or else the one with the same primary key, unless it is
    /// another object of the table with a new primary key.
    private func counterpart(of key: ObjectKey, _ old: Table, _ new: Table) throws(EngineError) -> ObjectKey? {
        let isSame = isSame(old, new)
        if isSame, try new.contains(key) { return key }
        guard let (primary, _) = primaryKeys(old, new) else {
            if isCopy { return nil }
            return try new.contains(key) ? key : nil
        }
        guard let found = try new.key(forPrimaryKey: try old.value(primary, of: key)) else { return nil }
        if isSame, try old.contains(found) { return nil }
        return found
    }

    /// The places of the primary key of two tables; nil if they have none or different ones.
    private func primaryKeys(_ old: Table, _ new: Table) -> (Int, Int)? {
        guard let place = old.definition.primaryKey, let other = new.definition.primaryKey else { return nil }
        let column = old.definition.columns[place]
        guard column.type == new.definition.columns[other].type else { return nil }
        let found = Self.counterpart(of: column, old.definition, new.definition, isSameTable: isSame(old, new))
        return found == other ? (place, other) : nil
    }

    /// `isZero` is true for zero, an empty text and an empty collection; `isValue` as `lostValues` has it. `count` is
    /// the number of elements of a collection, and 0 for others.
    private static func content(
        _ table: Table, _ column: Int, _ key: ObjectKey
    ) throws(EngineError) -> (isValue: Bool, isZero: Bool, count: Int) {
        let definition = table.definition.columns[column]
        if definition.collection != .none {
            let count =
                definition.collection == .dictionary
                ? try table.dictionaryCount(column, of: key) : try table.listCount(column, of: key)
            return (count > 0, count == 0, count)
        }
        let value = try table.value(column, of: key)
        if value == .null || value == .link(.none) { return (false, false, 0) }
        let isZero = definition.type != .link && definition.type != .mixed && value == .zero(definition.type)
        return (definition.isNullable || !isZero, isZero, 0)
    }

    // MARK: Values

    private func isSame(
        _ key: ObjectKey, _ column: Int, _ other: ObjectKey, _ otherColumn: Int
    ) throws(EngineError) -> Bool {
        let (target, otherTarget) = (old.definition.columns[column].target, new.definition.columns[otherColumn].target)
        switch old.definition.columns[column].collection {
        case .none:
            return try isSame(
                try old.value(column, of: key), try new.value(otherColumn, of: other), target, otherTarget)
        case .list, .set:
            let (values, others) = (try old.listValues(column, of: key), try new.listValues(otherColumn, of: other))
            guard values.count == others.count else { return false }
            for (value, other) in zip(values, others) where try !isSame(value, other, target, otherTarget) {
                return false
            }
            return true
        case .dictionary:
            let entries = try old.dictionaryEntries(column, of: key)
            let others = try new.dictionaryEntries(otherColumn, of: other)
            guard entries.count == others.count else { return false }
            for (entry, other) in zip(entries, others) {
                guard entry.key.utf8.elementsEqual(other.key.utf8),
                    try isSame(entry.value, other.value, target, otherTarget)
                else { return false }
            }
            return true
        }
    }

    private func isSame(
        _ value: Value, _ other: Value, _ target: TableKey?, _ otherTarget: TableKey?
    ) throws(EngineError) -> Bool {
        switch (value, other) {
        case (.link(let key), .link(let otherKey)): try isSameObject(key, target, otherKey, otherTarget)
        case (.typedLink(let table, let key), .typedLink(let otherTable, let otherKey)):
            try isSameObject(key, table, otherKey, otherTable)
        default: ObjectStore.isSame(value, other)
        }
    }

    private func isSameObject(
        _ key: ObjectKey, _ target: TableKey?, _ other: ObjectKey, _ otherTarget: TableKey?
    ) throws(EngineError) -> Bool {
        guard key != .none, other != .none, let table = target.flatMap({ before.table($0) }),
            let otherTable = otherTarget.flatMap({ after.table($0) })
        else { return key == other }
        guard tables[table.definition.key] == otherTable.definition.key else { return false }
        // The values of embedded objects are compared with those of their class.
        if table.definition.isEmbedded { return true }
        return try counterpart(of: key, table, otherTable) == other
    }
}
