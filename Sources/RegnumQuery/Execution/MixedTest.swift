// SPDX-License-Identifier: Apache-2.0
// Tests of values of any type.

package import RegnumEngine

/// A test of a mixed value. Numbers of all types are compared by value: whole numbers of any size exactly, and a binary
/// fraction with a decimal by its shortest digits (1.1 equals the decimal 1.1, as in a column of decimals). A string
/// equals data with the same bytes. Values of types that cannot be compared are unequal, and neither less nor greater.
package struct MixedTest: Sendable, Hashable {
    package let comparison: ComparisonOperator
    package let value: Value
    /// Set if the value is a string or data.
    private let bytes: BytesTest?

    /// `options` apply to strings.
    package init(_ comparison: ComparisonOperator, _ value: Value, _ options: ComparisonOptions) {
        self.comparison = comparison
        self.value = value
        switch value {
        case .string(let text): bytes = BytesTest(comparison, Array(text.utf8), options)
        case .data(let data): bytes = BytesTest(comparison, data, [])
        default: bytes = nil
        }
    }

    /// Tests a value that is not null.
    func matches(_ found: Value) -> Bool {
        // Text operators never match a number.
        if bytes == nil, comparison.isTextSearch { return false }
        if !MixedOrder.areComparable(found, value), comparison.isOrdering || !(isBytes(found) && bytes != nil) {
            return comparison == .notEqual
        }
        if let bytes {
            switch found {
            case .string(let text): return Array(text.utf8).withUnsafeBytes { bytes.matches($0) }
            case .data(let data): return data.withUnsafeBytes { bytes.matches($0) }
            default: break
            }
        }
        return CompareScan.matches(Self.order(found, value), comparison.scanOperator, 0)
    }

    /// Returns -1, 0 or 1: the order that queries use for values of comparable types. `MixedOrder` differs in comparing
    /// fractions exactly.
    static func order(_ found: Value, _ value: Value) -> Int {
        switch (found.decimalBits, value.decimalBits) {
        case (let found?, let value?): return DecimalBits.compare(found, value)
        case (let found?, nil):
            if let digits = value.shortestDigits { return DecimalBits.compare(found, digits) }
        case (nil, let value?):
            if let digits = found.shortestDigits { return DecimalBits.compare(digits, value) }
        case (nil, nil): break
        }
        return MixedOrder.compare(found, value).signum()
    }

    private func isBytes(_ value: Value) -> Bool {
        switch value {
        case .string, .data: true
        default: false
        }
    }
}

extension Value {
    /// Converts a binary number to the decimal of its shortest digits; returns all other values unchanged.
    var byDigits: Value {
        let digits: DecimalBits
        switch self {
        case .float(let number): digits = DecimalBits(number)
        case .double(let number): digits = DecimalBits(number)
        default: return self
        }
        return .decimal128(digits.low, digits.high)
    }

    /// The bits of a decimal; nil for other values.
    fileprivate var decimalBits: DecimalBits? {
        if case .decimal128(let low, let high) = self { return DecimalBits(low: low, high: high) }
        return nil
    }

    /// For a binary number with a fraction: the shortest digits that read back as the same number. Nil for whole
    /// numbers and all other values.
    fileprivate var shortestDigits: DecimalBits? {
        switch self {
        case .float(let number) where number.isFinite && number.rounded(.towardZero) != number: DecimalBits(number)
        case .double(let number) where number.isFinite && number.rounded(.towardZero) != number: DecimalBits(number)
        default: nil
        }
    }
}
