// SPDX-License-Identifier: Apache-2.0
// Values that a property's type cannot represent. A migration that adds an enum sets it to 0 or an empty text.
// The plan and the rehearsal must report that, because reading such a value ends the program.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// The classes of two versions, which share a table.
private enum UnformedBefore {
    class Ticket: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var kind: String?
        @Persisted var codes: List<Int>
        override class func _realmObjectName() -> String? { "UnformedTicket" }
    }
    class Keyless: Object {
        @Persisted var name = ""
        override class func _realmObjectName() -> String? { "UnformedKeyless" }
    }
}

private enum UnformedAfter {
    enum Level: Int, PersistableEnum { case low = 1, high }
    enum Kind: String, PersistableEnum { case bug, wish }
    enum Known: Int, PersistableEnum { case none, some }

    class Ticket: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var kind: Kind
        @Persisted var codes: List<Int8>
        @Persisted var level: Level
        @Persisted var word: Custom.Word = Custom.Word("a")
        @Persisted var known: Known
        @Persisted var maybe: Level?
        @Persisted var levels: List<Level>
        override class func _realmObjectName() -> String? { "UnformedTicket" }
    }
    class Keyless: Object {
        @Persisted var name = ""
        @Persisted var level: Level
        @Persisted var sizes: Map<String, Custom.Size>
        override class func _realmObjectName() -> String? { "UnformedKeyless" }
    }
}

@Suite("Values that a type cannot represent") struct UnrepresentableValuesTests {
    private static let old: [ObjectBase.Type] = [UnformedBefore.Ticket.self, UnformedBefore.Keyless.self]
    private static let new: [ObjectBase.Type] = [UnformedAfter.Ticket.self, UnformedAfter.Keyless.self]

    /// Runs `body` with the configuration of the new version, for a file of the old version.
    private func withOldFile(
        _ block: @escaping @Sendable (Migration, UInt64) -> Void = { _, _ in },
        _ body: (Realm.Configuration) throws -> Void
    ) throws {
        try withFile(Self.old) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    realm.create(UnformedBefore.Ticket.self, value: ["id": 1, "kind": "bug", "codes": [1, 127]])
                    realm.create(
                        UnformedBefore.Ticket.self, value: ["id": 2, "kind": "other", "codes": [1, 300, 400]])
                    realm.create(UnformedBefore.Ticket.self, value: ["id": 3, "codes": [-1]])
                    realm.create(UnformedBefore.Keyless.self)
                }
            }
            var next = configuration
            next.objectTypes = Self.new
            next.schemaVersion = 1
            next.migrationBlock = block
            try body(next)
        }
    }

    @Test("A plan names each property with values that its type cannot represent, with a count of objects")
    func plan() throws {
        try withOldFile { configuration in
            let plan = try Realm.migrationPlan(for: configuration)
            let found = plan.changes.filter { $0.text.contains("cannot represent") }
            let texts = found.map { "\($0.className) \($0.objectCount) \($0.lossCount) \($0.text)" }
            #expect(
                texts == [
                    "UnformedTicket 2 0 Property 'UnformedTicket.kind' would hold values that its type 'Kind' cannot "
                        + "represent.",
                    "UnformedTicket 1 0 Property 'UnformedTicket.codes' would hold values that its type "
                        + "'List<Int8>' cannot represent.",
                    "UnformedTicket 3 0 Property 'UnformedTicket.level' would hold values that its type 'Level' cannot "
                        + "represent.",
                    "UnformedTicket 3 0 Property 'UnformedTicket.word' would hold values that its type 'Word' cannot "
                        + "represent.",
                    "UnformedKeyless 1 0 Property 'UnformedKeyless.level' would hold values that its type 'Level' cannot "
                        + "represent.",
                ])
            #expect(
                plan.description.contains("3 objects. Reading the property ends the program unless the block sets it."))
            #expect(!plan.isRefused)
        }
    }

    @Test("A rehearsal lists the values that the block has not set")
    func rehearsal() throws {
        try withOldFile { configuration in
            let rehearsal = try Realm.rehearseMigration(for: configuration)
            #expect(rehearsal.error == nil)
            #expect(
                rehearsal.unreadableCounts == [
                    "UnformedTicket.kind": 2, "UnformedTicket.codes": 1, "UnformedTicket.level": 3,
                    "UnformedTicket.word": 3, "UnformedKeyless.level": 1,
                ])
        }
        let block: @Sendable (Migration, UInt64) -> Void = { migration, _ in
            migration.enumerateObjects(ofType: "UnformedTicket") { _, new in
                new?["kind"] = "wish"
                new?["codes"] = [1]
                new?["level"] = 2
                new?["word"] = "b"
            }
            migration.enumerateObjects(ofType: "UnformedKeyless") { _, new in new?["level"] = 1 }
        }
        try withOldFile(block) { configuration in
            #expect(try Realm.rehearseMigration(for: configuration).unreadableCounts.isEmpty)
            let realm = try Realm(configuration: configuration)
            #expect(realm.object(ofType: UnformedAfter.Ticket.self, forPrimaryKey: 3)?.level == .high)
            // Also for a file of the same version, because such values may exist already.
            try realm.write { realm.objects(UnformedAfter.Keyless.self).first?["level"] = 7 }
        }
    }

    @Test("The message of a failed read contains the class, property, object and value")
    func reading() throws {
        try withOldFile { configuration in
            nonisolated(unsafe) let realm = try Realm(configuration: configuration)
            func words(_ body: @escaping @Sendable () -> Void) throws -> String { try misuseText(body) ?? "read" }
            nonisolated(unsafe) let ticket = try #require(
                realm.object(ofType: UnformedAfter.Ticket.self, forPrimaryKey: 2))
            nonisolated(unsafe) let keyless = try #require(realm.objects(UnformedAfter.Keyless.self).first)
            let object = "of the object with the primary key '2' holds a value that the type cannot represent"
            let kind = try words { _ = ticket.kind }
            #expect(
                kind.contains("'other' to type 'Kind'") && kind.contains("Property 'UnformedTicket.kind' \(object)"))
            let level = try words { _ = ticket.level }
            #expect(
                level.contains("'0' to type 'Level'") && level.contains("Property 'UnformedTicket.level' \(object)"))
            let word = try words { _ = ticket.word }
            #expect(word.contains("'' to type 'Word'") && word.contains("Property 'UnformedTicket.word' \(object)"))
            let code = try words { _ = ticket.codes[1] }
            #expect(code.contains("'300' to type 'Int8'") && code.contains("Property 'UnformedTicket.codes' \(object)"))
            let all = try words { _ = Array(ticket.codes) }
            #expect(all.contains("Property 'UnformedTicket.codes' \(object)"), "\(all)")
            let other = try words { _ = keyless.level }
            #expect(other.contains("Property 'UnformedKeyless.level' of an object without a primary key"))
            try realm.write { keyless["sizes"] = ["a": "huge"] }
            let size = try words { _ = keyless.sizes["a"] }
            #expect(size.contains("Property 'UnformedKeyless.sizes' of an object without a primary key"), "\(size)")
            #expect(ticket.maybe == nil && ticket.known == .none && ticket.levels.isEmpty)
        }
    }

    @Test("Reading an integer of fewer bits than the stored value is a programmer error that names it")
    func narrow() throws {
        try withFile([NarrowBefore.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.create(NarrowBefore.self, value: ["id": 9, "number": 40_000]) }
            }
            var next = configuration
            next.objectTypes = [NarrowAfter.self]
            nonisolated(unsafe) let row = try #require(try Realm(configuration: next).objects(NarrowAfter.self).first)
            let words = try misuseText { _ = row.number }
            #expect(words?.contains("Failed to convert persisted value '40000' to type 'Int16'") == true)
            #expect(words?.contains("Property 'UnformedNarrow.number' of the object with the primary key '9'") == true)
            let plan = try Realm.migrationPlan(for: next)
            #expect(plan.changes.map(\.objectCount) == [1] && !plan.isRefused && !plan.changes[0].needsMigration)
        }
    }
}

class NarrowBefore: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var number = 0
    override class func _realmObjectName() -> String? { "UnformedNarrow" }
}

class NarrowAfter: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var number: Int16 = 0
    override class func _realmObjectName() -> String? { "UnformedNarrow" }
}
