// SPDX-License-Identifier: Apache-2.0
// A programmer error in a migration that a test catches: the file is unchanged, and opens again in the same process.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

class MisuseRowBefore: MigrationCase {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    override class func _realmObjectName() -> String? { "MisuseRow" }
}

class MisuseRowAfter: MigrationCase {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var title = ""
    override class func _realmObjectName() -> String? { "MisuseRow" }
}

/// The programmer error of the migration block.
enum MigrationMisuse: String, CaseIterable, Sendable {
    case unknownProperty, unknownClass, ownFile, withinEnumeration

    func run(_ migration: Migration, _ configuration: Realm.Configuration) throws {
        switch self {
        case .unknownProperty:
            migration.enumerateObjects(ofType: "MisuseRow") { old, _ in _ = old?["nothing"] }
        case .unknownClass: _ = migration.create("Nothing", value: [:] as [String: Any])
        case .ownFile: _ = try Realm(configuration: configuration)
        case .withinEnumeration:
            migration.enumerateObjects(ofType: "MisuseRow") { _, new in
                new?["title"] = "x"
                new?["id"] = "no number"
            }
        }
    }
}

@Suite struct MisuseInMigrationsTests {
    @Test(
        "After a programmer error in its migration the file is unchanged, and can be opened and migrated",
        arguments: MigrationMisuse.allCases)
    func again(_ misuse: MigrationMisuse) throws {
        let folder = TestFolder()
        let old = Realm.Configuration(fileURL: folder.file(), objectTypes: [MisuseRowBefore.self])
        try autoreleasepool {
            let realm = try Realm(configuration: old)
            try realm.write { _ = realm.create(MisuseRowBefore.self, value: ["id": 1, "name": "a"]) }
        }
        var wrong = old
        wrong.objectTypes = [MisuseRowAfter.self]
        wrong.schemaVersion = 1
        let plain = wrong
        wrong.migrationBlock = { migration, _ in try? misuse.run(migration, plain) }
        for _ in 0..<3 {
            let words = try misuseText { [wrong] in _ = try Realm(configuration: wrong) }
            #expect(words != nil)
        }
        // Unchanged: no effect of the migration has stayed.
        try autoreleasepool {
            let realm = try Realm(configuration: old)
            #expect(realm.objects(MisuseRowBefore.self).map(\.name) == ["a"] && realm.configuration.schemaVersion == 0)
            try realm.write { _ = realm.create(MisuseRowBefore.self, value: ["id": 2, "name": "b"]) }
        }
        var right = wrong
        right.migrationBlock = { migration, _ in
            migration.renameProperty(onType: "MisuseRow", from: "name", to: "title")
        }
        #expect(try Realm(configuration: right).objects(MisuseRowAfter.self).map(\.title).sorted() == ["a", "b"])
        expectIntegrity(of: folder.file())
    }
}
