// SPDX-License-Identifier: Apache-2.0
// Tests a whole string or data column of one group. At most 1,024 rows per call; any thread.

package enum TextScan {
    /// Sets the rows that match in `out`. A row whose bytes are in a block of its own (`isBlob`) is set in `undecided`
    /// and clear in `out`. A null row matches `notEqual` only. Allocates only for a diacritic-insensitive test.
    package static func scan(
        _ column: ColumnView, _ count: Int, _ test: BytesTest, _ out: RowBitmap, undecided: RowBitmap
    ) {
        out.clearRows()
        findBlobs(column, count, undecided)
        test.needle.withUnsafeBytes { needle in scan(column, count, test, needle, out) }
        CompareScan.keepValid(column, out)
        if test.operation == .notEqual { CompareScan.setNulls(column, count, out) }
        CompareScan.keepValid(column, undecided)
        out.subtractRows(undecided)
    }

    /// Sets the rows whose value is in the set. Otherwise like the function above.
    package static func scan(
        _ column: ColumnView, _ count: Int, _ set: ByteStringSet, _ out: RowBitmap, undecided: RowBitmap
    ) {
        out.clearRows()
        findBlobs(column, count, undecided)
        set.withLookup { rows(column, count, SetMatcher(set: $0), out) }
        CompareScan.keepValid(column, out)
        CompareScan.keepValid(column, undecided)
        out.subtractRows(undecided)
    }

    private static func findBlobs(_ column: ColumnView, _ count: Int, _ undecided: RowBitmap) {
        undecided.clearRows()
        if column.form == .slots {
            for row in 0..<count where column.isBlob(row) { undecided.insertRow(row) }
        } else if let blobs = column.blobs {
            for word in 0..<(count &+ 63) &>> 6 { undecided[word] = blobs[word] }
        }
    }

    private static func scan(
        _ column: ColumnView, _ count: Int, _ test: BytesTest, _ needle: UnsafeRawBufferPointer,
        _ out: RowBitmap
    ) {
        if test.isDiacriticInsensitive { return rows(column, count, TestMatcher(test: test), out) }
        let isLong = needle.count >= 1
        switch test.operation {
        case .equal where isLong && !test.isFolded, .notEqual where isLong && !test.isFolded:
            rows(column, count, EqualMatcher(needle), out)
            if test.operation == .notEqual { CompareScan.invert(out, count) }
        case .prefix where isLong && !test.isFolded:
            rows(column, count, PrefixMatcher(needle), out)
        case .prefix where !isLong, .suffix where !isLong, .contains where !isLong: return
        case .contains where column.form == .text16 && column.blobs == nil:
            search(
                column, column.data.assumingMemoryBound(to: UInt16.self), count, needle, test.isFolded, out)
        case .contains where column.form == .text32 && column.blobs == nil:
            search(
                column, column.data.assumingMemoryBound(to: UInt32.self), count, needle, test.isFolded, out)
        case .contains: rows(column, count, ContainsMatcher(needle, test.isFolded), out)
        default:
            rows(
                column, count, AnyMatcher(operation: test.operation, needle: needle, isFolded: test.isFolded),
                out)
        }
    }

    // MARK: Row by row

    @inline(__always)
    private static func rows<M: BytesMatcher>(
        _ column: ColumnView, _ count: Int, _ matcher: M, _ out: RowBitmap
    ) {
        switch column.form {
        case .text16: packed(column, column.data.assumingMemoryBound(to: UInt16.self), count, matcher, out)
        case .text32: packed(column, column.data.assumingMemoryBound(to: UInt32.self), count, matcher, out)
        default:
            for row in 0..<count where !column.isBlob(row) {
                let bytes = column.bytes(row)
                let start = bytes.baseAddress ?? UnsafeRawPointer(column.data)
                if matcher.matches(start, bytes.count) { out.insertRow(row) }
            }
        }
    }

    @inline(__always)
    private static func packed<M: BytesMatcher, Offset: FixedWidthInteger>(
        _ column: ColumnView, _ ends: UnsafePointer<Offset>, _ count: Int, _ matcher: M, _ out: RowBitmap
    ) {
        guard let heap = column.aux.map({ UnsafeRawPointer($0) }) else { return }
        var start = 0
        var row = 0
        while row < count {
            let last = min(row &+ 64, count)
            var word: UInt64 = 0
            for place in row..<last {
                let end = Int(truncatingIfNeeded: ends[place])
                let isMatch = matcher.matches(heap + start, end &- start)
                word |= (isMatch ? 1 : 0) &<< UInt64(truncatingIfNeeded: place)
                start = end
            }
            out[row &>> 6] = word
            row = last
        }
    }

    // MARK: The whole heap at once

    /// Searches the heap of all rows for the needle's first and last byte, 16 positions at a time, then determines the
    /// row of each candidate and checks that the match ends within it.
    @inline(__always)
    private static func search<Offset: FixedWidthInteger>(
        _ column: ColumnView, _ ends: UnsafePointer<Offset>, _ count: Int, _ needle: UnsafeRawBufferPointer,
        _ isFolded: Bool, _ out: RowBitmap
    ) {
        guard count > 0, let heap = column.aux.map({ UnsafeRawPointer($0) }) else { return }
        let heapCount = Int(truncatingIfNeeded: ends[count &- 1])
        let pair = NeedleEnds(needle, isFolded)
        let value = UnsafeRawBufferPointer(start: heap, count: heapCount)
        let lastStart = heapCount &- needle.count
        var row = 0
        var start = 0
        while start <= lastStart {
            let candidate = pair.next(heap, start, lastStart)
            guard candidate <= lastStart else { return }
            start = candidate &+ 1
            while Int(truncatingIfNeeded: ends[row]) <= candidate { row &+= 1 }
            let rowStart = row == 0 ? 0 : Int(truncatingIfNeeded: ends[row &- 1])
            let rowEnd = Int(truncatingIfNeeded: ends[row])
            guard candidate &+ needle.count <= rowEnd else { continue }
            let row16 = UnsafeRawBufferPointer(rebasing: value[rowStart..<rowEnd])
            if BytesMatch.isEqual(row16, candidate &- rowStart, needle, isFolded) {
                out.insertRow(row)
                start = rowEnd
            }
        }
    }
}

/// The first and last byte of a needle, in both cases.
struct NeedleEnds {
    let first: (UInt8, UInt8)
    let last: (UInt8, UInt8)
    let distance: Int

    init(_ needle: UnsafeRawBufferPointer, _ isFolded: Bool) {
        distance = needle.count &- 1
        let head = needle[0]
        let tail = needle[distance]
        let before = distance > 0 ? needle[distance &- 1] : 0
        first = (head, isFolded ? TextFolding.upper(head, after: 0) : head)
        last = (tail, isFolded ? TextFolding.upper(tail, after: before) : tail)
    }

    /// The first position from `start` to `lastStart` at which both bytes match; beyond `lastStart` if there is none.
    @inline(__always)
    func next(_ bytes: UnsafeRawPointer, _ start: Int, _ lastStart: Int) -> Int {
        var place = start
        let firstLower = SIMD16<UInt8>(repeating: first.0)
        let firstUpper = SIMD16<UInt8>(repeating: first.1)
        let lastLower = SIMD16<UInt8>(repeating: last.0)
        let lastUpper = SIMD16<UInt8>(repeating: last.1)
        while place &+ 15 <= lastStart {
            let heads = bytes.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self)
            let tails = bytes.loadUnaligned(fromByteOffset: place &+ distance, as: SIMD16<UInt8>.self)
            let found =
                ((heads .== firstLower) .| (heads .== firstUpper))
                .& ((tails .== lastLower) .| (tails .== lastUpper))
            let words = unsafeBitCast(found, to: SIMD2<UInt64>.self)
            if words[0] | words[1] != 0 {
                return words[0] != 0
                    ? place &+ words[0].trailingZeroBitCount &>> 3
                    : place &+ 8 &+ words[1].trailingZeroBitCount &>> 3
            }
            place &+= 16
        }
        while place <= lastStart {
            let head = bytes.load(fromByteOffset: place, as: UInt8.self)
            let tail = bytes.load(fromByteOffset: place &+ distance, as: UInt8.self)
            if head == first.0 || head == first.1, tail == last.0 || tail == last.1 { return place }
            place &+= 1
        }
        return place
    }
}

// MARK: Matchers

protocol BytesMatcher {
    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool
}

/// Compares the needle's first 8 bytes at once, the rest byte by byte.
private struct EqualMatcher: BytesMatcher {
    let needle: UnsafeRawPointer
    let needleCount: Int
    let head: UInt64

    init(_ needle: UnsafeRawBufferPointer) {
        self.needle = needle.baseAddress.unsafelyUnwrapped
        needleCount = needle.count
        head = needle.count >= 8 ? needle.loadUnaligned(as: UInt64.self) : 0
    }

    @inline(__always)
    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        guard byteCount == needleCount else { return false }
        var index = 0
        if needleCount >= 8 {
            guard bytes.loadUnaligned(as: UInt64.self) == head else { return false }
            index = 8
        }
        while index < needleCount {
            if bytes.load(fromByteOffset: index, as: UInt8.self)
                != needle.load(fromByteOffset: index, as: UInt8.self)
            {
                return false
            }
            index &+= 1
        }
        return true
    }
}

private struct PrefixMatcher: BytesMatcher {
    let needle: UnsafeRawPointer
    let needleCount: Int
    let head: UInt64
    let mask: UInt64

    init(_ needle: UnsafeRawBufferPointer) {
        self.needle = needle.baseAddress.unsafelyUnwrapped
        needleCount = needle.count
        var head: UInt64 = 0
        for index in 0..<min(8, needle.count) { head |= UInt64(needle[index]) &<< UInt64(index &* 8) }
        self.head = head
        mask = needle.count >= 8 ? ~0 : (1 &<< UInt64(needle.count &* 8)) &- 1
    }

    @inline(__always)
    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        var index = 0
        if byteCount >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
            if word & mask != head || needleCount > byteCount { return false }
            if needleCount <= 8 { return true }
            index = 8
        } else if byteCount < needleCount {
            return false
        }
        while index < needleCount {
            if bytes.load(fromByteOffset: index, as: UInt8.self)
                != needle.load(fromByteOffset: index, as: UInt8.self)
            {
                return false
            }
            index &+= 1
        }
        return true
    }
}

private struct ContainsMatcher: BytesMatcher {
    let needle: UnsafeRawBufferPointer
    let isFolded: Bool
    let ends: NeedleEnds

    init(_ needle: UnsafeRawBufferPointer, _ isFolded: Bool) {
        self.needle = needle
        self.isFolded = isFolded
        ends = NeedleEnds(needle, isFolded)
    }

    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        let lastStart = byteCount &- needle.count
        let value = UnsafeRawBufferPointer(start: bytes, count: byteCount)
        var start = 0
        while start <= lastStart {
            let candidate = ends.next(bytes, start, lastStart)
            if candidate > lastStart { return false }
            if BytesMatch.isEqual(value, candidate, needle, isFolded) { return true }
            start = candidate &+ 1
        }
        return false
    }
}

private struct AnyMatcher: BytesMatcher {
    let operation: BytesOperator
    let needle: UnsafeRawBufferPointer
    let isFolded: Bool

    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        BytesMatch.matches(
            operation, UnsafeRawBufferPointer(start: bytes, count: byteCount), needle, isFolded: isFolded)
    }
}

private struct TestMatcher: BytesMatcher {
    let test: BytesTest
    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool {
        test.matches(UnsafeRawBufferPointer(start: bytes, count: byteCount))
    }
}

private struct SetMatcher: BytesMatcher {
    let set: ByteStringSet.Lookup
    @inline(__always)
    func matches(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> Bool { set.contains(bytes, byteCount) }
}
