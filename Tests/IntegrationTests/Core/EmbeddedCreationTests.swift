// SPDX-License-Identifier: Apache-2.0
// Embedded objects in `create` and `add` with update policies, and programmer errors.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Address = Embedding.Address
private typealias Country = Embedding.Country
private typealias Geo = Embedding.Geo
private typealias Person = Embedding.Person
private typealias Room = Embedding.Room
private typealias Shop = Embedding.Shop

private func counts(_ realm: Realm) -> [Int] { Embedding.counts(realm) }

@Suite("Embedded objects in add and create")
struct EmbeddedCreationTests {
    @Test("create() makes embedded objects from dictionaries, arrays and objects, one copy for each location")
    func createsFresh() throws {
        let realm = try Embedding.realm()
        let unmanaged = Address("Rome")
        try realm.write {
            let one = realm.create(
                Person.self, value: ["id": 1, "address": unmanaged, "former": [unmanaged, unmanaged]])
            let two = realm.create(
                Person.self, value: [2, "two", ["s", "Oslo"], [["t", "Bari"], unmanaged]] as [Any])
            #expect(unmanaged.realm == nil && counts(realm) == [6, 0, 0])
            #expect(one.address?.city == "Rome" && one.former.map(\.city) == ["Rome", "Rome"])
            #expect(two.address?.city == "Oslo" && two.former.map(\.city) == ["Bari", "Rome"])
            // A managed embedded object is copied too, and so are the embedded objects of a copied object.
            let three = realm.create(
                Person.self, value: ["id": 3, "address": one.address as Any, "former": two.former])
            #expect(three.address?.city == "Rome" && three.former.map(\.city) == ["Bari", "Rome"])
            #expect(one.address?.city == "Rome" && two.former.count == 2 && counts(realm) == [9, 0, 0])
            let shop = realm.create(Shop.self)
            let copy = realm.create(Shop.self, value: shop)
            #expect(copy.address?.city == "default" && copy.address?.isSameObject(as: shop.address) == false)
            #expect(counts(realm) == [11, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("create() from an object of another Realm copies embedded objects, and each linked object once")
    func fromAnotherRealm() throws {
        let source = try Embedding.realm()
        let realm = try Embedding.realm()
        try source.write { source.create(Person.self, value: Embedding.rich()) }
        let person = try #require(source.objects(Person.self).first)
        try realm.write { realm.create(Person.self, value: person) }
        let copy = try #require(realm.objects(Person.self).first)
        #expect(copy.address?.rooms[0].alcoves.map(\.name) == ["a1", "a2"])
        #expect(copy.address?.country?.name == "Italy" && realm.objects(Country.self).count == 1)
        #expect(counts(realm) == [3, 2, 4] && counts(source) == [3, 2, 4])
        expectIntegrity(of: realm.configuration)
    }

    @Test("add() with .modified writes into the existing embedded object; with .all it replaces it")
    func addAndUpdate() throws {
        let realm = try Embedding.realm()
        try realm.write {
            realm.create(Person.self, value: Embedding.rich())
            let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: 1))
            let address = try #require(person.address)
            let hall = address.rooms[0]
            let formers = Array(person.former)
            realm.add(Person(value: Embedding.rich(city: "Oslo")), update: .modified)
            #expect(!address.isInvalidated && address.city == "Oslo" && !hall.isInvalidated)
            #expect(formers.allSatisfy { !$0.isInvalidated } && counts(realm) == [3, 2, 4])
            realm.add(Person(value: Embedding.rich(city: "Bern")), update: .all)
            #expect(address.isInvalidated && hall.isInvalidated && formers.allSatisfy { $0.isInvalidated })
            #expect(person.address?.city == "Bern" && counts(realm) == [3, 2, 4])
            // In lists, existing elements are overwritten, surplus elements are deleted, missing ones are created.
            let first = person.former[0]
            let second = person.former[1]
            let shorter = Person(value: ["id": 1, "former": [["city": "Turin"]]])
            realm.add(shorter, update: .modified)
            #expect(first.city == "Turin" && second.isInvalidated && person.address == nil)
            #expect(shorter.former[0].isSameObject(as: first))
            realm.add(
                Person(value: ["id": 1, "former": [["city": "a"], ["city": "b"], ["city": "c"]]]), update: .modified)
            #expect(first.city == "a" && person.former.map(\.city) == ["a", "b", "c"] && counts(realm) == [3, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("create() with .modified writes the given values into the existing embedded object; .all replaces it")
    func createAndUpdate() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: Embedding.rich())
            let address = try #require(person.address)
            let bari = person.former[0]
            realm.create(
                Person.self,
                value: ["id": 1, "address": ["city": "Oslo"], "former": [["street": "x"]]] as [String: Any],
                update: .modified)
            #expect(address.city == "Oslo" && address.street == "s" && address.geo?.latitude == 1.5)
            #expect(bari.street == "x" && bari.city == "Bari" && person.former.count == 1)
            realm.create(Person.self, value: ["id": 1, "name": "new"], update: .all)
            #expect(!address.isInvalidated && person.name == "new")
            realm.create(Person.self, value: ["id": 1, "address": ["city": "Bern"]], update: .all)
            #expect(address.isInvalidated && person.address?.city == "Bern" && person.address?.street == "")
            #expect(counts(realm) == [2, 0, 0])
            // From itself: the new embedded objects are copies of the deleted ones.
            realm.create(Person.self, value: person, update: .all)
            #expect(bari.isInvalidated && person.former.map(\.city) == ["Bari"] && person.address?.city == "Bern")
            realm.create(Person.self, value: person, update: .modified)
            realm.create(Person.self, value: ["id": 1, "address": NSNull()], update: .modified)
            #expect(person.address == nil && counts(realm) == [1, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("An embedded object of another owner cannot be linked to", arguments: misuses)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }

    /// Runs `body` in a write transaction with two people that have addresses.
    private static func people(
        _ words: String, _ body: @escaping @Sendable (Realm, Embedding.Person, Embedding.Person) throws -> Void
    ) -> MisuseCase {
        MisuseCase(words) {
            let realm = try Embedding.realm()
            try realm.write {
                let one = realm.create(Person.self, value: Embedding.rich(1))
                try body(realm, one, realm.create(Person.self, value: Embedding.rich(2)))
            }
        }
    }

    static let misuses: [MisuseCase] = [
        people("Can't set link to existing managed embedded object") { _, one, two in one.address = two.address },
        people("Can't set link to existing managed embedded object") { _, one, _ in one.address = one.former[0] },
        people("Can't set link to existing managed embedded object") { _, one, two in one["address"] = two.address },
        people("Can't set link to existing managed embedded object") { realm, one, _ in
            realm.add(Shop(value: ["address": one.address as Any]))
        },
        people("Can't set link to existing managed embedded object") { realm, one, _ in
            let new = Person(value: ["id": 1])
            new.address = one.address
            realm.add(new, update: .modified)
        },
        people("Can't set link to existing managed embedded object") { realm, _, _ in
            let room = Room()
            room.closet = room
            realm.create(Person.self, value: ["id": 3, "address": ["rooms": [room]]])
        },
        people("Can't set link to existing managed embedded object") { realm, one, _ in
            let room = Room()
            room.closet = room
            one.address?.rooms.append(room)
        },
        people("Cannot add an existing managed embedded object to a List.") { _, one, two in
            one.former.append(two.former[0])
        },
        people("Cannot add an existing managed embedded object to a List.") { _, one, _ in
            one.former.append(one.former[0])
        },
        people("Cannot add an existing managed embedded object to a List.") { _, one, _ in
            one.former[0] = one.former[0]
        },
        people("Cannot add an existing managed embedded object to a List.") { _, one, two in one.former = two.former },
        people("Cannot add an existing managed embedded object to a List.") { _, one, _ in
            one.former.replaceSubrange(0..<1, with: [one.former[0]])
        },
        people("Cannot add an existing managed embedded object to a List.") { realm, _, _ in
            let address = Address()
            let person = Person(value: ["id": 3])
            person.former.append(objectsIn: [address, address])
            realm.add(person)
        },
        people("Can't set link to existing managed embedded object") { realm, _, two in
            realm.dynamicObjects(Person.className())[0]["address"] = two.address
        },
        people("Cannot add an existing managed embedded object to a List.") { realm, _, two in
            let one = realm.dynamicObjects(Person.className())[0]
            one.dynamicList("former").append(realm.dynamicObjects(Address.className())[0])
        },
        people("Cannot add an existing managed embedded object to a List.") { realm, _, two in
            realm.dynamicObjects(Person.className())[0]["former"] = two.former
        },
        people("Cannot add an existing managed embedded object to a Dictionary.") { _, one, two in
            one.places["a"] = two.address
        },
        people("Cannot add an existing managed embedded object to a Dictionary.") { _, one, two in
            two.places["b"] = Embedding.Address("x")
            one.places = two.places
        },
        people("Object has been deleted or invalidated.") { _, one, two in
            let old = one.address
            one.address = nil
            two.address = old
        },
        people("Embedded objects cannot be created directly") { realm, _, _ in
            realm.dynamicCreate(Address.className(), value: ["city": "x"])
        },
        people("Invalid value") { realm, _, _ in realm.create(Person.self, value: ["id": 3, "address": 7]) },
        people("Invalid value") { realm, one, _ in
            realm.create(Person.self, value: ["id": 3, "address": one.address?.geo as Any])
        },
        people("Invalid nil value for array of") { realm, _, _ in
            realm.create(Person.self, value: ["id": 3, "former": [NSNull()]])
        },
        MisuseCase("Cannot modify managed objects outside of a write transaction.") {
            let realm = try Embedding.realm()
            try realm.write { realm.create(Person.self, value: Embedding.rich()) }
            realm.objects(Person.self).first?.address?.city = "x"
        },
    ]
}
