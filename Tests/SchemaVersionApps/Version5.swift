// SPDX-License-Identifier: Apache-2.0
// The app of schema version 5: the city is in an embedded address.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var fullName = ""
    @Persisted var born = 0
    @Persisted var email: String?
    @Persisted var vehicles: List<Vehicle>
    @Persisted var address: Address?
}

class Vehicle: Object {
    @Persisted var make = ""
    @Persisted var wheels = 4
}

class Address: EmbeddedObject {
    @Persisted var city = ""
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: 5,
            migrationBlock: { migration, oldVersion in
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
                if oldVersion < 5, migration.oldSchema["Person"]?["city"] != nil {
                    migration.enumerateObjects(ofType: "Person") { old, new in
                        guard let city = old?["city"] as? String, !city.isEmpty else { return }
                        new?["address"] = ["city": city]
                    }
                }
            })
    }
}

func person(_ number: Int) -> Person {
    let person = Person(value: ["id": "p\(100 + number)", "fullName": "Person \(number)", "born": 2000 - number])
    if number % 3 != 0 { person.address = Address(value: ["city": "City \(number % 5)"]) }
    person.email = number % 2 == 0 ? nil : "p\(number)@example.org"
    for car in 0..<number % 4 {
        person.vehicles.append(Vehicle(value: ["make": "Make \(number).\(car)", "wheels": 3 + car]))
    }
    return person
}

func line(_ person: Person) -> Line {
    Line(
        id: person.id, name: person.fullName, born: "\(person.born)", email: person.email ?? "-",
        city: person.address?.city ?? "-", vehicles: person.vehicles.map { "\($0.make):\($0.wheels)" })
}
