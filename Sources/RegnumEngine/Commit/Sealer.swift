// SPDX-License-Identifier: Apache-2.0
// Collects the blocks that a transaction will write, before they have page numbers. Blocks are added children
// first; where a block holds a ref to another pending block, `setRef` remembers the place. `place` gives page
// numbers, then fills headers and refs and computes tags in the order of adding, so each child is finished
// before its parent.
//
// The bytes lie in one reserved buffer in the order of adding, so a commit is normally one contiguous write.
// A large transaction writes what it has so far ahead of its commit (`Spilling.swift`): those blocks have their pages,
// and the file's bytes stand at their addresses, so that pointers into them stay good. `place` and what follows go on
// behind them.
// Confined to the write transaction.

import RegnumSystem

/// A block being made: its number and its bytes, header (32 bytes, filled in later) included, zeroed.
package struct SealedBlock {
    package let index: Int
    package let bytes: UnsafeMutableRawPointer
    /// Its ref until it is placed.
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

    /// A place in the bytes of `owner` that holds a ref to `child`.
    private struct Fixup {
        var byteOffset: Int
        var child: Int
        var owner: Int
    }

    /// A part of the buffer where the file stands.
    private struct Shown {
        var bytes: Range<Int>
        /// Of the file, behind it.
        var endPage: UInt64
    }

    /// Pages of one block.
    package static let blockPageLimit = 65536
    /// Address space, so that pointers into it stay good while the transaction lasts.
    package static let reservation = 1 << 36
    private let reserved: Int
    /// Memory that stays with the session between transactions.
    private static let keptByteCount = 4 << 20
    /// Made at the first block: sessions that only read need none.
    @exclusivity(unchecked) private var memory: ReservedMemory?
    @exclusivity(unchecked) private var buffer = ZeroBytes.base
    @exclusivity(unchecked) private var used = 0
    /// The same blocks encrypted, at the same offsets; made by `place` for files that are.
    @exclusivity(unchecked) private var sealedMemory: ReservedMemory?
    @exclusivity(unchecked) private var isEncrypted = false
    /// Bytes from the start that earlier transactions may have written to.
    @exclusivity(unchecked) private var touched = 0
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var fixups: [Fixup] = []
    /// Blocks before this one, and the bytes before `spilledByteCount`, are in the file.
    @exclusivity(unchecked) private var spilledCount = 0
    @exclusivity(unchecked) private var spilledByteCount = 0
    @exclusivity(unchecked) private var shown: [Shown] = []
    /// Blocks in the file that were dropped since.
    @exclusivity(unchecked) private var droppedInFile: [Int] = []

    /// `reserving`: address space for its blocks, or a 256th of that where there is no more.
    package init(reserving byteCount: Int = Sealer.reservation) { reserved = byteCount }

    /// Bytes that are not in the file yet.
    package var heldByteCount: Int { used - spilledByteCount }

    /// True where a quarter of the room is left once `byteCount` more have come: time to refuse more. Where the system
    /// gives little address space there is as much room as it gives.
    package func isNearlyFull(with byteCount: Int) -> Bool {
        let needed = used + byteCount
        return needed > capacity / 4 * 3 || (try? ensure(needed + needed / 3)) == nil
    }

    /// True where the buffers grow as far as the system gives address space.
    package var isScarce: Bool { memory.map { $0.present < $0.byteCount } ?? false }

    /// Both buffers have so many bytes.
    private func ensure(_ byteCount: Int) throws(SystemError) {
        try memory?.ensure(byteCount)
        try sealedMemory?.ensure(byteCount)
    }

    /// Makes the buffer, and that of the encrypted blocks. Without it they are made where they are first needed, and
    /// nothing can be thrown.
    func reserve(encrypting: Bool) throws(EngineError) {
        do throws(SystemError) {
            try makeBuffers(encrypting: encrypting)
            // What a small transaction needs is there before it begins.
            try ensure(min(capacity, Self.keptByteCount))
        } catch { throw .system(error) }
    }

    /// Both as long as each other: where there is room for a large one and no second, there is for two smaller ones.
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

    /// Large transactions alone get large pages.
    private func makeReserved(_ byteCount: Int, minimum: Int? = nil) throws(SystemError) -> ReservedMemory {
        try ReservedMemory(byteCount: byteCount, minimum: minimum, smallByteCount: Self.keptByteCount)
    }

    /// Bytes that the buffer may hold; makes the buffer.
    private var capacity: Int {
        if let memory { return memory.byteCount }
        do {
            try makeBuffers(encrypting: false)
        } catch {
            fatalError("no address space for a write transaction: \(error)")
        }
        return memory?.byteCount ?? 0
    }

    /// Adds a block of `byteCount` bytes (its header counted in), rounded up to pages.
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

    /// Writes `ref` at `byteOffset` of `block`; a pending one is completed by `place`.
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

    /// How long a pending block is.
    package func byteCount(_ ref: BlockRef) -> Int {
        entries[ref.pendingIndex].pageCount * FormatLimits.pageByteCount
    }

    /// As `bytes` for a ref that may come from a damaged file.
    package func checkedBytes(_ ref: BlockRef) throws(EngineError) -> UnsafeRawPointer {
        guard ref.pendingIndex < entries.count else {
            throw corrupted("a reference on disk says that its block is pending")
        }
        return UnsafeRawPointer(bytes(ref))
    }

    /// Forgets a pending block: it was changed again or deleted.
    package func drop(_ ref: BlockRef) { drop(ref.pendingIndex) }

    /// Forgets the blocks from `index` on; none before it refers to them.
    func dropAll(from index: Int) { for i in index..<entries.count { drop(i) } }

    private func drop(_ index: Int) {
        if index < spilledCount, !entries[index].isDropped { droppedInFile.append(index) }
        entries[index].isDropped = true
    }

    package func isDropped(_ ref: BlockRef) -> Bool { entries[ref.pendingIndex].isDropped }

    /// Blocks that are to be written.
    private var held: ArraySlice<Entry> { entries[spilledCount...] }
    /// The page counts of the live blocks that are not in the file, in the order in which they will be written.
    package var pageCounts: [Int] { pageCounts(from: spilledCount) }
    /// Those of the blocks from number `first` on.
    func pageCounts(from first: Int) -> [Int] { entries[first...].lazy.filter { !$0.isDropped }.map(\.pageCount) }
    package var livePages: Int { held.reduce(0) { $0 + ($1.isDropped ? 0 : $1.pageCount) } }
    package var isEmpty: Bool { entries.isEmpty }
    package var blockCount: Int { entries.count }

    /// Gives the live blocks that are not in the file the pages `pages` (one start per live block, in order), completes
    /// headers, refs and tags. After it `placed(_:)` answers.
    package func place(at pages: [UInt64], birth: UInt64, nonce: UInt64, seal: FileSeal?) {
        var next = 0
        var fixup = 0
        let sealed = seal?.cipher == nil ? nil : makeSealedMemory().base
        isEncrypted = sealed != nil
        fixups.sort { $0.owner < $1.owner }
        for i in held.indices where !entries[i].isDropped {
            let bytes = buffer + entries[i].byteOffset
            while fixup < fixups.count, fixups[fixup].owner < i { fixup += 1 }
            while fixup < fixups.count, fixups[fixup].owner == i {
                let child = entries[fixups[fixup].child].placed
                // A group that was changed again stays in use for the columns that were not; what it says of the others,
                // nobody reads.
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
            if let sealed, let cipher = seal?.cipher {
                let tag = cipher.seal(bytes, ref, to: sealed + entries[i].byteOffset)
                (ref.tagLow, ref.tagHigh) = (tag.low, tag.high)
            } else if let tag = seal?.hash.tag(bytes, ref.byteCount) {
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

    /// The final ref of a block; a ref that is not pending comes back as it is.
    package func placed(_ ref: BlockRef) -> BlockRef { ref.isPending ? entries[ref.pendingIndex].placed : ref }

    /// Calls `body` with the bytes of each live block and its final ref, in order.
    package func forEachPlaced(_ body: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void) throws(EngineError) {
        for entry in entries where !entry.isDropped {
            try body(entry.placed, UnsafeRawPointer(buffer + entry.byteOffset))
        }
    }

    /// As `forEachPlaced`, of what is not in the file, with the bytes as they must lie there: encrypted where it is.
    package func forEachSealed(_ body: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void) throws(EngineError) {
        let start = isEncrypted ? UnsafeRawPointer(sealedMemory?.base ?? buffer) : UnsafeRawPointer(buffer)
        for entry in held where !entry.isDropped { try body(entry.placed, start + entry.byteOffset) }
    }

    // MARK: Ahead of the commit

    /// What was placed last is in `file`, whose bytes stand in place of the buffer's from now on.
    func noteSpilled(to file: any File) {
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

    /// Mappings of the file at most: a process has some 65,000 on Linux, and needs them for other things. What is
    /// written to more runs stays in memory.
    private static let shownLimit = 8192

    private func show(_ file: any File, _ range: Range<Int>, _ page: UInt64) {
        // The system joins it with the one before.
        let isNext = shown.last.map { $0.bytes.upperBound == range.lowerBound && $0.endPage == page } ?? false
        guard isNext || shown.count < Self.shownLimit, memory?.show(file, at: Int(page) << 12, over: range) ?? false
        else { return }
        let start = isNext ? shown.removeLast().bytes.lowerBound : range.lowerBound
        shown.append(Shown(bytes: start..<range.upperBound, endPage: page + UInt64(range.count >> 12)))
    }

    /// What was placed last did not reach the file.
    func unplace() {
        for i in held.indices { entries[i].placed = .none }
        for fixup in fixups where fixup.child >= spilledCount {
            BlockRef(pending: fixup.child, info: entries[fixup.child].info).write(to: buffer + fixup.byteOffset)
        }
    }

    /// Bytes of the buffer where the file stands.
    var shownByteCount: Int { shown.reduce(0) { $0 + $1.bytes.count } }

    /// Where the blocks lie that were written ahead and are of use.
    var spilledExtents: [Extent] { entries[..<spilledCount].lazy.filter { !$0.isDropped }.map(\.extent) }

    /// Where blocks lie that were written ahead and dropped since; they have no place any more.
    func takeDroppedExtents() -> [Extent] {
        defer { droppedInFile.removeAll(keepingCapacity: true) }
        return droppedInFile.map { index in
            defer { entries[index].placed = .none }
            return entries[index].extent
        }
    }

    /// Forgets everything and gives the memory back.
    package func reset() {
        if isEncrypted { sealedMemory?.discard(0..<used) }
        isEncrypted = false
        for part in shown { memory?.renew(part.bytes) }
        shown.removeAll()
        droppedInFile.removeAll(keepingCapacity: true)
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
