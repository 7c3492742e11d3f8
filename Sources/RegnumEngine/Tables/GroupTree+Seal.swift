// SPDX-License-Identifier: Apache-2.0
// Turns a changed tree into blocks: groups first, then nodes from the bottom up. Nodes that exceed the limit of the
// format are split, and small groups are merged with a neighbour. In a bulk insert each group gets as many rows as fill
// its pages.

extension GroupTree {
    /// Groups with fewer rows are merged with a neighbour if both fit into one group.
    private static let mergeRows = FormatLimits.rowsPerGroup / 4

    /// Seals all changes and returns the root's ref. Groups in memory are gone afterwards.
    func seal() throws(EngineError) -> BlockRef {
        tail = nil
        dropShortcuts()
        var ref = BlockRef.none
        switch root {
        case nil: break
        case .ref(let sealed)?: ref = sealed
        case .group(let group)?: if let entry = try sealed(group) { ref = entry.ref }
        case .node(let node)?:
            var entries = try sealed(node)
            var level = node.level
            while entries.count > 1 {
                level += 1
                entries = makeNodes(entries, level: level)
            }
            if let entry = entries.first { ref = entry.ref }
        }
        root = ref.isNone ? nil : .ref(ref)
        assertInvariants()
        return ref
    }

    /// Seals a group and returns its entry; nil if the group is empty.
    private func sealed(_ group: DirtyGroup) throws(EngineError) -> Entry? {
        let (count, firstKey) = (group.view.pointee.count, group.view.pointee.firstKey)
        if count == 0 {
            group.freeSources(space)
            return nil
        }
        let ref = try group.seal(into: space)
        space.spillIfLarge()
        return Entry(firstKey: firstKey, count: UInt64(count), ref: ref)
    }

    /// Seals a node and returns the entries that replace its own: one, more if it had to be split, none if it is empty.
    /// In the node, blocks replace the children that were in memory.
    private func sealed(_ node: Node) throws(EngineError) -> [Entry] {
        if node.level == 1 { try mergeSmallGroups(node) }
        var i = 0
        while i < node.count {
            if node.entries[i].isSealed {
                i += 1
                continue
            }
            switch node.child(i) {
            case .ref: preconditionFailure("a sealed child in memory")
            case .group(let group):
                let entry = try sealed(group)
                node.set(entry.map { [$0] } ?? [], at: i)
                if entry != nil { i += 1 }
            case .node(let below):
                let entries = try sealed(below)
                node.set(entries, at: i)
                i += entries.count
            }
        }
        return makeNodes(node.entries, level: node.level)
    }

    /// Packs the full last group of a bulk insert, and sets the row limit of the following groups by its size.
    func sealTail() throws(EngineError) {
        guard let full = tail, try pack(full) else { return }
        filledRows = Self.rowsFillingPages(full.view.pointee.count, byteCount: full.sealedByteCount)
        tail = nil
    }

    /// The number of rows that a group should get, based on the size of the previous group, so that its last page is
    /// not mostly empty: at 40 bytes per row, 1,005 rows fill ten pages and 1,024 begin an eleventh. At least seven
    /// eighths of the maximum, because each group has a cost of its own.
    private static func rowsFillingPages(_ rows: Int, byteCount: Int) -> Int {
        let most = FormatLimits.rowsPerGroup
        let page = FormatLimits.pageByteCount
        let whole = byteCount * most / rows
        let pages = whole / page
        // Allow for rows that are a little longer.
        let fitting = rows * pages * page / byteCount * 127 / 128
        guard fitting < most, fitting >= most * 7 / 8 else { return most }
        // Worthwhile only if it lowers the bytes per row, in whole pages, by about a thirty-second.
        return 33 * pages * most < 32 * ((whole + page - 1) / page) * fitting ? fitting : most
    }

    /// Packs a group that has lost rows, unless it will be merged with a neighbour.
    func sealEarly(_ group: DirtyGroup) throws(EngineError) {
        if group.view.pointee.count >= Self.mergeRows, group !== tail { _ = try pack(group) }
    }

    /// Packs a changed group before the end of the transaction, while its values are in the processor's cache. This
    /// bounds the memory of a change to all groups by their packed size. Returns false if a damaged tree does not lead
    /// to the group.
    private func pack(_ group: DirtyGroup) throws(EngineError) -> Bool {
        if case .group(let found)? = root, found === group {
            dropShortcuts()
            root = .ref(try group.seal(into: space))
            return true
        }
        let rows = group.view.pointee
        guard case .node(var node)? = root else { return false }
        while true {
            let i = node.child(for: rows.firstKey)
            switch node.child(i) {
            case .node(let below): node = below
            case .group(let found):
                guard found === group else { return false }
                dropShortcuts()
                let ref = try group.seal(into: space)
                node.set([Entry(firstKey: rows.firstKey, count: UInt64(rows.count), ref: ref)], at: i)
                space.spillIfLarge()
                return true
            case .ref: return false
            }
        }
    }

    /// Merges groups that have few rows. At most one unchanged group is merged with changed ones, so that deleting an
    /// object does not rewrite several groups.
    private func mergeSmallGroups(_ node: Node) throws(EngineError) {
        var i = 0
        var hasTakenSealed = false
        func advance() {
            i += 1
            hasTakenSealed = false
        }
        while i + 1 < node.count {
            let sealed = (node.entries[i].isSealed ? 1 : 0) + (node.entries[i + 1].isSealed ? 1 : 0)
            guard sealed == 0 || sealed == 1 && !hasTakenSealed else {
                advance()
                continue
            }
            let here = node.count(i)
            let next = node.count(i + 1)
            // Leave a small last group room to grow; see `joinTail`.
            if i + 2 == node.count, next <= 64, here > 64 { break }
            guard min(here, next) < Self.mergeRows, here + next <= FormatLimits.rowsPerGroup * 3 / 4 else {
                advance()
                continue
            }
            if sealed == 1 { hasTakenSealed = true }
            let left = try inMemory(node, i)
            let right = try inMemory(node, i + 1)
            try left.append(rowsOf: right)
            right.freeSources(space)
            node.set(.group(left), at: i)
            node.remove(at: i + 1)
        }
    }

    private func inMemory(_ node: Node, _ i: Int) throws(EngineError) -> DirtyGroup {
        switch node.child(i) {
        case .group(let group): return group
        case .ref(let ref):
            let group = try changing(ref)
            let end = i + 1 < node.count ? node.entries[i + 1].firstKey : .max
            try Self.check(group, node.entries[i], below: end)
            return group
        case .node: preconditionFailure("a node among groups")
        }
    }

    /// Makes nodes of at most 64 children each; all but the last are full.
    private func makeNodes(_ children: [Entry], level: Int) -> [Entry] {
        children.withUnsafeBufferPointer { children in
            stride(from: 0, to: children.count, by: FormatLimits.nodeFanOut).map { start in
                let end = min(start + FormatLimits.nodeFanOut, children.count)
                return makeNode(UnsafeBufferPointer(rebasing: children[start..<end]), level: level)
            }
        }
    }

    private func makeNode(_ children: UnsafeBufferPointer<Entry>, level: Int) -> Entry {
        let block = space.sealer.addBlock(.groupNode, byteCount: GroupNodeLayout.byteCount, rows: children.count)
        block.bytes.storeBytes(of: UInt16(children.count), toByteOffset: 32, as: UInt16.self)
        block.bytes.storeBytes(of: UInt8(level), toByteOffset: 34, as: UInt8.self)
        var total: UInt64 = 0
        for i in children.indices {
            let (firstKey, count) = (children[i].firstKey, children[i].count)
            block.bytes.storeBytes(of: firstKey, toByteOffset: GroupNodeLayout.firstKeys + i * 8, as: UInt64.self)
            block.bytes.storeBytes(of: count, toByteOffset: GroupNodeLayout.counts + i * 8, as: UInt64.self)
            space.sealer.setRef(children[i].ref, in: block, at: GroupNodeLayout.refs + i * BlockRef.byteCount)
            total += count
        }
        return Entry(firstKey: children.first?.firstKey ?? 0, count: total, ref: block.ref)
    }

    /// Loads the group of a block for changes.
    func changing(_ ref: BlockRef) throws(EngineError) -> DirtyGroup {
        try DirtyGroup(changing: ref, decoded: try group(ref), columns, guarded: guarded, space)
    }

    // MARK: Memory

    /// Approximate memory used by changed groups, in bytes.
    var changedByteCount: Int { root.map { Self.changedByteCount($0) } ?? 0 }

    private static func changedByteCount(_ child: Child) -> Int {
        switch child {
        case .ref: 0
        case .group(let group): group.changedByteCount
        case .node(let node): node.changed.reduce(0) { $0 + ($1.map { changedByteCount($0) } ?? 0) }
        }
    }
}
