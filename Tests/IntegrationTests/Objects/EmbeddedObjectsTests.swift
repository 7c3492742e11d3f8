// SPDX-License-Identifier: Apache-2.0
// Embedded objects: each has one owner and is deleted with it.

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

@Suite("Embedded objects")
struct EmbeddedObjectsTests {
    @Test("The schema marks embedded classes, and the default schema includes them")
    func schema() throws {
        let realm = try Embedding.realm()
        #expect(realm.schema["Embedding_Address"]?.isEmbedded == true)
        #expect(realm.schema["Embedding_Person"]?.isEmbedded == false)
        #expect(Address.isEmbedded() && !Person.isEmbedded())
        #expect(EmbeddedObject.sharedSchema() == nil && Address.sharedSchema()?.isEmbedded == true)
        #expect(RealmSwiftEmbeddedObject.self == EmbeddedObject.self)
        let property = try #require(realm.schema["Embedding_Person"]?["address"])
        #expect(property.type == .object && property.isOptional && property.objectClassName == "Embedding_Address")
        let all = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString))
        #expect(all.schema["Embedding_Room"]?.isEmbedded == true)
    }

    @Test("Assigning an unmanaged embedded object makes the same instance managed")
    func adopting() throws {
        let realm = try Embedding.realm()
        let first = Address("Rome")
        let second = Address("Oslo")
        #expect(first.realm == nil && !first.isInvalidated && first.description.contains("city = Rome;"))
        try realm.write {
            let person = realm.create(Person.self, value: ["id": 1])
            person.address = first
            person.former.append(second)
            #expect(person.address?.city == "Rome" && person.former[0].city == "Oslo")
        }
        #expect(first.realm == realm && second.realm == realm && !first.isFrozen)
        let person = try #require(realm.objects(Person.self).first)
        #expect(person.address?.isSameObject(as: first) == true && person.former[0].isSameObject(as: second))
        #expect(first == first && person.address != second)
        #expect(person.description.contains("city = Rome;"))
        #expect(first.residents.map(\.id) == [1] && first.leavers.isEmpty)
        #expect(second.leavers.map(\.id) == [1] && second.residents.isEmpty)
    }

    @Test("add() also adds embedded objects at all depths")
    func adding() throws {
        try withFile(Embedding.types) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                let person = Person(value: Embedding.rich())
                let hall = try #require(person.address?.rooms.first)
                try realm.write { realm.add(person) }
                #expect(hall.realm == realm && hall.closet?.name == "c" && hall.alcoves.map(\.name) == ["a1", "a2"])
                #expect(hall.addresses.first?.residents.first == person)
                #expect(counts(realm) == [3, 2, 4])
                #expect(person.former[1].geo?.latitude == 3 && person.address?.country?.name == "Italy")
            }
            expectIntegrity(of: configuration)
        }
    }

    @Test("Replacing an embedded object deletes the old one and everything that it embeds")
    func replacing() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: Embedding.rich())
            let old = try #require(person.address)
            let closet = try #require(old.rooms[0].closet)
            let rooms = old.rooms
            person.address = Address("Oslo")
            #expect(old.isInvalidated && closet.isInvalidated && rooms.isInvalidated)
            #expect(person.address?.city == "Oslo" && counts(realm) == [3, 1, 0])
            person.address = nil
            #expect(person.address == nil && counts(realm) == [2, 1, 0])
            let pisa = person.former[1]
            person.former[1] = Address("Como")
            #expect(pisa.isInvalidated && person.former.map(\.city) == ["Bari", "Como"] && counts(realm) == [2, 0, 0])
            person["address"] = ["city": "Lima", "rooms": [["name": "r"]]] as [String: Any]
            #expect(person.address?.rooms.map(\.name) == ["r"] && counts(realm) == [3, 0, 1])
        }
        // The top-level object that they linked to stays.
        #expect(realm.objects(Country.self).count == 1)
        expectIntegrity(of: realm.configuration)
    }

    @Test("Assigning the same embedded object again changes nothing")
    func sameAgain() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: Embedding.rich())
            let address = try #require(person.address)
            person.address = address
            person.address = person.address
            #expect(!address.isInvalidated && person.address?.city == "Rome" && counts(realm) == [3, 2, 4])
        }
    }

    @Test("Deleting the owner deletes its embedded objects; a rollback restores them")
    func cascade() throws {
        try withFile(Embedding.types) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                let person = Person(value: Embedding.rich())
                try realm.write {
                    realm.add(person)
                    realm.create(Person.self, value: Embedding.rich(2))
                }
                let address = try #require(person.address)
                realm.beginWrite()
                realm.delete(person)
                #expect(address.isInvalidated && counts(realm) == [3, 2, 4])
                realm.cancelWrite()
                #expect(counts(realm) == [6, 4, 8] && person.address?.rooms[0].closet?.name == "c")
                try realm.write { realm.delete(realm.objects(Person.self).filter("id == 1")) }
                #expect(counts(realm) == [3, 2, 4])
            }
            expectIntegrity(of: configuration)
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.delete(realm.objects(Person.self)) }
            #expect(counts(realm) == [0, 0, 0] && realm.objects(Country.self).count == 2)
            expectIntegrity(of: configuration)
        }
    }

    @Test("Deleting an embedded object makes its link nil and removes it from its list")
    func deletingEmbedded() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: Embedding.rich())
            realm.delete(try #require(person.address))
            #expect(person.address == nil && counts(realm) == [2, 1, 0])
            realm.delete(person.former[0])
            #expect(person.former.map(\.city) == ["Pisa"])
            realm.delete(person.former)
            #expect(person.former.isEmpty && counts(realm) == [0, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("deleteAll deletes all embedded objects")
    func deleteAll() throws {
        try withFile(Embedding.types) { configuration in
            let realm = try Realm(configuration: configuration)
            try realm.write { for id in 0..<50 { realm.create(Person.self, value: Embedding.rich(id, city: "c")) } }
            try realm.write { realm.deleteAll() }
            #expect(counts(realm) == [0, 0, 0] && realm.isEmpty)
            expectIntegrity(of: configuration)
            try realm.write { realm.create(Person.self, value: Embedding.rich()) }
            #expect(realm.objects(Person.self).first?.address?.rooms.count == 1)
            expectIntegrity(of: configuration)
        }
    }

    /// Changes of a list with the addresses a ... e, and the expected rest.
    static let removals: [(String, String, @Sendable (List<Embedding.Address>) -> Void)] = [
        ("removeAll", "", { $0.removeAll() }),
        ("remove(at:)", "abde", { $0.remove(at: 2) }),
        ("removeFirst", "cde", { $0.removeFirst(2) }),
        ("removeLast", "abcd", { $0.removeLast() }),
        ("removeSubrange", "ae", { $0.removeSubrange(1..<4) }),
        ("remove(atOffsets:)", "bd", { $0.remove(atOffsets: [0, 2, 4]) }),
        ("replaceSubrange", "axe", { $0.replaceSubrange(1..<4, with: [Embedding.Address("x")]) }),
        ("replace(index:)", "abxde", { $0.replace(index: 2, object: Embedding.Address("x")) }),
        ("move", "bcdea", { $0.move(from: 0, to: 4) }),
        ("swapAt", "ebcda", { $0.swapAt(0, 4) }),
        ("insert", "axbcde", { $0.insert(Embedding.Address("x"), at: 1) }),
    ]

    @Test("Objects that are removed from a list are deleted, the others are not", arguments: removals.indices)
    func listRemoval(_ number: Int) throws {
        let (name, expected, change) = Self.removals[number]
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: ["id": 1])
            person.former.append(objectsIn: "abcde".map { Address(value: ["city": String($0), "geo": [0.0, 0.0]]) })
            let all = Array(person.former)
            change(person.former)
            #expect(person.former.map(\.city).joined() == expected, "\(name)")
            let kept = all.filter { !$0.isInvalidated }
            let stays = String(expected.filter { $0 != "x" }.sorted())
            #expect(kept.map(\.city).sorted().joined() == stays)
            #expect(counts(realm) == [expected.count, kept.count, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("An embedded class may contain itself at any depth")
    func recursion() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(Person.self, value: ["id": 1, "address": ["rooms": [["name": "0"]]]])
            var room = try #require(person.address?.rooms[0])
            for depth in 1...300 {
                let next = Room(value: ["name": "\(depth)"])
                if depth % 2 == 0 { room.closet = next } else { room.alcoves.append(next) }
                room = next
            }
            #expect(counts(realm) == [1, 0, 301])
            let top = try #require(person.address?.rooms[0].alcoves[0].closet)
            #expect(top.name == "2")
            person.address?.rooms[0].alcoves[0].closet = nil
            #expect(room.isInvalidated && top.isInvalidated && counts(realm) == [1, 0, 2])
            realm.delete(person)
            #expect(counts(realm) == [0, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("Queries and sorting follow embedded objects")
    func queries() throws {
        let realm = try Embedding.realm()
        try realm.write {
            for (id, city) in ["Rome", "Oslo", "Rome", "Bern"].enumerated() {
                realm.create(
                    Person.self,
                    value: [
                        "id": id, "address": ["city": city, "geo": ["latitude": Double(id)]],
                        "former": [["city": "F\(id)"], ["city": "G"]],
                    ] as [String: Any])
            }
            realm.create(Person.self, value: ["id": 9])
        }
        let people = realm.objects(Person.self)
        #expect(people.filter("address.city == 'Rome'").map(\.id) == [0, 2])
        #expect(people.where { $0.address.city == "Rome" }.map(\.id) == [0, 2])
        #expect(people.where { $0.address.geo.latitude > 1 }.map(\.id) == [2, 3])
        #expect(people.filter("address == NULL").map(\.id) == [9])
        #expect(people.where { $0.address != nil }.map(\.id) == [0, 1, 2, 3])
        #expect(people.filter("ANY former.city == 'F1'").map(\.id) == [1])
        #expect(people.where { $0.former.city == "F3" }.map(\.id) == [3])
        #expect(people.filter("former.@count == 2").count == 4)
        #expect(people.where { ($0.former.city == "G").count == 1 }.count == 4)
        let sorted = people.filter("address != NULL").sorted(byKeyPath: "address.city")
        #expect(sorted.map { $0.address?.city ?? "" }.joined() == "BernOsloRomeRome")
        // As with all links: objects without an address come first in descending order, and distinct omits them.
        #expect(people.sorted(byKeyPath: "address.geo.latitude", ascending: false).map(\.id) == [9, 3, 2, 1, 0])
        #expect(people.distinct(by: ["address.city"]).map(\.id) == [0, 1, 3])
        let person = try #require(people.first)
        #expect(person.former.filter("city BEGINSWITH 'F'").map(\.city) == ["F0"])
        #expect(person.former.where { $0.city == "G" }.count == 1)
        #expect(person.former.sorted(byKeyPath: "city", ascending: false).map(\.city) == ["G", "F0"])
        #expect(people.filter("address == %@", person.address as Any).map(\.id) == [0])
    }

    @Test("A copy of a managed embedded object can be given to another owner")
    func copies() throws {
        let realm = try Embedding.realm()
        try realm.write { realm.create(Person.self, value: Embedding.rich()) }
        let person = try #require(realm.objects(Person.self).first)
        // Only a copy of an embedded object can have a second owner.
        try realm.write {
            let copy = Address(value: try #require(person.address))
            #expect(copy.realm == nil && copy.city == "Rome")
            copy.geo = nil
            copy.rooms.removeAll()
            realm.create(Shop.self).address = copy
        }
        #expect(realm.objects(Shop.self).first?.address?.city == "Rome" && person.address?.city == "Rome")
        expectIntegrity(of: realm.configuration)
    }

    @Test("Dynamic objects own and delete embedded objects as typed objects do")
    func dynamicOwners() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let typed = realm.create(Person.self, value: Embedding.rich())
            let person = try #require(realm.dynamicObjects(Person.className()).first)
            let old = try #require(person["address"] as? DynamicObject)
            #expect(old["city"] as? String == "Rome")
            person["address"] = old
            #expect(!old.isInvalidated)
            person["address"] = ["city": "Oslo", "geo": ["latitude": 1.0]] as [String: Any]
            #expect(old.isInvalidated && typed.address?.geo?.latitude == 1 && counts(realm) == [3, 2, 0])
            person["former"] = [["city": "a"], ["city": "b"], ["city": "c"]]
            #expect(typed.former.map(\.city).joined() == "abc" && counts(realm) == [4, 1, 0])
            person["former"] = nil
            person["address"] = Address("Bern")
            #expect(typed.address?.city == "Bern" && typed.former.isEmpty && counts(realm) == [1, 0, 0])
            let made = realm.dynamicCreate(Person.className(), value: ["id": 5, "address": ["city": "x"]])
            #expect((made["address"] as? DynamicObject)?["city"] as? String == "x")
            realm.delete(made)
            #expect(counts(realm) == [1, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("A map of embedded objects owns its values")
    func maps() throws {
        let realm = try Embedding.realm()
        try realm.write {
            let person = realm.create(
                Person.self,
                value: [
                    "id": 1, "places": ["a": ["city": "A", "geo": [1.0, 2.0]], "b": ["city": "B"], "n": NSNull()],
                ])
            #expect(person.places.count == 3 && counts(realm) == [2, 1, 0])
            let first = try #require(person.places["a"] ?? nil)
            let second = try #require(person.places["b"] ?? nil)
            #expect(first.visitors.map(\.id) == [1])
            // With .modified, values are overwritten in place by key; .all replaces them.
            realm.create(
                Person.self, value: ["id": 1, "places": ["a": ["city": "A2"], "c": ["city": "C"]]], update: .modified)
            #expect(first.city == "A2" && first.geo?.latitude == 1 && second.isInvalidated)
            #expect(person.places.keys == ["a", "c"] && counts(realm) == [2, 1, 0])
            let unmanaged = Person(value: ["id": 1, "places": ["a": ["city": "A3"]]])
            realm.add(unmanaged, update: .modified)
            #expect(first.city == "A3" && first.geo == nil && person.places.keys == ["a"])
            realm.create(Person.self, value: ["id": 1, "places": ["a": ["city": "A4"]]], update: .all)
            #expect(first.isInvalidated && counts(realm) == [1, 0, 0])
            person.places["x"] = Address("X")
            let third = try #require(person.places["x"] ?? nil)
            person.places["x"] = Address("Y")
            #expect(third.isInvalidated && counts(realm) == [2, 0, 0])
            person.places.removeObject(for: "a")
            #expect(counts(realm) == [1, 0, 0])
            realm.delete(try #require(person.places["x"] ?? nil))
            #expect(person.places.keys == ["x"] && person.places["x"] == .some(nil) && counts(realm) == [0, 0, 0])
            person["places"] = ["p": ["city": "P"], "q": ["city": "Q"]]
            realm.dynamicObjects(Person.className())[0]["places"] = ["r": ["city": "R"]]
            #expect(person.places.keys == ["r"] && counts(realm) == [1, 0, 0])
            person.places.removeAll()
            #expect(counts(realm) == [0, 0, 0])
            person.places["z"] = Address(value: ["city": "Z", "geo": [0.0, 0.0]])
            realm.delete(person)
            #expect(counts(realm) == [0, 0, 0])
        }
        expectIntegrity(of: realm.configuration)
    }

    @Test("Assigning a new embedded object deletes the old one, and assigning the same one keeps it")
    func assignment() throws {
        let realm = try Contract.realm()
        let owner = try realm.write {
            realm.create(Contract.Owner.self, value: ["address": ["street": "a"], "addresses": [["city": "b"]]])
        }
        let address = try #require(owner.address)
        try realm.write { owner.address = address }
        #expect(!address.isInvalidated && address.residents.count == 1)
        try realm.write { owner.address = Contract.Address(value: ["street": "c"]) }
        #expect(address.isInvalidated && owner.address?.street == "c")
        let listed = owner.addresses[0]
        try realm.write { owner.addresses.removeAll() }
        #expect(listed.isInvalidated)
        try realm.write { realm.delete(owner) }
        #expect(realm.isEmpty)
    }
}
