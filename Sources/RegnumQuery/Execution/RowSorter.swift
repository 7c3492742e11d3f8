// SPDX-License-Identifier: Apache-2.0
// A stable sort of rows, level by level. Large runs are sorted by radix over 64-bit words, small ones by insertion;
// strings are processed 8 bytes at a time.

import RegnumEngine

struct RowSorter {
    struct Entry {
        var word: UInt64
        var row: Int
    }

    private let levels: [SortLevel]
    private let entries: UnsafeMutablePointer<Entry>
    private let spare: UnsafeMutablePointer<Entry>
    private static let smallRun = 24
    private static let digitBits: UInt64 = 11

    /// The row numbers in sorted order. O(count x words of the levels that ties need).
    static func order(_ levels: [SortLevel], _ count: Int) -> [Int] {
        guard count > 0 else { return [] }
        let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        let spare = UnsafeMutablePointer<Entry>.allocate(capacity: count)
        defer {
            entries.deallocate()
            spare.deallocate()
        }
        for row in 0..<count { (entries + row).initialize(to: Entry(word: 0, row: row)) }
        (spare).initialize(repeating: Entry(word: 0, row: 0), count: count)
        let sorter = RowSorter(levels: levels, entries: entries, spare: spare)
        var pending = [Run(start: 0, end: count, level: 0, offset: 0)]
        while let run = pending.popLast() { sorter.sort(run, &pending) }
        return [Int](unsafeUninitializedCapacity: count) { order, initialized in
            for index in 0..<count { order[index] = entries[index].row }
            initialized = count
        }
    }

    /// Rows that are equal up to `level` and, within it, up to byte `offset` of its strings.
    private struct Run {
        var start: Int
        var end: Int
        var level: Int
        var offset: Int
    }

    private init(
        levels: [SortLevel], entries: UnsafeMutablePointer<Entry>, spare: UnsafeMutablePointer<Entry>
    ) {
        self.levels = levels
        self.entries = entries
        self.spare = spare
    }

    private func sort(_ run: Run, _ pending: inout [Run]) {
        guard run.level < levels.count, run.end - run.start > 1 else { return }
        if run.end - run.start <= Self.smallRun { return insertionSort(run) }
        var isFinished = true
        switch levels[run.level] {
        case .words(let words):
            words.withUnsafeBufferPointer { words in
                for index in run.start..<run.end { entries[index].word = words[entries[index].row] }
            }
        case .texts(let texts, let isDescending):
            isFinished = false
            texts.withUnsafeBufferPointer { texts in
                for index in run.start..<run.end {
                    let word = Self.word(texts[entries[index].row], run.offset)
                    entries[index].word = isDescending ? ~word : word
                }
            }
        }
        radixSort(run.start, run.end)
        var start = run.start
        while start < run.end {
            let word = entries[start].word
            var end = start + 1
            while end < run.end, entries[end].word == word { end += 1 }
            if end - start > 1 {
                if isFinished {
                    pending.append(Run(start: start, end: end, level: run.level + 1, offset: 0))
                } else {
                    splitTexts(run, start, end, &pending)
                }
            }
            start = end
        }
    }

    /// Splits rows with the same 8 bytes: rows whose string ends within them are ordered by its length (a zero byte is
    /// not the end), the others continue with the next 8 bytes.
    private func splitTexts(_ run: Run, _ start: Int, _ end: Int, _ pending: inout [Run]) {
        guard case .texts(let texts, let isDescending) = levels[run.level] else { return }
        texts.withUnsafeBufferPointer { texts in
            for index in start..<end {
                let length = UInt64(min(9, max(0, texts[entries[index].row].count - run.offset)))
                entries[index].word = isDescending ? ~length : length
            }
        }
        radixSort(start, end)
        var first = start
        while first < end {
            let word = entries[first].word
            var last = first + 1
            while last < end, entries[last].word == word { last += 1 }
            let length = isDescending ? ~word : word
            if last - first > 1 {
                pending.append(
                    length == 9
                        ? Run(start: first, end: last, level: run.level, offset: run.offset + 8)
                        : Run(start: first, end: last, level: run.level + 1, offset: 0))
            }
            first = last
        }
    }

    /// The 8 bytes from `offset` as a big-endian number, padded with zeros.
    @inline(__always)
    static func word(_ text: TextRef, _ offset: Int) -> UInt64 {
        let rest = text.count &- offset
        if rest >= 8 {
            return UInt64(bigEndian: text.address.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        if rest <= 0 { return 0 }
        if text.count >= 8 {
            let last = UInt64(
                bigEndian: text.address.loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self))
            return last &<< UInt64(64 &- rest &* 8)
        }
        var word: UInt64 = 0
        var index = 0
        while index < rest {
            word |=
                UInt64(text.address.load(fromByteOffset: offset &+ index, as: UInt8.self))
                &<< UInt64(56 &- index &* 8)
            index &+= 1
        }
        return word
    }

    // MARK: The two sorts

    /// Least significant digit first; skips digits that are the same in all words.
    private func radixSort(_ start: Int, _ end: Int) {
        var same: UInt64 = 0
        let first = entries[start].word
        var isSorted = true
        for index in start..<end {
            same |= entries[index].word ^ first
            if index > start, entries[index].word < entries[index &- 1].word { isSorted = false }
        }
        if same == 0 || isSorted { return }
        var source = entries + start
        var target = spare + start
        let count = end - start
        let digits = 1 << Int(Self.digitBits)
        withUnsafeTemporaryAllocation(of: Int.self, capacity: digits) { places in
            var shift: UInt64 = 0
            while shift < 64 {
                defer { shift += Self.digitBits }
                if same &>> shift & UInt64(digits - 1) == 0 { continue }
                for digit in 0..<digits { places[digit] = 0 }
                for index in 0..<count { places[Self.digit(source[index].word, shift)] &+= 1 }
                var place = 0
                for digit in 0..<digits {
                    let next = place &+ places[digit]
                    places[digit] = place
                    place = next
                }
                for index in 0..<count {
                    let digit = Self.digit(source[index].word, shift)
                    target[places[digit]] = source[index]
                    places[digit] &+= 1
                }
                swap(&source, &target)
            }
        }
        if source != entries + start { target.update(from: source, count: count) }
    }

    @inline(__always)
    private static func digit(_ word: UInt64, _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: word &>> shift & (1 &<< digitBits &- 1))
    }

    private func insertionSort(_ run: Run) {
        for index in run.start + 1..<run.end {
            let entry = entries[index]
            var place = index
            while place > run.start, compare(entry.row, entries[place - 1].row, run) < 0 {
                entries[place] = entries[place - 1]
                place -= 1
            }
            entries[place] = entry
        }
    }

    private func compare(_ a: Int, _ b: Int, _ run: Run) -> Int {
        for level in run.level..<levels.count {
            switch levels[level] {
            case .words(let words):
                if words[a] != words[b] { return words[a] < words[b] ? -1 : 1 }
            case .texts(let texts, let isDescending):
                let order = BytesMatch.compare(
                    UnsafeRawBufferPointer(start: texts[a].address, count: texts[a].count),
                    UnsafeRawBufferPointer(start: texts[b].address, count: texts[b].count))
                if order != 0 { return isDescending ? -order : order }
            }
        }
        return 0
    }
}
