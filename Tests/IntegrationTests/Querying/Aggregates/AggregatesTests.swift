// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum, sum and average over tables, filters, lists and linking objects.

import Foundation
import RealmSwift
import Testing

enum AggregateModels {
    class Sample: Object {
        @Persisted var int: Int
        @Persisted var small: Int8?
        @Persisted var float: Float
        @Persisted var double: Double?
        @Persisted var date: Date?
        @Persisted var text: String
        @Persisted var list: List<Sample>
        @Persisted(originProperty: "list") var holders: LinkingObjects<Sample>
    }

    static func realm(_ values: [[String: Any]]) throws -> Realm {
        let realm = try memoryRealm(Sample.self)
        try realm.write { for value in values { realm.create(Sample.self, value: value) } }
        return realm
    }
}

private typealias Sample = AggregateModels.Sample

@Suite("Aggregates")
struct AggregatesTests {
    static var values: [[String: Any]] {
        [
            [
                "int": 3, "small": 5, "float": Float(0.5), "double": 1.5,
                "date": Date(timeIntervalSince1970: 9),
            ],
            ["int": -4, "float": Float.nan, "double": Double.nan],
            ["int": 10, "small": -2, "float": Float(2), "date": Date(timeIntervalSince1970: 3)],
            ["int": 2, "small": 3, "float": Float(-1), "double": -2.5],
        ]
    }

    @Test("Aggregates ignore null and NaN")
    func figures() throws {
        let all = try AggregateModels.realm(Self.values).objects(Sample.self)
        #expect(all.min(ofProperty: "int") as Int? == -4 && all.max(of: \.int) == 10)
        #expect(all.sum(of: \.int) == 11 && all.average(ofProperty: "int") as Double? == 2.75)
        #expect(
            all.min(of: \.small) == -2 && all.max(of: \.small) == 5
                && all.sum(ofProperty: "small") as Int == 6)
        #expect(all.average(ofProperty: "small") as Double? == 2)
        #expect(all.min(of: \.float) == -1 && all.max(of: \.float) == 2 && all.sum(of: \.float) == 1.5)
        #expect(all.average(ofProperty: "float") as Double? == 0.5)
        #expect(all.min(of: \.double) == -2.5 && all.max(of: \.double) == 1.5 && all.sum(of: \.double) == -1)
        #expect(all.average(of: \.double) == -0.5)
        #expect(all.min(of: \.date) == Date(timeIntervalSince1970: 3))
        #expect(all.max(ofProperty: "date") as Date? == Date(timeIntervalSince1970: 9))
        let some = all.filter("int > 2")
        #expect(some.sum(of: \.int) == 13 && some.min(of: \.small) == -2 && some.average(of: \.double) == 1.5)
    }

    @Test("An empty collection has no minimum, maximum or average, and its sum is 0")
    func empty() throws {
        let realm = try AggregateModels.realm([["float": Float.nan]])
        let all = realm.objects(Sample.self)
        #expect(all.min(of: \.small) == nil && all.average(of: \.double) == nil && all.sum(of: \.small) == 0)
        #expect(all.min(of: \.float) == nil && all.max(of: \.float) == nil && all.sum(of: \.float) == 0)
        let none = all.filter("FALSEPREDICATE")
        #expect(none.min(of: \.int) == nil && none.max(of: \.date) == nil && none.sum(of: \.int) == 0)
        #expect(none.average(of: \.int) == nil && none.sum(of: \.double) == 0)
        #expect(all[0].list.sum(of: \.int) == 0 && all[0].list.max(of: \.int) == nil)
    }

    @Test("Sums of integers wrap, and floats are summed as doubles")
    func overflow() throws {
        let realm = try AggregateModels.realm([["int": Int.max], ["int": 2]])
        #expect(realm.objects(Sample.self).sum(of: \.int) == Int.min + 1)
        #expect(realm.objects(Sample.self).max(of: \.int) == .max)
        let many = try AggregateModels.realm((0..<1000).map { _ in ["float": Float(0.1)] })
        #expect(
            abs(many.objects(Sample.self).sum(ofProperty: "float") as Double - 1000 * Double(Float(0.1)))
                < 1e-9)
    }

    @Test("Aggregates count each entry of a list and each link of linking objects")
    func collections() throws {
        let realm = try AggregateModels.realm(Self.values)
        let all = realm.objects(Sample.self)
        try realm.write { all[0].list.append(objectsIn: [all[0], all[2], all[2], all[1]]) }
        let list = all[0].list
        #expect(
            list.sum(of: \.int) == 19 && list.min(of: \.int) == -4
                && list.max(ofProperty: "small") as Int? == 5)
        #expect(
            list.average(ofProperty: "int") as Double? == 4.75 && list.filter("int > 0").sum(of: \.int) == 23)
        #expect(all[2].holders.sum(of: \.int) == 6 && all[3].holders.max(of: \.int) == nil)
        #expect(list.sum(of: \.float) == 4.5 && list.min(of: \.date) == Date(timeIntervalSince1970: 3))
    }

    @Test("Unmanaged lists have aggregates")
    func unmanaged() {
        let sample = Sample()
        sample.list.append(objectsIn: [Sample(value: ["int": 3]), Sample(value: ["int": 4, "small": 1])])
        #expect(sample.list.sum(of: \.int) == 7 && sample.list.max(of: \.int) == 4)
        #expect(sample.list.sum(of: \.float) == 0 && sample.list.max(of: \.date) == nil)
        let texts = List<Int?>()
        #expect(texts.sum() == 0 && texts.min() == nil && texts.average() as Double? == nil)
        texts.append(objectsIn: [4, nil, 1])
        #expect(texts.sum() == 5 && texts.min() == 1 && texts.max() == 4 && texts.average() as Double? == 2.5)
        #expect(sample.list.min(of: \.small) == 1 && sample.list.average(ofProperty: "int") as Double? == 3.5)
    }

    @Test(
        "An aggregate of a property that does not support it is refused",
        arguments: [
            ("text", "Operation 'min' not supported for string property 'AggregateModels_Sample.text'"),
            ("nope", "Invalid property name"), ("list", "Operation 'min' not supported for"),
        ])
    func refuses(_ name: String, _ words: String) throws {
        let message =
            try misuseText {
                let all = try AggregateModels.realm(Self.values).objects(Sample.self)
                _ = all.min(ofProperty: name) as Int?
            } ?? "no misuse"
        #expect(message.contains(words), "\(message)")
        #expect(
            try misuseText {
                _ = try AggregateModels.realm(Self.values).objects(Sample.self).sum(ofProperty: "date") as Int
            } != nil)
    }

    @Test("Generic code over RealmCollection has aggregates, for managed and unmanaged collections")
    func generic() throws {
        func check<C: RealmCollection>(_ c: C, _ line: Comment) where C.Element == Int {
            let mean: Double? = c.average()
            #expect(c.sum() == 6 && c.min() == 1 && c.max() == 3 && mean == 2, line)
        }
        let values = Contract.Values(value: ["ints": [1, 2, 3], "intSet": [1, 2, 3]])
        check(values.ints, "unmanaged list")
        check(values.intSet, "unmanaged set")
        check(AnyRealmCollection(values.ints), "unmanaged, any")
        let realm = try Contract.realm()
        try realm.write { realm.add(values) }
        check(values.ints, "list")
        check(values.intSet, "set")
        check(AnyRealmCollection(values.intSet), "any")
        check(values.ints.sorted(ascending: false), "results")
        check(AnyRealmCollection(values.ints.sorted()), "any results")
        let empty = List<Int>()
        let none: Double? = empty.average()
        #expect(empty.sum() == 0 && empty.min() == nil && none == nil)
        let optional = List<Int?>()
        optional.append(objectsIn: [nil, 4, 2])
        #expect(optional.sum() == 6 && optional.max() == .some(4))
    }
}
