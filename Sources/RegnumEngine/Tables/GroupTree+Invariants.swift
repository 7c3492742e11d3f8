// SPDX-License-Identifier: Apache-2.0
// The invariants of a tree of row groups. Those within one block are checked when the block is first read
// (GroupNodeLayout.check, RowGroupLayout.check).
//
//   local   the rows next to those appended or removed; the path to a group that became writable or was added
//   full    `findings()`: the nodes and groups that the transaction has sealed; at each seal

extension GroupTree {
    // MARK: Local checks

    /// Returns what is wrong with a row that was appended. O(log rows).
    static func findings(appended location: RowLocation, _ key: UInt64) -> [String] {
        let view = location.group.pointee
        var findings: [String] = []
        if location.row + 1 != view.count || view.count > FormatLimits.rowsPerGroup {
            findings.append("row \(location.row) was appended to a group that has \(view.count)")
        }
        if view.row(of: key) != location.row { findings.append("object \(key) is not in row \(location.row)") }
        if location.row > 0, view.key(at: location.row - 1) >= key {
            findings.append("object \(key) follows object \(view.key(at: location.row - 1))")
        }
        return findings
    }

    /// Returns what is wrong with a group of `before` rows after `rows` have been removed. O(log rows).
    static func findings(removed rows: [Int], _ before: Int, _ group: DirtyGroup) -> [String] {
        let view = group.view.pointee
        if view.count != before - rows.count {
            return ["\(rows.count) of \(before) rows were removed and \(view.count) are left"]
        }
        let row = rows[0]
        if row > 0, row < view.count, view.key(at: row - 1) >= view.key(at: row) {
            return ["row \(row) of a group is out of order"]
        }
        return []
    }

    /// Returns what is wrong with the path to a group in memory. O(depth).
    func findings(pathTo group: DirtyGroup) -> [String] {
        guard group.view.pointee.count > 0 else { return ["an empty group"] }
        let first = group.view.pointee.key(at: 0)
        let last = group.view.pointee.key(at: group.view.pointee.count - 1)
        guard var child = root else { return ["a group of an empty tree"] }
        var level: Int?
        while case .node(let node) = child {
            guard node.count > 0 else { return ["a node without children"] }
            if let level, node.level != level - 1 { return ["a node of level \(node.level) below level \(level)"] }
            let slot = node.child(for: first)
            if slot + 1 < node.count, last >= node.entries[slot + 1].firstKey {
                return ["object \(last) of a group belongs to the next one"]
            }
            if first < node.entries[slot].firstKey { return ["object \(first) of a group belongs to the one before"] }
            (child, level) = (node.child(slot), node.level)
        }
        guard case .group(let found) = child, found === group else { return ["the path does not lead to the group"] }
        if let level, level != 1 { return ["a group below level \(level)"] }
        return []
    }

    // MARK: The full check

    /// Returns what is wrong with the nodes and groups that the transaction has sealed: their order, levels and row
    /// counts. O(sealed nodes and groups). Blocks of earlier commits are not read.
    func findings() -> [String] {
        var findings: [String] = []
        if case .ref(let ref)? = root { _ = check(ref, level: nil, from: 0, below: .max, "root", &findings) }
        return findings
    }

    /// Returns the number of rows below a block that the transaction has sealed; nil for any other.
    private func check(
        _ ref: BlockRef, level: Int?, from first: UInt64, below end: UInt64, _ path: String, _ findings: inout [String]
    ) -> Int? {
        guard ref.isPending, let bytes = try? space.bytes(ref) else { return nil }
        if space.sealer.isDropped(ref) { findings.append("\(path) was dropped") }
        guard ref.kind == BlockKind.groupNode.rawValue else {
            let key = RowGroupLayout.firstKey(bytes)
            if let level, level != 1 { findings.append("\(path) is a group below level \(level)") }
            if key < first || key &+ (RowGroupLayout.keySpan(bytes) &- 1) >= end {
                findings.append("\(path) holds objects of another group")
            }
            return RowGroupLayout.rows(bytes)
        }
        let (count, own) = (GroupNodeLayout.count(bytes), GroupNodeLayout.level(bytes))
        if let level, own != level - 1 { findings.append("\(path) is of level \(own) below level \(level)") }
        if count == 0 { findings.append("\(path) has no children") }
        var total = 0
        for i in 0..<count {
            let key = GroupNodeLayout.firstKey(bytes, i)
            let next = i + 1 < count ? GroupNodeLayout.firstKey(bytes, i + 1) : end
            if key < first || key >= next { findings.append("\(path): child \(i) is out of order") }
            let known = Int(clamping: GroupNodeLayout.rowCount(bytes, i))
            let rows = check(
                GroupNodeLayout.ref(bytes, i), level: own, from: key, below: next, "\(path)/\(i)", &findings)
            if let rows, rows != known { findings.append("\(path)/\(i) should have \(known) rows and has \(rows)") }
            total += known
        }
        return total
    }

    // MARK: At the end of a mutation

    @inline(__always)
    func assertInvariants(appended location: RowLocation, _ key: UInt64) {
        guard space.isCheckDue() else { return }
        Invariants.require("row groups", Self.findings(appended: location, key))
    }

    @inline(__always)
    func assertInvariants(removed rows: [Int], _ before: Int, _ group: DirtyGroup) {
        guard space.isCheckDue() else { return }
        Invariants.require("row groups", Self.findings(removed: rows, before, group))
    }

    @inline(__always)
    func assertInvariants(pathTo group: DirtyGroup) {
        guard space.isCheckDue() else { return }
        Invariants.require("row groups", findings(pathTo: group))
    }

    /// The full check after a seal: always if the root is a group, otherwise one time in 16.
    @inline(__always)
    func assertInvariants() {
        guard Invariants.areChecked, case .ref(let ref)? = root, ref.isPending else { return }
        let isNode = ref.kind == BlockKind.groupNode.rawValue
        guard space.isCheckDue(oneIn: isNode ? Invariants.localRate : 1) else { return }
        Invariants.require("row groups", findings())
    }
}
