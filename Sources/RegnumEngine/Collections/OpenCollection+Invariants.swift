// SPDX-License-Identifier: Apache-2.0
// The invariants of a collection that is being changed.
//
//   local   the leaf that was changed, the neighbours of the element, and the counts on the path to it
//   full    `ElementTree.findings`: everything in memory; when the collection is sealed

extension OpenCollection {
    /// Nodes of at most this many children are summed up at each local check.
    private static let smallNode = 8

    /// Returns what is wrong around element `index`, which was inserted or changed there, or removed from there.
    /// O(depth); of a node that is due also its children.
    func findings(around index: Int) -> [String] {
        guard let leaf else { return path.isEmpty ? [] : ["a path to no leaf"] }
        var findings = leaf.findings
        if leafStart < 0 || leafStart + leaf.count > count {
            findings.append("a leaf ends at element \(leafStart + leaf.count) of \(count)")
        }
        let i = index - leafStart
        if leaf.isDictionary, leaf.keys.count == leaf.count {
            for i in max(i, 1)..<max(i + 2, 1) where i < leaf.count {
                if leaf.order(i, .key(leaf.keys[i - 1])) <= 0 { findings.append("key \(i) of a leaf is out of order") }
            }
        }
        var elements = leaf.count
        for (depth, (node, slot)) in path.enumerated().reversed() {
            guard slot < node.children.count, node.counts.count == node.children.count else {
                return findings + ["the path does not lead to the leaf"]
            }
            switch node.children[slot] {
            case .leaf(let found) where depth + 1 == path.count && found === leaf: break
            case .node(let found) where depth + 1 < path.count && found === path[depth + 1].node: break
            default: findings.append("the path does not lead to the leaf")
            }
            if node.counts[slot] != elements {
                findings.append("child \(slot) should have \(node.counts[slot]) elements and has \(elements)")
            }
            guard Invariants.isDue(oneIn: node.children.count / Self.smallNode) else { return findings }
            elements = node.counts.reduce(0, +)
        }
        if elements != count { findings.append("the collection should have \(count) elements and has \(elements)") }
        return findings
    }

    /// The local check at the end of a mutation.
    @inline(__always)
    func assertInvariants(around index: Int) {
        guard tree.space.isCheckDue() else { return }
        Invariants.require("collection", findings(around: index))
    }

    /// The full check after a pass over the collection, and before it is sealed.
    @inline(__always)
    func assertInvariants() {
        guard tree.space.isCheckDue(oneIn: Invariants.rate(of: count)) else { return }
        Invariants.require(
            "collection", tree.findings(root, count: count, fanOut: max(limits.fanOut, FormatLimits.elementNodeFanOut)))
    }
}
