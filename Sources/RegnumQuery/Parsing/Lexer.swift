// SPDX-License-Identifier: Apache-2.0
// Splits the text of a predicate into tokens.

enum Token: Equatable {
    case end
    case int(Int64)
    case double(Double)
    case string(String)
    /// `isEscaped`: written with `#`, and therefore never a keyword.
    case word(String, isEscaped: Bool)
    /// The name of a variable without `$`.
    case variable(String)
    /// The letters after `%`.
    case placeholder(String)
    case symbol(String)

    var shown: String {
        switch self {
        case .end: "the end of the text"
        case .int(let value): "'\(value)'"
        case .double(let value): "'\(value)'"
        case .string(let value): "\"\(value)\""
        case .word(let word, _): "'\(word)'"
        case .variable(let name): "'$\(name)'"
        case .placeholder(let letters): "'%\(letters)'"
        case .symbol(let symbol): "'\(symbol)'"
        }
    }
}

enum Keyword {
    private static let reserved: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH",
        "CONTAINS",
        "LIKE", "MATCHES", "TRUE", "FALSE", "YES", "NO", "NULL", "NIL", "SELF", "TRUEPREDICATE",
        "FALSEPREDICATE",
        "SUBQUERY", "CAST", "FUNCTION",
    ]
    static func isReserved(_ word: String) -> Bool { reserved.contains(word.uppercased()) }
}

struct Lexer {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    private func byte(_ distance: Int = 0) -> UInt8 {
        position + distance < bytes.count ? bytes[position + distance] : 0
    }

    /// Skips white space and returns the position after it.
    mutating func skipBlanks() -> Int {
        while position < bytes.count, bytes[position] == 32 || (9...13).contains(bytes[position]) {
            position += 1
        }
        return position
    }

    mutating func next() throws(QueryError) -> Token {
        let start = skipBlanks()
        guard start < bytes.count else { return .end }
        let first = bytes[start]
        switch first {
        case 0x22, 0x27: return try string(quote: first)
        case 0x30...0x39: return try number()
        case 0x2E where Lexer.isDigit(byte(1)): return try number()
        case 0x24:  // $
            position += 1
            let name = word()
            if name.isEmpty { throw bad("a name after '$'", at: start) }
            return .variable(name)
        case 0x23:  // #
            position += 1
            let name = word()
            if name.isEmpty { throw bad("a name after '#'", at: start) }
            return .word(name, isEscaped: true)
        case 0x40:  // @
            position += 1
            let name = word()
            if name.isEmpty { throw bad("a collection operator such as @count", at: start) }
            return .word("@" + name, isEscaped: true)
        case 0x25: return try placeholder()
        default: break
        }
        if Lexer.isWordStart(first) { return .word(word(), isEscaped: false) }
        return symbol(first)
    }

    private mutating func symbol(_ first: UInt8) -> Token {
        let pair = [first, byte(1)]
        for symbol in ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||"] where Array(symbol.utf8) == pair {
            position += 2
            return .symbol(symbol)
        }
        position += 1
        return .symbol(String(decoding: [first], as: UTF8.self))
    }

    private mutating func word() -> String {
        let start = position
        while position < bytes.count, Lexer.isWordStart(bytes[position]) || Lexer.isDigit(bytes[position]) {
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func placeholder() throws(QueryError) -> Token {
        let start = position
        position += 1
        if byte() == 0x40 || byte() == 0x25 {  // @ %
            position += 1
            return .placeholder(bytes[position - 1] == 0x40 ? "@" : "%")
        }
        let letters = word()
        let known = [
            "K", "d", "i", "ld", "li", "lld", "lli", "u", "lu", "llu", "f", "lf", "e", "g", "x", "c",
            "D", "U", "X", "E", "G", "lx", "llx", "hi", "hu",
        ]
        guard known.contains(letters) else { throw bad("%@, %K or a number's placeholder", at: start) }
        return .placeholder(letters)
    }

    private mutating func number() throws(QueryError) -> Token {
        let start = position
        let radix = [0x78: 16, 0x58: 16, 0x6F: 8, 0x4F: 8, 0x62: 2, 0x42: 2][Int(byte(1))]
        if byte() == 0x30, let radix {
            position += 2
            let digits = word()
            guard let value = UInt64(digits, radix: radix) else {
                throw bad("digits of base \(radix)", at: start)
            }
            return .int(Int64(bitPattern: value))
        }
        var isWhole = true
        while Lexer.isDigit(byte()) { position += 1 }
        if byte() == 0x2E, Lexer.isDigit(byte(1)) || !Lexer.isWordStart(byte(1)) && byte(1) != 0x2E {
            isWhole = false
            position += 1
            while Lexer.isDigit(byte()) { position += 1 }
        }
        if byte() | 0x20 == 0x65 {  // e
            let sign = byte(1) == 0x2B || byte(1) == 0x2D ? 1 : 0
            if Lexer.isDigit(byte(1 + sign)) {
                isWhole = false
                position += 1 + sign
                while Lexer.isDigit(byte()) { position += 1 }
            }
        }
        if Lexer.isWordStart(byte()) { throw bad("a number", at: start) }
        var text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let value = Int64(text) { return .int(value) }
        if text.hasPrefix(".") { text = "0" + text }
        if text.hasSuffix(".") { text += "0" }
        guard let value = Double(text) else { throw bad("a number", at: start) }
        return .double(value)
    }

    private mutating func string(quote: UInt8) throws(QueryError) -> Token {
        let start = position
        position += 1
        var content: [UInt8] = []
        while position < bytes.count {
            let current = bytes[position]
            position += 1
            if current == quote { return .string(String(decoding: content, as: UTF8.self)) }
            guard current == 0x5C else {
                content.append(current)
                continue
            }
            try escape(into: &content, start)
        }
        throw bad("a closing \(quote == 0x22 ? "\"" : "'")", at: start)
    }

    private mutating func escape(into content: inout [UInt8], _ start: Int) throws(QueryError) {
        guard position < bytes.count else { throw bad("a closing quote", at: start) }
        let letter = bytes[position]
        position += 1
        switch letter {
        case 0x61: content.append(7)
        case 0x62: content.append(8)
        case 0x66: content.append(12)
        case 0x6E: content.append(10)
        case 0x72: content.append(13)
        case 0x74: content.append(9)
        case 0x76: content.append(11)
        case 0x30: content.append(0)
        case 0x78, 0x75, 0x55:  // x u U
            let digits = letter == 0x78 ? 2 : letter == 0x75 ? 4 : 8
            var value: UInt32 = 0
            for _ in 0..<digits {
                guard let digit = Constant.hexDigit(byte()) else {
                    throw bad("\(digits) hexadecimal digits", at: position)
                }
                value = value &<< 4 | UInt32(digit)
                position += 1
            }
            guard let scalar = Unicode.Scalar(value) else {
                throw bad("a character of Unicode", at: position - digits)
            }
            content.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: content.append(letter)
        }
    }

    private func bad(_ expected: String, at position: Int) -> QueryError {
        QueryError(
            .syntax, "Unable to parse the format string: expected \(expected) at position \(position).",
            position: position, expected: [expected])
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    static func isWordStart(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == 0x5F || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
    }
}
