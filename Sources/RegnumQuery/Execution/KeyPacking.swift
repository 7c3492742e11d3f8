// SPDX-License-Identifier: Apache-2.0
// The values of sort keys as bits beside each other, most significant first, 128 of them a row.

import RegnumEngine

struct KeyPacking {
    /// Filled from the left; zero to begin with.
    private let entries: UnsafeMutablePointer<WordSort.Entry>
    /// Bits in use.
    private var offset: UInt64 = 0
    /// False where a value did not fit whole.
    private(set) var isExact = true

    var bitsLeft: UInt64 { 128 - offset }

    init(entries: UnsafeMutablePointer<WordSort.Entry>) { self.entries = entries }

    /// Adds the values of a key behind those that are there; false, and nothing is added, where the key's values are
    /// not in the rows' own columns or not in the order of their bytes. Nulls come first, descending last.
    mutating func add(_ key: SortKey, _ rows: RowList) -> Bool {
        guard key.links.isEmpty, !key.isFolded, key.entry == nil else { return false }
        switch key.type {
        case .bool, .int, .link, .float, .double: break
        case .date:
            guard !anyRun(key, rows, { view, _, _ in view.aux != nil }) else { return false }
        case .string, .data:
            guard !anyRun(key, rows, { view, numbers, run in run.contains { view.isBlob(Int(numbers[$0])) } }) else {
                return false
            }
        default: return false
        }
        let hasNulls = anyRun(key, rows) { view, numbers, run in
            view.validity != nil && run.contains { view.isNull(Int(numbers[$0])) }
        }
        if hasNulls { addNulls(key, rows) }
        switch key.type {
        case .string, .data: addTexts(key, rows)
        case .float, .double:
            addWords(key, rows, bits: 64) { view, row in
                let word = SortExtractor.word(view, row, key.type, 0)
                return key.isAscending ? word : ~word
            }
        case .bool: addWords(key, rows, bits: 1) { view, row in view.bit(row) == key.isAscending ? 1 : 0 }
        default: addIntegers(key, rows)
        }
        return true
    }

    private mutating func addNulls(_ key: SortKey, _ rows: RowList) {
        let place = place(bits: 1)
        forEachRun(key, rows) { view, numbers, run in
            for index in run where view.isNull(Int(numbers[index])) != key.isAscending { put(1, place, index) }
        }
    }

    /// As many bits as the distance between the least and the greatest needs.
    private mutating func addIntegers(_ key: SortKey, _ rows: RowList) {
        var least = Int64.max
        var greatest = Int64.min
        forEachRun(key, rows) { view, numbers, run in
            if view.hasZone {
                least = min(least, view.zoneMin)
                greatest = max(greatest, view.zoneMax)
            } else {
                for index in run where !view.isNull(Int(numbers[index])) {
                    let value = view.integer(Int(numbers[index]))
                    least = min(least, value)
                    greatest = max(greatest, value)
                }
            }
        }
        guard least < greatest else { return }
        let bits = UInt64(64 - UInt64(bitPattern: greatest &- least).leadingZeroBitCount)
        addWords(key, rows, bits: bits) { view, row in
            let value = view.integer(row)
            return UInt64(bitPattern: key.isAscending ? value &- least : greatest &- value)
        }
    }

    private mutating func addWords(
        _ key: SortKey, _ rows: RowList, bits: UInt64, _ word: (ColumnView, Int) -> UInt64
    ) {
        let place = place(bits: bits)
        forEachRun(key, rows) { view, numbers, run in
            let isNullable = view.validity != nil
            for index in run {
                let row = Int(numbers[index])
                if isNullable, view.isNull(row) { continue }
                put(word(view, row), place, index)
            }
        }
    }

    /// All bits that are left. Strings are equal only where their bytes are, which the bits do not tell.
    private mutating func addTexts(_ key: SortKey, _ rows: RowList) {
        let shift = offset
        let turn: UInt64 = key.isAscending ? 0 : .max
        forEachRun(key, rows) { view, numbers, run in
            for index in run {
                let row = Int(numbers[index])
                if view.isNull(row) { continue }
                let bytes = view.bytes(row)
                guard let address = bytes.baseAddress else {
                    put(turn, turn, shift, index)
                    continue
                }
                let text = TextRef(address: address, count: bytes.count)
                put(RowSorter.word(text, 0) ^ turn, RowSorter.word(text, 8) ^ turn, shift, index)
            }
        }
        offset = 128
        isExact = false
    }

    // MARK: Bits

    /// Where a value goes: what is cut off its end, and how many bits stand behind it.
    private struct Place {
        var cut: UInt64
        var behind: UInt64
    }

    private mutating func place(bits: UInt64) -> Place {
        let room = min(bits, bitsLeft)
        if room < bits { isExact = false }
        offset += room
        return Place(cut: bits - room, behind: 128 - offset)
    }

    @inline(__always)
    private func put(_ value: UInt64, _ place: Place, _ index: Int) {
        let value = value &>> place.cut
        if place.behind >= 64 {
            entries[index].high |= value &<< (place.behind &- 64)
        } else {
            entries[index].low |= value &<< place.behind
            if place.behind > 0 { entries[index].high |= value &>> (64 &- place.behind) }
        }
    }

    /// 128 bits, moved to the right.
    @inline(__always)
    private func put(_ high: UInt64, _ low: UInt64, _ shift: UInt64, _ index: Int) {
        if shift >= 64 {
            entries[index].low |= high &>> (shift &- 64)
        } else if shift > 0 {
            entries[index].high |= high &>> shift
            entries[index].low |= high &<< (64 &- shift) | low &>> shift
        } else {
            entries[index].high |= high
            entries[index].low |= low
        }
    }

    // MARK: Runs

    /// The key's column of each group, the numbers of all rows, and the indexes of those that follow each other in the
    /// group.
    @inline(__always)
    private func forEachRun(
        _ key: SortKey, _ rows: RowList, _ body: (ColumnView, UnsafeBufferPointer<UInt16>, Range<Int>) -> Void
    ) {
        _ = anyRun(key, rows) { view, numbers, run in
            body(view, numbers, run)
            return false
        }
    }

    @inline(__always)
    private func anyRun(
        _ key: SortKey, _ rows: RowList, _ isFound: (ColumnView, UnsafeBufferPointer<UInt16>, Range<Int>) -> Bool
    ) -> Bool {
        rows.anyRun { group, numbers, run in isFound(group.columns[key.column], numbers, run) }
    }
}
