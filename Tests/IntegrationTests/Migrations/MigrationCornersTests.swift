// SPDX-License-Identifier: Apache-2.0
// Migrations in rare situations: names that are taken, keys that were null, several owners or none, subsets of the
// classes, seeds of older versions. No value may be lost, and no migration may be half done.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// Version 0.
private enum CornersBefore {
    class Thing: MigrationCase {
        @Persisted(primaryKey: true) var key: String?
        @Persisted var first: String?
        @Persisted var second: String?
        @Persisted var number = 0
        @Persisted var numbers: MutableSet<Int?>
        @Persisted var any: AnyRealmValue
        @Persisted var part: Part?
        @Persisted var parts: List<Part>
        override class func _realmObjectName() -> String? { "KThing" }
    }
    class Part: MigrationCase {
        @Persisted var name = ""
        @Persisted var inner: Part?
        override class func _realmObjectName() -> String? { "KPart" }
    }
    class Aside: MigrationCase {
        @Persisted var value = 0
        @Persisted var thing: Thing?
        override class func _realmObjectName() -> String? { "KAside" }
    }
    static let types: [ObjectBase.Type] = [Thing.self, Part.self, Aside.self]
}

/// The key may no longer be null.
private enum CornersRequired {
    class Thing: MigrationCase {
        @Persisted(primaryKey: true) var key = ""
        @Persisted var first: String?
        @Persisted var second: String?
        @Persisted var number = 0
        @Persisted var numbers: MutableSet<Int>
        @Persisted var any: AnyRealmValue
        @Persisted var part: CornersBefore.Part?
        @Persisted var parts: List<CornersBefore.Part>
        override class func _realmObjectName() -> String? { "KThing" }
    }
    static let types: [ObjectBase.Type] = [Thing.self, CornersBefore.Part.self]
}

/// The number is the key.
private enum CornersNumbered {
    class Thing: MigrationCase {
        @Persisted var key: String?
        @Persisted var second: String?
        @Persisted(primaryKey: true) var number = 0
        @Persisted var numbers: MutableSet<Int?>
        @Persisted var any: AnyRealmValue
        @Persisted var part: CornersBefore.Part?
        @Persisted var parts: List<CornersBefore.Part>
        override class func _realmObjectName() -> String? { "KThing" }
    }
    static let types: [ObjectBase.Type] = [Thing.self, CornersBefore.Part.self]
}

/// Parts are embedded.
private enum CornersEmbedded {
    class Thing: MigrationCase {
        @Persisted(primaryKey: true) var key: String?
        @Persisted var first: String?
        @Persisted var second: String?
        @Persisted var number = 0
        @Persisted var numbers: MutableSet<Int?>
        @Persisted var any: AnyRealmValue
        @Persisted var part: Part?
        @Persisted var parts: List<Part>
        override class func _realmObjectName() -> String? { "KThing" }
    }
    class Part: MigrationPart {
        @Persisted var name = ""
        @Persisted var inner: Part?
        override class func _realmObjectName() -> String? { "KPart" }
    }
    static let types: [ObjectBase.Type] = [Thing.self, Part.self]
}

@Suite("Migrations: rare situations")
struct MigrationCornersTests {
    let folder = TestFolder()

    private func configuration(
        _ types: [ObjectBase.Type], _ version: UInt64 = 1, _ block: MigrationBlock? = nil
    ) -> Realm.Configuration {
        .init(fileURL: folder.file(), schemaVersion: version, migrationBlock: block, objectTypes: types)
    }

    private func make(_ fill: (Realm) throws -> Void) throws {
        let realm = try Realm(configuration: configuration(CornersBefore.types, 0))
        try realm.write { try fill(realm) }
    }

    private func refuses(_ words: String, _ configuration: Realm.Configuration) throws {
        let before = try Data(contentsOf: folder.file())
        let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: configuration) }
        #expect(error?.localizedDescription.contains(words) == true, "\(error?.localizedDescription ?? "")")
        #expect(try Data(contentsOf: folder.file()) == before)
        expectIntegrity(of: folder.file())
    }

    @Test("A null key becomes the default, and is refused if another object has that key", arguments: [false, true])
    func nullKeys(isTaken: Bool) throws {
        try make { realm in
            realm.create(CornersBefore.Thing.self, value: ["number": 1, "numbers": [nil, 0, 5]] as [String: Any?])
            realm.create(CornersBefore.Thing.self, value: ["key": isTaken ? "" : "x", "number": 2])
        }
        if isTaken {
            try refuses(
                "Primary key property 'KThing.key' has duplicate values after migration.",
                configuration(CornersRequired.types))
            try refuses(
                "Primary key property 'KThing.key' has duplicate values after migration.",
                configuration(CornersRequired.types, 1) { _, _ in })
        }
        let realm = try Realm(
            configuration: configuration(CornersRequired.types) { migration, _ in
                guard isTaken else { return }
                migration.enumerateObjects(ofType: "KThing") { old, new in
                    if old?["key"] as? String == nil { new?["key"] = "was null" }
                }
            })
        #expect(realm.object(ofType: CornersRequired.Thing.self, forPrimaryKey: isTaken ? "was null" : "")?.number == 1)
        #expect(realm.objects(CornersRequired.Thing.self).count == 2)
        #expect(realm.objects(CornersRequired.Thing.self).filter("number == 1").first?.numbers.sorted() == [0, 5])
        expectIntegrity(of: folder.file())
    }

    @Test("Duplicate values of a new primary key are refused unless the block changes them")
    func anotherKey() throws {
        try make { realm in
            for (key, number) in [("a", 1), ("b", 1), ("c", 2)] {
                realm.create(CornersBefore.Thing.self, value: ["key": key, "number": number, "first": "f"])
            }
        }
        let words = "Primary key property 'KThing.number' has duplicate values after migration."
        try refuses(words, configuration(CornersNumbered.types))
        try refuses(
            words,
            configuration(CornersNumbered.types) { migration, _ in
                migration.enumerateObjects(ofType: "KThing") { _, new in new?["number"] = 7 }
            })
        // There are duplicates only while the block runs.
        let realm = try Realm(
            configuration: configuration(CornersNumbered.types) { migration, _ in
                migration.enumerateObjects(ofType: "KThing") { _, new in new?["number"] = 7 }
                var next = 0
                migration.enumerateObjects(ofType: "KThing") { _, new in
                    next += 1
                    new?["number"] = next
                }
                migration.create("KThing", value: ["number": 9])
            })
        #expect(realm.objects(CornersNumbered.Thing.self).map(\.number).sorted() == [1, 2, 3, 9])
        #expect(realm.object(ofType: CornersNumbered.Thing.self, forPrimaryKey: 3)?.key == "c")
        expectIntegrity(of: folder.file())
    }

    @Test("Renaming a property to an existing one replaces that property's values")
    func takenName() throws {
        try make { realm in
            for i in 0..<3 {
                realm.create(CornersBefore.Thing.self, value: ["key": "\(i)", "first": "f\(i)", "second": "s\(i)"])
            }
        }
        let realm = try Realm(
            configuration: configuration(CornersNumbered.types) { migration, _ in
                migration.renameProperty(onType: "KThing", from: "first", to: "second")
                var next = 0
                migration.enumerateObjects(ofType: "KThing") { old, new in
                    #expect(new?["second"] as? String == old?["first"] as? String)
                    next += 1
                    new?["number"] = next
                }
            })
        #expect(realm.objects(CornersNumbered.Thing.self).map(\.second) == ["f0", "f1", "f2"])
        expectIntegrity(of: folder.file())
    }

    @Test("Parts become embedded, whether they have several owners, one owner, or none")
    func owners() throws {
        try make { realm in
            let inner = realm.create(CornersBefore.Part.self, value: ["name": "inner"])
            let shared = realm.create(CornersBefore.Part.self, value: ["name": "shared", "inner": inner])
            let twice = realm.create(CornersBefore.Part.self, value: ["name": "twice"])
            realm.create(CornersBefore.Part.self, value: ["name": "lost", "inner": inner])
            realm.create(CornersBefore.Thing.self, value: ["key": "a", "part": shared, "parts": [twice, twice]])
            realm.create(CornersBefore.Thing.self, value: ["key": "b", "part": shared])
            realm.create(CornersBefore.Aside.self, value: ["value": 1])
        }
        do {
            let realm = try Realm(configuration: configuration(CornersEmbedded.types))
            let a = try #require(realm.object(ofType: CornersEmbedded.Thing.self, forPrimaryKey: "a"))
            let b = try #require(realm.object(ofType: CornersEmbedded.Thing.self, forPrimaryKey: "b"))
            #expect(a.part?.inner?.name == "inner" && b.part?.inner?.name == "inner")
            #expect(a.part != b.part && a.parts.map(\.name) == ["twice", "twice"] && a.parts[0] != a.parts[1])
            #expect(realm.dynamicObjects("KPart").filter("name == 'lost'").isEmpty)
            try realm.write { realm.delete(b) }
            #expect(a.part?.inner?.name == "inner" && realm.dynamicObjects("KPart").count == 4)
            #expect(realm.dynamicObjects("KAside").count == 1)
        }
        expectIntegrity(of: folder.file())
    }

    @Test("Parts that link to each other in a cycle are embedded or refused")
    func ring() throws {
        try make { realm in
            let one = realm.create(CornersBefore.Part.self, value: ["name": "one"])
            let two = realm.create(CornersBefore.Part.self, value: ["name": "two", "inner": one])
            one.inner = two
            realm.create(CornersBefore.Thing.self, value: ["key": "a", "part": one])
        }
        let before = try Data(contentsOf: folder.file())
        do {
            let realm = try Realm(configuration: configuration(CornersEmbedded.types))
            #expect(realm.objects(CornersEmbedded.Thing.self).count == 1)
        } catch {
            #expect(try Data(contentsOf: folder.file()) == before, "\(error)")
        }
        expectIntegrity(of: folder.file())
    }

    @Test("Migrating a subset of the classes leaves the other classes unchanged")
    func subset() throws {
        try make { realm in
            let thing = realm.create(CornersBefore.Thing.self, value: ["key": "a", "number": 4, "any": 5])
            realm.create(CornersBefore.Aside.self, value: ["value": 3, "thing": thing])
        }
        do {
            let realm = try Realm(
                configuration: configuration(CornersNumbered.types) { migration, _ in
                    #expect(migration.oldSchema["KAside"] != nil && migration.newSchema["KAside"] == nil)
                    var seen = 0
                    migration.enumerateObjects(ofType: "KAside") { old, new in
                        seen += 1
                        #expect(old?["value"] as? Int == 3 && new == nil)
                        #expect((old?["thing"] as? DynamicObject)?["number"] as? Int == 4)
                    }
                    #expect(seen == 1)
                })
            #expect(realm.objects(CornersNumbered.Thing.self).first?.number == 4)
            #expect((realm.dynamicObjects("KAside").first?["thing"] as? DynamicObject)?["number"] as? Int == 4)
        }
        // The class that was left out has the new version too, and its declaration is unchanged.
        class Aside: MigrationCase {
            @Persisted var value = 0
            @Persisted var thing: CornersNumbered.Thing?
            override class func _realmObjectName() -> String? { "KAside" }
        }
        let all = try Realm(configuration: configuration(CornersNumbered.types + [Aside.self]))
        #expect(all.objects(Aside.self).first?.thing?.number == 4)
        expectIntegrity(of: folder.file())
    }

    @Test("The block may delete and create objects in nested enumerations")
    func nestedLoops() throws {
        try make { realm in
            for i in 0..<6 { realm.create(CornersBefore.Thing.self, value: ["key": "\(i)", "number": i]) }
        }
        let realm = try Realm(
            configuration: configuration(CornersNumbered.types) { migration, _ in
                var visited: [Int] = []
                migration.enumerateObjects(ofType: "KThing") { old, new in
                    guard let number = old?["number"] as? Int else { return }
                    visited.append(number)
                    if number == 1 {
                        migration.enumerateObjects(ofType: "KThing") { old, new in
                            if (old?["number"] as? Int ?? 0) % 2 == 0, let new { migration.delete(new) }
                        }
                        migration.create("KThing", value: ["number": 100, "key": "again"])
                    }
                    if number == 5, let new {
                        migration.delete(new)
                        migration.create("KThing", value: ["number": 5, "key": "new"])
                    }
                }
                #expect(visited == [0, 1, 3, 5])
            })
        #expect(realm.objects(CornersNumbered.Thing.self).map(\.number).sorted() == [1, 3, 5, 100])
        #expect(realm.object(ofType: CornersNumbered.Thing.self, forPrimaryKey: 5)?.key == "new")
        expectIntegrity(of: folder.file())
    }

    @Test("deleteRealmIfMigrationNeeded deletes a file that is closed, and throws for an open one")
    func deleting() throws {
        try make { realm in realm.create(CornersBefore.Thing.self, value: ["key": "a"]) }
        var configuration = configuration(CornersNumbered.types)
        configuration.deleteRealmIfMigrationNeeded = true
        do {
            let open = try Realm(configuration: self.configuration(CornersBefore.types, 0))
            var same = configuration
            same.schemaVersion = 0
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: same) }
            #expect(error?.code == .alreadyOpen)
            let wanted = configuration
            let words = try misuseText { _ = try Realm(configuration: wanted) }
            #expect(words?.contains("already opened with different schema version") == true, "\(words ?? "")")
            open.refresh()
            #expect(open.objects(CornersBefore.Thing.self).count == 1)
        }
        let realm = try Realm(configuration: configuration)
        #expect(realm.isEmpty && realm.schema["KAside"] == nil)
        expectIntegrity(of: folder.file())
    }

    @Test("A read-only Realm refuses a file with other classes, and opens a migrated copy")
    func readOnly() throws {
        try make { realm in realm.create(CornersBefore.Thing.self, value: ["key": "a", "number": 3]) }
        var reading = configuration(CornersNumbered.types, 0)
        reading.readOnly = true
        let before = try Data(contentsOf: folder.file())
        #expect(throws: Realm.Error.self) { _ = try Realm(configuration: reading) }
        #expect(try Data(contentsOf: folder.file()) == before)
        var seeded = configuration(CornersNumbered.types, 3)
        seeded.fileURL = folder.file("copy.realm")
        seeded.seedFilePath = folder.file()
        #expect(try Realm(configuration: seeded).objects(CornersNumbered.Thing.self).first?.number == 3)
        #expect(try Data(contentsOf: folder.file()) == before && schemaVersionAtURL(folder.file("copy.realm")) == 3)
    }

    @Test("An in-memory Realm that is open on another thread is not migrated")
    func memory() throws {
        let identifier = UUID().uuidString
        let old = try Realm(configuration: .init(inMemoryIdentifier: identifier, objectTypes: CornersBefore.types))
        try old.write { old.create(CornersBefore.Thing.self, value: ["key": "a", "number": 3]) }
        let wanted = Realm.Configuration(
            inMemoryIdentifier: identifier, schemaVersion: 1, migrationBlock: { _, _ in },
            objectTypes: CornersNumbered.types)
        let words = try misuseText { _ = try Realm(configuration: wanted) }
        #expect(words?.contains("already opened with different schema version") == true, "\(words ?? "")")
        #expect(old.objects(CornersBefore.Thing.self).first?.number == 3)
    }
}
