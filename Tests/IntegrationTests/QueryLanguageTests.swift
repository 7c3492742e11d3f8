// SPDX-License-Identifier: Apache-2.0
// Predicates as arguments of predicates, chains and depths without end, and sets of every type.

import Foundation
import RealmSwift
import Testing

private typealias Thing = FilterModels.Thing

@Suite("The query language")
struct QueryLanguageTests {
    @Test("a predicate stands for a comparison where it is an argument")
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

    @Test("without case and marks, letters with several small or longer capital forms are one")
    func fullFolding() throws {
        let realm = try FilterModels.realm()
        try realm.write { realm.objects(Thing.self)[0].s = "οδυσσευς Straße İı" }
        let things = realm.objects(Thing.self)
        for text in ["ΟΔΥΣΣΕΥΣ", "οδυσσευσ", "strasse", "STRASSE", "straße", "iı"] {
            #expect(things.filter("s CONTAINS[cd] %@", text).count == 1, "\(text)")
        }
        #expect(things.filter("s CONTAINS[cd] 'ii'").isEmpty)
    }

    @Test("every placeholder of C takes a number, optionals are looked into, and %% is a per cent sign")
    func placeholders() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        for placeholder in ["%d", "%i", "%ld", "%lld", "%u", "%lu", "%llu", "%x", "%f", "%lf", "%e", "%g", "%@"] {
            #expect(things.filter("n > \(placeholder)", 4).count == things.filter("n > 4").count, "\(placeholder)")
        }
        let some: Int? = 2
        let none: Int? = nil
        #expect(things.filter("id == %@", some as Any).map(\.id) == [2])
        #expect(things.filter("int == %@", none as Any).count == things.filter("int == NULL").count)
    }

    @Test("an aggregate compares with a property of the object")
    func aggregatesAndProperties() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        #expect(things.filter("nums.@count == id").map(\.id) == [])
        #expect(things.filter("nums.@sum > n").map(\.id) == [1, 4, 6])
        #expect(things.filter("n < nums.@sum").map(\.id) == [1, 4, 6])
        #expect(things.filter("nums.@max == d").map(\.id) == [2])
        #expect(things.where { $0.nums.count > $0.id }.map(\.id) == [1])
    }

    @Test("IN finds what == finds, whatever the type")
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

    @Test("ranges leave nil out, of optionals too")
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

    @Test("10,000 terms are answered, in every spelling")
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
        // Two queries that share their beginning do not disturb each other.
        let start = query.id == 1 && query.id == 2
        let (one, other) = (start && query.n == 3, start && query.n == 4)
        #expect(one._constructPredicate().1.map { $0 as? Int } == [1, 2, 3])
        #expect(other._constructPredicate().1.map { $0 as? Int } == [1, 2, 4])
        #expect(start._constructPredicate().0 == "((id == %@) && (id == %@))")
    }

    @Test("1,000 levels are refused, on a small stack too")
    func deepNesting() throws {
        let deep = String(repeating: "NOT (", count: 1000) + "id == 1" + String(repeating: ")", count: 1000)
        let text = try onSmallStack { (try? ParsedPredicate(parsing: deep)) == nil ? "nil" : "parsed" }
        #expect(text == "nil")
        let level = String(repeating: "(", count: 90) + "id == 1" + String(repeating: ")", count: 90)
        #expect(
            try onSmallStack { "\(try FilterModels.realm().objects(Thing.self).filter(level).count)" } == "1")
        let message = try misuseText {
            let things = try FilterModels.realm().objects(Thing.self)
            _ = things.where { thing in
                (0..<1000).reduce(thing.id == 1) { inner, _ in !(thing.id == 2 && inner) }
            }
        }
        #expect(message?.contains("nested more than") == true)
    }

    /// What `body` gives on a thread with the stack that threads of a pool have.
    private func onSmallStack(_ body: @escaping @Sendable () throws -> String) throws -> String {
        let box = Box()
        let thread = Thread {
            box.result = Result { try body() }
            box.done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        box.done.wait()
        return try box.result.get()
    }

    private final class Box: @unchecked Sendable {
        // Sendable: written before the semaphore is signalled, read behind the wait for it.
        let done = DispatchSemaphore(value: 0)
        var result: Result<String, any Error> = .success("")
    }
}
