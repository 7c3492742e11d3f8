// SPDX-License-Identifier: Apache-2.0
// The bytes of an inner node of a large list, set or dictionary: one page, up to 84 children as a structure of
// arrays. Leaves are blobs, each with the bytes of a small collection of the same kind (ListCodec, DictionaryCodec),
// none of them empty.
//
//   offset size  meaning
//        0   32  block header
//       32    2  children, 1 ... 84
//       34    1  level: 1 = the children are blobs, n = nodes of level n - 1
//       35    5  zero
//       40  672  elements below each child and all children before it, 8 bytes each; ascending
//      712 3360  refs of the children

package enum ElementNodeLayout {
    package static let byteCount = 4096
    package static let ends = 40
    package static let refs = 712

    static func count(_ node: UnsafeRawPointer) -> Int { Int(node.load(fromByteOffset: 32, as: UInt16.self)) }
    static func level(_ node: UnsafeRawPointer) -> Int { Int(node.load(fromByteOffset: 34, as: UInt8.self)) }
    static func ref(_ node: UnsafeRawPointer, _ i: Int) -> BlockRef { BlockRef(reading: node + refs + i &* 40) }

    /// Returns the number of elements below the children up to and including `i`.
    static func end(_ node: UnsafeRawPointer, _ i: Int) -> Int {
        Int(truncatingIfNeeded: node.load(fromByteOffset: ends &+ i &* 8, as: UInt64.self))
    }
    /// Returns the number of elements below the children before `i`.
    static func start(_ node: UnsafeRawPointer, _ i: Int) -> Int { i == 0 ? 0 : end(node, i - 1) }
    static func total(_ node: UnsafeRawPointer) -> Int { end(node, count(node) - 1) }

    /// Returns the child that element `index` lies below; `index` must be less than `total`.
    static func child(_ node: UnsafeRawPointer, at index: Int) -> Int {
        var (low, high) = (0, count(node) - 1)
        while low < high {
            let middle = (low &+ high) &>> 1
            if end(node, middle) <= index { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    static func check(_ ref: BlockRef, _ node: UnsafeRawPointer) throws(EngineError) {
        let n = count(node)
        guard ref.byteCount == byteCount, n >= 1, n <= FormatLimits.elementNodeFanOut, level(node) >= 1,
            level(node) <= FormatLimits.treeDepth
        else { throw corrupted("a node of elements has impossible counts", page: ref.page) }
        let kind: BlockKind = level(node) == 1 ? .blob : .elementNode
        var last = 0
        for i in 0..<n {
            let child = self.ref(node, i)
            guard child.kind == kind.rawValue, !child.isPending, !child.isNone else {
                throw corrupted("a child of a node of elements is of the wrong kind", page: ref.page)
            }
            guard end(node, i) > last, end(node, i) < 1 << 48 else {
                throw corrupted("the counts of a node of elements do not ascend", page: ref.page)
            }
            last = end(node, i)
        }
    }
}

/// The sizes at which large collections are split.
package struct ElementTreeLimits: Sendable {
    /// Bytes of a leaf, except for a single element that is longer. By default a leaf fits into one page.
    package var leafByteCount = FormatLimits.pageByteCount - BlobRecord.valueOffset
    /// Children of a node, 3 ... 84.
    package var fanOut = FormatLimits.elementNodeFanOut
    package init() {}

    /// Bytes up to which a collection is stored in its row.
    var inlineByteCount: Int { min(FormatLimits.inlineValueByteCount, leafByteCount) }
}
