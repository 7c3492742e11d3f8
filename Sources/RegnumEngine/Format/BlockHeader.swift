// SPDX-License-Identifier: Apache-2.0
// The 32 bytes at the start of every block. A block identifies itself and its location, so a file can be searched for
// blocks without any root, and the nonce distinguishes a block of an abandoned commit from one of a later commit with
// the same number ("ghost commit").
//
//   offset size  meaning
//        0    2  magic 0x4252 ("RB")
//        2    1  kind (BlockKind)
//        3    1  version of the kind's layout, 1
//        4    2  pages - 1
//        6    2  zero
//        8    8  page number
//       16    8  birth: the commit that wrote it
//       24    8  nonce of that commit

package enum BlockHeader {
    package static let byteCount = 32
    package static let magic: UInt16 = 0x4252
    package static let layoutVersion: UInt8 = 1

    package static func write(
        to block: UnsafeMutableRawPointer, kind: UInt8, pageCount: Int, page: UInt64, birth: UInt64, nonce: UInt64
    ) {
        writeStart(to: block, kind: kind, pageCount: pageCount, page: page)
        block.storeBytes(of: birth, toByteOffset: 16, as: UInt64.self)
        block.storeBytes(of: nonce, toByteOffset: 24, as: UInt64.self)
    }

    /// Writes the first 16 bytes, which follow from the block's ref.
    static func writeStart(to block: UnsafeMutableRawPointer, kind: UInt8, pageCount: Int, page: UInt64) {
        block.storeBytes(of: magic, as: UInt16.self)
        block.storeBytes(of: kind, toByteOffset: 2, as: UInt8.self)
        block.storeBytes(of: layoutVersion, toByteOffset: 3, as: UInt8.self)
        block.storeBytes(of: UInt16(pageCount - 1), toByteOffset: 4, as: UInt16.self)
        block.storeBytes(of: 0, toByteOffset: 6, as: UInt16.self)
        block.storeBytes(of: page, toByteOffset: 8, as: UInt64.self)
    }

    /// True if the header matches the ref. The caller has checked the tag.
    package static func matches(_ block: UnsafeRawPointer, _ ref: BlockRef) -> Bool {
        block.load(as: UInt16.self) == magic
            && block.load(fromByteOffset: 2, as: UInt8.self) == ref.kind
            && block.load(fromByteOffset: 3, as: UInt8.self) == layoutVersion
            && Int(block.load(fromByteOffset: 4, as: UInt16.self)) + 1 == ref.pageCount
            && block.load(fromByteOffset: 8, as: UInt64.self) == ref.page
            && block.load(fromByteOffset: 16, as: UInt64.self) == ref.birth
    }
}
