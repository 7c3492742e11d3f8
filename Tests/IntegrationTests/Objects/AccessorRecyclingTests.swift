// SPDX-License-Identifier: Apache-2.0
// An iteration may return the same accessor object repeatedly, but never one that the caller still references.

import Foundation
import RealmSwift
import Testing

private typealias Item = ListModels.Item
private typealias Holder = ListModels.Holder

private final class Weak {
    weak var item: ListModels.Item?
    init(_ item: ListModels.Item) { self.item = item }
}

private final class Unowned {
    unowned let item: ListModels.Item
    init(_ item: ListModels.Item) { self.item = item }
}

@Suite("Accessor recycling")
struct AccessorRecyclingTests {
    static func realm() throws -> Realm {
        let realm = try ListModels.realm()
        try realm.write {
            let items = (0..<300).map { Item($0) }
            realm.add(items)
            realm.create(Holder.self).items.append(objectsIn: items)
        }
        return realm
    }

    /// Different ways to iterate over the same 300 items.
    static let ways = ["table", "filter", "sorted", "list", "any", "lazy", "table[]", "filter[]", "sorted[]"]

    private static func byPosition(_ results: Results<Item>) -> AnySequence<ListModels.Item> {
        AnySequence((0..<results.count).lazy.map { results[$0] })
    }

    private static func items(_ realm: Realm, _ way: String) -> AnySequence<ListModels.Item> {
        let all = realm.objects(Item.self)
        switch way {
        case "filter": return AnySequence(all.filter("n >= 0"))
        case "sorted": return AnySequence(all.sorted(byKeyPath: "n"))
        case "list": return AnySequence(realm.objects(Holder.self)[0].items)
        case "any": return AnySequence(AnyRealmCollection(all))
        case "lazy": return AnySequence(all.filter { $0.n >= 0 })
        case "table[]": return byPosition(all)
        case "filter[]": return byPosition(all.filter("n >= 0"))
        case "sorted[]": return byPosition(all.sorted(byKeyPath: "n"))
        default: return AnySequence(all)
        }
    }

    @Test("Elements that a loop keeps in arrays, closures, variables and tuples keep their values", arguments: ways)
    func strong(_ way: String) throws {
        let realm = try Self.realm()
        var held: [ListModels.Item] = []
        var closures: [() -> Int] = []
        var previous: ListModels.Item?
        var pairs: [(ListModels.Item, Int)] = []
        for item in Self.items(realm, way) {
            if item.n % 3 == 0 { held.append(item) }
            if item.n % 3 == 1 { closures.append { item.n } }
            if item.n % 3 == 2 { pairs.append((item, item.n)) }
            if let previous { #expect(previous.n == item.n - 1 && previous !== item) }
            previous = item
        }
        #expect(held.map(\.n) == Array(stride(from: 0, to: 300, by: 3)))
        #expect(closures.map { $0() } == Array(stride(from: 1, to: 300, by: 3)))
        #expect(pairs.allSatisfy { $0.0.n == $0.1 } && pairs.count == 100)
    }

    @Test("Weak and unowned references to elements of a loop stay valid", arguments: ways)
    func weakly(_ way: String) throws {
        let realm = try Self.realm()
        var weak: [(Weak, Int)] = []
        var strong: [ListModels.Item] = []
        var unowned: [(Unowned, Int)] = []
        for item in Self.items(realm, way) {
            weak.append((Weak(item), item.n))
            if item.n % 7 == 0 {
                strong.append(item)
                unowned.append((Unowned(item), item.n))
            }
        }
        #expect(weak.allSatisfy { $0.0.item == nil || $0.0.item?.n == $0.1 })
        #expect(unowned.allSatisfy { $0.0.item.n == $0.1 } && strong.count == 43)
    }

    @Test("Every sequence method returns each element once", arguments: ways)
    func throughProperties(_ way: String) throws {
        let realm = try Self.realm()
        var seen: [ListModels.Item?] = []
        let iterator = Self.items(realm, way).makeIterator()
        while seen.count < 5 { seen.append(iterator.next()) }
        #expect(seen.map { $0?.n } == [0, 1, 2, 3, 4])
        #expect(Array(Self.items(realm, way)).map(\.n) == Array(0..<300))
        #expect(Set(Self.items(realm, way)).count == 300)
        #expect(
            Dictionary(grouping: Array(Self.items(realm, way)), by: { $0.n % 2 }).mapValues(\.count) == [
                0: 150, 1: 150,
            ])
        #expect(zip(Self.items(realm, way), Self.items(realm, way)).allSatisfy { $0.n == $1.n })
        #expect(Self.items(realm, way).reversed().map(\.n) == Array((0..<300).reversed()))
        #expect(Self.items(realm, way).max { $0.n < $1.n }?.n == 299)
        #expect(Self.items(realm, way).first { $0.n == 150 }?.n == 150)
        #expect(Self.items(realm, way).sorted { $0.n > $1.n }.first?.n == 299)
    }

    @Test("Lists and filters taken from an element stay valid after the loop has passed the element")
    func lists() throws {
        let realm = try ListModels.realm()
        try realm.write { for n in 0..<50 { realm.create(Holder.self, value: ["ints": [n]]) } }
        var lists: [List<Int>] = []
        var filters: [Results<ListModels.Item>] = []
        for holder in realm.objects(Holder.self) {
            lists.append(holder.ints)
            filters.append(holder.items.filter("TRUEPREDICATE"))
        }
        #expect(lists.map { $0[0] } == Array(0..<50) && filters.allSatisfy { $0.isEmpty })
    }

    @Test("A loop may change or delete its current element")
    func writes() throws {
        let realm = try Self.realm()
        var seen = 0
        for item in realm.objects(Item.self) {
            #expect(item.n == seen)
            seen += 1
            try realm.write {
                if item.n % 2 == 0 { realm.delete(item) } else { item.n = -item.n }
            }
        }
        #expect(seen == 300 && realm.objects(Item.self).count == 150)
        #expect(realm.objects(Item.self).filter("n < 0").count == 150)
    }

    @Test("A recycled accessor is valid for an object that is created after a rollback")
    func rolledBack() throws {
        let realm = try Self.realm()
        let all = realm.objects(Item.self)
        #expect(all[0].n + all[1].n == 1)
        realm.beginWrite()
        realm.add(Item(1000))
        realm.cancelWrite()
        try realm.write { realm.add(Item(1001)) }
        let last = all[300]
        try realm.write { all[5].n = 1005 }
        #expect(!last.isInvalidated && last.n == 1001)
        #expect(all[5].n == 1005 && all[4].n == 4)
    }

    @Test("Unreferenced results do not keep the Realm open")
    func released() throws {
        weak var holder: Holder?
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Item.self, Holder.self])
        try autoreleasepool {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Item(1)) }
            #expect(realm.objects(Item.self)[0].n == 1)
            holder = realm.objects(Holder.self).first
        }
        #expect(holder == nil)
        // An in-memory Realm is deleted when nothing keeps it open any more.
        #expect(try Realm(configuration: configuration).isEmpty)
    }

    // An accessor is released on one thread while `invalidate` runs on the Realm's thread. `Scripts/tsan` detects a
    // race.
    @Test("Accessors that are released on another thread during invalidation do not keep the Realm open")
    func endedElsewhere() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Item.self, Holder.self])
        try autoreleasepool {
            let realm = try Realm(configuration: configuration)
            try realm.write { for i in 0..<300 { realm.add(Item(i)) } }
            for _ in 0..<20 {
                nonisolated(unsafe) var held = Array(realm.objects(Item.self))
                #expect(held.count == 300)
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    held = []
                    done.signal()
                }
                realm.invalidate()
                done.wait()
            }
        }
        #expect(try Realm(configuration: configuration).isEmpty)
    }
}
