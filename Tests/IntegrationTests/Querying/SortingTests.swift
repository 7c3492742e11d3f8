// SPDX-License-Identifier: Apache-2.0
// Sorting with nulls, NaN, equal values and links; distinct.

import Foundation
import RealmSwift
import Testing

@Suite("Sorting")
struct SortingTests {
    typealias Thing = FilterModels.Thing

    static func ids(_ keyPath: String, _ ascending: Bool = true) throws -> [Int] {
        try FilterModels.realm().objects(Thing.self).sorted(byKeyPath: keyPath, ascending: ascending).map(
            \.id)
    }

    @Test(
        "In ascending order nulls are first, NaN is before all numbers, and equal values keep their order",
        arguments: [
            ("int", [2, 6, 3, 1, 4, 5], [5, 1, 4, 3, 6, 2]),
            ("indexed", [2, 6, 3, 1, 4, 5], [5, 1, 4, 3, 6, 2]),
            ("n", [6, 3, 2, 1, 4, 5], [5, 4, 1, 2, 3, 6]),
            ("d", [2, 3, 4, 1, 6, 5], [5, 6, 1, 4, 3, 2]),
            ("f", [3, 2, 6, 5, 1, 4], [4, 1, 5, 2, 6, 3]),
            ("s", [2, 3, 5, 1, 6, 4], [4, 6, 1, 5, 3, 2]),
            ("t", [2, 3, 5, 6, 1, 4], [4, 1, 6, 5, 3, 2]),
            ("b", [2, 6, 3, 5, 1, 4], [1, 4, 3, 5, 2, 6]),
            ("flag", [2, 3, 5, 6, 1, 4], [1, 4, 2, 3, 5, 6]),
            ("date", [2, 6, 3, 1, 5, 4], [4, 5, 1, 3, 2, 6]),
            // In ascending order a null link is last, and a null value at the end of a path is first.
            ("owner.age", [3, 6, 1, 4, 5, 2], [2, 5, 1, 4, 3, 6]),
            ("owner.name", [1, 4, 5, 3, 6, 2], [2, 3, 6, 5, 1, 4]),
            ("best.n", [1, 6, 4, 3, 2, 5], [2, 5, 3, 4, 6, 1]),
            ("best.best.id", [4, 1, 2, 3, 5, 6], [2, 3, 5, 6, 1, 4]),
        ])
    func order(_ keyPath: String, _ ascending: [Int], _ descending: [Int]) throws {
        #expect(try Self.ids(keyPath) == ascending)
        #expect(try Self.ids(keyPath, false) == descending)
    }

    @Test("The last sort has precedence, and several descriptors apply in order")
    func chained() throws {
        let all = try FilterModels.realm().objects(Thing.self)
        #expect(
            all.sorted(byKeyPath: "id", ascending: false).sorted(byKeyPath: "flag").map(\.id) == [
                6, 5, 3, 2, 4, 1,
            ])
        #expect(
            all.sorted(by: [
                SortDescriptor(keyPath: "flag", ascending: false), "b",
                SortDescriptor(keyPath: \Thing.id, ascending: false),
            ])
            .map(\.id) == [4, 1, 6, 2, 5, 3])
        #expect(all.sorted(by: [] as [RealmSwift.SortDescriptor]).map(\.id) == [1, 2, 3, 4, 5, 6])
        #expect(all.sorted(by: \.n).map(\.id) == [6, 3, 2, 1, 4, 5])
        #expect(all.sorted(byKeyPath: "n").filter("int == 5 OR int == NULL").map(\.id) == [2, 1, 4])
        #expect(
            all.filter("int != NULL").sorted(byKeyPath: "t", ascending: false).map(\.id) == [4, 1, 6, 5, 3])
    }

    @Test("`distinct` keeps the first object in the current order, and omits objects with a null link on the path")
    func distinct() throws {
        let all = try FilterModels.realm().objects(Thing.self)
        #expect(all.distinct(by: ["int"]).map(\.id) == [1, 2, 3, 5, 6])
        #expect(
            all.sorted(byKeyPath: "id", ascending: false).distinct(by: ["int"]).map(\.id) == [6, 5, 4, 3, 2])
        #expect(
            all.distinct(by: ["int"]).sorted(byKeyPath: "id", ascending: false).map(\.id) == [6, 5, 3, 2, 1])
        #expect(all.distinct(by: ["flag", "b"]).map(\.id) == [1, 2, 3])
        #expect(all.distinct(by: ["owner.id"]).map(\.id) == [1, 3, 5])
        #expect(all.distinct(by: [\Thing.flag]).map(\.id) == [1, 2])
        // Filters apply before sorts and distinct, wherever they are in the chain.
        #expect(all.distinct(by: ["int"]).filter("id != 1").map(\.id) == [2, 3, 4, 5, 6])
        #expect(all.filter("id != 1").distinct(by: ["int"]).map(\.id) == [2, 3, 4, 5, 6])
    }

    static let refusals: [(String, String)] = [
        ("nope", "Cannot sort on key path 'nope': property 'FilterModels_Thing.nope' does not exist."),
        (
            "owner.nope",
            "Cannot sort on key path 'owner.nope': property 'FilterModels_Owner.nope' does not exist."
        ),
        (
            "friends.@count",
            "Cannot sort on key path 'friends.@count': KVC collection operators are not supported."
        ),
        ("friends", "Cannot sort on key path 'friends'"), ("tags", "Cannot sort on key path 'tags'"),
        ("fans", "Cannot sort on key path 'fans'"), ("friends.n", "Cannot sort on key path 'friends.n'"),
        ("data", "is of unsupported type"), ("owner", "cannot be the final property in the key path"),
        ("n.x", "Cannot sort on key path 'n.x'"), ("", "Cannot sort on key path ''"),
        (" ", "Cannot sort on key path ' '"), ("@max.n", "Cannot sort on key path '@max.n'"),
    ]

    @Test("Invalid key paths are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ keyPath: String, _ words: String) throws {
        let message = try misuseText { _ = try Self.ids(keyPath) } ?? "no misuse"
        #expect(message.contains(words), "\(message)")
        // Distinct refuses the same key paths with the same messages.
        let other = try misuseText {
            _ = try FilterModels.realm().objects(Thing.self).distinct(by: [keyPath]).count
        }
        let distinctWords = words.replacing("Cannot sort", with: "Cannot distinct")
        #expect(other?.contains(distinctWords) == true, "\(other ?? "no misuse")")
    }

    @Test("Random numbers are sorted as in Swift, in every storage width")
    func random() throws {
        let realm = try FilterModels.realm()
        try realm.write {
            realm.deleteAll()
            for id in 0..<3000 {
                realm.create(
                    Thing.self,
                    value: [
                        "id": id, "n": Int.random(in: -50...50),
                        "int": Bool.random() ? nil : Int.random(in: .min ... .max),
                        "t": String(Int.random(in: 0...300), radix: 36),
                        "d": Double.random(in: -3...3).rounded(),
                    ] as [String: Any?])
            }
        }
        let all = realm.objects(Thing.self)
        let values = all.map { (id: $0.id, n: $0.n, int: $0.int, t: $0.t, d: $0.d ?? 0) }
        let plain = Array(values)
        func stable(_ less: (Int, Int) -> Bool) -> [Int] {
            (0..<plain.count).sorted { less($0, $1) || !less($1, $0) && $0 < $1 }
        }
        #expect(all.sorted(byKeyPath: "n").map(\.id) == stable { plain[$0].n < plain[$1].n })
        #expect(
            all.sorted(byKeyPath: "n", ascending: false).map(\.id) == stable { plain[$0].n > plain[$1].n })
        #expect(
            all.sorted(byKeyPath: "t").map(\.id)
                == stable { Array(plain[$0].t.utf8).lexicographicallyPrecedes(Array(plain[$1].t.utf8)) })
        #expect(
            all.sorted(byKeyPath: "int").map(\.id)
                == stable {
                    guard let right = plain[$1].int else { return false }
                    return plain[$0].int.map { $0 < right } ?? true
                })
        #expect(
            all.sorted(by: ["d", SortDescriptor(keyPath: "n", ascending: false)]).map(\.id)
                == stable {
                    plain[$0].d != plain[$1].d ? plain[$0].d < plain[$1].d : plain[$0].n > plain[$1].n
                })
        #expect(all.distinct(by: ["n"]).count == Set(plain.map(\.n)).count)
    }

    // All objects are sorted by packed keys, few by rows, and a predicate may find them through an index: each way
    // must return the same order.
    @Test("All, many and few objects are sorted in the same order, in a write and after it", arguments: [true, false])
    func extents(isAscending: Bool) throws {
        let realm = try FilterModels.realm()
        realm.beginWrite()
        realm.deleteAll()
        for id in 0..<2_400 {
            let text = String(repeating: "the same beginning ", count: id % 3) + String(id * 7 % 90)
            realm.create(
                Thing.self,
                value: [
                    "id": id, "n": id * 31 % 11, "int": id % 4 == 0 ? nil : id * 57 % 50, "t": text,
                    "d": Double(id * 13 % 7),
                ] as [String: Any?])
        }
        for isWritten in [false, true] {
            if isWritten { try realm.commitWrite() }
            for predicate in ["n >= 0", "n > 4", "id < 2000", "id IN {1, 9, 5, 77, 2300}"] {
                for keys in [["n"], ["int", "t"], ["d", "n", "t"], ["t", "int"]] {
                    let sort = keys.map { SortDescriptor(keyPath: $0, ascending: isAscending) }
                    let found = realm.objects(Thing.self).filter(predicate).sorted(by: sort)
                    let plain = realm.objects(Thing.self).filter(predicate)
                    let rows = plain.map { (id: $0.id, n: $0.n, int: $0.int ?? -1, t: Array($0.t.utf8), d: $0.d ?? 0) }
                    let expected = rows.sorted { a, b in
                        for key in keys {
                            let (less, more) =
                                switch key {
                                case "n": (a.n < b.n, a.n > b.n)
                                case "int": (a.int < b.int, a.int > b.int)
                                case "d": (a.d < b.d, a.d > b.d)
                                default: (a.t.lexicographicallyPrecedes(b.t), b.t.lexicographicallyPrecedes(a.t))
                                }
                            if less || more { return isAscending ? less : more }
                        }
                        return a.id < b.id
                    }.map(\.id)
                    #expect(found.map(\.id) == expected, "\(predicate) by \(keys)")
                    for count in [7, 599, 600, 3_000] {
                        let some = found.limit(count)
                        #expect(some.map(\.id) == Array(expected.prefix(count)), "\(count) of \(predicate) by \(keys)")
                    }
                    #expect(found.first?.id == expected.first && found.last?.id == expected.last)
                }
            }
        }
    }

    // Packed sort keys have 64 or 128 bits, and longer keys are truncated. Extreme values use all bits of an integer.
    @Test("Sorting by any combination of keys is correct, whatever bits they need", arguments: 0..<40)
    func widths(turn: Int) throws {
        let realm = try FilterModels.realm()
        let integers: [Int] = [.min, -1, 0, 1 << 62, .max - 1, .max]
        let numbers = [-2, -1, 0, 1, 1.0.nextUp, 1.0.nextUp.nextUp]
        let (small, nulls) = (turn % 2 == 0, turn < 5 || turn % 3 == 0)
        try realm.write {
            realm.deleteAll()
            for id in 0..<400 {
                let value: [String: Any?] = [
                    "id": id, "n": small ? Int.random(in: 0...1) : integers.randomElement(), "flag": Bool.random(),
                    "int": nulls && id % 5 == 0 ? nil : integers.randomElement(),
                    "d": nulls && id % 7 == 0 ? nil : numbers.randomElement(),
                    "t": ["", "a", "aaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaac"].randomElement(),
                ]
                realm.create(Thing.self, value: value)
            }
        }
        let names = ["n", "int", "d", "flag", "t"]
        let chosen = turn < 10 ? [names[turn % 5]] : Array(names.shuffled().prefix(Int.random(in: 2...5)))
        let keys = chosen.map { SortDescriptor(keyPath: $0, ascending: .random()) }
        let rows = realm.objects(Thing.self).map { (id: $0.id, n: $0.n, int: $0.int, d: $0.d, flag: $0.flag, t: $0.t) }
        func order<T: Comparable>(_ a: T?, _ b: T?) -> Int {
            guard let a, let b else { return a == nil && b == nil ? 0 : a == nil ? -1 : 1 }
            return a < b ? -1 : a > b ? 1 : 0
        }
        let expected = rows.sorted { a, b in
            for key in keys {
                let order =
                    switch key.keyPath {
                    case "n": order(a.n, b.n)
                    case "int": order(a.int, b.int)
                    case "d": order(a.d, b.d)
                    case "flag": order(a.flag ? 1 : 0, b.flag ? 1 : 0)
                    default: order(a.t, b.t)
                    }
                if order != 0 { return key.ascending == (order < 0) }
            }
            return a.id < b.id
        }
        let sorted = realm.objects(Thing.self).sorted(by: keys)
        #expect(sorted.map(\.id) == expected.map(\.id), "\(keys), \(small), \(nulls)")
        #expect(sorted.filter("id >= 0").limit(150).map(\.id) == expected.prefix(150).map(\.id))
    }

    @Test("NaN and infinities are stored, and NaN sorts below all numbers")
    func numbers() throws {
        let realm = try Contract.realm()
        try realm.write {
            for value in [1.5, .nan, -.infinity, .infinity, 0] {
                realm.create(Contract.Values.self, value: ["double": value])
            }
        }
        let sorted = realm.objects(Contract.Values.self).sorted(by: \.double).map(\.double)
        #expect(Array(sorted).description == "[nan, -inf, 0.0, 1.5, inf]")
        #expect(realm.objects(Contract.Values.self).max(of: \.double) == .infinity)
        let sum: Double = realm.objects(Contract.Values.self).filter("double >= 0 AND double < 2").sum(of: \.double)
        #expect(sum == 1.5)
    }
}
