// SPDX-License-Identifier: Apache-2.0
// Removes many entries from an index at once: those of many objects in one pass over its leaves, or those of one value.

extension IndexTree {
    /// Removes every entry whose key is in the set. O(n). `packing`: changed leaves are sealed immediately.
    func removeAll(_ keys: KeySet, packing: Bool) throws(EngineError) {
        guard state.pointee.count > 0 else { return }
        state.pointee.tail = nil
        let root = try dirtyRoot()
        var left = blockLimit
        // After a failure nothing more is spilled: the transaction can only be rolled back.
        let packing = packing && space.failure == nil
        let removed = try removeAll(keys, below: root, packing: packing, isEnd: true, &left)
        state.pointee.count = max(state.pointee.count - removed, 0)
        assertInvariants()
    }

    /// `isEnd`: no node of the tree comes after this one. The last leaves are packed when the tree is sealed.
    private func removeAll(
        _ keys: KeySet, below node: IndexNodePointer, packing: Bool, isEnd: Bool, _ left: inout Int
    ) throws(EngineError) -> Int {
        guard node.pointee.level > 0 else { return node.pointee.removeAll(keys) }
        guard packing, !isEnd, node.pointee.level == 1 else {
            return try removeFromChildren(keys, node, packing: packing, isEnd: isEnd, &left)
        }
        return try packLeaves(of: node) { () throws(EngineError) in
            try removeFromChildren(keys, node, packing: packing, isEnd: isEnd, &left)
        }
    }

    private func removeFromChildren(
        _ keys: KeySet, _ node: IndexNodePointer, packing: Bool, isEnd: Bool, _ left: inout Int
    ) throws(EngineError) -> Int {
        let links = node.pointee.links.unsafelyUnwrapped
        var removed = 0
        let count = node.pointee.count
        for slot in 0..<count {
            if links[slot].node == nil {
                try visit(&left)
                if node.pointee.level == 1 {
                    let leaf = IndexLeafView(try view(links[slot].ref, parentLevel: 1).bytes)
                    guard (0..<leaf.count).contains(where: { keys.contains(leaf.key($0)) }) else { continue }
                    if packing, !isEnd, isBytes, let rest = leafOfBytes(leaf, without: keys) {
                        removed += leaf.count - rest.entryCount
                        space.free(links[slot].ref)
                        links[slot] = rest
                        space.spillIfLarge()
                        continue
                    }
                }
            }
            let gone = try removeAll(
                keys, below: try dirtyChild(node, slot), packing: packing, isEnd: isEnd && slot == count - 1, &left)
            links[slot].entryCount = max(links[slot].entryCount - gone, 0)
            removed += gone
        }
        return removed
    }

    /// In a `fixed` tree: removes every entry with the value, and appends their keys in ascending order. O(log n +
    /// removed).
    func removeAll(value: UInt64, into keys: inout [UInt64]) throws(EngineError) {
        let first = IndexProbe(value: value, key: 0)
        do {
            var cursor = IndexCursor(self)
            guard try cursor.seek(first), cursor.isAt(first, withKey: false) else { return }
        }
        state.pointee.tail = nil
        var left = blockLimit
        let removed = try removeAll(first, below: try dirtyRoot(), into: &keys, &left)
        state.pointee.count = max(state.pointee.count - removed, 0)
        assertInvariants()
    }

    private func removeAll(
        _ first: IndexProbe, below node: IndexNodePointer, into keys: inout [UInt64], _ left: inout Int
    ) throws(EngineError) -> Int {
        let start = node.pointee.bound(first, orEqual: false)
        let end = node.pointee.bound(IndexProbe(value: first.value, key: .max), orEqual: true)
        guard let links = node.pointee.links else {
            keys.append(contentsOf: UnsafeBufferPointer(start: node.pointee.keys + start, count: end - start))
            node.pointee.remove(start..<end)
            return end - start
        }
        var removed = 0
        for slot in max(start - 1, 0)..<max(end, 1) {
            if links[slot].node == nil {
                try visit(&left)
                if node.pointee.level == 1 {
                    let leaf = IndexLeafView(try view(links[slot].ref, parentLevel: 1).bytes)
                    let found = leaf.lowerBound(first, isBytes: false)
                    guard found < leaf.count, leaf.hasValue(found, first, isBytes: false) else { continue }
                    if found == 0, leaf.hasValue(leaf.count - 1, first, isBytes: false) {
                        for i in 0..<leaf.count { keys.append(leaf.key(i)) }
                        removed += leaf.count
                        space.free(links[slot].ref)
                        let empty = IndexNode.make(level: 0, isBytes: false, capacity: 0)
                        links[slot] = IndexLink(ref: .none, node: empty, entryCount: 0)
                        continue
                    }
                }
            }
            let gone = try removeAll(first, below: try dirtyChild(node, slot), into: &keys, &left)
            links[slot].entryCount = max(links[slot].entryCount - gone, 0)
            removed += gone
        }
        return removed
    }

    /// Rewrites a sealed leaf of a `bytes` tree without the entries of the set, of which there is at least one. Copies
    /// the stored suffixes without assembling or comparing them, and keeps the common prefix. Returns nil if the rest
    /// fills less than three quarters of a page: it is then better packed together with its neighbours.
    private func leafOfBytes(_ leaf: IndexLeafView, without keys: KeySet) -> IndexLink? {
        let base = leaf.bytes.load(fromByteOffset: IndexNodeLayout.keyBaseOffset, as: UInt64.self)
        guard leaf.keyWidth > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt16.self, capacity: leaf.count) { kept -> IndexLink? in
            var (count, nulls, restByteCount) = (0, 0, 0)
            var least = UInt64.max
            for i in 0..<leaf.count {
                let key = leaf.key(i)
                if keys.contains(key) { continue }
                kept[count] = UInt16(truncatingIfNeeded: i)
                count &+= 1
                least = min(least, key)
                if i < leaf.nullCount { nulls &+= 1 } else { restByteCount &+= leaf.end(i) &- leaf.start(i) }
            }
            let prefix = leaf.prefix
            let byteCount =
                IndexNodeLayout.leafHeaderByteCount + IndexNodeLayout.roundedUp(count * leaf.keyWidth)
                + 2 * (count - nulls) + prefix.byteCount + restByteCount
            guard count > 0, byteCount >= FormatLimits.pageByteCount / 4 * 3 else { return nil }
            let block = space.sealer.addBlock(
                .indexLeaf, byteCount: byteCount, rows: count, aux: UInt32(truncatingIfNeeded: byteCount))
            writeHeader(block.bytes, count: count, nullCount: nulls, level: 0)
            block.bytes.storeBytes(
                of: UInt8(leaf.keyWidth), toByteOffset: IndexNodeLayout.keyWidthOffset, as: UInt8.self)
            block.bytes.storeBytes(of: least, toByteOffset: IndexNodeLayout.keyBaseOffset, as: UInt64.self)
            block.bytes.storeBytes(
                of: UInt16(prefix.byteCount), toByteOffset: IndexNodeLayout.valueBaseOffset, as: UInt16.self)
            let kept = UnsafeBufferPointer(rebasing: kept[..<count])
            var target = block.bytes + IndexNodeLayout.leafHeaderByteCount
            leaf.copyKeys(kept, below: least &- base, to: target)
            target += IndexNodeLayout.roundedUp(count * leaf.keyWidth)
            leaf.copyTexts(UnsafeBufferPointer(rebasing: kept[nulls...]), to: target)
            return IndexLink(ref: block.ref, node: nil, entryCount: count)
        }
    }
}

extension IndexLeafView {
    /// Form 1: the bounds, in the heap, of the suffix of a non-null value.
    @inline(__always)
    fileprivate func start(_ i: Int) -> Int { i == nullCount ? 0 : end(i &- 1) }
    @inline(__always)
    fileprivate func end(_ i: Int) -> Int {
        Int(values.loadUnaligned(fromByteOffset: (i &- nullCount) &<< 1, as: UInt16.self))
    }

    /// Copies the stored keys of some entries, reduced by `difference`.
    fileprivate func copyKeys(
        _ entries: UnsafeBufferPointer<UInt16>, below difference: UInt64, to target: UnsafeMutableRawPointer
    ) {
        @inline(__always) func copy<Word: FixedWidthInteger & UnsignedInteger>(_: Word.Type) {
            let source = (bytes + IndexNodeLayout.leafHeaderByteCount).assumingMemoryBound(to: Word.self)
            let target = target.assumingMemoryBound(to: Word.self)
            for slot in entries.indices {
                target[slot] = source[Int(entries[slot])] &- Word(truncatingIfNeeded: difference)
            }
        }
        switch keyWidth {
        case 1: copy(UInt8.self)
        case 2: copy(UInt16.self)
        case 4: copy(UInt32.self)
        default: copy(UInt64.self)
        }
    }

    /// Form 1: copies the prefix and the suffixes of some non-null values, in the layout that follows the keys of a
    /// leaf.
    fileprivate func copyTexts(_ entries: UnsafeBufferPointer<UInt16>, to target: UnsafeMutableRawPointer) {
        let prefix = prefix
        let source = prefix.address + prefix.byteCount
        let heap = target + 2 * entries.count + prefix.byteCount
        (target + 2 * entries.count).copyMemory(from: prefix.address, byteCount: prefix.byteCount)
        var end = 0
        var slot = 0
        while slot < entries.count {
            // Copies adjacent entries in one piece.
            let first = Int(entries[slot])
            let begin = start(first)
            var next = first
            while slot < entries.count, Int(entries[slot]) == next {
                target.storeBytes(of: UInt16(end &+ self.end(next) &- begin), toByteOffset: 2 &* slot, as: UInt16.self)
                next &+= 1
                slot &+= 1
            }
            let byteCount = self.end(next &- 1) &- begin
            StoredText.copyAny(source + begin, to: heap + end, byteCount)
            end &+= byteCount
        }
    }
}
