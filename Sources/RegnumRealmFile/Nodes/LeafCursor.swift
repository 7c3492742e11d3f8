// SPDX-License-Identifier: Apache-2.0
// A tree of ordered elements without keys: lists, sets, the keys and the values of dictionaries; up to format 9 also
// every column.
//
//   leaf        a node in the layout of the element type, or an array of refs to such nodes
//   inner node  element 0: a tagged count if all children are full, or a ref of the offsets of the children; then a ref
//               to each child; last the tagged count of elements below

/// Iterates over the leaves of one tree in order. It keeps refs only, so it outlives `FileBytes.trim()`.
struct LeafCursor {
    private struct Level {
        let children: [Int64]
        let node: Node
        var next: Int
    }

    private let reader: NodeReader
    private var levels: [Level] = []
    private var first: Node?
    /// The number of elements in the tree according to its root; nil for a tree of a single leaf.
    let declaredCount: Int?

    init(_ reader: NodeReader, root ref: Int) throws(RealmFileError) {
        self.reader = reader
        let root = try reader.node(ref)
        if root.isInner {
            declaredCount = try Self.declaredCount(reader, root)
            try levels.append(Self.level(reader, root))
        } else {
            declaredCount = nil
            first = root
        }
    }

    /// The next leaf, or nil after the last one.
    mutating func next() throws(RealmFileError) -> Node? {
        if let leaf = first {
            first = nil
            return leaf
        }
        while let level = levels.last {
            guard level.next < level.children.count else {
                levels.removeLast()
                continue
            }
            levels[levels.count - 1].next += 1
            let child = try reader.node(level.children[level.next], of: level.node)
            guard child.isInner else { return child }
            guard levels.count < NodeReader.depthLimit else { throw .damaged(child.ref, "the tree is too deep") }
            try levels.append(Self.level(reader, child))
        }
        return nil
    }

    /// Moves to the leaf with element `index`, or to the last leaf: the next call of `next()` returns it. Returns the
    /// number of elements before that leaf. The cursor must be new.
    mutating func seek(_ index: Int) throws(RealmFileError) -> Int {
        var before = 0
        while let level = levels.last {
            let (child, start) = try Self.child(reader, level, at: index - before)
            before += start
            let node = try reader.node(level.children[child], of: level.node)
            // `next()` reads a leaf itself.
            levels[levels.count - 1].next = node.isInner ? child + 1 : child
            guard node.isInner else { return before }
            guard levels.count < NodeReader.depthLimit else { throw .damaged(node.ref, "the tree is too deep") }
            try levels.append(Self.level(reader, node))
        }
        return 0
    }

    /// The child with element `index` of a node, or the last child, and the number of elements before it.
    private static func child(
        _ reader: NodeReader, _ level: Level, at index: Int
    ) throws(RealmFileError) -> (child: Int, start: Int) {
        let last = level.children.count - 1
        let first = try reader.integer(level.node, 0)
        guard let ref = try first & 1 == 1 ? nil : reader.ref(first, of: level.node) else {
            let perChild = try reader.tagged(first, of: level.node)
            guard perChild > 0, perChild <= 1 << 40 else {
                throw .damaged(level.node.ref, "a child of an inner node has \(perChild) elements")
            }
            let child = min(index / Int(perChild), last)
            return (child, child * Int(perChild))
        }
        let node = try reader.node(ref)
        guard node.count >= last else { throw .damaged(node.ref, "an inner node lacks the offsets of its children") }
        // Offset i is the number of elements before child i + 1: the child follows the last offset up to `index`.
        var (low, high) = (0, last)
        while low < high {
            let middle = (low + high) / 2
            if try reader.integer(node, middle) <= Int64(index) { low = middle + 1 } else { high = middle }
        }
        let start = low == 0 ? 0 : try reader.integer(node, low - 1)
        guard start >= 0 else { throw .damaged(node.ref, "the offset of a child is negative") }
        return (low, Int(start))
    }

    private static func level(_ reader: NodeReader, _ node: Node) throws(RealmFileError) -> Level {
        let elements = try reader.refs(node)
        guard elements.count >= 3 else { throw .damaged(node.ref, "an inner node has no children") }
        return Level(children: Array(elements[1..<elements.count - 1]), node: node, next: 0)
    }

    private static func declaredCount(_ reader: NodeReader, _ root: Node) throws(RealmFileError) -> Int {
        guard root.count >= 3 else { throw .damaged(root.ref, "an inner node has no children") }
        let count = Int(truncatingIfNeeded: try reader.tagged(reader.integer(root, root.count - 1), of: root))
        guard count >= 0 else { throw .damaged(root.ref, "the number of elements is negative") }
        return count
    }
}

extension NodeReader {
    /// All elements of a tree. `decode` returns the elements of one leaf.
    func tree<Element>(
        _ root: Int, _ decode: (Node) throws(RealmFileError) -> [Element]
    ) throws(RealmFileError) -> [Element] {
        var cursor = try LeafCursor(self, root: root)
        guard let declared = cursor.declaredCount else {
            return try cursor.next().map { leaf throws(RealmFileError) in try decode(leaf) } ?? []
        }
        guard declared <= elementLimit else {
            throw .damaged(root, "a collection has \(declared) elements, which is more than its file can hold")
        }
        let bound = emptyBound()
        var elements: [Element] = []
        while let leaf = try cursor.next() {
            elements += try decode(leaf)
            guard elements.count <= declared else { break }
            guard budget.emptyLeft >= bound else {
                throw .damaged(root, "a collection has more elements without bytes than a file of its size")
            }
        }
        guard elements.count == declared else {
            throw .damaged(root, "the tree does not have the \(declared) elements that its root states")
        }
        return elements
    }
}
