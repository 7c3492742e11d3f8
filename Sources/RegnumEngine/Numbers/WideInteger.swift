// SPDX-License-Identifier: Apache-2.0
// Unsigned integers of 256 bits, with the operations that decimal arithmetic needs: the product of two coefficients of
// 34 digits has 68 digits, 226 bits.

struct WideInteger {
    var high: UInt128
    var low: UInt128

    @inline(__always)
    init(_ low: UInt128, high: UInt128 = 0) {
        self.high = high
        self.low = low
    }

    @inline(__always)
    static func product(_ a: UInt128, _ b: UInt128) -> WideInteger {
        let product = a.multipliedFullWidth(by: b)
        return WideInteger(product.low, high: product.high)
    }

    /// Multiplies; the product must fit.
    func times(_ factor: UInt128) -> WideInteger {
        let lower = low.multipliedFullWidth(by: factor)
        return WideInteger(lower.low, high: high &* factor &+ lower.high)
    }

    /// Multiplies by a power of ten. The power may be up to 76; the product must fit.
    func timesPowerOfTen(_ power: Int) -> WideInteger {
        power <= 38
            ? times(PowersOfTen.wide(power))
            : times(PowersOfTen.wide(38)).times(PowersOfTen.wide(power - 38))
    }

    func divided(by divisor: UInt128) -> (quotient: WideInteger, remainder: UInt128) {
        if high == 0 {
            let (quotient, remainder) = low.quotientAndRemainder(dividingBy: divisor)
            return (WideInteger(quotient), remainder)
        }
        let (upper, rest) = high.quotientAndRemainder(dividingBy: divisor)
        let (lower, remainder) = divisor.dividingFullWidth((rest, low))
        return (WideInteger(lower, high: upper), remainder)
    }

    static func + (a: WideInteger, b: WideInteger) -> WideInteger {
        let (low, carry) = a.low.addingReportingOverflow(b.low)
        return WideInteger(low, high: a.high &+ b.high &+ (carry ? 1 : 0))
    }

    /// Subtracts; `a` must not be smaller than `b`.
    static func - (a: WideInteger, b: WideInteger) -> WideInteger {
        let (low, borrow) = a.low.subtractingReportingOverflow(b.low)
        return WideInteger(low, high: a.high &- b.high &- (borrow ? 1 : 0))
    }

    static func < (a: WideInteger, b: WideInteger) -> Bool {
        a.high == b.high ? a.low < b.low : a.high < b.high
    }

    var isZero: Bool { high == 0 && low == 0 }

    /// The number of decimal digits; 0 has none. Only for numbers below 10^76.
    var digitCount: Int {
        if high == 0 { return PowersOfTen.digitCount(low) }
        let upper = divided(by: PowersOfTen.wide(38)).quotient.low
        return upper == 0 ? PowersOfTen.digitCount(low) : 38 + PowersOfTen.digitCount(upper)
    }
}

enum PowersOfTen {
    private static let table: [UInt128] = {
        var table: [UInt128] = [1]
        for _ in 0..<38 { table.append(table[table.count - 1] * 10) }
        return table
    }()

    /// Returns 10^`power`, for powers 0 ... 38.
    static func wide(_ power: Int) -> UInt128 { table[power] }

    /// Returns the number of decimal digits; 0 has none.
    static func digitCount(_ value: UInt128) -> Int {
        if value == 0 { return 0 }
        // 1233 / 4096 is slightly more than log10(2): the guess is exact or one too low for all widths up to 128 bits.
        let guess = ((128 - value.leadingZeroBitCount) * 1233) >> 12
        return guess > 38 ? 39 : value >= table[guess] ? guess + 1 : guess
    }
}
