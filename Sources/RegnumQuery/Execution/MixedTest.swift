// SPDX-License-Identifier: Apache-2.0
// Tests of values of any type.

package import RegnumEngine

/// A test of a mixed value. Numbers of all types compare by what they are worth, whole ones of any size exactly, a
/// binary fraction with a decimal by its shortest digits (1.1 is the decimal 1.1, as in a column of decimals); and a
/// text is equal to data of the same bytes. Values of types that do not compare are different, and neither less nor
/// greater.
package struct MixedTest: Sendable, Hashable {
    package let comparison: ComparisonOperator
    package let value: Value
    /// Where the value is a text or data.
    private let bytes: BytesTest?

    /// `options` matter for texts.
    package init(_ comparison: ComparisonOperator, _ value: Value, _ options: ComparisonOptions) {
        self.comparison = comparison
        self.value = value
        switch value {
        case .string(let text): bytes = BytesTest(comparison, Array(text.utf8), options)
        case .data(let data): bytes = BytesTest(comparison, data, [])
        default: bytes = nil
        }
    }

    /// Of a value that is not null.
    func matches(_ found: Value) -> Bool {
        // Nothing begins with a number.
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

    /// -1, 0 or 1, as questions order values of types that compare; `MixedOrder` is exact about fractions too.
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
    /// A binary number as the decimal of its shortest digits; what else it is, as it is.
    var byDigits: Value {
        let digits: DecimalBits
        switch self {
        case .float(let number): digits = DecimalBits(number)
        case .double(let number): digits = DecimalBits(number)
        default: return self
        }
        return .decimal128(digits.low, digits.high)
    }

    /// Of a decimal.
    fileprivate var decimalBits: DecimalBits? {
        if case .decimal128(let low, let high) = self { return DecimalBits(low: low, high: high) }
        return nil
    }

    /// Of a binary number with a fraction: the digits that are read back as it. Nil for whole numbers and all others.
    fileprivate var shortestDigits: DecimalBits? {
        switch self {
        case .float(let number) where number.isFinite && number.rounded(.towardZero) != number: DecimalBits(number)
        case .double(let number) where number.isFinite && number.rounded(.towardZero) != number: DecimalBits(number)
        default: nil
        }
    }
}
