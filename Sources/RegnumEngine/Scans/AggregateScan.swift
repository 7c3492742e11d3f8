// SPDX-License-Identifier: Apache-2.0
// Sums, minima and maxima of a column of one group, over all rows or those in a bitmap. Nulls and NaN are ignored. At
// most 1,024 rows per call; no allocation; any thread.

/// The aggregate of the integers seen so far.
package struct IntegerAggregate: Sendable, Equatable {
    package var count = 0
    /// Wraps on overflow.
    package var sum: Int64 = 0
    package var min = Int64.max
    package var max = Int64.min
    package init() {}

    /// False if the sum is exact.
    package var mayHaveWrapped: Bool {
        count > 0 && Swift.max(min.magnitude, max.magnitude).multipliedReportingOverflow(by: UInt64(count) * 2).overflow
    }
}

/// The aggregate of the floating-point numbers seen so far. The order of addition is the same on every machine: eight
/// running sums per group, row by row in turn, added in pairs at the end of the group.
package struct DoubleAggregate: Sendable, Equatable {
    package var count = 0
    package var sum = 0.0
    package var min = Double.infinity
    package var max = -Double.infinity
    package init() {}
}

package enum AggregateScan {
    /// `rows` nil means all rows.
    package static func integers(
        _ column: ColumnView, _ count: Int, _ rows: RowBitmap?, into total: inout IntegerAggregate
    ) {
        if rows == nil, column.validity == nil {
            switch column.form {
            case .uint8: return packed(column, count, UInt8.self, &total)
            case .uint16: return packed(column, count, UInt16.self, &total)
            case .uint32: return packed(column, count, UInt32.self, &total)
            default: break
            }
        }
        for word in 0..<(count &+ 63) &>> 6 {
            var bits = selected(column, count, rows, word)
            total.count &+= bits.nonzeroBitCount
            while bits != 0 {
                let value = column.integer(word &<< 6 &+ bits.trailingZeroBitCount)
                bits &= bits &- 1
                total.sum &+= value
                if value < total.min { total.min = value }
                if value > total.max { total.max = value }
            }
        }
    }

    /// Takes the minimum and maximum from the zone map; without one, from the values.
    @inline(__always)
    private static func packed<T: FixedWidthInteger & UnsignedInteger>(
        _ column: ColumnView, _ count: Int, _ type: T.Type, _ total: inout IntegerAggregate
    ) {
        guard count > 0 else { return }
        total.count &+= count
        total.sum &+= Int64(truncatingIfNeeded: packedSum(column.data, count, type)) &+ column.base &* Int64(count)
        var low = column.zoneMin
        var high = column.zoneMax
        if !column.hasZone {
            let values = column.data.assumingMemoryBound(to: T.self)
            var least = T.max
            var greatest = T.min
            for row in 0..<count {
                least = values[row] < least ? values[row] : least
                greatest = values[row] > greatest ? values[row] : greatest
            }
            low = column.base &+ Int64(truncatingIfNeeded: least)
            high = column.base &+ Int64(truncatingIfNeeded: greatest)
        }
        total.min = Swift.min(total.min, low)
        total.max = Swift.max(total.max, high)
    }

    /// Adds eight bytes per step: every second value is added in a lane of twice its width, which 1,024 rows cannot
    /// overflow.
    @inline(__always)
    private static func packedSum<T: FixedWidthInteger & UnsignedInteger>(
        _ data: UnsafeRawPointer, _ count: Int, _ type: T.Type
    ) -> UInt64 {
        let width = UInt64(truncatingIfNeeded: T.bitWidth)
        let even: UInt64 =
            T.self == UInt8.self
            ? 0x00FF_00FF_00FF_00FF : T.self == UInt16.self ? 0x0000_FFFF_0000_FFFF : 0xFFFF_FFFF
        let perWord = 64 / T.bitWidth
        var lanes: UInt64 = 0
        let words = count / perWord
        for word in 0..<words {
            let values = data.load(fromByteOffset: word &* 8, as: UInt64.self)
            lanes &+= (values & even) &+ (values &>> width & even)
        }
        let lane = 2 &* width
        var sum: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: Int(lane)) {
            sum &+= lanes &>> UInt64(shift) & (lane == 64 ? ~0 : (1 &<< lane) &- 1)
        }
        let values = data.assumingMemoryBound(to: T.self)
        for row in words &* perWord..<count { sum &+= UInt64(truncatingIfNeeded: values[row]) }
        return sum
    }

    /// Columns of doubles and of floats.
    package static func doubles(
        _ column: ColumnView, _ count: Int, _ rows: RowBitmap?, into total: inout DoubleAggregate
    ) {
        if rows == nil, column.validity == nil, column.hasZone {
            return column.form == .float32
                ? numbers(column, count, Float.self, &total) : numbers(column, count, Double.self, &total)
        }
        column.form == .float32
            ? floats(column, count, rows, Float.self, &total)
            : floats(column, count, rows, Double.self, &total)
    }

    /// All rows of a column with a zone map, and therefore without NaN: only the sum has to be computed.
    @inline(__always)
    private static func numbers<T: BinaryFloatingPoint & SIMDScalar>(
        _ column: ColumnView, _ count: Int, _ type: T.Type, _ total: inout DoubleAggregate
    ) {
        guard count > 0 else { return }
        var sums = SIMD8<Double>.zero
        let whole = count & ~7
        var row = 0
        while row < whole {
            sums += load(column.data, row, T.self)
            row &+= 8
        }
        for lane in 0..<count &- whole {
            sums[lane] += Double(
                column.data.load(fromByteOffset: (whole &+ lane) &* MemoryLayout<T>.size, as: T.self))
        }
        total.count &+= count
        total.sum += pairs(sums)
        total.min = Swift.min(total.min, Double(bitPattern: UInt64(bitPattern: column.zoneMin)))
        total.max = Swift.max(total.max, Double(bitPattern: UInt64(bitPattern: column.zoneMax)))
    }

    @inline(__always)
    private static func pairs(_ sums: SIMD8<Double>) -> Double {
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    }

    @inline(__always)
    private static func floats<T: BinaryFloatingPoint & SIMDScalar>(
        _ column: ColumnView, _ count: Int, _ rows: RowBitmap?, _ type: T.Type, _ total: inout DoubleAggregate
    ) {
        var sums = SIMD8<Double>.zero
        var counts = SIMD8<Int64>.zero
        var lows = SIMD8<Double>(repeating: .infinity)
        var highs = SIMD8<Double>(repeating: -.infinity)
        var row = 0
        while row < count {
            let chosen = UInt8(
                truncatingIfNeeded: selected(column, count, rows, row &>> 6) &>> UInt64(row & 63))
            if chosen == 0xFF {
                let values = load(column.data, row, T.self)
                let isNumber = values .== values
                sums += values.replacing(with: 0, where: .!isNumber)
                counts &-= unsafeBitCast(isNumber, to: SIMD8<Int64>.self)
                lows.replace(with: values, where: values .< lows)
                highs.replace(with: values, where: values .> highs)
            } else if chosen != 0 {
                for lane in 0..<8 where chosen &>> UInt8(lane) & 1 != 0 {
                    let value = Double(
                        column.data.load(fromByteOffset: (row &+ lane) &* MemoryLayout<T>.size, as: T.self))
                    guard value == value else { continue }
                    sums[lane] += value
                    counts[lane] &+= 1
                    if value < lows[lane] { lows[lane] = value }
                    if value > highs[lane] { highs[lane] = value }
                }
            }
            row &+= 8
        }
        total.count &+= Int(counts.wrappedSum())
        total.sum += pairs(sums)
        total.min = Swift.min(total.min, lows.min())
        total.max = Swift.max(total.max, highs.max())
    }

    @inline(__always)
    private static func load<T: BinaryFloatingPoint & SIMDScalar>(
        _ data: UnsafeRawPointer, _ row: Int, _ type: T.Type
    ) -> SIMD8<Double> {
        if T.self == Double.self {
            return data.loadUnaligned(fromByteOffset: row &* 8, as: SIMD8<Double>.self)
        }
        return SIMD8<Double>(data.loadUnaligned(fromByteOffset: row &* 4, as: SIMD8<Float>.self))
    }

    /// The selected, non-null rows of a word of 64.
    @inline(__always)
    private static func selected(_ column: ColumnView, _ count: Int, _ rows: RowBitmap?, _ word: Int)
        -> UInt64
    {
        let rest = count &- word &* 64
        var bits: UInt64 = rest >= 64 ? ~0 : (1 &<< UInt64(rest)) &- 1
        if let rows { bits &= rows[word] }
        if let validity = column.validity { bits &= validity[word] }
        return bits
    }
}
