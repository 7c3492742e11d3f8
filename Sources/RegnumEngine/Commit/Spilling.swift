// SPDX-License-Identifier: Apache-2.0
// Large transactions: what a transaction has sealed is written ahead of its commit, so that its memory is bounded, its
// blocks are still in the processor's cache when they are copied to the system, and the disk is at work meanwhile.
//
//   sealed blocks > `SpillLimits.sealedLimit`  they get pages, as a commit would give them, and are written there;
//                                              nothing that is durable leads to them, and a rollback or a crash
//                                              leaves pages that are free
//   changed groups, trees and collections      all tables are sealed, and go on from the sealed blocks
//   > `.changed`
//
// The number and the nonce of the commit are chosen with the first block that is written; they cannot change, because
// the transaction has the writer's gate. Space is taken from a copy of what is recorded, which becomes the
// record with the commit and is forgotten with a rollback.
//
// Not for encrypted files: the plain bytes would have to stay in memory all the same. A disk that is full or fails is
// met again by the commit, which throws; until then the blocks stay in memory. A transaction that comes near to what
// there is address space for is refused more, and can be committed as it is.

import RegnumSystem

/// How much memory a transaction may take before it writes ahead.
package struct SpillLimits: Sendable {
    /// Bytes of sealed blocks, see `sealedLimit`. The least is what fits into the processor's cache.
    package var sealed = 1 << 20...32 << 20
    /// Bytes of changed groups, trees and collections. Doubled for a transaction that changes few of the values that it
    /// has to write again each time, as one does that goes through a large table or list at random, up to a quarter of
    /// the machine's memory and 1 GiB.
    package var changed = 192 << 20
    /// Changes between two looks at the memory of groups, trees and collections.
    package var interval: UInt64 = 16384
    /// More bytes to write for a change are too many; see `changed`.
    package var bytesPerChange = 256
    /// Address space for what a transaction writes and has not written ahead: 64 GiB.
    package var reserved = Sealer.reservation
    package init() {}

    /// Values of more bytes are counted on their own.
    static let longValue = 1024
    static let changedMaximum = min(Memory.physicalByteCount / 4, 1 << 30)

    /// Bytes of sealed blocks above which a transaction writes ahead: a 1,024th of the file, as finding free pages takes
    /// time that grows with the file. As many as may be where small pieces would be scattered over many free runs, and in
    /// files that are mostly free: commits that have written ahead move nothing from the end.
    func sealedLimit(_ free: FreeSpace) -> Int {
        let share = Int(min(free.highWater, UInt64(sealed.upperBound))) * 4
        let limit = min(max(share, sealed.lowerBound), sealed.upperBound)
        return !free.isMostlyFree && free.takesInOneRun(limit >> 12) ? limit : sealed.upperBound
    }
}

/// What a running transaction has written ahead of its commit. Guard: gate.
struct Spill {
    /// Without the pages taken.
    var space: RecordedSpace
    var number: UInt64
    var nonce: UInt64
    /// Before the first write.
    var failures: CommitLine.Failures
    /// Pages taken, those that were given back since included, some twice.
    var runs: [Extent] = []
    /// Pages passed over at the ends of sections: free when the transaction has ended.
    var skipped: [Extent] = []
}

extension Database {
    /// Free runs that are written to at once; no manifest has to name them.
    private static let spillRunLimit = 4096
    /// Pages of runs that are worth a call of the system, so that the disk begins with them.
    private static let longRun = 16

    /// True for files whose transactions can be written ahead.
    var canSpill: Bool { !isVolatile && seal.cipher == nil }

    /// Writes the blocks sealed so far, where they are more than `sealedLimit`. Returns how many may be sealed before the
    /// next time, or nil where it failed, and then they are left to the commit. `base` is what the transaction was built
    /// on. Nobody may read dropped blocks any more, or refs to them: those are forgotten. Guard: gate.
    func spill(_ blocks: BlockSpace, before: Version, base: CommitTicket?) -> Int? {
        let sealer = blocks.sealer
        do throws(EngineError) {
            var spill = try currentSpill(before, base)
            let limits = options.spillLimits
            let limit = limits.sealedLimit(spill.space.free)
            if sealer.heldByteCount <= limit { return limit }
            // What was dropped is part of no version: it can be written over, unless a snapshot reads it.
            if blocks.snapshots == 0 {
                for extent in sealer.takeDroppedExtents() { try spill.space.free.release(extent) }
                spilled = spill
            }
            let placement = try spill.space.free.place(sealer.pageCounts, runLimit: Self.spillRunLimit)
            spill.skipped += spill.space.free.takeSkipped()
            sealer.place(at: placement.pages, birth: spill.number, nonce: spill.nonce, seal: seal)
            _ = try reserve(pages: spill.space.free.highWater, isGrowing: false)
            try writeBlocks(sealer)
            try reader.extend(toPages: spill.space.free.highWater)
            spill.runs += placement.runs
            try beginWriteback(of: placement.runs.filter { $0.pageCount >= Self.longRun })
            sealer.noteSpilled(to: file)
            spilled = spill
            return limits.sealedLimit(spill.space.free)
        } catch {
            sealer.unplace()
            return nil
        }
    }

    private func currentSpill(_ before: Version, _ base: CommitTicket?) throws(EngineError) -> Spill {
        if let spilled { return spilled }
        let number = try number(before, base)
        return Spill(
            space: try loadRecordedSpace(), number: number, nonce: makeNonce(),
            failures: line.monitor.withLock { failures })
    }

    /// Free space without what the running transaction has taken, to be changed in place: a copy takes time that grows with
    /// the file. Where the commit fails, it is read again.
    func takeRecordedSpace(_ spill: Spill?) throws(EngineError) -> RecordedSpace {
        if let spill { return spill.space }
        defer { recorded = nil }
        return try loadRecordedSpace()
    }

    /// The number of the next commit.
    func number(_ before: Version, _ base: CommitTicket?) throws(EngineError) -> UInt64 {
        let number = try line.monitor.withLock { () throws(EngineError) in
            try line.check(base)
            return max(before.number + 1, line.leastNumber)
        }
        guard number < CommitSlot.versionLimit else {
            throw .limit(
                "The file has had as many commits as it can count (2^47): write a copy of it and go on with that.")
        }
        return number
    }

    func makeNonce() -> UInt64 {
        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { fileSystem.fillRandom($0) }
        if options.mutant == .ghostCommit || options.mutant == .nonceRepeated { return 7 }
        return nonce
    }

    /// The transaction is rolled back: its pages are as free as they were. Guard: gate.
    func forgetSpill() {
        guard let spill = spilled else { return }
        spilled = nil
        // Another commit of that number may write them.
        for run in spill.runs { reader.forget(run) }
    }
}
