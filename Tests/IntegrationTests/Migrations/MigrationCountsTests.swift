// SPDX-License-Identifier: Apache-2.0
// The counts of affected objects in a plan, value by value, compared with the result of the migration.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// A class before and after nearly every kind of change.
enum Counted {
    class Before: MigrationCase {
        @Persisted var code = 0
        @Persisted var note: String?
        @Persisted var marks: List<Int?>
        @Persisted var price = ""
        @Persisted var hint: Int?
        @Persisted var street = ""
        @Persisted var number: Int?
        @Persisted var best: Part?
        @Persisted var parts: List<Part>
        override class func _realmObjectName() -> String? { "CThing" }
    }
    class Part: MigrationCase {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "CPart" }
    }
    class Other: MigrationCase {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "COther" }
    }
    class After: MigrationCase {
        @Persisted(primaryKey: true) var code = 0
        @Persisted var note = ""
        @Persisted var marks: List<Int>
        @Persisted var price = 0
        @Persisted var street = ""
        @Persisted var number = 0
        @Persisted var extra = 0
        @Persisted var parts: List<EmbeddedPart>
        override class func _realmObjectName() -> String? { "CThing" }
    }
    class EmbeddedPart: MigrationPart {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "CPart" }
    }

    static let count = 6

    static func write(_ url: URL) throws {
        let types: [ObjectBase.Type] = [Before.self, Part.self, Other.self]
        let codes = [1, 2, 2, 3, 3, 3]
        let prices = ["", "9", "8", "", "7", "6"]
        let hints: [Int?] = [0, 5, nil, nil, nil, nil]
        let streets = ["a", "a", "a", "b", "b", "c"]
        let numbers: [Int?] = [nil, 0, 1, 1, 1, nil]
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: types))
        try realm.write {
            realm.create(Other.self, value: ["label": "other"])
            var parts: [Part] = []
            for i in 0..<5 { parts.append(realm.create(Part.self, value: ["label": "part \(i)"])) }
            var things: [Before] = []
            for i in 0..<count {
                let thing = realm.create(Before.self, value: ["code": codes[i], "price": prices[i]])
                thing.note = i % 3 == 0 ? nil : "noted"
                thing.hint = hints[i]
                thing.street = streets[i]
                thing.number = numbers[i]
                things.append(thing)
            }
            things[1].marks.append(objectsIn: [nil, 4])
            things[2].marks.append(1)
            // Part 0 has one owner, 1 and 4 have two, 2 has one owner in a property that is removed, 3 has none.
            things[0].best = parts[2]
            things[0].parts.append(parts[0])
            things[1].parts.append(parts[1])
            things[2].parts.append(parts[1])
            things[3].parts.append(objectsIn: [parts[4], parts[4]])
        }
    }

    static func configuration(_ url: URL, _ block: MigrationBlock? = nil) -> Realm.Configuration {
        .init(fileURL: url, schemaVersion: 1, migrationBlock: block, objectTypes: [After.self, EmbeddedPart.self])
    }
}

extension Counted.After: UniqueConstraints {
    static var uniqueConstraints: [[String]] { [["street", "number"]] }
}

/// A chain of classes that become embedded, each in the one before it.
private enum Chain {
    class Holder: MigrationCase {
        @Persisted var first: First?
        override class func _realmObjectName() -> String? { "CHolder" }
    }
    class First: MigrationCase {
        @Persisted var next: Second?
        override class func _realmObjectName() -> String? { "CFirst" }
    }
    class Second: MigrationCase {
        @Persisted var number = 0
        @Persisted var more: List<Second>
        override class func _realmObjectName() -> String? { "CSecond" }
    }
    class EmbeddingHolder: MigrationCase {
        @Persisted var first: EmbeddedFirst?
        override class func _realmObjectName() -> String? { "CHolder" }
    }
    class EmbeddedFirst: MigrationPart {
        @Persisted var next: EmbeddedSecond?
        override class func _realmObjectName() -> String? { "CFirst" }
    }
    class EmbeddedSecond: MigrationPart {
        @Persisted var number = 0
        @Persisted var more: List<EmbeddedSecond>
        override class func _realmObjectName() -> String? { "CSecond" }
    }

    static func write(_ url: URL) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, objectTypes: [Holder.self, First.self, Second.self]))
        try realm.write {
            let firsts = (0..<3).map { _ in realm.create(First.self) }
            let seconds = (0..<6).map { realm.create(Second.self, value: ["number": $0]) }
            // Of the first class, two objects have no owner and are deleted. Of the second class, 1 is linked only
            // from one of them, and has two links to 3; 2 is linked only from the other one; 0 stays, and has two
            // links to 4; 5 has no owner.
            realm.create(Holder.self).first = firsts[0]
            firsts[0].next = seconds[0]
            firsts[1].next = seconds[1]
            firsts[2].next = seconds[2]
            seconds[0].more.append(objectsIn: [seconds[2], seconds[4], seconds[4]])
            seconds[1].more.append(objectsIn: [seconds[3], seconds[3]])
        }
    }

    static func configuration(_ url: URL) -> Realm.Configuration {
        .init(
            fileURL: url, schemaVersion: 1, migrationBlock: { _, _ in },
            objectTypes: [EmbeddingHolder.self, EmbeddedFirst.self, EmbeddedSecond.self])
    }
}

@Suite("Migrations: counts of a plan")
struct MigrationCountsTests {
    let folder = TestFolder()

    /// Not all objects of the class are affected by each change, and only nulls are losses of a change to required.
    @Test("A plan counts the objects that each change affects, and those that lose values")
    func counts() throws {
        try Counted.write(folder.file())
        let before = try Data(contentsOf: folder.file())
        let plan = try Realm.migrationPlan(for: Counted.configuration(folder.file()))
        var found: [String: [Int]] = [:]
        for change in plan.changes { found[change.text] = [change.objectCount, change.lossCount] }
        let expected: [String: [Int]] = [
            "Property 'CThing.note' has been made required.": [2, 2],
            "Property 'CThing.marks' has been made required.": [1, 1],
            "Property 'CThing.price' has been changed from 'string' to 'int'.": [4, 4],
            "Property 'CThing.hint' has been removed.": [2, 2],
            "Property 'CThing.number' has been made required.": [2, 2],
            "Property 'CThing.best' has been removed.": [1, 1],
            "Property 'CThing.extra' has been added.": [6, 0],
            "Unique constraint of class 'CThing' has been declared: street, number.": [0, 0],
            "Unique constraint of class 'CThing' has equal values: street, number.": [4, 0],
            "Primary Key for class 'CThing' has been added.": [0, 0],
            "Primary key property 'CThing.code' has equal values.": [5, 0],
            "Class 'CPart' has been changed from TopLevel to Embedded.": [4, 2],
        ]
        #expect(found == expected)
        let owners =
            "Embedded. 4 objects. Deleted because they have no incoming link: 2. Copied because they have several "
            + "incoming links: 2."
        #expect(plan.description.contains(owners))
        #expect(plan.description.contains("equal values. 5 objects. Opening throws unless the block changes them."))
        #expect(try Data(contentsOf: folder.file()) == before)
    }

    /// Objects whose owners are deleted count as deleted, and links from deleted objects make no copies.
    @Test("A plan counts deletions along a chain of classes that become embedded")
    func chain() throws {
        try Chain.write(folder.file())
        let configuration = Chain.configuration(folder.file())
        let plan = try Realm.migrationPlan(for: configuration)
        var found: [String: [Int]] = [:]
        for change in plan.changes { found[change.text] = [change.objectCount, change.lossCount] }
        #expect(
            found == [
                "Class 'CFirst' has been changed from TopLevel to Embedded.": [2, 2],
                "Class 'CSecond' has been changed from TopLevel to Embedded.": [4, 3],
            ])
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.dynamicObjects("CFirst").count == 1)
            let left = realm.dynamicObjects("CSecond").compactMap { $0["number"] as? Int }
            #expect(left.sorted() == [0, 2, 4, 4])
        }
        expectIntegrity(of: folder.file())
    }

    @Test("A plan lists undeclared classes and their objects, and not as a change")
    func undeclared() throws {
        try Counted.write(folder.file())
        let plan = try Realm.migrationPlan(for: Counted.configuration(folder.file()))
        #expect(plan.undeclaredCounts == ["COther": 1])
        #expect(!plan.changes.contains { $0.className == "COther" })
        #expect(plan.description.hasSuffix("\n- Class 'COther' is not declared and stays as it is. 1 objects."))
        var deleting = Counted.configuration(folder.file())
        deleting.deleteRealmIfMigrationNeeded = true
        let deletion = try Realm.migrationPlan(for: deleting)
        #expect(deletion.undeclaredCounts.isEmpty)
        #expect(deletion.changes.contains { $0.className == "COther" && $0.lossCount == 1 })
        #expect(!deletion.changes.contains { $0.text.contains("equal values") })
    }

    @Test("A plan with duplicate keys is refused, as the migration is")
    func refused() throws {
        try Counted.write(folder.file())
        let plan = try Realm.migrationPlan(for: Counted.configuration(folder.file()))
        #expect(plan.isRefused && !plan.callsBlock)
        #expect(plan.description.hasPrefix("schema version 0 to 1: refused: objects have duplicate keys\n"))
        let error = #expect(throws: Realm.Error.self) {
            try Realm(configuration: Counted.configuration(folder.file()))
        }
        #expect(error?.reason == .migrationFailed)
        #expect(try schemaVersionAtURL(folder.file()) == 0)
    }

    @Test("The counts of a plan are those of the migration")
    func migrated() throws {
        try Counted.write(folder.file())
        let configuration = Counted.configuration(folder.file()) { migration, _ in
            var next = 0
            migration.enumerateObjects(ofType: "CThing") { _, new in
                next += 1
                new?["code"] = next
                new?["number"] = next
            }
        }
        let plan = try Realm.migrationPlan(for: configuration)
        #expect(!plan.isRefused && plan.callsBlock)
        do {
            let realm = try Realm(configuration: configuration)
            let things = realm.objects(Counted.After.self)
            #expect(things.count == Counted.count)
            #expect(things.filter("note == ''").count == 2)
            #expect(things.filter("price == 0").count == Counted.count)
            #expect(things.filter("ANY marks == 0").count == 1)
            // Of five parts, two without an owner are deleted, and two are copied.
            #expect(realm.dynamicObjects("CPart").count == 5)
        }
        expectIntegrity(of: folder.file())
        let again = try Realm.migrationPlan(for: configuration)
        #expect(again.changes.isEmpty && again.undeclaredCounts == ["COther": 1])
    }
}
