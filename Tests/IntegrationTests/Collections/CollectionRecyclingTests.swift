// SPDX-License-Identifier: Apache-2.0
// A loop that reuses an accessor for the next object also reuses the accessor's collections, but never a collection
// that is still referenced, and never with cached elements of the previous object.

import Foundation
import RealmSwift
import Testing

private final class Crate: Object {
    @Persisted(primaryKey: true) var n: Int
    @Persisted var numbers: List<Int>
    @Persisted var words: List<String>
    @Persisted var marks: MutableSet<Int>
    @Persisted var prices: Map<String, Int>
    @Persisted var crates: List<Crate>
    @Persisted var names: MutableSet<String>
    @Persisted var titles: Map<String, String>
}

private final class WeakList {
    weak var list: List<Int>?
    init(_ list: List<Int>) { self.list = list }
}

@Suite("Recycled collections")
struct CollectionRecyclingTests {
    static let ways = ["table", "filter", "sorted", "list", "table[]", "filter[]", "frozen"]
    private static let count = 200

    private static func realm() throws -> Realm {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Crate.self]))
        try realm.write {
            let crates = (0..<count).map { n in
                let crate = Crate()
                crate.n = n
                crate.numbers.append(objectsIn: 0..<n % 5)
                crate.words.append(objectsIn: (0..<n % 4).map { "word \($0) of \(n)" })
                crate.marks.insert(objectsIn: [n, -n])
                crate.prices["a"] = n
                if n % 2 == 0 { crate.prices["b"] = -n }
                return crate
            }
            realm.add(crates)
            for crate in crates where crate.n > 0 { crate.crates.append(objectsIn: crates[..<min(crate.n, 3)]) }
            for crate in crates { crates[0].crates.append(crate) }
        }
        return realm
    }

    private static func crates(_ realm: Realm, _ way: String) -> AnySequence<Crate> {
        let all = realm.objects(Crate.self)
        func byPosition(_ results: Results<Crate>) -> AnySequence<Crate> {
            AnySequence((0..<results.count).lazy.map { results[$0] })
        }
        switch way {
        case "filter": return AnySequence(all.filter("n >= 0"))
        case "sorted": return AnySequence(all.sorted(byKeyPath: "n"))
        case "list": return AnySequence(all[0].crates)
        case "table[]": return byPosition(all)
        case "filter[]": return byPosition(all.filter("n >= 0"))
        case "frozen": return AnySequence(all.freeze())
        default: return AnySequence(all)
        }
    }

    private func expectWhole(_ crate: Crate, _ n: Int) {
        #expect(crate.n == n)
        #expect(crate.numbers.count == n % 5 && Array(crate.numbers) == Array(0..<n % 5))
        #expect(Array(crate.words) == (0..<n % 4).map { "word \($0) of \(n)" })
        #expect(crate.words.indices.map { crate.words[$0] } == Array(crate.words))
        #expect(Array(crate.marks) == (n == 0 ? [0] : [-n, n]) && crate.marks.contains(n))
        #expect(crate.prices.count == 2 - n % 2 && crate.prices["a"] == n)
        #expect(crate.prices["b"] == (n % 2 == 0 ? -n : nil) && crate.prices["c"] == nil)
        if n > 0 { #expect(crate.crates.map(\.n) == Array(0..<min(n, 3))) }
        #expect(crate.crates.first?.n == 0 && crate.numbers.first == (n % 5 == 0 ? nil : 0))
    }

    @Test("The collections of a recycled accessor show the elements of the current object", arguments: ways)
    func elements(_ way: String) throws {
        let realm = try Self.realm()
        var n = 0
        for crate in Self.crates(realm, way) {
            expectWhole(crate, n)
            n += 1
        }
        #expect(n == Self.count)
        n = 0
        for crate in Self.crates(realm, way) {
            if n % 3 == 0 { #expect(crate.numbers.count == n % 5) }
            if n % 3 == 1 { #expect(crate.prices["a"] == n) }
            n += 1
        }
    }

    @Test("Collections that a loop keeps still show the elements of their own object", arguments: ways)
    func held(_ way: String) throws {
        let realm = try Self.realm()
        var lists: [List<Int>] = []
        var maps: [Map<String, Int>] = []
        var sets: [MutableSet<Int>] = []
        var weak: [(WeakList, Int)] = []
        var slices: [(Slice<List<String>>, Int)] = []
        var lazy: [(LazyMapSequence<List<Int>, Int>, Int)] = []
        var owners: [Crate] = []
        var n = 0
        for crate in Self.crates(realm, way) {
            switch n % 7 {
            case 0: lists.append(crate.numbers)
            case 1: maps.append(crate.prices)
            case 2: sets.append(crate.marks)
            case 3: weak.append((WeakList(crate.numbers), n))
            case 4: slices.append((crate.words[0..<crate.words.count], n))
            case 5: lazy.append((crate.numbers.lazy.map { $0 + 1 }, n))
            default:
                _ = crate.numbers.count
                owners.append(crate)
            }
            n += 1
        }
        let held = lists.map { Array($0) }
        #expect(held == stride(from: 0, to: Self.count, by: 7).map { Array(0..<$0 % 5) })
        #expect(maps.compactMap { $0["a"] } == Array(stride(from: 1, to: Self.count, by: 7)))
        #expect(zip(sets, stride(from: 2, to: Self.count, by: 7)).allSatisfy { $0.contains($1) && $0.count == 2 })
        #expect(weak.allSatisfy { $0.0.list == nil || $0.0.list?.count == $0.1 % 5 })
        #expect(slices.allSatisfy { slice, n in slice.allSatisfy { $0.hasSuffix(" of \(n)") } && slice.count == n % 4 })
        #expect(lazy.allSatisfy { Array($0.0) == Array(1..<$0.1 % 5 + 1) })
        for (owner, n) in zip(owners, stride(from: 6, to: Self.count, by: 7)) { expectWhole(owner, n) }
    }

    @Test(
        "Collections can be changed in a loop that also creates and deletes objects",
        arguments: ways.filter { $0 != "frozen" })
    func changes(_ way: String) throws {
        let realm = try Self.realm()
        try realm.write {
            for crate in Self.crates(realm, way) {
                let n = crate.n
                // A loop over positions would run past the end.
                if n % 9 == 8, !way.hasSuffix("[]") {
                    realm.delete(crate)
                    continue
                }
                crate.numbers.append(1000 + n)
                crate.words.append("more of \(n)")
                crate.marks.insert(1000 + n)
                crate.prices["c"] = n
                #expect(crate.numbers.last == 1000 + n && crate.words.last == "more of \(n)")
                #expect(crate.prices["c"] == n && crate.marks.count == (n == 0 ? 2 : 3))
            }
        }
        for crate in realm.objects(Crate.self) {
            let n = crate.n
            #expect(n % 9 != 8 || way.hasSuffix("[]"))
            #expect(Array(crate.numbers) == Array(0..<n % 5) + [1000 + n])
            #expect(Array(crate.words) == (0..<n % 4).map { "word \($0) of \(n)" } + ["more of \(n)"])
            #expect(crate.marks.contains(1000 + n) && crate.marks.count == (n == 0 ? 2 : 3))
            #expect(crate.prices.count == 3 - n % 2 && crate.prices["c"] == n)
        }
    }

    @Test("A rollback restores a collection, and deleting the owner invalidates it")
    func invalidated() throws {
        let realm = try Self.realm()
        let crate = realm.objects(Crate.self)[7]
        let numbers = crate.numbers
        #expect(numbers.count == 2)
        realm.beginWrite()
        numbers.append(5)
        #expect(numbers.count == 3 && numbers[2] == 5)
        realm.cancelWrite()
        #expect(numbers.count == 2 && Array(numbers) == [0, 1])
        try realm.write {
            numbers.append(6)
            #expect(Array(numbers) == [0, 1, 6])
            realm.delete(crate)
            #expect(numbers.isInvalidated)
        }
        #expect(numbers.isInvalidated)
    }

    /// Stores a text that is one byte too long in a collection that has been read before.
    private static func store(_ body: (Crate, String) -> Void) throws {
        let realm = try Self.realm()
        try realm.write {
            let crate = realm.objects(Crate.self)[3]
            crate.words.append("short")
            crate.names.insert("short")
            crate.titles["a"] = "short"
            #expect(crate.words.count == 4 && crate.names.count == 1 && crate.titles["a"] == "short")
            body(crate, String(repeating: "x", count: 16_777_200))
        }
    }

    @Sendable static func appendLong() throws { try store { $0.words.append($1) } }
    @Sendable static func insertLong() throws { try store { $0.names.insert($1) } }
    @Sendable static func setLong() throws { try store { $0.titles["a"] = $1 } }

    @Test("A list, set or map refuses a text that is too long", arguments: [appendLong, insertLong, setLong])
    func tooLong(_ use: @escaping @Sendable () throws -> Void) throws {
        #expect(try misuseText(use)?.contains("String too big") == true)
    }

    /// Reads an element past the end of a list that has been read before.
    @Sendable static func behindEnd() throws {
        let numbers = try realm().objects(Crate.self)[3].numbers
        #expect(numbers.count == 3 && numbers[2] == 2)
        _ = numbers[3]
    }
    @Sendable static func beforeStart() throws {
        let numbers = try realm().objects(Crate.self)[3].numbers
        #expect(numbers.count == 3)
        _ = numbers[-1]
    }

    @Test("Positions out of bounds are refused")
    func positions() throws {
        #expect(try misuseText(Self.behindEnd)?.contains("Index 3 is out of bounds (must be less than 3)") == true)
        #expect(try misuseText(Self.beforeStart)?.contains("Cannot pass a negative value") == true)
    }

    @Sendable static func appendOutside() throws {
        let crate = try realm().objects(Crate.self)[3]
        #expect(crate.numbers.count == 3)
        crate.numbers.append(1)
    }
    @Sendable static func insertOutside() throws {
        let crate = try realm().objects(Crate.self)[3]
        #expect(crate.marks.count == 2)
        crate.marks.insert(1)
    }
    @Sendable static func setOutside() throws {
        let crate = try realm().objects(Crate.self)[3]
        #expect(crate.prices.count == 1)
        crate.prices["a"] = 1
    }

    @Test("Changes outside a write transaction are refused", arguments: [appendOutside, insertOutside, setOutside])
    func outside(_ use: @escaping @Sendable () throws -> Void) throws {
        #expect(try misuseText(use)?.contains("outside of a write transaction") == true)
    }

    @Test("Each list keeps its own elements while others change; invalidating the Realm invalidates all")
    func others() throws {
        let realm = try Self.realm()
        let crates = Array(realm.objects(Crate.self).prefix(3))
        let lists = crates.map(\.numbers)
        try realm.write {
            for turn in 0..<40 {
                lists[turn % 3].append(turn)
                crates[turn % 2].prices["k\(turn)"] = turn
                #expect(lists.map(\.count) == (0..<3).map { $0 + (turn - $0 + 3) / 3 })
                #expect(lists[turn % 3].last == turn && Array(lists[turn % 3]).last == turn)
                #expect(crates[turn % 2].prices["k\(turn)"] == turn && crates[2].prices["a"] == 2)
            }
        }
        realm.invalidate()
        #expect(lists.allSatisfy { $0.isInvalidated })
    }

    @Test("Many threads read the collections of frozen objects at the same time")
    func threads() throws {
        let realm = try Self.realm()
        try realm.write { realm.objects(Crate.self)[4].numbers.append(objectsIn: 4..<5_000) }
        nonisolated(unsafe) let frozen = realm.freeze().objects(Crate.self)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for turn in 0..<300 {
                let n = turn % 2 == 0 ? 4 : (turn * 7 + thread) % Self.count
                let crate = frozen[n]
                let position = turn * 13 % max(crate.numbers.count, 1)
                if crate.numbers.count > 0, crate.numbers[position] != position { Issue.record("\(n), \(position)") }
                if n % 4 > 0, crate.words[n % 4 - 1] != "word \(n % 4 - 1) of \(n)" { Issue.record("\(n)") }
            }
        }
    }

    @Test("A list shows the version of its Realm until refresh()")
    func versions() throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Crate.self])
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(Crate.self, value: ["n": 1, "numbers": [1, 2, 3]]) }
        let crate = try #require(realm.objects(Crate.self).first)
        let numbers = crate.numbers
        #expect(numbers.count == 3 && numbers[0] == 1)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            defer { done.signal() }
            guard let other = try? Realm(configuration: configuration) else { return }
            try? other.write { other.objects(Crate.self)[0].numbers.remove(at: 0) }
        }
        done.wait()
        #expect(numbers.count == 3 && numbers[0] == 1 && Array(numbers) == [1, 2, 3])
        realm.refresh()
        #expect(numbers.count == 2 && numbers[0] == 2 && Array(numbers) == [2, 3])
    }
}
