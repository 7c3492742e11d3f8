// SPDX-License-Identifier: Apache-2.0
// A sort of many rows by words that are made once: the values of all keys beside each other in 64 or 128 bits whose order is
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
        let list = RowList(rows)
        guard let packing = KeyPacking(keys, list) else { return nil }
        @inline(__always) func sort<Entry: SortEntry>(_: Entry.Type) throws(EngineError) -> [RowLocation] {
            let sorter = WordSort<Entry>(capacity: rows.count)
            defer { sorter.deallocate() }
            for row in rows.indices { (sorter.entries + row).initialize(to: Entry(tag: UInt64(row))) }
            packing.fill(sorter.entries, list)
            sorter.sort(count: rows.count)
            var sorted = (0..<rows.count).map { rows[Int(sorter.entries[$0].tag)] }
            if packing.isExact { return sorted }
            try forEachTie(sorter.entries, rows.count) { range throws(EngineError) in
                let tied = try SortExtractor.sortByLevels(Array(sorted[range]), keys, table, session)
                sorted.replaceSubrange(range, with: tied)
            }
            return sorted
        }
        return packing.bits <= 64 ? try sort(SortEntry64.self) : try sort(SortEntry128.self)
    }

    /// As `sort`, only the objects' keys, which goes without a look at where the sorted rows are.
    static func keys(
        _ rows: RowList, _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [ObjectKey]? {
        let count = rows.count
        guard count > 1 else { return rows.keys }
        guard let packing = KeyPacking(keys, rows) else { return nil }
        @inline(__always) func sort<Entry: SortEntry>(_: Entry.Type) throws(EngineError) -> [ObjectKey] {
            let sorter = WordSort<Entry>(capacity: count)
            defer { sorter.deallocate() }
            let entries = sorter.entries
            _ = rows.anyRun { group, numbers, run in
                for index in run {
                    (entries + index).initialize(to: Entry(tag: group.pointee.key(at: Int(numbers[index]))))
                }
                return false
            }
            packing.fill(entries, rows)
            sorter.sort(count: count)
            if !packing.isExact { try sortTies(entries, count, keys, table, session) }
            return [ObjectKey](unsafeUninitializedCapacity: count) { target, initialized in
                for index in 0..<count {
                    (target.baseAddress.unsafelyUnwrapped + index).initialize(to: ObjectKey(entries[index].tag))
                }
                initialized = count
            }
        }
        return packing.bits <= 64 ? try sort(SortEntry64.self) : try sort(SortEntry128.self)
    }

    /// Puts the tags of entries whose words are equal, the keys of their objects, into the order of the sort's keys.
    private static func sortTies<Entry: SortEntry>(
        _ entries: UnsafeMutablePointer<Entry>, _ count: Int, _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) {
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

    /// Calls `body` with each stretch of two or more entries whose words are equal.
    private static func forEachTie<Entry: SortEntry>(
        _ entries: UnsafeMutablePointer<Entry>, _ count: Int,
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
