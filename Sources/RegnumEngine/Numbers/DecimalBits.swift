// SPDX-License-Identifier: Apache-2.0
// IEEE 754-2008 decimal128 in its binary encoding (BID), as stored in files: a sign, a coefficient of up to 34 digits,
// and an exponent of -6176 ... 6111. All arithmetic is correctly rounded, half to even.
//
//   high word   bit 63 sign | bits 62...49 exponent + 6176 | bits 48...0 upper coefficient
//   low word    lower coefficient
//   infinity    bits 62...58 are 11110;  NaN 11111, bit 57 set if it is a signaling one
//
// Of the many pairs (coefficient, exponent) of a number only one is ever produced: the one without trailing zeros (or
// with as few as the largest exponent allows). Zero is two words of 0, and has no sign. So equal numbers have equal
// words, and columns, sets and indexes may compare them as 16 bytes.

package struct DecimalBits: Hashable, Sendable {
    package var low: UInt64
    package var high: UInt64

    /// Creates a number from words, including words that no operation here produces.
    @inlinable
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    static let bias = 6176
    static let minimumExponent = -6176
    static let maximumExponent = 6111
    static let digits = 34
    /// 10^34, the first coefficient that is too large.
    static let coefficientLimit = PowersOfTen.wide(34)

    package static let zero = DecimalBits(low: 0, high: 0)
    package static let nan = DecimalBits(low: 0, high: 0x7C00_0000_0000_0000)
    package static let signalingNaN = DecimalBits(low: 0, high: 0x7E00_0000_0000_0000)
    package static let infinity = DecimalBits(low: 0, high: 0x7800_0000_0000_0000)
    /// The largest finite number.
    package static let greatest = DecimalBits(false, coefficientLimit - 1, maximumExponent)

    /// Creates a number from parts that must be in range.
    init(_ isNegative: Bool, _ coefficient: UInt128, _ exponent: Int) {
        low = UInt64(truncatingIfNeeded: coefficient)
        high =
            (isNegative ? 1 << 63 : 0) | UInt64(exponent + DecimalBits.bias) << 49
            | UInt64(truncatingIfNeeded: coefficient >> 64)
    }

    package var isNegative: Bool { high >> 63 != 0 }
    package var isNaN: Bool { high >> 58 & 31 == 31 }
    package var isSignaling: Bool { high >> 57 & 63 == 63 }
    package var isInfinite: Bool { high >> 58 & 31 == 30 }
    package var isFinite: Bool { high >> 58 & 31 < 30 }
    package var isZero: Bool { isFinite && coefficient == 0 }

    /// The coefficient of a finite number. Coefficients over the limit count as 0, as the standard says.
    var coefficient: UInt128 {
        if high >> 61 & 3 == 3 { return 0 }
        let value = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        return value < DecimalBits.coefficientLimit ? value : 0
    }

    /// The exponent of a finite number.
    var exponent: Int {
        Int(high >> (high >> 61 & 3 == 3 ? 47 : 49) & 0x3FFF) - DecimalBits.bias
    }

    package var negated: DecimalBits {
        isNaN || isZero ? self : DecimalBits(low: low, high: high ^ 1 << 63)
    }

    package var magnitude: DecimalBits { isNegative ? negated : self }

    /// Returns infinity with the sign.
    static func infinite(_ isNegative: Bool) -> DecimalBits {
        DecimalBits(low: 0, high: infinity.high | (isNegative ? 1 << 63 : 0))
    }
}

// MARK: Rounding

extension DecimalBits {
    /// Returns the nearest number to `wide` x 10^`exponent`, half to even. `hasMore`: the exact value exceeds `wide` by
    /// less than 1.
    static func rounded(
        _ isNegative: Bool, _ wide: WideInteger, _ exponent: Int, hasMore: Bool = false
    ) -> DecimalBits {
        let count = wide.digitCount
        let drop = max(count - digits, minimumExponent - exponent, 0)
        if drop == 0 { return packed(isNegative, wide.low, exponent) }
        if drop > count { return .zero }
        // All but the last of the dropped digits matter only if one of them is not 0.
        var rest = wide
        var hasRest = hasMore
        var left = drop - 1
        while left > 0 {
            let step = min(left, 38)
            let (quotient, remainder) = rest.divided(by: PowersOfTen.wide(step))
            rest = quotient
            if remainder != 0 { hasRest = true }
            left -= step
        }
        let (quotient, digit) = rest.divided(by: 10)
        let isUp = digit > 5 || digit == 5 && (hasRest || quotient.low & 1 == 1)
        return packed(isNegative, quotient.low + (isUp ? 1 : 0), exponent + drop)
    }

    /// Packs a coefficient of at most 10^34 and an exponent that is not too small into the canonical form, or returns
    /// infinity.
    private static func packed(_ isNegative: Bool, _ coefficient: UInt128, _ exponent: Int) -> DecimalBits {
        if coefficient == 0 { return .zero }
        var coefficient = coefficient
        var exponent = exponent
        if coefficient == coefficientLimit {
            // Rounded up from 34 nines.
            coefficient /= 10
            exponent += 1
        }
        // Removes trailing zeros: tries the binary digits of their number, the highest first.
        if coefficient % 10 == 0 {
            for step in [32, 16, 8, 4, 2, 1] where exponent + step <= maximumExponent {
                let (quotient, remainder) = coefficient.quotientAndRemainder(
                    dividingBy: PowersOfTen.wide(step))
                if remainder == 0 {
                    coefficient = quotient
                    exponent += step
                }
            }
        }
        if exponent > maximumExponent {
            let excess = exponent - maximumExponent
            guard excess <= digits - PowersOfTen.digitCount(coefficient) else { return infinite(isNegative) }
            coefficient *= PowersOfTen.wide(excess)
            exponent = maximumExponent
        }
        return DecimalBits(isNegative, coefficient, exponent)
    }

    /// The canonical form, for words that no operation here produced.
    package var canonical: DecimalBits {
        if isNaN { return isSignaling ? .signalingNaN : .nan }
        if isInfinite { return DecimalBits.infinite(isNegative) }
        return DecimalBits.packed(isNegative, coefficient, exponent)
    }
}

// MARK: Order

extension DecimalBits {
    /// Returns -1, 0 or 1. NaN equals itself and comes before all numbers.
    package static func compare(_ a: DecimalBits, _ b: DecimalBits) -> Int {
        if a == b { return 0 }
        if a.isNaN || b.isNaN { return a.isNaN ? (b.isNaN ? 0 : -1) : 1 }
        let left = a.sign
        let right = b.sign
        if left != right { return left < right ? -1 : 1 }
        return left * compareMagnitudes(a, b)
    }

    /// -1, 0 or 1.
    private var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

    /// Compares the magnitudes of two numbers, neither of them NaN.
    private static func compareMagnitudes(_ a: DecimalBits, _ b: DecimalBits) -> Int {
        if a.isInfinite || b.isInfinite {
            return a.isInfinite == b.isInfinite ? 0 : a.isInfinite ? 1 : -1
        }
        var left = a.coefficient
        var right = b.coefficient
        if left == 0 || right == 0 { return left == right ? 0 : left == 0 ? -1 : 1 }
        let gap = a.exponent - b.exponent
        let lead = gap + PowersOfTen.digitCount(left) - PowersOfTen.digitCount(right)
        if lead != 0 { return lead < 0 ? -1 : 1 }
        // The leading digits have the same weight, so the gap is the difference of the digit counts: below 34.
        if gap > 0 { left *= PowersOfTen.wide(gap) } else { right *= PowersOfTen.wide(-gap) }
        return left == right ? 0 : left < right ? -1 : 1
    }

    package static func < (a: DecimalBits, b: DecimalBits) -> Bool { compare(a, b) < 0 }
}

// MARK: Arithmetic

extension DecimalBits {
    package static func + (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN || b.isNaN { return .nan }
        if a.isInfinite { return b.isInfinite && a.isNegative != b.isNegative ? .nan : a }
        if b.isInfinite { return b }
        if a.isZero { return b.canonical }
        if b.isZero { return a.canonical }
        return a.exponent >= b.exponent ? sum(a, b) : sum(b, a)
    }

    /// Adds finite numbers that are not 0; `a` has the larger exponent.
    private static func sum(_ a: DecimalBits, _ b: DecimalBits) -> DecimalBits {
        var left = WideInteger(a.coefficient)
        let right = WideInteger(b.coefficient)
        let gap = a.exponent - b.exponent
        if gap <= 40 {
            left = left.timesPowerOfTen(gap)
            return difference(a.isNegative, left, b.isNegative, right, b.exponent)
        }
        // With 34 digits on the left, the right may be less than a hundredth of its last digit: then it only affects
        // rounding.
        let shift = digits - PowersOfTen.digitCount(left.low)
        left = left.timesPowerOfTen(shift)
        let rest = gap - shift
        if rest <= 36 {
            return difference(a.isNegative, left.timesPowerOfTen(rest), b.isNegative, right, b.exponent)
        }
        left = left.timesPowerOfTen(2)
        if a.isNegative != b.isNegative { left = left - WideInteger(1) }
        return rounded(a.isNegative, left, a.exponent - shift - 2, hasMore: true)
    }

    private static func difference(
        _ isLeftNegative: Bool, _ left: WideInteger, _ isRightNegative: Bool, _ right: WideInteger,
        _ exponent: Int
    ) -> DecimalBits {
        if isLeftNegative == isRightNegative { return rounded(isLeftNegative, left + right, exponent) }
        return left < right
            ? rounded(isRightNegative, right - left, exponent) : rounded(isLeftNegative, left - right, exponent)
    }

    package static func - (a: DecimalBits, b: DecimalBits) -> DecimalBits { a + b.negated }

    package static func * (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN || b.isNaN { return .nan }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite || b.isInfinite { return a.isZero || b.isZero ? .nan : infinite(isNegative) }
        return rounded(isNegative, .product(a.coefficient, b.coefficient), a.exponent + b.exponent)
    }

    package static func / (a: DecimalBits, b: DecimalBits) -> DecimalBits {
        if a.isNaN || b.isNaN { return .nan }
        let isNegative = a.isNegative != b.isNegative
        if a.isInfinite { return b.isInfinite ? .nan : infinite(isNegative) }
        if b.isInfinite { return .zero }
        if b.isZero { return a.isZero ? .nan : infinite(isNegative) }
        if a.isZero { return .zero }
        let divisor = b.coefficient
        // The quotient then has 35 or 36 digits.
        let shift = 35 + PowersOfTen.digitCount(divisor) - PowersOfTen.digitCount(a.coefficient)
        let (quotient, remainder) = WideInteger(a.coefficient).timesPowerOfTen(shift).divided(by: divisor)
        return rounded(isNegative, quotient, a.exponent - b.exponent - shift, hasMore: remainder != 0)
    }
}
