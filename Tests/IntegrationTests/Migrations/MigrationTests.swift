// SPDX-License-Identifier: Apache-2.0
// Migrations: the conversion of values when classes change, the objects that the block sees, and failures, which
// change nothing.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Migrations")
struct MigrationTests {
    @Test(
        "Added properties have the default of their type, and removed properties leave no data", arguments: [5, 3000])
    func addAndRemove(_ count: Int) throws {
        let file = try MigrationFile(people: count)
        do {
            let realm = try file.open(Second.types) { migration, _ in
                var next = 0
                migration.enumerateObjects(ofType: "MDog") { _, new in
                    next += 1
                    new?["id"] = next
                }
            }
            let people = realm.objects(Second.Person.self)
            #expect(people.count == count)
            #expect(people.allSatisfy { $0.fullName == "" && $0.score == 0 && $0.seen == nil })
            #expect(people[1].identifier == UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
            #expect(people.map { $0.age } == (0..<count).map { $0 }, "an optional property must keep its values")
            #expect(people[2].city == "city 2" && people[3].city == "", "a null becomes the default")
            #expect(Array(people[4].notes) == ["a", "", "b4"])
            #expect(people[1].dogs.map(\.name) == ["dog 1", "dog \(2 % max(count / 3, 2))"] || count == 5)
            #expect(people[3].favourite?.id == 1)
            #expect(realm.object(ofType: Second.Dog.self, forPrimaryKey: 2)?.name == "dog 1")
            #expect(realm.objects(Second.Dog.self).filter("name == 'dog 1'").count == 1)
            try realm.write {
                people[0].age = nil
                people[0].fullName = "x"
                realm.create(Second.Person.self, value: ["fullName": "y"])
            }
            try realm.writeCopy(toFile: file.folder.file("copy.realm"))
            #expect(people.filter("age == NULL").count == 2 && people.filter("fullName == 'y'").count == 1)
        }
        expectIntegrity(of: file.url)
        expectIntegrity(of: file.folder.file("copy.realm"))
        #expect(try schemaVersionAtURL(file.url) == 1)
    }

    @Test("The block gets each object's old and new state")
    func oldAndNew() throws {
        let file = try MigrationFile()
        let realm = try file.open(Second.types) { migration, old in
            #expect(old == 0)
            #expect(migration.oldSchema["MPerson"]?["first"] != nil && migration.oldSchema["MPerson"]?["age"] != nil)
            #expect(migration.newSchema["MPerson"]?["first"] == nil)
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                #expect(old?["age"] as? Int == new?["age"] as? Int)
                new?["fullName"] = "\(old?["first"] as? String ?? "?") \(old?.last as? String ?? "?")"
                let dogs = old?.dynamicList("dogs")
                #expect(dogs?.count == 2 && (dogs?[0]["name"] as? String)?.hasPrefix("dog") == true)
                #expect((new?.dynamicList("dogs").count) == 2)
            }
            var next = 0
            migration.enumerateObjects(ofType: "MDog") { old, new in
                next += 1
                new?["id"] = next
                #expect(old?["name"] as? String == new?["name"] as? String)
            }
        }
        #expect(realm.objects(Second.Person.self).map(\.fullName)[2] == "first 2 last 2")
        expectIntegrity(of: file.url)
    }

    @Test("A renamed property keeps its values, indexes, lists and links", arguments: [5, 2500])
    func rename(_ count: Int) throws {
        let file = try MigrationFile(people: count)
        do {
            let realm = try file.open(Renamed.types) { migration, _ in
                for (old, new) in [
                    ("first", "given"), ("age", "years"), ("city", "town"), ("notes", "remarks"), ("dogs", "pets"),
                    ("favourite", "best"),
                ] { migration.renameProperty(onType: "MPerson", from: old, to: new) }
                migration.enumerateObjects(ofType: "MPerson") { old, new in
                    #expect(old?["first"] as? String == new?["given"] as? String)
                }
            }
            let people = realm.objects(Renamed.Person.self)
            #expect(people.map(\.given) == (0..<count).map { "first \($0)" })
            #expect(people[1].last?.count == 10000 && people[4].years == 4 && people[2].town == "city 2")
            #expect(Array(people[3].remarks) == ["a", nil, "b3"] && people[3].best?.name == "dog 0")
            #expect(people.filter("given == 'first 3'").count == 1)
            #expect(people.filter("ANY pets.name == 'dog 1'").count > 0)
            try realm.write { people[0].years = nil }
        }
        expectIntegrity(of: file.url)
    }

    static let failures: [(type: String, old: String, new: String, words: String)] = [
        ("Nothing", "a", "b", "Cannot rename properties for type 'Nothing' because it does not exist."),
        ("MDog", "a", "b", "Cannot rename properties for type 'MDog' because it has been removed from the Realm."),
        ("MPerson", "nothing", "given", "Cannot rename property 'MPerson.nothing' because it does not exist."),
        (
            "MPerson", "last", "given",
            "Cannot rename property 'MPerson.last' to 'given' because the source property "
                + "still exists."
        ),
        (
            "MPerson", "age", "given",
            "Cannot rename property 'MPerson.age' to 'given' because it would change from type "
                + "'int' to 'string'."
        ),
        (
            "MPerson", "city", "given",
            "Cannot rename property 'MPerson.city' to 'given' because it would change from "
                + "optional to required."
        ),
        ("MPerson", "first", "between", "Property 'MPerson.between' has been removed."),
    ]

    @Test("An invalid rename fails the migration and leaves the file unchanged", arguments: failures.indices)
    func renameFailures(_ index: Int) throws {
        class Alone: MigrationCase {
            @Persisted var given = ""
            @Persisted var last = ""
            override class func _realmObjectName() -> String? { "MPerson" }
        }
        let failure = Self.failures[index]
        try MigrationFile().refuses(failure.words, [Alone.self]) { migration, _ in
            migration.renameProperty(onType: failure.type, from: failure.old, to: failure.new)
            migration.enumerateObjects(ofType: "MPerson") { _, new in new?["given"] = "lost" }
        }
    }

    @Test("A property can be renamed through a name of an intermediate version")
    func renameTwice() throws {
        let realm = try MigrationFile().open([Renamed.Dog.self, Renamed.Person.self], version: 3) { migration, _ in
            migration.renameProperty(onType: "MPerson", from: "first", to: "between")
            migration.renameProperty(onType: "MPerson", from: "between", to: "given")
        }
        #expect(realm.objects(Renamed.Person.self)[1].given == "first 1")
    }

    @Test("A property with a new type has the default, and the block can convert the old value")
    func types() throws {
        class Typed: MigrationCase {
            @Persisted var age = ""
            @Persisted var first = 0
            override class func _realmObjectName() -> String? { "MPerson" }
        }
        let file = try MigrationFile()
        let realm = try file.open([Typed.self]) { migration, _ in
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                #expect(new?["age"] as? String == "")
                new?["age"] = "\(old?["age"] as? Int ?? -1) years"
            }
        }
        #expect(realm.objects(Typed.self).map(\.age) == (0..<5).map { "\($0) years" })
        #expect(realm.objects(Typed.self).allSatisfy { $0.first == 0 })
        #expect(realm.dynamicObjects("MDog").count == 2, "an undeclared class must keep its objects")
        expectIntegrity(of: file.url)
    }

    @Test("Added values that were never written keep the default when the property becomes optional")
    func defaultsStay() throws {
        class One: MigrationCase {
            @Persisted var first = ""
            @Persisted var number = 0
            @Persisted var flag = false
            @Persisted var text = ""
            @Persisted var decimal: Decimal128
            override class func _realmObjectName() -> String? { "MPerson" }
        }
        class Two: MigrationCase {
            @Persisted var first: String?
            @Persisted var number: Int?
            @Persisted var flag: Bool?
            @Persisted var text: String?
            @Persisted var decimal: Decimal128?
            override class func _realmObjectName() -> String? { "MPerson" }
        }
        let file = try MigrationFile(people: 1500)
        _ = try file.open([One.self])
        do {
            let realm = try file.open([Two.self], version: 2)
            let all = realm.objects(Two.self)
            #expect(all.allSatisfy { $0.number == 0 && $0.flag == false && $0.text == "" && $0.decimal == 0 })
            try realm.write { all[700].number = nil }
        }
        expectIntegrity(of: file.url)
        do {
            let realm = try file.open([One.self], version: 3)
            #expect(realm.objects(One.self).filter("number == 0 AND first BEGINSWITH 'first'").count == 1500)
        }
        expectIntegrity(of: file.url)
    }

    // MARK: Keys

    @Test("Duplicate primary keys fail the migration and leave the file unchanged")
    func duplicateKeys() throws {
        try MigrationFile().refuses(
            "Primary key property 'MDog.id' has duplicate values after migration.", Second.types)
    }

    @Test("A renamed primary key is still the primary key")
    func renamedKey() throws {
        class Dog: MigrationCase {
            @Persisted(primaryKey: true) var number = 0
            @Persisted var name = ""
            override class func _realmObjectName() -> String? { "MDog" }
        }
        let file = try MigrationFile()
        _ = try file.open(Second.types) { migration, _ in
            migration.enumerateObjects(ofType: "MDog") { old, new in
                new?["id"] = old?["name"] as? String == "dog 0" ? 7 : 8
            }
        }
        do {
            let realm = try file.open([Dog.self], version: 2) { migration, _ in
                migration.renameProperty(onType: "MDog", from: "id", to: "number")
            }
            #expect(realm.object(ofType: Dog.self, forPrimaryKey: 7)?.name == "dog 0")
        }
        expectIntegrity(of: file.url)
    }

    // MARK: Objects

    @Test("The block may delete and create objects while it enumerates")
    func deleteAndCreate() throws {
        let file = try MigrationFile(people: 6)
        let realm = try file.open(Renamed.types) { migration, _ in
            var seen = 0
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                seen += 1
                guard let new, let age = old?["age"] as? Int else { return }
                if age % 2 == 0 { migration.delete(new) }
                migration.create("MPerson", value: ["given": "made \(age)", "years": 100 + age])
            }
            #expect(seen == 6)
            var left: [Int] = []
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                left.append(old?["age"] as? Int ?? -1)
                new?["years"] = 1
            }
            #expect(left == [1, 3, 5])
            migration.enumerateObjects(ofType: "Nothing") { _, _ in Issue.record("the class does not exist") }
        }
        #expect(realm.objects(Renamed.Person.self).count == 9)
        #expect(realm.objects(Renamed.Person.self).filter("years == 1").count == 3)
        expectIntegrity(of: file.url)
    }

    @Test("A removed class has only old objects, and an added class only new ones")
    func oneSided() throws {
        let file = try MigrationFile()
        let realm = try file.open([Pets.Pet.self]) { migration, _ in
            migration.create("MPet", value: ["name": "Tom"])
            migration.enumerateObjects(ofType: "MDog") { old, new in
                #expect(new == nil)
                migration.create("MPet", value: ["name": old?["name"] as Any])
            }
            var names: [String] = []
            migration.enumerateObjects(ofType: "MPet") { old, new in
                #expect(old == nil)
                names.append(new?["name"] as? String ?? "")
            }
            #expect(names == ["Tom", "dog 0", "dog 1"])
            #expect(migration.deleteData(forType: "MPerson") && migration.deleteData(forType: "MDog"))
            #expect(!migration.deleteData(forType: "Nothing"))
        }
        #expect(realm.objects(Pets.Pet.self).map(\.kind) == ["pet", "pet", "pet"])
        expectIntegrity(of: file.url)
        #expect(catchMisuse { _ = realm.dynamicObjects("MDog") } != nil, "its table must be deleted")
    }

    @Test("Objects that become embedded have one owner each", arguments: [5, 300])
    func embed(_ count: Int) throws {
        let file = try MigrationFile(people: count)
        try {
            let realm = try Realm(configuration: .init(fileURL: file.url, objectTypes: Oldest.types))
            try realm.write { realm.create(Oldest.Dog.self, value: ["name": "nobody's"]) }
        }()
        let words = "- Class 'MDog' has been changed from TopLevel to Embedded."
        try file.refuses(words, Embedding2.types, version: 0)
        do {
            let realm = try file.open(Embedding2.types)
            let people = realm.objects(Embedding2.Person.self)
            #expect(people.allSatisfy { $0.dogs.count == 2 && $0.dogs.allSatisfy { $0.name.hasPrefix("dog") } })
            #expect(people[3].favourite?.name == "dog 0")
            #expect(realm.dynamicObjects("MDog").count == count * 2 + (count + 2) / 3)
            try realm.write { people[0].dogs.removeAll() }
        }
        expectIntegrity(of: file.url)
        do {
            let realm = try file.open(Oldest.types, version: 2)
            #expect(realm.objects(Oldest.Dog.self).count == count * 2 + (count + 2) / 3 - 2)
        }
        expectIntegrity(of: file.url)
    }

    @Test("A renamed class keeps its objects and the links to them", arguments: [5, 2500])
    func renameClass(_ count: Int) throws {
        let file = try MigrationFile(people: count)
        do {
            let realm = try file.open(Pets.types) { migration, _ in
                migration.renameClass(from: "MDog", to: "MPet")
                migration.enumerateObjects(ofType: "MPet") { old, new in
                    new?["kind"] = "was \(old?["name"] as? String ?? "")"
                }
            }
            let people = realm.objects(Pets.Person.self)
            #expect(people[1].dogs.map(\.name)[0] == "dog 1" && people[1].dogs[0].kind == "was dog 1")
            #expect(people[3].favourite?.name == "dog 0" && people[1].city == nil && people[4].city == "city 4")
            #expect(realm.objects(Pets.Pet.self).count == max(count / 3, 2))
            #expect(people.filter("ANY dogs.name == 'dog 1'").count > 0)
            try realm.write { realm.delete(realm.objects(Pets.Pet.self)[0]) }
            #expect(people[3].favourite == nil)
        }
        expectIntegrity(of: file.url)
    }

    @Test("A class that is still declared, or whose new name is in use, is not renamed")
    func renameClassFailures() throws {
        try MigrationFile().refuses("Cannot rename class 'Nothing' because it does not exist.", Pets.types) {
            migration, _ in
            migration.renameClass(from: "Nothing", to: "MPet")
        }
        try MigrationFile().refuses("because the source class still exists.", Pets.types) { migration, _ in
            migration.renameClass(from: "MPerson", to: "MPet")
        }
        try MigrationFile().refuses("because the file has objects of 'MPet' already.", Pets.types) { migration, _ in
            migration.create("MPet")
            migration.renameClass(from: "MDog", to: "MPet")
        }
    }
}
