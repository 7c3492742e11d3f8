// SPDX-License-Identifier: Apache-2.0
// A file that has become too long is made shorter by the commits that follow: while more than half of it is free, each
// commit also moves some blocks from the second half of the file to free pages before it. What they leave is free
// when no version needs it, and the free end is cut (`FreeSpace.trim`, `Database.shrinkIfLong`).
//
// A moved block has other refs above it, so its path is written again as for any change; no value changes, and
// `TableDiff` finds none. The way through all blocks goes on at the next commit where it stopped; a place that has
// changed meanwhile is met again on the next way. What is costs a commit: `ShrinkLimits`.
//
// Nothing is moved where it cannot help: without a free run in the first half, after a way that found nothing to move or
// did not make the file shorter (until more is free), and in transactions that write ahead. What is moved gets pages
// before what the transaction has changed, else a large change would take the run that was there for it.

import RegnumSystem

/// What moving may cost a commit.
package struct ShrinkLimits: Sendable {
    /// Files of fewer pages are left as they are.
    package var minimumPages: UInt64 = 512
    /// Pages that a commit moves, and the paths to them.
    package var pages = 64
    /// A larger block is moved on its own, up to this.
    package var singlePages = 160
    /// Blocks that are looked at, and their bytes.
    package var visits = 512
    package var visitedByteCount = 4 << 20
    package init() {}
}

/// The way through the blocks. Guard: gate.
struct Shrinking {
    /// A tree, and the children on the way down to where it goes on.
    struct Place {
        var table: TableKey
        /// 0 the row groups, n the n-th other tree.
        var tree: Int
        var path: [Int]
    }

    /// Nil: at the beginning.
    var place: Place?
    /// When the way began: the length of the file.
    var highWater: UInt64 = 0
    var hasMoved = false
    /// Which of the blocks that the commit gives pages to were moved.
    var moved = 0..<0
    /// Ways in sequence that did not make the file shorter.
    var vainWays = 0
    /// Set where it rests: the pages that were free then, and the length of the file.
    var rest: (freePages: Int, highWater: UInt64)?

    /// True while there is nothing to be had: an eighth of the file must have become free, or its length another.
    mutating func isResting(_ free: FreeSpace) -> Bool {
        guard let rest else { return false }
        let difference = max(free.highWater, rest.highWater) - min(free.highWater, rest.highWater)
        if difference <= rest.highWater / 16, free.freePages < rest.freePages + Int(free.highWater / 8) { return true }
        self = Shrinking()
        return false
    }

    /// The way has come to its end.
    mutating func end(_ free: FreeSpace) {
        vainWays = free.highWater < highWater ? 0 : vainWays + 1
        if !hasMoved || vainWays > 2 { rest = (free.freePages, free.highWater) }
        place = nil
        hasMoved = false
    }
}

extension Database {
    /// In a commit, when all tables are sealed and before the catalog is: moves some blocks, and sets their new roots
    /// in `records`. Leaves all as it is where a block cannot be read. Guard: gate.
    func moveBlocksFromEnd(_ records: inout [TableRecord], _ tables: [Table], _ space: BlockSpace) {
        shrinking.moved = 0..<0
        guard let free = recorded?.free, free.highWater >= options.shrinkLimits.minimumPages,
            free.isMostlyFree, spilled == nil, space.snapshots == 0,
            !shrinking.isResting(free)
        else { return }
        let limits = options.shrinkLimits
        let target = free.highWater / 2
        // All that is moved goes to one run of free pages, and the commit stays within what one sync carries.
        let (own, paths) = (space.sealer.livePages, 8)
        let carried = FormatLimits.manifestByteCount / FormatLimits.pageByteCount
        // It is placed first, and leaves room for the largest of the commit's own blocks.
        let largest = space.sealer.pageCounts.max() ?? 0
        let run = free.run(of: limits.singlePages + paths + largest, below: target) - largest
        let room = min(run, own + paths < carried ? carried - own : .max) - paths
        guard room >= min(limits.pages, 8) else { return }
        let first = space.sealer.blockCount
        defer {
            let count = space.sealer.pageCounts.count
            shrinking.moved = count - space.sealer.pageCounts(from: first).count..<count
        }
        if shrinking.place == nil { shrinking.highWater = free.highWater }
        var move = BlockMove(space, limits, room: room, target: target)
        for i in records.indices where shrinking.place.map({ $0.table <= records[i].key }) ?? true {
            guard moveBlocks(of: tables[i], &records[i], &move, free) else { return }
            if shrinking.place?.table == records[i].key { shrinking.place = nil }
        }
        shrinking.end(free)
    }

    /// False where it goes on at the next commit.
    private func moveBlocks(
        of table: Table, _ record: inout TableRecord, _ move: inout BlockMove, _ free: FreeSpace
    ) -> Bool {
        let place = shrinking.place.flatMap { $0.table == record.key ? $0 : nil }
        let first = min(place?.tree ?? 0, record.trees.count)
        move.columns = Set(table.definition.columns.map(\.key.rawValue))
        for tree in first...record.trees.count {
            let root = tree == 0 ? record.root : record.trees[tree - 1].root
            let isWhereItStopped = place != nil && tree == first
            guard let moved = move.run(root, from: isWhereItStopped ? place?.path ?? [] : []) else {
                // Not read, so not moved: somebody else meets the damage, and may name it.
                shrinking.place = nil
                shrinking.rest = (.max / 2, free.highWater)
                return false
            }
            if tree == 0 { record.root = moved } else { record.trees[tree - 1].root = moved }
            if moved != root { shrinking.hasMoved = true }
            if let path = move.stop {
                shrinking.place = Shrinking.Place(table: record.key, tree: tree, path: path)
                return false
            }
        }
        return true
    }
}

/// What one commit moves.
private struct BlockMove {
    private let space: BlockSpace
    private let target: UInt64
    private let singlePages: Int
    private var pages: Int
    private var room: Int
    private var visits: Int
    private var visitedByteCount: Int
    private var hasMoved = false
    /// Of the table: others are left out of row groups.
    var columns: Set<UInt32> = []
    /// The children on the way down to where the budget ended; nil while there is some left.
    private(set) var stop: [Int]?
    private var trail: [Int] = []
    /// Where the way begins: for each level the first child.
    private var start: [Int] = []
    /// Blocks that are needed no more when the tree is done.
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

    /// Goes through a tree from `path` on; returns its root as it is then. Nil where a block cannot be read: the tree
    /// is as it was.
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

    /// Whether a block is to be moved, wherever there is room for it.
    private func isFar(_ ref: BlockRef) -> Bool { !ref.isPending && ref.page >= target && ref.pageCount <= singlePages }

    /// True where there is room for a block of that size. Else the way stops here, unless the next commit has no more.
    private mutating func takes(_ pageCount: Int) -> Bool {
        if stop == nil, pageCount <= pages || !hasMoved && pageCount <= min(singlePages, room) { return true }
        if hasMoved { halt() }
        return false
    }

    private mutating func halt() { if stop == nil { stop = trail } }

    /// A block to read. False where enough have been.
    private mutating func visit(_ ref: BlockRef) -> Bool {
        if visits <= 0 || visitedByteCount <= 0 || hasMoved && pages <= 0 { halt() }
        guard stop == nil else { return false }
        visits -= 1
        visitedByteCount -= space.byteCount(ref)
        return true
    }

    /// The ref that takes the place of `ref`; nil where nothing below has moved.
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

    /// The children of a node, and where it holds them.
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

    /// What has moved, by the offsets of their refs.
    private mutating func moveChildren(
        _ children: [(offset: Int, ref: BlockRef)]
    ) throws(EngineError) -> [Int: BlockRef] {
        var moved: [Int: BlockRef] = [:]
        var i = trail.count < start.count ? min(start[trail.count], children.count) : 0
        // What comes behind is gone through from its beginning.
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

    /// A row group is moved in one piece, with what it has in older blocks.
    private mutating func moveGroup(_ ref: BlockRef) throws(EngineError) -> BlockRef? {
        let bytes = try space.bytes(ref)
        let group = try GroupCopy(ref, bytes, columns, space)
        let pageCount = (group.byteCount + FormatLimits.pageByteCount - 1) / FormatLimits.pageByteCount
        guard pageCount <= singlePages else { return nil }
        let outside = (0..<RowGroupLayout.externalCount(bytes)).map { RowGroupLayout.external(bytes, $0) }
        let isFar = isFar(ref) || outside.contains { self.isFar($0) }
        guard isFar || !group.blobs.isEmpty, takes(pageCount) else { return nil }
        // A group that stays is written again where one of its values moves.
        spend(pageCount, moving: isFar)
        // One group may have more large collections than a commit looks at.
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

    /// The same block in another place, with other refs at the offsets of `moved`.
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
