// SPDX-License-Identifier: Apache-2.0
// A path into an index tree that moves in key order. Valid until the tree is changed, sealed or rolled back.

package struct IndexCursor: ~Copyable {
    private struct Step {
        var view: IndexNodeView
        var slot: Int
        var count: Int
    }

    private let tree: IndexTree
    private let steps: UnsafeMutablePointer<Step>
    /// Number of nodes on the path; 0 if the cursor is at no entry.
    private(set) var depth = 0
    /// Sealed nodes visited since the last seek, and the number of entries in the leaves among them.
    private var visited = 0
    private var entries = 0

    package init(_ tree: IndexTree) {
        self.tree = tree
        steps = .allocate(capacity: FormatLimits.treeDepth + 1)
    }

    deinit { steps.deallocate() }

    // MARK: Moving

    /// Moves to the first entry at or after (value, key); false if there is none.
    package mutating func seek(value: UInt64, key: UInt64 = 0) throws(EngineError) -> Bool {
        try seek(IndexProbe(value: value, key: key))
    }

    package mutating func seek(bytes: UnsafeRawBufferPointer, key: UInt64 = 0) throws(EngineError) -> Bool {
        try seek(tree.probe(bytes, key: key))
    }

    /// Moves to the first entry; nulls come first.
    package mutating func seekFirst() throws(EngineError) -> Bool { try seek(.null(key: 0)) }

    /// Moves to the first entry that is not null.
    package mutating func seekFirstValue() throws(EngineError) -> Bool {
        try seek(IndexProbe(value: 0, key: 0))
    }

    mutating func seek(_ probe: IndexProbe) throws(EngineError) -> Bool {
        depth = 0
        visited = 0
        entries = 0
        guard var view = try tree.rootView() else { return false }
        while view.level > 0 {
            push(view, view.child(probe, isBytes: tree.isBytes))
            view = try tree.childView(view, steps[depth &- 1].slot)
        }
        push(view, view.lowerBound(probe, isBytes: tree.isBytes))
        return try settle()
    }

    /// Moves to the entry with `rank` entries before it; false if there is none. O(log n).
    package mutating func seek(rank: Int) throws(EngineError) -> Bool {
        depth = 0
        visited = 0
        entries = 0
        guard rank >= 0, var view = try tree.rootView() else { return false }
        var rest = rank
        while view.level > 0 {
            let count = view.count
            var slot = 0
            while slot &+ 1 < count {
                let below = view.entryCount(slot)
                if rest < below { break }
                rest &-= below
                slot &+= 1
            }
            push(view, slot)
            view = try tree.childView(view, slot)
        }
        push(view, rest)
        return try settle()
    }

    /// Moves to the next entry; false after the last one.
    @inline(__always)
    package mutating func next() throws(EngineError) -> Bool {
        guard depth > 0 else { return false }
        steps[depth &- 1].slot &+= 1
        if steps[depth &- 1].slot < steps[depth &- 1].count { return true }
        return try settle()
    }

    private mutating func push(_ view: IndexNodeView, _ slot: Int) {
        steps[depth] = Step(view: view, slot: slot, count: view.count)
        depth &+= 1
    }

    /// Moves from the end of a leaf to the first entry after it.
    private mutating func settle() throws(EngineError) -> Bool {
        while depth > 0 {
            if steps[depth - 1].slot >= steps[depth - 1].count {
                depth -= 1
                if depth > 0 { steps[depth - 1].slot += 1 }
                continue
            }
            let view = steps[depth - 1].view
            if view.level == 0 { return true }
            let child = try tree.childView(view, steps[depth - 1].slot)
            if child.node == nil { try countVisit(child) }
            push(child, 0)
        }
        return false
    }

    /// In a damaged tree the same blocks may be reached again and again, or hold more entries than the tree states. The
    /// block limit is computed only for every 16th visit.
    private mutating func countVisit(_ view: IndexNodeView) throws(EngineError) {
        visited &+= 1
        if view.level == 0 { entries &+= view.count }
        if entries > tree.state.pointee.count || visited & 15 == 0 && visited > tree.blockLimit {
            throw corrupted("an index tree is too large")
        }
    }

    // MARK: The entry (only if the last move returned true)

    @inline(__always) package var key: UInt64 { steps[depth &- 1].view.key(steps[depth &- 1].slot) }
    package var isNull: Bool { steps[depth - 1].view.isNull(steps[depth - 1].slot) }

    /// The value in a `fixed` tree; 0 if null.
    @inline(__always) package var value: UInt64 {
        let step = steps[depth &- 1]
        if let node = step.view.node { return node.pointee.values[step.slot] }
        let leaf = IndexLeafView(step.view.bytes)
        return step.slot < leaf.nullCount ? 0 : leaf.value(step.slot)
    }

    /// Copies the stored form of the value in a `bytes` tree (`IndexKey.isExact`) to `target`, which must have room for
    /// `IndexKey.storedByteCount` bytes. Returns the number of bytes, 0 if null.
    package func copyBytes(to target: UnsafeMutableRawPointer) -> Int {
        precondition(tree.isBytes, "bytes of a tree of numbers")
        let step = steps[depth - 1]
        if step.view.isNull(step.slot) { return 0 }
        if let node = step.view.node {
            let text = node.pointee.entry(step.slot).text
            if text.byteCount > 0 { target.copyMemory(from: text.address, byteCount: text.byteCount) }
            return text.byteCount
        }
        let leaf = IndexLeafView(step.view.bytes)
        let (prefix, suffix) = (leaf.prefix, leaf.suffix(step.slot))
        target.copyMemory(from: prefix.address, byteCount: prefix.byteCount)
        (target + prefix.byteCount).copyMemory(from: suffix.address, byteCount: suffix.byteCount)
        return prefix.byteCount + suffix.byteCount
    }

    /// True if the entry is before (value, key): the end test of a range.
    @inline(__always)
    package func isBefore(value: UInt64, key: UInt64 = 0) -> Bool {
        if isNull { return true }
        let own = self.value
        return own < value || own == value && self.key < key
    }

    /// True if the entry is before (bytes, key).
    package func isBefore(bytes: UnsafeRawBufferPointer, key: UInt64 = 0) -> Bool {
        let step = steps[depth - 1]
        let probe = tree.probe(bytes, key: key)
        if let node = step.view.node {
            return node.pointee.entry(step.slot).compare(probe, isBytes: true) < 0
        }
        return step.slot < step.view.lowerBound(probe, isBytes: true)
    }

    /// True if the entry has the value of `probe` and, with `withKey`, also its key.
    @inline(__always)
    func isAt(_ probe: IndexProbe, withKey: Bool) -> Bool {
        let step = steps[depth &- 1]
        return step.view.hasValue(step.slot, probe, isBytes: tree.isBytes)
            && (!withKey || step.view.key(step.slot) == probe.key)
    }

    func slot(_ depth: Int) -> Int { steps[depth].slot }
}
