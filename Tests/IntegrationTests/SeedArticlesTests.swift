// SPDX-License-Identifier: Apache-2.0
// The examples of the articles that this library must make true, in the spelling that compiles on Linux: models with
// `@Persisted` instead of `@objc dynamic`, expectations of Swift Testing. A Realm is held only where the article
// holds one: the default in-memory Realm must keep its data without help.

import Foundation
import RealmSwift
import Testing

/// Tests that set the default configuration, one after the other.
@Suite(.serialized)
enum DefaultConfigurationTests {}

// MARK: How to unit test your Realm database layer

enum UnitTestArticle {
    class Person: Object {
        @Persisted var id = 0
        @Persisted var name = ""
        @Persisted var age = 0
        let dogs = List<Dog>()
        var address = ""
        var height = 0.0

        override class func primaryKey() -> String? { "id" }
        override class func ignoredProperties() -> [String] { ["address", "height"] }

        convenience init(id: Int = 0, name: String, age: Int) {
            self.init()
            self.id = id
            self.name = name
            self.age = age
        }

        func save() {
            let realm = try! Realm()
            try! realm.write { realm.add(self) }
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
            return realm.objects(Person.self).sorted(byKeyPath: "age", ascending: false)
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
            try! realm.write { realm.add(person, update: .all) }
        }

        func delete() {
            let realm = try! Realm()
            try! realm.write { realm.delete(self) }
        }
    }

    class Dog: Object {
        @Persisted var name = ""
        @Persisted var owner: Person?
        let owners = LinkingObjects(fromType: Person.self, property: "dogs")
    }
}

extension DefaultConfigurationTests {
    @Suite(.serialized)
    struct UnitTestArticleTests {
        typealias Person = UnitTestArticle.Person
        typealias Dog = UnitTestArticle.Dog

        init() {
            Realm.Configuration.defaultConfiguration.inMemoryIdentifier = "PersonSpec"
            let realm = try! Realm()
            try! realm.write { realm.deleteAll() }
        }

        func createPersons(_ number: Int) {
            let realm = try! Realm()
            try! realm.write {
                for i in 0..<number {
                    let person = Person(id: i, name: "person \(i)", age: 17 + i)
                    realm.add(person)
                }
            }
        }

        @Test("a custom initialiser assigns the properties")
        func initialiser() {
            let person = Person(name: "name A", age: 18)
            #expect(person.name == "name A")
            #expect(person.age == 18)
        }

        @Test("a to-one relationship is saved with its object")
        func toOne() {
            let person = Person(name: "person", age: 20)
            let dog = Dog(value: ["name": "dog"])
            dog.owner = person
            let realm = try! Realm()
            try! realm.write { realm.add(dog) }
            let dogFromDatabase = realm.objects(Dog.self).last
            #expect(dogFromDatabase?.name == "dog")
            #expect(dogFromDatabase?.owner?.name == "person")
            #expect(dogFromDatabase?.owner?.age == 20)
        }

        @Test("a to-many relationship is saved with its objects")
        func toMany() {
            let person = Person(name: "person", age: 20)
            let dog0 = Dog(value: ["name": "dog 0"])
            let dog1 = Dog(value: ["name": "dog 1"])
            person.dogs.append(dog0)
            person.dogs.append(dog1)
            let realm = try! Realm()
            try! realm.write { realm.add(person) }
            let personFromDatabase = realm.objects(Person.self).last
            #expect(personFromDatabase?.dogs.count == 2)
            #expect(personFromDatabase?.dogs[0].name == "dog 0")
            #expect(personFromDatabase?.dogs[1].name == "dog 1")
        }

        @Test("an inverse relationship names all owners")
        func inverse() {
            let dog = Dog(value: ["name": "dog"])
            let person0 = Person(id: 0, name: "person 0", age: 20)
            let person1 = Person(id: 1, name: "person 1", age: 20)
            person0.dogs.append(dog)
            person1.dogs.append(dog)
            let realm = try! Realm()
            try! realm.write {
                realm.add(person0)
                realm.add(person1)
            }
            let dogFromDatabase = realm.objects(Dog.self).last
            #expect(dogFromDatabase?.owners.count == 2)
            #expect(dogFromDatabase?.owners[0].name == person0.name)
            #expect(dogFromDatabase?.owners[1].name == person1.name)
        }

        @Test("ignored properties are not saved")
        func ignored() {
            let person = Person(name: "person", age: 20)
            person.address = "somewhere"
            person.height = 1.8
            let realm = try! Realm()
            try! realm.write { realm.add(person) }
            let personFromDatabase = realm.objects(Person.self).last
            #expect(personFromDatabase?.address != "somewhere")
            #expect(personFromDatabase?.height != 1.8)
        }

        @Test("save stores the object")
        func create() {
            let person = Person(name: "person", age: 20)
            person.save()
            let realm = try! Realm()
            let personFromDatabase = realm.objects(Person.self).last
            #expect(personFromDatabase?.name == person.name)
            #expect(personFromDatabase?.age == person.age)
        }

        @Test("all returns all persons")
        func readAll() {
            createPersons(3)
            let persons = Person.all()
            #expect(persons.count == 3)
            #expect(persons[0].name == "person 0")
            #expect(persons[1].name == "person 1")
            #expect(persons[2].name == "person 2")
        }

        @Test("a filter returns persons of 18 and more")
        func filter() {
            createPersons(3)
            let adults = Person.adults()
            #expect(adults.count == 2)
            #expect(adults[0].age == 18)
            #expect(adults[1].age == 19)
        }

        @Test("a sort returns the oldest first")
        func sort() {
            createPersons(3)
            let results = Person.oldestFirst()
            #expect(results.count == 3)
            #expect(results[0].age == 19)
            #expect(results[1].age == 18)
            #expect(results[2].age == 17)
        }

        @Test("properties are updated in the database")
        func update() {
            let person = Person(name: "person", age: 20)
            person.save()
            person.updateName("new name", age: 21)
            let realm = try! Realm()
            let personFromDatabase = realm.objects(Person.self).last
            #expect(personFromDatabase?.name == "new name")
            #expect(personFromDatabase?.age == 21)
        }

        @Test(
            "an update from another primary key changes nothing, from the same one the properties", arguments: [1, 2])
        func updateWithPrimaryKey(id: Int) {
            let personA = Person(id: 1, name: "person", age: 20)
            personA.save()
            let personB = Person(id: id, name: "new name", age: 21)
            personA.updateFrom(personB)
            let realm = try! Realm()
            let personFromDatabase = realm.objects(Person.self).last
            #expect(personFromDatabase?.name == (id == 1 ? "new name" : "person"))
            #expect(personFromDatabase?.age == (id == 1 ? 21 : 20))
        }

        @Test("delete removes one object and leaves the others")
        func delete() {
            createPersons(3)
            let realm = try! Realm()
            let secondPerson = realm.object(ofType: Person.self, forPrimaryKey: 1)
            secondPerson?.delete()
            let persons = Person.all()
            #expect(persons.count == 2)
            #expect(persons[0].id == 0)
            #expect(persons[1].id == 2)
        }
    }
}

// MARK: TDD with Realm

enum NotesArticle {
    class Note: Object {
        @Persisted var id = UUID().uuidString
        @Persisted var title: String = ""
        @Persisted var content: String = ""
        @Persisted var image: String? = nil
        @Persisted var followUp = false
        @Persisted var categoryColor: String?
        let tags = List<String?>()

        override static func primaryKey() -> String? { "id" }
    }

    class NoteManager {
        var realm: Realm?

        var noteCount: Int { realm != nil ? try! (getAllNotes().count) : 0 }

        var followUpCount: Int {
            var count = 0
            if realm != nil {
                for note in try! getAllNotes() where note.followUp == true { count += 1 }
            }
            return count
        }

        func makeNote(
            title: String, content: String, followUp: Bool, image: String?, color: String?, tags: [String?]
        ) -> Note {
            let newNote = Note()
            newNote.title = title
            newNote.content = content
            newNote.followUp = followUp
            newNote.image = image
            newNote.categoryColor = color
            for tag in tags { newNote.tags.append(tag) }
            return newNote
        }

        func saveNote(_ note: Note) throws {
            realm = try Realm()
            try realm!.write { realm!.add(note, update: .all) }
        }

        func getAllNotes() throws -> Results<Note> {
            realm = try Realm()
            return realm!.objects(Note.self)
        }

        func findNoteByField(_ field: String, value: String) throws -> Results<Note> {
            realm = try Realm()
            let predicate = NSPredicate(format: "%K = %@", field, value)
            return realm!.objects(Note.self).filter(predicate)
        }

        func updateNotes(primaryKey: String, field: String, updatedValue: Any) throws {
            let notes = try findNoteByField("id", value: primaryKey)
            try! realm!.write { notes.setValue(updatedValue, forKeyPath: "\(field)") }
        }

        func delete(_ note: Note) throws {
            realm = try Realm()
            try! realm!.write { realm!.delete(note) }
        }

        func deleteAll() throws {
            realm = try Realm()
            try! realm!.write { realm!.deleteAll() }
        }
    }
}

extension DefaultConfigurationTests {
    @Suite(.serialized)
    struct NotesArticleTests {
        let sut = NotesArticle.NoteManager()

        init() {
            Realm.Configuration.defaultConfiguration.inMemoryIdentifier = UUID().uuidString
            let realm = try! Realm()
            sut.realm = realm
        }

        private func foo(followUp: Bool = false) -> NotesArticle.Note {
            sut.makeNote(
                title: "Foo", content: "Bar", followUp: followUp, image: nil, color: "000000",
                tags: ["man", "bear", "pig"])
        }

        @Test("counts begin at zero and follow what is saved")
        func counts() throws {
            #expect(sut.noteCount == 0)
            #expect(sut.followUpCount == 0)
            try sut.saveNote(foo())
            #expect(sut.noteCount == 1)
            try sut.saveNote(foo(followUp: true))
            #expect(sut.followUpCount == 1)
            #expect(try sut.getAllNotes().count == 2)
        }

        @Test("a note keeps what it was made with")
        func creates() {
            let note = foo()
            #expect(note.title == "Foo")
            #expect(note.tags.last == "pig")
            #expect(note.image == nil)
        }

        @Test("notes are found by a field named at run time")
        func find() throws {
            let first = foo()
            try sut.saveNote(first)
            let firstPrimaryKey = sut.realm?.objects(NotesArticle.Note.self).first?.id
            let second = sut.makeNote(
                title: "Rickmancing The Stone", content: "The Stone", followUp: true, image: nil, color: "000000",
                tags: ["bruh", "canabals"])
            try sut.saveNote(second)
            let fetchedNoteByID = try sut.findNoteByField("id", value: firstPrimaryKey!)
            #expect(fetchedNoteByID.first?.id == first.id)
            let fetchedNoteByTitle = try sut.findNoteByField("title", value: "Rickmancing The Stone")
            #expect(fetchedNoteByTitle.first?.tags.first == "bruh")
        }

        @Test("one property is updated by its name")
        func updateOne() throws {
            let newNote = foo()
            try sut.saveNote(newNote)
            #expect(try sut.findNoteByField("id", value: newNote.id).first?.content == "Bar")
            try sut.updateNotes(primaryKey: newNote.id, field: "content", updatedValue: "A vat of reduntancy")
            let changedNotes = try sut.findNoteByField("id", value: newNote.id)
            #expect(changedNotes.count == 1)
            #expect(changedNotes.first?.content == "A vat of reduntancy")
        }

        @Test("saving another note with the same primary key replaces the first")
        func updateByPrimaryKey() throws {
            let newNote = foo()
            try sut.saveNote(newNote)
            let editNote = sut.makeNote(
                title: "Noobnoobs Quip", content: "Goddamn!", followUp: true, image: nil, color: "000000",
                tags: ["man", "pig"])
            editNote.id = newNote.id
            try sut.saveNote(editNote)
            #expect(try sut.findNoteByField("id", value: newNote.id).first?.content == "Goddamn!")
        }

        @Test("a note is deleted, and all notes")
        func deletes() throws {
            let note = foo()
            try sut.saveNote(note)
            let notes = sut.realm?.objects(NotesArticle.Note.self)
            #expect(notes?.count == 1)
            try sut.delete(note)
            #expect(notes?.count == 0)
            try sut.saveNote(foo())
            try sut.saveNote(foo())
            #expect(sut.realm?.objects(NotesArticle.Note.self).count == 2)
            try sut.deleteAll()
            #expect(sut.realm?.objects(NotesArticle.Note.self).count == 0)
        }
    }
}

extension Realm {
    func safeWrite(_ block: (() throws -> Void)) throws {
        if isInWriteTransaction {
            try block()
        } else {
            try write(block)
        }
    }
}
