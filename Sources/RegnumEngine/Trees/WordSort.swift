// SPDX-License-Identifier: Apache-2.0
// Sorts many rows by 64 or 128 bits each: a radix sort, most significant digit first, whose buckets have equal width
// between the least and the greatest value. Each bucket is sorted in the same way, small ones by insertion. Stable.
// Used to sort objects and to fill an index.

import RegnumSystem

/// An element that `WordSort` sorts: by `high`, then by `low` if it has one.
@usableFromInline
package protocol SortEntry: BitwiseCopyable {
    static var hasLow: Bool { get }
    var high: UInt64 { get }
    var low: UInt64 { get }

    /// Two zero words with a tag that identifies the entry. A `SortWord` keeps the tag in its last bits, which must not
    /// be used for anything else.
    init(tag: UInt64)
    /// Sets the bits that are set in these words. `low` must be 0 if the entry has no low word.
    mutating func formUnion(high: UInt64, low: UInt64)
}

/// An entry that keeps its tag in a separate word.
@usableFromInline
package protocol TaggedSortEntry: SortEntry {
    /// Ignored by the sort.
    var tag: UInt64 { get }
}

/// One word, whose last bits are the tag.
@usableFromInline @frozen
package struct SortWord: SortEntry {
    @usableFromInline package var high: UInt64

    @inlinable @inline(__always)
    package init(tag: UInt64) { high = tag }

    @inlinable @inline(__always)
    package mutating func formUnion(high: UInt64, low: UInt64) { self.high |= high }

    @inlinable package static var hasLow: Bool { @inline(__always) get { false } }
    @inlinable package var low: UInt64 { @inline(__always) get { 0 } }
}

/// One word, and the tag.
@usableFromInline @frozen
package struct SortEntry64: TaggedSortEntry {
    @usableFromInline package var high: UInt64
    @usableFromInline package var tag: UInt64

    @inlinable @inline(__always)
    package init(high: UInt64, tag: UInt64 = 0) {
        self.high = high
        self.tag = tag
    }

    @inlinable @inline(__always)
    package init(tag: UInt64) { self.init(high: 0, tag: tag) }

    @inlinable @inline(__always)
    package mutating func formUnion(high: UInt64, low: UInt64) { self.high |= high }

    @inlinable package static var hasLow: Bool { @inline(__always) get { false } }
    @inlinable package var low: UInt64 { @inline(__always) get { 0 } }
}

/// Two words, and the tag.
@usableFromInline @frozen
package struct SortEntry128: TaggedSortEntry {
    @usableFromInline package var high: UInt64
    @usableFromInline package var low: UInt64
    @usableFromInline package var tag: UInt64

    @inlinable @inline(__always)
    package init(high: UInt64, low: UInt64, tag: UInt64 = 0) {
        self.high = high
        self.low = low
        self.tag = tag
    }

    @inlinable @inline(__always)
    package init(tag: UInt64) { self.init(high: 0, low: 0, tag: tag) }

    @inlinable @inline(__always)
    package mutating func formUnion(high: UInt64, low: UInt64) {
        self.high |= high
        self.low |= low
    }

    @inlinable package static var hasLow: Bool { @inline(__always) get { true } }
}

@usableFromInline @frozen
package struct WordSort<Entry: SortEntry> {
    /// Must be initialized by the caller before `sort`.
    @usableFromInline package let entries: UnsafeMutablePointer<Entry>
    @usableFromInline let spare: UnsafeMutablePointer<Entry>
    /// Bytes of `entries`, and of `spare`.
    @usableFromInline let byteCount: Int

    /// Allocates memory for `capacity` entries, 16, 32 or 48 bytes each, until `deallocate`.
    package init(capacity: Int) {
        byteCount = max(capacity, 1) * MemoryLayout<Entry>.stride
        entries = Memory.allocateScratch(byteCount: byteCount).bindMemory(to: Entry.self, capacity: capacity)
        spare = Memory.allocateScratch(byteCount: byteCount).bindMemory(to: Entry.self, capacity: capacity)
    }

    package func deallocate() {
        Memory.freeScratch(entries, byteCount: byteCount)
        Memory.freeScratch(spare, byteCount: byteCount)
    }

    /// Sorts the first `count` entries. O(count) for evenly spread values, at most 12 passes.
    @inlinable
    package func sort(count: Int) {
        sort(0, count, isInSpare: false, byLow: false)
    }

    /// Sorts a range held in `entries` or in `spare` into `entries`. `byLow`: the high words are equal.
    @inlinable
    func sort(_ start: Int, _ end: Int, isInSpare: Bool, byLow: Bool) {
        let count = end - start
        let source = (isInSpare ? spare : entries) + start
        if count <= 24 {
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
            if Entry.hasLow, !byLow { return sort(start, end, isInSpare: isInSpare, byLow: true) }
            if isInSpare { (entries + start).update(from: source, count: count) }
            return
        }
        var buckets = 2
        while buckets < 2048, buckets * 8 < count { buckets *= 2 }
        var shift: UInt64 = 0
        while (greatest &- least) &>> shift >= UInt64(buckets) { shift &+= 1 }
        let target = (isInSpare ? entries : spare) + start
        withUnsafeTemporaryAllocation(of: Int.self, capacity: buckets + 1) { ends in
            ends.initialize(repeating: 0)
            for index in 0..<count {
                ends[Int(truncatingIfNeeded: (word(source[index]) &- least) &>> shift) &+ 1] &+= 1
            }
            for bucket in 1...buckets { ends[bucket] &+= ends[bucket &- 1] }
            // From here on `ends[bucket]` is the position of the bucket's next entry; at the end of the loop, the
            // bucket's end.
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

    @inlinable
    func insertionSort(_ entries: UnsafeMutablePointer<Entry>, _ count: Int) {
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
