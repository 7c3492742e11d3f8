// SPDX-License-Identifier: Apache-2.0
// A JSON value, its parser and the quoting of strings. Numbers keep their text, so that nothing is rounded.

package indirect enum JSONText: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONText])
    case object([Member])

    package struct Member: Equatable, Sendable {
        package var key: String
        package var value: JSONText

        package init(key: String, value: JSONText) {
            self.key = key
            self.value = value
        }
    }

    package struct Problem: Error, Equatable {
        package var message: String
    }

    /// The value of the first member with that key; nil if there is none, or if the value is not an object.
    package subscript(key: String) -> JSONText? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// Appends the string as a JSON literal.
    package static func quote(_ string: String, to out: inout String) {
        out += "\""
        // Most strings need no escapes.
        if string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5c && $0 != 0x7f }) {
            out += string
        } else {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": out += "\\\""
                case "\\": out += "\\\\"
                case "\n": out += "\\n"
                case "\t": out += "\\t"
                case "\r": out += "\\r"
                case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                    let digits = String(scalar.value, radix: 16)
                    out += "\\u00" + (digits.count < 2 ? "0" : "") + digits
                default: out.unicodeScalars.append(scalar)
                }
            }
        }
        out += "\""
    }

    /// Parses one JSON text. O(length of the text).
    package static func parse(_ bytes: [UInt8]) throws(Problem) -> JSONText {
        var parser = Parser(bytes: bytes)
        let value = try parser.value(depth: 0)
        parser.skipBlanks()
        guard parser.position == bytes.count else { throw parser.problem("there is more text after the value") }
        return value
    }
}

private struct Parser {
    typealias Problem = JSONText.Problem

    /// The greatest number of nested levels. Parsing is recursive, so deeper text is refused.
    private static let depthLimit = 512

    let bytes: [UInt8]
    var position = 0

    func problem(_ message: String) -> Problem { Problem(message: "\(message), at byte \(position + 1)") }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipBlanks() {
        while let byte, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ wanted: UInt8) -> Bool {
        skipBlanks()
        guard byte == wanted else { return false }
        position += 1
        return true
    }

    mutating func value(depth: Int) throws(Problem) -> JSONText {
        guard depth < Self.depthLimit else { throw problem("values are nested too deeply") }
        skipBlanks()
        switch byte {
        case nil: throw problem("the text ends before a value")
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ text: String, _ value: JSONText) throws(Problem) -> JSONText {
        guard bytes[position...].starts(with: text.utf8) else { throw problem("there is no value") }
        position += text.utf8.count
        return value
    }

    private mutating func number() throws(Problem) -> JSONText {
        let start = position
        func digits(_ parser: inout Parser) -> Int {
            let first = parser.position
            while let byte = parser.byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                parser.position += 1
            }
            return parser.position - first
        }
        if byte == UInt8(ascii: "-") { position += 1 }
        let isZero = byte == UInt8(ascii: "0")
        let whole = digits(&self)
        var isNumber = whole > 0 && !(isZero && whole > 1)
        if byte == UInt8(ascii: ".") {
            position += 1
            isNumber = digits(&self) > 0 && isNumber
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            position += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { position += 1 }
            isNumber = digits(&self) > 0 && isNumber
        }
        guard isNumber else {
            position = start
            throw problem("there is no value")
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func array(_ depth: Int) throws(Problem) -> JSONText {
        position += 1
        var values: [JSONText] = []
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat { values.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw problem("an array lacks a comma or its end") }
        return .array(values)
    }

    private mutating func object(_ depth: Int) throws(Problem) -> JSONText {
        position += 1
        var members: [JSONText.Member] = []
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipBlanks()
            guard byte == UInt8(ascii: "\"") else { throw problem("an object lacks a name") }
            let key = try string()
            guard take(UInt8(ascii: ":")) else { throw problem("an object lacks a colon") }
            members.append(JSONText.Member(key: key, value: try value(depth: depth + 1)))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw problem("an object lacks a comma or its end") }
        return .object(members)
    }

    private mutating func string() throws(Problem) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let valid = String(validating: text, as: UTF8.self) else {
                    throw problem("a string is not valid UTF-8")
                }
                return valid
            case UInt8(ascii: "\\"): try escape(&text)
            case 0..<0x20: throw problem("a string has a control character")
            default: text.append(byte)
            }
        }
        throw problem("a string lacks its end")
    }

    private mutating func escape(_ text: inout [UInt8]) throws(Problem) {
        guard let byte else { throw problem("a string lacks its end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(8)
        case UInt8(ascii: "f"): text.append(12)
        case UInt8(ascii: "n"): text.append(10)
        case UInt8(ascii: "r"): text.append(13)
        case UInt8(ascii: "t"): text.append(9)
        case UInt8(ascii: "u"):
            var code = try unit()
            if code & 0xfc00 == 0xd800 {
                guard bytes[position...].starts(with: "\\u".utf8) else {
                    throw problem("a string has half of a surrogate pair")
                }
                position += 2
                let low = try unit()
                guard low & 0xfc00 == 0xdc00 else { throw problem("a string has half of a surrogate pair") }
                code = 0x10000 + (code & 0x3ff) << 10 + low & 0x3ff
            }
            guard let scalar = Unicode.Scalar(code) else { throw problem("a string has half of a surrogate pair") }
            text.append(contentsOf: String(Character(scalar)).utf8)
        default: throw problem("a string has an unknown escape")
        }
    }

    private mutating func unit() throws(Problem) -> UInt32 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw problem("an escape needs four hexadecimal digits") }
        position += 4
        return code
    }
}
