// SPDX-License-Identifier: Apache-2.0
// The constants of a predicate, written as literals in its text or passed as arguments.

package import RegnumEngine

/// An object passed as an argument.
package struct ObjectArgument: Sendable {
    /// Nil if the object is unmanaged.
    package var table: TableKey?
    package var key: ObjectKey
    package var className: String
    package var isDeleted: Bool
    /// True if the object belongs to a Realm other than the one queried.
    package var isOfOtherRealm: Bool
    /// The object, for code that knows its class. Like the argument itself, it is only used while predicates are
    /// created and bound.
    package nonisolated(unsafe) var object: AnyObject?

    package init(
        table: TableKey?, key: ObjectKey, className: String, isDeleted: Bool = false,
        isOfOtherRealm: Bool = false, object: AnyObject? = nil
    ) {
        self.table = table
        self.key = key
        self.className = className
        self.isDeleted = isDeleted
        self.isOfOtherRealm = isOfOtherRealm
        self.object = object
    }
}

package enum Constant: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Float)
    case double(Double)
    case string(String)
    case data([UInt8])
    case date(Timestamp)
    /// Like `Value.objectID`: the 12 bytes, loaded as little endian.
    case objectID(UInt64, UInt32)
    case uuid(UInt64, UInt64)
    /// Like `Value.decimal128`: the low word, then the high one.
    case decimal128(UInt64, UInt64)
    case object(ObjectArgument)
    /// Compared member by member.
    case embedded(EmbeddedArgument)
    case array([Constant])
    /// A dictionary with string keys, in any order.
    case dictionary([EmbeddedArgument.Member])
    /// Allowed on the right side of IN.
    case geo(GeoShape)
    /// A whole predicate, allowed in place of a comparison.
    case predicate(Predicate)
    /// A value of a type that no property can hold.
    case unsupported(typeName: String, description: String)
}

extension Constant {
    package var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    /// The value, if it is a scalar.
    var value: Value? {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .float(let value): .float(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .data(let value): .data(value)
        case .date(let value): .date(value)
        case .objectID(let low, let high): .objectID(low, high)
        case .uuid(let low, let high): .uuid(low, high)
        case .decimal128(let low, let high): .decimal128(low, high)
        default: nil
        }
    }

    /// The name of the value's type in error messages.
    package var typeName: String {
        switch self {
        case .null: "(null)"
        case .bool: "Bool"
        case .int: "Int"
        case .float: "Float"
        case .double: "Double"
        case .string: "String"
        case .data: "Data"
        case .date: "Date"
        case .objectID: "ObjectId"
        case .uuid: "UUID"
        case .decimal128: "Decimal128"
        case .object(let object): object.className
        case .embedded(let value): value.typeName
        case .array: "Array"
        case .dictionary: "Dictionary"
        case .geo: "a shape"
        case .predicate: "NSPredicate"
        case .unsupported(let typeName, _): typeName
        }
    }

    /// The value as shown in error messages.
    package var shown: String {
        switch self {
        case .null: "(null)"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .data(let value): "\(value.count) bytes"
        case .date(let value): "\(value.seconds)s"
        case .objectID(let low, let high): Constant.hex(low, 8) + Constant.hex(UInt64(high), 4)
        case .uuid(let low, let high): Constant.uuidText(low, high)
        case .decimal128(let low, let high): DecimalBits(low: low, high: high).text
        case .object(let object): "\(object.className) \(object.key.rawValue)"
        case .embedded(let value): value.shown
        case .array(let values): "{" + values.map(\.shown).joined(separator: ", ") + "}"
        case .dictionary(let members):
            "{" + members.map { "\($0.name): \($0.value.shown)" }.joined(separator: ", ") + "}"
        case .geo(let shape): shape.shown
        case .predicate(let predicate): predicate.description
        case .unsupported(_, let description): description
        }
    }

    /// The bytes of a word loaded as little endian, in memory order, as hexadecimal digits.
    static func hex(_ word: UInt64, _ byteCount: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for index in 0..<byteCount {
            let byte = Int(word &>> UInt64(index * 8) & 255)
            text.append(digits[byte >> 4])
            text.append(digits[byte & 15])
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func uuidText(_ low: UInt64, _ high: UInt64) -> String {
        var digits = Array((hex(low, 8) + hex(high, 8)).utf8)
        for position in [20, 16, 12, 8] { digits.insert(0x2D, at: position) }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The 16 bytes of `8-4-4-4-12` hexadecimal digits as two words; nil if the text has another form.
    static func uuidWords(_ text: String) -> (UInt64, UInt64)? {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digit = 0
        for (index, byte) in bytes.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == 0x2D else { return nil }
                continue
            }
            guard let value = hexDigit(byte) else { return nil }
            // Two digits make a byte; byte n is at bit 8n of the pair of words.
            let place = UInt64((digit / 2 % 8) * 8 + (digit % 2 == 0 ? 4 : 0))
            if digit < 16 { words.0 |= UInt64(value) &<< place } else { words.1 |= UInt64(value) &<< place }
            digit += 1
        }
        return words
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
