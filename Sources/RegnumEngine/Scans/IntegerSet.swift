// SPDX-License-Identifier: Apache-2.0
// Tests which integers of a column are in a set.

/// A set of integers for many lookups: a bitmap from the smallest to the largest value if they are close together,
/// otherwise an open-addressing hash table.
package struct IntegerSet: Sendable {
    /// Ascending, each once.
    package let values: [Int64]
    /// One bit per number from the smallest on, and a zero word at the end. Empty if there is a table.
    private let bits: [UInt64]
    /// The size is a power of two; empty slots hold `gap`. Empty if there is a bitmap.
    private let table: [Int64]
    /// A number that is not in the set.
    private let gap: Int64
    private let shift: UInt64
    /// A copy of `ValueHash.factor`, for fast access.
    private let factor: UInt64

    /// O(count).
    package init(_ values: [Int64]) {
        let values = Self.sorted(values)
        self.values = values
        let factor = ValueHash.factor
        self.factor = factor
        gap = Self.gap(in: values)
        guard let low = values.first, let high = values.last else {
            (self.bits, self.table, shift) = ([], [], 0)
            return
        }
        // Allow about as much memory as a table would take, or 4 KiB.
        let span = UInt64(bitPattern: high &- low)
        if span < UInt64(values.count) &* 256 &+ 32_768 {
            var bits = [UInt64](repeating: 0, count: Int(span / 64) + 2)
            for value in values {
                let place = UInt64(bitPattern: value &- low)
                bits[Int(place / 64)] |= 1 &<< (place & 63)
            }
            (self.bits, self.table, shift) = (bits, [], 0)
            return
        }
        var bitCount: UInt64 = 3
        while 1 &<< bitCount < UInt64(values.count) * 2 { bitCount += 1 }
        shift = 64 - bitCount
        var table = [Int64](repeating: gap, count: 1 << Int(bitCount))
        for value in values {
            var place = Self.place(value, 64 - bitCount, factor)
            while table[place] != gap { place = (place + 1) & (table.count - 1) }
            table[place] = value
        }
        (self.bits, self.table) = ([], table)
    }

    /// Sorts and removes duplicates; uses a radix sort if there are many.
    private static func sorted(_ values: [Int64]) -> [Int64] {
        var unique: [Int64] = []
        unique.reserveCapacity(values.count)
        if values.count < 512 {
            for value in values.sorted() where unique.last != value { unique.append(value) }
            return unique
        }
        let sort = WordSort<SortEntry64>(capacity: values.count)
        defer { sort.deallocate() }
        for (row, value) in values.enumerated() {
            let word = UInt64(bitPattern: value) ^ 1 &<< 63
            (sort.entries + row).initialize(to: SortEntry64(high: word))
        }
        sort.sort(count: values.count)
        for row in 0..<values.count {
            let value = Int64(bitPattern: sort.entries[row].high ^ 1 &<< 63)
            if unique.last != value { unique.append(value) }
        }
        return unique
    }

    /// The smallest number that is not in `sorted`.
    private static func gap(in sorted: [Int64]) -> Int64 {
        var gap = Int64.min
        for value in sorted {
            if value != gap { break }
            gap &+= 1
        }
        return gap
    }

    /// Every bit of the value, and the secret factor, influence every bit of the result.
    @inline(__always)
    private static func place(_ value: Int64, _ shift: UInt64, _ factor: UInt64) -> Int {
        let product = UInt64(bitPattern: value).multipliedFullWidth(by: factor)
        return Int(truncatingIfNeeded: ((product.high ^ product.low) &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    }

    /// See `ValueHash.longestRun`; 0 for a bitmap. O(count).
    package var longestRun: Int { ValueHash.longestRun(table.map { $0 != gap }) }

    package func contains(_ value: Int64) -> Bool {
        guard let low = values.first else { return false }
        if bits.isEmpty { return table.withUnsafeBufferPointer { isIn($0, value) } }
        return bits.withUnsafeBufferPointer { Self.isSet($0, value, low) }
    }

    @inline(__always)
    private func isIn(_ table: UnsafeBufferPointer<Int64>, _ value: Int64) -> Bool {
        var place = Self.place(value, shift, factor)
        while true {
            let found = table[place]
            if found == gap { return false }
            if found == value { return true }
            place = (place &+ 1) & (table.count &- 1)
        }
    }

    /// Numbers out of range map to the last word, which is zero: no branch per row.
    @inline(__always)
    private static func isSet(_ bits: UnsafeBufferPointer<UInt64>, _ value: Int64, _ low: Int64) -> Bool {
        let place = min(UInt64(bitPattern: value &- low), UInt64(truncatingIfNeeded: bits.count &- 1) &* 64)
        return bits[Int(truncatingIfNeeded: place &>> 6)] &>> (place & 63) & 1 != 0
    }

    /// Selects the rows whose value is in the set; never null rows. O(count).
    package func scan(_ column: ColumnView, _ count: Int, _ out: RowBitmap) {
        out.clearRows()
        guard let low = values.first, let high = values.last else { return }
        if column.hasZone && (column.zoneMax < low || column.zoneMin > high) { return }
        switch column.form {
        case .uint8: scan(column.base, column.data.assumingMemoryBound(to: UInt8.self), count, low, out)
        case .uint16: scan(column.base, column.data.assumingMemoryBound(to: UInt16.self), count, low, out)
        case .uint32: scan(column.base, column.data.assumingMemoryBound(to: UInt32.self), count, low, out)
        case .int64: scan(0, column.data.assumingMemoryBound(to: UInt64.self), count, low, out)
        default: if contains(column.base) { out.setRows(count) }
        }
        CompareScan.keepValid(column, out)
    }

    @inline(__always)
    private func scan<T: FixedWidthInteger & UnsignedInteger>(
        _ base: Int64, _ data: UnsafePointer<T>, _ count: Int, _ low: Int64, _ out: RowBitmap
    ) {
        if bits.isEmpty {
            table.withUnsafeBufferPointer { table in
                Self.forEachWord(count, out) { isIn(table, base &+ Int64(truncatingIfNeeded: data[$0])) }
            }
        } else {
            bits.withUnsafeBufferPointer { bits in
                Self.forEachWord(count, out) { Self.isSet(bits, base &+ Int64(truncatingIfNeeded: data[$0]), low) }
            }
        }
    }

    /// Sets the rows that pass the test, 64 of them at once.
    @inline(__always)
    private static func forEachWord(_ count: Int, _ out: RowBitmap, _ test: (Int) -> Bool) {
        var row = 0
        while row < count {
            let end = min(row &+ 64, count)
            var word: UInt64 = 0
            for place in row..<end {
                word |= (test(place) ? 1 : 0) &<< UInt64(truncatingIfNeeded: place)
            }
            out[row &>> 6] = word
            row = end
        }
    }
}

extension IntegerSet: Hashable {
    package static func == (a: IntegerSet, b: IntegerSet) -> Bool { a.values == b.values }
    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
