// SPDX-License-Identifier: Apache-2.0
// Compares a whole column of one group with a constant. Each function writes a bitmap of the matching rows, with rows
// from `count` on clear. At most 1,024 rows per call; no allocation; any thread.

package enum ScanOperator: UInt8, Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
}

package enum CompareScan {
    // MARK: Integers

    /// The integers that satisfy an operator with a constant: those in `low...high`, none if `low` is above `high`;
    /// with `isInverted` all others.
    private struct Bounds {
        var low: Int64
        var high: Int64
        var isInverted = false

        init(_ operation: ScanOperator, _ value: Int64) {
            (low, high) = (value, value)
            switch operation {
            case .equal: break
            case .notEqual: isInverted = true
            case .less: (low, high) = value == .min ? (.max, .min) : (.min, value &- 1)
            case .lessOrEqual: low = .min
            case .greater: (low, high) = value == .max ? (.max, .min) : (value &+ 1, .max)
            case .greaterOrEqual: high = .max
            }
        }

        /// True if the zone map proves that all values are in the bounds, false if none is, nil if the values must be
        /// read.
        @inline(__always)
        func answer(_ column: ColumnView) -> Bool? {
            if low > high { return false }
            guard column.hasZone else { return nil }
            if column.zoneMax < low || column.zoneMin > high { return false }
            return low <= column.zoneMin && column.zoneMax <= high ? true : nil
        }
    }

    /// A null row matches `notEqual` only. Reads no values if the zone map decides.
    package static func integers(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Int64, _ out: RowBitmap
    ) {
        let bounds = Bounds(operation, value)
        switch bounds.answer(column) {
        case false?: out.clearRows()
        case true?: out.setRows(count)
        case nil: rangeValues(column, count, bounds.low, bounds.high, out)
        }
        keepValid(column, out)
        if bounds.isInverted { invert(out, count) }
    }

    /// The number of rows that `integers` would find, counted without a bitmap in a third of the time. Only for numbers
    /// of one byte each without nulls; otherwise nil.
    package static func countIntegers(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Int64
    ) -> Int? {
        guard column.form == .uint8, column.validity == nil else { return nil }
        let bounds = Bounds(operation, value)
        var found = 0
        switch bounds.answer(column) {
        case false?: break
        case true?: found = count
        case nil:
            if let (bottom, span) = packed(column, bounds.low, bounds.high, UInt8.self) {
                found = countBytes(UnsafeRawPointer(column.data), count, bottom, span)
            }
        }
        return bounds.isInverted ? count &- found : found
    }

    /// Counts sixteen rows per step. Each lane has its own count, at most 64 for 1,024 rows, which fits a byte.
    private static func countBytes(_ data: UnsafeRawPointer, _ count: Int, _ bottom: UInt8, _ span: UInt8) -> Int {
        let bottoms = SIMD16<UInt8>(repeating: bottom)
        let spans = SIMD16<UInt8>(repeating: span)
        var lanes = SIMD16<UInt8>()
        let whole = count &>> 4
        for block in 0..<whole {
            let values = data.loadUnaligned(fromByteOffset: block &* 16, as: SIMD16<UInt8>.self)
            // A matching lane is all ones, which is -1.
            lanes = lanes &- unsafeBitCast((values &- bottoms) .<= spans, to: SIMD16<UInt8>.self)
        }
        var found = 0
        for lane in 0..<16 { found &+= Int(lanes[lane]) }
        for row in whole &* 16..<count where data.load(fromByteOffset: row, as: UInt8.self) &- bottom <= span {
            found &+= 1
        }
        return found
    }

    /// Compares packed values in their own width: the range is shifted by `base` and clamped to the width.
    private static func rangeValues(
        _ column: ColumnView, _ count: Int, _ low: Int64, _ high: Int64, _ out: RowBitmap
    ) {
        switch column.form {
        case .uint8:
            guard let (bottom, span) = packed(column, low, high, UInt8.self) else { return out.clearRows() }
            let bottoms = SIMD8<UInt8>(repeating: bottom)
            let spans = SIMD8<UInt8>(repeating: span)
            let data = UnsafeRawPointer(column.data)
            eights(count, out) { block in
                let values = data.loadUnaligned(fromByteOffset: block &* 8, as: SIMD8<UInt8>.self)
                return unsafeBitCast((values &- bottoms) .<= spans, to: UInt64.self)
            } last: {
                data.load(fromByteOffset: $0, as: UInt8.self) &- bottom <= span
            }
        case .uint16:
            guard let (bottom, span) = packed(column, low, high, UInt16.self) else { return out.clearRows() }
            let bottoms = SIMD8<UInt16>(repeating: bottom)
            let spans = SIMD8<UInt16>(repeating: span)
            let data = UnsafeRawPointer(column.data)
            eights(count, out) { block in
                let values = data.loadUnaligned(fromByteOffset: block &* 16, as: SIMD8<UInt16>.self)
                return lanes(unsafeBitCast((values &- bottoms) .<= spans, to: SIMD8<Int16>.self))
            } last: {
                data.load(fromByteOffset: $0 &* 2, as: UInt16.self) &- bottom <= span
            }
        case .uint32:
            guard let (bottom, span) = packed(column, low, high, UInt32.self) else { return out.clearRows() }
            let bottoms = SIMD8<UInt32>(repeating: bottom)
            let spans = SIMD8<UInt32>(repeating: span)
            let data = UnsafeRawPointer(column.data)
            eights(count, out) { block in
                let values = data.loadUnaligned(fromByteOffset: block &* 32, as: SIMD8<UInt32>.self)
                return lanes(unsafeBitCast((values &- bottoms) .<= spans, to: SIMD8<Int32>.self))
            } last: {
                data.load(fromByteOffset: $0 &* 4, as: UInt32.self) &- bottom <= span
            }
        case .int64:
            words(
                column.data.assumingMemoryBound(to: UInt64.self), count, UInt64(bitPattern: low),
                UInt64(bitPattern: high &- low), out)
        default: column.base >= low && column.base <= high ? out.setRows(count) : out.clearRows()
        }
    }

    /// The range in terms of the stored numbers: its minimum and the distance to its maximum. Nil if no stored number
    /// can be in it.
    @inline(__always)
    private static func packed<T: FixedWidthInteger & UnsignedInteger>(
        _ column: ColumnView, _ low: Int64, _ high: Int64, _ type: T.Type
    ) -> (bottom: T, span: T)? {
        // Differences that overflow Int64 saturate.
        let (below, lowOverflows) = low.subtractingReportingOverflow(column.base)
        let (above, highOverflows) = high.subtractingReportingOverflow(column.base)
        let first = lowOverflows ? (low < column.base ? 0 : .max) : below < 0 ? 0 : below
        let last = highOverflows ? (high < column.base ? -1 : .max) : above
        if last < 0 || first > Int64(T.max) { return nil }
        let bottom = T(first)
        return (bottom, (last > Int64(T.max) ? T.max : T(last)) &- bottom)
    }

    /// Tests eight rows per step: `test` returns a byte for each of them, whose lowest bit counts. `last` tests a
    /// single row.
    @inline(__always)
    static func eights(
        _ count: Int, _ out: RowBitmap, _ test: (Int) -> UInt64, last: (Int) -> Bool
    ) {
        out.clearRows()
        let bytes = UnsafeMutableRawPointer(out).assumingMemoryBound(to: UInt8.self)
        let whole = count &>> 3
        for block in 0..<whole {
            // The multiplication gathers the eight bits in the highest byte.
            let bits = (test(block) & 0x0101_0101_0101_0101) &* 0x0102_0408_1020_4080
            bytes[block] = UInt8(truncatingIfNeeded: bits &>> 56)
        }
        for row in whole &* 8..<count where last(row) { out.insertRow(row) }
    }

    @inline(__always)
    static func lanes(_ mask: SIMD8<Int16>) -> UInt64 {
        unsafeBitCast(SIMD8<Int8>(truncatingIfNeeded: mask), to: UInt64.self)
    }
    @inline(__always)
    static func lanes(_ mask: SIMD8<Int32>) -> UInt64 {
        unsafeBitCast(SIMD8<Int8>(truncatingIfNeeded: mask), to: UInt64.self)
    }
    @inline(__always)
    static func lanes(_ mask: SIMD8<Int64>) -> UInt64 {
        unsafeBitCast(SIMD8<Int8>(truncatingIfNeeded: mask), to: UInt64.self)
    }

    /// Scalar, because not every x86-64 processor has a vector comparison of 64-bit integers.
    private static func words(
        _ values: UnsafePointer<UInt64>, _ count: Int, _ low: UInt64, _ span: UInt64, _ out: RowBitmap
    ) {
        out.clearRows()
        let bytes = UnsafeMutableRawPointer(out).assumingMemoryBound(to: UInt8.self)
        let whole = count &>> 3
        for block in 0..<whole {
            let eight = values + block &* 8
            var byte: UInt8 = 0
            byte |= eight[0] &- low <= span ? 1 : 0
            byte |= eight[1] &- low <= span ? 2 : 0
            byte |= eight[2] &- low <= span ? 4 : 0
            byte |= eight[3] &- low <= span ? 8 : 0
            byte |= eight[4] &- low <= span ? 16 : 0
            byte |= eight[5] &- low <= span ? 32 : 0
            byte |= eight[6] &- low <= span ? 64 : 0
            byte |= eight[7] &- low <= span ? 128 : 0
            bytes[block] = byte
        }
        for row in whole &* 8..<count where values[row] &- low <= span { out.insertRow(row) }
    }

    // MARK: Floating point

    /// NaN is less than everything and equal to NaN. A null row matches `notEqual` only.
    package static func doubles(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Double, _ out: RowBitmap
    ) {
        if !isToldByZone(column, count, operation, value, out) {
            compare(column, count, operation, value, out)
        }
    }

    /// Like `doubles`, compared in single precision.
    package static func floats(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Float, _ out: RowBitmap
    ) {
        if !isToldByZone(column, count, operation, Double(value), out) {
            compare(column, count, operation, value, out)
        }
    }

    private static func isToldByZone(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Double, _ out: RowBitmap
    ) -> Bool {
        guard column.hasZone, !value.isNaN, let answer = zoneAnswer(column, operation, value) else { return false }
        answer ? out.setRows(count) : out.clearRows()
        if operation == .notEqual {
            if !answer { setNulls(column, count, out) }
        } else {
            keepValid(column, out)
        }
        return true
    }

    /// A NaN in the column counts as less than the constant, so < and <= are computed as negations.
    @inline(__always)
    private static func compare<T: ScannedFloat>(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: T, _ out: RowBitmap
    ) {
        let data = UnsafeRawPointer(column.data)
        switch (operation, value.isNaN) {
        case (.equal, false), (.notEqual, false): T.scanEqual(data, count, value, out)
        case (.less, false), (.greaterOrEqual, false): T.scanAtLeast(data, count, value, out)
        case (.lessOrEqual, false), (.greater, false): T.scanGreater(data, count, value, out)
        case (.less, true), (.greaterOrEqual, true): out.setRows(count)
        case (.lessOrEqual, true), (.greater, true): T.scanNumbers(data, count, out)
        case (.equal, true), (.notEqual, true):
            T.scanNumbers(data, count, out)
            invert(out, count)
        }
        if operation == .less || operation == .lessOrEqual { invert(out, count) }
        keepValid(column, out)
        if operation == .notEqual { invert(out, count) }
    }

    /// True if the zone map proves that all values match, false if none does, otherwise nil. A column with a NaN has no
    /// zone.
    private static func zoneAnswer(_ column: ColumnView, _ operation: ScanOperator, _ value: Double) -> Bool? {
        let low = Double(bitPattern: UInt64(bitPattern: column.zoneMin))
        let high = Double(bitPattern: UInt64(bitPattern: column.zoneMax))
        switch operation {
        case .equal: return value < low || value > high ? false : low == high ? true : nil
        case .notEqual: return value < low || value > high ? true : low == high ? false : nil
        case .less: return high < value ? true : low >= value ? false : nil
        case .lessOrEqual: return high <= value ? true : low > value ? false : nil
        case .greater: return low > value ? true : high <= value ? false : nil
        case .greaterOrEqual: return low >= value ? true : high < value ? false : nil
        }
    }

    // MARK: Dates

    /// A null row matches `notEqual` only.
    package static func dates(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Timestamp, _ out: RowBitmap
    ) {
        if column.aux != nil { return mixedDates(column, count, operation, value, out) }
        let seconds = value.seconds
        let nanoseconds = value.nanoseconds
        switch operation {
        case .equal: nanoseconds == 0 ? integers(column, count, .equal, seconds, out) : out.clearRows()
        case .notEqual:
            nanoseconds == 0 ? integers(column, count, .notEqual, seconds, out) : out.setRows(count)
        case .less: integers(column, count, nanoseconds > 0 ? .lessOrEqual : .less, seconds, out)
        case .lessOrEqual: integers(column, count, nanoseconds < 0 ? .less : .lessOrEqual, seconds, out)
        case .greater: integers(column, count, nanoseconds < 0 ? .greaterOrEqual : .greater, seconds, out)
        case .greaterOrEqual:
            integers(column, count, nanoseconds > 0 ? .greater : .greaterOrEqual, seconds, out)
        }
    }

    private static func mixedDates(
        _ column: ColumnView, _ count: Int, _ operation: ScanOperator, _ value: Timestamp, _ out: RowBitmap
    ) {
        out.clearRows()
        for row in 0..<count {
            let found = Timestamp(seconds: column.integer(row), nanoseconds: column.nanoseconds(row))
            if matches(found, operation, value) { out.insertRow(row) }
        }
        if operation == .notEqual { setNulls(column, count, out) } else { keepValid(column, out) }
    }

    @inlinable @inline(__always)
    package static func matches<T: Comparable>(_ found: T, _ operation: ScanOperator, _ value: T) -> Bool {
        switch operation {
        case .equal: found == value
        case .notEqual: found != value
        case .less: found < value
        case .lessOrEqual: found <= value
        case .greater: found > value
        case .greaterOrEqual: found >= value
        }
    }

    // MARK: The others

    /// `isEqual` false selects the other rows, including null rows.
    package static func bools(
        _ column: ColumnView, _ count: Int, _ value: Bool, isEqual: Bool, _ out: RowBitmap
    ) {
        out.setRows(count)
        let words = column.data.assumingMemoryBound(to: UInt64.self)
        for word in 0..<(count &+ 63) &>> 6 { out[word] &= value ? words[word] : ~words[word] }
        keepValid(column, out)
        if !isEqual { invert(out, count) }
    }

    package static func bytes12(
        _ column: ColumnView, _ count: Int, _ low: UInt64, _ high: UInt32, isEqual: Bool, _ out: RowBitmap
    ) {
        out.clearRows()
        for row in 0..<count where column.bytes12(row) == (low, high) { out.insertRow(row) }
        keepValid(column, out)
        if !isEqual { invert(out, count) }
    }

    package static func bytes16(
        _ column: ColumnView, _ count: Int, _ low: UInt64, _ high: UInt64, isEqual: Bool, _ out: RowBitmap
    ) {
        out.clearRows()
        for row in 0..<count where column.bytes16(row) == (low, high) { out.insertRow(row) }
        keepValid(column, out)
        if !isEqual { invert(out, count) }
    }

    package static func nulls(_ column: ColumnView, _ count: Int, _ out: RowBitmap) {
        out.clearRows()
        setNulls(column, count, out)
    }

    // MARK: Nulls

    @inline(__always)
    static func keepValid(_ column: ColumnView, _ out: RowBitmap) {
        guard let validity = column.validity else { return }
        for word in 0..<16 where out[word] != 0 { out[word] &= validity[word] }
    }

    @inline(__always)
    static func setNulls(_ column: ColumnView, _ count: Int, _ out: RowBitmap) {
        guard let validity = column.validity else { return }
        for word in 0..<(count &+ 63) &>> 6 {
            let rest = count &- word &* 64
            out[word] |= ~validity[word] & (rest >= 64 ? ~0 : (1 &<< UInt64(rest)) &- 1)
        }
    }

    /// Complements the first `count` rows.
    @inline(__always)
    package static func invert(_ out: RowBitmap, _ count: Int) {
        for word in 0..<16 {
            let rest = count &- word &* 64
            out[word] = ~out[word] & (rest >= 64 ? ~0 : rest <= 0 ? 0 : (1 &<< UInt64(rest)) &- 1)
        }
    }
}
