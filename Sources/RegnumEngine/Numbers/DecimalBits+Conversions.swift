// SPDX-License-Identifier: Apache-2.0
// Converts Decimal128 to and from integers, binary floating point and text.

extension DecimalBits {
    package init(_ value: Int64) { self = .rounded(value < 0, WideInteger(UInt128(value.magnitude)), 0) }

    package init(_ value: UInt64) { self = .rounded(false, WideInteger(UInt128(value)), 0) }

    /// Creates the shortest decimal that converts back to the same Double: 0.1 for 0.1.
    package init(_ value: Double) {
        if value.isNaN {
            self = .nan
        } else if value.isInfinite {
            self = .infinite(value < 0)
        } else {
            self.init(value.description)
        }
    }

    /// Creates the shortest decimal that converts back to the same Float.
    package init(_ value: Float) {
        if value.isFinite { self.init(value.description) } else { self.init(Double(value)) }
    }

    /// The nearest Double; infinity if the number is too large.
    package var double: Double {
        if isNaN { return .nan }
        if isInfinite { return isNegative ? -.infinity : .infinity }
        let value = coefficient
        // Both operands are exact, so the result is rounded only once.
        if value < 1 << 53, abs(exponent) <= 22 {
            let power = DecimalBits.exactPowers[abs(exponent)]
            let number = exponent < 0 ? Double(UInt64(value)) / power : Double(UInt64(value)) * power
            return isNegative ? -number : number
        }
        return Double("\(isNegative ? "-" : "")\(value)e\(exponent)") ?? .nan
    }

    private static let exactPowers: [Double] = {
        var powers: [Double] = [1]
        for _ in 0..<22 { powers.append(powers[powers.count - 1] * 10) }
        return powers
    }()

    /// The number as an Int64; nil if it is not an integer or does not fit.
    package var integer: Int64? {
        guard isFinite else { return nil }
        if coefficient == 0 { return 0 }
        guard exponent >= 0, exponent <= 19, PowersOfTen.digitCount(coefficient) + exponent <= 19 else {
            return nil
        }
        let whole = coefficient * PowersOfTen.wide(exponent)
        return isNegative ? Int64(exactly: -Int128(whole)) : Int64(exactly: whole)
    }
}

// MARK: Text

extension DecimalBits {
    /// Parses `12`, `-1.5`, `.5`, `1.5E-3`, `nan`, `snan`, `inf` and `infinity`, in upper or lower case. Any other text
    /// becomes NaN. Digits after the 34th are rounded, half to even.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { DecimalBits.parsed($0) } ?? .nan
    }

    /// Returns whether the text denotes NaN itself.
    package static func isNaNText(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { parsed($0) }?.isNaN == true
    }

    /// Returns nil if the text is not a number.
    private static func parsed(_ text: UnsafeBufferPointer<UInt8>) -> DecimalBits? {
        var position = 0
        var isNegative = false
        if let first = text.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            position = 1
        }
        guard position < text.count else { return nil }
        let first = text[position]
        guard first.isDigit || first == UInt8(ascii: ".") else { return word(text[position...], isNegative) }

        var coefficient: UInt128 = 0
        var taken = 0
        var exponent = 0
        var hasMore = false
        var hasDigits = false
        var isFraction = false
        while position < text.count {
            let byte = text[position]
            if byte == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else if byte.isDigit {
                hasDigits = true
                let digit = byte - UInt8(ascii: "0")
                // 38 digits are exact; later ones only show whether there is a remainder.
                if taken < 38 {
                    coefficient = coefficient * 10 + UInt128(digit)
                    if coefficient != 0 { taken += 1 }
                    if isFraction { exponent -= 1 }
                } else {
                    if digit != 0 { hasMore = true }
                    if !isFraction { exponent += 1 }
                }
            } else {
                break
            }
            position += 1
        }
        guard hasDigits else { return nil }
        if position < text.count {
            guard let power = power(text[position...]) else { return nil }
            exponent += power
        }
        return rounded(isNegative, WideInteger(coefficient), exponent, hasMore: hasMore)
    }

    /// Parses `e12`, `E+12`, `e-12`. Exponents beyond a billion are treated as equal.
    private static func power(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var rest = text.dropFirst()
        guard text.first == UInt8(ascii: "e") || text.first == UInt8(ascii: "E") else { return nil }
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard !rest.isEmpty else { return nil }
        var power = 0
        for byte in rest {
            guard byte.isDigit else { return nil }
            power = min(power * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000_000)
        }
        return isNegative ? -power : power
    }

    private static func word(_ text: Slice<UnsafeBufferPointer<UInt8>>, _ isNegative: Bool) -> DecimalBits? {
        switch String(decoding: text, as: UTF8.self).lowercased() {
        case "inf", "infinity": infinite(isNegative)
        case "snan": .signalingNaN
        case "nan": .nan
        default: nil
        }
    }

    /// Returns whether a number's exponent exceeds the digits after its decimal point, as in `1.23e6`.
    package static func isExponential(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let mark = bytes.firstIndex(where: { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }),
            let power = Int(text[bytes.index(after: mark)...])
        else { return false }
        return power > bytes[..<mark].drop { $0 != UInt8(ascii: ".") }.dropFirst().count
    }

    /// The number without an exponent if 34 digits suffice (and at most 6 zeros follow the decimal point), otherwise
    /// with one: `9.876543`, `1.23456789E132`. No trailing zeros after the decimal point.
    package var text: String { text(isExponential: false) }

    /// Like `text`; if `isExponential`, with an exponent, however few digits there are.
    package func text(isExponential: Bool) -> String {
        if isNaN { return "NaN" }
        let sign = isNegative ? "-" : ""
        if isInfinite { return sign + "Inf" }
        let value = canonical
        if value.coefficient == 0 { return "0" }
        let digits = String(value.coefficient)
        let count = digits.utf8.count
        let exponent = value.exponent
        // The number of digits before the decimal point.
        let whole = count + exponent
        if exponent >= 0, whole <= DecimalBits.digits, !isExponential { return sign + digits + zeros(exponent) }
        if exponent < 0, whole > 0 { return "\(sign)\(digits.prefix(whole)).\(digits.dropFirst(whole))" }
        if exponent < 0, whole > -6 { return "\(sign)0.\(zeros(-whole))\(digits)" }
        var first = digits
        while first.utf8.count > 1, first.hasSuffix("0") { first.removeLast() }
        let fraction = first.utf8.count > 1 ? ".\(first.dropFirst())" : ""
        return "\(sign)\(first.prefix(1))\(fraction)E\(whole - 1)"
    }

    private func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
