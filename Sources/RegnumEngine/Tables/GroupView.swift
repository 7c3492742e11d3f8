// SPDX-License-Identifier: Apache-2.0
// A row group in memory: up to 1,024 objects ordered by key, each column a `ColumnView`. Plain pointers, no ownership:
// valid until the session's epoch changes.

@usableFromInline @frozen
package enum KeyForm: UInt8, Sendable {
    /// Keys are consecutive: row = key - firstKey.
    case dense = 0
    /// One bit per key of the span, and the rank of each 64-bit word (span at most 65,536).
    case bitmap = 1
    /// Ascending UInt64 keys.
    case sorted = 2
}

@usableFromInline @frozen
package struct GroupView {
    /// `bitmap`: words; `sorted`: keys.
    @usableFromInline package var keys: UnsafePointer<UInt64>
    /// `bitmap`: rows before each word.
    @usableFromInline package var ranks: UnsafePointer<UInt16>
    @usableFromInline package var firstKey: UInt64
    /// lastKey - firstKey + 1
    @usableFromInline package var keySpan: UInt64
    @usableFromInline package var count: Int
    @usableFromInline package var keyForm: KeyForm

    package init(
        keyForm: KeyForm, firstKey: UInt64, keySpan: UInt64, count: Int, keys: UnsafePointer<UInt64>,
        ranks: UnsafePointer<UInt16>
    ) {
        self.keys = keys
        self.ranks = ranks
        self.firstKey = firstKey
        self.keySpan = keySpan
        self.count = count
        self.keyForm = keyForm
    }

    /// The row of a key, or -1 if the group does not hold it. Constant time except for `sorted` (binary search).
    @inlinable @inline(__always)
    package func row(of key: UInt64) -> Int {
        let distance = key &- firstKey
        guard distance < keySpan else { return -1 }
        return keyForm == .dense
            ? Int(distance) : Self.rowOfGaps(key, distance, keyForm == .bitmap, keys, ranks, count)
    }

    /// Like `row(of:)` if keys are missing. Static, because calling it on the view would copy the view.
    @usableFromInline @inline(never)
    static func rowOfGaps(
        _ key: UInt64, _ distance: UInt64, _ isBitmap: Bool, _ keys: UnsafePointer<UInt64>,
        _ ranks: UnsafePointer<UInt16>, _ count: Int
    ) -> Int {
        if isBitmap {
            let word = keys[Int(distance &>> 6)]
            let bit = distance & 63
            guard word &>> bit & 1 != 0 else { return -1 }
            return Int(ranks[Int(distance &>> 6)]) &+ (word & ((1 &<< bit) &- 1)).nonzeroBitCount
        }
        var low = 0
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            if keys[middle] < key { low = middle &+ 1 } else { high = middle }
        }
        return low < count && keys[low] == key ? low : -1
    }

    /// The key of a row. `bitmap` costs a binary search over at most 1,024 ranks.
    @inlinable @inline(__always)
    package func key(at row: Int) -> UInt64 {
        switch keyForm {
        case .dense: return firstKey &+ UInt64(row)
        case .sorted: return keys[row]
        case .bitmap: return firstKey &+ Self.bitOfRow(row, keys, ranks, Int((keySpan &+ 63) &>> 6))
        }
    }

    /// The position of set bit number `row` in `words` words.
    @usableFromInline @inline(never)
    static func bitOfRow(
        _ row: Int, _ bits: UnsafePointer<UInt64>, _ ranks: UnsafePointer<UInt16>, _ words: Int
    ) -> UInt64 {
        var low = 0
        var high = words
        while high &- low > 1 {
            let middle = (low &+ high) &>> 1
            if Int(ranks[middle]) <= row { low = middle } else { high = middle }
        }
        var word = bits[low]
        for _ in 0..<(row &- Int(ranks[low])) { word &= word &- 1 }
        return UInt64(low &<< 6 &+ word.trailingZeroBitCount)
    }
}

extension UnsafeMutablePointer<GroupView> {
    /// The views of the columns, indexed by column number. They are stored directly after the view, so their address is
    /// known without reading it, and the processor can fetch both in parallel on random access.
    @inlinable @inline(__always)
    package var columns: UnsafeMutablePointer<ColumnView> {
        (UnsafeMutableRawPointer(self) + GroupHandle.lineByteCount).assumingMemoryBound(to: ColumnView.self)
    }
}

/// The location of an object: its group and its row in it. Valid until the session's epoch changes.
package struct RowLocation {
    package var group: UnsafeMutablePointer<GroupView>
    package var row: Int

    package init(group: UnsafeMutablePointer<GroupView>, row: Int) {
        self.group = group
        self.row = row
    }

    package var key: ObjectKey { ObjectKey(group.pointee.key(at: row)) }
}
