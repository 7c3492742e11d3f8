// SPDX-License-Identifier: Apache-2.0
// The last step of a write transaction, by the holder of the writer gate:
//
//   1 the free log gets its block, its size bounded before anything has a place
//   2 all blocks get pages: one contiguous run if there is one
//   3 the file is lengthened first, so that a full disk is met before anything is written
//   4 blocks, then the slot that does not hold the last durable commit, then one sync
//     (more than 1 MiB: blocks, sync, slot, sync, and no manifest to check at the next open)
//   5 the version is published
//
// A failure before the slot is written leaves nothing to undo. After it the slot is cleared; if that fails too,
// the database is latched. A failed sync is never repeated for the same bytes: the next commit is built on the
// version before and writes all its pages anew.

import RegnumSystem

extension Database {
    /// Free space as of the newest version. Guard: gate.
    func loadRecordedSpace() throws(EngineError) -> RecordedSpace {
        if let recorded { return recorded }
        let newest = versions.newest
        let loaded = try RecordedSpace.load(newest.freeLog, highWater: newest.highWater, reader)
        // Of small files every block was looked at when they were opened.
        try loaded.checkRoots(newest, try loaded.vacant(), reader)
        recorded = loaded
        return loaded
    }

    /// Frees what no reader needs any more. Called when a write begins. Guard: gate.
    func reclaim() throws(EngineError) {
        var space = try loadRecordedSpace()
        guard !space.free.pending.isEmpty else { return }
        recorded = nil
        try reclaim(&space.free)
        recorded = space
    }

    /// Moves from pending to free what neither this process nor another one reads. Guard: gate.
    func reclaim(_ free: inout FreeSpace) throws(EngineError) {
        let others = try shared?.pinsOfOthers() ?? []
        let pins = others.isEmpty ? versions.pinned : (versions.pinned + others.flatMap(\.pins)).sorted()
        try free.reclaim(pins: pins, floor: others.compactMap(\.floor).min(), durable: durable)
    }

    /// True for a block that lies in the second half of a file of which more than half is free: written anew it
    /// comes to lie before, and the end of the file can be cut. Guard: gate.
    func keepsFileLong(_ ref: BlockRef) -> Bool {
        guard let space = recorded?.free, !ref.isPending else { return false }
        return UInt64(space.freePages) > space.highWater / 2 && ref.page > space.highWater / 2
    }

    /// Makes what the transaction has sealed the next version; `catalog` is its pending root. The version comes
    /// back pinned once. Guard: gate.
    func commit(_ blocks: BlockSpace, catalog: BlockRef) throws(EngineError) -> Version {
        if let latch { throw .latched(latch) }
        let before = versions.newest
        let number = before.number + 1
        var space = try loadRecordedSpace()
        let isSnapshot = space.wantsSnapshot(freed: blocks.freed.count)
        var freed = freedExtents(blocks, isSnapshot ? space.chain : [], death: number)
        if options.mutant == .freedPagesReusedAtOnce {
            for entry in freed { try space.free.release(entry.extent) }
            freed = []
        }
        let sealer = blocks.sealer
        let log = sealer.addBlock(.freeLog, byteCount: logByteCount(space, freed.count, isSnapshot, sealer))
        let placement = try space.free.place(sealer.pageCounts)
        let skipped = space.free.takeSkipped()
        for extent in skipped { try space.free.release(extent) }
        space.free.trim()
        let record = makeRecord(
            space, freed, placement.runs, skipped, isSnapshot: isSnapshot, number: number, before: before.freeLog)
        FreeLog.write(record, to: log.bytes)
        for entry in freed { space.free.addPending(entry) }

        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { fileSystem.fillRandom($0) }
        if options.mutant == .ghostCommit { nonce = 7 }
        sealer.place(at: placement.pages, birth: number, nonce: nonce, seal: isVolatile ? nil : seal)
        var slot = CommitSlot(
            version: number, nonce: nonce, previousDurable: durable, highWater: space.free.highWater,
            catalog: sealer.placed(catalog), freeLog: sealer.placed(log.ref))
        let fileByteCount = try reserve(pages: space.free.highWater)
        try writeBlocks(sealer)
        try reader.extend(toPages: space.free.highWater)
        if !isVolatile { try writeSlot(&slot, placement.runs) }

        try sealer.forEachPlaced { ref, bytes in reader.keep(ref, bytes) }
        space.chain = isSnapshot ? [slot.freeLog] : [slot.freeLog] + space.chain
        space.deltaByteCount =
            isSnapshot
            ? 0 : space.deltaByteCount + FreeLog.byteCount(freed: record.freed.count, taken: record.taken.count)
        recorded = space
        durable = number
        let version = Version(slot)
        versions.publishPinned(version)
        shrink(fileByteCount, toPages: version.highWater)
        return version
    }

    private func freedExtents(_ blocks: BlockSpace, _ chain: [BlockRef], death: UInt64) -> [PendingExtent] {
        (blocks.freed + chain).map {
            PendingExtent(extent: Extent(page: $0.page, pageCount: $0.pageCount), birth: $0.birth, death: death)
        }
    }

    /// Upper bound of the free log's size, before placement adds runs among what is free and one a section at the end.
    private func logByteCount(_ space: RecordedSpace, _ freed: Int, _ isSnapshot: Bool, _ sealer: Sealer) -> Int {
        let sections = sealer.livePages / Int(FormatLimits.sectionPages) + 2
        let runs = min(FreeSpace.runLimit, sealer.pageCounts.count + 1)
        if isSnapshot {
            return FreeLog.byteCount(
                freed: freed + space.free.freeExtents.count + space.free.pending.count + sections + 10, taken: 0)
        }
        return FreeLog.byteCount(freed: freed + sections, taken: runs + 2 * sections)
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

    /// By how much a file of that length grows at a time.
    private static func growth(_ byteCount: Int) -> Int { min(max(64 << 10, byteCount / 8), 64 << 20) & ~4095 }

    /// Lengthens the file to hold `pages`, in steps that grow with it. Returns its length.
    private func reserve(pages: UInt64) throws(EngineError) -> Int {
        do {
            let now = try file.byteCount()
            let needed = Int(pages) << 12
            guard needed > now else { return now }
            do {
                try file.allocate(max(needed, now + Self.growth(now)))
            } catch  where error.kind == .noSpace {
                try file.allocate(needed)
            }
            return try file.byteCount()
        } catch { throw .system(error) }
    }

    /// Cuts the end of the file where it is much longer than its newest version needs and no other process has it
    /// open. Called when that version is durable: older ones that are still read need nothing of the end, or it
    /// would not be free. Nothing is lost where it fails. Guard: gate.
    private func shrink(_ byteCount: Int, toPages pages: UInt64) {
        let needed = max(Int(pages) << 12, Opening.newFileByteCount)
        let step = Self.growth(needed)
        guard byteCount - needed > 3 * step else { return }
        let cut = {
            self.reader.shrink(toPages: pages)
            try? self.file.truncate(needed + step)
        }
        if let shared { shared.ifAlone(cut) } else { cut() }
    }

    /// Writes the placed blocks, neighbours in one call.
    private func writeBlocks(_ sealer: Sealer) throws(EngineError) {
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

    private func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int) throws(EngineError) {
        do { try file.write(UnsafeRawBufferPointer(start: bytes, count: count), at: offset) } catch {
            throw .system(error)
        }
    }

    /// Writes the slot and makes the commit durable.
    private func writeSlot(_ slot: inout CommitSlot, _ runs: [Extent]) throws(EngineError) {
        let total = runs.reduce(0) { $0 + $1.pageCount } << 12
        slot.isTwoStep = total > FormatLimits.manifestByteCount || runs.count > CommitSlot.manifestLimit
        if slot.isTwoStep {
            do { try file.sync(.data) } catch { throw .system(error) }
        } else {
            let logPage = options.mutant == .freeLogNotInManifest ? slot.freeLog.page : nil
            slot.manifest = Self.without(logPage, runs).map { run in
                let tag = seal.hash.tag(reader.fileBase + Int(run.page) << 12, run.pageCount << 12)
                return CommitSlot.Run(extent: run, low: tag.low, high: tag.high)
            }
        }
        let page = UnsafeMutableRawPointer.allocate(byteCount: CommitSlot.byteCount, alignment: 16)
        defer { page.deallocate() }
        slot.write(to: page, seal: seal)
        let offset = CommitSlot.byteOffset(ofVersion: options.mutant == .oneSlot ? 0 : slot.version)
        do {
            try file.write(UnsafeRawBufferPointer(start: page, count: CommitSlot.byteCount), at: offset)
            if options.mutant == .acknowledgedBeforeSync, slot.version & 1 == 0 { return }
            try file.sync(.data)
        } catch {
            abandonSlot(at: offset)
            throw .system(error)
        }
    }

    /// For a mutant: the runs without the last block, which is the free log.
    private static func without(_ logPage: UInt64?, _ runs: [Extent]) -> [Extent] {
        guard let logPage else { return runs }
        return runs.compactMap { run in
            guard logPage >= run.page, logPage < run.end else { return run }
            return logPage == run.page ? nil : Extent(page: run.page, pageCount: Int(logPage - run.page))
        }
    }

    /// After a failed write or sync of a slot: makes sure that it can never count.
    private func abandonSlot(at offset: Int) {
        let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: CommitSlot.byteCount, alignment: 16)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        do {
            try file.write(UnsafeRawBufferPointer(zeros), at: offset)
            try file.sync(.data)
        } catch {
            latch = "an earlier commit failed and could not be undone; open the file again to write to it"
        }
    }
}
