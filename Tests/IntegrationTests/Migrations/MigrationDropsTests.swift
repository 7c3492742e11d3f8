// SPDX-License-Identifier: Apache-2.0
// Deletions in a migration: columns with values in separate blocks, objects that only a dropped property owned,
// classes that others linked to. The file stays valid, and declared data stays.

import Foundation
import RealmSwift
import Testing

@testable import Regnum

private enum DropsBefore {
    class Address: EmbeddedObject {
        @Persisted var photo: Data
        @Persisted var street: String
        @Persisted var parts: List<Address>
        override class func _realmObjectName() -> String? { "DropAddress" }
    }
    class Person: Object {
        @Persisted var name: String
        @Persisted var home: Address?
        @Persisted var office: Address?
        override class func _realmObjectName() -> String? { "DropPerson" }
    }
    class Project: Object {
        @Persisted var name: String
        override class func _realmObjectName() -> String? { "DropProject" }
    }
    class Department: Object, DeleteRules {
        @Persisted var name: String
        @Persisted var projects: List<Project>
        static var deleteRules: [String: DeleteRule] { ["projects": .cascade] }
        override class func _realmObjectName() -> String? { "DropDepartment" }
    }
    class Employee: Object {
        @Persisted var name: String
        @Persisted var department: Department?
        override class func _realmObjectName() -> String? { "DropEmployee" }
    }
}

private enum DropsAfter {
    class Address: EmbeddedObject {
        @Persisted var street: String
        override class func _realmObjectName() -> String? { "DropAddress" }
    }
    class Person: Object {
        @Persisted var name: String
        @Persisted var home: Address?
        override class func _realmObjectName() -> String? { "DropPerson" }
    }
    class Project: Object {
        @Persisted var name: String
        override class func _realmObjectName() -> String? { "DropProject" }
    }
    class Employee: Object {
        @Persisted var name: String
        override class func _realmObjectName() -> String? { "DropEmployee" }
    }
}

@Suite("Migrations: deletions")
struct MigrationDropsTests {
    @Test func `values of dropped properties are freed once, also those of objects that go with their owners`() throws {
        try withFile([DropsBefore.Address.self, DropsBefore.Person.self]) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    let part: [String: Any] = ["photo": Data(repeating: 7, count: 5000), "street": "part"]
                    for i in 0..<5 {
                        let address: [String: Any] = [
                            "photo": Data(repeating: UInt8(i), count: 9000), "street": "street \(i)",
                            "parts": [part],
                        ]
                        realm.create(
                            DropsBefore.Person.self, value: ["name": "\(i)", "home": address, "office": address])
                    }
                }
            }
            var next = configuration
            next.schemaVersion = 1
            next.objectTypes = [DropsAfter.Address.self, DropsAfter.Person.self]
            for round in 0..<3 {
                try autoreleasepool {
                    let realm = try Realm(configuration: next)
                    #expect(
                        realm.objects(DropsAfter.Person.self).map { $0.home?.street } == (0..<5).map { "street \($0)" })
                    try realm.write { realm.objects(DropsAfter.Person.self)[round].name += "!" }
                }
                #expect(next.integrityFindings() == [])
            }
        }
    }

    @Test func `the data of a class that is gone goes without its rules, and its table with it`() throws {
        let types: [ObjectBase.Type] = [
            DropsBefore.Project.self, DropsBefore.Department.self, DropsBefore.Employee.self,
        ]
        try withFile(types) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    let department = realm.create(
                        DropsBefore.Department.self, value: ["name": "d", "projects": [["name": "p"], ["name": "q"]]])
                    realm.create(DropsBefore.Employee.self, value: ["name": "e", "department": department])
                }
            }
            var next = configuration
            next.schemaVersion = 1
            next.objectTypes = [DropsAfter.Project.self, DropsAfter.Employee.self]
            next.migrationBlock = { migration, _ in migration.deleteData(forType: "DropDepartment") }
            let realm = try Realm(configuration: next)
            #expect(realm.objects(DropsAfter.Project.self).map(\.name) == ["p", "q"])
            #expect(realm.objects(DropsAfter.Employee.self).count == 1)
            #expect(!(try Realm.fileSchema(for: next)).objectSchema.contains { $0.className == "DropDepartment" })
        }
    }

    @Test func `opening a file within its own migration block is misuse, and no endless wait`() throws {
        try withFile([DropsBefore.Project.self]) { configuration in
            _ = try autoreleasepool { try Realm(configuration: configuration) }
            let url = try #require(configuration.fileURL)
            let words = try misuseText {
                var next = Realm.Configuration(fileURL: url, schemaVersion: 1, objectTypes: [DropsAfter.Project.self])
                let inner = next
                next.migrationBlock = { _, _ in _ = try? Realm(configuration: inner) }
                _ = try Realm(configuration: next)
            }
            #expect(words?.contains("within its own migration block") == true)
        }
    }

    @Test func `a read-only Realm is opened again with its own configuration, and not with another version`() throws {
        try withFile([DropsBefore.Project.self]) { configuration in
            _ = try autoreleasepool { try Realm(configuration: configuration) }
            var reading = configuration
            reading.readOnly = true
            let realm = try Realm(configuration: reading)
            #expect(try Realm(configuration: realm.configuration).objects(DropsBefore.Project.self).isEmpty)
            let url = try #require(configuration.fileURL)
            let words = try misuseText {
                let other = Realm.Configuration(
                    fileURL: url, readOnly: true, schemaVersion: 7, objectTypes: [DropsBefore.Project.self])
                _ = try Realm(configuration: other)
            }
            #expect(words?.contains("already opened with different schema version") == true, "\(words ?? "")")
            withExtendedLifetime(realm) {}
        }
    }
}
