// SPDX-License-Identifier: Apache-2.0
// The structural difference of one table between two versions. A block is never changed in place, so equal refs mean
// equal subtrees: both trees are opened level by level, and shared blocks are dropped before they are visited. The
// remaining row groups differ; their objects are paired by key and compared column by column, except for columns that
// both versions read from the same memory. If no object was deleted or inserted, rows are paired by position and
// compared in runs.

import RegnumSystem

struct TableDiff {
    /// Identifies a block: a reused page has a new birth.
    private struct Identity: Hashable {
        var location: UInt64
        var birth: UInt64
        init(_ ref: BlockRef) {
            location = ref.location
            birth = ref.birth
        }
    }

    /// A cursor over the row groups of one version and their keys.
    private struct Side {
        var groups: [UnsafeMutablePointer<GroupView>]
        var next = 0
        var group: UnsafeMutablePointer<GroupView>?
        var row = 0

        init(_ groups: [UnsafeMutablePointer<GroupView>]) {
            self.groups = groups
            advanceGroup()
        }

        var key: UInt64? {
            guard let group, row < group.pointee.count else { return nil }
            return group.pointee.key(at: row)
        }

        /// True if all rows of the group have been visited.
        var isGroupDone: Bool { group.map { row >= $0.pointee.count } ?? false }

        mutating func advanceGroup() {
            row = 0
            group = next < groups.count ? groups[next] : nil
            next += 1
        }
    }

    private let older: Table
    private let newer: Table
    /// The maximum number of objects that may differ; see `Session.changes(since:in:atMost:)`.
    private let limit: Int
    /// Maps column numbers of the newer version to those of the older one; nil for columns that it does not have.
    private let olderColumns: [Int?]
    private var changes: TableChanges
    /// Rows of the two current groups that have the same key.
    private var pairs: [(older: Int, newer: Int)] = []

    init(older: Table, newer: Table, limit: Int = .max) {
        self.older = older
        self.newer = newer
        self.limit = limit
        let before = older.definition.columns
        olderColumns = newer.definition.columns.indices.map { i in
            let column = newer.definition.columns[i]
            let isSame = { (other: Int) in
                before[other].key == column.key && before[other].type == column.type
                    && before[other].collection == column.collection
            }
            return i < before.count && isSame(i) ? i : before.indices.first(where: isSame)
        }
        changes = TableChanges(table: newer.definition.key)
    }

    /// Returns the changes, or nil if they exceed the limit.
    mutating func run() throws(EngineError) -> TableChanges? {
        var before = older.groups.committedRoot.map { [$0] } ?? []
        var after = newer.groups.committedRoot.map { [$0] } ?? []
        Self.dropShared(&before, &after)
        var depth = 0
        while before.count == 1, after.count == 1,
            let children = try Self.differing(before[0], after[0], older.groups.space, newer.groups.space)
        {
            (before, after) = children
            try Self.goDeeper(&depth)
        }
        // Children that have only changed their position are in both lists.
        Self.dropShared(&before, &after)
        while let level = try Self.level(before + after, newer.groups.space) {
            try Self.goDeeper(&depth)
            before = try Self.opened(before, level, older.groups.space)
            after = try Self.opened(after, level, newer.groups.space)
            Self.dropShared(&before, &after)
            if before.count + after.count > 2 * max(limit / 8, 1) { return nil }
        }
        var olderGroups: [UnsafeMutablePointer<GroupView>] = []
        for ref in before { olderGroups.append(try older.groups.group(ref)) }
        var newerGroups: [UnsafeMutablePointer<GroupView>] = []
        for ref in after { newerGroups.append(try newer.groups.group(ref)) }
        return compare(Side(olderGroups), Side(newerGroups)) ? changes : nil
    }

    // MARK: Nodes

    /// Counts a level. Each level is opened once, except if nodes of a damaged file refer to each other.
    private static func goDeeper(_ depth: inout Int) throws(EngineError) {
        depth += 1
        if depth > FormatLimits.treeDepth + 1 { throw corrupted("a tree is too deep or too large") }
    }

    /// Returns the children that differ between two nodes of the same level with the same number of children; nil for
    /// other blocks. A child that has another position in the other node is in both lists.
    private static func differing(
        _ before: BlockRef, _ after: BlockRef, _ olderSpace: BlockSpace, _ newerSpace: BlockSpace
    ) throws(EngineError) -> ([BlockRef], [BlockRef])? {
        let kind = BlockKind.groupNode.rawValue
        guard before.kind == kind, after.kind == kind else { return nil }
        let (old, new) = (try olderSpace.bytes(before), try newerSpace.bytes(after))
        let count = GroupNodeLayout.count(old)
        guard count == GroupNodeLayout.count(new), GroupNodeLayout.level(old) == GroupNodeLayout.level(new) else {
            return nil
        }
        var children: ([BlockRef], [BlockRef]) = ([], [])
        for i in 0..<count {
            let (a, b) = (GroupNodeLayout.ref(old, i), GroupNodeLayout.ref(new, i))
            if a.location == b.location, a.birth == b.birth { continue }
            children.0.append(a)
            children.1.append(b)
        }
        return children
    }

    /// Returns the highest level of a node among the blocks; nil if all are row groups.
    private static func level(_ refs: [BlockRef], _ space: BlockSpace) throws(EngineError) -> Int? {
        var highest: Int?
        for ref in refs where ref.kind == BlockKind.groupNode.rawValue {
            highest = max(highest ?? 0, GroupNodeLayout.level(try space.bytes(ref)))
        }
        return highest
    }

    /// Returns the blocks, with each node of that level replaced by its children.
    private static func opened(
        _ refs: [BlockRef], _ level: Int, _ space: BlockSpace
    ) throws(EngineError) -> [BlockRef] {
        var out: [BlockRef] = []
        for ref in refs {
            guard ref.kind == BlockKind.groupNode.rawValue else {
                out.append(ref)
                continue
            }
            let node = try space.bytes(ref)
            guard GroupNodeLayout.level(node) == level else {
                out.append(ref)
                continue
            }
            for i in 0..<GroupNodeLayout.count(node) { out.append(GroupNodeLayout.ref(node, i)) }
        }
        return out
    }

    /// Drops the blocks that both versions share.
    private static func dropShared(_ before: inout [BlockRef], _ after: inout [BlockRef]) {
        if before.isEmpty || after.isEmpty { return }
        if before.count == 1, after.count == 1, Identity(before[0]) != Identity(after[0]) { return }
        // In most cases all but a few have the same position in both.
        if before.count == after.count {
            let differing = before.indices.filter { Identity(before[$0]) != Identity(after[$0]) }
            if differing.count < before.count {
                before = differing.map { before[$0] }
                after = differing.map { after[$0] }
                if before.isEmpty { return }
            }
        }
        let inBefore = Set(before.map { Identity($0) })
        let shared = Set(after.lazy.map { Identity($0) }.filter { inBefore.contains($0) })
        if shared.isEmpty { return }
        before.removeAll { shared.contains(Identity($0)) }
        after.removeAll { shared.contains(Identity($0)) }
    }

    // MARK: Objects

    /// Compares the objects of two lists of row groups. Returns false if the changes exceed the limit.
    private mutating func compare(_ olderSide: Side, _ newerSide: Side) -> Bool {
        var a = olderSide
        var b = newerSide
        while a.group != nil || b.group != nil {
            if changes.objectCount > limit { return false }
            if a.row == 0, b.row == 0, let old = a.group, let new = b.group, Self.haveSameKeys(old, new) {
                compareRows(old, new)
                a.advanceGroup()
                b.advanceGroup()
                continue
            }
            switch (a.key, b.key) {
            case (let old?, let new?) where old == new:
                pairs.append((a.row, b.row))
                a.row += 1
                b.row += 1
            case (let old?, let new):
                if let new, new < old {
                    changes.inserted.append(ObjectKey(new))
                    b.row += 1
                } else {
                    changes.deleted.append(ObjectKey(old))
                    a.row += 1
                }
            case (nil, let new?):
                changes.inserted.append(ObjectKey(new))
                b.row += 1
            case (nil, nil):
                break
            }
            // The columns of a pair of groups are compared before the cursor leaves either group.
            let isOlderDone = a.isGroupDone
            let isNewerDone = b.isGroupDone
            if isOlderDone || isNewerDone {
                if let old = a.group, let new = b.group { comparePairs(old, new) }
                if isOlderDone { a.advanceGroup() }
                if isNewerDone { b.advanceGroup() }
            }
        }
        return changes.objectCount <= limit
    }

    /// True if both groups hold the same objects, each in the same row.
    private static func haveSameKeys(
        _ old: UnsafeMutablePointer<GroupView>, _ new: UnsafeMutablePointer<GroupView>
    ) -> Bool {
        let (a, b) = (old.pointee, new.pointee)
        guard a.count == b.count, a.keyForm == b.keyForm, a.firstKey == b.firstKey, a.keySpan == b.keySpan else {
            return false
        }
        switch a.keyForm {
        case .dense: return true
        case .bitmap: return Memory.compare(a.keys, b.keys, Int((a.keySpan &+ 63) &>> 6) &* 8) == 0
        case .sorted: return Memory.compare(a.keys, b.keys, a.count &* 8) == 0
        }
    }

    /// Returns comparisons for the columns that may differ between two groups.
    private func comparisons(
        _ old: UnsafeMutablePointer<GroupView>, _ new: UnsafeMutablePointer<GroupView>
    ) -> [ColumnComparison] {
        var made: [ColumnComparison] = []
        for column in olderColumns.indices {
            guard let oldColumn = olderColumns[column] else { continue }
            let before = old.columns[oldColumn]
            let after = new.columns[column]
            if Self.areSameBytes(before, after) { continue }
            made.append(
                ColumnComparison(
                    column: column, before: before, after: after,
                    form: newer.groups.columns.columns[column].writableForm))
        }
        return made
    }

    private mutating func compareRows(
        _ old: UnsafeMutablePointer<GroupView>, _ new: UnsafeMutablePointer<GroupView>
    ) {
        let comparisons = comparisons(old, new)
        if comparisons.isEmpty { return }
        let count = new.pointee.count
        for start in stride(from: 0, to: count, by: ColumnComparison.runLength) {
            let end = min(start + ColumnComparison.runLength, count)
            let differing = comparisons.filter { !$0.areEqualRun(start, end) }
            if differing.isEmpty { continue }
            for row in start..<end {
                let columns = differingColumns(differing, row, row)
                if columns.isEmpty { continue }
                changes.modified.append(ObjectKey(new.pointee.key(at: row)))
                changes.columns.append(columns)
            }
        }
    }

    private mutating func comparePairs(
        _ old: UnsafeMutablePointer<GroupView>, _ new: UnsafeMutablePointer<GroupView>
    ) {
        defer { pairs.removeAll(keepingCapacity: true) }
        let comparisons = comparisons(old, new)
        if comparisons.isEmpty { return }
        for pair in pairs {
            let columns = differingColumns(comparisons, pair.older, pair.newer)
            if columns.isEmpty { continue }
            changes.modified.append(ObjectKey(new.pointee.key(at: pair.newer)))
            changes.columns.append(columns)
        }
    }

    private func differingColumns(_ comparisons: [ColumnComparison], _ a: Int, _ b: Int) -> ColumnSet {
        var columns = ColumnSet()
        for comparison in comparisons
        where !comparison.areEqual(a, b, older.groups.space, newer.groups.space) {
            columns.insert(comparison.column)
        }
        return columns
    }

    /// True if both versions read the same memory, for example a column that a small update left in its block.
    private static func areSameBytes(_ a: ColumnView, _ b: ColumnView) -> Bool {
        a.data == b.data && a.form == b.form && a.base == b.base && a.validity == b.validity && a.aux == b.aux
            && a.blobs == b.blobs && a.form != .slots
    }
}

/// Compares one column in two groups.
private struct ColumnComparison {
    /// Rows per run: one word of bits.
    static let runLength = 64

    let column: Int
    let before: ColumnView
    let after: ColumnView
    /// The form in which the column is written.
    let form: ColumnForm

    /// True if the rows are certain to be equal: the same bytes in the same form. `start` is the first row of a word.
    func areEqualRun(_ start: Int, _ end: Int) -> Bool {
        guard before.form == after.form, before.base == after.base,
            Self.word(before.validity, start, end, .max) == Self.word(after.validity, start, end, .max)
        else { return false }
        switch before.form {
        case .constant: return areSame(before.aux, after.aux, start, end, 4)
        case .bits:
            let a = before.data.assumingMemoryBound(to: UInt64.self)
            let b = after.data.assumingMemoryBound(to: UInt64.self)
            return Self.word(a, start, end, 0) == Self.word(b, start, end, 0)
        case .uint8: return areSame(1, start, end)
        case .uint16: return areSame(2, start, end)
        case .uint32, .float32: return areSame(4, start, end)
        case .int64, .float64: return areSame(8, start, end)
        case .bytes12: return areSame(12, start, end)
        case .bytes16: return areSame(16, start, end)
        case .text16, .text32: return areSameTexts(start, end)
        case .slots: return false
        }
    }

    /// Returns the bits of the rows, or `none` if there are no bits.
    private static func word(_ bits: UnsafeMutablePointer<UInt64>?, _ start: Int, _ end: Int, _ none: UInt64) -> UInt64
    {
        let mask = end - start < 64 ? (1 &<< UInt64(end - start)) &- 1 : UInt64.max
        return (bits?[start &>> 6] ?? none) & mask
    }

    private func areSame(_ width: Int, _ start: Int, _ end: Int) -> Bool {
        Memory.compare(before.data + start &* width, after.data + start &* width, (end &- start) &* width) == 0
            && areSame(before.aux, after.aux, start, end, 4)
    }

    private func areSame(
        _ a: UnsafeMutableRawPointer?, _ b: UnsafeMutableRawPointer?, _ start: Int, _ end: Int, _ width: Int
    ) -> Bool {
        guard let a, let b else { return a == b }
        return a == b || Memory.compare(a + start &* width, b + start &* width, (end &- start) &* width) == 0
    }

    /// Compares texts by their bytes, not by their offsets: if one text has grown, those after it are at other offsets
    /// in the heap.
    private func areSameTexts(_ start: Int, _ end: Int) -> Bool {
        guard Self.word(before.blobs, start, end, 0) == Self.word(after.blobs, start, end, 0) else { return false }
        let p = before.bytes(start)
        let q = after.bytes(start)
        guard let first = p.baseAddress, let second = q.baseAddress else { return false }
        for row in start..<end {
            let (a, b) = (before.bytes(row), after.bytes(row))
            guard a.count == b.count else { return false }
        }
        let (last, otherLast) = (before.bytes(end - 1), after.bytes(end - 1))
        guard let lastStart = last.baseAddress, let otherStart = otherLast.baseAddress else { return false }
        let count = lastStart + last.count - first
        guard count == otherStart + otherLast.count - second else { return false }
        return count == 0 || first == second || Memory.compare(first, second, count) == 0
    }

    /// Compares the stored values; floating-point values by their bits.
    @inline(__always)
    func areEqual(_ a: Int, _ b: Int, _ olderSpace: BlockSpace, _ newerSpace: BlockSpace) -> Bool {
        let isNull = before.isNull(a)
        if isNull != after.isNull(b) { return false }
        if isNull { return true }
        switch form {
        case .bits: return before.bit(a) == after.bit(b)
        case .float32: return before.float(a).bitPattern == after.float(b).bitPattern
        case .float64: return before.double(a).bitPattern == after.double(b).bitPattern
        case .bytes12: return before.bytes12(a) == after.bytes12(b)
        case .bytes16: return before.bytes16(a) == after.bytes16(b)
        case .slots:
            let x = before.bytes(a)
            let y = after.bytes(b)
            guard x.count == y.count, before.isBlob(a) == after.isBlob(b) else { return false }
            guard let p = x.baseAddress, let q = y.baseAddress, x.count > 0 else { return true }
            if p == q || Memory.compare(p, q, x.count) == 0 { return true }
            guard before.isBlob(a), BlobRecord.length(p) == BlobRecord.length(q) else { return false }
            // The blob may merely have been moved, to shorten the file.
            return Self.holdSame(BlockRef(reading: p), BlockRef(reading: q), olderSpace, newerSpace, depth: 0)
        default:
            return before.integer(a) == after.integer(b) && before.nanoseconds(a) == after.nanoseconds(b)
        }
    }

    /// True if two values in blocks of their own are equal, wherever the blocks are. False if a block cannot be read.
    private static func holdSame(
        _ a: BlockRef, _ b: BlockRef, _ olderSpace: BlockSpace, _ newerSpace: BlockSpace, depth: Int
    ) -> Bool {
        if a.location == b.location, a.birth == b.birth { return true }
        guard a.info == b.info, a.pageCount == b.pageCount, depth <= FormatLimits.treeDepth,
            let old = try? olderSpace.bytes(a), let new = try? newerSpace.bytes(b)
        else { return false }
        let head = BlockHeader.byteCount
        guard a.kind == BlockKind.elementNode.rawValue else {
            return Memory.compare(old + head, new + head, a.byteCount - head) == 0
        }
        guard Memory.compare(old + head, new + head, ElementNodeLayout.refs - head) == 0 else { return false }
        return (0..<ElementNodeLayout.count(old)).allSatisfy {
            holdSame(
                ElementNodeLayout.ref(old, $0), ElementNodeLayout.ref(new, $0), olderSpace, newerSpace,
                depth: depth + 1)
        }
    }
}
