// SPDX-License-Identifier: Apache-2.0
// Visits every group of a tree in key order, as scans do.

extension GroupTree {
    /// The state of a visit: its limit, and its prefetch distance.
    private struct Visit {
        /// The block visits left; running out means that a damaged tree reaches blocks repeatedly.
        var blocksLeft: Int
        /// The number of groups to prefetch: few at first, because the visit may end soon.
        var ahead = 1
        /// The sum of the bytes touched.
        var sum = 0
    }

    /// Adds the parts of a group that `body` is going to read.
    typealias Reads = (UnsafeMutablePointer<GroupView>, inout ScanPrefetch) -> Void

    /// Calls `body` with each group in key order until it returns false.
    func forEachGroup(
        readingAhead reads: Reads, _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        var visit = Visit(blocksLeft: blockLimit)
        if let root { _ = try self.visit(root, depth: 0, &visit, reads, body) }
        // Uses the sum, so that the compiler cannot remove the prefetch reads.
        precondition(visit.sum >= 0, "a sum of bytes")
    }

    private func visit(
        _ child: Child, depth: Int, _ visit: inout Visit, _ reads: Reads,
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        switch child {
        case .ref(let ref): return try self.visit(ref, depth: depth, &visit, reads, body)
        case .group(let group): return group.view.pointee.count == 0 ? true : try body(group.view)
        case .node(let node):
            for i in 0..<node.count
            where try !self.visit(node.child(i), depth: depth, &visit, reads, body) { return false }
            return true
        }
    }

    /// Visits committed blocks, without reference counting.
    private func visit(
        _ ref: BlockRef, depth: Int, _ visit: inout Visit, _ reads: Reads,
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        visit.blocksLeft -= 1
        guard depth <= FormatLimits.treeDepth, visit.blocksLeft >= 0 else {
            throw corrupted("a tree is too deep or too large")
        }
        guard ref.kind == BlockKind.groupNode.rawValue else { return try body(try group(ref)) }
        let node = try space.bytes(ref)
        if GroupNodeLayout.level(node) == 1 { return try visitGroups(of: node, &visit, reads, body) }
        for i in 0..<GroupNodeLayout.count(node)
        where try !self.visit(GroupNodeLayout.ref(node, i), depth: depth + 1, &visit, reads, body) { return false }
        return true
    }

    /// Looks up several groups before visiting the first of them, so that the processor fetches their memory in
    /// parallel.
    private func visitGroups(
        of node: UnsafeRawPointer, _ visit: inout Visit, _ reads: Reads,
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let count = GroupNodeLayout.count(node)
        visit.blocksLeft -= count
        guard visit.blocksLeft >= 0 else { throw corrupted("a tree is too large") }
        let groups = UnsafeMutablePointer<UnsafeMutablePointer<GroupView>>.allocate(capacity: count)
        var lines = ScanPrefetch()
        defer {
            groups.deallocate()
            lines.deallocate()
        }
        var start = 0
        while start < count {
            let end = min(start + visit.ahead, count)
            for i in start..<end { groups[i] = try group(GroupNodeLayout.ref(node, i)) }
            while start < end {
                var next = end
                // Not for the first group: the visit may end with it.
                if visit.ahead > 1 {
                    next = start
                    while next < end, lines.wantsMore {
                        reads(groups[next], &lines)
                        next += 1
                    }
                    visit.sum &+= lines.touch()
                }
                for i in start..<next where try !body(groups[i]) { return false }
                start = next
            }
            if visit.ahead < FormatLimits.nodeFanOut { visit.ahead *= 4 }
        }
        return true
    }
}
