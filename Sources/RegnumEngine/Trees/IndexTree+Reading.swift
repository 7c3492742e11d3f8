// SPDX-License-Identifier: Apache-2.0
// Lookups in an index tree. They access nodes as `IndexNodeView`, whether sealed in a block or changed in memory, and
// allocate nothing.

/// A node, sealed (`bytes`) or changed (`node`).
struct IndexNodeView {
    let node: IndexNodePointer?
    let bytes: UnsafeRawPointer
    let level: Int

    @inline(__always)
    init(node: IndexNodePointer) {
        self.node = node
        bytes = UnsafeRawPointer(node)
        level = node.pointee.level
    }

    @inline(__always)
    init(bytes: UnsafeRawPointer) {
        node = nil
        self.bytes = bytes
        level = Int(bytes.load(fromByteOffset: IndexNodeLayout.levelOffset, as: UInt8.self))
    }

    @inline(__always) var count: Int {
        node.map { $0.pointee.count }
            ?? Int(bytes.load(fromByteOffset: IndexNodeLayout.countOffset, as: UInt16.self))
    }

    @inline(__always)
    func child(_ probe: IndexProbe, isBytes: Bool) -> Int {
        if let node { return max(node.pointee.bound(probe, orEqual: false) &- 1, 0) }
        return IndexBranchView(bytes).child(probe, isBytes: isBytes)
    }

    /// In a branch: the number of entries below a child.
    @inline(__always)
    func entryCount(_ slot: Int) -> Int {
        if let node { return node.pointee.links.unsafelyUnwrapped[slot].entryCount }
        return Int(clamping: IndexBranchView(bytes).entryCount(slot))
    }

    /// In a leaf: the first entry at or after `probe`, or `count`.
    @inline(__always)
    func lowerBound(_ probe: IndexProbe, isBytes: Bool) -> Int {
        if let node { return node.pointee.bound(probe, orEqual: false) }
        return IndexLeafView(bytes).lowerBound(probe, isBytes: isBytes)
    }

    func lowerBound(_ probe: IndexProbe, from start: Int, isBytes: Bool) -> Int {
        if let node { return node.pointee.bound(probe, orEqual: false) }
        return IndexLeafView(bytes).lowerBound(probe, from: start, isBytes: isBytes)
    }

    @inline(__always)
    func key(_ slot: Int) -> UInt64 {
        if let node { return node.pointee.keys[slot] }
        return IndexLeafView(bytes).key(slot)
    }

    @inline(__always)
    func hasValue(_ slot: Int, _ probe: IndexProbe, isBytes: Bool) -> Bool {
        if let node { return node.pointee.hasValue(slot, probe) }
        return IndexLeafView(bytes).hasValue(slot, probe, isBytes: isBytes)
    }

    @inline(__always)
    func isNull(_ slot: Int) -> Bool {
        if let node { return slot < node.pointee.nullCount }
        return slot < IndexLeafView(bytes).nullCount
    }
}

extension IndexTree {
    /// The root, or nil if the tree has no node.
    @inline(__always)
    func rootView() throws(EngineError) -> IndexNodeView? {
        if let node = state.pointee.rootNode { return IndexNodeView(node: node) }
        let root = state.pointee.root
        if root.isNone { return nil }
        return try view(root, parentLevel: nil)
    }

    @inline(__always)
    func childView(_ parent: IndexNodeView, _ slot: Int) throws(EngineError) -> IndexNodeView {
        if let node = parent.node {
            let links = node.pointee.links.unsafelyUnwrapped
            if let child = links[slot].node { return IndexNodeView(node: child) }
            return try view(links[slot].ref, parentLevel: parent.level)
        }
        return try view(IndexBranchView(parent.bytes).ref(slot), parentLevel: parent.level)
    }

    /// Returns a sealed node. Levels must decrease by one per step, so a traversal ends whatever the file holds.
    @inline(__always)
    func view(_ ref: BlockRef, parentLevel: Int?) throws(EngineError) -> IndexNodeView {
        let bytes = try space.bytes(ref)
        let view = IndexNodeView(bytes: bytes)
        let isLeaf = ref.kind == BlockKind.indexLeaf.rawValue
        guard isLeaf || ref.kind == BlockKind.indexBranch.rawValue,
            bytes.load(fromByteOffset: IndexNodeLayout.formOffset, as: UInt8.self) == kind.rawValue,
            isLeaf == (view.level == 0),
            parentLevel == nil || view.level == parentLevel.unsafelyUnwrapped &- 1
        else { throw misplaced(ref) }
        return view
    }

    @inline(never)
    private func misplaced(_ ref: BlockRef) -> EngineError {
        corrupted(
            "an index tree refers to a node of the wrong kind or level", page: ref.isPending ? nil : ref.page)
    }

    // MARK: Lookups

    /// Returns the lowest key with that value, or nil. About 100 ns with a million entries in the cache.
    package func firstKey(value: UInt64) throws(EngineError) -> UInt64? {
        // Ascending inserts look up values beyond the last entry.
        if let tail = state.pointee.tail, tail.pointee.count > tail.pointee.nullCount,
            tail.pointee.values[tail.pointee.count &- 1] < value
        {
            return nil
        }
        return try firstKey(IndexProbe(value: value, key: 0), isBytes: false)
    }

    package func firstKey(bytes: UnsafeRawBufferPointer) throws(EngineError) -> UInt64? {
        try firstKey(probe(bytes, key: 0), isBytes: true)
    }

    package func firstNullKey() throws(EngineError) -> UInt64? {
        try firstKey(.null(key: 0), isBytes: isBytes)
    }

    @inline(__always)
    private func firstKey(_ probe: IndexProbe, isBytes: Bool) throws(EngineError) -> UInt64? {
        guard var view = try rootView() else { return nil }
        while view.level > 0 {
            view = try childView(view, view.child(probe, isBytes: isBytes))
        }
        let slot = view.lowerBound(probe, isBytes: isBytes)
        if slot == view.count { return try firstKeySlowly(probe) }
        return view.hasValue(slot, probe, isBytes: isBytes) ? view.key(slot) : nil
    }

    /// The case in which the entry may be the first of the next leaf.
    @inline(never)
    private func firstKeySlowly(_ probe: IndexProbe) throws(EngineError) -> UInt64? {
        var cursor = IndexCursor(self)
        return try cursor.seek(probe) && cursor.isAt(probe, withKey: false) ? cursor.key : nil
    }

    package func contains(value: UInt64, key: UInt64) throws(EngineError) -> Bool {
        try contains(IndexProbe(value: value, key: key))
    }

    package func contains(bytes: UnsafeRawBufferPointer, key: UInt64) throws(EngineError) -> Bool {
        try contains(probe(bytes, key: key))
    }

    package func containsNull(key: UInt64) throws(EngineError) -> Bool { try contains(.null(key: key)) }

    private func contains(_ probe: IndexProbe) throws(EngineError) -> Bool {
        var cursor = IndexCursor(self)
        return try cursor.seek(probe) && cursor.isAt(probe, withKey: true)
    }

    /// Calls `body` with the keys that have that value, ascending, at most `limit` of them. `body` must not change the
    /// tree.
    package func forEachKey(value: UInt64, limit: Int = .max, _ body: (UInt64) -> Void) throws(EngineError) {
        try forEachKey(IndexProbe(value: value, key: 0), limit, body)
    }

    package func forEachKey(
        bytes: UnsafeRawBufferPointer, limit: Int = .max, _ body: (UInt64) -> Void
    ) throws(EngineError) {
        try forEachKey(probe(bytes, key: 0), limit, body)
    }

    package func forEachNullKey(limit: Int = .max, _ body: (UInt64) -> Void) throws(EngineError) {
        try forEachKey(.null(key: 0), limit, body)
    }

    private func forEachKey(_ probe: IndexProbe, _ limit: Int, _ body: (UInt64) -> Void) throws(EngineError) {
        var cursor = IndexCursor(self)
        var isThere = try cursor.seek(probe)
        var left = limit
        while isThere, left > 0, cursor.isAt(probe, withKey: false) {
            body(cursor.key)
            left &-= 1
            if left > 0 { isThere = try cursor.next() }
        }
    }

    /// Returns the key of the entry at `position` among those with the value; nil if there are fewer. O(log n).
    package func key(value: UInt64, at position: Int) throws(EngineError) -> UInt64? {
        let first = IndexProbe(value: value, key: 0)
        var cursor = IndexCursor(self)
        let isThere =
            position == 0 ? try cursor.seek(first) : try cursor.seek(rank: try rank(first) + position)
        return isThere && cursor.isAt(first, withKey: false) ? cursor.key : nil
    }

    /// The number of entries with that value. O(log n).
    package func count(value: UInt64) throws(EngineError) -> Int {
        try count(equalTo: IndexProbe(value: value, key: 0), isBytes: false)
    }

    package func count(bytes: UnsafeRawBufferPointer) throws(EngineError) -> Int {
        try count(equalTo: probe(bytes, key: 0), isBytes: true)
    }

    /// Descends to the first match, which is enough for most values: they occur once or not at all.
    @inline(__always)
    private func count(equalTo first: IndexProbe, isBytes: Bool) throws(EngineError) -> Int {
        guard var view = try rootView() else { return 0 }
        while view.level > 0 {
            view = try childView(view, view.child(first, isBytes: isBytes))
        }
        let slot = view.lowerBound(first, isBytes: isBytes)
        if slot &+ 1 < view.count {
            if !view.hasValue(slot, first, isBytes: isBytes) { return 0 }
            if !view.hasValue(slot &+ 1, first, isBytes: isBytes) { return 1 }
        }
        var last = first
        last.key = .max
        return try count(first, last)
    }

    package func countNull() throws(EngineError) -> Int { try rank(.null(key: .max)) }

    /// The number of entries before (value, key), including nulls; with key `.max`, of entries up to the value. The
    /// count of a range is the difference of two ranks. O(log n).
    package func rank(value: UInt64, key: UInt64) throws(EngineError) -> Int {
        try rank(IndexProbe(value: value, key: key))
    }

    package func rank(bytes: UnsafeRawBufferPointer, key: UInt64) throws(EngineError) -> Int {
        try rank(probe(bytes, key: key))
    }

    /// The number of entries from `low` through `high`, both included. O(log n).
    func count(from low: UInt64, through high: UInt64) throws(EngineError) -> Int {
        try count(IndexProbe(value: low, key: 0), IndexProbe(value: high, key: .max))
    }

    /// The number of entries from `low` up to `high`, exclusive. Both must be at most `IndexKey.exactByteCount` long.
    /// O(log n).
    func count(from low: UnsafeRawBufferPointer, to high: UnsafeRawBufferPointer) throws(EngineError) -> Int {
        precondition(low.count <= IndexKey.exactByteCount && high.count <= IndexKey.exactByteCount)
        return try count(probe(low, key: 0), probe(high, key: 0))
    }

    /// The number of entries from `low` up to `high`, exclusive. Descends once while both are below the same child,
    /// then twice.
    private func count(_ low: IndexProbe, _ high: IndexProbe) throws(EngineError) -> Int {
        guard var view = try rootView() else { return 0 }
        while view.level > 0 {
            let first = view.child(low, isBytes: isBytes)
            let last = view.child(high, isBytes: isBytes)
            if last < first { return 0 }
            if first < last {
                var between = 0
                for i in first..<last { between &+= view.entryCount(i) }
                let before = try rank(low, below: try childView(view, first))
                return max(0, between &+ (try rank(high, below: try childView(view, last))) &- before)
            }
            view = try childView(view, first)
        }
        let first = view.lowerBound(low, isBytes: isBytes)
        let last = view.lowerBound(high, from: first, isBytes: isBytes)
        return max(0, last - first)
    }

    private func rank(_ probe: IndexProbe) throws(EngineError) -> Int {
        guard let view = try rootView() else { return 0 }
        return try rank(probe, below: view)
    }

    private func rank(_ probe: IndexProbe, below top: IndexNodeView) throws(EngineError) -> Int {
        var view = top
        var before = 0
        while view.level > 0 {
            let slot = view.child(probe, isBytes: isBytes)
            for i in 0..<slot { before &+= view.entryCount(i) }
            view = try childView(view, slot)
        }
        return before &+ view.lowerBound(probe, isBytes: isBytes)
    }
}
