// SPDX-License-Identifier: Apache-2.0
// Splits a Swift file into its code and its comments, so that rules about code ignore strings, and rules about comments
// ignore code. It handles line and nested block comments, plain, multi-line and raw strings, and interpolations; it
// does not handle bare regex literals (write `#/…/#` without quotes).

/// The text of one file, and the same text with everything but code, or everything but comments, blanked.
/// All three have the same lines and columns.
struct SourceText {
    let path: String
    let lines: [Substring]
    let code: [Substring]
    let comments: [Substring]

    init(path: String, text: String) {
        self.path = path
        var splitter = Splitter(Array(text.utf8))
        splitter.run()
        lines = Self.split(text)
        code = Self.split(String(decoding: splitter.code, as: UTF8.self))
        comments = Self.split(String(decoding: splitter.comments, as: UTF8.self))
    }

    private static func split(_ text: String) -> [Substring] {
        var result = text.split(separator: "\n", omittingEmptySubsequences: false)
        if result.last?.isEmpty == true { result.removeLast() }
        return result
    }

    /// `Sources/RegnumEngine/Trees/Tree.swift` belongs to module `RegnumEngine`; nil outside the root's Sources.
    var module: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }
}

/// One pass over the bytes of a file.
private struct Splitter {
    let bytes: [UInt8]
    var code: [UInt8]
    var comments: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        code = bytes.map { $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ") }
        comments = code
    }

    func at(_ offset: Int) -> UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    mutating func run() { readCode(untilParenthesis: false) }

    /// Reads code to the end of the file, or to the parenthesis that closes an interpolation.
    mutating func readCode(untilParenthesis: Bool) {
        var depth = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "/"), at(position + 1) == UInt8(ascii: "/") {
                readLineComment()
            } else if byte == UInt8(ascii: "/"), at(position + 1) == UInt8(ascii: "*") {
                readBlockComment()
            } else if let hashes = hashesBeforeQuote() {
                readString(hashes: hashes)
            } else {
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    if untilParenthesis && depth == 0 { return }
                    depth -= 1
                }
                code[position] = byte
                position += 1
            }
        }
    }

    mutating func readLineComment() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") {
            comments[position] = bytes[position]
            position += 1
        }
    }

    mutating func readBlockComment() {
        var depth = 0
        while position < bytes.count {
            let pair = (bytes[position], at(position + 1))
            comments[position] = pair.0
            position += 1
            if pair == (UInt8(ascii: "/"), UInt8(ascii: "*")) {
                depth += 1
                comments[position] = pair.1
                position += 1
            } else if pair == (UInt8(ascii: "*"), UInt8(ascii: "/")) {
                depth -= 1
                comments[position] = pair.1
                position += 1
                if depth == 0 { return }
            }
        }
    }

    /// The number of `#` before a string that starts here; nil if none starts here.
    func hashesBeforeQuote() -> Int? {
        var offset = position
        while at(offset) == UInt8(ascii: "#") { offset += 1 }
        return at(offset) == UInt8(ascii: "\"") ? offset - position : nil
    }

    func isRun(_ byte: UInt8, count: Int, from offset: Int) -> Bool {
        (0..<count).allSatisfy { at(offset + $0) == byte }
    }

    mutating func readString(hashes: Int) {
        let quote = UInt8(ascii: "\"")
        let hash = UInt8(ascii: "#")
        position += hashes
        let quotes = isRun(quote, count: 3, from: position) ? 3 : 1
        position += quotes
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\\"), isRun(hash, count: hashes, from: position + 1) {
                position += 1 + hashes
                let escaped = at(position)
                position += 1
                if escaped == UInt8(ascii: "(") {
                    readCode(untilParenthesis: true)
                    position += 1
                }
            } else if isRun(quote, count: quotes, from: position),
                isRun(hash, count: hashes, from: position + quotes)
            {
                position += quotes + hashes
                return
            } else if byte == UInt8(ascii: "\n"), quotes == 1 {
                return
            } else {
                position += 1
            }
        }
    }
}
