// SPDX-License-Identifier: Apache-2.0
// The B+tree behind primary keys, indexes and backlinks: an ordered multiset of (value, object key). Sealed nodes are
// read in place; the changes of a write transaction are held in memory as growable nodes, which are cut into blocks
// when the tree is sealed (IndexTree+Seal.swift).
//
// Confined to its session. All reads may throw `.corrupted`. If a change throws, the transaction must be rolled back.
// Cursors are valid until the next change, seal or rollback.

import RegnumSystem

package final class IndexTree {
    package enum Kind: UInt8, Sendable {
        /// Values are UInt64 (`IndexKey.encode`).
        case fixed = 0
        /// Values are bytes.
        case bytes = 1
    }

    struct State {
        /// The root of the last seal or rollback; its blocks may have been freed if `rootNode` is set.
        var root: BlockRef
        /// The root, if something has been changed since.
        var rootNode: IndexNodePointer?
        var count: Int
        var arena = IndexArena()
        /// The arena of leaves that are packed before any others are loaded.
        var leafArena = IndexArena()
        /// The last leaf, if the last insert went to its end; `steps` then holds the path to it.
        var tail: IndexNodePointer?
        var tailDepth = 0
    }

    /// The largest number of entries in a changed leaf and of children in a changed branch before it is split in
    /// memory: small enough to keep moving entries cheap, large enough to keep paths short.
    static let leafLimit = 512
    static let branchLimit = 512

    let space: BlockSpace
    package let kind: Kind
    let isBytes: Bool
    let state: UnsafeMutablePointer<State>
    /// The path from the root to the tail, or of the running change.
    let steps: UnsafeMutablePointer<(node: IndexNodePointer, slot: Int)>

    /// The tree at `root` (`.none`: empty) with `count` entries. Reads nothing.
    package init(space: BlockSpace, kind: Kind, root: BlockRef, count: UInt64) {
        self.space = space
        self.kind = kind
        isBytes = kind == .bytes
        state = .allocate(capacity: 1)
        state.initialize(to: State(root: root, count: Int(clamping: count)))
        steps = .allocate(capacity: FormatLimits.treeDepth + 1)
    }

    deinit {
        dropNodes()
        state.deinitialize(count: 1)
        state.deallocate()
        steps.deallocate()
    }

    /// The number of entries. O(1).
    package var count: UInt64 { UInt64(clamping: state.pointee.count) }
    package var isEmpty: Bool { state.pointee.count == 0 }
    /// The root of the last seal.
    package var root: BlockRef { state.pointee.root }
    /// True if there are changes to seal.
    package var isDirty: Bool { state.pointee.rootNode != nil }

    // MARK: Probes

    /// Returns a value of a `bytes` tree in stored form. Valid until this thread makes the next probe.
    func probe(_ bytes: UnsafeRawBufferPointer, key: UInt64) -> IndexProbe {
        assert(isBytes, "bytes in a tree of numbers")
        guard let start = bytes.baseAddress, bytes.count > 0 else { return IndexProbe(value: 0, key: key) }
        var text = IndexText(start, bytes.count)
        if bytes.count > IndexKey.exactByteCount {
            let scratch = ThreadScratch.bytes
            assert(IndexKey.storedByteCount <= ThreadScratch.byteCount)
            scratch.copyMemory(from: start, byteCount: IndexKey.exactByteCount)
            let tag = space.reader.hash.tag(start, bytes.count)
            scratch.storeBytes(of: tag.low, toByteOffset: IndexKey.exactByteCount, as: UInt64.self)
            scratch.storeBytes(of: tag.high, toByteOffset: IndexKey.exactByteCount + 8, as: UInt64.self)
            text = IndexText(UnsafeRawPointer(scratch), IndexKey.storedByteCount)
        }
        return IndexProbe(value: IndexKey.head(text.address, text.byteCount), key: key, text: text)
    }

    // MARK: Changing

    /// Adds an entry, even if there is an equal one. `key` must not be UInt64.max. O(log n).
    package func insert(value: UInt64, key: UInt64) throws(EngineError) {
        try insert(IndexProbe(value: value, key: key))
    }

    package func insert(bytes: UnsafeRawBufferPointer, key: UInt64) throws(EngineError) {
        try insert(probe(bytes, key: key))
    }

    package func insertNull(key: UInt64) throws(EngineError) { try insert(.null(key: key)) }

    /// Removes one entry equal to (value, key); false if there is none. O(log n).
    package func remove(value: UInt64, key: UInt64) throws(EngineError) -> Bool {
        try remove(IndexProbe(value: value, key: key))
    }

    package func remove(bytes: UnsafeRawBufferPointer, key: UInt64) throws(EngineError) -> Bool {
        try remove(probe(bytes, key: key))
    }

    package func removeNull(key: UInt64) throws(EngineError) -> Bool { try remove(.null(key: key)) }

    /// Adds `count` entries in ascending order of (value, key). Fast if all of them come after the existing entries, as
    /// when the tree is built.
    package func insertSorted(
        values: UnsafePointer<UInt64>, keys: UnsafePointer<UInt64>, count n: Int
    ) throws(EngineError) {
        var done = 0
        while done < n {
            // The first insert establishes whether the rest can be appended to the last leaf.
            try insert(IndexProbe(value: values[done], key: keys[done]))
            done += 1
            guard let tail = state.pointee.tail, tail.pointee.count < Self.leafLimit else { continue }
            let room = min(Self.leafLimit - tail.pointee.count, n - done)
            tail.pointee.append(values: values + done, keys: keys + done, count: room)
            addToTailPath(room)
            done += room
            assertInvariants(tail, done: tail.pointee.count - 1, depth: state.pointee.tailDepth)
        }
    }

    @inline(__always)
    private func addToTailPath(_ n: Int) {
        for i in 0..<state.pointee.tailDepth {
            let (node, slot) = steps[i]
            node.pointee.links.unsafelyUnwrapped[slot].entryCount &+= n
        }
        state.pointee.count &+= n
    }

    @inline(__always)
    func insert(_ probe: IndexProbe) throws(EngineError) {
        if let tail = state.pointee.tail {
            let n = tail.pointee.count
            if n < Self.leafLimit, n > 0, isAfter(probe, tail, n &- 1) {
                tail.pointee.insert(stored(probe), at: n)
                addToTailPath(1)
                assertInvariants(tail, done: n, depth: state.pointee.tailDepth)
                return
            }
            state.pointee.tail = nil
        }
        while try !insertFromRoot(probe) {}
    }

    /// True if `probe` is at or after entry `i`.
    @inline(__always)
    private func isAfter(_ probe: IndexProbe, _ node: IndexNodePointer, _ i: Int) -> Bool {
        if !isBytes, !probe.isNull, i >= node.pointee.nullCount {
            let value = node.pointee.values[i]
            return value < probe.value || value == probe.value && node.pointee.keys[i] <= probe.key
        }
        return node.pointee.entry(i).compare(probe, isBytes: isBytes) <= 0
    }

    @inline(__always)
    private func stored(_ probe: IndexProbe) -> IndexProbe {
        guard isBytes, !probe.isNull else { return probe }
        var result = probe
        result.text = state.pointee.arena.copy(probe.text)
        return result
    }

    /// Converts the root to a changed node.
    func dirtyRoot() throws(EngineError) -> IndexNodePointer {
        if let node = state.pointee.rootNode { return node }
        let node =
            state.pointee.root.isNone
            ? IndexNode.make(level: 0, isBytes: isBytes, capacity: 16)
            : try load(state.pointee.root, parentLevel: nil)
        state.pointee.rootNode = node
        return node
    }

    /// Converts a child to a changed node.
    @inline(__always)
    func dirtyChild(_ node: IndexNodePointer, _ slot: Int) throws(EngineError) -> IndexNodePointer {
        let links = node.pointee.links.unsafelyUnwrapped
        if let child = links[slot].node { return child }
        let child = try load(links[slot].ref, parentLevel: node.pointee.level)
        links[slot].node = child
        links[slot].ref = .none
        return child
    }

    /// Returns false if a node had to be split first: the caller must try again.
    private func insertFromRoot(_ probe: IndexProbe) throws(EngineError) -> Bool {
        var node = try dirtyRoot()
        var depth = 0
        var isLast = true
        while node.pointee.level > 0 {
            let slot = max(node.pointee.bound(probe, orEqual: true) &- 1, 0)
            isLast = isLast && slot == node.pointee.count &- 1
            steps[depth] = (node, slot)
            depth &+= 1
            node = try dirtyChild(node, slot)
        }
        let slot = node.pointee.bound(probe, orEqual: true)
        if node.pointee.count >= Self.leafLimit {
            split(node, depth: depth, at: slot == node.pointee.count ? slot : node.pointee.count / 2, probe)
            return false
        }
        node.pointee.insert(stored(probe), at: slot)
        for i in 0..<depth { steps[i].node.pointee.links.unsafelyUnwrapped[steps[i].slot].entryCount &+= 1 }
        state.pointee.count &+= 1
        if isLast && slot == node.pointee.count &- 1 {
            state.pointee.tail = node
            state.pointee.tailDepth = depth
        }
        assertInvariants(node, done: slot, depth: depth)
        return true
    }

    /// Splits a leaf that is longer than `entryLimit`, so that removals do not move thousands of entries each; returns
    /// false for any other leaf.
    private func halved(_ leaf: IndexNodePointer, depth: Int) -> Bool {
        let n = leaf.pointee.count
        guard n > IndexNodeLayout.entryLimit else { return false }
        split(leaf, depth: depth, at: n / 2, leaf.pointee.entry(n / 2))
        return true
    }

    /// Moves the part from `slot` on into a new right neighbour; if it is empty, `next` will be inserted there.
    private func split(_ node: IndexNodePointer, depth: Int, at slot: Int, _ next: IndexProbe) {
        let total = node.pointee.count
        let right = IndexNode.make(
            level: node.pointee.level, isBytes: isBytes,
            capacity: node.pointee.level == 0 ? max(Self.leafLimit, total - slot) : Self.branchLimit)
        right.pointee.append(node, slot..<total)
        let separator =
            slot < total
            ? shortened(
                node.pointee.entry(slot), after: node.pointee.entry(slot - 1), isLeaf: node.pointee.level == 0
            )
            : stored(next)
        node.pointee.truncate(slot)
        if depth == 0 {
            let top = IndexNode.make(level: node.pointee.level + 1, isBytes: isBytes, capacity: 64)
            let left = IndexLink(ref: .none, node: node, entryCount: node.pointee.entryCount)
            top.pointee.insert(.null(key: 0), left, at: 0)
            top.pointee.insert(
                separator, IndexLink(ref: .none, node: right, entryCount: right.pointee.entryCount), at: 1)
            state.pointee.rootNode = top
            return
        }
        let (parent, position) = steps[depth - 1]
        let links = parent.pointee.links.unsafelyUnwrapped
        links[position].entryCount = node.pointee.entryCount
        parent.pointee.insert(
            separator, IndexLink(ref: .none, node: right, entryCount: right.pointee.entryCount),
            at: position + 1)
        if parent.pointee.count > Self.branchLimit {
            let isEnd = position + 2 == parent.pointee.count
            split(
                parent, depth: depth - 1, at: isEnd ? parent.pointee.count - 1 : parent.pointee.count / 2,
                next)
        }
    }

    /// Returns the separator before an entry of a leaf: the shortest prefix that distinguishes it from the entry
    /// before.
    func shortened(_ entry: IndexProbe, after previous: IndexProbe, isLeaf: Bool) -> IndexProbe {
        guard isLeaf, isBytes, !entry.isNull, !previous.isNull else { return entry }
        let limit = min(entry.text.byteCount, previous.text.byteCount)
        let shared = IndexKey.commonPrefix(entry.text.address, previous.text.address, limit: limit)
        guard shared < entry.text.byteCount else { return entry }
        let text = IndexText(entry.text.address, shared + 1)
        return IndexProbe(value: IndexKey.head(text.address, text.byteCount), key: 0, text: text)
    }

    private func remove(_ probe: IndexProbe) throws(EngineError) -> Bool {
        state.pointee.tail = nil
        var cursor = IndexCursor(self)
        var node: IndexNodePointer
        repeat {
            guard try cursor.seek(probe), cursor.isAt(probe, withKey: true) else { return false }
            node = try dirtyRoot()
            for depth in 0..<(cursor.depth - 1) {
                let slot = cursor.slot(depth)
                let child = try dirtyChild(node, slot)
                steps[depth] = (node, slot)
                node = child
            }
        } while halved(node, depth: cursor.depth - 1)
        node.pointee.remove(at: cursor.slot(cursor.depth - 1))
        for depth in 0..<(cursor.depth - 1) {
            steps[depth].node.pointee.links.unsafelyUnwrapped[steps[depth].slot].entryCount &-= 1
        }
        // A damaged file may hold more entries than it states.
        state.pointee.count = max(state.pointee.count - 1, 0)
        assertInvariants(node, done: cursor.slot(cursor.depth - 1), depth: cursor.depth - 1)
        return true
    }

    // MARK: Ends of a transaction

    /// Call after a commit: replaces the pending root by its final location.
    package func adopt(_ sealer: Sealer) {
        precondition(!isDirty, "a tree was changed after it was sealed")
        state.pointee.root = sealer.placed(state.pointee.root)
    }

    /// Discards all changes and shows the tree at `root`. Also used when a session moves to another version.
    package func rollback(root: BlockRef, count: UInt64) {
        dropNodes()
        state.pointee.root = root
        state.pointee.count = Int(clamping: count)
    }

    /// Frees every block; the tree is then empty.
    package func freeAll() throws(EngineError) {
        try forEachBlock { (ref) throws(EngineError) in space.free(ref) }
        rollback(root: .none, count: 0)
    }

    /// Approximate memory used by the changes since the last seal, in bytes.
    package var changedByteCount: Int {
        guard let node = state.pointee.rootNode else { return 0 }
        return IndexNode.changedByteCount(node) + state.pointee.arena.heldByteCount
            + state.pointee.leafArena.heldByteCount
    }

    func dropNodes() {
        if let node = state.pointee.rootNode { IndexNode.free(node) }
        state.pointee.rootNode = nil
        state.pointee.tail = nil
        state.pointee.arena.reset()
        state.pointee.leafArena.reset()
    }

    func setSealed(_ root: BlockRef) {
        dropNodes()
        state.pointee.root = root
    }
}
