// SPDX-License-Identifier: Apache-2.0
// Encodes a changed collection into bytes for the row or into blocks. Small parts are merged with a neighbour.

import RegnumSystem

extension OpenCollection {
    /// The form in which the row stores the collection.
    enum Sealed {
        case bytes([UInt8])
        /// As in `BlobRecord`: the byte count of a leaf, or the number of elements below a node.
        case block(BlockRef, length: Int)
    }

    /// Writes the changes into the sealer. The collection must not be used afterwards.
    func seal() throws(EngineError) -> Sealed {
        if case .node(let node) = root { try mergeSmall(node) }
        collapse()
        assertInvariants()
        if case .node(let node) = root { root = .ref(try write(node)) }
        switch root {
        case .bytes(let bytes): return .bytes([UInt8](bytes))
        case .node: preconditionFailure("a node that was not written")
        case .leaf(let leaf):
            let bytes = leaf.encoded()
            if bytes.count <= limits.inlineByteCount { return .bytes(bytes) }
            return .block(write(bytes), length: bytes.count)
        case .ref(let ref):
            if ElementTree.isNode(ref) { return .block(ref, length: count) }
            let bytes = try tree.leafBytes(ref)
            if bytes.count > limits.inlineByteCount { return .block(ref, length: bytes.count) }
            let copy = [UInt8](bytes)
            tree.space.free(ref)
            return .bytes(copy)
        }
    }

    func write(_ leaf: [UInt8]) -> BlockRef {
        let block = tree.space.sealer.addBlock(.blob, byteCount: BlobRecord.valueOffset + leaf.count)
        block.bytes.storeBytes(of: UInt64(leaf.count), toByteOffset: 32, as: UInt64.self)
        leaf.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            Memory.copy(block.bytes + BlobRecord.valueOffset, base, bytes.count)
        }
        return block.ref
    }

    private func write(_ node: ElementNode) throws(EngineError) -> BlockRef {
        var refs: [BlockRef] = []
        refs.reserveCapacity(node.children.count)
        for child in node.children {
            switch child {
            case .ref(let ref): refs.append(ref)
            case .leaf(let leaf): refs.append(write(leaf.encoded()))
            case .node(let node): refs.append(try write(node))
            case .bytes: preconditionFailure("a row's bytes below a node")
            }
        }
        let sealer = tree.space.sealer
        let block = sealer.addBlock(.elementNode, byteCount: ElementNodeLayout.byteCount)
        block.bytes.storeBytes(of: UInt16(refs.count), toByteOffset: 32, as: UInt16.self)
        block.bytes.storeBytes(of: UInt8(node.level), toByteOffset: 34, as: UInt8.self)
        var end = 0
        for (i, ref) in refs.enumerated() {
            end += node.counts[i]
            block.bytes.storeBytes(
                of: UInt64(end), toByteOffset: ElementNodeLayout.ends + i * 8, as: UInt64.self)
            sealer.setRef(ref, in: block, at: ElementNodeLayout.refs + i * BlockRef.byteCount)
        }
        return block.ref
    }

    // MARK: Merging

    /// Merges neighbours if a changed one is less than a quarter full and both together fit with room to spare.
    private func mergeSmall(_ node: ElementNode) throws(EngineError) {
        for case .node(let child) in node.children { try mergeSmall(child) }
        var i = 0
        while i + 1 < node.children.count {
            guard isSmall(node.children[i]) || isSmall(node.children[i + 1]),
                try weight(node.children[i]) + weight(node.children[i + 1]) <= limit(node.level) * 3 / 4
            else {
                i += 1
                continue
            }
            let left = try changeable(node.children[i], below: node.level, count: node.counts[i])
            let right = try changeable(node.children[i + 1], below: node.level, count: node.counts[i + 1])
            switch (left, right) {
            case (.leaf(let left), .leaf(let right)): left.append(right)
            case (.node(let left), .node(let right)):
                left.children.append(contentsOf: right.children)
                left.counts.append(contentsOf: right.counts)
            default: throw corrupted("the leaves of a tree of elements are at different depths")
            }
            node.children[i] = left
            node.counts[i] += node.counts[i + 1]
            node.children.remove(at: i + 1)
            node.counts.remove(at: i + 1)
        }
    }

    private func limit(_ level: Int) -> Int { level == 1 ? limits.leafByteCount : limits.fanOut }

    private func isSmall(_ child: ElementChild) -> Bool {
        switch child {
        case .leaf(let leaf): leaf.byteCount < limits.leafByteCount / 4
        case .node(let node): node.children.count < max(limits.fanOut / 4, 2)
        case .ref, .bytes: false
        }
    }

    /// Returns how much of its limit the child uses: bytes of a leaf, children of a node.
    private func weight(_ child: ElementChild) throws(EngineError) -> Int {
        switch child {
        case .leaf(let leaf): leaf.byteCount
        case .node(let node): node.children.count
        case .bytes(let bytes): bytes.count
        case .ref(let ref):
            ElementTree.isNode(ref)
                ? ElementNodeLayout.count(try tree.nodeBytes(ref, below: nil)) : try tree.leafBytes(ref).count
        }
    }
}
