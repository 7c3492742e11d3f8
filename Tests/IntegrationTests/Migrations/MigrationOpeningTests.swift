// SPDX-License-Identifier: Apache-2.0
// When migrations run: versions, failures, concurrent openings, in-memory Realms, seeds, deletions.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Migrations: opening")
struct MigrationOpeningTests {
    @Test("The block runs once, and only for a file of an older version")
    func once() throws {
        let folder = TestFolder()
        let calls = Counter()
        func open(_ version: UInt64) throws {
            _ = try Realm(
                configuration: .init(
                    fileURL: folder.file(), schemaVersion: version, migrationBlock: { _, _ in calls.add() },
                    objectTypes: Oldest.types))
        }
        try open(2)
        #expect(calls.value == 0, "a new file")
        try open(2)
        #expect(calls.value == 0, "the same version")
        try open(5)
        #expect(calls.value == 1)
        try open(5)
        #expect(calls.value == 1)
        let error = #expect(throws: Realm.Error.self) { try open(3) }
        #expect(error?.code == .fail)
        #expect(
            error?.localizedDescription.hasPrefix("Provided schema version 3 is less than last set version 5.") == true)
    }

    @Test("Threads that open a file at the same time migrate it once")
    func threads() throws {
        let file = try MigrationFile(people: 50)
        let calls = Counter()
        let done = DispatchGroup()
        for _ in 0..<4 {
            let url = file.url
            DispatchQueue.global().async(group: done) {
                var configuration = Realm.Configuration(
                    fileURL: url, schemaVersion: 1,
                    migrationBlock: { migration, _ in
                        calls.add()
                        migration.renameProperty(onType: "MPerson", from: "first", to: "given")
                    }, objectTypes: Renamed.types)
                // The threads wait for each other, on a busy machine longer than an opening does by default.
                configuration.busyTimeout = 14_400
                let realm = try? Realm(configuration: configuration)
                #expect(realm?.objects(Renamed.Person.self).filter("given == 'first 7'").count == 1)
            }
        }
        done.wait()
        #expect(calls.value == 1)
    }

    @Test("A block that aborts leaves the file unchanged, and opening throws its error")
    func abort() throws {
        struct Stop: Error {}
        let file = try MigrationFile(people: 2000)
        let before = try file.bytes
        #expect(throws: Stop.self) {
            _ = try file.open(Renamed.types) { migration, _ in
                migration.renameProperty(onType: "MPerson", from: "first", to: "given")
                migration.deleteData(forType: "MDog")
                migration.abort(Stop())
            }
        }
        #expect(try file.bytes == before)
        let realm = try file.open(Oldest.types, version: 0)
        #expect(realm.objects(Oldest.Person.self).count == 2000 && realm.objects(Oldest.Dog.self).count == 666)
        expectIntegrity(of: file.url)
    }

    @Test("A process that dies in its block leaves the file unchanged")
    func crash() async throws {
        let file = try MigrationFile(people: 100)
        let before = try file.bytes
        let path = file.url.path
        await #expect(processExitsWith: .failure) { [path = path as String] in
            _ = try Realm(
                configuration: .init(
                    fileURL: URL(fileURLWithPath: path), schemaVersion: 1,
                    migrationBlock: { migration, _ in
                        migration.enumerateObjects(ofType: "MPerson") { _, new in new?["given"] = "lost" }
                        fatalError("the end")
                    }, objectTypes: Renamed.types))
        }
        #expect(try file.bytes == before)
        #expect(try schemaVersionAtURL(file.url) == 0)
        expectIntegrity(of: file.url)
    }

    @Test("Indexes are added and removed without a new schema version")
    func indexes() throws {
        class Indexed: MigrationCase {
            @Persisted(indexed: true) var first = ""
            @Persisted var last = ""
            @Persisted(indexed: true) var age = 0
            @Persisted var city: String?
            @Persisted var notes: List<String?>
            @Persisted var dogs: List<Oldest.Dog>
            @Persisted var favourite: Oldest.Dog?
            override class func _realmObjectName() -> String? { "MPerson" }
        }
        let file = try MigrationFile(people: 1200)
        do {
            let realm = try file.open([Indexed.self, Oldest.Dog.self], version: 0)
            #expect(realm.objects(Indexed.self).filter("first == 'first 77'").first?.age == 77)
            #expect(realm.objects(Indexed.self).filter("age == 78").first?.first == "first 78")
        }
        expectIntegrity(of: file.url)
        do {
            let realm = try file.open(Oldest.types, version: 0)
            #expect(realm.objects(Oldest.Person.self).filter("city == 'city 4'").count == 120)
        }
        expectIntegrity(of: file.url)
    }

    @Test("deleteRealmIfMigrationNeeded deletes a file only if its schema or version differs")
    func deleteIfNeeded() throws {
        let file = try MigrationFile()
        func open(_ types: [ObjectBase.Type], _ version: UInt64) throws -> Realm {
            var configuration = file.configuration(types, version: version) { _, _ in
                Issue.record("the block is never called")
            }
            configuration.deleteRealmIfMigrationNeeded = true
            return try Realm(configuration: configuration)
        }
        #expect(try open(Oldest.types, 0).objects(Oldest.Person.self).count == 5)
        try {
            let realm = try open(Renamed.types, 0)
            #expect(realm.isEmpty)
            try realm.write { realm.create(Renamed.Person.self, value: ["given": "x"]) }
        }()
        #expect(try open(Renamed.types, 0).objects(Renamed.Person.self).count == 1)
        #expect(try open(Renamed.types, 1).isEmpty, "another version")
        #expect(try open(Renamed.types, 0).isEmpty, "a lower version")
        expectIntegrity(of: file.url)
    }

    @Test("The seed is copied if there is no file, and the copy is migrated")
    func seed() throws {
        let seed = try MigrationFile()
        let folder = TestFolder()
        var configuration = Realm.Configuration(
            fileURL: folder.file(), schemaVersion: 1,
            migrationBlock: { migration, _ in
                migration.renameProperty(onType: "MPerson", from: "first", to: "given")
            }, objectTypes: Renamed.types, seedFilePath: seed.url)
        try {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Renamed.Person.self)[4].given == "first 4")
            try realm.write { realm.deleteAll() }
        }()
        #expect(try Realm(configuration: configuration).isEmpty, "the seed must not be copied again")
        #expect(try schemaVersionAtURL(seed.url) == 0)
        configuration.fileURL = folder.file("b.realm")
        configuration.seedFilePath = folder.file("missing.realm")
        let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        #expect(error?.code == .fileNotFound)
    }

    @Test("An in-memory Realm is migrated while only frozen objects keep its data, and is refused while one is open")
    func memory() throws {
        let calls = Counter()
        let name = UUID().uuidString
        func configuration(_ types: [ObjectBase.Type], _ version: UInt64) -> Realm.Configuration {
            Realm.Configuration(
                inMemoryIdentifier: name, schemaVersion: version,
                migrationBlock: { migration, _ in
                    calls.add()
                    migration.renameProperty(onType: "MDog", from: "name", to: "title")
                }, objectTypes: types)
        }
        class Titled: MigrationCase {
            @Persisted var title = ""
            override class func _realmObjectName() -> String? { "MDog" }
        }
        var frozen: Results<Oldest.Dog>?
        try {
            let realm = try Realm(configuration: configuration([Oldest.Dog.self], 0))
            try realm.write { realm.create(Oldest.Dog.self, value: ["name": "Rex"]) }
            frozen = realm.objects(Oldest.Dog.self).freeze()
            let words = try catchMisuse { _ = try Realm(configuration: configuration([Titled.self], 1)) }
            #expect(words?.contains("already opened with different schema version") == true)
        }()
        try {
            let realm = try Realm(configuration: configuration([Titled.self], 1))
            #expect(realm.objects(Titled.self).map(\.title) == ["Rex"] && calls.value == 1)
            #expect(frozen?.map(\.name) == ["Rex"], "frozen objects must not change")
            expectIntegrity(of: realm.configuration)
        }()
        frozen = nil
        #expect(
            try Realm(configuration: configuration([Titled.self], 2)).isEmpty,
            "the data must be gone with its last object")
        #expect(calls.value == 1)
    }

    @Test("Old objects have column names, new objects property names")
    func columnNames() throws {
        class Mapped: MigrationCase {
            @Persisted var given = ""
            @Persisted var years = 0
            override class func _realmObjectName() -> String? { "MPerson" }
            override class func propertiesMapping() -> [String: String] { ["given": "first", "years": "first_years"] }
        }
        let file = try MigrationFile()
        let realm = try file.open([Mapped.self]) { migration, _ in
            migration.renameProperty(onType: "MPerson", from: "age", to: "years")
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                #expect(old?["first"] as? String == new?["given"] as? String)
                #expect(old?["age"] as? Int == new?["years"] as? Int)
            }
        }
        #expect(realm.objects(Mapped.self).filter("years == 3").first?.given == "first 3")
        expectIntegrity(of: file.url)
    }

    @Test("Reading a file's schema version does not open the file for writing")
    func version() throws {
        let file = try MigrationFile()
        #expect(try schemaVersionAtURL(file.url) == 0)
        try Realm.performMigration(for: file.configuration(Renamed.types, version: 9) { _, _ in })
        #expect(try schemaVersionAtURL(file.url) == 9)
        let open = try file.open(Renamed.types, version: 9)
        #expect(try withExtendedLifetime(open) { try schemaVersionAtURL(file.url) } == 9)
        // As in RealmSwift, a missing file has no version yet.
        let error = #expect(throws: Realm.Error.self) { try schemaVersionAtURL(file.folder.file("no.realm")) }
        #expect(error?.code == .invalidDatabase && error?.reason == .missingFile)
        #expect(error?.localizedDescription.contains("no.realm' has not been initialized.") == true)
        #expect(!file.folder.names.contains("no.realm"))
        let elsewhere = file.folder.file("no/such.realm")
        let other = #expect(throws: Realm.Error.self) { try schemaVersionAtURL(elsewhere) }
        #expect(other?.code == .fileNotFound)
        let device = #expect(throws: Realm.Error.self) { try schemaVersionAtURL(URL(fileURLWithPath: "/dev/null")) }
        #expect(device?.code == .fileOperationFailed && device?.reason == .notARegularFile)
    }

    @Test("The objects of a migration are invalid after its block")
    func afterwards() throws {
        let file = try MigrationFile()
        nonisolated(unsafe) var kept: (Migration, MigrationObject?, MigrationObject?)?
        let realm = try file.open(Renamed.types) { migration, _ in
            migration.enumerateObjects(ofType: "MPerson") { old, new in kept = (migration, old, new) }
        }
        #expect(kept?.1?.isInvalidated == true && kept?.2?.isInvalidated == true)
        #expect(catchMisuse { kept?.0.deleteData(forType: "MPerson") } != nil)
        #expect(realm.objects(Renamed.Person.self).count == 5)
    }
}
