// SPDX-License-Identifier: Apache-2.0
// The types that values read by name can be cast to: numbers of every width, optional elements, nulls in maps.

import Foundation
import RealmSwift
import Testing

enum ByName {
    enum Level: Int, PersistableEnum { case low = 1, high }
    enum Step: Int8, PersistableEnum { case one = 1, two }
    enum Word: String, PersistableEnum { case a, b }

    struct Meters: CustomPersistable, Hashable {
        var value: Double
        init(persistedValue: Double) { value = persistedValue }
        var persistableValue: Double { value }
    }

    class Holder: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var i8: Int8
        @Persisted var i16: Int16
        @Persisted var i32: Int32
        @Persisted var i64: Int64
        @Persisted var float: Float
        @Persisted var double: Double
        @Persisted var flag: Bool
        @Persisted var level: Level
        @Persisted var step: Step?
        @Persisted var word: Word
        @Persisted var meters: Meters
        @Persisted var name: String?
        @Persisted var maybe: Int32?
        @Persisted var any: AnyRealmValue
        @Persisted var longs: List<Int64>
        @Persisted var maybes: List<Int16?>
        @Persisted var words: List<Word>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var set: MutableSet<Int64>
        @Persisted var map: Map<String, Int64>
        @Persisted var names: Map<String, String?>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        @Persisted var friend: Holder?
        @Persisted var friends: List<Holder>
        @Persisted var circle: MutableSet<Holder>
        let old = RealmProperty<Int64?>()
    }

    static func values(_ id: Int) -> [String: Any] {
        [
            "id": id, "i8": 5, "i16": 5, "i32": 5, "i64": 5, "float": 5, "double": 5, "flag": true, "level": 2,
            "step": 1, "word": "b", "meters": 5.0, "name": id == 2 ? NSNull() : "n", "any": 5,
            "maybe": id == 2 ? NSNull() : 7, "longs": [1, 2], "maybes": [1, NSNull()] as [Any], "words": ["b", "a"],
            "anys": [5, NSNull(), "x", 2.5] as [Any], "set": [9], "map": ["k": 5],
            "names": ["s": "text", "n": NSNull()] as [String: Any], "anyMap": ["i": 5, "n": NSNull()] as [String: Any],
            "old": 5,
        ]
    }

    /// Three objects; the second has nulls, and is the friend of the first.
    static func realm() throws -> Realm {
        let realm = try memoryRealm(Holder.self)
        try realm.write {
            for id in 1...3 { realm.create(Holder.self, value: values(id)) }
            let all = Array(realm.objects(Holder.self))
            all[0].friend = all[1]
            all[0].friends.append(objectsIn: all)
            all[0].circle.insert(objectsIn: all)
        }
        return realm
    }

    /// The first object in every form that can be read by name.
    static func forms() throws -> [(String, Holder?, (String) -> Any?)] {
        let realm = try realm()
        let managed = realm.objects(Holder.self)[0]
        let loose = Holder(value: values(1))
        let frozen = managed.freeze()
        let dynamic = try #require(realm.dynamicObject(ofType: Holder.className(), forPrimaryKey: 1))
        return [
            ("subscript", managed, { managed[$0] }), ("value(forKey:)", managed, { managed.value(forKey: $0) }),
            ("value(forKeyPath:)", managed, { managed.value(forKeyPath: $0) }),
            ("dictionary", managed, { managed.dictionaryWithValues(forKeys: [$0])[$0] }),
            ("unmanaged", loose, { loose[$0] }), ("unmanaged value", loose, { loose.value(forKey: $0) }),
            ("frozen", frozen, { frozen[$0] }), ("dynamic", nil, { dynamic[$0] }),
            ("dynamic member", nil, { dynamic[dynamicMember: $0] }),
            ("dynamic value", nil, { dynamic.value(forKey: $0) }),
        ]
    }
}

@Suite("Casts of values that are read by name")
struct ValuesByNameTests {
    private typealias Holder = ByName.Holder

    @Test("Numbers can be cast to their declared type, and most of them to every type that represents the value")
    func numbers() throws {
        for (form, _, value) in try ByName.forms() {
            let isDynamic = form.hasPrefix("dynamic")
            let declared = ["i8", "i16", "i32", "i64", "float", "old", "step", "any"]
            for name in isDynamic ? declared + ["id", "double", "meters", "level"] : declared {
                let five: Any = try #require(value(name), "\(form) \(name)")
                let number = ["id": 1, "step": 1, "level": 2][name] ?? 5
                #expect(five as? Int == number, "\(form) \(name)")
                #expect(five as? Int64 == Int64(number), "\(form) \(name)")
                #expect(five as? Int32 == Int32(number), "\(form) \(name)")
                #expect(five as? Int16 == Int16(number), "\(form) \(name)")
                #expect(five as! Int8 == Int8(number), "\(form) \(name)")
                #expect(five as? Double == Double(number) && five as? Float == Float(number), "\(form) \(name)")
                #expect((five as? NSNumber)?.intValue == number && five as? Int64? == Int64(number), "\(form) \(name)")
                #expect(five as? String == nil, "\(form) \(name)")
            }
            #expect(value("id") as? Int == 1 && value("level") as? Int == 2, "\(form)")
            #expect(value("double") as? Double == 5 && value("meters") as? Double == 5, "\(form)")
            #expect(value("any") as? Int == 5, "\(form)")
            #expect(value("step") as? Int8 == 1 && value("step") as? Int == 1, "\(form)")
            #expect(value("flag") as? Bool == true && (value("flag") as? NSNumber)?.boolValue == true, "\(form)")
            #expect(value("word") as? String == "b" && value("maybe") as? Int32 == 7, "\(form)")
        }
    }

    @Test("A cast to a type that cannot represent the value returns nil")
    func misfits() throws {
        let realm = try ByName.realm()
        let holder = realm.objects(Holder.self)[0]
        let dynamic = realm.dynamicObjects(Holder.className())[0]
        try realm.write {
            holder.i64 = .max
            holder.i16 = 300
            holder.double = 1.1
            holder.float = 1.5
        }
        for value in [{ holder[$0] }, { dynamic[$0] }] as [(String) -> Any?] {
            #expect(value("i64") as? Int64 == .max && value("i64") as? Int == .max && value("i64") as? Int32 == nil)
            #expect(value("i16") as? Int8 == nil && value("i16") as? Int16 == 300)
            #expect(value("double") as? Float == nil && value("double") as? Int == nil)
            #expect(value("double") as? Double == 1.1 && value("float") as? Double == 1.5)
        }
    }

    @Test("A value that was read by name can be stored by name, used as a key and compared")
    func roundTrip() throws {
        let realm = try ByName.realm()
        let (first, third) = (realm.objects(Holder.self)[0], realm.objects(Holder.self)[2])
        let dynamic = realm.dynamicObjects(Holder.className())[2]
        try realm.write {
            first.i64 = 1
            first.float = 1
            first.any = .float(1.5)
            for name in ["i8", "i64", "float", "double", "any", "level", "maybe", "meters", "old"] {
                third[name] = first[name]
                dynamic[name] = first[name]
            }
            first["i16"] = first["i64"]
            first["double"] = first["i64"]
        }
        #expect(third.i64 == 1 && third.float == 1 && third.any == .float(1.5) && third.level == .high)
        #expect(first.i16 == 1 && first.double == 1)
        #expect(realm.object(ofType: Holder.self, forPrimaryKey: first["id"] as Any) == first)
        #expect(realm.objects(Holder.self).filter("i64 == %@", first["i64"] as Any).count == 2)
        #expect(realm.objects(Holder.self).filter("double == %@", first["double"] as Any).count == 1)
    }

    @Test("The values of a property of all elements can be cast to arrays of every matching type")
    func arrays() throws {
        let realm = try ByName.realm()
        let first = realm.objects(Holder.self)[0]
        let loose = List<Holder>()
        loose.append(objectsIn: (1...3).map { Holder(value: ByName.values($0)) })
        let dynamic = first.dynamicList("friends")
        func check(_ all: some RealmCollection) throws {
            #expect(all.value(forKey: "double") as? [Double] == [5, 5, 5])
            #expect(all.value(forKey: "level") as? [Int] == [2, 2, 2])
            for name in ["i8", "i16", "i32", "i64", "float"] {
                let values = all.value(forKey: name)
                #expect(values as? [Int64] == [5, 5, 5] && values as? [Int] == [5, 5, 5], "\(name)")
                #expect(values as? [Int8] == [5, 5, 5] && values as? [Double] == [5, 5, 5], "\(name)")
                #expect(values as? [Int16?] == [5, 5, 5] && (values as? [NSNumber])?.count == 3, "\(name)")
            }
            #expect(all.value(forKey: "name") as? [String?] == ["n", nil, "n"])
            #expect(all.value(forKeyPath: "name") as? [String?] == ["n", nil, "n"])
            #expect(all.value(forKey: "name") as? [String] == nil)
            #expect((all.value(forKey: "name") as? [AnyObject])?[1] is NSNull)
            #expect(all.value(forKey: "maybe") as? [Int32?] == [7, nil, 7])
            #expect(all.value(forKey: "maybe") as? [Int?] == [7, nil, 7])
            #expect((all.value(forKey: "maybe") as? [Any?])?.map { $0 == nil } == [false, true, false])
            #expect(
                all.value(forKeyPath: "@max.i64") as? Int8 == 5 && all.value(forKeyPath: "@sum.float") as? Double == 15)
            #expect(all.value(forKeyPath: "@avg.i8") as? Double == 5 && all.value(forKeyPath: "@count") as? Int == 3)
            #expect(all.value(forKeyPath: "@distinctUnionOfObjects.i64") as? [Int64] == [5])
            #expect(all.value(forKeyPath: "@distinctUnionOfObjects.maybe") as? [Int32?] == [7, nil])
            // The lists of dynamic objects are lists of Int.
            let longs = all.value(forKeyPath: "@unionOfArrays.longs")
            #expect((longs as? [Int64])?.count == 6 || longs as? [Int] == [1, 2, 1, 2, 1, 2])
        }
        try check(realm.objects(Holder.self))
        try check(first.friends)
        try check(AnyRealmCollection(first.friends))
        try check(loose)
        try check(dynamic)
        #expect(first.friends.value(forKeyPath: "friend.name") as? [String?] == [nil, nil, nil])
        #expect(first.value(forKeyPath: "friends.i64") as? [Int64] == [5, 5, 5])
        #expect(first.value(forKeyPath: "friends.name") as? [String?] == ["n", nil, "n"])
    }

    @Test(
        "The elements of a collection of values are read with the key self", arguments: [true, false])
    func elements(isManaged: Bool) throws {
        let holder = isManaged ? try ByName.realm().objects(Holder.self)[0] : Holder(value: ByName.values(1))
        #expect(holder.longs.value(forKey: "self") as? [Int64] == [1, 2])
        #expect(holder.longs.value(forKey: "self") as? [Int] == [1, 2])
        #expect(holder.maybes.value(forKey: "self") as? [Int16?] == [1, nil])
        #expect(holder.maybes.value(forKey: "self") as? [Int?] == [1, nil])
        #expect(holder.words.value(forKey: "self") as? [String] == ["b", "a"])
        let anys = try #require(holder.anys.value(forKey: "self") as? [Any?])
        #expect(anys[0] as? Int == 5 && anys[1] == nil && anys[2] as? String == "x" && anys[3] as? Double == 2.5)
        #expect(holder.longs.value(forKeyPath: "@max.self") as? Int16 == 2)
    }

    @Test("A map returns NSNull for a null and nil for a missing key", arguments: [true, false])
    func nullsOfMaps(isManaged: Bool) throws {
        let holder = isManaged ? try ByName.realm().objects(Holder.self)[0] : Holder(value: ByName.values(1))
        let null: Any? = holder.names.value(forKey: "n")
        let anyNull: Any? = holder.anyMap.value(forKey: "n")
        #expect(null is NSNull && anyNull is NSNull)
        let none: Any? = holder.names.value(forKey: "?")
        let anyNone: Any? = holder.anyMap.value(forKey: "?")
        #expect(none == nil && anyNone == nil)
        #expect(
            holder.names.value(forKey: "s") as? String == "text" && holder.names.value(forKey: "n") as? String == nil)
        #expect(holder.map.value(forKey: "k") as? Int64 == 5 && holder.map.value(forKey: "k") as? Int8 == 5)
        #expect(holder.anyMap.value(forKey: "i") as? Int == 5)
        #expect(holder.map.value(forKeyPath: "@sum.self") as? Int32 == 5)
    }

    @Test("The old and new values of a change can be cast like values that are read by name")
    @MainActor
    func changes() throws {
        try withFile([Holder.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write { _ = realm.create(Holder.self, value: ByName.values(1)) }
            let holder = realm.objects(Holder.self)[0]
            var seen: [String: PropertyChange] = [:]
            let token = holder.observe { change in
                guard case .change(_, let changes) = change else { return }
                for change in changes { seen[change.name] = change }
            }
            defer { token.invalidate() }
            let elsewhere = Thread {
                guard let realm = try? Realm(configuration: configuration) else { return }
                try? realm.write {
                    let holder = realm.objects(Holder.self)[0]
                    (holder.i8, holder.i64, holder.double, holder.float, holder.level) = (6, 6, 6, 6, .low)
                    holder.any = .int(6)
                }
            }
            elsewhere.start()
            while !elsewhere.isFinished { Thread.sleep(forTimeInterval: 0.001) }
            realm.refresh()
            for name in ["i8", "i64", "float"] {
                let change = try #require(seen[name], "\(name)")
                #expect(change.oldValue as? Int64 == 5 && change.newValue as? Int64 == 6, "\(name)")
                #expect(change.oldValue as? Int8 == 5 && change.newValue as? Double == 6, "\(name)")
            }
            #expect(seen["double"]?.oldValue as? Double == 5 && seen["double"]?.newValue as? Double == 6)
            #expect(seen["any"]?.oldValue as? Int == 5 && seen["any"]?.newValue as? Int == 6)
            #expect(seen["level"]?.oldValue as? Int == 2 && seen["level"]?.newValue as? Int == 1)
        }
    }

    @Test("A link that is read from a dynamic object converts to the declared class through AnyRealmValue")
    func declaredLinks() throws {
        let realm = try ByName.realm()
        let dynamic = realm.dynamicObjects(Holder.className())[0]
        let link = try #require(dynamic["friend"] as? DynamicObject)
        #expect(link["id"] as? Int == 2 && AnyRealmValue.object(link).object(Holder.self)?.id == 2)
    }

    @Test("A set returns each value once", arguments: [true, false])
    func distinctOfSets(isManaged: Bool) throws {
        let realm = try ByName.realm()
        let set: MutableSet<Holder>
        if isManaged {
            set = realm.objects(Holder.self)[0].circle
        } else {
            set = MutableSet<Holder>()
            set.insert(objectsIn: (1...3).map { Holder(value: ByName.values($0)) })
        }
        #expect(set.value(forKey: "i64") as? [Int64] == [5] && set.value(forKeyPath: "i64") as? [Int] == [5])
        let names = try #require(set.value(forKey: "name") as? [String?])
        #expect(names.count == 2 && Set(names) == ["n", nil])
        #expect((set.value(forKey: "id") as? [Int])?.sorted() == [1, 2, 3])
        let objects: [AnyObject] = set.value(forKey: "double")
        #expect(objects.count == 1 && (objects[0] as? NSNumber)?.doubleValue == 5)
        #expect(AnyRealmCollection(set).value(forKey: "level") as? [Int] == [2])
        #expect((set.value(forKey: "self") as? [Holder])?.count == 3)
        guard isManaged else { return }
        #expect(realm.objects(Holder.self)[0].value(forKeyPath: "circle.i8") as? [Int8] == [5])
        let friends = try #require(set.value(forKeyPath: "friend.id") as? [Int?])
        #expect(friends.count == 2 && Set(friends) == [2, nil])
    }

    @Test("Integers of all widths are read as Int by name, and as their own type by property")
    func widths() throws {
        let realm = try Contract.realm()
        let values = try realm.write {
            realm.create(
                Contract.Values.self, value: ["int8": 127, "int16": -5, "int32": NSNumber(value: 7), "int64": 8])
        }
        #expect(values.int8 == 127 && values.int16 == -5 && values.int32 == 7 && values.int64 == 8)
        #expect(values["int8"] as? Int == 127 && values["int32"] as? Int == 7)
        let dynamic = try #require(realm.dynamicObjects(Contract.Values.className()).first)
        #expect(dynamic["int16"] as? Int == -5 && dynamic["level"] as? Int == 1 && dynamic["nameEnum"] == nil)
        try realm.write { dynamic["optLevel"] = 10 }
        #expect(values.optLevel == nil && values["optLevel"] as? Int == 10)
    }
}
