// SPDX-License-Identifier: Apache-2.0
// Collects the blocks that a transaction will write, before they have page numbers. Blocks are added children first; if
// a block holds a ref to another pending block, `setRef` records its byte offset. `place` assigns page numbers, then
// fills in headers and refs and computes tags in the order of adding, so that each child is finished before its parent.
//
// The bytes lie in one reserved buffer in the order of adding, so a commit is normally one contiguous write. A large
// transaction spills the blocks that it has so far before it commits (`Spilling.swift`): those blocks have their pages,
// and the file is mapped at their addresses, so that pointers into them stay valid. `place` and everything later then
// applies to the blocks added after them. Confined to the write transaction.

import RegnumSystem

/// A new block: its number and its bytes, including the header (32 bytes, filled in later), zeroed.
package struct SealedBlock {
    package let index: Int
    package let bytes: UnsafeMutableRawPointer
    /// Its ref until `place` assigns it pages.
    package let ref: BlockRef
}

package final class Sealer {
    private struct Entry {
        var byteOffset: Int
        var info: UInt64
        var pageCount: Int
        var isDropped: Bool
        var placed: BlockRef
        var isRowGroup: Bool { UInt8(truncatingIfNeeded: info >> 56) == BlockKind.rowGroup.rawValue }
        var extent: Extent { Extent(page: placed.page, pageCount: pageCount) }
    }

    /// A byte offset in the buffer, in the block `owner`, that holds a ref to `child`.
    private struct Fixup {
        var byteOffset: Int
        var child: Int
        var owner: Int
    }

    /// A part of the buffer that is replaced by a mapping of the file.
    private struct Shown {
        var bytes: Range<Int>
        /// The page of the file after the part.
        var endPage: UInt64
    }

    /// The maximum number of pages of one block.
    package static let blockPageLimit = 65536
    /// Bytes of address space, reserved so that pointers into it stay valid while the transaction lasts.
    package static let reservation = 1 << 36
    private let reserved: Int
    /// Bytes of memory that the session keeps between transactions.
    private static let keptByteCount = 4 << 20
    /// Created with the first block: sessions that only read need none.
    @exclusivity(unchecked) private var memory: ReservedMemory?
    @exclusivity(unchecked) private var buffer = ZeroBytes.base
    @exclusivity(unchecked) private var used = 0
    /// The same blocks encrypted, at the same offsets; created by `place` for encrypted files.
    @exclusivity(unchecked) private var sealedMemory: ReservedMemory?
    @exclusivity(unchecked) private var isEncrypted = false
    /// Bytes from the start that earlier transactions may have written to.
    @exclusivity(unchecked) private var touched = 0
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var fixups: [Fixup] = []
    /// Blocks before this number, and bytes before `spilledByteCount`, are in the file.
    @exclusivity(unchecked) private var spilledCount = 0
    @exclusivity(unchecked) private var spilledByteCount = 0
    @exclusivity(unchecked) private var shown: [Shown] = []
    /// Spilled blocks that were dropped since.
    @exclusivity(unchecked) private var droppedInFile: [Int] = []
    /// Blocks before this number belong to the state that a savepoint may restore: they are dropped when it ends.
    @exclusivity(unchecked) private var protectedCount = 0
    /// Protected blocks that the transaction no longer needs.
    @exclusivity(unchecked) private var waitingDrops: [Int] = []

    /// `reserving`: bytes of address space for the blocks; if there is less, down to a 256th of that is accepted.
    package init(reserving byteCount: Int = Sealer.reservation) { reserved = byteCount }

    /// Bytes that are not in the file yet.
    package var heldByteCount: Int { used - spilledByteCount }

    /// True if less than a quarter of the room would be left after `byteCount` more bytes: further changes are then
    /// refused. The room is the reservation, or what the system still grants if address space is scarce.
    package func isNearlyFull(with byteCount: Int) -> Bool {
        let needed = used + byteCount
        return needed > capacity / 4 * 3 || (try? ensure(needed + needed / 3)) == nil
    }

    /// True if the system did not grant all address space at once: the buffers then grow as far as it grants more.
    package var isScarce: Bool { memory.map { $0.present < $0.byteCount } ?? false }

    /// Ensures that both buffers have at least `byteCount` bytes.
    private func ensure(_ byteCount: Int) throws(SystemError) {
        try memory?.ensure(byteCount)
        try sealedMemory?.ensure(byteCount)
    }

    /// Creates the buffer, and that of the encrypted blocks, or throws if there is no address space. Without this call
    /// they are created when first needed, and a failure traps.
    func reserve(encrypting: Bool) throws(EngineError) {
        do throws(SystemError) {
            try makeBuffers(encrypting: encrypting)
            // Reserves the memory that a small transaction needs before it begins.
            try ensure(min(capacity, Self.keptByteCount))
        } catch { throw .system(error) }
    }

    /// Creates both buffers with the same length: if there is room for one large buffer but not for two, two smaller
    /// ones are created.
    private func makeBuffers(encrypting: Bool) throws(SystemError) {
        if let memory {
            if encrypting, sealedMemory == nil { sealedMemory = try makeReserved(memory.byteCount) }
            return
        }
        var byteCount = reserved
        while true {
            let made = try makeReserved(byteCount, minimum: min(byteCount, reserved / 256))
            do throws(SystemError) {
                if encrypting { sealedMemory = try makeReserved(made.byteCount) }
                memory = made
                buffer = made.base
                return
            } catch {
                byteCount = made.byteCount / 4
                if byteCount < reserved / 256 { throw error }
            }
        }
    }

    /// Only large transactions get large pages.
    private func makeReserved(_ byteCount: Int, minimum: Int? = nil) throws(SystemError) -> ReservedMemory {
        try ReservedMemory(byteCount: byteCount, minimum: minimum, smallByteCount: Self.keptByteCount)
    }

    /// Bytes that the buffer can hold; creates the buffer.
    private var capacity: Int {
        if let memory { return memory.byteCount }
        do {
            try makeBuffers(encrypting: false)
        } catch {
            fatalError("no address space for a write transaction: \(error)")
        }
        return memory?.byteCount ?? 0
    }

    /// Adds a block of `byteCount` bytes, including its header, rounded up to pages.
    package func addBlock(_ kind: BlockKind, byteCount: Int, rows: Int = 0, aux: UInt32 = 0) -> SealedBlock {
        let pages = (byteCount + FormatLimits.pageByteCount - 1) / FormatLimits.pageByteCount
        precondition(pages > 0 && pages <= Self.blockPageLimit, "a block of \(byteCount) bytes")
        let capacity = capacity
        let bytes = buffer + used
        let info = BlockRef.info(kind, rows: rows, aux: aux)
        let index = entries.count
        entries.append(Entry(byteOffset: used, info: info, pageCount: pages, isDropped: false, placed: .none))
        let end = used + pages * FormatLimits.pageByteCount
        precondition(end <= capacity, "a transaction of more than \(capacity) bytes")
        do { try ensure(end) } catch { fatalError("no address space for a write transaction: \(error)") }
        if used < touched { Memory.zero(bytes, min(end, touched) - used) }
        used = end
        return SealedBlock(index: index, bytes: bytes, ref: BlockRef(pending: index, info: info))
    }

    /// Writes `ref` at `byteOffset` of `block`; `place` completes a pending one.
    package func setRef(_ ref: BlockRef, in block: SealedBlock, at byteOffset: Int) {
        ref.write(to: block.bytes + byteOffset)
        if ref.isPending {
            fixups.append(
                Fixup(
                    byteOffset: entries[block.index].byteOffset + byteOffset, child: ref.pendingIndex,
                    owner: block.index))
        }
    }

    /// The bytes of a pending block.
    package func bytes(_ ref: BlockRef) -> UnsafeMutableRawPointer { buffer + entries[ref.pendingIndex].byteOffset }

    /// The byte count of a pending block.
    package func byteCount(_ ref: BlockRef) -> Int {
        entries[ref.pendingIndex].pageCount * FormatLimits.pageByteCount
    }

    /// Like `bytes`, for a ref that may come from a damaged file.
    package func checkedBytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        guard ref.pendingIndex < entries.count else {
            throw corrupted("a reference on disk says that its block is pending")
        }
        return UnsafeRawPointer(bytes(ref))
    }

    /// Discards a pending block that was changed again or deleted.
    package func drop(_ ref: BlockRef) { drop(ref.pendingIndex) }

    /// Discards the blocks from `index` on; no block before it may refer to them.
    func dropAll(from index: Int) { for i in index..<entries.count { drop(i) } }

    private func drop(_ index: Int) {
        if index < protectedCount { return waitingDrops.append(index) }
        if index < spilledCount, !entries[index].isDropped { droppedInFile.append(index) }
        entries[index].isDropped = true
    }

    package func isDropped(_ ref: BlockRef) -> Bool { entries[ref.pendingIndex].isDropped }

    /// Blocks that are still to be written.
    private var held: ArraySlice<Entry> { entries[spilledCount...] }
    /// The page counts of the live blocks that are not in the file, in the order in which they will be written.
    package var pageCounts: [Int] { pageCounts(from: spilledCount) }
    /// The page counts of the live blocks from number `first` on.
    func pageCounts(from first: Int) -> [Int] { entries[first...].lazy.filter { !$0.isDropped }.map(\.pageCount) }
    package var livePages: Int { held.reduce(0) { $0 + ($1.isDropped ? 0 : $1.pageCount) } }
    /// The number of pages of the largest row group that is not in the file.
    var largestGroupPages: Int { held.reduce(0) { $1.isRowGroup && !$1.isDropped ? max($0, $1.pageCount) : $0 } }
    package var isEmpty: Bool { entries.isEmpty }
    package var blockCount: Int { entries.count }

    /// Assigns `pages` to the live blocks that are not in the file (one start page per live block, in order), and
    /// completes headers, refs and tags. From then on `placed(_:)` returns their final refs.
    package func place(at pages: [UInt64], birth: UInt64, nonce: UInt64, protection: FileProtection?) {
        var next = 0
        var fixup = 0
        let sealed = protection?.cipher == nil ? nil : makeSealedMemory().base
        isEncrypted = sealed != nil
        fixups.sort { $0.owner < $1.owner }
        for i in held.indices where !entries[i].isDropped {
            let bytes = buffer + entries[i].byteOffset
            while fixup < fixups.count, fixups[fixup].owner < i { fixup += 1 }
            while fixup < fixups.count, fixups[fixup].owner == i {
                let child = entries[fixups[fixup].child].placed
                // A group that was changed again is still used for its unchanged columns; its refs for the others are
                // never read.
                precondition(
                    !child.isNone || entries[fixups[fixup].child].isDropped && entries[i].isRowGroup,
                    "a block refers to one that was dropped or comes later")
                child.write(to: buffer + fixups[fixup].byteOffset)
                fixup += 1
            }
            let page = pages[next]
            next += 1
            BlockHeader.write(
                to: bytes, kind: UInt8(truncatingIfNeeded: entries[i].info >> 56), pageCount: entries[i].pageCount,
                page: page, birth: birth, nonce: nonce)
            var ref = BlockRef(
                location: page << 16 | UInt64(entries[i].pageCount - 1), birth: birth, tagLow: 0, tagHigh: 0,
                info: entries[i].info)
            if let sealed, let cipher = protection?.cipher {
                let tag = cipher.seal(bytes, ref, to: sealed + entries[i].byteOffset)
                (ref.tagLow, ref.tagHigh) = (tag.low, tag.high)
            } else if let tag = protection?.hash.tag(bytes, ref.byteCount) {
                (ref.tagLow, ref.tagHigh) = (tag.low, tag.high)
            }
            entries[i].placed = ref
        }
    }

    private func makeSealedMemory() -> ReservedMemory {
        if let sealedMemory { return sealedMemory }
        do {
            let made = try makeReserved(capacity)
            try made.ensure(used)
            sealedMemory = made
            return made
        } catch {
            fatalError("no address space for a write transaction: \(error)")
        }
    }

    /// The final ref of a block; a ref that is not pending is returned as it is.
    package func placed(_ ref: BlockRef) -> BlockRef { ref.isPending ? entries[ref.pendingIndex].placed : ref }

    /// Calls `body` with the final ref and the bytes of each live block, in order.
    package func forEachPlaced(_ body: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void) throws(EngineError) {
        for entry in entries where !entry.isDropped {
            try body(entry.placed, UnsafeRawPointer(buffer + entry.byteOffset))
        }
    }

    /// Like `forEachPlaced`, for blocks that are not in the file, with the bytes to write: encrypted if the file is.
    package func forEachSealed(_ body: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void) throws(EngineError) {
        let start = isEncrypted ? UnsafeRawPointer(sealedMemory?.base ?? buffer) : UnsafeRawPointer(buffer)
        for entry in held where !entry.isDropped { try body(entry.placed, start + entry.byteOffset) }
    }

    // MARK: Ahead of the commit

    /// Records that the blocks placed last are in `file`, which is mapped in place of the buffer's bytes from now on.
    /// Dropped blocks that never got pages become zeros unless `isRead`, that is, another session may read them.
    func noteSpilled(to file: any File, isRead: Bool = false) {
        if !isRead { discardDropped() }
        var run: (bytes: Range<Int>, page: UInt64)?
        for entry in held where !entry.isDropped {
            let end = entry.byteOffset + entry.pageCount * FormatLimits.pageByteCount
            if let (bytes, page) = run, bytes.upperBound == entry.byteOffset,
                page + UInt64(bytes.count / FormatLimits.pageByteCount) == entry.placed.page
            {
                run = (bytes.lowerBound..<end, page)
            } else {
                if let run { show(file, run.bytes, run.page) }
                run = (entry.byteOffset..<end, entry.placed.page)
            }
        }
        if let run { show(file, run.bytes, run.page) }
        spilledCount = entries.count
        spilledByteCount = used
        fixups.removeAll(keepingCapacity: true)
    }

    /// Returns the memory of dropped blocks that are not in the file to the system. A transaction with many savepoints
    /// drops most of its blocks before they are spilled.
    private func discardDropped() {
        var run = 0..<0
        for entry in held where entry.isDropped {
            let end = entry.byteOffset + entry.pageCount * FormatLimits.pageByteCount
            if run.upperBound == entry.byteOffset {
                run = run.lowerBound..<end
            } else {
                memory?.discard(run)
                run = entry.byteOffset..<end
            }
        }
        memory?.discard(run)
    }

    /// The maximum number of mappings of the file: a process may have about 65,000 on Linux, and needs some for other
    /// things. Blocks in further runs stay in memory.
    private static let shownLimit = 8192

    private func show(_ file: any File, _ range: Range<Int>, _ page: UInt64) {
        // The system merges it with the previous mapping.
        let isNext = shown.last.map { $0.bytes.upperBound == range.lowerBound && $0.endPage == page } ?? false
        guard isNext || shown.count < Self.shownLimit, memory?.show(file, at: Int(page) << 12, over: range) ?? false
        else { return }
        let start = isNext ? shown.removeLast().bytes.lowerBound : range.lowerBound
        shown.append(Shown(bytes: start..<range.upperBound, endPage: page + UInt64(range.count >> 12)))
    }

    /// Records that the blocks placed last did not reach the file.
    func unplace() {
        for i in held.indices { entries[i].placed = .none }
        for fixup in fixups where fixup.child >= spilledCount {
            BlockRef(pending: fixup.child, info: entries[fixup.child].info).write(to: buffer + fixup.byteOffset)
        }
    }

    /// Bytes of the buffer that are mappings of the file.
    var shownByteCount: Int { shown.reduce(0) { $0 + $1.bytes.count } }

    /// The extents of spilled blocks that are live.
    var spilledExtents: [Extent] { entries[..<spilledCount].lazy.filter { !$0.isDropped }.map(\.extent) }

    /// Returns the extents of spilled blocks dropped since the last call; those blocks no longer have pages.
    func takeDroppedExtents() -> [Extent] {
        defer { droppedInFile.removeAll(keepingCapacity: true) }
        return droppedInFile.map { index in
            defer { entries[index].placed = .none }
            return entries[index].extent
        }
    }

    // MARK: Savepoints

    /// The blocks at the start of a savepoint.
    struct Mark {
        fileprivate var count: Int
        fileprivate var used: Int
        fileprivate var protectedCount: Int
        fileprivate var waitingCount: Int
    }

    /// Protects the blocks added so far: until the savepoint ends, they are not dropped.
    func protect() -> Mark {
        defer { protectedCount = entries.count }
        return Mark(
            count: entries.count, used: used, protectedCount: protectedCount, waitingCount: waitingDrops.count)
    }

    /// Ends a savepoint, and every later one, whose changes stay. O(blocks dropped since).
    func release(_ mark: Mark) {
        let waiting = waitingDrops[mark.waitingCount...]
        waitingDrops.removeLast(waiting.count)
        protectedCount = mark.protectedCount
        // Those that an outer savepoint protects wait again.
        for index in waiting { drop(index) }
    }

    /// Ends a savepoint, and every later one, and discards the blocks added since, whose memory is used again unless
    /// they were spilled, or `isRead`, that is, another session may read them. O(blocks added since).
    func restore(_ mark: Mark, isRead: Bool) {
        waitingDrops.removeLast(waitingDrops.count - mark.waitingCount)
        protectedCount = mark.protectedCount
        guard spilledCount <= mark.count, !isRead else { return dropAll(from: mark.count) }
        while let last = fixups.last, last.owner >= mark.count { fixups.removeLast() }
        entries.removeLast(entries.count - mark.count)
        touched = max(touched, used)
        used = mark.used
    }

    /// Discards all blocks. Returns the buffer's memory to the system if more than `keptByteCount` bytes were touched.
    package func reset() {
        if isEncrypted { sealedMemory?.discard(0..<used) }
        isEncrypted = false
        for part in shown { memory?.renew(part.bytes) }
        shown.removeAll()
        droppedInFile.removeAll(keepingCapacity: true)
        waitingDrops.removeAll(keepingCapacity: true)
        protectedCount = 0
        spilledCount = 0
        spilledByteCount = 0
        touched = max(touched, used)
        if touched > Self.keptByteCount {
            memory?.discard(0..<touched)
            touched = 0
        }
        used = 0
        entries.removeAll(keepingCapacity: true)
        fixups.removeAll(keepingCapacity: true)
    }
}
