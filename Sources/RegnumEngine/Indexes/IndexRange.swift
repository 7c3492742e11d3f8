// SPDX-License-Identifier: Apache-2.0
// Ranges of an index: how many entries they have without looking at them, and their keys in the order of the
// values. Nulls come before all values.

/// A part of an index between two values.
package enum IndexRange: Sendable, Equatable {
    case nulls
    /// Int and Bool (as 0 and 1), both ends included.
    case integers(Int64, Int64)
    /// The others, as `ColumnIndex.bytes`: from `low` on to before `high`, or to the end.
    case bytes(low: [UInt8], high: [UInt8]?)

    /// Values equal to `value`, or from `low` to `high`, both included; nil is no bound. Bytes longer than the index
    /// keeps are cut, so that the range may hold more than was asked for.
    package static func values(from low: Value?, to high: Value?) -> IndexRange? {
        switch low ?? high {
        case .int, .bool:
            return .integers(low.flatMap(integer) ?? .min, high.flatMap(integer) ?? .max)
        case .string, .date, .objectID, .uuid:
            return texts(from: low.map { ColumnIndex.bytes($0) }, to: high.map { ColumnIndex.bytes($0) })
        default: return nil
        }
    }

    /// As `values`, by the bytes of the values: those of a text are its UTF-8.
    package static func texts(from low: [UInt8]?, to high: [UInt8]?) -> IndexRange {
        let begin = low.map { cut($0) } ?? []
        guard let high else { return .bytes(low: begin, high: nil) }
        guard high.count < IndexKey.exactByteCount else {
            return .bytes(low: begin, high: Bytes.successor(cut(high)))
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

    /// Strings that begin with `prefix`.
    package static func prefix(_ prefix: [UInt8]) -> IndexRange {
        let kept = Array(prefix.prefix(IndexKey.exactByteCount))
        return .bytes(low: kept, high: Bytes.successor(kept))
    }

    /// False where values that were cut may make it hold more than was asked for.
    package var isExact: Bool {
        switch self {
        case .nulls, .integers: true
        case .bytes(let low, let high):
            low.count < IndexKey.exactByteCount && high?.count ?? 0 < IndexKey.exactByteCount
        }
    }

    /// Of a range of bytes up to a value: without the value itself.
    package var withoutEnd: IndexRange {
        guard isExact, case .bytes(let low, let high?) = self else { return self }
        return .bytes(low: low, high: Array(high.dropLast()))
    }

    /// Of a range of bytes from a value on: without the value itself.
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
    /// What lies in one of the ranges, as ranges in the order of the index between which there is something: no value
    /// lies in two of them.
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

    /// Numbers that follow each other, from the one at `start` on, as one range, and where the next one begins;
    /// `ascending` has each once.
    package static func run(of ascending: [Int64], from start: Int) -> (range: IndexRange, next: Int) {
        var next = start + 1
        while next < ascending.count, ascending[next] == ascending[next - 1] &+ 1 { next += 1 }
        return (.integers(ascending[start], ascending[next - 1]), next)
    }

    /// What lies in a range of both; `a` and `b` are as `united` gives them, and so is the result.
    package static func intersection(_ a: [IndexRange], _ b: [IndexRange]) -> [IndexRange] {
        var found: [IndexRange] = []
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            if let both = a[i].intersection(b[j]), !both.isEmpty { found.append(both) }
            if a[i].ends(before: b[j]) { i += 1 } else { j += 1 }
        }
        return found
    }

    /// No value can lie in it.
    var isEmpty: Bool {
        switch self {
        case .nulls: false
        case .integers(let low, let high): low > high
        case .bytes(let low, let high): high.map { !low.lexicographicallyPrecedes($0) } ?? false
        }
    }

    /// What both hold; nil where they are of different kinds.
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

    /// Both as one, where there is nothing between them; nil otherwise. `other` does not begin before this one.
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

    /// Entries of a range. O(log n).
    package func count(inIndexOf column: Int, _ range: IndexRange) throws(EngineError) -> Int {
        let tree = tree(column)
        switch range {
        case .nulls: return try tree.countNull()
        case .integers(let low, let high):
            if low > high { return 0 }
            return try tree.count(from: IndexKey.encode(low), through: IndexKey.encode(high))
        case .bytes(let low, let high):
            return try Bytes.borrow(low) { (low) throws(EngineError) in
                guard let high else { return Int(clamping: tree.count) - (try tree.rank(bytes: low, key: 0)) }
                return try Bytes.borrow(high) { (high) throws(EngineError) in try tree.count(from: low, to: high) }
            }
        }
    }

    /// The keys of a range by value, then by key, until `body` returns false. The body must not change the table.
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
            isThere = try Bytes.seek(&cursor, low, key: 0)
        }
        while isThere, left > 0 {
            guard try body(cursor.key) else { return }
            left -= 1
            isThere = try cursor.next()
        }
    }

    /// The keys of all objects by the column's value, equal values by key, nulls first; `isAscending` false has the
    /// values the other way round, equal ones still by key. `isNew` is true for the first of each value. Nil where
    /// the index does not hold the values' order in full (strings of more than 1,000 bytes). O(n).
    package func orderedKeys(
        inIndexOf column: Int, isAscending: Bool
    ) throws(EngineError) -> (keys: [ObjectKey], firsts: [Int])? {
        let tree = tree(column)
        var keys: [ObjectKey] = []
        // The count may be damaged: memory follows what is really there.
        keys.reserveCapacity(min(Int(clamping: tree.count), 1 << 16))
        /// Where each value begins.
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

    /// At least `limit` of the keys that `orderedKeys` begins with (`isAscending`) or has last before it is turned
    /// round, and all others of the last value among them; nil where that are more than `most`. In no special order.
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
        // From the entry that has `limit` behind it back to the first of its value.
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

/// The value of the entry before, to tell where another value begins.
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

    /// Whether the cursor stands at another value than before; nil where the index does not hold it in full.
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
