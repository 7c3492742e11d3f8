// SPDX-License-Identifier: Apache-2.0
// Turns a changed group back into a block. Its own columns are packed into their narrowest form; untouched columns stay
// in the older block that holds them, unless that would save little.

import RegnumSystem

extension DirtyGroup {
    /// Untouched segments are copied if they total no more than this: keeping another block costs a page.
    private static let copyByteCount = 4096

    /// How one column will be written.
    private struct Plan {
        var descriptor: RowGroupLayout.Descriptor
        /// Set if the bytes of an untouched segment are copied: their current address.
        var copied: UnsafeRawPointer?
        /// Set if the segment stays in an older block: its index in `sources`.
        var kept: Int?
    }

    /// Writes the group into the sealer and frees the blocks it no longer needs. The group must not be used afterwards.
    package func seal(into space: BlockSpace) throws(EngineError) -> BlockRef {
        // Blobs are added before the group that refers to them.
        for column in 0..<columnCount where view.columns[column].form == .slots { moveOutBlobs(column, space) }
        var plans = planColumns()
        let keptSources = try planSources(&plans, space)
        let rows = view.pointee.count
        precondition(rows > 0, "an empty row group is removed, not sealed")
        let keys = planKeys()

        let head =
            RowGroupLayout.headByteCount + plans.count * RowGroupLayout.descriptorByteCount
            + keptSources.count * BlockRef.byteCount
        let keyOffset = (head + 7) & ~7
        var offset = (keyOffset + keys.byteCount + 7) & ~7
        for i in plans.indices where plans[i].kept == nil {
            plans[i].descriptor.source = 0
            plans[i].descriptor.byteOffset = UInt32(offset)
            offset += (Int(plans[i].descriptor.byteCount) + 7) & ~7
            guard offset <= Sealer.blockPageLimit * FormatLimits.pageByteCount else {
                throw .limit(
                    "The values of \(rows) objects that are stored together take more than 256 MiB: split their class "
                        + "into two classes that link to each other.")
            }
        }

        sealedByteCount = offset
        let block = space.sealer.addBlock(.rowGroup, byteCount: offset, rows: rows)
        writeHead(block.bytes, plans: plans, keptCount: keptSources.count, keys: keys, keyOffset: keyOffset)
        for (number, source) in keptSources.enumerated() {
            let at = RowGroupLayout.headByteCount + plans.count * RowGroupLayout.descriptorByteCount
            space.sealer.setRef(sources[source].ref, in: block, at: at + number * BlockRef.byteCount)
        }
        var blobs: [(offset: Int, ref: BlockRef)] = []
        for (column, plan) in plans.enumerated() where plan.kept == nil {
            let target = block.bytes + Int(plan.descriptor.byteOffset)
            if let copied = plan.copied {
                Memory.copy(target, copied, Int(plan.descriptor.byteCount))
                collectBlobs(plan.descriptor, target, rows, &blobs, at: Int(plan.descriptor.byteOffset))
            } else {
                write(column, plan.descriptor, target, &blobs, at: Int(plan.descriptor.byteOffset))
            }
        }
        for blob in blobs { space.sealer.setRef(blob.ref, in: block, at: blob.offset) }
        for (number, source) in sources.enumerated() where !keptSources.contains(number) { space.free(source.ref) }
        return block.ref
    }

    private func writeHead(
        _ block: UnsafeMutableRawPointer, plans: [Plan], keptCount: Int, keys: KeyPlan, keyOffset: Int
    ) {
        let group = view.pointee
        block.storeBytes(of: UInt16(group.count), toByteOffset: 32, as: UInt16.self)
        block.storeBytes(of: keys.form.rawValue, toByteOffset: 34, as: UInt8.self)
        block.storeBytes(of: UInt16(plans.count), toByteOffset: 36, as: UInt16.self)
        block.storeBytes(of: UInt16(keptCount), toByteOffset: 38, as: UInt16.self)
        block.storeBytes(of: group.firstKey, toByteOffset: 40, as: UInt64.self)
        block.storeBytes(of: group.keySpan, toByteOffset: 48, as: UInt64.self)
        block.storeBytes(of: keys.form == .dense ? 0 : UInt32(keyOffset), toByteOffset: 56, as: UInt32.self)
        for (i, plan) in plans.enumerated() {
            plan.descriptor.write(to: block + RowGroupLayout.headByteCount + i * RowGroupLayout.descriptorByteCount)
        }
        writeKeys(keys, to: block + keyOffset)
    }

    // MARK: Keys

    private struct KeyPlan {
        var form: KeyForm
        var byteCount: Int
    }

    private func planKeys() -> KeyPlan {
        let group = view.pointee
        if group.keySpan == UInt64(group.count) { return KeyPlan(form: .dense, byteCount: 0) }
        let sorted = group.count * 8
        if group.keySpan <= 65536 {
            let words = Int((group.keySpan + 63) / 64)
            if words * 10 <= sorted { return KeyPlan(form: .bitmap, byteCount: words * 10) }
        }
        return KeyPlan(form: .sorted, byteCount: sorted)
    }

    private func writeKeys(_ plan: KeyPlan, to target: UnsafeMutableRawPointer) {
        let group = view.pointee
        switch plan.form {
        case .dense: return
        case .sorted:
            for row in 0..<group.count {
                target.storeBytes(of: group.key(at: row), toByteOffset: row * 8, as: UInt64.self)
            }
        case .bitmap:
            let words = Int((group.keySpan + 63) / 64)
            let bits = target.assumingMemoryBound(to: UInt64.self)
            for row in 0..<group.count {
                let distance = group.key(at: row) - group.firstKey
                bits[Int(distance >> 6)] |= 1 << (distance & 63)
            }
            var rank = 0
            for word in 0..<words {
                target.storeBytes(of: UInt16(rank), toByteOffset: words * 8 + word * 2, as: UInt16.self)
                rank += bits[word].nonzeroBitCount
            }
        }
    }

    // MARK: Deciding

    private func planColumns() -> [Plan] {
        let rows = view.pointee.count
        return (0..<columnCount).map { column in
            let key = columns.columns[column].key
            let v = view.columns[column]
            if isOwn(column) { return Plan(descriptor: plan(column, v, rows)) }
            guard var d = segments[column] else {
                var d = RowGroupLayout.Descriptor(form: v.form, flags: RowGroupLayout.Flags.zeros, columnKey: key)
                if v.validity != nil {
                    d.flags |= RowGroupLayout.Flags.validity
                    d.byteCount = UInt32((rows + 63) / 64 * 8)
                }
                return Plan(descriptor: d, copied: v.validity.map { UnsafeRawPointer($0) })
            }
            let source = Int(d.source)
            let bytes = sources[source].bytes + Int(d.byteOffset)
            d.columnKey = key
            return Plan(descriptor: d, copied: bytes, kept: source)
        }
    }

    /// Chooses the older blocks that stay in use. Sets `kept` of the plans to numbers of external blocks, or to nil if
    /// the segment is copied.
    private func planSources(_ plans: inout [Plan], _ space: BlockSpace) throws(EngineError) -> [Int] {
        // If no segment stays in place, as after rows were added or removed, no older block stays in use.
        guard plans.contains(where: { $0.kept != nil }) else { return [] }
        var used = [Int](repeating: 0, count: sources.count)
        for plan in plans { if let kept = plan.kept { used[kept] += Int(plan.descriptor.byteCount) } }
        // In a damaged group many columns may name the same bytes: the result would be longer than any block.
        for (source, byteCount) in zip(sources, used) where byteCount > space.byteCount(source.ref) {
            throw corrupted("the columns of a row group overlap", page: source.ref.isPending ? nil : source.ref.page)
        }
        let live = used.reduce(0, +)
        let held = sources.indices.reduce(0) { $0 + (used[$1] > 0 ? space.byteCount(sources[$1].ref) : 0) }
        // Copy everything if little is outside, or if more than half of the bytes held outside are dead.
        var keeps = [Bool](repeating: live > Self.copyByteCount && held <= 2 * live + 8192, count: sources.count)
        for s in sources.indices where used[s] <= Self.copyByteCount { keeps[s] = false }
        var numbers: [Int: Int] = [:]
        var kept: [Int] = []
        for s in sources.indices where keeps[s] && kept.count < RowGroupLayout.externalLimit {
            kept.append(s)
            numbers[s] = kept.count
        }
        for i in plans.indices {
            guard let source = plans[i].kept else { continue }
            if let number = numbers[source] {
                plans[i].descriptor.source = UInt32(number)
            } else {
                plans[i].kept = nil
            }
        }
        return kept
    }

    private func plan(_ column: Int, _ v: ColumnView, _ rows: Int) -> RowGroupLayout.Descriptor {
        let stored = columns.columns[column]
        var d = RowGroupLayout.Descriptor(form: v.form, flags: 0, columnKey: stored.key)
        if v.validity != nil, hasNulls(v, rows) { d.flags |= RowGroupLayout.Flags.validity }
        var tail = 0
        switch v.form {
        case .uint8, .uint16, .uint32, .int64:
            tail = planIntegers(&d, v, rows, isDate: stored.type == .date, wantsZone: stored.type != .link)
        case .slots: tail = planBytes(&d, v, rows)
        case .float64, .float32: planFloats(&d, v, rows)
        default:
            if Memory.isZero(v.data, RowGroupLayout.dataByteCount(v.form, rows)) {
                d.flags |= RowGroupLayout.Flags.zeros
            }
        }
        d.byteCount = UInt32(RowGroupLayout.parts(d.form, d.flags, rows: rows).heap + tail)
        return d
    }

    private func hasNulls(_ v: ColumnView, _ rows: Int) -> Bool {
        guard let validity = v.validity else { return false }
        var valid = 0
        for word in 0..<((rows + 63) / 64) { valid += validity[word].nonzeroBitCount }
        return valid < rows
    }

    /// Chooses the width; returns the number of bytes after the data (nanoseconds of dates).
    private func planIntegers(
        _ d: inout RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int, isDate: Bool, wantsZone: Bool
    ) -> Int {
        let hasNulls = d.has(RowGroupLayout.Flags.validity)
        let bounds =
            switch v.form {
            case .uint8: Self.bounds(v, rows, hasNulls: hasNulls, UInt8.self)
            case .uint16: Self.bounds(v, rows, hasNulls: hasNulls, UInt16.self)
            case .uint32: Self.bounds(v, rows, hasNulls: hasNulls, UInt32.self)
            default: Self.bounds(v, rows, hasNulls: hasNulls, Int64.self)
            }
        let (low, high) = bounds ?? (0, 0)
        if bounds != nil, wantsZone {
            d.flags |= RowGroupLayout.Flags.zone
            (d.zoneMin, d.zoneMax) = (low, high)
        }
        let span = UInt64(bitPattern: high &- low)
        d.form =
            span == 0
            ? .constant : span <= 0xff ? .uint8 : span <= 0xffff ? .uint16 : span <= 0xffff_ffff ? .uint32 : .int64
        d.base = d.form == .int64 ? 0 : low
        guard isDate, let aux = v.aux, !Memory.isZero(aux, rows * 4) else { return 0 }
        d.flags |= RowGroupLayout.Flags.nanoseconds
        return rows * 4
    }

    /// The smallest and the largest non-null integer of a column in its own memory.
    @inline(__always)
    private static func bounds<T: FixedWidthInteger>(
        _ v: ColumnView, _ rows: Int, hasNulls: Bool, _ type: T.Type
    ) -> (low: Int64, high: Int64)? {
        let values = v.data.assumingMemoryBound(to: T.self)
        var (low, high) = (T.max, T.min)
        if hasNulls {
            for row in 0..<rows where !v.isNull(row) {
                low = min(low, values[row])
                high = max(high, values[row])
            }
        } else {
            for row in 0..<rows {
                low = min(low, values[row])
                high = max(high, values[row])
            }
        }
        if low > high { return nil }
        return (v.base &+ Int64(truncatingIfNeeded: low), v.base &+ Int64(truncatingIfNeeded: high))
    }

    private func planFloats(_ d: inout RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int) {
        if Memory.isZero(v.data, RowGroupLayout.dataByteCount(v.form, rows)) { d.flags |= RowGroupLayout.Flags.zeros }
        var low = Double.infinity
        var high = -Double.infinity
        var hasNaN = false
        for row in 0..<rows where !v.isNull(row) {
            let value = v.form == .float64 ? v.double(row) : Double(v.float(row))
            if value.isNaN { hasNaN = true }
            low = value < low ? value : low
            high = value > high ? value : high
        }
        // NaN orders below everything: a zone without it would skip rows that match.
        guard !hasNaN, low <= high else { return }
        d.flags |= RowGroupLayout.Flags.zone
        d.zoneMin = Int64(bitPattern: low.bitPattern)
        d.zoneMax = Int64(bitPattern: high.bitPattern)
    }

    /// Returns the byte count of the heap.
    private func planBytes(_ d: inout RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int) -> Int {
        let slots = v.data.assumingMemoryBound(to: ByteSlot.self)
        var heap = 0
        for row in 0..<rows {
            let length = Int(slots[row].length)
            if slots[row].blobFlag != 0 {
                d.flags |= RowGroupLayout.Flags.blobs
                heap &+= BlobRecord.byteCount
            } else {
                heap &+= length
            }
        }
        d.form = heap <= 0xffff ? .text16 : .text32
        if heap == 0 { d.flags |= RowGroupLayout.Flags.zeros }
        return heap
    }

    // MARK: Writing

    private func write(
        _ column: Int, _ d: RowGroupLayout.Descriptor, _ target: UnsafeMutableRawPointer,
        _ blobs: inout [(offset: Int, ref: BlockRef)], at base: Int
    ) {
        let v = view.columns[column]
        let rows = view.pointee.count
        let parts = RowGroupLayout.parts(d.form, d.flags, rows: rows)
        if d.has(RowGroupLayout.Flags.validity), let validity = v.validity {
            let words = (rows + 63) / 64
            Memory.copy(target, UnsafeRawPointer(validity), words * 8)
        }
        if v.form == .slots {
            writeBytes(d, v, rows, target, parts, &blobs, at: base)
            return
        }
        if !d.has(RowGroupLayout.Flags.zeros) {
            if v.form.isInteger {
                writeIntegers(d, v, rows, target + parts.data)
            } else {
                Memory.copy(target + parts.data, v.data, RowGroupLayout.dataByteCount(v.form, rows))
            }
        }
        if d.has(RowGroupLayout.Flags.nanoseconds), let aux = v.aux { Memory.copy(target + parts.heap, aux, rows * 4) }
    }

    private func writeIntegers(
        _ d: RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int, _ target: UnsafeMutableRawPointer
    ) {
        if d.form == v.form, d.base == v.base {
            return Memory.copy(target, v.data, RowGroupLayout.dataByteCount(v.form, rows))
        }
        switch v.form {
        case .uint8: writeIntegers(d, v, rows, target, UInt8.self)
        case .uint16: writeIntegers(d, v, rows, target, UInt16.self)
        case .uint32: writeIntegers(d, v, rows, target, UInt32.self)
        default: writeIntegers(d, v, rows, target, Int64.self)
        }
    }

    /// Converts integers of type `From` relative to the base of `v` to the form of `d`, which is narrower or has
    /// another base.
    @inline(__always)
    private func writeIntegers<From: FixedWidthInteger>(
        _ d: RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int, _ target: UnsafeMutableRawPointer,
        _ type: From.Type
    ) {
        let values = v.data.assumingMemoryBound(to: From.self)
        let shift = v.base &- d.base
        // The content of null rows is undefined: truncation keeps it within the width.
        switch d.form {
        case .uint8: Self.move(values, rows, shift, to: target.assumingMemoryBound(to: UInt8.self))
        case .uint16: Self.move(values, rows, shift, to: target.assumingMemoryBound(to: UInt16.self))
        case .uint32: Self.move(values, rows, shift, to: target.assumingMemoryBound(to: UInt32.self))
        case .int64: Self.move(values, rows, shift, to: target.assumingMemoryBound(to: Int64.self))
        default: break
        }
    }

    @inline(__always)
    private static func move<From: FixedWidthInteger, To: FixedWidthInteger>(
        _ values: UnsafeMutablePointer<From>, _ rows: Int, _ shift: Int64, to out: UnsafeMutablePointer<To>
    ) {
        for row in 0..<rows {
            out[row] = To(truncatingIfNeeded: Int64(truncatingIfNeeded: values[row]) &+ shift)
        }
    }

    private func writeBytes(
        _ d: RowGroupLayout.Descriptor, _ v: ColumnView, _ rows: Int, _ target: UnsafeMutableRawPointer,
        _ parts: RowGroupLayout.Parts, _ blobs: inout [(offset: Int, ref: BlockRef)], at base: Int
    ) {
        if d.has(RowGroupLayout.Flags.zeros) { return }
        let slots = v.data.assumingMemoryBound(to: ByteSlot.self)
        let narrow = d.form == .text16
        var end = 0
        for row in 0..<rows {
            let slot = slots[row]
            let length = Int(slot.length)
            if slot.blobFlag != 0 {
                let record = UnsafeRawPointer(bitPattern: UInt(slot.address)).unsafelyUnwrapped
                (target + parts.heap + end).copyMemory(from: record, byteCount: BlobRecord.byteCount)
                blobs.append((base + parts.heap + end, BlockRef(reading: record)))
                let word = target + parts.blobs + (row >> 6) * 8
                word.storeBytes(of: word.load(as: UInt64.self) | 1 << UInt64(row & 63), as: UInt64.self)
                end &+= BlobRecord.byteCount
            } else if length > 0 {
                (target + parts.heap + end).copyMemory(
                    from: UnsafeRawPointer(bitPattern: UInt(slot.address)).unsafelyUnwrapped, byteCount: length)
                end &+= length
            }
            if narrow {
                (target + parts.data).storeBytes(
                    of: UInt16(truncatingIfNeeded: end), toByteOffset: row &* 2, as: UInt16.self)
            } else {
                (target + parts.data).storeBytes(
                    of: UInt32(truncatingIfNeeded: end), toByteOffset: row &* 4, as: UInt32.self)
            }
        }
    }

    /// Moves each new long value into a block of its own, and leaves a blob record in its slot.
    private func moveOutBlobs(_ column: Int, _ space: BlockSpace) {
        let slots = view.columns[column].data.assumingMemoryBound(to: ByteSlot.self)
        for row in 0..<view.pointee.count
        where slots[row].blobFlag == 0 && slots[row].length > FormatLimits.inlineValueByteCount {
            let length = Int(slots[row].length)
            let block = space.sealer.addBlock(.blob, byteCount: BlobRecord.valueOffset + length)
            block.bytes.storeBytes(of: UInt64(length), toByteOffset: 32, as: UInt64.self)
            Memory.copy(
                block.bytes + BlobRecord.valueOffset,
                UnsafeRawPointer(bitPattern: UInt(slots[row].address)).unsafelyUnwrapped, length)
            slots[row] = blobSlot(block.ref, length: length)
        }
    }

    /// Collects the blob records in a copied segment; their refs must be set again because they may be pending.
    private func collectBlobs(
        _ d: RowGroupLayout.Descriptor, _ target: UnsafeMutableRawPointer, _ rows: Int,
        _ blobs: inout [(offset: Int, ref: BlockRef)], at base: Int
    ) {
        guard d.has(RowGroupLayout.Flags.blobs) else { return }
        let v = GroupHandle.view(atSegment: d, rows: rows, target)
        for row in 0..<rows where v.isBlob(row) {
            guard let start = v.bytes(row).baseAddress else { continue }
            blobs.append((base + (start - UnsafeRawPointer(target)), BlockRef(reading: start)))
        }
    }
}

extension GroupHandle {
    /// Like `view`, with the address of the segment itself.
    static func view(
        atSegment d: RowGroupLayout.Descriptor, rows: Int, _ segment: UnsafeMutableRawPointer
    ) -> ColumnView {
        var moved = d
        moved.byteOffset = 0
        return view(moved, rows: rows, UnsafeRawPointer(segment))
    }
}
