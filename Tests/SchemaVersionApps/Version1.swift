// SPDX-License-Identifier: Apache-2.0
// The app of schema version 1: people have a city and cars. The migration needs no code.

import RealmSwift

class Person: Object {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted(indexed: true) var city = ""
    @Persisted var cars: List<Car>
}

class Car: Object {
    @Persisted var make = ""
}

enum RealmConfigurator {
    static func makeDefaultConfiguration() -> Realm.Configuration { .init(schemaVersion: 1) }
}

func person(_ number: Int) -> Person {
    let person = Person(value: ["id": "p\(100 + number)", "name": "Person \(number)", "age": 20 + number])
    person.city = number % 3 == 0 ? "" : "City \(number % 5)"
    for car in 0..<number % 4 { person.cars.append(Car(value: ["make": "Make \(number).\(car)"])) }
    return person
}

func line(_ person: Person) -> Line {
    Line(
        id: person.id, name: person.name, born: "\(2020 - person.age)", city: person.city.isEmpty ? "-" : person.city,
        vehicles: person.cars.map { "\($0.make):4" })
}
