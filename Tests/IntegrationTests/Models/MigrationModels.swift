// SPDX-License-Identifier: Apache-2.0
// Classes of several versions of a program, for the tests of migrations. All versions of a class have the same name
// in the file; `objectTypes` selects the version.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// Not in the default schema, because several of these classes share a name.
class MigrationCase: Object {
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class MigrationPart: EmbeddedObject {
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The first version of people and their dogs.
enum Oldest {
    class Person: MigrationCase {
        @Persisted var first = ""
        @Persisted var last = ""
        @Persisted var age = 0
        @Persisted(indexed: true) var city: String?
        @Persisted var notes: List<String?>
        @Persisted var dogs: List<Dog>
        @Persisted var favourite: Dog?
        override class func _realmObjectName() -> String? { "MPerson" }
    }
    class Dog: MigrationCase {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MDog" }
    }
    static let types: [ObjectBase.Type] = [Person.self, Dog.self]
}

/// Names are joined, ages are optional, dogs have keys.
enum Second {
    class Person: MigrationCase {
        @Persisted var fullName = ""
        @Persisted var age: Int?
        @Persisted var city: String = ""
        @Persisted var notes: List<String>
        @Persisted var dogs: List<Dog>
        @Persisted var favourite: Dog?
        @Persisted var score = 1.5
        @Persisted var seen: Date?
        @Persisted var identifier: UUID
        override class func _realmObjectName() -> String? { "MPerson" }
    }
    class Dog: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: true) var name = ""
        override class func _realmObjectName() -> String? { "MDog" }
    }
    static let types: [ObjectBase.Type] = [Person.self, Dog.self]
}

/// Properties have other names.
enum Renamed {
    class Person: MigrationCase {
        @Persisted(indexed: true) var given = ""
        @Persisted var last: String?
        @Persisted var years: Int?
        @Persisted var town: String?
        @Persisted var remarks: List<String?>
        @Persisted var pets: List<Dog>
        @Persisted var best: Dog?
        override class func _realmObjectName() -> String? { "MPerson" }
    }
    class Dog: MigrationCase {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MDog" }
    }
    static let types: [ObjectBase.Type] = [Person.self, Dog.self]
}

/// Dogs are embedded in people.
enum Embedding2 {
    class Person: MigrationCase {
        @Persisted var first = ""
        @Persisted var last = ""
        @Persisted var age = 0
        @Persisted var city: String?
        @Persisted var notes: List<String?>
        @Persisted var dogs: List<Dog>
        @Persisted var favourite: Dog?
        override class func _realmObjectName() -> String? { "MPerson" }
    }
    class Dog: MigrationPart {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "MDog" }
    }
    static let types: [ObjectBase.Type] = [Person.self, Dog.self]
}

/// Dogs are renamed to pets.
enum Pets {
    class Person: MigrationCase {
        @Persisted var first = ""
        @Persisted var last = ""
        @Persisted var age = 0
        @Persisted(indexed: true) var city: String?
        @Persisted var notes: List<String?>
        @Persisted var dogs: List<Pet>
        @Persisted var favourite: Pet?
        override class func _realmObjectName() -> String? { "MPerson" }
    }
    class Pet: MigrationCase {
        @Persisted var name = ""
        @Persisted var kind = "pet"
        override class func _realmObjectName() -> String? { "MPet" }
    }
    static let types: [ObjectBase.Type] = [Person.self, Pet.self]
}

/// A counter for any thread.
final class Counter: Sendable {
    private let lock = NSLock()
    nonisolated(unsafe) private var count = 0  // unsafe: guarded by the lock
    func add() { lock.withLock { count += 1 } }
    var value: Int { lock.withLock { count } }
}

/// A file of the oldest version, with `count` people and a third as many dogs.
struct MigrationFile {
    let folder = TestFolder()
    var url: URL { folder.file() }

    init(people count: Int = 5) throws {
        let realm = try Realm(configuration: .init(fileURL: folder.file(), objectTypes: Oldest.types))
        try realm.write {
            var dogs: [Oldest.Dog] = []
            for i in 0..<max(count / 3, 2) { dogs.append(realm.create(Oldest.Dog.self, value: ["name": "dog \(i)"])) }
            for i in 0..<count {
                let person = realm.create(
                    Oldest.Person.self,
                    value: [
                        "first": "first \(i)", "last": i == 1 ? String(repeating: "long ", count: 2000) : "last \(i)",
                        "age": i,
                    ])
                if i % 2 == 0 { person.city = "city \(i % 10)" }
                person.notes.append(objectsIn: ["a", nil, "b\(i)"])
                person.dogs.append(dogs[i % dogs.count])
                person.dogs.append(dogs[(i + 1) % dogs.count])
                if i % 3 == 0 { person.favourite = dogs[0] }
            }
        }
    }

    func configuration(
        _ types: [ObjectBase.Type], version: UInt64 = 1, _ block: MigrationBlock? = nil
    ) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, schemaVersion: version, migrationBlock: block, objectTypes: types)
    }

    func open(_ types: [ObjectBase.Type], version: UInt64 = 1, _ block: MigrationBlock? = nil) throws -> Realm {
        try Realm(configuration: configuration(types, version: version, block))
    }

    var bytes: Data { get throws { try Data(contentsOf: url) } }

    /// Expects that opening fails with this message, and that the file is unchanged bit for bit.
    func refuses(
        _ words: String, _ types: [ObjectBase.Type], version: UInt64 = 1,
        sourceLocation: SourceLocation = #_sourceLocation, _ block: MigrationBlock? = nil
    ) throws {
        let before = try bytes
        let error = #expect(throws: Realm.Error.self, sourceLocation: sourceLocation) {
            _ = try open(types, version: version, block)
        }
        let said = error?.localizedDescription ?? ""
        #expect(said.contains(words), "\(said)", sourceLocation: sourceLocation)
        #expect(try bytes == before, sourceLocation: sourceLocation)
        #expect(try schemaVersionAtURL(url) == 0, sourceLocation: sourceLocation)
        expectIntegrity(of: url, sourceLocation: sourceLocation)
    }
}
