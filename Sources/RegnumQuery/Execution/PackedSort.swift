// SPDX-License-Identifier: Apache-2.0
// A sort of many rows by words that are made once: the values of all keys beside each other in 128 bits whose order is
// the order asked for. Numbers take as many bits as their range needs; what does not fit, mostly the end of a string,
// decides between rows whose words are equal. `WordSort` sorts the words.

import RegnumEngine

enum PackedSort {
    /// The rows in the order of the keys, equal ones in theirs; nil where the first key cannot be packed.
    /// Time and memory as of `WordSort`.
    static func sort(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation]? {
        guard rows.count > 1 else { return rows }
        let sorter = WordSort(capacity: rows.count)
        defer { sorter.deallocate() }
        for row in rows.indices { (sorter.entries + row).initialize(to: WordSort.Entry(tag: UInt64(row))) }
        guard let isDone = sort(RowList(rows), keys, sorter) else { return nil }
        var sorted = (0..<rows.count).map { rows[Int(sorter.entries[$0].tag)] }
        if !isDone {
            try forEachTie(sorter.entries, rows.count) { range throws(EngineError) in
                let tied = try SortExtractor.sortByLevels(Array(sorted[range]), keys, table, session)
                sorted.replaceSubrange(range, with: tied)
            }
        }
        return sorted
    }

    /// As `sort`, only the objects' keys, which goes without a look at where the sorted rows are.
    static func keys(
        _ rows: RowList, _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [ObjectKey]? {
        let count = rows.count
        guard count > 1 else { return rows.keys }
        let sorter = WordSort(capacity: count)
        defer { sorter.deallocate() }
        let entries = sorter.entries
        _ = rows.anyRun { group, numbers, run in
            for index in run {
                (entries + index).initialize(to: WordSort.Entry(tag: group.pointee.key(at: Int(numbers[index]))))
            }
            return false
        }
        guard let isDone = sort(rows, keys, sorter) else { return nil }
        if !isDone {
            try forEachTie(entries, count) { range throws(EngineError) in
                var tied: [RowLocation] = []
                for index in range {
                    guard let location = try table.locate(ObjectKey(entries[index].tag)) else {
                        throw corrupted("an object of a row group cannot be found by its key")
                    }
                    tied.append(location)
                }
                tied = try SortExtractor.sortByLevels(tied, keys, table, session)
                for (index, location) in zip(range, tied) { entries[index].tag = location.key.rawValue }
            }
        }
        return [ObjectKey](unsafeUninitializedCapacity: count) { target, initialized in
            for index in 0..<count {
                (target.baseAddress.unsafelyUnwrapped + index).initialize(to: ObjectKey(entries[index].tag))
            }
            initialized = count
        }
    }

    /// Sorts entries with their tags, one for each row, by the values of as many keys as pack. True where equal words are
    /// equal values of all keys; nil where the first key cannot be packed.
    private static func sort(_ rows: RowList, _ keys: [SortKey], _ sorter: WordSort) -> Bool? {
        var packing = KeyPacking(entries: sorter.entries)
        var packed = 0
        for key in keys {
            guard packing.bitsLeft > 0, packing.add(key, rows) else { break }
            packed += 1
        }
        guard packed > 0 else { return nil }
        sorter.sort(count: rows.count)
        return packed == keys.count && packing.isExact
    }

    /// Calls `body` with each stretch of two or more entries whose words are equal.
    private static func forEachTie(
        _ entries: UnsafeMutablePointer<WordSort.Entry>, _ count: Int,
        _ body: (Range<Int>) throws(EngineError) -> Void
    ) throws(EngineError) {
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, entries[end].high == entries[start].high, entries[end].low == entries[start].low {
                end += 1
            }
            if end - start > 1 { try body(start..<end) }
            start = end
        }
    }
}
