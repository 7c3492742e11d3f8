// SPDX-License-Identifier: Apache-2.0
// Finds elements in a collection of any size, whether its parts lie in the row, in blocks or, while they are being
// changed, in memory. A collection is one leaf, or nodes that count the elements below them, over leaves that are all
// at the same depth.

import RegnumSystem

/// A collection or a part of it.
enum ElementChild {
    /// A leaf in its row; without bytes, no elements.
    case bytes(UnsafeRawBufferPointer)
    /// A blob (a leaf) or an element node.
    case ref(BlockRef)
    case leaf(ElementLeaf)
    case node(ElementNode)
}

/// A node that is being changed.
final class ElementNode {
    /// 1 if the children are leaves.
    let level: Int
    @exclusivity(unchecked) var children: [ElementChild]
    /// The number of elements below each child.
    @exclusivity(unchecked) var counts: [Int]

    init(level: Int, children: [ElementChild], counts: [Int]) {
        self.level = level
        self.children = children
        self.counts = counts
    }

    /// Compares the first element below a child with the probe; nil if it lies in a block. Works in place, because
    /// copying a child takes longer than the comparison.
    func firstOrder(_ slot: Int, _ probe: ElementProbe) -> Int? {
        children.withUnsafeBufferPointer { children in
            switch children[slot] {
            case .leaf(let leaf): leaf.count == 0 ? -1 : leaf.order(0, probe)
            case .node(let node): node.firstOrder(0, probe)
            case .bytes, .ref: nil
            }
        }
    }
}

/// Reads a collection.
struct ElementTree {
    let space: BlockSpace
    let type: ColumnType
    let isDictionary: Bool

    // MARK: Blocks

    /// Returns the bytes of a leaf in a block.
    func leafBytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawBufferPointer {
        let block = try space.bytes(ref)
        guard ref.kind == BlockKind.blob.rawValue else {
            throw corrupted("a leaf of a collection is a block of another kind", page: ref.page)
        }
        let count = Int(truncatingIfNeeded: block.load(fromByteOffset: 32, as: UInt64.self))
        return UnsafeRawBufferPointer(start: block + BlobRecord.valueOffset, count: count)
    }

    static func isNode(_ ref: BlockRef) -> Bool { ref.kind == BlockKind.elementNode.rawValue }

    /// Returns the bytes of a node; `parent` is the level of the node above it.
    func nodeBytes(_ ref: BlockRef, below parent: Int?) throws(EngineError) -> UnsafeRawPointer {
        let node = try space.bytes(ref)
        if let parent, ElementNodeLayout.level(node) != parent - 1 {
            throw corrupted("the leaves of a tree of elements are at different depths", page: ref.page)
        }
        return node
    }

    /// Calls `body` for each block of a collection, a node before its descendants, with the birth of its parent.
    static func forEachBlock(
        _ ref: BlockRef, _ space: BlockSpace, _ body: (BlockRef, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        var left = blockLimit(space)
        try forEachBlock(ref, space, &left, body)
    }

    /// As above; `left` is the number of blocks that may still be visited, for several collections together.
    static func forEachBlock(
        _ ref: BlockRef, _ space: BlockSpace, _ left: inout Int, _ body: (BlockRef, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        let tree = ElementTree(space: space, type: .int, isDictionary: false)
        try tree.visit(ref, parentBirth: .max, level: nil, &left, body)
    }

    /// The maximum number of blocks that a traversal may visit: a damaged tree may lead to a block more than once, but
    /// there are no more blocks than pages.
    static func blockLimit(_ space: BlockSpace) -> Int {
        Int(clamping: space.reader.readablePages) + space.sealer.blockCount + 1
    }

    /// Counts a visit to a block. Throws if there were too many.
    static func visit(_ ref: BlockRef, _ left: inout Int) throws(EngineError) {
        left -= 1
        guard left >= 0 else { throw corrupted("a tree of elements is too large", page: ref.page) }
    }

    private func visit(
        _ ref: BlockRef, parentBirth: UInt64, level: Int?, _ left: inout Int,
        _ body: (BlockRef, UInt64) throws(EngineError) -> Void
    ) throws(EngineError) {
        try Self.visit(ref, &left)
        guard Self.isNode(ref) else { return try body(ref, parentBirth) }
        let node = try nodeBytes(ref, below: level)
        try body(ref, parentBirth)
        for i in 0..<ElementNodeLayout.count(node) {
            try visit(
                ElementNodeLayout.ref(node, i), parentBirth: ref.isPending ? .max : ref.birth,
                level: ElementNodeLayout.level(node), &left, body)
        }
    }

    // MARK: Leaves

    /// Returns the child as a leaf; nil if it is a node.
    func leaf(_ child: ElementChild) throws(EngineError) -> LeafAccess? {
        switch child {
        case .bytes(let bytes): return .stored(try StoredLeaf(bytes, type, isDictionary: isDictionary))
        case .leaf(let leaf): return .memory(leaf)
        case .node: return nil
        case .ref(let ref):
            if Self.isNode(ref) { return nil }
            return .stored(try StoredLeaf(try leafBytes(ref), type, isDictionary: isDictionary))
        }
    }

    /// Calls `body` with each leaf in order until it returns false. Returns false if it was stopped.
    func forEachLeaf(
        _ child: ElementChild, _ body: (LeafAccess) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        var left = Self.blockLimit(space)
        return try forEachLeaf(child, level: nil, &left, body)
    }

    private func forEachLeaf(
        _ child: ElementChild, level: Int?, _ left: inout Int, _ body: (LeafAccess) throws(EngineError) -> Bool
    ) throws(EngineError) -> Bool {
        if case .ref(let ref) = child { try Self.visit(ref, &left) }
        switch child {
        case .node(let node):
            for child in node.children where try !forEachLeaf(child, level: node.level, &left, body) { return false }
            return true
        case .ref(let ref) where Self.isNode(ref):
            let node = try nodeBytes(ref, below: level)
            for i in 0..<ElementNodeLayout.count(node) {
                let child = ElementChild.ref(ElementNodeLayout.ref(node, i))
                if try !forEachLeaf(child, level: ElementNodeLayout.level(node), &left, body) { return false }
            }
            return true
        default:
            guard let leaf = try leaf(child) else { return true }
            return leaf.count == 0 ? true : try body(leaf)
        }
    }

    /// Returns the number of elements below the child. O(1).
    func count(_ child: ElementChild) throws(EngineError) -> Int {
        switch child {
        case .node(let node): return node.counts.reduce(0, +)
        case .ref(let ref) where Self.isNode(ref):
            return ElementNodeLayout.total(try nodeBytes(ref, below: nil))
        default: return try leaf(child)?.count ?? 0
        }
    }

    /// Returns the leaf that holds element `index`, and the number of elements before the leaf. Nil if there is no such
    /// element.
    func locate(_ index: Int, _ root: ElementChild) throws(EngineError) -> (leaf: LeafAccess, start: Int)? {
        var child = root
        var start = 0
        var level: Int?
        while true {
            switch child {
            case .node(let node):
                var slot = 0
                while slot < node.counts.count, index - start >= node.counts[slot] {
                    start += node.counts[slot]
                    slot += 1
                }
                guard slot < node.counts.count else { return nil }
                child = node.children[slot]
                level = node.level
            case .ref(let ref) where Self.isNode(ref):
                let node = try nodeBytes(ref, below: level)
                guard index - start < ElementNodeLayout.total(node) else { return nil }
                let slot = ElementNodeLayout.child(node, at: index - start)
                start += ElementNodeLayout.start(node, slot)
                child = .ref(ElementNodeLayout.ref(node, slot))
                level = ElementNodeLayout.level(node)
            default:
                guard let leaf = try leaf(child), index >= start, index - start < leaf.count else { return nil }
                return (leaf, start)
            }
        }
    }

    // MARK: Searching

    /// Returns the index of an element of a set or dictionary, or the index at which it belongs. O(log n).
    func search(_ probe: ElementProbe, _ root: ElementChild) throws(EngineError) -> (index: Int, isFound: Bool) {
        var child = root
        var start = 0
        var level: Int?
        while true {
            switch child {
            case .node(let node):
                var (low, high) = (0, node.children.count)
                while high - low > 1 {
                    let middle = (low + high) / 2
                    let isNotAfter =
                        if let order = node.firstOrder(middle, probe) {
                            order <= 0
                        } else {
                            try isFirst(of: node.children[middle], node.level, notAfter: probe)
                        }
                    if isNotAfter { low = middle } else { high = middle }
                }
                for slot in 0..<low { start += node.counts[slot] }
                child = node.children[low]
                level = node.level
            case .ref(let ref) where Self.isNode(ref):
                let node = try nodeBytes(ref, below: level)
                level = ElementNodeLayout.level(node)
                var (low, high) = (0, ElementNodeLayout.count(node))
                while high - low > 1 {
                    let middle = (low + high) / 2
                    if try isFirst(of: .ref(ElementNodeLayout.ref(node, middle)), level, notAfter: probe) {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                start += ElementNodeLayout.start(node, low)
                child = .ref(ElementNodeLayout.ref(node, low))
            default:
                guard let found = try leaf(child)?.search(probe) else { return (start, false) }
                let index = start + found.index
                if level != nil, try index + (found.isFound ? 1 : 0) > count(root) {
                    throw corrupted("the counts of a collection are wrong")
                }
                return (index, found.isFound)
            }
        }
    }

    /// True if the first element below the child equals the probe or comes before it.
    private func isFirst(
        of child: ElementChild, _ level: Int?, notAfter probe: ElementProbe
    ) throws(EngineError) -> Bool {
        var child = child
        var level = level
        while true {
            switch child {
            case .node(let node): (child, level) = (node.children[0], node.level)
            case .ref(let ref) where Self.isNode(ref):
                let node = try nodeBytes(ref, below: level)
                (child, level) = (.ref(ElementNodeLayout.ref(node, 0)), ElementNodeLayout.level(node))
            default:
                guard let leaf = try leaf(child), leaf.count > 0 else { return true }
                return leaf.order(0, probe) <= 0
            }
        }
    }

    // MARK: Checking

    /// Recounts the elements. Returns nil if a node has a wrong count or a leaf is empty.
    func countedAnew(_ ref: BlockRef) throws(EngineError) -> Int? {
        var left = Self.blockLimit(space)
        return try countedAnew(ref, level: nil, &left)
    }

    private func countedAnew(_ ref: BlockRef, level: Int?, _ left: inout Int) throws(EngineError) -> Int? {
        try Self.visit(ref, &left)
        guard Self.isNode(ref) else { return try leaf(.ref(ref))?.count }
        let node = try nodeBytes(ref, below: level)
        for i in 0..<ElementNodeLayout.count(node) {
            let count = try countedAnew(ElementNodeLayout.ref(node, i), level: ElementNodeLayout.level(node), &left)
            guard let count, count > 0, count == ElementNodeLayout.end(node, i) - ElementNodeLayout.start(node, i)
            else { return nil }
        }
        return ElementNodeLayout.total(node)
    }
}
