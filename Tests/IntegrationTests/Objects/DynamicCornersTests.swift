// SPDX-License-Identifier: Apache-2.0
// Dynamic objects: properties of every type and in every collection, embedded objects, frozen copies, key paths,
// programmer errors.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many
private typealias Part = Contract.Part

@Suite("Dynamic objects: RealmSwift contract")
struct DynamicCornersTests {
    private static let date = Date(timeIntervalSince1970: 12.5)
    private static let uuid = UUID()

    private static func filled() throws -> Realm {
        let realm = try Contract.allTypes()
        try realm.write {
            realm.create(
                All.self,
                value: [
                    "pk": 1, "bool": true, "int8": 8, "float": 1.5, "double": 2.5, "string": "s", "date": date,
                    "data": Data([1, 2]), "decimal": Decimal128("3.5"), "uuid": uuid, "any": ["k": [1, "x"]],
                    "rank": 2, "mood": "b", "metres": 7, "label": "l", "part": ["size": 4],
                    "parts": [["size": 1], ["size": 2]], "partMap": ["p": ["size": 3]],
                ] as [String: Any])
            let two = realm.create(All.self, value: ["pk": 2, "int": 5])
            let one = realm.objects(All.self)[0]
            one.link = two
            one.list.append(objectsIn: [two, one])
            one.set.insert(two)
            one.map["two"] = two
            one.map["none"] = .some(nil)
            realm.create(
                Many.self,
                value: [
                    "optInts": [1, NSNull()], "dates": [date], "decimals": [Decimal128("1.5")], "anys": [1, [2]],
                    "ranks": [3], "metres": [9], "intSet": [2, 1], "anySet": [1, "x"], "intMap": ["a": 1],
                    "optStringMap": ["s": NSNull()], "anyMap": ["n": ["m": 1]],
                ] as [String: Any])
        }
        return realm
    }

    @Test("Values of every type are read as the stored type")
    func values() throws {
        let realm = try Self.filled()
        let one = realm.dynamicObjects("Contract_All")[0]
        #expect(one["bool"] as? Bool == true && one.int8 as? Int == 8 && one.float as? Float == 1.5)
        #expect(one.double as? Double == 2.5 && one.date as? Date == Self.date && one.uuid as? UUID == Self.uuid)
        #expect(one.data as? Data == Data([1, 2]) && one.decimal as? Decimal128 == "3.5")
        #expect(one.objectId as? ObjectId == ObjectId() && one.optDate == nil && one.optDecimal == nil)
        #expect(
            one.rank as? Int == 2 && one.mood as? String == "b" && one.metres as? Int == 7
                && one.label as? String == "l")
        let any = try #require(one.any as? Map<String, AnyRealmValue>)
        #expect(any["k"]?.listValue.map { Array($0) } == [.int(1), .string("x")])
        let two = try #require(one.link as? DynamicObject)
        #expect(two.pk as? Int == 2 && two.isSameObject(as: realm.objects(All.self)[1]))
        let part = try #require(one.part as? DynamicObject)
        #expect(part["size"] as? Int == 4 && part["word"] == nil && part.objectSchema.isEmbedded)
        #expect((two.parents as? LinkingObjects<DynamicObject>)?.count == 1)
    }

    @Test("Collections of every type have elements of the stored type")
    func collections() throws {
        let realm = try Self.filled()
        let one = realm.dynamicObjects("Contract_All")[0]
        #expect(one.dynamicList("list").map { $0["pk"] as? Int } == [2, 1])
        #expect(one.dynamicMutableSet("set").count == 1 && one.dynamicMutableSet("set")[0]["pk"] as? Int == 2)
        let map = one.dynamicMap("map") as Map<String, DynamicObject?>
        #expect(map.count == 2 && map["two"]??["int"] as? Int == 5 && map["none"] == .some(nil))
        #expect((one.parts as? List<DynamicObject>)?.map { $0["size"] as? Int } == [1, 2])
        #expect((one.partMap as? Map<String, DynamicObject?>)?["p"]??["size"] as? Int == 3)
        let many = realm.dynamicObjects("Contract_Many")[0]
        #expect((many.optInts as? List<Int?>).map { Array($0) } == [1, nil])
        #expect((many.dates as? List<Date>)?.first == Self.date)
        #expect((many.decimals as? List<Decimal128>)?.first == "1.5")
        #expect((many.ranks as? List<Int>)?.first == 3 && (many.metres as? List<Int>)?.first == 9)
        #expect((many.anys as? List<AnyRealmValue>)?[1].listValue?.first == .int(2))
        #expect((many.intSet as? MutableSet<Int>).map { Array($0) } == [1, 2])
        #expect((many.anySet as? MutableSet<AnyRealmValue>)?.count == 2)
        #expect((many.intMap as? Map<String, Int>)?["a"] == 1)
        #expect((many.optStringMap as? Map<String, String?>)?["s"] == .some(nil))
        #expect((many.anyMap as? Map<String, AnyRealmValue>)?["n"]?.dictionaryValue?["m"] == .int(1))
    }

    @Test("Values, collections and embedded objects are set by name")
    func setting() throws {
        let realm = try Self.filled()
        let one = realm.dynamicObjects("Contract_All")[0]
        let many = realm.dynamicObjects("Contract_Many")[0]
        let typed = realm.objects(All.self)[0]
        let part = try #require(typed.part)
        try realm.write {
            one["rank"] = 3
            one["metres"] = 11
            one["optDecimal"] = "4.5"
            one["any"] = ["deep": ["er": 1]]
            (one["part"] as? DynamicObject)?["size"] = 40
            #expect(part.size == 40)
            one["part"] = ["size": 41, "word": "w"]
            #expect(part.isInvalidated && typed.part?.size == 41 && typed.part?.word == "w")
            one["part"] = nil
            one["parts"] = [["size": 9], ["size": 8, "word": nil]] as [[String: Any?]]
        }
        #expect(typed.rank == .high && typed.metres.value == 11 && typed.optDecimal == 4.5 && typed.part == nil)
        #expect(typed.any.dictionaryValue?["deep"]?.dictionaryValue?["er"] == .int(1))
        #expect(typed.parts.map(\.size) == [9, 8])
        try realm.write {
            many["intSet"] = [5, 5, 4]
            many["intMap"] = ["x": 1, "y": 2]
            (many["intMap"] as? Map<String, Int>)?["x"] = nil
            (many["optInts"] as? List<Int?>)?.append(nil)
            many.setValue([1.5, 2], forKey: "doubles")
            one.dynamicMap("map")["two"] = nil as DynamicObject??
            one.dynamicMap("map")["three"] = realm.dynamicCreate("Contract_All", value: ["pk": 3])
            one.dynamicMutableSet("set").insert(one)
        }
        let values = realm.objects(Many.self)[0]
        #expect(Array(values.intSet) == [4, 5] && values.intMap.keys == ["y"] && values.optInts.count == 3)
        #expect(Array(values.doubles) == [1.5, 2] && typed.map.keys == ["none", "three"] && typed.set.count == 2)
    }

    @Test("Key paths, queries, sorting and aggregates work by name")
    func asking() throws {
        let realm = try Self.filled()
        let all = realm.dynamicObjects("Contract_All")
        let one = all[0]
        #expect(one.value(forKeyPath: "link.int") as? Int == 5 && one.value(forKeyPath: "part.size") as? Int == 4)
        #expect(
            one.value(forKeyPath: "parts.size") as? [Int] == [1, 2] && one.value(forKeyPath: "list.@count") as? Int == 2
        )
        #expect(one.value(forKeyPath: "list.@max.pk") as? Int == 2)
        #expect(all.filter("ANY parts.size == 2").count == 1 && all.filter("partMap['p'].size == 3").count == 1)
        #expect(all.filter("any['k'][0] == 1").first?["pk"] as? Int == 1)
        #expect(all.sorted(byKeyPath: "link.int").last?["pk"] as? Int == 2)
        #expect(all.distinct(by: ["bool"]).count == 2 && all.max(ofProperty: "int") as Int? == 5)
        #expect(all.value(forKey: "pk") as? [Int] == [1, 2] && all.index(matching: "int == 5") == 1)
        try realm.write {
            all.setValue("both", forKey: "string")
            one.setValue(6, forKeyPath: "link.int")
        }
        #expect(realm.objects(All.self).allSatisfy { $0.string == "both" } && realm.objects(All.self)[1].int == 6)
    }

    @Test("Frozen copies and thread-safe references of dynamic objects are dynamic objects")
    func passing() throws {
        let realm = try Self.filled()
        let one = realm.dynamicObjects("Contract_All")[0]
        let frozen = one.freeze()
        let all = realm.dynamicObjects("Contract_All").freeze()
        try realm.write { one["string"] = "new" }
        #expect(frozen["string"] as? String == "s" && frozen.isFrozen && frozen.thaw()?["string"] as? String == "new")
        #expect(all[0]["string"] as? String == "s" && (frozen["list"] as? List<DynamicObject>)?.isFrozen == true)
        #expect((frozen["link"] as? DynamicObject)?.isFrozen == true)
        let reference = ThreadSafeReference(to: one)
        #expect(realm.resolve(reference)?["string"] as? String == "new" && reference.isInvalidated)
        try realm.write { realm.delete(one) }
        #expect(one.isInvalidated && frozen["string"] as? String == "s" && frozen.thaw() == nil)
    }

    private static let misuses: [MisuseCase] = [
        MisuseCase("Embedded objects cannot be created directly") {
            let realm = try Contract.allTypes()
            try realm.write { _ = realm.dynamicCreate("Contract_Part", value: ["size": 1]) }
        },
        MisuseCase("Object type 'Nope' is not managed by the Realm.") {
            let realm = try Contract.allTypes()
            try realm.write { _ = realm.dynamicCreate("Nope") }
        },
        MisuseCase("Object type 'Nope' is not managed by the Realm.") {
            _ = try Contract.allTypes().dynamicObject(ofType: "Nope", forPrimaryKey: 1)
        },
        MisuseCase("does not have a primary key defined") {
            _ = try Contract.allTypes().dynamicObject(ofType: "Contract_Many", forPrimaryKey: 1)
        },
        MisuseCase("Invalid value 'x' of type 'String' for 'int' property 'Contract_All.pk'.") {
            _ = try Contract.allTypes().dynamicObject(ofType: "Contract_All", forPrimaryKey: "x")
        },
        MisuseCase("Invalid value 'x' of type 'String' for expected type 'int'.") {
            let realm = try filled()
            try realm.write { realm.dynamicObjects("Contract_Many")[0]["ints"] = ["x"] }
        },
        MisuseCase("Invalid property name 'nope' for class 'Contract_All'.") {
            _ = try filled().dynamicObjects("Contract_All")[0].dynamicList("nope")
        },
        MisuseCase("Cannot modify read-only property 'Contract_All.parents'") {
            let realm = try filled()
            try realm.write { realm.dynamicObjects("Contract_All")[0]["parents"] = nil }
        },
        MisuseCase("for 'int' property 'Contract_All.int'.") {
            let realm = try filled()
            try realm.write { realm.dynamicObjects("Contract_All")[0]["int"] = nil }
        },
    ]

    @Test("Invalid values and names are refused", arguments: misuses)
    func refusals(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
