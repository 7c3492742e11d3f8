// SPDX-License-Identifier: Apache-2.0
// The last step of a write transaction, under the writer lock:
//
//   1 the history, if the file keeps one, gets a blocks (`History/Database+History.swift`), and the free log its own,
//     whose size is bounded before any block has pages
//   2 all blocks get pages: one contiguous run if there is one
//   3 the file is lengthened first, so that a full disk is detected before anything is written
//     (`Database+FullDisk.swift`)
//   4 the blocks are written, and the disk may start writeback
//   5 the commit is queued for the slot that does not hold the last durable commit; one sync follows (more than 1 MiB,
//     or `paranoid`: sync, slot, sync, and no manifest to check at the next opening), then the commit is published
//     (`CommitQueue.swift`, `Database+Syncing.swift`)
//
// A failure before the slot is written leaves nothing to undo. After that the slot is cleared; if clearing fails too,
// the database fails: nothing can be written until it is reopened. A failed sync is never repeated for the same bytes:
// the next commit is built on the last durable version and writes all its pages again.

import RegnumSystem

extension Database {
    /// The sealed transaction that a session passes to `commit`.
    struct Sealed {
        var blocks: BlockSpace
        /// The pending root.
        var catalog: BlockRef
        /// The version that it was built on, and the ticket of that version unless it is known to be durable.
        var before: Version
        var base: CommitTicket?
        var history: HistoryChange?
        /// The catalogs before and after the transaction, whose objects are counted only on a full disk.
        var catalogs: (before: Catalog?, after: Catalog)
    }

    /// The result of a commit. If it has a ticket, the version is not yet durable, nor published.
    struct Made {
        var version: Version
        var ticket: CommitTicket?
        /// True if `shrinkIfLong` should be called.
        var isFileLong: Bool
    }

    /// Makes the transaction's sealed blocks the next version, pinned once. Guard: writer lock.
    func commit(
        _ sealed: Sealed, _ wanted: CommitDurability, _ onDone: (@Sendable (EngineError?) -> Void)?
    ) throws(EngineError) -> Made {
        let (blocks, before) = (sealed.blocks, sealed.before)
        let number = try number(before, sealed.base)
        let spill = spaceManager.spilled
        let failures = spill?.failures ?? queue.monitor.withLock { self.failures }
        precondition(spill.map { $0.number == number } ?? true, "another commit during a write")
        var space = try spaceManager.take()
        var freed = try freeBlocks(&space, sealed, number)
        let ownFreed = freed.count
        let isSnapshot = space.addChain(to: &freed, death: number)
        if options.mutant == .freedPagesReusedAtOnce {
            for entry in freed { try space.free.release(entry.extent) }
            freed = []
        }
        let sealer = blocks.sealer
        let spilledRuns = FreeSpace.joined(spill?.runs ?? [])
        let unused = (spill?.skipped ?? []) + sealer.takeDroppedExtents()
        let log = try addLog(
            byteCount: Self.logByteCount(
                space, freed.count + unused.count + space.free.extents(in: spilledRuns).count, spilledRuns.count,
                isSnapshot, sealer), sealer)
        let ownPages = freed.prefix(ownFreed).reduce(0) { $0 + $1.extent.pageCount }
        let placement = try placeAndLengthen(&space, sealer, spilled: spilledRuns, unused: unused) {
            makesRoom(sealed, freeing: ownPages)
        }
        let level = placement.length.isShort && wanted == .relaxed ? CommitDurability.full : wanted
        let record = makeRecord(
            space, freed, spilledRuns + placement.runs, placement.unused, isSnapshot: isSnapshot,
            number: number, before: before.freeLog)
        FreeLog.write(record, to: log.bytes, room: sealer.byteCount(log.ref))
        for entry in freed { space.free.addPending(entry) }
        try space.free.checkInvariants(options.mutant)

        let nonce = spill?.nonce ?? (isVolatile ? number : makeNonce())
        sealer.place(at: placement.pages, birth: number, nonce: nonce, protection: isVolatile ? nil : protection)
        let slot = CommitSlot(
            version: number, nonce: nonce, previousDurable: 0, highWater: space.free.highWater,
            catalog: sealer.placed(sealed.catalog), freeLog: sealer.placed(log.ref), history: space.historyRef(sealer))
        try clearSettledSlot()
        try writeBlocks(sealer)
        if level == .full, !isVolatile, spill == nil { try beginWritebackAlone(placement.runs) }
        try reader.extend(toPages: space.free.highWater)
        try sealer.forEachPlaced { ref, bytes in reader.keep(ref, bytes) }

        let runs = spill == nil ? placement.runs : FreeSpace.joined(placement.runs + sealer.spilledExtents)
        let ticket: CommitTicket?
        do throws(EngineError) {
            ticket = isVolatile ? nil : try enlist(slot, runs, sealed.base, failures, level, onDone)
        } catch {
            // Another process may make a commit with that number.
            for run in runs { reader.forget(run) }
            throw error
        }
        spaceManager.spilled = nil
        space.note(record, at: slot.freeLog)
        space.free.ledger.commit()
        counters.noteFree(space.free.freePages, at: number)
        spaceManager.put(space)
        let version = Version(slot, in: reader)
        if isVolatile {
            queue.monitor.withLock { queue.setVolatile(number) }
            versions.publishPinned(version)
            counters.noteCommits(1, byteCount: Self.byteCount(runs))
        }
        return Made(
            version: version, ticket: ticket, isFileLong: isLong(placement.length.byteCount, pages: version.highWater))
    }

    /// Clears the clean-shutdown record: after the next sync it must not vouch for a commit that is not the newest.
    /// Costs only a read of mapped memory if there is nothing to clear.
    private func clearSettledSlot() throws(EngineError) {
        if isVolatile { return }
        for offset in CommitSlot.settledByteOffsets where !Memory.isZero(reader.fileBase + offset, 16) {
            do throws(SystemError) {
                try file.write([UInt8](repeating: 0, count: CommitSlot.byteCount), at: offset)
            } catch { throw .system(error) }
        }
    }

    /// Queues the commit, or publishes it immediately if it is relaxed and the queue is empty. Pins its version.
    private func enlist(
        _ slot: CommitSlot, _ runs: [Extent], _ base: CommitTicket?, _ failures: CommitQueue.Failures,
        _ wanted: CommitDurability, _ onDone: (@Sendable (EngineError?) -> Void)?
    ) throws(EngineError) -> CommitTicket? {
        _ = DatabaseRegistry.closesAtExit
        let byteCount = Self.byteCount(runs)
        let limit = wanted == .relaxed ? Self.manifestByteLimit : FormatLimits.manifestByteCount
        var manifest: [CommitSlot.Run]?
        if wanted != .paranoid, byteCount <= limit, runs.count <= CommitSlot.manifestLimit {
            let logPage = options.mutant == .freeLogNotInManifest ? slot.freeLog.page : nil
            manifest = Self.without(logPage, runs).map { hashed($0) }
        }
        let ticket = CommitTicket(onDone)
        let relaxed = try queue.monitor.withLock { () throws(EngineError) -> [CommitSlot.Run]? in
            // Only one thread at a time writes slots.
            while wanted == .relaxed, queue.isBusy { queue.monitor.wait() }
            try queue.check(base)
            noticeFailures()
            if wanted == .relaxed, queue.commits.isEmpty, !queue.mustRewrite, let own = manifest,
                (queue.unsynced?.byteCount ?? 0) + byteCount <= Self.manifestByteLimit
            {
                let all = options.mutant == .ownPagesInManifest ? own : joined(queue.unsynced?.runs ?? [], own)
                if all.count <= CommitSlot.manifestLimit {
                    queue.take()
                    return all
                }
            }
            queue.enqueue(
                CommitQueue.Commit(
                    version: Version(slot, in: reader), slot: slot, runs: runs, manifest: manifest,
                    byteCount: byteCount,
                    ticket: ticket, failures: failures))
            versions.pin(slot.version)
            return nil
        }
        guard let relaxed else { return ticket }
        try publishRelaxed(slot, relaxed, byteCount, failures)
        return nil
    }

    private func publishRelaxed(
        _ slot: CommitSlot, _ manifest: [CommitSlot.Run], _ byteCount: Int, _ failures: CommitQueue.Failures
    ) throws(EngineError) {
        var slot = slot
        slot.manifest = manifest
        var work = queue.monitor.withLock { queue.work() }
        slot.previousDurable = work.durable
        if options.mutant == .relaxedOverDurable, slot.version & 1 == 0 {
            work.offset = CommitSlot.otherByteOffset(work.offset)
        }
        let bytes = bytes(of: slot)
        do throws(SystemError) {
            try file.write(bytes, at: work.offset)
        } catch {
            abandonSlot(work)
            queue.monitor.withLock { queue.endBusy() }
            throw .system(error)
        }
        if work.slot == nil { shared?.noteUnsynced(failures.all) }
        versions.publishPinned(Version(slot, in: reader))
        queue.monitor.withLock {
            queue.publish(slot.version, slot: bytes, runs: manifest, byteCount: byteCount, failures: failures)
            queue.endBusy()
        }
        counters.noteCommits(1, byteCount: byteCount)
        syncSoon()
    }

    private func hashed(_ run: Extent) -> CommitSlot.Run {
        let tag = protection.hash.tag(reader.fileBase + Int(run.page) << 12, run.pageCount << 12)
        return CommitSlot.Run(extent: run, low: tag.low, high: tag.high)
    }

    /// Returns the runs of both lists. Adjacent small runs are merged, so that many small commits fit in one manifest.
    private func joined(_ before: [CommitSlot.Run], _ own: [CommitSlot.Run]) -> [CommitSlot.Run] {
        var all = before
        for run in own {
            if let last = all.last?.extent, last.end == run.extent.page, last.pageCount + run.extent.pageCount <= 16 {
                let both = Extent(page: last.page, pageCount: last.pageCount + run.extent.pageCount)
                all[all.count - 1] = hashed(both)
            } else {
                all.append(run)
            }
        }
        return all
    }

    /// Returns an upper bound of the free log's size in bytes, before placement, which adds runs within the free space
    /// and one per section at the end of the file.
    static func logByteCount(
        _ space: RecordedSpace, _ freed: Int, _ spilledRuns: Int, _ isSnapshot: Bool, _ sealer: Sealer
    ) -> Int {
        // Placement, of this commit or of a spill, may skip quarantined pages: up to one free run per section.
        let barred = space.free.barred > 0 ? Int(space.free.barred / FormatLimits.sectionPages) + 1 : 0
        // Three of the largest blocks fill a section except for its last quarter.
        let sections = sealer.livePages * 3 / 2 / Int(FormatLimits.sectionPages) + 2 + barred
        let runs = min(2 * FreeSpace.runLimit, sealer.pageCounts.count + 2)
        if isSnapshot {
            return FreeLog.byteCount(
                freed: freed + space.free.countFreeExtents() + space.free.pending.count + sections + 10, taken: 0)
        }
        return FreeLog.byteCount(freed: freed + sections, taken: spilledRuns + runs + 2 * sections)
    }

    /// Adds a block for the free log, of at most 256 MiB, which is 8 million extents.
    private func addLog(byteCount: Int, _ sealer: Sealer) throws(EngineError) -> SealedBlock {
        guard byteCount <= Sealer.blockPageLimit << 12 else {
            throw .limit(
                "The file has more free extents, or the transaction frees more, than one commit can record "
                    + "(8 million): use smaller transactions, or write a copy of the file and continue with the copy.")
        }
        return sealer.addBlock(.freeLog, byteCount: byteCount)
    }

    private func makeRecord(
        _ space: RecordedSpace, _ freed: [PendingExtent], _ runs: [Extent], _ skipped: [Extent], isSnapshot: Bool,
        number: UInt64, before: BlockRef
    ) -> FreeLog.Record {
        let open = isSnapshot ? space.free.freeExtents : skipped
        let entries =
            open.map { PendingExtent(extent: $0, birth: 0, death: 0) } + (isSnapshot ? space.free.pending : []) + freed
        return FreeLog.Record(
            isSnapshot: isSnapshot, version: number, highWater: space.free.highWater,
            previous: isSnapshot ? .none : before, freed: entries, taken: isSnapshot ? [] : runs)
    }

    /// Returns by how many bytes a file of that length grows at a time.
    static func growth(_ byteCount: Int) -> Int { min(max(64 << 10, byteCount / 8), 64 << 20) & ~4095 }

    private func isLong(_ byteCount: Int, pages: UInt64) -> Bool {
        let needed = max(Int(pages) << 12, Opening.newFileByteCount)
        return byteCount - needed > 3 * Self.growth(needed) + spareByteCount(pages)
    }

    /// Truncates the file if it is much longer than its newest version needs and no other process has it open. Older
    /// versions that are still read need no pages there, or those pages would not be free. Runs only when all commits
    /// are durable, so that any state after a power loss fits as well. Nothing is lost if truncating fails. Skipped
    /// while another thread or process writes: a finished commit does not wait for other transactions.
    func shrinkIfLong(_ version: Version) {
        do { guard try tryEnterWriter() else { return } } catch { return }
        defer { leaveWriter() }
        guard let count = try? file.byteCount(), isLong(count, pages: version.highWater),
            // Sessions may still show a failed commit.
            queue.monitor.withLock({ queue.isIdle && queue.abandoned.isEmpty && queue.failure == nil }),
            versions.newest == version
        else { return }
        let cut = {
            self.reader.shrink(toPages: version.highWater)
            let needed = max(Int(version.highWater) << 12, Opening.newFileByteCount)
            try? self.file.truncate(needed + max(Self.growth(needed), self.spareByteCount(version.highWater)))
        }
        if let shared { shared.ifAlone(cut) } else { cut() }
    }

    /// Like `shrinkIfLong` for the newest version: for commits that no thread waited for.
    func shrinkSoon() {
        let version = versions.newest
        guard let count = try? file.byteCount(), isLong(count, pages: version.highWater) else { return }
        shrinkIfLong(version)
    }

    /// Writes the placed blocks; adjacent blocks with one call.
    func writeBlocks(_ sealer: Sealer) throws(EngineError) {
        var start: UnsafeRawPointer?
        var page: UInt64 = 0
        var count = 0
        try sealer.forEachSealed { ref, bytes throws(EngineError) in
            if let first = start, bytes == first + count, ref.page == page + UInt64(count >> 12), count < 64 << 20 {
                count += ref.byteCount
                return
            }
            if let first = start { try write(first, count, at: Int(page) << 12) }
            start = bytes
            page = ref.page
            count = ref.byteCount
        }
        if let first = start { try write(first, count, at: Int(page) << 12) }
    }

    /// Starts writeback of the commit's pages while its slot is built. Does so only if, as far as is known, the next
    /// sync is for this commit alone: a sync shared by several commits is faster if it starts all their writes. Does
    /// nothing if the pages are scattered, because each run is a separate request, or if there are so many that they
    /// are synced next anyway, without being hashed first.
    private func beginWritebackAlone(_ runs: [Extent]) throws(EngineError) {
        guard runs.count <= 4, Self.byteCount(runs) <= FormatLimits.manifestByteCount,
            !writerLock.isAwaited, queue.monitor.withLock({ queue.commits.isEmpty && queue.unsynced == nil })
        else { return }
        try beginWriteback(of: runs)
    }

    private static func byteCount(_ runs: [Extent]) -> Int { runs.reduce(0) { $0 + $1.pageCount } << 12 }

    private func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int) throws(EngineError) {
        do { try file.write(UnsafeRawBufferPointer(start: bytes, count: count), at: offset) } catch {
            throw .system(error)
        }
    }

    /// For a seeded bug: the runs without the last block, which is the free log.
    private static func without(_ logPage: UInt64?, _ runs: [Extent]) -> [Extent] {
        guard let logPage else { return runs }
        return runs.compactMap { run in
            guard logPage >= run.page, logPage < run.end else { return run }
            return logPage == run.page ? nil : Extent(page: run.page, pageCount: Int(logPage - run.page))
        }
    }
}
