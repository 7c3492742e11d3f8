// SPDX-License-Identifier: Apache-2.0
// Copies a row group into one block: segments in older blocks are copied from there; segments of dropped columns, whose
// blobs are gone, are left out.

import RegnumSystem

struct GroupCopy {
    private let group: UnsafeRawPointer
    private var segments: [(descriptor: RowGroupLayout.Descriptor, bytes: UnsafeRawPointer)] = []
    private let keyByteCount: Int
    private let keyOffset: Int
    /// The byte count of the copy.
    let byteCount: Int
    /// The byte offsets in the copy of refs to blobs, with the refs of the original group.
    private(set) var blobs: [(offset: Int, ref: BlockRef)] = []

    /// `columns`: the keys of the table's columns.
    init(
        _ ref: BlockRef, _ group: UnsafeRawPointer, _ columns: Set<UInt32>, _ source: BlockSpace
    ) throws(EngineError) {
        self.group = group
        let rows = RowGroupLayout.rows(group)
        var descriptors: [RowGroupLayout.Descriptor] = []
        for i in 0..<RowGroupLayout.columnCount(group) {
            guard let d = RowGroupLayout.descriptor(group, i) else {
                throw corrupted("a column of a row group has an unknown form", page: ref.page)
            }
            if columns.contains(d.columnKey) { descriptors.append(d) }
        }
        keyByteCount = Self.keyByteCount(group)
        keyOffset = (RowGroupLayout.headByteCount + descriptors.count * RowGroupLayout.descriptorByteCount + 7) & ~7
        var offset = (keyOffset + keyByteCount + 7) & ~7
        let limit = Self.byteCountLimit(ref, group, source)
        for (number, descriptor) in descriptors.enumerated() {
            var d = descriptor
            let segment = try GroupHandle.segmentSource(d, number, rows: rows, group, source) + Int(d.byteOffset)
            guard offset + (Int(d.byteCount) + 7) & ~7 <= limit else {
                throw corrupted("the columns of a row group overlap", page: ref.page)
            }
            (d.source, d.byteOffset) = (0, UInt32(offset))
            segments.append((d, segment))
            if d.has(RowGroupLayout.Flags.blobs) {
                let view = GroupHandle.view(atSegment: d, rows: rows, UnsafeMutableRawPointer(mutating: segment))
                for row in 0..<rows where view.isBlob(row) {
                    guard let record = view.bytes(row).baseAddress else { continue }
                    blobs.append((offset + (record - segment), BlockRef(reading: record)))
                }
            }
            offset += (Int(d.byteCount) + 7) & ~7
        }
        byteCount = offset
    }

    /// Fills a new block of `byteCount` bytes; the caller sets the refs of `blobs`.
    func write(to block: SealedBlock) {
        let head = BlockHeader.byteCount
        Memory.copy(block.bytes + head, group + head, RowGroupLayout.headByteCount - head)
        block.bytes.storeBytes(of: UInt16(segments.count), toByteOffset: 36, as: UInt16.self)
        block.bytes.storeBytes(of: 0, toByteOffset: 38, as: UInt16.self)
        if keyByteCount > 0 {
            block.bytes.storeBytes(of: UInt32(keyOffset), toByteOffset: 56, as: UInt32.self)
            Memory.copy(block.bytes + keyOffset, group + RowGroupLayout.keyOffset(group), keyByteCount)
        }
        for (i, segment) in segments.enumerated() {
            let at = RowGroupLayout.headByteCount + i * RowGroupLayout.descriptorByteCount
            segment.descriptor.write(to: block.bytes + at)
            Memory.copy(
                block.bytes + Int(segment.descriptor.byteOffset), segment.bytes, Int(segment.descriptor.byteCount))
        }
    }

    /// Returns the maximum byte count of a copy: the total of the blocks that it is copied from, but no more than one
    /// block may have. A copy would be longer only if segments of a damaged group overlap, so that several columns
    /// refer to the same bytes.
    private static func byteCountLimit(_ ref: BlockRef, _ group: UnsafeRawPointer, _ source: BlockSpace) -> Int {
        var held = source.byteCount(ref)
        for i in 0..<RowGroupLayout.externalCount(group) {
            held += source.byteCount(RowGroupLayout.external(group, i))
        }
        return min(held, Sealer.blockPageLimit * FormatLimits.pageByteCount)
    }

    private static func keyByteCount(_ group: UnsafeRawPointer) -> Int {
        switch KeyForm(rawValue: RowGroupLayout.keyForm(group)) {
        case .bitmap: Int((RowGroupLayout.keySpan(group) + 63) / 64) * 10
        case .sorted: RowGroupLayout.rows(group) * 8
        case .dense, nil: 0
        }
    }
}
