// SPDX-License-Identifier: Apache-2.0
// Sectioned collections: their order, keys of every type, and changes of their elements.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum SectionModels {
    enum Size: Int, PersistableEnum { case small = 1, large = 2 }

    class Item: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var number: Int?
        @Persisted var flag = false
        @Persisted var small: Int8 = 0
        @Persisted var single: Float = 0
        @Persisted var double: Double?
        @Persisted var date: Date?
        @Persisted var decimal: Decimal128
        @Persisted var objectId: ObjectId?
        @Persisted var uuid: UUID
        @Persisted var any: AnyRealmValue
        @Persisted var size: Size = .small
        @Persisted var data: Data?
        @Persisted var next: Item?
        @Persisted var list: List<Item>
        @Persisted var set: MutableSet<Item>
        @Persisted var words: List<String>
        @Persisted var numbers: MutableSet<Int>
        @Persisted(originProperty: "next") var before: LinkingObjects<Item>
    }

    /// An external value that computed keys depend on.
    nonisolated(unsafe) static var mark = ""

    class KeyedRow: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var city = ""
        @Persisted var rank = 0

        /// Computed from a stored property and an external value.
        var initial: String { String(name.prefix(1)) + SectionModels.mark }

        /// The stored property if it is empty, and another one otherwise.
        var town: String {
            let read = name
            guard !read.isEmpty else { return read }
            return city
        }
    }

    class View: Projection<Item> {
        @Projected(\Item.name) var title
        @Projected(\Item.number) var number
    }
}

private typealias Item = SectionModels.Item

/// The sections as text: "key: ids", one after the other.
private func shown<Key>(_ sections: SectionedResults<Key, SectionModels.Item>) -> [String] {
    sections.map { section in
        "\(section.key): " + section.map { "\($0.id)" }.joined(separator: " ")
    }
}

@Suite("Sectioned results")
struct SectionedResultsTests {
    /// Names "a1", "b2", "c3", "a4" ...; numbers nil, 1, 2, nil, 1 ...
    private func items(_ count: Int = 7) throws -> Realm {
        let realm = try memoryRealm(Item.self)
        try realm.write {
            for id in 0..<count {
                let item = Item()
                item.id = id
                item.name = ["a", "b", "c"][id % 3] + "\(id)"
                item.number = id % 3 == 0 ? nil : id % 3
                item.flag = id % 2 == 1
                item.small = Int8(id % 2)
                item.single = id % 2 == 0 ? .nan : 1
                item.double = id % 3 == 0 ? nil : .nan
                item.date = id % 2 == 0 ? nil : Date(timeIntervalSince1970: 5)
                item.decimal = Decimal128(value: id % 2)
                item.objectId = id % 2 == 0 ? nil : ObjectId("00112233445566778899aabb")
                item.any = [.none, .int(1), .string("x")][id % 3]
                item.size = id % 2 == 0 ? .large : .small
                item.data = id % 2 == 0 ? nil : Data([7])
                realm.add(item)
            }
            let all = realm.objects(Item.self)
            for item in all.dropFirst() {
                item.next = all[0]
                all[0].list.append(item)
                all[0].set.insert(item)
            }
            all[0].words.append(objectsIn: ["pear", "apple", "plum", "avocado"])
            all[0].numbers.insert(objectsIn: [1, 2, 3, 4, 5])
        }
        return realm
    }

    @Test("Sections and their elements have the order of the sort, in both directions")
    func byKeyPath() throws {
        let realm = try items()
        let up = realm.objects(Item.self).sectioned(by: \.number)
        #expect(shown(up) == ["nil: 0 3 6", "Optional(1): 1 4", "Optional(2): 2 5"])
        #expect(up.allKeys == [nil, 1, 2] && up.count == 3 && up.endIndex == 3)
        let down = realm.objects(Item.self).sectioned(by: \.number, ascending: false)
        #expect(shown(down) == ["Optional(2): 2 5", "Optional(1): 1 4", "nil: 0 3 6"])
        let both = realm.objects(Item.self)
            .sectioned(by: \.number, sortDescriptors: ["number", SortDescriptor(keyPath: \Item.id, ascending: false)])
        #expect(shown(both) == ["nil: 6 3 0", "Optional(1): 4 1", "Optional(2): 5 2"])
        #expect(up[1].key == 1 && up[1].id == 1 && up[1].count == 2 && up[1][1].id == 4)
        #expect(up[IndexPath(item: 1, section: 2)].id == 5 && IndexPath(row: 1, section: 2).section == 2)
        #expect(up[2].first?.id == 2 && up[2].last?.id == 5 && up.first?.count == 3)
    }

    @Test("A block computes keys, and elements with equal keys form one section wherever they are")
    func byBlock() throws {
        let realm = try items()
        let byLetter = realm.objects(Item.self)
            .sectioned(by: { String($0.name.prefix(1)) }, sortDescriptors: [SortDescriptor(keyPath: \Item.id)])
        #expect(shown(byLetter) == ["a: 0 3 6", "b: 1 4", "c: 2 5"])
        let core = realm.objects(Item.self).sectioned(sortDescriptors: ["name"]) { $0.id < 4 }
        #expect(shown(core) == ["true: 0 3 1 2", "false: 6 4 5"])
    }

    @Test("Keys can have every type, and nil and NaN are valid keys")
    func keyTypes() throws {
        let realm = try items(6)
        let all = realm.objects(Item.self)
        #expect(all.sectioned(by: \.flag).allKeys == [false, true])
        #expect(all.sectioned(by: \.small).allKeys == [0, 1])
        #expect(all.sectioned(by: \.single).map(\.count) == [3, 3])
        #expect(all.sectioned(by: \.single)[0].key.isNaN)
        #expect(all.sectioned(by: \.double).map(\.count) == [2, 4])
        #expect(all.sectioned(by: \.date).allKeys == [nil, Date(timeIntervalSince1970: 5)])
        #expect(all.sectioned(by: \.decimal).allKeys == [0, 1])
        #expect(all.sectioned(by: \.objectId).map(\.count) == [3, 3])
        #expect(all.sectioned(by: \.uuid).count == 6)
        #expect(all.sectioned(by: \.size).allKeys == [.small, .large])
        #expect(all.sectioned(by: \.any).allKeys == [.none, .int(1), .string("x")])
        #expect(all.sectioned(by: { $0.data }, sortDescriptors: ["id"]).allKeys == [nil, Data([7])])
        #expect(all.sectioned(by: \.next?.name, ascending: false).map(\.count) == [1, 5])
        #expect(all.sectioned(by: \.name).count == 6)
    }

    @Test("Lists, sets, linking objects, filtered results, erased collections and projections can be sectioned")
    func collections() throws {
        let realm = try items()
        let zero = realm.objects(Item.self)[0]
        let wanted = ["nil: 3 6", "Optional(1): 1 4", "Optional(2): 2 5"]
        #expect(shown(zero.list.sectioned(by: \.number)) == wanted)
        #expect(shown(zero.set.sectioned(by: \.number)) == wanted)
        #expect(shown(zero.before.sectioned(by: \.number)) == wanted)
        #expect(shown(AnyRealmCollection(zero.list).sectioned(by: \.number)) == wanted)
        #expect(shown(realm.objects(Item.self).where { $0.id > 0 }.sectioned(by: \.number)) == wanted)
        let words = zero.words.sectioned(by: { $0.prefix(1).uppercased() }, ascending: false)
        #expect(words.map { [$0.key] + $0 } == [["P", "plum", "pear"], ["A", "avocado", "apple"]])
        #expect(zero.numbers.sectioned(by: { $0 % 2 == 0 }).map { Array($0) } == [[1, 3, 5], [2, 4]])
        let views = realm.objects(SectionModels.View.self).sectioned(by: \.number)
        #expect(views.allKeys == [nil, 1, 2] && views[2].map(\.title) == ["c2", "c5"])
        #expect(views[0][0].rootObject.id == 0)
    }

    @Test("A section keeps its key while it moves, is removed and returns")
    func sectionsFollowTheirKeys() throws {
        let realm = try items()
        let sections = realm.objects(Item.self).sectioned(by: \.number)
        let two = sections[2]
        #expect(two == sections[2] && two != sections[1] && sections == sections)
        #expect(realm.objects(Item.self).sectioned(by: \.number) != sections)
        try realm.write { realm.delete(realm.objects(Item.self).where { $0.number != 2 }) }
        #expect(sections.count == 1 && two.count == 2 && sections[0] == two)
        try realm.write { realm.delete(realm.objects(Item.self)) }
        #expect(sections.isEmpty && two.isEmpty && two.key == 2 && Array(two).isEmpty)
        try realm.write { _ = realm.create(Item.self, value: ["id": 9, "number": 2]) }
        #expect(two.map(\.id) == [9] && sections.allKeys == [2])
    }

    @Test("A loop iterates over the sections and elements at its start")
    func loops() throws {
        let realm = try items()
        let sections = realm.objects(Item.self).sectioned(by: \.number)
        var seen: [Int] = []
        try realm.write {
            for section in sections {
                for item in section {
                    seen.append(item.id)
                    realm.delete(item)
                }
            }
        }
        #expect(seen == [0, 3, 6, 1, 4, 2, 5] && sections.isEmpty)
    }

    @Test("Frozen sections do not change, can be used on any thread, and thaw to live ones")
    func freezing() async throws {
        let realm = try items()
        let sections = realm.objects(Item.self).sectioned(by: \.number)
        #expect(sections.realm == realm && !sections.isFrozen && !sections.isInvalidated)
        let frozen = sections.freeze()
        let section = sections[1].freeze()
        try realm.write { realm.deleteAll() }
        #expect(sections.isEmpty && shown(frozen).count == 3 && section.map(\.id) == [1, 4])
        #expect(frozen.isFrozen && frozen[0].isFrozen && frozen.freeze() == frozen)
        #expect(frozen[0][0].isFrozen)
        let thawed = try #require(frozen.thaw())
        #expect(!thawed.isFrozen && thawed.isEmpty)
        #expect(try #require(section.thaw()).isEmpty)
    }

    @Test("Descriptions contain keys and elements")
    func descriptions() throws {
        let realm = try items(2)
        let text = realm.objects(Item.self).sectioned(by: \.name).description
        #expect(text.hasPrefix("SectionedResults<String, Item>") && text.contains("ResultsSection<a0>"))
    }

    @Test(
        "Invalid uses of sections are refused",
        arguments: [
            MisuseCase("There must be at least one SortDescriptor when using SectionedResults.") {
                _ = try memoryRealm(Item.self).objects(Item.self).sectioned(by: { $0.id }, sortDescriptors: [])
            },
            MisuseCase("Can not section Results with empty sortDescriptor parameter.") {
                _ = try memoryRealm(Item.self).objects(Item.self).sectioned(by: \.id, sortDescriptors: [])
            },
            MisuseCase("The section key path must match the primary sort descriptor.") {
                _ = try memoryRealm(Item.self).objects(Item.self).sectioned(by: \.id, sortDescriptors: ["name", "id"])
            },
            MisuseCase("Links are not supported as section keys.") {
                _ = try memoryRealm(Item.self).objects(Item.self)
                    .sectioned(by: { $0.next }, sortDescriptors: ["id"])
            },
            MisuseCase("Links are not supported as section keys.") {
                let realm = try memoryRealm(Item.self)
                try realm.write { realm.create(Item.self).any = .object(realm.objects(Item.self)[0]) }
                _ = realm.objects(Item.self).sectioned(by: { $0.any }, sortDescriptors: ["id"]).count
            },
            MisuseCase("Index 0 is out of bounds (must be less than 0).") {
                _ = try memoryRealm(Item.self).objects(Item.self).sectioned(by: \.id)[0]
            },
            MisuseCase("This method may only be called on RLMArray instances retrieved from an RLMRealm") {
                _ = List<SectionModels.Item>().sectioned(by: \.id)
            },
        ])
    func misuse(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words))
    }
}
