// SPDX-License-Identifier: Apache-2.0
// A migration step has the same result whether it is the last step or another one follows: it uses column names,
// knows no defaults, generated numbers and Swift types of classes, and follows the rules that the file stores.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// A class whose property names differ from its column names.
private enum Named {
    class V0: MigrationCase {
        @Persisted var first = ""
        override class func _realmObjectName() -> String? { "NPerson" }
    }
    class V1: MigrationCase {
        @Persisted var givenName = ""
        @Persisted var rank = 7
        override class func _realmObjectName() -> String? { "NPerson" }
        override class func propertiesMapping() -> [String: String] { Named.mapping }
    }
    class V2: MigrationCase {
        @Persisted var givenName = ""
        @Persisted var rank = 7
        @Persisted var note = "none"
        override class func _realmObjectName() -> String? { "NPerson" }
        override class func propertiesMapping() -> [String: String] { Named.mapping }
    }
    static let mapping = ["givenName": "first_name", "rank": "a_rank"]
    static let types: [[ObjectBase.Type]] = [
        [V0.self, Rules.Invoice.self], [V1.self, Rules.Invoice.self], [V2.self, Rules.Invoice.self],
    ]

    static let texts = [
        """
        class NPerson
            first: string
        class Rules_Invoice
            number: int primary
            text: string

        """,
        """
        class NPerson
            a_rank: int
            first_name: string
        class Rules_Invoice
            number: int primary
            text: string

        """,
    ]

    static let first = MigrationStep(from: 0, to: 1, oldSchema: texts[0]) { migration in
        #expect(migration.newSchema["NPerson"]?["first_name"] != nil)
        #expect(migration.newSchema["NPerson"]?["givenName"] == nil)
        migration.renameProperty(onType: "NPerson", from: "first", to: "first_name")
        migration.enumerateObjects(ofType: "NPerson") { old, new in
            new?["a_rank"] = (old?["first"] as? String ?? "").count
        }
        migration.create("NPerson", value: ["first_name": "made"])
        migration.create("NPerson", value: [5, "listed"] as [Any])
        migration.create("Rules_Invoice", value: ["number": 9])
    }
    static let second = MigrationStep(from: 1, to: 2, oldSchema: texts[1]) { _ in }

    /// The steps to this version.
    static func steps(_ newest: UInt64) -> [MigrationStep] { Array([first, second].prefix(Int(newest))) }

    static func configuration(_ url: URL, _ newest: UInt64, _ block: @escaping MigrationBlock) -> Realm.Configuration {
        .init(fileURL: url, schemaVersion: newest, migrationBlock: block, objectTypes: types[Int(newest)])
    }

    static func write(_ url: URL) throws {
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: types[0]))
        try realm.write { for name in ["Ann", "Robert"] { realm.create(V0.self, value: ["first": name]) } }
    }
}

@Suite("Migrations: names and rules in steps")
struct MigrationStepIndependenceTests {
    let folder = TestFolder()

    private func people(_ realm: Realm) -> [String] {
        realm.dynamicObjects("NPerson").map { person in
            "\(person["givenName"] as? String ?? "?"): \(person["rank"] as? Int ?? -1)"
        }
    }

    @Test("A step creates the same objects as the last step and before another one", arguments: [1, 2] as [UInt64])
    func position(_ newest: UInt64) throws {
        try Named.write(folder.file())
        let configuration = Named.configuration(folder.file(), newest, MigrationStep.block(Named.steps(newest)))
        let words = try misuseText { _ = try Realm(configuration: configuration) }
        try #require(words == nil, "\(words ?? "")")
        let realm = try Realm(configuration: configuration)
        #expect(people(realm) == ["Ann: 3", "Robert: 6", "made: 0", "listed: 5"])
        #expect(realm.objects(Rules.Invoice.self).map(\.number) == [9])
        expectIntegrity(of: folder.file())
    }

    @Test(
        "A step must number the objects that it creates, whether or not it is the last one",
        arguments: [1, 2] as [UInt64])
    func numbers(_ newest: UInt64) throws {
        try Named.write(folder.file())
        let unnumbered = MigrationStep(from: 0, to: 1, oldSchema: Named.texts[0]) { migration in
            migration.create("Rules_Invoice", value: ["text": "none"])
        }
        let steps = Array([unnumbered, Named.second].prefix(Int(newest)))
        let configuration = Named.configuration(folder.file(), newest, MigrationStep.block(steps))
        let words = try misuseText { _ = try Realm(configuration: configuration) }
        #expect(words?.contains("Missing value for property 'Rules_Invoice.number'") == true, "\(words ?? "none")")
    }

    @Test("Code after the steps in a block uses property names and defaults")
    func around() throws {
        try Named.write(folder.file())
        let steps = MigrationStep.block(Named.steps(1))
        let configuration = Named.configuration(folder.file(), 1) { migration, old in
            steps(migration, old)
            #expect(migration.newSchema["NPerson"]?["givenName"] != nil)
            migration.enumerateObjects(ofType: "NPerson") { _, new in
                new?["rank"] = (new?["rank"] as? Int ?? 0) + 10
            }
            migration.create("NPerson", value: ["givenName": "last"])
        }
        let words = try misuseText { _ = try Realm(configuration: configuration) }
        try #require(words == nil, "\(words ?? "")")
        let realm = try Realm(configuration: configuration)
        #expect(people(realm) == ["Ann: 13", "Robert: 16", "made: 0", "listed: 5", "last: 7"])
    }

    @Test("Delete rules apply in each step", arguments: [1, 2] as [UInt64])
    func deleteRules(_ newest: UInt64) throws {
        let url = folder.file()
        let text = try {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: Rules.company))
            try realm.write {
                let project = Rules.Project()
                project.name = "p"
                project.tasks["first"] = Rules.Task(value: ["name": "t"])
                realm.create(Rules.Department.self, value: ["id": 1]).projects.append(project)
            }
            return realm.schema.goldenText
        }()
        let steps = [
            MigrationStep(from: 0, to: 1, oldSchema: text) { migration in
                migration.enumerateObjects(ofType: "Rules_Department") { _, new in
                    if let new { migration.delete(new) }
                }
            },
            MigrationStep(from: 1, to: 2, oldSchema: text) { _ in },
        ]
        let realm = try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: newest,
                migrationBlock: MigrationStep.block(Array(steps.prefix(Int(newest)))), objectTypes: Rules.company))
        #expect(realm.objects(Rules.Department.self).isEmpty)
        #expect(realm.objects(Rules.Project.self).isEmpty && realm.objects(Rules.Task.self).isEmpty)
        expectIntegrity(of: url)
    }

    @Test("Unique constraints are checked at the end of each step", arguments: [1, 2] as [UInt64])
    func uniques(_ newest: UInt64) throws {
        let url = folder.file()
        let types: [ObjectBase.Type] = [Rules.Member.self, Rules.Place.self]
        let text = try {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: types))
            try realm.write {
                realm.add(Rules.Member("a@example.org", "x", 1))
                realm.add(Rules.Member("b@example.org", "x", 2))
            }
            return realm.schema.goldenText
        }()
        let before = try Data(contentsOf: url)
        let steps = [
            MigrationStep(from: 0, to: 1, oldSchema: text) { migration in
                migration.enumerateObjects(ofType: "Rules_Member") { _, new in new?["email"] = "same" }
            },
            MigrationStep(from: 1, to: 2, oldSchema: text) { migration in
                var next = 0
                migration.enumerateObjects(ofType: "Rules_Member") { _, new in
                    next += 1
                    new?["email"] = "\(next)@example.org"
                }
            },
        ]
        let error = #expect(throws: Realm.Error.self) {
            try Realm(
                configuration: .init(
                    fileURL: url, schemaVersion: newest,
                    migrationBlock: MigrationStep.block(Array(steps.prefix(Int(newest)))), objectTypes: types))
        }
        #expect(error?.reason == .duplicateValues)
        #expect(try Data(contentsOf: url) == before)
        expectIntegrity(of: url)
    }
}
