// SPDX-License-Identifier: Apache-2.0
// Queries as text: the clauses after the predicate, JSON, and dates.

import RegnumEngine
import RegnumSystem
import Testing

@testable import RegnumInspect

@Suite struct QueryTextTests {
    @Test(
        "A text without a clause is a predicate",
        arguments: ["age > 3", "name == 'LIMIT(3)'", "sort == 1", "limit > 2"])
    func predicates(_ text: String) throws {
        #expect(try QueryText(text) == QueryText(predicate: text, clauses: []))
    }

    @Test("Clauses follow the predicate in any order and number")
    func clauses() throws {
        let query = try QueryText("age > 3 AND (x == 'SORT(a)') sort(name ASC, a.b DESC) LIMIT (7) Distinct(name)")
        #expect(query.predicate == "age > 3 AND (x == 'SORT(a)') ")
        #expect(
            query.clauses == [
                .sort([.init(path: "name", isAscending: true), .init(path: "a.b", isAscending: false)]), .limit(7),
                .distinct(["name"]),
            ])
    }

    @Test("A property with an unusual name is in quotation marks")
    func quotedNames() throws {
        let query = try QueryText(#"SORT("first name" DESC, 'a, b', home."the-street") DISTINCT("x\"y\\z")"#)
        #expect(
            query.clauses == [
                .sort([
                    .init(path: "first name", isAscending: false), .init(path: "a, b", isAscending: true),
                    .init(path: "home.the-street", isAscending: true),
                ]), .distinct([#"x"y\z"#]),
            ])
        #expect(query.positions == [[5, 24, 32], [60]])
        for name in ["name", "first name", "a\"b\\c", "(x)", "SORT(a)", ","] {
            let text = try QueryText("SORT(\(QueryText.quoted(name)) DESC)")
            #expect(text.clauses == [.sort([.init(path: name, isAscending: false)])], "\(name)")
        }
    }

    @Test(
        "An error of a clause has its position",
        arguments: [
            ("age > 3 LIMIT(x)", 14), ("SORT(a UP)", 7), ("SORT(a, b DOWN)", 10), ("é SORT(a", 3),
            ("LIMIT(1) age > 3", 9),
            ("SORT()", 5),
        ])
    func positions(_ text: String, _ position: Int) {
        let problem = #expect(throws: QueryText.Problem.self) { try QueryText(text) }
        #expect(problem?.position == position)
    }

    @Test("The predicate may be left out", arguments: ["", "  ", "LIMIT(1)", " SORT(a)"])
    func nothing(_ text: String) throws { #expect(try QueryText(text).predicate == "TRUEPREDICATE") }

    @Test(
        "A clause that is not complete is refused",
        arguments: [
            "LIMIT()", "LIMIT(-1)", "LIMIT(a)", "LIMIT(1, 2)", "SORT()", "SORT(a UP)", "SORT(a,)", "SORT(a ASC b)",
            "DISTINCT(a ASC)", "SORT(a", "LIMIT(1) age > 3", "LIMIT(1) nothing",
        ])
    func refused(_ text: String) { #expect(throws: QueryText.Problem.self) { try QueryText(text) } }

    @Test(
        "A time is unchanged after conversion to text and back",
        arguments: [
            (0, 0), (1, 1), (-1, 0), (-1, -1), (0, -1), (-62_135_596_800, 0), (1_600_000_000, 125_000_000),
            (-1, -999_999_999), (253_402_300_799, 999_999_999), (Int64.max, 0), (Int64.min, 0),
        ] as [(Int64, Int32)])
    func times(_ seconds: Int64, _ nanoseconds: Int32) {
        let time = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
        #expect(DateText.time(DateText.text(time)) == time, "\(DateText.text(time))")
    }

    @Test(
        "Times have offsets",
        arguments: ["1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.0Z"])
    func offsets(_ text: String) { #expect(DateText.time(text) == Timestamp(seconds: 0, nanoseconds: 0)) }

    @Test("Text that is not a time is refused", arguments: ["", "1970", "1970-01-01", "now", "1970-01-01T00:00:00.Z"])
    func noTimes(_ text: String) { #expect(DateText.time(text) == nil) }

    @Test("JSON keeps the text of numbers and the order of members")
    func json() throws {
        let json = try JSONParser.parse(Array(#"{"b": [1, -2.50, 1e9], "a": "\u00e9\ud83d\ude00\n", "c": null}"#.utf8))
        #expect(
            json
                == .object([
                    .init(key: "b", value: .array([.number("1"), .number("-2.50"), .number("1e9")])),
                    .init(key: "a", value: .string("é😀\n")), .init(key: "c", value: .null),
                ]))
    }

    @Test(
        "Text that is not JSON is refused",
        arguments: [
            "", "{", "[1,]", "{\"a\"}", "01", "1.", "-", "tru", "\"\\ud800\"", "\"\\x\"", "\"", "\"\u{1}\"", "1 2",
            "{a: 1}", "{\"a\": 1, \"a\": 2}",
            String(repeating: "[", count: 600),
        ])
    func noJSON(_ text: String) { #expect(throws: JSONParser.Problem.self) { try JSONParser.parse(Array(text.utf8)) } }
}
