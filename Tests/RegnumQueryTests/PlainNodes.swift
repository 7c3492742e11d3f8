// SPDX-License-Identifier: Apache-2.0
// Objects with a column of every type, nullable and indexed, in a database and as plain values; and comparisons over
// the plain values, written from the rules without a look at the executor.

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
        .bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .link,
    ]
    static let words = ["", "a", "A", "ab", "Ab", "b", "aé", "É", "é", "b a", "a*"]

    let session: Session
    let table: Table
    let schema: TableSchema
    private let columns: [String: Int]
    private(set) var rows: [PlainNode] = []
    private(set) var keys: [ObjectKey] = []

    init(seed: UInt64, _ random: inout QueryRandom) throws {
        session = try Database.openInMemory(identifier: "nodes \(seed) \(random.next())").makeSession()
        var new = [
            NewColumn(name: "link", type: .link, targetName: "Node"),
            NewColumn(name: "links", type: .link, collection: .list, targetName: "Node"),
        ]
        for type in Self.types where type != .link {
            for isIndexed in [false, true] where !isIndexed || Cell.isIndexable(type) {
                for isNullable in [false, true] {
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
        "\(type)" + (isIndexed ? "_indexed" : "") + (isNullable ? "_null" : "")
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
            node.values[column.name] = isNull ? .null : Self.value(column.type, &random)
        }
        for type in Self.types where type != .link {
            node.lists[type] = (0..<Int(random.next() % 3)).map { _ in
                random.next() % 4 == 0 ? .null : Self.value(type, &random)
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

    static func value(_ type: ColumnType, _ random: inout QueryRandom) -> Value {
        func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }
        switch type {
        case .bool: return .bool(pick([true, false]))
        case .int: return .int(pick([0, 1, 2, -1, .max, .min, 300]))
        case .float: return .float(pick([0, -0.0, 1.5, -1, .nan, .infinity, 0.1]))
        case .double: return .double(pick([0, -0.0, 1.5, -1, .nan, -.infinity, 0.1]))
        case .string: return .string(pick(words))
        case .data: return .data(Array(pick(words).utf8))
        case .date: return .date(Timestamp(seconds: pick([0, 5, 1000]), nanoseconds: pick([0, 7])))
        case .objectID: return .objectID(pick([1, 256, 77]), pick([0, 9]))
        default: return .uuid(pick([1, 256, 77]), pick([0, 9]))
        }
    }

    // MARK: Comparisons

    /// A comparison for a cell with the rows for which it holds.
    func comparison(
        _ cell: Cell, _ random: inout QueryRandom
    ) -> (text: String, arguments: [Constant], rows: [Int]) {
        let isLink = cell.type == .link
        // Null may only be compared with what may be null.
        let isNullable = cell.isNull || random.next() % 2 == 0
        let property = isLink ? "link" : Self.name(cell.type, cell.isIndexed, isNullable)
        let path: String
        switch cell.shape {
        case .own: path = property
        case .link: path = "link.\(property)"
        case .links: path = "link.link.\(property)"
        case .any: path = "ANY links.\(property)"
        case .back: path = "ANY back.\(property)"
        case .list: path = isLink ? "ANY links" : "ANY list_\(cell.type)"
        }
        var values = (0..<3).map { _ in
            isLink ? .link(keys[Int.random(in: rows.indices, using: &random)]) : Self.value(cell.type, &random)
        }
        var arguments: [Constant]
        let name = cell.comparison
        if name.hasPrefix("IN") {
            if cell.isNull { values[0] = .null }
            arguments = [.array(values.map(constant))]
        } else if name == "BETWEEN" {
            values.removeLast()
            arguments = [.array(values.map(constant))]
        } else {
            values = [cell.isNull ? .null : values[0]]
            arguments = values.map(constant)
        }
        let word = random.next() % 4 == 0 && path.hasPrefix("ANY") ? "NONE" : "ANY"
        let text = path.replacing("ANY", with: word) + " \(name) %@"
        let found = rows.indices.filter { row in
            let ends = ends(cell, property, row)
            let holds =
                name == "BETWEEN" && cell.shape == .list
                ? ends.contains { Self.holds($0, ">=", values[0]) }
                    && ends.contains { Self.holds($0, "<=", values[1]) }
                : ends.contains { end in
                    switch name {
                    case "BETWEEN": Self.holds(end, ">=", values[0]) && Self.holds(end, "<=", values[1])
                    case "IN": values.contains { Self.holds(end, "==", $0) }
                    case "IN[c]": values.contains { Self.holds(end, "==[c]", $0) }
                    default: Self.holds(end, name, values[0])
                    }
                }
            return holds != (word == "NONE")
        }
        return (text, arguments, found)
    }

    private func constant(_ value: Value) -> Constant {
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
        case .link(let key):
            .object(ObjectArgument(table: table.definition.key, key: key, className: "Node"))
        default: .null
        }
    }

    /// The values at the end of a path; null behind a null link.
    private func ends(_ cell: Cell, _ property: String, _ row: Int) -> [Value] {
        func own(_ row: Int) -> Value {
            if cell.type == .link { return rows[row].link.map { .link(keys[$0]) } ?? .null }
            return rows[row].values[property] ?? .null
        }
        switch cell.shape {
        case .own: return [own(row)]
        case .link: return [rows[row].link.map(own) ?? .null]
        case .links: return [rows[row].link.flatMap { rows[$0].link }.map(own) ?? .null]
        case .any: return rows[row].links.map(own)
        case .back: return rows.indices.filter { rows[$0].link == row }.map(own)
        case .list:
            return cell.type == .link
                ? rows[row].links.map { .link(keys[$0]) } : rows[row].lists[cell.type] ?? []
        }
    }

    static func holds(_ found: Value, _ name: String, _ value: Value) -> Bool {
        let operation = name.split(separator: "[")[0]
        let options = name.split(separator: "[").dropFirst().first ?? ""
        if found == .null || value == .null {
            switch operation {
            case "==", "<=", ">=", "LIKE": return found == value
            case "!=": return found != value
            default: return false
            }
        }
        if let found = bytes(found, String(options)), let value = bytes(value, String(options)) {
            switch operation {
            case "BEGINSWITH": return !value.isEmpty && found.starts(with: value)
            case "ENDSWITH": return !value.isEmpty && found.reversed().starts(with: value.reversed())
            case "CONTAINS":
                return !value.isEmpty && found.indices.contains { found[$0...].starts(with: value) }
            case "LIKE":
                // The only pattern among the words is "a*".
                return value.last == 0x2A ? found.starts(with: value.dropLast()) : found == value
            case "==": return found == value
            case "!=": return found != value
            default: break
            }
        }
        let order = order(found, value)
        switch operation {
        case "==": return order == 0
        case "!=": return order != 0
        case "<": return order < 0
        case "<=": return order <= 0
        case ">": return order > 0
        default: return order >= 0
        }
    }

    /// Strings and data, folded as far as the words need it.
    private static func bytes(_ value: Value, _ options: String) -> [UInt8]? {
        switch value {
        case .string(var text):
            if options.contains("d") { text = text.replacing("é", with: "e").replacing("É", with: "E") }
            return Array((options.contains("c") ? text.lowercased() : text).utf8)
        case .data(let bytes): return bytes
        default: return nil
        }
    }

    static func order(_ a: Value, _ b: Value) -> Int {
        func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
        switch (a, b) {
        case (.null, .null): return 0
        case (.null, _): return -1
        case (_, .null): return 1
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.int(let a), .int(let b)): return compare(a, b)
        case (.float(let a), .float(let b)): return order(.double(Double(a)), .double(Double(b)))
        case (.double(let a), .double(let b)):
            return a.isNaN || b.isNaN ? compare(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) : compare(a, b)
        case (.date(let a), .date(let b)): return compare(a, b)
        case (.objectID(let a, let c), .objectID(let b, let d)):
            return a != b ? compare(a.byteSwapped, b.byteSwapped) : compare(c.byteSwapped, d.byteSwapped)
        case (.uuid(let a, let c), .uuid(let b, let d)):
            return a != b ? compare(a.byteSwapped, b.byteSwapped) : compare(c.byteSwapped, d.byteSwapped)
        default:
            guard let a = bytes(a, ""), let b = bytes(b, "") else { return a == b ? 0 : 1 }
            return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
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
            let order = Self.order(rows[a].values[column.name] ?? .null, rows[b].values[column.name] ?? .null)
            return order == 0 ? a < b : (order < 0) == isAscending
        }.map { keys[$0] }
        let ordered = ObjectQuery(
            session: session, table: table.definition.key, predicate: bound, orderings: [.sort([key])])
        return try ordered.keys() == sorted && ordered.keys(first: 3) == Array(sorted.prefix(3))
            && ordered.keys(last: 2) == Array(sorted.suffix(2))
    }
}
