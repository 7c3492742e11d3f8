// SPDX-License-Identifier: Apache-2.0
// "Testing Realm Migrations" from top to bottom, on Linux: where the article shows Xcode, the sample file is made by
// the app's old classes; where it uses XCTest's unwrapping, Swift Testing's. The rest is the article's own code.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The app of version 1.2.3, schema version 5.
private enum Version5 {
    class Person: MigrationCase {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var name = ""
        @Persisted var cars: List<Car>
        override class func _realmObjectName() -> String? { "SeedPerson" }
    }
    class Car: MigrationCase {
        @Persisted var make = ""
        @Persisted var wheels = 4
        override class func _realmObjectName() -> String? { "SeedCar" }
    }
    static let sampleID = "C395D5F4-21EC-44F9-8437-55CE0DFA9562"

    /// Twelve people, of whom five have cars.
    static func writeSample(to url: URL) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: 5, objectTypes: [Person.self, Car.self]))
        try realm.write {
            for i in 0..<12 {
                let id = i == 0 ? sampleID : UUID().uuidString
                let person = realm.create(Person.self, value: ["id": id, "name": "Person \(i)"])
                guard i < 5 else { continue }
                for car in 0...(i % 2) {
                    person.cars.append(realm.create(Car.self, value: ["make": car == 0 ? "Apple" : "Other"]))
                }
            }
        }
    }
}

/// The app of today.
private class Person: MigrationCase {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var name = ""
    @Persisted var vehicles: List<Vehicle>
    override class func _realmObjectName() -> String? { "SeedPerson" }
}
private class Vehicle: MigrationCase {
    @Persisted var make = ""
    @Persisted var kind = ""
    override class func _realmObjectName() -> String? { "SeedVehicle" }
}

private enum RealmConfigurator {
    static let schemaVersion: UInt64 = 7

    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: schemaVersion,
            migrationBlock: performMigration,
            objectTypes: [Person.self, Vehicle.self]
        )
    }

    @Sendable static func performMigration(migration: Migration, oldSchemaVersion: UInt64) {
        if oldSchemaVersion < 1 {
            migration.migrateToVersion1()
        }
        if oldSchemaVersion < 6 {
            migration.migrateToVersion6()
        }
    }
}

extension Migration {
    // App v1.0.0 (schemaVersion 0)
    fileprivate func migrateToVersion1() {
        Issue.record("the sample is newer")
    }

    // App v1.2.3 (schemaVersion 5) and below
    fileprivate func migrateToVersion6() {
        enumerateObjects(ofType: "SeedPerson") { oldPerson, newPerson in
            guard let oldPerson, let newPerson else { return }
            let vehicles = newPerson.dynamicList("vehicles")
            for car in oldPerson.dynamicList("cars") {
                let vehicle = create("SeedVehicle", value: ["make": car["make"] as Any, "kind": "car"])
                vehicles.append(vehicle)
            }
        }
        deleteData(forType: "SeedCar")
    }
}

@Suite("the article on testing migrations")
struct SeedMigrationTests {
    let folder = TestFolder()

    private func copy(_ fileURL: URL) throws -> URL {
        let manager = FileManager.default
        let documents = folder.url.appendingPathComponent("Documents")
        try manager.createDirectory(at: documents, withIntermediateDirectories: true)
        let destination = documents.appendingPathComponent(fileURL.lastPathComponent)
        if manager.fileExists(atPath: destination.path) {
            try manager.removeItem(at: destination)
        }
        try manager.copyItem(at: fileURL, to: destination)
        return destination
    }

    private func migrateRealm(
        fileURL: URL, fromSchemaVersion: UInt64, configuration: Realm.Configuration,
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

    /// Test migration from app v1.2.3 (schemaVersion 5), as the article writes it and in one line.
    @Test("people with cars have vehicles afterwards", arguments: [false, true])
    func migrationFromVersion5(_ inOneLine: Bool) throws {
        let sampleResource = folder.file("Sample.v1.2.3.realm")
        try Version5.writeSample(to: sampleResource)
        var configuration = RealmConfigurator.makeDefaultConfiguration()
        if inOneLine {
            configuration.migrationBlock = { migration, _ in
                migration.renameClass(from: "SeedCar", to: "SeedVehicle")
                migration.renameProperty(onType: "SeedPerson", from: "cars", to: "vehicles")
            }
        }
        // The sample serves many tests: it is never changed itself.
        for _ in 0..<2 {
            let realm = try migrateRealm(fileURL: sampleResource, fromSchemaVersion: 5, configuration: configuration)
            #expect(realm.objects(Person.self).count == 12)
            #expect(realm.objects(Person.self).filter({ !$0.vehicles.isEmpty }).count == 5)
            #expect(realm.objects(Vehicle.self).count == 7)
            let samplePerson = try #require(realm.object(ofType: Person.self, forPrimaryKey: Version5.sampleID))
            let vehicle = try #require(samplePerson.vehicles.first)
            #expect(vehicle.make == "Apple")
        }
        #expect(try schemaVersionAtURL(sampleResource) == 5)
    }
}
