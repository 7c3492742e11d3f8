// SPDX-License-Identifier: Apache-2.0
// Migrations with many objects and long values. Rows that become embedded are copied for each further link, in time
// proportional to the number of links; objects of a file with gaps are each visited once; nothing is leaked. Also the
// losses that plans and rehearsals report.

import Foundation
import RealmSwift
import RegnumSystem
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Items are top-level objects at first, and then embedded in their boxes.
private enum Boxes {
    class Box: MigrationCase {
        @Persisted(primaryKey: true) var name = ""
        @Persisted var items: List<Item>
        @Persisted var named: Map<String, Item?>
        @Persisted var best: Item?
        override class func _realmObjectName() -> String? { "EBox" }
    }
    class Item: MigrationCase {
        @Persisted var number = 0
        override class func _realmObjectName() -> String? { "EItem" }
    }
    class EmbeddingBox: MigrationCase {
        @Persisted(primaryKey: true) var name = ""
        @Persisted var items: List<EmbeddedItem>
        @Persisted var named: Map<String, EmbeddedItem?>
        @Persisted var best: EmbeddedItem?
        override class func _realmObjectName() -> String? { "EBox" }
    }
    class EmbeddedItem: MigrationPart {
        @Persisted var number = 0
        override class func _realmObjectName() -> String? { "EItem" }
    }
    static let before: [ObjectBase.Type] = [Box.self, Item.self]
    static let after: [ObjectBase.Type] = [EmbeddingBox.self, EmbeddedItem.self]

    static func write(_ url: URL, _ fill: (Realm) -> Void) throws {
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: before))
        try realm.write { fill(realm) }
    }

    static func embed(_ url: URL) throws -> Realm {
        try Realm(configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: after))
    }
}

/// Sets and maps that may contain nulls at first, and then may not.
private enum Marks {
    class V0: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var tags: MutableSet<Int?>
        @Persisted var marks: Map<String, Int?>
        override class func _realmObjectName() -> String? { "EMarks" }
    }
    class V1: MigrationCase {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var tags: MutableSet<Int>
        @Persisted var marks: Map<String, Int>
        override class func _realmObjectName() -> String? { "EMarks" }
    }
}

@Suite("Migrations: many objects and long values")
struct MigrationCopiesTests {
    let folder = TestFolder()

    // MARK: Embedding

    /// Positions in long collections are stored while the rows are copied, and each copy must be at the position of
    /// its link.
    @Test("Items that many lists and maps link to are copied to each position")
    func places() throws {
        let url = folder.file()
        try Boxes.write(url) { realm in
            let items = (0..<200).map { realm.create(Boxes.Item.self, value: ["number": $0]) }
            let one = realm.create(Boxes.Box.self, value: ["name": "one"])
            one.items.append(objectsIn: items)
            one.items.append(objectsIn: items.reversed())
            one.items.append(objectsIn: [items[7], items[7]])
            for i in 0..<150 { one.named["k\(i)"] = items[i % 50] }
            one.best = items[3]
            let two = realm.create(Boxes.Box.self, value: ["name": "two", "best": items[3]])
            two.items.append(objectsIn: items)
            realm.create(Boxes.Item.self, value: ["number": 1000])
        }
        do {
            let realm = try Boxes.embed(url)
            let one = try #require(realm.object(ofType: Boxes.EmbeddingBox.self, forPrimaryKey: "one"))
            let two = try #require(realm.object(ofType: Boxes.EmbeddingBox.self, forPrimaryKey: "two"))
            let numbers = Array(0..<200)
            #expect(one.items.map(\.number) == numbers + Array(numbers.reversed()) + [7, 7])
            #expect(two.items.map(\.number) == numbers)
            #expect((0..<150).allSatisfy { one.named["k\($0)"]??.number == $0 % 50 })
            #expect(one.best?.number == 3 && two.best?.number == 3)
            #expect(
                realm.dynamicObjects("EItem").count == 402 + 150 + 200 + 2, "the item without an owner must be deleted")
        }
        expectIntegrity(of: url)
    }

    /// The whole list must not be read for each of its items.
    @Test("Embedding the items of one list takes time proportional to their number")
    func linearTime() throws {
        func seconds(_ count: Int) throws -> Double {
            let url = folder.file("\(count).realm")
            try Boxes.write(url) { realm in
                let box = realm.create(Boxes.Box.self, value: ["name": "one"])
                box.items.append(objectsIn: (0..<count).map { realm.create(Boxes.Item.self, value: ["number": $0]) })
            }
            let start = ThreadTime.seconds
            let realm = try Boxes.embed(url)
            let time = ThreadTime.seconds - start
            #expect(realm.objects(Boxes.EmbeddingBox.self).first?.items.count == count)
            return time
        }
        let few = try seconds(500)
        let many = try seconds(4000)
        #expect(many < 24 * few, "\(few) s and \(many) s")
    }

    // MARK: Values

    /// A value of more than 2 KiB gets its own block only when its row group is sealed. The block must also be freed
    /// if the column has been removed by then.
    @Test("Long values that a rename of another property overwrites are freed")
    func longValues() throws {
        let file = try MigrationFile(people: 20)
        do {
            let realm = try file.open(Renamed.types) { migration, _ in
                migration.enumerateObjects(ofType: "MPerson") { _, new in
                    new?["given"] = String(repeating: "long ", count: 2000)
                    new?["remarks"] = (0..<1000).map { "remark \($0)" }
                }
                migration.renameProperty(onType: "MPerson", from: "first", to: "given")
                migration.renameProperty(onType: "MPerson", from: "notes", to: "remarks")
            }
            #expect(realm.objects(Renamed.Person.self).map(\.given) == (0..<20).map { "first \($0)" })
            #expect(Array(realm.objects(Renamed.Person.self)[3].remarks) == ["a", nil, "b3"])
        }
        expectIntegrity(of: file.url)
    }

    @Test("Objects of a file with gaps are visited in order, each with its new object")
    func gaps() throws {
        let file = try MigrationFile(people: 3000)
        try {
            let realm = try file.open(Oldest.types, version: 0)
            let gone = Array(realm.objects(Oldest.Person.self)).filter { $0.age % 3 == 0 || $0.age < 40 }
            try realm.write { realm.delete(gone) }
        }()
        let left = (40..<3000).filter { $0 % 3 != 0 }
        let realm = try file.open(Renamed.types) { migration, _ in
            var visited: [Int] = []
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                let age = old?["age"] as? Int ?? -1
                visited.append(age)
                new?["years"] = age + 1
                new?["given"] = "\(old?["first"] as? String ?? "") again"
            }
            #expect(visited == left)
        }
        let people = realm.objects(Renamed.Person.self)
        #expect(people.map { $0.years ?? -1 } == left.map { $0 + 1 })
        #expect(people.map(\.given) == left.map { "first \($0) again" })
        expectIntegrity(of: file.url)
    }

    // MARK: Renamed classes

    /// The usual case: the new class was declared and run once before its migration was written.
    @Test("A class can be renamed to an existing class without objects", arguments: [5, 2500])
    func renamedIntoEmpty(_ count: Int) throws {
        class Shop: MigrationCase {
            @Persisted var name = ""
            @Persisted var star: Pets.Pet?
            @Persisted var stock: List<Pets.Pet>
            override class func _realmObjectName() -> String? { "MShop" }
        }
        let file = try MigrationFile(people: count)
        let added: [ObjectBase.Type] = [Pets.Pet.self, Shop.self]
        try {
            let realm = try file.open(Oldest.types + added, version: 0)
            try realm.write { realm.create(Shop.self, value: ["name": "empty"]) }
            #expect(realm.objects(Pets.Pet.self).isEmpty)
        }()
        do {
            let realm = try file.open(Pets.types + [Shop.self]) { migration, _ in
                migration.renameClass(from: "MDog", to: "MPet")
                var seen = 0
                migration.enumerateObjects(ofType: "MPet") { old, new in
                    seen += 1
                    #expect(old?["name"] as? String == new?["name"] as? String)
                }
                #expect(seen == max(count / 3, 2))
            }
            let people = realm.objects(Pets.Person.self)
            #expect(people[3].favourite?.name == "dog 0" && people[1].dogs[0].name == "dog 1")
            #expect(realm.objects(Pets.Pet.self).count == max(count / 3, 2))
            let shop = try #require(realm.objects(Shop.self).first)
            try realm.write {
                shop.star = people[3].favourite
                shop.stock.append(objectsIn: realm.objects(Pets.Pet.self))
            }
            #expect(shop.star?.name == "dog 0" && shop.stock.count == max(count / 3, 2))
            let names = try Realm.fileSchema(for: realm.configuration).objectSchema.map(\.className)
            #expect(names.sorted() == ["MPerson", "MPet", "MShop"])
        }
        expectIntegrity(of: file.url)
    }

    // MARK: Plans and rehearsals

    @Test("Nulls of lists that the block has replaced or deleted are not reported as unconverted")
    func replacedLists() throws {
        let file = try MigrationFile(people: 10)
        let rehearsal = try Realm.rehearseMigration(
            for: file.configuration(Second.types) { migration, _ in
                migration.enumerateObjects(ofType: "MPerson") { old, new in
                    let list = old?["notes"] as? List<String?>
                    let notes: [String?] = list.map { Array($0) } ?? []
                    let age = old?["age"] as? Int ?? -1
                    if age < 3 {
                        new?["notes"] = notes.map { $0 ?? "none" } as [String]
                    } else if age < 6 {
                        new?["notes"] = notes.compactMap { $0 } as [String]
                    } else if age == 6 {
                        (new?["notes"] as? List<String>)?.append("more")
                    }
                }
                var next = 0
                migration.enumerateObjects(ofType: "MDog") { _, new in
                    next += 1
                    new?["id"] = next
                }
            })
        #expect(rehearsal.error == nil)
        #expect(rehearsal.unconvertedCounts == ["MPerson.city": 5, "MPerson.notes": 4])
        let notes = rehearsal.unconverted.filter { $0.property == "notes" }
        #expect(notes.map(\.object) == ["7", "8", "9", "10"], "expected the objects of ages 6 to 9")
    }

    @Test("Nulls of sets and maps that the block has not changed are reported as unconverted")
    func replacedSets() throws {
        let url = folder.file()
        try {
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Marks.V0.self]))
            try realm.write {
                for id in 0..<3 {
                    let object = realm.create(Marks.V0.self, value: ["id": id])
                    object.tags.insert(objectsIn: [nil, id == 2 ? 0 : 5])
                    object.marks["a"] = .some(nil)
                    object.marks["b"] = 1
                }
            }
        }()
        let rehearsal = try Realm.rehearseMigration(
            for: .init(
                fileURL: url, schemaVersion: 1,
                migrationBlock: { migration, _ in
                    migration.enumerateObjects(ofType: "EMarks") { old, new in
                        if old?["id"] as? Int == 1 {
                            new?["tags"] = [1, 5]
                            (new?["marks"] as? Map<String, Int>)?["a"] = 7
                        }
                        if old?["id"] as? Int == 2 { (new?["marks"] as? Map<String, Int>)?.removeAll() }
                    }
                }, objectTypes: [Marks.V1.self]))
        #expect(rehearsal.error == nil)
        #expect(rehearsal.unconvertedCounts == ["EMarks.tags": 2, "EMarks.marks": 1])
        #expect(
            rehearsal.unconverted.map { "\($0.property) \($0.object)" }.sorted() == ["marks 0", "tags 0", "tags 2"])
    }

    @Test("A plan derives losses from the kind of difference and the stored values")
    func losses() throws {
        let file = try MigrationFile()
        let embedding = try Realm.migrationPlan(for: file.configuration(Embedding2.types))
        // Several links point to each dog, so no dog is deleted.
        #expect(embedding.changes.filter(\.losesValues).map(\.text) == [])
        let words = "Embedded. 2 objects. Copied because they have several incoming links: 2."
        #expect(embedding.description.contains(words))
        let keys = try Realm.migrationPlan(for: file.configuration(Second.types))
        #expect(keys.isRefused)
        #expect(keys.description.contains("Primary key property 'MDog.id' has equal values. 2 objects."))
        _ = try file.open(Second.types) { migration, _ in
            var next = 0
            migration.enumerateObjects(ofType: "MDog") { _, new in
                next += 1
                new?["id"] = next
            }
            migration.enumerateObjects(ofType: "MPerson") { old, new in
                if old?["age"] as? Int == 3 { new?["seen"] = Date(timeIntervalSince1970: 3) }
            }
        }
        func back() throws -> MigrationPlan {
            try Realm.migrationPlan(for: file.configuration(Oldest.types, version: 2))
        }
        let lost = Set(try back().changes.filter(\.losesValues).map(\.text))
        #expect(lost == ["Property 'MDog.id' has been removed.", "Property 'MPerson.seen' has been removed."])
        let kept = Set(try back().changes.filter { !$0.losesValues }.map(\.text))
        #expect(
            kept.isSuperset(of: [
                "Primary Key for class 'MDog' has been removed.", "Property 'MPerson.city' has been made optional.",
                "Property 'MPerson.first' has been added.", "Property 'MPerson.age' has been made required.",
            ]))
        // Until here no age is nil.
        try {
            let realm = try file.open(Second.types)
            try realm.write { realm.objects(Second.Person.self)[4].age = nil }
        }()
        #expect(try back().description.contains("required. 1 objects. Nulls become zero or empty unless"))
    }

    @Test("A plan lists what deleteRealmIfMigrationNeeded would delete, and only if the schemas differ")
    func deletions() throws {
        let file = try MigrationFile()
        var configuration = file.configuration([Pets.Pet.self], version: 0)
        configuration.deleteRealmIfMigrationNeeded = true
        let same = try Realm.migrationPlan(for: configuration)
        #expect(!same.deletesEverything && same.changes.map(\.text) == ["Class 'MPet' has been added."])
        configuration = file.configuration(Renamed.types, version: 0) { _, _ in }
        configuration.deleteRealmIfMigrationNeeded = true
        let plan = try Realm.migrationPlan(for: configuration)
        #expect(plan.deletesEverything && !plan.isRefused && !plan.callsBlock)
        let lost = plan.changes.filter(\.losesValues)
        #expect(lost.map(\.text).sorted() == ["MDog", "MPerson"].map { "All objects of class '\($0)' are deleted." })
        #expect(lost.map(\.objectCount).sorted() == [2, 5])
        #expect(plan.changes.contains { $0.text == "Property 'MPerson.first' has been removed." })
        #expect(plan.description.hasPrefix("schema version 0 to 0: deleteRealmIfMigrationNeeded deletes all objects\n"))
        configuration.schemaVersion = 3
        #expect(try Realm.migrationPlan(for: configuration).deletesEverything)
        #expect(try schemaVersionAtURL(file.url) == 0)
    }
}
