// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries inside values of any type: equality, copies, locations in collections, versions, queries.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many

@Suite("Nested values: RealmSwift contract")
struct NestedValuesTests {
    private static var nested: AnyRealmValue {
        .fromDictionary([
            "n": .int(1), "l": .fromArray([.string("a"), .fromDictionary(["deep": .decimal128(1.5)]), .none]),
        ])
    }

    @Test("Unmanaged nested values are equal by content, managed ones by location")
    func equality() throws {
        #expect(Self.nested == Self.nested && Self.nested != .fromDictionary(["n": .int(1)]))
        #expect(AnyRealmValue.fromArray([.int(1)]) == .fromArray([.int(1)]))
        #expect(AnyRealmValue.fromArray([.int(1)]) != .fromArray([.int(1), .int(1)]))
        #expect(AnyRealmValue.fromArray([]) != .fromDictionary([:]) && AnyRealmValue.fromArray([]) != .none)
        #expect(Self.nested.hashValue == Self.nested.hashValue)
        let realm = try Contract.allTypes()
        try realm.write {
            let one = realm.create(All.self, value: ["pk": 1, "any": Self.nested])
            let two = realm.create(All.self, value: ["pk": 2, "any": Self.nested])
            #expect(one.any == one.any && one.any != two.any && one.any != Self.nested)
            #expect(one.any == realm.objects(All.self)[0].any)
        }
    }

    @Test("Assigning a nested collection elsewhere copies it, even within its own object")
    func copying() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            let one = realm.create(All.self, value: ["pk": 1, "any": Self.nested])
            let two = realm.create(All.self, value: ["pk": 2])
            two.any = one.any
            one.any.dictionaryValue?["n"] = .int(2)
            one.any.dictionaryValue?["l"]?.listValue?[1].dictionaryValue?["deep"] = .string("changed")
            #expect(two.any.dictionaryValue?["n"] == .int(1))
            #expect(two.any.dictionaryValue?["l"]?.listValue?[1].dictionaryValue?["deep"] == .decimal128(1.5))
            #expect(one.any.dictionaryValue?["l"]?.listValue?[1].dictionaryValue?["deep"] == .string("changed"))
            two.any.dictionaryValue?["again"] = two.any.dictionaryValue?["l"]
            two.any.dictionaryValue?["l"] = nil
            #expect(two.any.dictionaryValue?["again"]?.listValue?.count == 3)
            let many = realm.create(Many.self)
            many.anys.append(objectsIn: [two.any, two.any])
            many.anyMap["m"] = two.any.dictionaryValue?["again"]
            many.anys[0].dictionaryValue?["again"]?.listValue?.removeLast()
            #expect(many.anys[0].dictionaryValue?["again"]?.listValue?.count == 2)
            #expect(many.anys[1].dictionaryValue?["again"]?.listValue?.count == 3)
            #expect(many.anyMap["m"]?.listValue?.count == 3)
            many.anys.move(from: 1, to: 0)
            many.anys.swapAt(0, 1)
            #expect(many.anys[0].dictionaryValue?["again"]?.listValue?.count == 2)
            many.anys.insert(.int(1), at: 0)
            #expect(many.anys[1].dictionaryValue?["again"]?.listValue?.count == 2)
            many.anys.removeFirst(2)
            #expect(many.anys.count == 1 && many.anys[0].dictionaryValue?["n"] == .int(1))
        }
    }

    @Test("A nested collection belongs to a position or key, and is invalidated if none is stored there")
    func places() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            let many = realm.create(Many.self)
            many.anys.append(objectsIn: [.int(0), .fromArray([.int(1)]), .fromArray([.int(2)])])
            let one = try #require(many.anys[1].listValue)
            many.anys.remove(at: 0)
            // Another list is at this position now.
            #expect(Array(one) == [.int(2)] && many.anys[0].listValue.map { Array($0) } == [.int(1)])
            one.append(.int(3))
            #expect(many.anys[1].listValue?.count == 2)
            many.anys[1] = .int(5)
            #expect(one.isInvalidated)
            let last = try #require(many.anys[0].listValue)
            many.anys.removeAll()
            #expect(last.isInvalidated)
            many.anyMap["k"] = .fromDictionary(["a": .int(1)])
            let map = try #require(many.anyMap["k"]?.dictionaryValue)
            #expect(map.realm == realm && map.keys == ["a"])
            many.anyMap["k"] = .fromDictionary(["b": .int(1)])
            #expect(map.isInvalidated || map.keys == ["b"])
            let list = List<AnyRealmValue>()
            list.append(.int(1))
            many.anyMap["l"] = .list(list)
            list.append(.int(2))
            #expect(many.anyMap["l"]?.listValue?.count == 1 || list.realm != nil)
            realm.delete(many)
            #expect(map.isInvalidated)
        }
    }

    @Test("A frozen nested list keeps its version, and a thread-safe reference to one can be resolved")
    func versions() throws {
        let realm = try Contract.allTypes()
        let one = try realm.write { realm.create(All.self, value: ["pk": 1, "any": Self.nested]) }
        let list = try #require(one.any.dictionaryValue?["l"]?.listValue)
        let frozen = list.freeze()
        let object = one.freeze()
        let reference = ThreadSafeReference(to: list)
        try realm.write { list.append(.int(9)) }
        #expect(frozen.count == 3 && frozen.isFrozen && object.any.dictionaryValue?["l"]?.listValue?.count == 3)
        #expect(frozen.thaw()?.count == 4 && realm.resolve(reference)?.count == 4)
        #expect(frozen[1].dictionaryValue?.isFrozen == true)
        try realm.write { one.any = .none }
        #expect(list.isInvalidated && frozen.thaw() == nil && frozen[1].dictionaryValue?["deep"] == .decimal128(1.5))
    }

    @Test("Objects in nested collections are added, updated, detached and created with their owner")
    func objects() throws {
        let realm = try Contract.allTypes()
        let inner = All(value: ["pk": 5, "string": "inner"])
        let outer = All(value: ["pk": 1])
        outer.any = .fromArray([.fromDictionary(["o": .object(inner)]), .object(inner), .object(outer)])
        try realm.write {
            realm.add(outer)
            #expect(inner.realm == realm && realm.objects(All.self).count == 2)
            #expect(outer.any.listValue?[0].dictionaryValue?["o"]?.object(All.self)?.string == "inner")
            #expect(outer.any.listValue?[2].object(All.self)?.pk == 1)
            let again = All(value: ["pk": 1])
            again.any = .fromArray([.object(All(value: ["pk": 5, "string": "updated"]))])
            realm.add(again, update: .modified)
            #expect(inner.string == "updated" && outer.any.listValue?.count == 1)
        }
        let other = try Contract.allTypes()
        try other.write {
            let copy = other.create(All.self, value: outer)
            #expect(copy.any.listValue?[0].object(All.self)?.string == "updated")
            #expect(copy.any.listValue?[0].object(All.self)?.realm == other)
            #expect(other.objects(All.self).count == 2)
        }
        // Cycles, elements of collections, and updates.
        try realm.write {
            outer.any = .fromDictionary(["back": .object(outer), "l": .fromArray([.object(inner)])])
            let many = realm.create(Many.self)
            many.anys.append(objectsIn: [.object(outer), .int(1)])
            many.anyMap["k"] = .object(inner)
            many.anySet.insert(.object(inner))
        }
        let third = try Contract.allTypes()
        try third.write {
            let copy = third.create(Many.self, value: realm.objects(Many.self)[0])
            let first = try #require(copy.anys[0].object(All.self))
            #expect(first.any.dictionaryValue?["back"]?.object(All.self)?.isSameObject(as: first) == true)
            #expect(third.objects(All.self).count == 2 && copy.anys[1] == .int(1))
            #expect(copy.anyMap["k"]?.object(All.self)?.pk == 5 && copy.anySet.first?.object(All.self)?.realm == third)
            third.create(All.self, value: ["pk": 5, "any": outer], update: .modified)
            let updated = third.object(ofType: All.self, forPrimaryKey: 5)
            #expect(updated?.any.object(All.self)?.isSameObject(as: first) == true)
        }
        try realm.write { realm.delete(inner) }
        #expect(outer.any.dictionaryValue?["l"]?.listValue?.isEmpty == true)
    }

    @Test("Nested values are queried by key, position and #any, as text and type-safe")
    func queries() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            realm.create(All.self, value: ["pk": 1, "any": Self.nested])
            realm.create(All.self, value: ["pk": 2, "any": ["l": ["b", 7], "n": 1.0] as [String: Any]])
            realm.create(All.self, value: ["pk": 3, "any": [1, [2, [3]]] as [Any]])
            realm.create(All.self, value: ["pk": 4, "any": 1])
        }
        let all = realm.objects(All.self)
        #expect(all.filter("any['n'] == 1").map(\.pk) == [1, 2])
        #expect(all.filter("any['l'][0] == 'a'").map(\.pk) == [1])
        #expect(all.filter("any['l'][1]['deep'] == 1.5").map(\.pk) == [1])
        #expect(all.filter("any['l'][#any] == 7").map(\.pk) == [2])
        #expect(all.filter("any[1][1][0] == 3").map(\.pk) == [3])
        #expect(all.filter("any[#any] == 1").map(\.pk) == [1, 2, 3])
        #expect(all.filter("any['none'] == NULL").map(\.pk) == [1, 2, 3, 4])
        #expect(all.filter("any['l'][9] == NULL AND any['n'] != NULL").map(\.pk) == [1, 2])
        #expect(all.filter("any == 1").map(\.pk) == [4])
        #expect(all.where { $0.any["l"][0] == .string("b") }.map(\.pk) == [2])
        #expect(all.where { $0.any[1].any == .int(2) }.map(\.pk) == [3])
        #expect(all.where { $0.any["n"] == .int(1) && $0.any["l"].any == .string("a") }.map(\.pk) == [1])
        #expect(all.where { $0.any["l"][0].starts(with: .string("a")) }.map(\.pk) == [1])
        #expect(all.where { $0.any["n"] > .double(0.5) }.map(\.pk) == [1, 2])
    }

    @Test("Nested values have descriptions, and are read and set by name")
    func names() throws {
        let realm = try Contract.allTypes()
        let one = try realm.write { realm.create(All.self, value: ["pk": 1, "any": Self.nested]) }
        let map = try #require(one["any"] as? Map<String, AnyRealmValue>)
        #expect(map["n"] == .int(1) && (one.value(forKey: "any") as? Map<String, AnyRealmValue>)?.count == 2)
        #expect(one.description.contains("any = Map<string, mixed>"), "\(one.description)")
        try realm.write { one.setValue([1, 2], forKey: "any") }
        #expect((one["any"] as? List<AnyRealmValue>)?.count == 2 && map.isInvalidated)
        #expect(AnyRealmValue.fromArray([.int(1)]).listValue?.description.contains("[0] 1") == true)
    }
}
