// SPDX-License-Identifier: Apache-2.0
// All numbers that the file format fixes. `FormatTests.sizes` pins them and the numbers derived from them.

@usableFromInline
package enum FormatLimits {
    package static let pageByteCount = 4096
    /// Pages 0..<16 hold the header, the two commit slots and the header's copy, 16 KiB apart, so that they never share
    /// a page or sector, whatever the page and sector sizes of the machine. The clean-shutdown record follows the
    /// header's copy.
    package static let reservedPages: UInt64 = 16
    package static let slotAByteOffset = 16384
    package static let slotBByteOffset = 32768
    package static let headerCopyByteOffset = 49152
    /// The clean-shutdown record: a copy of the slot of a commit that is on stable storage; see `CommitSlot`.
    package static let settledSlotByteOffset = 57344
    /// A second copy of it, before both slots: no run of damaged pages covers both copies and only one slot.
    package static let settledSlotCopyByteOffset = 8192
    /// The maximum number of objects in a row group.
    @usableFromInline package static let rowsPerGroup = 1024
    /// The maximum number of children of an inner node.
    package static let nodeFanOut = 64
    /// The maximum number of children of an inner node of a tree of elements.
    package static let elementNodeFanOut = 84
    /// A block never crosses a boundary of this many pages (64 MiB), so that a section can be mapped on its own.
    package static let sectionPages: UInt64 = 16384
    /// Bytes of a String, Data or list above which the value is stored outside its row group.
    package static let inlineValueByteCount = 2048
    package static let stringByteCount = 16_777_199
    package static let dataByteCount = 16_777_200
    package static let tableNameByteCount = 57
    package static let columnNameByteCount = 63
    /// The maximum number of columns of a table; the number is stored in 16 bits.
    package static let columnCount = 65_535
    /// The greatest depth of any tree; a deeper one is damaged.
    package static let treeDepth = 12
    /// The maximum number of entries of an index tree, chosen so that sums of such numbers do not overflow.
    package static let treeEntryCount: UInt64 = 1 << 44
    /// Bytes above which a commit is made durable in two steps and has no manifest, which bounds the time of an
    /// opening.
    package static let manifestByteCount = 1 << 20
}
