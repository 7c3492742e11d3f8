// SPDX-License-Identifier: Apache-2.0
// The parser of JSON: the values that it keeps exactly, and the texts that it refuses.

import RegnumSystem
import Testing

@Suite("Parsing JSON")
struct JSONParserTests {
    private func parsed(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

    @Test(
        "A number keeps its text",
        arguments: ["0", "-0", "12", "1.50", "1e400", "-1.5E-3", "123456789012345678901234567890"])
    func numbers(_ text: String) throws {
        #expect(try parsed(" \(text)\n") == .number(text))
        #expect(try parsed("[\(text)]") == .array([.number(text)]))
    }

    @Test("Members keep their order, and keys are compared by their bytes")
    func members() throws {
        let object = try parsed(#"{"b": null, "a": [true, false], "\#u{e9}": "1", "e\#u{301}": "2"}"#)
        guard case .object(let members) = object else {
            Issue.record("\(object)")
            return
        }
        #expect(members.map(\.value) == [.null, .array([.bool(true), .bool(false)]), .string("1"), .string("2")])
        #expect(object["b"] == .null && object["c"] == nil && object.member(besides: "a", "b") != nil)
    }

    @Test("A key that occurs twice is refused, among few keys and among many", arguments: [1, 11, 12, 13, 40])
    func repeatedKeys(_ count: Int) throws {
        let members = (0..<count).map { "\"k\($0)\": \($0)" }
        #expect(throws: Never.self) { try parsed("{\(members.joined(separator: ","))}") }
        for again in [0, count - 1] {
            let text = "{\((members + [members[again]]).joined(separator: ","))}"
            #expect(throws: JSONParser.Problem.self) { try parsed(text) }
        }
    }

    @Test(
        "Text that is not JSON is refused",
        arguments: [
            "", " ", "{", "[", "[1,]", "[,1]", "[1 2]", #"{"a": 1,}"#, #"{"a" 1}"#, "{1: 2}", "[1] 2", "01", "-", "1.",
            ".5", "1e", "1e+", "+1", "NaN", "Infinity", "-Infinity", "0x10", "tru", "nul", "True", "'a'", "\"a",
            "\"\u{1}\"", "\"a\nb\"", #""\x""#, #""\u12g4""#, #""\u12""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#,
            #""\ud800\n""#, "// a\n1", "\u{feff}1",
        ])
    func refused(_ text: String) { #expect(throws: JSONParser.Problem.self) { try parsed(text) } }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3]] as [[UInt8]])
    func invalidBytes(_ bytes: [UInt8]) {
        #expect(throws: JSONParser.Problem.self) { try JSONParser.parse([0x22] + bytes + [0x22]) }
    }

    @Test("512 levels are parsed, more are refused")
    func depth() throws {
        func nested(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        #expect(throws: Never.self) { try parsed(nested(512)) }
        #expect(throws: JSONParser.Problem.self) { try parsed(nested(513)) }
        #expect(throws: JSONParser.Problem.self) { try parsed(String(repeating: "[", count: 100_000)) }
        #expect(throws: JSONParser.Problem.self) { try parsed(String(repeating: #"{"a":"#, count: 100_000)) }
    }

    @Test("Escapes become their characters, and a quoted string is parsed unchanged")
    func strings() throws {
        #expect(
            try parsed(#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\uDE00\u0000""#)
                == .string("\"\\/\u{8}\u{c}\n\r\tA\u{e9}😀\0"))
        var text = String(String.UnicodeScalarView((UInt32(0)..<0x100).compactMap { Unicode.Scalar($0) }))
        text += "\u{2028}\u{feff}\u{10ffff}"
        var literal = ""
        JSONValue.quote(text, to: &literal)
        // No terminal obeys it.
        let hasControl = literal.unicodeScalars.contains { $0.isControl }
        #expect(!hasControl)
        guard case .string(let again) = try parsed(literal) else {
            Issue.record("no string")
            return
        }
        #expect(Array(again.utf8) == Array(text.utf8))
    }
}
