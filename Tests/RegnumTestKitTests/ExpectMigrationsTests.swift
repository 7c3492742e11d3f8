// SPDX-License-Identifier: Apache-2.0
// Migrations of shipped files, and copies of them.

import Foundation
import Regnum
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A class in three versions of a program.
private enum Shipped {
    class Case: Object {
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String? { "ShippedPerson" }
    }
    class First: Case {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var first = ""
        @Persisted var last = ""
    }
    class Second: Case {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
    }
    class Third: Case {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var fullName = ""
    }

    @Sendable static func join(_ migration: Migration) {
        migration.enumerateObjects(ofType: "ShippedPerson") { old, new in
            guard let first = old?["first"] as? String, let last = old?["last"] as? String else { return }
            new?["name"] = "\(first) \(last)"
        }
    }
    static let second = Realm.Configuration(
        schemaVersion: 2, migrationBlock: { migration, _ in join(migration) }, objectTypes: [Second.self])

    /// Omits the data of files of the first version if it is wrong.
    static func third(isWrong: Bool) -> Realm.Configuration {
        Realm.Configuration(
            schemaVersion: 3,
            migrationBlock: { migration, version in
                migration.enumerateObjects(ofType: "ShippedPerson") { old, new in
                    if version < 2, !isWrong, let old {
                        new?["fullName"] = "\(old["first"] as? String ?? "") \(old["last"] as? String ?? "")"
                    } else if version == 2 {
                        new?["fullName"] = old?["name"]
                    }
                }
            }, objectTypes: [Third.self])
    }

    static func fixtures(in folder: URL) throws -> [URL] {
        let first = folder.appendingPathComponent("v1.realm")
        let second = folder.appendingPathComponent("v2.realm")
        try Realm(configuration: .init(fileURL: first, schemaVersion: 1, objectTypes: [First.self]))
            .seed { First(value: ["id": 1, "first": "Ann", "last": "Lee"]) }
        try Realm(configuration: .init(fileURL: second, schemaVersion: 2, objectTypes: [Second.self]))
            .seed { Second(value: ["id": 1, "name": "Ann Lee"]) }
        return [first, second]
    }
}

@Suite("Expecting migrations")
struct ExpectMigrationsTests {
    private func withFixtures(_ body: ([URL]) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shipped-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(try Shipped.fixtures(in: folder))
    }

    @Test("All fixtures migrate to the newest version, directly and step by step, and are not changed")
    func all() throws {
        try withFixtures { fixtures in
            var names: [String] = []
            try expectMigrations(
                of: fixtures, to: Shipped.third(isWrong: false), through: [Shipped.second], budget: .seconds(1800)
            ) { realm, _ in
                names += realm.objects(Shipped.Third.self).map(\.fullName)
            }
            #expect(names == ["Ann Lee", "Ann Lee", "Ann Lee"])
            #expect(try fixtures.map { try schemaVersionAtURL($0) } == [1, 2])
        }
    }

    @Test("A migration block that forgets an old version is found by migrating step by step")
    func forgotten() throws {
        try withFixtures { fixtures in
            let texts = issues {
                try expectMigrations(of: fixtures, to: Shipped.third(isWrong: true), through: [Shipped.second])
            }
            #expect(texts.count == 1)
            let words = "'v1.realm': differs between migration through version 2"
            #expect(texts.first?.hasPrefix(words) == true, "\(texts)")
            #expect(texts.first?.contains("-     fullName: \"\"\n+     fullName: \"Ann Lee\"") == true, "\(texts)")
        }
    }

    @Test("A refused rehearsal, a throwing check, and a missing fixture are failures")
    func failures() throws {
        try withFixtures { fixtures in
            let same = Realm.Configuration(schemaVersion: 2, objectTypes: [Shipped.Third.self])
            let texts = issues { try expectMigrations(of: [fixtures[1]], to: same) }
            #expect(
                texts.first?.hasPrefix("'v2.realm': the rehearsal failed: Migration is required") == true, "\(texts)")
            let checked = issues {
                try expectMigrations(of: fixtures, to: Shipped.third(isWrong: false)) { _, _ in throw Refusal() }
            }
            #expect(checked.count == 2)
            #expect(issues { try expectMigrations(of: [], to: same) } == ["There are no fixtures to migrate."])
        }
    }

    @Test("A fixture is copied to a separate folder, and is not changed")
    func copies() throws {
        try withFixtures { fixtures in
            let fixture = fixtures[0]
            let copy = try copyFixture(fixture)
            #expect(try schemaVersionAtURL(copy) == 1)
            var configuration = Shipped.third(isWrong: false)
            configuration.fileURL = copy
            let realm = try Realm(configuration: configuration)
            #expect(try schemaVersionAtURL(copy) == 3)
            #expect(realm.objects(Shipped.Third.self).first?.fullName == "Ann Lee")
            let version = try schemaVersionAtURL(fixture)
            #expect(version == 1 && copy.lastPathComponent == "v1.realm")
            let other = try copyFixture(fixture)
            #expect(other != copy)
            #expect(try schemaVersionAtURL(other) == 1)
            #expect(throws: (any Error).self) { try copyFixture(fixture.appendingPathExtension("none")) }
        }
    }

    // A copy once had the permissions of the fixture: it could not be migrated.
    @Test("Copies of a read-only fixture can be written, and the fixture stays read-only")
    func readOnlyFixture() throws {
        func permissions(_ url: URL) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
        }
        try withFixtures { fixtures in
            let fixture = fixtures[0]
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.path)
            let copy = try copyFixture(fixture)
            #expect(try permissions(copy) == 0o644)
            let configuration = Shipped.third(isWrong: false)
            let test = try TestRealm(configuration: configuration, copyOf: fixture)
            let place = try #require(test.configuration.fileURL)
            #expect(try permissions(place) == 0o644)
            test.finish()
            var found: [Int?] = []
            try expectMigrations(of: [fixture], to: configuration) { realm, _ in
                let place = try #require(realm.configuration.fileURL)
                found.append(try permissions(place))
            }
            #expect(found == [0o644])
            #expect(try permissions(fixture) == 0o444)
        }
    }

    // Child processes run the exit handlers too.
    @Test("A forked child that ends keeps its parent's copies")
    func copiesOfParent() async throws {
        await #expect(processExitsWith: .success) {
            let fixture = FileManager.default.temporaryDirectory.appendingPathComponent("fixture-\(UUID().uuidString)")
            try Data("any bytes".utf8).write(to: fixture)
            let copy = try copyFixture(fixture)
            // Swift does not import `fork`; programs can call it through C.
            guard let symbol = dlsym(nil, "fork") else { exit(11) }
            let child = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
            if child == 0 { exit(0) }
            var status: Int32 = 0
            guard waitpid(child, &status, 0) == child, status == 0 else { exit(12) }
            let isThere = FileManager.default.fileExists(atPath: copy.path)
            try? FileManager.default.removeItem(at: fixture)
            exit(isThere ? 0 : 13)
        }
    }

    @Test("Copies of fixtures are removed when the process ends")
    func copiesGo() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shipped-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("fixture").path
        try Data("any bytes".utf8).write(to: URL(fileURLWithPath: path))
        await #expect(processExitsWith: .success) { [path = path as String] in
            let copy = try copyFixture(URL(fileURLWithPath: path))
            let bytes = try Data(contentsOf: copy)
            try Data(copy.path.utf8).write(to: URL(fileURLWithPath: path + ".copy"))
            exit(bytes == Data("any bytes".utf8) ? 0 : 1)
        }
        let copy = try String(contentsOfFile: path + ".copy", encoding: .utf8)
        #expect(copy.hasSuffix("/fixture") && !FileManager.default.fileExists(atPath: copy))
    }

    @Test("A changed schema fails with its new hash and its text")
    func schema() throws {
        let texts = issues { try expectSchema(of: [KitAccount.self], hash: "0") }
        let text = try #require(texts.first)
        #expect(text.contains("    sum: int\n"))
        let hash = try #require(text.firstMatch(of: #/its hash is ([0-9a-f]{16})/#)?.output.1)
        #expect(issues { try expectSchema(of: [KitAccount.self], hash: String(hash)) } == [])
    }
}
