// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as stored in files: IEEE 754-2008 with binary integer coefficients, of 32, 64 or 128 bits.

/// A decimal number with up to 34 digits, exactly as stored: 1.0 and 1.00 differ.
public struct RealmFileDecimal: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of numbers.
    public enum Kind: Sendable, Hashable { case finite, infinity, notANumber }

    public let kind: Kind
    public let isNegative: Bool
    /// The upper and the lower 64 bits of the coefficient; 0 unless the number is finite.
    public let coefficient: (high: UInt64, low: UInt64)
    /// The power of ten by which the coefficient is multiplied.
    public let exponent: Int

    package init(kind: Kind, isNegative: Bool, coefficient: (high: UInt64, low: UInt64) = (0, 0), exponent: Int = 0) {
        self.kind = kind
        self.isNegative = isNegative
        self.coefficient = coefficient
        self.exponent = exponent
    }

    static let zero = RealmFileDecimal(kind: .finite, isNegative: false)

    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.isNegative == right.isNegative && left.coefficient == right.coefficient
            && left.exponent == right.exponent
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(isNegative)
        hasher.combine(coefficient.high)
        hasher.combine(coefficient.low)
        hasher.combine(exponent)
    }

    /// Text such as "-123E4", "NaN" or "-Infinity".
    public var description: String {
        let sign = isNegative ? "-" : ""
        switch kind {
        case .notANumber: return "NaN"
        case .infinity: return sign + "Infinity"
        case .finite: return "\(sign)\(digits)" + (exponent == 0 ? "" : "E\(exponent)")
        }
    }

    /// The coefficient in decimal digits.
    private var digits: String {
        var (high, low) = coefficient
        var groups: [UInt64] = []
        let base: UInt64 = 1_000_000_000_000_000_000
        while high > 0 {
            let (quotient, remainder) = (high / base, high % base)
            let (lowQuotient, lowRemainder) = base.dividingFullWidth((remainder, low))
            (high, low) = (quotient, lowQuotient)
            groups.append(lowRemainder)
        }
        groups.append(low)
        var text = String(groups.removeLast())
        for group in groups.reversed() {
            let digits = String(group)
            text += String(repeating: "0", count: 18 - digits.count) + digits
        }
        return text
    }
}

/// The encoding of decimals in one of the three stored widths.
struct DecimalCoding {
    let byteCount: Int
    private let exponentBits: Int
    private let bias: Int
    /// The bit pattern of null: upper and lower 64 bits.
    private let null: (high: UInt64, low: UInt64)

    static func of(byteCount: Int) -> DecimalCoding? {
        switch byteCount {
        case 4: DecimalCoding(byteCount: 4, exponentBits: 8, bias: 101, null: (0, 0x7c00_00aa))
        case 8: DecimalCoding(byteCount: 8, exponentBits: 10, bias: 398, null: (0, 0x7c00_0000_0000_00aa))
        case 16: DecimalCoding(byteCount: 16, exponentBits: 14, bias: 6176, null: (0x7c00_0000_0000_0000, 0xaa))
        default: nil
        }
    }

    /// The number with these bits, or nil for null.
    func decode(high: UInt64, low: UInt64) -> RealmFileDecimal? {
        if (high, low) == null { return nil }
        // The bits from the sign on, shifted to the top of 64 bits.
        let top = byteCount == 16 ? high : low << UInt64(64 - byteCount * 8)
        let isNegative = top >> 63 == 1
        switch (top >> 58) & 0x1f {
        case 0x1f: return RealmFileDecimal(kind: .notANumber, isNegative: isNegative)
        case 0x1e: return RealmFileDecimal(kind: .infinity, isNegative: isNegative)
        default: break
        }
        let isLarge = (top >> 61) & 3 == 3
        let exponent = Int((top << (isLarge ? 3 : 1)) >> UInt64(64 - exponentBits)) - bias
        let coefficientBits = byteCount * 8 - 1 - exponentBits - (isLarge ? 2 : 0)
        // The large form has two fewer coefficient bits; the coefficient is prefixed with the bits 100.
        let coefficient: (high: UInt64, low: UInt64) =
            byteCount == 16
            ? ((high & Self.mask(coefficientBits - 64)) | (isLarge ? 1 << UInt64(coefficientBits + 2 - 64) : 0), low)
            : (0, (low & Self.mask(coefficientBits)) | (isLarge ? 1 << UInt64(coefficientBits + 2) : 0))
        return RealmFileDecimal(kind: .finite, isNegative: isNegative, coefficient: coefficient, exponent: exponent)
    }

    private static func mask(_ count: Int) -> UInt64 { (1 << UInt64(count)) - 1 }
}
