// SPDX-License-Identifier: Apache-2.0
// The app of schema version 0: people with a name and an age.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var name = ""
    @Persisted var age = 0
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration { .init(schemaVersion: 0) }
}

func person(_ number: Int) -> Person {
    Person(value: ["id": "p\(100 + number)", "name": "Person \(number)", "age": 20 + number])
}

func line(_ person: Person) -> Line { Line(id: person.id, name: person.name, born: "\(2020 - person.age)") }
