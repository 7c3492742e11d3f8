// SPDX-License-Identifier: Apache-2.0
// Checks the laws of a table's rows: their keys, the counts in the nodes above them, the births of their blocks, and
// the content of each column.

import RegnumSystem

struct GroupCheck {
    /// A value in a block of its own.
    struct Blob {
        var ref: BlockRef
        var column: Int
        /// The key of the object that has the value.
        var key: UInt64
        /// The birth of the row group that refers to it.
        var parentBirth: UInt64
    }

    private let table: Table
    private let name: String
    private(set) var findings: [Finding] = []
    private(set) var blobs: [Blob] = []
    private(set) var rows = 0
    private(set) var lastKey: UInt64 = 0
    /// The number of blocks that may still be visited: a damaged tree may lead to a block more than once.
    private var left: Int

    init(_ table: Table) {
        self.table = table
        name = table.definition.name
        left = table.groups.blockLimit
    }

    /// Runs the check; call it once. Throws if a block cannot be read; earlier findings are kept.
    mutating func run() throws(EngineError) {
        if let root = table.groups.committedRoot { _ = try visit(root, depth: 0) }
    }

    /// A summary of the rows below a block.
    private struct Part {
        var rows = 0
        var firstKey = UInt64.max
        var lastKey: UInt64 = 0
    }

    private mutating func find(_ law: Int, _ page: UInt64, _ text: String) {
        findings.append(Finding(law: law, text: "\(name) > block at page \(page): \(text)"))
    }

    private mutating func visit(_ ref: BlockRef, depth: Int) throws(EngineError) -> Part {
        left -= 1
        guard depth <= FormatLimits.treeDepth, left >= 0 else { throw corrupted("a tree is too deep or too large") }
        guard ref.kind == BlockKind.groupNode.rawValue else { return try checkGroup(ref) }
        let node = try table.session.space.bytes(ref)
        var whole = Part()
        for i in 0..<GroupNodeLayout.count(node) {
            let child = GroupNodeLayout.ref(node, i)
            compareBirth(child, ref)
            let part = try visit(child, depth: depth + 1)
            let counted = GroupNodeLayout.rowCount(node, i)
            if UInt64(part.rows) != counted {
                find(8, ref.page, "the node counts \(counted) rows at page \(child.page), but there are \(part.rows)")
            }
            // Lookups rely on these bounds.
            let isLow = i > 0 && part.firstKey < GroupNodeLayout.firstKey(node, i)
            let isHigh = i + 1 < GroupNodeLayout.count(node) && part.lastKey >= GroupNodeLayout.firstKey(node, i + 1)
            if isLow || isHigh {
                let key = isLow ? part.firstKey : part.lastKey
                let place = "in the block at page \(child.page)"
                find(8, ref.page, "key \(key) is \(place), not in the one that its node names")
            }
            whole.rows += part.rows
            whole.firstKey = min(whole.firstKey, part.firstKey)
            whole.lastKey = max(whole.lastKey, part.lastKey)
        }
        return whole
    }

    private mutating func compareBirth(_ child: BlockRef, _ parent: BlockRef) {
        if child.birth > parent.birth {
            find(3, parent.page, "the block at page \(child.page) is newer than the block that refers to it")
        }
    }

    private mutating func checkGroup(_ ref: BlockRef) throws(EngineError) -> Part {
        let group = try table.groups.group(ref)
        let block = try table.session.space.bytes(ref)
        for i in 0..<RowGroupLayout.externalCount(block) { compareBirth(RowGroupLayout.external(block, i), ref) }
        let count = group.pointee.count
        let (first, last) = (group.pointee.key(at: 0), group.pointee.key(at: count - 1))
        if first <= lastKey { find(8, ref.page, "key \(first) is not above \(lastKey), which comes before it") }
        lastKey = last
        rows += count
        for column in table.definition.columns.indices {
            checkBytes(group, column, ref)
            checkZone(group, column, ref)
        }
        return Part(rows: count, firstKey: first, lastKey: last)
    }

    /// Checks that texts are UTF-8, and collects the values in blocks of their own.
    private mutating func checkBytes(_ group: UnsafeMutablePointer<GroupView>, _ column: Int, _ ref: BlockRef) {
        let definition = table.definition.columns[column]
        guard definition.writableForm == .slots else { return }
        let view = group.columns[column]
        let isText = definition.type == .string && definition.collection == .none
        var (bad, firstBad) = (0, 0)
        for row in 0..<group.pointee.count {
            let bytes = view.bytes(row)
            if view.isBlob(row) {
                guard let record = bytes.baseAddress else { continue }
                blobs.append(
                    Blob(
                        ref: BlockRef(reading: record), column: column, key: group.pointee.key(at: row),
                        parentBirth: ref.birth))
            } else if isText, String(validating: bytes, as: UTF8.self) == nil {
                if bad == 0 { firstBad = row }
                bad += 1
            }
        }
        if bad > 0 {
            let key = group.pointee.key(at: firstBad)
            let name = definition.name
            find(15, ref.page, "\(name): texts that are not UTF-8: \(bad); the first belongs to object \(key)")
        }
    }

    private mutating func checkZone(_ group: UnsafeMutablePointer<GroupView>, _ column: Int, _ ref: BlockRef) {
        let view = group.columns[column]
        guard view.hasZone else { return }
        var (bad, firstBad) = (0, 0)
        for row in 0..<group.pointee.count where !view.isNull(row) && !Self.isInZone(view, row) {
            if bad == 0 { firstBad = row }
            bad += 1
        }
        if bad > 0 {
            let key = group.pointee.key(at: firstBad)
            let name = table.definition.columns[column].name
            find(15, ref.page, "\(name): values outside their zone: \(bad); the first belongs to object \(key)")
        }
    }

    private static func isInZone(_ view: ColumnView, _ row: Int) -> Bool {
        switch view.form {
        case .float64: isInZone(view.double(row), view)
        case .float32: isInZone(Double(view.float(row)), view)
        default: view.integer(row) >= view.zoneMin && view.integer(row) <= view.zoneMax
        }
    }

    private static func isInZone(_ value: Double, _ view: ColumnView) -> Bool {
        value >= Double(bitPattern: UInt64(bitPattern: view.zoneMin))
            && value <= Double(bitPattern: UInt64(bitPattern: view.zoneMax))
    }
}
