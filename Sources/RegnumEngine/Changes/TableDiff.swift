// SPDX-License-Identifier: Apache-2.0
// The structural difference of one table in two versions. A block is never changed in place, so two equal refs
// are two equal subtrees: both trees are opened level by level, and what both hold is dropped before it is
// visited. What is left are row groups that differ; their objects are paired by key and compared column by
// column, but for columns whose bytes are the same bytes.

import RegnumSystem

struct TableDiff {
    /// What tells blocks apart: a page is used again only with another birth.
    private struct Identity: Hashable {
        var location: UInt64
        var birth: UInt64
        init(_ ref: BlockRef) {
            location = ref.location
            birth = ref.birth
        }
    }

    /// A row group of one side and its keys.
    private struct Side {
        var groups: [UnsafeMutablePointer<GroupView>]
        var next = 0
        var group: UnsafeMutablePointer<GroupView>?
        var keys: [UInt64] = []
        var row = 0

        init(_ groups: [UnsafeMutablePointer<GroupView>]) {
            self.groups = groups
            keys.reserveCapacity(FormatLimits.rowsPerGroup)
            advanceGroup()
        }

        var key: UInt64? { row < keys.count ? keys[row] : nil }

        mutating func advanceGroup() {
            row = 0
            keys.removeAll(keepingCapacity: true)
            group = next < groups.count ? groups[next] : nil
            next += 1
            guard let group else { return }
            for i in 0..<group.pointee.count { keys.append(group.pointee.key(at: i)) }
        }
    }

    private let older: Table
    private let newer: Table
    /// By the newer version's column number: the older version's, or nil where it had no such column.
    private let olderColumns: [Int?]
    private var changes: TableChanges
    /// Objects of the two current groups that have the same key.
    private var pairs: [(older: Int, newer: Int)] = []

    init(older: Table, newer: Table) {
        self.older = older
        self.newer = newer
        olderColumns = newer.definition.columns.map { column in
            older.definition.columns.firstIndex {
                $0.key == column.key && $0.type == column.type && $0.collection == column.collection
            }
        }
        changes = TableChanges(table: newer.definition.key)
    }

    mutating func run() throws(EngineError) -> TableChanges {
        var before = older.groups.committedRoot.map { [$0] } ?? []
        var after = newer.groups.committedRoot.map { [$0] } ?? []
        Self.dropShared(&before, &after)
        while let level = try Self.level(before + after, newer.groups.space) {
            before = try Self.opened(before, level, older.groups.space)
            after = try Self.opened(after, level, newer.groups.space)
            Self.dropShared(&before, &after)
        }
        var olderGroups: [UnsafeMutablePointer<GroupView>] = []
        for ref in before { olderGroups.append(try older.groups.group(ref)) }
        var newerGroups: [UnsafeMutablePointer<GroupView>] = []
        for ref in after { newerGroups.append(try newer.groups.group(ref)) }
        compare(Side(olderGroups), Side(newerGroups))
        return changes
    }

    // MARK: Nodes

    /// The highest level of a node among the blocks; nil where all are row groups.
    private static func level(_ refs: [BlockRef], _ space: BlockSpace) throws(EngineError) -> Int? {
        var highest: Int?
        for ref in refs where ref.kind == BlockKind.groupNode.rawValue {
            highest = max(highest ?? 0, GroupNodeLayout.level(try space.bytes(ref)))
        }
        return highest
    }

    /// The blocks, with the children of the nodes of that level in their place.
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

    /// Drops what both versions hold.
    private static func dropShared(_ before: inout [BlockRef], _ after: inout [BlockRef]) {
        if before.isEmpty || after.isEmpty { return }
        let inBefore = Set(before.map { Identity($0) })
        let shared = Set(after.lazy.map { Identity($0) }.filter { inBefore.contains($0) })
        if shared.isEmpty { return }
        before.removeAll { shared.contains(Identity($0)) }
        after.removeAll { shared.contains(Identity($0)) }
    }

    // MARK: Objects

    private mutating func compare(_ olderSide: Side, _ newerSide: Side) {
        var a = olderSide
        var b = newerSide
        while a.group != nil || b.group != nil {
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
            // The columns of a pair of groups are compared before either is left.
            let isOlderDone = a.group != nil && a.key == nil
            let isNewerDone = b.group != nil && b.key == nil
            if isOlderDone || isNewerDone {
                if let old = a.group, let new = b.group { comparePairs(old, new) }
                if isOlderDone { a.advanceGroup() }
                if isNewerDone { b.advanceGroup() }
            }
        }
    }

    private mutating func comparePairs(
        _ old: UnsafeMutablePointer<GroupView>, _ new: UnsafeMutablePointer<GroupView>
    ) {
        if pairs.isEmpty { return }
        var differing = [ColumnSet](repeating: ColumnSet(), count: pairs.count)
        var isAnyDifferent = false
        for (column, oldColumn) in olderColumns.enumerated() {
            guard let oldColumn else { continue }
            let before = old.pointee.columns[oldColumn]
            let after = new.pointee.columns[column]
            if Self.areSameBytes(before, after) { continue }
            let compare = ColumnComparison(newer.definition.columns[column], before, after)
            for (i, pair) in pairs.enumerated() where !compare.areEqual(pair.older, pair.newer) {
                differing[i].insert(column)
                isAnyDifferent = true
            }
        }
        if isAnyDifferent {
            for (i, pair) in pairs.enumerated() where !differing[i].isEmpty {
                changes.modified.append(ObjectKey(new.pointee.key(at: pair.newer)))
                changes.columns.append(differing[i])
            }
        }
        pairs.removeAll(keepingCapacity: true)
    }

    /// True where both versions read the very same memory, as of a column that a small update left in its block.
    private static func areSameBytes(_ a: ColumnView, _ b: ColumnView) -> Bool {
        a.data == b.data && a.form == b.form && a.base == b.base && a.validity == b.validity && a.aux == b.aux
            && a.blobs == b.blobs && a.form != .slots
    }
}

/// One column in two groups.
private struct ColumnComparison {
    private let before: ColumnView
    private let after: ColumnView
    private let form: ColumnForm

    init(_ definition: ColumnDefinition, _ before: ColumnView, _ after: ColumnView) {
        self.before = before
        self.after = after
        form = definition.writableForm
    }

    /// Compares what is stored: floating point values by their bits.
    @inline(__always)
    func areEqual(_ a: Int, _ b: Int) -> Bool {
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
            return p == q || Memory.compare(p, q, x.count) == 0
        default:
            return before.integer(a) == after.integer(b) && before.nanoseconds(a) == after.nanoseconds(b)
        }
    }
}
