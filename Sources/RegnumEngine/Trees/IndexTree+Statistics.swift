// SPDX-License-Identifier: Apache-2.0
// Enumerates the blocks of an index tree, and measures how full they are.

package struct IndexTreeStatistics: Sendable, Equatable {
    package var leafCount = 0
    package var branchCount = 0
    /// Levels of nodes; 0 if the tree is empty.
    package var depth = 0
    /// Bytes of leaves and branches, in whole pages.
    package var byteCount = 0
    /// Bytes in use in the leaves.
    package var leafByteCount = 0
}

extension IndexTree {
    /// Calls `body` with the ref of each sealed block of the tree, a branch before its children. Does not read leaves.
    /// O(leaves).
    package func forEachBlock(_ body: (BlockRef) throws(EngineError) -> Void) throws(EngineError) {
        var left = blockLimit
        if let node = state.pointee.rootNode { return try forEachBlock(node, &left, body) }
        if !state.pointee.root.isNone { try forEachBlock(state.pointee.root, parentLevel: nil, &left, body) }
    }

    /// The highest possible number of visits to sealed blocks; more mean that a damaged tree reaches blocks repeatedly.
    var blockLimit: Int { Int(clamping: space.reader.readablePages) + space.sealer.blockCount + 1 }

    /// Counts a visit to a sealed block.
    func visit(_ left: inout Int) throws(EngineError) {
        left -= 1
        guard left >= 0 else { throw corrupted("an index tree is too large") }
    }

    private func forEachBlock(
        _ node: IndexNodePointer, _ left: inout Int, _ body: (BlockRef) throws(EngineError) -> Void
    ) throws(EngineError) {
        guard let links = node.pointee.links else { return }
        for i in 0..<node.pointee.count {
            if let child = links[i].node {
                try forEachBlock(child, &left, body)
            } else {
                try forEachBlock(links[i].ref, parentLevel: node.pointee.level, &left, body)
            }
        }
    }

    private func forEachBlock(
        _ ref: BlockRef, parentLevel: Int?, _ left: inout Int, _ body: (BlockRef) throws(EngineError) -> Void
    ) throws(EngineError) {
        try visit(&left)
        if ref.kind == BlockKind.indexLeaf.rawValue { return try body(ref) }
        let branch = IndexBranchView(try view(ref, parentLevel: parentLevel).bytes)
        let level = Int(branch.bytes.load(fromByteOffset: IndexNodeLayout.levelOffset, as: UInt8.self))
        // `body` may free the block, but its bytes stay valid until the transaction ends.
        try body(ref)
        for i in 0..<branch.count { try forEachBlock(branch.ref(i), parentLevel: level, &left, body) }
    }

    /// Returns statistics of the sealed blocks.
    package func statistics() throws(EngineError) -> IndexTreeStatistics {
        var result = IndexTreeStatistics()
        try forEachBlock { (ref) throws(EngineError) in
            result.byteCount += ref.byteCount
            if ref.kind == BlockKind.indexLeaf.rawValue {
                result.leafCount += 1
                result.leafByteCount += Int(UInt32(truncatingIfNeeded: ref.info))
            } else {
                result.branchCount += 1
            }
        }
        if let root = try rootView() { result.depth = root.level + 1 }
        return result
    }
}
