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
        var elements: [Element] = []
        while let leaf = try cursor.next() {
            elements += try decode(leaf)
            guard elements.count <= declared else { break }
        }
        guard elements.count == declared else {
            throw .damaged(root, "the tree does not have the \(declared) elements that its root states")
        }
        return elements
    }
}
