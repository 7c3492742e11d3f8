// SPDX-License-Identifier: Apache-2.0
// A random schema of one to three classes with links to each other, columns of every type, some nullable and some
// indexed, and collections; its objects in a database and as plain values. ReferenceQueries.swift makes the queries.

import RegnumEngine
import RegnumQuery
import Testing

/// An object. Its links are row numbers of the classes that its own class defines.
struct ReferenceObject {
    var values: [String: Value] = [:]
    var link: Int?
    /// Same target class as `link`.
    var twin: Int?
    /// An object of its own class.
    var peer: Int?
    var links: [Int] = []
    var lists: [ColumnType: [Value]] = [:]
    /// Also links, with the target class of `links`; the same for maps.
    var sets: [ColumnType: [Value]] = [:]
    var maps: [ColumnType: [String: Value]] = [:]
}

struct PlainClass {
    let table: Table
    /// Numbers of the columns by name.
    let columns: [String: Int]
    /// The target class of `link`, and that of `links`.
    let link: Int
    let links: Int
    var rows: [ReferenceObject] = []
    var keys: [ObjectKey] = []
}

final class ReferenceObjects {
    static let types: [ColumnType] = [
        .bool, .int, .float, .double, .decimal128, .string, .data, .date, .objectID, .uuid, .link, .mixed,
    ]
    /// Keys of maps, in byte order.
    static let mapKeys = ["A", "a", "ab", "é"]

    let session: Session
    let schema: TableSchema
    /// Queries run on the objects of the first class.
    private(set) var classes: [PlainClass] = []

    /// `hasAll`: there are columns of each kind.
    init(_ random: inout QueryRandom, hasAll: Bool = false) throws {
        let session = try makeSessionOfItsOwn()
        self.session = session
        let count = Int.random(in: 1...3, using: &random)
        // Each class is the target of the `link` of exactly one class.
        let targets = Array(0..<count).shuffled(using: &random)
        var listTargets: [Int] = []
        var new: [NewTable] = []
        for number in 0..<count {
            listTargets.append(Int.random(in: 0..<count, using: &random))
            var columns = Self.linkColumns(of: number, targets[number], listTargets[number])
            for type in Self.types where type != .link { columns += Self.columns(type, hasAll, &random) }
            columns.shuffle(using: &random)
            new.append(NewTable(name: Self.name(number), columns: columns))
        }
        try session.beginWrite()
        try session.addTables(new)
        var schema = TableSchema(session.tables.map(\.definition))
        var classes: [PlainClass] = []
        for number in 0..<count {
            let table = try #require(session.table(named: Self.name(number)))
            let columns = Dictionary(
                uniqueKeysWithValues: table.definition.columns.enumerated().map { ($1.name, $0) })
            classes.append(
                PlainClass(table: table, columns: columns, link: targets[number], links: listTargets[number]))
        }
        for origin in classes {
            schema.addBacklinks(
                "back", to: classes[origin.link].table.definition.key, from: origin.table.definition.key,
                column: origin.columns["link"] ?? 0)
        }
        self.schema = schema
        self.classes = classes
        for number in 0..<count { try addRows(Int.random(in: 15...40, using: &random), to: number) }
        for number in 0..<count {
            for row in self.classes[number].rows.indices { try fill(number, row, &random) }
        }
        try session.commitWrite()
    }

    var table: Table { classes[0].table }
    var rowCount: Int { classes[0].rows.count }

    private static func name(_ number: Int) -> String { "Node\(number)" }

    private static func linkColumns(of number: Int, _ target: Int, _ listTarget: Int) -> [NewColumn] {
        let (end, many) = (name(target), name(listTarget))
        return [
            NewColumn(name: "link", type: .link, targetName: end),
            NewColumn(name: "twin", type: .link, targetName: end),
            NewColumn(name: "peer", type: .link, targetName: name(number)),
            NewColumn(name: "links", type: .link, collection: .list, targetName: many),
            NewColumn(name: "set_link", type: .link, collection: .set, targetName: many),
            NewColumn(name: "map_link", type: .link, collection: .dictionary, isNullable: true, targetName: many),
        ]
    }

    private static func columns(
        _ type: ColumnType, _ hasAll: Bool, _ random: inout QueryRandom
    ) -> [NewColumn] {
        var columns: [NewColumn] = []
        for isIndexed in [false, true] where !isIndexed || Cell.isIndexable(type) {
            // A value of any type may always be null.
            for isNullable in type == .mixed ? [true] : [false, true] {
                // Queries about null need a nullable column.
                let least = hasAll || isNullable ? 1 : 0
                for number in 0..<Int.random(in: least...2, using: &random) {
                    var name = "\(type)"
                    if isIndexed { name += "_indexed" }
                    if isNullable { name += "_null" }
                    if number > 0 { name += "_\(number)" }
                    columns.append(
                        NewColumn(name: name, type: type, isNullable: isNullable, isIndexed: isIndexed))
                }
            }
        }
        columns.append(NewColumn(name: "list_\(type)", type: type, collection: .list, isNullable: true))
        columns.append(NewColumn(name: "set_\(type)", type: type, collection: .set, isNullable: true))
        columns.append(NewColumn(name: "map_\(type)", type: type, collection: .dictionary, isNullable: true))
        return columns
    }

    private func addRows(_ count: Int, to number: Int) throws {
        let table = classes[number].table
        for _ in 0..<count {
            let location = try table.insertRow()
            classes[number].keys.append(location.key)
            try table.finishInsert(location)
            classes[number].rows.append(ReferenceObject())
        }
    }

    /// Changes the values of some objects; half of the time the write stays open until the next change.
    func change(_ random: inout QueryRandom) throws {
        if !session.isWriting { try session.beginWrite() }
        for _ in 0..<4 {
            let number = Int.random(in: classes.indices, using: &random)
            try fill(number, Int.random(in: classes[number].rows.indices, using: &random), &random)
        }
        if random.next() % 2 == 0 { try session.commitWrite() }
    }

    // MARK: Values

    private func fill(_ number: Int, _ row: Int, _ random: inout QueryRandom) throws {
        let owner = classes[number]
        var node = ReferenceObject()
        for column in owner.table.definition.columns where column.collection == .none && column.type != .link {
            let isNull = column.isNullable && random.next() % 4 == 0
            node.values[column.name] = isNull ? .null : stored(column.type, &random)
        }
        node.link = place(in: owner.link, &random)
        node.twin = random.next() % 2 == 0 ? node.link : place(in: owner.link, &random)
        node.peer = place(in: number, &random)
        for _ in 0..<Int(random.next() % 3) {
            node.links.append(Int.random(in: classes[owner.links].rows.indices, using: &random))
        }
        for type in Self.types {
            if type != .link { node.lists[type] = elements(type, owner.links, &random) }
            // A set contains no null link.
            node.sets[type] = elements(type, owner.links, &random).filter { type != .link || $0 != .null }
            var map: [String: Value] = [:]
            for value in elements(type, owner.links, &random) {
                map[Self.mapKeys.randomElement(using: &random) ?? ""] = value
            }
            node.maps[type] = map
        }
        classes[number].rows[row] = node
        try store(node, owner, owner.keys[row])
    }

    /// A row of the class, or none.
    private func place(in number: Int, _ random: inout QueryRandom) -> Int? {
        random.next() % 3 == 0 ? nil : Int.random(in: classes[number].rows.indices, using: &random)
    }

    private func elements(_ type: ColumnType, _ target: Int, _ random: inout QueryRandom) -> [Value] {
        (0..<Int(random.next() % 3)).map { _ in
            random.next() % 4 == 0 ? .null : value(type, target, &random)
        }
    }

    private func store(_ node: ReferenceObject, _ owner: PlainClass, _ key: ObjectKey) throws {
        let (table, columns) = (owner.table, owner.columns)
        for (name, value) in node.values { try table.set(value, columns[name]!, of: key) }
        for (name, target, place) in [
            ("link", owner.link, node.link), ("twin", owner.link, node.twin), ("peer", -1, node.peer),
        ] {
            let keys = target < 0 ? owner.keys : classes[target].keys
            try table.set(place.map { .link(keys[$0]) } ?? .null, columns[name]!, of: key)
        }
        func emptied(_ name: String) throws -> Int {
            let column = columns[name]!
            let count = try table.listCount(column, of: key)
            if count > 0 { try table.listRemove(0..<count, column, of: key) }
            return column
        }
        let links = node.links.map { Value.link(classes[owner.links].keys[$0]) }
        try table.listInsert(links, try emptied("links"), of: key, at: 0)
        for (type, values) in node.lists { try table.listInsert(values, try emptied("list_\(type)"), of: key, at: 0) }
        for (type, values) in node.sets {
            let column = try emptied("set_\(type)")
            for value in values { try table.setInsert(value, column, of: key) }
        }
        for (type, values) in node.maps {
            let column = try emptied("map_\(type)")
            for (name, value) in values { try table.dictionarySet(name, value, column, of: key) }
        }
    }

    /// Any value of the type; for links one to an object of that class; for any-values also a link to any class.
    func value(_ type: ColumnType, _ target: Int, _ random: inout QueryRandom) -> Value {
        if type == .link { return .link(key(of: target, &random)) }
        guard type == .mixed, random.next() % 9 == 0 else { return ReferenceValues.value(type, &random) }
        let number = Int.random(in: classes.indices, using: &random)
        return .typedLink(classes[number].table.definition.key, key(of: number, &random))
    }

    private func key(of number: Int, _ random: inout QueryRandom) -> ObjectKey {
        classes[number].keys[Int.random(in: classes[number].keys.indices, using: &random)]
    }

    /// Like `value`; for any-values also a list or a dictionary, which cannot be a constant.
    private func stored(_ type: ColumnType, _ random: inout QueryRandom) -> Value {
        guard type == .mixed, random.next() % 4 == 0 else { return value(type, 0, &random) }
        let values = elements(.mixed, 0, &random)
        if random.next() % 2 == 0 { return .list(values) }
        return .dictionary(zip(["k", "l"], values).map { DictionaryEntry(key: $0, value: $1) })
    }

    // MARK: Checking

    /// Runs the query in every way: all, count, first, and a limit with a random order.
    func check(
        _ text: String, _ arguments: [Constant], _ expected: [Int], _ random: inout QueryRandom
    ) throws -> Bool {
        let keys = classes[0].keys
        let bound = try PredicateBinder.bind(
            PredicateParser.parse(text, arguments), to: table.definition.key, in: schema)
        let query = ObjectQuery(session: session, table: table.definition.key, predicate: bound)
        let wanted = expected.map { keys[$0] }
        guard try query.keys() == wanted, try query.count() == wanted.count, try query.first() == wanted.first
        else { return false }
        let sortable = table.definition.columns.filter {
            $0.collection == .none && $0.type != .link && $0.type != .data
        }
        guard let column = sortable.randomElement(using: &random) else { return true }
        let isAscending = random.next() % 2 == 0
        let key = try SortKey.bind(
            column.name, isAscending: isAscending, to: table.definition.key, in: schema)
        let values = classes[0].rows.map { $0.values[column.name] ?? .null }
        let sorted = expected.sorted { a, b in
            let order = ReferenceValues.order(values[a], values[b])
            return order == 0 ? a < b : (order < 0) == isAscending
        }.map { keys[$0] }
        let ordered = ObjectQuery(
            session: session, table: table.definition.key, predicate: bound, orderings: [.sort([key])])
        return try ordered.keys() == sorted && ordered.keys(first: 3) == Array(sorted.prefix(3))
            && ordered.keys(last: 2) == Array(sorted.suffix(2))
    }
}
