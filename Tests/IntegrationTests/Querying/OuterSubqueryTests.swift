// SPDX-License-Identifier: Apache-2.0
// Subqueries that refer to the outer object, and nested subqueries, as text and type-safe.

import Foundation
import RealmSwift
import Testing

@Suite("Subqueries and outer objects") struct OuterSubqueryTests {
    class Item: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String?
        @Persisted var any: AnyRealmValue
        @Persisted var best: Item?
        @Persisted var kids: List<Item>
        @Persisted var set: MutableSet<Item>
        @Persisted(originProperty: "kids") var parents: LinkingObjects<Item>
    }

    /// 1 has 2 and 3, 2 has 3, 4 has itself, 5 has none.
    static func realm() throws -> Realm {
        let realm = try memoryRealm(Item.self)
        try realm.write {
            let names = ["a", "a", "b", "c", nil]
            let items = names.enumerated().map { index, name in
                realm.create(
                    Item.self, value: ["id": index + 1, "name": name as Any, "any": index + 1] as [String: Any])
            }
            items[0].kids.append(objectsIn: [items[1], items[2]])
            items[1].kids.append(items[2])
            items[3].kids.append(items[3])
            for item in items { item.set.insert(objectsIn: item.kids) }
            items[0].best = items[1]
            items[3].best = items[3]
        }
        return realm
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let ids: [Int]
        let query: @Sendable (Query<Item>) -> Query<Bool>
        var testDescription: String { text }

        init(_ text: String, _ ids: [Int], _ query: @escaping @Sendable (Query<Item>) -> Query<Bool>) {
            self.text = text
            self.ids = ids
            self.query = query
        }
    }

    @Test(
        "A path without a variable refers to the queried object",
        arguments: [
            Case("SUBQUERY(kids, $k, $k.name == name).@count == 0", [2, 3, 5]) { ($0.kids.name == $0.name).count == 0 },
            Case("SUBQUERY(kids, $k, $k.name == name).@count > 0", [1, 4]) { ($0.kids.name == $0.name).count > 0 },
            Case("SUBQUERY(kids, $k, name == $k.name).@count > 0", [1, 4]) { ($0.name == $0.kids.name).count > 0 },
            Case("SUBQUERY(kids, $k, $k.id > id).@count == 2", [1]) { ($0.kids.id > $0.id).count == 2 },
            Case("SUBQUERY(set, $k, $k.id > id AND $k.id < 3).@count > 0", [1]) {
                ($0.set.id > $0.id && $0.set.id < 3).count > 0
            },
            Case("SUBQUERY(parents, $p, $p.name == name).@count > 0", [2, 4]) {
                ($0.parents.name == $0.name).count > 0
            },
            Case("SUBQUERY(kids, $k, $k.name != best.name).@count > 0", [1, 2]) {
                ($0.kids.name != $0.best.name).count > 0
            },
            Case("SUBQUERY(kids, $k, $k.any == any).@count > 0", [4]) { ($0.kids.any == $0.any).count > 0 },
            Case("SUBQUERY(kids, $k, $k.id > 0 AND name == 'a').@count > 0", [1, 2]) {
                ($0.kids.id > 0 && $0.name == "a").count > 0
            },
            Case("SUBQUERY(kids, $k, $k.id > 0 AND SUBQUERY(kids, $l, $l.any == 3).@count > 0).@count > 0", [1, 2]) {
                ($0.kids.id > 0 && ($0.kids.any == .int(3)).count > 0).count > 0
            },
            Case("SUBQUERY(kids, $k, $k.id > 2 AND SUBQUERY(kids, $l, $l.id == 2).@count == 0).@count > 0", [2, 4]) {
                ($0.kids.id > 2 && ($0.kids.id == 2).count == 0).count > 0
            },
            Case(
                "SUBQUERY(kids, $k, $k.id > 0 AND SUBQUERY(parents, $p, $p.id == id).@count == 1).@count > 0", [4]
            ) { ($0.kids.id > 0 && ($0.parents.id == $0.id).count == 1).count > 0 },
        ])
    func outer(_ question: Case) throws {
        let items = try Self.realm().objects(Item.self)
        #expect(items.filter(question.text).map(\.id) == question.ids)
        #expect(items.where(question.query).map(\.id) == question.ids)
        let (text, values) = question.query(Query<Item>._constructForTesting())._constructPredicate()
        #expect(items.filter(NSPredicate(format: text, argumentArray: values)).map(\.id) == question.ids)
        // Evaluated for each object, including unmanaged ones.
        #expect(items.filter { question.matches($0) }.map(\.id) == question.ids)
        let detached = items.map { $0.detached() }
        if !question.text.contains("parents") {
            #expect(detached.filter { question.matches($0) }.map(\.id) == question.ids)
        }
    }

    @Test("SELF is the queried object")
    func itself() throws {
        let items = try Self.realm().objects(Item.self)
        #expect(items.filter("SUBQUERY(kids, $k, $k == SELF).@count > 0").map(\.id) == [4])
        #expect(items.filter("SUBQUERY(kids, $k, $k.name == SELF.name).@count > 0").map(\.id) == [1, 4])
        #expect(items.filter("SUBQUERY(kids, $k, $k.best == best).@count > 0").map(\.id) == [2, 4])
        #expect(items.filter("SELF.name == 'b'").map(\.id) == [3])
        #expect(items.filter("SUBQUERY(kids, $k, ANY kids.name == 'b' AND $k.id == 2).@count > 0").map(\.id) == [1])
        #expect(items.filter("SUBQUERY(kids, $k, kids.@count == 2).@count > 0").map(\.id) == [1])
    }

    @Test("Results follow changes of the outer object that a subquery reads")
    func observed() throws {
        let realm = try Self.realm()
        let found = realm.objects(Item.self).where { ($0.kids.name == $0.name).count > 0 }
        #expect(found.map(\.id) == [1, 4])
        try realm.write { realm.object(ofType: Item.self, forPrimaryKey: 2)?.name = "b" }
        #expect(found.map(\.id) == [2, 4])
    }

    @Test("A subquery without a collection, or with two collections, is refused")
    func refused() throws {
        let none = try misuseText { _ = try Self.realm().objects(Item.self).where { ($0.id == 1).count > 0 } }
        #expect(none?.hasPrefix("Subqueries must contain a keypath starting with a collection.") == true)
        let two = try misuseText {
            _ = try Self.realm().objects(Item.self).where { ($0.kids.id == 1 && $0.set.id == 1).count > 0 }
        }
        #expect(two?.hasPrefix("Subqueries must contain a keypath starting with a collection.") == true)
    }
}

extension OuterSubqueryTests.Case {
    fileprivate func matches(_ item: OuterSubqueryTests.Item) -> Bool { NSPredicate(format: text).evaluate(with: item) }
}
