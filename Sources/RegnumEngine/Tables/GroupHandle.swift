// SPDX-License-Identifier: Apache-2.0
// Decodes committed and pending row groups: the result is a `GroupView` whose columns point into the block, and into
// the older blocks that still hold some of its segments. A block is decoded once per session; see `GroupCache`.

import RegnumSystem

/// Zeros that columns without data point at: enough for 1,024 rows of the widest form.
package enum ZeroBytes {
    package nonisolated(unsafe) static let base: UnsafeMutableRawPointer = {
        let p = Memory.allocatePages(byteCount: 16 * 1024 + 4096)
        Memory.zero(p, 16 * 1024 + 4096)
        return p
    }()
}

/// The parts of a column's definition that groups use, without its name, so that copying them needs no reference
/// counting.
struct StoredColumn {
    let key: UInt32
    let type: ColumnType
    let writableForm: ColumnForm
    let hasValidity: Bool

    init(_ definition: ColumnDefinition) {
        key = definition.key.rawValue
        type = definition.type
        writableForm = definition.writableForm
        hasValidity = definition.hasValidity
    }
}

/// Maps column keys to a table's columns, and has the defaults of columns that a block does not hold.
package struct ColumnMap {
    let columns: [StoredColumn]

    package init(_ definitions: [ColumnDefinition]) { columns = definitions.map { StoredColumn($0) } }

    var count: Int { columns.count }

    package func index(of key: UInt32, hint: Int) -> Int? {
        if hint < columns.count, columns[hint].key == key { return hint }
        return columns.firstIndex { $0.key == key }
    }

    /// The view of a column whose rows are all null or zero.
    package func defaultView(_ column: Int) -> ColumnView {
        let stored = columns[column]
        let form: ColumnForm =
            switch stored.writableForm {
            case .slots: .text16
            case .int64: .constant
            case let other: other
            }
        var view = ColumnView(form: form, data: ZeroBytes.base)
        view.aux = form == .text16 ? ZeroBytes.base : nil
        if stored.hasValidity { view.validity = ZeroBytes.base.assumingMemoryBound(to: UInt64.self) }
        return view
    }
}

@usableFromInline
package enum GroupHandle {
    /// Decodes a block. The result is one allocation, freed by `deallocate`. If `lost` is given, it is called with each
    /// column that cannot be read, which keeps its default, instead of throwing.
    package static func make(
        _ ref: BlockRef, _ columns: ColumnMap, _ space: BlockSpace, lost: ((Int, EngineError) -> Void)? = nil
    ) throws(EngineError) -> UnsafeMutablePointer<GroupView> {
        guard ref.kind == BlockKind.rowGroup.rawValue else {
            throw corrupted("a group of objects is a block of another kind", page: ref.isPending ? nil : ref.page)
        }
        let block = try space.bytes(ref)
        let rows = RowGroupLayout.rows(block)
        let count = columns.count
        let group = allocate(columns: count)
        let views = group.columns
        for i in 0..<count { views[i] = columns.defaultView(i) }
        do throws(EngineError) {
            for i in 0..<RowGroupLayout.columnCount(block) {
                guard let d = RowGroupLayout.descriptor(block, i) else {
                    throw corrupted("a column of a row group has an unknown form", page: ref.page)
                }
                // Ignore a column that the schema no longer has.
                guard let column = columns.index(of: d.columnKey, hint: i) else { continue }
                do throws(EngineError) {
                    let source = try segmentSource(d, i, rows: rows, block, space)
                    guard matches(d.form, columns.columns[column].writableForm) else {
                        throw corrupted("a column's form does not fit its type", page: ref.page)
                    }
                    views[column] = view(d, rows: rows, source)
                } catch {
                    guard let lost else { throw error }
                    lost(column, error)
                }
            }
        } catch {
            deallocate(group)
            throw error
        }
        let keys = (block + RowGroupLayout.keyOffset(block)).assumingMemoryBound(to: UInt64.self)
        let span = RowGroupLayout.keySpan(block)
        let form = KeyForm(rawValue: RowGroupLayout.keyForm(block)) ?? .dense
        let words = form == .bitmap ? Int((span + 63) / 64) : 0
        group.initialize(
            to: GroupView(
                keyForm: form, firstKey: RowGroupLayout.firstKey(block), keySpan: span, count: rows, keys: keys,
                ranks: UnsafeRawPointer(keys + words).assumingMemoryBound(to: UInt16.self)))
        return group
    }

    /// Allocates an uninitialized view, followed by room for the views of its columns.
    static func allocate(columns count: Int) -> UnsafeMutablePointer<GroupView> {
        precondition(MemoryLayout<GroupView>.size <= lineByteCount && MemoryLayout<ColumnView>.stride == lineByteCount)
        return UnsafeMutableRawPointer.allocate(byteCount: lineByteCount * (count + 1), alignment: lineByteCount)
            .assumingMemoryBound(to: GroupView.self)
    }

    /// The size of a processor cache line. A view takes one, and so does each of its columns; random access to objects
    /// waits for each of them.
    @usableFromInline static var lineByteCount: Int { 64 }

    package static func deallocate(_ group: UnsafeMutablePointer<GroupView>) {
        UnsafeMutableRawPointer(group).deallocate()
    }

    /// Returns the block that holds a segment, and checks segments outside the group's own block. `number` is the index
    /// of the descriptor, which is most likely the same in the older block.
    package static func segmentSource(
        _ d: RowGroupLayout.Descriptor, _ number: Int, rows: Int, _ block: UnsafeRawPointer, _ space: BlockSpace
    ) throws(EngineError) -> UnsafeRawPointer {
        if d.source == 0 { return block }
        let ref = RowGroupLayout.external(block, Int(d.source) - 1)
        let bytes = try space.bytes(ref)
        // Usually the older block's own column with the same number, which was checked with that block.
        if !ref.isPending, RowGroupLayout.hasOwnSegment(d, number, rows: rows, bytes) { return bytes }
        try RowGroupLayout.checkSegment(
            d, rows: rows, bytes, blockByteCount: space.byteCount(ref), page: ref.page,
            isPending: ref.isPending)
        return bytes
    }

    /// True if a sealed column in `form` may belong to a column whose writable form is `writableForm`.
    private static func matches(_ form: ColumnForm, _ writableForm: ColumnForm) -> Bool {
        switch writableForm {
        case .int64: return form.isInteger
        case .slots: return RowGroupLayout.isText(form)
        case let wanted: return form == wanted
        }
    }

    package static func view(
        _ d: RowGroupLayout.Descriptor, rows: Int, _ source: UnsafeRawPointer
    ) -> ColumnView {
        let start = UnsafeMutableRawPointer(mutating: source) + Int(d.byteOffset)
        let parts = RowGroupLayout.parts(d.form, d.flags, rows: rows)
        var view = ColumnView(
            form: d.form, data: d.has(RowGroupLayout.Flags.zeros) ? ZeroBytes.base : start + parts.data)
        if d.has(RowGroupLayout.Flags.validity) { view.validity = start.assumingMemoryBound(to: UInt64.self) }
        if d.has(RowGroupLayout.Flags.blobs) { view.blobs = (start + parts.blobs).assumingMemoryBound(to: UInt64.self) }
        if RowGroupLayout.isText(d.form) || d.has(RowGroupLayout.Flags.nanoseconds) { view.aux = start + parts.heap }
        view.base = d.base
        view.hasZone = d.has(RowGroupLayout.Flags.zone)
        view.zoneMin = d.zoneMin
        view.zoneMax = d.zoneMax
        return view
    }
}

/// The decoded groups of one table in one session, keyed by their location in the file. Open addressing, about 5 ns per
/// hit. A block that a later version wrote to the same location replaces the entry; entries of other blocks that are
/// gone stay until `removeAll`, which the owner calls when `count` has outgrown the table.
package final class GroupCache {
    private struct Slot {
        var location: UInt64 = 0
        var birth: UInt64 = 0
        var group: UnsafeMutablePointer<GroupView>?
    }

    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Slot>
    @exclusivity(unchecked) private var mask: Int
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) private(set) var hasPending = false

    package init() {
        mask = 15
        slots = .allocate(capacity: 16)
        slots.initialize(repeating: Slot(), count: 16)
    }

    deinit {
        removeAll()
        slots.deallocate()
    }

    @inline(__always)
    private func place(_ location: UInt64) -> Int {
        Int(truncatingIfNeeded: (location &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
    }

    @inline(__always)
    package func find(_ ref: BlockRef) -> UnsafeMutablePointer<GroupView>? {
        var i = place(ref.location)
        while let group = slots[i].group {
            if slots[i].location == ref.location { return slots[i].birth == ref.birth ? group : nil }
            i = (i &+ 1) & mask
        }
        return nil
    }

    package func insert(_ ref: BlockRef, _ group: UnsafeMutablePointer<GroupView>) {
        if ref.isPending { hasPending = true }
        if count * 2 > mask { grow() }
        var i = place(ref.location)
        while let old = slots[i].group {
            if slots[i].location == ref.location {
                GroupHandle.deallocate(old)
                slots[i] = Slot(location: ref.location, birth: ref.birth, group: group)
                return
            }
            i = (i + 1) & mask
        }
        slots[i] = Slot(location: ref.location, birth: ref.birth, group: group)
        count += 1
    }

    private func grow() {
        let old = slots
        let oldCount = mask + 1
        mask = oldCount * 2 - 1
        slots = .allocate(capacity: oldCount * 2)
        slots.initialize(repeating: Slot(), count: oldCount * 2)
        for j in 0..<oldCount where old[j].group != nil {
            var i = place(old[j].location)
            while slots[i].group != nil { i = (i + 1) & mask }
            slots[i] = old[j]
        }
        old.deallocate()
    }

    /// Frees the decoded groups of pending blocks, because the next transaction reuses their numbers.
    package func removePending() {
        guard hasPending else { return }
        hasPending = false
        let kept = (0...mask).compactMap { slots[$0].group != nil ? slots[$0] : nil }
        for i in 0...mask { slots[i] = Slot() }
        count = 0
        for slot in kept {
            guard let group = slot.group else { continue }
            if slot.location >> 63 != 0 {
                GroupHandle.deallocate(group)
            } else {
                insert(BlockRef(location: slot.location, birth: slot.birth, tagLow: 0, tagHigh: 0, info: 0), group)
            }
        }
    }

    /// Frees every decoded group. The session's epoch must change with it.
    package func removeAll() {
        for i in 0...mask {
            if let group = slots[i].group { GroupHandle.deallocate(group) }
            slots[i] = Slot()
        }
        count = 0
    }
}
