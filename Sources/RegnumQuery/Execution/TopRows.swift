// SPDX-License-Identifier: Apache-2.0
// Finds the first rows of an order without sorting the others: a row is examined further only if a word of its first
// keys does not come after that of the worst row kept so far.

import RegnumEngine

/// Receives matching rows in key order and keeps the first `limit` rows of the order. Rows that are equal in all keys
/// keep their order, so the result equals the beginning of a stable sort of all rows.
struct TopRows {
    private let session: Session
    private let table: Table
    private let keys: [SortKey]
    private let limit: Int
    /// True if the last rows of the order are wanted: all keys are reversed, and later rows come first.
    private let isTail: Bool
    private let capacity: Int
    /// Sorted.
    private var kept: [RowLocation] = []
    private var new: [RowLocation] = []
    /// The words of the worst row, once `limit` rows are kept.
    private var threshold: (first: UInt64, second: UInt64) = (.max, .max)
    /// The first key of that row as a test, if whole groups can be compared with it.
    private var bound: ColumnTest?
    /// Space for one bitmap, owned by the caller.
    private let passing: RowBitmap
    private let coarse: [SortKey]
    private let isFirstExact: Bool

    init(
        _ session: Session, _ table: Table, _ keys: [SortKey], limit: Int, isTail: Bool, scratch: RowBitmap
    ) {
        passing = scratch
        self.session = session
        self.table = table
        self.keys =
            isTail
            ? keys.map { key in
                var key = key
                key.isAscending.toggle()
                return key
            } : keys
        self.limit = limit
        self.isTail = isTail
        capacity = max(512, limit * 4)
        // Keys reached through links, and keys that are not ordered by their bytes, are only compared in the sort.
        coarse = Array(
            self.keys.prefix {
                $0.links.isEmpty && !$0.isFolded && $0.type != .decimal128 && $0.type != .mixed
            }.prefix(2))
        switch coarse.first?.type {
        case .int, .bool, .double, .float: isFirstExact = true
        default: isFirstExact = false
        }
    }

    mutating func add(_ group: UnsafeMutablePointer<GroupView>, _ rows: RowBitmap) throws(EngineError) {
        passing.copyRows(rows)
        if let bound, let key = coarse.first, group.columns[key.column].validity == nil {
            bound.scan(group, passing)
            passing.andRows(rows)
        }
        for word in 0..<16 {
            var bits = passing[word]
            while bits != 0 {
                let row = word &<< 6 &+ bits.trailingZeroBitCount
                bits &= bits &- 1
                try add(RowLocation(group: group, row: row))
            }
        }
    }

    @inline(__always)
    mutating func add(_ location: RowLocation) throws(EngineError) {
        if threshold.first != .max, let key = coarse.first {
            let first = try word(key, location)
            if first > threshold.first { return }
            if first == threshold.first, isFirstExact, first > 4, first < .max - 4, coarse.count > 1,
                try word(coarse[1], location) > threshold.second
            {
                return
            }
        }
        new.append(location)
        if new.count >= capacity { try compact() }
    }

    /// The rows in order; the last row comes last even for a tail.
    mutating func finish() throws(EngineError) -> [RowLocation] {
        try compact()
        return isTail ? kept.reversed() : kept
    }

    private mutating func compact() throws(EngineError) {
        guard !new.isEmpty else { return }
        let rows = isTail ? new.reversed() + kept : kept + new
        new.removeAll(keepingCapacity: true)
        kept = Array(try SortExtractor.sort(rows, keys, table, session).prefix(limit))
        guard kept.count == limit, let worst = kept.last, let key = coarse.first else { return }
        threshold.first = try word(key, worst)
        if coarse.count > 1 { threshold.second = try word(coarse[1], worst) }
        bound = Self.bound(key, worst)
    }

    /// The test that passes the rows that do not come after `worst` by the first key; nil if it is not a plain
    /// comparison.
    private static func bound(_ key: SortKey, _ worst: RowLocation) -> ColumnTest? {
        let column = worst.group.columns[key.column]
        if column.isNull(worst.row) { return nil }
        let comparison: ComparisonOperator = key.isAscending ? .lessOrEqual : .greaterOrEqual
        switch key.type {
        case .int: return ColumnTest(key.column, .int, .int(comparison, column.integer(worst.row)))
        case .double: return ColumnTest(key.column, .double, .double(comparison, column.double(worst.row)))
        default: return nil
        }
    }

    /// A word whose order is consistent with that of the key: 0 for null, clamped at both ends. Never `.max`, which
    /// stands for "no threshold yet".
    @inline(__always)
    private func word(_ key: SortKey, _ location: RowLocation) throws(EngineError) -> UInt64 {
        let column = location.group.columns[key.column]
        var word: UInt64 = 0
        if !column.isNull(location.row) {
            switch key.type {
            case .string, .data, .mixed:
                word = try table.withBytes(key.column, at: location) { bytes in
                    bytes.baseAddress.map { RowSorter.word(TextRef(address: $0, count: bytes.count), 0) } ?? 0
                }
            case .bool: word = column.bit(location.row) ? 4 : 3
            default: word = SortExtractor.word(column, location.row, key.type, 0)
            }
            // Both ends are clamped by more than one, so that exact words between them stay exact.
            word = min(max(word, 2), .max - 2)
        }
        return key.isAscending ? word : .max - 1 - word
    }
}
