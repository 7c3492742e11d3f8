// SPDX-License-Identifier: Apache-2.0
// Bitmaps over the rows of one group: 64 rows per word, 16 words for the maximum of 1,024 rows.

package typealias RowBitmap = UnsafeMutablePointer<UInt64>

extension UnsafeMutablePointer<UInt64> {
    /// The number of words of a bitmap.
    @inlinable package static var rowWords: Int { 16 }

    package static func makeRowBitmaps(_ count: Int) -> RowBitmap {
        let bitmaps = RowBitmap.allocate(capacity: 16 &* count)
        bitmaps.initialize(repeating: 0, count: 16 &* count)
        return bitmaps
    }

    /// Sets the first `count` rows and clears the others.
    @inlinable
    package func setRows(_ count: Int) {
        for word in 0..<16 {
            let rest = count &- word &* 64
            self[word] = rest >= 64 ? ~0 : rest <= 0 ? 0 : (1 &<< UInt64(rest)) &- 1
        }
    }

    @inlinable package func clearRows() { for word in 0..<16 { self[word] = 0 } }
    @inlinable package func copyRows(_ other: UnsafePointer<UInt64>) {
        for word in 0..<16 { self[word] = other[word] }
    }
    @inlinable package func andRows(_ other: UnsafePointer<UInt64>) {
        for word in 0..<16 { self[word] &= other[word] }
    }
    @inlinable package func orRows(_ other: UnsafePointer<UInt64>) {
        for word in 0..<16 { self[word] |= other[word] }
    }
    @inlinable package func subtractRows(_ other: UnsafePointer<UInt64>) {
        for word in 0..<16 { self[word] &= ~other[word] }
    }

    @inlinable
    package var hasRows: Bool {
        var any: UInt64 = 0
        for word in 0..<16 { any |= self[word] }
        return any != 0
    }

    @inlinable
    package var rowCount: Int {
        var count = 0
        for word in 0..<16 { count &+= self[word].nonzeroBitCount }
        return count
    }

    @inlinable @inline(__always)
    package func hasRow(_ row: Int) -> Bool { self[row &>> 6] &>> UInt64(row & 63) & 1 != 0 }
    @inlinable @inline(__always)
    package func insertRow(_ row: Int) { self[row &>> 6] |= 1 &<< UInt64(row & 63) }
}
