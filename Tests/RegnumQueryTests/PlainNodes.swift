// SPDX-License-Identifier: Apache-2.0
// Objects with a column of every type, nullable and indexed, in a database and as plain values; and questions about
// them, answered from the plain values (PlainValues.swift) without a look at the executor.

import RegnumEngine
import RegnumQuery
import Testing

struct PlainNode {
    var values: [String: Value] = [:]
    var link: Int?
    var links: [Int] = []
    var lists: [ColumnType: [Value]] = [:]
}

final class PlainNodes {
    static let types: [ColumnType] = [
        .bool, .int, .float, .double, .decimal128, .string, .data, .date, .objectID, .uuid, .link, .mixed,
    ]

    let session: Session
    let table: Table
    let schema: TableSchema
    private let columns: [String: Int]
    private(set) var rows: [PlainNode] = []
    private(set) var keys: [ObjectKey] = []

    init(_ random: inout QueryRandom) throws {
        session = try makeSessionOfItsOwn()
        var new = [
            NewColumn(name: "link", type: .link, targetName: "Node"),
            NewColumn(name: "links", type: .link, collection: .list, targetName: "Node"),
        ]
        for type in Self.types where type != .link {
            for isIndexed in [false, true] where !isIndexed || Cell.isIndexable(type) {
                // A value of any type may always be null.
                for isNullable in type == .mixed ? [true] : [false, true] {
                    new.append(
                        NewColumn(
                            name: Self.name(type, isIndexed, isNullable), type: type, isNullable: isNullable,
                            isIndexed: isIndexed))
                }
            }
            new.append(NewColumn(name: "list_\(type)", type: type, collection: .list, isNullable: true))
        }
        new.shuffle(using: &random)
        try session.beginWrite()
        try session.addTables([NewTable(name: "Node", columns: new)])
        table = try #require(session.table(named: "Node"))
        columns = Dictionary(
            uniqueKeysWithValues: table.definition.columns.enumerated().map { ($1.name, $0) })
        var schema = TableSchema(session.tables.map(\.definition))
        schema.addBacklinks(
            "back", to: table.definition.key, from: table.definition.key, column: columns["link"] ?? 0)
        self.schema = schema
        for _ in 0..<Int(20 + random.next() % 30) {
            let location = try table.insertRow()
            keys.append(location.key)
            try table.finishInsert(location)
            rows.append(PlainNode())
        }
        for row in rows.indices { try fill(row, &random) }
        try session.commitWrite()
    }

    static func name(_ type: ColumnType, _ isIndexed: Bool, _ isNullable: Bool) -> String {
        "\(type)" + (isIndexed ? "_indexed" : "") + (isNullable || type == .mixed ? "_null" : "")
    }

    /// Other values for some objects; half of the time the write stays open until the next change.
    func change(_ random: inout QueryRandom) throws {
        if !session.isWriting { try session.beginWrite() }
        for _ in 0..<4 { try fill(Int.random(in: rows.indices, using: &random), &random) }
        if random.next() % 2 == 0 { try session.commitWrite() }
    }

    private func fill(_ row: Int, _ random: inout QueryRandom) throws {
        var node = PlainNode()
        for column in table.definition.columns where column.collection == .none && column.type != .link {
            let isNull = column.isNullable && random.next() % 4 == 0
            node.values[column.name] = isNull ? .null : value(column.type, &random)
        }
        for type in Self.types where type != .link {
            node.lists[type] = (0..<Int(random.next() % 3)).map { _ in
                random.next() % 4 == 0 ? .null : value(type, &random)
            }
        }
        if random.next() % 3 > 0 { node.link = Int.random(in: rows.indices, using: &random) }
        node.links = (0..<Int(random.next() % 3)).map { _ in Int.random(in: rows.indices, using: &random) }
        rows[row] = node
        for (name, value) in node.values { try table.set(value, columns[name]!, of: keys[row]) }
        try table.set(node.link.map { .link(keys[$0]) } ?? .null, columns["link"]!, of: keys[row])
        try replace("links", row, node.links.map { .link(keys[$0]) })
        for (type, values) in node.lists { try replace("list_\(type)", row, values) }
    }

    private func replace(_ name: String, _ row: Int, _ values: [Value]) throws {
        let column = columns[name]!
        let count = try table.listCount(column, of: keys[row])
        if count > 0 { try table.listRemove(0..<count, column, of: keys[row]) }
        try table.listInsert(values, column, of: keys[row], at: 0)
    }

    /// Any value of the type; of any type also a link.
    private func value(_ type: ColumnType, _ random: inout QueryRandom) -> Value {
        if type == .link { return .link(keys[Int.random(in: rows.indices, using: &random)]) }
        guard type == .mixed, random.next() % 9 == 0 else { return PlainValues.value(type, &random) }
        return .typedLink(table.definition.key, keys[Int.random(in: rows.indices, using: &random)])
    }

    // MARK: Comparisons

    /// A comparison with the rows for which it holds.
    typealias Question = (text: String, arguments: [Constant], rows: [Int])

    /// A comparison for a cell.
    func comparison(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        switch cell.shape {
        case .own, .link, .links, .any, .back, .list: withConstant(cell, &random)
        case .columns, .linkedColumns: withColumn(cell, &random)
        case .count, .extreme, .total: withFigure(cell, &random)
        }
    }

    private func propertyName(_ cell: Cell, isIndexed: Bool, _ random: inout QueryRandom) -> String {
        // Null may only be compared with what may be null.
        let isNullable = cell.isNull || random.next() % 2 == 0
        return cell.type == .link ? "link" : Self.name(cell.type, isIndexed, isNullable)
    }

    /// A property with a constant.
    private func withConstant(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let isLink = cell.type == .link
        let property = propertyName(cell, isIndexed: cell.isIndexed, &random)
        let path: String
        switch cell.shape {
        case .link: path = "link.\(property)"
        case .links: path = "link.link.\(property)"
        case .any: path = "ANY links.\(property)"
        case .back: path = "ANY back.\(property)"
        case .list: path = isLink ? "ANY links" : "ANY list_\(cell.type)"
        default: path = property
        }
        let name = cell.comparison
        var values = (0..<3).map { _ in value(cell.type, &random) }
        if PlainValues.isTextual(name) {
            // An object is no pattern.
            while case .typedLink = values[0] { values[0] = value(cell.type, &random) }
        }
        if name.hasPrefix("IN") {
            if cell.isNull { values[0] = .null }
        } else if name == "BETWEEN" {
            values.removeLast()
        } else {
            values = [cell.isNull ? .null : values[0]]
        }
        var constants: [Constant] = []
        for value in values { constants.append(constant(value, cell.type, &random)) }
        let arguments = name.hasPrefix("IN") || name == "BETWEEN" ? [Constant.array(constants)] : constants
        let word = random.next() % 4 == 0 && path.hasPrefix("ANY") ? "NONE" : "ANY"
        let text = path.replacing("ANY", with: word) + " \(name) %@"
        let found = rows.indices.filter { row in
            Self.holds(ends(cell, property, row), cell, values) != (word == "NONE")
        }
        return (text, arguments, found)
    }

    /// Whether one of the values at the end of a path passes.
    private static func holds(_ ends: [Value], _ cell: Cell, _ values: [Value]) -> Bool {
        if cell.comparison == "BETWEEN", cell.shape == .list {
            return ends.contains { PlainValues.holds($0, ">=", values[0]) }
                && ends.contains { PlainValues.holds($0, "<=", values[1]) }
        }
        return ends.contains { end in
            switch cell.comparison {
            case "BETWEEN": PlainValues.holds(end, ">=", values[0]) && PlainValues.holds(end, "<=", values[1])
            case "IN": values.contains { PlainValues.holds(end, "==", $0) }
            case "IN[c]": values.contains { PlainValues.holds(end, "==[c]", $0) }
            default: PlainValues.holds(end, cell.comparison, values[0])
            }
        }
    }

    /// A property, of the object or of the one linked to, with another one of the object.
    private func withColumn(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let isLeftIndexed = random.next() % 2 == 0 && Cell.isIndexable(cell.type)
        let isRightIndexed = random.next() % 2 == 0 && Cell.isIndexable(cell.type)
        let left = propertyName(cell, isIndexed: isLeftIndexed, &random)
        let right = propertyName(cell, isIndexed: isRightIndexed, &random)
        let isLinked = cell.shape == .linkedColumns
        let found = rows.indices.filter { row in
            let end = isLinked ? rows[row].link.map { own(left, $0) } ?? .null : own(left, row)
            return PlainValues.holds(end, cell.comparison, own(right, row))
        }
        return ("\(isLinked ? "link." : "")\(left) \(cell.comparison) \(right)", [], found)
    }

    /// A figure over a list of values, or over a property of the objects in a list, with a property of the object; on
    /// either side.
    private func withFigure(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let property = propertyName(cell, isIndexed: false, &random)
        let inner = propertyName(cell, isIndexed: false, &random)
        let isFirst = random.next() % 2 == 0
        let figure: String
        switch cell.shape {
        case .count: figure = "@count"
        case .extreme: figure = isFirst ? "@min" : "@max"
        default: figure = isFirst ? "@sum" : "@avg"
        }
        let isOfValues = random.next() % 2 == 0
        var path = isOfValues ? "list_\(cell.type).\(figure)" : "links.\(figure)"
        if !isOfValues, figure != "@count" { path += ".\(inner)" }
        let turned = ["<": ">", "<=": ">=", ">": "<", ">=": "<="][cell.comparison] ?? cell.comparison
        let text =
            random.next() % 3 == 0 ? "\(property) \(turned) \(path)" : "\(path) \(cell.comparison) \(property)"
        let found = rows.indices.filter { row in
            let values = isOfValues ? rows[row].lists[cell.type] ?? [] : rows[row].links.map { own(inner, $0) }
            let other = own(property, row)
            if cell.shape == .total {
                return PlainValues.holdsTotal(PlainValues.total(figure, values), cell.comparison, other)
            }
            return PlainValues.holds(PlainValues.figure(figure, values, cell.type), cell.comparison, other)
        }
        return (text, [], found)
    }

    /// A constant of that worth; for decimals sometimes of another type.
    private func constant(_ value: Value, _ type: ColumnType, _ random: inout QueryRandom) -> Constant {
        switch value {
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .float(let value): .float(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .data(let value): .data(value)
        case .date(let value): .date(value)
        case .objectID(let low, let high): .objectID(low, high)
        case .uuid(let low, let high): .uuid(low, high)
        case .decimal128(let low, let high):
            type == .decimal128 && random.next() % 2 == 0
                ? PlainValues.otherForm(value) : .decimal128(low, high)
        case .link(let key), .typedLink(_, let key):
            .object(ObjectArgument(table: table.definition.key, key: key, className: "Node"))
        default: .null
        }
    }

    private func own(_ property: String, _ row: Int) -> Value {
        if property == "link" { return rows[row].link.map { .link(keys[$0]) } ?? .null }
        return rows[row].values[property] ?? .null
    }

    /// The values at the end of a path; null behind a null link.
    private func ends(_ cell: Cell, _ property: String, _ row: Int) -> [Value] {
        switch cell.shape {
        case .link: return [rows[row].link.map { own(property, $0) } ?? .null]
        case .links: return [rows[row].link.flatMap { rows[$0].link }.map { own(property, $0) } ?? .null]
        case .any: return rows[row].links.map { own(property, $0) }
        case .back: return rows.indices.filter { rows[$0].link == row }.map { own(property, $0) }
        case .list:
            return cell.type == .link
                ? rows[row].links.map { .link(keys[$0]) } : rows[row].lists[cell.type] ?? []
        default: return [own(property, row)]
        }
    }

    // MARK: Checking

    /// Asks the database in every way: all, how many, the first, some of them in a random order.
    func check(
        _ text: String, _ arguments: [Constant], _ expected: [Int], _ random: inout QueryRandom
    ) throws -> Bool {
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
        let sorted = expected.sorted { a, b in
            let order = PlainValues.order(own(column.name, a), own(column.name, b))
            return order == 0 ? a < b : (order < 0) == isAscending
        }.map { keys[$0] }
        let ordered = ObjectQuery(
            session: session, table: table.definition.key, predicate: bound, orderings: [.sort([key])])
        return try ordered.keys() == sorted && ordered.keys(first: 3) == Array(sorted.prefix(3))
            && ordered.keys(last: 2) == Array(sorted.suffix(2))
    }
}
