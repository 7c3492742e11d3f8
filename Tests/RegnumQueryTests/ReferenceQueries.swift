// SPDX-License-Identifier: Apache-2.0
// Queries on ReferenceObjects, answered from the plain values (ReferenceValues.swift) independently of the executor.
// The constant is on either side if possible.

import RegnumEngine
import RegnumQuery

extension ReferenceObjects {
    /// A comparison with the rows for which it holds.
    typealias Question = (text: String, arguments: [Constant], rows: [Int])

    /// A comparison for a cell.
    func comparison(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        switch cell.shape {
        case .columns, .linkedColumns: withColumn(cell, &random)
        case .count, .extreme, .total: withFigure(cell, &random)
        case .countOf, .extremeOf, .totalOf: ofFigure(cell, &random)
        case .subquery: ofSubquery(cell, &random)
        default: withConstant(cell, &random)
        }
    }

    // MARK: Paths

    /// The value at the end of a path.
    private struct Path {
        var text: String
        /// The target class of links at its end.
        var target: Int
        /// True if ANY or NONE precedes it; a path with an operator of its own may omit it.
        var isOfMany = false
        var isOperator = false
        /// The values for a row.
        var ends: (Int) -> [Value]
    }

    /// A property of a class; nullable for queries about null, because only nullable properties may be compared with
    /// it.
    private func property(
        _ type: ColumnType, of number: Int, isIndexed: Bool, isNull: Bool, _ random: inout QueryRandom
    ) -> String {
        if type == .link { return "link" }
        let fitting = classes[number].table.definition.columns.filter {
            $0.type == type && $0.collection == .none && $0.isIndexed == isIndexed && ($0.isNullable || !isNull)
        }
        return fitting.randomElement(using: &random)?.name ?? ""
    }

    /// The value of a property of a row of a class.
    private func own(_ number: Int, _ name: String, _ row: Int) -> Value {
        let owner = classes[number]
        let node = owner.rows[row]
        switch name {
        case "link": return node.link.map { .link(classes[owner.link].keys[$0]) } ?? .null
        case "twin": return node.twin.map { .link(classes[owner.link].keys[$0]) } ?? .null
        case "peer": return node.peer.map { .link(owner.keys[$0]) } ?? .null
        default: return node.values[name] ?? .null
        }
    }

    private func path(_ cell: Cell, _ random: inout QueryRandom) -> Path {
        let root = classes[0]
        switch cell.shape {
        case .list, .set, .map, .entry, .keys: return collectionPath(cell, &random)
        case .within: return nestedPath(&random)
        default: break
        }
        let number: Int
        switch cell.shape {
        case .link: number = root.link
        case .links: number = classes[root.link].link
        case .any, .subquery: number = root.links
        case .back: number = classes.indices.first { classes[$0].link == 0 } ?? 0
        default: number = 0
        }
        let name = property(cell.type, of: number, isIndexed: cell.isIndexed, isNull: cell.isNull, &random)
        let target = classes[number].link
        switch cell.shape {
        case .link:
            return Path(text: "link.\(name)", target: target) { [self] row in
                [root.rows[row].link.map { own(number, name, $0) } ?? .null]
            }
        case .links:
            return Path(text: "link.link.\(name)", target: target) { [self] row in
                let next = root.rows[row].link.flatMap { classes[root.link].rows[$0].link }
                return [next.map { own(number, name, $0) } ?? .null]
            }
        case .any:
            return Path(text: "links.\(name)", target: target, isOfMany: true) { [self] row in
                root.rows[row].links.map { own(number, name, $0) }
            }
        case .back:
            return Path(text: "back.\(name)", target: target, isOfMany: true) { [self] row in
                let origins = classes[number].rows
                return origins.indices.filter { origins[$0].link == row }.map { own(number, name, $0) }
            }
        case .subquery:
            return Path(text: "$x.\(name)", target: target) { [self] row in
                root.rows[row].links.map { own(number, name, $0) }
            }
        default: return Path(text: name, target: target) { [self] row in [own(0, name, row)] }
        }
    }

    private func collectionPath(_ cell: Cell, _ random: inout QueryRandom) -> Path {
        let root = classes[0]
        let type = cell.type
        switch cell.shape {
        case .list where type == .link:
            let keys = classes[root.links].keys
            return Path(text: "links", target: root.links, isOfMany: true) { row in
                root.rows[row].links.map { .link(keys[$0]) }
            }
        case .list:
            return Path(text: "list_\(type)", target: root.links, isOfMany: true) { row in
                root.rows[row].lists[type] ?? []
            }
        case .set:
            return Path(text: "set_\(type)", target: root.links, isOfMany: true) { row in
                root.rows[row].sets[type] ?? []
            }
        case .map:
            let isOperator = random.next() % 2 == 0
            return Path(
                text: "map_\(type)" + (isOperator ? ".@allValues" : ""), target: root.links, isOfMany: true,
                isOperator: isOperator
            ) { row in Self.values(root.rows[row], type) }
        case .keys:
            return Path(text: "map_int.@allKeys", target: root.links, isOfMany: true, isOperator: true) { row in
                (root.rows[row].maps[.int] ?? [:]).keys.map { .string($0) }
            }
        default:
            let key = Self.mapKeys.randomElement(using: &random) ?? ""
            return Path(text: "map_\(type)['\(key)']", target: root.links) { row in
                [root.rows[row].maps[type]?[key] ?? .null]
            }
        }
    }

    /// The values of a map in key order.
    private static func values(_ node: ReferenceObject, _ type: ColumnType) -> [Value] {
        mapKeys.compactMap { node.maps[type]?[$0] }
    }

    /// Path into nested any-values.
    private func nestedPath(_ random: inout QueryRandom) -> Path {
        let root = classes[0]
        let name = property(
            .mixed, of: 0, isIndexed: random.next() % 2 == 0, isNull: true, &random)
        func found(_ row: Int) -> Value { root.rows[row].values[name] ?? .null }
        switch random.next() % 3 {
        case 0:
            return Path(text: "\(name)['k']", target: 0) { row in
                guard case .dictionary(let entries) = found(row) else { return [.null] }
                return [entries.first { $0.key == "k" }?.value ?? .null]
            }
        case 1:
            return Path(text: "\(name)[0]", target: 0) { row in
                guard case .list(let values) = found(row) else { return [.null] }
                return [values.first ?? .null]
            }
        default:
            return Path(text: "\(name)[#any]", target: 0) { row in
                switch found(row) {
                case .list(let values): values
                case .dictionary(let entries): entries.map(\.value)
                default: []
                }
            }
        }
    }

    // MARK: With constants

    private static let turned = ["<": ">", "<=": ">=", ">": "<", ">=": "<="]

    /// A comparison of the path written as `left` with a constant: on its right, or on its left if that is equivalent.
    private static func written(
        _ left: String, _ word: String, _ comparison: String, _ random: inout QueryRandom
    ) -> String {
        let before = word.isEmpty ? "" : word + " "
        let isSame = comparison.hasPrefix("==") || comparison.hasPrefix("!=")
        guard random.next() % 4 == 0, let other = isSame ? comparison : turned[comparison] else {
            return "\(before)\(left) \(comparison) %@"
        }
        return random.next() % 2 == 0 ? "\(before)%@ \(other) \(left)" : "%@ \(other) \(before)\(left)"
    }

    /// Constants to compare with, as many as the operator takes.
    private func constants(
        _ cell: Cell, _ random: inout QueryRandom, _ value: (inout QueryRandom) -> Value
    ) -> [Value] {
        if cell.comparison == "BETWEEN" { return [value(&random), value(&random)] }
        if cell.comparison.hasPrefix("IN") {
            return [cell.isNull ? .null : value(&random), value(&random), value(&random)]
        }
        return [cell.isNull ? .null : value(&random)]
    }

    private func arguments(
        _ values: [Value], _ cell: Cell, _ target: Int, _ random: inout QueryRandom
    ) -> [Constant] {
        var constants: [Constant] = []
        for value in values { constants.append(constant(value, cell.type, target, &random)) }
        let isList = cell.comparison == "BETWEEN" || cell.comparison.hasPrefix("IN")
        return isList ? [.array(constants)] : constants
    }

    /// Values that a path may be compared with.
    private func needles(_ cell: Cell, _ target: Int, _ random: inout QueryRandom) -> [Value] {
        constants(cell, &random) { random in
            var needle = value(cell.type, target, &random)
            if ReferenceValues.isTextual(cell.comparison) {
                // An object is not a pattern.
                while case .typedLink = needle { needle = value(cell.type, target, &random) }
            }
            return needle
        }
    }

    /// A path with a constant.
    private func withConstant(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let path = path(cell, &random)
        let values = needles(cell, path.target, &random)
        var word = ""
        if path.isOfMany {
            word = random.next() % 4 == 0 ? "NONE" : path.isOperator && random.next() % 2 == 0 ? "" : "ANY"
        }
        let text = Self.written(path.text, word, cell.comparison, &random)
        let found = (0..<rowCount).filter { Self.holds(path.ends($0), cell, values) != (word == "NONE") }
        return (text, arguments(values, cell, path.target, &random), found)
    }

    /// The number of objects of a list that match.
    private func ofSubquery(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let path = path(cell, &random)
        let values = needles(cell, path.target, &random)
        let inner = Self.written(path.text, "", cell.comparison, &random)
        let relation = Cell.orders[Int.random(in: Cell.orders.indices, using: &random)]
        let wanted = Int.random(in: 0...2, using: &random)
        let subquery = "SUBQUERY(links, $x, \(inner)).@count"
        let text =
            random.next() % 2 == 0
            ? "\(subquery) \(relation) \(wanted)" : "\(wanted) \(Self.turned[relation] ?? relation) \(subquery)"
        let found = (0..<rowCount).filter { row in
            let count = path.ends(row).count { Self.holds([$0], cell, values) }
            return ReferenceValues.holdsTotal(.int(Int64(count)), relation, .int(Int64(wanted)))
        }
        return (text, arguments(values, cell, path.target, &random), found)
    }

    /// Whether one of the values at the end of a path matches.
    private static func holds(_ ends: [Value], _ cell: Cell, _ values: [Value]) -> Bool {
        func holds(_ end: Value, _ operation: String, _ value: Value) -> Bool {
            ReferenceValues.holds(end, operation, value, isOfAnyType: cell.type == .mixed, isNullLess: true)
        }
        if cell.comparison == "BETWEEN" {
            let (low, high) = (values[0], values[1])
            if [.list, .set, .map].contains(cell.shape) {
                // Over values, each bound is an ANY of its own.
                return ends.contains { holds($0, ">=", low) } && ends.contains { holds($0, "<=", high) }
            }
            return ends.contains { holds($0, ">=", low) && holds($0, "<=", high) }
        }
        if cell.comparison.hasPrefix("IN") {
            let equal = "==\(cell.comparison.dropFirst(2))"
            return ends.contains { end in values.contains { holds(end, equal, $0) } }
        }
        return ends.contains { holds($0, cell.comparison, values[0]) }
    }

    // MARK: With properties

    /// A property, of the object or of its link, compared with another property of the object.
    private func withColumn(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let isLinked = cell.shape == .linkedColumns
        let root = classes[0]
        let number = isLinked ? root.link : 0
        var (left, right) = (isLinked ? "peer" : "twin", "link")
        if cell.type != .link {
            let isLeftIndexed = random.next() % 2 == 0 && Cell.isIndexable(cell.type)
            let isRightIndexed = random.next() % 2 == 0 && Cell.isIndexable(cell.type)
            // Nullable properties always exist.
            let isLeftNullable = cell.isNull || random.next() % 2 == 0
            left = property(cell.type, of: number, isIndexed: isLeftIndexed, isNull: isLeftNullable, &random)
            right = property(cell.type, of: 0, isIndexed: isRightIndexed, isNull: cell.isNull, &random)
        }
        let found = (0..<rowCount).filter { row in
            let end = isLinked ? root.rows[row].link.map { own(number, left, $0) } ?? .null : own(0, left, row)
            return ReferenceValues.holds(
                end, cell.comparison, own(0, right, row), isOfAnyType: cell.type == .mixed)
        }
        return ("\(isLinked ? "link." : "")\(left) \(cell.comparison) \(right)", [], found)
    }

    // MARK: Aggregates

    /// An aggregate over a list or a map of values, or over a property of the objects in a list, and its value for a
    /// row.
    private func figurePath(
        _ cell: Cell, _ figure: String, _ random: inout QueryRandom
    ) -> (text: String, values: (Int) -> [Value]) {
        let root = classes[0]
        let type = cell.type
        switch random.next() % 3 {
        case 0 where type != .link:
            return ("list_\(type).\(figure)", { root.rows[$0].lists[type] ?? [] })
        case 1: return ("map_\(type).\(figure)", { Self.values(root.rows[$0], type) })
        default:
            let number = root.links
            let inner = property(type, of: number, isIndexed: false, isNull: cell.isNull, &random)
            return (
                "links.\(figure)" + (figure == "@count" ? "" : ".\(inner)"),
                { [self] row in root.rows[row].links.map { own(number, inner, $0) } }
            )
        }
    }

    /// Compared with a property of the object, on either side.
    private func withFigure(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let isFirst = random.next() % 2 == 0
        let figure: String
        switch cell.shape {
        case .count: figure = "@count"
        case .extreme: figure = isFirst ? "@min" : "@max"
        default: figure = isFirst ? "@sum" : "@avg"
        }
        let name = property(cell.type, of: 0, isIndexed: false, isNull: cell.isNull, &random)
        let (path, values) = figurePath(cell, figure, &random)
        let turned = Self.turned[cell.comparison] ?? cell.comparison
        let text = random.next() % 3 == 0 ? "\(name) \(turned) \(path)" : "\(path) \(cell.comparison) \(name)"
        let found = (0..<rowCount).filter { row in
            let other = own(0, name, row)
            if cell.shape == .total {
                return ReferenceValues.holdsTotal(ReferenceValues.total(figure, values(row)), cell.comparison, other)
            }
            return ReferenceValues.holds(
                ReferenceValues.figure(figure, values(row), cell.type), cell.comparison, other,
                isOfAnyType: cell.type == .mixed)
        }
        return (text, [], found)
    }

    /// Compared with a constant.
    private func ofFigure(_ cell: Cell, _ random: inout QueryRandom) -> Question {
        let isFirst = random.next() % 2 == 0
        let figure: String
        switch cell.shape {
        case .countOf: figure = "@count"
        case .extremeOf: figure = isFirst ? "@min" : "@max"
        // A sum is never null.
        default: figure = isFirst && !cell.isNull ? "@sum" : "@avg"
        }
        let (path, values) = figurePath(cell, figure, &random)
        let constants = constants(cell, &random) { random in
            switch figure {
            case "@count": return .int(Int64.random(in: 0...3, using: &random))
            case "@min", "@max":
                var value = ReferenceValues.value(cell.type, &random)
                while cell.type == .mixed, !ReferenceValues.isNumber(value) {
                    value = ReferenceValues.value(.mixed, &random)
                }
                return value
            case "@sum" where cell.type == .int: return .int(Int64.random(in: -1...3, using: &random))
            default:
                let doubles: [Double] = [0, 1, 1.5, -1, 0.5, 0.1, 300, 0x1p64, .infinity, .nan]
                return .double(doubles[Int.random(in: doubles.indices, using: &random)])
            }
        }
        let text = Self.written(path, "", cell.comparison, &random)
        let found = (0..<rowCount).filter { row in
            let isTotal = cell.shape != .extremeOf
            let result: Value
            switch (cell.shape, cell.type) {
            case (.totalOf, .decimal128), (.totalOf, .mixed): result = ReferenceValues.decimalTotal(figure, values(row))
            case (.totalOf, _): result = ReferenceValues.total(figure, values(row))
            default: result = ReferenceValues.figure(figure, values(row), cell.type)
            }
            func holds(_ operation: String, _ value: Value) -> Bool {
                isTotal
                    ? ReferenceValues.holdsTotal(result, operation, value)
                    : ReferenceValues.holds(result, operation, value, isOfAnyType: cell.type == .mixed)
            }
            switch cell.comparison {
            case "BETWEEN": return holds(">=", constants[0]) && holds("<=", constants[1])
            case "IN": return constants.contains { holds("==", $0) }
            default: return holds(cell.comparison, constants[0])
            }
        }
        return (text, arguments(constants, cell, 0, &random), found)
    }

    // MARK: Arguments

    /// A constant with this value, links to objects of the class; for decimals sometimes of another type.
    private func constant(
        _ value: Value, _ type: ColumnType, _ target: Int, _ random: inout QueryRandom
    ) -> Constant {
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
                ? ReferenceValues.otherForm(value) : .decimal128(low, high)
        case .link(let key):
            .object(ObjectArgument(table: classes[target].table.definition.key, key: key, className: "Node"))
        case .typedLink(let table, let key):
            .object(ObjectArgument(table: table, key: key, className: "Node"))
        default: .null
        }
    }
}
