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
