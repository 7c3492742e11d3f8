// SPDX-License-Identifier: Apache-2.0
// Damaged and crafted records of kept versions: opening the file throws, or it reads as it should.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct HistoryDamageTests {
    /// A file with some kept versions, in the head and in chunks, and the pages of their record.
    static let file: (bytes: [UInt8], pages: [Int], rows: Int) = {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        do {
            // Closed when this returns, so that damage cannot look like an interrupted commit.
            let pages = try write(files, commits: 60)
            return (files.contents(of: HostileFile.path) ?? [], pages, 60)
        } catch { fatalError("\(error)") }
    }()

    /// Commits one object at a time. Returns the pages of the record: head, directory, chunks.
    private static func write(_ files: SimulatedFileSystem, commits: Int) throws -> [Int] {
        var options = Database.OpenOptions()
        options.syncDelay = nil
        let database = try Database.open(path: HostileFile.path, fileSystem: files, options: options)
        let session = try database.makeSession()
        for turn in 0..<commits {
            try session.beginWrite()
            if turn == 0 {
                try session.addTables([HistoryRun.rows])
                session.setHistory(HistoryLimits(age: .max, byteCount: 1 << 30))
            }
            let table = try #require(session.table(named: "Row"))
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(turn)), 0, of: key)
            try session.commitWrite()
        }
        return (database.spaceManager.recorded?.history?.blocks ?? []).map { Int($0.page) }
    }

    @Test("The file has a head, a directory and chunks")
    func undamaged() throws {
        #expect(Self.file.pages.count >= 3)
        #expect(try Self.read(Self.file.bytes) == Self.file.rows)
    }

    private static func open(_ bytes: [UInt8]) throws -> Database {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: HostileFile.path, bytes)
        var options = Database.OpenOptions()
        options.syncDelay = nil
        return try Database.open(path: HostileFile.path, fileSystem: files, options: options)
    }

    /// Opens the file, reads everything, and commits. Returns the number of objects before; throws the error of any
    /// step.
    private static func read(_ bytes: [UInt8]) throws -> Int {
        let database = try open(bytes)
        let session = try database.makeSession()
        let count = session.table(named: "Row")?.count ?? 0
        var numbers: [UInt64] = []
        try session.visitHistory(from: 0) { (version) throws(EngineError) in
            numbers.append(version.number)
            return true
        }
        for number in numbers.prefix(3) + numbers.suffix(3) {
            if let older = try database.makeSession(at: number), let table = older.table(named: "Row") {
                _ = try table.count > 0 ? table.value(0, of: table.key(atPosition: table.count - 1)) : .null
            }
        }
        for _ in 0..<3 {
            try session.beginWrite()
            try session.commitWrite()
        }
        _ = IntegrityCheck.run(database)
        return count
    }

    // Such a block was once found by the first call that read it, which could not throw: it ended the program.
    @Test("Damage to a block that only an older version needs is found when the version is shown, not at the opening")
    func olderVersion() throws {
        let number: UInt64 = 20
        var pages: Set<UInt64> = []
        do {
            let database = try Self.open(Self.file.bytes)
            let older = try #require(try database.makeSession(at: number))
            #expect(throws: Never.self) { try BlockTraversal.checkSmall(kept: older) }
            pages = try BlockTraversal.pages(older).subtracting(BlockTraversal.pages(database.makeSession()))
            pages.remove(older.current.catalog.page)
        }
        let page = try #require(pages.min())
        var bytes = Self.file.bytes
        bytes[Int(page) << 12 + 64] ^= 0x10
        let database = try Self.open(bytes)
        #expect(try database.makeSession().table(named: "Row")?.count == Self.file.rows)
        let older = try #require(try database.makeSession(at: number))
        #expect(throws: EngineError.self) { try BlockTraversal.checkSmall(kept: older) }
        let other = try #require(try database.makeSession(at: number + 20))
        #expect(throws: Never.self) { try BlockTraversal.checkSmall(kept: other) }
    }

    @Test("A changed byte of the record is found when the file is opened")
    func changedBytes() throws {
        for page in Self.file.pages {
            for offset in [0, 33, 40, 64, 100, 4000] {
                var bytes = Self.file.bytes
                bytes[page << 12 + offset] ^= 0x10
                #expect(throws: EngineError.self) { try Self.read(bytes) }
            }
        }
    }

    @Test("A changed byte with fresh checksums gives an error or a result, never a trap")
    func retaggedBytes() throws {
        let good = try HostileFile(Self.file.bytes)
        var opened = 0
        for page in Self.file.pages.prefix(3) {
            for offset in stride(from: 32, to: 400, by: 7) {
                for bit in [0x01, 0x80] as [UInt8] {
                    var file = good
                    file.bytes[page << 12 + offset] ^= bit
                    file.retag(page)
                    // The objects of the newest version are not damaged.
                    if let count = try? Self.read(file.bytes) {
                        opened += 1
                        #expect(count == Self.file.rows)
                    }
                }
            }
        }
        // The times of the commits are among these bytes.
        #expect(opened > 0)
    }

    @Test("A record cannot claim that an older version has more pages than the file")
    func claimsPages() throws {
        var file = try HostileFile(Self.file.bytes)
        // The first record of the first chunk begins at byte 44, its high-water mark 56 bytes later.
        let chunk = Self.file.pages[2]
        let record = chunk << 12 + 44
        withUnsafeBytes(of: UInt64(1 << 46).littleEndian) { raw in
            file.bytes.replaceSubrange(record + 56..<record + 64, with: Array(raw))
        }
        file.retag(chunk)
        let database = try Self.open(file.bytes)
        let newest = try database.makeSession()
        var found: KeptVersion?
        try newest.visitHistory(from: 0) { (version) throws(EngineError) in
            found = version
            return false
        }
        let oldest = try #require(found)
        #expect(oldest.highWater == 1 << 46)
        #expect(try #require(try database.makeSession(at: oldest.number)).highWater <= newest.highWater)
    }

    @Test("A record that names a block in use as freed is refused before the block could be overwritten")
    func namesUsedBlock() throws {
        var file = try HostileFile(Self.file.bytes)
        let chunk = try #require(Self.file.pages.last)
        // The catalog of the newest version: slots name it at byte 40.
        let protection = try file.bytes.withUnsafeBytes {
            try FileProtection(FileHeader(reading: $0.baseAddress.unsafelyUnwrapped, path: ""), nil, path: "")
        }
        let newest = CommitSlot.byteOffsets.compactMap { offset in
            file.bytes.withUnsafeBytes {
                CommitSlot(reading: $0.baseAddress.unsafelyUnwrapped + offset, protection: protection)
            }
        }.max { $0.version < $1.version }
        let catalog = try #require(newest).catalog
        // The first record of a chunk begins at byte 44, its freed blocks 68 bytes later.
        let record = chunk << 12 + 44
        try #require(file.bytes[record + 64] > 0)
        withUnsafeBytes(of: catalog.location.littleEndian) { raw in
            file.bytes.replaceSubrange(record + 68..<record + 76, with: Array(raw))
        }
        file.retag(chunk)
        #expect(throws: EngineError.self) { try Self.read(file.bytes) }
    }
}
