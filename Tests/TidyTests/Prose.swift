// SPDX-License-Identifier: Apache-2.0
// The words of comments, display names and Markdown documents, in order, so that rules find phrases across line breaks.
// Code between backticks and in fenced blocks is left out.

struct Prose {
    struct Word {
        /// In lower case. A backtick stands for code.
        let text: String
        /// One-based line of the file.
        let line: Int
        let startsSentence: Bool
        /// The punctuation between this word and the next one; a line feed at the end of a paragraph; 0 for none.
        var end: UInt8 = 0
    }

    private(set) var words: [Word] = []
    private var isStart = true
    private var isInCode = false
    private var isFenced = false

    /// The comments of a file. A comment after code is a paragraph of its own.
    init(commentsOf source: SourceText) {
        for (index, comment) in source.comments.enumerated() {
            let text = Self.withoutMarks(comment)
            let isAfterCode = source.code[index].utf8.contains { $0 != UInt8(ascii: " ") }
            if text.isEmpty || isAfterCode || text.hasPrefix("- ") { endParagraph() }
            add(text.hasPrefix("- ") ? text.dropFirst(2) : text, line: index + 1)
            if isAfterCode { endParagraph() }
        }
    }

    /// The first string after each `@Test(` and `@Suite(`, on the same line or the next one.
    init(displayNamesOf source: SourceText) {
        for (index, code) in source.code.enumerated() {
            var rest = source.lines[index]
            if let marker = ["@Test(", "@Suite("].first(where: { code.contains($0) }) {
                guard let range = rest.firstRange(of: marker) else { continue }
                rest = rest[range.upperBound...]
            } else {
                guard index > 0, let last = source.code[index - 1].split(separator: " ").last,
                    last.hasSuffix("@Test(") || last.hasSuffix("@Suite(")
                else { continue }
            }
            rest = rest.drop { $0 == " " }
            guard rest.first == "\"" else { continue }
            add(rest.dropFirst().prefix { $0 != "\"" }, line: index + 1)
            endParagraph()
        }
    }

    /// A Markdown document.
    init(document: String) {
        for (index, line) in document.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = line.drop { $0 == " " }
            if text.isEmpty || text.hasPrefix("#") || text.hasPrefix("- ") || text.hasPrefix("|") { endParagraph() }
            add(text, line: index + 1)
        }
    }

    /// True if these words begin at `start`, without punctuation between them.
    func contains(_ phrase: [String], at start: Int) -> Bool {
        guard start + phrase.count <= words.count else { return false }
        for (offset, text) in phrase.enumerated() {
            let word = words[start + offset]
            if word.text != text || (word.end != 0 && offset + 1 < phrase.count) { return false }
        }
        return true
    }

    /// True if the sentence that contains the word ends with a question mark.
    func isQuestion(from start: Int) -> Bool {
        let ends = [UInt8(ascii: "."), UInt8(ascii: "?"), UInt8(ascii: "!"), UInt8(ascii: "\n")]
        return words[start...].first { ends.contains($0.end) }?.end == UInt8(ascii: "?")
    }

    /// A comment without its slashes and stars.
    private static func withoutMarks(_ comment: Substring) -> Substring {
        let start = comment.utf8.firstIndex { byte in
            byte != UInt8(ascii: " ") && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "*")
        }
        return comment[(start ?? comment.endIndex)...]
    }

    private mutating func endParagraph() {
        isInCode = false
        isStart = true
        if !words.isEmpty { words[words.count - 1].end = UInt8(ascii: "\n") }
    }

    private mutating func add(_ text: Substring, line: Int) {
        if text.hasPrefix("```") { isFenced.toggle() }
        if isFenced || text.hasPrefix("```") { return }
        var word: [UInt8] = []
        var (isAfterMark, isAfterBacktick) = (false, false)
        for byte in text.utf8 {
            let isBacktick = byte == UInt8(ascii: "`")
            defer { isAfterBacktick = isBacktick }
            if isBacktick {
                flush(&word, line)
                if !isAfterBacktick { isInCode.toggle() }
                if !isInCode { append("`", line) }
            } else if isInCode {
                continue
            } else if Self.isPartOfWord(byte) {
                word.append(Self.isUpperCase(byte) ? byte | 0x20 : byte)
                isAfterMark = false
            } else {
                flush(&word, line)
                if byte == UInt8(ascii: " ") {
                    if isAfterMark { isStart = true }
                } else if !words.isEmpty {
                    words[words.count - 1].end = byte
                    isAfterMark = ".:;?!".utf8.contains(byte)
                }
            }
        }
        flush(&word, line)
        if isAfterMark { isStart = true }
    }

    private mutating func flush(_ word: inout [UInt8], _ line: Int) {
        if word.isEmpty { return }
        append(String(decoding: word, as: UTF8.self), line)
        word = []
    }

    private mutating func append(_ text: String, _ line: Int) {
        words.append(Word(text: text, line: line, startsSentence: isStart))
        isStart = false
    }

    private static func isUpperCase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

    /// Letters, digits, apostrophes and hyphens, so that "write-ahead" is one word; and every byte beyond ASCII.
    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "'"), UInt8(ascii: "-"): true
        default: byte >= 0x80
        }
    }
}
