// SPDX-License-Identifier: Apache-2.0
// Copies and compaction: they contain all content and no free space, and after any failure the file is the old one or
// the new one.

import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct FileCopyTests {
    private func fill(_ session: Session, _ count: Int) throws {
        try session.beginWrite()
        if session.tables.isEmpty { try session.addTables([DatabaseTests.people, SpaceTests.rows]) }
        let table = try #require(session.table(named: "Person"))
        let first = table.count
        for i in first..<first + count { _ = try DatabaseTests.insert(table, DatabaseTests.row(i)) }
        let other = try #require(session.table(named: "Row"))
        for i in other.count..<other.count + 20 { try SpaceTests.insert(other, i, i * 900) }
        try session.commitWrite()
    }

    /// Leaves older blocks with segments still in use, and free space between them.
    private func churn(_ session: Session) throws {
        for turn in 0..<12 {
            try session.beginWrite()
            let table = try #require(session.table(named: "Person"))
            for position in stride(from: turn, to: table.count, by: 7) {
                try table.set(.string("name \(position)"), 1, of: try table.key(atPosition: position))
            }
            try session.commitWrite()
        }
    }

    private func expectSame(_ copy: Database, _ session: Session) throws {
        let report = IntegrityCheck.run(copy)
        #expect(report.isClean, "\(report.findings)")
        let other = try copy.makeSession()
        #expect(other.tables.map(\.definition) == session.tables.map(\.definition))
        for (a, b) in zip(session.tables, other.tables) {
            #expect(a.count == b.count)
            for position in 0..<min(a.count, b.count) {
                let key = try a.key(atPosition: position)
                #expect(try b.key(atPosition: position) == key)
                for column in a.definition.columns.indices where a.definition.columns[column].collection == .none {
                    #expect(try a.value(column, of: key) == b.value(column, of: key))
                }
            }
        }
        try other.beginWrite()
        let table = try #require(other.table(named: "Row"))
        try SpaceTests.insert(table, 1_000_000, 10)
        try other.commitWrite()
        #expect(IntegrityCheck.run(copy).isClean)
    }

    @Test(
        "A copy has all objects with their keys and no free space, and can be written", arguments: [1, 1500, 5000])
    func copy(count: Int) throws {
        let files = MemoryFileSystem()
        let database = try Database.open(path: "/a.realm", fileSystem: files)
        let session = try database.makeSession()
        try fill(session, count)
        try churn(session)
        try session.writeCopy(to: "/b.realm", in: files)
        let copy = try Database.open(path: "/b.realm", fileSystem: files)
        #expect(IntegrityCheck.run(copy).freePages == 0)
        let (old, new) = (try files.status("/a.realm"), try files.status("/b.realm"))
        if count > 1000 { #expect((new?.byteCount ?? .max) < (old?.byteCount ?? 0)) }
        try expectSame(copy, session)
        #expect(IntegrityCheck.run(database).isClean)
    }

    /// Rows without links: the table does not check whether their targets were deleted.
    private func insertAlone(_ table: Table, _ ids: Range<Int>) throws {
        for id in ids { _ = try DatabaseTests.insert(table, DatabaseTests.row(id).dropLast() + [.null]) }
    }

    @Test("A copy made inside a write includes its changes, and the write continues")
    func insideWrite() throws {
        let files = MemoryFileSystem()
        let database = try Database.open(path: "/a.realm", fileSystem: files)
        let session = try database.makeSession()
        try fill(session, 1500)
        try session.beginWrite()
        let table = try #require(session.table(named: "Person"))
        try insertAlone(table, 1500..<1700)
        for position in 0..<300 { try table.delete(try table.key(atPosition: position * 2)) }
        try session.writeCopy(to: "/b.realm", in: files)
        try expectSame(try Database.open(path: "/b.realm", fileSystem: files), session)
        try insertAlone(table, 1700..<1800)
        for position in 0..<10 { try table.delete(try table.key(atPosition: position)) }
        #expect(table.count == 1490)
        try session.writeCopy(to: "/c.realm", in: files)
        try expectSame(try Database.open(path: "/c.realm", fileSystem: files), session)
        try session.commitWrite()
        #expect(session.table(named: "Person")?.count == 1490)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
        try session.writeCopy(to: "/d.realm", in: files)
        try expectSame(try Database.open(path: "/d.realm", fileSystem: files), session)
    }

    @Test("A copy contains no rolled-back changes")
    func afterRollback() throws {
        let files = MemoryFileSystem()
        let database = try Database.open(path: "/a.realm", fileSystem: files)
        let session = try database.makeSession()
        try fill(session, 100)
        try session.beginWrite()
        let table = try #require(session.table(named: "Person"))
        for i in 100..<200 { _ = try DatabaseTests.insert(table, DatabaseTests.row(i)) }
        try session.writeCopy(to: "/b.realm", in: files)
        session.rollbackWrite()
        try session.writeCopy(to: "/c.realm", in: files)
        try expectSame(try Database.open(path: "/c.realm", fileSystem: files), session)
        #expect(session.table(named: "Person")?.count == 100)
        #expect(IntegrityCheck.run(database).isClean)
    }

    /// Indexes hold digests of values of more than 1,000 bytes, made with the seed of the file. Copies once had a seed
    /// of their own, and a lookup of a long text found nothing in them. Now a copy keeps the seed of its source.
    @Test("The index of a copy finds long values", arguments: [false, true])
    func longIndexedValues(_ isCompacted: Bool) throws {
        let files = MemoryFileSystem()
        let texts = [1, 999, 1000, 1001, 4000].map { String(repeating: "t", count: $0) }
        do {
            let session = try Database.open(path: "/a.realm", fileSystem: files).makeSession()
            try session.beginWrite()
            try session.addTables([
                NewTable(name: "Text", columns: [NewColumn(name: "text", type: .string, isPrimaryKey: true)])
            ])
            let table = try #require(session.table(named: "Text"))
            for text in texts {
                let row = try table.insertRow()
                let key = row.key
                try table.finishInsert(row)
                try table.set(.string(text), 0, of: key)
            }
            try session.commitWrite()
            if !isCompacted { try session.writeCopy(to: "/b.realm", in: files) }
        }
        if isCompacted { #expect(try Database.compact(path: "/a.realm", fileSystem: files)) }
        let copy = try Database.open(path: isCompacted ? "/a.realm" : "/b.realm", fileSystem: files)
        let session = try copy.makeSession()
        let table = try #require(session.table(named: "Text"))
        for (number, text) in texts.enumerated() {
            #expect(try table.key(forPrimaryKey: .string(text)) == ObjectKey(UInt64(number) + 1))
        }
        let report = IntegrityCheck.run(copy)
        #expect(report.isClean, "\(report.findings)")
    }

    @Test("A copy never replaces a file")
    func existing() throws {
        let files = MemoryFileSystem()
        let session = try Database.open(path: "/a.realm", fileSystem: files).makeSession()
        try fill(session, 10)
        #expect(throws: EngineError.fileExists(path: "/a.realm")) {
            try session.writeCopy(to: "/a.realm", in: files)
        }
    }

    private func madeFile(_ files: SimulatedFileSystem) throws {
        let session = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files).makeSession()
        try fill(session, 300)
        try churn(session)
    }

    private func expectWhole(_ files: SimulatedFileSystem, _ note: String) throws {
        let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
        let report = IntegrityCheck.run(database)
        try #require(report.isClean, "\(note): \(report.findings)")
        #expect(try database.makeSession().table(named: "Person")?.count == 300, "\(note)")
    }

    @Test("A compaction that fails at any call leaves the old file or the new one, and nothing else")
    func failures() throws {
        let clean = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(clean)
        let before = clean.operationCount
        let old = clean.contents(of: "/a.realm")?.count ?? 0
        #expect(try Database.compact(path: "/a.realm", fileSystem: clean))
        #expect((clean.contents(of: "/a.realm")?.count ?? .max) < old)
        for kind in [SystemError.Kind.noSpace, .io] {
            for call in 0..<(clean.operationCount - before) {
                let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
                try madeFile(files)
                files.failure = SimulatedFailure(call: files.operationCount + call, kind: kind, isPersistent: false)
                _ = try? Database.compact(path: "/a.realm", fileSystem: files)
                files.failure = nil
                try expectWhole(files, "call \(call)")
                let others = files.paths.filter { $0 != "/a.realm" && $0 != "/a.realm.lock" }
                #expect(others.isEmpty, "call \(call) left \(others)")
            }
        }
    }

    @Test(
        "A power loss during a compaction leaves the old file or the new one",
        arguments: 1...(RunScale.isOptimized ? 3 : 1))
    func powerLoss(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let clean = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(clean)
        let before = clean.operationCount
        _ = try Database.compact(path: "/a.realm", fileSystem: clean)
        for call in 0...(clean.operationCount - before) {
            let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
            try madeFile(files)
            files.crashAfterCall(files.operationCount + call)
            _ = try? Database.compact(path: "/a.realm", fileSystem: files)
            for model in LossModel.allCases {
                try expectWhole(files.crash(model: model, random: &random), "call \(call) \(model)")
            }
        }
    }

    @Test("A file that is open, here or in another process, is not compacted")
    func open() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(files)
        do {
            let database = try Database.open(path: "/a.realm", fileSystem: files)
            #expect(try !Database.compact(path: "/a.realm", fileSystem: files))
            #expect(try Database.measure(path: "/a.realm", fileSystem: files) == nil)
            withExtendedLifetime(database) {}
        }
        do {
            let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
            #expect(try !Database.compact(path: "/a.realm", fileSystem: files))
            withExtendedLifetime(database) {}
        }
        let sizes = try #require(try Database.measure(path: "/a.realm", fileSystem: files))
        #expect(sizes.total == files.contents(of: "/a.realm")?.count && sizes.used < sizes.total)
        #expect(try Database.compact(path: "/a.realm", fileSystem: files))
        try expectWhole(files, "at the end")
    }

    @Test("A file is not compacted if its access list cannot be copied")
    func listThatCannotBeKept() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(base)
        let files = HookedFileSystem(base)
        let before = base.contents(of: "/a.realm")
        files.refusal = { request, path in
            request == .takeAccess && path.hasSuffix(".compacting")
                ? SystemError(.permissionDenied, "keep the access list of", path) : nil
        }
        #expect(throws: EngineError.self) { try Database.compact(path: "/a.realm", fileSystem: files) }
        #expect(base.contents(of: "/a.realm") == before)
        #expect(!base.paths.contains { $0.hasSuffix(".compacting") })
    }

    @Test("A file counts as unused if no process has it open, and then no process can open it during the call")
    func unused() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(files)
        func number(_ path: String) throws -> Int? {
            try Database.whileUnused(path: path, fileSystem: files) { $0 ? 7 : 0 }
        }
        do {
            let database = try Database.open(path: "/a.realm", fileSystem: files)
            #expect(try number("/a.realm") == nil)
            withExtendedLifetime(database) {}
        }
        do {
            let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files)
            #expect(try number("/a.realm") == nil)
            withExtendedLifetime(database) {}
        }
        #expect(try number("/a.realm") == 7)
        #expect(try number("/none.realm") == 0)
        let isOpening = try Database.whileUnused(path: "/a.realm", fileSystem: files) { _ in
            let other = try? files.open("/a.realm", .readWrite)
            return (try? other?.tryLock(byte: 1 << 62 + 1)) == true
        }
        #expect(isOpening == false)
    }

    private final class Kept: @unchecked Sendable {
        // Sendable, because it is passed from thread to thread.
        var session: Session?
    }

    // All openings of a process once waited for each other: a large file that was compacted when it was opened kept
    // every other file from being opened.
    @Test("Other files can be opened during a compaction, and an opening of the compacted file gets the copy")
    func othersMeanwhile() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(base)
        let files = HookedFileSystem(base)
        let monitor = Monitor()
        let opened = Lock<[Int]>([])
        func open(_ path: String) {
            #expect(
                DetachedThread.start {
                    // On a busy machine the compaction may take longer than an opening waits by default.
                    var options = Database.OpenOptions()
                    options.busyTimeout = .max
                    let count = try? Database.open(path: path, fileSystem: base, options: options)
                        .makeSession().tables.count
                    monitor.withLock {
                        opened.withLock { $0.append(count ?? -1) }
                        monitor.tellAll()
                    }
                })
        }
        func wait(for count: Int) {
            let end = MonotonicClock.now() + 1_800_000_000_000
            monitor.withLock {
                while opened.withLock({ $0.count }) < count, MonotonicClock.now() < end { monitor.wait(until: end) }
            }
        }
        files.refusal = { request, _ in
            guard request == .rename else { return nil }
            open("/a.realm")
            open("/b.realm")
            wait(for: 1)
            #expect(opened.withLock { $0 } == [0])
            return nil
        }
        #expect(try Database.compact(path: "/a.realm", fileSystem: files))
        wait(for: 2)
        #expect(opened.withLock { $0 } == [0, 2])
    }

    // Files whose last Realm was just closed could not be deleted while its last writes were being synced.
    @Test(
        "A file that is only being synced and closed counts as unused once that is done", arguments: [false, true])
    func unusedSoon(byThread: Bool) throws {
        // The call waits a second for the file, which may take longer to close on a busy machine: then again.
        var isUnused = false
        for _ in 0..<20 where !isUnused { isUnused = try becomesUnused(byThread: byThread) }
        #expect(isUnused)
    }

    private func becomesUnused(byThread: Bool) throws -> Bool {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(base)
        let files = HookedFileSystem(base)
        // The next sync is that of closing, or that of the thread.
        let isSyncing = Lock(false)
        let isWatched = Lock(false)
        files.before = { call, _ in
            guard call == .sync, isWatched.withLock({ $0 }) else { return }
            isSyncing.withLock { $0 = true }
            CurrentThread.sleep(nanoseconds: 20_000_000)
        }
        let last = Kept()
        var options = Database.OpenOptions()
        options.syncDelay = byThread ? 1_000_000 : nil
        last.session = try Database.open(path: "/a.realm", fileSystem: files, options: options).makeSession()
        last.session?.durability = .relaxed
        isWatched.withLock { $0 = true }
        try fill(try #require(last.session), 1)
        if !byThread { #expect(DetachedThread.start { last.session = nil }) }
        let end = MonotonicClock.now() + 1_800_000_000_000
        while !isSyncing.withLock({ $0 }), MonotonicClock.now() < end { CurrentThread.sleep(nanoseconds: 100_000) }
        #expect(isSyncing.withLock { $0 })
        if byThread { last.session = nil }
        return try Database.whileUnused(path: "/a.realm", fileSystem: files) { $0 } == true
    }

    // A file that could not be opened once counted as unused, whatever the reason. A file that a process with too many
    // open files asked about was deleted while another process used it, and so was a file just being created.
    @Test("A file that cannot be opened does not count as unused, and one created just then is not deleted")
    func unusedOrUnknown() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        let files = HookedFileSystem(base)
        func delete() throws -> Bool? {
            try Database.whileUnused(path: "/a.realm", fileSystem: files) { isThere in
                if isThere { try? base.remove("/a.realm") }
                return isThere
            }
        }
        var isMade = false
        files.refusal = { request, path in
            guard request == .open(.readWrite), !isMade else { return nil }
            isMade = true
            #expect(throws: Never.self) { try self.madeFile(base) }
            return SystemError(.notFound, "open", path)
        }
        #expect(try delete() == false)
        #expect(isMade && base.paths.contains("/a.realm"))

        var kind = SystemError.Kind.tooManyFiles
        files.refusal = { request, path in
            request == .open(.readWrite) ? SystemError(kind, "open", path) : nil
        }
        do {
            let database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: base)
            for refused in [SystemError.Kind.tooManyFiles, .io] {
                kind = refused
                let error = #expect(throws: EngineError.self) { try delete() }
                if case .system(let system)? = error {
                    #expect(system.kind == refused)
                } else {
                    Issue.record("\(error as Any)")
                }
            }
            // A process without write permission still sees which processes have the file open.
            kind = .permissionDenied
            #expect(try delete() == nil)
            #expect(base.paths.contains("/a.realm"))
            withExtendedLifetime(database) {}
        }
        #expect(try delete() == true)
        #expect(!base.paths.contains("/a.realm"))
    }

    // Unfinished files of killed processes once stayed for ever.
    @Test("Unfinished files have distinct names, and those of killed processes are removed")
    func temporaryFiles() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 1 << 20)
        func make() throws -> TemporaryFile {
            try TemporaryFile.make(beside: "/a.realm", permissions: 0o600, in: files)
        }
        var made: [TemporaryFile] = []
        for _ in 0..<10 { made.append(try make()) }
        #expect(Set(files.paths) == Set(made.map(\.path)) && files.paths.count == 10)
        // Killed: their locks are gone, and their names are not.
        for number in 2..<5 { made[number].file.close() }
        let next = try make()
        #expect(next.path == made[2].path && next.file.identity != made[2].file.identity)
        #expect(next.path == "/a.realm.regnum-2.tmp")
        #expect(files.paths.count == 8)
        for number in [0, 1, 5, 6, 7, 8, 9] { made[number].remove() }
        next.remove()
        #expect(files.paths == [])
    }

    @Test("The unfinished file of a killed process can be taken over, and the others are removed")
    func adoptedFile() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 1 << 20)
        func adopt(_ isWanted: (String) -> Bool) -> TemporaryFile? {
            TemporaryFile.adopt(beside: "/a.realm", in: files, where: isWanted)
        }
        var made: [TemporaryFile] = []
        for _ in 0..<4 { made.append(try TemporaryFile.make(beside: "/a.realm", permissions: 0o600, in: files)) }
        // A file in use is not taken over.
        #expect(adopt { _ in true } == nil)
        for number in 1..<4 { made[number].file.close() }
        #expect(adopt { _ in false } == nil)
        #expect(files.paths.count == 4)
        let adopted = try #require(adopt { $0 == made[2].path })
        #expect(adopted.path == made[2].path)
        #expect(Set(files.paths) == [made[0].path, made[2].path])
        // It is in use now.
        #expect(adopt { _ in true } == nil)
        TemporaryFile.removeLeftovers(beside: "/a.realm", in: files)
        #expect(files.paths.count == 2)
        adopted.remove()
        made[0].remove()
        #expect(files.paths == [])
    }

    // A failed lock once counted as taken: the next process that looked found no lock, and removed the file.
    @Test("An unfinished file that cannot be locked has a name that the cleanup does not match")
    func temporaryFileWithoutLocks() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 1 << 20)
        let files = HookedFileSystem(base)
        files.refusal = { request, path in request == .tryLock ? SystemError(.io, "lock", path) : nil }
        let made = try TemporaryFile.make(beside: "/a.realm", permissions: 0o600, in: files)
        #expect(base.paths == [made.path])
        TemporaryFile.removeLeftovers(beside: "/a.realm", in: base)
        #expect(base.paths == [made.path])
        made.remove()
        #expect(base.paths == [])
    }

    // The copy was once created with the permissions of the source and restricted afterwards: a process that opened it
    // in between could keep reading.
    @Test("Only its owner can read a copy until its permissions are known")
    func narrowFirst() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(base)
        let files = HookedFileSystem(base)
        var modes: [OpenMode] = []
        files.refusal = { request, path in
            if case .open(let mode) = request, path.hasPrefix("/b.realm"), mode.makesFiles { modes.append(mode) }
            return nil
        }
        try Database.openAsOtherProcess(path: "/a.realm", fileSystem: base).makeSession()
            .writeCopy(to: "/b.realm", in: files)
        #expect(modes == [.createNew(permissions: 0o600)])
    }

    // The temporary name of the copy belongs to another file by then.
    @Test("A copy that was renamed but may not be durable does not remove another process's file")
    func failedLast() throws {
        let base = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(base)
        let session = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: base).makeSession()
        let files = HookedFileSystem(base)
        files.refusal = { request, path in
            guard request == .syncDirectory else { return nil }
            base.setContents(of: "/b.realm.regnum-0.tmp", [1, 2, 3])
            return SystemError(.io, "sync directory", path)
        }
        #expect(throws: EngineError.self) { try session.writeCopy(to: "/b.realm", in: files) }
        #expect(base.contents(of: "/b.realm.regnum-0.tmp") == [1, 2, 3])
    }

    @Test("A copy removes the leftovers of a killed process, and does not touch a file in use")
    func leftovers() throws {
        let files = SimulatedFileSystem(seed: 5, reservedByteCount: 64 << 20)
        try madeFile(files)
        let session = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files).makeSession()
        files.setContents(of: "/b.realm.regnum-0.tmp", [1, 2, 3])
        files.setContents(of: "/b.realm.regnum-2.tmp", [1, 2, 3])
        let other = try TemporaryFile.make(beside: "/b.realm", permissions: 0o600, in: files)
        #expect(other.path == "/b.realm.regnum-0.tmp")
        files.setContents(of: "/b.realm.regnum-2.tmp", [1, 2, 3])
        try session.writeCopy(to: "/b.realm", in: files)
        #expect(files.paths == ["/a.realm", "/a.realm.lock", "/b.realm", "/b.realm.regnum-0.tmp"])
        other.remove()
        #expect(try Database.openAsOtherProcess(path: "/b.realm", fileSystem: files).makeSession().tables.count == 2)
    }

    // The copy is made beside the file and then renamed. A file that another process put there between opening and
    // locking would be overwritten with the content of the previous file.
    @Test("A file that replaces the path just then is compacted itself, and not replaced by the previous one")
    func replacedBefore() throws {
        let base = SimulatedFileSystem(seed: 4, reservedByteCount: 64 << 20)
        for (path, count) in [("/a.realm", 100), ("/b.realm", 7)] {
            try fill(try Database.open(path: path, fileSystem: base).makeSession(), count)
        }
        let files = HookedFileSystem(base)
        var isReplaced = false
        files.before = { call, _ in
            guard !isReplaced, call == .lock(byte: 1 << 62 + 1) else { return }
            isReplaced = true
            try? base.rename("/b.realm", to: "/a.realm")
        }
        #expect(try Database.compact(path: "/a.realm", fileSystem: files))
        #expect(isReplaced)
        let session = try Database.open(path: "/a.realm", fileSystem: base).makeSession()
        #expect(session.table(named: "Person")?.count == 7)
    }
}
