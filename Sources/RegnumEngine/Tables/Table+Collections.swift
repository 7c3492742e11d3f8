// SPDX-License-Identifier: Apache-2.0
// The common parts of lists, sets and dictionaries: collections that are being changed, and access to elements in
// place.

import RegnumSystem

/// The leaf that an element was last read from, so that a loop over positions does not search for each. Valid until the
/// session's change count changes.
struct LastLeaf {
    var column: Int
    var key: ObjectKey
    var changeCount: UInt64
    var leaf: StoredLeaf
    var start: Int
    var end: Int
}

extension Table {
    func elementTree(_ column: Int) -> ElementTree {
        let definition = definition.columns[column]
        return ElementTree(
            space: session.space, type: definition.type, isDictionary: definition.collection == .dictionary)
    }

    /// The error for an object that should exist: the index or link that led to it is damaged.
    static func missing(_ key: ObjectKey) -> EngineError {
        corrupted("there is no object with the key \(key.rawValue)")
    }

    package func place(_ key: ObjectKey) throws(EngineError) -> RowLocation {
        guard let location = try locate(key) else { throw Self.missing(key) }
        return location
    }

    /// Returns the collection as stored in the row.
    func storedCollection(_ column: Int, _ location: RowLocation) throws(EngineError) -> ElementChild {
        let view = location.group.columns[column]
        let bytes = view.bytes(location.row)
        guard view.isBlob(location.row) else { return .bytes(bytes) }
        guard bytes.count == BlobRecord.byteCount, let record = bytes.baseAddress else {
            throw corrupted("a blob record has the wrong size")
        }
        let ref = BlockRef(reading: record)
        let tree = elementTree(column)
        let length =
            ElementTree.isNode(ref)
            ? ElementNodeLayout.total(try tree.nodeBytes(ref, below: nil)) : try tree.leafBytes(ref).count
        guard length == BlobRecord.length(record) else {
            throw corrupted("a collection is not what its record says", page: ref.page)
        }
        return .ref(ref)
    }

    /// Returns the collection with the changes of the running transaction.
    func collection(_ column: Int, _ location: RowLocation) throws(EngineError) -> ElementChild {
        if let open = openCollections.find(column, location.key) { return open.root }
        return try storedCollection(column, location)
    }

    /// Returns the leaf of element `index`, and the number of elements before it. `location` is the owner's, if known.
    func leaf(
        _ column: Int, of key: ObjectKey, _ location: RowLocation? = nil, at index: Int
    ) throws(EngineError) -> (leaf: LeafAccess, start: Int) {
        if let open = openCollections.find(column, key) { return try open.locate(index) }
        if let last = lastLeaf(column, key, index) { return (.stored(last.leaf), last.start) }
        let tree = elementTree(column)
        let owner = if let location { location } else { try place(key) }
        let root = try storedCollection(column, owner)
        guard let (leaf, start) = try tree.locate(index, root), case .stored(let stored) = leaf else {
            let count = try tree.count(root)
            precondition(index >= 0 && index < count, "element \(index) of \(count)")
            throw corrupted("the counts of a collection are wrong")
        }
        if !session.isFrozen {
            lastLeaf = LastLeaf(
                column: column, key: key, changeCount: session.changeCount, leaf: stored, start: start,
                end: start + leaf.count)
        }
        return (leaf, start)
    }

    /// The leaf that was last read, if it holds element `index`. Always nil in frozen sessions, which many threads
    /// read.
    @inline(__always)
    private func lastLeaf(_ column: Int, _ key: ObjectKey, _ index: Int) -> LastLeaf? {
        guard !session.isFrozen, let last = lastLeaf, last.key == key, last.column == column,
            last.changeCount == session.changeCount, index >= last.start, index < last.end
        else { return nil }
        return last
    }

    /// Returns the position of an element of a set or dictionary, or the position at which it would be inserted.
    func search(
        _ probe: ElementProbe, _ column: Int, of key: ObjectKey
    ) throws(EngineError) -> (index: Int, isFound: Bool) {
        if let open = openCollections.find(column, key) { return try open.search(probe) }
        return try elementTree(column).search(probe, try storedCollection(column, try place(key)))
    }

    // MARK: Changing

    /// Opens the collection for changes.
    @inline(__always)
    func open(_ column: Int, _ key: ObjectKey) throws(EngineError) -> OpenCollection {
        if let last = openCollections.last, last.column == column, last.key == key { return last }
        return try openAnother(column, key)
    }

    private func openAnother(_ column: Int, _ key: ObjectKey) throws(EngineError) -> OpenCollection {
        if openCollections.isLarge { try flushOpenCollections() }
        if let open = openCollections.use(column, key) { return open }
        if openCollections.count >= OpenCollections.limit { try flushOpenCollections() }
        let open = try OpenCollection(
            column, key, elementTree(column), try storedCollection(column, try place(key)),
            session.database.options.elementTreeLimits)
        openCollections.add(open)
        return open
    }

    /// Writes the open collections back into their objects.
    @inline(__always)
    func flushOpenCollections() throws(EngineError) {
        if openMixed != nil { try writeBackMixed() }
        if !openCollections.isEmpty { try writeBackAll() }
    }

    /// As above, but only if a collection of the object is open. O(collections of the object).
    func flushOpenCollections(of key: ObjectKey) throws(EngineError) {
        if openMixed?.find(where: { $0.key == key }) != nil { try writeBackMixed() }
        if openCollections.isEmpty { return }
        for column in byteColumns where openCollections.find(column, key) != nil { return try writeBackAll() }
    }

    private func writeBackAll() throws(EngineError) {
        let all = openCollections.takeAll()
        try session.change { () throws(EngineError) in
            for open in all where open.isChanged { try write(open) }
        }
    }

    /// True if an open collection has a content index, which must still read the old value to remove its entries.
    var hasOpenIndexedCollection: Bool {
        openCollections.contains { contentIndexes[$0.column] != nil }
    }

    /// See `Session.writeBackIndexed`. Applies to open collections of any column: a query of a content index or of
    /// backlinks writes back all of them, which moves rows.
    func flushIndexedCollections() throws(EngineError) {
        guard !openCollections.isEmpty || openMixed != nil,
            contentIndexes.contains(where: { $0 != nil }) || backlinkTrees.contains(where: { $0 != nil })
        else { return }
        try flushOpenCollections()
    }

    private func write(_ open: OpenCollection) throws(EngineError) {
        guard let group = try groups.dirtyGroup(for: open.key.rawValue) else { return }
        let row = group.view.pointee.row(of: open.key.rawValue)
        let location = RowLocation(group: group.view, row: row)
        // The old value and the ref to it are still readable here, because nothing is spilled before; see
        // `Session.limitMemory`.
        try contentIndexes[open.column]?.remove(location, open.column, open.key.rawValue, self)
        group.makeWritable(open.column)
        switch try open.seal() {
        case .bytes(let bytes): bytes.withUnsafeBytes { group.setBytes(open.column, row, $0) }
        case .block(let ref, let length): group.setBlob(open.column, row, ref, length: length)
        }
        try contentIndexes[open.column]?.insert(location, open.column, open.key.rawValue, self)
    }

    // MARK: Elements in place

    /// Calls `body` with the elements of a list or set, or the values of a dictionary, in order, one stored leaf at a
    /// time, until it returns false; then returns false. Includes uncommitted changes. The argument of `body` is valid
    /// until it returns; `body` must not change the collection.
    @discardableResult
    package func forEachLeaf(
        _ column: Int, _ location: RowLocation, _ body: (ListCodec.Reader) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        try forEachStoredLeaf(column, location) { leaf throws(EngineError) in try body(leaf.values) }
    }

    /// Like `forEachLeaf`, for a dictionary with its keys.
    @discardableResult
    package func forEachDictionaryLeaf(
        _ column: Int, _ location: RowLocation,
        _ body: (DictionaryCodec.Reader) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        try forEachStoredLeaf(column, location) { leaf throws(EngineError) in
            guard let keys = leaf.keys else { preconditionFailure("not a dictionary") }
            return try body(DictionaryCodec.Reader(keys: keys, values: leaf.values))
        }
    }

    /// The bytes of a collection stored in its row, as most are, if no collection is open; otherwise nil.
    @inline(__always)
    func inlineElements(_ column: Int, _ location: RowLocation) -> UnsafeRawBufferPointer? {
        let view = location.group.columns + column
        if !openCollections.isEmpty || view.pointee.isBlob(location.row) { return nil }
        return view.pointee.bytes(location.row)
    }

    private func forEachStoredLeaf(
        _ column: Int, _ location: RowLocation, _ body: (StoredLeaf) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        if let bytes = inlineElements(column, location) {
            if bytes.isEmpty { return true }
            let definition = definition.columns[column]
            return try body(
                try StoredLeaf(bytes, definition.type, isDictionary: definition.collection == .dictionary))
        }
        let tree = elementTree(column)
        return try tree.forEachLeaf(try collection(column, location)) { leaf throws(EngineError) in
            switch leaf {
            case .stored(let stored): return try body(stored)
            case .memory(let memory): return try Self.encoding(memory, tree, body)
            }
        }
    }

    /// Calls `body` with the stored form of a changed leaf.
    private static func encoding(
        _ leaf: ElementLeaf, _ tree: ElementTree, _ body: (StoredLeaf) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let encoded = leaf.encoded()
        let count = encoded.count
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(count, 8), alignment: 8)
        defer { copy.deallocate() }
        encoded.withUnsafeBytes { source in
            if let base = source.baseAddress { Memory.copy(copy, base, count) }
        }
        return try body(
            try StoredLeaf(
                UnsafeRawBufferPointer(start: copy, count: count), tree.type, isDictionary: tree.isDictionary))
    }

    /// The number of elements of any collection. O(1).
    package func elementCount(_ column: Int, _ location: RowLocation) throws(EngineError) -> Int {
        if let open = openCollections.find(column, location.key) { return open.count }
        if let bytes = inlineElements(column, location) {
            if bytes.isEmpty { return 0 }
            if definition.columns[column].collection != .dictionary {
                return try ListCodec.Reader(bytes, definition.columns[column].type).count
            }
        }
        return try elementTree(column).count(try storedCollection(column, location))
    }

    /// Returns the value of element `index`, for a dictionary that of the entry; nil if there is none. `listValue`
    /// requires that the element exists.
    package func elementValue(
        _ column: Int, of key: ObjectKey, at location: RowLocation, _ index: Int
    ) throws(EngineError) -> Value? {
        if let last = lastLeaf(column, key, index) { return last.leaf.values.value(index &- last.start) }
        guard index >= 0, try index < elementCount(column, location) else { return nil }
        let (leaf, start) = try leaf(column, of: key, location, at: index)
        return leaf.value(index - start)
    }

    // MARK: Blocks

    /// Calls `body` with each block of a var-bytes value that is stored outside its row, and the birth of the block
    /// that refers to it (`.max` if that is the row group).
    func forEachValueBlock(
        _ column: Int, _ location: RowLocation, _ body: (BlockRef, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        var left = ElementTree.blockLimit(session.space)
        try forEachValueBlock(column, location, &left, body)
    }

    /// As above, with a shared limit of block visits if more than one value is traversed.
    func forEachValueBlock(
        _ column: Int, _ location: RowLocation, _ left: inout Int,
        _ body: (BlockRef, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        let view = location.group.columns[column]
        guard view.isBlob(location.row) else { return }
        let bytes = view.bytes(location.row)
        guard bytes.count == BlobRecord.byteCount, let record = bytes.baseAddress else {
            throw corrupted("a blob record has the wrong size")
        }
        try ElementTree.forEachBlock(BlockRef(reading: record), session.space, &left, body)
    }
}
