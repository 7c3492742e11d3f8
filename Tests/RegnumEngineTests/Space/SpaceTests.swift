// SPDX-License-Identifier: Apache-2.0
// The maximum size of a file: at every commit at most the peak of live data and pinned versions, plus twice the largest
// transaction, and an eighth more. Also the space that it releases, and that memory does not grow with the number of
// commits.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct SpaceTests {
    static let path = "/s/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "id", type: .int, isPrimaryKey: true), NewColumn(name: "text", type: .string),
            NewColumn(name: "data", type: .data),
        ])

    static func insert(_ table: Table, _ id: Int, _ byteCount: Int) throws {
        let location = try table.insertRow()
        let key = location.key
        try table.finishInsert(location)
        try table.set(.int(Int64(id)), 0, of: key)
        try table.set(.string("row \(id)"), 1, of: key)
        try table.set(.data([UInt8](repeating: UInt8(id & 255), count: byteCount)), 2, of: key)
    }

    /// The number of transactions of the churn: counting the pages after each is slow in a debug build.
    #if DEBUG
        static let turns = 120
    #else
        static let turns = 1500
    #endif

    static func fileByteCount(_ files: some FileSystem) throws -> Int { try files.status(path)?.byteCount ?? 0 }

    /// Commits random inserts, updates and deletions. Keeps no references to the session's objects.
    private static func churn(_ session: Session, _ random: inout SeededRandom, _ next: inout Int, large: Bool) throws {
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for _ in 0..<(large ? 400 : 1 + random.below(12)) {
            let count = table.count
            let isFull = count > 6000
            switch random.below(10) {
            case 0..<4 where !isFull:
                try insert(table, next, random.below(20) == 0 ? 3000 + random.below(20_000) : random.below(60))
                next += 1
            case 4..<7 where count > 0:
                let key = try table.key(atPosition: random.below(count))
                try table.set(.string("changed \(random.below(1000))"), 1, of: key)
            default:
                if count > 0 { try table.delete(try table.key(atPosition: random.below(count))) }
            }
        }
        try session.commitWrite()
    }

    @Test("The file stays within its bound at every commit, with any versions pinned", arguments: RunSeed.list(1...4))
    func bound(seed: RunSeed) throws {
        var random = SeededRandom(seed: seed.value)
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        for id in 0..<3000 { try Self.insert(try #require(session.table(named: "Row")), id, 30) }
        try session.commitWrite()
        var next = 3000
        var pins: [(session: Session, pages: Set<UInt64>, end: Int)] = []
        var largest = 0
        // The most that live data and pinned versions ever needed at once: space that a released version frees inside
        // the file is used again, but only the end of the file is truncated.
        var needed = 0
        for turn in 0..<Self.turns {
            let before = try BlockTraversal.pages(session)
            try Self.churn(session, &random, &next, large: random.below(40) == 0)
            let live = try BlockTraversal.pages(session)
            // The pages that a transaction writes, and its log and catalog.
            largest = max(largest, live.subtracting(before).count + 4)
            // One pin stays from the beginning to the end, others for 1 to 1,024 commits.
            if random.below(9) == 0 {
                pins.append((try session.freeze(), live, pins.isEmpty ? .max : turn + 1 << random.below(11)))
            }
            let newest = database.versions.newest
            let logs = try RecordedSpace.load(newest.freeLog, highWater: newest.highWater, database.reader).chain
            let logPages = logs.reduce(0) { $0 + $1.pageCount }
            needed = max(needed, pins.reduce(live) { $0.union($1.pages) }.count + logPages)
            let limit = (needed + 2 * largest) * 9 / 8 + 256
            let high = Int(session.highWater)
            #expect(high <= limit, "\(seed), turn \(turn): \(high) pages, \(needed) needed, largest \(largest)")
            let bytes = try Self.fileByteCount(files)
            #expect(bytes <= max(limit << 12, 128 << 10) * 9 / 8 + (128 << 10) * 3)
            if high > limit { break }
            pins.removeAll { $0.end <= turn }
        }
        for pin in pins { #expect(try BlockTraversal.pages(pin.session) == pin.pages) }
        #expect(pins.count > 1)
        pins = []
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
    }

    #if os(Linux)
        // In a separate process, because other tests allocate and free memory in this one.
        @Test("Private memory does not grow with the number of commits, with any versions pinned")
        func memory() async {
            _ = await #expect(processExitsWith: .success) { try SpaceTests.churnWithinMemory() }
        }

        static func churnWithinMemory() throws {
            var random = SeededRandom(seed: 11)
            let files = MemoryFileSystem()
            let session = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
            try session.beginWrite()
            try session.addTables([rows])
            try session.commitWrite()
            var next = 0
            var pins: [(session: Session, end: Int)] = []
            // The peak in each half, without the file, which is in memory too.
            var (begin, most, longest) = (0, 0, 0)
            for turn in 0..<(8 * turns) {
                try churn(session, &random, &next, large: random.below(40) == 0)
                pins.removeAll { $0.end <= turn }
                if random.below(9) == 0 { pins.append((try session.freeze(), turn + 1 << random.below(8))) }
                longest = try max(longest, fileByteCount(files))
                let memory = try privateByteCount() - longest
                if turn < 4 * turns { begin = max(begin, memory) } else { most = max(most, memory) }
            }
            try #require(begin > 1 << 20, "no memory was measured")
            try #require(most < begin + 16 << 20, "\(most) bytes, in the first half \(begin)")
        }

        private static func privateByteCount() throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
            let kilobytes = try #require(number.flatMap { Int($0) })
            return kilobytes << 10
        }
    #endif

    @Test("A pinned version keeps the end of the file; after its release, the file is truncated")
    func pinnedEnd() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files)
        let session = try database.makeSession()
        try fill(session)
        #expect(try Self.fileByteCount(files) > 8 << 20)
        var pin: Session? = try session.freeze()
        let pages = try BlockTraversal.pages(session)
        try empty(session)
        for _ in 0..<4 { try commitNothing(session) }
        #expect(try Self.fileByteCount(files) > 8 << 20)
        #expect(try pin.map { try BlockTraversal.pages($0) } == pages)
        pin = nil
        for _ in 0..<4 { try commitNothing(session) }
        #expect(try Self.fileByteCount(files) < 512 << 10)
        #expect(IntegrityCheck.run(database).isClean)
    }

    private func fill(_ session: Session) throws {
        try session.beginWrite()
        if session.tables.isEmpty { try session.addTables([Self.rows]) }
        let table = try #require(session.table(named: "Row"))
        for id in 0..<450 { try Self.insert(table, id, 20_000) }
        try session.commitWrite()
    }

    private func empty(_ session: Session) throws {
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        while table.count > 0 { try table.delete(try table.key(atPosition: table.count - 1)) }
        try session.commitWrite()
    }

    private func commitNothing(_ session: Session) throws {
        try session.beginWrite()
        try session.commitWrite()
    }

    @Test("The free end of the file is truncated once no version needs it, and written again later")
    func cut() throws {
        let files = MemoryFileSystem()
        for _ in 0..<3 {
            let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files)
            let session = try database.makeSession()
            try fill(session)
            #expect(try Self.fileByteCount(files) > 8 << 20)
            try empty(session)
            for _ in 0..<4 { try commitNothing(session) }
            #expect(try Self.fileByteCount(files) < 512 << 10)
            #expect(IntegrityCheck.run(database).isClean)
        }
    }

    // The commit once waited until another thread or process had finished its write, however long that took.
    @Test("A commit that leaves a long file does not wait for another writer to truncate it")
    func cutWaitsForNobody() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files)
        let session = try database.makeSession()
        try fill(session)
        let file = try files.open(Self.path, .readWrite)
        try file.allocate(16 << 20)
        let other = try database.makeSession()
        try other.beginWrite()
        // On another thread, so that a commit that waits for the other write does not block the test.
        let isDone = Lock(false)
        let isStarted = DetachedThread.start {
            database.shrinkIfLong(database.versions.newest)
            isDone.withLock { $0 = true }
        }
        try #require(isStarted)
        let end = MonotonicClock.now() + 1_800_000_000_000
        while !isDone.withLock({ $0 }), MonotonicClock.now() < end { CurrentThread.sleep(nanoseconds: 100_000) }
        #expect(isDone.withLock { $0 })
        #expect(try file.byteCount() == 16 << 20)
        other.rollbackWrite()
        database.shrinkIfLong(database.versions.newest)
        #expect(try file.byteCount() < 12 << 20)
        #expect(IntegrityCheck.run(database).isClean)
    }

    @Test("The number of kept versions counts from the oldest pin")
    func activeVersions() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files)
        let session = try database.makeSession()
        #expect(try database.activeVersionCount() == 1)
        let pin = try session.freeze(origin: SessionOrigin(.frozen, fileID: "App/Model.swift", line: 40))
        for turn in 0..<4 {
            try session.beginWrite()
            try session.commitWrite()
            #expect(try database.activeVersionCount() == UInt64(turn + 2))
        }
        let holders = database.versions.sessions
        #expect(holders.map(\.version) == [pin.version, session.version])
        #expect(holders.first?.origin?.line == 40)
    }
}
