// SPDX-License-Identifier: Apache-2.0
// A number of any type without rounding: coefficient * 2^binaryExponent * 10^decimalExponent, with at least one of the
// exponents 0. Makes numbers of different types comparable, in an order that does not depend on which is compared
// first.

struct ExactNumber {
    /// -1, 0 or 1; also set for infinities.
    private var sign: Int
    private var isNaN = false
    private var isInfinite = false
    private var coefficient: UInt128 = 0
    private var binaryExponent = 0
    private var decimalExponent = 0

    /// Nil if the value is not a number.
    init?(_ value: Value) {
        switch value {
        case .int(let value): self.init(value)
        case .float(let value): self.init(Double(value))
        case .double(let value): self.init(value)
        case .decimal128(let low, let high): self.init(DecimalBits(low: low, high: high))
        default: return nil
        }
    }

    private init(_ value: Int64) {
        sign = value < 0 ? -1 : value == 0 ? 0 : 1
        coefficient = UInt128(value.magnitude)
    }

    private init(_ value: Double) {
        sign = value.isNaN || value == 0 ? 0 : value < 0 ? -1 : 1
        isNaN = value.isNaN
        isInfinite = value.isInfinite
        guard value.isFinite, value != 0 else { return }
        coefficient = UInt128(value.significandBitPattern | (value.isNormal ? 1 << 52 : 0))
        binaryExponent = max(Int(value.exponentBitPattern), 1) - 1075
    }

    private init(_ value: DecimalBits) {
        isNaN = value.isNaN
        isInfinite = value.isInfinite
        sign = isNaN || value.isZero ? 0 : value.isNegative ? -1 : 1
        guard sign != 0, !isInfinite else { return }
        coefficient = value.coefficient
        decimalExponent = value.exponent
        while coefficient % 10 == 0 {
            coefficient /= 10
            decimalExponent += 1
        }
    }

    func compare(_ other: ExactNumber) -> Int {
        if isNaN || other.isNaN { return (isNaN ? 0 : 1) - (other.isNaN ? 0 : 1) }
        if sign != other.sign { return sign < other.sign ? -1 : 1 }
        if sign == 0 { return 0 }
        return sign * compareMagnitude(other)
    }

    private func compareMagnitude(_ other: ExactNumber) -> Int {
        if isInfinite || other.isInfinite { return (isInfinite ? 1 : 0) - (other.isInfinite ? 1 : 0) }
        // The rough comparison limits the exact one to a few hundred bits.
        let (size, otherSize) = (binaryLogarithm, other.binaryLogarithm)
        if abs(size - otherSize) > 2 { return size < otherSize ? -1 : 1 }
        let (left, right) = scaled(with: other)
        return left.compare(right)
    }

    /// Both magnitudes as natural numbers, divided by the powers of 10 and 2 that both have. Negative exponents move to
    /// the other side.
    func scaled(with other: ExactNumber) -> (WideNumber, WideNumber) {
        var left = WideNumber(coefficient)
        var right = WideNumber(other.coefficient)
        let tens = min(decimalExponent, other.decimalExponent)
        let twos = min(binaryExponent, other.binaryExponent)
        left.scale(tens: decimalExponent - tens, twos: binaryExponent - twos)
        right.scale(tens: other.decimalExponent - tens, twos: other.binaryExponent - twos)
        return (left, right)
    }

    /// The logarithm to base 2, with an error below 2.
    private var binaryLogarithm: Double {
        Double(128 - coefficient.leadingZeroBitCount) + Double(binaryExponent)
            + Double(decimalExponent) * 3.321928094887362
    }

    // MARK: One form for each number

    /// Bytes that are the same for all equal numbers, whatever their type.
    var canonicalBytes: [UInt8] {
        var out: [UInt8] = [UInt8(sign + 1) | (isNaN ? 4 : 0) | (isInfinite ? 8 : 0)]
        if isNaN || isInfinite || sign == 0 { return out }
        // Write coefficient * 2^b * 10^d as c * 2^twos * 5^fives, where c has no factors of 2 and 5.
        var wide = coefficient
        var twos = binaryExponent + decimalExponent
        var fives = decimalExponent
        let shift = wide.trailingZeroBitCount
        wide >>= UInt128(shift)
        twos += shift
        while wide % 5 == 0 {
            wide /= 5
            fives += 1
        }
        withUnsafeBytes(of: Int16(truncatingIfNeeded: twos)) { out.append(contentsOf: $0) }
        withUnsafeBytes(of: Int16(truncatingIfNeeded: fives)) { out.append(contentsOf: $0) }
        withUnsafeBytes(of: wide) { out.append(contentsOf: $0) }
        return out
    }
}

/// A natural number of any length: words of 32 bits, the lowest first.
struct WideNumber {
    private var words: [UInt32] = []

    var wordCount: Int { words.count }

    init(_ value: UInt128) {
        var left = value
        while left != 0 {
            words.append(UInt32(truncatingIfNeeded: left))
            left >>= 32
        }
    }

    mutating func scale(tens: Int, twos: Int) {
        for _ in 0..<tens / 9 { multiply(1_000_000_000) }
        for _ in 0..<tens % 9 { multiply(10) }
        words.insert(contentsOf: repeatElement(0, count: twos / 32), at: 0)
        multiply(1 << UInt32(twos % 32))
    }

    private mutating func multiply(_ factor: UInt32) {
        var carry: UInt64 = 0
        for i in words.indices {
            let product = UInt64(words[i]) * UInt64(factor) + carry
            words[i] = UInt32(truncatingIfNeeded: product)
            carry = product >> 32
        }
        if carry != 0 { words.append(UInt32(carry)) }
    }

    func compare(_ other: WideNumber) -> Int {
        if words.count != other.words.count { return words.count < other.words.count ? -1 : 1 }
        for i in words.indices.reversed() where words[i] != other.words[i] {
            return words[i] < other.words[i] ? -1 : 1
        }
        return 0
    }
}
