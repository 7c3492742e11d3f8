// SPDX-License-Identifier: Apache-2.0
// The app of schema version 2: names are full names, and people may have an e-mail address.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var fullName = ""
    @Persisted var age = 0
    @Persisted(indexed: true) var city = ""
    @Persisted var email: String?
    @Persisted var cars: List<Car>
}

class Car: Object {
    @Persisted var make = ""
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: 2,
            migrationBlock: { migration, oldVersion in
                if oldVersion < 2 { migration.renameProperty(onType: "Person", from: "name", to: "fullName") }
            })
    }
}

func person(_ number: Int) -> Person {
    let person = Person(value: ["id": "p\(100 + number)", "fullName": "Person \(number)", "age": 20 + number])
    person.city = number % 3 == 0 ? "" : "City \(number % 5)"
    person.email = number % 2 == 0 ? nil : "p\(number)@example.org"
    for car in 0..<number % 4 { person.cars.append(Car(value: ["make": "Make \(number).\(car)"])) }
    return person
}

func line(_ person: Person) -> Line {
    Line(
        id: person.id, name: person.fullName, born: "\(2020 - person.age)", email: person.email ?? "-",
        city: person.city.isEmpty ? "-" : person.city, vehicles: person.cars.map { "\($0.make):4" })
}
