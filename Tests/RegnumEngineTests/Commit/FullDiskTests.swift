// SPDX-License-Identifier: Apache-2.0
// A disk that stays full: objects can be deleted, one at a time, until there is room again, and what is added instead
// takes no part of the room that this needs.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct FullDiskTests {
    static let path = "/f/a.realm"

    private func files() -> SimulatedFileSystem { SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20) }

    /// From now on no file can grow.
    private func fill(_ files: SimulatedFileSystem) {
        files.failure = SimulatedFailure(call: 0, kind: .noSpace, isPersistent: true, operation: "allocate")
    }

    private func open(_ files: SimulatedFileSystem) throws -> Session {
        try Database.openAsOtherProcess(path: Self.path, fileSystem: files).makeSession()
    }

    /// A file of at least 320 KiB with `count` objects of 300 bytes.
    private func make(_ files: SimulatedFileSystem, count: Int) throws -> Session {
        let session = try open(files)
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        for id in 0..<count { try SpaceTests.insert(try rows(session), id, 300) }
        try session.commitWrite()
        try session.database.file.allocate(320 << 10)
        return session
    }

    private func byteCount(_ files: SimulatedFileSystem) throws -> Int { try files.status(Self.path)?.byteCount ?? 0 }

    private func rows(_ session: Session) throws -> Table { try #require(session.table(named: "Row")) }

    private func insert(_ session: Session, _ id: Int, _ byteCount: Int) throws {
        try session.beginWrite()
        try SpaceTests.insert(try rows(session), id, byteCount)
        try session.commitWrite()
    }

    /// Inserts objects, each in its own transaction, until the disk has no room. Returns their number.
    private func insertUntilFull(_ session: Session, from first: Int, byteCount: Int) throws -> Int {
        for id in first..<first + 20_000 {
            do { try insert(session, id, byteCount) } catch EngineError.system(let error) {
                #expect(error.kind == .noSpace)
                return id - first
            }
        }
        Issue.record("20,000 objects fit into a file that cannot grow")
        return 0
    }

    private func delete(_ session: Session, at position: Int) throws {
        try session.beginWrite()
        let table = try rows(session)
        try table.delete(try table.key(atPosition: position))
        try session.commitWrite()
    }

    @Test(
        "On a full disk objects can be deleted one at a time, until none is left",
        arguments: [0, 40, 1500], [CommitDurability.full, .paranoid, .relaxed])
    func deletions(count: Int, durability: CommitDurability) throws {
        let files = files()
        let session = try make(files, count: count)
        session.durability = durability
        fill(files)
        let added = try insertUntilFull(session, from: count, byteCount: 300)
        let length = try byteCount(files)
        var random = SeededRandom(seed: 8)
        let total = count + added
        #expect(try rows(session).count == total)
        // Of large files only the first deletions matter: the rest has room.
        for done in 0..<min(total, 60) {
            try delete(session, at: total > 1024 ? 0 : random.below(total - done))
            #expect(try rows(session).count == total - done - 1)
        }
        #expect(try byteCount(files) <= length)
        if total <= 60 { #expect(try rows(session).count == 0) }
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("After deletions on a full disk, new objects take the place of the deleted ones")
    func roomAgain() throws {
        let files = files()
        let session = try make(files, count: 40)
        fill(files)
        let added = try insertUntilFull(session, from: 40, byteCount: 2000)
        #expect(added > 0)
        while try rows(session).count > 0 { try delete(session, at: 0) }
        #expect(try insertUntilFull(session, from: 1000, byteCount: 2000) > 0)
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    /// Also if it writes so much that it would spill.
    @Test("A deletion of most objects commits on a full disk", arguments: [false, true])
    func largeDeletion(spills: Bool) throws {
        let files = files()
        let first = try make(files, count: 6000)
        fill(files)
        _ = try insertUntilFull(first, from: 6000, byteCount: 300)
        var options = Database.OpenOptions()
        if spills { options.spillLimits.sealed = 8 << 10...16 << 10 }
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
            .makeSession()
        try session.beginWrite()
        let table = try rows(session)
        let count = table.count
        for position in stride(from: count - 1, through: 0, by: -1) where position % 8 != 0 {
            try table.delete(try table.key(atPosition: position))
        }
        try session.commitWrite()
        #expect(try rows(session).count == (count + 7) / 8)
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    /// A buffer of objects from which two small ones go for each large one that comes.
    @Test("Replacing small objects by large ones leaves the spare pages")
    func growingReplacements() throws {
        let files = files()
        let session = try make(files, count: 400)
        fill(files)
        _ = try insertUntilFull(session, from: 400, byteCount: 300)
        for id in 10_000..<10_400 {
            guard try rows(session).count > 2 else { break }
            try session.beginWrite()
            let table = try rows(session)
            for _ in 0..<2 { try table.delete(try table.key(atPosition: 0)) }
            try SpaceTests.insert(table, id, 20_000)
            do { try session.commitWrite() } catch EngineError.system(let error) { #expect(error.kind == .noSpace) }
        }
        for _ in 0..<3 { try delete(session, at: 0) }
    }

    @Test("A process that opens the full file can delete, and its first attempt succeeds")
    func otherProcess() throws {
        let files = files()
        let session = try make(files, count: 40)
        fill(files)
        _ = try insertUntilFull(session, from: 40, byteCount: 300)
        let other = try open(files)
        let count = try rows(other).count
        try delete(other, at: 0)
        #expect(try rows(other).count == count - 1)
    }

    @Test("A transaction that shortens values without deleting objects makes room too")
    func shorterValues() throws {
        let files = files()
        let session = try make(files, count: 0)
        fill(files)
        let count = try insertUntilFull(session, from: 0, byteCount: 9000)
        #expect(count > 0)
        #expect(throws: EngineError.self) { try insert(session, 5000, 9000) }
        for position in 0..<count {
            try session.beginWrite()
            let table = try rows(session)
            try table.set(.data([1]), 2, of: try table.key(atPosition: position))
            try session.commitWrite()
        }
        try insert(session, 5000, 9000)
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("A power loss during deletions on a full disk loses no commit", arguments: LossModel.allCases)
    func powerLoss(model: LossModel) throws {
        let files = files()
        let session = try make(files, count: 20)
        fill(files)
        _ = try insertUntilFull(session, from: 20, byteCount: 300)
        var random = SeededRandom(seed: 4)
        for _ in 0..<10 {
            try delete(session, at: 0)
            let image = files.crash(model: model, random: &random)
            image.failure = nil
            let found = try open(image)
            #expect(try rows(found).count == rows(session).count)
            #expect(IntegrityCheck.run(found.database).isClean)
        }
    }

    @Test("Before the disk is full, a file has the spare pages")
    func spare() throws {
        let files = files()
        let session = try make(files, count: 3000)
        for id in 3000..<3200 {
            try insert(session, id, 300)
            let room = try byteCount(files) - (Int(session.highWater) << 12)
            // At most 512 KiB.
            #expect(room >= min(Int(session.highWater) / 8, 128) << 12)
        }
    }
}
