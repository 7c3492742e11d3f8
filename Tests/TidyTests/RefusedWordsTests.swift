// SPDX-License-Identifier: Apache-2.0
// The rule of refused words finds each of its phrases, and passes text that only resembles one.

import Testing

@Suite("Refused words")
struct RefusedWordsTests {
    private func findings(_ text: String) -> [Finding] {
        Rules.refusedWords(SourceText(path: "Sources/Regnum/A.swift", text: text))
    }

    @Test("Every phrase is refused in comments, display names and documents", arguments: RefusedWords.all.indices)
    func phrases(_ index: Int) {
        let entry = RefusedWords.all[index]
        #expect(!entry.instead.isEmpty && !entry.reason.isEmpty)
        for phrase in entry.phrases {
            let sentence = entry.startsSentence ? phrase : "Some \(phrase)"
            #expect(findings("let a = 1\n/// \(sentence) here.\n").map(\.line) == [2], "\(phrase)")
            #expect(findings("@Test(\n    \"\(sentence) here\")\nfunc a() {}").map(\.line) == [2], "\(phrase)")
            let inDocument = Rules.refusedWords(inDocument: "README.md", text: "# A\n\n\(sentence) here.\n")
            #expect(inDocument.map(\.line) == (entry.startsSentence ? [] : [3]), "\(phrase)")
        }
    }

    @Test(
        "A phrase is found in any case, after other sentences, and across lines",
        arguments: [
            "// Anew, from the start.", "/* It is read Anew */", "// It lets go\n// of the file.",
            "let a = 1  // written\n// Done. What lies there stays there.", "/// - Returns: nil where it fails.",
            "// See `a`. Who reads waits.", "@Suite(\"A file is mended\") struct A {}",
        ])
    func found(_ text: String) { #expect(findings(text).count == 1) }

    @Test(
        "Code, strings, questions and other words pass",
        arguments: [
            "// Calls `mended()` anew-ly.", "let anew = \"anew\"", "// A write-ahead log. Amended rows.",
            "// It writes. Ahead of it, nothing.", "// What lies there? A page.", "// The result is what it was.",
            "/// ```\n/// a = anew\n/// ```", "// The user who reads this.", "// Of `x` now.",
            "@Test(\"A file is repaired\", arguments: [\"mended\"]) func a(_ b: String) {}",
            "let a = 1  // let go\nlet b = 2  // of it",
        ])
    func passes(_ text: String) { #expect(findings(text) == []) }

    @Test("Code in documents, the vocabulary and the dated notes pass")
    func documents() {
        let code = "A `mended` page.\n\n```swift\n// anew\n```\n"
        #expect(Rules.refusedWords(inDocument: "README.md", text: code) == [])
        for path in ["Documentation/STYLE.md", "Documentation/notes/TestRuns.md"] {
            #expect(Rules.refusedWords(inDocument: path, text: "anew") == [])
        }
    }
}
