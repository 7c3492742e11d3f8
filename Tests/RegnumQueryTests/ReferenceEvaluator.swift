// SPDX-License-Identifier: Apache-2.0
// People as plain Swift values, and predicates evaluated over them directly from their text: slow, and written
// independently of the executor.

import RegnumEngine
import RegnumQuery

struct Person {
    var values: [String: Value] = [:]
    var friend: Int?
    var friends: [Int] = []
    var numbers: [Value] = []
    var tags: [Value] = []
}

struct ReferenceEvaluator {
    var people: [Person]

    func matches(_ predicate: Predicate, _ row: Int) -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return parts.allSatisfy { matches($0, row) }
        case .or(let parts): return parts.contains { matches($0, row) }
        case .not(let part): return !matches(part, row)
        case .pieces, .piece: preconditionFailure("a predicate that is nested so deeply is not made here")
        case .comparison(let comparison):
            let found = compare(comparison, row)
            return comparison.modifier == .none ? !found : found
        }
    }

    private func compare(_ comparison: Comparison, _ row: Int) -> Bool {
        if case .subquery(let path, _, let predicate, _) = comparison.left,
            case .constant(let constant) = comparison.right
        {
            let rows = objects(path.segments.map(\.name)[...], [row])
            return test(.int(Int64(rows.count { matches(predicate, $0) })), comparison, constant)
        }
        guard case .keyPath(let path) = comparison.left else { return false }
        let names = path.segments.map(\.name)
        if case .keyPath(let other) = comparison.right {
            let left = values(names, row)[0]
            let right = values(other.segments.map(\.name), row)[0]
            if left == .null || right == .null {
                return (left == right) == (comparison.comparison != .notEqual)
                    && !isStrict(comparison.comparison)
            }
            return test(left, comparison.comparison, right, comparison.options)
        }
        guard case .constant(let constant) = comparison.right else { return false }
        if let at = names.firstIndex(where: { $0.hasPrefix("@") }) {
            return test(aggregate(names, at, row), comparison, constant)
        }
        return values(names, row).contains { test($0, comparison, constant) }
    }

    private func isStrict(_ comparison: ComparisonOperator) -> Bool {
        comparison == .less || comparison == .greater
    }

    // MARK: Paths

    private func isToMany(_ name: String) -> Bool {
        ["friends", "parents", "numbers", "tags"].contains(name)
    }

    private func objects(_ names: ArraySlice<String>, _ rows: [Int]) -> [Int] {
        guard let name = names.first else { return rows }
        let next: [Int]
        switch name {
        case "friend": next = rows.compactMap { people[$0].friend }
        case "friends": next = rows.flatMap { people[$0].friends }
        default: next = rows.flatMap { row in people.indices.filter { people[$0].friend == row } }
        }
        return objects(names.dropFirst(), next)
    }

    private func values(_ names: [String], _ row: Int) -> [Value] {
        let last = names[names.count - 1]
        if last == "friend" || last == "friends" || last == "parents" {
            let found = objects(names[...], [row]).map { Value.link(ObjectKey(UInt64($0 + 1))) }
            return found.isEmpty && !names.contains(where: isToMany) ? [.null] : found
        }
        let rows = objects(names.dropLast(), [row])
        if rows.isEmpty, !names.contains(where: isToMany) { return [.null] }
        return rows.flatMap { row -> [Value] in
            switch last {
            case "numbers": people[row].numbers
            case "tags": people[row].tags
            default: [people[row].values[last] ?? .null]
            }
        }
    }

    private func aggregate(_ names: [String], _ at: Int, _ row: Int) -> Value {
        let found: [Value]
        if names[at - 1] == "numbers" || names[at - 1] == "tags" {
            found = values(Array(names[..<at]), row)
        } else {
            found = objects(names[..<at], [row]).map {
                at + 1 < names.count ? people[$0].values[names[at + 1]] ?? .null : .int(0)
            }
        }
        if names[at] == "@count" { return .int(Int64(found.count)) }
        let numbers = found.filter { if case .double(let value) = $0 { !value.isNaN } else { $0 != .null } }
        let doubles = numbers.map { value -> Double in
            switch value {
            case .int(let number): Double(number)
            case .double(let number): number
            default: 0
            }
        }
        switch names[at] {
        case "@min": return numbers.min { order($0, $1) < 0 } ?? .null
        case "@max": return numbers.max { order($0, $1) < 0 } ?? .null
        case "@sum": return .double(doubles.reduce(0, +))
        default: return doubles.isEmpty ? .null : .double(doubles.reduce(0, +) / Double(doubles.count))
        }
    }

    // MARK: Values

    private func value(_ constant: Constant) -> Value {
        switch constant {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .date(let value): .date(value)
        case .object(let object): .link(object.key)
        default: .null
        }
    }

    private func test(_ found: Value, _ comparison: Comparison, _ constant: Constant) -> Bool {
        if case .array(let constants) = constant {
            if comparison.comparison == .in {
                return constants.contains { test(found, .equal, value($0), comparison.options) }
            }
            return test(found, .greaterOrEqual, value(constants[0]), [])
                && test(found, .lessOrEqual, value(constants[1]), [])
        }
        return test(found, comparison.comparison, value(constant), comparison.options)
    }

    func order(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.int(let a), .int(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.int(let a), _): return order(.double(Double(a)), b)
        case (_, .int(let b)): return order(a, .double(Double(b)))
        case (.float(let a), .double(let b)): return order(.double(Double(a)), .double(Double(Float(b))))
        case (.float(let a), .float(let b)): return order(.double(Double(a)), .double(Double(b)))
        case (.double(let a), .double(let b)):
            if a.isNaN || b.isNaN { return (a.isNaN ? 0 : 1) - (b.isNaN ? 0 : 1) }
            return a < b ? -1 : a > b ? 1 : 0
        case (.date(let a), .date(let b)): return a < b ? -1 : b < a ? 1 : 0
        case (.bool(let a), .bool(let b)): return (a ? 1 : 0) - (b ? 1 : 0)
        case (.string(let a), .string(let b)):
            let (x, y) = (Array(a.utf8), Array(b.utf8))
            return x == y ? 0 : x.lexicographicallyPrecedes(y) ? -1 : 1
        case (.null, .null): return 0
        case (.null, _): return -1
        case (_, .null): return 1
        default: return a == b ? 0 : 1
        }
    }

    private func test(
        _ found: Value, _ comparison: ComparisonOperator, _ value: Value, _ options: ComparisonOptions
    ) -> Bool {
        if found == .null || value == .null {
            // Null is less than each text.
            if case .string = found, comparison == .greater || comparison == .greaterOrEqual { return true }
            switch comparison {
            case .equal, .lessOrEqual, .greaterOrEqual, .like: return found == value
            case .notEqual: return found != value
            default: return false
            }
        }
        if case .string(let found) = found, case .string(let value) = value {
            return test(folded(found, options), comparison, folded(value, options))
        }
        var found = found
        if case .bool(let flag) = found, case .int = value { found = .int(flag ? 1 : 0) }
        let order = order(found, value)
        switch comparison {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        default: return order >= 0
        }
    }

    private func test(_ found: [UInt8], _ comparison: ComparisonOperator, _ value: [UInt8]) -> Bool {
        switch comparison {
        case .equal: return found == value
        case .notEqual: return found != value
        case .less: return found.lexicographicallyPrecedes(value)
        case .lessOrEqual: return !value.lexicographicallyPrecedes(found)
        case .greater: return value.lexicographicallyPrecedes(found)
        case .greaterOrEqual: return !found.lexicographicallyPrecedes(value)
        case .beginsWith: return !value.isEmpty && found.starts(with: value)
        case .endsWith: return !value.isEmpty && found.reversed().starts(with: value.reversed())
        case .contains: return !value.isEmpty && found.indices.contains { found[$0...].starts(with: value) }
        default:
            // LIKE of plain text between optional stars, the only form that the tests use.
            var core = value[...]
            let isOpenAtStart = core.first == 0x2A
            if isOpenAtStart { core = core.dropFirst() }
            let isOpenAtEnd = core.last == 0x2A
            if isOpenAtEnd { core = core.dropLast() }
            if isOpenAtStart, isOpenAtEnd {
                return core.isEmpty || found.indices.contains { found[$0...].starts(with: core) }
            }
            if isOpenAtStart { return found.reversed().starts(with: core.reversed()) }
            return isOpenAtEnd ? found.starts(with: core) : found == Array(core)
        }
    }

    /// The tests' alphabet is small enough to spell folding out.
    private func folded(_ text: String, _ options: ComparisonOptions) -> [UInt8] {
        var folded = ""
        for character in text {
            var next = character
            if options.contains(.diacriticInsensitive) {
                next = ["é": "e", "É": "E", "ü": "u", "Ü": "U"][next] ?? next
                if options.contains(.caseInsensitive), next == "Я" { next = "я" }
            }
            if options.contains(.caseInsensitive), next != "Я" { next = Character(next.lowercased()) }
            folded.append(next)
        }
        return Array(folded.utf8)
    }
}
