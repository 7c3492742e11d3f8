// SPDX-License-Identifier: Apache-2.0
// Queries over sets and maps, as text and as `where { }`; each finds the same rows in both forms.

import Foundation
import RealmSwift
import Testing

enum CollectionQueryModels {
    class Tag: Object {
        @Persisted(primaryKey: true) var name: String
        @Persisted var weight: Int?
    }

    class Row: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var ints: MutableSet<Int>
        @Persisted var words: MutableSet<String?>
        @Persisted var tags: MutableSet<Tag>
        @Persisted var scores: Map<String, Int>
        @Persisted var notes: Map<String, String?>
        @Persisted var dates: Map<String, Date>
        @Persisted var byName: Map<String, Tag?>
        @Persisted var other: Row?
    }

    static var rows: [[String: Any]] {
        [
            [
                "id": 1, "ints": [1, 2, 3], "words": ["a", "É"], "tags": [["name": "x", "weight": 1]],
                "scores": ["a": 1, "b": 10], "notes": ["a": "hello", "n": NSNull()],
                "dates": ["d": Date(timeIntervalSince1970: 5)], "byName": ["k": ["name": "x"]],
            ],
            [
                "id": 2, "ints": [10], "words": [NSNull()], "tags": [["name": "x"], ["name": "y", "weight": 7]],
                "scores": ["a": 5], "byName": ["k": ["name": "y"], "l": NSNull()], "other": ["id": 1],
            ],
            ["id": 3, "scores": ["B": -1], "notes": ["A": "World"], "other": ["id": 2]],
            ["id": 4],
        ]
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Tag.self, Row.self)
        try realm.write { for row in rows { realm.create(Row.self, value: row, update: .modified) } }
        return realm
    }

    /// A query as text and as a closure, with the ids of the rows that it finds.
    struct Question: Sendable, CustomStringConvertible {
        let description: String
        let ids: [Int]
        let condition: (@Sendable (Query<Row>) -> Query<Bool>)?
        /// The expected text of the closure's predicate.
        let printed: String?

        init(
            _ text: String, _ ids: [Int], prints printed: String? = nil,
            _ condition: (@Sendable (Query<Row>) -> Query<Bool>)? = nil
        ) {
            description = text
            self.ids = ids
            self.printed = printed
            self.condition = condition
        }
    }
}

private typealias Row = CollectionQueryModels.Row
private typealias Tag = CollectionQueryModels.Tag
private typealias Question = CollectionQueryModels.Question

@Suite("Queries over sets and maps")
struct CollectionQueriesTests {
    static let sets: [CollectionQueryModels.Question] = [
        Question("ANY ints == 2", [1], prints: "(ANY ints == %@)") { $0.ints == 2 },
        Question("ANY ints > 2", [1, 2], prints: "(ANY ints > %@)") { $0.ints > 2 },
        Question("NONE ints > 2", [3, 4], prints: "(NOT ANY ints > %@)") { !($0.ints > 2) },
        Question("10 IN ints", [2], prints: "(%@ IN ints)") { $0.ints.contains(10) },
        Question("ANY ints IN {3, 10}", [1, 2], prints: "(ANY ints IN %@)") { $0.ints.containsAny(in: [3, 10]) },
        Question("ints.@count == 0", [3, 4], prints: "(ints.@count == %@)") { $0.ints.count == 0 },
        Question("ints.@min == 1", [1], prints: "(ints.@min == %@)") { $0.ints.min == 1 },
        Question("ints.@max >= 10", [2], prints: "(ints.@max >= %@)") { $0.ints.max >= 10 },
        Question("ints.@sum == 6", [1], prints: "(ints.@sum == %@)") { $0.ints.sum == 6 },
        Question("ints.@avg == 10", [2], prints: "(ints.@avg == %@)") { $0.ints.avg == 10 },
        Question("ints.@min >= 1 AND ints.@max < 4", [1]) { $0.ints.contains(1..<4) },
        Question("ANY words == nil", [2]) { $0.words == nil },
        Question("ANY words ==[c] 'é'", [1]),
        Question("ANY tags.name == 'y'", [2], prints: "(ANY tags.name == %@)") { $0.tags.name == "y" },
        Question("ANY tags.weight == nil", [], prints: "(ANY tags.weight == %@)") { $0.tags.weight == nil },
        Question("tags.@count == 2", [2]) { $0.tags.count == 2 },
        Question("tags.@max.weight > 6", [2], prints: "(tags.@max.weight > %@)") { $0.tags.weight.max > 6 },
        Question("SUBQUERY(tags, $t, $t.name == 'x' AND $t.weight == 1).@count == 1", [1, 2]) {
            ($0.tags.name == "x" && $0.tags.weight == 1).count == 1
        },
        Question("ANY other.ints == 10", [3]) { $0.other.ints == 10 },
    ]

    static let maps: [CollectionQueryModels.Question] = [
        Question("scores['a'] == 1", [1], prints: "(scores[%@] == %@)") { $0.scores["a"] == 1 },
        Question("scores['a'] > 1", [2], prints: "(scores[%@] > %@)") { $0.scores["a"] > 1 },
        Question("scores['none'] == nil", [1, 2, 3, 4]),
        Question("scores['a'] != 1", [2, 3, 4]) { $0.scores["a"] != 1 },
        Question("NOT scores['a'] == 1", [2, 3, 4], prints: "(NOT scores[%@] == %@)") { !($0.scores["a"] == 1) },
        Question("scores['a'] BETWEEN {2, 9}", [2]) { $0.scores["a"].contains(2...9) },
        Question("scores['a'] IN {1, 5}", [1, 2]) { $0.scores["a"].in([1, 5]) },
        Question("other.scores['a'] == 5", [3], prints: "(other.scores[%@] == %@)") { $0.other.scores["a"] == 5 },
        Question("notes['a'] CONTAINS[c] 'ELL'", [1], prints: "(notes[%@] CONTAINS[c] %@)") {
            $0.notes["a"].contains("ELL", options: .caseInsensitive)
        },
        Question("dates['d'] > %@", []),
        Question("ANY scores.@allKeys == 'a'", [1, 2], prints: "(ANY scores.@allKeys == %@)") {
            $0.scores.keys == "a"
        },
        Question("ANY scores.@allKeys ==[c] 'b'", [1, 3]) {
            $0.scores.keys.equals("b", options: .caseInsensitive)
        },
        Question("ANY scores.@allKeys != 'a'", [1, 3]) { $0.scores.keys != "a" },
        Question("ANY scores.@allKeys IN {'B', 'x'}", [3]),
        Question("scores.@allKeys == 'a'", [1, 2]),
        Question("scores.@allKeys != 'a'", [1, 3]),
        Question("NOT scores.@allKeys == 'a'", [3, 4]),
        Question("scores.@allValues < 1", [3]),
        Question("ANY notes.@allKeys BEGINSWITH 'n'", [1]) { $0.notes.keys.starts(with: "n") },
        Question("ANY scores.@allValues == 5", [2], prints: "(ANY scores.@allValues == %@)") {
            $0.scores.values == 5
        },
        Question("ANY scores == 5", [2]),
        Question("ANY scores.@allValues < 1", [3]) { $0.scores.values < 1 },
        Question("ANY notes.@allValues == nil", [1]) { $0.notes.values == nil },
        Question("ANY notes.@allValues LIKE 'W*'", [3]) { $0.notes.values.like("W*") },
        Question("5 IN scores", [2], prints: "(%@ IN scores)") { $0.scores.contains(5) },
        Question("ANY scores IN {5, -1}", [2, 3], prints: "(ANY scores IN %@)") {
            $0.scores.containsAny(in: [5, -1])
        },
        Question("scores.@count == 2", [1], prints: "(scores.@count == %@)") { $0.scores.count == 2 },
        Question("scores.@min < 0", [3]) { $0.scores.min < 0 },
        Question("scores.@max == 10", [1], prints: "(scores.@max == %@)") { $0.scores.max == 10 },
        Question("scores.@sum == 11", [1]) { $0.scores.sum == 11 },
        Question("scores.@avg == 5", [2]) { $0.scores.avg == 5 },
        Question("ANY byName.name == 'y'", [2]) { $0.byName.values.name == "y" },
        Question("ANY byName.@allValues.name == 'x'", [1]),
        Question("byName.@allValues.name == 'x'", [1]),
        Question("NOT 'x' == byName.@allValues.name", [2, 3, 4]),
        Question("other.byName.@allValues.name != 'y'", [2]),
        Question("ANY byName.@allKeys == 'l'", [2]) { $0.byName.keys == "l" },
        Question("ANY byName == nil", [2]),
        Question("byName['k'].name == 'x'", [1]),
        Question("byName['k'] == nil", [3, 4]) { $0.byName["k"] == nil },
        Question("byName['k'] != nil", [1, 2]) { $0.byName["k"] != nil },
        Question("byName.@count == 2", [2]) { $0.byName.count == 2 },
        Question("byName.@sum.weight == 7", [2]),
    ]

    @Test("A query finds the same rows as text and as a closure", arguments: sets + maps)
    func question(_ question: CollectionQueryModels.Question) throws {
        let realm = try CollectionQueryModels.realm()
        let all = realm.objects(Row.self)
        let date = Date(timeIntervalSince1970: 6)
        let found = all.filter(NSPredicate(format: question.description, argumentArray: [date]))
        #expect(found.map(\.id).sorted() == question.ids)
        guard let condition = question.condition else { return }
        #expect(all.where(condition).map(\.id).sorted() == question.ids, "closure")
        if let printed = question.printed {
            #expect(condition(Query<Row>._constructForTesting())._constructPredicate().0 == printed)
        }
    }

    @Test("Objects in sets and maps are found by value and by key")
    func objects() throws {
        let realm = try CollectionQueryModels.realm()
        let all = realm.objects(Row.self)
        let x = try #require(realm.object(ofType: Tag.self, forPrimaryKey: "x"))
        #expect(all.filter("%@ IN tags", x).map(\.id).sorted() == [1, 2])
        #expect(all.where { $0.tags.contains(x) }.map(\.id).sorted() == [1, 2])
        #expect(all.filter("byName['k'] == %@", x).map(\.id) == [1])
        #expect(all.where { $0.byName["k"] == x }.map(\.id) == [1])
        #expect(all.where { $0.byName.contains(x) }.map(\.id) == [1])
        try realm.write { realm.delete(x) }
        #expect(all.filter("byName['k'] == nil").map(\.id).sorted() == [1, 3, 4])
        #expect(all.filter("tags.@count == 1").map(\.id) == [2])
    }

    static let refusals: [MisuseCase] = [
        .onRows("Key paths that include a collection property must use aggregate operations", "ints == 1"),
        .onRows("Key paths that include a collection property must use aggregate operations", "scores == 1"),
        .onRows("Key paths that include a collection property must use aggregate operations", "byName.name == 'x'"),
        .onRows("Invalid subscript size", "scores['a']['b'] == 1"),
        .onRows("Invalid subscript type", "scores[0] == 1"),
        .onRows("only dictionaries and realm `Any` support subscript predicates.", "ints['a'] == 1"),
        .onRows("@allKeys is only allowed right after a dictionary property.", "ANY ints.@allKeys == 'a'"),
        .onRows("@allValues is only allowed right after a dictionary property.", "ANY ints.@allValues == 1"),
        .onRows("@allKeys must appear at the end of a keypath.", "ANY scores.@allKeys.x == 1"),
        .onRows("Cannot compare value", "ANY scores.@allKeys == 5"),
        .onRows("Cannot compare value", "scores['a'] == 'x'"),
        .onRows("Cannot sum or average date properties", "dates.@sum == 1"),
        .onRows("can only be applied to a collection of numeric values.", "notes.@min == 1"),
        MisuseCase("Cannot apply key path to Map subscripts.") {
            let all = try CollectionQueryModels.realm().objects(Row.self)
            _ = all.where { $0.byName["k"].name == "x" }
        },
        MisuseCase("Subqueries do not support map subscripts.") {
            let all = try CollectionQueryModels.realm().objects(Row.self)
            _ = all.where { ($0.scores["k"] == 1).count == 1 }
        },
    ]

    @Test("Invalid queries are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension MisuseCase {
    fileprivate static func onRows(_ words: String, _ format: String) -> MisuseCase {
        MisuseCase(words) { _ = try CollectionQueryModels.realm().objects(Row.self).filter(format) }
    }
}
