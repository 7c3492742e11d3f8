// SPDX-License-Identifier: Apache-2.0
// Random queries, as text, compared with a naive evaluation.

import Foundation
import RealmSwift
import Testing

private typealias Row = QueryModels.Row
private typealias Target = QueryModels.Target

/// A condition, as text and as a function over an object that implements the contract.
private struct Condition {
    let text: String
    let arguments: [Any]
    let holds: (Row) -> Bool
}

/// Makes random conditions.
private struct Questioner {
    var random: SplitMix

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func pick<T>(_ values: [T]) -> T { values[int(0...values.count - 1)] }

    mutating func condition(_ depth: Int) -> Condition {
        guard depth > 0, int(0...2) > 0 else { return leaf() }
        let left = condition(depth - 1)
        switch int(0...2) {
        case 0: return Condition(text: "NOT (\(left.text))", arguments: left.arguments) { !left.holds($0) }
        case 1:
            let right = condition(depth - 1)
            return Condition(
                text: "(\(left.text) AND \(right.text))", arguments: left.arguments + right.arguments
            ) {
                left.holds($0) && right.holds($0)
            }
        default:
            let right = condition(depth - 1)
            return Condition(
                text: "(\(left.text) OR \(right.text))", arguments: left.arguments + right.arguments
            ) {
                left.holds($0) || right.holds($0)
            }
        }
    }

    static let operators = ["==", "!=", "<", "<=", ">", ">="]

    /// The rules for nulls: only equality matches them, and two nulls are equal, even for `<=` and `>=`.
    static func compare<T: Comparable>(_ left: T?, _ name: String, _ right: T?) -> Bool {
        switch name {
        case "==": return left == right
        case "!=": return left != right
        default: break
        }
        guard let left, let right else { return left == nil && right == nil && name.count == 2 }
        switch name {
        case "<": return left < right
        case "<=": return left <= right
        case ">": return left > right
        default: return left >= right
        }
    }

    mutating func leaf() -> Condition {
        switch int(0...12) {
        case 0, 1: return integers()
        case 2: return reals()
        case 3, 4: return texts()
        case 5: return sets()
        case 6: return flags()
        case 7: return between()
        case 8: return linked()
        case 9: return counted()
        case 10: return anyLink()
        case 11: return anyMark()
        default: return columns()
        }
    }

    mutating func integers() -> Condition {
        let name = pick(Self.operators)
        let value = int(-4...4)
        let (property, get): (String, (Row) -> Int?) = pick([
            ("a", { $0.a }), ("b", { $0.b }), ("c", { Int($0.c) }), ("link.a", { $0.link?.a }),
        ])
        if property != "b", property != "c", int(0...5) == 0 {
            return Condition(text: "\(property) \(name) NULL", arguments: []) {
                Self.compare(get($0), name, nil)
            }
        }
        return Condition(text: "\(property) \(name) %@", arguments: [value]) {
            Self.compare(get($0), name, value)
        }
    }

    mutating func reals() -> Condition {
        let name = pick(Self.operators)
        let value = Double(int(-4...4)) / 2
        if int(0...1) == 0 {
            return Condition(text: "f \(name) %@", arguments: [value]) {
                Self.compare($0.f, name, Float(value))
            }
        }
        return Condition(text: "d \(name) \(value)", arguments: []) { row in
            guard let d = row.d, d.isNaN else { return Self.compare(row.d, name, value) }
            // NaN is less than everything.
            return ["<", "<=", "!="].contains(name)
        }
    }

    mutating func texts() -> Condition {
        let (property, get): (String, (Row) -> String?) = pick([
            ("text", { $0.text }), ("word", { $0.word }), ("link.text", { $0.link?.text }),
        ])
        let value = pick(["", "a", "A", "ab", "b", "ba", "É", "aé"])
        let folds = int(0...1) == 0
        func fold(_ text: String) -> [UInt8] { Array((folds ? text.lowercased() : text).utf8) }
        let name = pick(["==", "!=", "<", ">=", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE"])
        if ["<", ">="].contains(name) {
            return Condition(text: "\(property) \(name) %@", arguments: [value]) { row in
                guard let found = get(row).map({ Array($0.utf8) }) else { return false }
                return found.lexicographicallyPrecedes(Array(value.utf8)) == (name == "<")
            }
        }
        let wanted = fold(value)
        let text = "\(property) \(name)\(folds ? "[c]" : "") %@"
        if name == "LIKE" {
            let (before, after) = (fold(pick(["", "a", "b"])), fold(pick(["", "a", "É"])))
            let pattern =
                String(decoding: before, as: UTF8.self) + "*" + String(decoding: after, as: UTF8.self)
            return Condition(text: text, arguments: [pattern]) { row in
                guard let found = get(row).map(fold) else { return false }
                return found.count >= before.count + after.count && found.starts(with: before)
                    && found.reversed().starts(with: after.reversed())
            }
        }
        return Condition(text: text, arguments: [value]) { row in
            guard let found = get(row).map(fold) else { return name == "!=" }
            switch name {
            case "==": return found == wanted
            case "!=": return found != wanted
            case "BEGINSWITH": return !wanted.isEmpty && found.starts(with: wanted)
            case "ENDSWITH": return !wanted.isEmpty && found.reversed().starts(with: wanted.reversed())
            default:
                return !wanted.isEmpty && found.indices.contains { found[$0...].starts(with: wanted) }
            }
        }
    }

    mutating func sets() -> Condition {
        if int(0...1) == 0 {
            let values: [Int?] = (0..<int(0...4)).map { _ in int(-4...4) } + (int(0...2) == 0 ? [nil] : [])
            return Condition(text: "a IN %@", arguments: [values]) { values.contains($0.a) }
        }
        let values = (0..<int(0...3)).map { _ in pick(["", "a", "A", "ab", "b"]) }
        return Condition(text: "word IN %@", arguments: [values]) { row in
            values.contains { Array($0.utf8) == Array(row.word.utf8) }
        }
    }

    mutating func flags() -> Condition {
        let name = pick(["==", "!="])
        let value: Bool? = pick([true, false, nil])
        return Condition(text: "flag \(name) %@", arguments: [value as Any]) {
            ($0.flag == value) == (name == "==")
        }
    }

    mutating func between() -> Condition {
        let low = int(-4...2)
        let high = int(-2...4)
        if int(0...1) == 0 {
            let dates = [Date(timeIntervalSince1970: Double(low)), Date(timeIntervalSince1970: Double(high))]
            return Condition(text: "date BETWEEN {%@, %@}", arguments: dates) { row in
                row.date.map { dates[0] <= $0 && $0 <= dates[1] } ?? false
            }
        }
        return Condition(text: "a BETWEEN {\(low), \(high)}", arguments: []) { row in
            row.a.map { low <= $0 && $0 <= high } ?? false
        }
    }

    mutating func linked() -> Condition {
        let name = pick(["==", "!="])
        return Condition(text: "link \(name) NULL", arguments: []) { ($0.link == nil) == (name == "==") }
    }

    mutating func counted() -> Condition {
        let name = pick(Self.operators)
        let value = int(0...4)
        switch int(0...4) {
        case 0:
            return Condition(text: "links.@count \(name) \(value)", arguments: []) {
                Self.compare($0.links.count, name, value)
            }
        case 1:
            return Condition(text: "links.@sum.a \(name) \(value)", arguments: []) {
                Self.compare($0.links.compactMap(\.a).reduce(0, +), name, value)
            }
        case 2:
            return Condition(text: "links.@max.a \(name) \(value)", arguments: []) {
                Self.compare($0.links.compactMap(\.a).max(), name, value)
            }
        case 3:
            return Condition(text: "marks.@min \(name) \(value)", arguments: []) {
                Self.compare($0.marks.compactMap { $0 }.min(), name, value)
            }
        default:
            return Condition(text: "SUBQUERY(links, $x, $x.a \(name) \(value)).@count >= 1", arguments: []) {
                row in
                row.links.contains { Self.compare($0.a, name, value) }
            }
        }
    }

    mutating func anyLink() -> Condition {
        let name = pick(Self.operators)
        let value = int(-4...4)
        let word = pick(["ANY", "NONE"])
        return Condition(text: "\(word) links.a \(name) \(value)", arguments: []) { row in
            row.links.contains { Self.compare($0.a, name, value) } == (word == "ANY")
        }
    }

    mutating func anyMark() -> Condition {
        let name = pick(Self.operators)
        let value: Int? = int(0...4) == 0 ? nil : int(-4...4)
        return Condition(text: "ANY marks \(name) %@", arguments: [value as Any]) { row in
            row.marks.contains { Self.compare($0, name, value) }
        }
    }

    mutating func columns() -> Condition {
        let name = pick(Self.operators)
        return Condition(text: "a \(name) b", arguments: []) { Self.compare($0.a, name, $0.b) }
    }

    mutating func row(_ id: Int) -> [String: Any?] {
        func text() -> String { (0..<int(0...3)).map { _ in pick(["a", "A", "b", "é", "É"]) }.joined() }
        func maybe<T>(_ value: T) -> T? { int(0...3) == 0 ? nil : value }
        let targets = (0..<int(0...3)).map { _ in
            ["a": maybe(int(-4...4)), "text": maybe(text())] as [String: Any?]
        }
        return [
            "id": id, "a": maybe(int(-4...4)), "b": int(-4...4), "c": int(-4...4),
            "d": maybe(int(0...8) == 0 ? Double.nan : Double(int(-4...4)) / 2), "f": Float(int(-4...4)) / 2,
            "text": maybe(text()), "word": text(), "flag": maybe(int(0...1) == 0),
            "date": maybe(Date(timeIntervalSince1970: Double(int(-4...4)))), "links": targets,
            "link": maybe(["a": maybe(int(-4...4)), "text": maybe(text())] as [String: Any?]),
            "marks": (0..<int(0...3)).map { _ in maybe(int(-4...4)) },
        ]
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

@Suite("Random queries")
struct RandomQuestionTests {
    @Test("Random queries find the same objects as a naive evaluation, while the data changes")
    func differential() throws {
        let environment = ProcessInfo.processInfo.environment
        let cases = environment["REGNUM_QUERY_CASES"].flatMap { Int($0) } ?? 3000
        let seed =
            environment["REGNUM_QUERY_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
        var questioner = Questioner(random: SplitMix(state: seed))
        let realm = try memoryRealm(Row.self, Target.self)
        let all = realm.objects(Row.self)
        try realm.write { for id in 0..<60 { realm.create(Row.self, value: questioner.row(id)) } }
        var rows = Array(all)
        for number in 0..<cases {
            if number % 20 == 19 {
                realm.beginWrite()
                if number % 40 == 19 {
                    for _ in 0..<10 {
                        realm.create(
                            Row.self, value: questioner.row(questioner.int(0...79)), update: .modified)
                    }
                } else {
                    for _ in 0..<5 where !all.isEmpty { realm.delete(all[questioner.int(0...all.count - 1)]) }
                }
                rows = Array(all)
            }
            let condition = questioner.condition(3)
            let expected = rows.filter { condition.holds($0) }.map(\.id)
            let results = all.filter(NSPredicate(format: condition.text, argumentArray: condition.arguments))
            let found = number % 2 == 0 ? Array(results.map(\.id)) : []
            #expect(results.count == expected.count, "seed \(seed): \(condition.text) \(condition.arguments)")
            #expect(results.first?.id == expected.first)
            let listed = number % 2 == 0 ? found : Array(results.map(\.id))
            #expect(
                listed == expected,
                "seed \(seed), question \(number): \(condition.text) \(condition.arguments)")
            if listed != expected { break }
            if number % 10 == 3 {
                let sorted = results.sorted(byKeyPath: "b").map(\.id)
                let byHand = expected.enumerated().sorted { left, right in
                    let b = { (id: Int) in rows.first { $0.id == id }?.b ?? 0 }
                    return (b(left.element), left.offset) < (b(right.element), right.offset)
                }
                #expect(Array(sorted) == byHand.map(\.element), "seed \(seed), sorted: \(condition.text)")
                #expect(results.sum(of: \.b) == rows.filter { condition.holds($0) }.map(\.b).reduce(0, +))
            }
            if number % 20 == 1, realm.isInWriteTransaction { try realm.commitWrite() }
        }
        if realm.isInWriteTransaction { try realm.commitWrite() }
    }
}
