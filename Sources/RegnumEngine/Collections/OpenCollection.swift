// SPDX-License-Identifier: Apache-2.0
// A collection that the running transaction changes: the path to the changes is in memory, with its leaves decoded; the
// rest stays in blocks. The leaf that was changed last is cached, so that a loop of appends costs as much as with an
// array. After a change has thrown, the transaction must be rolled back.

import RegnumSystem

final class OpenCollection {
    let column: Int
    let key: ObjectKey
    let tree: ElementTree
    let limits: ElementTreeLimits
    @exclusivity(unchecked) private(set) var count: Int
    @exclusivity(unchecked) var root: ElementChild
    @exclusivity(unchecked) private(set) var isChanged = false
    /// The approximate bytes of the elements that were decoded or added; removed elements are not subtracted.
    @exclusivity(unchecked) private(set) var decodedByteCount = 128
    /// The leaf that was changed last, the number of elements before it, and the path of nodes to it.
    @exclusivity(unchecked) private(set) var leaf: ElementLeaf?
    @exclusivity(unchecked) private(set) var leafStart = 0
    @exclusivity(unchecked) private(set) var path: [(node: ElementNode, slot: Int)] = []
    /// The leaf that was read last. Valid until the next change.
    @exclusivity(unchecked) private var lastRead: (leaf: LeafAccess, start: Int)?

    init(
        _ column: Int, _ key: ObjectKey, _ tree: ElementTree, _ root: ElementChild, _ limits: ElementTreeLimits
    ) throws(EngineError) {
        (self.column, self.key, self.tree, self.root, self.limits) = (column, key, tree, root, limits)
        count = try tree.count(root)
        // The row's own bytes may move while the collection is open and unchanged.
        if case .bytes = root { self.root = try changeable(root, below: nil, count: count) }
    }

    // MARK: Reading

    /// Returns the leaf that holds element `index`, and the number of elements before the leaf.
    func locate(_ index: Int) throws(EngineError) -> (leaf: LeafAccess, start: Int) {
        precondition(index >= 0 && index < count, "element \(index) of \(count)")
        if let leaf, index >= leafStart, index - leafStart < leaf.count { return (.memory(leaf), leafStart) }
        if let read = lastRead, index >= read.start, index - read.start < read.leaf.count { return read }
        guard let found = try tree.locate(index, root) else { throw corrupted("the counts of a collection are wrong") }
        lastRead = found
        return found
    }

    func value(_ index: Int) throws(EngineError) -> Value {
        if let leaf, index >= leafStart, index - leafStart < leaf.count { return leaf.values[index - leafStart] }
        let (leaf, start) = try locate(index)
        return leaf.value(index - start)
    }

    /// Returns the index of an element of a set or dictionary, or the index at which it belongs.
    func search(_ probe: ElementProbe) throws(EngineError) -> (index: Int, isFound: Bool) {
        guard let leaf, leaf.count > 0 else { return try tree.search(probe, root) }
        let here = LeafAccess.memory(leaf)
        let isLast = leafStart + leaf.count == count
        // Elements added in ascending order belong at the end.
        if isLast, here.order(leaf.count - 1, probe) < 0 { return (count, false) }
        if leafStart == 0 || here.order(0, probe) <= 0 {
            let (index, isFound) = here.search(probe)
            if isLast || index < leaf.count { return (leafStart + index, isFound) }
        }
        return try tree.search(probe, root)
    }

    // MARK: Changing

    func insert(_ value: Value, key: String? = nil, at index: Int) throws(EngineError) {
        let leaf = try seek(index, isInsert: true)
        let held = leaf.changedByteCount
        leaf.insert(value, key: key, at: index - leafStart)
        grew(1, leaf, from: held, isAtEnd: index == count)
        assertInvariants(around: index)
    }

    func insert(_ values: [Value], at index: Int) throws(EngineError) {
        if values.count == 1 { return try insert(values[0], at: index) }
        var at = index
        var rest = values[...]
        while !rest.isEmpty {
            let part = rest.prefix(2048)
            rest = rest.dropFirst(part.count)
            let leaf = try seek(at, isInsert: true)
            let held = leaf.changedByteCount
            leaf.insert(part, at: at - leafStart)
            grew(part.count, leaf, from: held, isAtEnd: at == count)
            assertInvariants(around: at)
            at += part.count
        }
    }

    /// Replaces a value. Returns the old one.
    func replace(_ index: Int, _ value: Value) throws(EngineError) -> Value {
        let leaf = try seek(index, isInsert: false)
        let old = leaf.values[index - leafStart]
        let held = leaf.changedByteCount
        leaf.replace(index - leafStart, value)
        grew(0, leaf, from: held, isAtEnd: false)
        assertInvariants(around: index)
        return old
    }

    /// Changes an element in place. `body` returns by how many bytes it has grown.
    func change(_ index: Int, _ body: (inout Value) -> Int) throws(EngineError) {
        let leaf = try seek(index, isInsert: false)
        let held = leaf.changedByteCount
        leaf.change(index - leafStart, body)
        grew(0, leaf, from: held, isAtEnd: false)
    }

    /// Removes elements. `removed` is called with the removed values.
    func remove(
        _ range: Range<Int>, _ removed: (ArraySlice<Value>) throws(EngineError) -> Void
    ) throws(EngineError) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "elements \(range) of \(count)")
        var left = range.count
        while left > 0 {
            let leaf = try seek(range.lowerBound, isInsert: false)
            let start = range.lowerBound - leafStart
            let part = start..<min(start + left, leaf.count)
            try removed(leaf.values[part])
            leaf.remove(part)
            isChanged = true
            add(-part.count)
            left -= part.count
            if leaf.count == 0 { dropEmptyLeaf() }
            assertInvariants(around: range.lowerBound)
        }
    }

    /// Removes all elements without reading them.
    func removeAll() throws(EngineError) {
        if count == 0 { return }
        try free(root)
        root = .leaf(ElementLeaf(tree.type, isDictionary: tree.isDictionary))
        (count, leaf, lastRead, isChanged) = (0, nil, nil, true)
        path.removeAll()
    }

    /// Updates the state after a pass has changed the tree below the root.
    func replacedRoot(count: Int) {
        (self.count, leaf, lastRead, leafStart, isChanged) = (count, nil, nil, 0, true)
        path.removeAll()
        collapse()
        assertInvariants()
    }

    private func free(_ child: ElementChild) throws(EngineError) {
        switch child {
        case .bytes, .leaf: break
        case .node(let node): for child in node.children { try free(child) }
        case .ref(let ref):
            try ElementTree.forEachBlock(ref, tree.space) { (ref, _) throws(EngineError) in tree.space.free(ref) }
        }
    }

    private func add(_ n: Int) {
        lastRead = nil
        count &+= n
        for step in path { step.node.counts[step.slot] &+= n }
    }

    /// `held`: the bytes of memory that the leaf used before.
    private func grew(_ n: Int, _ leaf: ElementLeaf, from held: Int, isAtEnd: Bool) {
        isChanged = true
        decodedByteCount &+= max(leaf.changedByteCount &- held, 0)
        add(n)
        if leaf.byteCount > limits.leafByteCount, leaf.count > 1 { split(leaf, isGrowing: isAtEnd) }
    }

    // MARK: Traversal

    /// Returns the leaf of element `index`, ready to be changed. For an insertion the leaf may also end at `index`.
    @inline(__always)
    private func seek(_ index: Int, isInsert: Bool) throws(EngineError) -> ElementLeaf {
        if let leaf, index >= leafStart, index &- leafStart < leaf.count &+ (isInsert ? 1 : 0) { return leaf }
        return try seekFromRoot(index, reach: isInsert ? 1 : 0)
    }

    private func seekFromRoot(_ index: Int, reach: Int) throws(EngineError) -> ElementLeaf {
        precondition(index >= 0 && index < count + reach, "element \(index) of \(count)")
        leaf = nil
        lastRead = nil
        leafStart = 0
        path.removeAll(keepingCapacity: true)
        root = try changeable(root, below: nil, count: count)
        var child = root
        while case .node(let node) = child {
            var slot = 0
            while slot + 1 < node.counts.count, index - leafStart >= node.counts[slot] + reach {
                leafStart += node.counts[slot]
                slot += 1
            }
            path.append((node, slot))
            child = try changeable(node.children[slot], below: node.level, count: node.counts[slot])
            node.children[slot] = child
        }
        guard case .leaf(let found) = child else { preconditionFailure("a path that ends in no leaf") }
        leaf = found
        return found
    }

    /// Returns the child decoded in memory, and frees its block.
    func changeable(
        _ child: ElementChild, below level: Int?, count expected: Int
    ) throws(EngineError) -> ElementChild {
        switch child {
        case .leaf, .node: return child
        case .ref(let ref) where ElementTree.isNode(ref):
            let bytes = try tree.nodeBytes(ref, below: level)
            let n = ElementNodeLayout.count(bytes)
            let node = ElementNode(
                level: ElementNodeLayout.level(bytes), children: (0..<n).map { .ref(ElementNodeLayout.ref(bytes, $0)) },
                counts: (0..<n).map { ElementNodeLayout.end(bytes, $0) - ElementNodeLayout.start(bytes, $0) })
            guard ElementNodeLayout.total(bytes) == expected else {
                throw corrupted("the counts of a collection are wrong", page: ref.page)
            }
            tree.space.free(ref)
            return .node(node)
        default:
            guard case .stored(let stored)? = try tree.leaf(child), stored.values.count == expected else {
                throw corrupted("the counts of a collection are wrong")
            }
            let leaf = ElementLeaf(stored, tree.type)
            decodedByteCount += leaf.changedByteCount
            if case .ref(let ref) = child { tree.space.free(ref) }
            return .leaf(leaf)
        }
    }

    // MARK: Shape

    private func split(_ whole: ElementLeaf, isGrowing: Bool) {
        let pieces = whole.cut(to: limits.leafByteCount, isGrowing: isGrowing)
        if pieces.count == 1 { return }
        leaf = nil
        var children = pieces.map { ElementChild.leaf($0) }
        if isGrowing {
            // A full leaf will most likely not change again.
            for i in 0..<pieces.count - 1 { children[i] = .ref(write(pieces[i].encoded())) }
        }
        replace(children, pieces.map(\.count), level: 0, depth: path.count, isGrowing: isGrowing)
        path.removeAll(keepingCapacity: true)
    }

    /// Replaces the child that the first `depth` steps of the path lead to by `children`, which are of `level`.
    private func replace(_ children: [ElementChild], _ counts: [Int], level: Int, depth: Int, isGrowing: Bool) {
        if depth == 0 {
            var (children, counts, level) = (children, counts, level)
            while children.count > 1 {
                level += 1
                (children, counts) = nodes(children, counts, level: level, isGrowing: isGrowing)
            }
            root = children[0]
            return
        }
        let (node, slot) = path[depth - 1]
        node.children.replaceSubrange(slot...slot, with: children)
        node.counts.replaceSubrange(slot...slot, with: counts)
        if node.children.count <= limits.fanOut { return }
        let (made, sums) = nodes(node.children, node.counts, level: node.level, isGrowing: isGrowing)
        replace(made, sums, level: node.level, depth: depth - 1, isGrowing: isGrowing)
    }

    /// Returns nodes over the children: full nodes and a rest if the collection grows at its end, otherwise even ones.
    private func nodes(
        _ children: [ElementChild], _ counts: [Int], level: Int, isGrowing: Bool
    ) -> ([ElementChild], [Int]) {
        let total = (children.count + limits.fanOut - 1) / limits.fanOut
        let size = isGrowing ? limits.fanOut : (children.count + total - 1) / total
        var made: [ElementChild] = []
        var sums: [Int] = []
        for start in stride(from: 0, to: children.count, by: size) {
            let range = start..<min(start + size, children.count)
            made.append(
                .node(ElementNode(level: level, children: Array(children[range]), counts: Array(counts[range]))))
            sums.append(counts[range].reduce(0, +))
        }
        return (made, sums)
    }

    private func dropEmptyLeaf() {
        leaf = nil
        while let (node, slot) = path.popLast() {
            node.children.remove(at: slot)
            node.counts.remove(at: slot)
            if !node.children.isEmpty { break }
            if path.isEmpty { root = .leaf(ElementLeaf(tree.type, isDictionary: tree.isDictionary)) }
        }
        path.removeAll(keepingCapacity: true)
        collapse()
    }

    /// Removes nodes with a single child from the top.
    func collapse() {
        while case .node(let node) = root, node.children.count == 1 { root = node.children[0] }
    }

    // MARK: Memory

    /// The approximate bytes of memory that the changes use. O(leaves in memory and their siblings).
    var changedByteCount: Int { Self.changedByteCount(root) }

    /// An upper bound of the byte count of the blocks that it is sealed into. Costs as much as `changedByteCount`.
    var sealedByteCount: Int { Self.sealedByteCount(root) }

    private static func sealedByteCount(_ child: ElementChild) -> Int {
        switch child {
        case .bytes, .ref: 0
        case .leaf(let leaf): leaf.sealedByteCount
        case .node(let node):
            ElementNodeLayout.byteCount + node.children.reduce(0) { $0 + sealedByteCount($1) }
        }
    }

    private static func changedByteCount(_ child: ElementChild) -> Int {
        switch child {
        case .bytes, .ref: 0
        case .leaf(let leaf): leaf.changedByteCount
        case .node(let node):
            node.children.capacity * (MemoryLayout<ElementChild>.stride + MemoryLayout<Int>.stride)
                + node.children.reduce(0) { $0 + changedByteCount($1) }
        }
    }
}
