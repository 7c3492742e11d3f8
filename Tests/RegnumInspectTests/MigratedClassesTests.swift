// SPDX-License-Identifier: Apache-2.0
// The comparison of a file before a migration with the file after it: counts, kept objects, renames and lost values.

import Foundation
import Regnum
import RegnumInspect
import Testing

private enum Before {
    final class Person: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var nick: String?
        @Persisted var age: Int
        @Persisted var score: Double?
        @Persisted var best: Person?
        @Persisted var tags: List<String>
        @Persisted var counts: Map<String, Int>
        @Persisted var any: AnyRealmValue
        @Persisted var home: Home?
        override class func _realmObjectName() -> String? { "MigratedPerson" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class Home: EmbeddedObject {
        @Persisted var street = ""
        override class func _realmObjectName() -> String? { "MigratedHome" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class Pet: Object {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MigratedPet" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class Draft: Object {
        @Persisted var text = ""
        override class func _realmObjectName() -> String? { "MigratedDraft" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    static var types: [ObjectBase.Type] { [Person.self, Home.self, Pet.self, Draft.self] }
}

/// `name` is `fullName`, `nick` is required, `age` is gone, and pets are animals.
private enum After {
    final class Person: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var fullName = ""
        @Persisted var nick = ""
        @Persisted var score: Double?
        @Persisted var best: Person?
        @Persisted var tags: List<String>
        @Persisted var counts: Map<String, Int>
        @Persisted var any: AnyRealmValue
        @Persisted var home: Home?
        override class func _realmObjectName() -> String? { "MigratedPerson" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class Home: EmbeddedObject {
        @Persisted var street = ""
        override class func _realmObjectName() -> String? { "MigratedHome" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    final class Animal: Object {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MigratedAnimal" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    static var types: [ObjectBase.Type] { [Person.self, Home.self, Animal.self] }
}

/// Names that other classes and properties had before.
private enum Reused {
    final class Card: Object {
        @Persisted var name = ""
        @Persisted var fullName = ""
        override class func _realmObjectName() -> String? { "MigratedCard" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    /// `name` is the old `fullName`.
    final class NewCard: Object {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MigratedCard" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    /// A draft is an old pet.
    final class Draft: Object {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MigratedDraft" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

@Suite("The effect of a migration")
struct MigratedClassesTests {
    /// Calls the body with a file of five people, five pets and two drafts, and with a copy of it.
    private func withFiles(_ body: (URL, URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("migrated-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let urls = ["before.realm", "after.realm"].map { folder.appendingPathComponent($0) }
        do {
            let realm = try Realm(
                configuration: .init(fileURL: urls[0], schemaVersion: 1, objectTypes: Before.types))
            try realm.write {
                var last: Before.Person?
                for id in 0..<5 {
                    let person = Before.Person(value: ["id": id, "name": "name \(id)", "age": 10 * id])
                    person.nick = id == 1 ? nil : "nick"
                    person.score = Double(id)
                    person.best = last
                    person.tags.append("a")
                    person.counts["a"] = id
                    person.any = last.map { .object($0) } ?? .int(1)
                    person.home = Before.Home(value: ["street": "street \(id)"])
                    realm.add(person)
                    last = person
                    realm.add(Before.Pet(value: ["name": "pet \(id)"]))
                }
                realm.add(Before.Draft(value: ["text": "one"]))
                realm.add(Before.Draft(value: ["text": "two"]))
            }
            try realm.backup(to: urls[1])
        }
        try body(urls[0], urls[1])
    }

    private func effect(_ before: URL, _ after: URL) throws -> [String: MigratedClass] {
        let classes = try Inspector(fileURL: before, isReadOnly: true).migratedClasses(
            in: Inspector(fileURL: after, isReadOnly: true))
        #expect(classes.map(\.name) == classes.map(\.name).sorted())
        return Dictionary(uniqueKeysWithValues: classes.map { ($0.name, $0) })
    }

    @Test("A copy has kept everything")
    func copies() throws {
        try withFiles { before, after in
            let effect = try effect(before, after)
            #expect(effect.count == 4)
            for changed in effect.values {
                #expect(changed.objectsBefore == changed.objectsAfter && changed.lostObjects == 0)
                #expect(changed.comparedObjects == changed.objectsBefore)
                #expect(changed.keptObjects == changed.objectsBefore)
                #expect(!changed.isReshaped && changed.lostValues.isEmpty && changed.renamedProperties.isEmpty)
                #expect(changed.shorterCollections.isEmpty)
            }
        }
    }

    @Test("A migration has renamed, changed and removed properties, objects and classes")
    func migrates() throws {
        try withFiles { before, after in
            let configuration = Realm.Configuration(
                fileURL: after, schemaVersion: 2,
                migrationBlock: { migration, _ in
                    migration.renameProperty(onType: "MigratedPerson", from: "name", to: "fullName")
                    migration.renameClass(from: "MigratedPet", to: "MigratedAnimal")
                    migration.deleteData(forType: "MigratedDraft")
                    migration.enumerateObjects(ofType: "MigratedPerson") { old, new in
                        guard let new, let id = old?["id"] as? Int else { return }
                        if id == 0 { new["score"] = 99.5 }
                        if id == 2 { new["nick"] = "" }
                        if id == 3 { new["best"] = nil }
                        if id == 4 { migration.delete(new) }
                    }
                }, objectTypes: After.types)
            do { _ = try Realm(configuration: configuration) }
            let effect = try effect(before, after)
            let people = try #require(effect["MigratedPerson"])
            #expect(people.objectsBefore == 5 && people.objectsAfter == 4 && people.lostObjects == 1)
            #expect(people.isReshaped && people.newName == nil)
            #expect(people.renamedProperties == ["name": "fullName"])
            // The values of the first and of the fourth one have changed. `nick` has another type.
            #expect(people.comparedObjects == 4 && people.keptObjects == 2)
            // An age of 0 and a missing nick are no values.
            #expect(people.lostValues == ["age": 3, "best": 1, "nick": 1])
            let homes = try #require(effect["MigratedHome"])
            #expect(homes.objectsAfter == 4 && homes.comparedObjects == 4 && homes.keptObjects == 4)
            #expect(!homes.isReshaped)
            let pets = try #require(effect["MigratedPet"])
            #expect(pets.newName == "MigratedAnimal" && pets.objectsAfter == 5 && pets.keptObjects == 5)
            #expect(pets.lostObjects == 0 && effect["MigratedAnimal"] == nil)
            let drafts = try #require(effect["MigratedDraft"])
            #expect(drafts.objectsAfter == nil && drafts.lostObjects == 2 && drafts.isReshaped)
        }
    }

    @Test("Objects that are replaced by as many others are lost; one that is made again with its key is compared")
    func otherObjects() throws {
        try withFiles { before, after in
            do {
                let realm = try Realm(
                    configuration: .init(fileURL: after, schemaVersion: 1, objectTypes: Before.types))
                try realm.write {
                    realm.delete(realm.objects(Before.Pet.self))
                    for id in 0..<5 { realm.add(Before.Pet(value: ["name": "pet \(id)"])) }
                    realm.delete(try #require(realm.object(ofType: Before.Person.self, forPrimaryKey: 4)))
                    realm.add(Before.Person(value: ["id": 4, "name": "name 4", "age": 40]))
                    realm.delete(try #require(realm.object(ofType: Before.Person.self, forPrimaryKey: 0)))
                    realm.add(Before.Person(value: ["id": 9]))
                    let moved = try #require(realm.object(ofType: Before.Person.self, forPrimaryKey: 1))
                    moved.home = Before.Home(value: ["street": "street 1"])
                }
            }
            let effect = try effect(before, after)
            let pets = try #require(effect["MigratedPet"])
            #expect(pets.objectsBefore == 5 && pets.objectsAfter == 5)
            #expect(pets.comparedObjects == 0 && pets.lostObjects == 5)
            let people = try #require(effect["MigratedPerson"])
            #expect(people.objectsAfter == 5 && people.comparedObjects == 4 && people.lostObjects == 1)
            #expect(people.lostValues["tags"] == 1 && people.lostValues["name"] == nil)
            let homes = try #require(effect["MigratedHome"])
            // Of the three that are there, one is in place of another.
            #expect(homes.objectsAfter == 3 && homes.comparedObjects == 2 && homes.lostObjects == 2)
        }
    }

    @Test("Objects with new primary keys are compared, even if other objects had these keys")
    func otherPrimaryKeys() throws {
        try withFiles { before, after in
            let configuration = Realm.Configuration(
                fileURL: after, schemaVersion: 2,
                migrationBlock: { migration, _ in
                    migration.enumerateObjects(ofType: "MigratedPerson") { old, new in
                        guard let new, let id = old?["id"] as? Int else { return }
                        new["id"] = (id + 4) % 5
                        if id == 2 { new["name"] = "" }
                    }
                }, objectTypes: Before.types)
            do { _ = try Realm(configuration: configuration) }
            let people = try #require(try effect(before, after)["MigratedPerson"])
            #expect(people.comparedObjects == 5 && people.keptObjects == 0 && people.lostObjects == 0)
            #expect(people.lostValues == ["id": 1, "name": 1])
        }
    }

    @Test("A property and a class whose names are given to others are lost, and the others are not")
    func reusedNames() throws {
        try withFiles { before, after in
            let folder = after.deletingLastPathComponent()
            let cards = ["cards.realm", "new-cards.realm"].map { folder.appendingPathComponent($0) }
            do {
                let realm = try Realm(
                    configuration: .init(fileURL: cards[0], schemaVersion: 1, objectTypes: [Reused.Card.self]))
                try realm.write {
                    realm.add(Reused.Card(value: ["name": "short", "fullName": "long"]))
                    realm.add(Reused.Card(value: ["name": "short", "fullName": ""]))
                }
                try realm.backup(to: cards[1])
            }
            let properties = Realm.Configuration(
                fileURL: cards[1], schemaVersion: 2,
                migrationBlock: { migration, _ in
                    migration.renameProperty(onType: "MigratedCard", from: "fullName", to: "name")
                }, objectTypes: [Reused.NewCard.self])
            do { _ = try Realm(configuration: properties) }
            let changed = try #require(try effect(cards[0], cards[1])["MigratedCard"])
            #expect(changed.renamedProperties == ["fullName": "name"] && changed.isReshaped)
            #expect(changed.lostValues == ["name": 2] && changed.keptObjects == 2)

            let classes = Realm.Configuration(
                fileURL: after, schemaVersion: 2,
                migrationBlock: { migration, _ in
                    migration.deleteData(forType: "MigratedDraft")
                    migration.renameClass(from: "MigratedPet", to: "MigratedDraft")
                }, objectTypes: [Before.Person.self, Before.Home.self, Reused.Draft.self])
            do { _ = try Realm(configuration: classes) }
            let effect = try effect(before, after)
            let pets = try #require(effect["MigratedPet"])
            #expect(pets.newName == "MigratedDraft" && pets.keptObjects == 5 && pets.lostObjects == 0)
            let drafts = try #require(effect["MigratedDraft"])
            #expect(drafts.objectsAfter == nil && drafts.lostObjects == 2)
        }
    }

    @Test("Collections with fewer elements are counted")
    func shorterCollections() throws {
        try withFiles { before, after in
            do {
                let realm = try Realm(
                    configuration: .init(fileURL: before, schemaVersion: 1, objectTypes: Before.types))
                try realm.write {
                    for person in realm.objects(Before.Person.self) where person.id < 3 {
                        person.tags.append("b")
                        if person.id == 0 { person.counts["b"] = 1 }
                    }
                }
            }
            // The copy lacks the new elements.
            let people = try #require(try effect(before, after)["MigratedPerson"])
            #expect(people.shorterCollections == ["tags": 3, "counts": 1])
            #expect(people.lostValues.isEmpty && people.keptObjects == 2)
            let longer = try #require(try effect(after, before)["MigratedPerson"])
            #expect(longer.shorterCollections.isEmpty && longer.keptObjects == 2)
        }
    }

    @Test("A new file in place of the old one has lost its classes, and an error of the caller ends the comparison")
    func replaced() throws {
        try withFiles { before, after in
            let other = after.deletingLastPathComponent().appendingPathComponent("other.realm")
            do {
                let realm = try Realm(
                    configuration: .init(fileURL: other, schemaVersion: 1, objectTypes: [After.Animal.self]))
                try realm.write { realm.add(After.Animal(value: ["name": "new"])) }
            }
            let effect = try effect(before, other)
            #expect(effect["MigratedPerson"]?.lostObjects == 5 && effect["MigratedPerson"]?.objectsAfter == nil)
            #expect(effect["MigratedPet"]?.newName == nil && effect["MigratedPet"]?.lostObjects == 5)
            #expect(effect["MigratedAnimal"]?.objectsAfter == 1)
            struct Ended: Error {}
            let (first, second) = (
                try Inspector(fileURL: before, isReadOnly: true), try Inspector(fileURL: after, isReadOnly: true)
            )
            #expect(throws: Ended.self) { try first.migratedClasses(in: second) { _ in throw Ended() } }
        }
    }
}
