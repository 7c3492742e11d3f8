// SPDX-License-Identifier: Apache-2.0
// Enters the values of many objects into an index tree at once: they are collected, sorted, and entered in the order of
// the tree, so that each goes to the end of the leaf before. One at a time they would move the half of a leaf each.

import RegnumSystem

package struct IndexFill: ~Copyable {
    private let tree: IndexTree
    /// Of a `fixed` tree, with the keys.
    private let numbers: WordSort<SortEntry64>?
    private let texts: Texts?
    private var arena = IndexArena()
    private let capacity: Int
    private var count = 0

    /// Of a `bytes` tree: the beginnings with the numbers of the texts, the texts, which lie in `arena`, and their keys.
    private struct Texts {
        let sorter: WordSort<SortEntry128>
        let whole: UnsafeMutablePointer<IndexText>
        let keys: UnsafeMutablePointer<UInt64>
    }

    /// Collected entries at most, of 32 bytes each or of 72, and bytes of texts: some 140 MB. What comes behind is sorted
    /// on its own.
    package static let limit = 1 << 20
    private static let textLimit = 1 << 26
    private static let stretch = 256

    /// For about `count` entries, to be added in the order of their keys.
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

    /// Enters what was collected. To be called at the end.
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

    /// Texts lie anywhere in memory: those of a stretch are asked for together before they are entered.
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

    /// Keeps the reads ahead from being dropped.
    @inline(never)
    @_optimize(none)
    private static func keep(_ byte: UInt8) {}

    /// Entries with equal words, which are in the order of their keys: by all of their bytes. Zeros stand for missing bytes
    /// in the words. The tree would find the places of entries out of order too, slowly.
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
