// SPDX-License-Identifier: Apache-2.0
// What migrations do with many objects and long values: rows that come to be embedded are copied for each further link,
// in a time that follows the number of links; objects of a file with gaps are visited once each; nothing is left
// behind. And what plans and rehearsals say of losses.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Items stand on their own, then they belong to their boxes.
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

/// Sets and maps that may hold nulls, then may not.
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

@Suite("migrations: many objects and long values")
struct MigrationCopiesTests {
    let folder = TestFolder()

    // MARK: Embedding

    /// Places in long collections are remembered while their rows are copied: each copy has to stand where its link
    /// was.
    @Test("items that are linked to many times, from long lists and maps, are copied to each place")
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
            #expect(realm.dynamicObjects("EItem").count == 402 + 150 + 200 + 2, "the one without an owner is gone")
        }
        expectIntegrity(of: url)
    }

    /// The whole list was read for each of its items.
    @Test("embedding the items of one list takes a time that follows their number")
    func linearTime() throws {
        func seconds(_ count: Int) throws -> Double {
            let url = folder.file("\(count).realm")
            try Boxes.write(url) { realm in
                let box = realm.create(Boxes.Box.self, value: ["name": "one"])
                box.items.append(objectsIn: (0..<count).map { realm.create(Boxes.Item.self, value: ["number": $0]) })
            }
            let start = Self.processorSeconds
            let realm = try Boxes.embed(url)
            let time = Self.processorSeconds - start
            #expect(realm.objects(Boxes.EmbeddingBox.self).first?.items.count == count)
            return time
        }
        let few = try seconds(500)
        let many = try seconds(4000)
        #expect(many < 24 * few, "\(few) s and \(many) s")
    }

    /// Of this thread: what else the machine does is not counted.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    // MARK: Values

    /// A value of more than 2 KiB gets a block of its own only when its row group is sealed: for a column that was gone
    /// by then, nobody freed it.
    @Test("long values stored before the property is renamed over leave nothing behind")
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

    @Test("objects of a file with gaps are visited in order, each with itself as it is to be")
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

    /// The usual case: the new class was declared and run once, before its migration was written.
    @Test("a class is renamed to one that the file has already, where that has no objects", arguments: [5, 2500])
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

    @Test("nulls of lists that the block has replaced or taken out are not called unconverted")
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
        #expect(notes.map(\.object) == ["7", "8", "9", "10"], "of ages 6 to 9")
    }

    @Test("nulls of sets and maps that nobody has touched are unconverted, others are not")
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

    @Test("a plan knows what is lost from the kind of the difference and the values that are there")
    func losses() throws {
        let file = try MigrationFile()
        let embedding = try Realm.migrationPlan(for: file.configuration(Embedding2.types))
        // Each dog is linked to, several times: none goes.
        #expect(embedding.changes.filter(\.losesValues).map(\.text) == [])
        #expect(embedding.description.contains("Embedded. 2 objects. To 2 several link: they are copied for each."))
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
        // No age is nil before this.
        try {
            let realm = try file.open(Second.types)
            try realm.write { realm.objects(Second.Person.self)[4].age = nil }
        }()
        #expect(try back().description.contains("required. 1 objects. Nulls become zero or empty unless"))
    }

    @Test("a plan tells what deleteRealmIfMigrationNeeded would delete, and only where something differs")
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
