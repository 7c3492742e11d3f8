// SPDX-License-Identifier: Apache-2.0
// Predicates as arguments of predicates, long chains and deep nesting, and IN with every type.

import Dispatch
import Foundation
import RealmSwift
import Synchronization
import Testing

private typealias Thing = FilterModels.Thing

@Suite("Query language")
struct QueryLanguageTests {
    @Test("A predicate can be the argument of another predicate")
    func predicatesAsArguments() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        let adult = NSPredicate(format: "n > %@", 4)
        let text = NSPredicate(format: "s == %@", "Hello")
        #expect(things.filter("%@ AND id < 5", adult).map(\.id) == [1, 4])
        #expect(things.filter("id == 2 OR NOT %@", adult).map(\.id) == [2, 3, 6])
        #expect(things.filter("%@ OR %@", text, NSPredicate(value: false)).map(\.id) == [1])
        let either = NSCompoundPredicate(orPredicateWithSubpredicates: [adult, NSPredicate(format: "id == 2")])
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
            either, NSCompoundPredicate(notPredicateWithSubpredicate: text),
        ])
        #expect(things.filter(either).map(\.id) == [1, 2, 4, 5])
        #expect(things.filter(both).map(\.id) == [2, 4, 5])
        #expect(things.filter("%@ AND id > %d", both, 3).map(\.id) == [4, 5])
        #expect(things.filter(NSCompoundPredicate(andPredicateWithSubpredicates: [])).count == 6)
        #expect(things.filter(NSCompoundPredicate(orPredicateWithSubpredicates: [])).isEmpty)
        let friend = things[0]
        #expect(things.filter("%@", NSPredicate(format: "ANY friends == %@", friend)).map(\.id) == [3])
    }

    @Test("Full case folding ignores case and diacritics of letters with several or longer capital forms")
    func fullFolding() throws {
        let realm = try FilterModels.realm()
        try realm.write { realm.objects(Thing.self)[0].s = "οδυσσευς Straße İı" }
        let things = realm.objects(Thing.self)
        for text in ["ΟΔΥΣΣΕΥΣ", "οδυσσευσ", "strasse", "STRASSE", "straße", "iı"] {
            #expect(things.filter("s CONTAINS[cd] %@", text).count == 1, "\(text)")
        }
        #expect(things.filter("s CONTAINS[cd] 'ii'").isEmpty)
    }

    @Test("Every C placeholder accepts a number, optionals are unwrapped, and %% is a percent sign")
    func placeholders() throws {
        let realm = try FilterModels.realm()
        let things = realm.objects(Thing.self)
        for placeholder in ["%d", "%i", "%ld", "%lld", "%u", "%lu", "%llu", "%x", "%f", "%lf", "%e", "%g", "%@"] {
            #expect(things.filter("n > \(placeholder)", 4).count == things.filter("n > 4").count, "\(placeholder)")
        }
        let some: Int? = 2
        let none: Int? = nil
        #expect(things.filter("id == %@", some as Any).map(\.id) == [2])
        #expect(things.filter("int == %@", none as Any).count == things.filter("int == NULL").count)
        try realm.write {
            things[0].s = "%"
            things[1].s = "100%%"
        }
        #expect(things.filter("s == %% AND id == %d", 1).map(\.id) == [1])
        #expect(things.filter("s CONTAINS %% AND id < %@", 3).map(\.id) == [1, 2])
        // Inside quotation marks a character is literal.
        #expect(things.filter("s CONTAINS '%%'").map(\.id) == [2])
    }

    @Test("A constant may be on the left of a collection")
    func constantsFirst() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        #expect(things.filter("2 == SUBQUERY(friends, $f, $f.id > 0).@count").map(\.id) == [1, 3])
        #expect(things.filter("1 > SUBQUERY(friends, $f, 1 == $f.id).@count").map(\.id) == [1, 2, 4, 5, 6])
        #expect(things.filter("3 <= nums.@count").map(\.id) == [1])
        #expect(things.filter("2 == ANY nums").map(\.id) == [1, 6])
        #expect(things.filter("%@ == NONE nums", 2).map(\.id) == [2, 3, 4, 5])
        #expect(things.filter("'x' IN tags AND 1 < ANY friends.id").map(\.id) == [1, 5])
    }

    @Test("An aggregate can be compared with a property of the object")
    func aggregatesAndProperties() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        #expect(things.filter("nums.@count == id").map(\.id) == [])
        #expect(things.filter("nums.@sum > n").map(\.id) == [1, 4, 6])
        #expect(things.filter("n < nums.@sum").map(\.id) == [1, 4, 6])
        #expect(things.filter("nums.@max == d").map(\.id) == [2])
        #expect(things.where { $0.nums.count > $0.id }.map(\.id) == [1])
    }

    @Test("IN finds the same objects as ==, for every type")
    func sets() throws {
        let realm = try FilterModels.realm()
        let things = realm.objects(Thing.self)
        let dates = [Date(timeIntervalSince1970: 1000.5), Date(timeIntervalSince1970: 0)]
        #expect(things.filter("date IN %@", dates).map(\.id) == [3, 5])
        #expect(things.where { $0.date.in([dates[0], nil]) }.map(\.id) == [2, 5, 6])
        #expect(things.filter("d IN {0, 1.5}").map(\.id) == [1, 4])
        #expect(things.filter("d IN %@", [Double.nan, .infinity]).map(\.id) == [3, 5])
        #expect(things.filter("f IN {1.7, 0.1}").map(\.id) == [1, 5])
        #expect(things.filter("uuid IN %@", [FilterModels.uuid, UUID()]).map(\.id) == [1])
        #expect(things.filter("oid IN %@", [FilterModels.oid, ObjectId.generate()]).map(\.id) == [1])
        #expect(things.filter("best IN %@", [things[2], things[4]]).map(\.id) == [1, 3])
        #expect(things.filter("ANY friends IN %@", things.filter("id < 2")).map(\.id) == [3])
        #expect(things.filter("NOT (date IN %@)", dates).map(\.id) == [1, 2, 4, 6])
        #expect(things.filter("owner.name IN {'Ann', 'Cy'}").map(\.id) == [1, 4, 5])
    }

    @Test("A nested SUBQUERY can use the outer variable, managed or unmanaged")
    func nestedVariables() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        let richer = "SUBQUERY(friends, $f, SUBQUERY($f.fans, $g, $g.n > $f.n).@count > 0).@count > 0"
        #expect(things.filter(richer).map(\.id) == [1, 5])
        let others = "SUBQUERY(friends, $f, SUBQUERY($f.fans, $g, $g != $f AND $g.id > $f.id).@count > 0).@count > 0"
        #expect(things.filter(others).map(\.id) == [1, 3, 5])
        let twice = "SUBQUERY(friends, $f, $f == %@).@count == 2"
        #expect(things.filter(twice, things[0]).map(\.id) == [3])
        #expect(
            things.filter("SUBQUERY(friends, $f, $f IN %@).@count > 0", [things[0], things[3]]).map(\.id) == [3, 4])
        let sums = "SUBQUERY(friends, $f, $f.nums.@count > 1 AND ANY $f.tags == 'x').@count > 0"
        #expect(things.filter(sums).map(\.id) == [3])

        let one = Thing(value: ["id": 1, "n": 1, "friends": [["n": 2], ["n": 7, "friends": [["n": 8]]]]])
        let two = Thing(value: ["id": 2, "n": 1, "friends": [["n": 9, "friends": [["n": 8]]]]])
        let younger = NSPredicate(
            format: "SUBQUERY(friends, $f, SUBQUERY($f.friends, $g, $g.n > $f.n).@count > 0).@count > 0")
        #expect(younger.evaluate(with: one) && !younger.evaluate(with: two))
    }

    @Test("IN with many values finds the same objects as ==, in every form")
    func manyValues() throws {
        let realm = try FilterModels.realm()
        try realm.write {
            for id in 7...600 {
                let thing = realm.create(Thing.self, value: ["id": id, "n": id * 37 % 1000 - 300])
                thing.t = "text \(id % 50)"
                thing.d = Double(id) / 4
                thing.uuid = UUID(uuid: (UInt8(id & 255), UInt8(id >> 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
                thing.date = Date(timeIntervalSince1970: Double(id))
                thing.indexed = id % 90
            }
        }
        let all = realm.objects(Thing.self)
        let rows: [Thing] = Array(all)
        func ids(_ holds: (Thing) -> Bool) -> [Int] { rows.filter(holds).map(\.id) }
        func found(_ text: String, _ values: Any) -> [Int] { all.filter(text, values).map(\.id) }

        let numbers = Array(stride(from: -900, to: 9000, by: 3))
        let isWanted = Set(numbers)
        let numberIds = ids { isWanted.contains($0.n) }
        #expect(numberIds.count > 100 && numberIds.count < 300)
        let optionals: [Int?] = numbers
        let boxes: [any Sendable] = numbers
        let wide = numbers.map { Int64($0) }
        let spellings: [Any] = [numbers, optionals, boxes, isWanted, wide, numbers as [Any]]
        for values in spellings { #expect(found("n IN %@", values) == numberIds, "\(type(of: values))") }
        #expect(all.where { $0.n.in(numbers) }.map(\.id) == numberIds)
        #expect(all.where { $0.n.in(isWanted) }.map(\.id) == numberIds)
        // Far apart: a hash table instead of a bit for each number.
        let farApart = numbers + [Int.max, Int.min]
        #expect(found("n IN %@", farApart) == ids { farApart.contains($0.n) })

        let texts = (0..<5000).map { "text \($0 * 7)" }
        let textIds = ids { texts.contains($0.t) }
        #expect(textIds.count > 50 && found("t IN %@", texts) == textIds)
        #expect(all.where { $0.t.in(texts) }.map(\.id) == textIds)
        #expect(found("t IN[c] %@", texts.map { $0.uppercased() }) == textIds)

        let dates = rows.compactMap(\.date).filter { Int($0.timeIntervalSince1970) % 2 == 0 }
        #expect(dates.count > 100 && found("date IN %@", dates) == ids { $0.date.map { dates.contains($0) } ?? false })
        let doubles = rows.compactMap(\.d).filter { $0 > 20 }
        #expect(doubles.count > 100 && found("d IN %@", doubles) == ids { ($0.d ?? 0) > 20 })
        let uuids = Array(rows.compactMap(\.uuid).prefix(70))
        #expect(found("uuid IN %@", uuids) == ids { $0.uuid.map { uuids.contains($0) } ?? false })
        #expect(found("indexed IN %@", Array(1...40)) == ids { (1...40).contains($0.indexed ?? 0) })
    }

    // In generic code each evaluation makes a new key path, and soon one has the address of an earlier one.
    private static func idPath<T: Thing>(_ type: T.Type) -> KeyPath<T, Int> { \T.id }
    private static func numberPath<T: Thing>(_ type: T.Type) -> KeyPath<T, Int> { \T.n }
    private static func friendsPath<T: Thing>(_ type: T.Type) -> KeyPath<T, List<Thing>> { \T.friends }

    @Test("Key paths that are created for each query are never confused with each other")
    func shortLivedKeyPaths() {
        let query = Query<Thing>._constructForTesting()
        for _ in 0..<2000 {
            let first = query[dynamicMember: Self.idPath(Thing.self)] == 1
            let second = query[dynamicMember: Self.numberPath(Thing.self)] == 2
            let third = query[dynamicMember: Self.friendsPath(Thing.self)].n == 3
            let printed = (first && second && third)._constructPredicate().0
            #expect(printed == "(((id == %@) && (n == %@)) && (ANY friends.n == %@))")
        }
    }

    // With only four permanent key paths, no thread would evict the entries of another.
    @Test("Threads may build queries at the same time, of permanent and of short-lived key paths")
    func keyPathsOfThreads() {
        let wrong = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<1000 where !Self.isPrintedRight(thread + round) { wrong.add(1, ordering: .relaxed) }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }

    private static func isPrintedRight(_ round: Int) -> Bool {
        let query = Query<Thing>._constructForTesting()
        let condition: Query<Bool>
        let wanted: String
        switch round % 5 {
        case 0:
            condition = query[dynamicMember: idPath(Thing.self)] == 1
            wanted = "(id == %@)"
        case 1:
            condition = query[dynamicMember: numberPath(Thing.self)] == 2
            wanted = "(n == %@)"
        case 2:
            condition = query[dynamicMember: friendsPath(Thing.self)].n == 3
            wanted = "(ANY friends.n == %@)"
        case 3:
            condition = query.owner.name == "a"
            wanted = "(owner.name == %@)"
        default:
            condition = query.best.n == 1
            wanted = "(best.n == %@)"
        }
        return condition._constructPredicate().0 == wanted
    }

    @Test("Ranges exclude nil")
    func optionalRanges() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        #expect(things.where { $0.int.contains(-3...5) }.map(\.id) == [1, 3, 4])
        #expect(things.where { $0.int.contains(-3..<5) }.map(\.id) == [3])
        #expect(things.where { !$0.int.contains(-3...5) }.map(\.id) == [2, 5, 6])
        let query = Query<Thing>._constructForTesting()
        #expect(query.int.contains(1...5)._constructPredicate().0 == "(int BETWEEN {%@, %@})")
        #expect(query.int.contains(1..<5)._constructPredicate().0 == "((int >= %@) && (int < %@))")
        #expect((!query.int.contains(1...5))._constructPredicate().0 == "(NOT int BETWEEN {%@, %@})")
    }

    @Test("A query with 10,000 terms is evaluated, in every form")
    func manyTerms() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        let values = (0..<10_000).map { $0 * 3 }
        let text = values.map { "id == \($0)" }.joined(separator: " OR ")
        #expect(things.filter(text).map(\.id) == [3, 6])
        let found = things.where { thing in
            values.dropFirst().reduce(thing.id == values[0]) { $0 || thing.id == $1 }
        }
        #expect(found.map(\.id) == [3, 6])
        var chain = NSPredicate(value: false)
        for value in values.prefix(2000) {
            chain = NSCompoundPredicate(orPredicateWithSubpredicates: [
                chain, NSPredicate(format: "id == %d", value),
            ])
        }
        #expect(things.filter(chain).map(\.id) == [3, 6])
        let query = Query<Thing>._constructForTesting()
        let printed = (query.id == 1 || query.id == 2 || query.id == 3)._constructPredicate().0
        #expect(printed == "(((id == %@) || (id == %@)) || (id == %@))")
        // Two queries that share their beginning do not affect each other.
        let start = query.id == 1 && query.id == 2
        let (one, other) = (start && query.n == 3, start && query.n == 4)
        #expect(one._constructPredicate().1.map { $0 as? Int } == [1, 2, 3])
        #expect(other._constructPredicate().1.map { $0 as? Int } == [1, 2, 4])
        #expect(start._constructPredicate().0 == "((id == %@) && (id == %@))")
    }
}
