// SPDX-License-Identifier: Apache-2.0
// Checking migrations before they are shipped: plans, rehearsals, steps, and the text of a schema.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Migrations: plans")
struct MigrationPlanTests {
    @Test("A plan lists changes and losses, and writes nothing")
    func plan() throws {
        let file = try MigrationFile()
        let before = try file.bytes
        let plan = try Realm.migrationPlan(for: file.configuration(Renamed.types, version: 0))
        #expect(plan.isRefused && !plan.callsBlock && plan.fileVersion == 0 && plan.version == 0)
        let lost = plan.changes.filter(\.losesValues).map(\.text)
        #expect(lost.contains("Property 'MPerson.first' has been removed."))
        #expect(!lost.contains("Property 'MPerson.given' has been added."))
        #expect(plan.changes.allSatisfy { $0.className == "MPerson" && $0.needsMigration })
        func count(_ text: String) -> Int? { plan.changes.first { $0.text == text }?.objectCount }
        #expect(count("Property 'MPerson.first' has been removed.") == 5)
        #expect(count("Property 'MPerson.age' has been removed.") == 4, "one is 0")
        #expect(count("Property 'MPerson.city' has been removed.") == 3, "two are null")
        #expect(count("Property 'MPerson.favourite' has been removed.") == 2)
        #expect(count("Property 'MPerson.given' has been added.") == 5)
        #expect(count("Property 'MPerson.last' has been made optional.") == 0)
        #expect(plan.description.hasPrefix("schema version 0 to 0: refused: raise schemaVersion\n- Property"))
        let next = try Realm.migrationPlan(for: file.configuration(Renamed.types, version: 1) { _, _ in })
        #expect(!next.isRefused && next.callsBlock)
        let same = try Realm.migrationPlan(for: file.configuration(Oldest.types, version: 0))
        #expect(same.changes.isEmpty && same.description == "schema version 0 to 0: nothing changes")
        let pets = try Realm.migrationPlan(for: file.configuration([Pets.Pet.self], version: 0))
        #expect(pets.changes.map(\.text) == ["Class 'MPet' has been added."] && !pets.isRefused)
        #expect(pets.undeclaredCounts == ["MPerson": 5, "MDog": 2])
        #expect(try file.bytes == before)
    }

    // A read-only configuration cannot migrate, and some differences do not matter for reading.
    @Test("A plan for a read-only configuration is refused exactly if opening is refused")
    func readOnlyPlan() throws {
        let file = try MigrationFile()
        func plan(_ types: [ObjectBase.Type], version: UInt64 = 0) throws -> MigrationPlan {
            var configuration = file.configuration(types, version: version) { _, _ in }
            configuration.readOnly = true
            let plan = try Realm.migrationPlan(for: configuration)
            var isRefused = false
            do { _ = try Realm(configuration: configuration) } catch is Realm.Error { isRefused = true }
            #expect(plan.isRefused == isRefused, "\(plan)")
            #expect(!plan.callsBlock && !plan.changes.contains { $0.losesValues || !$0.needsMigration })
            return plan
        }
        #expect(
            try plan(Oldest.types, version: 1).description
                == "schema version 0 to 1: refused: read-only files are not migrated")
        #expect(try plan(Oldest.types).description == "schema version 0 to 0: nothing changes")
        let renamed = try plan(Renamed.types)
        #expect(renamed.isRefused && renamed.changes.map(\.text) == ["Property 'MPerson.last' has been made optional."])
        #expect(try plan(Second.types).isRefused)
        // A class that is missing in the file has no objects there.
        let pets = try plan([Pets.Pet.self])
        #expect(!pets.isRefused && pets.changes.isEmpty)
    }

    @Test("A rehearsal migrates a copy and leaves the file unchanged")
    func rehearse() throws {
        let file = try MigrationFile(people: 1500)
        let before = try file.bytes
        let good = try Realm.rehearseMigration(
            for: file.configuration(Embedding2.types) { migration, _ in
                migration.enumerateObjects(ofType: "MPerson") { old, new in
                    if old?["age"] as? Int == 3, let new { migration.delete(new) }
                }
            })
        #expect(good.error == nil && good.duration > .zero)
        #expect(good.countsBefore == ["MPerson": 1500, "MDog": 500])
        #expect(good.countsAfter["MPerson"] == 1499 && good.countsAfter["MDog"] == 1499 * 2 + 499)
        let bad = try Realm.rehearseMigration(for: file.configuration(Second.types))
        #expect((bad.error as? Realm.Error)?.reason == .migrationFailed && bad.countsAfter.isEmpty)
        #expect(try file.bytes == before)
        #expect(!file.folder.names.contains { $0.contains("rehearsal") }, "\(file.folder.names)")
    }

    @Test("Only the steps after the file's version run", arguments: 0...4)
    func steps(_ from: UInt64) throws {
        let file = try MigrationFile()
        if from > 0 { _ = try file.open(Oldest.types, version: from) }
        nonisolated(unsafe) var ran: [UInt64] = []
        let steps = [1, 2, 4].map { version in
            MigrationStep(to: version) { migration in
                ran.append(version)
                migration.enumerateObjects(ofType: "MPerson") { _, new in
                    new?["age"] = (new?["age"] as? Int ?? 0) + Int(version) * 100
                }
            }
        }
        let realm = try file.open(Oldest.types, version: 4, MigrationStep.block(steps))
        let expected = [1, 2, 4].filter { $0 > from }
        #expect(ran == expected)
        #expect(realm.objects(Oldest.Person.self)[1].age == 1 + Int(expected.reduce(0, +)) * 100)
    }

    @Test("Steps in the wrong order are refused immediately")
    func order() throws {
        let words = catchMisuse {
            _ = MigrationStep.block([MigrationStep(to: 3) { _ in }, MigrationStep(to: 3) { _ in }])
        }
        #expect(words?.contains("must ascend") == true)
    }

    @Test("A gap between two steps is refused immediately, even without schemas")
    func gap() throws {
        let words = catchMisuse {
            _ = MigrationStep.block([MigrationStep(from: 0, to: 1) { _ in }, MigrationStep(from: 2, to: 3) { _ in }])
        }
        #expect(words?.contains("Files of version 1 would find no step.") == true)
        let overlap = catchMisuse {
            _ = MigrationStep.block([MigrationStep(to: 2) { _ in }, MigrationStep(from: 1, to: 3) { _ in }])
        }
        #expect(overlap?.contains("The two steps overlap.") == true)
        let none = catchMisuse { _ = MigrationStep(from: 3, to: 3) { _ in } }
        #expect(none?.contains("must lead to a higher version: from 3 to 3 does not.") == true)
    }

    /// A missing last step must not let files get the new version without it.
    @Test("A gap before the first step or after the last is refused before any step runs")
    func ends() throws {
        func step(from start: UInt64? = nil, to version: UInt64) -> MigrationStep {
            MigrationStep(from: start, to: version) { _ in Issue.record("no step runs") }
        }
        let file = try MigrationFile()
        try file.refuses(
            "The file has schema version 0, and the first migration step for it begins with version 1.", Oldest.types,
            version: 3, MigrationStep.block([step(from: 1, to: 2), step(from: 2, to: 3)]))
        try file.refuses(
            "leads to version 4, and `schemaVersion` is 3.", Oldest.types, version: 3,
            MigrationStep.block([step(to: 3), step(to: 4)]))
        let short = MigrationStep.block([step(to: 1), step(to: 2)])
        let words = "leads to version 2, and `schemaVersion` is 3. Add a step to version 3"
        try file.refuses(words, Oldest.types, version: 3, short)
        // A file that has run all steps must not skip the missing one either.
        _ = try file.open(Oldest.types, version: 2)
        let error = #expect(throws: Realm.Error.self) { try file.open(Oldest.types, version: 3, short) }
        #expect(error?.localizedDescription.contains(words) == true)
        #expect(try schemaVersionAtURL(file.url) == 2)
    }

    @Test("Steps with a start version run only from that version", arguments: 1...3)
    func starts(_ from: UInt64) throws {
        let file = try MigrationFile()
        _ = try file.open(Oldest.types, version: from)
        nonisolated(unsafe) var ran: [UInt64] = []
        let steps = [
            MigrationStep(from: 1, to: 2) { _ in ran.append(2) },
            MigrationStep(from: 2, to: 4) { _ in ran.append(4) },
        ]
        _ = try file.open(Oldest.types, version: 4, MigrationStep.block(steps))
        #expect(ran == (from < 2 ? [2, 4] : [4]))
        #expect(try schemaVersionAtURL(file.url) == 4)
    }

    @Test("The text of a schema does not depend on the order of declarations")
    func golden() throws {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: Second.types))
        #expect(
            realm.schema.goldenText == """
                class MDog
                    id: int primary
                    name: string indexed
                class MPerson
                    age: int optional
                    city: string
                    dogs: list of object<MDog>
                    favourite: object<MDog>
                    fullName: string
                    identifier: uuid
                    notes: list of string
                    score: double
                    seen: date optional

                """)
        #expect(realm.schema.goldenHash == "8d5b5ed62f6eb2a2")
        let turned = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: Second.types.reversed()))
        #expect(turned.schema.goldenHash == realm.schema.goldenHash)
        let other = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: Oldest.types))
        #expect(other.schema.goldenHash != realm.schema.goldenHash)
    }
}
