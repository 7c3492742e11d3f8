// SPDX-License-Identifier: Apache-2.0
// The 40-byte reference to a block: its location, its birth, and the tag that its bytes must hash to. A parent holds
// the refs of its children, so the tag in the commit slot authenticates the whole tree.
//
//   offset size  meaning
//        0    8  location: page number << 16 | (pages - 1); all zero = no block; bit 63 set = pending, in
//                which case bits 0..<32 are the block's number in the transaction's `Sealer` (never on disk)
//        8    8  birth: number of the commit that wrote the block
//       16   16  tag: XXH3-128 of the block's bytes under the file's seed
//       32    8  info, from the highest bit down: kind:8 | flags:8 | rows:16 | aux:32 (what the parent needs to know
//                without reading the block)

@usableFromInline @frozen
package struct BlockRef: Hashable, Sendable {
    @usableFromInline package var location: UInt64
    @usableFromInline package var birth: UInt64
    @usableFromInline package var tagLow: UInt64
    @usableFromInline package var tagHigh: UInt64
    @usableFromInline package var info: UInt64

    package static let byteCount = 40
    /// The ref of no block: an empty tree, an absent part.
    package static let none = BlockRef(location: 0, birth: 0, tagLow: 0, tagHigh: 0, info: 0)

    @inlinable
    package init(location: UInt64, birth: UInt64, tagLow: UInt64, tagHigh: UInt64, info: UInt64) {
        self.location = location
        self.birth = birth
        self.tagLow = tagLow
        self.tagHigh = tagHigh
        self.info = info
    }

    /// Creates a ref to a block that this transaction has sealed but not yet placed.
    @inlinable
    package init(pending index: Int, info: UInt64) {
        self.init(location: 1 << 63 | UInt64(index), birth: 0, tagLow: 0, tagHigh: 0, info: info)
    }

    @inlinable package init(reading bytes: UnsafeRawPointer) {
        self.init(
            location: bytes.loadUnaligned(as: UInt64.self),
            birth: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            tagLow: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
            tagHigh: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self),
            info: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
    }

    @inlinable package func write(to bytes: UnsafeMutableRawPointer) {
        bytes.storeBytes(of: location, as: UInt64.self)
        bytes.storeBytes(of: birth, toByteOffset: 8, as: UInt64.self)
        bytes.storeBytes(of: tagLow, toByteOffset: 16, as: UInt64.self)
        bytes.storeBytes(of: tagHigh, toByteOffset: 24, as: UInt64.self)
        bytes.storeBytes(of: info, toByteOffset: 32, as: UInt64.self)
    }

    @inlinable package var isNone: Bool { location == 0 }
    @inlinable package var isPending: Bool { location >> 63 != 0 }
    @inlinable package var pendingIndex: Int { Int(location & 0xffff_ffff) }
    /// The first page of the block. Meaningless while pending.
    @inlinable package var page: UInt64 { location >> 16 }
    @inlinable package var pageCount: Int { Int(location & 0xffff) + 1 }
    @inlinable package var byteCount: Int { pageCount << 12 }
    @inlinable package var kind: UInt8 { UInt8(truncatingIfNeeded: info >> 56) }
    /// A count whose meaning depends on the kind: rows of a row group, entries of a leaf.
    @inlinable package var rows: Int { Int(info >> 32 & 0xffff) }

    @inlinable package static func info(_ kind: BlockKind, rows: Int = 0, aux: UInt32 = 0) -> UInt64 {
        UInt64(kind.rawValue) << 56 | UInt64(UInt16(truncatingIfNeeded: rows)) << 32 | UInt64(aux)
    }
}

/// The kind of a block. The raw value is on disk.
@usableFromInline
package enum BlockKind: UInt8, Sendable, CaseIterable {
    case catalog = 1
    case schema = 2
    case freeLog = 3
    /// The record of older versions that the file keeps.
    case history = 4
    /// An inner node of a tree of row groups.
    case groupNode = 5
    case rowGroup = 6
    case blob = 7
    /// A leaf and a branch of an index tree.
    case indexLeaf = 8
    case indexBranch = 9
    /// An inner node of a tree of elements: a large list, set or dictionary. Its leaves are blobs.
    case elementNode = 10
}
