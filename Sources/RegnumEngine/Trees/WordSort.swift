// SPDX-License-Identifier: Apache-2.0
// A sort of many rows by 128 bits each, by buckets of equal width between the least and the greatest, then each bucket
// in the same way (a most significant digit first radix sort that follows the range of the values), and few by
// insertion. Stable. Used where objects are sorted and where an index is filled.

import RegnumSystem

package struct WordSort {
    @usableFromInline @frozen
    package struct Entry {
        @usableFromInline package var high: UInt64
        @usableFromInline package var low: UInt64
        /// What the entry stands for; not looked at.
        @usableFromInline package var tag: UInt64

        @inlinable @inline(__always)
        package init(high: UInt64 = 0, low: UInt64 = 0, tag: UInt64 = 0) {
            self.high = high
            self.low = low
            self.tag = tag
        }
    }

    /// To be initialized by the user before `sort`.
    package let entries: UnsafeMutablePointer<Entry>
    private let spare: UnsafeMutablePointer<Entry>
    /// Of `entries`, and of `spare`.
    private let byteCount: Int
    private static let smallRun = 24
    private static let bucketLimit = 2048

    /// Memory for so many entries, 48 bytes each, until `deallocate`.
    package init(capacity: Int) {
        byteCount = max(capacity, 1) * MemoryLayout<Entry>.stride
        entries = Memory.allocateScratch(byteCount: byteCount).bindMemory(to: Entry.self, capacity: capacity)
        spare = Memory.allocateScratch(byteCount: byteCount).bindMemory(to: Entry.self, capacity: capacity)
    }

    package func deallocate() {
        Memory.freeScratch(entries, byteCount: byteCount)
        Memory.freeScratch(spare, byteCount: byteCount)
    }

    /// Sorts the first `count` entries. O(count) for values that are spread evenly, at most 12 passes.
    package func sort(count: Int) {
        sort(0, count, isInSpare: false, byLow: false)
    }

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
