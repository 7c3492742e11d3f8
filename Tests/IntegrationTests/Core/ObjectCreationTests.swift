// SPDX-License-Identifier: Apache-2.0
// Objects created from dictionaries, arrays and other objects; programmer errors; equality and deletion.

import Foundation
import RealmSwift
import Testing

enum CreationModels {
    class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = "Rex"
        @Persisted var age: Int?
        @Persisted var owner: Person?
        @Persisted(originProperty: "pets") var people: LinkingObjects<Person>
    }

    class Person: Object {
        @Persisted var name = "nobody"
        @Persisted var nick: String?
        @Persisted var best: Pet?
        @Persisted var pets: List<Pet>
        @Persisted var marks: List<Int>
        @Persisted var born = Date(timeIntervalSince1970: 7)
    }

    class TextKey: Object {
        @Persisted(primaryKey: true) var id: String?
        @Persisted var x = 0
    }

    class OnlyBacklinks: Object {
        @Persisted(originProperty: "target") var sources: LinkingObjects<Source>
    }

    class Source: Object {
        @Persisted var target: OnlyBacklinks?
    }

    static func realm() throws -> Realm {
        try memoryRealm(Pet.self, Person.self, TextKey.self, OnlyBacklinks.self, Source.self)
    }
}

private typealias Pet = CreationModels.Pet
private typealias Person = CreationModels.Person
private typealias TextKey = CreationModels.TextKey

@Suite("Creating objects")
struct ObjectCreationTests {
    @Test("A dictionary sets the properties it contains, and the others keep their defaults")
    func dictionary() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let person = realm.create(
                Person.self,
                value: [
                    "nick": "n", "best": ["id": 1, "name": "a"], "pets": [["id": 2], ["id": 3, "age": 4]],
                    "marks": [3, 4],
                ] as [String: Any])
            #expect(
                person.name == "nobody" && person.nick == "n" && person.born == Date(timeIntervalSince1970: 7)
            )
            #expect(person.best?.name == "a" && person.pets.map(\.id) == [2, 3] && person.pets[1].age == 4)
            #expect(Array(person.marks) == [3, 4])
            #expect(realm.objects(Pet.self).count == 3)
            let nulled = realm.create(Person.self, value: ["nick": NSNull(), "best": NSNull()])
            #expect(nulled.nick == nil && nulled.best == nil)
            let none = realm.create(Person.self)
            #expect(none.name == "nobody" && none.pets.isEmpty)
        }
    }

    @Test("An array sets the properties in the order of declaration, except linking objects")
    func array() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let pet = realm.create(Pet.self, value: [5, "Bob", 7] as [Any])
            #expect(pet.id == 5 && pet.name == "Bob" && pet.age == 7 && pet.owner == nil)
            let person = realm.create(
                Person.self, value: ["p", NSNull(), pet, [pet, [6, "C"] as [Any]], [1]] as [Any])
            #expect(person.name == "p" && person.nick == nil && person.best?.isSameObject(as: pet) == true)
            #expect(person.pets.map(\.id) == [5, 6] && Array(person.marks) == [1])
            #expect(Person(value: ["q"]).name == "q")
        }
    }

    @Test("Creating from an object copies its values and unmanaged links, and shares managed links")
    func fromObject() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let source = Person(value: ["name": "s", "pets": [["id": 1], ["id": 2]], "best": ["id": 3]])
            let made = realm.create(Person.self, value: source)
            #expect(source.realm == nil && made.name == "s" && made.pets.map(\.id) == [1, 2])
            #expect(made.pets.first?.realm == realm && source.pets.first?.realm == nil)
            let copy = realm.create(Person.self, value: made)
            #expect(!copy.isSameObject(as: made) && copy.best?.isSameObject(as: made.best) == true)
            #expect(copy.pets.map(\.id) == [1, 2] && realm.objects(Pet.self).count == 3)
        }
    }

    @Test("Creating from an object of another Realm copies all linked objects, even in cycles")
    func otherRealm() throws {
        let first = try CreationModels.realm()
        let second = try CreationModels.realm()
        let person = Person(value: ["name": "s", "marks": [1, 2]])
        let pet = Pet(value: ["id": 9])
        pet.owner = person
        person.best = pet
        person.pets.append(objectsIn: [pet, pet])
        try first.write { first.add(person) }
        try second.write {
            let copy = second.create(Person.self, value: person)
            #expect(copy.realm == second && copy.best?.owner?.isSameObject(as: copy) == true)
            #expect(copy.pets.map(\.id) == [9, 9] && Array(copy.marks) == [1, 2])
            #expect(second.objects(Person.self).count == 1 && second.objects(Pet.self).count == 1)
        }
    }

    @Test("Adding keeps the instance and its lists, and adds all linked objects, even in cycles")
    func adding() throws {
        let realm = try CreationModels.realm()
        let person = Person()
        let pets = person.pets
        let pet = Pet(value: ["id": 1])
        pet.owner = person
        person.best = pet
        pets.append(pet)
        pets.append(pet)
        try realm.write {
            realm.add(person)
            realm.add(person)
            #expect(person.pets === pets && person.realm == realm && pet.realm == realm)
            pets.append(Pet(value: ["id": 2]))
        }
        #expect(pets.map(\.id) == [1, 1, 2] && realm.objects(Pet.self).count == 2)
        #expect(pet.owner === person || pet.owner?.isSameObject(as: person) == true)
        #expect(pet.people.count == 2 && realm.objects(Person.self).count == 1)
    }

    @Test("Nil is a valid primary key")
    func nilKey() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            realm.create(TextKey.self, value: ["x": 1])
            realm.create(TextKey.self, value: ["id": "", "x": 2])
            realm.create(TextKey.self, value: ["id": "a", "x": 3])
            realm.create(TextKey.self, value: ["id": nil, "x": 4] as [String: Any?], update: .modified)
        }
        #expect(realm.objects(TextKey.self).count == 3)
        #expect(realm.object(ofType: TextKey.self, forPrimaryKey: nil as String?)?.x == 4)
        #expect(realm.object(ofType: TextKey.self, forPrimaryKey: "")?.x == 2)
        #expect(realm.object(ofType: TextKey.self, forPrimaryKey: "b") == nil)
    }

    @Test("A class that has only linking objects can be stored")
    func onlyBacklinks() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let target = realm.create(CreationModels.OnlyBacklinks.self)
            realm.create(CreationModels.Source.self, value: ["target": target])
            realm.create(CreationModels.Source.self, value: ["target": target])
            #expect(target.sources.count == 2)
        }
    }

    @Test("A deleted key can be used again, and the old accessor stays invalid")
    func reuse() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let pet = realm.create(Pet.self, value: ["id": 1, "name": "old"])
            realm.delete(pet)
            #expect(pet.isInvalidated)
            let new = realm.create(Pet.self, value: ["id": 1])
            #expect(pet.isInvalidated && new.name == "Rex" && realm.objects(Pet.self).count == 1)
            #expect(pet != new)
        }
    }

    @Test("Objects with a primary key are equal by row, others by instance")
    func equality() throws {
        let realm = try CreationModels.realm()
        let pet = Pet(value: ["id": 1])
        let person = Person()
        try realm.write {
            realm.add(pet)
            realm.add(person)
        }
        let again = try #require(realm.objects(Pet.self).first)
        #expect(again == pet && again !== pet && again.hash == pet.hash)
        let other = try #require(realm.objects(Person.self).first)
        #expect(other != person && other.isSameObject(as: person) && !other.isSameObject(as: nil))
        #expect(Person() != Person())
        #expect(Set([pet, again]).count == 1)
    }

    @Test("Properties are read and set by name and by key path")
    func byName() throws {
        let realm = try CreationModels.realm()
        let person = Person(value: ["best": ["id": 1]])
        #expect(person["name"] as? String == "nobody" && person.value(forKeyPath: "best.id") as? Int == 1)
        person["name"] = "set"
        try realm.write {
            realm.add(person)
            person.setValue("x", forKeyPath: "best.name")
            person["nick"] = nil
            person["marks"] = [1, 2]
        }
        #expect(
            person.best?.name == "x" && person["name"] as? String == "set" && Array(person.marks) == [1, 2])
    }

    static let refusals: [MisuseCase] = [
        MisuseCase("Can only add, remove, or create objects in a Realm in a write transaction") {
            try CreationModels.realm().add(Pet())
        },
        MisuseCase("Can only add, remove, or create objects in a Realm in a write transaction") {
            try CreationModels.realm().create(Pet.self)
        },
        .inWrite(
            "Attempting to create an object of type 'CreationModels_Pet' with an existing primary key value '1'"
        ) {
            $0.add(Pet(value: ["id": 1]))
            $0.add(Pet(value: ["id": 1]))
        },
        .inWrite(
            "Attempting to create an object of type 'CreationModels_TextKey' with an existing primary key value"
        ) {
            $0.create(TextKey.self)
            $0.create(TextKey.self)
        },
        .inWrite("with an existing primary key value '1'") {
            $0.create(Pet.self, value: ["id": 1])
            $0.create(Person.self, value: ["pets": [["id": 1]]])
        },
        .inWrite("with an existing primary key value '1'") {
            $0.create(Pet.self, value: ["id": 1])
            $0.create(Person.self).pets.append(Pet(value: ["id": 1]))
        },
        .inWrite("with an existing primary key value '1'") {
            $0.create(Pet.self, value: ["id": 1])
            $0.create(Person.self).best = Pet(value: ["id": 1])
        },
        .inWrite("'CreationModels_Person' does not have a primary key and can not be updated") {
            $0.add(Person(), update: .modified)
        },
        .inWrite("'CreationModels_Person' does not have a primary key and can not be updated") {
            $0.create(Person.self, value: [:], update: .all)
        },
        .inWrite("Adding a deleted or invalidated object to a Realm is not permitted") {
            let pet = $0.create(Pet.self)
            $0.delete(pet)
            $0.add(pet)
        },
        .inWrite("Object is already managed by another Realm. Use create instead to copy it into this Realm.") {
            let other = try CreationModels.realm()
            let pet = Pet()
            try other.write { other.add(pet) }
            $0.add(pet)
        },
        .inWrite("Object is already managed by another Realm") {
            let other = try CreationModels.realm()
            let pet = Pet()
            try other.write { other.add(pet) }
            $0.create(Person.self).best = pet
        },
        .inWrite("Object is already managed by another Realm") {
            let other = try CreationModels.realm()
            let pet = Pet()
            try other.write { other.add(pet) }
            $0.create(Person.self).pets.append(pet)
        },
        .inWrite("Invalid value 'x' of type 'String' for 'int' property 'CreationModels_Pet.id'.") {
            $0.create(Pet.self, value: ["id": "x"])
        },
        .inWrite("for 'string' property 'CreationModels_Pet.name'.") {
            $0.create(Pet.self, value: ["name": 3])
        },
        .inWrite("for 'string' property 'CreationModels_Pet.name'.") {
            $0.create(Pet.self, value: ["name": NSNull()])
        },
        .inWrite("for 'int?' property 'CreationModels_Pet.age'.") {
            $0.create(Pet.self, value: ["age": 1.5])
        },
        .inWrite("property 'CreationModels_Pet.owner'.") { $0.create(Pet.self, value: ["owner": 5]) },
        .inWrite("property 'CreationModels_Pet.owner'.") { $0.create(Pet.self, value: ["owner": Pet()]) },
        .inWrite("Invalid array input: more values (5) than properties (4).") {
            $0.create(Pet.self, value: [1, "a", 2, NSNull(), 4] as [Any])
        },
        .inWrite("to initialize object of type 'CreationModels_Pet'") { $0.create(Pet.self, value: 5) },
        .inWrite("to initialize object of type 'CreationModels_Pet'") { $0.create(Pet.self, value: "text") },
        MisuseCase("Invalid value 'x' of type 'String' for 'int' property 'CreationModels_Pet.id'.") {
            _ = Pet(value: ["id": "x"])
        },
        .inWrite("Primary key can't be changed to '2' after an object is inserted.") {
            $0.create(Pet.self, value: ["id": 1]).id = 2
        },
        .inWrite("Primary key can't be changed") { $0.create(Pet.self, value: ["id": 1])["id"] = 2 },
        .inWrite("Invalid property name 'nope' for class 'CreationModels_Pet'.") {
            _ = $0.create(Pet.self)["nope"]
        },
        .inWrite("Invalid property name 'nope' for class 'CreationModels_Pet'.") {
            $0.create(Pet.self)["nope"] = 1
        },
        .inWrite("Cannot modify read-only property 'CreationModels_Pet.people'") {
            $0.create(Pet.self)["people"] = 1
        },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            let realm = try CreationModels.realm()
            let pet = Pet()
            try realm.write { realm.add(pet) }
            pet.age = 5
        },
        .inWrite("Object has been deleted or invalidated.") {
            let pet = $0.create(Pet.self)
            $0.delete(pet)
            _ = pet.name
        },
        .inWrite("Object has been deleted or invalidated.") {
            let pet = $0.create(Pet.self)
            $0.delete(pet)
            $0.delete(pet)
        },
        .inWrite("Can only delete an object from the Realm it belongs to.") { $0.delete(Pet()) },
        .inWrite("Can only delete an object from the Realm it belongs to.") {
            let other = try CreationModels.realm()
            let pet = Pet()
            try other.write { other.add(pet) }
            $0.delete(pet)
        },
        .inWrite("Object type 'FilterModels_Owner' is not managed by the Realm.") {
            $0.add(FilterModels.Owner())
        },
        .inWrite("Invalid value 'x' of type 'String' for 'int' property 'CreationModels_Pet.id'.") {
            _ = $0.object(ofType: Pet.self, forPrimaryKey: "x")
        },
        .inWrite("does not have a primary key defined") {
            _ = $0.object(ofType: Person.self, forPrimaryKey: 1)
        },
    ]

    @Test("Invalid creations are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension MisuseCase {
    /// In a write transaction of a new Realm of `CreationModels`.
    static func inWrite(_ words: String, _ body: @escaping @Sendable (Realm) throws -> Void) -> MisuseCase {
        MisuseCase(words) {
            let realm = try CreationModels.realm()
            try realm.write { try body(realm) }
        }
    }
}
