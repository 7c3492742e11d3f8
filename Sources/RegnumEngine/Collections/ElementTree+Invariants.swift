// SPDX-License-Identifier: Apache-2.0
// The invariants of the nodes of a collection that are in memory. Blocks are checked when they are read, and as a whole
// by `countedAnew`.

extension ElementTree {
    /// Full check: returns what is wrong with the nodes and leaves in memory; empty if nothing is. `count`: the number
    /// of elements that there should be. O(nodes and leaves in memory, and of dictionaries their keys).
    func findings(_ root: ElementChild, count: Int, fanOut: Int) -> [String] {
        var findings: [String] = []
        if let found = check(root, level: nil, fanOut, "root", &findings), found != count {
            findings.append("the collection should have \(count) elements and has \(found)")
        }
        return findings
    }

    /// Returns the number of elements below a child in memory; nil for a block.
    private func check(
        _ child: ElementChild, level: Int?, _ fanOut: Int, _ path: String, _ findings: inout [String]
    ) -> Int? {
        switch child {
        case .ref: return nil
        case .bytes:
            if level != nil { findings.append("\(path) is a row's bytes below a node") }
            return nil
        case .leaf(let leaf):
            if let level, level != 1 { findings.append("\(path) is a leaf below level \(level)") }
            if level != nil, leaf.count == 0 { findings.append("\(path) is empty") }
            findings += leaf.findings.map { "\(path): \($0)" }
            return leaf.count
        case .node(let node):
            if let level, node.level != level - 1 {
                findings.append("\(path) is of level \(node.level) below level \(level)")
            }
            if node.children.isEmpty || node.children.count > fanOut {
                findings.append("\(path) has \(node.children.count) children")
            }
            guard node.children.count == node.counts.count else {
                findings.append("\(path) has \(node.children.count) children and \(node.counts.count) counts")
                return nil
            }
            for (i, child) in node.children.enumerated() {
                let found = check(child, level: node.level, fanOut, "\(path)/\(i)", &findings)
                if let found, found != node.counts[i] {
                    findings.append("\(path)/\(i) should have \(node.counts[i]) elements and has \(found)")
                }
            }
            return node.counts.reduce(0, +)
        }
    }
}

extension ElementLeaf {
    /// Returns what is wrong with a leaf; empty if nothing is. O(1).
    var findings: [String] {
        let keys = isDictionary ? count : 0
        return self.keys.count == keys ? [] : ["\(count) elements and \(self.keys.count) keys"]
    }
}
