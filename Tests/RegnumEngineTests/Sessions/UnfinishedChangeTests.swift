// SPDX-License-Identifier: Apache-2.0
// Changes that find damage halfway, and versions that cannot be read when they must be shown: the transaction can only
// be rolled back, and the previous state is shown again.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct UnfinishedChangeTests {
    static let path = "/u/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "a", type: .int, isIndexed: true), NewColumn(name: "b", type: .int, isIndexed: true),
            NewColumn(name: "c", type: .int),
        ])
    static let count = 60

    enum Change: CaseIterable, Sendable { case insert, delete, deleteMany }

    private func files() -> SimulatedFileSystem { SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20) }

    /// The file opened again; only the blocks that an opening needs have been read.
    private func open(_ files: SimulatedFileSystem, _ spillLimits: SpillLimits = SpillLimits()) throws -> Session {
        var options = Database.OpenOptions()
        options.spillLimits = spillLimits
        options.checksSmallFiles = false
        options.syncDelay = nil
        return try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options).makeSession()
    }

    private func make(_ files: SimulatedFileSystem) throws {
        let session = try open(files)
        try session.beginWrite()
        try session.addTables([Self.rows])
        for number in 1...Self.count { try insert(session, number) }
        try session.commitWrite()
    }

    private func table(_ session: Session) throws -> Table { try #require(session.table(named: "Row")) }

    private func insert(_ session: Session, _ number: Int) throws {
        let table = try table(session)
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        for column in 0..<3 { try table.set(.int(Int64(number)), column, of: key) }
    }

    /// The page of the only leaf of the index of the second column.
    private func indexPage(_ session: Session) throws -> UInt64 {
        let column = try table(session).definition.columns[1].key
        let trees = try #require(try session.contents().0.tables.first).trees
        return try #require(trees.first { $0.column == column && $0.role == .index }).root.page
    }

    /// Overwrites the middle of a page; returns the old bytes.
    private func overwrite(
        _ page: UInt64, _ files: SimulatedFileSystem, with bytes: [UInt8] = [UInt8](repeating: 0xEE, count: 512)
    ) throws -> [UInt8] {
        let offset = Int(page) * 4096 + 64
        let before = Array(try #require(files.contents(of: Self.path))[offset..<offset + bytes.count])
        let file = try files.open(Self.path, .readWrite)
        defer { file.close() }
        try file.write(bytes, at: offset)
        return before
    }

    private func run(_ change: Change, _ session: Session) throws {
        let table = try table(session)
        switch change {
        case .insert: try insert(session, 1000)
        case .delete: try table.delete(ObjectKey(5))
        case .deleteMany: try table.delete((1...40).map { ObjectKey(UInt64($0)) })
        }
    }

    // A block of the second index was damaged: the object was removed from the first index, and present in the second.
    // The next commit once made that the state of the file.
    @Test("A change that found damage halfway cannot be committed", arguments: Change.allCases)
    func halfDone(change: Change) throws {
        let files = files()
        try make(files)
        let session = try open(files)
        let page = try indexPage(session)
        let good = try overwrite(page, files)
        try session.beginWrite()
        #expect(throws: EngineError.self) { try run(change, session) }
        #expect(session.isRefused)
        let error = #expect(throws: EngineError.self) { try session.commitWrite() }
        if case .corrupted(let damage)? = error {
            #expect(damage.page == page)
            #expect(damage.what.hasPrefix("a change failed halfway"))
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(!session.isWriting)
        let table = try table(session)
        #expect(table.count == Self.count)
        #expect(try table.keys(inIndexOf: 0, equalTo: .int(5)) == [ObjectKey(5)])
        #expect(try table.value(2, of: ObjectKey(5)) == .int(5))
        // The next transaction does not contain any part of the change.
        _ = try overwrite(page, files, with: good)
        try session.beginWrite()
        #expect(!session.isRefused)
        try run(change, session)
        try session.commitWrite()
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("A copy made inside a refused write is refused too, and the write can be rolled back")
    func rolledBack() throws {
        let files = files()
        try make(files)
        let session = try open(files)
        let good = try overwrite(try indexPage(session), files)
        try session.beginWrite()
        #expect(throws: EngineError.self) { try run(.delete, session) }
        #expect(throws: EngineError.self) { try session.writeCopy(to: "/u/b.realm", in: files) }
        session.rollbackWrite()
        try session.beginWrite()
        try table(session).set(.int(7), 2, of: ObjectKey(5))
        try session.commitWrite()
        _ = try overwrite(try indexPage(session), files, with: good)
        #expect(try table(session).value(2, of: ObjectKey(5)) == .int(7))
        let report = IntegrityCheck.run(session.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("Damage found by a read does not refuse the transaction")
    func read() throws {
        let files = files()
        try make(files)
        let session = try open(files)
        let good = try overwrite(try indexPage(session), files)
        try session.beginWrite()
        let table = try table(session)
        #expect(throws: EngineError.self) { try table.keys(inIndexOf: 1, equalTo: .int(3)) }
        try table.set(.int(8), 2, of: ObjectKey(3))
        try session.commitWrite()
        #expect(try table.value(2, of: ObjectKey(3)) == .int(8))
        _ = try overwrite(try indexPage(session), files, with: good)
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("A commit that found damage does not fail commits queued before or after it")
    func amongOthers() throws {
        let files = files()
        try make(files)
        let first = try open(files)
        let database = first.database
        let (second, third) = (try database.makeSession(), try database.makeSession())
        let page = try indexPage(first)
        let good = try overwrite(page, files)
        try first.beginWrite()
        try table(first).set(.int(701), 2, of: ObjectKey(1))
        try first.commitWriteLater { _ in }
        try second.beginWrite()
        #expect(try table(second).value(2, of: ObjectKey(1)) == .int(701))
        #expect(throws: EngineError.self) { try run(.delete, second) }
        #expect(throws: EngineError.self) { try second.commitWrite() }
        #expect(try table(second).value(2, of: ObjectKey(1)) == .int(701))
        try third.beginWrite()
        try table(third).set(.int(702), 2, of: ObjectKey(2))
        try third.commitWriteLater { _ in }
        _ = try overwrite(page, files, with: good)
        try database.makeDurable()
        let again = try open(files)
        #expect(try table(again).count == Self.count)
        for (key, number) in [(1, 701), (2, 702), (5, 5)] {
            #expect(try table(again).value(2, of: ObjectKey(UInt64(key))) == .int(Int64(number)))
        }
        #expect(try table(again).keys(inIndexOf: 0, equalTo: .int(5)) == [ObjectKey(5)])
        let report = IntegrityCheck.run(again.database)
        #expect(report.isClean, "\(report.findings)")
    }

    // Such a session has tables that the write replaced, holds the writer lock, and may have spilled.
    @Test("A session released in the middle of a write leaves the file unchanged, and releases the writer lock")
    func gone() throws {
        let files = files()
        try make(files)
        var session: Session? = try open(files, .small)
        let database = try #require(session?.database)
        do {
            let writer = try #require(session)
            try writer.beginWrite()
            try writer.removeAllTables()
            try writer.addTables([Self.rows])
            for number in 1...6000 { try insert(writer, number) }
            #expect(database.spaceManager.spilled != nil)
        }
        session = nil
        #expect(database.spaceManager.spilled == nil)
        // Otherwise it would wait forever for a writer lock that was not released.
        try #require(try database.tryEnterWriter())
        database.leaveWriter()
        let next = try database.makeSession()
        #expect(try table(next).count == Self.count)
        try next.beginWrite()
        try insert(next, 1000)
        try next.commitWrite()
        #expect(try table(next).keys(inIndexOf: 0, equalTo: .int(1000)).count == 1)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
    }

    // The schema of the refused version once stayed with the tables of the shown version: a copy had tables that
    // differed from its schema.
    @Test("A failed refresh keeps the shown version")
    func refresh() throws {
        let files = files()
        try make(files)
        let reader = try open(files)
        let writer = try reader.database.makeSession()
        try writer.beginWrite()
        writer.addFeature(Feature(name: "later", isRequired: true))
        try writer.addTables([NewTable(name: "Other", columns: [NewColumn(name: "n", type: .int)])])
        try writer.commitWrite()
        for _ in 0..<2 {
            #expect(throws: EngineError.unsupported(path: Self.path, feature: "later")) { try reader.refresh() }
            #expect(reader.features.isEmpty)
            #expect(reader.tables.map(\.definition.name) == ["Row"])
        }
        try reader.writeCopy(to: "/u/b.realm", in: files)
        let copy = try Database.openAsOtherProcess(path: "/u/b.realm", fileSystem: files)
        #expect(try copy.makeSession().tables.map(\.count) == [Self.count])
        #expect(IntegrityCheck.run(copy).isClean)
    }

    // MARK: After a failed sync

    private func failNextSync(_ files: SimulatedFileSystem) {
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: false, operation: "sync")
    }

    // Some file systems drop the pages that they could not write. A rollback once read the version that the write was
    // based on again, found other bytes, and crashed.
    @Test("A write can be rolled back after a failed sync lost the pages that it was based on")
    func forgottenPages() throws {
        let files = files()
        try make(files)
        let first = try open(files)
        let second = try first.database.makeSession()
        let before = try #require(files.contents(of: Self.path))
        try first.beginWrite()
        try insert(first, 1000)
        try first.commitWriteLater { _ in }
        try second.beginWrite()
        #expect(try table(second).count == Self.count + 1)
        failNextSync(files)
        #expect(throws: EngineError.self) { try first.database.makeDurable() }
        files.failure = nil
        let length = try #require(files.contents(of: Self.path)).count
        files.setContents(of: Self.path, before + [UInt8](repeating: 0, count: length - before.count))
        second.rollbackWrite()
        #expect(try table(second).count == Self.count)
        #expect(try first.comeBack())
        #expect(try table(first).count == Self.count)
        try second.beginWrite()
        try insert(second, 1001)
        try second.commitWrite()
        let report = IntegrityCheck.run(first.database)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("If a commit fails and the version before it cannot be read, the next refresh throws")
    func nothingToShow() throws {
        let files = files()
        try make(files)
        let session = try open(files)
        let page = session.database.versions.newest.catalog.page
        try session.beginWrite()
        try insert(session, 1000)
        let good = try overwrite(page, files)
        failNextSync(files)
        let error = #expect(throws: EngineError.self) { try session.commitWrite() }
        files.failure = nil
        if case .system? = error {} else { Issue.record("\(error as Any)") }
        #expect(throws: EngineError.self) { try session.refresh() }
        #expect(throws: EngineError.self) { try session.beginWrite() }
        _ = try overwrite(page, files, with: good)
        #expect(try session.refresh())
        #expect(try table(session).count == Self.count)
        try session.beginWrite()
        try insert(session, 1001)
        try session.commitWrite()
        #expect(IntegrityCheck.run(session.database).isClean)
    }
}
