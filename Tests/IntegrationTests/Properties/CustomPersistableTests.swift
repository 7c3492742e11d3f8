// SPDX-License-Identifier: Apache-2.0
// Custom types as properties, as elements and in queries, over every type that they can be stored as.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Collections = Custom.Collections
private typealias Everything = Custom.Everything
private typealias Failing = Custom.Failing
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

@Suite("Queries on custom types")
struct CustomQueriesTests {
    private let realm: Realm

    init() throws {
        realm = try Custom.realm()
        try realm.write {
            for id in 1...4 {
                let object = realm.create(
                    Everything.self,
                    value: ["id": id, "int": id * 10, "string": "name\(id)", "location": [id, id]])
                object.date = Wrapped(Date(timeIntervalSince1970: Double(id)))
                object.optLocation = id > 2 ? Location(id, 0) : nil
                object.optInt = id > 2 ? Wrapped(id) : nil
            }
            let lists = realm.create(Collections.self, value: ["ints": [1, 2], "doubles": ["k": 0.5]])
            lists.places.append(objectsIn: [Location(1, 2), Location(3, 4)])
        }
    }

    private func ids(_ condition: (Query<Everything>) -> Query<Bool>) -> [Int] {
        realm.objects(Everything.self).where(condition).map(\.id.stored)
    }

    @Test("Custom values are constants in type-safe queries with the operators of the stored type")
    func operators() {
        #expect(ids { $0.int == Wrapped(20) } == [2] && ids { $0.int != Wrapped(20) } == [1, 3, 4])
        #expect(ids { $0.int > Wrapped(20) } == [3, 4] && ids { $0.int <= Wrapped(10) } == [1])
        #expect(ids { $0.int.contains(Wrapped(10)...Wrapped(30)) } == [1, 2, 3])
        #expect(ids { $0.int.in([Wrapped(10), Wrapped(40), Wrapped(0)]) } == [1, 4])
        #expect(ids { $0.string.starts(with: Wrapped("name")) && $0.string.ends(with: Wrapped("3")) } == [3])
        #expect(ids { $0.string.like(Wrapped("*me4")) } == [4])
        #expect(ids { $0.date < Wrapped(Date(timeIntervalSince1970: 3)) } == [1, 2])
        #expect(ids { $0.optInt == nil } == [1, 2] && ids { $0.optInt >= Wrapped(3) } == [3, 4])
        #expect(ids { $0.id == Wrapped(3) } == [3] && ids { $0.size == Wrapped(.small) } == [1, 2, 3, 4])
    }

    @Test("persistableValue is the same key path with the stored type")
    func persistable() {
        #expect(ids { $0.int.persistableValue == 20 } == [2] && ids { $0.optInt.persistableValue > 3 } == [4])
        #expect(ids { $0.string.persistableValue.contains("2") } == [2])
        #expect(ids { $0.location.persistableValue.x == 3 } == [3])
        #expect(ids { $0.optLocation.persistableValue.x > 3 } == [4])
        let (text, _) = Query<Everything>._constructForTesting().location.persistableValue.x._constructPredicate()
        #expect(text.contains("location.x"))
    }

    @Test("Values that are stored as embedded objects are compared member by member")
    func memberwise() {
        #expect(ids { $0.location == Location(2, 2) } == [2] && ids { $0.location == Location(2, 1) } == [])
        #expect(ids { $0.location != Location(2, 2) } == [1, 3, 4])
        #expect(ids { $0.optLocation == Location(3, 0) } == [3] && ids { $0.optLocation == nil } == [1, 2])
        #expect(ids { $0.optLocation != Location(3, 0) } == [1, 2, 4])
        #expect(ids { $0.location.in([Location(1, 1), Location(4, 4)]) } == [1, 4])
        let lists = realm.objects(Collections.self)
        // No element has both values.
        #expect(lists.where { $0.places.contains(Location(1, 4)) }.isEmpty)
        #expect(lists.where { $0.places.contains(Location(3, 4)) }.count == 1)
        #expect(lists.where { $0.places == Location(1, 2) }.count == 1)
    }

    @Test("Collections of custom values are queried like collections of the stored type")
    func collections() {
        let lists = realm.objects(Collections.self)
        #expect(lists.where { $0.ints.contains(Wrapped(2)) }.count == 1)
        #expect(lists.where { $0.ints == Wrapped(3) }.isEmpty && lists.where { $0.ints.sum == Wrapped(3) }.count == 1)
        #expect(lists.where { $0.doubles["k"] == Wrapped(0.5) }.count == 1)
        #expect(lists.filter("ANY ints == %@", Wrapped(1)).count == 1)
        #expect(lists.filter("ANY places.x == 3").count == 1)
    }

    @Test("Custom values can be arguments of predicate formats")
    func text() {
        let all = realm.objects(Everything.self)
        #expect(all.filter("int == %@", Wrapped(20)).map(\.id.stored) == [2])
        #expect(all.filter("int IN %@", [Wrapped(10), Wrapped(30)]).map(\.id.stored) == [1, 3])
        #expect(all.filter("date > %@", Wrapped(Date(timeIntervalSince1970: 3))).map(\.id.stored) == [4])
        #expect(all.filter("string ==[c] %@", Wrapped("NAME1")).map(\.id.stored) == [1])
    }

    @Test("Custom values stored as embedded objects can be arguments of predicate formats")
    func memberwiseText() throws {
        let all = realm.objects(Everything.self)
        func ids(_ text: String, _ arguments: Any...) -> [Int] {
            all.filter(NSPredicate(format: text, argumentArray: arguments)).map(\.id.stored)
        }
        #expect(ids("location == %@", Location(2, 2)) == [2] && ids("location == %@", Location(2, 1)) == [])
        #expect(ids("location != %@", Location(2, 2)) == [1, 3, 4])
        #expect(ids("NOT location == %@", Location(1, 1)) == [2, 3, 4])
        #expect(ids("optLocation == %@ OR id == 1", Location(3, 0)) == [1, 3])
        #expect(ids("optLocation != %@", Location(3, 0)) == [1, 2, 4])
        #expect(ids("location IN %@", [Location(1, 1), Location(4, 4), Location(4, 1)]) == [1, 4])
        #expect(ids("optLocation IN %@", [nil, Location(4, 0)] as [Location?]) == [1, 2, 4])
        #expect(ids("location == %@", Location(2, 2) as Location? as Any) == [2])
        let lists = realm.objects(Collections.self)
        // No element has both values.
        #expect(lists.filter("ANY places == %@", Location(1, 4)).isEmpty)
        #expect(lists.filter("ANY places == %@", Location(3, 4)).count == 1)
        #expect(lists.filter("%@ IN places", Location(1, 2)).count == 1)
        #expect(lists.filter("ANY places IN %@", [Location(9, 9), Location(1, 2)]).count == 1)
        #expect(lists.filter("NONE places IN %@", [Location(9, 9), Location(1, 2)]).isEmpty)
        // At least one element differs from it.
        #expect(lists.filter("ANY places != %@", Location(1, 2)).count == 1)
        let nothing = try realm.write { realm.create(Collections.self, value: ["named": ["n": NSNull()]]) }
        #expect(lists.filter("ANY named != %@", Location(1, 1)).count == 1)
        try realm.write { realm.delete(nothing) }
        try realm.write { lists[0].named["k"] = Location(5, 6) }
        #expect(lists.filter("named['k'] == %@", Location(5, 6)).count == 1)
        #expect(lists.filter("named['none'] == %@", Location(5, 6)).isEmpty)
        #expect(lists.filter("ANY named == %@", Location(5, 6)).count == 1)
        #expect(lists.where { $0.named["k"] == Location(5, 6) }.count == 1)
        #expect(lists.where { $0.named.contains(Location(5, 6)) }.count == 1)
        #expect(lists.where { $0.places.containsAny(in: [Location(0, 0), Location(3, 4)]) }.count == 1)
    }

    @Test("A comparison with an embedded custom value prints as one comparison")
    func memberwisePrints() {
        let query = Query<Everything>._constructForTesting()
        let (text, arguments) = (query.location == Location(2, 2))._constructPredicate()
        #expect(text == "(location == %@)" && arguments.count == 1)
        #expect(arguments.first as? Location == Location(2, 2))
        #expect((!(query.optLocation == nil))._constructPredicate().0 == "(NOT optLocation == %@)")
        #expect(query.location.in([Location(1, 1)])._constructPredicate().0 == "(location IN %@)")
        let lists = Query<Collections>._constructForTesting()
        #expect(lists.places.contains(Location(1, 1))._constructPredicate().0 == "(%@ IN places)")
        #expect((lists.places == Location(1, 1))._constructPredicate().0 == "(ANY places == %@)")
        // The printed predicate finds the same objects.
        let found = realm.objects(Everything.self).filter(NSPredicate(format: text, argumentArray: arguments))
        #expect(found.map(\.id.stored) == [2])
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Unsupported property 'Custom_Holder.marks' for memberwise equality query") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).where { $0.marks == Custom.Marks([1]) }
        },
        MisuseCase("equality on collections is not implemented") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).filter("marks == %@", Custom.Marks([1]))
        },
        MisuseCase("Cannot compare value 'Location(x: 1, y: 2)' of type 'Location' to property 'marks' of type") {
            _ = try Custom.realm().objects(Custom.Uncomparable.self).filter("marks == %@", Location(1, 2))
        },
        MisuseCase("Cannot compare value 'Location(x: 1, y: 2)' of type 'Location' to property 'int' of type 'int'") {
            _ = try Custom.realm().objects(Everything.self).filter("int == %@", Location(1, 2))
        },
        MisuseCase("Operator '>' not supported for type 'Custom_Point'") {
            _ = try Custom.realm().objects(Everything.self).filter("location > %@", Location(1, 2))
        },
    ]

    @Test("A value that cannot be compared member by member is refused", arguments: refusals)
    func uncomparable(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

@Suite("Failable custom types")
struct FailableCustomPersistableTests {
    /// Stores plain text in the same table.
    enum Raw {
        static func store(_ text: String, in realm: Realm, _ property: String) throws {
            try realm.write {
                let object = realm.dynamicObjects("Custom_Failing").first
                object?[property] = text
            }
        }
    }

    @Test("A stored value that converts to no custom value reads as nil from an optional property")
    func optional() throws {
        let realm = try Custom.realm()
        let object = Failing()
        #expect(object.word == Word("first") && object.optWord == nil)
        try realm.write {
            realm.add(object)
            object.optWord = Word("ok")
        }
        #expect(object.optWord == Word("ok"))
        try Raw.store("two words", in: realm, "optWord")
        #expect(object.optWord == nil)
        let words = Collections()
        try realm.write {
            realm.add(words)
            words.words.append(objectsIn: [Word("a"), nil])
            let texts = realm.dynamicObjects("Custom_Collections").first?["words"] as? List<String?>
            texts?.append("b c")
        }
        #expect(Array(words.words) == [Word("a"), nil, nil])
    }

    @Test("A query can use a property whose type has no default if the class gives one")
    func tracing() throws {
        let realm = try Custom.realm()
        try realm.write { realm.add(Failing(value: ["id": 1, "word": "x"])) }
        #expect(realm.objects(Failing.self).where { $0.word == Word("x") }.count == 1)
        #expect(realm.objects(Failing.self).sorted(by: \.word).first?.id == 1)
    }

    static let misuses = [
        MisuseCase("Failed to convert persisted value 'two words' to type 'Word' in a non-optional context.") {
            let realm = try Custom.realm()
            let object = Failing()
            try realm.write { realm.add(object) }
            try Raw.store("two words", in: realm, "word")
            _ = object.word
        },
        MisuseCase(
            "Failed to default construct a Word using the default value for persisted type String. This conversion "
                + "must either succeed, the property must be optional, or you must explicitly specify a default value"
        ) {
            _ = Custom.Undefaulted().word
        },
        MisuseCase("Invalid value 'two words' of type 'String' for 'string' property 'Custom_Failing.word'.") {
            _ = Failing(value: ["word": "two words"])
        },
        MisuseCase("cannot be stored as an object of 'Custom_TopLevel'") {
            _ = try memoryRealm(Custom.BadlyLinked.self, Custom.TopLevel.self)
        },
    ]

    @Test("Programmer errors with custom types have clear messages", arguments: misuses)
    func misuse(_ misuse: MisuseCase) throws {
        #expect(try misuse.message().contains(misuse.words))
    }

    @Test("Codable custom types are encoded and decoded with their objects")
    func coding() throws {
        let object = Custom.Coded(value: ["id": 1, "word": "x"])
        let json = try JSONEncoder().encode(object)
        let read = try JSONDecoder().decode(Custom.Coded.self, from: json)
        #expect(read.word == Word("x") && read.optWord == nil && read.id == 1)
    }
}
