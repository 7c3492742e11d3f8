// SPDX-License-Identifier: Apache-2.0
// Searches the files of an encrypted Realm for plaintext: during migrations, in backups, rehearsals, seeded files,
// copies and compacted files. `EncryptedChurnTests` checks each sync of the engine.

#if Encryption
    import Foundation
    import RealmSwift
    import Regnum
    import RegnumTestKit
    import Testing

    /// A class in two versions, with a property of each kind that stores user data in a separate structure.
    private enum SecretModels {
        class Old: MigrationCase, UniqueConstraints {
            @Persisted(primaryKey: true) var id = ""
            @Persisted(indexed: .fullText) var secretBody = ""
            @Persisted var named: Map<String, String>
            @Persisted(indexed: true) var mixed: AnyRealmValue
            @Persisted var alone = ""
            @Persisted var set: MutableSet<String>
            override class func _realmObjectName() -> String? { "SecretClass" }
            class var uniqueConstraints: [[String]] { [["alone"]] }
        }
        class New: MigrationCase, UniqueConstraints {
            @Persisted(primaryKey: true) var id = ""
            @Persisted(indexed: .fullText) var secretBody = ""
            @Persisted var named: Map<String, String>
            @Persisted(indexed: true) var mixed: AnyRealmValue
            @Persisted var alone = ""
            @Persisted var set: MutableSet<String>
            @Persisted(indexed: true) var added = ""
            override class func _realmObjectName() -> String? { "SecretClass" }
            class var uniqueConstraints: [[String]] { [["alone"]] }
        }
    }

    @Suite("Plaintext") struct PlaintextTests {
        private static let words = [
            "Hauptwert", "Volltext", "volltext", "Schluessel", "Beliebig", "Einzig", "Menge", "Zugefuegt",
            "SecretClass", "secretBody",
        ]

        /// The files of a folder that were searched, and the words found in them.
        private final class Search: @unchecked Sendable {
            // Sendable: the migration block runs on the thread that opens the Realm.
            var names: Set<String> = []
            var found: [String: Set<String>] = [:]

            func look(in folder: TestFolder) {
                for name in folder.names {
                    guard let bytes = try? Data(contentsOf: folder.file(name)) else { continue }
                    names.insert(name)
                    for word in PlaintextTests.words where bytes.range(of: Data(word.utf8)) != nil {
                        found[word, default: []].insert(name)
                    }
                }
            }
        }

        private func configuration(
            _ folder: TestFolder, _ key: Data?, _ name: String = "a.realm", types: [ObjectBase.Type]
        ) -> Realm.Configuration {
            Realm.Configuration(fileURL: folder.file(name), encryptionKey: key, objectTypes: types)
        }

        private func make(_ folder: TestFolder, _ key: Data?) throws {
            let realm = try Realm(configuration: configuration(folder, key, types: [SecretModels.Old.self]))
            try realm.write {
                for i in 0..<400 {
                    let row = realm.create(
                        SecretModels.Old.self, value: ["id": "Hauptwert \(i)", "alone": "Einzig \(i)"])
                    row.secretBody = "Volltext im Archiv \(i)"
                    row.named["Schluessel \(i % 7)"] = "x"
                    row.mixed = .string("Beliebig \(i)")
                    row.set.insert("Menge \(i)")
                }
            }
        }

        /// Makes every kind of file from a file; `search` searches the folder during each migration and after each
        /// step.
        private func use(_ folder: TestFolder, _ key: Data?, _ search: Search) throws {
            let types: [ObjectBase.Type] = [SecretModels.New.self]
            var migrating = configuration(folder, key, types: types)
            migrating.schemaVersion = 1
            migrating.migrationBlock = { migration, _ in
                migration.enumerateObjects(ofType: "SecretClass") { _, new in new?["added"] = "Zugefuegt" }
                search.look(in: folder)
            }
            #expect(try Realm.rehearseMigration(for: migrating).error == nil)
            search.look(in: folder)
            migrating.backsUpBeforeMigration = true
            try {
                let realm = try Realm(configuration: migrating)
                search.look(in: folder)
                try realm.writeCopy(toFile: folder.file("c.realm"), encryptionKey: key)
            }()
            var seeded = configuration(folder, key, "b.realm", types: types)
            seeded.schemaVersion = 1
            seeded.seedFilePath = folder.file("a.realm")
            #expect(try Realm(configuration: seeded).objects(SecretModels.New.self).count == 400)
            search.look(in: folder)
            #expect(try Realm.compactFile(for: migrating))
            search.look(in: folder)
            for name in ["a.realm", "a.realm.before-migration", "b.realm", "c.realm"] {
                #expect(search.names.contains(name))
                expectIntegrity(of: configuration(folder, key, name, types: types))
            }
            #expect(search.names.contains { $0.hasPrefix("a.realm.rehearsal.") && $0.hasSuffix(".tmp.realm") })
        }

        @Test(
            "Files made from an encrypted file contain no plaintext, and those of an unencrypted file do",
            arguments: [true, false])
        func everywhere(isEncrypted: Bool) throws {
            let folder = TestFolder()
            let key = isEncrypted ? Data(repeating: 1, count: 64) : nil
            let search = Search()
            try make(folder, key)
            try use(folder, key, search)
            if isEncrypted {
                #expect(search.found.isEmpty, "\(search.found)")
            } else {
                #expect(Set(search.found.keys) == Set(Self.words))
                #expect(search.found["Einzig"]?.contains("a.realm.before-migration") == true)
            }
        }
    }
#endif
