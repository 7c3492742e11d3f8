// SPDX-License-Identifier: Apache-2.0
// Aggregates, counts of subqueries, sets, maps and values of any type: text and type-safe queries compared with plain
// Swift over the same objects, on random data in small ranges, so that equal values and empty collections are common.

import Foundation
import RealmSwift
import Testing

enum SpellingModels {
    class Part: Object {
        @Persisted var n = 0
        @Persisted var weight: Double?
        @Persisted var name = ""
    }
    class Row: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var n = 0
        @Persisted var parts: List<Part>
        @Persisted var partSet: MutableSet<Part>
        @Persisted var ints: List<Int>
        @Persisted var optionals: List<Int?>
        @Persisted var intSet: MutableSet<Int>
        @Persisted var words: MutableSet<String>
        @Persisted var scores: Map<String, Int>
        @Persisted var notes: Map<String, String?>
        @Persisted var any: AnyRealmValue
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var next: Row?
        @Persisted(originProperty: "next") var before: LinkingObjects<Row>
    }
    static let words = ["", "a", "A", "ab", "b"]
}

private typealias Row = SpellingModels.Row
private typealias Part = SpellingModels.Part

/// One query in three forms; `k` is a number and `w` a word that it uses.
private struct Spelling: Sendable {
    let text: String
    let arguments: @Sendable (Int, String) -> [any Sendable]
    let query: @Sendable (Query<Row>, Int, String) -> Query<Bool>
    let plain: @Sendable (Row, Int, String) -> Bool

    /// Inserts the number for each placeholder.
    static func number(
        _ text: String, _ query: @escaping @Sendable (Query<Row>, Int) -> Query<Bool>,
        _ plain: @escaping @Sendable (Row, Int) -> Bool
    ) -> Spelling {
        Spelling(text: text, arguments: { k, _ in [k, k, k] }, query: { row, k, _ in query(row, k) }) { row, k, _ in
            plain(row, k)
        }
    }

    static func word(
        _ text: String, _ query: @escaping @Sendable (Query<Row>, String) -> Query<Bool>,
        _ plain: @escaping @Sendable (Row, String) -> Bool
    ) -> Spelling {
        Spelling(text: text, arguments: { _, w in [w, w, w] }, query: { row, _, w in query(row, w) }) { row, _, w in
            plain(row, w)
        }
    }

    static let collections: [Spelling] = [
        .number("parts.@count > %@", { $0.parts.count > $1 }, { $0.parts.count > $1 }),
        .number("partSet.@count == %@", { $0.partSet.count == $1 }, { $0.partSet.count == $1 }),
        .number("ints.@sum >= %@", { $0.ints.sum >= $1 }, { $0.ints.reduce(0, +) >= $1 }),
        .number("ints.@min == %@", { $0.ints.min == $1 }, { $0.ints.min() == $1 }),
        .number(
            "intSet.@max < %@", { $0.intSet.max < $1 },
            { $0.intSet.max().map { $0 < 0 } != nil && $0.intSet.max()! < $1 }),
        .number(
            "parts.@sum.n == %@", { $0.parts.n.sum == $1 }, { $0.parts.map(\.n).reduce(0, +) == $1 }),
        .number(
            "partSet.@max.n > %@", { $0.partSet.n.max > $1 },
            { $0.partSet.contains { $0.n >= 0 } && $0.partSet.map(\.n).max()! > $1 }),
        .number(
            "parts.@avg.n > %@", { $0.parts.n.avg > $1 },
            { row, k in
                !row.parts.isEmpty && Double(row.parts.map(\.n).reduce(0, +)) / Double(row.parts.count) > Double(k)
            }),
        .number("ANY ints == %@", { $0.ints == $1 }, { $0.ints.contains($1) }),
        .number("%@ IN intSet", { $0.intSet.contains($1) }, { $0.intSet.contains($1) }),
        .number("NONE ints > %@", { !($0.ints > $1) }, { row, k in !row.ints.contains { $0 > k } }),
        .number("ANY optionals != %@", { $0.optionals != $1 }, { row, k in row.optionals.contains { $0 != k } }),
        .number(
            "ANY ints IN {%@, 9}", { $0.ints.containsAny(in: [$1, 9]) },
            { row, k in row.ints.contains { $0 == k || $0 == 9 } }),
        .number("ANY parts.n >= %@", { $0.parts.n >= $1 }, { row, k in row.parts.contains { $0.n >= k } }),
        .number("ANY partSet.n < %@", { $0.partSet.n < $1 }, { row, k in row.partSet.contains { $0.n < k } }),
        .word("ANY words == %@", { $0.words == $1 }, { $0.words.contains($1) }),
        .word(
            "ANY parts.name BEGINSWITH %@", { $0.parts.name.starts(with: $1) },
            { row, w in !w.isEmpty && row.parts.contains { $0.name.hasPrefix(w) } }),
        .number(
            "SUBQUERY(parts, $p, $p.n > %@).@count >= 2", { ($0.parts.n > $1).count >= 2 },
            { row, k in row.parts.filter { $0.n > k }.count >= 2 }),
        .number(
            "SUBQUERY(partSet, $p, $p.n == %@ AND $p.weight != NULL).@count == 0",
            { ($0.partSet.n == $1 && $0.partSet.weight != nil).count == 0 },
            { row, k in !row.partSet.contains { $0.n == k && $0.weight != nil } }),
        .number(
            "SUBQUERY(before, $b, $b.n < %@).@count > 0", { ($0.before.n < $1).count > 0 },
            { row, k in row.before.contains { $0.n < k } }),
        .number("before.@count == %@", { $0.before.count == $1 }, { $0.before.count == $1 }),
        .number("ints.@count == n", { row, _ in row.ints.count == row.n }, { row, _ in row.ints.count == row.n }),
    ]

    static let mapsAndAny: [Spelling] = [
        .number("scores['a'] == %@", { $0.scores["a"] == $1 }, { $0.scores["a"] == $1 }),
        .number("scores['a'] > %@", { $0.scores["a"] > $1 }, { row, k in row.scores["a"].map { $0 > k } ?? false }),
        .number("ANY scores.@allValues == %@", { $0.scores.values == $1 }, { $0.scores.values.contains($1) }),
        .word("ANY scores.@allKeys == %@", { $0.scores.keys == $1 }, { $0.scores.keys.contains($1) }),
        .word("notes['b'] == %@", { $0.notes["b"] == $1 }, { ($0.notes["b"] ?? nil) == $1 }),
        .word(
            "notes['b'] == NULL OR 'x' == notes['none'] OR notes['b'] == %@",
            { $0.notes["b"] == nil || $0.notes["b"] == $1 },
            { ($0.notes["b"] ?? nil) == nil || ($0.notes["b"] ?? nil) == $1 }),
        .number("scores.@sum <= %@", { $0.scores.sum <= $1 }, { $0.scores.values.reduce(0, +) <= $1 }),
        .number("scores.@count == %@", { $0.scores.count == $1 }, { $0.scores.count == $1 }),
        .number("any == %@", { $0.any == .int($1) }, { $0.any == .int($1) || $0.any == .double(Double($1)) }),
        .number(
            "any > %@", { $0.any > .int($1) },
            { row, k in
                switch row.any {
                case .int(let value): value > k
                case .double(let value): value > Double(k)
                default: false
                }
            }),
        .word("any == %@", { $0.any == .string($1) }, { $0.any == .string($1) }),
        .word("any != %@", { $0.any != .string($1) }, { $0.any != .string($1) }),
        .word(
            "any BEGINSWITH %@", { $0.any.starts(with: .string($1)) },
            { row, w in
                if case .string(let text) = row.any { !w.isEmpty && text.hasPrefix(w) } else { false }
            }),
        .number("ANY anys == %@", { $0.anys == .int($1) }, { row, k in row.anys.contains { $0 == .int(k) } }),
        .number("any['k'] == %@", { $0.any["k"] == .int($1) }, { $0.any.dictionaryValue?["k"] == .int($1) }),
        .number(
            "any[#any] == %@", { $0.any.any == .int($1) },
            { row, k in
                row.any.dictionaryValue?.values.contains(.int(k)) ?? row.any.listValue?.contains(.int(k)) ?? false
            }),
        .number("any[0] == %@", { $0.any[0] == .int($1) }, { $0.any.listValue?.first == .int($1) }),
        .number(
            "next.any == %@", { $0.next.any == .int($1) },
            { row, k in
                row.next?.any == .int(k) || row.next?.any == .double(Double(k))
            }),
        .number("next.ints.@sum == %@", { $0.next.ints.sum == $1 }, { ($0.next?.ints.reduce(0, +) ?? 0) == $1 }),
        .number(
            "next.n <= %@ AND ANY next.parts.n == 1", { $0.next.n <= $1 && $0.next.parts.n == 1 },
            { row, k in (row.next.map { $0.n <= k } ?? false) && row.next?.parts.contains { $0.n == 1 } == true }),
    ]
}

@Suite("Forms of queries") struct QueryFormsModelTests {
    @Test("Queries of collections, maps and any values return the same result as text, type-safe and in plain Swift")
    func differential() throws {
        let seed =
            ProcessInfo.processInfo.environment["REGNUM_QUERY_SEED"].flatMap { UInt64($0) } ?? .random(in: 1 ... .max)
        var random = Mixed(state: seed)
        for _ in 0..<3 {
            let realm = try memoryRealm(Row.self, Part.self)
            try realm.write { Self.fill(realm, &random) }
            let all = realm.objects(Row.self)
            for spelling in Spelling.collections + Spelling.mapsAndAny {
                for _ in 0..<3 {
                    let k = Int.random(in: -1...4, using: &random)
                    let w = SpellingModels.words.randomElement(using: &random) ?? ""
                    let expected = Array(all).filter { spelling.plain($0, k, w) }.map(\.id)
                    let predicate = NSPredicate(
                        format: spelling.text, argumentArray: spelling.arguments(k, w).map { $0 as Any })
                    let what = "seed \(seed): \(spelling.text) of \(k) and '\(w)'"
                    #expect(all.filter(predicate).map(\.id) == expected, "\(what)")
                    #expect(all.where { spelling.query($0, k, w) }.map(\.id) == expected, "type-safe, \(what)")
                    let others = all.where { !spelling.query($0, k, w) }.map(\.id)
                    #expect(
                        Set(others).isDisjoint(with: expected) && others.count + expected.count == all.count,
                        "NOT, \(what)")
                }
            }
        }
    }

    private static func fill(_ realm: Realm, _ random: inout Mixed) {
        func number(_ random: inout Mixed) -> Int { Int.random(in: -1...3, using: &random) }
        func word(_ random: inout Mixed) -> String { SpellingModels.words.randomElement(using: &random) ?? "" }
        var parts: [Part] = []
        for _ in 0..<8 {
            let part = realm.create(Part.self, value: ["n": number(&random), "name": word(&random)] as [String: Any])
            part.weight = Bool.random(using: &random) ? nil : Double(number(&random))
            parts.append(part)
        }
        var rows: [Row] = []
        for id in 0..<20 {
            let row = realm.create(Row.self, value: ["id": id, "n": number(&random)])
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                row.parts.append(parts.randomElement(using: &random)!)
                row.partSet.insert(parts.randomElement(using: &random)!)
                row.ints.append(number(&random))
                row.optionals.append(Bool.random(using: &random) ? nil : number(&random))
                row.intSet.insert(number(&random))
                row.words.insert(word(&random))
                row.scores[["a", "b", "A"].randomElement(using: &random)!] = number(&random)
                row.notes[["a", "b"].randomElement(using: &random)!] = .some(
                    Bool.random(using: &random) ? nil : word(&random))
                row.anys.append(Bool.random(using: &random) ? .int(number(&random)) : .string(word(&random)))
            }
            switch Int.random(in: 0..<7, using: &random) {
            case 0: row.any = .none
            case 1: row.any = .int(number(&random))
            case 2: row.any = .double(Double(number(&random)))
            case 3: row.any = .string(word(&random))
            case 4: row.any = .fromDictionary(["k": .int(number(&random)), "l": .string(word(&random))])
            case 5: row.any = .fromArray([.int(number(&random)), .string(word(&random))])
            default: row.any = .bool(Bool.random(using: &random))
            }
            rows.append(row)
        }
        for row in rows where Bool.random(using: &random) { row.next = rows.randomElement(using: &random) }
    }
}

/// A seeded generator: SplitMix64.
private struct Mixed: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
