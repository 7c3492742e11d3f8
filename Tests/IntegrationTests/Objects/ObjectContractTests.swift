// SPDX-License-Identifier: Apache-2.0
// RealmSwift's contract for objects and classes: overridden description and equality, values by several names,
// inheritance, names beyond ASCII, valid values of properties and links.

import Foundation
import RealmSwift
import Testing

private class Animal: Object {
    @Persisted var name = "nobody"
    @Persisted var legs: Int?
    override var description: String { "Animal \(name)" }
    override var debugDescription: String { "debug \(name)" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Cat: Animal {
    @Persisted var lives = 9
    @Persisted(originProperty: "cat") var zoos: LinkingObjects<Zoo>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Zoo: Object {
    @Persisted var first: Animal?
    @Persisted var cat: Cat?
    @Persisted var all: List<Animal>
    @Persisted var known: MutableSet<Animal>
    @Persisted var cats: MutableSet<Cat>
    @Persisted var named: Map<String, Animal?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Equal by content, because the class overrides equality.
private final class Coin: Object {
    @Persisted var cents = 1
    override func isEqual(_ object: Any?) -> Bool { (object as? Coin)?.cents == cents }
    override var hash: Int { cents }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Keyed: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var x: String?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private final class Ключ日本: Object {
    // swift-format-ignore: IdentifiersMustBeASCII
    @Persisted(primaryKey: true) var 柱колоéнǢкƱаم👍 = "柱"
    // swift-format-ignore: IdentifiersMustBeASCII
    @Persisted(indexed: true) var größe: Int?
    // swift-format-ignore: IdentifiersMustBeASCII
    @Persisted var 次: Ключ日本?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private enum Mood: Int, PersistableEnum { case good = 1, bad }

private final class Boxes: Object {
    let mood = RealmProperty<Mood?>()
    let any = RealmProperty<AnyRealmValue>()
    let count = RealmProperty<Int8?>()
    @Persisted var day = Date()
    @Persisted var key: UUID
    @Persisted var whole = 0
    @Persisted var yes = false
    @Persisted var float: Float = 0
    @Persisted var double = 0.0
    @Persisted var text = ""
    @Persisted var bytes = Data()
    @Persisted var id: ObjectId
    @Persisted var decimal: Decimal128
    @Persisted var numbers: List<Int>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension Realm {
    fileprivate static func zoo() throws -> Realm {
        try memoryRealm(Animal.self, Cat.self, Zoo.self, Coin.self, Keyed.self, Ключ日本.self, Boxes.self)
    }
}

private func inWrite(_ words: String, _ body: @escaping @Sendable (Realm) throws -> Void) -> MisuseCase {
    MisuseCase(words) {
        let realm = try Realm.zoo()
        try realm.write { try body(realm) }
    }
}

private let otherClasses: [MisuseCase] = [
    inWrite("Can't set object of type 'Cat' to property of type 'Animal'") { $0.create(Zoo.self).first = Cat() },
    inWrite("Can't set object of type 'Cat' to property of type 'Animal'") {
        let zoo = Zoo()
        zoo.first = Cat()
        $0.add(zoo)
    },
    inWrite("Can't set object of type 'Cat' to property of type 'Animal'") {
        let zoo = Zoo()
        zoo.first = $0.create(Cat.self)
        $0.add(zoo)
    },
    inWrite("for 'Animal?' property 'Zoo.first'.") { $0.create(Zoo.self, value: ["first": Cat()]) },
    inWrite("Object of type 'Cat' does not match RLMArray type 'Animal'.") { $0.create(Zoo.self).all.append(Cat()) },
    inWrite("Object of type 'Cat' does not match RLMSet type 'Animal'.") { $0.create(Zoo.self).known.insert(Cat()) },
    inWrite("Value of type 'Cat' does not match RLMDictionary value type 'Animal'.") {
        $0.create(Zoo.self).named["x"] = Cat()
    },
    inWrite("Object of type 'Cat' does not match RLMArray type 'Animal'.") {
        _ = $0.create(Zoo.self).all.index(of: $0.create(Cat.self))
    },
    inWrite("Object of type 'Cat' does not match RLMArray type 'Animal'.") {
        $0.create(Cat.self)
        _ = $0.create(Zoo.self).dynamicList("all").index(of: $0.dynamicObjects("Cat")[0])
    },
    inWrite("Object of type 'Cat' does not match RLMSet type 'Animal'.") {
        _ = $0.create(Zoo.self).known.contains($0.create(Cat.self))
    },
    inWrite("Object of type 'Cat' does not match Results type 'Animal'.") {
        _ = $0.objects(Animal.self).index(of: $0.create(Cat.self))
    },
    inWrite("Object of type 'Cat' does not match Results type 'Animal'.") {
        $0.create(Cat.self)
        _ = $0.dynamicObjects("Animal").index(of: $0.dynamicObjects("Cat")[0])
    },
    MisuseCase("Object of type 'Cat' does not match RLMArray type 'Animal'.") { _ = Zoo().all.index(of: Cat()) },
    inWrite("Object of type 'Cat' does not match RLMArray type 'Animal'.") {
        $0.create(Zoo.self).dynamicList("all").append($0.dynamicCreate("Cat"))
    },
    inWrite("Object of type 'Cat' does not match RLMSet type 'Animal'.") {
        $0.dynamicCreate("Zoo")["known"] = [$0.dynamicCreate("Cat")]
    },
    inWrite("Value of type 'Cat' does not match RLMDictionary value type 'Animal'.") {
        $0.create(Zoo.self).dynamicMap("named")["x"] = $0.dynamicCreate("Cat")
    },
    inWrite("Cannot intersect sets of type 'Animal' and 'Cat'.") {
        let zoo = $0.create(Zoo.self)
        _ = zoo.dynamicMutableSet("known").isSubset(of: zoo.dynamicMutableSet("cats"))
    },
    MisuseCase("Object of type 'Cat' does not match RLMArray type 'Animal'.") { Zoo().all.append(Cat()) },
    MisuseCase("Object of type 'Cat' does not match RLMArray type 'Animal'.") {
        let zoo = Zoo()
        zoo.all.append(Animal())
        zoo.all[0] = Cat()
    },
    MisuseCase("Object of type 'Cat' does not match RLMSet type 'Animal'.") { Zoo().known.insert(Cat()) },
    MisuseCase("Value of type 'Cat' does not match RLMDictionary value type 'Animal'.") { Zoo().named["x"] = Cat() },
    MisuseCase("to initialize object of type 'Cat': missing key 'lives'") { _ = Cat(value: Animal()) },
    inWrite("to initialize object of type 'Keyed': missing key 'id'") { $0.create(Keyed.self, value: Coin()) },
]

private final class PropertyRecorder: Object {
    @Persisted var a = 1 { didSet { changes.append("a \(oldValue) \(a)") } }
    @Persisted var b = "x" { willSet { changes.append("b \(b) \(newValue)") } }
    var changes: [String] = []
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Objects: RealmSwift contract")
struct ObjectContractTests {
    @Test(
        "A link or a collection accepts only objects of its class, not of a subclass",
        arguments: otherClasses)
    func otherClass(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    @Test("A class may override description and equality")
    func overrides() throws {
        let animal: Object = Animal(value: ["name": "Rex"])
        #expect("\(animal)" == "Animal Rex" && String(reflecting: animal) == "debug Rex")
        #expect(Cat().description == "Animal nobody" && Keyed().debugDescription == Keyed().description)
        let (left, right) = (Coin(), Coin(value: ["cents": 1]))
        #expect(left == right && left.isEqual(right) && left != Coin(value: ["cents": 2]))
        #expect(Set([left, right]).count == 1 && [left].contains(right) && [left].firstIndex(of: right) == 0)
        let realm = try Realm.zoo()
        try realm.write { realm.add([left, right]) }
        #expect(left == right && realm.objects(Coin.self)[1].isEqual(left) && !left.isSameObject(as: right))
        let keyed = try realm.write { realm.create(Keyed.self, value: ["id": 3]) }
        let again = try #require(realm.object(ofType: Keyed.self, forPrimaryKey: 3))
        #expect(keyed.isEqual(again) && keyed.hash == again.hash && keyed.hashValue == again.hashValue)
        #expect(!keyed.isEqual(nil) && !keyed.isEqual("text") && !keyed.isEqual(Keyed(value: ["id": 3])))
    }

    @Test(
        "A subclass has the inherited properties first and its own table, and is not in results of its superclass")
    func inheritance() throws {
        let realm = try Realm.zoo()
        try realm.write {
            let cat = Cat(value: ["Tom", 4, 7] as [Any])
            realm.add(cat as Animal)
            realm.add([Animal(), cat])
            #expect(cat.lives == 7 && cat.legs == 4 && cat.objectSchema.className == "Cat")
            let copy = realm.create(Animal.self, value: cat)
            #expect(copy.name == "Tom" && type(of: copy) == Animal.self)
        }
        #expect(realm.schema["Cat"]?.properties.map(\.name) == ["name", "legs", "lives"])
        #expect(realm.objects(Cat.self).count == 1 && realm.objects(Animal.self).count == 2)
        #expect(realm.objects(Cat.self).where { $0.name == "Tom" && $0.lives > 6 }.count == 1)
    }

    @Test("setValuesForKeys and dictionaryWithValues use several names at once")
    func manyNames() throws {
        let realm = try Realm.zoo()
        let animal = Animal()
        animal.setValuesForKeys(["name": "Ann", "legs": 2])
        #expect(animal.name == "Ann" && animal.legs == 2)
        try realm.write {
            realm.add(animal)
            animal.setValuesForKeys(["legs": NSNull()])
        }
        let values = animal.dictionaryWithValues(forKeys: animal.objectSchema.properties.map(\.name))
        #expect(values.count == 2 && values["name"] as? String == "Ann" && values["legs"] is NSNull)
    }

    @Test("Names of classes and properties may use any script")
    func unicode() throws {
        let realm = try Realm.zoo()
        try realm.write {
            realm.create(Ключ日本.self, value: ["größe": 5, "次": ["柱колоéнǢкƱаم👍": "b"]])
        }
        let object = try #require(realm.object(ofType: Ключ日本.self, forPrimaryKey: "柱"))
        #expect(object.次?.柱колоéнǢкƱаم👍 == "b" && object["größe"] as? Int == 5 && object.count == 0)
        #expect(Ключ日本.className() == "Ключ日本" && realm.schema["Ключ日本"]?.properties.count == 3)
        #expect(realm.objects(Ключ日本.self).filter("次.柱колоéнǢкƱаم👍 == 'b'").count == 1)
        #expect(realm.objects(Ключ日本.self).where { $0.größe == 5 }.sorted(by: \.größe).count == 1)
        #expect(realm.dynamicObjects("Ключ日本").first?["größe"] as? Int == 5)
    }

    private static let fitting: [(String, [any Sendable])] = [
        ("yes", [true, 0, 1]), ("whole", [1, Int8(1), true]), ("float", [1, 1.5 as Float, 11.5]),
        ("double", [1, 1.5 as Float, 11.5]), ("text", ["b"]), ("bytes", [Data([1])]),
        ("day", [Date(timeIntervalSince1970: 2)]), ("id", [ObjectId("1234567890ab1234567890ab")]),
        ("decimal", [1, "2", 3.5, Decimal128(4)]),
        ("key", [UUID(), "137DECC8-B300-4954-A233-F89909F4FD89"]), ("any", ["x", 1, NSNull()]),
        ("mood", [1, NSNull()]), ("count", [5, NSNull()]),
        ("numbers", [[1, 2], NSNull()]),
    ]
    private static let unfitting: [(String, [any Sendable])] = [
        ("yes", ["invalid", 2, 1.1]), ("whole", ["invalid", 1.1]),
        ("float", ["invalid", true, Double.greatestFiniteMagnitude]),
        ("double", ["invalid", true]), ("text", [0x197a71d, true]), ("bytes", ["invalid"]), ("day", ["invalid", 5]),
        ("id", ["invalid", 123]), ("decimal", ["invalid"]), ("key", ["invalid", 123]), ("mood", ["x"]),
        ("count", [300]), ("numbers", [["a"], 1]),
    ]

    @Test(
        "Each type accepts the same values of type Any as in RealmSwift, in create, init and by name",
        arguments: fitting)
    func fits(_ name: String, _ values: [any Sendable]) throws {
        let realm = try Realm.zoo()
        for value in values {
            let unmanaged = Boxes(value: [name: value])
            unmanaged[name] = value
            try realm.write {
                let made = realm.create(Boxes.self, value: [name: value])
                made[name] = value
                made.setValue(value, forKey: name)
            }
        }
        #expect(realm.objects(Boxes.self).count == values.count)
    }

    @Test("Each type refuses the same values as in RealmSwift", arguments: unfitting)
    func refuses(_ name: String, _ values: [any Sendable]) throws {
        for value in values {
            let made = try misuseText { _ = Boxes(value: [name: value]) }
            #expect(made?.contains("Invalid value") == true, "\(value): \(made ?? "taken")")
            let created = try misuseText {
                let realm = try Realm.zoo()
                try realm.write { realm.create(Boxes.self, value: [name: value]) }
            }
            #expect(created?.contains("Invalid value") == true, "\(value): \(created ?? "taken")")
        }
    }

    @Test("RealmProperty stores enums, small integers and values of any type, and can be initialised with a value")
    func boxes() throws {
        #expect(RealmProperty<Int?>(5).value == 5 && RealmProperty<Int?>(5) == RealmProperty<Int?>(5))
        let realm = try Realm.zoo()
        let boxes = Boxes()
        boxes.mood.value = .bad
        boxes.any.value = .string("a")
        try realm.write {
            realm.add(boxes)
            boxes.count.value = -3
        }
        #expect(boxes.mood.value == .bad && boxes.any.value == .string("a") && boxes["count"] as? Int == -3)
        #expect(realm.objects(Boxes.self).filter("mood == 2 AND count < 0").count == 1)
        let count: RealmProperty<Int8?> = realm.objects(Boxes.self)[0].count
        #expect(count.value == -3, "a RealmProperty must outlive its accessor")
        let numbers: List<Int> = realm.objects(Boxes.self)[0].numbers
        try realm.write { numbers.append(4) }
        #expect(Array(boxes.numbers) == [4], "a list must outlive its accessor")
    }

    @Test("Results of a class that is known only at run time contain objects of that class")
    func knownLate() throws {
        let realm = try Realm.zoo()
        try realm.write {
            realm.add([Cat(), Cat(), Animal()])
            let type: Object.Type = Keyed.self
            let made: Object = realm.create(type, value: ["id": 5])
            #expect(made is Keyed && realm.object(ofType: type, forPrimaryKey: 5)?.isSameObject(as: made) == true)
        }
        let types: [Object.Type] = [Cat.self, Animal.self]
        #expect(types.map { realm.objects($0).count } == [2, 1] && realm.objects(types[0]).first is Cat)
        let all = try realm.schema.objectSchema.map { try #require($0.objectClass as? Object.Type) }
        try realm.write { for type in all { realm.delete(realm.objects(type)) } }
        #expect(realm.isEmpty)
    }

    @Test("Deprecated names still work")
    func oldSpellings() throws {
        // Looked up at run time, because the compiler warns about all deprecated names.
        let uses = try #require(OldSpellings() as Any as? any RunnableSpellings)
        try uses.run()
    }

    @Test("Generic code can use the underscored protocols and members of a type")
    func generic() throws {
        func stored<T: _Persistable>(_ type: T.Type) -> PropertyType { T._rlmType }
        func found(_ types: [any _RealmSchemaDiscoverable.Type]) -> [Bool] { types.map { $0._rlmOptional } }
        func optionals<T: _RealmCollectionValueInsideOptional>(_ value: T) -> List<T?> {
            let list = List<T?>()
            list.append(objectsIn: [nil, value])
            return list
        }
        #expect(stored(Int8?.self) == .int && stored(List<String>.self) == .string && stored(Mood.self) == .int)
        #expect(
            found([Int.self, Int?.self, AnyRealmValue.self, MutableSet<Date?>.self]) == [false, true, false, true])
        #expect(Array(optionals(Mood.bad)) == [nil, .bad] && optionals("a").count == 2)
    }

    @Test("willSet and didSet run for unmanaged and managed objects")
    func watchers() throws {
        let object = PropertyRecorder()
        object.a = 2
        object.b = "y"
        #expect(object.changes == ["a 1 2", "b x y"])
        let realm = try memoryRealm(PropertyRecorder.self)
        try realm.write {
            realm.add(object)
            object.a = 3
            object.b = "z"
        }
        #expect(object.changes == ["a 1 2", "b x y", "a 2 3", "b y z"])
    }

    @Test("The collections of an object stay the same instances when it is added")
    func identity() throws {
        let realm = try Contract.realm()
        let owner = Contract.Owner()
        let (dogs, set, map) = (owner.dogs, owner.dogSet, owner.dogMap)
        dogs.append(Contract.Dog())
        try realm.write { realm.add(owner) }
        #expect(dogs === owner.dogs && set === owner.dogSet && map === owner.dogMap && dogs.realm == realm)
        try realm.write { owner.dogs = owner.dogs }
        #expect(owner.dogs.count == 1)
    }

    @Test("Defaults are computed for each object and then stay")
    func defaults() {
        let (left, right) = (Contract.Values(), Contract.Values())
        #expect(left.uuid != right.uuid && left.uuid == left.uuid && left.date == left.date)
        #expect(
            Contract.Dog()._id != Contract.Dog()._id && left.level == .low && left.optLevel == nil && left.any == .none)
        #expect(left.objectId == right.objectId && left.decimal == 0 && left.data.isEmpty)
    }
}

private protocol RunnableSpellings {
    func run() throws
}

private struct OldSpellings {}

@available(*, deprecated)
private final class OldBoxes: Object {
    let age = RealmOptional<Int>()
    let size = RealmOptional<Double>(1.5)
    @Persisted var id = 1
    override static func primaryKey() -> String? { "id" }
    override class func _realmColumnNames() -> [String: String]? { ["age": "years"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@available(*, deprecated)
extension OldSpellings: RunnableSpellings {
    func run() throws {
        let realm = try memoryRealm(OldBoxes.self)
        let boxes = OldBoxes()
        #expect(boxes.age.value == nil && boxes.size.value == 1.5 && !OldBoxes.isEmbedded())
        boxes.age.value = 3
        try realm.write {
            realm.add(boxes, update: true)
            realm.add([OldBoxes(value: ["age": 4])], update: true)
            realm.create(OldBoxes.self, value: ["id": 1, "size": NSNull()], update: true)
        }
        #expect(boxes.age.value == 4 && boxes.size.value == nil && realm.objects(OldBoxes.self).count == 1)
        #expect(realm.objectForPrimaryKey(OldBoxes.self, key: 1) == boxes)
        #expect(realm.schema["OldBoxes"]?["age"]?.columnName == "years" && OldBoxes._getProperties().count == 3)
        #expect(realm.objects(OldBoxes.self).sorted("id", ascending: false).indexOf(boxes) == 0)
    }
}

extension Ключ日本 {
    /// A computed property is not stored.
    fileprivate var count: Int { 0 }
}
