// SPDX-License-Identifier: Apache-2.0
// Opens the database at a path: creates a new file, or finds the newest whole commit of an existing one.
//
// Creating a file: everything but page 0 is written and synced, then page 0. A crash in between leaves a file whose
// first page is zero, no longer than a new file and without any commit after the first: it is created again. A torn
// page 0 is read from its copy and rewritten.
//
// Finding the commit: of the two slots the newer one counts if its own hash holds, the file is long enough and every
// run of its manifest matches its hash in the slot; otherwise the older one counts. A rejected slot is cleared before
// anything is written, or a later crash could complete its commit. A commit that is known to have been on stable
// storage, from the clean-shutdown record or from the lock file, always counts: anything missing from it is damage. If
// its slot does not hold, the clean-shutdown record replaces it. A file whose newest commit counts but has an
// unreadable catalog or schema is refused, because a program must not go on without data that was acknowledged.
// Inspectors see the commit before it (`takesOlderCommit`).

import RegnumSystem

/// A damaged commit that was skipped, or salvaged, when a file was opened for inspection.
package struct PassedCommit: Sendable {
    package var number: UInt64
    package var why: EngineError
    /// True if the commit's readable remains are shown; false if the commit before it is shown.
    package var isShown = false
    /// A description for people.
    package var words: String {
        "commit \(number): \(why.damage); "
            + (isShown ? "what is left of it is shown" : "the commit before it is shown")
    }
}

struct Opening {
    /// Byte count of a file just created: reserved pages, first commit, spare room.
    static let newFileByteCount = 128 * 1024
    /// The number of times, a millisecond apart, that an opening checks whether the processes that have the file open
    /// are leaving it.
    private static let looksForOthers = 100
    /// The pages of the empty database's schema, catalog and free log.
    private static let firstCommitPages = 3

    let path: String
    let fileSystem: any FileSystem
    let options: Database.OpenOptions
    let file: any File
    /// True if this opening creates the file: there was none at the path before.
    private let isMaking: Bool

    init(path: String, fileSystem: any FileSystem, options: Database.OpenOptions) throws(EngineError) {
        // Links are resolved: each file has one lock file next to it, and a compacted copy replaces the file, not a
        // link to it.
        let path = fileSystem.linked(path)
        self.path = path
        self.fileSystem = fileSystem
        self.options = options
        if options.encryptionKey != nil, !BlockCipher.isAvailable { throw .encryption(path: path, .unavailable) }
        do {
            let status = try fileSystem.status(path)
            if let status, status.kind != .file { throw EngineError.notADatabase(path: path, why: .directory) }
            isMaking = status == nil && !options.isReadOnly && options.makesFile
            // Checked before the database is created: another program's file may have the lock file's name.
            if isMaking, fileSystem.isShared,
                try LockFile.isTaken(path, fileSystem)
            {
                throw EngineError.foreignLockFile(path: path + ".lock")
            }
            let mode: OpenMode = options.isReadOnly ? .readOnly : options.makesFile ? .readWriteCreate : .readWrite
            file = try fileSystem.open(path, mode)
        } catch let error as SystemError {
            throw .system(error)
        } catch let error as EngineError {
            throw error
        } catch {
            fatalError("an error of another type: \(error)")
        }
    }

    /// Returns nil if the path has come to lead to another file in the meantime: then it must be opened again.
    /// `deadline` limits the wait for other processes.
    func makeDatabase(until deadline: UInt64 = Gate.never) throws(EngineError) -> Database? {
        do throws(EngineError) {
            guard fileSystem.isShared else { return try openAlone(nil) }
            if options.isReadOnly { return try openToRead() }
            // A file that is not a database is refused before a lock file is created next to it.
            if try !isNew() { _ = try makeSeal(try readHeader(try byteCount())) }
            let shared = LockFile(path: path, fileSystem: fileSystem, database: file)
            // Joins under the shared opening lock, so that processes that join do not keep each other out.
            let joined = try shared.whileOpening(isShared: true, until: deadline) {
                () throws(EngineError) -> Database? in
                guard try isAtPath(), try shared.hasOthers(), try shared.isLockFileInUse() else { return nil }
                return try join(shared, try readHeader(try byteCount()))
            }
            if let joined { return joined }
            return try shared.whileOpening(until: deadline) { () throws(EngineError) in
                guard try isAtPath() else {
                    file.close()
                    return nil
                }
                var looks = 0
                while try shared.hasOthers() {
                    if try shared.isLockFileInUse() { return try join(shared, try readHeader(try byteCount())) }
                    looks += 1
                    // Its lock file was deleted, or the database file has two names.
                    if looks > Self.looksForOthers {
                        return try join(shared, try readHeader(try byteCount()), isDeleted: true)
                    }
                    CurrentThread.sleep(nanoseconds: 1_000_000)
                }
                return try openAlone(shared)
            }
        } catch {
            file.close()
            throw error
        }
    }

    /// True if the path still leads to the file that was opened: a copy may have been renamed to it.
    func isAtPath() throws(EngineError) -> Bool {
        do { return try fileSystem.status(path)?.identity == file.identity } catch { throw .system(error) }
    }

    private func permissions() throws(EngineError) -> UInt32 {
        do { return try fileSystem.status(path)?.permissions ?? 0o600 } catch { throw .system(error) }
    }

    /// Opens a file that no other process has open: creates it, or recovers what the last process left.
    func openAlone(_ shared: LockFile?) throws(EngineError) -> Database {
        let isNew = try isNew()
        do throws(EngineError) {
            if isNew {
                guard options.makesFile, !options.isReadOnly else {
                    throw EngineError.notADatabase(path: path, why: .tooSmall)
                }
                try makeFile()
            }
            return try recover(shared, isNew: isNew)
        } catch {
            // Under the opening lock no other process can have used it: a file that this opening created must not stay
            // empty.
            if isNew, isMaking, shared != nil || !fileSystem.isShared, (try? isAtPath()) == true {
                try? fileSystem.remove(path)
            }
            throw error
        }
    }

    /// Opens a file that other processes have open and may be writing: their newest version counts, nothing is
    /// recovered.
    private func join(
        _ shared: LockFile, _ header: FileHeader, isDeleted: Bool = false
    ) throws(EngineError) -> Database {
        let seal = try makeSeal(header)
        let reader = try makeReader(seal)
        if isDeleted {
            guard try shared.joinDeleted(header) else { throw .lockFile(path: path + ".lock") }
        } else {
            try shared.join(header)
        }
        while true {
            guard let number = shared.newest else { throw .lockFile(path: path + ".lock") }
            // Pinned before its blocks are read, and before any session pins it, so that writers leave them alone.
            if options.mutant != .openingNotPinned { shared.pin(number, among: CollectionOfOne(number)) }
            defer { shared.unpin(number, remaining: EmptyCollection()) }
            guard shared.newest == number else { continue }
            if let slot = try readSlots(seal).first(where: { $0.slot.version == number })?.slot {
                try reader.extend(toPages: slot.highWater)
                let schema = try readSchema(slot, reader)
                let database = Database(
                    path: path, fileSystem: fileSystem, options: options, file: file, header: header, seal: seal,
                    reader: reader, slot: slot, shared: shared, schema: schema)
                try BlockWalk.checkSmall(database)
                return database
            }
            // Newer commits have been published since the number was read. If not, a writer is between slot and number,
            // or its process has ended there.
            if shared.newest == number, try !finishCommit(shared, seal, after: number) {
                throw corrupted("the newest commit's slot is damaged")
            }
        }
    }

    /// Publishes a commit whose slot is written but whose number is not. Returns false if there is none. Backs off
    /// briefly if another process holds the writer lock: that one publishes.
    private func finishCommit(
        _ shared: LockFile, _ seal: FileSeal, after number: UInt64
    ) throws(EngineError) -> Bool {
        guard try shared.tryLockWriter() else {
            CurrentThread.sleep(nanoseconds: 100_000)
            return true
        }
        defer { shared.unlockWriter() }
        guard shared.newest == number else { return true }
        let slots = try readSlots(seal)
        if slots.contains(where: { $0.slot.version == number }) { return true }
        guard let last = slots.map(\.slot.version).max(), last > number else { return false }
        do { try file.sync(.data) } catch {
            shared.noteFailure()
            throw .system(error)
        }
        shared.newest = last
        return true
    }

    private func makeSeal(_ header: FileHeader) throws(EngineError) -> FileSeal {
        try FileSeal(header, options.encryptionKey, path: path)
    }

    private func makeReader(_ seal: FileSeal) throws(EngineError) -> BlockReader {
        let reader: BlockReader
        do { reader = try BlockReader(region: try file.makeRegion(), seal: seal, path: path) } catch {
            throw .system(error)
        }
        try reader.extend(toPages: UInt64(try byteCount() >> 12))
        return reader
    }

    // MARK: Making

    func isNew() throws(EngineError) -> Bool {
        let count = try byteCount()
        if count == 0 { return true }
        guard count <= Self.newFileByteCount, !options.isReadOnly else { return false }
        let page = try readPage(at: 0)
        defer { page.deallocate() }
        guard Memory.isZero(page, FileHeader.byteCount) else { return false }
        if count >= FormatLimits.headerCopyByteOffset + FileHeader.byteCount, let header = try? headerCopy() {
            // Commit 1 is the empty database: nothing is lost by creating it again. Without the key nothing is known.
            guard let seal = try? makeSeal(header) else { return false }
            if try readSettled(seal) != nil { return false }
            let slots = try readSlots(seal)
            if !slots.isEmpty {
                guard slots.allSatisfy({ $0.slot.version <= 1 }) else { return false }
                return try !isFilled(slots, seal)
            }
        }
        // Either all zero to the end, or not created by this library.
        return try isUnfinished(count)
    }

    /// True if one of the slots leads to a class: a copy of a database has everything in commit 1.
    private func isFilled(_ slots: [CommitSlot.Placed], _ seal: FileSeal) throws(EngineError) -> Bool {
        let reader = try makeReader(seal)
        return slots.contains { placed in
            let catalog = try? Catalog.read(placed.slot.catalog, try reader.bytes(placed.slot.catalog))
            return catalog.map { !$0.tables.isEmpty || $0.schemaVersion != Catalog.neverSet } ?? false
        }
    }

    /// True for a file that an interrupted `makeFile` left: zeros except in the pages that it writes. Any other file
    /// that begins with zeros is somebody's data.
    private func isUnfinished(_ count: Int) throws(EngineError) -> Bool {
        let reserved = Int(FormatLimits.reservedPages) << 12
        // A file of another length is still being created, by a system that writes zeros to lengthen a file.
        let isLong = count == Self.newFileByteCount || count == reserved
        let firstSlot = FormatLimits.slotBByteOffset
        for offset in stride(from: 0, to: count, by: 4096) {
            let isWritten =
                offset == firstSlot || offset == FormatLimits.headerCopyByteOffset
                || (reserved..<reserved + Self.firstCommitPages << 12).contains(offset)
            if isWritten, isLong { continue }
            let page = try readPage(at: offset)
            defer { page.deallocate() }
            guard Memory.isZero(page, 4096) else { return false }
        }
        return true
    }

    private func makeFile() throws(EngineError) {
        let header = FileHeader(fileSystem: fileSystem, key: options.encryptionKey)
        let seal = try makeSeal(header)
        let sealer = Sealer()
        try sealer.reserve(encrypting: seal.cipher != nil)
        var schemaWriter = ByteWriter()
        SchemaBlock().write(&schemaWriter)
        let schema = schemaWriter.seal(.schema, into: sealer)
        var catalog = Catalog()
        catalog.schema = schema.ref
        var catalogWriter = ByteWriter()
        catalog.write(&catalogWriter)
        let catalogBlock = catalogWriter.seal(.catalog, into: sealer)
        let log = sealer.addBlock(.freeLog, byteCount: FreeLog.byteCount(freed: 0, taken: 0))
        let first = FormatLimits.reservedPages
        let pages = sealer.pageCounts.reduce(into: (next: first, starts: [UInt64]())) { result, count in
            result.starts.append(result.next)
            result.next += UInt64(count)
        }
        FreeLog.write(
            FreeLog.Record(isSnapshot: true, version: 1, highWater: pages.next, previous: .none, freed: [], taken: []),
            to: log.bytes, room: sealer.byteCount(log.ref))
        var nonce: UInt64 = 0
        withUnsafeMutableBytes(of: &nonce) { fileSystem.fillRandom($0) }
        precondition(pages.next - first <= UInt64(Self.firstCommitPages))
        sealer.place(at: pages.starts, birth: 1, nonce: nonce, seal: seal)

        var slot = CommitSlot(
            version: 1, nonce: nonce, previousDurable: 0, highWater: pages.next,
            catalog: sealer.placed(catalogBlock.ref),
            freeLog: sealer.placed(log.ref))
        slot.isTwoStep = true
        do {
            try file.truncate(0)
            try file.allocate(Self.newFileByteCount)
            try sealer.forEachSealed { ref, bytes throws(EngineError) in
                try write(UnsafeRawBufferPointer(start: bytes, count: ref.byteCount), at: Int(ref.page) << 12)
            }
            let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16)
            defer { page.deallocate() }
            slot.write(to: page, seal: seal)
            try write(UnsafeRawBufferPointer(start: page, count: 4096), at: FormatLimits.slotBByteOffset)
            header.write(to: page)
            try write(UnsafeRawBufferPointer(start: page, count: 4096), at: FormatLimits.headerCopyByteOffset)
            try file.sync(.full)
            try write(UnsafeRawBufferPointer(start: page, count: 4096), at: 0)
            try file.sync(.full)
            try fileSystem.syncDirectory(containing: path)
        } catch let error as SystemError {
            throw .system(error)
        } catch let error as EngineError {
            throw error
        } catch {
            fatalError("an error of another type: \(error)")
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
        do { try file.write(bytes, at: offset) } catch { throw .system(error) }
    }

    // MARK: Opening

    /// Finds the commit that counts, and repairs the file unless it is opened read-only. With `inUseBy`, other
    /// processes have the file open: their newest version is shown.
    func recover(
        _ shared: LockFile?, isNew: Bool = false, inUseBy others: LockFile? = nil
    ) throws(EngineError) -> Database {
        var count = try byteCount()
        let header = try readHeader(count)
        let seal = try makeSeal(header)
        let reader = try makeReader(seal)

        var rejected: [CommitSlot.Placed] = []
        var passedOver: PassedCommit?
        var (slots, damagedSlot, settled) = try findSlots(others, header, seal)
        if others != nil {
            // The other processes may have made the file longer.
            count = try byteCount()
            try reader.extend(toPages: UInt64(count >> 12))
        }
        let mended = settled.flatMap { Self.standIn($0, for: slots) }
        if let mended { Self.insert(mended, into: &slots) }
        func remainsOrThrow(_ why: EngineError) throws(EngineError) -> Database {
            guard options.takesOlderCommit, options.isReadOnly,
                let found = remains(slots.map(\.slot), header, seal, reader, why: why)
            else { throw why }
            return found
        }
        // Not if both slots hold: then the file is an earlier copy that was restored.
        if let damagedSlot, (slots.first?.slot.version ?? 0) < (lastDurable(shared, header) ?? 0) {
            return try remainsOrThrow(corrupted("the newest commit's slot is damaged", page: damagedSlot))
        }
        for placed in options.mutant == .noFallback ? Array(slots.prefix(1)) : slots {
            let slot = placed.slot
            try requireLength(count, for: slot)
            let isSettled = settled.map { $0.slot.isSameCommit(as: slot) } ?? false
            if !isSettled, passedOver == nil, let page = damagedPage(placed, settled) {
                return try remainsOrThrow(corrupted("the newest commit's slot is damaged or was replaced", page: page))
            }
            let isLong = Self.isLong(slot, byteCount: count)
            let isKnown = isSettled || others != nil
            if !isLong || !isKnown && !holdsManifest(slot, reader) {
                guard isKnown || lastDurable(shared, header) == slot.version else {
                    rejected.append(placed)
                    continue
                }
                if !isLong { return try remainsOrThrow(corrupted("the file ends before its content does")) }
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
                path: path, fileSystem: fileSystem, options: options, file: file, header: header, seal: seal,
                reader: reader, slot: slot, shared: shared, schema: schema)
            database.passedOver = passedOver
            try BlockWalk.checkSmall(database)
            // Last, so that a refused file stays unchanged.
            if !options.isReadOnly, options.mutant != .ghostCommit { try mend(header, rejected, mended, placed) }
            return database
        }
        if let passedOver { return try remainsOrThrow(passedOver.why) }
        let isCut = rejected.contains { $0.slot.highWater > UInt64(count >> 12) }
        return try remainsOrThrow(
            corrupted(isCut ? "the file ends before its content does" : "no commit of the file is whole"))
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

    /// Removes everything from the file that a later opening could mistake for the commit that counts.
    private func mend(
        _ header: FileHeader, _ rejected: [CommitSlot.Placed], _ mended: CommitSlot.Placed?,
        _ counting: CommitSlot.Placed
    ) throws(EngineError) {
        mendHeader(header)
        for bad in rejected { try clear(bad) }
        if let mended, mended.slot.version == counting.slot.version { try replace(mended, by: mended.bytes) }
        if options.mutant == .countingSlotRewritten, !rejected.isEmpty {
            try clear(counting)
            try replace(counting, by: counting.bytes)
        }
    }

    /// Syncs the file's directory: the process that created the file may have ended before its name was on stable
    /// storage.
    private func syncName() throws(EngineError) {
        do { try fileSystem.syncDirectory(containing: path) } catch {
            if error.kind != .permissionDenied { throw .system(error) }
        }
    }

    func readHeader(_ count: Int) throws(EngineError) -> FileHeader {
        guard count >= FileHeader.byteCount else {
            throw .notADatabase(path: path, why: try shortFile(count))
        }
        let page = try readPage(at: 0)
        defer { page.deallocate() }
        do throws(EngineError) {
            let header = try FileHeader(reading: page, path: path)
            guard count >= Int(FormatLimits.reservedPages) << 12 else {
                throw corrupted("the file ends before its first commit")
            }
            return header
        } catch {
            if case .unsupported = error { throw error }
            if case .notADatabase(_, .oldRealmCore) = error { throw error }
            if count >= FormatLimits.headerCopyByteOffset + FileHeader.byteCount, let copy = try? headerCopy() {
                return copy
            }
            throw error
        }
    }

    /// Rewrites page 0 if it was read from its copy. Nothing is lost if that fails.
    private func mendHeader(_ header: FileHeader) {
        guard let page = try? readPage(at: 0) else { return }
        defer { page.deallocate() }
        if (try? FileHeader(reading: page, path: path)) == header { return }
        header.write(to: page)
        try? file.write(UnsafeRawBufferPointer(start: page, count: FileHeader.byteCount), at: 0)
        try? file.sync(.data)
    }

    /// Returns the reason why a file that is too short for a header is not a database.
    private func shortFile(_ count: Int) throws(EngineError) -> EngineError.NotADatabase {
        guard count >= 24 else { return .tooSmall }
        let page = try readPage(at: 0)
        defer { page.deallocate() }
        if page.load(fromByteOffset: 16, as: UInt32.self) == 0x4244_2D54 { return .oldRealmCore }
        return page.load(as: UInt64.self) == FileHeader.magic ? .tooSmall : .wrongMagic
    }

    private func headerCopy() throws(EngineError) -> FileHeader {
        let page = try readPage(at: FormatLimits.headerCopyByteOffset)
        defer { page.deallocate() }
        return try FileHeader(reading: page, path: path)
    }

    func readSlots(_ seal: FileSeal) throws(EngineError) -> [CommitSlot.Placed] {
        do { return try CommitSlot.readAll(file, seal: seal) } catch { throw .system(error) }
    }

    /// The newest durable commit according to the lock file. Read even when the lock file is not used: before a file is
    /// opened read-only, or compacted.
    private func lastDurable(_ shared: LockFile?, _ header: FileHeader) -> UInt64? {
        if let shared { return shared.lastDurable(header) }
        guard fileSystem.isShared else { return nil }
        return LockFile(path: path, fileSystem: fileSystem, database: file).lastDurable(header)
    }

    /// The page of a slot whose hash does not hold and that was not cleared.
    func pageOfDamagedSlot(_ slots: [CommitSlot.Placed]) throws(EngineError) -> UInt64? {
        for offset in CommitSlot.byteOffsets where !slots.contains(where: { $0.byteOffset == offset }) {
            let page = try readPage(at: offset)
            defer { page.deallocate() }
            if !Memory.isZero(page, CommitSlot.byteCount) { return UInt64(offset >> 12) }
        }
        return nil
    }

    func readSettled(_ seal: FileSeal) throws(EngineError) -> CommitSlot.Placed? {
        do { return try CommitSlot.readSettled(file, seal: seal) } catch { throw .system(error) }
    }

    /// Returns the clean-shutdown record as a replacement for a damaged slot, or for the older one. Nil if a slot is as
    /// new as the record, or newer, unless the only newer one belongs to the next commit, which may have been cut
    /// short. `slots`: newest first.
    private static func standIn(_ settled: CommitSlot.Placed, for slots: [CommitSlot.Placed]) -> CommitSlot.Placed? {
        let number = settled.slot.version
        let isNext = slots.first.map { $0.slot.version > number && $0.slot.previousDurable == number } ?? false
        guard slots.dropFirst(isNext ? 1 : 0).allSatisfy({ $0.slot.version < number }) else { return nil }
        var standIn = settled
        standIn.byteOffset =
            slots.first.map { CommitSlot.otherByteOffset($0.byteOffset) } ?? FormatLimits.slotAByteOffset
        return standIn
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

    /// Reads the schema of a commit. Throws if it requires an unknown feature.
    func readSchema(_ slot: CommitSlot, _ reader: BlockReader) throws(EngineError) -> Database.KnownSchema {
        let catalog = try Catalog.read(slot.catalog, try reader.bytes(slot.catalog))
        let schema = try SchemaBlock.read(catalog.schema, try reader.bytes(catalog.schema))
        try schema.requireKnownFeatures(path)
        return Database.KnownSchema(ref: catalog.schema, schema: schema)
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

    func byteCount() throws(EngineError) -> Int {
        do { return try file.byteCount() } catch { throw .system(error) }
    }

    /// Reads 4,096 bytes at `offset`, with zeros beyond the end of the file. The caller deallocates them.
    func readPage(at offset: Int) throws(EngineError) -> UnsafeMutableRawPointer {
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16)
        Memory.zero(page, 4096)
        do {
            _ = try file.read(UnsafeMutableRawBufferPointer(start: page, count: 4096), at: offset)
            return page
        } catch {
            page.deallocate()
            throw .system(error)
        }
    }
}
