// SPDX-License-Identifier: Apache-2.0
// The row as a Regnum class, as a user writes it.

import Foundation
import RealmSwift

final class Person: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var active: Bool
    @Persisted var created: Date
    @Persisted var email: String?
    @Persisted var friend: Person?
    @Persisted(originProperty: "friend") var friendOf: LinkingObjects<Person>

    convenience init(_ row: PersonRow) {
        self.init()
        id = row.id
        name = row.name
        age = row.age
        score = row.score
        active = row.active
        created = Date(timeIntervalSince1970: TimeInterval(row.created))
        email = row.email
    }
}

/// The same with an index on the name, for the workloads that have one.
final class IndexedPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var active: Bool
    @Persisted var created: Date
    @Persisted var email: String?
    @Persisted var friend: IndexedPerson?

    convenience init(_ row: PersonRow) {
        self.init()
        id = row.id
        name = row.name
        age = row.age
        score = row.score
        active = row.active
        created = Date(timeIntervalSince1970: TimeInterval(row.created))
        email = row.email
    }
}

/// `Person` in a later version of the program, with an index on the name; X1.
final class SearchablePerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var active: Bool
    @Persisted var created: Date
    @Persisted var email: String?
    @Persisted var friend: SearchablePerson?
    @Persisted(originProperty: "friend") var friendOf: LinkingObjects<SearchablePerson>

    override class func _realmObjectName() -> String? { "Person" }
}

/// An object that is committed so that no cache can answer the next query.
final class Unrelated: Object {
    @Persisted var number: Int
}
