// SPDX-License-Identifier: Apache-2.0
// The tree of a table's objects in the order of their keys, from format 10 on; also dictionaries of formats 21 and 22.
//
//   leaf (cluster)  element 0: tagged n for the keys 0 ..< n, or a ref of an array of keys, unsigned, ascending;
//                   element 1 + i: ref of the leaf of column i, 0 if no column has that index
//   inner node      element 0: 0 if child i starts at i << (8 * depth), or a ref of an array of the children's starts;
//                   element 1: tagged depth; element 2: tagged count of objects; then a ref to each child
//
// The key of an object is the sum of the starts of the children on its path and the key in the leaf, modulo 2^64, as a
// signed number.

/// Up to 256 objects stored together.
struct Cluster {
    let node: Node
    let keys: [Int64]
    /// The refs of the leaves, by column index.
    let columns: [Int64]
}

/// Iterates over the clusters of a tree in order. It keeps refs only.
struct ClusterCursor {
    private struct Level {
        let node: Node
        let children: [Int64]
        let starts: [UInt64]
        var next: Int
        let start: UInt64
    }

    /// Realm's own files have a shift of 8: 256 objects per cluster. A test build of realm-core used 2: see the
    /// function `shift`.
    private let shift: Int
    private let reader: NodeReader
    private var levels: [Level] = []
    private var first: (ref: Int, start: UInt64)?
    private var lastKey: Int64?
    /// The node that states the number of objects, and that number; nil if the root is a leaf, or after `seek`.
    private var declared: (ref: Int, count: Int)?
    /// The number of objects read so far.
    private var readCount = 0

    init(_ reader: NodeReader, root: Int, shift: Int) {
        self.reader = reader
        self.shift = shift
        first = (root, 0)
    }

    /// The shift of a file with trees of those roots. Nothing in a file names it: it is 2 if there are inner nodes, no
    /// node has more than 4 objects or children, and a cluster has 4. Realm's own trees have an inner node only if they
    /// have, or had, more than 256 objects, and small neighbours are merged.
    static func shift(_ reader: NodeReader, _ roots: [Int]) throws(RealmFileError) -> Int {
        var (hasInnerNodes, largest) = (false, 0)
        for root in roots {
            let node = try reader.node(root)
            guard let count = try largestSmallCluster(reader, node, depth: 0) else { return 8 }
            if node.isInner { hasInnerNodes = true }
            largest = max(largest, count)
        }
        return hasInnerNodes && largest == 4 ? 2 : 8
    }

    /// The number of objects in the largest cluster below `node`; nil if a node has more than 4 objects or children.
    private static func largestSmallCluster(
        _ reader: NodeReader, _ node: Node, depth: Int
    ) throws(RealmFileError) -> Int? {
        guard depth < NodeReader.depthLimit else { throw .damaged(node.ref, "the tree of objects is too deep") }
        let elements = try reader.refs(node)
        guard node.isInner else {
            let count = try keys(reader, node, elements, start: 0, limit: 1 << 16).count
            return count <= 4 ? count : nil
        }
        guard elements.count <= 3 + 4 else { return nil }
        var largest = 0
        for element in elements.dropFirst(3) {
            let child = try reader.node(element, of: node)
            guard let count = try largestSmallCluster(reader, child, depth: depth + 1) else { return nil }
            largest = max(largest, count)
        }
        return largest
    }

    /// The number of objects in the tree.
    static func count(_ reader: NodeReader, root ref: Int) throws(RealmFileError) -> Int {
        let root = try reader.node(ref)
        if root.isInner { return try declaredCount(reader, root) }
        return try keys(reader, root, reader.refs(root), start: 0, limit: 1 << 16).count
    }

    /// The number of objects below an inner node, according to that node.
    private static func declaredCount(_ reader: NodeReader, _ node: Node) throws(RealmFileError) -> Int {
        guard node.count > 2 else { throw .damaged(node.ref, "an inner node of objects has no children") }
        let count = Int(truncatingIfNeeded: try reader.tagged(reader.integer(node, 2), of: node))
        guard count >= 0 else { throw .damaged(node.ref, "the number of objects is negative") }
        return count
    }

    /// The next cluster, or nil after the last one. Throws if the number of objects differs from the number in the
    /// root.
    mutating func next() throws(RealmFileError) -> Cluster? {
        if let (ref, start) = first {
            first = nil
            let root = try reader.node(ref)
            if root.isInner { declared = (ref, try Self.declaredCount(reader, root)) }
            if let cluster = try descend(root, start) { return cluster }
        }
        while let level = levels.last {
            guard level.next < level.children.count else {
                levels.removeLast()
                continue
            }
            levels[levels.count - 1].next += 1
            let child = try reader.node(level.children[level.next], of: level.node)
            if let cluster = try descend(child, level.start &+ level.starts[level.next]) { return cluster }
        }
        if let declared, declared.count != readCount {
            throw .damaged(declared.ref, "a tree has \(readCount) objects, but its root names \(declared.count)")
        }
        return nil
    }

    /// The cluster that would hold the object with `key`, or nil if no cluster can. Later calls of `next()` continue
    /// after it.
    mutating func seek(_ key: Int64) throws(RealmFileError) -> Cluster? {
        guard let (ref, _) = first else { return nil }
        first = nil
        var (node, start) = (try reader.node(ref), UInt64(0))
        while true {
            if let cluster = try descend(node, start) { return cluster }
            guard let level = levels.last else { return nil }
            let relative = UInt64(bitPattern: key) &- level.start
            guard let child = level.starts.lastIndex(where: { $0 <= relative }), child < level.children.count else {
                return nil
            }
            levels[levels.count - 1].next = child + 1
            (node, start) = (try reader.node(level.children[child], of: level.node), level.start &+ level.starts[child])
        }
    }

    /// The cluster of a leaf; nil for an inner node, which is pushed as the next level.
    private mutating func descend(_ node: Node, _ start: UInt64) throws(RealmFileError) -> Cluster? {
        let elements = try reader.refs(node)
        guard node.isInner else { return try cluster(node, elements, start) }
        guard levels.count < NodeReader.depthLimit else { throw .damaged(node.ref, "the tree of objects is too deep") }
        guard elements.count > 3 else { throw .damaged(node.ref, "an inner node of objects has no children") }
        let children = Array(elements[3...])
        let starts: [UInt64]
        if let ref = try reader.ref(elements[0], of: node) {
            starts = try reader.integers(at: ref, isUnsigned: true).map { UInt64(bitPattern: $0) }
            guard starts.count >= children.count else {
                throw .damaged(node.ref, "an inner node of objects lacks keys")
            }
        } else {
            let depth = try reader.tagged(elements[1], of: node)
            guard depth >= 0, depth < 64 / Int64(shift) else {
                throw .damaged(node.ref, "the tree of objects is too deep")
            }
            starts = children.indices.map { UInt64($0) << (UInt64(depth) * UInt64(shift)) }
        }
        levels.append(Level(node: node, children: children, starts: starts, next: 0, start: start))
        return nil
    }

    private mutating func cluster(_ node: Node, _ elements: [Int64], _ start: UInt64) throws(RealmFileError) -> Cluster
    {
        let keys = try Self.keys(reader, node, elements, start: start, limit: 1 << shift)
        for key in keys {
            guard lastKey.map({ $0 < key }) ?? true else {
                throw .damaged(node.ref, "the keys of objects are not in order")
            }
            lastKey = key
        }
        readCount += keys.count
        return Cluster(node: node, keys: keys, columns: Array(elements.dropFirst()))
    }

    private static func keys(
        _ reader: NodeReader, _ node: Node, _ elements: [Int64], start: UInt64, limit: Int
    ) throws(RealmFileError) -> [Int64] {
        guard let first = elements.first else { throw .damaged(node.ref, "a cluster of objects is empty") }
        if first & 1 == 1 {
            let count = try reader.tagged(first, of: node)
            guard count >= 0, count <= limit else { throw .damaged(node.ref, "a cluster has \(count) objects") }
            return (0..<UInt64(count)).map { Int64(bitPattern: start &+ $0) }
        }
        guard let ref = try reader.ref(first, of: node) else { return [] }
        let keys = try reader.node(ref)
        guard keys.count <= limit else { throw .damaged(node.ref, "a cluster has \(keys.count) objects") }
        return try reader.integers(keys, isUnsigned: true).map { Int64(bitPattern: start &+ UInt64(bitPattern: $0)) }
    }
}
