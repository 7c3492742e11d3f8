// SPDX-License-Identifier: Apache-2.0
// Every change of a managed and an unmanaged list compared with the same change of an array; programmer errors; loops
// that change the list.

import Foundation
import RealmSwift
import Testing

enum ListModels {
    class Item: Object {
        @Persisted var n: Int
        convenience init(_ n: Int) {
            self.init()
            self.n = n
        }
    }

    class Holder: Object {
        @Persisted var ints: List<Int>
        @Persisted var texts: List<String?>
        @Persisted var items: List<Item>
        @Persisted var others: List<Item>
    }

    static func realm() throws -> Realm { try memoryRealm(Item.self, Holder.self) }
}

private typealias Item = ListModels.Item
private typealias Holder = ListModels.Holder

@Suite("Lists")
struct ListsTests {
    /// A change of a list, and the same change of an array.
    struct Change: Sendable, CustomStringConvertible {
        let description: String
        let list: @Sendable (List<Int>) -> Void
        let array: @Sendable (inout [Int]) -> Void
        init(
            _ name: String, _ list: @escaping @Sendable (List<Int>) -> Void,
            _ array: @escaping @Sendable (inout [Int]) -> Void
        ) {
            description = name
            self.list = list
            self.array = array
        }
    }

    static let changes: [Change] = [
        Change("append", { $0.append(9) }, { $0.append(9) }),
        Change("append(objectsIn:)", { $0.append(objectsIn: [7, 8]) }, { $0 += [7, 8] }),
        Change("append itself", { $0.append(objectsIn: $0) }, { $0 += $0 }),
        Change("append nothing", { $0.append(objectsIn: []) }, { _ in }),
        Change("insert first", { $0.insert(9, at: 0) }, { $0.insert(9, at: 0) }),
        Change("insert last", { $0.insert(9, at: $0.count) }, { $0.insert(9, at: $0.count) }),
        Change(
            "insert(contentsOf:)", { $0.insert(contentsOf: [9, 8], at: 2) },
            { $0.insert(contentsOf: [9, 8], at: 2) }),
        Change("remove", { $0.remove(at: 1) }, { $0.remove(at: 1) }),
        Change("removeFirst", { $0.removeFirst() }, { $0.removeFirst() }),
        Change("removeFirst(2)", { $0.removeFirst(2) }, { $0.removeFirst(2) }),
        Change("removeFirst(0)", { $0.removeFirst(0) }, { _ in }),
        Change("removeLast", { $0.removeLast() }, { $0.removeLast() }),
        Change("removeLast(4)", { $0.removeLast(4) }, { $0.removeLast(4) }),
        Change("removeAll", { $0.removeAll() }, { $0.removeAll() }),
        Change("removeSubrange", { $0.removeSubrange(1..<3) }, { $0.removeSubrange(1..<3) }),
        Change("removeSubrange closed", { $0.removeSubrange(0...1) }, { $0.removeSubrange(0...1) }),
        Change("removeSubrange from", { $0.removeSubrange(2...) }, { $0.removeSubrange(2...) }),
        Change("removeSubrange up to", { $0.removeSubrange(..<2) }, { $0.removeSubrange(..<2) }),
        Change("remove(atOffsets:)", { $0.remove(atOffsets: [0, 2, 3]) }, { $0 = [$0[1]] + $0[4...] }),
        Change("move forward", { $0.move(from: 0, to: 3) }, { $0.insert($0.remove(at: 0), at: 3) }),
        Change("move backward", { $0.move(from: 3, to: 1) }, { $0.insert($0.remove(at: 3), at: 1) }),
        Change("move to itself", { $0.move(from: 2, to: 2) }, { _ in }),
        Change(
            "move(fromOffsets:) down", { $0.move(fromOffsets: [0, 1], toOffset: 4) },
            { $0 = [$0[2], $0[3], $0[0], $0[1]] + $0[4...] }),
        Change(
            "move(fromOffsets:) up", { $0.move(fromOffsets: [1, 3], toOffset: 0) },
            { $0 = [$0[1], $0[3], $0[0], $0[2]] + $0[4...] }),
        Change(
            "move(fromOffsets:) both", { $0.move(fromOffsets: [0, 4], toOffset: 2) },
            { $0 = [$0[1], $0[0], $0[4], $0[2], $0[3]] + $0[5...] }),
        Change("swapAt", { $0.swapAt(1, 4) }, { $0.swapAt(1, 4) }),
        Change("swapAt neighbours", { $0.swapAt(2, 1) }, { $0.swapAt(2, 1) }),
        Change("swapAt itself", { $0.swapAt(2, 2) }, { _ in }),
        Change("replace", { $0.replace(index: 2, object: 99) }, { $0[2] = 99 }),
        Change("subscript", { $0[4] = 77 }, { $0[4] = 77 }),
        Change(
            "replaceSubrange longer", { $0.replaceSubrange(1..<2, with: [5, 6, 7]) },
            { $0.replaceSubrange(1..<2, with: [5, 6, 7]) }),
        Change(
            "replaceSubrange shorter", { $0.replaceSubrange(0...3, with: [5]) },
            { $0.replaceSubrange(0...3, with: [5]) }),
        Change(
            "replaceSubrange empty", { $0.replaceSubrange(3..<3, with: [1, 2]) },
            { $0.replaceSubrange(3..<3, with: [1, 2]) }),
        Change(
            "replaceSubrange by itself", { $0.replaceSubrange(1..<2, with: $0) },
            { $0.replaceSubrange(1..<2, with: $0) }),
        Change(
            "reverse",
            {
                var view = $0; view.reverse()
            }, { $0.reverse() }),
        Change(
            "sort",
            {
                var view = $0; view.sort()
            }, { $0.sort() }),
    ]

    @Test("A change of a list, managed or unmanaged, has the same result as that of an array", arguments: changes)
    func change(_ change: Change) throws {
        let start = [3, 1, 2, 5, 4, 1]
        var expected = start
        change.array(&expected)
        let holder = Holder(value: ["ints": start])
        change.list(holder.ints)
        #expect(Array(holder.ints) == expected, "unmanaged")
        let realm = try ListModels.realm()
        try realm.write {
            let managed = realm.create(Holder.self, value: ["ints": start])
            change.list(managed.ints)
            #expect(Array(managed.ints) == expected, "managed")
            #expect(managed.ints.count == expected.count && managed.ints.first == expected.first)
        }
        #expect(realm.objects(Holder.self).first.map { Array($0.ints) } == expected)
    }

    @Test("Random changes of a long list have the same result as those of an array")
    func random() throws {
        let realm = try ListModels.realm()
        var expected: [Int] = []
        try realm.write { realm.create(Holder.self) }
        let list = try #require(realm.objects(Holder.self).first).ints
        for round in 0..<40 {
            try realm.write {
                for step in 0..<30 {
                    let change = Self.changes[Int.random(in: 0..<Self.changes.count - 2)]
                    if ["append itself", "removeAll", "replaceSubrange by itself"].contains(
                        change.description)
                    {
                        continue
                    }
                    if expected.count < 8 {
                        let more = (0..<50).map { $0 &* step &+ round }
                        list.append(objectsIn: more)
                        expected += more
                    }
                    change.list(list)
                    change.array(&expected)
                }
            }
            #expect(Array(list) == expected)
            if Array(list) != expected { return }
        }
    }

    @Test("Assigning a list copies the elements and keeps the instance; assigning it to itself does nothing")
    func assigning() throws {
        let realm = try ListModels.realm()
        let holder = Holder(value: ["ints": [1, 2]])
        let list = holder.ints
        holder.ints = holder.ints
        #expect(Array(list) == [1, 2])
        let other = List<Int>()
        other.append(objectsIn: [3, 4])
        holder.ints = other
        #expect(holder.ints === list && Array(list) == [3, 4])
        other.append(5)
        #expect(list.count == 2)
        try realm.write {
            realm.add(holder)
            holder.ints = holder.ints
            #expect(Array(holder.ints) == [3, 4])
            let again = try #require(realm.objects(Holder.self).first)
            holder.ints = again.ints
            #expect(Array(holder.ints) == [3, 4])
            holder.items.append(objectsIn: [Item(1), Item(2)])
            holder.others = holder.items
            holder.others = holder.items
            #expect(holder.others.map(\.n) == [1, 2] && realm.objects(Item.self).count == 2)
            holder.ints = other
            #expect(Array(again.ints) == [3, 4, 5] && other.realm == nil)
        }
    }

    @Test("Adding unmanaged objects to a list makes them managed, and duplicates are kept")
    func objects() throws {
        let realm = try ListModels.realm()
        try realm.write {
            let holder = realm.create(Holder.self)
            let item = Item(1)
            holder.items.append(objectsIn: [item, item, Item(2)])
            holder.items.insert(Item(3), at: 0)
            holder.items[1] = Item(4)
            #expect(holder.items.map(\.n) == [3, 4, 1, 2] && realm.objects(Item.self).count == 4)
            holder.items.append(item)
            #expect(holder.items.index(of: item) == 2 && holder.items.index(of: Item(1)) == nil)
            holder.items.remove(at: 2)
            #expect(holder.items.index(of: item) == 3)
            holder.items.append(objectsIn: [item, item])
            realm.delete(item)
            #expect(holder.items.map(\.n) == [3, 4, 2])
            realm.delete(holder.items)
            #expect(holder.items.isEmpty && realm.objects(Item.self).isEmpty)
        }
    }

    @Test("Aggregates of a list of values ignore nulls and NaN, and texts are found by their bytes")
    func figures() throws {
        let realm = try memoryRealm(ValueModels.Lists.self)
        try realm.write {
            let lists = realm.create(
                ValueModels.Lists.self,
                value: [
                    "int": [3, 1, 2], "double": [nil, 1.5, Double.nan, 2.5], "float": [Float(0.5), .nan],
                    "date": [Date(timeIntervalSince1970: 5), nil], "string": ["\u{e9}", "e\u{301}", nil],
                ] as [String: Any])
            #expect(lists.int.sum() == 6 && lists.int.min() == 1 && lists.int.max() == 3)
            #expect(lists.int.average() as Double? == 2 && lists.double.average() as Double? == 2)
            #expect(lists.double.min() == 1.5 && lists.double.max() == 2.5 && lists.double.sum() == 4)
            #expect(lists.float.sum() == 0.5 && lists.date.max() == Date(timeIntervalSince1970: 5))
            #expect(lists.string.index(of: "e\u{301}") == 1 && lists.string.index(of: nil) == 2)
            #expect(lists.int32.sum() == 0 && lists.int32.min() == nil)
        }
    }

    @Test("A loop iterates over the order at its start, whatever its body changes")
    func loops() throws {
        let realm = try ListModels.realm()
        try realm.write {
            let holder = realm.create(
                Holder.self, value: ["ints": Array(0..<20), "items": (0..<40).map { ["n": $0] }])
            var seen: [Int] = []
            for n in holder.ints {
                seen.append(n)
                holder.ints.remove(at: 0)
                holder.ints.append(objectsIn: [n + 100, n + 200])
            }
            #expect(seen == Array(0..<20) && holder.ints.count == 40)
            seen = []
            for item in holder.items {
                seen.append(item.n)
                if item.n < 20 { holder.items.removeLast() }
                holder.items.insert(item, at: 0)
            }
            #expect(seen == Array(0..<40))
            seen = []
            for item in realm.objects(Item.self) {
                seen.append(item.n)
                realm.create(Item.self)
                realm.delete(item)
            }
            #expect(seen == Array(0..<40) && realm.objects(Item.self).count == 40)
            #expect(holder.items.isEmpty)
        }
    }

    @Test("A list outlives the accessor it came from, and is invalidated when its owner is deleted")
    func outliving() throws {
        let realm = try ListModels.realm()
        try realm.write { realm.create(Holder.self, value: ["ints": [1, 2], "items": [["n": 1]]]) }
        let list = try #require(realm.objects(Holder.self).first).ints
        let filtered = try #require(realm.objects(Holder.self).first).items.filter("n == 1")
        #expect(Array(list) == [1, 2] && filtered.count == 1)
        try realm.write { realm.delete(realm.objects(Holder.self)) }
        #expect(list.isInvalidated && filtered.isEmpty && !filtered.isInvalidated)
    }

    @Test("Unmanaged lists are equal by their elements, managed lists by their location")
    func equality() throws {
        let realm = try ListModels.realm()
        let holder = Holder(value: ["ints": [1]])
        let list = List<Int>()
        list.append(1)
        #expect(holder.ints == list)
        try realm.write {
            realm.add(holder)
            let again = try #require(realm.objects(Holder.self).first)
            #expect(holder.ints == again.ints && holder.ints != list)
            #expect(realm.create(Holder.self, value: ["ints": [1]]).ints != again.ints)
        }
    }

    static let refusals: [MisuseCase] = [
        .onList("Index 3 is out of bounds (must be less than 3).") { _ = $0[3] },
        .onList("Cannot pass a negative value for 'index'.") { _ = $0[-1] },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0[3] = 1 },
        .onList("Cannot pass a negative value for 'index'.") { $0[-1] = 1 },
        .onList("is out of bounds") { $0.insert(1, at: 4) },
        .onList("Cannot pass a negative value for 'index'.") { $0.insert(1, at: -1) },
        .onList("is out of bounds") { $0.insert(contentsOf: [1], at: 4) },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0.remove(at: 3) },
        .onList("Cannot pass a negative value for 'index'.") { $0.remove(at: -1) },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0.move(from: 3, to: 0) },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0.move(from: 0, to: 3) },
        .onList("Index 7 is out of bounds (must be less than 3).") { $0.move(from: 7, to: 7) },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0.swapAt(0, 3) },
        .onList("Cannot pass a negative value for 'index'.") { $0.swapAt(-1, 0) },
        .onList("Index 3 is out of bounds (must be less than 3).") { $0.replace(index: 3, object: 1) },
        .onList("is out of bounds") { $0.removeSubrange(2..<4) },
        .onList("is out of bounds") { $0.replaceSubrange(2..<5, with: []) },
        .onList("is out of bounds") { $0.remove(atOffsets: [0, 3]) },
        .onList("Indexes for collection are out of bounds.") { _ = $0.objects(at: [0, 3]) },
        .onList("It is not possible to remove more objects (4) from a list than it already contains (3).") {
            $0.removeFirst(4)
        },
        .onList("It is not possible to remove more objects (4) from a list than it already contains (3).") {
            $0.removeLast(4)
        },
        MisuseCase("Cannot modify List outside of a write transaction.") {
            let realm = try ListModels.realm()
            let holder = Holder()
            try realm.write { realm.add(holder) }
            holder.ints.append(1)
        },
        MisuseCase("Cannot modify List outside of a write transaction.") {
            let realm = try ListModels.realm()
            let holder = Holder()
            try realm.write { realm.add(holder) }
            holder.ints = List<Int>()
        }.orWords("Cannot modify managed objects outside of a write transaction."),
        .onHolder("List is no longer valid. Either the parent object was deleted") { realm, holder in
            let list = holder.ints
            realm.delete(holder)
            _ = list.count
        },
        .onHolder("List is no longer valid.") { realm, holder in
            let list = holder.ints
            realm.delete(holder)
            list.append(1)
        },
        .onHolder("Invalid nil value for array of 'int'.") { _, holder in holder["ints"] = [1, nil] },
        .onHolder("Invalid value 'x' of type 'String' for expected type 'int'.") { _, holder in
            holder["ints"] = ["x"]
        },
        .onHolder("for expected type 'string?'.") { _, holder in holder["texts"] = [5] },
        .onHolder("Object of type 'ListModels_Holder' does not match RLMArray type 'ListModels_Item'.") {
            _, holder in
            holder["items"] = [Holder()]
        },
        .onHolder("Object has been deleted or invalidated.") { realm, holder in
            let item = realm.create(Item.self)
            realm.delete(item)
            _ = holder.items.index(of: item)
        },
        .onHolder("Object has been deleted or invalidated.") { realm, holder in
            let item = realm.create(Item.self)
            realm.delete(item)
            holder.items.append(item)
        },
    ]

    @Test("Invalid uses of lists are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(misuse.words.split(separator: "|").contains { message.contains($0) }, "\(message)")
    }
}

extension MisuseCase {
    /// For a managed list of three elements.
    static func onList(_ words: String, _ body: @escaping @Sendable (List<Int>) -> Void) -> MisuseCase {
        onHolder(words) { _, holder in
            let unmanaged = List<Int>()
            unmanaged.append(objectsIn: [1, 2, 3])
            holder.ints.append(objectsIn: [1, 2, 3])
            body(holder.ints)
        }
    }

    fileprivate static func onHolder(
        _ words: String, _ body: @escaping @Sendable (Realm, ListModels.Holder) -> Void
    ) -> MisuseCase {
        MisuseCase(words) {
            let realm = try ListModels.realm()
            try realm.write { body(realm, realm.create(ListModels.Holder.self)) }
        }
    }

    func orWords(_ other: String) -> MisuseCase { MisuseCase(words + "|" + other, body) }
}
