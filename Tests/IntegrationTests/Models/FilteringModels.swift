// SPDX-License-Identifier: Apache-2.0
// Six objects with nulls, NaN, the extreme integers, links and lists, for the tests of filters.

import Foundation
import RealmSwift

enum FilterModels {
    class Owner: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name: String
        @Persisted var age: Int?
    }

    class Thing: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var int: Int?
        @Persisted var n: Int
        @Persisted(indexed: true) var indexed: Int?
        @Persisted var d: Double?
        @Persisted var f: Float
        @Persisted var s: String?
        @Persisted(indexed: true) var t: String
        @Persisted var b: Bool?
        @Persisted var flag: Bool
        @Persisted var data: Data?
        @Persisted var date: Date?
        @Persisted var uuid: UUID?
        @Persisted var oid: ObjectId?
        @Persisted var owner: Owner?
        @Persisted var best: Thing?
        @Persisted var friends: List<Thing>
        @Persisted var tags: List<String?>
        @Persisted var nums: List<Int>
        @Persisted(originProperty: "friends") var fans: LinkingObjects<Thing>
        @Persisted(originProperty: "best") var admirers: LinkingObjects<Thing>
    }

    static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    static let oid = ObjectId("0123456789abcdef01234567")

    /// The property `indexed` has the values of `int`.
    static var things: [[String: Any]] {
        [
            [
                "id": 1, "int": 5, "n": 5, "d": 1.5, "f": Float(1.7), "s": "Hello", "t": "abc", "b": true,
                "flag": true,
                "data": Data([1, 2, 3]), "date": Date(timeIntervalSince1970: 1000), "uuid": uuid,
                "tags": ["x", "Y"],
                "nums": [1, 2, 3], "oid": oid,
            ],
            ["id": 2],
            [
                "id": 3, "int": -3, "n": -3, "d": Double.nan, "f": Float(-1), "s": "", "t": "ABC", "b": false,
                "data": Data(), "date": Date(timeIntervalSince1970: 0), "tags": [nil] as [String?],
                "nums": [-5],
                "uuid": UUID(),
            ],
            [
                "id": 4, "int": 5, "n": 7, "d": -0.0, "f": Float(3), "s": "hello", "t": "Ünï", "b": true,
                "flag": true,
                "data": Data([1]), "date": Date(timeIntervalSince1970: 2000), "tags": ["é"],
                "nums": [10, 20],
            ],
            [
                "id": 5, "int": Int.max, "n": Int.max, "d": Double.infinity, "f": Float(0.1),
                "s": "HELLO wörld", "t": "a*c",
                "b": false, "date": Date(timeIntervalSince1970: 1000.5), "tags": ["x"], "nums": [0],
            ],
            [
                "id": 6, "int": Int.min, "n": Int.min, "d": 9_007_199_254_740_993.0, "s": "e\u{301}",
                "t": "aXc",
                "nums": [2, 2],
            ],
        ]
    }

    /// Ann owns 1 and 4, bob (without an age) owns 3 and 6, and Cy owns 5; 2 has no owner.
    static let owners = [1: 1, 3: 2, 4: 1, 5: 3, 6: 2]
    static let friends = [1: [2, 3], 3: [1, 1], 4: [4], 5: [2]]
    static let best = [1: 3, 3: 5, 4: 4, 6: 2]

    static func fill(_ realm: Realm) throws {
        try realm.write {
            let people = [("Ann", 30), ("bob", nil), ("Cy", 50)].enumerated().map { index, person in
                realm.create(Owner.self, value: ["id": index + 1, "name": person.0, "age": person.1 as Any])
            }
            let all = things.map { value -> Thing in
                let thing = realm.create(Thing.self, value: value)
                thing.indexed = thing.int
                return thing
            }
            for (id, owner) in owners { all[id - 1].owner = people[owner - 1] }
            for (id, friends) in friends {
                all[id - 1].friends.append(objectsIn: friends.map { all[$0 - 1] })
            }
            for (id, best) in best { all[id - 1].best = all[best - 1] }
        }
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Owner.self, Thing.self)
        try fill(realm)
        return realm
    }
}
