// SPDX-License-Identifier: Apache-2.0
// Decimal128: decimal numbers of 34 digits, IEEE 754-2008. The arithmetic is RegnumEngine's `DecimalBits`.

public import Foundation
internal import RegnumEngine
internal import Synchronization

/// A decimal number of up to 34 digits with an exponent of -6176 ... 6111 (IEEE 754-2008 decimal128), an
/// infinity or NaN. Arithmetic is correctly rounded, half to even; what is too large becomes infinity. NaN
/// equals itself and is less than all numbers, as in queries and sorted results. There is one zero, without a
/// sign, and trailing zeros are not kept: 1.0 is 1.
public final class Decimal128: Sendable {
    // Atomic for `RecycledValues` alone: one that nobody holds any more may become another.
    private let low: Atomic<UInt64>
    private let high: Atomic<UInt64>
    /// Made of text with an exponent, and shown so.
    private let isExponential: Bool

    var bits: DecimalBits {
        DecimalBits(low: low.load(ordering: .relaxed), high: high.load(ordering: .relaxed))
    }

    init(bits: DecimalBits, isExponential: Bool = false) {
        low = Atomic(bits.low)
        high = Atomic(bits.high)
        self.isExponential = isExponential
    }

    /// From text; NaN where it is no number.
    private convenience init(text: String) {
        self.init(bits: DecimalBits(text), isExponential: DecimalBits.isExponential(text))
    }

    /// Only for `RecycledValues`.
    func become(_ bits: DecimalBits) {
        low.store(bits.low, ordering: .relaxed)
        high.store(bits.high, ordering: .relaxed)
    }

    /// 0.
    public convenience init() { self.init(bits: .zero) }

    /// From a number of any type, a String, a Decimal or another Decimal128. NSNull, text that is no number
    /// and all else become NaN.
    public convenience init(value: Any) {
        switch unwrapped(value) {
        case let number as Decimal128: self.init(bits: number.bits, isExponential: number.isExponential)
        case let text as String: self.init(text: text)
        default: self.init(bits: Decimal128.bits(of: value) ?? .nan)
        }
    }

    /// From a number. A floating-point number becomes the shortest decimal that is read back as the same: 0.1
    /// is 0.1.
    public convenience init(number: NSNumber) { self.init(bits: Decimal128.bits(of: number) ?? .nan) }

    /// From text such as `12`, `-1.5`, `1.5E-3`, `nan` or `inf`; NaN for other text. Digits behind the 34th
    /// are rounded. Does not throw; `throws` is for code that calls it with `try`.
    public convenience init(string: String) throws { self.init(text: string) }

    /// The number in 34 digits, or nil where it has more.
    public convenience init?<T: BinaryInteger>(exactly source: T) {
        let digits = source.description
        let significant = digits.drop { $0 == "-" }.reversed().drop { $0 == "0" }
        guard significant.count <= 34 else { return nil }
        let bits = DecimalBits(digits)
        guard bits.isFinite else { return nil }
        self.init(bits: bits)
    }

    /// What a value of type Any is as a decimal number. nil where it is none.
    static func bits(of value: Any) -> DecimalBits? {
        guard let value = unwrapped(value) else { return nil }
        // By its type: on Linux an NSNumber can be cast to the first type below that has its value.
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

    /// The least finite number, -9.999999999999999999999999999999999E6144.
    public static var min: Decimal128 { Decimal128(bits: DecimalBits.greatest.negated) }
    /// The greatest finite number, 9.999999999999999999999999999999999E6144.
    public static var max: Decimal128 { Decimal128(bits: .greatest) }

    /// Whether it is not a number.
    public var isNaN: Bool { bits.isNaN }
    /// Whether it is the NaN that `snan` stands for. Results of arithmetic never are.
    public var isSignaling: Bool { bits.isSignaling }
    /// As `isSignaling`.
    public var isSignalingNaN: Bool { isSignaling }
    /// Without the sign.
    public var magnitude: Decimal128 { Decimal128(bits: bits.magnitude) }
    /// The nearest Double; an infinity where that is too small.
    public var doubleValue: Double { bits.double }
    /// As a Decimal, rounded to its 38 digits; NaN where it has no such exponent.
    public var decimalValue: Decimal { Decimal(string: bits.text) ?? .nan }
    /// As `description`.
    public var stringValue: String { description }

    /// Equality with what `init(value:)` takes: `Decimal128(1).isEqual(NSNumber(value: 1.0))`. False for what
    /// is no number.
    public func isEqual(_ other: Any?) -> Bool {
        guard let other, !(other is String), let other = Decimal128.bits(of: other) else { return false }
        return DecimalBits.compare(bits, other) == 0
    }
}

extension Decimal128: Hashable, Comparable, CustomStringConvertible {
    public static func == (left: Decimal128, right: Decimal128) -> Bool {
        DecimalBits.compare(left.bits, right.bits) == 0
    }

    /// NaN is less than all numbers.
    public static func < (left: Decimal128, right: Decimal128) -> Bool { left.bits < right.bits }

    public func hash(into hasher: inout Hasher) {
        // Equal numbers have equal bits; all NaN are equal.
        hasher.combine(bits.isNaN ? .nan : bits.canonical)
    }

    /// `9.876543`, `1.23456789E132`, `-0.5`, `NaN`, `Inf`: no zeros at the end of a fraction, and an exponent
    /// where 34 digits do not reach, or where the number was made of text that has one: `1.23E6`. What is read from a
    /// Realm, and what is computed, was not.
    public var description: String { bits.text(isExponential: isExponential) }
}

extension Decimal128: SignedNumeric, Strideable {
    /// The sum, rounded to 34 digits.
    public static func + (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits + right.bits)
    }

    /// The difference, or the number with the other sign.
    public static func - (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits - right.bits)
    }

    /// The product, rounded to 34 digits.
    public static func * (left: Decimal128, right: Decimal128) -> Decimal128 {
        Decimal128(bits: left.bits * right.bits)
    }

    /// Of 0 by 0 NaN, of another number by 0 an infinity.
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
    /// The difference, or the number with the other sign.
    public static prefix func - (number: Decimal128) -> Decimal128 { Decimal128(bits: number.bits.negated) }

    /// What has to be added to come to `other`.
    public func distance(to other: Decimal128) -> Decimal128 { other - self }
    /// The sum with `number`.
    public func advanced(by number: Decimal128) -> Decimal128 { self + number }
}

extension SignedNumeric where Self == Decimal128 {
    /// Changes the sign: puts another number in the variable.
    public mutating func negate() { self = -self }
}

extension Decimal128 {
    /// `negate()` of a constant. No method of the class, which generic code over `SignedNumeric` would call: that must
    /// change its variable alone.
    public struct Negation {
        fileprivate let number: Decimal128

        /// Changes the sign of the instance.
        public func callAsFunction() { number.high.store(number.bits.negated.high, ordering: .relaxed) }
    }

    /// Changes the sign of this instance, and so of every constant, variable and unmanaged property that refers to it.
    /// A variable (`var`) gets another instance instead: see `negate()` of `SignedNumeric`.
    @_disfavoredOverload
    public var negate: Negation { Negation(number: self) }
}

extension Decimal128: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
    public convenience init(integerLiteral value: Int64) { self.init(bits: DecimalBits(value)) }

    /// The shortest decimal that is read back as the same Double: the digits as written, up to 15 of them.
    /// Write more as a string literal.
    public convenience init(floatLiteral value: Double) { self.init(bits: DecimalBits(value)) }

    /// As `init(string:)`.
    public convenience init(stringLiteral value: String) { self.init(text: value) }
}

extension Decimal128: Codable {
    /// From a string, or from a number.
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

    /// As a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }
}
