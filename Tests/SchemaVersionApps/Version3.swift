// SPDX-License-Identifier: Apache-2.0
// The app of schema version 3: the year of birth replaces the age, and cars count their wheels.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var fullName = ""
    @Persisted var born = 0
    @Persisted(indexed: true) var city = ""
    @Persisted var email: String?
    @Persisted var cars: List<Car>
}

class Car: Object {
    @Persisted var make = ""
    @Persisted var wheels = 4
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: 3,
            migrationBlock: { migration, oldVersion in
                if oldVersion < 2 { migration.renameProperty(onType: "Person", from: "name", to: "fullName") }
                if oldVersion < 3 {
                    migration.enumerateObjects(ofType: "Person") { old, new in
                        new?["born"] = 2020 - (old?["age"] as? Int ?? 0)
                    }
                    migration.enumerateObjects(ofType: "Car") { _, new in new?["wheels"] = 4 }
                }
            })
    }
}

func person(_ number: Int) -> Person {
    let person = Person(value: ["id": "p\(100 + number)", "fullName": "Person \(number)", "born": 2000 - number])
    person.city = number % 3 == 0 ? "" : "City \(number % 5)"
    person.email = number % 2 == 0 ? nil : "p\(number)@example.org"
    for car in 0..<number % 4 {
        person.cars.append(Car(value: ["make": "Make \(number).\(car)", "wheels": 3 + car]))
    }
    return person
}

func line(_ person: Person) -> Line {
    Line(
        id: person.id, name: person.fullName, born: "\(person.born)", email: person.email ?? "-",
        city: person.city.isEmpty ? "-" : person.city, vehicles: person.cars.map { "\($0.make):\($0.wheels)" })
}
