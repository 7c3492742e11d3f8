// SPDX-License-Identifier: Apache-2.0
// Model classes for the tests of embedded objects.

import Foundation
import RealmSwift

enum Embedding {
    class Country: Object {
        @Persisted(primaryKey: true) var code = ""
        @Persisted var name = ""
    }

    class Geo: EmbeddedObject {
        @Persisted var latitude = 0.0
        @Persisted var longitude = 0.0
    }

    /// Contains itself, as a value and in a list.
    class Room: EmbeddedObject {
        @Persisted var name = ""
        @Persisted var closet: Room?
        @Persisted var alcoves: List<Room>
        @Persisted(originProperty: "rooms") var addresses: LinkingObjects<Address>
    }

    class Address: EmbeddedObject {
        @Persisted var street = ""
        @Persisted(indexed: true) var city = ""
        @Persisted var geo: Geo?
        @Persisted var rooms: List<Room>
        @Persisted var country: Country?
        @Persisted(originProperty: "address") var residents: LinkingObjects<Person>
        @Persisted(originProperty: "former") var leavers: LinkingObjects<Person>
        @Persisted(originProperty: "places") var visitors: LinkingObjects<Person>

        convenience init(_ city: String) {
            self.init()
            self.city = city
        }
    }

    class Person: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var address: Address?
        @Persisted var former: List<Address>
        @Persisted var places: Map<String, Address?>
    }

    /// Always has an embedded object, and has no primary key.
    class Shop: Object {
        @Persisted var name = "shop"
        @Persisted var address: Address? = Address("default")
    }

    static let types: [ObjectBase.Type] = [
        Country.self, Geo.self, Room.self, Address.self, Person.self, Shop.self,
    ]

    /// Three embedded levels, a list of two, and a link to a top-level object.
    static func rich(_ id: Int = 1, city: String = "Rome") -> [String: Any] {
        [
            "id": id, "name": "p\(id)",
            "address": [
                "street": "s", "city": city, "geo": ["latitude": 1.5, "longitude": 2.5],
                "rooms": [["name": "hall", "closet": ["name": "c"], "alcoves": [["name": "a1"], ["name": "a2"]]]],
                "country": ["code": "IT\(id)", "name": "Italy"],
            ] as [String: Any],
            "former": [["city": "Bari"], ["city": "Pisa", "geo": ["latitude": 3.0]]] as [[String: Any]],
        ]
    }

    /// An in-memory Realm with these classes.
    static func realm() throws -> Realm {
        try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
    }

    /// The counts of all stored addresses, geo objects and rooms.
    static func counts(_ realm: Realm) -> [Int] {
        [Address.className(), Geo.className(), Room.className()].map { realm.dynamicObjects($0).count }
    }
}
