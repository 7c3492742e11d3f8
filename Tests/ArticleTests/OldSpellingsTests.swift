// SPDX-License-Identifier: Apache-2.0
// The old spellings of the database API that the first article does not use itself.

import RealmSwift
import XCTest

final class OldSpellingsTests: BaseSpec {
    func testCreateWithABoolean() {
        let realm = try! Realm()
        try! realm.write {
            realm.create(Person.self, value: ["id": 1, "name": "a"], update: false)
            realm.create(Person.self, value: ["id": 1, "name": "b"], update: true)
        }
        expect(Array(realm.objects(Person.self).map(\.name))) == ["b"]
    }

    func testAddOfManyWithABoolean() {
        let realm = try! Realm()
        try! realm.write {
            realm.add([Person(id: 1, name: "a", age: 1), Person(id: 2, name: "b", age: 2)], update: false)
            realm.add([Person(id: 2, name: "c", age: 2), Person(id: 3, name: "d", age: 3)], update: true)
        }
        expect(Array(realm.objects(Person.self).sorted("id").map(\.name))) == ["a", "c", "d"]
    }

    func testSortedOfListsAndInverses() {
        let realm = try! Realm()
        let rex = Dog(value: ["name": "Rex", "age": 1])
        let odd = Dog(value: ["name": "Odd", "age": 2])
        try! realm.write {
            for id in 0..<3 {
                let person = Person(id: id, name: "person \(id)", age: 20 - id)
                person.dogs.append(odd)
                person.dogs.append(rex)
                realm.add(person)
            }
        }
        expect(Array(Person.all()[0].dogs.sorted("age").map(\.name))) == ["Rex", "Odd"]
        expect(Array(rex.owners.sorted(byProperty: "age", ascending: true).map(\.id))) == [2, 1, 0]
        expect(Person.all().indexOf(Person.all()[2])) == 2
    }

    func testValuesOfResultsAreSetByKeyPath() {
        let realm = try! Realm()
        try! realm.write {
            for id in 0..<3 { realm.add(Person(id: id, name: "person", age: id)) }
            realm.objects(Person.self).filter("age > 0").setValue("grown", forKeyPath: "name")
        }
        expect(Array(Person.all().map(\.name))) == ["person", "grown", "grown"]
    }
}
