// SPDX-License-Identifier: Apache-2.0
// Files that apps of six schema versions have written (Scripts/migration-samples), migrated to the newest version:
// directly and through every version in between, by a block and by steps. The structure follows "Testing Realm
// Migrations": a configurator, `copy`, `migrateRealm`.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The classes of the newest app, `Tests/SchemaVersionApps/Version5.swift`.
private enum Newest {
    class Person: MigrationCase {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var fullName = ""
        @Persisted var born = 0
        @Persisted var email: String?
        @Persisted var vehicles: List<Vehicle>
        @Persisted var address: Address?
        override class func _realmObjectName() -> String? { "Person" }
    }
    class Vehicle: MigrationCase {
        @Persisted var make = ""
        @Persisted var wheels = 4
        override class func _realmObjectName() -> String? { "Vehicle" }
    }
    class Address: MigrationPart {
        @Persisted var city = ""
        override class func _realmObjectName() -> String? { "Address" }
    }
}

private enum RealmConfigurator {
    static let schemaVersion: UInt64 = 5

    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: schemaVersion, migrationBlock: performMigration,
            objectTypes: [Newest.Person.self, Newest.Vehicle.self, Newest.Address.self])
    }

    @Sendable static func performMigration(migration: Migration, oldSchemaVersion: UInt64) {
        // Version 1 was an automatic migration.
        if oldSchemaVersion < 4 { migration.migrateToVersion4() }
        if oldSchemaVersion < 2 { migration.migrateToVersion2() }
        if oldSchemaVersion < 3 { migration.migrateToVersion3() }
        if oldSchemaVersion < 5 { migration.migrateToVersion5() }
    }

    /// The same as steps with the schemas of their versions.
    static func makeStepsConfiguration() -> Realm.Configuration {
        var configuration = makeDefaultConfiguration()
        configuration.migrationBlock = MigrationStep.block([
            MigrationStep(from: 0, to: 1, oldSchema: Shipped.texts[0]) { _ in },
            MigrationStep(from: 1, to: 2, oldSchema: Shipped.texts[1]) { migration in
                migration.renameProperty(onType: "Person", from: "name", to: "fullName")
            },
            MigrationStep(from: 2, to: 3, oldSchema: Shipped.texts[2]) { migration in
                migration.enumerateObjects(ofType: "Person") { old, new in
                    new?["born"] = 2020 - (old?["age"] as? Int ?? 0)
                }
                migration.enumerateObjects(ofType: "Car") { _, new in new?["wheels"] = 4 }
            },
            MigrationStep(from: 3, to: 4, oldSchema: Shipped.texts[3]) { migration in
                migration.renameClass(from: "Car", to: "Vehicle")
                migration.renameProperty(onType: "Person", from: "cars", to: "vehicles")
            },
            MigrationStep(from: 4, to: 5, oldSchema: Shipped.texts[4]) { migration in
                migration.enumerateObjects(ofType: "Person") { old, new in
                    guard let city = old?["city"] as? String, !city.isEmpty else { return }
                    new?["address"] = ["city": city]
                }
            },
        ])
        return configuration
    }
}

extension Migration {
    // Schema version 1 and below
    fileprivate func migrateToVersion2() { renameProperty(onType: "Person", from: "name", to: "fullName") }

    // Schema version 2 and below
    fileprivate func migrateToVersion3() {
        enumerateObjects(ofType: "Person") { old, new in new?["born"] = 2020 - (old?["age"] as? Int ?? 0) }
        enumerateObjects(ofType: "Vehicle") { _, new in new?["wheels"] = 4 }
    }

    // Schema version 3 and below; files of version 0 have no cars
    fileprivate func migrateToVersion4() {
        guard oldSchema["Car"] != nil else { return }
        renameClass(from: "Car", to: "Vehicle")
        renameProperty(onType: "Person", from: "cars", to: "vehicles")
    }

    // Schema version 4 and below
    fileprivate func migrateToVersion5() {
        guard oldSchema["Person"]?["city"] != nil else { return }
        enumerateObjects(ofType: "Person") { old, new in
            guard let city = old?["city"] as? String, !city.isEmpty else { return }
            new?["address"] = ["city": city]
        }
    }
}

/// The schemas of the shipped versions' files, which never change.
private enum Shipped {
    static let texts: [String] = [
        """
        class Person
            age: int
            id: string primary
            name: string

        """,
        """
        class Car
            make: string
        class Person
            age: int
            cars: list of object<Car>
            city: string indexed
            id: string primary
            name: string

        """,
        """
        class Car
            make: string
        class Person
            age: int
            cars: list of object<Car>
            city: string indexed
            email: string optional
            fullName: string
            id: string primary

        """,
        """
        class Car
            make: string
            wheels: int
        class Person
            born: int
            cars: list of object<Car>
            city: string indexed
            email: string optional
            fullName: string
            id: string primary

        """,
        """
        class Person
            born: int
            city: string indexed
            email: string optional
            fullName: string
            id: string primary
            vehicles: list of object<Vehicle>
        class Vehicle
            make: string
            wheels: int

        """,
        """
        class Address embedded
            city: string
        class Person
            address: object<Address>
            born: int
            email: string optional
            fullName: string
            id: string primary
            vehicles: list of object<Vehicle>
        class Vehicle
            make: string
            wheels: int

        """,
    ]
}

@Suite("Migrations: samples of shipped versions")
struct MigrationSamplesTests {
    let folder = TestFolder()

    static func sample(_ version: UInt64) throws -> URL {
        try #require(
            Bundle.module.url(forResource: "Sample.v\(version)", withExtension: "realm", subdirectory: "Samples"))
    }

    private func copy(_ fileURL: URL) throws -> URL {
        let manager = FileManager.default
        // The guide's Documents folder may not exist on Linux.
        let documents = folder.url.appendingPathComponent("Documents")
        try manager.createDirectory(at: documents, withIntermediateDirectories: true)
        let destination = documents.appendingPathComponent(fileURL.lastPathComponent)
        if manager.fileExists(atPath: destination.path) { try manager.removeItem(at: destination) }
        try manager.copyItem(at: fileURL, to: destination)
        return destination
    }

    private func migrateRealm(
        fileURL: URL, fromSchemaVersion: UInt64,
        configuration: Realm.Configuration = RealmConfigurator.makeDefaultConfiguration(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Realm {
        let copiedFile = try copy(fileURL)
        #expect(try schemaVersionAtURL(copiedFile) == fromSchemaVersion, sourceLocation: sourceLocation)
        var configuration = configuration
        configuration.fileURL = copiedFile
        let realm = try Realm(configuration: configuration)
        #expect(try schemaVersionAtURL(copiedFile) == RealmConfigurator.schemaVersion, sourceLocation: sourceLocation)
        expectIntegrity(of: copiedFile, sourceLocation: sourceLocation)
        return realm
    }

    private func expectNewest(
        _ realm: Realm, from version: UInt64, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let people = realm.objects(Newest.Person.self).sorted(byKeyPath: "id")
        #expect(people.count == 40, sourceLocation: sourceLocation)
        for (n, person) in people.enumerated() {
            let vehicles = (0..<(version >= 1 ? n % 4 : 0)).map { "Make \(n).\($0):\(version >= 3 ? 3 + $0 : 4)" }
            #expect(
                person.id == "p\(100 + n)" && person.fullName == "Person \(n)" && person.born == 2000 - n
                    && person.email == (version >= 2 && n % 2 == 1 ? "p\(n)@example.org" : nil)
                    && person.address?.city == (version >= 1 && n % 3 != 0 ? "City \(n % 5)" : nil)
                    && person.vehicles.map { "\($0.make):\($0.wheels)" } == vehicles, "person \(n)",
                sourceLocation: sourceLocation)
        }
        #expect(realm.object(ofType: Newest.Person.self, forPrimaryKey: "p107")?.born == 1993)
        #expect(realm.objects(Newest.Person.self).filter("address.city == 'City 2'").count == (version >= 1 ? 6 : 0))
        #expect(realm.objects(Newest.Vehicle.self).count == (version >= 1 ? 60 : 0), sourceLocation: sourceLocation)
    }

    @Test("The block migrates a sample of each version to the newest", arguments: 0...5 as ClosedRange<UInt64>)
    func block(_ version: UInt64) throws {
        let sample = try Self.sample(version)
        // Many tests use the sample, so it is never changed.
        for _ in 0..<2 {
            try expectNewest(try migrateRealm(fileURL: sample, fromSchemaVersion: version), from: version)
        }
    }

    @Test("Steps migrate a sample of each version to the newest", arguments: 0...5 as ClosedRange<UInt64>)
    func steps(_ version: UInt64) throws {
        let realm = try migrateRealm(
            fileURL: try Self.sample(version), fromSchemaVersion: version,
            configuration: RealmConfigurator.makeStepsConfiguration())
        try expectNewest(realm, from: version)
    }

    @Test("The schema of a shipped version never changes", arguments: 0...5 as ClosedRange<UInt64>)
    func shipped(_ version: UInt64) throws {
        let copy = try copy(try Self.sample(version))
        let schema = try Realm.fileSchema(for: .init(fileURL: copy, objectTypes: []))
        #expect(schema.goldenText == Shipped.texts[Int(version)])
    }

    @Test(
        "A rehearsal of each sample finds no unconverted value and changes nothing", arguments: [0, 2, 4] as [UInt64])
    func rehearsal(_ version: UInt64) throws {
        var configuration = RealmConfigurator.makeDefaultConfiguration()
        let copy = try copy(try Self.sample(version))
        let before = try Data(contentsOf: copy)
        configuration.fileURL = copy
        let rehearsal = try Realm.rehearseMigration(for: configuration)
        #expect(rehearsal.error == nil && rehearsal.unconverted.isEmpty && rehearsal.countsAfter["Person"] == 40)
        #expect(try Data(contentsOf: copy) == before)
    }
}
