// SPDX-License-Identifier: Apache-2.0
// Sets of values wider than an integer, for IN: each value as two words that are equal if the values are.

package import RegnumEngine

/// A date, a floating-point number, an object id or a UUID as two words. NaN equals NaN, -0 equals 0.
package struct WideKey: Sendable, Hashable {
    package var low: UInt64
    package var high: UInt64

    @inline(__always)
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    package init(_ value: Double) {
        self.init(low: value.isNaN ? Double.nan.bitPattern : (value + 0).bitPattern, high: 0)
    }

    @inline(__always)
    package init(_ value: Timestamp) {
        self.init(
            low: UInt64(bitPattern: value.seconds), high: UInt64(UInt32(bitPattern: value.nanoseconds)))
    }

    /// The value of a row that is not null.
    @inline(__always)
    init(_ column: ColumnView, _ row: Int, _ type: ColumnType) {
        switch type {
        case .double: self.init(column.double(row))
        case .float: self.init(Double(column.float(row)))
        case .date:
            self.init(Timestamp(seconds: column.integer(row), nanoseconds: column.nanoseconds(row)))
        case .objectID:
            let (low, high) = column.bytes12(row)
            self.init(low: low, high: UInt64(high))
        case .uuid, .decimal128:
            let (low, high) = column.bytes16(row)
            self.init(low: low, high: high)
        default: self.init(low: UInt64(bitPattern: column.integer(row)), high: 0)
        }
    }

    /// All bits of both words affect the low bits of the hash: whole doubles differ in their high bits only.
    @inline(__always)
    func hash(_ factor: UInt64) -> UInt64 {
        let first = low.multipliedFullWidth(by: factor)
        let second = (first.high ^ first.low ^ high).multipliedFullWidth(by: factor)
        return second.high ^ second.low
    }
}

/// An open-addressing hash table of `WideKey`s. A lookup touches one or two slots.
package struct WideSet: Sendable {
    /// The distinct values, ordered by their words.
    package let values: [WideKey]
    /// The number of the value + 1, or 0 for an empty slot; the capacity is a power of two.
    private let table: [Int32]
    /// A copy of `ValueHash.factor`.
    private let factor: UInt64

    package init(_ values: [WideKey]) {
        self.values = Self.sorted(values)
        let factor = ValueHash.factor
        self.factor = factor
        var capacity = 8
        while capacity < self.values.count * 2 { capacity *= 2 }
        var table = [Int32](repeating: 0, count: capacity)
        for (number, value) in self.values.enumerated() {
            var place = Int(truncatingIfNeeded: value.hash(factor)) & (capacity - 1)
            while table[place] != 0 { place = (place + 1) & (capacity - 1) }
            table[place] = Int32(number + 1)
        }
        self.table = table
    }

    /// Sorts by the first word, then by the second, and removes duplicates.
    private static func sorted(_ values: [WideKey]) -> [WideKey] {
        let sort = WordSort<SortEntry128>(capacity: max(values.count, 1))
        defer { sort.deallocate() }
        for (row, value) in values.enumerated() {
            (sort.entries + row).initialize(to: SortEntry128(high: value.low, low: value.high))
        }
        sort.sort(count: values.count)
        var unique: [WideKey] = []
        unique.reserveCapacity(values.count)
        for row in values.indices {
            let value = WideKey(low: sort.entries[row].high, high: sort.entries[row].low)
            if unique.last != value { unique.append(value) }
        }
        return unique
    }

    package func contains(_ value: WideKey) -> Bool {
        let mask = table.count &- 1
        var place = Int(truncatingIfNeeded: value.hash(factor)) & mask
        while table[place] != 0 {
            if values[Int(table[place]) &- 1] == value { return true }
            place = (place &+ 1) & mask
        }
        return false
    }

    /// See `ValueHash.longestRun`. O(count).
    package var longestRun: Int { ValueHash.longestRun(table.map { $0 != 0 }) }
}

extension WideSet: Hashable {
    package static func == (a: WideSet, b: WideSet) -> Bool { a.values == b.values }
    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
