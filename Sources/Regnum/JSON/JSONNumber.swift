// SPDX-License-Identifier: Apache-2.0
// Numbers in JSON as values of properties. A whole number keeps all its digits or is refused. A fraction becomes the
// nearest Double or Float, as JSON implies; as a decimal it keeps all its digits or is refused.

enum JSONNumber {
    /// The number of digits of a Decimal128.
    private static let decimalDigits = 34

    /// The number as an Int; nil if it has a fraction, or if an Int cannot hold it. 3.0 and 2e3 are whole numbers.
    static func int(_ text: String) -> Int? {
        if let number = Int(text) { return number }
        // A larger Double may be a rounded number.
        guard let number = Double(text), abs(number) < 0x1p53, digits(of: text) == digits(of: "\(number)") else {
            return nil
        }
        return Int(exactly: number)
    }

    /// The nearest finite Double or Float; nil if there is none, or if the text has neither a fraction nor an exponent
    /// and the type cannot hold the number. It holds a number exactly, or as the shortest text of a value: JavaScript
    /// writes 2 to the power of 60 as 1152921504606847000.
    static func binary<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: String, as type: Number.Type
    ) -> Number? {
        guard let number = Number(text), number.isFinite else { return nil }
        if !isWhole(text) || digits(of: text) == digits(of: "\(number)") { return number }
        return Int128(text).flatMap { Number(exactly: $0) }
    }

    /// The decimal number; nil if it has more than 34 digits.
    static func decimal(_ text: String) -> Decimal128? {
        digits(of: text).count <= decimalDigits ? try? Decimal128(string: text) : nil
    }

    /// The number as a value of any type: without a fraction and an exponent an Int, or a decimal if an Int cannot hold
    /// it; otherwise a Double. Nil if it cannot be stored.
    static func any(_ text: String) -> Any? {
        if let number = Int(text) { return number }
        if isWhole(text), text.utf8.count <= decimalDigits, let number = try? Decimal128(string: text) { return number }
        return binary(text, as: Double.self)
    }

    private static func isWhole(_ text: String) -> Bool { !text.contains { $0 == "." || $0 == "e" || $0 == "E" } }

    /// The digits before the exponent, without zeros before and after them.
    private static func digits(of text: String) -> ArraySlice<UInt8> {
        let zero = UInt8(ascii: "0")
        let mantissa = text.utf8.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
        var digits = mantissa.filter { (zero...UInt8(ascii: "9")).contains($0) }.drop { $0 == zero }
        while digits.last == zero { digits.removeLast() }
        return digits
    }
}
