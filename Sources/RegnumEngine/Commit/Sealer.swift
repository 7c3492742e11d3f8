// SPDX-License-Identifier: Apache-2.0
// Collects the blocks that a transaction will write, before they have page numbers. Blocks are added children
// first; where a block holds a ref to another pending block, `setRef` remembers the place. `place` gives page
// numbers, then fills headers and refs and computes tags in the order of adding, so each child is finished
// before its parent.
//
// The bytes lie in one reserved buffer in the order of adding, so a commit is normally one contiguous write.
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
    }

    /// A place in the bytes of `owner` that holds a ref to `child`.
    private struct Fixup {
        var byteOffset: Int
        var child: Int
        var owner: Int
    }

    /// Address space, so that pointers into it stay good while the transaction lasts.
    private static let reservation = 1 << 36
    /// Memory that stays with the session between transactions.
    private static let keptByteCount = 4 << 20
    /// Made at the first block: sessions that only read need none.
    private var memory: ReservedMemory?
    private var buffer = ZeroBytes.base
    private var used = 0
    /// The same blocks encrypted, at the same offsets; made by `place` for files that are.
    private var sealedMemory: ReservedMemory?
    private var isEncrypted = false
    /// Bytes from the start that earlier transactions may have written to.
    private var touched = 0
    private var entries: [Entry] = []
    private var fixups: [Fixup] = []

    package init() {}

    /// Bytes that the buffer may hold; makes the buffer.
    private var capacity: Int {
        if let memory { return memory.byteCount }
        do {
            let made = try ReservedMemory(byteCount: Self.reservation, minimum: 1 << 28)
            memory = made
            buffer = made.base
            return made.byteCount
        } catch {
            fatalError("no address space for a write transaction: \(error)")
        }
    }

    /// Adds a block of `byteCount` bytes (its header counted in), rounded up to pages.
    package func addBlock(_ kind: BlockKind, byteCount: Int, rows: Int = 0, aux: UInt32 = 0) -> SealedBlock {
        let pages = (byteCount + FormatLimits.pageByteCount - 1) / FormatLimits.pageByteCount
        precondition(pages > 0 && pages <= 65536, "a block of \(byteCount) bytes")
        let capacity = capacity
        let bytes = buffer + used
        let info = BlockRef.info(kind, rows: rows, aux: aux)
        let index = entries.count
        entries.append(Entry(byteOffset: used, info: info, pageCount: pages, isDropped: false, placed: .none))
        let end = used + pages * FormatLimits.pageByteCount
        precondition(end <= capacity, "a transaction of more than \(capacity) bytes")
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
    package func drop(_ ref: BlockRef) { entries[ref.pendingIndex].isDropped = true }

    package func isDropped(_ ref: BlockRef) -> Bool { entries[ref.pendingIndex].isDropped }

    /// The page counts of the live blocks, in the order in which they will be written.
    package var pageCounts: [Int] { entries.lazy.filter { !$0.isDropped }.map(\.pageCount) }
    package var livePages: Int { entries.reduce(0) { $0 + ($1.isDropped ? 0 : $1.pageCount) } }
    package var isEmpty: Bool { entries.isEmpty }
    package var blockCount: Int { entries.count }

    /// Gives the live blocks the pages `pages` (one start per live block, in order), completes headers, refs and
    /// tags. After it `placed(_:)` answers.
    package func place(at pages: [UInt64], birth: UInt64, nonce: UInt64, seal: FileSeal?) {
        var next = 0
        var fixup = 0
        let sealed = seal?.cipher == nil ? nil : makeSealedMemory().base
        isEncrypted = sealed != nil
        fixups.sort { $0.owner < $1.owner }
        for i in entries.indices where !entries[i].isDropped {
            let bytes = buffer + entries[i].byteOffset
            while fixup < fixups.count, fixups[fixup].owner < i { fixup += 1 }
            while fixup < fixups.count, fixups[fixup].owner == i {
                let child = entries[fixups[fixup].child].placed
                precondition(!child.isNone, "a block refers to one that was dropped or comes later")
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
            let made = try ReservedMemory(byteCount: capacity)
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

    /// As `forEachPlaced`, with the bytes as they must lie in the file: encrypted where it is.
    package func forEachSealed(_ body: (BlockRef, UnsafeRawPointer) throws(EngineError) -> Void) throws(EngineError) {
        let start = isEncrypted ? UnsafeRawPointer(sealedMemory?.base ?? buffer) : UnsafeRawPointer(buffer)
        for entry in entries where !entry.isDropped { try body(entry.placed, start + entry.byteOffset) }
    }

    /// Forgets everything and gives the memory back.
    package func reset() {
        if isEncrypted { sealedMemory?.discard(0..<used) }
        isEncrypted = false
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
