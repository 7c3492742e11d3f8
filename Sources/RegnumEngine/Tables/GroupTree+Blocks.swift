// SPDX-License-Identifier: Apache-2.0
// Enumerates every block of a tree, for checks, for statistics and for freeing them all.

extension GroupTree {
    /// Calls `body` with each committed or pending block of the tree: nodes, groups and the older blocks that groups
    /// still use (once per reference), but not blobs.
    func forEachBlock(_ body: (BlockRef) throws(EngineError) -> Void) throws(EngineError) {
        try visitBlocks { (ref, _) throws(EngineError) in try body(ref) }
    }

    /// Like `forEachBlock`. `isSource` is true for an older row group if a row group of the tree refers to its columns.
    func visitBlocks(_ body: (BlockRef, _ isSource: Bool) throws(EngineError) -> Void) throws(EngineError) {
        guard let root else { return }
        var left = blockLimit
        try visitBlocks(root, depth: 0, &left, body)
    }

    private func visitBlocks(
        _ child: Child, depth: Int, _ left: inout Int, _ body: (BlockRef, Bool) throws(EngineError) -> Void
    ) throws(EngineError) {
        if case .ref = child { left -= 1 }
        guard depth <= FormatLimits.treeDepth, left >= 0 else { throw corrupted("a tree is too deep or too large") }
        switch child {
        case .group(let group): for source in group.sources { try body(source.ref, true) }
        case .node(let node): for i in 0..<node.count { try visitBlocks(node.child(i), depth: depth, &left, body) }
        case .ref(let ref):
            let bytes = try space.bytes(ref)
            try body(ref, false)
            if ref.kind == BlockKind.groupNode.rawValue {
                for i in 0..<GroupNodeLayout.count(bytes) {
                    try visitBlocks(.ref(GroupNodeLayout.ref(bytes, i)), depth: depth + 1, &left, body)
                }
            } else {
                for i in 0..<RowGroupLayout.externalCount(bytes) { try body(RowGroupLayout.external(bytes, i), true) }
            }
        }
    }
}
