// SPDX-License-Identifier: Apache-2.0
// Sorts many rows by precomputed words: the values of all keys, packed into 64 or 128 bits with the requested order.
// Numbers take as many bits as their range needs. Whatever does not fit, usually the end of a string, breaks ties
// between rows with equal words. `WordSort` sorts the words.

import RegnumEngine

enum PackedSort {
    /// Sorts the rows stably by the keys; nil if the first key cannot be packed. Time and memory are those of
    /// `WordSort`.
    static func sort(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [RowLocation]? {
        guard rows.count > 1 else { return rows }
        let list = RowList(rows)
        guard let packing = KeyPacking(keys, list) else { return nil }
        @inline(__always) func sort<Entry: TaggedSortEntry>(_: Entry.Type) throws(EngineError) -> [RowLocation] {
            let sorter = WordSort<Entry>(capacity: rows.count)
            defer { sorter.deallocate() }
            for row in rows.indices { (sorter.entries + row).initialize(to: Entry(tag: UInt64(row))) }
            packing.fill(sorter.entries, list)
            sorter.sort(count: rows.count)
            var sorted = (0..<rows.count).map { rows[Int(sorter.entries[$0].tag)] }
            if packing.isExact { return sorted }
            try forEachTie(rows.count, areEqual(sorter.entries)) { range throws(EngineError) in
                let tied = try SortExtractor.sortByLevels(Array(sorted[range]), keys, table, session)
                sorted.replaceSubrange(range, with: tied)
            }
            return sorted
        }
        return packing.bits <= 64 ? try sort(SortEntry64.self) : try sort(SortEntry128.self)
    }

    /// Like `sort`, but returns only the objects' keys, which avoids locating the sorted rows.
    static func keys(
        _ rows: RowList, _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [ObjectKey]? {
        let count = rows.count
        guard count > 1 else { return rows.keys }
        guard let packing = KeyPacking(keys, rows) else { return nil }
        if let sorted = try shortKeys(rows, packing, keys, table, session) { return sorted }
        @inline(__always) func sort<Entry: TaggedSortEntry>(_: Entry.Type) throws(EngineError) -> [ObjectKey] {
            let sorter = WordSort<Entry>(capacity: count)
            defer { sorter.deallocate() }
            let entries = sorter.entries
            fill(entries, rows, packing)
            sorter.sort(count: count)
            var sorted = objectKeys(count) { entries[$0].tag }
            if !packing.isExact { try sortTies(&sorted, areEqual(entries), keys, table, session) }
            return sorted
        }
        return packing.bits <= 64 ? try sort(SortEntry64.self) : try sort(SortEntry128.self)
    }

    /// Like `keys`, with one word per row: the object's key in its low bits, and as many sort bits as fit above them.
    /// Uses half the memory. Nil if that would leave too many ties to break one by one.
    private static func shortKeys(
        _ rows: RowList, _ packing: KeyPacking, _ keys: [SortKey], _ table: Table, _ session: Session
    ) throws(EngineError) -> [ObjectKey]? {
        let count = rows.count
        let tagBits = UInt64(64 - rows.greatestKey.leadingZeroBitCount)
        let room = 64 - tagBits
        let isExact = packing.isExact && packing.bits <= room
        if !isExact {
            // For few rows a sample would cost as much as it saves.
            guard !packing.hasTexts, count >= 4 * leastSample else { return nil }
            if areMany(expectedTies(rows, packing, tagBits), of: count) { return nil }
        }
        let sorter = WordSort<SortWord>(capacity: count)
        defer { sorter.deallocate() }
        let entries = sorter.entries
        fill(entries, rows, packing, room: room)
        sorter.sort(count: count)
        if !isExact, areMany(ties(entries, count, tagBits), of: count) { return nil }
        let keyBits = ~(UInt64.max << tagBits)
        var sorted = objectKeys(count) { entries[$0].high & keyBits }
        if !isExact {
            let areEqual = { (a: Int, b: Int) in (entries[a].high ^ entries[b].high) >> tagBits == 0 }
            try sortTies(&sorted, areEqual, keys, table, session)
        }
        return sorted
    }

    /// Breaking a tie between two rows takes as long as sorting a hundred rows by longer words.
    private static func areMany(_ ties: Int, of count: Int) -> Bool { ties > count >> 8 }

    private static let leastSample = 1024

    /// Estimates the number of `ties` from a sample. A sample of one hundredth contains one ten-thousandth of the pairs
    /// that are equal by chance, because both rows must be in the sample.
    private static func expectedTies(_ rows: RowList, _ packing: KeyPacking, _ tagBits: UInt64) -> Int {
        let sample = rows.sample(max(rows.count >> 7, leastSample))
        let sorter = WordSort<SortWord>(capacity: sample.count)
        defer { sorter.deallocate() }
        fill(sorter.entries, sample, packing, room: 64 - tagBits)
        sorter.sort(count: sample.count)
        let ratio = rows.count / sample.count
        return ties(sorter.entries, sample.count, tagBits) * ratio * ratio
    }

    /// The number of sorted words that equal the one before, ignoring the object keys.
    private static func ties(_ entries: UnsafeMutablePointer<SortWord>, _ count: Int, _ tagBits: UInt64) -> Int {
        var ties = 0
        for index in 1..<max(count, 1) where (entries[index].high ^ entries[index &- 1].high) >> tagBits == 0 {
            ties &+= 1
        }
        return ties
    }

    @inline(__always)
    private static func fill<Entry: SortEntry>(
        _ entries: UnsafeMutablePointer<Entry>, _ rows: RowList, _ packing: KeyPacking, room: UInt64 = KeyPacking.limit
    ) {
        _ = rows.anyRun { group, numbers, run in
            for index in run {
                (entries + index).initialize(to: Entry(tag: group.pointee.key(at: Int(numbers[index]))))
            }
            return false
        }
        packing.fill(entries, rows, room: room)
    }

    @inline(__always)
    private static func objectKeys(_ count: Int, _ key: (Int) -> UInt64) -> [ObjectKey] {
        [ObjectKey](unsafeUninitializedCapacity: count) { target, initialized in
            for index in 0..<count {
                (target.baseAddress.unsafelyUnwrapped + index).initialize(to: ObjectKey(key(index)))
            }
            initialized = count
        }
    }

    @inline(__always)
    private static func areEqual<Entry: SortEntry>(_ entries: UnsafeMutablePointer<Entry>) -> (Int, Int) -> Bool {
        { entries[$0].high == entries[$1].high && entries[$0].low == entries[$1].low }
    }

    /// Sorts objects with equal words by the sort keys.
    @inline(__always)
    private static func sortTies(
        _ sorted: inout [ObjectKey], _ areEqual: (Int, Int) -> Bool, _ keys: [SortKey], _ table: Table,
        _ session: Session
    ) throws(EngineError) {
        try forEachTie(sorted.count, areEqual) { range throws(EngineError) in
            var tied: [RowLocation] = []
            for key in sorted[range] {
                guard let location = try table.locate(key) else {
                    throw corrupted("an object of a row group cannot be found by its key")
                }
                tied.append(location)
            }
            tied = try SortExtractor.sortByLevels(tied, keys, table, session)
            for (index, location) in zip(range, tied) { sorted[index] = location.key }
        }
    }

    /// Calls `body` with each range of two or more equal neighbours.
    @inline(__always)
    private static func forEachTie(
        _ count: Int, _ areEqual: (Int, Int) -> Bool, _ body: (Range<Int>) throws(EngineError) -> Void
    ) throws(EngineError) {
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, areEqual(end, start) { end += 1 }
            if end - start > 1 { try body(start..<end) }
            start = end
        }
    }
}
