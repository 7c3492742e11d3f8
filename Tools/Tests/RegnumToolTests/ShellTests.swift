// SPDX-License-Identifier: Apache-2.0
// The line editor's parts and the lines of the shell, without a terminal.

import Testing

@testable import RegnumTool

@Suite struct ShellTests {
    private func keys(_ bytes: [UInt8]) -> [Key] {
        var rest = bytes[...]
        let reader = KeyReader { rest.popFirst() }
        var keys: [Key] = []
        while true {
            let key = reader.read()
            if key == .closed { return keys }
            keys.append(key)
        }
    }

    @Test("Bytes and escape sequences of terminals are keys")
    func keyBytes() {
        #expect(keys(Array("aé😀".utf8)) == [.text("a"), .text("é"), .text("😀")])
        #expect(keys(Array("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D\u{1B}OA".utf8)) == [.up, .down, .right, .left, .up])
        #expect(keys(Array("\u{1B}[H\u{1B}[F\u{1B}[3~\u{1B}[1~\u{1B}[4~".utf8)) == [.home, .end, .delete, .home, .end])
        #expect(
            keys(Array("\u{1B}[1;5C\u{1B}b\u{1B}[200~\u{1B}[15~".utf8)) == [
                .nextWord, .previousWord, .unknown, .unknown,
            ])
        #expect(
            keys([1, 3, 4, 5, 9, 11, 13, 21, 23, 127]) == [
                .home, .cancel, .deleteOrEnd, .end, .tab, .deleteToEnd, .enter, .deleteToStart, .deleteWord, .backspace,
            ])
        #expect(keys([0xff, 0x61]) == [.unknown, .text("a")] || keys([0xff, 0x61]).isEmpty)
    }

    private func edited(_ bytes: String) -> String {
        var buffer = LineBuffer()
        for key in keys(Array(bytes.utf8)) { LineEditor.apply(key, to: &buffer) }
        return buffer.characters[..<buffer.cursor] + "|" + buffer.characters[buffer.cursor...]
    }

    @Test(
        "Keys edit the line",
        arguments: [
            ("abc", "abc|"), ("abc\u{7F}", "ab|"), ("abc\u{1}x", "x|abc"), ("abc\u{2}\u{2}\u{B}", "a|"),
            ("ab cd\u{17}", "ab |"), ("ab cd\u{15}", "|"), ("ab cd\u{1B}bx", "ab x|cd"), ("abc\u{1}\u{1B}[3~", "|bc"),
            ("abc\u{1}\u{1B}[1;5C", "abc|"), ("\u{7F}\u{1B}[D\u{1B}[C\u{1B}[3~\u{17}", "|"), ("😀é\u{2}\u{7F}", "|é"),
        ])
    func editing(_ bytes: String, _ wanted: String) { #expect(edited(bytes) == wanted) }

    @Test("The history goes back and forth, and keeps the line that is being written")
    func history() {
        var history = LineHistory(["a", "b"])
        #expect(history.previous("draft") == "b")
        #expect(history.previous("b") == "a")
        #expect(history.previous("a") == nil)
        #expect(history.next() == "b")
        #expect(history.next() == "draft")
        #expect(history.next() == nil)
        history.add("b")
        history.add("")
        #expect(history.lines == ["a", "b"])
        for number in 0..<2000 { history.add("\(number)") }
        #expect(history.lines.count == LineHistory.limit && history.lines.last == "1999")
    }

    @Test("A long line is shown around the cursor")
    func visible() {
        var buffer = LineBuffer("0123456789")
        #expect(LineEditor.visible(buffer, 20) == ("0123456789", 10))
        let (text, column) = LineEditor.visible(buffer, 5)
        #expect(text == "6789" && column == 4)
        buffer.moveToStart()
        #expect(LineEditor.visible(buffer, 5) == ("01234", 0))
    }

    @Test("A line is a command, or a class and a query")
    func lines() {
        let query = ShellLine("  Person age > 3 ; ")
        #expect((query.command, query.className, query.query) == (nil, "Person", "age > 3"))
        let quoted = ShellLine("\"My Class\" a == 1")
        #expect((quoted.className, quoted.query) == ("My Class", "a == 1"))
        let mode = ShellLine(".MODE json")
        #expect((mode.command, mode.argument) == (.mode, "json"))
        let aggregate = ShellLine(".aggregate Person \"first name\" age > 3")
        #expect((aggregate.command, aggregate.className) == (.aggregate, "Person"))
        #expect(aggregate.property?.name == "first name" && aggregate.property?.query == "age > 3")
        #expect(ShellLine(".aggregate Person").property == nil)
        #expect(ShellLine(".nothing").unknown == "nothing")
        #expect(ShellLine("  ").isEmpty && ShellLine(";").isEmpty && !ShellLine(".help").isEmpty)
    }

    private let completion = Completion([
        .init(name: "Person", properties: ["name": "String", "age": "Int", "home": "Address"]),
        .init(name: "Address", properties: ["street": "String", "number": "Int"]),
        .init(name: "Pet", properties: [:]),
    ])

    @Test(
        "Names of commands, classes and properties are completed, even through links",
        arguments: [
            ("P", 1, ["Person", "Pet"]), ("", 0, ["Address", "Person", "Pet"]), (".mo", 3, [".mode"]),
            (".schema Per", 3, ["Person"]), (".mode t", 1, ["table", "text"]), ("Person na", 2, ["name"]),
            ("Person age > 3 AND ho", 2, ["home"]), ("Person home.st", 2, ["street"]),
            ("Person home.", 0, ["number", "street"]),
            ("Person SORT(na", 2, ["name"]), ("person", 6, ["Person"]), ("Person SO", 2, ["SORT("]),
            ("Nothing na", 2, []),
            (".count Person a", 1, ["age"]),
        ] as [(String, Int, [String])])
    func completing(_ before: String, _ count: Int, _ wanted: [String]) {
        let found = completion.candidates(before)
        #expect(found.count == count && found.candidates == wanted, "\(found)")
    }
}
