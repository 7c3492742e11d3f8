// SPDX-License-Identifier: Apache-2.0
// Minimum, maximum, sum and average of every type that has them, over every kind of collection, in all three forms:
// by name, by key path, and of the elements themselves.

import Foundation
import RealmSwift
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many

@Suite("Aggregates of every type and collection")
struct AggregateContractTests {
    private static let early = Date(timeIntervalSince1970: 100)
    private static let late = Date(timeIntervalSince1970: 300)

    /// Three objects: 1, 3, and one whose optionals are nil; the first two are also in a list, a set, a map and
    /// linking objects.
    private func realm() throws -> Realm {
        let realm = try Contract.allTypes()
        try realm.write {
            let rows = [1, 3].map { number -> All in
                let all = All(value: ["pk": number])
                (all.int, all.int8, all.int16, all.int32, all.int64) = (
                    number, Int8(number), Int16(number), Int32(number), Int64(number)
                )
                (all.float, all.double, all.decimal) = (Float(number), Double(number), Decimal128(value: number))
                all.date = number == 1 ? Self.early : Self.late
                all.any = number == 1 ? .int(1) : .double(3)
                (all.rank, all.metres) = (number == 1 ? .low : .high, .init(number))
                (all.optInt, all.optInt8, all.optInt16, all.optInt32, all.optInt64) = (
                    number, Int8(number), Int16(number), Int32(number), Int64(number)
                )
                (all.optFloat, all.optDouble, all.optDecimal) = (Float(number), Double(number), all.decimal)
                (all.optDate, all.optRank, all.optMetres) = (all.date, all.rank, all.metres)
                return all
            }
            realm.add(rows)
            let holder = realm.create(All.self, value: ["pk": 100])
            holder.list.append(objectsIn: rows)
            holder.set.insert(objectsIn: rows)
            for row in rows { holder.map["\(row.pk)"] = row }
            holder.map["none"] = .some(nil)
            for row in rows { row.link = holder }
        }
        return realm
    }

    private func check<C: RealmCollection>(_ c: C, _ kind: String) where C.Element == Contract.All {
        ints(c, kind)
        #expect(c.min(of: \.float) == 1 && c.max(of: \.float) == 3 && c.sum(of: \.float) == 4, "\(kind)")
        #expect(c.average(of: \.float) == 2 && c.average(ofProperty: "float") as Double? == 2, "\(kind)")
        #expect(c.min(of: \.double) == 1 && c.max(of: \.double) == 3 && c.sum(of: \.double) == 4, "\(kind)")
        #expect(c.average(of: \.double) == 2 && c.sum(of: \.optDouble) == 4 && c.min(of: \.optFloat) == 1, "\(kind)")
        #expect(c.min(of: \.decimal) == 1 && c.max(of: \.decimal) == 3 && c.sum(of: \.decimal) == 4, "\(kind)")
        #expect(c.average(of: \.decimal) == 2 && c.average(of: \.optDecimal) == 2, "\(kind)")
        #expect(c.sum(ofProperty: "optDecimal") as Decimal128 == 4 && c.max(of: \.optDecimal) == 3, "\(kind)")
        #expect(c.min(of: \.date) == Self.early && c.max(of: \.date) == Self.late, "\(kind)")
        #expect(c.min(of: \.optDate) == Self.early && c.max(ofProperty: "optDate") as Date? == Self.late, "\(kind)")
        #expect(c.min(ofProperty: "date") as NSDate? == Self.early as NSDate, "\(kind)")
        #expect(c.min(of: \.any) == .int(1) && c.max(of: \.any) == .double(3), "\(kind)")
        #expect(c.min(ofProperty: "any") as AnyRealmValue? == .int(1), "\(kind)")
        #expect(c.sum(of: \.any) == .decimal128(4) && c.average(of: \.any) == .decimal128(2), "\(kind)")
        #expect(c.sum(ofProperty: "any") as AnyRealmValue == .decimal128(4), "\(kind)")
        #expect(c.min(of: \.rank) == .low && c.max(of: \.rank) == .high && c.max(of: \.optRank) == .high, "\(kind)")
        #expect(c.min(of: \.metres) == .init(1) && c.max(of: \.optMetres) == .init(3), "\(kind)")
        #expect(c.sum(of: \.metres) == .init(4) && c.average(of: \.metres) == .init(2), "\(kind)")
    }

    private func ints<C: RealmCollection>(_ c: C, _ kind: String) where C.Element == Contract.All {
        #expect(c.min(of: \.int) == 1 && c.max(of: \.int) == 3 && c.sum(of: \.int) == 4, "\(kind)")
        #expect(c.min(of: \.int8) == 1 && c.max(of: \.int8) == 3 && c.sum(of: \.int8) == 4, "\(kind)")
        #expect(c.min(of: \.int16) == 1 && c.max(of: \.int16) == 3 && c.sum(of: \.int16) == 4, "\(kind)")
        #expect(c.min(of: \.int32) == 1 && c.max(of: \.int32) == 3 && c.sum(of: \.int32) == 4, "\(kind)")
        #expect(c.min(of: \.int64) == 1 && c.max(of: \.int64) == 3 && c.sum(of: \.int64) == 4, "\(kind)")
        #expect(c.average(of: \.int) == 2 && c.average(of: \.int8) == 2 && c.average(of: \.optInt16) == 2, "\(kind)")
        #expect(c.min(of: \.optInt) == 1 && c.max(of: \.optInt64) == 3 && c.sum(of: \.optInt32) == 4, "\(kind)")
        #expect(c.average(ofProperty: "int") as Double? == 2 && c.average(ofProperty: "int") as Int? == 2, "\(kind)")
        #expect(c.min(ofProperty: "int") as NSNumber? == 1 && c.max(ofProperty: "int") as NSNumber? == 3, "\(kind)")
        #expect(c.sum(ofProperty: "int") as NSNumber == 4, "\(kind)")
        #expect(c.average(ofProperty: "optInt") as NSNumber? == 2, "\(kind)")
        #expect(c.min(ofProperty: "int") as Int8? == 1 && c.max(ofProperty: "int") as Int16? == 3, "\(kind)")
        #expect(c.max(ofProperty: "int") as Float? == 3 && c.sum(ofProperty: "int") as Double == 4, "\(kind)")
        #expect(c.max(ofProperty: "optInt") as Int64? == 3 && c.sum(ofProperty: "int16") as Int32 == 4, "\(kind)")
    }

    private func check(_ map: Map<String, Contract.All?>, _ kind: String) {
        #expect(map.min(of: \.int) == 1 && map.max(of: \.int8) == 3 && map.sum(of: \.optInt) == 4, "\(kind)")
        #expect(map.average(of: \.int) == 2 && map.average(ofProperty: "float") as Double? == 2, "\(kind)")
        #expect(map.min(ofProperty: "int") as NSNumber? == 1 && map.sum(ofProperty: "int") as NSNumber == 4, "\(kind)")
        #expect(map.max(ofProperty: "int") as Int? == 3 && map.min(ofProperty: "double") as Double? == 1, "\(kind)")
        #expect(map.min(of: \.date) == Self.early && map.max(ofProperty: "date") as NSDate? == Self.late as NSDate)
        #expect(map.sum(of: \.decimal) == 4 && map.average(of: \.optDecimal) == 2, "\(kind)")
        #expect(map.min(of: \.any) == .int(1) && map.sum(of: \.any) == .decimal128(4), "\(kind)")
        #expect(map.max(of: \.rank) == .high && map.sum(of: \.metres) == .init(4), "\(kind)")
    }

    private func checkNothing<C: RealmCollection>(_ c: C, _ kind: String) where C.Element == Contract.All {
        #expect(c.min(of: \.int) == nil && c.max(of: \.optDouble) == nil && c.min(of: \.date) == nil, "\(kind)")
        #expect(c.sum(of: \.int) == 0 && c.sum(of: \.optFloat) == 0 && c.sum(of: \.decimal) == 0, "\(kind)")
        #expect(c.sum(of: \.any) == .decimal128(0) && c.sum(of: \.metres) == .init(0), "\(kind)")
        #expect(
            c.average(of: \.int) == nil && c.average(of: \.decimal) == nil && c.average(of: \.any) == nil, "\(kind)")
        #expect(c.min(ofProperty: "int") as NSNumber? == nil && c.sum(ofProperty: "int") as NSNumber == 0, "\(kind)")
        #expect(c.average(ofProperty: "double") as Double? == nil && c.max(of: \.any) == nil, "\(kind)")
    }

    @Test("Aggregates of properties work on managed collections of every kind")
    func ofProperties() throws {
        let realm = try realm()
        let rows = realm.objects(All.self).filter("pk < 100")
        let holder = try #require(realm.object(ofType: All.self, forPrimaryKey: 100))
        check(rows, "Results")
        check(rows.sorted(byKeyPath: "int", ascending: false), "sorted Results")
        check(holder.list, "List")
        check(holder.set, "MutableSet")
        check(holder.parents, "LinkingObjects")
        check(AnyRealmCollection(rows), "AnyRealmCollection of Results")
        check(AnyRealmCollection(holder.list), "AnyRealmCollection of a List")
        check(holder.list.filter("TRUEPREDICATE"), "Results of a List")
        check(rows.freeze(), "frozen")
        check(holder.map, "Map")
        check(holder.map.freeze(), "frozen Map")
    }

    @Test("Aggregates of properties work on unmanaged collections")
    func unmanaged() throws {
        let realm = try realm()
        let holder = All()
        let copies = Array(realm.objects(All.self).filter("pk < 100").map { $0.detached() })
        for copy in copies { copy.link = nil }
        holder.list.append(objectsIn: copies)
        holder.set.insert(objectsIn: copies)
        for copy in copies { holder.map["\(copy.pk)"] = copy }
        check(holder.list, "List")
        check(holder.set, "MutableSet")
        check(AnyRealmCollection(holder.list), "AnyRealmCollection")
        check(holder.map, "Map")
        checkNothing(All().list, "List")
        checkNothing(All().set, "MutableSet")
        #expect(All().map.sum(of: \.int) == 0 && All().map.min(of: \.any) == nil)
    }

    @Test("Aggregates of empty collections are 0 or nil")
    func ofNothing() throws {
        let realm = try Contract.allTypes()
        let all = try realm.write { realm.create(All.self) }
        checkNothing(realm.objects(All.self).filter("FALSEPREDICATE"), "Results")
        checkNothing(all.list, "List")
        checkNothing(all.set, "MutableSet")
        checkNothing(all.parents, "LinkingObjects")
        checkNothing(All().parents, "unmanaged LinkingObjects")
        #expect(all.map.sum(of: \.int) == 0 && all.map.min(of: \.decimal) == nil)
    }

    // MARK: Values

    private func values<C: RealmCollection>(_ c: C, _ least: C.Element, _ greatest: C.Element, _ kind: String)
    where C.Element.PersistedType: MinMaxType {
        #expect(c.min() == least && c.max() == greatest, "\(kind)")
    }

    private func sums<C: RealmCollection>(_ c: C, _ sum: C.Element, _ average: Double, _ kind: String)
    where C.Element.PersistedType: AddableType {
        let found: Double? = c.average()
        #expect(c.sum() == sum && found == average, "\(kind)")
    }

    private func fill(_ many: Many) {
        many.ints.append(objectsIn: [3, 1])
        many.int8s.append(objectsIn: [3, 1])
        many.floats.append(objectsIn: [3, .nan, 1])
        many.doubles.append(objectsIn: [3, 1, .nan])
        many.dates.append(objectsIn: [Self.late, Self.early])
        many.decimals.append(objectsIn: [3, 1])
        many.anys.append(objectsIn: [.double(3), .none, .int(1), .string("x")])
        many.ranks.append(objectsIn: [.high, .low])
        many.metres.append(objectsIn: [.init(3), .init(1)])
        many.optInts.append(objectsIn: [3, nil, 1])
        many.optDates.append(objectsIn: [Self.late, nil, Self.early])
        many.optDecimals.append(objectsIn: [3, nil, 1])
        many.optRanks.append(objectsIn: [.high, nil, .low])
        many.optMetres.append(objectsIn: [.init(3), nil, .init(1)])
        many.intSet.insert(objectsIn: [3, 1])
        many.doubleSet.insert(objectsIn: [3, 1])
        many.dateSet.insert(objectsIn: [Self.late, Self.early])
        many.decimalSet.insert(objectsIn: [3, 1])
        many.anySet.insert(objectsIn: [.double(3), .int(1)])
        many.rankSet.insert(objectsIn: [.high, .low])
        many.metreSet.insert(objectsIn: [.init(3), .init(1)])
        many.optIntSet.insert(objectsIn: [3, nil, 1])
        many.intMap.merge(["a": 3, "b": 1]) { $1 }
        many.doubleMap.merge(["a": 3, "b": 1]) { $1 }
        many.dateMap.merge(["a": Self.late, "b": Self.early]) { $1 }
        many.decimalMap.merge(["a": 3, "b": 1]) { $1 }
        many.anyMap.merge(["a": .double(3), "b": .int(1)]) { $1 }
        many.rankMap.merge(["a": .high, "b": .low]) { $1 }
        many.metreMap.merge(["a": .init(3), "b": .init(1)]) { $1 }
        many.optIntMap.merge(["a": 3, "b": 1, "c": nil]) { $1 }
    }

    private func check(_ many: Many) {
        values(many.ints, 1, 3, "ints")
        values(many.int8s, 1, 3, "int8s")
        values(many.floats, 1, 3, "floats")
        values(many.doubles, 1, 3, "doubles")
        values(many.dates, Self.early, Self.late, "dates")
        values(many.decimals, 1, 3, "decimals")
        values(many.anys, .int(1), .double(3), "anys")
        values(many.ranks, .low, .high, "ranks")
        values(many.metres, .init(1), .init(3), "metres")
        values(many.optInts, 1, 3, "optInts")
        values(many.optDates, Self.early, Self.late, "optDates")
        values(many.optDecimals, 1, 3, "optDecimals")
        values(many.optRanks, .low, .high, "optRanks")
        values(many.optMetres, .init(1), .init(3), "optMetres")
        values(many.intSet, 1, 3, "intSet")
        values(many.dateSet, Self.early, Self.late, "dateSet")
        values(many.anySet, .int(1), .double(3), "anySet")
        values(many.rankSet, .low, .high, "rankSet")
        values(many.optIntSet, 1, 3, "optIntSet")
        values(AnyRealmCollection(many.ints), 1, 3, "AnyRealmCollection")
        sums(many.ints, 4, 2, "ints")
        sums(many.int8s, 4, 2, "int8s")
        sums(many.floats, 4, 2, "floats")
        sums(many.doubles, 4, 2, "doubles")
        sums(many.metres, .init(4), 2, "metres")
        sums(many.optInts, 4, 2, "optInts")
        sums(many.optMetres, .init(4), 2, "optMetres")
        sums(many.intSet, 4, 2, "intSet")
        sums(many.doubleSet, 4, 2, "doubleSet")
        sums(many.metreSet, .init(4), 2, "metreSet")
        sums(many.optIntSet, 4, 2, "optIntSet")
        sums(AnyRealmCollection(many.optInts), 4, 2, "AnyRealmCollection")
        #expect(many.decimals.sum() == 4 && many.decimals.average() as Decimal128? == 2)
        #expect(many.optDecimals.sum() == 4 && many.optDecimals.average() as Decimal128? == 2)
        #expect(many.decimalSet.sum() == 4 && many.decimalSet.min() == 1)
        #expect(many.anys.sum() == .decimal128(4) && many.anys.average() as AnyRealmValue? == .decimal128(2))
        #expect(many.anySet.sum() == .decimal128(4) && many.anySet.average() as Decimal128? == 2)
        #expect(many.intMap.min() == 1 && many.intMap.max() == 3 && many.intMap.sum() == 4)
        #expect(many.intMap.average() as Double? == 2 && many.doubleMap.average() as Double? == 2)
        #expect(many.dateMap.min() == Self.early && many.dateMap.max() == Self.late)
        #expect(many.decimalMap.sum() == 4 && many.decimalMap.average() as Decimal128? == 2)
        #expect(many.anyMap.min() == .int(1) && many.anyMap.sum() == .decimal128(4))
        #expect(many.rankMap.min() == .low && many.metreMap.sum() == .init(4) && many.metreMap.max() == .init(3))
        #expect(many.optIntMap.min() == 1 && many.optIntMap.sum() == 4 && many.optIntMap.average() as Double? == 2)
    }

    @Test("Aggregates of values work on managed and unmanaged collections")
    func ofValues() throws {
        let many = Many()
        fill(many)
        check(many)
        let realm = try Contract.allTypes()
        try realm.write { realm.add(many) }
        check(many)
        check(many.freeze())
        values(many.ints.sorted(), 1, 3, "Results of a list")
        sums(many.optInts.sorted(ascending: false), 4, 2, "Results of a list")
        values(many.intMap.sorted(), 1, 3, "Results of a map")
        values(many.optIntSet.distinct(), 1, 3, "Results of a set")
        let none = Many()
        #expect(none.ints.sum() == 0 && none.ints.min() == nil && none.ints.average() as Double? == nil)
        #expect(none.decimals.sum() == 0 && none.anys.sum() == .int(0) && none.anys.min() == nil)
        #expect(none.optInts.sum() == 0 && none.optIntMap.sum() == 0 && none.intMap.max() == nil)
    }

    @Test(
        "Collection operators of key paths return the aggregates of the property",
        arguments: ["int", "int8", "optInt", "double", "optDouble"])
    func byOperators(_ name: String) throws {
        let realm = try realm()
        let rows = realm.objects(All.self).filter("pk < 100")
        #expect(number(rows, "@sum", name) == 4)
        #expect(number(rows, "@min", name) == 1 && number(rows, "@max", name) == 3 && number(rows, "@avg", name) == 2)
        #expect(rows.value(forKeyPath: "@max.date") as? Date == Self.late)
        #expect(rows.value(forKeyPath: "@sum.decimal") as? Decimal128 == 4)
    }

    private func number(_ rows: Results<All>, _ name: String, _ property: String) -> NSNumber? {
        switch rows.value(forKeyPath: "\(name).\(property)") {
        case let value as Int: NSNumber(value: value)
        case let value as Double: NSNumber(value: value)
        default: nil
        }
    }
}
