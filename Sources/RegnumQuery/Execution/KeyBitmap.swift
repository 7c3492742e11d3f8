// SPDX-License-Identifier: Apache-2.0
// Sets and counts of objects by key, for keys that are dense enough.

import RegnumEngine

/// A bitmap with one bit for each key below a limit.
final class KeyBitmap {
    private let words: UnsafeMutablePointer<UInt64>
    private let limit: UInt64
    /// The bytes allocated. For tests.
    let byteCount: Int

    init(limit: UInt64) {
        self.limit = limit
        // The last group may begin at the limit: room for its 16 words, and one more for shifted bits.
        let count = Int((limit + 63) / 64) + 18
        byteCount = count * MemoryLayout<UInt64>.stride
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
    }

    deinit { words.deallocate() }

    @inline(__always)
    func contains(_ key: UInt64) -> Bool {
        key < limit && words[Int(key &>> 6)] &>> (key & 63) & 1 != 0
    }

    @inline(__always)
    func insert(_ key: UInt64) {
        if key < limit { words[Int(key &>> 6)] |= 1 &<< (key & 63) }
    }

    // MARK: Groups

    /// Inserts the objects of the given rows. O(count / 64) if the group's keys are consecutive, otherwise O(count).
    func insert(_ rows: RowBitmap, of group: UnsafeMutablePointer<GroupView>) {
        guard let (word, shift) = place(of: group) else {
            return forEachRow(rows) { insert(group.pointee.key(at: $0)) }
        }
        for index in 0..<16 where rows[index] != 0 {
            words[word &+ index] |= rows[index] &<< shift
            if shift > 0 { words[word &+ index &+ 1] |= rows[index] &>> (64 &- shift) }
        }
    }

    /// Copies the rows of `mask` whose objects are in the set.
    func copyRows(of group: UnsafeMutablePointer<GroupView>, mask: RowBitmap, to out: RowBitmap) {
        guard let (word, shift) = place(of: group) else {
            out.clearRows()
            return forEachRow(mask) { if contains(group.pointee.key(at: $0)) { out.insertRow($0) } }
        }
        for index in 0..<16 {
            var bits = words[word &+ index] &>> shift
            if shift > 0 { bits |= words[word &+ index &+ 1] &<< (64 &- shift) }
            out[index] = bits & mask[index]
        }
    }

    /// The position of a group's bits, if its keys are consecutive and below the limit.
    @inline(__always)
    private func place(of group: UnsafeMutablePointer<GroupView>) -> (word: Int, shift: UInt64)? {
        let first = group.pointee.firstKey
        guard group.pointee.keyForm == .dense, first < limit, UInt64(group.pointee.count) <= limit &- first
        else { return nil }
        return (Int(first &>> 6), first & 63)
    }

    // MARK: Links

    /// Inserts the objects that the given rows of a column link to.
    func insert(linkedBy column: ColumnView, _ count: Int, _ rows: RowBitmap) {
        guard rows.rowCount == count else {
            return forEachRow(rows) { insert(UInt64(bitPattern: column.integer($0))) }
        }
        let base = UInt64(bitPattern: column.base)
        switch column.form {
        case .uint8: insert(base, column.data.assumingMemoryBound(to: UInt8.self), count)
        case .uint16: insert(base, column.data.assumingMemoryBound(to: UInt16.self), count)
        case .uint32: insert(base, column.data.assumingMemoryBound(to: UInt32.self), count)
        case .int64: insert(0, column.data.assumingMemoryBound(to: UInt64.self), count)
        default: insert(base)
        }
    }

    /// Keys beyond the limit set the bit of the limit, which is cleared afterwards: this avoids a branch per row.
    @inline(__always)
    private func insert<T: FixedWidthInteger & UnsignedInteger>(
        _ base: UInt64, _ values: UnsafePointer<T>, _ count: Int
    ) {
        for row in 0..<count {
            let key = min(base &+ UInt64(truncatingIfNeeded: values[row]), limit)
            words[Int(truncatingIfNeeded: key &>> 6)] |= 1 &<< (key & 63)
        }
        words[Int(limit &>> 6)] &= ~(1 &<< (limit & 63))
    }

    /// Sets the bits of the rows of a column that link to objects in the set.
    func copyRows(linkingBy column: ColumnView, _ count: Int, to out: RowBitmap) {
        out.clearRows()
        let base = UInt64(bitPattern: column.base)
        switch column.form {
        case .uint8: copyRows(base, column.data.assumingMemoryBound(to: UInt8.self), count, out)
        case .uint16: copyRows(base, column.data.assumingMemoryBound(to: UInt16.self), count, out)
        case .uint32: copyRows(base, column.data.assumingMemoryBound(to: UInt32.self), count, out)
        case .int64: copyRows(0, column.data.assumingMemoryBound(to: UInt64.self), count, out)
        default: if contains(base) { out.setRows(count) }
        }
    }

    @inline(__always)
    private func copyRows<T: FixedWidthInteger & UnsignedInteger>(
        _ base: UInt64, _ values: UnsafePointer<T>, _ count: Int, _ out: RowBitmap
    ) {
        // The bit of the limit itself is clear.
        var row = 0
        while row < count {
            let end = min(row &+ 64, count)
            var word: UInt64 = 0
            for place in row..<end {
                let key = min(base &+ UInt64(truncatingIfNeeded: values[place]), limit)
                let bit = words[Int(truncatingIfNeeded: key &>> 6)] &>> (key & 63) & 1
                word |= bit &<< UInt64(truncatingIfNeeded: place)
            }
            out[row &>> 6] = word
            row = end
        }
    }

    @inline(__always)
    private func forEachRow(_ rows: RowBitmap, _ body: (Int) -> Void) {
        for word in 0..<16 {
            var bits = rows[word]
            while bits != 0 {
                body(word &<< 6 &+ bits.trailingZeroBitCount)
                bits &= bits &- 1
            }
        }
    }
}

/// A count for each key below a limit.
final class KeyCounts {
    private let counts: UnsafeMutablePointer<UInt32>
    private let limit: UInt64
    /// The bytes allocated. For tests.
    let byteCount: Int

    init(limit: UInt64) {
        self.limit = limit
        byteCount = (Int(limit) + 1) * MemoryLayout<UInt32>.stride
        counts = .allocate(capacity: Int(limit) + 1)
        counts.initialize(repeating: 0, count: Int(limit) + 1)
    }

    deinit { counts.deallocate() }

    @inline(__always)
    func count(_ key: UInt64) -> Int { key < limit ? Int(counts[Int(key)]) : 0 }

    @inline(__always)
    func add(_ key: UInt64) {
        if key < limit { counts[Int(key)] &+= 1 }
    }
}

extension Table {
    /// The upper bound of the keys, or nil if keys are so sparse that `bits` for each key below it would take too much
    /// memory: more than 8 bytes for each object, plus 8 KiB.
    func keyLimit(bitsPerKey bits: UInt64 = 1) throws(EngineError) -> UInt64? {
        guard count > 0 else { return 1 }
        let limit = try key(atPosition: count - 1).rawValue + 1
        return limit <= (UInt64(count) * 64 + 65_536) / bits ? limit : nil
    }
}
