// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries as constants in queries over values of any type.

import Foundation
import RealmSwift
import Testing

@Suite("Collections as constants of queries") struct AnyCollectionConstantsTests {
    class Holder: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var any: AnyRealmValue
        @Persisted var list: List<AnyRealmValue>
        @Persisted var map: Map<String, AnyRealmValue>
        @Persisted var next: Holder?
    }

    static var nested: AnyRealmValue {
        .fromArray([.string("a"), .fromDictionary(["k": .fromArray([.int(1)])]), .none])
    }
    static var values: [AnyRealmValue] {
        [
            .fromArray([.int(1)]), .fromArray([.int(1), .int(2)]), .fromArray([]), .fromDictionary(["a": .int(1)]),
            .fromDictionary(["a": .int(1), "b": .none]), .fromDictionary([:]), nested, .int(1), .none,
        ]
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Holder.self)
        try realm.write {
            var last: Holder?
            for (id, value) in values.enumerated() {
                let holder = realm.create(Holder.self, value: ["id": id, "any": value] as [String: Any])
                holder.list.append(objectsIn: [value, .string("x")])
                holder.map["key"] = value
                holder.next = last
                last = holder
            }
        }
        return realm
    }

    @Test("A collection constant matches only the equal value, in every kind of property and query", arguments: 0..<8)
    func equality(_ index: Int) throws {
        let all = try Self.realm().objects(Holder.self)
        let value = Self.values[index]
        let others = (0..<9).filter { $0 != index }
        #expect(all.where { $0.any == value }.map(\.id) == [index])
        #expect(all.where { $0.any != value }.map(\.id) == others)
        #expect(all.where { !($0.any == value) }.map(\.id) == others)
        #expect(all.where { $0.list.contains(value) }.map(\.id) == [index])
        #expect(all.where { $0.list == value }.map(\.id) == [index])
        #expect(all.where { $0.map["key"] == value }.map(\.id) == [index])
        #expect(all.where { $0.map.values == value }.map(\.id) == [index])
        #expect(all.where { $0.next.any == value }.map(\.id) == [index + 1])
        #expect(all.where { $0.any.in([value, .int(5)]) }.map(\.id) == [index])
        #expect(all.where { $0.list.containsAny(in: [value, .int(5)]) }.map(\.id) == [index])
        #expect(all.filter("any == %@", value).map(\.id) == [index])
        #expect(all.filter("any IN %@", [value, AnyRealmValue.int(5)] as NSArray).map(\.id) == [index])
        #expect(all.filter("ANY list == %@", value).map(\.id) == [index])
        #expect(all.filter(NSPredicate(format: "any == %@", value)).map(\.id) == [index])
        #expect(NSPredicate(format: "any == %@", value).evaluate(with: all[index]))
        let plain = Holder(value: ["id": 9, "any": value] as [String: Any])
        #expect(NSPredicate(format: "any == %@", value).evaluate(with: plain))
        #expect(!NSPredicate(format: "any == %@", Self.values[(index + 1) % 8]).evaluate(with: plain))
    }

    @Test("Swift, Foundation and managed collections can be constants")
    func otherTypes() throws {
        let all = try Self.realm().objects(Holder.self)
        #expect(all.filter("any == {1, 2}").map(\.id) == [1])
        #expect(all.filter("any IN {{1, 2}, {1}}").map(\.id) == [0, 1])
        #expect(all.filter("any == %@", [1, 2] as NSArray).map(\.id) == [1])
        #expect(all.filter(NSPredicate(format: "any == %@", argumentArray: [[1.0, 2.0]])).map(\.id) == [1])
        #expect(all.filter("any == %@", ["a": 1] as NSDictionary).map(\.id) == [3])
        #expect(all.filter("any == %@", ["a": 1, "b": nil] as [String: Int?]).map(\.id) == [4])
        #expect(all.filter("any == %@", all[1].any).map(\.id) == [1] && all.filter("any == %@", all[6].any).count == 1)
        #expect(all.filter("any == %@", all[4].any.dictionaryValue as Any).map(\.id) == [4])
        #expect(all.where { $0.any == all[6].any }.map(\.id) == [6])
        #expect(all.filter("any BEGINSWITH %@", AnyRealmValue.fromArray([.int(1)])).isEmpty)
    }

    @Test("Objects inside a constant must belong to the queried Realm")
    func objects() throws {
        let realm = try Self.realm()
        let all = realm.objects(Holder.self)
        let value: AnyRealmValue = .fromArray([.object(all[0]), .fromDictionary(["o": .object(all[1])])])
        try realm.write { all[8].any = value }
        #expect(all.where { $0.any == value }.map(\.id) == [8])
        #expect(all.filter("any == %@", value).map(\.id) == [8])
        #expect(all.where { $0.any == .fromArray([.object(all[1]), .fromDictionary(["o": .object(all[1])])]) }.isEmpty)
        #expect(all.where { $0.any == .fromArray([.object(Holder())]) }.isEmpty)
        #expect(all.where { $0.any != .fromArray([.object(Holder())]) }.count == 9)
        let message = try misuseText {
            let other = try Self.realm().objects(Holder.self)[0]
            _ = try Self.realm().objects(Holder.self).where { $0.any == .fromArray([.object(other)]) }
        }
        #expect(message?.contains("Object must be from the Realm being queried") == true)
    }

    @Test("A list that contains itself, and a list compared with an integer property, are refused")
    func refused() throws {
        let endless = try misuseText {
            let list = List<AnyRealmValue>()
            list.append(.list(list))
            _ = try Self.realm().objects(Holder.self).where { $0.any == .list(list) }
        }
        #expect(endless?.contains("levels deep") == true)
        let message = try misuseText {
            _ = try Self.realm().objects(Holder.self).filter("id == %@", AnyRealmValue.fromArray([.int(1)]))
        }
        #expect(message?.contains("Cannot compare value '{1}' of type 'Array' to property 'id'") == true)
    }

    @Test("The text #any is an ordinary key in type-safe queries")
    func keyAny() throws {
        let realm = try Self.realm()
        let all = realm.objects(Holder.self)
        try realm.write { all[0].any = .fromDictionary(["#any": .int(7), "b": .int(8)]) }
        #expect(all.where { $0.any["#any"] == .int(7) }.map(\.id) == [0])
        #expect(all.where { $0.any["#any"] == .int(8) }.isEmpty)
        #expect(all.where { $0.any.any == .int(8) }.map(\.id) == [0])
        #expect(all.where { $0.map["#any"] == .int(8) }.isEmpty)
    }
}
