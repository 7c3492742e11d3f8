// SPDX-License-Identifier: Apache-2.0
// Inserts the values of many objects into an index tree at once. They are collected, sorted and inserted in tree order,
// so each is appended at the end of a leaf. Inserted one at a time, each would move half a leaf.

import RegnumSystem

package struct IndexFill: ~Copyable {
    private let tree: IndexTree
    /// Set for a `fixed` tree: the values, tagged with their keys.
    private let numbers: WordSort<SortEntry64>?
    private let texts: Texts?
    private var arena = IndexArena()
    private let capacity: Int
    private var count = 0

    /// For a `bytes` tree: the first 16 bytes of each text with its number, the texts, stored in `arena`, and their
    /// keys.
    private struct Texts {
        let sorter: WordSort<SortEntry128>
        let whole: UnsafeMutablePointer<IndexText>
        let keys: UnsafeMutablePointer<UInt64>
    }

    /// The maximum number of entries that are collected (32 bytes each for numbers, 72 for texts), and of bytes of
    /// text: about 140 MB in all. Further entries form a batch of their own.
    package static let limit = 1 << 20
    private static let textLimit = 1 << 26
    private static let stretch = 256

    /// Expects about `count` entries, added in the order of their keys.
    package init(_ tree: IndexTree, expecting count: Int, limit: Int = IndexFill.limit) {
        self.tree = tree
        let capacity = max(1, min(count, limit))
        self.capacity = capacity
        if tree.isBytes {
            numbers = nil
            texts = Texts(
                sorter: WordSort(capacity: capacity),
                whole: Memory.allocateScratch(byteCount: capacity * MemoryLayout<IndexText>.stride)
                    .bindMemory(to: IndexText.self, capacity: capacity),
                keys: Memory.allocateScratch(byteCount: capacity * MemoryLayout<UInt64>.stride)
                    .bindMemory(to: UInt64.self, capacity: capacity))
        } else {
            numbers = WordSort(capacity: capacity)
            texts = nil
        }
    }

    deinit {
        numbers?.deallocate()
        if let texts {
            texts.sorter.deallocate()
            Memory.freeScratch(texts.whole, byteCount: capacity * MemoryLayout<IndexText>.stride)
            Memory.freeScratch(texts.keys, byteCount: capacity * MemoryLayout<UInt64>.stride)
        }
        var arena = arena
        arena.reset()
    }

    package mutating func addNull(key: UInt64) throws(EngineError) { try tree.insertNull(key: key) }

    package mutating func add(value: UInt64, key: UInt64) throws(EngineError) {
        guard let numbers else { preconditionFailure("a number for a tree of bytes") }
        if count == capacity { try enter() }
        (numbers.entries + count).initialize(to: SortEntry64(high: value, tag: key))
        count += 1
    }

    package mutating func add(bytes: UnsafeRawBufferPointer, key: UInt64) throws(EngineError) {
        guard let texts else { preconditionFailure("bytes for a tree of numbers") }
        if count == capacity || arena.heldByteCount > Self.textLimit { try enter() }
        let probe = tree.probe(bytes, key: key)
        let text = arena.copy(probe.text)
        let low = IndexNodeText(text).second
        (texts.sorter.entries + count).initialize(
            to: SortEntry128(high: probe.value, low: low, tag: UInt64(count)))
        texts.whole[count] = text
        texts.keys[count] = key
        count += 1
    }

    /// Inserts the collected entries. Must be called at the end.
    package mutating func enter() throws(EngineError) {
        if let texts {
            texts.sorter.sort(count: count)
            sortTies(texts)
            try enterTexts(texts)
        }
        if let numbers {
            numbers.sort(count: count)
            for i in 0..<count { try tree.insert(value: numbers.entries[i].high, key: numbers.entries[i].tag) }
        }
        count = 0
        arena.reset()
    }

    /// The texts are scattered in memory, so those of a stretch are prefetched together before they are inserted.
    private func enterTexts(_ texts: Texts) throws(EngineError) {
        let entries = texts.sorter.entries
        var start = 0
        while start < count {
            let end = min(start + Self.stretch, count)
            var touched: UInt8 = 0
            for i in start..<end {
                let text = texts.whole[Int(entries[i].tag)]
                if text.byteCount > 0 { touched ^= text.address.load(as: UInt8.self) }
            }
            Self.keep(touched)
            for i in start..<end {
                let number = Int(entries[i].tag)
                try tree.insert(
                    IndexProbe(value: entries[i].high, key: texts.keys[number], text: texts.whole[number]))
            }
            start = end
        }
    }

    /// Prevents the compiler from removing the prefetch.
    @inline(never)
    @_optimize(none)
    private static func keep(_ byte: UInt8) {}

    /// Sorts entries with equal words, which are in key order, by all of their bytes. In the words, missing bytes count
    /// as zero. The tree would also accept entries that are out of order, but slowly.
    private func sortTies(_ texts: Texts) {
        let entries = texts.sorter.entries
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, entries[end].high == entries[start].high, entries[end].low == entries[start].low {
                end += 1
            }
            if end - start > 1 {
                var tied = UnsafeMutableBufferPointer(start: entries + start, count: end - start)
                tied.sort { left, right in
                    let (a, b) = (texts.whole[Int(left.tag)], texts.whole[Int(right.tag)])
                    let order = IndexKey.compare(a.address, a.byteCount, b.address, b.byteCount)
                    return order == 0 ? left.tag < right.tag : order < 0
                }
            }
            start = end
        }
    }
}
