// SPDX-License-Identifier: Apache-2.0
// Aggregates over single values, for columns without a kernel.

package import RegnumEngine

/// An aggregate over single values. Nulls and NaN are ignored; the least and greatest values are those of `MixedOrder`.
/// For values of any type, numbers count, and dates count for the least and greatest value only.
package struct ValueAggregate: Sendable {
    package private(set) var count = 0
    private var integerSum: Int64 = 0
    private var doubleSum = 0.0
    private var decimalSum = DecimalBits.zero
    private var kind: Kind
    private var least = Value.null
    private var greatest = Value.null

    /// The type that sums are computed in.
    private enum Kind { case integer, double, decimal }

    /// `isDecimal`: sums and averages are decimals, whatever the type of the values.
    package init(isDecimal: Bool = false) { kind = isDecimal ? .decimal : .integer }

    package mutating func add(_ value: Value) {
        switch value {
        case .int(let number):
            integerSum &+= number
            doubleSum += Double(number)
            if kind == .decimal { decimalSum = decimalSum + DecimalBits(number) }
        case .float(let number):
            if number.isNaN { return }
            add(Double(number), DecimalBits(number))
        case .double(let number):
            if number.isNaN { return }
            add(number, DecimalBits(number))
        case .decimal128(let low, let high):
            let number = DecimalBits(low: low, high: high)
            if number.isNaN { return }
            if kind != .decimal {
                decimalSum = kind == .integer ? DecimalBits(integerSum) : DecimalBits(doubleSum)
                kind = .decimal
            }
            decimalSum = decimalSum + number
        case .date:
            // Dates among values of any type do not contribute to sums and averages.
            if kind == .decimal { return widen(value) }
            kind = .double
        default: return
        }
        count += 1
        widen(value)
    }

    /// Updates the least and the greatest value.
    private mutating func widen(_ value: Value) {
        if least == .null || MixedOrder.compare(value, least) < 0 { least = value }
        if greatest == .null || MixedOrder.compare(value, greatest) > 0 { greatest = value }
    }

    private mutating func add(_ number: Double, _ decimal: @autoclosure () -> DecimalBits) {
        if kind == .decimal {
            decimalSum = decimalSum + decimal()
        } else {
            doubleSum += number
            kind = .double
        }
    }

    /// Null if there are no values; the sum of no values is 0.
    package func result(_ aggregate: AggregateKind) -> Value {
        switch aggregate {
        case .count: return .int(Int64(count))
        case .min: return least
        case .max: return greatest
        case .sum:
            switch kind {
            case .integer: return .int(integerSum)
            case .double: return .double(doubleSum)
            case .decimal: return .decimal128(decimalSum.low, decimalSum.high)
            }
        case .avg:
            if count == 0 { return .null }
            if kind != .decimal { return .double(doubleSum / Double(count)) }
            let average = decimalSum / DecimalBits(Int64(count))
            return .decimal128(average.low, average.high)
        }
    }
}
