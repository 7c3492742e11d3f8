// SPDX-License-Identifier: Apache-2.0
// Which integers of a column are in a set.

/// A set of integers for many lookups: an open hash table, values beside each other.
package struct IntegerSet: Sendable, Hashable {
    /// Ascending.
    package let values: [Int64]
    private let table: [Int64]
    private let isUsed: [Bool]
    private let shift: UInt64

    package init(_ values: [Int64]) {
        self.values = Set(values).sorted()
        var bitCount: UInt64 = 3
        while 1 &<< bitCount < UInt64(self.values.count) * 2 { bitCount += 1 }
        shift = 64 - bitCount
        var table = [Int64](repeating: 0, count: 1 << Int(bitCount))
        var isUsed = [Bool](repeating: false, count: table.count)
        for value in self.values {
            var place = Self.place(value, 64 - bitCount)
            while isUsed[place] { place = (place + 1) & (table.count - 1) }
            table[place] = value
            isUsed[place] = true
        }
        self.table = table
        self.isUsed = isUsed
    }

    /// Fibonacci hashing: the high bits of the product depend on all bits of the value.
    @inline(__always)
    private static func place(_ value: Int64, _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: (UInt64(bitPattern: value) &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    package func contains(_ value: Int64) -> Bool {
        var place = Self.place(value, shift)
        while isUsed[place] {
            if table[place] == value { return true }
            place = (place &+ 1) & (table.count &- 1)
        }
        return false
    }

    /// Rows whose value is in the set; null rows never. O(count).
    package func scan(_ column: ColumnView, _ count: Int, _ out: RowBitmap) {
        out.clearRows()
        guard let low = values.first, let high = values.last else { return }
        if column.hasZone && (column.zoneMax < low || column.zoneMin > high) { return }
        let mask = table.count &- 1
        let shift = shift
        table.withUnsafeBufferPointer { table in
            isUsed.withUnsafeBufferPointer { isUsed in
                for row in 0..<count {
                    let value = column.integer(row)
                    var place = Self.place(value, shift)
                    while isUsed[place] {
                        if table[place] == value {
                            out.insertRow(row)
                            break
                        }
                        place = (place &+ 1) & mask
                    }
                }
            }
        }
        CompareScan.keepValid(column, out)
    }
}
