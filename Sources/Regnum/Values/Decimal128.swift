// SPDX-License-Identifier: Apache-2.0
// Decimal128: decimal numbers of 34 digits, IEEE 754-2008. The arithmetic is RegnumEngine's `DecimalBits`.

public import Foundation
internal import RegnumEngine
internal import Synchronization

/// A decimal number of up to 34 digits with an exponent of -6176 ... 6111 (IEEE 754-2008 decimal128), an infinity, or
/// NaN.
///
/// Arithmetic is correctly rounded, half to even; a result that is too large becomes infinity. NaN equals itself and is
/// less than all numbers, as in queries and sorted results. There is one zero, without a sign, and trailing zeros are
/// not kept: 1.0 is 1.
public final class Decimal128: Sendable {
    // Atomic only for `RecycledValues`: an instance that nothing references any more may be given another value.
    private let low: Atomic<UInt64>
    private let high: Atomic<UInt64>
    /// True if the number was parsed from text with an exponent; `description` then shows an exponent.
    private let isExponential: Bool

    var bits: DecimalBits {
        DecimalBits(low: low.load(ordering: .relaxed), high: high.load(ordering: .relaxed))
    }

    init(bits: DecimalBits, isExponential: Bool = false) {
        low = Atomic(bits.low)
        high = Atomic(bits.high)
        self.isExponential = isExponential
    }

    /// Creates a number from text; NaN if the text is not a number.
    private convenience init(text: String) {
        self.init(bits: DecimalBits(text), isExponential: DecimalBits.isExponential(text))
    }

    /// Changes the value. Only for `RecycledValues`.
    func become(_ bits: DecimalBits) {
        low.store(bits.low, ordering: .relaxed)
        high.store(bits.high, ordering: .relaxed)
    }

    /// Creates 0.
    public convenience init() { self.init(bits: .zero) }

    /// Creates a number from a number of any type, a String, a Decimal or another Decimal128. NSNull, text that is not
    /// a number, and anything else become NaN.
    public convenience init(value: Any) {
        switch unwrapped(value) {
        case let number as Decimal128: self.init(bits: number.bits, isExponential: number.isExponential)
        case let text as String: self.init(text: text)
        default: self.init(bits: Decimal128.bits(of: value) ?? .nan)
        }
    }

    /// Creates a number from an NSNumber. A floating-point number becomes the shortest decimal that converts back to
    /// the same number: 0.1 is 0.1.
    public convenience init(number: NSNumber) { self.init(bits: Decimal128.bits(of: number) ?? .nan) }

    /// Creates a number from text such as `12`, `-1.5`, `1.5E-3`, `nan` or `inf`; NaN for other text. The number is
    /// rounded to 34 digits. Never throws; declared `throws` for code that calls it with `try`.
    public convenience init(string: String) throws { self.init(text: string) }

    /// Creates a number from an integer; nil if it does not fit into 34 digits.
    public convenience init?<T: BinaryInteger>(exactly source: T) {
        let digits = source.description
        let significant = digits.drop { $0 == "-" }.reversed().drop { $0 == "0" }
        guard significant.count <= 34 else { return nil }
        let bits = DecimalBits(digits)
        guard bits.isFinite else { return nil }
        self.init(bits: bits)
    }

    /// Converts a value of type Any to a decimal number; nil if it is not a number.
    static func bits(of value: Any) -> DecimalBits? {
        guard let value = unwrapped(value) else { return nil }
        // Tested by the exact type: on Linux an NSNumber can be cast to the first type below that can represent it.
        if isInstance(value), let number = value as? NSNumber { return bits(of: number) }
        switch value {
        case let value as Decimal128: return value.bits
        case let value as String: return DecimalBits(value)
        case let value as Decimal: return DecimalBits(value.description)
        case let value as Bool: return DecimalBits(value ? 1 : 0 as Int64)
        case let value as Double: return DecimalBits(value)
        case let value as Float: return DecimalBits(value)
        case let value as Int: return DecimalBits(Int64(value))
        case let value as any BinaryInteger: return DecimalBits(value.description)
        case let value as NSString: return DecimalBits(value as String)
        case let value as NSNumber: return bits(of: value)
        default: return nil
        }
    }

    private static func bits(of number: NSNumber) -> DecimalBits? {
        if let number = number as? NSDecimalNumber { return DecimalBits(number.decimalValue.description) }
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"): return DecimalBits(number.doubleValue)
        case UInt8(ascii: "f"): return DecimalBits(number.floatValue)
        case UInt8(ascii: "Q"): return DecimalBits(number.uint64Value)
        default: return DecimalBits(number.int64Value)
        }
    }

    /// The smallest finite number, -9.999999999999999999999999999999999E6144.
    public static var min: Decimal128 { Decimal128(bits: DecimalBits.greatest.negated) }
    /// The largest finite number, 9.999999999999999999999999999999999E6144.
    public static var max: Decimal128 { Decimal128(bits: .greatest) }

    /// Whether the value is NaN.
    public var isNaN: Bool { bits.isNaN }
    /// Whether the value is a signaling NaN, written `snan`. Results of arithmetic never are.
    public var isSignaling: Bool { bits.isSignaling }
    /// The same as `isSignaling`.
    public var isSignalingNaN: Bool { isSignaling }
    /// The absolute value.
    public var magnitude: Decimal128 { Decimal128(bits: bits.magnitude) }
    /// The nearest Double; an infinity if the number is out of Double's range.
    public var doubleValue: Double { bits.double }
    /// The value as a Decimal, rounded to its 38 digits; NaN if the exponent is out of Decimal's range.
    public var decimalValue: Decimal { Decimal(string: bits.text) ?? .nan }
    /// The same as `description`.
    public var stringValue: String { description }

    /// Returns whether the number equals a value that `init(value:)` accepts: `Decimal128(1).isEqual(NSNumber(value:
    /// 1.0))`. Returns false for text and for anything that is not a number.
    public func isEqual(_ other: Any?) -> Bool {
        guard let other, !(other is String), let other = Decimal128.bits(of: other) else { return false }
        return DecimalBits.compare(bits, other) == 0
    }
}

extension Decimal128: Hashable, Comparable, CustomStringConvertible {
    public static func == (left: Decimal128, right: Decimal128) -> Bool {
        DecimalBits.compare(left.bits, right.bits) == 0
    }

    /// Compares two numbers. NaN is less than all numbers.
    public static func < (left: Decimal128, right: Decimal128) -> Bool { left.bits < right.bits }

    public func hash(into hasher: inout Hasher) {
        // Equal numbers have equal canonical bits; all NaNs are equal.
        hasher.combine(bits.isNaN ? .nan : bits.canonical)
    }

    /// The number as text: `9.876543`, `1.23456789E132`, `-0.5`, `NaN`, `Inf`. A fraction has no trailing zeros. An
    /// exponent is used if 34 digits are not enough, or if the number was created from text with an exponent: `1.23E6`.
    /// A number read from a Realm, or computed, does not count as created from text.
    public var description: String { bits.text(isExponential: isExponential) }
}

extension Decimal128: SignedNumeric, Strideable {
    /// Returns the sum, rounded to 34 digits.
    public static func + (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits + right.bits)
    }

    /// Returns the difference, rounded to 34 digits.
    public static func - (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits - right.bits)
    }

    /// Returns the product, rounded to 34 digits.
    public static func * (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits * right.bits)
    }

    /// Returns the quotient, rounded to 34 digits. 0 divided by 0 is NaN, any other number divided by 0 an infinity.
    public static func / (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits / right.bits)
    }

    /// Adds, rounded to 34 digits.
    public static func += (left: inout Decimal128, right: Decimal128) { left = left + right }
    /// Subtracts, rounded to 34 digits.
    public static func -= (left: inout Decimal128, right: Decimal128) { left = left - right }
    /// Multiplies, rounded to 34 digits.
    public static func *= (left: inout Decimal128, right: Decimal128) { left = left * right }
    /// Divides, rounded to 34 digits.
    public static func /= (left: inout Decimal128, right: Decimal128) { left = left / right }
    /// Returns the number with the opposite sign.
    public static prefix func - (number: Decimal128) -> Decimal128 { Decimal128(bits: number.bits.negated) }

    /// Returns the number to add to get `other`.
    public func distance(to other: Decimal128) -> Decimal128 { other - self }
    /// Returns the sum of this number and `number`.
    public func advanced(by number: Decimal128) -> Decimal128 { self + number }
}

extension SignedNumeric where Self == Decimal128 {
    /// Changes the sign by assigning another instance to the variable.
    public mutating func negate() { self = -self }
}

extension Decimal128 {
    /// `negate()` of a constant. It is not a method of the class, because generic code over `SignedNumeric` would call
    /// that method, and must change only its own variable.
    public struct Negation {
        fileprivate let number: Decimal128

        /// Changes the sign of the instance.
        public func callAsFunction() { number.high.store(number.bits.negated.high, ordering: .relaxed) }
    }

    /// Changes the sign of this instance, and therefore of every constant, variable and unmanaged property that refers
    /// to it. A variable (`var`) is assigned another instance instead; see `negate()` of `SignedNumeric`.
    @_disfavoredOverload
    public var negate: Negation { Negation(number: self) }
}

extension Decimal128: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
    public convenience init(integerLiteral value: Int64) { self.init(bits: DecimalBits(value)) }

    /// Creates the shortest decimal that converts back to the same Double: the digits as written, up to 15 of them. For
    /// more digits, use a string literal.
    public convenience init(floatLiteral value: Double) { self.init(bits: DecimalBits(value)) }

    /// Same as `init(string:)`.
    public convenience init(stringLiteral value: String) { self.init(text: value) }
}

extension Decimal128: Codable {
    /// Decodes a string or a number.
    public convenience init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.init(text: text)
        } else if let number = try? container.decode(Int64.self) {
            self.init(bits: DecimalBits(number))
        } else {
            self.init(bits: DecimalBits(try container.decode(Double.self)))
        }
    }

    /// Encodes the number as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}
