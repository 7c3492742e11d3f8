// SPDX-License-Identifier: Apache-2.0
// Random conditions, each as a predicate and in SQL. If SQL's rules differ from those of predicates, the SQL is written
// to have the meaning of the predicate:
//
// - A comparison with NULL is unknown in SQL, and so is its NOT. In predicates it is false, except that = and != treat
// NULL as a value: = is IS, != is IS NOT, the others are put in parentheses before IS TRUE.
// - `<=` and `>=` are true for NULL and NULL, `x IN {NULL, ...}` and `x LIKE NULL` are true for no value.
// - Nothing begins with, ends with or contains the empty text.
// - SQL folds ASCII letters only: [c] is only used on a column that has no others.

import Foundation

/// A condition in both languages.
struct Condition {
    var text: String
    var sql: String
    var arguments: [Any] = []

    static func all(_ parts: [Condition], _ word: String) -> Condition {
        Condition(
            text: "(" + parts.map(\.text).joined(separator: " \(word) ") + ")",
            sql: "(" + parts.map(\.sql).joined(separator: " \(word) ") + ")", arguments: parts.flatMap(\.arguments))
    }

    var negated: Condition { Condition(text: "NOT \(text)", sql: "(NOT \(sql))", arguments: arguments) }
}

/// The start of a key path: the object of the query or an element of its list.
struct Scope {
    var prefix = ""
    var alias = "t"
    var depth = 0

    /// A path from here to a column: direct, or through one or two links.
    func path(_ column: FactColumn, _ random: inout SeededNumbers) -> (text: String, sql: String) {
        let links = random.chance(1, of: 5) ? (random.chance(1, of: 4) ? 2 : 1) : 0
        let name = column.name
        switch links {
        case 0: return (prefix + name, "\(alias).\(name)")
        case 1: return (prefix + "link." + name, "(SELECT x.\(name) FROM fact x WHERE x.id = \(alias).link)")
        default:
            let far = "(SELECT y.link FROM fact y WHERE y.id = \(alias).link)"
            return (prefix + "link.link." + name, "(SELECT x.\(name) FROM fact x WHERE x.id = \(far))")
        }
    }
}

struct ConditionMaker {
    var random: SeededNumbers

    /// A condition of at most this many levels of AND, OR and NOT.
    mutating func condition(_ levels: Int, _ scope: Scope = Scope()) -> Condition {
        if levels > 0, random.chance(3, of: 5) {
            let parts = (0..<Int.random(in: 2...3, using: &random)).map { _ in condition(levels - 1, scope) }
            let whole = Condition.all(parts, random.chance(1, of: 2) ? "AND" : "OR")
            return random.chance(1, of: 4) ? whole.negated : whole
        }
        let atom = atom(scope)
        return random.chance(1, of: 5) ? atom.negated : atom
    }

    private mutating func atom(_ scope: Scope) -> Condition {
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            return random.chance(1, of: 2)
                ? Condition(text: "TRUEPREDICATE", sql: "1") : Condition(text: "FALSEPREDICATE", sql: "0")
        case 1, 2: return columns(scope)
        case 3, 4: return scope.depth == 0 ? anyFriend(scope) : comparison(scope)
        case 5, 6: return scope.depth == 0 ? figure(scope) : comparison(scope)
        case 7: return scope.depth == 0 ? subquery(scope) : comparison(scope)
        default: return comparison(scope)
        }
    }

    // MARK: A column and a value

    private mutating func comparison(_ scope: Scope) -> Condition {
        let column = random.pick(FactColumn.all)
        let path = scope.path(column, &random)
        return comparison(column, path.text, path.sql)
    }

    private mutating func comparison(_ column: FactColumn, _ text: String, _ sql: String) -> Condition {
        if column.isText, random.chance(1, of: 2) { return words(column, text, sql) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return membership(column, text, sql)
        case 1 where column.isNumber || column.type == .date:
            let (low, high) = (FactValue.random(column.type, &random), FactValue.random(column.type, &random))
            return Condition(
                text: "\(text) BETWEEN {%@, %@}", sql: "((\(sql) BETWEEN \(low.sql) AND \(high.sql)) IS TRUE)",
                arguments: [low.value as Any, high.value as Any])
        default:
            let sign = random.pick(column.type == .bool ? ["==", "!="] : ["==", "!=", "<", "<=", ">", ">="])
            let isNone = column.isOptional && random.chance(1, of: 6)
            let value = isNone ? .none : FactValue.random(column.type, &random)
            return Condition(
                text: isNone ? "\(text) \(sign) NULL" : "\(text) \(sign) %@",
                sql: isNone && column.isText ? Self.comparedWithNull(sql, sign) : Self.compared(sql, sign, value.sql),
                arguments: isNone ? [] : [value.value as Any])
        }
    }

    /// `left sign right` by the predicates' rules for NULL.
    static func compared(_ left: String, _ sign: String, _ right: String) -> String {
        switch sign {
        case "==": "(\(left) IS \(right))"
        case "!=": "(\(left) IS NOT \(right))"
        case "<=", ">=": "((\(left) \(sign) \(right)) IS TRUE OR (\(left) IS NULL AND \(right) IS NULL))"
        default: "((\(left) \(sign) \(right)) IS TRUE)"
        }
    }

    /// The comparison of a text with null, which is less than every text.
    private static func comparedWithNull(_ left: String, _ sign: String) -> String {
        switch sign {
        case "==", "<=": "(\(left) IS NULL)"
        case "!=", ">": "(\(left) IS NOT NULL)"
        case ">=": "1"
        default: "0"
        }
    }

    private mutating func membership(_ column: FactColumn, _ text: String, _ sql: String) -> Condition {
        // Sometimes so many that a hash table pays off.
        let count = random.chance(1, of: 8) ? 40 : Int.random(in: 0...4, using: &random)
        var values = (0..<count).map { _ in FactValue.random(column.type, &random) }
        let list = "(\(values.map(\.sql).joined(separator: ", ")))"
        var found = "((\(sql) IN \(list)) IS TRUE)"
        if column.isOptional, random.chance(1, of: 4) {
            values.append(.none)
            found = "(\(found) OR \(sql) IS NULL)"
        }
        return Condition(text: "\(text) IN %@", sql: found, arguments: [values.map { $0.value ?? NSNull() }])
    }

    private mutating func words(_ column: FactColumn, _ text: String, _ sql: String) -> Condition {
        let folds = column.type == .ascii && random.chance(1, of: 2)
        let word = FactValue.word(column.type, random.chance(1, of: 10) ? 0...0 : 1...3, &random)
        let left = folds ? "lower(\(sql))" : sql
        let right = folds ? "lower(\(FactValue.quoted(word)))" : FactValue.quoted(word)
        let mark = folds ? "[c]" : ""
        let isNone = column.isOptional && random.chance(1, of: 10)
        func made(_ name: String, _ found: String) -> Condition {
            if isNone { return Condition(text: "\(text) \(name) NULL", sql: "0") }
            return Condition(
                text: "\(text) \(name)\(mark) %@", sql: word.isEmpty ? "0" : "((\(found)) IS TRUE)", arguments: [word])
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return made("BEGINSWITH", "substr(\(left), 1, length(\(right))) = \(right)")
        case 1: return made("ENDSWITH", "substr(\(left), -length(\(right))) = \(right)")
        case 2: return made("CONTAINS", "instr(\(left), \(right)) > 0")
        case 3:
            return Condition(
                text: "\(text) ==\(mark) %@", sql: Self.compared(left, "==", right), arguments: [word])
        default: return like(column, text, sql, folds)
        }
    }

    /// LIKE is SQL's GLOB; LIKE[c] is SQL's LIKE, whose wildcards differ.
    private mutating func like(_ column: FactColumn, _ text: String, _ sql: String, _ folds: Bool) -> Condition {
        if column.isOptional, random.chance(1, of: 8) {
            return Condition(text: "\(text) LIKE NULL", sql: "(\(sql) IS NULL)")
        }
        var pattern = ""
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            pattern += random.chance(1, of: 2) ? random.pick(["*", "?"]) : FactValue.word(column.type, 1...1, &random)
        }
        let other = pattern.replacingOccurrences(of: "*", with: "%").replacingOccurrences(of: "?", with: "_")
        let found = folds ? "\(sql) LIKE \(FactValue.quoted(other))" : "\(sql) GLOB \(FactValue.quoted(pattern))"
        return Condition(
            text: "\(text) LIKE\(folds ? "[c]" : "") %@", sql: "((\(found)) IS TRUE)", arguments: [pattern])
    }

    /// Two columns of one type.
    private mutating func columns(_ scope: Scope) -> Condition {
        let left = random.pick(FactColumn.all)
        let right = random.pick(FactColumn.all.filter { $0.type == left.type })
        let (a, b) = (scope.path(left, &random), scope.path(right, &random))
        let isOrdered = left.isNumber || left.type == .date
        let sign = random.pick(isOrdered ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="])
        return Condition(text: "\(a.text) \(sign) \(b.text)", sql: Self.compared(a.sql, sign, b.sql))
    }

    // MARK: Lists

    private func friends(_ scope: Scope, _ condition: String, _ answer: String = "1") -> String {
        "SELECT \(answer) FROM friends l JOIN fact f ON f.id = l.target WHERE l.owner = \(scope.alias).id AND \(condition)"
    }

    private mutating func anyFriend(_ scope: Scope) -> Condition {
        let column = random.pick(FactColumn.all)
        let word = random.pick(["ANY", "SOME", "NONE"])
        let one = comparison(column, "\(scope.prefix)friends.\(column.name)", "f.\(column.name)")
        return Condition(
            text: "\(word) \(one.text)", sql: "(\(word == "NONE" ? "NOT " : "")EXISTS(\(friends(scope, one.sql))))",
            arguments: one.arguments)
    }

    private mutating func figure(_ scope: Scope) -> Condition {
        let column = random.pick(
            FactColumn.all.filter { $0.isNumber && $0.name != "id" && $0.name != "whole" && $0.name != "part" })
        let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
        let path = "\(scope.prefix)friends"
        if random.chance(2, of: 5) {
            let count = Int.random(in: 0...4, using: &random)
            return Condition(
                text: "\(path).@count \(sign) \(count)", sql: "((\(friends(scope, "1", "count(*)"))) \(sign) \(count))")
        }
        let (name, function) = random.pick([("@min", "min"), ("@max", "max"), ("@sum", "total"), ("@avg", "avg")])
        let value = FactValue.random(.double, &random)
        let answer = "(\(friends(scope, "1", "\(function)(f.\(column.name))")))"
        return Condition(
            text: "\(path).\(name).\(column.name) \(sign) %@", sql: Self.compared(answer, sign, value.sql),
            arguments: [value.value as Any])
    }

    private mutating func subquery(_ scope: Scope) -> Condition {
        let inner = condition(1, Scope(prefix: "$f.", alias: "f", depth: 1))
        let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
        let count = Int.random(in: 0...3, using: &random)
        return Condition(
            text: "SUBQUERY(\(scope.prefix)friends, $f, \(inner.text)).@count \(sign) \(count)",
            sql: "((\(friends(scope, inner.sql, "count(*)"))) \(sign) \(count))", arguments: inner.arguments)
    }
}
