// SPDX-License-Identifier: Apache-2.0
// Steps with an old schema: each migrates the contents of its version to those of the next, independent of the
// current classes. Also the unconverted values that a rehearsal reports.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// A shop in its versions 0 to 3. The price has another type from version 2 on, and another type and name from 3 on.
private enum Shop {
    class V0: MigrationCase {
        @Persisted var name = ""
        @Persisted var price = ""
        @Persisted var parts: List<Part0>
        override class func _realmObjectName() -> String? { "SItem" }
    }
    class Part0: MigrationCase {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "SPart" }
    }
    class V1: MigrationCase {
        @Persisted var title = ""
        @Persisted var price = ""
        @Persisted var parts: List<Part0>
        override class func _realmObjectName() -> String? { "SItem" }
    }
    class V2: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var title = ""
        @Persisted var price = 0
        @Persisted var parts: List<Part0>
        override class func _realmObjectName() -> String? { "SItem" }
    }
    class V3: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var title = ""
        @Persisted var price = 0.0
        @Persisted var pieces: List<Piece>
        override class func _realmObjectName() -> String? { "SGood" }
    }
    class Piece: MigrationPart {
        @Persisted var label = ""
        override class func _realmObjectName() -> String? { "SPiece" }
    }
    static let types: [[ObjectBase.Type]] = [
        [V0.self, Part0.self], [V1.self, Part0.self], [V2.self, Part0.self], [V3.self, Piece.self],
    ]

    /// `goldenText` of the versions when they were shipped.
    static let texts = [
        """
        class SItem
            name: string
            parts: list of object<SPart>
            price: string
        class SPart
            label: string

        """,
        """
        class SItem
            parts: list of object<SPart>
            price: string
            title: string
        class SPart
            label: string

        """,
        """
        class SItem
            id: int primary
            parts: list of object<SPart>
            price: int
            title: string
        class SPart
            label: string

        """,
    ]

    static let steps = [
        MigrationStep(from: 0, to: 1, oldSchema: texts[0]) { migration in
            migration.renameProperty(onType: "SItem", from: "name", to: "title")
        },
        MigrationStep(from: 1, to: 2, oldSchema: texts[1]) { migration in
            var next = 0
            migration.enumerateObjects(ofType: "SItem") { old, new in
                next += 1
                new?["id"] = next
                // The property of the same name is a number now, and has yet another type in the current classes.
                new?["price"] = Int(old?["price"] as? String ?? "") ?? 0
            }
        },
        MigrationStep(from: 2, to: 3, oldSchema: texts[2]) { migration in
            migration.renameClass(from: "SItem", to: "SGood")
            migration.renameClass(from: "SPart", to: "SPiece")
            migration.renameProperty(onType: "SGood", from: "parts", to: "pieces")
            migration.enumerateObjects(ofType: "SGood") { old, new in
                new?["price"] = Double(old?["price"] as? Int ?? -1) / 100
            }
        },
    ]

    static let count = 700

    static func write(_ url: URL, _ version: Int) throws {
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: UInt64(version), objectTypes: types[version]))
        try realm.write {
            for i in 1...count {
                var value: [String: Any] = [version == 0 ? "name" : "title": "item \(i)"]
                if version < 2 { value["price"] = i == 5 ? "five" : "\(i * 10)" }
                if version == 2 { value["price"] = i == 5 ? 0 : i * 10 }
                if version == 3 { value["price"] = i == 5 ? 0 : Double(i) / 10 }
                if version >= 2 { value["id"] = i }
                let parts = [["label": "a\(i)"], ["label": "b\(i)"]]
                value[version == 3 ? "pieces" : "parts"] = parts
                realm.dynamicCreate(version == 3 ? "SGood" : "SItem", value: value)
            }
        }
    }

    static func configuration(_ url: URL, steps: [MigrationStep] = steps) -> Realm.Configuration {
        .init(
            fileURL: url, schemaVersion: 3, migrationBlock: MigrationStep.block(steps), objectTypes: types[3])
    }
}

@Suite("Migrations: steps with schemas")
struct MigrationOldSchemaStepTests {
    let folder = TestFolder()

    @Test("Each step migrates from its schema to the next, for files of every version", arguments: 0...3)
    func stages(_ version: Int) throws {
        try Shop.write(folder.file(), version)
        do {
            let realm = try Realm(configuration: Shop.configuration(folder.file()))
            let goods = realm.objects(Shop.V3.self)
            #expect(goods.count == Shop.count)
            for good in goods {
                #expect(good.title == "item \(good.id)")
                #expect(good.price == (good.id == 5 ? 0 : Double(good.id) / 10))
                #expect(good.pieces.map(\.label) == ["a\(good.id)", "b\(good.id)"])
            }
            #expect(realm.object(ofType: Shop.V3.self, forPrimaryKey: 70)?.price == 7)
            #expect(
                try Realm.fileSchema(for: realm.configuration).objectSchema.map(\.className).sorted() == [
                    "SGood", "SPiece",
                ])
        }
        #expect(try schemaVersionAtURL(folder.file()) == 3)
        expectIntegrity(of: folder.file())
    }

    @Test("A step sees the result of the step before it as its old objects, not its own changes")
    func snapshots() throws {
        try Shop.write(folder.file(), 0)
        let steps = [
            MigrationStep(from: 0, to: 1, oldSchema: Shop.texts[0]) { migration in
                migration.enumerateObjects(ofType: "SItem") { old, new in
                    new?["title"] = "first \(old?["name"] as? String ?? "")"
                    if new?["price"] as? String == "20", let new { migration.delete(new) }
                }
                #expect(migration.oldSchema["SItem"]?["name"] != nil && migration.newSchema["SItem"]?["title"] != nil)
                migration.create("SItem", value: ["title": "made", "price": "99"])
            },
            MigrationStep(from: 1, to: 3, oldSchema: Shop.texts[1]) { migration in
                #expect(migration.oldSchema["SItem"]?["title"] != nil && migration.oldSchema["SItem"]?["name"] == nil)
                var seen: [String] = []
                migration.renameClass(from: "SItem", to: "SGood")
                var next = 0
                migration.enumerateObjects(ofType: "SGood") { old, new in
                    next += 1
                    new?["id"] = next
                    new?["title"] = "second"
                    seen.append(old?["title"] as? String ?? "")
                    #expect(old?.dynamicList("parts").count == (old?["price"] as? String == "99" ? 0 : 2))
                }
                #expect(seen.count == Shop.count && seen.first == "first item 1" && seen.last == "made")
                migration.deleteData(forType: "SPart")
            },
        ]
        let realm = try Realm(configuration: Shop.configuration(folder.file(), steps: steps))
        #expect(realm.objects(Shop.V3.self).allSatisfy { $0.title == "second" && $0.pieces.isEmpty })
        expectIntegrity(of: folder.file())
    }

    @Test("A failure in any step leaves the file unchanged bit for bit", arguments: [0, 1, 2])
    func failure(_ place: Int) throws {
        try Shop.write(folder.file(), 0)
        let before = try Data(contentsOf: folder.file())
        var steps = Shop.steps
        let good = steps[place]
        steps[place] = MigrationStep(from: UInt64(place), to: UInt64(place + 1), oldSchema: Shop.texts[place]) {
            migration in
            if place == 0 { migration.renameProperty(onType: "SItem", from: "nothing", to: "title") }
            if place == 1 { migration.enumerateObjects(ofType: "SItem") { _, new in new?["id"] = 1 } }
            if place == 2 { migration.abort(CancellationError()) }
        }
        _ = good
        #expect(throws: (any Error).self) { try Realm(configuration: Shop.configuration(folder.file(), steps: steps)) }
        #expect(try Data(contentsOf: folder.file()) == before)
        _ = try Realm(configuration: Shop.configuration(folder.file()))
        expectIntegrity(of: folder.file())
    }

    @Test("Gaps, a wrong order and invalid schemas are refused when the list of steps is made")
    func order() throws {
        @Sendable func step(_ from: UInt64, _ to: UInt64, _ text: String = Shop.texts[0]) -> MigrationStep {
            MigrationStep(from: from, to: to, oldSchema: text) { _ in }
        }
        #expect(
            try misuseText { _ = MigrationStep.block([step(0, 1), step(2, 3)]) }?.contains(
                "Files of version 1 would find no step.") == true)
        let gap = try misuseText { _ = MigrationStep.block([step(0, 2), step(1, 3)]) }
        #expect(gap?.contains("must be contiguous") == true)
        #expect(try misuseText { _ = step(2, 2) }?.contains("must lead to a higher version") == true)
        #expect(
            try misuseText { _ = step(0, 1, "class A\n    x: nothing\n") }?.contains(
                "line 2, 'x: nothing', is not a line of a schema") == true)
        #expect(
            try misuseText { _ = step(0, 1, "class A\n    x: object<B>\n") }?.contains(
                "links to 'B', which is not in the text") == true)
    }

    @Test("Files that no step starts from, or that differ from its schema, are refused and unchanged")
    func refusals() throws {
        try Shop.write(folder.file(), 0)
        func refusal(_ steps: [MigrationStep]) throws -> String {
            let before = try Data(contentsOf: folder.file())
            let error = #expect(throws: Realm.Error.self) {
                try Realm(configuration: Shop.configuration(folder.file(), steps: steps))
            }
            #expect(try Data(contentsOf: folder.file()) == before)
            return error?.localizedDescription ?? ""
        }
        #expect(
            try refusal(Array(Shop.steps[1...])).hasPrefix(
                "The file has schema version 0, and the first migration step for it begins with version 1."))
        let other = MigrationStep(from: 0, to: 3, oldSchema: Shop.texts[1]) { _ in }
        #expect(try refusal([other]).contains("- Property 'SItem.title' has been added.\n"))
        let beyond = MigrationStep(from: 0, to: 4, oldSchema: Shop.texts[0]) { _ in }
        #expect(try refusal([beyond]).contains("leads to version 4, and `schemaVersion` is 3."))
    }

    @Test("The text of a schema can be parsed, and the result has the same text")
    func texts() throws {
        class Everything: MigrationCase {
            @Persisted(primaryKey: true) var key: ObjectId
            @Persisted(indexed: true) var number: Int?
            @Persisted var any: AnyRealmValue
            @Persisted var decimals: MutableSet<Decimal128>
            @Persisted var dates: Map<String, Date?>
            @Persisted var link: Shop.Part0?
            @Persisted var links: Map<String, Shop.Part0?>
            @Persisted var piece: Shop.Piece?
            @Persisted var data: Data?
            @Persisted var id: UUID
            override class func _realmObjectName() -> String? { "SEverything" }
        }
        let realm = try Realm(
            configuration: .init(
                fileURL: folder.file(), objectTypes: [Everything.self, Shop.Part0.self, Shop.Piece.self]))
        let text = realm.schema.goldenText
        #expect(try Schema.golden(text).goldenText == text)
        #expect(try Realm.fileSchema(for: realm.configuration).goldenText == text)
        let error = #expect(throws: Realm.Error.self) { try Schema.golden("class A\nclass A\n") }
        #expect(error?.code == .invalidInput)
    }

    @Test("A rehearsal lists the values that were not converted")
    func unconverted() throws {
        class Item: MigrationCase {
            @Persisted var title = ""
            @Persisted var price = 0
            @Persisted var parts: List<Shop.Part0>
            override class func _realmObjectName() -> String? { "SItem" }
        }
        try Shop.write(folder.file(), 0)
        let before = try Data(contentsOf: folder.file())
        let rehearsal = try Realm.rehearseMigration(
            for: .init(
                fileURL: folder.file(), schemaVersion: 1,
                migrationBlock: { migration, _ in
                    migration.renameProperty(onType: "SItem", from: "name", to: "title")
                    migration.enumerateObjects(ofType: "SItem") { old, new in
                        new?["price"] = Int(old?["price"] as? String ?? "") ?? 0
                    }
                }, objectTypes: [Item.self, Shop.Part0.self]))
        #expect(rehearsal.error == nil)
        #expect(rehearsal.unconvertedCounts == ["SItem.price": 1])
        #expect(rehearsal.unconverted.map(\.description) == ["SItem.price of 5: \"five\""])
        let unhandled = try Realm.rehearseMigration(
            for: .init(fileURL: folder.file(), schemaVersion: 1, objectTypes: [Item.self, Shop.Part0.self]))
        #expect(unhandled.unconvertedCounts == ["SItem.price": Shop.count])
        #expect(unhandled.unconverted.count == Shop.count)
        #expect(try Data(contentsOf: folder.file()) == before)
    }

    @Test("Nulls that become defaults are reported as unconverted")
    func nulls() throws {
        let file = try MigrationFile(people: 10)
        let rehearsal = try Realm.rehearseMigration(
            for: file.configuration(Second.types) { migration, _ in
                migration.enumerateObjects(ofType: "MPerson") { _, new in
                    if (new?["city"] as? String)?.isEmpty == true, new?["age"] as? Int == 3 { new?["city"] = "known" }
                }
                var next = 0
                migration.enumerateObjects(ofType: "MDog") { _, new in
                    next += 1
                    new?["id"] = next
                }
            })
        #expect(rehearsal.error == nil)
        #expect(rehearsal.unconvertedCounts == ["MPerson.city": 4, "MPerson.notes": 10])
        #expect(rehearsal.unconverted.contains { $0.description == "MPerson.city of 2: nil" })
    }
}
