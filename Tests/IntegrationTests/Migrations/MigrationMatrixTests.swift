// SPDX-License-Identifier: Apache-2.0
// Six versions of a growing model. Files of each version, migrated directly or through every version in between, have
// the same contents in the end.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The class of a note in the versions 0 to 5 of the schema; from version 4 on its name is Page.
private enum Notes {
    class V0: MigrationCase {
        @Persisted var title = ""
        override class func _realmObjectName() -> String? { "XNote" }
    }
    class V1: MigrationCase {
        @Persisted var title = ""
        @Persisted var body = ""
        @Persisted var stars = 0
        override class func _realmObjectName() -> String? { "XNote" }
    }
    class V2: MigrationCase {
        @Persisted(indexed: true) var heading = ""
        @Persisted var body = ""
        @Persisted var stars = 0
        override class func _realmObjectName() -> String? { "XNote" }
    }
    class V3: MigrationCase {
        @Persisted var heading = ""
        @Persisted var stars = ""
        @Persisted var length = 0
        override class func _realmObjectName() -> String? { "XNote" }
    }
    class V4: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var heading: String?
        @Persisted var stars = ""
        @Persisted var length = 0
        override class func _realmObjectName() -> String? { "XPage" }
    }
    class V5: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var heading: String?
        @Persisted var stars = ""
        @Persisted var length: Int?
        @Persisted var tags: List<Tag>
        override class func _realmObjectName() -> String? { "XPage" }
    }
    class Tag: MigrationPart {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "XTag" }
    }

    static let types: [[ObjectBase.Type]] = [
        [V0.self], [V1.self], [V2.self], [V3.self], [V4.self], [V5.self, Tag.self],
    ]
    static let newest = types.count - 1

    static func configuration(_ url: URL, _ version: Int) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: url, schemaVersion: UInt64(version),
            migrationBlock: { migration, old in migrate(migration, from: Int(old), to: version) },
            objectTypes: types[version])
    }

    /// The migration block of the program of version `target`.
    static func migrate(_ migration: Migration, from old: Int, to target: Int) {
        func comes(_ version: Int) -> Bool { old < version && version <= target }
        if comes(4) { migration.renameClass(from: "XNote", to: "XPage") }
        let name = target >= 4 ? "XPage" : "XNote"
        if comes(2) { migration.renameProperty(onType: name, from: "title", to: "heading") }
        if comes(3) {
            let hasStars = migration.oldSchema["XNote"]?["stars"] != nil
            migration.enumerateObjects(ofType: name) { old, new in
                let stars = hasStars ? old?["stars"] as? Int ?? 0 : 0
                new?["stars"] = String(repeating: "*", count: stars)
                new?["length"] = (new?["heading"] as? String ?? "").count
            }
        }
        var next = 0
        if comes(4) {
            migration.enumerateObjects(ofType: name) { _, new in
                next += 1
                new?["id"] = next
            }
        }
        if comes(5) {
            migration.enumerateObjects(ofType: name) { _, new in
                new?["tags"] = [["name": "of \(new?["id"] as? Int ?? 0)"]]
            }
        }
    }

    static let count = 1100

    /// Writes a file as the program of `version` would.
    static func write(_ url: URL, _ version: Int) throws {
        let realm = try Realm(configuration: configuration(url, version))
        let name = version >= 4 ? "XPage" : "XNote"
        try realm.write {
            for i in 1...count {
                var value: [String: Any] = [version < 2 ? "title" : "heading": "note \(i)"]
                if version == 1 || version == 2 {
                    value["stars"] = i % 4
                    value["body"] = String(repeating: "text ", count: i % 1000)
                }
                if version >= 3 {
                    value["stars"] = String(repeating: "*", count: i % 4)
                    value["length"] = "note \(i)".count
                }
                if version >= 4 { value["id"] = i }
                if version >= 5 { value["tags"] = [["name": "of \(i)"]] }
                realm.dynamicCreate(name, value: value)
            }
        }
    }
}

@Suite("Migrations: from each version to the newest")
struct MigrationMatrixTests {
    let folder = TestFolder()

    private func expectNewest(_ from: Int) throws {
        let realm = try Realm(configuration: Notes.configuration(folder.file(), Notes.newest))
        let pages = realm.objects(Notes.V5.self)
        #expect(pages.count == Notes.count)
        for page in pages {
            let text = "note \(page.id)"
            let stars = from == 0 ? "" : String(repeating: "*", count: page.id % 4)
            #expect(page.heading == text && page.length == text.count && page.stars == stars)
            #expect(page.tags.map(\.name) == ["of \(page.id)"])
        }
        #expect(realm.object(ofType: Notes.V5.self, forPrimaryKey: 7)?.heading == "note 7")
        #expect(Set(realm.schema.objectSchema.map(\.className)) == ["XPage", "XTag"])
    }

    @Test("A file of each version is migrated directly to the newest version", arguments: 0...5)
    func direct(_ from: Int) throws {
        try Notes.write(folder.file(), from)
        try expectNewest(from)
        #expect(try schemaVersionAtURL(folder.file()) == UInt64(Notes.newest))
        expectIntegrity(of: folder.file())
    }

    @Test("A file of each version is migrated one version at a time", arguments: 0...5)
    func stepwise(_ from: Int) throws {
        try Notes.write(folder.file(), from)
        for version in from...Notes.newest {
            _ = try Realm(configuration: Notes.configuration(folder.file(), version))
            #expect(try schemaVersionAtURL(folder.file()) == UInt64(version))
            expectIntegrity(of: folder.file())
        }
        try expectNewest(from)
        #expect(try Realm.compactFile(for: Notes.configuration(folder.file(), Notes.newest)))
        try expectNewest(from)
        expectIntegrity(of: folder.file())
    }
}
