// SPDX-License-Identifier: Apache-2.0
// Text for terminals, and the comparison of dumped lines.

import Foundation
import Testing

@testable import RegnumTool

@Suite struct TextTests {
    @Test("Control characters are shown, not sent")
    func control() {
        #expect(TerminalText.shown("a\u{1B}[31m\nb\u{202E}\u{9B}") == "a\\u{1b}[31m\\nb\\u{202e}\\u{9b}")
        #expect(TerminalText.shown("é😀") == "é😀")
    }

    @Test("Lines stay lines, and JSON has no character that a terminal obeys")
    func controlInLines() {
        #expect(TerminalText.shownLines("a\u{1B}\nb\r\n") == "a\\u{1b}\nb\\r\n")
        let json = JSONLine.text([("a\u{9B}", .string("\u{202E}\u{7F}\"\\\n\u{2028}é"))])
        #expect(json == #"{"a\u009b":"\u202e\u007f\"\\\n\u2028é"}"# + "\n")
    }

    @Test(
        "A caret is below the place of an error in a query",
        arguments: [
            ("age > > 3", 6, "  age > > 3\n        ^"), ("", 0, "  \n  ^"), ("a", 9, "  a\n   ^"),
            ("é漢 x", 6, "  é漢 x\n      ^"), ("a\n)", 2, "  a\\n)\n     ^"),
        ])
    func caret(_ query: String, _ position: Int, _ lines: String) {
        #expect(QueryCaret.lines(query, at: position) == lines)
    }

    @Test("Only the surroundings of an error in a long query are shown")
    func caretInLongQuery() {
        let lines = QueryCaret.lines(String(repeating: "x", count: 500), at: 250).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < 100 })
        #expect(lines.first?.contains("…") == true && lines.last?.last == "^")
    }

    @Test("The process that is waited for is named, unless it is this one")
    func waiting() {
        let own = Int(ProcessInfo.processInfo.processIdentifier)
        #expect(WriterWait.sentence([], "a.realm") == nil && WriterWait.sentence([own], "a.realm") == nil)
        #expect(WriterWait.sentence([own, own + 1], "a.realm")?.contains("process \(own + 1)") == true)
        #expect(WriterWait.sentence([0], "a.realm")?.contains("another process") == true)
    }

    @Test("Text is measured in columns", arguments: [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("😀", 2), ("", 0)])
    func widths(_ text: String, _ width: Int) { #expect(TerminalText.width(text) == width) }

    @Test("Text is truncated to columns")
    func cutting() {
        #expect(TerminalText.cut("abcdef", to: 4) == "abc…")
        #expect(TerminalText.cut("漢字漢字", to: 4) == "漢…")
        #expect(TerminalText.cut("abc", to: 3) == "abc")
    }

    @Test("Lines are compared by the rank of their objects")
    func ranks() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ranks-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let lines = [
            #"{"classes":[]}"#, #"{"class":"A","key":3,"value":{"a":{"$ref":"B","$id":9}}}"#,
            #"{"class":"A","key":7,"value":{"a":[{"$ref":"A","$id":3},{"$ref":"A","$id":7}]}}"#,
            #"{"class":"B","key":9,"value":{"t":"{\"$ref\":\"A\",\"$id\":3}"}}"#,
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: url)
        let new = [
            #"{"class":"A","key":1,"value":{"a":{"$ref":"B","$id":1}}}"#,
            #"{"class":"A","key":2,"value":{"a":[{"$ref":"A","$id":1},{"$ref":"A","$id":2}]}}"#,
            #"{"class":"B","key":1,"value":{"t":"{\"$ref\":\"A\",\"$id\":3}"}}"#,
        ]
        var comparison = try LineComparison(of: url)
        for line in new { try comparison.compare(Data((line + "\n").utf8)) }
        try comparison.end()
        #expect(comparison.compared == 3)
        var other = try LineComparison(of: url)
        #expect(throws: Refusal.self) { try other.compare(Data(new[1].utf8)) }
        var short = try LineComparison(of: url)
        try short.compare(Data(new[0].utf8))
        #expect(throws: Refusal.self) { try short.end() }
    }
}
