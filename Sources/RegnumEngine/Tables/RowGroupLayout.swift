// SPDX-License-Identifier: Apache-2.0
// The layout of a row group block: up to 1,024 objects of one table, ordered by key, column by column.
//
//   offset size  meaning
//        0   32  block header
//       32    2  rows, 1 ... 1,024
//       34    1  key form: 0 dense, 1 bitmap, 2 sorted (KeyForm)
//       35    1  zero
//       36    2  columns described
//       38    2  external blocks
//       40    8  first key
//       48    8  key span: last key - first key + 1
//       56    4  byte offset of the keys (0 if dense)
//       60    4  zero
//       64  48c  column descriptors (below)
//        …  40e  refs of external blocks: older row group blocks that still hold segments of unchanged columns
//        …       keys: bitmap = ⌈span / 64⌉ words, then as many UInt16 ranks; sorted = 8 bytes per row
//        …       segments of the columns stored in this block, each aligned to 8
//
//   descriptor
//        0    1  form (ColumnForm; `int64` … as in memory, never `slots`)
//        1    1  flags: 1 validity · 2 nanoseconds · 4 blobs · 8 zone · 16 zeros (no data: all 0, "" or false)
//        2    2  zero
//        4    4  column key
//        8    8  base
//       16   16  zone: smallest and largest value
//       32    4  source: 0 this block, k the k-th external block
//       36    4  byte offset of the segment in its source
//       40    4  byte count of the segment
//       44    4  zero
//
//   segment: validity words | blob words | data, padded to 8 | nanoseconds (4 per row) or heap
//
// A small update writes a new block with the changed columns only; the other columns stay in their blocks. So a bulk
// insert pays for page rounding once per group, and an update of one property does not rewrite the row.

package enum RowGroupLayout {
    package static let headByteCount = 64
    package static let descriptorByteCount = 48
    /// The maximum number of external blocks of one group.
    package static let externalLimit = 64

    package struct Flags {
        package static let validity: UInt8 = 1
        package static let nanoseconds: UInt8 = 2
        package static let blobs: UInt8 = 4
        package static let zone: UInt8 = 8
        package static let zeros: UInt8 = 16
    }

    /// The location and encoding of one column.
    package struct Descriptor {
        package var form: ColumnForm
        package var flags: UInt8
        package var columnKey: UInt32
        package var base: Int64 = 0
        package var zoneMin: Int64 = 0
        package var zoneMax: Int64 = 0
        package var source: UInt32 = 0
        package var byteOffset: UInt32 = 0
        package var byteCount: UInt32 = 0

        package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

        package func write(to p: UnsafeMutableRawPointer) {
            p.storeBytes(of: form.rawValue, as: UInt8.self)
            p.storeBytes(of: flags, toByteOffset: 1, as: UInt8.self)
            p.storeBytes(of: columnKey, toByteOffset: 4, as: UInt32.self)
            p.storeBytes(of: base, toByteOffset: 8, as: Int64.self)
            p.storeBytes(of: zoneMin, toByteOffset: 16, as: Int64.self)
            p.storeBytes(of: zoneMax, toByteOffset: 24, as: Int64.self)
            p.storeBytes(of: source, toByteOffset: 32, as: UInt32.self)
            p.storeBytes(of: byteOffset, toByteOffset: 36, as: UInt32.self)
            p.storeBytes(of: byteCount, toByteOffset: 40, as: UInt32.self)
        }
    }

    /// Reads descriptor `i`; nil if its form is unknown.
    package static func descriptor(_ block: UnsafeRawPointer, _ i: Int) -> Descriptor? {
        let p = block + headByteCount + i * descriptorByteCount
        guard let form = ColumnForm(rawValue: p.load(as: UInt8.self)), form != .slots else { return nil }
        return Descriptor(
            form: form, flags: p.load(fromByteOffset: 1, as: UInt8.self),
            columnKey: p.load(fromByteOffset: 4, as: UInt32.self),
            base: p.load(fromByteOffset: 8, as: Int64.self), zoneMin: p.load(fromByteOffset: 16, as: Int64.self),
            zoneMax: p.load(fromByteOffset: 24, as: Int64.self), source: p.load(fromByteOffset: 32, as: UInt32.self),
            byteOffset: p.load(fromByteOffset: 36, as: UInt32.self),
            byteCount: p.load(fromByteOffset: 40, as: UInt32.self))
    }

    package static func rows(_ block: UnsafeRawPointer) -> Int { Int(block.load(fromByteOffset: 32, as: UInt16.self)) }
    package static func keyForm(_ block: UnsafeRawPointer) -> UInt8 { block.load(fromByteOffset: 34, as: UInt8.self) }
    package static func columnCount(_ block: UnsafeRawPointer) -> Int {
        Int(block.load(fromByteOffset: 36, as: UInt16.self))
    }
    package static func externalCount(_ block: UnsafeRawPointer) -> Int {
        Int(block.load(fromByteOffset: 38, as: UInt16.self))
    }
    package static func firstKey(_ block: UnsafeRawPointer) -> UInt64 {
        block.load(fromByteOffset: 40, as: UInt64.self)
    }
    package static func keySpan(_ block: UnsafeRawPointer) -> UInt64 { block.load(fromByteOffset: 48, as: UInt64.self) }
    package static func keyOffset(_ block: UnsafeRawPointer) -> Int {
        Int(block.load(fromByteOffset: 56, as: UInt32.self))
    }
    package static func external(_ block: UnsafeRawPointer, _ i: Int) -> BlockRef {
        BlockRef(reading: block + headByteCount + columnCount(block) * descriptorByteCount + i * BlockRef.byteCount)
    }

    /// Offsets of the parts of a segment from its start. `heap` is also the offset of nanoseconds.
    package struct Parts {
        package var blobs = 0
        package var data = 0
        package var heap = 0
    }

    package static func parts(_ form: ColumnForm, _ flags: UInt8, rows: Int) -> Parts {
        let words = (rows + 63) / 64 * 8
        var parts = Parts()
        parts.blobs = flags & Flags.validity != 0 ? words : 0
        parts.data = parts.blobs + (flags & Flags.blobs != 0 ? words : 0)
        parts.heap = parts.data + (flags & Flags.zeros != 0 ? 0 : (dataByteCount(form, rows) + 7) & ~7)
        return parts
    }

    package static func dataByteCount(_ form: ColumnForm, _ rows: Int) -> Int {
        switch form {
        case .constant: 0
        case .bits: (rows + 63) / 64 * 8
        case .uint8: rows
        case .uint16, .text16: rows * 2
        case .uint32, .float32, .text32: rows * 4
        case .int64, .float64: rows * 8
        case .bytes12: rows * 12
        case .bytes16: rows * 16
        case .slots: rows * 16
        }
    }

    package static func isText(_ form: ColumnForm) -> Bool { form == .text16 || form == .text32 }

    /// Proves that a verified block can be read without leaving it, whatever its bytes are.
    package static func check(_ ref: BlockRef, _ block: UnsafeRawPointer) throws(EngineError) {
        let page = ref.page
        let rows = rows(block)
        let columns = columnCount(block)
        let externals = externalCount(block)
        guard rows >= 1, rows <= FormatLimits.rowsPerGroup, externals <= externalLimit else {
            throw corrupted("a row group has impossible counts", page: page)
        }
        let headEnd = headByteCount + columns * descriptorByteCount + externals * BlockRef.byteCount
        guard headEnd <= ref.byteCount else {
            throw corrupted("a row group's head is longer than its block", page: page)
        }
        for i in 0..<externals
        where external(block, i).isPending || external(block, i).kind != BlockKind.rowGroup.rawValue {
            throw corrupted("a row group's older block is of another kind", page: page)
        }
        try checkKeys(ref, block, rows: rows, headEnd: headEnd)
        for i in 0..<columns {
            guard let d = descriptor(block, i), Int(d.source) <= externals else {
                throw corrupted("a column of a row group has an unknown form", page: page)
            }
            if d.source == 0 { try checkSegment(d, rows: rows, block, blockByteCount: ref.byteCount, page: page) }
        }
    }

    private static func checkKeys(_ ref: BlockRef, _ block: UnsafeRawPointer, rows: Int, headEnd: Int)
        throws(EngineError)
    {
        let span = keySpan(block)
        let first = firstKey(block)
        let (_, overflow) = first.addingReportingOverflow(span)
        guard first >= 1, span >= UInt64(rows), !overflow, let form = KeyForm(rawValue: keyForm(block)) else {
            throw corrupted("a row group has impossible keys", page: ref.page)
        }
        let offset = keyOffset(block)
        switch form {
        case .dense:
            guard span == UInt64(rows) else { throw corrupted("a dense row group has gaps", page: ref.page) }
        case .bitmap:
            // Check first, because the number of words of a span near 2^64 would overflow.
            guard span <= 65536 else { throw corrupted("a row group's keys lie outside of it", page: ref.page) }
            let words = Int((span + 63) / 64)
            guard offset % 8 == 0, offset >= headEnd, offset + words * 10 <= ref.byteCount else {
                throw corrupted("a row group's keys lie outside of it", page: ref.page)
            }
            var seen = 0
            for i in 0..<words {
                let rank = (block + offset + words * 8 + i * 2).load(as: UInt16.self)
                guard Int(rank) == seen else { throw corrupted("a row group's ranks are wrong", page: ref.page) }
                seen += (block + offset + i * 8).load(as: UInt64.self).nonzeroBitCount
            }
            guard seen == rows else { throw corrupted("a row group's keys do not match its rows", page: ref.page) }
        case .sorted:
            guard offset % 8 == 0, offset >= headEnd, offset + rows * 8 <= ref.byteCount else {
                throw corrupted("a row group's keys lie outside of it", page: ref.page)
            }
            let keys = (block + offset).assumingMemoryBound(to: UInt64.self)
            for i in 1..<max(rows, 1) where keys[i] <= keys[i - 1] {
                throw corrupted("a row group's keys are out of order", page: ref.page)
            }
            guard keys[0] == first, keys[rows - 1] - first == span - 1 else {
                throw corrupted("a row group's key span is wrong", page: ref.page)
            }
        }
    }

    /// True if a checked block itself stores exactly this segment as its column `number`. If the result is false, the
    /// segment may belong to another column.
    package static func hasOwnSegment(
        _ d: Descriptor, _ number: Int, rows count: Int, _ block: UnsafeRawPointer
    ) -> Bool {
        guard number < columnCount(block), rows(block) == count, let own = descriptor(block, number) else {
            return false
        }
        return own.source == 0 && own.byteOffset == d.byteOffset && own.byteCount == d.byteCount && own.form == d.form
            && own.flags == d.flags
    }

    /// Proves that a segment lies inside its block and that its offsets stay inside its heap. `isPending`: the block
    /// belongs to the running transaction.
    package static func checkSegment(
        _ d: Descriptor, rows: Int, _ block: UnsafeRawPointer, blockByteCount: Int, page: UInt64,
        isPending: Bool = false
    ) throws(EngineError) {
        let start = Int(d.byteOffset)
        let parts = parts(d.form, d.flags, rows: rows)
        let count = Int(d.byteCount)
        guard start % 8 == 0, start >= headByteCount, start + count <= blockByteCount, count >= parts.heap else {
            throw corrupted("a column's segment lies outside of its block", page: page)
        }
        if d.has(Flags.nanoseconds), count - parts.heap < rows * 4 {
            throw corrupted("a column's nanoseconds lie outside of its segment", page: page)
        }
        let hasOffsets = isText(d.form) && !d.has(Flags.zeros)
        // Without offsets, a blob record would have no location.
        guard hasOffsets || !d.has(Flags.blobs) else {
            throw corrupted("a column without values has blob records", page: page)
        }
        guard hasOffsets else { return }
        let heap = count - parts.heap
        let offsets = block + start + parts.data
        let last: Int?
        if d.form == .text16 {
            last = lastOffset(offsets.assumingMemoryBound(to: UInt16.self), rows)
        } else {
            last = lastOffset(offsets.assumingMemoryBound(to: UInt32.self), rows)
        }
        guard let last else { throw corrupted("a column's text offsets are out of order", page: page) }
        guard last <= heap else { throw corrupted("a column's text lies outside of its segment", page: page) }
        guard d.has(Flags.blobs) else { return }
        let blobs = block + start + parts.blobs
        for row in 0..<rows where blobs.load(fromByteOffset: row >> 6 * 8, as: UInt64.self) >> UInt64(row & 63) & 1 != 0
        {
            let begin = row == 0 ? 0 : offset(offsets, row - 1, d.form)
            guard offset(offsets, row, d.form) - begin == BlobRecord.byteCount else {
                throw corrupted("a blob record has the wrong size", page: page)
            }
            // The numbers of pending blocks are meaningless in a file.
            let ref = BlockRef(reading: block + start + parts.heap + begin)
            guard isPending || !ref.isPending else {
                throw corrupted("a blob record says that its block is pending", page: page)
            }
        }
    }

    /// The last of ascending offsets; nil if they do not ascend. Branch-free per row, because it runs for every text
    /// column of every block that is read for the first time.
    @inline(__always)
    private static func lastOffset<Offset: FixedWidthInteger & UnsignedInteger>(
        _ offsets: UnsafePointer<Offset>, _ rows: Int
    ) -> Int? {
        guard rows > 0 else { return 0 }
        var differences: Int64 = 0
        for row in 1..<rows {
            differences |= Int64(truncatingIfNeeded: offsets[row]) &- Int64(truncatingIfNeeded: offsets[row &- 1])
        }
        return differences < 0 ? nil : Int(offsets[rows - 1])
    }

    private static func offset(_ offsets: UnsafeRawPointer, _ row: Int, _ form: ColumnForm) -> Int {
        form == .text16
            ? Int(offsets.load(fromByteOffset: row * 2, as: UInt16.self))
            : Int(offsets.load(fromByteOffset: row * 4, as: UInt32.self))
    }
}

/// The record that a row group keeps for a value in a block of its own: ref (40 bytes), then the value's byte count
/// (8). If the ref points to an element node, the value is a large collection, and the record has its number of
/// elements instead.
package enum BlobRecord {
    package static let byteCount = 48
    /// The offset of the value's bytes in the blob block, after the header and the count.
    package static let valueOffset = 40

    package static func length(_ record: UnsafeRawPointer) -> Int {
        Int(truncatingIfNeeded: record.loadUnaligned(fromByteOffset: 40, as: UInt64.self))
    }
}

/// Checks the inside of a block, by kind, when it is first read.
package enum BlockLayout {
    package static func check(_ ref: BlockRef, _ bytes: UnsafeRawPointer) throws(EngineError) {
        switch BlockKind(rawValue: ref.kind) {
        case .rowGroup: try RowGroupLayout.check(ref, bytes)
        case .groupNode: try GroupNodeLayout.check(ref, bytes)
        case .elementNode: try ElementNodeLayout.check(ref, bytes)
        case .indexLeaf, .indexBranch: try IndexNodeLayout.check(ref, bytes)
        case .blob:
            let count = bytes.load(fromByteOffset: 32, as: UInt64.self)
            guard count <= UInt64(ref.byteCount - BlobRecord.valueOffset) else {
                throw corrupted("a blob is longer than its block", page: ref.page)
            }
        case .catalog, .schema, .freeLog, .history: break  // decoded once, with checks of their own
        case nil: throw corrupted("a block of unknown kind", page: ref.page)
        }
    }
}
