// SPDX-License-Identifier: Apache-2.0
// A JSON value, its parser and the quoting of strings. Numbers keep their text, so that nothing is rounded, and members keep their order.

package indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The value of the first member with that key; nil if there is none, or if the value is not an object.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }
}

/// A member of an object.
package struct JSONMember: Equatable, Sendable {
    package var key: String
    package var value: JSONValue

    package init(key: String, value: JSONValue) {
        self.key = key
        self.value = value
    }
}

extension JSONValue {
    /// Returns the first member of an object whose key is not among `keys`; nil if there is none.
    package func member(besides keys: String...) -> String? {
        guard case .object(let members) = self else { return nil }
        return members.first { !keys.contains($0.key) }?.key
    }

    /// Appends the string as a JSON literal. Characters that control a terminal or the direction of text are escaped.
    package static func quote(_ string: String, to out: inout String) {
        out += "\""
        // Most strings need no escapes.
        if string.utf8.allSatisfy(isPlain) || !string.unicodeScalars.contains(where: needsEscape) {
            out += string
        } else {
            for scalar in string.unicodeScalars {
                switch scalar {
                case "\"": out += "\\\""
                case "\\": out += "\\\\"
                case "\n": out += "\\n"
                case "\t": out += "\\t"
                case "\r": out += "\\r"
                case _ where scalar.isControl:
                    let digits = String(scalar.value, radix: 16)
                    out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                default: out.unicodeScalars.append(scalar)
                }
            }
        }
        out += "\""
    }

    /// False for bytes that are escaped, and for the first byte of each escaped character of several bytes.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x22, 0x5c, 0x7f, 0xc2, 0xd8, 0xe2: false
        default: true
        }
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\"" || scalar == "\\" || scalar.isControl
    }
}

/// A key of an object. Keys are equal if their bytes are: two spellings of "é" are two keys.
private struct KeyBytes: Hashable {
    let text: String

    static func == (a: KeyBytes, b: KeyBytes) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The keys of one object that have been read so far. A few are compared one by one, more by their hashes.
private struct SeenKeys {
    private var keys: [String] = []
    private var set: Set<KeyBytes> = []

    /// Returns false if the key has been inserted before.
    mutating func insert(_ key: String) -> Bool {
        if keys.count < 12 {
            if keys.contains(where: { $0.utf8.elementsEqual(key.utf8) }) { return false }
            keys.append(key)
            return true
        }
        if set.isEmpty { set = Set(keys.map { KeyBytes(text: $0) }) }
        return set.insert(KeyBytes(text: key)).inserted
    }
}

/// Parses one JSON text. Errors are of the type `Problem`.
package struct JSONParser {
    package struct Problem: Error, Equatable {
        package var message: String
    }

    /// The greatest number of nested levels. Parsing is recursive, so deeper text is refused.
    private static let depthLimit = 512

    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// O(length of the text).
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> JSONValue {
        var parser = JSONParser(bytes)
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.place == bytes.count else { throw parser.problem("there is text after the value") }
        return value
    }

    /// O(length of the text).
    package static func parse(_ bytes: [UInt8]) throws(Problem) -> JSONValue {
        let result = bytes.withUnsafeBytes { bytes -> Result<JSONValue, Problem> in
            do throws(Problem) { return .success(try parse(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func problem(_ message: String) -> Problem { Problem(message: "\(message), at byte \(place + 1)") }

    private mutating func skipSpace() {
        while place < bytes.count {
            let byte = bytes[place]
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            place += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard place < bytes.count, bytes[place] == byte else { return false }
        place += 1
        return true
    }

    private mutating func value(depth: Int) throws(Problem) -> JSONValue {
        guard depth < Self.depthLimit else { throw problem("values are nested too deeply") }
        skipSpace()
        guard place < bytes.count else { throw problem("the text ends before a value") }
        switch bytes[place] {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(Problem) -> JSONValue {
        guard place + text.utf8CodeUnitCount <= bytes.count,
            bytes[place..<place + text.utf8CodeUnitCount].elementsEqual(
                UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        else { throw problem("there is no value") }
        place += text.utf8CodeUnitCount
        return value
    }

    private mutating func number() throws(Problem) -> JSONValue {
        let start = place
        func skip(_ characters: UInt8...) { if place < bytes.count, characters.contains(bytes[place]) { place += 1 } }
        func skipDigits() -> Int {
            let first = place
            while place < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place]) { place += 1 }
            return place - first
        }
        skip(UInt8(ascii: "-"))
        let first = place
        let wholes = skipDigits()
        var isNumber = wholes == 1 || wholes > 1 && bytes[first] != UInt8(ascii: "0")
        if isNumber, place < bytes.count, bytes[place] == UInt8(ascii: ".") {
            place += 1
            isNumber = skipDigits() > 0
        }
        if isNumber, place < bytes.count, bytes[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
            isNumber = skipDigits() > 0
        }
        guard isNumber else {
            place = start
            throw problem("there is no value")
        }
        return .number(String(decoding: bytes[start..<place], as: UTF8.self))
    }

    private mutating func array(_ depth: Int) throws(Problem) -> JSONValue {
        place += 1
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array(values) }
        repeat { values.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw problem("an array does not end") }
        return .array(values)
    }

    private mutating func object(_ depth: Int) throws(Problem) -> JSONValue {
        place += 1
        var members: [JSONMember] = []
        var keys = SeenKeys()
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else {
                throw problem("an object lacks a key")
            }
            let key = try string()
            guard keys.insert(key) else {
                throw problem("the member '\(key)' occurs twice in an object")
            }
            guard take(UInt8(ascii: ":")) else { throw problem("a key has no value") }
            members.append(JSONMember(key: key, value: try value(depth: depth + 1)))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw problem("an object does not end") }
        return .object(members)
    }

    private mutating func string() throws(Problem) -> String {
        place += 1
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] != UInt8(ascii: "\\"),
            bytes[place] >= 0x20
        { place += 1 }
        // Copy the bytes before the first escape at once: most texts have no escapes.
        var text = [UInt8](bytes[start..<place])
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw problem("a string is not valid UTF-8")
                }
                return string
            case UInt8(ascii: "\\"): try escape(&text)
            case 0..<0x20: throw problem("a string has a control character")
            default: text.append(byte)
            }
        }
        throw problem("a string does not end")
    }

    private mutating func escape(_ text: inout [UInt8]) throws(Problem) {
        guard place < bytes.count else { throw problem("a string does not end") }
        let byte = bytes[place]
        place += 1
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
                guard place + 1 < bytes.count, bytes[place] == UInt8(ascii: "\\"), bytes[place + 1] == UInt8(ascii: "u")
                else { throw problem("a string has an unpaired surrogate") }
                place += 2
                let low = try unit()
                guard low & 0xfc00 == 0xdc00 else { throw problem("a string has an unpaired surrogate") }
                code = 0x10000 + (code & 0x3ff) << 10 + low & 0x3ff
            }
            guard let scalar = Unicode.Scalar(code) else { throw problem("a string has an unpaired surrogate") }
            text.append(contentsOf: Array(String(Character(scalar)).utf8))
        default: throw problem("a string has an unknown escape")
        }
    }

    private mutating func unit() throws(Problem) -> UInt32 {
        guard place + 4 <= bytes.count,
            bytes[place..<place + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let code = UInt32(String(decoding: bytes[place..<place + 4], as: UTF8.self), radix: 16)
        else { throw problem("an escape needs four hexadecimal digits") }
        place += 4
        return code
    }
}
