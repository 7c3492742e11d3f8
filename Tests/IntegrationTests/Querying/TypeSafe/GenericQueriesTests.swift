// SPDX-License-Identifier: Apache-2.0
// Type-safe queries in generic functions, as in the test suites of RealmSwift's users: which operators the
// constraints on a property's type allow, the predicate text, and that both forms find the same objects.

import Foundation
import RealmSwift
import Testing

private typealias All = Contract.All
private typealias Many = Contract.Many
private typealias Path<Root, T> = (Query<Root>) -> Query<T>

/// Runs a query as a closure and as its predicate text, and expects the same count of both.
private struct Asker {
    let realm: Realm

    func ask<Root: Object>(
        _ type: Root.Type, _ text: String, _ count: Int, at place: SourceLocation = #_sourceLocation,
        _ condition: (Query<Root>) -> Query<Bool>
    ) {
        let (printed, arguments) = condition(Query<Root>._constructForTesting())._constructPredicate()
        #expect(printed == text, sourceLocation: place)
        let all = realm.objects(type)
        #expect(all.where(condition).count == count, "\(text)", sourceLocation: place)
        let found = all.filter(NSPredicate(format: printed, argumentArray: arguments)).count
        #expect(found == count, "\(text) as text", sourceLocation: place)
    }

    func equality<Root: Object, T: _Persistable>(_ name: String, _ path: Path<Root, T>, _ value: T) {
        ask(Root.self, "(\(name) == %@)", 1) { path($0) == value }
        ask(Root.self, "(\(name) != %@)", 1) { path($0) != value }
        ask(Root.self, "(\(name) IN %@)", 1) { path($0).in([value]) }
        ask(Root.self, "(NOT \(name) == %@)", 1) { !(path($0) == value) }
        ask(Root.self, "(NOT \(name) != %@)", 1) { !(path($0) != value) }
    }

    /// `value` is the value of the second of two rows; the first row has a smaller one.
    func order<Root: Object, T: _HasPersistedType>(
        _ name: String, _ path: Path<Root, T>, _ value: T, isNullable: Bool = false
    ) where T.PersistedType: _QueryNumeric {
        ask(Root.self, "(\(name) > %@)", 0) { path($0) > value }
        ask(Root.self, "(\(name) >= %@)", 1) { path($0) >= value }
        ask(Root.self, "(\(name) < %@)", isNullable ? 0 : 1) { path($0) < value }
        ask(Root.self, "(\(name) <= %@)", isNullable ? 1 : 2) { path($0) <= value }
    }

    func range<Root: Object, T: Comparable & _Persistable>(_ name: String, _ path: Path<Root, T>, _ a: T, _ b: T) {
        ask(Root.self, "((\(name) >= %@) && (\(name) < %@))", 1) { path($0).contains(a..<b) }
        ask(Root.self, "(\(name) BETWEEN {%@, %@})", 2) { path($0).contains(a...b) }
    }

    func optionalRange<Root: Object, T: OptionalProtocol & _Persistable>(
        _ name: String, _ path: Path<Root, T>, _ a: T.Wrapped, _ b: T.Wrapped
    ) where T.Wrapped: Comparable {
        ask(Root.self, "((\(name) >= %@) && (\(name) < %@))", 0) { path($0).contains(a..<b) }
        ask(Root.self, "(\(name) BETWEEN {%@, %@})", 1) { path($0).contains(a...b) }
    }

    func text<Root: Object, T: _Persistable>(_ name: String, _ path: Path<Root, T>, _ value: T)
    where T.PersistedType: _QueryString {
        ask(Root.self, "(\(name) LIKE[c] %@)", 1) { path($0).like(value, caseInsensitive: true) }
        bytes(name, path, value)
    }

    func bytes<Root: Object, T: _Persistable>(_ name: String, _ path: Path<Root, T>, _ value: T)
    where T.PersistedType: _QueryBinary {
        ask(Root.self, "(\(name) CONTAINS %@)", 1) { path($0).contains(value) }
        ask(Root.self, "(\(name) BEGINSWITH %@)", 1) { path($0).starts(with: value) }
        ask(Root.self, "(\(name) ENDSWITH %@)", 1) { path($0).ends(with: value) }
        ask(Root.self, "(\(name) == %@)", 1) { path($0).equals(value) }
        ask(Root.self, "(\(name) != %@)", 1) { path($0).notEquals(value) }
        ask(Root.self, "(\(name) == \(name))", 2) { path($0).equals(path($0)) }
        ask(Root.self, "(\(name) >= %@)", 1) { path($0) >= value }
    }

    func collection<Root: Object, T: RealmCollection>(_ name: String, _ path: Path<Root, T>, _ value: T.Element) {
        ask(Root.self, "(%@ IN \(name))", 1) { path($0).contains(value) }
        ask(Root.self, "(NOT %@ IN \(name))", 1) { !path($0).contains(value) }
        ask(Root.self, "(ANY \(name) IN %@)", 1) { path($0).containsAny(in: [value]) }
        ask(Root.self, "(ANY \(name) == %@)", 1) { path($0) == value }
        ask(Root.self, "(\(name).@count == %@)", 1) { path($0).count == 2 }
    }

    func figures<Root: Object, T: RealmCollection>(
        _ name: String, _ path: Path<Root, T>, _ least: T.Element, _ greatest: T.Element
    ) where T.Element.PersistedType: _QueryNumeric {
        ask(Root.self, "(\(name).@min == %@)", 1) { path($0).min == least }
        ask(Root.self, "(\(name).@max == %@)", 1) { path($0).max == greatest }
        ask(Root.self, "(\(name).@min >= %@)", 1) { path($0).min >= least }
        ask(Root.self, "(ANY \(name) > %@)", 1) { path($0) > least }
        ask(Root.self, "(ANY \(name) <= %@)", 1) { path($0) <= least }
    }

    func sums<Root: Object, T: RealmCollection>(_ name: String, _ path: Path<Root, T>, _ sum: T.Element)
    where T.Element.PersistedType: _QueryNumeric & AddableType {
        ask(Root.self, "(\(name).@sum == %@)", 1) { path($0).sum == sum }
        ask(Root.self, "(\(name).@avg < %@)", 1) { path($0).avg < sum }
    }

    func ranges<Root: Object, T: RealmCollection>(
        _ name: String, _ path: Path<Root, T>, _ a: T.Element, _ b: T.Element
    ) where T.Element: Comparable {
        ask(Root.self, "((\(name).@min >= %@) && (\(name).@max < %@))", 0) { path($0).contains(a..<b) }
        ask(Root.self, "((\(name).@min >= %@) && (\(name).@max <= %@))", 1) { path($0).contains(a...b) }
    }

    func map<Root: Object, T: RealmKeyedCollection>(_ name: String, _ path: Path<Root, T>, _ value: T.Value)
    where T.Key == String {
        ask(Root.self, "(%@ IN \(name))", 1) { path($0).contains(value) }
        ask(Root.self, "(ANY \(name) IN %@)", 1) { path($0).containsAny(in: [value]) }
        ask(Root.self, "(\(name).@count == %@)", 1) { path($0).count == 2 }
        ask(Root.self, "(ANY \(name).@allKeys == %@)", 1) { path($0).keys == "a" }
        ask(Root.self, "(ANY \(name).@allKeys BEGINSWITH[c] %@)", 1) {
            path($0).keys.starts(with: "A", options: .caseInsensitive)
        }
        ask(Root.self, "(ANY \(name).@allKeys IN %@)", 1) { path($0).keys.in(["a", "z"]) }
        ask(Root.self, "(ANY \(name).@allValues == %@)", 1) { path($0).values == value }
        ask(Root.self, "(\(name)[%@] == %@)", 1) { path($0)["a"] == value }
        ask(Root.self, "(ANY \(name).@allValues IN %@)", 1) { path($0).values.in([value]) }
    }

    func mapFigures<Root: Object, T: RealmKeyedCollection>(
        _ name: String, _ path: Path<Root, T>, _ least: T.Value, _ greatest: T.Value
    ) where T.Value.PersistedType: _QueryNumeric, T.Key == String {
        ask(Root.self, "(\(name).@min == %@)", 1) { path($0).min == least }
        ask(Root.self, "(\(name).@max == %@)", 1) { path($0).max == greatest }
        ask(Root.self, "(\(name)[%@] > %@)", 0) { path($0)["a"] > least }
        ask(Root.self, "(ANY \(name).@allValues > %@)", 1) { path($0).values > least }
    }
}

@Suite("Type-safe queries in generic code")
struct GenericQueriesTests {
    static let day = Date(timeIntervalSince1970: 86400)
    static let oid = ObjectId("ffffffffffffffffffffffff")
    static let uuid = UUID(uuid: (9, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private func asker() throws -> Asker {
        let realm = try Contract.allTypes()
        try realm.write {
            realm.add(All())
            let all = All(value: ["pk": 1])
            (all.bool, all.int, all.int8, all.int16, all.int32, all.int64) = (true, 5, 5, 5, 5, 5)
            (all.float, all.double, all.string, all.data, all.date) = (5.5, 5.5, "hello", Data([1, 2]), Self.day)
            (all.decimal, all.objectId, all.uuid, all.any) = (5.5, Self.oid, Self.uuid, .int(5))
            (all.rank, all.mood, all.metres, all.label) = (.high, .wild, .init(5), .init("hello"))
            (all.optBool, all.optInt, all.optInt8, all.optInt16, all.optInt32, all.optInt64) = (true, 5, 5, 5, 5, 5)
            (all.optFloat, all.optDouble, all.optString, all.optData) = (5.5, 5.5, "hello", Data([1, 2]))
            (all.optDate, all.optDecimal, all.optObjectId, all.optUuid) = (Self.day, 5.5, Self.oid, Self.uuid)
            (all.optRank, all.optMood, all.optMetres, all.optLabel) = (.high, .wild, .init(5), .init("hello"))
            realm.add(all)
        }
        return Asker(realm: realm)
    }

    private func manyAsker() throws -> Asker {
        let realm = try Contract.allTypes()
        try realm.write {
            let many = Many()
            many.bools.append(objectsIn: [true, false])
            many.ints.append(objectsIn: [1, 4])
            many.int8s.append(objectsIn: [1, 4])
            many.floats.append(objectsIn: [1, 4])
            many.doubles.append(objectsIn: [1, 4])
            many.strings.append(objectsIn: ["a", "b"])
            many.datas.append(objectsIn: [Data([1]), Data([2])])
            many.dates.append(objectsIn: [Self.day, Self.day + 1])
            many.decimals.append(objectsIn: [1, 4])
            many.objectIds.append(objectsIn: [Self.oid, ObjectId()])
            many.uuids.append(objectsIn: [Self.uuid, UUID()])
            many.anys.append(objectsIn: [.int(1), .double(4)])
            many.ranks.append(objectsIn: [.low, .high])
            many.moods.append(objectsIn: [.calm, .wild])
            many.metres.append(objectsIn: [.init(1), .init(4)])
            many.labels.append(objectsIn: [.init("a"), .init("b")])
            many.optInts.append(objectsIn: [1, 4])
            many.optStrings.append(objectsIn: ["a", nil])
            many.optDates.append(objectsIn: [Self.day, Self.day + 1])
            many.optDecimals.append(objectsIn: [1, 4])
            many.optRanks.append(objectsIn: [.low, .high])
            many.optMetres.append(objectsIn: [.init(1), .init(4)])
            many.intSet.insert(objectsIn: [1, 4])
            many.doubleSet.insert(objectsIn: [1, 4])
            many.stringSet.insert(objectsIn: ["a", "b"])
            many.dateSet.insert(objectsIn: [Self.day, Self.day + 1])
            many.decimalSet.insert(objectsIn: [1, 4])
            many.anySet.insert(objectsIn: [.int(1), .double(4)])
            many.rankSet.insert(objectsIn: [.low, .high])
            many.metreSet.insert(objectsIn: [.init(1), .init(4)])
            many.optIntSet.insert(objectsIn: [1, 4])
            fillMaps(many)
            realm.add(many)
            realm.add(Many())
        }
        return Asker(realm: realm)
    }

    private func fillMaps(_ many: Many) {
        many.intMap.merge(["a": 1, "b": 4]) { $1 }
        many.doubleMap.merge(["a": 1, "b": 4]) { $1 }
        many.stringMap.merge(["a": "x", "b": "y"]) { $1 }
        many.dateMap.merge(["a": Self.day, "b": Self.day + 1]) { $1 }
        many.decimalMap.merge(["a": 1, "b": 4]) { $1 }
        many.anyMap.merge(["a": .int(1), "b": .double(4)]) { $1 }
        many.rankMap.merge(["a": .low, "b": .high]) { $1 }
        many.metreMap.merge(["a": .init(1), "b": .init(4)]) { $1 }
        many.optIntMap.merge(["a": 1, "b": 4]) { $1 }
        many.optStringMap.merge(["a": "x", "b": nil]) { $1 }
        many.optRankMap.merge(["a": .low, "b": .high]) { $1 }
        many.optMetreMap.merge(["a": .init(1), "b": .init(4)]) { $1 }
    }

    @Test("Properties of every type can be compared for equality")
    func equality() throws {
        let ask = try asker()
        ask.equality("bool", { (all: Query<All>) in all.bool }, true)
        ask.equality("int", { (all: Query<All>) in all.int }, 5)
        ask.equality("int8", { (all: Query<All>) in all.int8 }, 5)
        ask.equality("float", { (all: Query<All>) in all.float }, 5.5)
        ask.equality("string", { (all: Query<All>) in all.string }, "hello")
        ask.equality("data", { (all: Query<All>) in all.data }, Data([1, 2]))
        ask.equality("date", { (all: Query<All>) in all.date }, Self.day)
        ask.equality("decimal", { (all: Query<All>) in all.decimal }, 5.5)
        ask.equality("objectId", { (all: Query<All>) in all.objectId }, Self.oid)
        ask.equality("uuid", { (all: Query<All>) in all.uuid }, Self.uuid)
        ask.equality("any", { (all: Query<All>) in all.any }, .int(5))
        ask.equality("rank", { (all: Query<All>) in all.rank }, .high)
        ask.equality("mood", { (all: Query<All>) in all.mood }, .wild)
        ask.equality("metres", { (all: Query<All>) in all.metres }, .init(5))
        ask.equality("label", { (all: Query<All>) in all.label }, .init("hello"))
        ask.equality("optBool", { (all: Query<All>) in all.optBool }, true)
        ask.equality("optInt", { (all: Query<All>) in all.optInt }, 5)
        ask.equality("optDecimal", { (all: Query<All>) in all.optDecimal }, 5.5)
        ask.equality("optRank", { (all: Query<All>) in all.optRank }, .high)
        ask.equality("optMetres", { (all: Query<All>) in all.optMetres }, .init(5))
        ask.equality("optInt", { (all: Query<All>) in all.optInt }, nil)
        ask.equality("rank", { (all: Query<All>) in all.rank.rawValue }, 3)
        ask.equality("optMood", { (all: Query<All>) in all.optMood.rawValue }, "b")
        ask.equality("metres", { (all: Query<All>) in all.metres.persistableValue }, 5)
        ask.equality("optLabel", { (all: Query<All>) in all.optLabel.persistableValue }, "hello")
        ask.equality("rank", { (all: Query<All>) in all.rank.persistableValue }, 3)
    }

    @Test("Ordered properties can be compared by order and by range")
    func orders() throws {
        let ask = try asker()
        ask.order("int16", { (all: Query<All>) in all.int16 }, 5)
        ask.order("float", { (all: Query<All>) in all.float }, 5.5)
        ask.order("date", { (all: Query<All>) in all.date }, Self.day)
        ask.order("decimal", { (all: Query<All>) in all.decimal }, 5.5)
        ask.order("rank", { (all: Query<All>) in all.rank }, .high)
        ask.order("metres", { (all: Query<All>) in all.metres }, .init(5))
        ask.order("any", { (all: Query<All>) in all.any }, .int(5), isNullable: true)
        ask.order("optInt32", { (all: Query<All>) in all.optInt32 }, 5, isNullable: true)
        ask.order("optDecimal", { (all: Query<All>) in all.optDecimal }, 5.5, isNullable: true)
        ask.order("optRank", { (all: Query<All>) in all.optRank }, .high, isNullable: true)
        ask.order("optMetres", { (all: Query<All>) in all.optMetres }, .init(5), isNullable: true)
        ask.order("optRank", { (all: Query<All>) in all.optRank.rawValue }, 3, isNullable: true)
        ask.range("int", { (all: Query<All>) in all.int }, 0, 5)
        ask.range("double", { (all: Query<All>) in all.double }, 0, 5.5)
        ask.range("decimal", { (all: Query<All>) in all.decimal }, 0, 5.5)
        ask.range("date", { (all: Query<All>) in all.date }, Date(timeIntervalSince1970: 0), Self.day)
        ask.range("rank", { (all: Query<All>) in all.rank }, .low, .high)
        ask.range("metres", { (all: Query<All>) in all.metres.persistableValue }, 0, 5)
        ask.optionalRange("optInt", { (all: Query<All>) in all.optInt }, 0, 5)
        ask.optionalRange("optDouble", { (all: Query<All>) in all.optDouble }, 0, 5.5)
        ask.optionalRange("optRank", { (all: Query<All>) in all.optRank }, .low, .high)
        ask.optionalRange("optMetres", { (all: Query<All>) in all.optMetres.persistableValue }, 0, 5)
        ask.ask(All.self, "((string >= %@) && (string < %@))", 1) { $0.string.contains("a"..<"i") }
        ask.ask(All.self, "((mood >= %@) && (mood < %@))", 1) { $0.mood.contains(.calm ..< .wild) }
    }

    @Test("Text and data can be searched for parts")
    func parts() throws {
        let ask = try asker()
        ask.text("string", { (all: Query<All>) in all.string }, "hello")
        ask.text("optString", { (all: Query<All>) in all.optString }, "hello")
        ask.text("label", { (all: Query<All>) in all.label }, .init("hello"))
        ask.text("mood", { (all: Query<All>) in all.mood.rawValue }, "b")
        ask.text("optMood", { (all: Query<All>) in all.optMood.rawValue }, "b")
        ask.text("optLabel", { (all: Query<All>) in all.optLabel.persistableValue }, "hello")
        ask.bytes("data", { (all: Query<All>) in all.data }, Data([1, 2]))
        ask.bytes("optData", { (all: Query<All>) in all.optData }, Data([1, 2]))
        ask.ask(All.self, "(string CONTAINS[cd] %@)", 1) {
            $0.string.contains("ÉLL", options: [.caseInsensitive, .diacriticInsensitive])
        }
        ask.ask(All.self, "(string BEGINSWITH[d] optString)", 1) {
            $0.string.starts(with: $0.optString, options: .diacriticInsensitive)
        }
    }

    @Test("Lists and sets of every type can be queried for elements, counts and aggregates")
    func collections() throws {
        let ask = try manyAsker()
        ask.collection("bools", { (many: Query<Many>) in many.bools }, true)
        ask.collection("ints", { (many: Query<Many>) in many.ints }, 4)
        ask.collection("strings", { (many: Query<Many>) in many.strings }, "a")
        ask.collection("datas", { (many: Query<Many>) in many.datas }, Data([1]))
        ask.collection("dates", { (many: Query<Many>) in many.dates }, Self.day)
        ask.collection("decimals", { (many: Query<Many>) in many.decimals }, 4)
        ask.collection("objectIds", { (many: Query<Many>) in many.objectIds }, Self.oid)
        ask.collection("uuids", { (many: Query<Many>) in many.uuids }, Self.uuid)
        ask.collection("anys", { (many: Query<Many>) in many.anys }, .int(1))
        ask.collection("ranks", { (many: Query<Many>) in many.ranks }, .high)
        ask.collection("moods", { (many: Query<Many>) in many.moods }, .wild)
        ask.collection("metres", { (many: Query<Many>) in many.metres }, .init(4))
        ask.collection("labels", { (many: Query<Many>) in many.labels }, .init("a"))
        ask.collection("optInts", { (many: Query<Many>) in many.optInts }, 4)
        ask.collection("optStrings", { (many: Query<Many>) in many.optStrings }, nil)
        ask.collection("optRanks", { (many: Query<Many>) in many.optRanks }, .high)
        ask.collection("stringSet", { (many: Query<Many>) in many.stringSet }, "a")
        ask.collection("rankSet", { (many: Query<Many>) in many.rankSet }, .high)
        ask.collection("ranks", { (many: Query<Many>) in many.ranks.rawValue }, 3)
        ask.collection("moods", { (many: Query<Many>) in many.moods.rawValue }, "b")
        ask.collection("optRanks", { (many: Query<Many>) in many.optRanks.rawValue }, 3)
        ask.collection("metres", { (many: Query<Many>) in many.metres.persistableValue }, 4)
        ask.collection("optMetres", { (many: Query<Many>) in many.optMetres.persistableValue }, 4)
        ask.collection("metreSet", { (many: Query<Many>) in many.metreSet.persistableValue }, 4)
        ask.figures("ints", { (many: Query<Many>) in many.ints }, 1, 4)
        ask.figures("floats", { (many: Query<Many>) in many.floats }, 1, 4)
        ask.figures("dates", { (many: Query<Many>) in many.dates }, Self.day, Self.day + 1)
        ask.figures("decimals", { (many: Query<Many>) in many.decimals }, 1, 4)
        ask.figures("anys", { (many: Query<Many>) in many.anys }, .int(1), .int(4))
        ask.figures("ranks", { (many: Query<Many>) in many.ranks }, .low, .high)
        ask.figures("metres", { (many: Query<Many>) in many.metres }, .init(1), .init(4))
        ask.figures("optInts", { (many: Query<Many>) in many.optInts }, 1, 4)
        ask.figures("intSet", { (many: Query<Many>) in many.intSet }, 1, 4)
        ask.figures("anySet", { (many: Query<Many>) in many.anySet }, .int(1), .int(4))
        ask.sums("ints", { (many: Query<Many>) in many.ints }, 5)
        ask.sums("doubles", { (many: Query<Many>) in many.doubles }, 5)
        ask.sums("decimals", { (many: Query<Many>) in many.decimals }, 5)
        ask.sums("optInts", { (many: Query<Many>) in many.optInts }, 5)
        ask.sums("decimalSet", { (many: Query<Many>) in many.decimalSet }, 5)
        ask.sums("metres", { (many: Query<Many>) in many.metres.persistableValue }, 5)
        ask.ranges("ints", { (many: Query<Many>) in many.ints }, 1, 4)
        ask.ranges("doubleSet", { (many: Query<Many>) in many.doubleSet }, 1, 4)
        ask.ranges("ranks", { (many: Query<Many>) in many.ranks }, .low, .high)
        ask.ranges("metreSet", { (many: Query<Many>) in many.metreSet.persistableValue }, 1, 4)
        ask.ask(Many.self, "((optInts.@min >= %@) && (optInts.@max <= %@))", 1) { $0.optInts.contains(1...4) }
        ask.ask(Many.self, "((optMetres.@min >= %@) && (optMetres.@max < %@))", 1) {
            $0.optMetres.persistableValue.contains(1..<5)
        }
    }

    @Test("Maps of every type can be queried for keys, values, counts and aggregates")
    func maps() throws {
        let ask = try manyAsker()
        ask.map("intMap", { (many: Query<Many>) in many.intMap }, 1)
        ask.map("stringMap", { (many: Query<Many>) in many.stringMap }, "x")
        ask.map("dateMap", { (many: Query<Many>) in many.dateMap }, Self.day)
        ask.map("anyMap", { (many: Query<Many>) in many.anyMap }, .int(1))
        ask.map("rankMap", { (many: Query<Many>) in many.rankMap }, .low)
        ask.map("metreMap", { (many: Query<Many>) in many.metreMap }, .init(1))
        ask.map("optIntMap", { (many: Query<Many>) in many.optIntMap }, 1)
        ask.map("optStringMap", { (many: Query<Many>) in many.optStringMap }, "x")
        ask.map("rankMap", { (many: Query<Many>) in many.rankMap.rawValue }, 1)
        ask.map("optRankMap", { (many: Query<Many>) in many.optRankMap.rawValue }, 1)
        ask.map("metreMap", { (many: Query<Many>) in many.metreMap.persistableValue }, 1)
        ask.map("optMetreMap", { (many: Query<Many>) in many.optMetreMap.persistableValue }, 1)
        ask.mapFigures("intMap", { (many: Query<Many>) in many.intMap }, 1, 4)
        ask.mapFigures("dateMap", { (many: Query<Many>) in many.dateMap }, Self.day, Self.day + 1)
        ask.mapFigures("decimalMap", { (many: Query<Many>) in many.decimalMap }, 1, 4)
        ask.mapFigures("rankMap", { (many: Query<Many>) in many.rankMap }, .low, .high)
        ask.mapFigures("optIntMap", { (many: Query<Many>) in many.optIntMap }, 1, 4)
        ask.mapFigures("optMetreMap", { (many: Query<Many>) in many.optMetreMap }, .init(1), .init(4))
        ask.ask(Many.self, "(intMap.@sum == %@)", 1) { $0.intMap.sum == 5 }
        ask.ask(Many.self, "(doubleMap.@avg == %@)", 1) { $0.doubleMap.avg == 2.5 }
        ask.ask(Many.self, "((intMap.@min >= %@) && (intMap.@max < %@))", 0) { $0.intMap.contains(1..<4) }
        ask.ask(Many.self, "((optIntMap.@min >= %@) && (optIntMap.@max <= %@))", 1) { $0.optIntMap.contains(1...4) }
        ask.ask(Many.self, "(ANY stringMap.@allValues LIKE %@)", 1) { $0.stringMap.values.like("?") }
        ask.ask(Many.self, "(stringMap[%@] CONTAINS[c] %@)", 1) {
            $0.stringMap["a"].contains("X", options: .caseInsensitive)
        }
        ask.ask(Many.self, "(optStringMap[%@] == %@)", 2) { $0.optStringMap["b"] == nil }
    }
}
