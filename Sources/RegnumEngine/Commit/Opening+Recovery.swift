// SPDX-License-Identifier: Apache-2.0
// Recovery: which commit of an existing file counts when it is opened, and the repair of the file that follows.
//
// Of the two slots the newer one counts if its own hash is correct, the file is long enough and every run of its
// manifest matches its hash in the slot; otherwise the older one counts. A rejected slot is cleared before anything is
// written, or a later crash could complete its commit. A commit that is known to have been on stable storage, from the
// clean-shutdown record or from the lock file, always counts: anything missing from it is damage. If its slot is
// damaged, the clean-shutdown record replaces it. A file whose newest commit counts but has an unreadable catalog or
// schema is refused, because a program must not continue without data that was acknowledged. Inspectors see the commit
// before it (`takesOlderCommit`).

import RegnumSystem

extension Opening {
    /// Finds the commit that counts, and repairs the file unless it is opened read-only. With `inUseBy`, other
    /// processes have the file open: their newest version is shown.
    func recover(
        _ shared: LockFile?, isNew: Bool = false, inUseBy others: LockFile? = nil
    ) throws(EngineError) -> Database {
        var count = try byteCount()
        let header = try readHeader(count)
        let protection = try makeProtection(header)
        let reader = try makeReader(protection)

        var rejected: [CommitSlot.Placed] = []
        var passedOver: PassedCommit?
        var (slots, damagedSlot, settled) = try findSlots(others, header, protection)
        if others != nil {
            // The other processes may have made the file longer.
            count = try byteCount()
            try reader.extend(toPages: UInt64(count >> 12))
        }
        let replacement = settled.flatMap { Self.replacement(by: $0, for: slots) }
        if let replacement { Self.insert(replacement, into: &slots) }
        func salvagedOrThrow(_ why: EngineError) throws(EngineError) -> Database {
            guard options.takesOlderCommit, options.isReadOnly,
                let found = salvaged(slots.map(\.slot), header, protection, reader, why: why)
            else { throw why }
            return found
        }
        // Not if both slots are valid: then the file is an earlier copy that was restored.
        if let damagedSlot, (slots.first?.slot.version ?? 0) < (lastDurable(shared, header) ?? 0) {
            return try salvagedOrThrow(corrupted("the newest commit's slot is damaged", page: damagedSlot))
        }
        for placed in options.mutant == .noFallback ? Array(slots.prefix(1)) : slots {
            let slot = placed.slot
            try requireLength(count, for: slot)
            let isSettled = settled.map { $0.slot.isSameCommit(as: slot) } ?? false
            if !isSettled, passedOver == nil, let page = damagedPage(placed, settled) {
                return try salvagedOrThrow(corrupted("the newest commit's slot is damaged or was replaced", page: page))
            }
            let isLong = Self.isLong(slot, byteCount: count)
            let isKnown = isSettled || others != nil
            if !isLong || !isKnown && !holdsManifest(slot, reader) {
                guard isKnown || lastDurable(shared, header) == slot.version else {
                    rejected.append(placed)
                    continue
                }
                if !isLong { return try salvagedOrThrow(corrupted("the file ends before its content does")) }
            }
            let schema: Database.KnownSchema
            do throws(EngineError) { schema = try readSchema(slot, reader) } catch {
                guard options.takesOlderCommit, options.isReadOnly, passedOver == nil, case .corrupted = error else {
                    throw passedOver?.why ?? error
                }
                passedOver = PassedCommit(number: slot.version, why: error)
                continue
            }
            if slot.version == 1, !isNew, !options.isReadOnly { try syncName() }
            try shared?.reset(
                header, newest: slot.version, isDurable: isNew || isSettled, permissions: try permissions())
            let database = Database(
                path: path, fileSystem: fileSystem, options: options, file: file, header: header,
                protection: protection, reader: reader, slot: slot, shared: shared, schema: schema)
            database.passedOver = passedOver
            try BlockTraversal.checkSmall(database)
            // Last, so that a refused file stays unchanged.
            if !options.isReadOnly, options.mutant != .ghostCommit { try repair(header, rejected, replacement, placed) }
            return database
        }
        if let passedOver { return try salvagedOrThrow(passedOver.why) }
        let isCut = rejected.contains { $0.slot.highWater > UInt64(count >> 12) }
        return try salvagedOrThrow(
            corrupted(isCut ? "the file ends before its content does" : "no commit of the file is complete"))
    }

    /// Inserts a slot into slots that are ordered by version, newest first.
    private static func insert(_ placed: CommitSlot.Placed, into slots: inout [CommitSlot.Placed]) {
        slots.insert(placed, at: slots.firstIndex { $0.slot.version < placed.slot.version } ?? slots.count)
    }

    /// With a seeded bug, throws if the file is shorter than the commit needs. Otherwise such a commit is rejected
    /// later.
    private func requireLength(_ byteCount: Int, for slot: CommitSlot) throws(EngineError) {
        if options.mutant == .growthTrusted, slot.highWater > UInt64(byteCount >> 12) {
            throw corrupted("the file is too short")
        }
    }

    /// Returns the page of a slot that the clean-shutdown record proves to be damaged or replaced; nil if none is.
    private func damagedPage(_ placed: CommitSlot.Placed, _ settled: CommitSlot.Placed?) -> UInt64? {
        guard let settled, options.mutant != .settledSlotIgnored else { return nil }
        return Self.damagedPage(placed, beside: settled)
    }

    /// The page of a slot whose hash is wrong and that was not cleared.
    func pageOfDamagedSlot(_ slots: [CommitSlot.Placed]) throws(EngineError) -> UInt64? {
        for offset in CommitSlot.byteOffsets where !slots.contains(where: { $0.byteOffset == offset }) {
            let page = try readPage(at: offset)
            defer { page.deallocate() }
            if !Memory.isZero(page, CommitSlot.byteCount) { return UInt64(offset >> 12) }
        }
        return nil
    }

    /// Returns the clean-shutdown record as a replacement for a damaged slot, or for the older one. Nil if a slot is as
    /// new as the record, or newer, unless the only newer one belongs to the next commit, which may have been
    /// interrupted. `slots`: newest first.
    private static func replacement(by settled: CommitSlot.Placed, for slots: [CommitSlot.Placed]) -> CommitSlot.Placed?
    {
        let number = settled.slot.version
        let isNext = slots.first.map { $0.slot.version > number && $0.slot.previousDurable == number } ?? false
        guard slots.dropFirst(isNext ? 1 : 0).allSatisfy({ $0.slot.version < number }) else { return nil }
        var replacement = settled
        replacement.byteOffset =
            slots.first.map { CommitSlot.otherByteOffset($0.byteOffset) } ?? FormatLimits.slotAByteOffset
        return replacement
    }

    /// Returns the page of the damaged or replaced slot if `placed` is not above the clean-shutdown record, which names
    /// another commit; nil otherwise.
    private static func damagedPage(_ placed: CommitSlot.Placed, beside settled: CommitSlot.Placed) -> UInt64? {
        if placed.slot.version > settled.slot.version { return nil }
        let isOlder = placed.slot.version < settled.slot.version
        return UInt64((isOlder ? CommitSlot.otherByteOffset(placed.byteOffset) : placed.byteOffset) >> 12)
    }

    /// True if the file is as long as the commit requires.
    private static func isLong(_ slot: CommitSlot, byteCount: Int) -> Bool {
        let (needed, overflow) = slot.highWater.multipliedReportingOverflow(by: UInt64(FormatLimits.pageByteCount))
        return !overflow && needed <= UInt64(byteCount)
    }

    /// True if a file that is long enough holds every page that the commit wrote.
    private func holdsManifest(_ slot: CommitSlot, _ reader: BlockReader) -> Bool {
        if options.mutant == .manifestNotChecked { return true }
        // No commit writes a longer manifest; all runs of a damaged one may name the same 256 MiB.
        let manifestPages = slot.manifest.reduce(0) { $0 + $1.extent.pageCount }
        guard manifestPages << 12 <= Database.manifestByteLimit else { return false }
        for run in slot.manifest {
            guard run.extent.page >= FormatLimits.reservedPages, run.extent.end <= slot.highWater else { return false }
            let tag = reader.hash.tag(reader.fileBase + Int(run.extent.page) << 12, run.extent.pageCount << 12)
            guard tag.low == run.low, tag.high == run.high else { return false }
        }
        return true
    }

    /// The newest durable commit according to the lock file. Read even when the lock file is not used: before a file is
    /// opened read-only, or compacted.
    private func lastDurable(_ shared: LockFile?, _ header: FileHeader) -> UInt64? {
        if let shared { return shared.lastDurable(header) }
        guard fileSystem.isShared else { return nil }
        return LockFile(path: path, fileSystem: fileSystem, database: file).lastDurable(header)
    }

    private func permissions() throws(EngineError) -> UInt32 {
        do { return try fileSystem.status(path)?.permissions ?? 0o600 } catch { throw .system(error) }
    }

    /// Syncs the file's directory: the process that created the file may have ended before its name was on stable
    /// storage.
    private func syncName() throws(EngineError) {
        do { try fileSystem.syncName(of: path) } catch { throw .system(error) }
    }

    /// Removes everything from the file that a later opening could mistake for the commit that counts.
    private func repair(
        _ header: FileHeader, _ rejected: [CommitSlot.Placed], _ replacement: CommitSlot.Placed?,
        _ counting: CommitSlot.Placed
    ) throws(EngineError) {
        repairHeader(header)
        for bad in rejected { try clear(bad) }
        if let replacement, replacement.slot.version == counting.slot.version {
            try replace(replacement, by: replacement.bytes)
        }
        if options.mutant == .countingSlotRewritten, !rejected.isEmpty {
            try clear(counting)
            try replace(counting, by: counting.bytes)
        }
    }

    /// Rewrites page 0 if it was read from its copy. Nothing is lost if that fails.
    private func repairHeader(_ header: FileHeader) {
        guard let page = try? readPage(at: 0) else { return }
        defer { page.deallocate() }
        if (try? FileHeader(reading: page, path: path)) == header { return }
        header.write(to: page)
        try? file.write(UnsafeRawBufferPointer(start: page, count: FileHeader.byteCount), at: 0)
        try? file.sync(.data)
    }

    private func clear(_ slot: CommitSlot.Placed) throws(EngineError) {
        try replace(slot, by: [UInt8](repeating: 0, count: CommitSlot.byteCount))
    }

    /// Returns when the bytes are on stable storage.
    private func replace(_ slot: CommitSlot.Placed, by bytes: [UInt8]) throws(EngineError) {
        do throws(SystemError) {
            try file.write(bytes, at: slot.byteOffset)
            try file.sync(.data)
        } catch { throw .system(error) }
    }
}
