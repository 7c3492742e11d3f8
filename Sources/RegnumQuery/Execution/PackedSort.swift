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
        for row in rows.indices { (sorter.entries + row).initialize(to: WordSort.Entry(row: row)) }
        var packing = KeyPacking(entries: sorter.entries)
        var packed = 0
        for key in keys {
            guard packing.bitsLeft > 0, packing.add(key, rows) else { break }
            packed += 1
        }
        guard packed > 0 else { return nil }
        sorter.sort(count: rows.count)
        var sorted = [RowLocation](unsafeUninitializedCapacity: rows.count) { target, initialized in
            rows.withUnsafeBufferPointer { rows in
                for index in 0..<rows.count {
                    (target.baseAddress.unsafelyUnwrapped + index)
                        .initialize(to: rows[sorter.entries[index].row])
                }
            }
            initialized = rows.count
        }
        if packed < keys.count || !packing.isExact { try sortTies(&sorted, sorter.entries, keys, table, session) }
        return sorted
    }

    /// Rows whose words are equal are told apart by their values.
    private static func sortTies(
        _ sorted: inout [RowLocation], _ entries: UnsafeMutablePointer<WordSort.Entry>, _ keys: [SortKey],
        _ table: Table, _ session: Session
    ) throws(EngineError) {
        let count = sorted.count
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
}
