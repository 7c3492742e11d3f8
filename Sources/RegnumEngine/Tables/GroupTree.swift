// SPDX-License-Identifier: Apache-2.0
// The tree of row groups of one table: inner nodes of up to 64 children over groups of up to 1,024 objects, ordered by
// object key. Committed nodes are read in place. A write transaction replaces the path to a change by nodes and groups
// in memory, which may exceed the limits of the format and are split, or merged with a neighbour, when they are sealed
// (`GroupTree+Seal.swift`). Confined to its session. Depth is at most `FormatLimits.treeDepth`.

import RegnumSystem

package final class GroupTree {
    enum Child {
        case ref(BlockRef)
        case node(Node)
        case group(DirtyGroup)
    }

    let space: BlockSpace
    let columns: ColumnMap
    let guarded: [Bool]
    private let cache = GroupCache()
    /// Set in a frozen session, which several threads may read at once: guards `cache`; `lastGroup` is not used then.
    let sharing: FrozenSessionLock?
    /// `nil`: no objects.
    @exclusivity(unchecked) var root: Child?
    /// The group of the last lookup. Valid while nothing is inserted, deleted or made writable.
    @exclusivity(unchecked) private var lastGroup: UnsafeMutablePointer<GroupView>?
    /// The dirty group of the last store.
    @exclusivity(unchecked) private var lastDirty: DirtyGroup?
    @exclusivity(unchecked) var tail: DirtyGroup? { didSet { uncountedTail = tail.map { .passUnretained($0) } } }
    /// `tail` without reference counting, for use once per new row.
    @exclusivity(unchecked) private(set) var uncountedTail: Unmanaged<DirtyGroup>?
    /// The maximum number of rows of `tail`.
    @exclusivity(unchecked) private var tailLimit = FormatLimits.rowsPerGroup
    /// The rows that new groups get in a bulk insert: as many as fill their pages.
    @exclusivity(unchecked) var filledRows = FormatLimits.rowsPerGroup
    /// Changes when rows are added or removed, which outdates the row counts cached in nodes.
    @exclusivity(unchecked) private var rowStamp = 0
    /// Built once many random keys have been looked up; lists the groups of `root`. Never used in a frozen session.
    @exclusivity(unchecked) var directory: GroupDirectory?
    /// The number of lookups left until building a directory pays off; negative: not yet computed.
    @exclusivity(unchecked) var lookupsLeft = -1
    /// Called when group pointers that accessors may hold are about to become invalid.
    private let willMove: () -> Void

    init(
        space: BlockSpace, columns: ColumnMap, guarded: [Bool], root: BlockRef, isShared: Bool,
        willMove: @escaping () -> Void
    ) {
        self.space = space
        sharing = isShared ? FrozenSessionLock() : nil
        self.columns = columns
        self.guarded = guarded
        self.willMove = willMove
        self.root = root.isNone ? nil : .ref(root)
    }

    /// Shows another version. Keeps decoded groups, whose blocks may belong to both versions.
    func reset(root: BlockRef) {
        var isSame = false
        if case .ref(let old) = self.root, old.location == root.location, old.birth == root.birth { isSame = true }
        if !isSame || directory?.hasChanges == true { dropDirectory() }
        self.root = root.isNone ? nil : .ref(root)
        lastGroup = nil
        lastDirty = nil
        tail = nil
    }

    /// Frees all decoded groups; those of pending refs must not outlive their transaction.
    func dropDecodedGroups() {
        dropDirectory()
        lastGroup = nil
        cache.removeAll()
    }

    /// Frees the decoded groups of pending blocks. Call at the end of a transaction.
    func dropPendingGroups() {
        if cache.hasPending { dropDirectory() }
        lastGroup = nil
        cache.removePending()
    }

    /// Drops all pointers to groups that are about to be freed. Call before sealing.
    func dropShortcuts() {
        dropDirectory()
        willMove()
        lastGroup = nil
        lastDirty = nil
    }

    deinit { directory?.deallocate() }

    /// Call when groups are added or removed, or decoded groups are freed.
    private func dropDirectory() {
        directory?.deallocate()
        directory = nil
        lookupsLeft = -1
    }

    var decodedGroupCount: Int { cache.count }

    /// The root of a tree without uncommitted changes; nil if there are no objects.
    var committedRoot: BlockRef? {
        switch root {
        case nil: return nil
        case .ref(let ref): return ref
        case .node, .group: preconditionFailure("versions are compared outside of write transactions")
        }
    }

    // MARK: Reading

    /// Returns the decoded group of a row group's ref.
    @inline(__always)
    func group(_ ref: BlockRef) throws(EngineError) -> UnsafeMutablePointer<GroupView> {
        if sharing != nil { return try sharedGroup(ref) }
        if let found = cache.find(ref) { return found }
        let made = try GroupHandle.make(ref, columns, space)
        cache.insert(ref, made)
        return made
    }

    @inline(never)
    private func sharedGroup(_ ref: BlockRef) throws(EngineError) -> UnsafeMutablePointer<GroupView> {
        guard let sharing else { preconditionFailure("a session of one thread") }
        sharing.enter()
        defer { sharing.leave() }
        if let found = cache.find(ref) { return found }
        let made = try GroupHandle.make(ref, columns, space)
        cache.insert(ref, made)
        return made
    }

    /// Returns the location of the object, or nil. O(log n), one step per level of 64 children; O(1) near the last
    /// lookup.
    @inline(__always)
    func locate(_ key: UInt64) throws(EngineError) -> RowLocation? {
        if let last = lastGroup {
            let row = last.pointee.row(of: key)
            if row >= 0 { return RowLocation(group: last, row: row) }
        }
        return try locateFromRoot(key)
    }

    private func locateFromRoot(_ key: UInt64) throws(EngineError) -> RowLocation? {
        guard let view = try groupView(for: key) else { return nil }
        let row = view.pointee.row(of: key)
        guard row >= 0 else { return nil }
        if sharing == nil { lastGroup = view }
        return RowLocation(group: view, row: row)
    }

    private func groupView(for key: UInt64) throws(EngineError) -> UnsafeMutablePointer<GroupView>? {
        if let directory {
            return try directory.group(for: key) { ref throws(EngineError) in try group(ref) }
        }
        if sharing == nil { try considerDirectory() }
        guard var child = root else { return nil }
        while case .node(let node) = child { child = node.child(node.child(for: key)) }
        switch child {
        case .group(let group): return group.view
        case .node: return nil
        case .ref(var ref):
            var depth = 0
            while ref.kind == BlockKind.groupNode.rawValue {
                let node = try space.bytes(ref)
                ref = GroupNodeLayout.ref(node, GroupNodeLayout.child(node, for: key))
                depth += 1
                if depth > FormatLimits.treeDepth { throw corrupted("a tree is too deep", page: ref.page) }
            }
            return try group(ref)
        }
    }

    /// Returns the group with the row at `position` in key order, and the number of rows before the group.
    func group(atPosition position: Int) throws(EngineError) -> (UnsafeMutablePointer<GroupView>, before: Int)? {
        guard var child = root else { return nil }
        var left = position
        var depth = 0
        while true {
            depth += 1
            guard depth <= 2 * FormatLimits.treeDepth else { throw corrupted("a tree is too deep") }
            switch child {
            case .group(let group): return left < group.view.pointee.count ? (group.view, position - left) : nil
            case .node(let node):
                guard let next = step(node, &left) else { return nil }
                child = next
            case .ref(let ref):
                guard ref.kind == BlockKind.groupNode.rawValue else {
                    let view = try group(ref)
                    return left < view.pointee.count ? (view, position - left) : nil
                }
                let bytes = try space.bytes(ref)
                var i = 0
                let n = GroupNodeLayout.count(bytes)
                while i < n, left >= Int(truncatingIfNeeded: GroupNodeLayout.rowCount(bytes, i)) {
                    left -= Int(truncatingIfNeeded: GroupNodeLayout.rowCount(bytes, i))
                    i += 1
                }
                guard i < n, left >= 0 else { return nil }
                child = .ref(GroupNodeLayout.ref(bytes, i))
            }
        }
    }

    private func step(_ node: Node, _ left: inout Int) -> Child? {
        if node.stamp != rowStamp {
            var before = 0
            node.rowsBefore = node.entries.indices.map { i in
                defer { before += node.count(i) }
                return before
            }
            node.rowsBefore.append(before)
            node.stamp = rowStamp
        }
        guard left < node.rowsBefore[node.entries.count] else { return nil }
        var low = 0
        var high = node.entries.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if node.rowsBefore[middle] <= left { low = middle } else { high = middle }
        }
        left -= node.rowsBefore[low]
        return node.child(low)
    }

    /// The number of rows with keys below `key`.
    func rank(of key: UInt64) throws(EngineError) -> Int {
        guard var child = root else { return 0 }
        var before = 0
        var depth = 0
        while true {
            depth += 1
            guard depth <= 2 * FormatLimits.treeDepth else { throw corrupted("a tree is too deep") }
            switch child {
            case .group(let group): return before + Self.rank(group.view, key)
            case .node(let node):
                let i = node.child(for: key)
                for j in 0..<i { before += node.count(j) }
                child = node.child(i)
            case .ref(let ref):
                guard ref.kind == BlockKind.groupNode.rawValue else { return before + Self.rank(try group(ref), key) }
                let bytes = try space.bytes(ref)
                let i = GroupNodeLayout.child(bytes, for: key)
                for j in 0..<i { before += Int(truncatingIfNeeded: GroupNodeLayout.rowCount(bytes, j)) }
                child = .ref(GroupNodeLayout.ref(bytes, i))
            }
        }
    }

    private static func rank(_ view: UnsafeMutablePointer<GroupView>, _ key: UInt64) -> Int {
        var low = 0
        var high = view.pointee.count
        while low < high {
            let middle = (low + high) / 2
            if view.pointee.key(at: middle) < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The highest possible number of visits to sealed blocks; more mean that a damaged tree reaches blocks repeatedly.
    var blockLimit: Int { Int(clamping: space.reader.readablePages) + space.sealer.blockCount + 1 }

    // MARK: Changing

    /// Returns the group that holds `key`, ready for stores, or nil if no object has that key.
    @inline(__always)
    func dirtyGroup(for key: UInt64) throws(EngineError) -> DirtyGroup? {
        if let last = lastDirty, last.view.pointee.row(of: key) >= 0 { return last }
        return try findDirtyGroup(key)
    }

    private func findDirtyGroup(_ key: UInt64) throws(EngineError) -> DirtyGroup? {
        guard try locateFromRoot(key) != nil, let top = root else { return nil }
        if case .group(let group) = top {
            lastDirty = group
            return group
        }
        let (made, group) = try dirtied(top, key, below: .max)
        if let made { root = made }
        assertInvariants(pathTo: group)
        directory?.setChanged(group.view, for: key)
        lastDirty = group
        return group
    }

    /// Makes the group for `key` dirty. Returns the child that must replace `child`, nil if that is already in memory,
    /// and the group. All keys below `child` must be below `end`.
    private func dirtied(
        _ child: Child, _ key: UInt64, below end: UInt64
    ) throws(EngineError) -> (Child?, DirtyGroup) {
        switch child {
        case .group(let group): return (nil, group)
        case .node(let node): return (nil, try dirtiedBelow(node, key, below: end))
        case .ref(let ref):
            if ref.kind == BlockKind.groupNode.rawValue {
                let node = try loadNode(ref)
                let group = try dirtiedBelow(node, key, below: end)
                space.free(ref)
                return (.node(node), group)
            }
            // Accessors and `lastGroup` may hold pointers of the committed group.
            let group = try changing(ref)
            willMove()
            lastGroup = nil
            return (.group(group), group)
        }
    }

    private func dirtiedBelow(_ node: Node, _ key: UInt64, below end: UInt64) throws(EngineError) -> DirtyGroup {
        let i = node.child(for: key)
        let next = i + 1 < node.entries.count ? node.entries[i + 1].firstKey : end
        let (made, group) = try dirtied(node.child(i), key, below: next)
        if let made {
            if node.level == 1 { try Self.check(group, node.entries[i], below: next) }
            node.set(made, at: i)
        }
        return group
    }

    /// Throws if a group that was just read does not hold the rows that the node above it states. Appending and merging
    /// rely on this; groups in memory have been checked already.
    static func check(_ group: DirtyGroup, _ entry: Entry, below end: UInt64) throws(EngineError) {
        let view = group.view.pointee
        guard view.count > 0, UInt64(view.count) == entry.count, view.key(at: 0) >= entry.firstKey,
            view.key(at: view.count - 1) < end
        else { throw corrupted("the rows of a row group do not match its node") }
    }

    private func loadNode(_ ref: BlockRef) throws(EngineError) -> Node {
        let bytes = try space.bytes(ref)
        let entries = (0..<GroupNodeLayout.count(bytes)).map {
            Entry(
                firstKey: GroupNodeLayout.firstKey(bytes, $0), count: GroupNodeLayout.rowCount(bytes, $0),
                ref: GroupNodeLayout.ref(bytes, $0))
        }
        return Node(level: GroupNodeLayout.level(bytes), entries: entries)
    }

    /// Appends an object whose key is above all others.
    @inline(__always)
    func append(_ key: UInt64) throws(EngineError) -> RowLocation {
        rowStamp &+= 1
        let location = uncountedTail?._withUnsafeGuaranteedRef { tail in
            tail.view.pointee.count < tailLimit ? RowLocation(group: tail.view, row: tail.append(key)) : nil
        }
        guard let location else { return try appendElsewhere(key) }
        assertInvariants(appended: location, key)
        return location
    }

    /// If a transaction that adds a few objects appended them to a large last group, it would have to rewrite that
    /// group. So it begins a small group after it, which is merged into the large one once it has this many rows.
    private static let smallTailRows = 64

    private func appendElsewhere(_ key: UInt64) throws(EngineError) -> RowLocation {
        if tail == nil, root != nil { try openTail(key) } else { try joinTail() }
        if let tail, tail.view.pointee.count < tailLimit {
            let location = RowLocation(group: tail.view, row: tail.append(key))
            assertInvariants(appended: location, key)
            return location
        }
        try sealTail()
        let isSmall = root != nil && tailLimit == Self.smallTailRows
        let capacity = root == nil || isSmall ? Self.smallTailRows : FormatLimits.rowsPerGroup
        let group = DirtyGroup(empty: columns, guarded: guarded, firstKey: key, capacity: capacity)
        let row = group.append(key)
        try attach(.group(group), firstKey: key)
        assertInvariants(pathTo: group)
        tail = group
        if !isSmall { tailLimit = filledRows }
        lastDirty = group
        return RowLocation(group: group.view, row: row)
    }

    /// At the first append of a transaction: uses the last group as the tail if that is small. If it is large and has
    /// room, leaves the tail unset, so that a small group is begun.
    private func openTail(_ key: UInt64) throws(EngineError) {
        tailLimit = filledRows
        guard let view = try groupView(for: .max), view.pointee.count > 0 else { return }
        let last = view.pointee.key(at: view.pointee.count - 1)
        guard last < key else { throw corrupted("a table's next key is in use already") }
        guard view.pointee.count < filledRows else { return }
        if view.pointee.count < Self.smallTailRows {
            tail = try findDirtyGroup(last)
            // In a damaged tree the key may lead to another group that has it too.
            if let rows = tail?.view.pointee, rows.key(at: rows.count - 1) != last {
                throw corrupted("a table's groups are out of order")
            }
            // The group before it determines how far it may grow.
            if let before = try roomBefore(view.pointee.firstKey), before > 0 { tailLimit = Self.smallTailRows }
        } else {
            tailLimit = Self.smallTailRows
        }
    }

    /// The number of rows that would fit in the group before the one that begins with `firstKey`; nil if there is none.
    private func roomBefore(_ firstKey: UInt64) throws(EngineError) -> Int? {
        guard firstKey > 1, let view = try groupView(for: firstKey - 1), view.pointee.firstKey < firstKey,
            view.pointee.count > 0
        else { return nil }
        return max(0, filledRows - view.pointee.count)
    }

    /// If the small last group is full: moves its rows into the group before it, if they fit.
    private func joinTail() throws(EngineError) {
        guard let small = tail, tailLimit == Self.smallTailRows else { return }
        tailLimit = filledRows
        let firstKey = small.view.pointee.firstKey
        guard let room = try roomBefore(firstKey), room >= small.view.pointee.count,
            let large = try findDirtyGroup(try lastKey(before: firstKey)), let top = root
        else { return }
        dropShortcuts()
        try large.append(rowsOf: small)
        small.freeSources(space)
        _ = try Self.take(out: small, of: top)
        tail = large
    }

    private func lastKey(before key: UInt64) throws(EngineError) -> UInt64 {
        guard let view = try groupView(for: key - 1) else { return 0 }
        return view.pointee.key(at: view.pointee.count - 1)
    }

    /// Removes the last group from the tree; true if nothing is left below `child`.
    private static func take(out group: DirtyGroup, of child: Child) throws(EngineError) -> Bool {
        guard case .node(let node) = child, node.count > 0 else { return true }
        let last = node.count - 1
        if case .group(let found) = node.child(last) {
            guard found === group else { throw corrupted("a table's groups are out of order") }
            node.remove(at: last)
        } else if try take(out: group, of: node.child(last)) {
            node.remove(at: last)
        }
        return node.count == 0
    }

    /// Adds a group after all others.
    private func attach(_ child: Child, firstKey: UInt64) throws(EngineError) {
        dropDirectory()
        switch root {
        case nil: root = child
        case .group(let group)?:
            let node = Node(level: 1)
            node.append(.group(group), firstKey: group.view.pointee.firstKey)
            node.append(child, firstKey: firstKey)
            root = .node(node)
        case .node(let node)?: try attach(child, firstKey, to: node)
        case .ref(let ref)?:
            let node: Node
            if ref.kind == BlockKind.groupNode.rawValue {
                node = try loadNode(ref)
                space.free(ref)
            } else {
                let view = try group(ref).pointee
                node = Node(
                    level: 1, entries: [Entry(firstKey: view.firstKey, count: UInt64(view.count), ref: ref)])
            }
            root = .node(node)
            try attach(child, firstKey, to: node)
        }
    }

    private func attach(_ child: Child, _ firstKey: UInt64, to node: Node) throws(EngineError) {
        if node.level == 1 {
            if let last = node.entries.last, last.firstKey >= firstKey {
                throw corrupted("a table's next key is in use already")
            }
            node.append(child, firstKey: firstKey)
            return
        }
        let last = node.count - 1
        switch node.child(last) {
        case .node(let below): try attach(child, firstKey, to: below)
        case .ref(let ref):
            let below = try loadNode(ref)
            space.free(ref)
            node.set(.node(below), at: last)
            try attach(child, firstKey, to: below)
        case .group: preconditionFailure("a group above level 1")
        }
    }

    /// Removes the object; the rows after it in its group move up.
    func remove(_ key: UInt64) throws(EngineError) {
        guard let group = try dirtyGroup(for: key) else { return }
        remove([group.view.pointee.row(of: key)], of: group)
    }

    /// Removes rows, given in ascending order, from a changed group; the others move up.
    func remove(_ rows: [Int], of group: DirtyGroup) {
        let key = group.view.pointee.key(at: rows[0])
        rowStamp &+= 1
        willMove()
        lastGroup = nil
        let before = group.view.pointee.count
        group.remove(rows: rows)
        assertInvariants(removed: rows, before, group)
        if group.view.pointee.count == 0 {
            lastDirty = nil
            if tail === group { tail = nil }
            dropDirectory()
            if let top = root, Self.prune(top, key, space) { root = nil }
        }
    }

    /// Removes the emptied group of `key`; true if nothing is left below `child`.
    private static func prune(_ child: Child, _ key: UInt64, _ space: BlockSpace) -> Bool {
        switch child {
        case .group(let group):
            group.freeSources(space)
            return true
        case .ref: return false
        case .node(let node):
            let i = node.child(for: key)
            if prune(node.child(i), key, space) { node.remove(at: i) }
            return node.count == 0
        }
    }

    /// Removes every group.
    func removeAll() throws(EngineError) {
        dropDirectory()
        willMove()
        lastGroup = nil
        lastDirty = nil
        tail = nil
        try forEachBlock { space.free($0) }
        root = nil
        filledRows = FormatLimits.rowsPerGroup
    }
}
