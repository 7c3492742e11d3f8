// SPDX-License-Identifier: Apache-2.0
// Every number that the file format fixes, in one place. `FormatTests.sizes` pins them and what derives from them.

@usableFromInline
package enum FormatLimits {
    package static let pageByteCount = 4096
    /// Pages 0..<16 hold the header, the two commit slots and the header's copy, 16 KiB apart, so that every
    /// page size of a machine and every sector size keeps them apart. Behind the header's copy lies that of a slot.
    package static let reservedPages: UInt64 = 16
    package static let slotAByteOffset = 16384
    package static let slotBByteOffset = 32768
    package static let headerCopyByteOffset = 49152
    /// A copy of the slot of a commit that is on the medium; see `CommitSlot`.
    package static let settledSlotByteOffset = 57344
    /// The same once more, before both slots: no run of damaged pages takes both copies and one slot only.
    package static let settledSlotCopyByteOffset = 8192
    /// Objects of a row group at most.
    @usableFromInline package static let rowsPerGroup = 1024
    /// Children of an inner node at most.
    package static let nodeFanOut = 64
    /// Children of an inner node of a tree of elements at most.
    package static let elementNodeFanOut = 84
    /// A block never crosses a boundary of this many pages (64 MiB), so that a section can be mapped alone.
    package static let sectionPages: UInt64 = 16384
    /// Bytes of a String, Data or list above which the value leaves its row group.
    package static let inlineValueByteCount = 2048
    package static let stringByteCount = 16_777_199
    package static let dataByteCount = 16_777_200
    package static let tableNameByteCount = 57
    package static let columnNameByteCount = 63
    /// Depth of any tree at most; more is damage.
    package static let treeDepth = 12
    /// Entries of an index tree at most: sums of such numbers do not overflow.
    package static let treeEntryCount: UInt64 = 1 << 44
    /// Commits above this are made durable in two steps and carry no manifest, which bounds the time of an open.
    package static let manifestByteCount = 1 << 20
}
