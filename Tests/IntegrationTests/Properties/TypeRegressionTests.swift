// SPDX-License-Identifier: Apache-2.0
// Values, collections and objects at the limits of their types: assignment, lookup, sorting, deletion, copying and
// access by name must return the same result everywhere. Each test states the fault that it prevents.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum TypeFaults {
    enum Size: Int, PersistableEnum { case small = 1, large = 2 }

    class Model: Object {
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Dog: Model {
        @Persisted var name = ""
        @Persisted(originProperty: "dogs") var owners: LinkingObjects<Owner>
    }

    class Owner: Model {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var age = 7
        @Persisted var tags: List<String>
        @Persisted var words: MutableSet<String>
        @Persisted var scores: Map<String, Int>
        @Persisted var dogs: List<Dog>
        @Persisted var dogSet: MutableSet<Dog>
        @Persisted var dogMap: Map<String, Dog?>
    }

    class Values: Model {
        @Persisted var any: AnyRealmValue
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var anySet: MutableSet<AnyRealmValue>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        @Persisted var price: Decimal128
        @Persisted var size = Size.small
        @Persisted var maybeSize: Size?
        @Persisted var int8: Int8 = 0
    }

    class DogView: Projection<Dog> {
        @Projected(\Dog.owners.projectTo.name) var ownerNames: ProjectedCollection<String>
    }

    static func realm() throws -> Realm { try memoryRealm(Dog.self, Owner.self, Values.self) }

    static func dog(_ name: String) -> Dog {
        let dog = Dog()
        dog.name = name
        return dog
    }
}

/// Things get a primary key.
private enum TypeFaultsBefore {
    class Thing: TypeFaults.Model {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "TypeFaultsThing" }
    }
}

private enum TypeFaultsKeyed {
    class Thing: TypeFaults.Model {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "TypeFaultsThing" }
    }
}

@Suite("Values and collections at the limits of their types")
struct TypeRegressionTests {
    private typealias Dog = TypeFaults.Dog
    private typealias Owner = TypeFaults.Owner
    private typealias Values = TypeFaults.Values

    // MARK: Collections

    // A property that was never read must not keep the assigned instance: two objects would share a collection, and
    // adding both would lose the elements of the second.
    @Test("A collection that is assigned before the first read is copied")
    func assigning() throws {
        let realm = try TypeFaults.realm()
        let first = Owner(value: ["id": 1])
        let second = Owner(value: ["id": 2])
        let third = Owner(value: ["id": 3])
        first.tags.append("x")
        first.words.insert("w")
        first.scores["a"] = 1
        second.tags = first.tags
        second.words = first.words
        second.scores = first.scores
        let given = List<String>()
        given.append("g")
        third.tags = given
        #expect(second.tags !== first.tags && third.tags !== given)
        try realm.write {
            realm.add([first, second, third])
            first.tags.append("y")
        }
        #expect(Array(first.tags) == ["x", "y"] && Array(second.tags) == ["x"] && Array(third.tags) == ["g"])
        #expect(Array(second.words) == ["w"] && second.scores["a"] == 1)
        #expect(given.realm == nil && Array(given) == ["g"])
    }

    // An unmanaged object has no table to look up.
    @Test("A managed collection of any values does not contain an unmanaged object")
    func strangers() throws {
        let realm = try TypeFaults.realm()
        try realm.write {
            let values = realm.create(Values.self)
            values.anys.append(objectsIn: [.int(1), .none])
            values.anySet.insert(.int(1))
            let stranger = AnyRealmValue.object(TypeFaults.dog("Rex"))
            #expect(values.anys.index(of: stranger) == nil && !values.anySet.contains(stranger))
            #expect(values.anys.index(of: .fromArray([stranger])) == nil)
            #expect(values.anys.sorted().index(of: stranger) == nil)
            values.anySet.remove(stranger)
            #expect(values.anySet.count == 1 && realm.objects(Dog.self).isEmpty)
        }
    }

    // Results of values must know the location of their values; otherwise links read as none and lists as empty.
    @Test("Sorted values of any type contain the same links and collections as their list")
    func orderedAnys() throws {
        let realm = try TypeFaults.realm()
        realm.beginWrite()
        let dog = TypeFaults.dog("Rex")
        realm.add(dog)
        let values = realm.create(Values.self)
        values.anys.append(objectsIn: [.object(dog), .fromArray([.int(1)]), .none, .int(5)])
        values.anyMap["a"] = .fromArray([.int(2)])
        values.anyMap["b"] = .object(dog)
        let sorted = values.anys.sorted()
        #expect(sorted[0] == .none && sorted[1] == .int(5) && sorted[2].object(Dog.self)?.name == "Rex")
        #expect(sorted[3].listValue.map { Array($0) } == [.int(1)])
        #expect(Array(sorted)[2].object(Dog.self)?.name == "Rex" && sorted.first == AnyRealmValue.none)
        #expect(sorted.index(of: .object(dog)) == 2 && sorted.index(of: .none) == 0)
        sorted[3].listValue?.append(.int(9))
        #expect(values.anys[1].listValue?.count == 2 && sorted.last?.listValue?.count == 2)
        let distinct = values.anys.distinct()
        #expect(distinct.count == 4 && distinct[0].object(Dog.self)?.name == "Rex" && distinct[1].listValue?.count == 2)
        let ofMap = values.anyMap.sorted()
        #expect(ofMap[0].object(Dog.self)?.name == "Rex" && ofMap[1].listValue.map { Array($0) } == [.int(2)])
        ofMap[1].listValue?.append(.int(3))
        #expect(values.anyMap["a"]?.listValue?.count == 2)
        let sections = values.anys.sectioned(by: { (value: AnyRealmValue) -> Bool in value.listValue != nil })
        #expect(sections.allKeys == [false, true] && sections[0][2].object(Dog.self)?.name == "Rex")
        #expect(sections[1].map { $0.listValue?.count } == [2] && sections[1][0].listValue?.count == 2)
        realm.cancelWrite()
    }

    // A second accessor of an object must not be refused as deleted.
    @Test("The objects of a sequence, a list, a set and a map are deleted, each once")
    func deleting() throws {
        let realm = try TypeFaults.realm()
        let owner = try realm.write { realm.create(Owner.self, value: ["id": 1]) }
        try realm.write {
            let (rex, max) = (TypeFaults.dog("Rex"), TypeFaults.dog("Max"))
            owner.dogs.append(objectsIn: [rex, max, rex])
            realm.delete(owner.dogs)
            #expect(owner.dogs.isEmpty && rex.isInvalidated && max.isInvalidated)
        }
        try realm.write {
            let dog = TypeFaults.dog("Rex")
            owner.dogMap["a"] = dog
            owner.dogMap["b"] = dog
            owner.dogMap["c"] = .some(nil)
            realm.delete(owner.dogMap)
            #expect(owner.dogMap.count == 0 && dog.isInvalidated)
        }
        try realm.write {
            owner.dogSet.insert(objectsIn: [TypeFaults.dog("Rex"), TypeFaults.dog("Max")])
            realm.delete(owner.dogSet)
            #expect(owner.dogSet.isEmpty && realm.objects(Dog.self).isEmpty)
        }
        try realm.write {
            let dogs = [TypeFaults.dog("Rex"), TypeFaults.dog("Max")]
            realm.add(dogs)
            realm.delete(dogs)
            #expect(dogs.allSatisfy(\.isInvalidated) && realm.objects(Dog.self).isEmpty)
        }
    }

    // Lists of any values must not keep a null in place of the object.
    @Test("Lists of any values lose a deleted object, even in nested values; dictionaries keep the key")
    func deletedInAnys() throws {
        let realm = try TypeFaults.realm()
        try realm.write {
            let dog = TypeFaults.dog("Rex")
            realm.add(dog)
            let values = realm.create(Values.self)
            values.anys.append(objectsIn: [.object(dog), .int(1), .fromArray([.object(dog), .int(2), .object(dog)])])
            values.any = .fromDictionary(["link": .object(dog), "list": .fromArray([.object(dog), .int(3)])])
            values.anySet.insert(objectsIn: [.object(dog), .int(4)])
            realm.delete(dog)
            #expect(values.anys.count == 2 && values.anys[0] == .int(1))
            #expect(values.anys[1].listValue.map { Array($0) } == [.int(2)])
            #expect(values.any.dictionaryValue?["link"] == AnyRealmValue.none)
            #expect(values.any.dictionaryValue?["list"]?.listValue.map { Array($0) } == [.int(3)])
            #expect(Array(values.anySet) == [.int(4)])
        }
    }

    // Keys must be compared by bytes, also along the path to a nested collection.
    @Test("Keys that differ only in the composition of their letters have separate entries")
    func composedKeys() throws {
        let realm = try TypeFaults.realm()
        try realm.write {
            let values = realm.create(Values.self)
            values.any = .fromDictionary([:])
            let map = try #require(values.any.dictionaryValue)
            let (decomposed, composed) = ("e\u{301}", "\u{e9}")
            map[decomposed] = .fromArray([.int(1)])
            map[composed] = .fromArray([.int(2)])
            #expect(map.count == 2)
            map[composed]?.listValue?.append(.int(3))
            #expect(map[decomposed]?.listValue.map { Array($0) } == [.int(1)])
            #expect(map[composed]?.listValue.map { Array($0) } == [.int(2), .int(3)])
            #expect(map[composed]?.listValue != map[decomposed]?.listValue)
        }
    }

    @Test("A description contains the type of optional elements without a question mark")
    func descriptions() {
        #expect(List<Int?>().description.hasPrefix("List<int> "))
        #expect(MutableSet<String?>().description.hasPrefix("MutableSet<string> "))
        #expect(Map<String, Int?>().description.hasPrefix("Map<string, int> "))
    }

    // MARK: Values

    // On Linux a number 0 or 1 can be cast to Bool, and must not be refused as one.
    @Test("Decimals accept Foundation's numbers 0 and 1")
    func decimals() throws {
        let realm = try TypeFaults.realm()
        let json = try JSONSerialization.jsonObject(with: Data(#"{"price": 0}"#.utf8))
        try realm.write {
            let values = realm.create(Values.self, value: json)
            #expect(values.price == 0)
            values["price"] = NSNumber(value: 1)
            #expect(values.price == 1)
            values["price"] = NSNumber(value: 0.0)
            #expect(values.price == 0)
            values["price"] = NSDecimalNumber(decimal: 1)
            #expect(values.price == 1)
        }
    }

    // An enum must keep a raw value without a case, even if it is not optional, and reading it by name must not end
    // the program.
    @Test("A raw value without an enum case is shown, stored and copied by name")
    func unknownCases() throws {
        let (realm, other) = (try TypeFaults.realm(), try TypeFaults.realm())
        let values = try realm.write { realm.create(Values.self) }
        try realm.write {
            values["size"] = 10
            values["maybeSize"] = 11
        }
        #expect(values["size"] as? Int == 10 && values["maybeSize"] as? Int == 11 && values.maybeSize == nil)
        #expect(values.description.contains("size = 10;") && values.value(forKey: "size") as? Int == 10)
        let copy = try other.write { other.create(Values.self, value: values) }
        #expect(copy["size"] as? Int == 10 && copy["maybeSize"] as? Int == 11)
        #expect(values.detached().size == .small && values.detached().maybeSize == nil)
        let unmanaged = Values(value: values)
        #expect(unmanaged.size == .small && unmanaged.maybeSize == nil)
        let words = try misuseText {
            let realm = try TypeFaults.realm()
            try realm.write {
                let values = realm.create(Values.self)
                values["size"] = 10
                _ = values.size
            }
        }
        #expect(words?.contains("Failed to convert persisted value '10'") == true)
    }

    // A read by name must not use the typed getter, which traps.
    @Test("A number that is out of the range of its property is shown by name")
    func wideNumbers() throws {
        let realm = try TypeFaults.realm()
        try realm.write {
            let values = realm.create(Values.self)
            realm.dynamicObjects("TypeFaults_Values")[0]["int8"] = 300
            #expect(values["int8"] as? Int == 300 && values.description.contains("int8 = 300;"))
            values["int8"] = -8
            #expect(values.int8 == -8 && values["int8"] as? Int == -8)
        }
    }

    // MARK: Objects

    // Rows must not be compared only by keys, because the keys of rolled-back objects are used again.
    @Test("A deleted object is equal only to itself")
    func identity() throws {
        let realm = try TypeFaults.realm()
        realm.beginWrite()
        let gone = realm.create(Owner.self, value: ["id": 1])
        realm.cancelWrite()
        let there = try realm.write { realm.create(Owner.self, value: ["id": 2]) }
        #expect(gone.isInvalidated && gone != there && !gone.isSameObject(as: there))
        #expect(Set([gone, there]).count == 2 && gone.isEqual(gone) && gone.isSameObject(as: gone))
        let again = try #require(realm.object(ofType: Owner.self, forPrimaryKey: 2))
        #expect(again == there && again.isSameObject(as: there) && again.hash == there.hash)
        try realm.write { realm.delete(there) }
        #expect(again != there && !again.isSameObject(as: there))
    }

    // The defaults of the class must not be written into the row with the default key.
    @Test("An update without a key changes the object with the default key, and keeps values that are not given")
    func defaultKeys() throws {
        let realm = try TypeFaults.realm()
        try realm.write {
            realm.create(Owner.self, value: ["id": 0, "name": "a", "age": 5, "tags": ["t"]])
            realm.create(Owner.self, value: ["name": "b"], update: .modified)
            let owner = try #require(realm.objects(Owner.self).first)
            #expect(owner.name == "b" && owner.age == 5 && Array(owner.tags) == ["t"])
            realm.create(Owner.self, value: ["name": "c"], update: .all)
            #expect(owner.name == "c" && owner.age == 5 && realm.objects(Owner.self).count == 1)
            realm.delete(owner)
            #expect(realm.create(Owner.self, value: ["name": "d"], update: .modified).age == 7)
        }
    }

    @Test("Collections of an unmanaged object can be read by name")
    func unmanagedByName() {
        let owner = Owner(value: ["dogs": [["name": "Rex"]], "dogMap": ["m": ["name": "Max"]]])
        owner.dogSet.insert(owner.dogs[0])
        let (dogs, set) = (owner.dynamicList("dogs"), owner.dynamicMutableSet("dogSet"))
        #expect(dogs.count == 1 && dogs[0]["name"] as? String == "Rex")
        #expect(set.count == 1 && set.first?["name"] as? String == "Rex")
        #expect(owner.dynamicMap("dogMap")["m"]??["name"] as? String == "Max")
        // They are the object's own collections, not copies, so a change of one is visible in the other.
        owner.dogs.append(TypeFaults.dog("Bo"))
        #expect((0..<dogs.count).map { dogs[$0]["name"] as? String } == ["Rex", "Bo"])
        dogs[1]["name"] = "Rob"
        #expect(owner.dogs[1].name == "Rob")
        dogs.remove(at: 0)
        owner.dogSet.removeAll()
        #expect(owner.dogs.map(\.name) == ["Rob"] && set.isEmpty)
        let words = catchMisuse { _ = Owner().dynamicList("tags") }
        #expect(words?.contains("is not a collection of objects of that kind") == true)
    }

    // setValue must not be ignored silently.
    @Test("A key path includes the keys of a map, even for setting", arguments: [true, false])
    func mapsInKeyPaths(isManaged: Bool) throws {
        let realm = try TypeFaults.realm()
        let owner = Owner(value: ["dogMap": ["rex": ["name": "Rex"]], "scores": ["a": 1]])
        try realm.write {
            if isManaged { realm.add(owner) }
            owner.setValue("Max", forKeyPath: "dogMap.rex.name")
            owner.setValue(5, forKeyPath: "scores.a")
            owner.setValue(6, forKeyPath: "scores.b")
            owner.setValue("nobody", forKeyPath: "dogMap.none.name")
            #expect(owner.dogMap["rex"]??.name == "Max" && owner.scores["a"] == 5 && owner.scores["b"] == 6)
            #expect(owner.value(forKeyPath: "dogMap.rex.name") as? String == "Max" && owner.dogMap.count == 1)
            owner.setValue(nil, forKeyPath: "scores.a")
            #expect(owner.scores.keys == ["b"])
        }
    }

    // The path must continue beyond the linking objects.
    @Test("A projection of linking objects follows only the projected property")
    func projectedBacklinks() throws {
        let stage = try Stage(
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString,
                objectTypes: [TypeFaults.Dog.self, Owner.self, TypeFaults.Values.self]))
        let diary = Diary()
        try stage.write { realm in
            realm.create(Owner.self, value: ["id": 1, "name": "Ann", "dogs": [["name": "Rex"]]])
        }
        func owner(_ realm: Realm) throws -> Owner {
            try #require(realm.object(ofType: Owner.self, forPrimaryKey: 1))
        }
        try stage.on { realm in
            let view = TypeFaults.DogView(projecting: try owner(realm).dogs[0])
            #expect(Array(view.ownerNames) == ["Ann"])
            #expect(view.description.contains("ownerNames(\\.owners.name)"))
            diary.tokens = [
                view.observe { change in
                    guard case .change(let view, let properties) = change else { return }
                    diary.lines.append("\(properties.map(\.name)) \(Array(view.ownerNames))")
                },
                view.ownerNames.observe { change in
                    guard case .update(let names, _, let insertions, let modifications) = change else { return }
                    diary.lines.append("\(Array(names)) i\(insertions) m\(modifications)")
                },
            ]
        }
        stage.settle()
        try stage.write { try owner($0).age = 8 }
        #expect(diary.take() == [])
        try stage.write { try owner($0).name = "Bea" }
        #expect(diary.take() == ["[\"ownerNames\"] [\"Bea\"]", "[\"Bea\"] i[] m[0]"])
        try stage.write { realm in
            let other = realm.create(Owner.self, value: ["id": 2, "name": "Cid"])
            other.dogs.append(try owner(realm).dogs[0])
        }
        #expect(diary.take() == ["[\"ownerNames\"] [\"Bea\", \"Cid\"]", "[\"Bea\", \"Cid\"] i[1] m[]"])
    }

    // MARK: Migrations

    // The first object that is created with the key of unconverted objects must not be refused.
    @Test("In a migration that adds a primary key, objects may share a key until its end")
    func keysInMigrations() throws {
        try withFile([TypeFaultsBefore.Thing.self]) { configuration in
            func fill() throws {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    for name in ["a", "b"] { realm.create(TypeFaultsBefore.Thing.self, value: ["name": name]) }
                }
            }
            try fill()
            let block: MigrationBlock = { migration, _ in
                migration.create("TypeFaultsThing", value: ["id": 0, "name": "new"])
                var id = 1
                migration.enumerateObjects(ofType: "TypeFaultsThing") { _, new in
                    new?["id"] = id
                    id += 1
                }
            }
            let realm = try Realm(
                configuration: .init(
                    fileURL: configuration.fileURL, schemaVersion: 1, migrationBlock: block,
                    objectTypes: [TypeFaultsKeyed.Thing.self]))
            let things = realm.objects(TypeFaultsKeyed.Thing.self).sorted(byKeyPath: "id")
            #expect(things.map { $0.id } == [0, 1, 2] && things.map { $0.name } == ["new", "a", "b"])
        }
    }
}
