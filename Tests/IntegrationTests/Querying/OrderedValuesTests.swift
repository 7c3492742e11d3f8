// SPDX-License-Identifier: Apache-2.0
// Sorted and distinct values of lists, sets and maps, as live results.

import Foundation
import RealmSwift
import Testing

enum OrderedModels {
    class Holder: Object {
        @Persisted var list: List<Int?>
        @Persisted var words: List<String>
        @Persisted var doubles: List<Double>
        @Persisted var set: MutableSet<Int>
        @Persisted var map: Map<String, Int>
    }

    static func write(_ body: (Realm, Holder) throws -> Void) throws {
        let realm = try memoryRealm(Holder.self)
        try realm.write { try body(realm, realm.create(Holder.self)) }
    }
}

@Suite("Sorted values")
struct OrderedValuesTests {
    @Test("Sorted values are in order with nil first, and follow the collection")
    func sorted() throws {
        try OrderedModels.write { _, holder in
            holder.list.append(objectsIn: [3, nil, 1, 2, 1])
            let up = holder.list.sorted()
            let down = holder.list.sorted(ascending: false)
            #expect(Array(up) == [nil, 1, 1, 2, 3] && Array(down) == [3, 2, 1, 1, nil])
            #expect(up.count == 5 && up.first == .some(nil) && up.last == 3 && up[3] == 2 && down.index(of: 1) == 2)
            #expect(up.max() == 3 && up.sum() == 7 && up.min(ofProperty: "self") == 1)
            holder.list.append(0)
            #expect(Array(up) == [nil, 0, 1, 1, 2, 3] && Array(up.distinct()) == [nil, 0, 1, 2, 3])
            #expect(Array(holder.list.distinct()) == [3, nil, 1, 2, 0])
            #expect(Array(holder.list.distinct().sorted(byKeyPath: "self", ascending: false)) == [3, 2, 1, 0, nil])
        }
    }

    @Test("Texts are sorted by their bytes, and NaN is first")
    func orders() throws {
        try OrderedModels.write { _, holder in
            holder.words.append(objectsIn: ["b", "é", "B", "a", "e\u{301}"])
            #expect(
                Array(holder.words.sorted()).map { Array($0.utf8) }
                    == [
                        "B", "a", "b", "e\u{301}", "é",
                    ].map { Array($0.utf8) })
            #expect(holder.words.distinct().count == 5)
            holder.doubles.append(objectsIn: [1, .nan, -.infinity, 0])
            #expect(holder.doubles.sorted().first?.isNaN == true)
            #expect(Array(holder.doubles.sorted().dropFirst()) == [-.infinity, 0, 1])
        }
    }

    @Test("Values of sets and maps can be sorted, and are empty after the owner is deleted")
    func others() throws {
        try OrderedModels.write { realm, holder in
            holder.set.insert(objectsIn: [2, 9, 5])
            for (key, value) in ["x": 4, "y": 1, "z": 4] { holder.map[key] = value }
            let (set, map) = (holder.set.sorted(ascending: false), holder.map.sorted())
            #expect(Array(set) == [9, 5, 2] && Array(map) == [1, 4, 4] && Array(holder.map.distinct()) == [4, 1])
            #expect(Array(AnyRealmCollection(holder.set).sorted()) == [2, 5, 9])
            realm.delete(holder)
            #expect(set.isEmpty && map.first == nil && !map.isInvalidated)
        }
    }

    static let refusals: [MisuseCase] = [
        .onValues("Cannot sort on key path 'x': arrays of 'int?' can only be sorted on 'self'") {
            _ = $0.list.sorted(byKeyPath: "x")
        },
        .onValues("Cannot distinct on key path 'x': sets of 'int' can only be made distinct on 'self'") {
            _ = $0.set.distinct(by: ["x"])
        },
        .onValues("Querying is currently only implemented for arrays of Realm Objects") {
            _ = $0.list.filter("self = 1")
        },
        .onValues("Querying is currently only implemented for dictionaries of Realm Objects") {
            _ = $0.map.filter("self = 1")
        },
        .onValues("can only be aggregated on \"self\"") { _ = $0.list.min(ofProperty: "x") as Int? },
        .onValues("Index 0 is out of bounds (must be less than 0).") { _ = $0.list.sorted()[0] },
        MisuseCase("This method may only be called on RLMSet instances retrieved from an RLMRealm") {
            _ = OrderedModels.Holder().set.sorted()
        },
    ]

    @Test("Invalid sorts are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension MisuseCase {
    fileprivate static func onValues(
        _ words: String, _ body: @escaping @Sendable (OrderedModels.Holder) -> Void
    ) -> MisuseCase {
        MisuseCase(words) { try OrderedModels.write { body($1) } }
    }
}
