// SPDX-License-Identifier: Apache-2.0
// A sort of many rows by words that are made once: the values of all keys beside each other in 128 bits whose order is
// the order asked for. Numbers take as many bits as their range needs; what does not fit, mostly the end of a string,
// decides between rows whose words are equal.
//
// The words are sorted by buckets of equal width between the least and the greatest, then each bucket in the same way
// (a most significant digit first radix sort that follows the range of the values), and few by insertion. Stable.

import RegnumEngine

struct PackedSort {
    struct Entry {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var row: Int
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let spare: UnsafeMutablePointer<Entry>
    private let count: Int
    private static let smallRun = 24
    private static let bucketLimit = 2048

    /// The rows in the order of the keys, equal ones in theirs; nil where the first key cannot be packed.
    /// O(count) for values that are spread evenly, at most 12 passes. 48 bytes of memory a row.
    static func sort(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation]? {
        guard rows.count > 1 else { return rows }
        let sorter = PackedSort(count: rows.count)
        defer {
            sorter.entries.deallocate()
            sorter.spare.deallocate()
        }
        var packing = KeyPacking(entries: sorter.entries)
        var packed = 0
        for key in keys {
            guard packing.bitsLeft > 0, packing.add(key, rows) else { break }
            packed += 1
        }
        guard packed > 0 else { return nil }
        sorter.sort(0, rows.count, isInSpare: false, byLow: false)
        var sorted = [RowLocation](unsafeUninitializedCapacity: rows.count) { target, initialized in
            rows.withUnsafeBufferPointer { rows in
                for index in 0..<rows.count {
                    (target.baseAddress.unsafelyUnwrapped + index)
                        .initialize(to: rows[sorter.entries[index].row])
                }
            }
            initialized = rows.count
        }
        if packed < keys.count || !packing.isExact { try sorter.sortTies(&sorted, keys, table, session) }
        return sorted
    }

    private init(count: Int) {
        self.count = count
        entries = .allocate(capacity: count)
        spare = .allocate(capacity: count)
        for row in 0..<count { (entries + row).initialize(to: Entry(row: row)) }
        spare.initialize(repeating: Entry(row: 0), count: count)
    }

    /// Rows whose words are equal are told apart by their values.
    private func sortTies(
        _ sorted: inout [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) {
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, entries[end].high == entries[start].high, entries[end].low == entries[start].low {
                end += 1
            }
            if end - start > 1 {
                let tied = try SortExtractor.sortByLevels(Array(sorted[start..<end]), keys, table, session)
                sorted.replaceSubrange(start..<end, with: tied)
            }
            start = end
        }
    }

    // MARK: Buckets

    /// Sorts a stretch that lies in `entries` or in `spare`; it ends up in `entries`. `byLow`: the high words are equal.
    private func sort(_ start: Int, _ end: Int, isInSpare: Bool, byLow: Bool) {
        let count = end - start
        let source = (isInSpare ? spare : entries) + start
        if count <= Self.smallRun {
            if isInSpare { (entries + start).update(from: source, count: count) }
            return insertionSort(entries + start, count)
        }
        @inline(__always) func word(_ entry: Entry) -> UInt64 { byLow ? entry.low : entry.high }
        var least = UInt64.max
        var greatest = UInt64.min
        for index in 0..<count {
            let value = word(source[index])
            if value < least { least = value }
            if value > greatest { greatest = value }
        }
        guard least < greatest else {
            if !byLow { return sort(start, end, isInSpare: isInSpare, byLow: true) }
            if isInSpare { (entries + start).update(from: source, count: count) }
            return
        }
        var buckets = 2
        while buckets < Self.bucketLimit, buckets * 8 < count { buckets *= 2 }
        var shift: UInt64 = 0
        while (greatest &- least) &>> shift >= UInt64(buckets) { shift &+= 1 }
        let target = (isInSpare ? entries : spare) + start
        withUnsafeTemporaryAllocation(of: Int.self, capacity: buckets + 1) { ends in
            ends.initialize(repeating: 0)
            for index in 0..<count {
                ends[Int(truncatingIfNeeded: (word(source[index]) &- least) &>> shift) &+ 1] &+= 1
            }
            for bucket in 1...buckets { ends[bucket] &+= ends[bucket &- 1] }
            // From here on `ends[bucket]` is where the next entry of the bucket goes, at last its end.
            for index in 0..<count {
                let bucket = Int(truncatingIfNeeded: (word(source[index]) &- least) &>> shift)
                target[ends[bucket]] = source[index]
                ends[bucket] &+= 1
            }
            var first = 0
            for bucket in 0..<buckets {
                let last = ends[bucket]
                if last > first {
                    sort(start + first, start + last, isInSpare: !isInSpare, byLow: byLow)
                }
                first = last
            }
        }
    }

    private func insertionSort(_ entries: UnsafeMutablePointer<Entry>, _ count: Int) {
        var index = 1
        while index < count {
            let entry = entries[index]
            var place = index
            while place > 0 {
                let before = entries[place &- 1]
                guard entry.high < before.high || entry.high == before.high && entry.low < before.low else { break }
                entries[place] = before
                place &-= 1
            }
            if place != index { entries[place] = entry }
            index &+= 1
        }
    }
}
