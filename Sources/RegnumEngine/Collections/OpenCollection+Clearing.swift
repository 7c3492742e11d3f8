// SPDX-License-Identifier: Apache-2.0
// Clears links from a collection in one pass. Lists and sets lose the elements that are such links, dictionaries keep
// their keys with null, and mixed values lose the links within them. Leaves without such links stay in their blocks.

/// The links to clear, and the progress of the pass.
struct ElementPass {
    let targets: WordSet
    /// Links that have not been found yet; at 0 the pass ends.
    var linksLeft: Int
    let kind: CollectionKind
    /// The number of blocks that may still be visited: a damaged tree may lead to a block more than once.
    var blocksLeft: Int
    /// The number of elements visited.
    var position = 0
    var firstCleared: Int?
    var clearedCount = 0

    /// Counts one element that is changed or removed.
    fileprivate mutating func clear(_ links: Int, at index: Int) {
        linksLeft -= links
        clearedCount += 1
        if firstCleared == nil { firstCleared = index }
    }

    fileprivate func removes(_ value: Value) -> Bool {
        // The position of a set's element depends on its value, which therefore must not change.
        kind == .set || kind == .list && value.isLink(to: targets)
    }
}

extension OpenCollection {
    func clear(_ pass: inout ElementPass) throws(EngineError) {
        guard let (child, count) = try cleared(root, below: nil, count: count, &pass) else { return }
        root = count > 0 ? child : .leaf(ElementLeaf(tree.type, isDictionary: tree.isDictionary))
        replacedRoot(count: count)
    }

    /// Returns the child without the links, and the number of its elements; nil if it is unchanged.
    private func cleared(
        _ child: ElementChild, below level: Int?, count: Int, _ pass: inout ElementPass
    ) throws(EngineError) -> (ElementChild, Int)? {
        if pass.linksLeft <= 0 { return nil }
        switch child {
        case .leaf(let leaf): return (child, leaf.clear(&pass))
        case .node(let node):
            let children = zip(node.children, node.counts)
            guard let (children, counts) = try cleared(children, node.level, &pass) else { return nil }
            (node.children, node.counts) = (children, counts)
            return (child, counts.reduce(0, +))
        case .ref(let ref) where ElementTree.isNode(ref):
            try ElementTree.visit(ref, &pass.blocksLeft)
            let bytes = try tree.nodeBytes(ref, below: level)
            let n = ElementNodeLayout.count(bytes)
            let nodeLevel = ElementNodeLayout.level(bytes)
            let refs = (0..<n).map { ElementChild.ref(ElementNodeLayout.ref(bytes, $0)) }
            let counts = (0..<n).map { ElementNodeLayout.end(bytes, $0) - ElementNodeLayout.start(bytes, $0) }
            guard let (children, counts) = try cleared(zip(refs, counts), nodeLevel, &pass) else { return nil }
            tree.space.free(ref)
            return (.node(ElementNode(level: nodeLevel, children: children, counts: counts)), counts.reduce(0, +))
        default:
            if case .ref(let ref) = child { try ElementTree.visit(ref, &pass.blocksLeft) }
            guard let stored = try tree.leaf(child) else { return nil }
            guard (0..<stored.count).contains(where: { stored.value($0).linkCount(to: pass.targets) > 0 }) else {
                pass.position += stored.count
                return nil
            }
            guard case .leaf(let leaf) = try changeable(child, below: level, count: count) else { return nil }
            return (.leaf(leaf), leaf.clear(&pass))
        }
    }

    /// Returns the remaining children of a node with their counts; nil if all are unchanged.
    private func cleared(
        _ children: Zip2Sequence<[ElementChild], [Int]>, _ level: Int, _ pass: inout ElementPass
    ) throws(EngineError) -> ([ElementChild], [Int])? {
        var (left, counts): ([ElementChild], [Int]) = ([], [])
        var isChanged = false
        for (child, count) in children {
            guard let (child, count) = try cleared(child, below: level, count: count, &pass) else {
                left.append(child)
                counts.append(count)
                continue
            }
            isChanged = true
            if count == 0 { continue }
            left.append(child)
            counts.append(count)
        }
        return isChanged ? (left, counts) : nil
    }
}

extension ElementLeaf {
    /// Clears the links. Returns the number of elements that remain.
    fileprivate func clear(_ pass: inout ElementPass) -> Int {
        let start = pass.position
        pass.position += count
        var kept = 0
        for i in 0..<count {
            let links = pass.linksLeft > 0 ? values[i].linkCount(to: pass.targets) : 0
            if links > 0 {
                pass.clear(links, at: start + kept)
                if pass.removes(values[i]) { continue }
            }
            take(i, as: links > 0 ? values[i].clearingLinks(to: pass.targets) : nil, to: kept)
            kept += 1
        }
        truncate(kept)
        return kept
    }
}
