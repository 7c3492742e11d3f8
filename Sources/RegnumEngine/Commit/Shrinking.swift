// SPDX-License-Identifier: Apache-2.0
// Shortens a file that has become too long, in small steps with each later commit: while more than half of it is free,
// each commit also moves some blocks from the second half of the file to free pages in the first. The pages that they
// leave become free when no version needs them, and the free end of the file is truncated (`FreeSpace.trim`,
// `Database.shrinkIfLong`).
//
// A moved block has new refs above it, so its path is rewritten as for any change; no value changes, and `TableDiff`
// finds no difference. The traversal of all blocks continues at the next commit where it stopped; blocks that have
// changed in the meantime are visited by the next traversal. `ShrinkLimits` bounds the cost for a commit.
//
// Nothing is moved if it cannot help: without a free run in the first half, after a traversal that found nothing to
// move or did not make the file shorter (until more is free), and in transactions that spill. Moved blocks get pages
// before the blocks that the transaction has changed, or else a large change would take the run meant for them.

import RegnumSystem

/// Limits on the cost that moving blocks adds to a commit.
package struct ShrinkLimits: Sendable {
    /// Files of fewer pages are left unchanged.
    package var minimumPages: UInt64 = 512
    /// The maximum number of pages that a commit moves, including the paths to them.
    package var pages = 64
    /// A larger block is moved on its own, up to this many pages.
    package var singlePages = 160
    /// The maximum number of blocks that a commit visits, and of their bytes.
    package var visits = 512
    package var visitedByteCount = 4 << 20
    package init() {}
}

/// The traversal of all blocks. Guard: writer lock.
struct Shrinking {
    /// A tree, and the child indexes on the path to where the traversal continues.
    struct Place {
        var table: TableKey
        /// 0 for the row groups, n for the n-th other tree.
        var tree: Int
        var path: [Int]
    }

    /// Nil at the beginning of a traversal.
    var place: Place?
    /// The length of the file in pages when the traversal began.
    var highWater: UInt64 = 0
    var hasMoved = false
    /// Which of the blocks that the commit places were moved.
    var moved = 0..<0
    /// Consecutive traversals that did not make the file shorter.
    var vainWays = 0
    /// Set while moving is paused: the free pages, and the length of the file, when the pause began.
    var rest: (freePages: Int, highWater: UInt64)?

    /// True while moving would gain nothing: until another eighth of the file is free, or its length has changed by
    /// more than a sixteenth.
    mutating func isResting(_ free: FreeSpace) -> Bool {
        guard let rest else { return false }
        let difference = max(free.highWater, rest.highWater) - min(free.highWater, rest.highWater)
        if difference <= rest.highWater / 16, free.freePages < rest.freePages + Int(free.highWater / 8) { return true }
        self = Shrinking()
        return false
    }

    /// Ends a traversal.
    mutating func end(_ free: FreeSpace) {
        vainWays = free.highWater < highWater ? 0 : vainWays + 1
        if !hasMoved || vainWays > 2 { rest = (free.freePages, free.highWater) }
        place = nil
        hasMoved = false
    }
}

extension Database {
    /// Moves some blocks, in a commit after all tables are sealed and before the catalog is. Sets the new roots in
    /// `records`. If a block cannot be read, its tree stays unchanged. Guard: writer lock.
    func moveBlocksFromEnd(_ records: inout [TableRecord], _ tables: [Table], _ space: BlockSpace) {
        spaceManager.shrinking.moved = 0..<0
        // Kept versions would keep the pages that a block leaves.
        guard let recorded = spaceManager.recorded, recorded.history == nil else { return }
        let free = recorded.free
        guard free.highWater >= options.shrinkLimits.minimumPages, free.isMostlyFree, spaceManager.spilled == nil,
            space.snapshots == 0, !spaceManager.shrinking.isResting(free)
        else { return }
        let limits = options.shrinkLimits
        let target = free.highWater / 2
        // All moved blocks go to one run of free pages, and the commit stays within the size that one sync covers.
        let (own, paths) = (space.sealer.livePages, 8)
        let carried = FormatLimits.manifestByteCount / FormatLimits.pageByteCount
        // That run is taken first, and must leave room for the largest of the commit's own blocks.
        let largest = space.sealer.pageCounts.max() ?? 0
        let run = free.run(of: limits.singlePages + paths + largest, below: target) - largest
        let room = min(run, own + paths < carried ? carried - own : .max) - paths
        guard room >= min(limits.pages, 8) else { return }
        let first = space.sealer.blockCount
        defer {
            let count = space.sealer.pageCounts.count
            spaceManager.shrinking.moved = count - space.sealer.pageCounts(from: first).count..<count
        }
        if spaceManager.shrinking.place == nil { spaceManager.shrinking.highWater = free.highWater }
        var move = BlockMove(space, limits, room: room, target: target)
        for i in records.indices where spaceManager.shrinking.place.map({ $0.table <= records[i].key }) ?? true {
            guard moveBlocks(of: tables[i], &records[i], &move, free) else { return }
            if spaceManager.shrinking.place?.table == records[i].key { spaceManager.shrinking.place = nil }
        }
        spaceManager.shrinking.end(free)
    }

    /// Returns false if the traversal continues at the next commit.
    private func moveBlocks(
        of table: Table, _ record: inout TableRecord, _ move: inout BlockMove, _ free: FreeSpace
    ) -> Bool {
        let place = spaceManager.shrinking.place.flatMap { $0.table == record.key ? $0 : nil }
        let first = min(place?.tree ?? 0, record.trees.count)
        move.columns = Set(table.definition.columns.map(\.key.rawValue))
        for tree in first...record.trees.count {
            let root = tree == 0 ? record.root : record.trees[tree - 1].root
            let isWhereItStopped = place != nil && tree == first
            guard let moved = move.run(root, from: isWhereItStopped ? place?.path ?? [] : []) else {
                // Not readable, so not moved: a reader finds the damage, and reports it.
                spaceManager.shrinking.place = nil
                spaceManager.shrinking.rest = (.max / 2, free.highWater)
                return false
            }
            if tree == 0 { record.root = moved } else { record.trees[tree - 1].root = moved }
            if moved != root { spaceManager.shrinking.hasMoved = true }
            if let path = move.stop {
                spaceManager.shrinking.place = Shrinking.Place(table: record.key, tree: tree, path: path)
                return false
            }
        }
        return true
    }
}

/// The moves of one commit.
private struct BlockMove {
    private let space: BlockSpace
    private let target: UInt64
    private let singlePages: Int
    private var pages: Int
    private var room: Int
    private var visits: Int
    private var visitedByteCount: Int
    private var hasMoved = false
    /// Columns of the table: segments of other columns are left out of row groups.
    var columns: Set<UInt32> = []
    /// The child indexes on the path to where the budget ended; nil while some is left.
    private(set) var stop: [Int]?
    private var trail: [Int] = []
    /// The child index per level at which the traversal begins.
    private var start: [Int] = []
    /// Blocks to be freed when the tree is done.
    private var replaced: [BlockRef] = []

    init(_ space: BlockSpace, _ limits: ShrinkLimits, room: Int, target: UInt64) {
        self.space = space
        self.target = target
        self.room = room
        pages = min(limits.pages, room)
        singlePages = limits.singlePages
        visits = limits.visits
        visitedByteCount = limits.visitedByteCount
    }

    /// Traverses a tree from `path` on. Returns its new root. If a block cannot be read, returns nil and the tree is
    /// unchanged.
    mutating func run(_ root: BlockRef, from path: [Int]) -> BlockRef? {
        if root.isNone { return root }
        let first = space.sealer.blockCount
        start = path
        trail = []
        replaced = []
        do throws(EngineError) {
            let moved = try move(root)
            for ref in replaced { space.free(ref) }
            return moved ?? root
        } catch {
            space.sealer.dropAll(from: first)
            return nil
        }
    }

    /// True if a block should be moved, provided there is room for it.
    private func isFar(_ ref: BlockRef) -> Bool { !ref.isPending && ref.page >= target && ref.pageCount <= singlePages }

    /// True if there is room for a block of that size. If not, the traversal stops here, unless the next commit would
    /// have no more room.
    private mutating func takes(_ pageCount: Int) -> Bool {
        if stop == nil, pageCount <= pages || !hasMoved && pageCount <= min(singlePages, room) { return true }
        if hasMoved { halt() }
        return false
    }

    private mutating func halt() { if stop == nil { stop = trail } }

    /// Counts a block against the limits before it is read. Returns false if the limits are reached.
    private mutating func visit(_ ref: BlockRef) -> Bool {
        if visits <= 0 || visitedByteCount <= 0 || hasMoved && pages <= 0 { halt() }
        guard stop == nil else { return false }
        visits -= 1
        visitedByteCount -= space.byteCount(ref)
        return true
    }

    /// Returns the ref that replaces `ref`; nil if neither it nor a descendant has moved.
    private mutating func move(_ ref: BlockRef) throws(EngineError) -> BlockRef? {
        guard trail.count <= 2 * FormatLimits.treeDepth + 2 else {
            throw corrupted("a tree is too deep", page: ref.page)
        }
        switch BlockKind(rawValue: ref.kind) {
        case .indexLeaf, .blob: return isFar(ref) && takes(ref.pageCount) ? try copied(ref, [:]) : nil
        case .rowGroup: return visit(ref) ? try moveGroup(ref) : nil
        case .groupNode, .indexBranch, .elementNode: return visit(ref) ? try moveNode(ref) : nil
        default: throw corrupted("a tree refers to a block of another kind", page: ref.page)
        }
    }

    /// Returns the refs of a node's children with their byte offsets in the node.
    private func children(_ ref: BlockRef, _ bytes: UnsafeRawPointer) -> [(offset: Int, ref: BlockRef)] {
        switch BlockKind(rawValue: ref.kind) {
        case .groupNode:
            return (0..<GroupNodeLayout.count(bytes)).map {
                (GroupNodeLayout.refs + $0 * BlockRef.byteCount, GroupNodeLayout.ref(bytes, $0))
            }
        case .elementNode:
            return (0..<ElementNodeLayout.count(bytes)).map {
                (ElementNodeLayout.refs + $0 * BlockRef.byteCount, ElementNodeLayout.ref(bytes, $0))
            }
        case .indexBranch:
            let branch = IndexBranchView(bytes)
            return (0..<branch.count).map { (branch.refOffset($0), branch.ref($0)) }
        default: return []
        }
    }

    /// Moves children. Returns the new refs by their byte offsets.
    private mutating func moveChildren(
        _ children: [(offset: Int, ref: BlockRef)]
    ) throws(EngineError) -> [Int: BlockRef] {
        var moved: [Int: BlockRef] = [:]
        var i = trail.count < start.count ? min(start[trail.count], children.count) : 0
        // Later nodes are traversed from their first child.
        defer { start = [] }
        while stop == nil, i < children.count {
            trail.append(i)
            if let new = try move(children[i].ref) { moved[children[i].offset] = new }
            trail.removeLast()
            start = []
            i += 1
        }
        return moved
    }

    private mutating func moveNode(_ ref: BlockRef) throws(EngineError) -> BlockRef? {
        let moved = try moveChildren(children(ref, try space.bytes(ref)))
        guard !moved.isEmpty || stop == nil && isFar(ref) && takes(ref.pageCount) else { return nil }
        return try copied(ref, moved)
    }

    /// Moves a row group into one block, together with its segments in older blocks.
    private mutating func moveGroup(_ ref: BlockRef) throws(EngineError) -> BlockRef? {
        let bytes = try space.bytes(ref)
        let group = try GroupCopy(ref, bytes, columns, space)
        let pageCount = (group.byteCount + FormatLimits.pageByteCount - 1) / FormatLimits.pageByteCount
        guard pageCount <= singlePages else { return nil }
        let outside = (0..<RowGroupLayout.externalCount(bytes)).map { RowGroupLayout.external(bytes, $0) }
        let isFar = isFar(ref) || outside.contains { self.isFar($0) }
        guard isFar || !group.blobs.isEmpty, takes(pageCount) else { return nil }
        // A group that stays is rewritten if one of its values moves.
        spend(pageCount, moving: isFar)
        // One group may have more large collections than a commit visits.
        let moved = try moveChildren(group.blobs)
        if !isFar, moved.isEmpty {
            spend(-pageCount, moving: false)
            return nil
        }
        let block = space.sealer.addBlock(.rowGroup, byteCount: group.byteCount, rows: RowGroupLayout.rows(bytes))
        group.write(to: block)
        for blob in group.blobs { space.sealer.setRef(moved[blob.offset] ?? blob.ref, in: block, at: blob.offset) }
        replaced.append(ref)
        replaced += outside
        return block.ref
    }

    private mutating func spend(_ pageCount: Int, moving: Bool = true) {
        pages = min(pages - pageCount, room - pageCount)
        room -= pageCount
        if moving { hasMoved = true }
    }

    /// Copies a block, with the refs of `moved` at their byte offsets.
    private mutating func copied(_ ref: BlockRef, _ moved: [Int: BlockRef]) throws(EngineError) -> BlockRef {
        guard let kind = BlockKind(rawValue: ref.kind) else {
            throw corrupted("a block of unknown kind", page: ref.page)
        }
        let bytes = try space.bytes(ref)
        let byteCount = space.byteCount(ref)
        let aux = UInt32(truncatingIfNeeded: ref.info)
        let block = space.sealer.addBlock(kind, byteCount: byteCount, rows: ref.rows, aux: aux)
        let head = BlockHeader.byteCount
        Memory.copy(block.bytes + head, bytes + head, byteCount - head)
        for child in children(ref, bytes) {
            space.sealer.setRef(moved[child.offset] ?? child.ref, in: block, at: child.offset)
        }
        spend(byteCount / FormatLimits.pageByteCount)
        replaced.append(ref)
        return block.ref
    }
}
