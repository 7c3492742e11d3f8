// SPDX-License-Identifier: Apache-2.0
// A row group that the running write transaction changes. It begins as the committed group and takes over its columns
// one by one: a column is copied into a wide, writable form when it is first stored to. An integer column keeps its
// narrow width as long as the stored values fit. Inserting or deleting rows takes over all columns. Confined to the
// write transaction. See DirtyGroup+Seal for the way back to a block.

import RegnumSystem

package final class DirtyGroup {
    /// A block that holds segments of columns not taken over; source 0 is the group's own block.
    struct Source {
        var ref: BlockRef
        var bytes: UnsafeRawPointer
    }

    let columns: ColumnMap
    package let view: UnsafeMutablePointer<GroupView>
    @exclusivity(unchecked) private(set) var sources: [Source] = []
    /// By column: the segment of a column not taken over; nil if the block has none.
    @exclusivity(unchecked) private(set) var segments: [RowGroupLayout.Descriptor?]
    @exclusivity(unchecked) private(set) var capacity = 0
    /// The size of the block that `seal` has written.
    @exclusivity(unchecked) var sealedByteCount = 0
    @exclusivity(unchecked) private var arena = Arena()
    /// Keys of a group that is not dense; room for `FormatLimits.rowsPerGroup`.
    @exclusivity(unchecked) private var ownKeys: UnsafeMutablePointer<UInt64>?
    /// By column: true if stores must take the slow path, because of an index, backlinks, a constraint or a collection.
    private let guarded: [Bool]

    var columnCount: Int { columns.count }

    private init(columns: ColumnMap, guarded: [Bool]) {
        self.columns = columns
        self.guarded = guarded
        segments = [RowGroupLayout.Descriptor?](repeating: nil, count: columns.count)
        view = GroupHandle.allocate(columns: columns.count)
        for i in 0..<columns.count { view.columns[i] = columns.defaultView(i) }
        view.initialize(
            to: GroupView(
                keyForm: .dense, firstKey: 0, keySpan: 0, count: 0,
                keys: UnsafePointer(ZeroBytes.base.assumingMemoryBound(to: UInt64.self)),
                ranks: UnsafePointer(ZeroBytes.base.assumingMemoryBound(to: UInt16.self))))
    }

    /// Makes a new, empty group whose first object will have `firstKey`.
    package convenience init(empty columns: ColumnMap, guarded: [Bool], firstKey: UInt64, capacity: Int) {
        self.init(columns: columns, guarded: guarded)
        view.pointee.firstKey = firstKey
        makeAllWritable(capacity: capacity)
    }

    /// Makes a changeable copy of the group at `ref`; `decoded` is its decoded form.
    package convenience init(
        changing ref: BlockRef, decoded: UnsafeMutablePointer<GroupView>, _ columns: ColumnMap, guarded: [Bool],
        _ space: BlockSpace
    ) throws(EngineError) {
        let block = try space.bytes(ref)
        self.init(columns: columns, guarded: guarded)
        view.pointee = decoded.pointee
        view.columns.update(from: decoded.columns, count: columnCount)
        sources.reserveCapacity(1 + RowGroupLayout.externalCount(block))
        sources.append(Source(ref: ref, bytes: block))
        for i in 0..<RowGroupLayout.externalCount(block) {
            let external = RowGroupLayout.external(block, i)
            sources.append(Source(ref: external, bytes: try space.bytes(external)))
        }
        for i in 0..<RowGroupLayout.columnCount(block) {
            guard let d = RowGroupLayout.descriptor(block, i), let c = columns.index(of: d.columnKey, hint: i) else {
                continue
            }
            segments[c] = d
        }
    }

    deinit {
        let views = view.columns
        for i in 0..<columnCount where isOwn(i) { Self.free(views[i]) }
        GroupHandle.deallocate(view)
        ownKeys?.deallocate()
    }

    /// Frees a column allocated by `makeMemory`.
    private static func free(_ column: ColumnView) { column.data.deallocate() }

    /// Frees the group's blocks. Call when the group is removed.
    func freeSources(_ space: BlockSpace) {
        for source in sources { space.free(source.ref) }
        sources = []
    }

    // MARK: Taking columns over

    /// True if the column's memory belongs to this group.
    func isOwn(_ column: Int) -> Bool {
        view.columns[column].isWritable || view.columns[column].isNarrow
    }

    /// The size of the data of `rows` rows in bytes, rounded up to a multiple of 8.
    private static func byteCount(_ form: ColumnForm, _ rows: Int) -> Int {
        (RowGroupLayout.dataByteCount(form, rows) + 7) & ~7
    }

    /// Gives the column its own wide copy. Pointers in `view.columns[column]` change; the address of the view itself
    /// does not, so accessors stay valid.
    package func makeWritable(_ column: Int) {
        if view.columns[column].isWritable { return }
        let stored = columns.columns[column]
        let old = view.columns[column]
        let rows = view.pointee.count
        var new = ownView(column, stored.writableForm, hasNanoseconds: stored.type == .date)
        switch new.form {
        case .int64:
            let target = new.data.assumingMemoryBound(to: Int64.self)
            for row in 0..<rows { target[row] = old.integer(row) }
            if let target = new.aux, let aux = old.aux { Memory.copy(target, aux, rows * 4) }
        case .slots:
            let target = new.data.assumingMemoryBound(to: ByteSlot.self)
            for row in 0..<rows { target[row] = ByteSlot(of: old, row) }
        default:
            Memory.copy(new.data, old.data, RowGroupLayout.dataByteCount(new.form, rows))
        }
        new.isWritable = true
        replace(column, by: new)
    }

    /// Gives the column its own copy, leaving out `rows`: integers keep their narrow width, other columns are copied as
    /// by `makeWritable`.
    private func takeOver(_ column: Int, without rows: [Int] = []) {
        if isOwn(column) { return }
        let stored = columns.columns[column]
        let old = view.columns[column]
        let count = view.pointee.count
        let isNarrow = stored.writableForm == .int64 && old.form != .int64
        let form = isNarrow ? (old.form == .constant ? .uint8 : old.form) : stored.writableForm
        var new = ownView(
            column, form, hasNanoseconds: form.isInteger && (isNarrow ? old.aux != nil : stored.type == .date))
        if isNarrow { new.base = old.base }
        new.isNarrow = isNarrow
        new.isWritable = !isNarrow
        switch form {
        case .slots:
            let target = new.data.assumingMemoryBound(to: ByteSlot.self)
            var place = 0
            Self.forEachKept(rows, count) { kept in
                for row in kept {
                    target[place] = ByteSlot(of: old, row)
                    place += 1
                }
            }
        case .bits:
            Memory.copy(new.data, old.data, RowGroupLayout.dataByteCount(form, count))
            Self.removeBits(new.data.assumingMemoryBound(to: UInt64.self), rows, count)
        default:
            // In a constant column every difference to `base` is 0, as the new memory is.
            if old.form == form {
                Self.copyKept(new.data, old.data, rows, count, width: RowGroupLayout.dataByteCount(form, 1))
            }
        }
        if form.isInteger, let target = new.aux, let aux = old.aux { Self.copyKept(target, aux, rows, count, width: 4) }
        if let validity = new.validity { Self.removeBits(validity, rows, count) }
        replace(column, by: new)
    }

    /// Allocates zeroed memory for the column in `form`, and copies the validity bits.
    private func ownView(_ column: Int, _ form: ColumnForm, hasNanoseconds: Bool) -> ColumnView {
        let rows = view.pointee.count
        if capacity == 0 { capacity = Self.roundedCapacity(rows) }
        let new = Self.makeMemory(
            form, capacity, hasValidity: columns.columns[column].hasValidity, hasNanoseconds: hasNanoseconds)
        if let validity = new.validity {
            let old = view.columns[column]
            for row in 0..<rows where !old.isNull(row) { validity[row >> 6] |= 1 << UInt64(row & 63) }
        }
        return new
    }

    /// Makes one zeroed allocation for `rows` rows: data, validity, nanoseconds of dates.
    private static func makeMemory(
        _ form: ColumnForm, _ rows: Int, hasValidity: Bool, hasNanoseconds: Bool
    ) -> ColumnView {
        let data = max(byteCount(form, rows), 16)
        let validity = hasValidity ? (rows + 63) / 64 * 8 : 0
        let memory = zeroed(data + validity + (hasNanoseconds ? rows * 4 : 0))
        var view = ColumnView(form: form, data: memory)
        if hasValidity { view.validity = (memory + data).assumingMemoryBound(to: UInt64.self) }
        if hasNanoseconds { view.aux = memory + data + validity }
        return view
    }

    private func replace(_ column: Int, by new: ColumnView) {
        let old = view.columns[column]
        view.columns[column] = new
        view.columns[column].isGuarded = guarded[column]
        segments[column] = nil
        if old.isNarrow { Self.free(old) }
    }

    private static func zeroed(_ byteCount: Int) -> UnsafeMutableRawPointer {
        let p = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
        Memory.zero(p, byteCount)
        return p
    }

    private static func roundedCapacity(_ rows: Int) -> Int {
        var capacity = 64
        while capacity < rows { capacity *= 2 }
        return min(capacity, FormatLimits.rowsPerGroup)
    }

    /// Makes all columns writable, with room for `wanted` rows, and gives the group its own keys.
    package func makeAllWritable(capacity wanted: Int) {
        let wanted = Self.roundedCapacity(max(wanted, view.pointee.count))
        if capacity == 0 { capacity = wanted }
        for column in 0..<columnCount { makeWritable(column) }
        ownRows(capacity: wanted)
    }

    private func ownRows(capacity wanted: Int) {
        if view.pointee.keyForm == .bitmap || (view.pointee.keyForm == .sorted && ownKeys == nil) { takeKeys() }
        if capacity < wanted { grow(to: wanted) }
    }

    private func takeKeys() {
        let keys = UnsafeMutablePointer<UInt64>.allocate(capacity: FormatLimits.rowsPerGroup)
        for row in 0..<view.pointee.count { keys[row] = view.pointee.key(at: row) }
        ownKeys = keys
        view.pointee.keys = UnsafePointer(keys)
        view.pointee.keyForm = .sorted
    }

    private func grow(to wanted: Int) {
        let views = view.columns
        for i in 0..<columnCount {
            let old = views[i]
            let new = Self.makeMemory(
                old.form, wanted, hasValidity: old.validity != nil,
                hasNanoseconds: old.form.isInteger && old.aux != nil)
            Memory.copy(new.data, old.data, Self.byteCount(old.form, capacity))
            if let target = new.validity, let validity = old.validity {
                Memory.copy(target, UnsafeRawPointer(validity), (capacity + 63) / 64 * 8)
            }
            if let target = new.aux, let aux = old.aux { Memory.copy(target, aux, capacity * 4) }
            Self.free(old)
            (views[i].data, views[i].validity, views[i].aux) = (new.data, new.validity, new.aux)
        }
        capacity = wanted
    }

    /// Approximate memory used by the changes, in bytes.
    var changedByteCount: Int {
        var count = 512 + arena.byteCount
        for column in 0..<columnCount where isOwn(column) {
            count += Self.byteCount(view.columns[column].form, capacity)
        }
        return count
    }

    // MARK: Rows

    package var isFull: Bool { view.pointee.count == FormatLimits.rowsPerGroup }
    package var lastKey: UInt64 { view.pointee.firstKey &+ view.pointee.keySpan &- 1 }

    /// Appends a row of zeros and nulls with `key`, which must be above all existing keys. Returns its row.
    package func append(_ key: UInt64) -> Int {
        let row = view.pointee.count
        precondition(row < FormatLimits.rowsPerGroup)
        if row == 0 {
            makeAllWritable(capacity: 64)
            view.pointee.firstKey = key
            view.pointee.keyForm = .dense
            view.pointee.keySpan = 0
        } else if row >= capacity || capacity == 0 || !isAllWritable {
            makeAllWritable(capacity: row + 1)
        }
        if view.pointee.keyForm == .dense, key &- view.pointee.firstKey != UInt64(row) { takeKeys() }
        if view.pointee.keyForm == .sorted { ownKeys.unsafelyUnwrapped[row] = key }
        view.pointee.keySpan = key &- view.pointee.firstKey &+ 1
        view.pointee.count = row &+ 1
        return row
    }

    private var isAllWritable: Bool {
        let views = view.columns
        for i in 0..<columnCount where !views[i].isWritable { return false }
        return view.pointee.keyForm == .dense || ownKeys != nil
    }

    /// Updates the row count, and the fields derived from the remaining keys, after rows were removed.
    private func setCount(_ count: Int) {
        view.pointee.count = count
        guard count > 0 else {
            view.pointee.keySpan = 0
            return
        }
        let isDense = view.pointee.keyForm == .dense
        let first = isDense ? view.pointee.firstKey : view.pointee.keys[0]
        let last = isDense ? first + UInt64(count - 1) : view.pointee.keys[count - 1]
        view.pointee.firstKey = first
        view.pointee.keySpan = last - first + 1
    }

    /// Removes rows, given in ascending order; the rows after them move up.
    package func remove(rows: [Int]) {
        let count = view.pointee.count
        if capacity == 0 { capacity = Self.roundedCapacity(count) }
        ownRows(capacity: capacity)
        let left = count - rows.count
        if view.pointee.keyForm == .dense, rows[0] != left { takeKeys() }
        for column in 0..<columnCount {
            if isOwn(column) { remove(rows, from: view.columns[column]) } else { takeOver(column, without: rows) }
        }
        if view.pointee.keyForm == .sorted, let keys = ownKeys {
            Self.closeGaps(UnsafeMutableRawPointer(keys), rows, count, width: 8)
        }
        setCount(left)
    }

    private func remove(_ rows: [Int], from column: ColumnView) {
        let count = view.pointee.count
        if column.form == .bits {
            Self.removeBits(column.data.assumingMemoryBound(to: UInt64.self), rows, count)
        } else {
            Self.closeGaps(column.data, rows, count, width: RowGroupLayout.dataByteCount(column.form, 1))
        }
        if let validity = column.validity { Self.removeBits(validity, rows, count) }
        if column.form.isInteger, let aux = column.aux { Self.closeGaps(aux, rows, count, width: 4) }
    }

    /// Calls `body` with the ranges of rows before, between and after the removed rows.
    @inline(__always)
    private static func forEachKept(_ rows: [Int], _ count: Int, _ body: (Range<Int>) -> Void) {
        var start = 0
        for row in rows {
            if row > start { body(start..<row) }
            start = row + 1
        }
        if count > start { body(start..<count) }
    }

    private static func copyKept(
        _ target: UnsafeMutableRawPointer, _ source: UnsafeMutableRawPointer, _ rows: [Int], _ count: Int, width: Int
    ) {
        var target = target
        forEachKept(rows, count) { kept in
            Memory.copy(target, source + kept.lowerBound * width, kept.count * width)
            target += kept.count * width
        }
    }

    /// Closes the gaps left by removed rows, and zeroes the end.
    private static func closeGaps(_ data: UnsafeMutableRawPointer, _ rows: [Int], _ count: Int, width: Int) {
        var target = rows[0]
        for (i, row) in rows.enumerated() {
            let end = i + 1 < rows.count ? rows[i + 1] : count
            let kept = end - row - 1
            Memory.move(data + target * width, data + (row + 1) * width, kept * width)
            target += kept
        }
        Memory.zero(data + target * width, rows.count * width)
    }

    /// Removes the bits of rows, given in ascending order; later bits move down, the end is zeroed. Works on whole
    /// words.
    private static func removeBits(_ words: UnsafeMutablePointer<UInt64>, _ rows: [Int], _ count: Int) {
        if rows.isEmpty { return }
        if rows.count == 1 { return removeBit(words, rows[0], count) }
        let wordCount = (count + 63) >> 6
        var next = 0
        var target = rows[0] >> 6
        // Bits for `target`, and their number.
        var kept: UInt64 = 0
        var filled = 0
        for source in target..<wordCount {
            var bits = words[source]
            let first = next
            while next < rows.count, rows[next] >> 6 == source { next += 1 }
            for row in rows[first..<next].reversed() {
                let low = (UInt64(1) << UInt64(row & 63)) &- 1
                bits = bits & low | bits >> 1 & ~low
            }
            let width = min(64, count - source << 6) - (next - first)
            if width < 64 { bits &= (UInt64(1) << UInt64(width)) &- 1 }
            kept |= bits << UInt64(filled)
            filled += width
            if filled >= 64 {
                words[target] = kept
                target += 1
                filled -= 64
                // The bits that did not fit; 0 if all did.
                kept = filled == 0 ? 0 : bits >> UInt64(width - filled)
            }
        }
        for word in target..<wordCount {
            words[word] = kept
            kept = 0
        }
    }

    /// Removes bit `row` of `count` bits; the later bits move down, the last becomes 0.
    private static func removeBit(_ words: UnsafeMutablePointer<UInt64>, _ row: Int, _ count: Int) {
        let last = (count - 1) >> 6
        var word = row >> 6
        let low = (UInt64(1) << UInt64(row & 63)) &- 1
        words[word] = words[word] & low | words[word] >> 1 & ~low
        while word < last {
            words[word] |= words[word + 1] << 63
            word += 1
            words[word] >>= 1
        }
    }

    // MARK: Stores

    /// Stores an Int in a column without nulls.
    func setInteger(_ column: Int, _ row: Int, _ value: Int64) {
        takeOver(column)
        if view.columns[column].isNarrow {
            if view.columns[column].putNarrow(value, row) { return }
            makeWritable(column)
        }
        view.columns[column].data.storeBytes(of: value, toByteOffset: row &<< 3, as: Int64.self)
    }

    /// Copies a var-bytes value into the group. The caller sets the validity bit.
    package func setBytes(_ column: Int, _ row: Int, _ bytes: UnsafeRawBufferPointer) {
        let address = bytes.isEmpty ? 0 : arena.copy(bytes)
        view.columns[column].data.assumingMemoryBound(to: ByteSlot.self)[row] =
            ByteSlot(length: UInt32(bytes.count), blobFlag: 0, address: address)
    }

    /// Records that the value is stored in block `ref`; `length` as in `BlobRecord`.
    func setBlob(_ column: Int, _ row: Int, _ ref: BlockRef, length: Int) {
        view.columns[column].data.assumingMemoryBound(to: ByteSlot.self)[row] = blobSlot(ref, length: length)
    }

    /// Returns a slot for a value stored in block `ref`.
    func blobSlot(_ ref: BlockRef, length: Int) -> ByteSlot {
        withUnsafeTemporaryAllocation(byteCount: BlobRecord.byteCount, alignment: 8) { record in
            let bytes = record.baseAddress.unsafelyUnwrapped
            ref.write(to: bytes)
            bytes.storeBytes(of: UInt64(length), toByteOffset: 40, as: UInt64.self)
            let address = arena.copy(UnsafeRawBufferPointer(record))
            return ByteSlot(length: UInt32(BlobRecord.byteCount), blobFlag: 1, address: address)
        }
    }

    @inline(__always)
    package func setValid(_ column: Int, _ row: Int, _ isValid: Bool) {
        guard let validity = view.columns[column].validity else { return }
        let bit = UInt64(1) &<< UInt64(row & 63)
        if isValid { validity[row &>> 6] |= bit } else { validity[row &>> 6] &= ~bit }
    }

    /// Appends all rows of `other`, whose keys must all be above the keys here. Merges small neighbours. Throws if the
    /// groups do not fit together, which only damage can cause.
    package func append(rowsOf other: DirtyGroup) throws(EngineError) {
        let (mine, its) = (view.pointee, other.view.pointee)
        guard mine.count + its.count <= FormatLimits.rowsPerGroup,
            mine.count == 0 || its.count == 0 || mine.key(at: mine.count - 1) < its.key(at: 0)
        else { throw corrupted("a table's groups are too large or out of order") }
        other.makeAllWritable(capacity: other.view.pointee.count)
        for row in 0..<other.view.pointee.count {
            let target = append(other.view.pointee.key(at: row))
            for column in 0..<columnCount {
                let from = other.view.columns[column]
                let to = view.columns[column]
                setValid(column, target, !from.isNull(row))
                switch from.form {
                case .bits:
                    let bit = UInt64(1) << UInt64(target & 63)
                    if from.bit(row) { to.data.assumingMemoryBound(to: UInt64.self)[target >> 6] |= bit }
                case .slots:
                    var slot = from.data.assumingMemoryBound(to: ByteSlot.self)[row]
                    if slot.length > 0 { slot.address = arena.copy(from.bytes(row)) }
                    to.data.assumingMemoryBound(to: ByteSlot.self)[target] = slot
                default:
                    let width = RowGroupLayout.dataByteCount(from.form, 1)
                    Memory.copy(to.data + target * width, from.data + row * width, width)
                    if from.form == .int64, let source = from.aux, let aux = to.aux {
                        Memory.copy(aux + target * 4, source + row * 4, 4)
                    }
                }
            }
        }
    }
}

/// Memory for values of one group, in chunks that never move; freed all at once.
struct Arena: ~Copyable {
    private var chunks: [UnsafeMutableRawPointer] = []
    private var next = UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped
    private var left = 0
    private(set) var byteCount = 0

    /// Copies `bytes`; the address is valid while the arena exists.
    @inline(__always)
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let count = bytes.count
        if count > left { addChunk(atLeast: count) }
        let address = next
        address.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: count)
        next += count
        left &-= count
        return UInt64(UInt(bitPattern: address))
    }

    @inline(never)
    private mutating func addChunk(atLeast count: Int) {
        let size = max(count, chunks.isEmpty ? 4096 : 32768)
        next = .allocate(byteCount: size, alignment: 16)
        left = size
        byteCount += size
        chunks.append(next)
    }

    deinit { for chunk in chunks { chunk.deallocate() } }
}

extension ByteSlot {
    /// A slot that refers to a value of a sealed column.
    @inline(__always)
    fileprivate init(of column: ColumnView, _ row: Int) {
        let bytes = column.bytes(row)
        self.init(
            length: UInt32(bytes.count), blobFlag: column.isBlob(row) ? 1 : 0,
            address: UInt64(UInt(bitPattern: bytes.baseAddress)))
    }
}
