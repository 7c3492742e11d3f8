// SPDX-License-Identifier: Apache-2.0
// The app of schema version 4: cars are vehicles.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var fullName = ""
    @Persisted var born = 0
    @Persisted(indexed: true) var city = ""
    @Persisted var email: String?
    @Persisted var vehicles: List<Vehicle>
}

class Vehicle: Object {
    @Persisted var make = ""
    @Persisted var wheels = 4
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: 4,
            migrationBlock: { migration, oldVersion in
                // Files of version 0 have no cars. The class is renamed first: later lines use its new name.
                if oldVersion < 4, migration.oldSchema["Car"] != nil {
                    migration.renameClass(from: "Car", to: "Vehicle")
                    migration.renameProperty(onType: "Person", from: "cars", to: "vehicles")
                }
                if oldVersion < 2 { migration.renameProperty(onType: "Person", from: "name", to: "fullName") }
                if oldVersion < 3 {
                    migration.enumerateObjects(ofType: "Person") { old, new in
                        new?["born"] = 2020 - (old?["age"] as? Int ?? 0)
                    }
                    migration.enumerateObjects(ofType: "Vehicle") { _, new in new?["wheels"] = 4 }
                }
            })
    }
}

func person(_ number: Int) -> Person {
    let person = Person(value: ["id": "p\(100 + number)", "fullName": "Person \(number)", "born": 2000 - number])
    person.city = number % 3 == 0 ? "" : "City \(number % 5)"
    person.email = number % 2 == 0 ? nil : "p\(number)@example.org"
    for car in 0..<number % 4 {
        person.vehicles.append(Vehicle(value: ["make": "Make \(number).\(car)", "wheels": 3 + car]))
    }
    return person
}

func line(_ person: Person) -> Line {
    Line(
        id: person.id, name: person.fullName, born: "\(person.born)", email: person.email ?? "-",
        city: person.city.isEmpty ? "-" : person.city, vehicles: person.vehicles.map { "\($0.make):\($0.wheels)" })
}
