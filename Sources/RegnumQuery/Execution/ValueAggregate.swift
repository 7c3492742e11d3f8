// SPDX-License-Identifier: Apache-2.0
// Aggregates over single values, for what has no kernel.

package import RegnumEngine

/// An aggregate over single values. Nulls and NaN do not count; least and greatest are those of `MixedOrder`. Among
/// values of any type numbers count, and dates for least and greatest.
package struct ValueAggregate: Sendable {
    package private(set) var count = 0
    private var integerSum: Int64 = 0
    private var doubleSum = 0.0
    private var decimalSum = DecimalBits.zero
    private var kind: Kind
    private var least = Value.null
    private var greatest = Value.null

    /// What sums are made in.
    private enum Kind { case integer, double, decimal }

    /// `isDecimal`: sums and averages are decimals whatever the values are.
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
            // Dates among values of any type have no part in sums and averages.
            if kind == .decimal { return widen(value) }
            kind = .double
        default: return
        }
        count += 1
        widen(value)
    }

    /// Makes the value the least or the greatest if it is.
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

    /// Null where there is nothing to aggregate; the sum of nothing is 0.
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
