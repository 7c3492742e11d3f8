// SPDX-License-Identifier: Apache-2.0
// Features of queries that RealmSwift does not have: pages, explanations, index advice, natural order of names,
// `#Predicate`.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum AdditionModels {
    class Reader: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(indexed: true) var name: String
        @Persisted(indexed: true) var age: Int?
        @Persisted var score: Double
        @Persisted var code: UUID
        @Persisted var isActive: Bool
        @Persisted var born: Date
        @Persisted var town: String
        @Persisted var best: Reader?
        @Persisted var friends: List<Reader>
        @Persisted var marks: List<Int>
        @Persisted var words: List<String?>
    }
}

private typealias Reader = AdditionModels.Reader

@Suite("Additions to queries")
struct QueryAdditionsTests {
    private func readers(_ count: Int) throws -> Realm {
        let realm = try memoryRealm(Reader.self)
        try realm.write {
            for id in 0..<count {
                let reader = Reader()
                reader.id = id
                reader.name = "name \(id * 7919 % count)"
                reader.age = id % 11 == 0 ? nil : id % 10
                reader.score = Double(id)
                reader.isActive = id % 3 == 0
                reader.code = UUID(
                    uuid: (UInt8(id * 37 % 251), UInt8(id % 256), 0, 0, 0, 0, 0, 0, UInt8(id % 7), 0, 0, 0, 0, 0, 0, 1))
                reader.born = Date(timeIntervalSince1970: Double(id % 50))
                reader.town = ["Oslo", "Rome", "Bern"][id % 3]
                realm.add(reader)
            }
            let all = realm.objects(Reader.self)
            for reader in all where reader.id > 0 {
                reader.best = all[reader.id - 1]
                reader.friends.append(objectsIn: [all[0], all[reader.id / 2]])
                reader.marks.append(objectsIn: [reader.id % 4, reader.id % 5])
            }
        }
        return realm
    }

    @Test("`limit` and `offset` apply to the current order, live")
    func limits() throws {
        let realm = try readers(100)
        let all = realm.objects(Reader.self)
        let top = all.where { $0.isActive }.sorted(byKeyPath: "score", ascending: false).limit(3)
        #expect(top.map(\.id) == [99, 96, 93] && top.count == 3 && top.first?.id == 99 && top.last?.id == 93)
        #expect(all.offset(98).map(\.id) == [98, 99] && all.offset(100).isEmpty && all.limit(0).isEmpty)
        #expect(all.offset(10).limit(2).map(\.id) == [10, 11])
        #expect(top.filter("id < 97").map(\.id) == [96, 93])
        #expect(top.sorted(byKeyPath: "id").map(\.id) == [93, 96, 99])
        #expect(top.sum(of: \.id) == 288 && top.index(of: all[96]) == 1 && top.index(of: all[0]) == nil)
        #expect(all.sorted(byKeyPath: "id").distinct(by: ["town"]).limit(2).map(\.town) == ["Oslo", "Rome"])
        #expect(realm.object(ofType: Reader.self, forPrimaryKey: 5)!.friends.limit(1).map(\.id) == [0])
        try realm.write { all[96].score = -1 }
        #expect(top.map(\.id) == [99, 93, 90])
        #expect(try misuse { _ = $0.limit(-1) }.contains("negative"))
        #expect(try misuse { _ = $0.offset(-1) }.contains("negative"))
    }

    private func misuse(_ body: @escaping @Sendable (Results<Reader>) -> Void) throws -> String {
        try #require(try catchMisuse { body(try memoryRealm(Reader.self).objects(Reader.self)) })
    }

    @Test(
        "Pages that follow an object show every object once, in any order",
        arguments: [
            [("age", true)], [("age", false)], [("town", true), ("age", false)], [("isActive", false)],
            [("isActive", true), ("name", false)], [("code", true)], [("code", false), ("id", true)],
            [("born", false), ("town", true)], [("score", false)], [],
        ])
    func pages(order: [(String, Bool)]) throws {
        let realm = try readers(203)
        var sorted = realm.objects(Reader.self).where { $0.id != 17 }
        if !order.isEmpty {
            sorted = sorted.sorted(by: order.map { SortDescriptor(keyPath: $0.0, ascending: $0.1) })
        }
        let expected = Array(sorted.map(\.id))
        var seen: [Int] = []
        var page = sorted.limit(20)
        while let last = page.last {
            seen += page.map(\.id)
            page = sorted.after(last).limit(20)
        }
        #expect(seen == expected)
        let deleted = try #require(sorted.first)
        #expect(sorted.after(deleted).count == expected.count - 1)
    }

    @Test("A page that follows an object without a position in the order is refused")
    func refusedPages() throws {
        #expect(
            try catchMisuse {
                let realm = try readers(3)
                let all = realm.objects(Reader.self)
                _ = all.limit(2).after(all[0])
            }?.contains("before limit") == true)
        #expect(
            try catchMisuse {
                let realm = try readers(3)
                let all = realm.objects(Reader.self)
                _ = all.sorted(byKeyPath: "best.name").after(all[0])
            }?.contains("properties of the objects themselves") == true)
        #expect(
            try catchMisuse {
                let realm = try readers(3)
                let all = realm.objects(Reader.self)
                _ = all[1].friends.after(all[0])
            }?.contains("needs all objects of a class") == true)
    }

    @Test("The explanation names the index that found the objects")
    func explanations() throws {
        let realm = try readers(4000)
        let all = realm.objects(Reader.self)
        let byName = all.where { $0.name == "name 7" }.explain()
        #expect(byName.usesIndex(on: "name") && byName.examinedRows == 1 && byName.foundRows == 1)
        #expect(byName.isAnsweredByIndex && "\(byName)".contains("only index on name"))
        let byPrefix = all.where { $0.name.starts(with: "name 39") && $0.isActive }.explain()
        #expect(byPrefix.usesIndex(on: "name") && !byPrefix.isAnsweredByIndex)
        #expect(byPrefix.examinedRows == byPrefix.estimatedRows && byPrefix.examinedRows < 150)
        #expect(all.where { $0.id.contains(5...9) }.explain().usesIndex(on: "id"))
        #expect(all.where { $0.id.in([1, 5, 9000]) }.explain().examinedRows == 2)
        #expect(all.where { $0.name == "name 7" || $0.id == 3 }.explain().indexes == ["name", "id"])
        // Two conditions on one property become one range of its index.
        let ids = all.where { $0.id >= 100 && $0.id < 110 }.explain()
        #expect(ids.usesIndex(on: "id") && ids.isAnsweredByIndex && ids.examinedRows == 10 && ids.foundRows == 10)
        let ofNames = all.where { $0.name > "name 1" && $0.isActive && $0.name <= "name 1001" }.explain()
        #expect(ofNames.usesIndex(on: "name") && ofNames.estimatedRows < 20 && ofNames.examinedRows < 20)
        #expect(all.filter("name LIKE 'name 12*' AND age == 3").explain().usesIndex(on: "name"))
        #expect(all.sorted(byKeyPath: "age").explain().usesIndex(on: "age"))
        #expect(all.distinct(by: ["age"]).explain().usesIndex(on: "age"))
        let scan = all.where { $0.town == "Oslo" }.explain()
        #expect(scan.indexes.isEmpty && scan.examinedRows == 4000 && scan.foundRows == 1334)
        #expect("\(scan)".contains("scan") && "\(scan)".contains("Reader where town == \"Oslo\""))
        // Half of all objects is found faster by a scan.
        #expect(all.where { $0.id >= 100 }.explain().indexes.isEmpty)
        // Scores increase with the objects, so most row groups can be skipped.
        let zoned = all.where { $0.score > 3500 }.explain()
        #expect(2600...3500 ~= zoned.skippedRows && zoned.foundRows == 499)
    }

    @Test("Advice names the properties that need an index, the most useful first")
    func advice() throws {
        let realm = try readers(2000)
        let all = realm.objects(Reader.self)
        #expect(IndexAdvice.after(queriesOf: realm).isEmpty)
        for town in ["Oslo", "Rome", "Bern"] { _ = all.where { $0.town == town }.count }
        _ = all.where { $0.born > Date() && $0.name.contains("x") }.first
        _ = all.where { $0.name == "name 5" }.count
        let advice = IndexAdvice.after(queriesOf: realm)
        #expect(advice.map(\.property) == ["town", "born"])
        #expect(advice[0].queries == 3 && advice[0].examinedRows == 6000 && advice[0].sparedRows > 5900)
        #expect("\(advice[0])".contains("@Persisted(indexed: true)"))
    }

    @Test("The natural collation sorts names as people expect")
    func naturalOrder() throws {
        let realm = try memoryRealm(Reader.self)
        try realm.write {
            for (id, town) in ["zürich", "Zug", "Île 10", "Ile 9", "aarau", "Aarau", "Ändern", "Andern"].enumerated() {
                realm.create(Reader.self, value: ["id": id, "town": town])
            }
        }
        let all = realm.objects(Reader.self)
        let natural = ["aarau", "Aarau", "Andern", "Ändern", "Ile 9", "Île 10", "Zug", "zürich"]
        #expect(all.sorted(byKeyPath: "town", collation: .natural).map(\.town) == natural)
        #expect(
            all.sorted(byKeyPath: "town", ascending: false, collation: .natural).map(\.town)
                == natural.reversed())
        #expect(all.sorted(byKeyPath: "town").first?.town == "Aarau")
        let words = try #require(all.first).words
        try realm.write { words.append(objectsIn: ["w10", "W9", nil, "w1", "é"]) }
        #expect(Array(words.sorted(byKeyPath: "self", collation: .natural)) == [nil, "é", "w1", "W9", "w10"])
        #expect(
            Array(words.sorted(byKeyPath: "self", ascending: false, collation: .natural))
                == ["w10", "W9", "w1", "é", nil])
        #expect(Array(words.sorted(byKeyPath: "self")) == [nil, "W9", "w1", "w10", "é"])
    }

    @Test("Aggregates are available as NSNumber and NSDate")
    func foundationFigures() throws {
        let all = try readers(10).objects(Reader.self)
        let most: NSNumber? = all.max(ofProperty: "id")
        let sum: NSNumber = all.sum(ofProperty: "score")
        let first: NSDate? = all.min(ofProperty: "born")
        let whole: Int? = all.max(ofProperty: "id")
        #expect(most == 9 && sum == 45 && first == NSDate(timeIntervalSince1970: 0) && whole == 9)
    }

    @Test("#Predicate finds the same objects as a predicate format")
    func macro() throws {
        let realm = try readers(60)
        let all = realm.objects(Reader.self)
        let (limit, top, names, range) = (30, 30.0, ["name 1", "name 2"], 3...5)
        func same(_ predicate: Foundation.Predicate<Reader>, _ text: String, line: Int = #line) throws {
            let found = try all.filter(predicate)
            #expect(Array(found.map(\.id)) == Array(all.filter(text).map(\.id)), "line \(line): \(text)")
            #expect(!found.isEmpty, "line \(line)")
        }
        try same(#Predicate { $0.id < limit && $0.isActive }, "id < 30 AND isActive == TRUE")
        try same(#Predicate { !($0.id >= 5) || $0.town == "Rome" }, "NOT id >= 5 OR town == 'Rome'")
        try same(#Predicate { $0.age == nil }, "age == NULL")
        try same(#Predicate { $0.age != 3 && 4 < $0.id }, "age != 3 AND id > 4")
        try same(#Predicate { names.contains($0.name) }, "name IN {'name 1', 'name 2'}")
        try same(#Predicate { $0.marks.contains(4) }, "ANY marks == 4")
        try same(#Predicate { range.contains($0.id) }, "id BETWEEN {3, 5}")
        try same(#Predicate { (3..<5).contains($0.id) }, "id >= 3 AND id < 5")
        try same(#Predicate { $0.name.starts(with: "name 1") }, "name BEGINSWITH 'name 1'")
        try same(#Predicate { $0.town.contains("om") && !$0.town.isEmpty }, "town CONTAINS 'om'")
        try same(#Predicate { $0.best?.town == "Oslo" }, "best.town == 'Oslo'")
        try same(#Predicate { $0.best == nil }, "best == NULL")
        try same(#Predicate { $0.friends.count == 2 && !$0.marks.isEmpty }, "friends.@count == 2 AND marks.@count > 0")
        try same(
            #Predicate { $0.friends.contains { $0.id > 20 && $0.isActive } },
            "SUBQUERY(friends, $f, $f.id > 20 AND $f.isActive == TRUE).@count > 0")
        try same(
            #Predicate { $0.friends.allSatisfy { $0.id < 3 } }, "SUBQUERY(friends, $f, $f.id >= 3).@count == 0")
        try same(
            #Predicate { $0.friends.filter { $0.id > 20 }.count == 1 }, "SUBQUERY(friends, $f, $f.id > 20).@count == 1")
        try same(
            #Predicate { 2 >= $0.friends.filter { $0.isActive }.count },
            "SUBQUERY(friends, $f, $f.isActive == TRUE).@count <= 2")
        try same(
            #Predicate { $0.friends.filter { $0.id > 20 }.isEmpty }, "SUBQUERY(friends, $f, $f.id > 20).@count == 0")
        try same(#Predicate { $0.score > -1.5 && $0.score < top }, "score > -1.5 AND score < 30")
        #expect(try all.filter(#Predicate { $0.name == "name 7" }).explain().usesIndex(on: "name"))
    }

    @Test("A #Predicate that cannot be converted is refused with the name of its first unsupported operator")
    func refusedMacro() throws {
        let all = try readers(3).objects(Reader.self)
        #expect {
            _ = try all.filter(#Predicate { $0.id * 2 == 4 })
        } throws: {
            ($0 as? UnsupportedPredicateError)?.expression == "Arithmetic"
        }
        #expect {
            _ = try all.filter(#Predicate { ($0.isActive ? 1 : 2) == 1 })
        } throws: {
            ($0 as? UnsupportedPredicateError)?.expression == "Conditional"
        }
        // A key path to an Int is not always the count.
        #expect {
            _ = try all.filter(#Predicate { $0.friends.filter { $0.id > 20 }.startIndex == 0 })
        } throws: {
            ($0 as? UnsupportedPredicateError)?.expression == "KeyPath"
        }
    }
}
