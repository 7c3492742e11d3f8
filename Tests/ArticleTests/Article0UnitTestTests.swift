// SPDX-License-Identifier: Apache-2.0
// "How to unit test your Realm database layer" from top to bottom. On Linux `dynamic var` becomes `@Persisted var`, and
// calls label their arguments as current Swift requires; old spellings of the database API are kept from the article.
// The tests hold no Realm that the article does not hold.

import RealmSwift
import XCTest

class Person: Object {
    @Persisted var id = 0
    @Persisted var name = ""
    @Persisted var age = 0
    var address = ""
    var height = 0.0

    let dogs = List<Dog>()

    override static func primaryKey() -> String? {
        return "id"
    }

    override static func ignoredProperties() -> [String] {
        return ["address", "height"]
    }

    convenience init(name: String, age: Int) {
        self.init()
        self.name = name
        self.age = age
    }

    convenience init(id: Int, name: String, age: Int) {
        self.init(name: name, age: age)
        self.id = id
    }

    func save() {
        let realm = try! Realm()
        try! realm.write {
            realm.add(self)
        }
    }

    class func all() -> Results<Person> {
        let realm = try! Realm()
        return realm.objects(Person.self)
    }

    class func adults() -> Results<Person> {
        let realm = try! Realm()
        return realm.objects(Person.self).filter("age >= 18")
    }

    class func oldestFirst() -> Results<Person> {
        let realm = try! Realm()
        return realm.objects(Person.self).sorted("age", ascending: false)
    }

    func updateName(_ name: String, age: Int) {
        let realm = try! Realm()
        try! realm.write {
            self.name = name
            self.age = age
        }
    }

    func updateFrom(_ person: Person) {
        guard self.id == person.id else { return }

        let realm = try! Realm()
        try! realm.write {
            realm.add(person, update: true)
        }
    }

    func delete() {
        let realm = try! Realm()
        try! realm.write {
            realm.delete(self)
        }
    }
}

class Dog: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var owner: Person?

    let owners = LinkingObjects(fromType: Person.self, property: "dogs")
}

class BaseSpec: XCTestCase {
    let personName = "person"
    let personAge = 20
    let personAddress = "address"
    let personHeight = 1.8
    let dogName = "dog"
    let newName = "new name"
    let newAge = 30

    /// The article's `beforeSuite` and `beforeEach`.
    override func setUp() {
        super.setUp()
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = "\(type(of: self))"
        let realm = try! Realm()
        try! realm.write {
            realm.deleteAll()
        }
    }
}

final class PersonSpec: BaseSpec {
    func createPersons(_ number: Int) {
        let realm = try! Realm()
        try! realm.write {
            for i in 0..<number {
                let person = Person(id: i, name: "person \(i)", age: 17 + i)
                realm.add(person)
            }
        }
    }

    // The example before the first section.
    func testIntroduction() {
        // Create a Dog instance
        let myDog = Dog()
        myDog.name = "Rex"
        myDog.age = 1

        // Add the dog the database
        let realm = try! Realm()
        try! realm.write {
            realm.add(myDog)
        }

        // Retrieve dogs from database
        let puppies = realm.objects(Dog.self).filter("age < 2")
        expect(puppies.count) == 1
    }

    // MARK: 1.1. Test custom initializer

    func testInitializeWithNameAndAge() {
        // 1. Create a person using the custom initializer
        let person = Person(name: "name A", age: 18)

        // 2. Expect all properties of that person are correctly assigned.
        expect(person.name) == "name A"
        expect(person.age) == 18
    }

    // MARK: 1.2. Test relationships

    func testToOneRelationship() {
        // 1. Create a person
        let person = Person(name: personName, age: personAge)

        // 2. Create a dog
        let dog = Dog(value: ["name": dogName])

        // 3. Set the dog's owner to the person
        dog.owner = person

        // 4. Save the dog to database
        let realm = try! Realm()
        try! realm.write {
            realm.add(dog)
        }

        // 5. Expect that the person is also saved to database as the dog's owner
        let dogFromDatabase = realm.objects(Dog.self).last
        expect(dogFromDatabase?.name) == dogName
        expect(dogFromDatabase?.owner?.name) == personName
        expect(dogFromDatabase?.owner?.age) == personAge
    }

    func testToManyRelationship() {
        // 1. Create a person
        let person = Person(name: personName, age: personAge)

        // 2. Create 2 dogs
        let dog0 = Dog(value: ["name": "dog 0"])
        let dog1 = Dog(value: ["name": "dog 1"])

        // 3. Add the 2 dogs as the person's dogs
        person.dogs.append(dog0)
        person.dogs.append(dog1)

        // 4. Save the person to database
        let realm = try! Realm()
        try! realm.write {
            realm.add(person)
        }

        // 5. Expect that the dogs are also saved to database as the person's dogs
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.dogs.count) == 2
        expect(personFromDatabase?.dogs[0].name) == "dog 0"
        expect(personFromDatabase?.dogs[1].name) == "dog 1"
    }

    func testInverseRelationship() {
        // 1. Create a dog
        let dog = Dog(value: ["name": dogName])

        // 2. Create 2 persons
        let person0 = Person(id: 0, name: "person 0", age: personAge)
        let person1 = Person(id: 1, name: "person 1", age: personAge)

        // 3. Add the dog to each person's dogs
        person0.dogs.append(dog)
        person1.dogs.append(dog)

        // 4. Save the 2 persons to database
        let realm = try! Realm()
        try! realm.write {
            realm.add(person0)
            realm.add(person1)
        }

        // 5. Expect that the dog is also saved and its owners are correctly assigned
        let dogFromDatabase = realm.objects(Dog.self).last
        expect(dogFromDatabase?.owners.count) == 2
        expect(dogFromDatabase?.owners[0].name) == person0.name
        expect(dogFromDatabase?.owners[1].name) == person1.name
    }

    // MARK: 1.3. Test ignored properties

    func testIgnoredProperties() {
        // 1. Create a person
        let person = Person(name: personName, age: personAge)

        // 2. Set the person's address and height to something else
        person.address = personAddress
        person.height = personHeight

        // 3. Save the person to database
        let realm = try! Realm()
        try! realm.write {
            realm.add(person)
        }

        // 4. Expect that the address and height properties are not saved to database
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.address) != personAddress
        expect(personFromDatabase?.height) != personHeight
    }

    // MARK: 2.1. Create

    func testSave() {
        // 1. Create a person
        let person = Person(name: personName, age: personAge)

        // 2. Call the save method
        person.save()

        // 3. Expect the person to be saved to database
        let realm = try! Realm()
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.name) == person.name
        expect(personFromDatabase?.age) == person.age
    }

    // MARK: 2.2. Read

    func testAll() {
        // 1. Create 3 dummy persons in database
        self.createPersons(3)

        // 2. Call the "all" method
        let persons = Person.all()

        // 3. Expect the returned results to exactly match the 3 dummy persons
        expect(persons.count) == 3
        expect(persons[0].name) == "person 0"
        expect(persons[1].name) == "person 1"
        expect(persons[2].name) == "person 2"
    }

    func testAdults() {
        // 1. Create 3 dummy persons in database with age 17, 18 and 19 respectively
        self.createPersons(3)

        // 2. Call the "adults" method
        let adults = Person.adults()

        // 3. Expect the returned results to only contain 2 persons with age 18 and 19
        expect(adults.count) == 2
        expect(adults[0].age) == 18
        expect(adults[1].age) == 19
    }

    func testOldestFirst() {
        // 1. Create 3 dummy persons in database with age 17, 18 and 19 respectively
        self.createPersons(3)

        // 2. Call the "oldestFirst" method
        let results = Person.oldestFirst()

        // 3. Expect the returned results to be in sorted order (old -> young)
        expect(results.count) == 3
        expect(results[0].age) == 19
        expect(results[1].age) == 18
        expect(results[2].age) == 17
    }

    // MARK: 2.3. Update

    func testUpdateNameAndAge() {
        // 1. Create a person
        let person = Person(name: personName, age: personAge)

        // 2. Save the person to database
        person.save()

        // 3. Call the "updateName:age" method
        person.updateName(newName, age: newAge)

        // 4. Expect the updated properties are saved to database
        let realm = try! Realm()
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.name) == newName
        expect(personFromDatabase?.age) == newAge
    }

    func testUpdateWithDifferentId() {
        // 1. Create a person A
        let personA = Person(id: 1, name: personName, age: personAge)

        // 2. Save person A to database
        personA.save()

        // 3. Create person B with different id than person A
        let personB = Person(id: 2, name: newName, age: newAge)

        // 4. Call "updateFrom" on person A, pass person B in as argument
        personA.updateFrom(personB)

        // 5. Expect person A not to update anything
        let realm = try! Realm()
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.name) == personName
        expect(personFromDatabase?.age) == personAge
    }

    func testUpdateWithSameId() {
        // 1. Create a person A
        let personA = Person(id: 1, name: personName, age: personAge)

        // 2. Save person A to database
        personA.save()

        // 3. Create person B with the same id as person A
        let personB = Person(id: 1, name: newName, age: newAge)

        // 4. Call "updateFrom" on person A, pass person B in as argument
        personA.updateFrom(personB)

        // 5. Expect person A to have its properties updated from person B
        let realm = try! Realm()
        let personFromDatabase = realm.objects(Person.self).last
        expect(personFromDatabase?.name) == newName
        expect(personFromDatabase?.age) == newAge
    }

    // MARK: 2.4. Delete

    func testDelete() {
        // 1. Create 3 dummy persons
        self.createPersons(3)

        // 2. Find the second person in database
        let realm = try! Realm()
        let secondPerson = realm.objectForPrimaryKey(Person.self, key: 1)

        // 3. Call "delete" method on that person
        secondPerson?.delete()

        // 4. Expect 2 persons remain in the database: the first and third one
        let persons = Person.all()
        expect(persons.count) == 2
        expect(persons[0].id) == 0
        expect(persons[1].id) == 2
    }
}
