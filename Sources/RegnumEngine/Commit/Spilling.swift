// SPDX-License-Identifier: Apache-2.0
// Spilling: a large transaction writes sealed blocks before it commits, so that its memory is bounded, the blocks are
// still in the processor's cache when they are copied to the system, and the disk works in the meantime.
//
//   sealed blocks > `SpillLimits.sealedLimit`  they get pages, as in a commit, and are written there; no durable block
//                                              refers to them, and a rollback or a crash leaves those pages free
//   changed groups, trees and collections      all tables are sealed, and continue from the sealed blocks
//   > `.changed`
//
// The number and the nonce of the commit are chosen when the first block is spilled; they cannot change, because the
// transaction holds the writer lock. Space is taken from a copy of the recorded space, which replaces the record at the
// commit and is discarded by a rollback.
//
// Encrypted files do not spill: the plain bytes would have to stay in memory anyway. If the disk is full or fails, the
// blocks stay in memory until the commit, which encounters the error again and throws. A transaction that comes close
// to the limit of the address space is refused further changes but can still commit.

import RegnumSystem

/// The memory that a transaction may use before it spills.
package struct SpillLimits: Sendable {
    /// Bytes of sealed blocks, see `sealedLimit`. The lower bound fits into the processor's cache.
    package var sealed = 1 << 20...32 << 20
    /// Bytes of changed groups, trees and collections. Doubled, up to a quarter of the machine's memory and 1 GiB, for
    /// a transaction that changes only a few of the values that each spill writes again, such as random access to a
    /// large table or list.
    package var changed = 192 << 20
    /// The number of changes between two checks of the memory of groups, trees and collections.
    package var interval: UInt64 = 16384
    /// The maximum number of bytes written per change before `changed` is doubled.
    package var bytesPerChange = 256
    /// Address space for blocks that a transaction has sealed but not spilled: 64 GiB.
    package var reserved = Sealer.reservation
    package init() {}

    /// Values of more bytes than this are counted individually.
    static let longValue = 1024
    static let changedMaximum = min(Memory.physicalByteCount / 4, 1 << 30)

    /// Bytes of sealed blocks above which a transaction spills: 1/1,024 of the file, because finding free pages takes
    /// time proportional to the file. The maximum if small spills would be scattered over many free runs, and in files
    /// that are mostly free: commits that have spilled move no blocks from the end.
    func sealedLimit(_ free: FreeSpace) -> Int {
        let share = Int(min(free.highWater, UInt64(sealed.upperBound))) * 4
        let limit = min(max(share, sealed.lowerBound), sealed.upperBound)
        return !free.isMostlyFree && free.takesInOneRun(limit >> 12) ? limit : sealed.upperBound
    }
}

/// The spilled part of a running transaction. Guard: writer lock.
struct Spill {
    /// The recorded space without the pages taken.
    var space: RecordedSpace
    var number: UInt64
    var nonce: UInt64
    /// The failure counts before the first write.
    var failures: CommitQueue.Failures
    /// Pages taken, including those given back since; some are listed twice.
    var runs: [Extent] = []
    /// Pages skipped at the ends of sections: free when the transaction has ended.
    var skipped: [Extent] = []
}

extension Database {
    /// The maximum number of free runs that one spill writes to; no manifest has to name them.
    private static let spillRunLimit = 4096
    /// The minimum number of pages of a run for which starting writeback is worth a system call.
    private static let longRun = 16

    /// True for files whose transactions can spill.
    var canSpill: Bool { !isVolatile && protection.cipher == nil }

    /// Writes the blocks sealed so far if they exceed `sealedLimit`. Returns how many bytes may be sealed before the
    /// next spill, or nil if it failed; the blocks are then left to the commit. `base` is the ticket of the version
    /// that the transaction was built on. Dropped blocks, and refs to them, must no longer be read: they are discarded.
    /// Guard: writer lock.
    func spill(_ blocks: BlockSpace, before: Version, base: CommitTicket?) -> Int? {
        let sealer = blocks.sealer
        do throws(EngineError) {
            var spill = try currentSpill(before, base)
            let limits = options.spillLimits
            let limit = limits.sealedLimit(spill.space.free)
            if sealer.heldByteCount <= limit { return limit }
            // Dropped blocks belong to no version: their pages can be reused, unless a snapshot reads them.
            if blocks.snapshots == 0 {
                for extent in sealer.takeDroppedExtents() { try spill.space.free.release(extent) }
                spaceManager.spilled = spill
            }
            let placement = try spill.space.free.place(sealer.pageCounts, runLimit: Self.spillRunLimit)
            spill.skipped += spill.space.free.takeSkipped()
            sealer.place(at: placement.pages, birth: spill.number, nonce: spill.nonce, protection: protection)
            try lengthen(toPages: spill.space.free.highWater)
            try writeBlocks(sealer)
            try reader.extend(toPages: spill.space.free.highWater)
            spill.runs += placement.runs
            try beginWriteback(of: placement.runs.filter { $0.pageCount >= Self.longRun })
            sealer.noteSpilled(to: file, isRead: blocks.snapshots > 0)
            spaceManager.spilled = spill
            return limits.sealedLimit(spill.space.free)
        } catch {
            sealer.unplace()
            return nil
        }
    }

    private func currentSpill(_ before: Version, _ base: CommitTicket?) throws(EngineError) -> Spill {
        if let spilled = spaceManager.spilled { return spilled }
        let number = try number(before, base)
        return Spill(
            space: try spaceManager.load(), number: number, nonce: makeNonce(),
            failures: queue.monitor.withLock { failures })
    }

    /// Returns the number of the next commit.
    func number(_ before: Version, _ base: CommitTicket?) throws(EngineError) -> UInt64 {
        let number = try queue.monitor.withLock { () throws(EngineError) in
            try queue.check(base)
            return max(before.number + 1, queue.leastNumber)
        }
        guard number < CommitSlot.versionLimit else {
            throw .limit(
                "The file has reached the maximum number of commits (2^47): write a copy of it and continue with "
                    + "the copy.")
        }
        return number
    }

    func makeNonce() -> UInt64 {
        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { fileSystem.fillRandom($0) }
        if options.mutant == .ghostCommit || options.mutant == .nonceRepeated { return 7 }
        return nonce
    }

    /// Discards the spill of a transaction that is rolled back: its pages are free again. Guard: writer lock.
    func forgetSpill() {
        guard let spill = spaceManager.spilled else { return }
        spaceManager.spilled = nil
        // Another commit with that number may write them.
        for run in spill.runs { reader.forget(run) }
    }
}
