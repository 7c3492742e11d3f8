// SPDX-License-Identifier: Apache-2.0
// Transactions that spill: their content, the state after a rollback, their memory, and that nothing counts before the
// commit.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

extension SpillLimits {
    /// Tests spill every few hundred changes.
    static var small: SpillLimits {
        var limits = SpillLimits()
        limits.bytesPerChange = .max
        (limits.sealed, limits.changed, limits.interval) = (32_768...32_768, 131_072, 300)
        return limits
    }
}

@Suite struct SpillTests {
    static let path = "/spill/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "id", type: .int, isPrimaryKey: true),
            NewColumn(name: "text", type: .string, isIndexed: true),
            NewColumn(name: "data", type: .data),
            NewColumn(name: "next", type: .link, isNullable: true, targetName: "Row"),
        ])

    private static var options: Database.OpenOptions {
        var options = Database.OpenOptions()
        options.spillLimits = .small
        return options
    }

    /// A database with an empty table.
    private func make(_ files: some FileSystem, _ options: Database.OpenOptions = options) throws -> Session {
        let session = try Database.open(path: Self.path, fileSystem: files, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        try session.commitWrite()
        return session
    }

    private func table(_ session: Session) throws -> Table { try #require(session.table(named: "Row")) }

    private func insert(_ session: Session, _ count: Int, dataByteCount: Int = 10) throws {
        let table = try table(session)
        for _ in 0..<count {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            let number = Int(key.rawValue)
            try table.set(.int(Int64(number)), 0, of: key)
            try table.set(.string("text \(number % 500)"), 1, of: key)
            try table.set(.data([UInt8](repeating: UInt8(number & 255), count: dataByteCount)), 2, of: key)
            let before = ObjectKey(UInt64(number - 1))
            if try table.contains(before) { try table.set(.link(before), 3, of: key) }
        }
    }

    private func check(_ session: Session, count: Int, dataByteCount: Int = 10, isIdle: Bool = true) throws {
        let table = try table(session)
        try #require(table.count == count)
        for key in try table.allKeys() {
            let number = Int(key)
            #expect(try table.value(0, of: ObjectKey(key)) == .int(Int64(number)))
            #expect(try table.value(1, of: ObjectKey(key)) == .string("text \(number % 500)"))
            #expect(
                try table.value(2, of: ObjectKey(key))
                    == .data([UInt8](repeating: UInt8(number & 255), count: dataByteCount)))
        }
        if count > 10 {
            #expect(try table.keys(inIndexOf: 1, equalTo: .string("text 7")).count == (count + 493) / 500)
            #expect(try table.backlinks(to: ObjectKey(3), from: table, column: 3) == [ObjectKey(4)])
        }
        // The check waits for the writer lock.
        guard isIdle else { return }
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("A transaction reads and commits the data that it spilled")
    func commit() throws {
        let files = MemoryFileSystem()
        let session = try make(files)
        let before = session.highWater
        try session.beginWrite()
        try insert(session, 3000)
        #expect(session.space.sealer.heldByteCount < 600_000)
        #expect(try #require(session.database.spaceManager.spilled).runs.count > 0)
        #expect(try files.status(Self.path)?.byteCount ?? 0 > Int(before) << 12)
        #expect(try table(session).value(1, of: ObjectKey(5)) == .string("text 5"))
        try session.commitWrite()
        #expect(session.database.spaceManager.spilled == nil)
        try check(session, count: 3000)
        let again = try Database.openAsOtherProcess(path: Self.path, fileSystem: files).makeSession()
        try check(again, count: 3000)
    }

    @Test("Spilled long values can be changed and deleted in the same transaction")
    func blobs() throws {
        let files = MemoryFileSystem()
        let session = try make(files)
        try session.beginWrite()
        try insert(session, 1500, dataByteCount: 5000)
        let table = try table(session)
        for key in stride(from: UInt64(1), through: 1500, by: 7) {
            try table.set(.data([UInt8](repeating: UInt8(key & 255), count: 5000)), 2, of: ObjectKey(key))
        }
        for key in UInt64(1400)...1500 { try table.delete(ObjectKey(key)) }
        try session.commitWrite()
        try check(session, count: 1399, dataByteCount: 5000)
        // Blocks dropped after they were written are free again.
        let live = try BlockTraversal.pages(session).count
        #expect(Int(session.highWater) < 2 * live + 400)
    }

    @Test("A long value of a full group can be changed before the first commit without a spill")
    func changedBlob() throws {
        let session = try make(MemoryFileSystem(), Database.OpenOptions())
        try session.beginWrite()
        try insert(session, 1100, dataByteCount: 5000)
        try table(session).set(.data([9]), 2, of: ObjectKey(3))
        try session.commitWrite()
        #expect(try table(session).value(2, of: ObjectKey(3)) == .data([9]))
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("A rollback keeps the version and the free space, and the next commit reuses the pages")
    func rollback() throws {
        let files = MemoryFileSystem()
        let session = try make(files)
        try session.beginWrite()
        try insert(session, 200)
        try session.commitWrite()
        let highWater = session.highWater
        for turn in 0..<3 {
            try session.beginWrite()
            try insert(session, 2000)
            try table(session).set(.string("other"), 1, of: ObjectKey(4))
            // Blocks of the running transaction are read again before it is rolled back.
            #expect(try table(session).keys(inIndexOf: 1, equalTo: .string("text 7")).count > 3)
            session.rollbackWrite()
            #expect(session.database.spaceManager.spilled == nil)
            try check(session, count: 200)
            try session.beginWrite()
            try table(session).set(.string("text \(turn + 9)"), 1, of: ObjectKey(UInt64(turn + 9)))
            try session.commitWrite()
            try check(session, count: 200)
        }
        #expect(session.highWater < highWater + 40)
        try check(try Database.openAsOtherProcess(path: Self.path, fileSystem: files).makeSession(), count: 200)
    }

    @Test("Readers of older versions see nothing of a spill, and lose nothing to it")
    func readers() throws {
        let files = MemoryFileSystem()
        let session = try make(files)
        try session.beginWrite()
        try insert(session, 1200)
        try session.commitWrite()
        let frozen = try session.freeze()
        try session.beginWrite()
        for key in try table(session).allKeys() { try table(session).delete(ObjectKey(key)) }
        try insert(session, 2500)
        try check(frozen, count: 1200, isIdle: false)
        try session.commitWrite()
        try check(frozen, count: 1200)
        #expect(try table(session).count == 2500)
    }

    @Test("A disk that becomes full during a spill makes the commit fail")
    func fullDisk() throws {
        let files = MemoryFileSystem(capacityLimit: 300_000)
        let session = try make(files)
        try session.beginWrite()
        try insert(session, 2000, dataByteCount: 400)
        #expect(throws: EngineError.self) { try session.commitWrite() }
        #expect(try table(session).count == 0)
        files.capacityLimit = .max
        try session.beginWrite()
        try insert(session, 100)
        try session.commitWrite()
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("Few objects with very long values are spilled too")
    func longValues() throws {
        let files = MemoryFileSystem()
        var options = Database.OpenOptions()
        (options.spillLimits.sealed, options.spillLimits.changed) = (1 << 20...1 << 20, 8 << 20)
        let session = try make(files, options)
        try session.beginWrite()
        try insert(session, 300, dataByteCount: 200_000)
        #expect(session.space.sealer.heldByteCount + (try table(session)).changedByteCount < 30 << 20)
        #expect(try #require(session.database.spaceManager.spilled).runs.reduce(0) { $0 + $1.pageCount } > 8000)
        try session.commitWrite()
        try check(session, count: 300, dataByteCount: 200_000)
    }

    // Elements of collections and mixed values were once not counted: a write of few long ones did not spill.
    @Test("Few very long elements and mixed values are spilled too", arguments: [true, false])
    func longElements(isList: Bool) throws {
        var options = Database.OpenOptions()
        (options.spillLimits.sealed, options.spillLimits.changed) = (1 << 20...1 << 20, 8 << 20)
        let session = try Database.open(path: Self.path, fileSystem: MemoryFileSystem(), options: options)
            .makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "list", type: .data, collection: .list),
                    NewColumn(name: "any", type: .mixed, isNullable: true),
                ])
        ])
        let table = try table(session)
        let value = Value.data([UInt8](repeating: 7, count: 200_000))
        var key = ObjectKey.none
        for i in 0..<300 {
            if i == 0 || !isList {
                let location = try table.insertRow()
                key = location.key
                try table.finishInsert(location)
            }
            if isList {
                try table.listInsert([value], 0, of: key, at: i)
            } else {
                try table.set(value, 1, of: key)
            }
        }
        #expect(session.space.sealer.heldByteCount + table.changedByteCount < 30 << 20)
        #expect(session.database.spaceManager.spilled != nil)
        try session.commitWrite()
        if isList {
            #expect(try table.listCount(0, of: key) == 300)
            #expect(try table.listValue(0, of: key, at: 150) == value)
        } else {
            #expect(try table.value(1, of: ObjectKey(150)) == value)
        }
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("Spilled blocks are mapped from the file instead of kept in memory")
    func memory() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        let path = "/tmp/regnum-spill-\(String(word, radix: 16)).realm"
        defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
        var options = Database.OpenOptions()
        (options.spillLimits.sealed, options.spillLimits.interval) = (1 << 20...1 << 20, 1000)
        let session = try Database.open(path: path, fileSystem: PosixFileSystem.shared, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        try insert(session, 12_000, dataByteCount: 1000)
        #expect(session.space.sealer.heldByteCount < 3 << 20)
        #expect(session.space.sealer.shownByteCount > 8 << 20)
        #expect(try table(session).value(2, of: ObjectKey(5)) == .data([UInt8](repeating: 5, count: 1000)))
        try session.commitWrite()
        #expect(session.space.sealer.shownByteCount == 0)
        try check(session, count: 12_000, dataByteCount: 1000)
        // The buffer is memory again.
        try session.beginWrite()
        try insert(session, 3000, dataByteCount: 1000)
        try session.commitWrite()
        try check(session, count: 15_000, dataByteCount: 1000)
        #expect(
            try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared).makeSession()
                .table(named: "Row")?.count == 15_000)
    }

    /// Sets equal values of `byteCount` bytes in 20 objects.
    private func rewrite(_ session: Session, _ byte: UInt8, _ byteCount: Int) throws {
        let table = try table(session)
        for key in UInt64(1)...20 {
            try table.set(.data([UInt8](repeating: byte, count: byteCount)), 2, of: ObjectKey(key))
        }
    }

    @Test("A transaction overwrites its own spilled blocks, but not while a snapshot reads them")
    func rewritten() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        let path = "/tmp/regnum-spill-\(String(word, radix: 16)).realm"
        defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
        var options = Database.OpenOptions()
        (options.spillLimits.sealed, options.spillLimits.changed, options.spillLimits.interval) = (4096...4096, 4096, 5)
        options.spillLimits.bytesPerChange = .max
        let session = try Database.open(path: path, fileSystem: PosixFileSystem.shared, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        try insert(session, 20)
        try session.commitWrite()
        try session.beginWrite()
        for turn in 0..<40 { try rewrite(session, UInt8(turn), 1500) }
        try session.commitWrite()
        // The group of the objects is written 160 times, 8 pages each.
        #expect(session.highWater < 300)
        try session.beginWrite()
        try rewrite(session, 200, 1500)
        let snapshot = try session.snapshot()
        for turn in 0..<8 { try rewrite(session, UInt8(turn), 1500) }
        for key in UInt64(1)...20 {
            #expect(try table(snapshot).value(2, of: ObjectKey(key)) == .data([UInt8](repeating: 200, count: 1500)))
        }
        session.rollbackWrite()
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("Blocks that savepoints have replaced take no memory after a spill, unless a snapshot reads them")
    func dropped() throws {
        for isRead in [false, true] {
            var options = Database.OpenOptions()
            options.spillLimits.sealed = 1 << 20...1 << 20
            let session = try make(MemoryFileSystem(), options)
            let (sealer, table) = (session.space.sealer, try table(session))
            try session.beginWrite()
            try insert(session, 5)
            let savepoint = try session.beginSavepoint()
            let snapshot = try isRead ? session.snapshot() : nil
            let old = try #require(table.groups.committedRoot)
            try table.set(.string("other"), 1, of: ObjectKey(1))
            try session.release(try session.beginSavepoint())
            try session.release(savepoint)
            // The bytes 32 and 33 of a row group are the number of its objects.
            #expect(old.isPending && sealer.isDropped(old))
            #expect(sealer.bytes(old).load(fromByteOffset: 32, as: UInt16.self) == 5)
            try insert(session, 3000, dataByteCount: 1000)
            #expect(session.database.spaceManager.spilled != nil)
            #expect(sealer.bytes(old).load(fromByteOffset: 32, as: UInt16.self) == (isRead ? 5 : 0))
            withExtendedLifetime(snapshot) {}
            try session.commitWrite()
            let report = IntegrityCheck.run(session.database)
            #expect(report.isClean && table.count == 3005, "\(report.findings)")
        }
    }

    /// A value of some words for each of many rows.
    private func fill(_ table: Table, _ count: Int) throws {
        for number in 0..<count {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.string("row \(number) " + String(repeating: "y", count: 100)), 0, of: key)
        }
    }

    // When a changed list is written back, its old terms are removed from the index, read from its old blocks. These
    // were dropped by then, and full groups that were spilled in the meantime took their pages.
    @Test("Blocks dropped by an open list are not overwritten before its full-text index has read them")
    func openIndexedList() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        let path = "/tmp/regnum-spill-\(String(word, radix: 16)).realm"
        defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
        var options = Database.OpenOptions()
        // Nothing is spilled until a group is full.
        (options.spillLimits.sealed, options.spillLimits.interval) = (4096...4096, 1 << 40)
        let session = try Database.open(path: path, fileSystem: PosixFileSystem.shared, options: options).makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Note",
                columns: [NewColumn(name: "parts", type: .string, collection: .list, isContentIndexed: true)]),
            NewTable(name: "Row", columns: [NewColumn(name: "text", type: .string)]),
        ])
        let notes = try #require(session.table(named: "Note"))
        let location = try notes.insertRow()
        let key = location.key
        try notes.finishInsert(location)
        let filler = String(repeating: "x", count: 450)
        try notes.listInsert((0..<400).map { .string("word\($0) \(filler)") }, 0, of: key, at: 0)
        // Writes it back, and the groups take it to the file.
        #expect(try notes.keys(with: .word(Array("word7".utf8)), inTextIndexOf: 0) == [key])
        try fill(try table(session), 3000)
        #expect(session.space.sealer.shownByteCount > 200_000)
        try notes.listRemove(0..<400, 0, of: key)
        try fill(try table(session), 5000)
        try session.commitWrite()
        let left = try #require(session.table(named: "Note"))
        #expect(try left.keys(with: .prefix([]), inTextIndexOf: 0).isEmpty)
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // A full group once went to the file without its ref to the list's block, which was dropped before it had a page.
    // The index had to read that block: the transaction failed, and an intact file was reported as damaged.
    @Test("A list whose block is dropped before it has a page keeps its full-text index during a spill")
    func droppedBeforePlaced() throws {
        var options = Database.OpenOptions()
        // Nothing is spilled until a group is full.
        (options.spillLimits.sealed, options.spillLimits.interval) = (4096...4096, 1 << 40)
        let session = try Database.open(path: Self.path, fileSystem: MemoryFileSystem(), options: options).makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Note",
                columns: [
                    NewColumn(name: "text", type: .string),
                    NewColumn(name: "parts", type: .string, collection: .list, isContentIndexed: true),
                ])
        ])
        let notes = try #require(session.table(named: "Note"))
        let location = try notes.insertRow()
        let key = location.key
        try notes.finishInsert(location)
        let filler = String(repeating: "x", count: 450)
        try notes.listInsert((0..<10).map { .string("word\($0) \(filler)") }, 1, of: key, at: 0)
        // Writes it back, into a block that has no page.
        #expect(try notes.keys(with: .word(Array("word7".utf8)), inTextIndexOf: 1) == [key])
        let isAheadBefore = session.database.spaceManager.spilled != nil
        #expect(!isAheadBefore)
        try notes.listInsert([.string("fresh")], 1, of: key, at: 10)
        try fill(notes, 3000)
        let isAhead = session.database.spaceManager.spilled != nil
        #expect(isAhead)
        for word in ["word7", "fresh"] {
            #expect(try notes.keys(with: .word(Array(word.utf8)), inTextIndexOf: 1) == [key])
        }
        try session.commitWrite()
        let left = try #require(session.table(named: "Note"))
        #expect(try left.listCount(1, of: key) == 11)
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // MARK: Transactions that cannot spill

    /// Inserts until the transaction refuses further changes.
    private func insertUntilRefused(_ session: Session) throws {
        let error = #expect(throws: EngineError.self) {
            for _ in 0..<1000 { try insert(session, 1, dataByteCount: 20_000) }
        }
        let isLimit = if case .limit? = error { true } else { false }
        try #require(isLimit, "\(error as Any)")
    }

    /// Commits all that was inserted until then; returns the number of objects.
    private func commitRefused(_ session: Session) throws -> Int {
        let count = try table(session).count
        #expect(count > 50 && count < 1000)
        try session.commitWrite()
        #expect(try table(session).count == count)
        return count
    }

    // Such a transaction once crashed when it had outgrown its reserved address space.
    @Test(
        "A transaction in memory or of an encrypted file that grows too large rejects further changes but can commit",
        arguments: DurabilityTests.encryptions)
    func tooLarge(isEncrypted: Bool) throws {
        var options = Database.OpenOptions()
        (options.spillLimits.reserved, options.spillLimits.interval) = (4 << 20, 16)
        let key = [UInt8](repeating: 7, count: EncryptionKey.byteCount)
        if isEncrypted { options.encryptionKey = key.withUnsafeBytes { EncryptionKey($0) } }
        options.isVolatile = !isEncrypted
        let session = try make(MemoryFileSystem(), options)
        try session.beginWrite()
        for _ in 0..<2 { try insertUntilRefused(session) }
        let count = try commitRefused(session)
        try session.beginWrite()
        try insert(session, 3, dataByteCount: 20_000)
        try session.commitWrite()
        #expect(try table(session).count == count + 3)
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // Unsealed changes once did not count if a spill was possible: the commit crashed.
    @Test("A transaction with more unsealed changes than address space rejects further changes")
    func tooLargeToSeal() throws {
        var options = Database.OpenOptions()
        (options.spillLimits.reserved, options.spillLimits.interval) = (4 << 20, 16)
        let session = try make(MemoryFileSystem(), options)
        try session.beginWrite()
        try insertUntilRefused(session)
        _ = try commitRefused(session)
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // An open collection once counted half, as if its elements were numbers: the commit crashed.
    @Test("A list of long elements near the limit of address space rejects further changes but can be committed")
    func longElementsRefused() throws {
        var options = Database.OpenOptions()
        (options.spillLimits.reserved, options.spillLimits.interval) = (4 << 20, 16)
        options.isVolatile = true
        let session = try Database.open(path: Self.path, fileSystem: MemoryFileSystem(), options: options)
            .makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Row", columns: [NewColumn(name: "list", type: .string, collection: .list)])
        ])
        let table = try table(session)
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        let value = Value.string(String(repeating: "x", count: 20_000))
        // Before the others: a full group at the end would be sealed immediately.
        let error = #expect(throws: EngineError.self) {
            for _ in 0..<1000 { try table.listInsert([value], 0, of: key, at: 0) }
        }
        let isLimit = if case .limit? = error { true } else { false }
        try #require(isLimit, "\(error as Any)")
        let count = try table.listCount(0, of: key)
        #expect(count > 100 && count < 190)
        try session.commitWrite()
        #expect(try table.listCount(0, of: key) == count)
        #expect(try table.listValue(0, of: key, at: count - 1) == value)
    }

    #if Encryption
        // The first buffer once took so much that there was no room for the second of the same length. In a separate
        // process, because the other tests need address space at the same time.
        @Test("An encrypted write finds address space for both of its buffers")
        func twoBuffers() async {
            await #expect(processExitsWith: .success) {
                let byteCount = 1 << 46
                // More than half of the available space, and elsewhere more than the system grants.
                guard (try? ReservedMemory(byteCount: byteCount)) != nil else { return }
                let tests = SpillTests()
                var options = Database.OpenOptions()
                options.spillLimits.reserved = byteCount
                let key = [UInt8](repeating: 7, count: EncryptionKey.byteCount)
                options.encryptionKey = key.withUnsafeBytes { EncryptionKey($0) }
                let session = try tests.make(MemoryFileSystem(), options)
                try session.beginWrite()
                try tests.insert(session, 5)
                try session.commitWrite()
                try tests.check(session, count: 5)
            }
        }
    #endif

    @Test("A write without address space throws, and releases the writer lock")
    func noAddressSpace() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        let first = try make(files)
        var options = Database.OpenOptions()
        options.spillLimits.reserved = 1 << 60
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
            .makeSession()
        let error = #expect(throws: EngineError.self) { try session.beginWrite() }
        if case .system(let system)? = error {
            #expect(system.kind == .addressSpace)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(!session.isWriting)
        try first.beginWrite()
        try insert(first, 5)
        try first.commitWrite()
        #expect(try session.refresh())
        try check(session, count: 5)
    }
}
