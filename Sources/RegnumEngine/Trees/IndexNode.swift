// SPDX-License-Identifier: Apache-2.0
// A node of an index tree that the running write transaction has changed: unpacked arrays that grow in place. Leaves
// and branches share one form: the entries of a leaf, or the separators of a branch together with its children. Also
// used as the list that collects sealed children. Confined to the session.

typealias IndexNodePointer = UnsafeMutablePointer<IndexNode>

/// A child of a branch: `node` if it has been changed, otherwise `ref`.
struct IndexLink {
    var ref: BlockRef
    var node: IndexNodePointer?
    /// Number of entries below.
    var entryCount: Int
}

/// The bytes of an entry, with a word of them that decides most comparisons without reading them.
struct IndexNodeText {
    var text: IndexText
    /// Bytes 8..<16, encoded as `IndexKey.head` encodes bytes 0..<8.
    var second: UInt64

    @inline(__always)
    init(_ text: IndexText) {
        self.text = text
        second = text.byteCount > 8 ? IndexKey.head(text.address + 8, text.byteCount &- 8) : 0
    }
}

struct IndexNode {
    private(set) var values: UnsafeMutablePointer<UInt64>
    private(set) var keys: UnsafeMutablePointer<UInt64>
    /// Only in a `bytes` tree. The bytes are stored in the tree's arena.
    private(set) var texts: UnsafeMutablePointer<IndexNodeText>?
    /// Only in a branch.
    private(set) var links: UnsafeMutablePointer<IndexLink>?
    private(set) var count: Int
    private(set) var nullCount: Int
    private(set) var capacity: Int
    /// In a leaf: how many of the entries were loaded from sealed blocks.
    private(set) var sealedCount = 0
    let level: Int

    private init(level: Int, isBytes: Bool, capacity: Int) {
        self.level = level
        self.capacity = capacity
        count = 0
        nullCount = 0
        (values, keys, texts, links) = Self.makeArrays(capacity, isBytes: isBytes, isBranch: level > 0)
    }

    private typealias Arrays = (
        values: UnsafeMutablePointer<UInt64>, keys: UnsafeMutablePointer<UInt64>,
        texts: UnsafeMutablePointer<IndexNodeText>?, links: UnsafeMutablePointer<IndexLink>?
    )

    /// Makes one allocation, which begins with the values.
    private static func makeArrays(_ capacity: Int, isBytes: Bool, isBranch: Bool) -> Arrays {
        let textBytes = isBytes ? capacity * MemoryLayout<IndexNodeText>.stride : 0
        let linkBytes = isBranch ? capacity * MemoryLayout<IndexLink>.stride : 0
        let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity * 16 + textBytes + linkBytes, alignment: 8)
        let rest = memory + capacity * 16
        return (
            memory.bindMemory(to: UInt64.self, capacity: capacity),
            (memory + capacity * 8).bindMemory(to: UInt64.self, capacity: capacity),
            isBytes ? rest.bindMemory(to: IndexNodeText.self, capacity: capacity) : nil,
            isBranch ? (rest + textBytes).bindMemory(to: IndexLink.self, capacity: capacity) : nil
        )
    }

    static func make(level: Int, isBytes: Bool, capacity: Int) -> IndexNodePointer {
        let node = IndexNodePointer.allocate(capacity: 1)
        node.initialize(to: IndexNode(level: level, isBytes: isBytes, capacity: max(capacity, 16)))
        return node
    }

    /// Frees the node and the changed nodes below it.
    static func free(_ node: IndexNodePointer) {
        if let links = node.pointee.links {
            for i in 0..<node.pointee.count { if let child = links[i].node { free(child) } }
        }
        node.pointee.values.deallocate()
        node.deallocate()
    }

    /// Approximate memory used by the node and the changed nodes below it, in bytes.
    static func changedByteCount(_ node: IndexNodePointer) -> Int {
        let capacity = node.pointee.capacity
        var count = capacity * (16 + (node.pointee.texts == nil ? 0 : MemoryLayout<IndexNodeText>.stride))
        guard let links = node.pointee.links else { return count }
        count += capacity * MemoryLayout<IndexLink>.stride
        for i in 0..<node.pointee.count { if let child = links[i].node { count += changedByteCount(child) } }
        return count
    }

    mutating func reserve(_ needed: Int) {
        guard needed > capacity else { return }
        let grown = max(needed, capacity * 2)
        let new = Self.makeArrays(grown, isBytes: texts != nil, isBranch: links != nil)
        new.values.update(from: values, count: count)
        new.keys.update(from: keys, count: count)
        if let texts, let target = new.texts { target.update(from: texts, count: count) }
        if let links, let target = new.links { target.update(from: links, count: count) }
        values.deallocate()
        (values, keys, texts, links) = new
        capacity = grown
    }

    @inline(__always)
    func entry(_ i: Int) -> IndexProbe {
        IndexProbe(
            value: values[i], key: keys[i], text: texts.map { $0[i].text } ?? .empty, isNull: i < nullCount)
    }

    /// Inserts an entry (in a branch: a separator and its child) at `slot`. Its bytes must be in the arena.
    @inline(__always)
    mutating func insert(_ entry: IndexProbe, _ link: IndexLink? = nil, at slot: Int) {
        if count == capacity { reserve(count + 1) }
        let tail = count &- slot
        if tail > 0 {
            (values + slot + 1).update(from: values + slot, count: tail)
            (keys + slot + 1).update(from: keys + slot, count: tail)
        }
        values[slot] = entry.value
        keys[slot] = entry.key
        if let texts {
            if tail > 0 { (texts + slot + 1).update(from: texts + slot, count: tail) }
            texts[slot] = IndexNodeText(entry.text)
        }
        if let links, let link {
            if tail > 0 { (links + slot + 1).update(from: links + slot, count: tail) }
            links[slot] = link
        }
        if entry.isNull { nullCount &+= 1 }
        count &+= 1
    }

    mutating func remove(at slot: Int) {
        let tail = count - slot - 1
        (values + slot).update(from: values + slot + 1, count: tail)
        (keys + slot).update(from: keys + slot + 1, count: tail)
        if let texts { (texts + slot).update(from: texts + slot + 1, count: tail) }
        if let links { (links + slot).update(from: links + slot + 1, count: tail) }
        if slot < nullCount { nullCount -= 1 }
        count -= 1
    }

    /// Removes non-null entries from a leaf of a `fixed` tree.
    mutating func remove(_ range: Range<Int>) {
        let tail = count - range.upperBound
        (values + range.lowerBound).update(from: values + range.upperBound, count: tail)
        (keys + range.lowerBound).update(from: keys + range.upperBound, count: tail)
        count -= range.count
    }

    /// Removes the entries of a leaf whose keys are in the set; returns their number.
    mutating func removeAll(_ set: KeySet) -> Int {
        var target = 0
        var nulls = 0
        for i in 0..<count where !set.contains(keys[i]) {
            if i < nullCount { nulls &+= 1 }
            values[target] = values[i]
            keys[target] = keys[i]
            if let texts { texts[target] = texts[i] }
            target &+= 1
        }
        let removed = count - target
        nullCount = nulls
        count = target
        return removed
    }

    /// Copies the bytes of all entries to an arena.
    mutating func copyTexts(to arena: inout IndexArena) {
        guard let texts else { return }
        for i in 0..<count { texts[i] = IndexNodeText(arena.copy(texts[i].text)) }
    }

    /// Appends non-null entries.
    mutating func append(
        values source: UnsafePointer<UInt64>, keys sourceKeys: UnsafePointer<UInt64>, count n: Int
    ) {
        reserve(count + n)
        (values + count).update(from: source, count: n)
        (keys + count).update(from: sourceKeys, count: n)
        count += n
    }

    /// Appends `range` of another node of the same level.
    mutating func append(_ other: IndexNodePointer, _ range: Range<Int>) {
        let n = range.count
        reserve(count + n)
        (values + count).update(from: other.pointee.values + range.lowerBound, count: n)
        (keys + count).update(from: other.pointee.keys + range.lowerBound, count: n)
        if let texts, let source = other.pointee.texts {
            (texts + count).update(from: source + range.lowerBound, count: n)
        }
        if let links, let source = other.pointee.links {
            (links + count).update(from: source + range.lowerBound, count: n)
        }
        nullCount += max(0, min(other.pointee.nullCount, range.upperBound) - range.lowerBound)
        count += n
    }

    /// Call after all entries of a leaf have been appended.
    mutating func addSealedCount(of other: IndexNodePointer) { sealedCount += other.pointee.sealedCount }

    /// Replaces the separator of the first child. The new one must not be above it.
    mutating func setFirstSeparator(_ separator: IndexProbe) {
        if !separator.isNull { nullCount = 0 } else { nullCount = max(nullCount, 1) }
        values[0] = separator.value
        keys[0] = separator.key
        texts?[0] = IndexNodeText(separator.text)
    }

    /// Call on a new node after its arrays have been filled from a sealed one.
    mutating func setCount(_ n: Int, nullCount nulls: Int) {
        count = n
        sealedCount = n
        nullCount = nulls
    }

    mutating func truncate(_ n: Int) {
        count = n
        sealedCount = min(sealedCount, n)
        nullCount = min(nullCount, n)
    }

    /// The number of entries below a branch, or in a leaf.
    var entryCount: Int {
        guard let links else { return count }
        return (0..<count).reduce(0) { $0 &+ links[$1].entryCount }
    }

    /// The first entry at or after `probe` (with `orEqual`: after it), or `count`.
    @inline(__always)
    func bound(_ probe: IndexProbe, orEqual: Bool) -> Int {
        if texts != nil || probe.isNull { return slowBound(probe, orEqual: orEqual) }
        var low = nullCount
        var length = count &- nullCount
        // Branch-free binary search by value, then by key among equal values.
        while length > 0 {
            let half = length &>> 1
            let isBefore = values[low &+ half] < probe.value
            low = isBefore ? low &+ half &+ 1 : low
            length = isBefore ? length &- half &- 1 : half
        }
        if low == count || values[low] != probe.value { return low }
        if !orEqual && probe.key == 0 { return low }
        var high = count
        while low < high {
            let middle = (low &+ high) &>> 1
            let isBefore =
                values[middle] == probe.value
                && (keys[middle] < probe.key || orEqual && keys[middle] == probe.key)
            if isBefore { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    private func slowBound(_ probe: IndexProbe, orEqual: Bool) -> Int {
        var low = probe.isNull ? 0 : nullCount
        var high = probe.isNull ? nullCount : count
        let second = IndexNodeText(probe.text).second
        while low < high {
            let middle = (low &+ high) &>> 1
            let value = values[middle]
            var order = value == probe.value ? 0 : value < probe.value ? -1 : 1
            if order == 0, let texts, !probe.isNull {
                order = Self.compare(texts[middle], probe.text, second)
            }
            if order == 0 { order = keys[middle] == probe.key ? 0 : keys[middle] < probe.key ? -1 : 1 }
            if order < 0 || orEqual && order == 0 { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Compares texts whose first 8 bytes, padded with zeros, are equal.
    @inline(__always)
    private static func compare(_ own: IndexNodeText, _ text: IndexText, _ second: UInt64) -> Int {
        if own.second != second { return own.second < second ? -1 : 1 }
        if own.text.byteCount <= 16, text.byteCount <= 16 { return own.text.byteCount &- text.byteCount }
        return IndexKey.compare(own.text.address, own.text.byteCount, text.address, text.byteCount)
    }

    func hasValue(_ i: Int, _ probe: IndexProbe) -> Bool {
        if (i < nullCount) != probe.isNull { return false }
        if probe.isNull { return true }
        guard values[i] == probe.value else { return false }
        guard let texts else { return true }
        let text = texts[i].text
        return IndexKey.compare(text.address, text.byteCount, probe.text.address, probe.text.byteCount) == 0
    }
}

/// Memory for the bytes of the entries of changed leaves. Nothing is freed before `reset` or `reuse`.
struct IndexArena {
    private var chunks: [UnsafeMutableRawPointer] = []
    private var next: UnsafeMutableRawPointer?
    private var room = 0
    private var lastByteCount = 0
    private(set) var heldByteCount = 0

    /// Allocates `byteCount` bytes, at most 64 KiB.
    mutating func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
        if byteCount > room || next == nil {
            // Chunks of 8 KiB to 1 MiB.
            let size = max(8192 << min(chunks.count, 7), byteCount)
            let chunk = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            chunks.append(chunk)
            next = chunk
            room = size
            lastByteCount = size
            heldByteCount += size
        }
        let result = next.unsafelyUnwrapped
        next = result + byteCount
        room -= byteCount
        return result
    }

    mutating func copy(_ text: IndexText) -> IndexText {
        if text.byteCount == 0 { return .empty }
        let target = allocate(text.byteCount)
        target.copyMemory(from: text.address, byteCount: text.byteCount)
        return IndexText(UnsafeRawPointer(target), text.byteCount)
    }

    /// Takes over the memory of `other`, which is then empty.
    mutating func absorb(_ other: inout IndexArena) {
        chunks = other.chunks + chunks
        heldByteCount += other.heldByteCount
        other = IndexArena()
    }

    /// Discards everything but keeps the last chunk, part of which is still in the processor's cache.
    mutating func reuse() {
        guard let last = chunks.popLast() else { return }
        for chunk in chunks { chunk.deallocate() }
        chunks = [last]
        next = last
        room = lastByteCount
        heldByteCount = lastByteCount
    }

    mutating func reset() {
        for chunk in chunks { chunk.deallocate() }
        chunks = []
        next = nil
        heldByteCount = 0
        room = 0
    }
}
