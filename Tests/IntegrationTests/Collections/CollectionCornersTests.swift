// SPDX-License-Identifier: Apache-2.0
// Collections in Swift's algorithms, assignment and equality, and sorted collections of values.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many
private typealias Part = Contract.Part

@Suite("Edge cases of collections: RealmSwift contract")
struct CollectionCornersTests {
    /// A holder of values with these ints, in a Realm in a write transaction, or unmanaged.
    private static func holder(_ ints: [Int], isManaged: Bool) throws -> (Realm, Many) {
        let realm = try Contract.allTypes()
        let many = Many()
        many.ints.append(objectsIn: ints)
        realm.beginWrite()
        if isManaged { realm.add(many) }
        return (realm, many)
    }

    // MARK: Equality

    @Test("isEqual is the same as ==, and false for other types", arguments: [true, false])
    func isEqual(isManaged: Bool) throws {
        let (realm, many) = try Self.holder([1, 2], isManaged: isManaged)
        many.intSet.insert(objectsIn: [1, 2])
        many.intMap["a"] = 1
        let same = isManaged ? realm.objects(Many.self)[0] : Many(value: many)
        #expect(many.ints.isEqual(same.ints) && many.intSet.isEqual(same.intSet) && many.intMap.isEqual(same.intMap))
        #expect(!many.ints.isEqual(nil) && !many.ints.isEqual([1, 2]) && !many.ints.isEqual(many.int8s))
        #expect(!many.intSet.isEqual(many.ints) && !many.intMap.isEqual(["a": 1]))
        #expect(many.ints.hashValue == same.ints.hashValue || !isManaged)
        if isManaged {
            let other = realm.create(Many.self, value: ["ints": [1, 2], "intSet": [1, 2], "intMap": ["a": 1]])
            #expect(many.ints != other.ints && many.intSet != other.intSet && many.intMap != other.intMap)
            #expect(!many.ints.isEqual(other.ints) && Many(value: many).ints != many.ints)
        }
    }

    @Test("Results are equal only to themselves, frozen lists also to those of the same version")
    func identity() throws {
        let (realm, many) = try Self.holder([1], isManaged: true)
        try realm.commitWrite()
        let results = realm.objects(Many.self)
        let copy = results
        #expect(results == copy && results != realm.objects(Many.self))
        #expect(many.ints.freeze() == many.ints.freeze() && many.ints.freeze() != many.ints)
        #expect(many.ints.freeze().thaw() == many.ints)
        #expect(AnyRealmCollection(many.ints) == AnyRealmCollection(many.ints))
        let all = try realm.write { realm.create(All.self, value: ["pk": 77]) }
        let parents = all.parents
        #expect(parents == parents && parents != all.parents && All().parents.isEmpty)
    }

    // MARK: Swift's algorithms

    @Test("A list is sorted, reversed, shuffled, partitioned and sliced in place", arguments: [true, false])
    func algorithms(isManaged: Bool) throws {
        let (realm, many) = try Self.holder([3, 1, 2, 5, 4], isManaged: isManaged)
        let list = many.ints
        list.withMutableList { $0.sort() }
        #expect(Array(list) == [1, 2, 3, 4, 5])
        list.withMutableList { $0.reverse() }
        #expect(Array(list) == [5, 4, 3, 2, 1])
        list.withMutableList { $0.shuffle() }
        #expect(Set(list) == [1, 2, 3, 4, 5] && list.count == 5)
        list.withMutableList { $0.sort() }
        var pivot = 0
        list.withMutableList { pivot = $0.partition { $0 % 2 == 0 } }
        #expect(pivot == 3 && list.prefix(3).allSatisfy { $0 % 2 == 1 } && list.suffix(2).allSatisfy { $0 % 2 == 0 })
        list.withMutableList { $0.sort() }
        #expect(Array(list[1...3]) == [2, 3, 4] && Array(list[..<2]) == [1, 2] && list[3...].first == 4)
        #expect(Array(list.dropFirst(3)) == [4, 5] && Array(list.reversed()) == [5, 4, 3, 2, 1])
        #expect(list.firstIndex(of: 3) == 2 && list.lastIndex(of: 3) == 2 && list.contains(5) && !list.contains(6))
        #expect(list.reduce(0, +) == 15 && list.first == 1 && list.last == 5 && list.randomElement() != nil)
        #expect(zip(list, list.dropFirst()).allSatisfy { $0 < $1 } && list.elementsEqual(1...5))
        #expect(Array(list.map { $0 * 2 }) == [2, 4, 6, 8, 10] && Array(list.filter { $0 > 3 }) == [4, 5])
        list.replaceSubrange(1...2, with: [9])
        list.replaceSubrange(3..., with: [7, 8])
        list.replaceSubrange(..<1, with: [])
        #expect(Array(list) == [9, 4, 7, 8])
        list.removeSubrange(...1)
        #expect(Array(list) == [7, 8])
        list.append(objectsIn: list)
        list.insert(contentsOf: list, at: 1)
        #expect(Array(list) == [7, 7, 8, 7, 8, 8, 7, 8])
        realm.cancelWrite()
    }

    @Test("A collection can be combined with itself", arguments: [true, false])
    func fromThemselves(isManaged: Bool) throws {
        let (realm, many) = try Self.holder([1, 2], isManaged: isManaged)
        many.intSet.insert(objectsIn: many.ints)
        many.intSet.insert(objectsIn: many.intSet)
        many.intSet.formUnion(many.intSet)
        #expect(Set(many.intSet) == [1, 2] && many.intSet.isSubset(of: many.intSet))
        many.intSet.subtract(many.intSet)
        #expect(many.intSet.isEmpty && !many.intSet.intersects(many.intSet))
        many.intMap["a"] = 1
        many.intMap.merge(many.intMap) { $0 + $1 }
        many.intMap.merge([(key: "b", value: 5), (key: "a", value: 5)]) { old, _ in old }
        #expect(many.intMap["a"] == 2 && many.intMap["b"] == 5 && many.intMap.count == 2)
        #expect(many.intMap.object(forKey: "b") == 5 && many.intMap.contains { $0 == "b" && $1 == 5 })
        #expect(many.intMap.value(forKey: "b") as? Int == 5 && many.intMap.value(forKey: "@count") as? Int == 2)
        many.intMap.setValue(8, forKey: "c")
        many.intMap.setValue(nil, forKey: "a")
        many.intMap.updateValue(6, forKey: "b")
        #expect(many.intMap.keys.sorted() == ["b", "c"] && many.intMap.values.sorted() == [6, 8])
        many.optIntMap["n"] = .some(nil)
        many.optIntMap["m"] = 3
        many.optIntMap["m"] = nil
        #expect(many.optIntMap.count == 1 && many.optIntMap["n"] == .some(nil) && many.optIntMap["m"] == nil)
        #expect(many.optIntMap.keys == ["n"] && many.optIntMap.contains { $0 == "n" && $1 == nil })
        realm.cancelWrite()
    }

    // MARK: Assignment

    @Test("Assigning a collection copies its elements and keeps the instance", arguments: [true, false])
    func assignment(isManaged: Bool) throws {
        let (realm, many) = try Self.holder([1, 2], isManaged: isManaged)
        let source = realm.create(
            Many.self,
            value: [
                "ints": [7, 8], "intSet": [7, 8], "intMap": ["k": 7], "anys": [1, "x", NSNull()],
                "optIntMap": ["n": NSNull()], "anyMap": ["a": [1, 2]],
            ])
        let (list, set, map) = (many.ints, many.intSet, many.intMap)
        many.ints = source.ints
        many.intSet = source.intSet
        many.intMap = source.intMap
        many.anys = source.anys
        many.optIntMap = source.optIntMap
        many.anyMap = source.anyMap
        #expect(many.ints === list && many.intSet === set && many.intMap === map)
        #expect(Array(list) == [7, 8] && Set(set) == [7, 8] && map["k"] == 7 && many.optIntMap["n"] == .some(nil))
        #expect(Array(many.anys) == [.int(1), .string("x"), .none])
        #expect(many.anyMap["a"]?.listValue.map { Array($0) } == [.int(1), .int(2)])
        source.ints.append(9)
        source.anyMap["a"]?.listValue?.append(.int(3))
        // Until it is added, an unmanaged map returns the same list that was put in.
        #expect(list.count == 2 && (many.anyMap["a"]?.listValue?.count == 2) == isManaged)
        many["ints"] = source.ints
        many["intSet"] = [5, 5, 6]
        many["intMap"] = ["z": 1]
        #expect(Array(list) == [7, 8, 9] && Set(set) == [5, 6] && map.keys == ["z"])
        many["ints"] = nil
        many.setValue(NSNull(), forKey: "intSet")
        many["intMap"] = nil
        #expect(list.isEmpty && set.isEmpty && map.count == 0)
        let fresh = List<Int>()
        fresh.append(objectsIn: [4])
        many.ints = fresh
        fresh.append(5)
        #expect(Array(many.ints) == [4])
        realm.cancelWrite()
    }

    @Test("Results, sets and other sequences can be assigned to lists by name")
    func fromResults() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            for number in 0..<3 { realm.create(All.self, value: ["pk": number, "int": number]) }
            let first = realm.objects(All.self)[0]
            first["list"] = realm.objects(All.self).sorted(byKeyPath: "int", ascending: false)
            first["set"] = first.list
            first.list.append(objectsIn: realm.objects(All.self).filter("pk > 0"))
            #expect(first.list.map(\.pk) == [2, 1, 0, 1, 2] && first.set.count == 3)
            first.setValue(5, forKeyPath: "list.int")
            first.list.setValue("t", forKey: "string")
            #expect(realm.objects(All.self).allSatisfy { $0.int == 5 && $0.string == "t" })
            first.map["a"] = first
            first["map"] = first.map
            #expect(first.map["a"]??.pk == 0 && first.holders.count == 1)
        }
        let first = realm.objects(All.self)[0]
        #expect(first.value(forKeyPath: "list.@distinctUnionOfObjects.int") as? [Int] == [5])
        #expect(first.value(forKeyPath: "list.parts.@count") != nil || first.list.count == 5)
    }

    // MARK: Values in an order

    @Test("Sorted and distinct values of lists and sets are live")
    func orderedValues() throws {
        let (realm, many) = try Self.holder([3, 1, 3, 2], isManaged: true)
        many.optInts.append(objectsIn: [2, nil, 1, nil])
        many.doubles.append(objectsIn: [1.5, .nan, -1])
        many.strings.append(objectsIn: ["b", "B", "", "ä", "b"])
        many.decimals.append(objectsIn: [2.5, "nan", -1])
        many.anys.append(objectsIn: [.string("a"), .int(3), .none, .double(2.5), .bool(true), .int(3)])
        many.dateSet.insert(objectsIn: [Date(timeIntervalSince1970: 2), Date(timeIntervalSince1970: 1)])
        try realm.commitWrite()
        let sorted = many.ints.sorted()
        #expect(Array(sorted) == [1, 2, 3, 3] && sorted.first == 1 && sorted.last == 3 && sorted.count == 4)
        #expect(Array(many.ints.sorted(ascending: false)) == [3, 3, 2, 1])
        #expect(Array(many.ints.distinct()) == [3, 1, 2] && Array(many.ints.sorted().distinct()) == [1, 2, 3])
        #expect(Array(many.ints.distinct().sorted(ascending: false)) == [3, 2, 1])
        #expect(sorted.index(of: 2) == 1 && sorted.index(of: 9) == nil && many.ints.sorted().sum() == 9)
        #expect(sorted.max() == 3 && sorted.min() == 1 && sorted.average() == 2.25)
        #expect(Array(many.optInts.sorted()) == [nil, nil, 1, 2] && Array(many.optInts.distinct()) == [2, nil, 1])
        #expect(many.doubles.sorted().map { $0.isNaN ? "nan" : "\($0)" } == ["nan", "-1.0", "1.5"])
        #expect(Array(many.strings.sorted()) == ["", "B", "b", "b", "ä"])
        #expect(Array(many.strings.distinct()) == ["b", "B", "", "ä"])
        #expect(many.decimals.sorted().map(\.description) == ["NaN", "-1", "2.5"])
        #expect(
            Array(many.anys.sorted(byKeyPath: "self"))
                == [.none, .bool(true), .double(2.5), .int(3), .int(3), .string("a")])
        #expect(many.anys.distinct(by: ["self"]).count == 5)
        #expect(many.dateSet.sorted().map(\.timeIntervalSince1970) == [1, 2])
        let frozen = sorted.freeze()
        try realm.write { many.ints.append(0) }
        #expect(Array(sorted) == [0, 1, 2, 3, 3] && Array(frozen) == [1, 2, 3, 3])
        #expect(frozen.thaw().map { Array($0) } == [0, 1, 2, 3, 3])
    }

    @Test("Results return elements at an index set, find elements, and compute aggregates")
    func places() throws {
        let realm = try Contract.allTypes()
        try realm.write {
            for number in 0..<6 {
                realm.create(All.self, value: ["pk": number, "int": number % 3, "optInt": number > 3 ? number : nil])
            }
        }
        let results = realm.objects(All.self).sorted(by: [
            RealmSwift.SortDescriptor(keyPath: \All.int), RealmSwift.SortDescriptor(keyPath: "pk", ascending: false),
        ])
        #expect(results.map(\.pk) == [3, 0, 4, 1, 5, 2])
        #expect(results.objects(at: IndexSet([0, 3, 5])).map(\.pk) == [3, 1, 2])
        #expect(results.index(of: results[4]) == 4 && results.index(matching: "pk == 5") == 4)
        #expect(results.index(matching: { $0.int == 1 }) == 2 && results.index(of: All()) == nil)
        #expect(results.distinct(by: [\All.int]).map(\.pk) == [3, 4, 5])
        #expect(results.distinct(by: ["int", "optInt"]).map(\.pk) == [3, 4, 1, 5, 2])
        #expect(results.sorted(by: [] as [RealmSwift.SortDescriptor]).map(\.pk) == [3, 0, 4, 1, 5, 2])
        #expect(realm.objects(All.self).sorted(by: ["optInt", "pk"]).map(\.pk) == [0, 1, 2, 3, 4, 5])
        #expect(
            RealmSwift.SortDescriptor(keyPath: "a").reversed()
                == RealmSwift.SortDescriptor(keyPath: "a", ascending: false))
        #expect(
            "\(RealmSwift.SortDescriptor(keyPath: "x", ascending: false))"
                == "SortDescriptor(keyPath: x, direction: descending)")
        #expect(("x" as RealmSwift.SortDescriptor) == RealmSwift.SortDescriptor(keyPath: "x"))
        try realm.write { realm.delete(results.filter("int == 1")) }
        #expect(results.map(\.pk) == [3, 0, 5, 2] && results.last?.pk == 2)
    }
}

extension List {
    /// Passes the list as the `inout` value that Swift's mutating algorithms need.
    fileprivate func withMutableList(_ body: (inout List) -> Void) {
        var list = self
        body(&list)
    }
}
