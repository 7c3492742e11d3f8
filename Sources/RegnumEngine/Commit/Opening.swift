// SPDX-License-Identifier: Apache-2.0
// Opens the database at a path: creates a new file, or finds the newest complete commit of an existing one.
//
// Creating a file: everything but page 0 is written and synced, then page 0. A crash in between leaves a file whose
// first page is zero, no longer than a new file and without any commit after the first: it is created again. A torn
// page 0 is read from its copy and rewritten.
//
// Finding the commit: see `Opening+Recovery.swift`.

import RegnumSystem

/// A damaged commit that was skipped, or salvaged, when a file was opened for inspection.
package struct PassedCommit: Sendable {
    package var number: UInt64
    package var why: EngineError
    /// True if the commit's readable remains are shown; false if the commit before it is shown.
    package var isShown = false
    /// A description for messages.
    package var words: String {
        "commit \(number): \(why.damage); "
            + (isShown ? "its readable parts are shown" : "the commit before it is shown")
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

    /// Returns nil if the path refers to another file by now: then it must be opened again. `deadline` limits the wait
    /// for other processes.
    func makeDatabase(until deadline: UInt64 = FairLock.never) throws(EngineError) -> Database? {
        do throws(EngineError) {
            guard fileSystem.isShared else { return try openAlone(nil) }
            if options.isReadOnly { return try openToRead() }
            // A file that is not a database is refused before a lock file is created next to it.
            if try !isNew() { _ = try makeProtection(try readHeader(try byteCount())) }
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
            let database = try recover(shared, isNew: isNew)
            // A seeded bug may overwrite pages in use.
            database.reader.setTrusted(isNew && options.mutant == nil)
            return database
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
        let protection = try makeProtection(header)
        let reader = try makeReader(protection)
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
            if let slot = try readSlots(protection).first(where: { $0.slot.version == number })?.slot {
                try reader.extend(toPages: slot.highWater)
                let schema = try readSchema(slot, reader)
                let database = Database(
                    path: path, fileSystem: fileSystem, options: options, file: file, header: header,
                    protection: protection, reader: reader, slot: slot, shared: shared, schema: schema)
                try BlockTraversal.checkSmall(database)
                return database
            }
            // Newer commits have been published since the number was read. If not, a writer is between slot and number,
            // or its process has ended there.
            if shared.newest == number, try !finishCommit(shared, protection, after: number) {
                throw corrupted("the newest commit's slot is damaged")
            }
        }
    }

    /// Publishes a commit whose slot is written but whose number is not. Returns false if there is none. Backs off
    /// briefly if another process holds the writer lock: that one publishes.
    private func finishCommit(
        _ shared: LockFile, _ protection: FileProtection, after number: UInt64
    ) throws(EngineError) -> Bool {
        guard try shared.tryLockWriter() else {
            CurrentThread.sleep(nanoseconds: 100_000)
            return true
        }
        defer { shared.unlockWriter() }
        guard shared.newest == number else { return true }
        let slots = try readSlots(protection)
        if slots.contains(where: { $0.slot.version == number }) { return true }
        guard let last = slots.map(\.slot.version).max(), last > number else { return false }
        shared.beginSync()
        defer { shared.endSync() }
        do { try file.sync(.data) } catch {
            shared.noteFailure()
            throw .system(error)
        }
        shared.newest = last
        return true
    }

    func makeProtection(_ header: FileHeader) throws(EngineError) -> FileProtection {
        try FileProtection(header, options.encryptionKey, path: path)
    }

    func makeReader(_ protection: FileProtection) throws(EngineError) -> BlockReader {
        let reader: BlockReader
        do { reader = try BlockReader(region: try file.makeRegion(), protection: protection, path: path) } catch {
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
            guard let protection = try? makeProtection(header) else { return false }
            if try readSettled(protection) != nil { return false }
            let slots = try readSlots(protection)
            if !slots.isEmpty {
                guard slots.allSatisfy({ $0.slot.version <= 1 }) else { return false }
                return try !isFilled(slots, protection)
            }
        }
        // Either all zero to the end, or not created by this library.
        return try isUnfinished(count)
    }

    /// True if the catalog of a slot has a class or a schema version: a copy of a database has everything in commit 1.
    private func isFilled(_ slots: [CommitSlot.Placed], _ protection: FileProtection) throws(EngineError) -> Bool {
        let reader = try makeReader(protection)
        return slots.contains { placed in
            let catalog = try? Catalog.read(placed.slot.catalog, try reader.bytes(placed.slot.catalog))
            return catalog.map { !$0.tables.isEmpty || $0.schemaVersion != Catalog.neverSet } ?? false
        }
    }

    /// True for a file that an interrupted `makeFile` left: zeros except in the pages that it writes. Any other file
    /// that begins with zeros contains data of another program.
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
        let protection = try makeProtection(header)
        let sealer = Sealer()
        try sealer.reserve(encrypting: protection.cipher != nil)
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
        sealer.place(at: pages.starts, birth: 1, nonce: nonce, protection: protection)

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
            slot.write(to: page, protection: protection)
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

    // MARK: Reading

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

    func readSlots(_ protection: FileProtection) throws(EngineError) -> [CommitSlot.Placed] {
        do { return try CommitSlot.readAll(file, protection: protection) } catch { throw .system(error) }
    }

    func readSettled(_ protection: FileProtection) throws(EngineError) -> CommitSlot.Placed? {
        do { return try CommitSlot.readSettled(file, protection: protection) } catch { throw .system(error) }
    }

    /// Reads the schema of a commit. Throws if it requires an unknown feature.
    func readSchema(_ slot: CommitSlot, _ reader: BlockReader) throws(EngineError) -> Database.KnownSchema {
        let catalog = try Catalog.read(slot.catalog, try reader.bytes(slot.catalog))
        let schema = try SchemaBlock.read(catalog.schema, try reader.bytes(catalog.schema))
        try schema.requireKnownFeatures(path)
        return Database.KnownSchema(ref: catalog.schema, schema: schema)
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
