// SPDX-License-Identifier: Apache-2.0
// The layout of an inner node of a tree of row groups: one page, up to 64 children as a structure of arrays.
//
//   offset size  meaning
//        0   32  block header
//       32    2  children, 1 ... 64
//       34    1  level: 1 = the children are row groups, n = nodes of level n - 1
//       35   29  zero
//       64  512  first key of each child (a lower bound of its keys; ascending), 8 bytes each
//      576  512  rows below each child, 8 bytes each
//     1088 2560  refs of the children

package enum GroupNodeLayout {
    package static let byteCount = 4096
    package static let firstKeys = 64
    package static let counts = 576
    package static let refs = 1088

    package static func count(_ node: UnsafeRawPointer) -> Int { Int(node.load(fromByteOffset: 32, as: UInt16.self)) }
    package static func level(_ node: UnsafeRawPointer) -> Int { Int(node.load(fromByteOffset: 34, as: UInt8.self)) }
    @inline(__always)
    package static func firstKey(_ node: UnsafeRawPointer, _ i: Int) -> UInt64 {
        node.load(fromByteOffset: firstKeys &+ i &* 8, as: UInt64.self)
    }
    @inline(__always)
    package static func rowCount(_ node: UnsafeRawPointer, _ i: Int) -> UInt64 {
        node.load(fromByteOffset: counts &+ i &* 8, as: UInt64.self)
    }
    @inline(__always)
    package static func ref(_ node: UnsafeRawPointer, _ i: Int) -> BlockRef { BlockRef(reading: node + refs + i &* 40) }

    /// The child whose keys may include `key`: the last one whose first key is not above it, or 0. Interpolates,
    /// because keys are assigned in sequence, then falls back to binary search.
    package static func child(_ node: UnsafeRawPointer, for key: UInt64) -> Int {
        let n = count(node)
        let low = firstKey(node, 0)
        let high = firstKey(node, n &- 1)
        if key >= high { return n &- 1 }
        if key <= low { return 0 }
        // key - low < high - low, so the guess is below n - 1. 64 * 2^58 would overflow, but keys are far smaller.
        let guess = Int(
            truncatingIfNeeded: (key &- low).multipliedFullWidth(by: UInt64(n &- 1)).high == 0
                ? (key &- low) &* UInt64(n &- 1) / (high &- low) : 0)
        if firstKey(node, guess) <= key, key < firstKey(node, guess &+ 1) { return guess }
        var a = 0
        var b = n
        while b &- a > 1 {
            let middle = (a &+ b) &>> 1
            if firstKey(node, middle) <= key { a = middle } else { b = middle }
        }
        return a
    }

    package static func check(_ ref: BlockRef, _ node: UnsafeRawPointer) throws(EngineError) {
        let n = count(node)
        guard ref.byteCount == byteCount, n >= 1, n <= FormatLimits.nodeFanOut, level(node) >= 1,
            level(node) <= FormatLimits.treeDepth
        else { throw corrupted("a node has impossible counts", page: ref.page) }
        for i in 0..<n {
            let child = BlockRef(reading: node + refs + i * 40)
            let kind: BlockKind = level(node) == 1 ? .rowGroup : .groupNode
            guard child.kind == kind.rawValue, !child.isPending, !child.isNone else {
                throw corrupted("a node's child is of the wrong kind", page: ref.page)
            }
            guard i == 0 || firstKey(node, i) > firstKey(node, i - 1) else {
                throw corrupted("a node's keys are out of order", page: ref.page)
            }
            // Ensures that sums over a path never overflow.
            guard rowCount(node, i) >= 1, rowCount(node, i) < 1 << 48 else {
                throw corrupted("a node has impossible row counts", page: ref.page)
            }
        }
    }
}
