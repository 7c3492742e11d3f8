// SPDX-License-Identifier: Apache-2.0
// Counts the objects that a difference between a file and its classes affects. Counts in the unmigrated file, as if no
// migration block handled the difference.

internal import RegnumEngine

/// Counts objects of one table. Each count passes over the table once; the count of owners also passes over all tables
/// that become embedded.
struct MigrationCounts {
    let schema: ClassSchema
    let table: Table
    let session: Session
    /// All classes of the Realm.
    let classes: [ClassSchema]

    /// The number of affected objects, and how many of them lose a value or are deleted.
    typealias Count = (affected: Int, lost: Int)

    func count(_ effect: SchemaDifference.Effect) throws(EngineError) -> Count {
        switch effect {
        case .nothing: return (0, 0)
        case .addition: return (table.count, 0)
        case .values(let column):
            let affected = try objects { location throws(EngineError) in try holdsValue(column, location) }
            return (affected, affected)
        case .nulls(let column):
            let affected = try objects { location throws(EngineError) in try holdsNull(column, location) }
            return (affected, affected)
        case .owners: return try owners()
        }
    }

    private func objects(where isMeant: (RowLocation) throws(EngineError) -> Bool) throws(EngineError) -> Int {
        var count = 0
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count where try isMeant(RowLocation(group: group, row: row)) { count += 1 }
            return true
        }
        return count
    }

    // MARK: Values

    /// True if the object's value differs from that of a property never set: null, or zero or empty if the column
    /// cannot be null. True for a collection with elements.
    private func holdsValue(_ column: Int, _ location: RowLocation) throws(EngineError) -> Bool {
        let definition = table.definition.columns[column]
        if definition.collection != .none { return try table.elementCount(column, location) > 0 }
        let mayBeNull = definition.isNullable || definition.type == .link
        let unwritten: Value = mayBeNull ? .null : .zero(definition.type)
        return try table.value(column, at: location) != unwritten
    }

    /// True if the value, or an element, is null.
    private func holdsNull(_ column: Int, _ location: RowLocation) throws(EngineError) -> Bool {
        if table.definition.columns[column].collection == .none {
            return location.group.columns[column].isNull(location.row)
        }
        var isFound = false
        try table.forEachLeaf(column, location) { leaf in
            for i in 0..<leaf.count where leaf.isNull(i) { isFound = true }
            return !isFound
        }
        return isFound
    }

    // MARK: Owners

    /// Counts for a class that becomes embedded: objects without a link to them are deleted, those with several links
    /// are copied. Links from objects that are themselves deleted do not count, whether they are of this class or of
    /// another one that becomes embedded with it.
    private func owners() throws(EngineError) -> Count {
        let going = try goingObjects()
        let origins = self.origins(of: table)
        var shared = 0
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let key = RowLocation(group: group, row: row).key
                let lost = going.lostLinks[RowKey(table: table.definition.key, key: key)] ?? 0
                if try linkCount(to: key, in: table, from: origins, upTo: lost + 2) > lost + 1 { shared += 1 }
            }
            return true
        }
        let without = going.counts[table.definition.key] ?? 0
        return (without + shared, without)
    }

    /// The objects that are deleted because classes become embedded: their number by table, and the number of links
    /// that the targets of their links lose.
    private typealias Going = (counts: [TableKey: Int], lostLinks: [RowKey: Int])

    /// Passes once over all tables that become embedded, and over the objects that are deleted.
    private func goingObjects() throws(EngineError) -> Going {
        var embedded: [TableKey: (table: Table, origins: [Origin])] = [:]
        for schema in classes where schema.isEmbedded {
            guard let table = session.table(named: schema.name), !table.definition.isEmbedded else { continue }
            embedded[table.definition.key] = (table, origins(of: table))
        }
        var going: Going = ([:], [:])
        var queue: [RowKey] = []
        for (key, (table, origins)) in embedded {
            try table.forEachGroup { group throws(EngineError) in
                for row in 0..<group.pointee.count {
                    let object = RowLocation(group: group, row: row).key
                    if try linkCount(to: object, in: table, from: origins, upTo: 1) == 0 {
                        queue.append(RowKey(table: key, key: object))
                    }
                }
                return true
            }
        }
        while let object = queue.popLast() {
            going.counts[object.table, default: 0] += 1
            guard let table = session.table(object.table), let location = try table.locate(object.key) else {
                continue
            }
            for column in table.definition.columns.indices {
                guard let target = table.definition.columns[column].target, let other = embedded[target],
                    leads(table, column, to: other.table)
                else { continue }
                for link in try table.links(column, location) {
                    let row = RowKey(table: target, key: ObjectKey(link))
                    let lost = (going.lostLinks[row] ?? 0) + 1
                    going.lostLinks[row] = lost
                    if try linkCount(to: row.key, in: other.table, from: other.origins, upTo: lost + 1) == lost {
                        queue.append(row)
                    }
                }
            }
        }
        return going
    }

    /// A link property.
    private typealias Origin = (table: Table, column: Int)

    /// The link properties that point to the table and that the classes keep.
    private func origins(of table: Table) -> [Origin] {
        var origins: [Origin] = []
        for origin in session.tables {
            for column in origin.definition.columns.indices where leads(origin, column, to: table) {
                origins.append((origin, column))
            }
        }
        return origins
    }

    /// The number of links to an object; stops counting once there are `enough`.
    private func linkCount(
        to key: ObjectKey, in table: Table, from origins: [Origin], upTo enough: Int
    ) throws(EngineError) -> Int {
        var links = 0
        for origin in origins where links < enough {
            links += try table.backlinkCount(to: key, from: origin.table, column: origin.column)
        }
        return links
    }

    /// True if the column links to the table and the classes keep it. A link in a value of any type owns nothing.
    private func leads(_ origin: Table, _ place: Int, to table: Table) -> Bool {
        let column = origin.definition.columns[place]
        guard column.type == .link, column.target == table.definition.key else { return false }
        guard let other = classes.first(where: { $0.name == origin.definition.name }) else { return true }
        return wanted(column.name, in: other).map { keeps(column, $0) } ?? false
    }

    private func wanted(_ columnName: String, in schema: ClassSchema) -> NewColumn? {
        schema.properties.first { $0.columnName == columnName && !$0.isComputed }?.newColumn
    }

    /// True if the values of the column are kept.
    private func keeps(_ column: ColumnDefinition, _ wanted: NewColumn) -> Bool {
        let target = column.target.flatMap { session.table($0)?.definition.name }
        return !column.isHidden && column.type == wanted.type && column.collection == wanted.collection
            && target == wanted.targetName
    }

    // MARK: Equal values

    /// The primary key and the unique constraints that would be violated, each as a sentence with the number of objects
    /// that equal another one. Skips those that the file already enforces. O(n) memory.
    func conflicts() throws(EngineError) -> [(text: String, count: Int)] {
        var found: [(text: String, count: Int)] = []
        let definition = table.definition
        if let property = schema.primaryKey.map({ schema.properties[$0] }) {
            let isProved = definition.primaryKey.map { definition.columns[$0].name } == property.columnName
            let count = try equalCount([property.columnName], isProved: isProved, areNullsEqual: true)
            found.append(("Primary key property '\(schema.name).\(property.name)' has equal values.", count))
        }
        let proved = definition.uniques.map { unique in
            unique.columns.compactMap { key in definition.columns.first { $0.key == key }?.name }
        }
        for names in schema.uniqueColumns {
            let count = try equalCount(names, isProved: proved.contains(names), areNullsEqual: false)
            let list = names.joined(separator: ", ")
            found.append(("Unique constraint of class '\(schema.name)' has equal values: \(list).", count))
        }
        return found.filter { $0.count > 0 }
    }

    /// A property of a key or constraint.
    private struct Part {
        /// The column whose values are kept; nil if the property starts without values.
        let column: Int?
        /// Replaces null; the value of all objects if the property starts without values.
        let empty: Value
        /// True if no value changes.
        let isSame: Bool
    }

    private func part(_ name: String) -> Part? {
        guard let wanted = wanted(name, in: schema) else { return nil }
        let columns = table.definition.columns
        let place = columns.firstIndex { $0.name == name && keeps($0, wanted) }
        let losesNulls = place.map { columns[$0].isNullable && !wanted.isNullable } ?? false
        let mayBeNull = wanted.isNullable || wanted.type == .link
        return Part(
            column: place, empty: mayBeNull ? .null : .zero(wanted.type), isSame: place != nil && !losesNulls)
    }

    /// The number of objects whose new values another object has too.
    private func equalCount(
        _ names: [String], isProved: Bool, areNullsEqual: Bool
    ) throws(EngineError) -> Int {
        let parts = names.compactMap { part($0) }
        if isProved, parts.allSatisfy(\.isSame) { return 0 }
        var counts: [[Value]: Int] = [:]
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                var values: [Value] = []
                for part in parts { values.append(try value(part, RowLocation(group: group, row: row))) }
                if areNullsEqual || !values.contains(.null) { counts[values, default: 0] += 1 }
            }
            return true
        }
        return counts.values.reduce(0) { $1 > 1 ? $0 + $1 : $0 }
    }

    private func value(_ part: Part, _ location: RowLocation) throws(EngineError) -> Value {
        guard let column = part.column else { return part.empty }
        switch try table.value(column, at: location) {
        case .null: return part.empty
        // Files compare strings by their bytes.
        case .string(let text): return .data([UInt8](text.utf8))
        case let value: return value
        }
    }
}
