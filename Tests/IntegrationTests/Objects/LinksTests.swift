// SPDX-License-Identifier: Apache-2.0
// Links, linking objects, and the effects of deletion.

import Foundation
import RealmSwift
import Testing

private typealias Pet = CreationModels.Pet
private typealias Person = CreationModels.Person

@Suite("Links")
struct LinksTests {
    @Test("Deleting an object makes links to it nil, and removes it from lists and linking objects")
    func deleting() throws {
        try withFile([Pet.self, Person.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                let pets = (0..<5).map { Pet(value: ["id": $0]) }
                let people = (0..<3).map { Person(value: ["name": "p\($0)"]) }
                try realm.write {
                    realm.add(people)
                    realm.add(pets)
                    for person in people {
                        person.best = pets[1]
                        person.pets.append(objectsIn: [pets[0], pets[1], pets[2], pets[1], pets[3]])
                    }
                    pets[2].owner = people[0]
                    #expect(pets[1].people.count == 6 && pets[0].people.count == 3)
                }
                try realm.write {
                    realm.delete(pets[1])
                    #expect(people.allSatisfy { $0.best == nil && $0.pets.map(\.id) == [0, 2, 3] })
                    realm.delete(people[0])
                    #expect(pets[2].owner == nil && pets[0].people.count == 2)
                }
                realm.beginWrite()
                realm.delete(pets[0])
                #expect(people[1].pets.count == 2)
                realm.cancelWrite()
                #expect(people[1].pets.map(\.id) == [0, 2, 3] && pets[0].people.count == 2)
            }
            let realm = try Realm(configuration: configuration)
            let people = realm.objects(Person.self)
            #expect(people.map(\.name) == ["p1", "p2"])
            #expect(people.allSatisfy { $0.best == nil && $0.pets.map(\.id) == [0, 2, 3] })
            #expect(
                realm.object(ofType: Pet.self, forPrimaryKey: 3)?.people.map(\.name).sorted() == ["p1", "p2"])
            try realm.write { realm.deleteAll() }
            #expect(realm.isEmpty)
        }
    }

    @Test("Linking objects count each link, follow changes, and are empty while unmanaged")
    func linkingObjects() throws {
        let realm = try CreationModels.realm()
        let pet = Pet(value: ["id": 1])
        #expect(pet.people.count == 0 && pet.people.first == nil && Array(pet.people).isEmpty)
        let person = Person()
        person.pets.append(objectsIn: [pet, pet])
        try realm.write {
            realm.add(person)
            let people = pet.people
            #expect(
                people.count == 2 && people.map(\.name) == ["nobody", "nobody"]
                    && people[1].isSameObject(as: person))
            person.pets.remove(at: 0)
            #expect(people.count == 1)
            person.pets[0] = Pet(value: ["id": 2])
            #expect(people.isEmpty)
            person.pets.append(pet)
            person.pets.replaceSubrange(0..<2, with: [pet, pet, pet])
            #expect(people.count == 3 && pet.people.filter("name == 'nobody'").count == 3)
            person.pets.removeAll()
            #expect(people.count == 0)
            realm.create(Person.self, value: ["pets": [pet]])
            #expect(people.count == 1)
            realm.delete(realm.objects(Person.self))
            #expect(people.isEmpty && people.count == 0)
        }
        #expect(pet.people != pet.people)
    }

    @Test("An object that links to itself can be deleted")
    func itself() throws {
        let realm = try FilterModels.realm()
        let four = try #require(realm.object(ofType: FilterModels.Thing.self, forPrimaryKey: 4))
        #expect(four.best == four && four.admirers.count == 1)
        try realm.write { realm.delete(four) }
        #expect(realm.objects(FilterModels.Thing.self).count == 5)
    }

    @Test("Assigning an unmanaged object to a link adds it; nil and the same object are accepted")
    func setting() throws {
        let realm = try CreationModels.realm()
        try realm.write {
            let person = realm.create(Person.self)
            let pet = Pet(value: ["id": 1])
            person.best = pet
            #expect(pet.realm == realm && person.best == pet)
            person.best = pet
            person.best = nil
            #expect(person.best == nil && realm.objects(Pet.self).count == 1)
            pet.owner = Person(value: ["best": pet])
            #expect(pet.owner?.best == pet && realm.objects(Person.self).count == 2)
        }
    }

    @Test("Results are live inside a write and after it")
    func live() throws {
        let realm = try CreationModels.realm()
        let all = realm.objects(Pet.self)
        let old = all.filter("age > 5")
        let named = all.where { $0.name == "Rex" }.sorted(byKeyPath: "age", ascending: false)
        let ofPeople = realm.objects(Person.self).filter("ANY pets.age > 5")
        #expect(all.isEmpty && old.isEmpty && named.isEmpty)
        try realm.write {
            let pet = realm.create(Pet.self, value: ["id": 1, "age": 6])
            #expect(all.count == 1 && old.count == 1 && named.count == 1 && ofPeople.isEmpty)
            let person = realm.create(Person.self, value: ["pets": [pet]])
            #expect(ofPeople.count == 1 && ofPeople.first?.isSameObject(as: person) == true)
            pet.age = 5
            #expect(old.isEmpty && old.count == 0 && old.first == nil && ofPeople.isEmpty)
            pet.age = 7
            #expect(old.count == 1 && old[0].age == 7 && ofPeople.count == 1)
            pet.age = nil
            #expect(old.count == 0 && named.count == 1)
            realm.create(Pet.self, value: ["id": 2, "age": 9])
            #expect(named.map(\.id) == [2, 1])
            pet.age = 10
            #expect(named.map(\.id) == [1, 2] && named.index(of: pet) == 0)
            pet.name = "else"
            #expect(named.map(\.id) == [2] && named.index(of: pet) == nil)
            person.pets.removeAll()
            #expect(ofPeople.isEmpty)
        }
        #expect(all.count == 2 && old.count == 2)
        realm.beginWrite()
        realm.delete(all)
        #expect(all.isEmpty && old.isEmpty && named.isEmpty)
        realm.cancelWrite()
        #expect(all.count == 2 && old.count == 2 && named.count == 1)
        try realm.write { for pet in old { pet.age = 0 } }
        #expect(old.isEmpty && all.map(\.age) == [0, 0])
    }

    @Test("Deleting an object removes it from links, lists and sets; maps keep the key with nil")
    func deletedTargets() throws {
        let realm = try Contract.realm()
        let owner = try realm.write {
            let owner = realm.create(Contract.Owner.self)
            let dog = realm.create(Contract.Dog.self)
            owner.dog = dog
            owner.dogs.append(objectsIn: [dog, dog])
            owner.dogSet.insert(dog)
            owner.dogMap["a"] = dog
            return owner
        }
        #expect(owner.dog?.owners.count == 2 && owner.dog?.keepers.count == 1)
        try realm.write { realm.delete(realm.objects(Contract.Dog.self)) }
        #expect(owner.dog == nil && owner.dogs.isEmpty && owner.dogSet.isEmpty)
        #expect(owner.dogMap.keys == ["a"] && owner.dogMap["a"] == .some(nil))
    }
}
