// SPDX-License-Identifier: Apache-2.0
// Nested SUBQUERYs whose conditions refer to variables of outer ones, compared with Swift loops.

import RegnumEngine
import RegnumQuery
import Testing

@Suite struct NestedSubqueryTests {
    private let people: People
    private var all: [Person] { people.reference.people }

    init() throws { people = try People(count: 60, seed: 34, isIndexed: false) }

    private func age(_ row: Int) -> Int64? {
        if case .int(let age)? = all[row].values["age"] { return age }
        return nil
    }

    /// True if both are non-nil and the first is less.
    private func isLess(_ a: Int64?, _ b: Int64?) -> Bool {
        if let a, let b { return a < b }
        return false
    }

    private func parents(_ row: Int) -> [Int] { all.indices.filter { all[$0].friend == row } }

    private func key(_ row: Int) -> ObjectKey { ObjectKey(UInt64(row + 1)) }

    private func object(_ row: Int) -> Constant {
        .object(ObjectArgument(table: people.table, key: key(row), className: "Person"))
    }

    /// Evaluates the text as a query and on single objects.
    private func expect(
        _ text: String, _ arguments: [Constant] = [], at place: SourceLocation = #_sourceLocation,
        _ holds: (Int) -> Bool
    ) throws {
        let bound = try PredicateBinder.bind(
            PredicateParser.parse(text, arguments), to: people.table, in: people.schema)
        let query = ObjectQuery(session: people.session, table: people.table, predicate: bound)
        let expected = all.indices.filter(holds)
        // Neither all nor none, otherwise the test would show little.
        #expect(!expected.isEmpty && expected.count < all.count, "\(text)", sourceLocation: place)
        #expect(try query.keys() == expected.map(key), "\(text)", sourceLocation: place)
        #expect(try query.count() == expected.count, "\(text)", sourceLocation: place)
        for row in [0, 7, 59] {
            #expect(try query.contains(key(row)) == expected.contains(row), "\(text)", sourceLocation: place)
        }
    }

    /// Friends that have another object `$g` for which the condition holds.
    private func nested(
        _ collection: String, _ condition: String, count: String = "> 0", friends: String = "> 0"
    ) -> String {
        "SUBQUERY(friends, $f, SUBQUERY(\(collection), $g, \(condition)).@count \(count)).@count \(friends)"
    }

    @Test("A condition compares properties of objects of two levels")
    func twoLevels() throws {
        try expect(nested("$f.friends", "$f.age < $g.age")) { row in
            all[row].friends.contains { f in all[f].friends.contains { g in isLess(age(f), age(g)) } }
        }
        try expect(nested("$f.parents", "$g.friend == $f AND $g.age < $f.age", friends: "== 0")) { row in
            !all[row].friends.contains { f in parents(f).contains { g in isLess(age(g), age(f)) } }
        }
    }

    @Test("A condition on an outer object alone holds for all inner objects or for none")
    func outerAlone() throws {
        try expect(nested("$f.friends", "$f.age > 3 AND $g.age != NULL", count: "> 1")) { row in
            all[row].friends.contains { f in
                isLess(3, age(f)) && all[f].friends.filter { g in age(g) != nil }.count > 1
            }
        }
        try expect(nested("$f.friends", "NOT $f.friend.age > 1")) { row in
            all[row].friends.contains { f in
                !isLess(1, all[f].friend.flatMap { age($0) }) && !all[f].friends.isEmpty
            }
        }
    }

    @Test("Aggregates and ANY work over collections of an outer object")
    func outerCollections() throws {
        try expect(nested("$f.friends", "$f.friends.@count > $g.age")) { row in
            all[row].friends.contains { f in
                all[f].friends.contains { g in isLess(age(g), Int64(all[f].friends.count)) }
            }
        }
        try expect(nested("$f.friends", "ANY $f.numbers == 2 AND $g.age < 4")) { row in
            all[row].friends.contains { f in
                all[f].numbers.contains(.int(2)) && all[f].friends.contains { g in isLess(age(g), 4) }
            }
        }
        try expect(nested("$f.friends", "$f.numbers.@count == 2 AND $g.age < 4")) { row in
            all[row].friends.contains { f in
                all[f].numbers.count == 2 && all[f].friends.contains { g in isLess(age(g), 4) }
            }
        }
    }

    @Test("The collection of an inner SUBQUERY may belong to an outer object, three levels deep")
    func threeLevels() throws {
        let inner = "SUBQUERY($f.friends, $h, $h.age < $g.age AND $f.age < $h.age).@count > 0"
        try expect(nested("$f.parents", inner)) { row in
            all[row].friends.contains { f in
                parents(f).contains { g in
                    all[f].friends.contains { h in isLess(age(h), age(g)) && isLess(age(f), age(h)) }
                }
            }
        }
    }

    @Test("A variable alone is the object")
    func objects() throws {
        let some: [Constant] = [object(3), .array([object(5), object(9)])]
        try expect("SUBQUERY(friends, $f, $f == %@ OR $f IN %@).@count > 0", some) { row in
            all[row].friends.contains { $0 == 3 || $0 == 5 || $0 == 9 }
        }
        try expect("SUBQUERY(friends, $f, $f != %@ AND $f != NULL).@count > 1", [object(3)]) { row in
            all[row].friends.filter { $0 != 3 }.count > 1
        }
        try expect(nested("$f.friends", "$g == $f", friends: "== 0")) { row in
            !all[row].friends.contains { f in all[f].friends.contains(f) }
        }
        try expect(nested("$f.friends", "$g.friend == $f")) { row in
            all[row].friends.contains { f in all[f].friends.contains { g in all[g].friend == f } }
        }
    }

    @Test("A variable name refers to the innermost SUBQUERY that declares it")
    func shadowing() throws {
        let text = "SUBQUERY(friends, $f, SUBQUERY($f.friends, $f, $f.age > 3).@count > 0).@count > 0"
        try expect(text) { row in
            all[row].friends.contains { f in all[f].friends.contains { g in isLess(3, age(g)) } }
        }
    }
}
