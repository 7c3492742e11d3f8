// SPDX-License-Identifier: Apache-2.0
// A file that is more than half free shrinks with the small commits that follow: each moves a few blocks from the end
// forward, and only the file's length changes.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

extension ShrinkLimits {
    /// Small limits, so that files of some hundred kilobytes shrink too.
    static var small: ShrinkLimits {
        var limits = ShrinkLimits()
        (limits.minimumPages, limits.pages, limits.visits) = (24, 12, 40)
        return limits
    }
}

@Suite struct ShrinkTests {
    static let path = "/s/a.realm"
    static let tables = [
        NewTable(
            name: "Row",
            columns: [
                NewColumn(name: "id", type: .int, isPrimaryKey: true),
                NewColumn(name: "name", type: .string, isIndexed: true),
                NewColumn(name: "data", type: .data),
                NewColumn(name: "numbers", type: .int, collection: .list),
                NewColumn(name: "other", type: .link, isNullable: true, targetName: "Row"),
                NewColumn(name: "words", type: .string, isContentIndexed: true),
            ]),
        NewTable(name: "Counter", columns: [NewColumn(name: "commits", type: .int)]),
    ]

    private static var options: Database.OpenOptions {
        var options = Database.OpenOptions()
        options.elementTreeLimits.leafByteCount = 400
        options.elementTreeLimits.fanOut = 4
        return options
    }

    private func write(_ session: Session, _ body: (Table) throws -> Void) throws {
        try session.beginWrite()
        try body(try #require(session.table(named: "Row")))
        try session.commitWrite()
    }

    private func insert(_ table: Table, _ id: Int, dataBytes: Int) throws {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        try table.set(.int(Int64(id)), 0, of: key)
        try table.set(.string("name \(id * 7919 % 1000)"), 1, of: key)
        try table.set(.data([UInt8](repeating: UInt8(id & 255), count: dataBytes)), 2, of: key)
        try table.set(.string("word\(id % 13) of \(id)"), 5, of: key)
    }

    /// A file with some megabytes of deleted objects before others that stay: with long values, large lists, links,
    /// indexes, and groups of which parts lie in older blocks.
    private func fill(_ session: Session, gone: Int = 600, kept: Int = 60) throws {
        try session.beginWrite()
        try session.addTables(Self.tables)
        let counter = try #require(session.table(named: "Counter"))
        try counter.finishInsert(try counter.insertRow())
        try session.commitWrite()
        try write(session) { table in for id in 0..<gone { try insert(table, id, dataBytes: 12_000) } }
        for part in 0..<3 {
            try write(session) { table in
                for id in 0..<kept {
                    try insert(table, gone + part * kept + id, dataBytes: id % 3 == 0 ? 6000 : 1500)
                }
            }
        }
        try write(session) { table in
            for row in stride(from: gone, to: gone + 3 * kept, by: 4) {
                let key = try table.key(atPosition: row)
                try table.listInsert((0..<(row % 7) * 40).map { .int(Int64($0 * row)) }, 3, of: key, at: 0)
                try table.set(.link(try table.key(atPosition: gone + row % (2 * kept))), 4, of: key)
            }
        }
        // The groups' other columns stay in their older blocks.
        try write(session) { table in try table.set(.int(-5), 0, of: try table.key(atPosition: gone + kept)) }
        try write(session) { table in
            try table.delete((0..<gone).map { try table.key(atPosition: $0) })
        }
    }

    private func count(_ session: Session, _ value: Int64) throws {
        try session.beginWrite()
        try #require(session.table(named: "Counter")).set(.int(value), 0, of: ObjectKey(1))
        try session.commitWrite()
    }

    /// All values of all objects.
    private func contents(_ session: Session) throws -> [[Value]] {
        let table = try #require(session.table(named: "Row"))
        return try (0..<table.count).map { position in
            let key = try table.key(atPosition: position)
            let values = try [0, 1, 2, 4, 5].map { try table.value($0, of: key) }
            let links = try table.backlinkCount(to: key, from: table, column: 4)
            #expect(try table.key(forPrimaryKey: values[0]) == key)
            let list = try table.listValues(3, of: key)
            return [.int(Int64(key.rawValue)), .int(Int64(links)), .int(Int64(list.count))] + values + list
        }
    }

    @Test("Small commits shrink a file that is mostly free; each moves few blocks and changes nothing else")
    func follows() throws {
        let files = MemoryFileSystem()
        var database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        var session = try database.makeSession()
        try fill(session)
        let expected = try contents(session)
        let long = try SpaceTests.fileByteCount(files)
        #expect(long > 7 << 20)
        var before = try session.freeze()
        var pages = try BlockTraversal.pages(session)
        for turn in 0..<60 {
            try count(session, Int64(turn + 1))
            let now = try BlockTraversal.pages(session)
            let limits = ShrinkLimits()
            #expect(now.subtracting(pages).count <= limits.singlePages + 30, "turn \(turn)")
            pages = now
            let changes = try session.changes(since: before)
            #expect(
                changes.map(\.table.rawValue) == [2] && changes.first?.modified.count == 1, "turn \(turn): \(changes)")
            before = try session.freeze()
            if turn % 20 == 10 {
                #expect(IntegrityCheck.run(database).isClean)
                // Shrinking continues after the database is reopened.
                before = try database.makeSession().freeze()
                database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
                session = try database.makeSession()
                before = try session.freeze()
            }
        }
        #expect(try contents(session) == expected)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
        let short = try SpaceTests.fileByteCount(files)
        #expect(short < (pages.count << 12) * 3, "\(pages.count) pages are needed, \(short >> 12) there")
        #expect(short < long / 2)
    }

    @Test("A database in memory shrinks with commits that no thread waits for")
    func inMemory() throws {
        let database = try Database.openInMemory(identifier: "shrink in memory")
        let session = try database.makeSession()
        try fill(session)
        let expected = try contents(session)
        let long = try database.file.byteCount()
        for turn in 0..<60 {
            try session.beginWrite()
            try #require(session.table(named: "Counter")).set(.int(Int64(turn)), 0, of: ObjectKey(1))
            try session.commitWriteLater { error in #expect(error == nil) }
        }
        #expect(try contents(session) == expected)
        let short = try database.file.byteCount()
        #expect(short < long / 2, "\(short) of \(long)")
    }

    // The pages that a commit of more than a MiB spills take the space to which blocks would be moved.
    @Test("Commits of some MiB shrink a file, too")
    func followsLarge() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try fill(session, gone: 1800)
        let expected = try contents(session)
        let long = try SpaceTests.fileByteCount(files)
        for turn in 0..<40 {
            try write(session) { table in
                let key = try table.key(atPosition: 0)
                try table.set(.data([UInt8](repeating: UInt8(turn), count: 3 << 19)), 2, of: key)
            }
        }
        #expect(try contents(session).dropFirst() == expected.dropFirst())
        #expect(IntegrityCheck.run(database).isClean)
        let short = try SpaceTests.fileByteCount(files)
        #expect(short < long / 2, "\(short) of \(long)")
    }

    @Test("Blocks of a pinned version are not moved; after the pin is released, the file is truncated")
    func pinned() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try fill(session, gone: 400)
        try count(session, 1)
        var pin: Session? = try session.freeze()
        let expected = try pin.map { try contents($0) }
        let pages = try BlockTraversal.pages(session)
        let high = session.highWater
        for turn in 0..<25 { try count(session, Int64(turn + 2)) }
        #expect(session.highWater > high * 9 / 10)
        #expect(try pin.map { try contents($0) } == expected)
        #expect(try pin.map { try BlockTraversal.pages($0) } == pages)
        // All blocks have been moved once and not again.
        let settled = try BlockTraversal.pages(session)
        try count(session, 90)
        #expect(try BlockTraversal.pages(session).subtracting(settled).count < 8)
        pin = nil
        for turn in 0..<4 { try count(session, Int64(turn + 100)) }
        #expect(session.highWater < high / 2)
        #expect(try contents(session) == expected)
        #expect(IntegrityCheck.run(database).isClean)
    }

    @Test("Transactions that change objects at the end, or drop a column, keep the moved blocks consistent")
    func changing() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try fill(session)
        let high = session.highWater
        var names: [UInt64: String] = [:]
        for turn in 0..<50 {
            try session.beginWrite()
            var table = try #require(session.table(named: "Row"))
            if turn == 4 {
                try session.reshape(
                    session.tables.map { table in
                        var definition = table.definition
                        definition.columns.removeAll { $0.name == "data" }
                        return definition
                    })
                table = try #require(session.table(named: "Row"))
            }
            for step in 0..<3 {
                let key = try table.key(atPosition: (turn * 37 + step * 11) % table.count)
                names[key.rawValue] = "turn \(turn)"
                try table.set(.string("turn \(turn)"), 1, of: key)
                let list = turn < 4 ? 3 : 2
                try table.listInsert([.int(Int64(turn))], list, of: key, at: 0)
            }
            if turn % 5 == 3 { session.rollbackWrite() } else { try session.commitWrite() }
            if turn % 5 == 3 { for (key, name) in names where name == "turn \(turn)" { names[key] = nil } }
            if turn % 10 == 9 { #expect(IntegrityCheck.run(database).isClean, "turn \(turn)") }
        }
        let table = try #require(session.table(named: "Row"))
        for (key, name) in names {
            let found = try table.value(1, of: ObjectKey(key))
            #expect(found != .string("") && (found == .string(name) || name.isEmpty))
        }
        #expect(session.highWater < high / 2)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
    }

    // Blocks that the transaction had sealed were dropped while others moved, and the range of the moved ones was
    // wrong; if more were dropped than moved, the commit crashed.
    @Test("A block that a transaction has sealed twice moves once")
    func sealedTwice() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([
            NewTable(name: "Gone", columns: [NewColumn(name: "data", type: .data)]),
            NewTable(name: "Wide", columns: (0..<10).map { NewColumn(name: "c\($0)", type: .double) }),
        ])
        try session.commitWrite()
        func table(_ name: String) throws -> Table { try #require(session.table(named: name)) }
        func set(_ column: Int, _ rows: Range<Int>, _ factor: Double) throws {
            for row in rows {
                try table("Wide").set(.double(Double(row) * factor), column, of: table("Wide").key(atPosition: row))
            }
        }
        try session.beginWrite()
        for id in 0..<400 {
            let location = try table("Gone").insertRow()
            try table("Gone").finishInsert(location)
            try table("Gone").set(.data([UInt8](repeating: UInt8(id & 255), count: 12_000)), 0, of: location.key)
        }
        try session.commitWrite()
        try session.beginWrite()
        for _ in 0..<1000 { try table("Wide").finishInsert(try table("Wide").insertRow()) }
        for column in 0..<10 { try set(column, 0..<1000, .pi * Double(column + 1)) }
        try session.commitWrite()
        try session.beginWrite()
        try table("Gone").delete((0..<400).map { try table("Gone").key(atPosition: $0) })
        try session.commitWrite()
        let high = session.highWater
        for turn in 0..<4 {
            try session.beginWrite()
            try set(0, 0..<1000, 1.1 + Double(turn))
            try session.writeCopy(to: "/s/copy\(turn).realm", in: files)
            try set(1, 0..<1, 5)
            try session.commitWrite()
            #expect(IntegrityCheck.run(database).isClean, "turn \(turn)")
        }
        #expect(session.highWater < high / 2)
        for row in [0, 1, 500, 999] {
            let key = try table("Wide").key(atPosition: row)
            #expect(try table("Wide").value(0, of: key) == .double(Double(row) * 4.1))
            #expect(try table("Wide").value(9, of: key) == .double(Double(row) * (.pi * 10)))
        }
    }

    // Within a row group the traversal once restarted with each commit: a group with more large collections than a
    // commit visits stopped it for good, and the file never shrank.
    @Test("A traversal that one commit cannot finish continues with the next")
    func fewVisits() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var options = Self.options
        options.shrinkLimits.visits = 8
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
        let session = try database.makeSession()
        try fill(session)
        let expected = try contents(session)
        let long = try SpaceTests.fileByteCount(files)
        for turn in 0..<100 { try count(session, Int64(turn + 1)) }
        #expect(try SpaceTests.fileByteCount(files) < long / 2)
        #expect(try contents(session) == expected)
    }

    @Test("A damaged block at the end fails no commit that does not need it")
    func damaged() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var options = Self.options
        options.checksSmallFiles = false
        var database: Database? = try Database.open(path: Self.path, fileSystem: files, options: options)
        var session = try database?.makeSession()
        try session.map { try fill($0, gone: 300) }
        // Not the pages of the last commit, which every other commit needs.
        let old = try session.map { try BlockTraversal.pages($0) } ?? []
        try session.map { try count($0, 0) }
        let far = try session.map { try BlockTraversal.pages($0).intersection(old).sorted().suffix(40) } ?? []
        #expect(far.count == 40)
        (session, database) = (nil, nil)
        var bytes = try #require(files.contents(of: Self.path))
        for page in far { bytes[Int(page) << 12 + 100] ^= 1 }
        files.setContents(of: Self.path, bytes)
        database = try Database.open(path: Self.path, fileSystem: files, options: options)
        session = try database?.makeSession()
        for turn in 0..<10 { try session.map { try count($0, Int64(turn + 1)) } }
        let counter = try #require(session?.table(named: "Counter"))
        #expect(try counter.value(0, of: ObjectKey(1)) == .int(10))
    }

    @Test("A block too long to move stays, and commits do not search for space for it repeatedly")
    func tooLong() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try fill(session, gone: 1200)
        try write(session) { table in
            try table.set(.data([UInt8](repeating: 3, count: 2 << 20)), 2, of: try table.key(atPosition: 0))
        }
        for turn in 0..<60 { try count(session, Int64(turn + 1)) }
        #expect(database.spaceManager.shrinking.rest != nil || Int(session.highWater) < 3 << 9)
        let settled = try BlockTraversal.pages(session)
        try count(session, 90)
        #expect(try BlockTraversal.pages(session).subtracting(settled).count < 8)
        #expect(IntegrityCheck.run(database).isClean)
    }

    /// A file that is mostly free, in a state in which every small commit shrinks it.
    private func mostlyFree() throws -> (bytes: [UInt8], contents: [[Value]], options: Database.OpenOptions) {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var options = Self.options
        options.syncDelay = nil
        let database = try Database.open(path: Self.path, fileSystem: files, options: options)
        let session = try database.makeSession()
        try fill(session, gone: 90, kept: 20)
        options.shrinkLimits = .small
        return (try #require(files.contents(of: Self.path)), try contents(session), options)
    }

    /// The opening process has read the newest version and has not published its pin yet.
    @Test("A file is not truncated while another process opens it")
    func opening() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: Self.options)
        let session = try database.makeSession()
        try fill(session)
        let long = try SpaceTests.fileByteCount(files)
        let other = try files.open(Self.path, .readWrite)
        defer { other.close() }
        #expect(try other.tryLock(byte: 1 << 62 + 1))
        for turn in 0..<60 { try count(session, Int64(turn + 1)) }
        #expect(try SpaceTests.fileByteCount(files) >= long)
        other.unlock(byte: 1 << 62 + 1)
        try count(session, 61)
        #expect(try SpaceTests.fileByteCount(files) < long / 2)
    }

    @Test("Any failing call of a commit that moves blocks leaves the content unchanged, and shrinking continues")
    func failures() throws {
        let (bytes, expected, options) = try mostlyFree()
        var failed = 0
        for call in stride(from: 0, to: 12, by: RunScale.isOptimized ? 1 : 4) {
            let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
            files.setContents(of: Self.path, bytes)
            do {
                let database = try Database.open(path: Self.path, fileSystem: files, options: options)
                let session = try database.makeSession()
                try count(session, 1)
                let pages = try BlockTraversal.pages(session)
                files.failure = SimulatedFailure(call: files.operationCount + call, kind: .io, isPersistent: false)
                do { try count(session, 2) } catch { failed += 1 }
                files.failure = nil
                for value in 3..<6 { try count(session, Int64(value)) }
                #expect(try BlockTraversal.pages(session).subtracting(pages).count > 4)
            }
            let database = try Database.open(path: Self.path, fileSystem: files, options: options)
            let report = IntegrityCheck.run(database)
            #expect(report.isClean, "call \(call): \(report.findings)")
            #expect(try contents(try database.makeSession()) == expected)
        }
        #expect(failed >= 1)
    }

    @Test("A crash image of a commit that moves blocks holds the whole content")
    func crashes() throws {
        let (bytes, expected, options) = try mostlyFree()
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        files.setContents(of: Self.path, bytes)
        let images = Mutex<[SimulatedFileSystem]>([])
        let random = Mutex(SeededRandom(seed: 77))
        let database = try Database.open(path: Self.path, fileSystem: files, options: options)
        let session = try database.makeSession()
        files.beforeSync = { files in
            random.withLock { random in
                let model = LossModel.allCases[random.below(LossModel.allCases.count)]
                let kept = random.below(files.pendingOperationCount + 1)
                let image = files.crash(keepingFirst: kept, model: model, random: &random)
                images.withLock { $0.append(image) }
            }
        }
        let turns = RunScale.isOptimized ? 40 : 5
        for turn in 0..<turns { try count(session, Int64(turn + 1)) }
        files.beforeSync = nil
        #expect(try contents(session) == expected)
        let all = images.withLock { $0 }
        #expect(all.count >= turns)
        for image in all {
            let database = try Database.open(path: Self.path, fileSystem: image, options: options)
            let report = IntegrityCheck.run(database)
            #expect(report.isClean, "\(report.findings)")
            #expect(try contents(try database.makeSession()) == expected)
        }
    }
}
