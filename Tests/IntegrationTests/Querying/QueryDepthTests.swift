// SPDX-License-Identifier: Apache-2.0
// Deeply nested queries, and queries across many links, on a thread with a small stack: they are answered or refused
// with a message, and never overflow the stack.

import Foundation
import RealmSwift
import Testing

@Suite("Deep queries") struct QueryDepthTests {
    typealias Thing = FilterModels.Thing

    /// The ways to nest a condition in another one, `levels` times.
    enum Nesting: String, CaseIterable, CustomTestStringConvertible {
        case parentheses, not, or, and, alternating, inverted

        var testDescription: String { rawValue }

        /// As text. Each of them matches only the object with the key 1.
        func text(_ levels: Int) -> String {
            let (opening, closing): (String, String) =
                switch self {
                case .parentheses: ("(", ")")
                case .not: ("NOT NOT (", ")")
                case .or: ("(id == 99 OR (", "))")
                case .and: ("(id != 99 AND (", "))")
                case .alternating: ("(id != 99 AND (id == 99 OR ", "))")
                case .inverted: ("NOT (id == 99 OR NOT (id != 98 AND ", "))")
                }
            return String(repeating: opening, count: levels) + "id == 1" + String(repeating: closing, count: levels)
        }

        func around(_ inner: Query<Bool>, _ thing: Query<Thing>) -> Query<Bool> {
            switch self {
            case .parentheses: inner
            case .not: !(!inner)
            case .or: thing.id == 99 || inner
            case .and: thing.id != 99 && inner
            case .alternating: thing.id != 99 && (thing.id == 99 || inner)
            case .inverted: !(thing.id == 99 || !(thing.id != 98 && inner))
            }
        }

        func around(_ inner: NSPredicate) -> NSPredicate {
            func join(_ first: String, _ second: NSPredicate, and: Bool) -> NSPredicate {
                let parts = [NSPredicate(format: first), second]
                return and
                    ? NSCompoundPredicate(andPredicateWithSubpredicates: parts)
                    : NSCompoundPredicate(orPredicateWithSubpredicates: parts)
            }
            func not(_ predicate: NSPredicate) -> NSPredicate {
                NSCompoundPredicate(notPredicateWithSubpredicate: predicate)
            }
            return switch self {
            case .parentheses: NSCompoundPredicate(andPredicateWithSubpredicates: [inner])
            case .not: not(not(inner))
            case .or: join("id == 99", inner, and: false)
            case .and: join("id != 99", inner, and: true)
            case .alternating: join("id != 99", join("id == 99", inner, and: false), and: true)
            case .inverted: not(join("id == 99", not(join("id != 98", inner, and: true)), and: false))
            }
        }
    }

    @Test("Text nested 3,000 levels deep is evaluated", arguments: Nesting.allCases)
    func text(_ nesting: Nesting) throws {
        #expect(
            try onSmallStack {
                let things = try FilterModels.realm().objects(Thing.self)
                let text = nesting.text(3000)
                let found = things.filter(text)
                let again = try things.filter(ParsedPredicate(parsing: text))
                // For each object, and in the order of another property.
                let chosen = things.filter("id < 5").sorted(byKeyPath: "n").filter(text)
                let friends = things[0].friends.filter(text)
                let alone = Array(things.filter { $0.matches(text) }.map(\.id))
                return "\(ids(found)) \(again.count) \(chosen.count) \(friends.count) \(alone)"
            } == "[1] 1 1 0 [1]")
    }

    @Test("Type-safe conditions nested 3,000 levels deep are evaluated and printed", arguments: Nesting.allCases)
    func typed(_ nesting: Nesting) throws {
        #expect(
            try onSmallStack {
                let things = try FilterModels.realm().objects(Thing.self)
                let found = things.where { thing in
                    (0..<3000).reduce(thing.id == 1) { inner, _ in nesting.around(inner, thing) }
                }
                let query = Query<Thing>._constructForTesting()
                let (text, values) = (0..<3000).reduce(query.id == 1) { inner, _ in nesting.around(inner, query) }
                    ._constructPredicate()
                let again = try things.filter(ParsedPredicate(parsing: text, arguments: values))
                return "\(ids(found)) \(ids(again))"
            } == "[1] [1]")
    }

    @Test("Compound predicates nested 2,000 levels deep are evaluated", arguments: Nesting.allCases)
    func compound(_ nesting: Nesting) throws {
        #expect(
            try onSmallStack {
                let things = try FilterModels.realm().objects(Thing.self)
                var levels = [NSPredicate(format: "id == 1")]
                for _ in 0..<2000 { levels.append(nesting.around(levels[levels.count - 1])) }
                let found = ids(things.filter(levels[levels.count - 1]))
                // Foundation releases nested predicates by recursion, so this releases them one by one from the
                // outermost.
                while levels.count > 1 { levels.removeLast() }
                return found
            } == "[1]")
    }

    @Test("A predicate that is nested 1,000 times as an argument is evaluated")
    func arguments() throws {
        #expect(
            try onSmallStack {
                let things = try FilterModels.realm().objects(Thing.self)
                var plain = NSPredicate(format: "id == 1")
                var named = NSPredicate(format: "ANY friends == %@", things[1])
                for _ in 0..<1000 {
                    plain = NSPredicate(format: "NOT (id == 99 OR NOT %@)", plain)
                    named = NSPredicate(format: "id != 99 AND %@", named)
                }
                return ids(things.filter(plain)) + " " + ids(things.filter(named))
            } == "[1] [1, 5]")
    }

    @Test(
        "Text nested deeper than the limit is refused with the limit",
        arguments: [
            ("", "("), ("", "NOT "), ("", "!"), ("", "(id == 1 AND "), ("id IN ", "{"), ("", "SUBQUERY(friends, $a, "),
        ])
    func refused(first: String, opening: String) throws {
        let text = first + String(repeating: opening, count: 100_000)
        let words = try onSmallStack {
            do {
                _ = try ParsedPredicate(parsing: text)
                return "understood"
            } catch { return "\(error)" }
        }
        #expect(words.contains("nested more than"), "\(words)")
        let message = try misuseText {
            _ = try FilterModels.realm().objects(Thing.self).filter(text)
        }
        #expect(message?.contains("nested more than") == true)
    }

    private static func subqueries(_ levels: Int) -> String {
        var text = "$v\(levels - 1).id > 0"
        for level in (0..<levels).reversed() {
            let collection = level == 0 ? "friends" : "$v\(level - 1).friends"
            text = "SUBQUERY(\(collection), $v\(level), \(text)).@count > 0"
        }
        return text
    }

    @Test("Nested subqueries are evaluated up to the limit, and refused beyond it")
    func subqueries() throws {
        let limit = 16
        // Objects whose friends have friends, and so on: 4 is its own friend, 1 and 3 are friends of each other.
        #expect(
            try onSmallStack { ids(try FilterModels.realm().objects(Thing.self).filter(Self.subqueries(limit))) }
                == "[1, 3, 4]")
        let words = try onSmallStack {
            do {
                _ = try FilterModels.realm().objects(Thing.self).filter(
                    ParsedPredicate(parsing: Self.subqueries(limit + 1)))
                return "answered"
            } catch { return "\(error)" }
        }
        #expect(words.contains("nested more than \(limit) deep"))
        // Built from the inside without a limit, and released.
        let message = try misuseText {
            _ = try FilterModels.realm().objects(Thing.self).where { thing in
                (0..<5000).reduce(thing.friends.id > 0) { inner, _ in (thing.friends.id > 0 && inner).count > 0 }
            }
        }
        #expect(message?.contains("nested more than \(limit) deep") == true)
    }

    private static func path(_ link: String, _ end: String) -> String {
        String(repeating: link + ".", count: 29) + end
    }

    @Test("A key path of 30 parts is evaluated across links, lists and linking objects")
    func paths() throws {
        let answers = try onSmallStack {
            let realm = try FilterModels.realm()
            // 4 is its own best, and its own only friend.
            let things = realm.objects(Thing.self)
            try realm.write { things[0].friends.removeAll() }
            let best = ids(things.filter(Self.path("best", "id") + " == 4"))
            let friends = ids(things.filter("ANY " + Self.path("friends", "id") + " == 4"))
            let fans = ids(things.filter("ANY " + Self.path("fans", "id") + " == 4"))
            let chosen = things.filter("id > 0").sorted(byKeyPath: Self.path("best", "id")).last?.id ?? 0
            let one = things[3].matches(String(repeating: "best.", count: 15) + "id == 4")
            let equal = ids(
                things.filter(Self.path("best", "id") + " == " + Self.path("best", "n") + " OR id == 4"))
            let counted = ids(things.filter(String(repeating: "friends.", count: 29) + "@count == 1"))
            return "\(best) \(friends) \(fans) \(chosen) \(one) \(equal) \(counted)"
        }
        // At the end of the links both sides are null, which is equal; objects without a link are sorted last.
        #expect(answers == "[4] [4] [4] 6 true [1, 2, 3, 4, 5, 6] [4]")
    }

    @Test("A query with many paths to the same objects does not follow each path")
    func manyWays() throws {
        let answers = try onSmallStack {
            let realm = try FilterModels.realm()
            let things = realm.objects(Thing.self)
            try realm.write {
                for thing in things { thing.friends.removeAll() }
                for thing in things { thing.friends.append(objectsIn: things) }
            }
            let path = Self.path("friends", "s")
            let one = ids(things.filter("id == 1 AND ANY \(path) == 'nobody'"))
            let all = ids(things.filter("ANY \(path) == 'hello'"))
            return "\(one) \(all) \(things[0].matches("ANY \(path) == 'nobody'"))"
        }
        #expect(answers == "[] [1, 2, 3, 4, 5, 6] false")
    }

    @Test("A longer key path is refused with the limit", arguments: [31, 400, 4000, 100_000])
    func longPath(_ parts: Int) throws {
        let path = String(repeating: "best.", count: parts - 1) + "id"
        let words = try onSmallStack {
            do {
                _ = try FilterModels.realm().objects(Thing.self).filter(ParsedPredicate(parsing: path + " == 4")).count
                return "answered"
            } catch { return "\(error)" }
        }
        #expect(words.contains("has \(parts) parts, and a key path may have at most 30"), "\(words)")
        for ask in ["\(path) == 4", "ANY \(path) == 4", "SUBQUERY(friends, $f, $f.\(path) == 4).@count > 0"] {
            let message = try misuseText { _ = try FilterModels.realm().objects(Thing.self).filter(ask).count }
            #expect(message?.contains("at most 30") == true)
        }
        let sorted = try misuseText {
            _ = try FilterModels.realm().objects(Thing.self).sorted(byKeyPath: path).count
        }
        #expect(sorted?.contains("at most 30") == true)
        // Each step of a type-safe path copies the steps before it.
        if parts > 4000 { return }
        let typed = try misuseText {
            _ = try FilterModels.realm().objects(Thing.self).where { thing in
                (0..<parts).reduce(thing.best) { path, _ in path.best }.id == 4
            }
        }
        #expect(typed?.contains("at most 30") == true)
    }

    @Test("An index is used under deep conditions, and the other conditions are evaluated for its rows")
    func index() throws {
        let things = try FilterModels.realm().objects(Thing.self)
        let text = "indexed == 5 AND " + Nesting.alternating.text(200)
        #expect(things.filter(text).map(\.id) == [1])
        #expect(things.filter("NOT (\(text))").map(\.id) == [2, 3, 4, 5, 6])
    }
}

extension FilterModels.Thing {
    /// Evaluates the predicate for this object only.
    fileprivate func matches(_ text: String) -> Bool { NSPredicate(format: text).evaluate(with: self) }
}

private func ids(_ things: Results<FilterModels.Thing>) -> String { "\(Array(things.map(\.id)))" }
