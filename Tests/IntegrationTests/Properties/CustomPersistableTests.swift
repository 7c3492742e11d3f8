// SPDX-License-Identifier: Apache-2.0
// Custom types as properties and as elements, over every type that they can be stored as.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Collections = Custom.Collections
private typealias Everything = Custom.Everything
private typealias Location = Custom.Location
private typealias Point = Custom.Point
private typealias Word = Custom.Word
private typealias Wrapped = Custom.Wrapped

@Suite("Custom types")
struct CustomPersistableTests {
    @Test("The schema describes custom types as their stored types")
    func schema() throws {
        let schema = try #require(Everything.sharedSchema())
        let stored: [(String, PropertyType)] = [
            ("id", .int), ("bool", .bool), ("float", .float), ("double", .double), ("string", .string),
            ("data", .data), ("date", .date), ("decimal", .decimal128), ("objectId", .objectId), ("uuid", .UUID),
            ("size", .string), ("location", .object),
        ]
        for (name, type) in stored {
            #expect(schema[name]?.type == type && schema[name]?.isOptional == (type == .object), "\(name)")
        }
        #expect(schema.primaryKeyProperty?.name == "id" && schema["int"]?.isIndexed == true)
        #expect(schema["optDate"]?.isOptional == true && schema["location"]?.objectClassName == "Custom_Point")
        let places = try #require(Collections.sharedSchema()?["places"])
        #expect(places.isArray && !places.isOptional && places.objectClassName == "Custom_Point")
    }

    @Test("A property without a value is made from the default of its persisted type, and keeps that value")
    func defaults() throws {
        let object = Everything()
        #expect(object.int == Wrapped(0) && object.string == Wrapped("") && object.size == Wrapped(.small))
        #expect(object.uuid == object.uuid && object.date == object.date && object.objectId == object.objectId)
        #expect(object.location == Location(7, 8) && object.optLocation == nil && object.optInt == nil)
        let uuid = object.uuid
        let date = object.date
        let realm = try Custom.realm()
        try realm.write { realm.add(object) }
        #expect(object.uuid == uuid && object.location == Location(7, 8) && object.optDecimal == nil)
        #expect(abs(object.date.stored.timeIntervalSince(date.stored)) < 0.000_001)
        #expect(Custom.pointCount(realm) == 1)
    }

    @Test("Values of every persisted type are stored and read by name as the stored type")
    func everyType() throws {
        try withFile(Custom.types) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                let unmanaged = Everything(value: ["id": 1])
                for (name, value) in Custom.values {
                    unmanaged[name] = value.base
                    #expect(unmanaged[name] as? AnyHashable == value, "\(name) unmanaged")
                }
                try realm.write {
                    realm.add(unmanaged)
                    realm.create(Everything.self, value: ["id": 2])
                }
            }
            let realm = try Realm(configuration: configuration)
            let added = try #require(realm.object(ofType: Everything.self, forPrimaryKey: Wrapped(1)))
            let other = try #require(realm.object(ofType: Everything.self, forPrimaryKey: 2))
            for (name, value) in Custom.values {
                #expect(added[name] as? AnyHashable == value, "\(name) added")
                try realm.write { other[name] = value.base }
                #expect(other[name] as? AnyHashable == value, "\(name) set")
                #expect(realm.objects(Everything.self).filter("\(name) == %@", value.base).count == 2, "\(name)")
                guard name.hasPrefix("opt") else { continue }
                try realm.write { other[name] = nil }
                #expect(other[name] == nil, "\(name) nil")
                #expect(realm.objects(Everything.self).filter("\(name) == nil").count == 1, "\(name) == nil")
            }
            expectIntegrity(of: configuration)
        }
    }

    @Test("Properties of managed objects accept and return the custom type")
    func properties() throws {
        let realm = try Custom.realm()
        try realm.write {
            let object = realm.create(Everything.self, value: ["id": Wrapped(3), "int": Wrapped(4), "double": 2])
            #expect(object.id == Wrapped(3) && object.int == Wrapped(4) && object.double == Wrapped(2.0))
            object.string = Wrapped("s")
            object.optDate = Wrapped(Date(timeIntervalSince1970: 1))
            object.optLocation = Location(1, 2)
            #expect(object.string.stored == "s" && object.optDate?.stored == Date(timeIntervalSince1970: 1))
            #expect(object.optLocation == Location(1, 2) && Custom.pointCount(realm) == 2)
            object.optLocation = Location(3, 4)
            object.location = Location(5, 6)
            #expect(object.optLocation?.y == 4 && object.location.x == 5 && Custom.pointCount(realm) == 2)
            object.optLocation = nil
            object.optDate = nil
            #expect(object.optLocation == nil && object.optDate == nil && Custom.pointCount(realm) == 1)
            #expect(object.description.contains("string = s;") && object.description.contains("x = 5;"))
            realm.delete(object)
            #expect(Custom.pointCount(realm) == 0)
        }
    }

    @Test("Creation and updates accept persisted values, custom values, dictionaries and objects")
    func creating() throws {
        let realm = try Custom.realm()
        try realm.write {
            let first = realm.create(
                Everything.self, value: ["id": 1, "location": ["x": 1, "y": 2], "optLocation": Location(3, 4)])
            #expect(first.location == Location(1, 2) && first.optLocation == Location(3, 4))
            realm.create(Everything.self, value: ["id": 1, "location": Location(9, 9)], update: .modified)
            #expect(first.location == Location(9, 9) && first.optLocation == Location(3, 4))
            #expect(Custom.pointCount(realm) == 2)
            let other = Everything(value: ["id": 1, "location": Point(value: [5, 5]), "int": 8])
            realm.add(other, update: .all)
            #expect(first.location == Location(5, 5) && first.optLocation == nil && first.int.stored == 8)
            #expect(realm.objects(Everything.self).count == 1 && Custom.pointCount(realm) == 1)
            let copy = first.detached()
            #expect(copy.realm == nil && copy.location == Location(5, 5) && copy.int == first.int)
        }
    }

    @Test("Lists, sets and maps contain custom values and optional custom values")
    func collections() throws {
        let realm = try Custom.realm()
        let uuid = UUID()
        let object = Collections(value: ["ints": [3, 1], "words": ["a", nil], "named": ["k": Location(1, 1)]])
        #expect(object.ints[1] == Wrapped(1) && object.words[0] == Word("a"))
        object.places.append(Location(0, 1))
        try realm.write {
            realm.add(object)
            object.ints.append(Wrapped(2))
            object.ints[0] = Wrapped(4)
            object.optInts.append(objectsIn: [Wrapped(1), nil])
            object.uuids.insert(Custom.Plain(uuid))
            object.uuids.insert(Custom.Plain(uuid))
            object.strings.insert(objectsIn: [Wrapped("b"), Wrapped("a")])
            object.doubles["x"] = Wrapped(0.5)
            object.places.append(Location(2, 3))
            object.named["n"] = Location(4, 5)
            object.named["none"] = .some(nil)
        }
        #expect(Array(object.ints) == [4, 1, 2].map { Wrapped($0) } && Array(object.optInts) == [Wrapped(1), nil])
        #expect(object.uuids.count == 1 && object.uuids.contains(Custom.Plain(uuid)))
        #expect(object.strings.map(\.stored) == ["a", "b"] && object.doubles["x"] == Wrapped(0.5))
        #expect(object.ints.index(of: Wrapped(2)) == 2 && object.ints.index(of: Wrapped(9)) == nil)
        #expect(Array(object.places) == [Location(0, 1), Location(2, 3)])
        #expect(object.places.map(\.y) == [1, 3] && object.places.last == Location(2, 3))
        #expect(object.named["n"] == Location(4, 5) && object.named["none"] == .some(nil))
        #expect(Custom.pointCount(realm) == 4)
        try realm.write {
            object.places.remove(at: 0)
            object.named["k"] = nil
        }
        #expect(Custom.pointCount(realm) == 2)
        let copy = object.detached()
        #expect(Array(copy.places) == [Location(2, 3)] && copy.named["n"] == Location(4, 5))
        try realm.write {
            let made = realm.create(Collections.self, value: object)
            #expect(Array(made.places) == [Location(2, 3)] && made.ints.count == 3)
        }
    }

    @Test("Aggregates, sorting and distinct use the stored values")
    func figures() throws {
        let realm = try Custom.realm()
        let object = Collections(value: ["ints": [3, 1, 3], "doubles": ["a": 1.5, "b": 2.5]])
        object.dates.append(objectsIn: [2, 1].map { Wrapped(Date(timeIntervalSince1970: $0)) })
        object.decimals.append(objectsIn: ["1.5", "2"].map { Wrapped(Decimal128(value: $0)) })
        try realm.write { realm.add(object) }
        #expect(object.ints.min() == Wrapped(1) && object.ints.max() == Wrapped(3) && object.ints.sum() == Wrapped(7))
        #expect(object.dates.min() == Wrapped(Date(timeIntervalSince1970: 1)))
        #expect(object.decimals.sum() == Wrapped(Decimal128(value: "3.5")))
        #expect(object.doubles.sum() == Wrapped(4.0))
        let average: Double? = object.ints.average()
        #expect(average.map { abs($0 - 7.0 / 3) < 1e-9 } == true)
        #expect(object.ints.sorted().map(\.stored) == [1, 3, 3] && object.ints.distinct().map(\.stored) == [3, 1])
        try realm.write {
            for (id, int) in [(1, 5), (2, 4), (3, 5)] {
                realm.create(Everything.self, value: ["id": id, "int": int, "location": [id, -id]])
            }
        }
        let all = realm.objects(Everything.self)
        #expect(all.sorted(by: \.int).map(\.id.stored) == [2, 1, 3])
        #expect(all.sorted(byKeyPath: "location.y").map(\.id.stored) == [3, 2, 1])
        #expect(all.distinct(by: [\.int]).map(\.id.stored) == [1, 2])
        #expect(all.sum(of: \.int) == Wrapped(14) && all.max(of: \.int) == Wrapped(5))
        let youngest: Wrapped<Date>? = all.max(of: \.date)
        #expect(youngest?.stored == all.map(\.date.stored).max())
    }

    @Test("Collections of embedded custom values are queried and sorted by their stored properties")
    func embeddedElements() throws {
        let realm = try Custom.realm()
        let object = Collections()
        object.places.append(objectsIn: [Location(1, 9), Location(2, 8), Location(3, 7)])
        try realm.write { realm.add(object) }
        #expect(object.places.sorted(byKeyPath: "y").map(\.x) == [3, 2, 1])
        let found = object.places.where { $0.persistableValue.x >= 2 }
        #expect(found.count == 2 && found.first == Location(2, 8) && Array(found).last == Location(3, 7))
        #expect(Array(object.places.where { $0 == Location(2, 8) }) == [Location(2, 8)])
        #expect(Array(object.places.where { $0 != Location(2, 8) }) == [Location(1, 9), Location(3, 7)])
        #expect(object.places.where { $0.in([Location(3, 7), Location(5, 5)]) }.count == 1)
        #expect(object.places.value(forKey: "x") as? [Int] == [1, 2, 3])
    }
}
