// SPDX-License-Identifier: Apache-2.0
// Ranges of an index: the number of their entries without reading them, and their keys in the order of the values.
// Nulls come before all values.

/// A part of an index between two values.
package enum IndexRange: Sendable, Equatable {
    case nulls
    /// Int and Bool (as 0 and 1), both ends included.
    case integers(Int64, Int64)
    /// All other types, as `ColumnIndex.bytes`: from `low` up to but excluding `high`, or to the end.
    case bytes(low: [UInt8], high: [UInt8]?)

    /// Returns the range of values from `low` to `high`, both included; nil means no bound. Bytes longer than the index
    /// stores are truncated, so the range may hold more values than requested.
    package static func values(from low: Value?, to high: Value?) -> IndexRange? {
        switch low ?? high {
        case .int, .bool:
            return .integers(low.flatMap(integer) ?? .min, high.flatMap(integer) ?? .max)
        case .string, .date, .objectID, .uuid:
            return texts(from: low.map { ColumnIndex.bytes($0) }, to: high.map { ColumnIndex.bytes($0) })
        default: return nil
        }
    }

    /// Like `values`, from the bytes of the values: those of a text are its UTF-8.
    package static func texts(from low: [UInt8]?, to high: [UInt8]?) -> IndexRange {
        let begin = low.map { cut($0) } ?? []
        guard let high else { return .bytes(low: begin, high: nil) }
        guard high.count < IndexKey.exactByteCount else {
            return .bytes(low: begin, high: IndexBytes.successor(cut(high)))
        }
        var end: [UInt8] = []
        end.reserveCapacity(high.count + 1)
        end += high
        end.append(0)
        return .bytes(low: begin, high: end)
    }

    private static func cut(_ bytes: [UInt8]) -> [UInt8] {
        bytes.count <= IndexKey.exactByteCount ? bytes : Array(bytes.prefix(IndexKey.exactByteCount))
    }

    /// Returns the range of strings that begin with `prefix`.
    package static func prefix(_ prefix: [UInt8]) -> IndexRange {
        let kept = Array(prefix.prefix(IndexKey.exactByteCount))
        return .bytes(low: kept, high: IndexBytes.successor(kept))
    }

    /// False if truncated values may make the range hold more values than requested.
    package var isExact: Bool {
        switch self {
        case .nulls, .integers: true
        case .bytes(let low, let high):
            low.count < IndexKey.exactByteCount && high?.count ?? 0 < IndexKey.exactByteCount
        }
    }

    /// For a range of bytes with an upper bound: the range without the value of that bound.
    package var withoutEnd: IndexRange {
        guard isExact, case .bytes(let low, let high?) = self else { return self }
        return .bytes(low: low, high: Array(high.dropLast()))
    }

    /// For a range of bytes with a lower bound: the range without the value of that bound.
    package var withoutBegin: IndexRange {
        guard isExact, case .bytes(let low, let high) = self else { return self }
        return .bytes(low: low + [0], high: high)
    }

    private static func integer(_ value: Value) -> Int64? {
        switch value {
        case .int(let value): value
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }
}

// MARK: Several ranges of one index

extension IndexRange {
    /// Returns the union of the ranges, in the order of the index: disjoint, and not adjacent.
    package static func united(_ ranges: [IndexRange]) -> [IndexRange] {
        var united: [IndexRange] = []
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.begins(before: $1) }) {
            if let last = united.last, let both = last.joined(with: range) {
                united[united.count - 1] = both
            } else {
                united.append(range)
            }
        }
        return united
    }

    /// Returns the run of consecutive numbers that begins at `start` as one range, and the index after it. `ascending`
    /// holds each number once.
    package static func run(of ascending: [Int64], from start: Int) -> (range: IndexRange, next: Int) {
        var next = start + 1
        while next < ascending.count, ascending[next] == ascending[next - 1] &+ 1 { next += 1 }
        return (.integers(ascending[start], ascending[next - 1]), next)
    }

    /// Returns the intersection of two lists of ranges; `a` and `b` are as `united` returns them, and so is the result.
    package static func intersection(_ a: [IndexRange], _ b: [IndexRange]) -> [IndexRange] {
        var found: [IndexRange] = []
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            if let both = a[i].intersection(b[j]), !both.isEmpty { found.append(both) }
            if a[i].ends(before: b[j]) { i += 1 } else { j += 1 }
        }
        return found
    }

    /// True if no value can lie in the range.
    var isEmpty: Bool {
        switch self {
        case .nulls: false
        case .integers(let low, let high): low > high
        case .bytes(let low, let high): high.map { !low.lexicographicallyPrecedes($0) } ?? false
        }
    }

    /// Returns the intersection; nil if the ranges are of different kinds.
    private func intersection(_ other: IndexRange) -> IndexRange? {
        switch (self, other) {
        case (.nulls, .nulls): return .nulls
        case (.integers(let low, let high), .integers(let otherLow, let otherHigh)):
            return .integers(max(low, otherLow), min(high, otherHigh))
        case (.bytes(let low, let high), .bytes(let otherLow, let otherHigh)):
            let begin = low.lexicographicallyPrecedes(otherLow) ? otherLow : low
            guard let high, let otherHigh else { return .bytes(low: begin, high: high ?? otherHigh) }
            return .bytes(low: begin, high: high.lexicographicallyPrecedes(otherHigh) ? high : otherHigh)
        default: return nil
        }
    }

    private func begins(before other: IndexRange) -> Bool {
        switch (self, other) {
        case (_, .nulls): false
        case (.nulls, _): true
        case (.integers(let low, _), .integers(let otherLow, _)): low < otherLow
        case (.bytes(let low, _), .bytes(let otherLow, _)): low.lexicographicallyPrecedes(otherLow)
        default: false
        }
    }

    private func ends(before other: IndexRange) -> Bool {
        switch (self, other) {
        case (_, .nulls): false
        case (.nulls, _): true
        case (.integers(_, let high), .integers(_, let otherHigh)): high < otherHigh
        case (.bytes(_, let high?), .bytes(_, let otherHigh)):
            otherHigh.map { high.lexicographicallyPrecedes($0) } ?? true
        default: false
        }
    }

    /// Returns both as one range if there is no gap between them, otherwise nil. `other` must not begin before this
    /// one.
    private func joined(with other: IndexRange) -> IndexRange? {
        switch (self, other) {
        case (.nulls, .nulls): return .nulls
        case (.integers(let low, let high), .integers(let otherLow, let otherHigh)):
            guard otherLow <= high || otherLow == high + 1 else { return nil }
            return .integers(low, max(high, otherHigh))
        case (.bytes(let low, let high), .bytes(let otherLow, let otherHigh)):
            guard let high else { return self }
            if high.lexicographicallyPrecedes(otherLow) { return nil }
            guard let otherHigh else { return .bytes(low: low, high: nil) }
            return .bytes(low: low, high: high.lexicographicallyPrecedes(otherHigh) ? otherHigh : high)
        default: return nil
        }
    }
}

extension Table {
    private func tree(_ column: Int) -> IndexTree {
        guard let index = indexes[column] else { preconditionFailure("no index") }
        return index.tree
    }

    /// Returns the number of entries of a range. O(log n).
    package func count(inIndexOf column: Int, _ range: IndexRange) throws(EngineError) -> Int {
        let tree = tree(column)
        switch range {
        case .nulls: return try tree.countNull()
        case .integers(let low, let high):
            if low > high { return 0 }
            return try tree.count(from: IndexKey.encode(low), through: IndexKey.encode(high))
        case .bytes(let low, let high):
            return try IndexBytes.borrow(low) { (low) throws(EngineError) in
                guard let high else { return Int(clamping: tree.count) - (try tree.rank(bytes: low, key: 0)) }
                return try IndexBytes.borrow(high) { (high) throws(EngineError) in try tree.count(from: low, to: high) }
            }
        }
    }

    /// Calls `body` with the keys of a range, ordered by value, then by key, until it returns false. The body must not
    /// change the table.
    package func forEachKey(
        inIndexOf column: Int, _ range: IndexRange, _ body: (UInt64) throws(EngineError) -> Bool
    ) throws(EngineError) {
        let tree = tree(column)
        var left = try count(inIndexOf: column, range)
        guard left > 0 else { return }
        var cursor = IndexCursor(tree)
        var isThere: Bool
        switch range {
        case .nulls: isThere = try cursor.seekFirst()
        case .integers(let low, _): isThere = try cursor.seek(value: IndexKey.encode(low))
        case .bytes(let low, _):
            isThere = try IndexBytes.seek(&cursor, low, key: 0)
        }
        while isThere, left > 0 {
            guard try body(cursor.key) else { return }
            left -= 1
            isThere = try cursor.next()
        }
    }

    /// Returns the keys of all objects ordered by the column's value, equal values by key, nulls first. If
    /// `isAscending` is false, the values descend, and equal values are still ordered by key. `firsts` are the indexes
    /// at which a new value begins. Nil if the index does not hold all values in full (strings of more than 1,000
    /// bytes). O(n).
    package func orderedKeys(
        inIndexOf column: Int, isAscending: Bool
    ) throws(EngineError) -> (keys: [ObjectKey], firsts: [Int])? {
        let tree = tree(column)
        var keys: [ObjectKey] = []
        // The count may be damaged: allocate only as entries are found.
        keys.reserveCapacity(min(Int(clamping: tree.count), 1 << 16))
        /// The indexes at which a new value begins.
        var firsts: [Int] = []
        var last = LastEntry()
        defer { last.deallocate() }
        var cursor = IndexCursor(tree)
        var isThere = try cursor.seekFirst()
        while isThere {
            guard let isNew = last.advance(to: cursor, isBytes: tree.isBytes) else { return nil }
            if isNew { firsts.append(keys.count) }
            keys.append(ObjectKey(cursor.key))
            isThere = try cursor.next()
        }
        if isAscending { return (keys, firsts) }
        var reversed: [ObjectKey] = []
        reversed.reserveCapacity(keys.count)
        var reversedFirsts: [Int] = []
        var end = keys.count
        for first in firsts.reversed() {
            reversedFirsts.append(reversed.count)
            reversed.append(contentsOf: keys[first..<end])
            end = first
        }
        return (reversed, reversedFirsts)
    }

    /// Returns at least `limit` of the first keys of `orderedKeys` in that direction, including all keys with the last
    /// value among them; nil if these are more than `most`. In no particular order.
    package func extremeKeys(
        inIndexOf column: Int, isAscending: Bool, limit: Int, most: Int
    ) throws(EngineError) -> [ObjectKey]? {
        let tree = tree(column)
        let total = Int(clamping: tree.count)
        if total <= most { return nil }
        var keys: [ObjectKey] = []
        var cursor = IndexCursor(tree)
        if isAscending {
            var last = LastEntry()
            defer { last.deallocate() }
            var isThere = try cursor.seekFirst()
            while isThere {
                guard let isNew = last.advance(to: cursor, isBytes: tree.isBytes) else { return nil }
                if keys.count >= limit, isNew { break }
                if keys.count >= most { return nil }
                keys.append(ObjectKey(cursor.key))
                isThere = try cursor.next()
            }
            return keys
        }
        // The last `limit` entries, extended downwards to the first entry with the same value as the first of them.
        guard try cursor.seek(rank: total - limit), !cursor.isNull else { return nil }
        let start: Int
        if tree.isBytes {
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: IndexKey.storedByteCount, alignment: 8)
            defer { bytes.deallocate() }
            let count = cursor.copyBytes(to: bytes)
            if !IndexKey.isExact(byteCount: count) { return nil }
            start = try tree.rank(bytes: UnsafeRawBufferPointer(start: bytes, count: count), key: 0)
        } else {
            start = try tree.rank(value: cursor.value, key: 0)
        }
        guard total - start <= most else { return nil }
        var isThere = try cursor.seek(rank: start)
        while isThere {
            keys.append(ObjectKey(cursor.key))
            isThere = try cursor.next()
        }
        return keys
    }
}

/// The value of the previous entry, to detect where a new value begins.
private struct LastEntry {
    private var bytes = UnsafeMutableRawPointer.allocate(byteCount: IndexKey.storedByteCount, alignment: 8)
    private var other = UnsafeMutableRawPointer.allocate(byteCount: IndexKey.storedByteCount, alignment: 8)
    private var byteCount = -1
    private var value: UInt64 = 0
    private var isNull = false

    func deallocate() {
        bytes.deallocate()
        other.deallocate()
    }

    /// Returns whether the value at the cursor differs from the previous one; nil if the index does not hold it in
    /// full.
    @inline(__always)
    mutating func advance(to cursor: borrowing IndexCursor, isBytes: Bool) -> Bool? {
        let isFirst = byteCount < 0
        if cursor.isNull {
            defer { (byteCount, isNull) = (0, true) }
            return isFirst
        }
        if !isBytes {
            let own = cursor.value
            let isNew = isFirst || isNull || own != value
            (value, isNull, byteCount) = (own, false, 0)
            return isNew
        }
        let count = cursor.copyBytes(to: other)
        guard IndexKey.isExact(byteCount: count) else { return nil }
        let isNew =
            isFirst || isNull || count != byteCount || IndexKey.compare(bytes, count, other, count) != 0
        swap(&bytes, &other)
        (byteCount, isNull) = (count, false)
        return isNew
    }
}
