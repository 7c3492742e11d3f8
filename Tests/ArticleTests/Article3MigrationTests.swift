// SPDX-License-Identifier: Apache-2.0
// "Testing Realm Migrations" from top to bottom. The article takes a sample file from a phone; here the app's old
// classes write one. The article uses the app's bundle and documents folder; the test has folders of its own. The
// documents folder does not exist at first, as on Linux `.documentDirectory` may not: `copy` creates it.
// `MigrationSamplesTests` uses a sample that is a resource of its test target.

import Foundation
import RealmSwift
import RegnumTestKit
import XCTest

/// The app of version 1.2.3, schema version 5.
enum AppOfVersion5 {
    class Person: Object {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var name = ""
        @Persisted var cars: List<Car>
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class Car: Object {
        @Persisted var make = ""
        override class func _realmObjectName() -> String? { "Car" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// "Play around for a bit": twelve people, five of them with cars.
    static func writeSample(to url: URL) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: 5, objectTypes: [Person.self, Car.self]))
        try realm.write {
            for i in 0..<12 {
                let id = i == 0 ? "C395D5F4-21EC-44F9-8437-55CE0DFA9562" : UUID().uuidString
                let person = realm.create(Person.self, value: ["id": id, "name": "Person \(i)"])
                if i < 5 { person.cars.append(realm.create(Car.self, value: ["make": "Apple"])) }
            }
        }
    }
}

/// The current app.
enum AppOfToday {
    class Person: Object {
        @Persisted(primaryKey: true) var id = ""
        @Persisted var name = ""
        @Persisted var vehicles: List<Vehicle>
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class Vehicle: Object {
        @Persisted var make = ""
        override class func _realmObjectName() -> String? { "Vehicle" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

// MARK: Organize your Realm setup

enum RealmConfigurator {
    static let schemaVersion: UInt64 = 7

    static func setup() {
        Realm.Configuration.defaultConfiguration = makeDefaultConfiguration()
    }

    static func makeDefaultConfiguration() -> Realm.Configuration {
        .init(
            schemaVersion: schemaVersion,
            migrationBlock: performMigration,
            objectTypes: [AppOfToday.Person.self, AppOfToday.Vehicle.self]
        )
    }

    @Sendable static func performMigration(migration: Migration, oldSchemaVersion: UInt64) {
        if oldSchemaVersion < 1 {
            migration.migrateToVersion1()
        }

        // Not each version needs a manual migration.
        // Here, we are pretending schema versions 2-5 were
        // automatic migrations and did not need any code.
        if oldSchemaVersion < 6 {
            migration.migrateToVersion6()
        }
    }
}

extension Migration {
    // App v1.0.0 (schemaVersion 0)
    fileprivate func migrateToVersion1() {
        XCTFail("the sample is newer")
    }
}

extension Migration {
    // App v1.2.3 (schemaVersion 5) and below
    fileprivate func migrateToVersion6() {
        enumerateObjects(ofType: "Person") { oldPerson, newPerson in
            guard let oldPerson, let newPerson else { return }
            for car in oldPerson.dynamicList("cars") {
                let vehicle = create("Vehicle", value: ["make": car["make"] as Any])
                newPerson.dynamicList("vehicles").append(vehicle)
            }
        }
        deleteData(forType: "Car")
    }
}

// MARK: Write unit tests

final class RealmMigrationTests: XCTestCase {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("seed-migration-\(UUID().uuidString)", isDirectory: true)

    override func setUpWithError() throws {
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("Bundle"), withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        try FileManager.default.removeItem(at: folder)
    }

    private func copy(
        _ fileURL: URL,
        file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> URL {
        let manager = FileManager.default
        // The article's are the user's documents, which no test of this package touches.
        let documents = folder.appendingPathComponent("Documents")
        // The one line that the article has not.
        try manager.createDirectory(at: documents, withIntermediateDirectories: true)
        let destination = documents.appendingPathComponent(fileURL.lastPathComponent)
        if manager.fileExists(atPath: destination.path) {
            try manager.removeItem(at: destination)
        }
        try manager.copyItem(at: fileURL, to: destination)
        return destination
    }

    private func migrateRealm(
        fileURL: URL,
        fromSchemaVersion: UInt64,
        file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> Realm {
        let copiedFile = try copy(fileURL, file: file, line: line)

        XCTAssertEqual(try schemaVersionAtURL(copiedFile), fromSchemaVersion, file: file, line: line)

        var configuration = RealmConfigurator.makeDefaultConfiguration()
        configuration.fileURL = copiedFile
        let realm = try Realm(configuration: configuration)

        XCTAssertEqual(
            try schemaVersionAtURL(copiedFile), RealmConfigurator.schemaVersion, file: file, line: line)

        return realm
    }

    /// Test migration from app v1.2.3 (schemaVersion 5)
    func testMigrationFromVersion5() throws {
        let sampleResource = folder.appendingPathComponent("Bundle/Sample.v1.2.3.realm")
        try AppOfVersion5.writeSample(to: sampleResource)

        let realm = try migrateRealm(fileURL: sampleResource, fromSchemaVersion: 5)
        // If we reach here it already means that the file was migrated without any fatal errors

        // Checking all Person objects in the sample survived the migration (we had 12)
        XCTAssertEqual(realm.objects(AppOfToday.Person.self).count, 12)
        // Checking that all Persons with cars now have Vehicles (we had 5)
        XCTAssertEqual(realm.objects(AppOfToday.Person.self).filter({ !$0.vehicles.isEmpty }).count, 5)

        // Plucking an object with a certain id to check that all properties were migrated
        let samplePerson = try XCTUnwrap(
            realm.object(ofType: AppOfToday.Person.self, forPrimaryKey: "C395D5F4-21EC-44F9-8437-55CE0DFA9562"))
        let sampleVehicle = try XCTUnwrap(samplePerson.vehicles.first)
        XCTAssertEqual(sampleVehicle.make, "Apple")
    }

    /// "Unit tests will make another copy and perform a migration each time they are run."
    func testTheSampleCanBeMigratedAgain() throws {
        let sampleResource = folder.appendingPathComponent("Bundle/Sample.v1.2.3.realm")
        try AppOfVersion5.writeSample(to: sampleResource)
        for _ in 0..<2 {
            let realm = try migrateRealm(fileURL: sampleResource, fromSchemaVersion: 5)
            XCTAssertEqual(realm.objects(AppOfToday.Vehicle.self).count, 5)
        }
        XCTAssertEqual(try schemaVersionAtURL(sampleResource), 5)
    }

    /// The kit's `copyFixture` in place of the article's `copy`.
    func testTheKitCopiesTheSampleToAFolderThatIsThere() throws {
        let sampleResource = folder.appendingPathComponent("Bundle/Sample.v1.2.3.realm")
        try AppOfVersion5.writeSample(to: sampleResource)
        var configuration = RealmConfigurator.makeDefaultConfiguration()
        let copiedFile = try copyFixture(sampleResource)
        configuration.fileURL = copiedFile
        let realm = try Realm(configuration: configuration)
        XCTAssertEqual(realm.objects(AppOfToday.Vehicle.self).count, 5)
        XCTAssertEqual(try schemaVersionAtURL(copiedFile), RealmConfigurator.schemaVersion)
        XCTAssertEqual(try schemaVersionAtURL(sampleResource), 5)
    }

    func testSetupSetsTheDefaultConfiguration() {
        let previous = Realm.Configuration.defaultConfiguration
        defer { Realm.Configuration.defaultConfiguration = previous }
        RealmConfigurator.setup()
        XCTAssertEqual(Realm.Configuration.defaultConfiguration.schemaVersion, 7)
        XCTAssertNotNil(Realm.Configuration.defaultConfiguration.fileURL)
    }
}
