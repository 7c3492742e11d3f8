// SPDX-License-Identifier: Apache-2.0
// Every group of a tree, one after the other: what scans run over.

extension GroupTree {
    /// How far a visit may go, and how far ahead it reads.
    private struct Visit {
        /// More blocks than this mean that those of a damaged tree are reached more than once.
        var blocksLeft: Int
        /// Groups that are looked up before the first of them is visited: few at first, as the visit may end soon.
        var ahead = 1
        /// Of what was touched.
        var sum = 0
    }

    /// What `body` is going to read of a group.
    typealias Reads = (UnsafeMutablePointer<GroupView>, inout LinesAhead) -> Void

    /// Calls `body` with each group in key order until it returns false.
    func forEachGroup(
        readingAhead reads: Reads, _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) {
        var visit = Visit(blocksLeft: blockLimit)
        if let root { _ = try self.visit(root, depth: 0, &visit, reads, body) }
        // So that the compiler does not leave the reads out.
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

    /// Committed blocks: no references are counted on the way.
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

    /// Looks some groups up before the first of them is visited: what of them the processor has to fetch from memory
    /// is fetched at once, not one after the other.
    private func visitGroups(
        of node: UnsafeRawPointer, _ visit: inout Visit, _ reads: Reads,
        _ body: (UnsafeMutablePointer<GroupView>) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        let count = GroupNodeLayout.count(node)
        visit.blocksLeft -= count
        guard visit.blocksLeft >= 0 else { throw corrupted("a tree is too large") }
        let groups = UnsafeMutablePointer<UnsafeMutablePointer<GroupView>>.allocate(capacity: count)
        var lines = LinesAhead()
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
