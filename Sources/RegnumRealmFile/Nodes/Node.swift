// SPDX-License-Identifier: Apache-2.0
// A node is the unit of storage in Realm's format: a header of 8 bytes, then elements, padded to 8 bytes.
//
//   byte  0 ..< 4  nothing that a reader may rely on
//         4        bit 7: inner node of a tree; bit 6: elements may be refs; bit 5: context flag, whose meaning depends
//                  on the owner of the node; bits 4-3: the unit of the width; bits 2-0: c = 0 ... 7 for the widths
//                  0, 1, 2, 4 ... 64
//         5 ..< 8  count of elements, big-endian
//
// A ref is the offset of a node, a multiple of 8; 0 means none. All other integers are little-endian.

/// The header of a node. It holds no pointer, so it outlives `FileBytes.trim()`.
struct Node {
    enum WidthKind: UInt8 {
        /// Integers of `width` bits.
        case bits
        /// Elements of `width` bytes.
        case bytes
        /// Plain bytes: `count` of them.
        case plain
    }

    static let headerByteCount = 8

    let ref: Int
    let isInner: Bool
    let hasRefs: Bool
    let context: Bool
    let widthKind: WidthKind
    let width: Int
    let count: Int

    /// The offset of the elements.
    var start: Int { ref + Self.headerByteCount }

    /// The number of bytes of the elements, without padding.
    var byteCount: Int {
        switch widthKind {
        case .bits: (count * width + 7) / 8
        case .bytes: count * width
        case .plain: count
        }
    }

    /// Decodes the header at `bytes`. The caller checks that the node is within the file.
    init(ref: Int, _ bytes: UnsafeRawPointer) throws(RealmFileError) {
        let header = bytes.load(fromByteOffset: 4, as: UInt8.self)
        guard let kind = WidthKind(rawValue: (header >> 3) & 3) else {
            throw .damaged(ref, "the node has a layout that no released version of Realm wrote")
        }
        self.ref = ref
        isInner = header & 0x80 != 0
        hasRefs = header & 0x40 != 0
        context = header & 0x20 != 0
        widthKind = kind
        width = (1 << Int(header & 7)) >> 1
        count =
            Int(bytes.load(fromByteOffset: 5, as: UInt8.self)) << 16
            | Int(bytes.load(fromByteOffset: 6, as: UInt8.self)) << 8
            | Int(bytes.load(fromByteOffset: 7, as: UInt8.self))
    }
}
