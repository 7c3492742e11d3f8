// SPDX-License-Identifier: Apache-2.0
// Kept versions: each shows what a model held at its commit, as long as it is kept; the limits on time and space; and
// what becomes of them when the history is switched off, and when the file is copied.

@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

/// A time of day that a test sets.
final class SetClock: Sendable {
    private let time = Atomic<Int64>(1_000_000_000)
    var now: Int64 { time.load(ordering: .relaxed) }
    func advance(_ microseconds: Int64) { time.add(microseconds, ordering: .relaxed) }
}

/// A file with a history, and a model of all of its versions.
final class HistoryRun {
    static let path = "/h/a.realm"
    static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "id", type: .int, isPrimaryKey: true), NewColumn(name: "text", type: .string),
            NewColumn(name: "data", type: .data), NewColumn(name: "list", type: .int, collection: .list),
        ])

    struct Row: Equatable {
        var text: String
        var byteCount: Int
        var list: [Int64]
    }
    typealias State = [UInt64: Row]

    let files: any FileSystem
    let path: String
    let clock = SetClock()
    var random: SeededRandom
    private let isSpilling: Bool
    private(set) var database: Database?
    private(set) var state: State = [:]
    /// What each version holds, and when it was committed.
    private(set) var versions: [UInt64: (state: State, time: Int64)] = [:]
    private var next = 0

    init(
        seed: UInt64, limits: HistoryLimits, isSpilling: Bool = false, files: any FileSystem = MemoryFileSystem(),
        path: String = HistoryRun.path
    ) throws {
        self.files = files
        self.path = path
        random = SeededRandom(seed: seed)
        self.isSpilling = isSpilling
        try open()
        let session = try opened.makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        session.setHistory(limits)
        try session.commitWrite()
        note(session)
    }

    var opened: Database {
        get throws { try #require(database) }
    }

    func open() throws {
        database = nil
        var options = Database.OpenOptions()
        options.wallClock = { [clock] in clock.now }
        // If nearly each change spills, transactions free blocks that they have added themselves.
        options.spillLimits.sealed = isSpilling ? 4096...4096 : 64 << 10...64 << 10
        if isSpilling {
            options.spillLimits.changed = 4096
            (options.spillLimits.interval, options.spillLimits.bytesPerChange) = (4, .max)
        }
        database = try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    private func note(_ session: Session) { versions[session.version] = (state, clock.now) }

    /// Commits some random changes.
    func commit(changes: Int) throws {
        let session = try opened.makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for _ in 0..<changes { try change(table) }
        try session.commitWrite(random.below(3) == 0 ? .relaxed : .full)
        note(session)
    }

    /// Commits a change of the text of one object, which leaves the size of the content as it is.
    func commitText() throws {
        let keys = state.keys.sorted()
        let key = keys[random.below(keys.count)]
        let text = "text \(100 + random.below(900))"
        let session = try opened.makeSession()
        try session.beginWrite()
        try #require(session.table(named: "Row")).set(.string(text), 1, of: ObjectKey(key))
        try session.commitWrite(random.below(3) == 0 ? .relaxed : .full)
        state[key]?.text = text
        note(session)
    }

    /// Commits objects with so many bytes each. Returns their keys.
    @discardableResult
    func commitLarge(_ byteCount: Int, count: Int = 1) throws -> [ObjectKey] {
        let session = try opened.makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        var keys: [ObjectKey] = []
        for _ in 0..<count {
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(next)), 0, of: key)
            try table.set(.data([UInt8](repeating: 1, count: byteCount)), 2, of: key)
            state[key.rawValue] = Row(text: "", byteCount: byteCount, list: [])
            next += 1
            keys.append(key)
        }
        try session.commitWrite()
        note(session)
        return keys
    }

    /// Commits the deletion of some objects.
    func commitDeletion(of keys: some Sequence<ObjectKey>) throws {
        let session = try opened.makeSession()
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for key in keys {
            try table.delete(key)
            state[key.rawValue] = nil
        }
        try session.commitWrite()
        note(session)
    }

    /// Commits the deletion of all objects.
    func commitDeletion() throws {
        let session = try opened.makeSession()
        try session.beginWrite()
        try #require(session.table(named: "Row")).deleteAll()
        try session.commitWrite()
        state = [:]
        note(session)
    }

    private func change(_ table: Table) throws {
        let keys = state.keys.sorted()
        switch random.below(10) {
        case 0..<4 where keys.count < 2500:
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(next)), 0, of: key)
            state[key.rawValue] = Row(text: "", byteCount: 0, list: [])
            next += 1
        case 4..<6 where !keys.isEmpty:
            let key = keys[random.below(keys.count)]
            let text = "text \(random.below(1000))"
            try table.set(.string(text), 1, of: ObjectKey(key))
            state[key]?.text = text
        case 6 where !keys.isEmpty:
            let key = keys[random.below(keys.count)]
            let byteCount = random.below(4) == 0 ? 3000 + random.below(20_000) : random.below(100)
            try table.set(.data([UInt8](repeating: 7, count: byteCount)), 2, of: ObjectKey(key))
            state[key]?.byteCount = byteCount
        case 7 where !keys.isEmpty:
            let key = keys[random.below(keys.count)]
            let number = Int64(random.below(1000))
            let place = state[key]?.list.count ?? 0
            try table.listInsert([.int(number)], 3, of: ObjectKey(key), at: place)
            state[key]?.list.append(number)
        default:
            guard !keys.isEmpty else { return }
            let key = keys[random.below(keys.count)]
            try table.delete(ObjectKey(key))
            state[key] = nil
        }
    }

    func read(_ session: Session) throws -> State {
        guard let table = session.table(named: "Row") else { return [:] }
        var found: State = [:]
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            guard case .string(let text) = try table.value(1, of: key),
                case .data(let bytes) = try table.value(2, of: key)
            else { continue }
            let list = try table.listValues(3, of: key).map { value -> Int64 in
                if case .int(let number) = value { number } else { -1 }
            }
            found[key.rawValue] = Row(text: text, byteCount: bytes.count, list: list)
        }
        return found
    }

    /// The numbers of the kept versions, oldest first.
    func kept() throws -> [UInt64] {
        var numbers: [UInt64] = []
        try opened.makeSession().visitHistory(from: 0) { (version) throws(EngineError) in
            numbers.append(version.number)
            return true
        }
        return numbers
    }

    /// Compares kept versions with the model.
    func check(_ numbers: some Sequence<UInt64>) throws {
        for number in numbers {
            let session = try #require(try opened.makeSession(at: number), "version \(number)")
            #expect(session.version == number)
            #expect(try read(session) == versions[number]?.state, "version \(number)")
        }
    }
}

@Suite struct HistoryTests {
    #if DEBUG
        static let turns = 120
    #else
        static let turns = 1500
    #endif
    /// Commits of `manyCommits`.
    static let commits = max(CurrentProcess.environment("REGNUM_HISTORY_COMMITS").flatMap { Int($0) } ?? 4 * turns, 400)

    @Test(
        "Every kept version shows what the model held, through pruning, reopening and pins",
        // With the last seed, a kept version refers to a row group of which later ones use some columns only.
        arguments: RunSeed.list(1...2) + [RunSeed(2_293_069_829)])
    func model(seed: RunSeed) throws {
        let age: Int64 = 60_000_000
        let limits = HistoryLimits(age: age, byteCount: 600 << 10)
        let run = try HistoryRun(seed: seed.value, limits: limits, isSpilling: seed.value % 2 == 1)
        var pins: [Session] = []
        for turn in 0..<Self.turns {
            run.clock.advance(Int64(run.random.below(2_000_000)))
            try run.commit(changes: run.random.below(20) == 0 ? 300 : run.random.below(8))
            let kept = try run.kept()
            // They are the newest ones before the version itself, without a gap.
            let newest = try run.opened.makeSession()
            #expect(kept == Array((kept.first ?? newest.version)..<newest.version))
            if !kept.isEmpty, run.random.below(4) == 0 { try run.check([kept[run.random.below(kept.count)], kept[0]]) }
            if run.random.below(10) == 0, let first = kept.first {
                pins.append(try #require(try run.opened.makeSession(at: first)))
            }
            if turn % 40 == 39 {
                try run.check(kept.enumerated().filter { $0.offset % 6 == 0 }.map(\.element))
                // Versions that are no longer kept stay readable where they are held.
                for pin in pins { #expect(try run.read(pin) == run.versions[pin.version]?.state) }
                #expect(IntegrityCheck.run(try run.opened).findings == [])
                if run.random.below(2) == 0 { pins.removeAll() }
            }
            if pins.isEmpty, run.random.below(15) == 0 {
                try run.open()
                #expect(try run.kept() == kept)
            }
        }
    }

    @Test("A version is kept for the time that the limits say, counted from the next commit")
    func age() throws {
        let run = try HistoryRun(seed: 1, limits: HistoryLimits(age: 10_000_000, byteCount: 1 << 30))
        // One commit a second: 30 in all.
        for _ in 0..<30 {
            run.clock.advance(1_000_000)
            try run.commit(changes: 3)
        }
        let now = run.clock.now
        let session = try run.opened.makeSession()
        let kept = try run.kept()
        for number in 2...session.version {
            guard number < session.version, let end = run.versions[number + 1]?.time else { continue }
            #expect(kept.contains(number) == (now - end <= 10_000_000), "version \(number)")
        }
        // Each time within the last ten seconds has the version that was the newest then.
        for seconds in 0...10 {
            let time = now - Int64(seconds) * 1_000_000
            let number = try #require(try session.version(at: time + 500_000))
            #expect(run.versions[number]?.time == time)
            #expect(try session.version(at: time) == number)
        }
        #expect(try session.version(at: now - 60_000_000) == nil)
    }

    @Test("Thousands of commits to a small database take no more space than the limit says")
    func space() throws {
        let limit = 1 << 20
        let run = try HistoryRun(seed: 2, limits: HistoryLimits(age: .max, byteCount: limit))
        try run.commit(changes: 400)
        for _ in 0..<5 { try run.commitText() }
        let base = try run.files.status(HistoryRun.path)?.byteCount ?? 0
        var most = 0
        for turn in 0..<(Self.turns * 4) {
            try run.commitText()
            let size = try #require(try run.opened.makeSession().historySize())
            // The step in which versions are dropped is that of one commit.
            #expect(size.byteCount <= limit + (256 << 10), "turn \(turn)")
            most = max(most, size.versions)
        }
        // It holds many versions, and drops the oldest all the time.
        #expect(most > 20)
        #expect(try run.kept().count < Self.turns * 4)
        #expect(try run.kept().count > 10)
        let end = try run.files.status(HistoryRun.path)?.byteCount ?? 0
        // Beside the limit, an eighth is room to grow, and some pages are free between others.
        #expect(end <= base + limit + limit / 2 + (768 << 10), "\(base), then \(end)")
        try run.check(try run.kept())
        #expect(IntegrityCheck.run(try run.opened).findings == [])
    }

    @Test("However many commits there are, the history and the file stay within their bounds")
    func manyCommits() throws {
        let limit = 1 << 20
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: HistoryRun.path, fileSystem: files)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([HistoryRun.rows])
        session.setHistory(HistoryLimits(age: .max, byteCount: limit))
        let location = try #require(session.table(named: "Row")).insertRow()
        let key = location.key
        try #require(session.table(named: "Row")).finishInsert(location)
        try session.commitWrite()
        var most = 0
        for turn in 1...Self.commits {
            try session.beginWrite()
            try #require(session.table(named: "Row")).set(.string("text \(turn)"), 1, of: key)
            try session.commitWrite()
            if turn % 50 == 0 { most = max(most, try #require(try session.historySize()).byteCount) }
        }
        #expect(most > limit / 2 && most <= limit + (256 << 10))
        let end = try files.status(HistoryRun.path)?.byteCount ?? 0
        #expect(end > limit / 2 && end <= limit + limit / 2 + (768 << 10))
        #expect(IntegrityCheck.run(database).findings == [])
    }

    @Test("A commit that frees more than the limit keeps nothing, and the next ones keep versions again")
    func largeCommit() throws {
        let run = try HistoryRun(seed: 3, limits: HistoryLimits(age: .max, byteCount: 400 << 10))
        for _ in 0..<5 { try run.commit(changes: 10) }
        try run.commitLarge(2 << 20)
        #expect(try run.kept().count == 6)
        try run.commitDeletion()
        #expect(try run.kept() == [])
        #expect(IntegrityCheck.run(try run.opened).findings == [])
        for _ in 0..<5 { try run.commit(changes: 10) }
        #expect(try run.kept().count == 5)
        try run.check(try run.kept())
        #expect(IntegrityCheck.run(try run.opened).findings == [])
    }

    @Test("A commit that frees large values drops as many pages as it adds, also if they are in more than 1,024 blocks")
    func largeValues() throws {
        let limit = 7 << 20
        let run = try HistoryRun(seed: 9, limits: HistoryLimits(age: .max, byteCount: limit))
        // Each value has a page of its own.
        let small = try run.commitLarge(4000, count: 1400)
        try run.commitLarge(4 << 20, count: 2)
        try run.commitDeletion(of: small.prefix(1100))
        try run.commitDeletion(of: small.dropFirst(1100))
        #expect(try run.kept().count == 4)
        // Few blocks with more pages than the limit.
        try run.commitDeletion()
        #expect(try run.kept() == [])
        #expect(try #require(try run.opened.makeSession().historySize()).byteCount <= limit)
        #expect(IntegrityCheck.run(try run.opened).findings == [])
    }

    @Test("A clock that was set forward and back again does not make versions stay for longer")
    func clockSetBack() throws {
        let run = try HistoryRun(seed: 10, limits: HistoryLimits(age: 10_000_000, byteCount: 1 << 30))
        try run.commit(changes: 3)
        run.clock.advance(1_000_000_000)
        try run.commit(changes: 3)
        run.clock.advance(-1_000_000_000)
        // One commit a second.
        for _ in 0..<30 {
            run.clock.advance(1_000_000)
            try run.commit(changes: 3)
        }
        let newest = try run.opened.makeSession().version
        #expect(try run.kept() == Array(newest - 11..<newest))
        try run.check(try run.kept())
    }

    @Test("Long values of a column that was removed since then are kept for the older versions, and nothing is lost")
    func removedColumn() throws {
        let run = try HistoryRun(seed: 11, limits: HistoryLimits(age: .max, byteCount: 1 << 30))
        let keys = try run.commitLarge(5000, count: 20)
        let kept = try run.kept() + [run.opened.makeSession().version]
        let session = try run.opened.makeSession()
        try session.beginWrite()
        var definition = try #require(session.table(named: "Row")).definition
        definition.columns.removeAll { $0.name == "data" }
        try session.reshape([definition])
        try session.commitWrite()
        // The row group is still that of the version before.
        #expect(try run.kept() == kept)
        #expect(IntegrityCheck.run(try run.opened).findings == [])
        try session.beginWrite()
        try #require(session.table(named: "Row")).set(.string("x"), 1, of: keys[3])
        try session.commitWrite()
        #expect(IntegrityCheck.run(try run.opened).findings == [])
        try run.check(kept)
    }

    @Test("Switching the history off drops the versions and the feature, and their space is used again")
    func off() throws {
        let run = try HistoryRun(seed: 4, limits: HistoryLimits(age: .max, byteCount: 1 << 30))
        for _ in 0..<40 { try run.commit(changes: 20) }
        let session = try run.opened.makeSession()
        #expect(session.features == [.history])
        #expect(try run.kept().count == 40)
        let held = try #require(try session.historySize()).byteCount
        try session.beginWrite()
        session.setHistory(nil)
        try session.commitWrite()
        #expect(session.features == [])
        #expect(try session.history() == nil)
        #expect(try run.kept() == [])
        #expect(try run.opened.makeSession(at: 3) == nil)
        // The next write finds the pages free.
        try run.commit(changes: 1)
        let report = IntegrityCheck.run(try run.opened)
        #expect(report.findings == [])
        #expect(report.keptPages == 0)
        #expect(report.pendingPages << 12 < held / 2)
        try run.open()
        #expect(try run.read(try run.opened.makeSession()) == run.state)
    }

    @Test("A file without a history has no trace of one")
    func none() throws {
        let files = MemoryFileSystem()
        let database = try Database.openAsOtherProcess(path: HistoryRun.path, fileSystem: files)
        let session = try database.makeSession()
        for _ in 0..<3 {
            try session.beginWrite()
            if session.tables.isEmpty { try session.addTables([HistoryRun.rows]) }
            try session.commitWrite()
        }
        #expect(session.features == [])
        #expect(database.versions.newest.history.isNone)
        #expect(try database.makeSession(at: session.version) != nil)
        #expect(try database.makeSession(at: session.version - 1) == nil)
        #expect(try database.makeSession(at: session.version + 1) == nil)
        #expect(try database.makeSession(at: 0) == nil)
    }

    @Test("An older build refuses the file, by the name of the feature")
    func olderBuild() throws {
        let run = try HistoryRun(seed: 5, limits: HistoryLimits(age: .max, byteCount: 1 << 30))
        let features = try run.opened.makeSession().features
        #expect(features == [Feature(name: "history", isRequired: true)])
        #expect(Feature.known.contains(.history))
    }

    @Test("A copy and a compacted file hold the newest version alone")
    func copies() throws {
        let run = try HistoryRun(seed: 6, limits: HistoryLimits(age: .max, byteCount: 1 << 30))
        for _ in 0..<20 { try run.commit(changes: 30) }
        try run.opened.makeSession().writeCopy(to: "/h/b.realm", in: run.files)
        let copy = try Database.openAsOtherProcess(path: "/h/b.realm", fileSystem: run.files)
        let session = try copy.makeSession()
        #expect(session.features == [])
        #expect(try session.history() == nil)
        #expect(try run.read(session) == run.state)
        #expect(IntegrityCheck.run(copy).findings == [])
        let identifier = try run.opened.identifier
        #expect(copy.identifier.low != identifier.low)
    }

    @Test("Another process that writes without knowing of the history goes on with it")
    func otherProcess() throws {
        let files = PosixFileSystem.shared
        let path = ProcessTests.newPath()
        defer { for path in [path, path + ".lock"] { try? files.remove(path) } }
        let run = try HistoryRun(
            seed: 7, limits: HistoryLimits(age: .max, byteCount: 1 << 30), files: files, path: path)
        for _ in 0..<5 { try run.commit(changes: 10) }
        let kept = try run.kept()
        let other = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let session = try other.makeSession()
        try session.beginWrite()
        try #require(session.table(named: "Row")).deleteAll()
        try session.commitWrite()
        #expect(try run.kept() == kept + [session.version - 1])
        try run.check(kept)
        try run.commit(changes: 0)
        #expect(IntegrityCheck.run(other).findings == [])
    }

    // A writer once read all kept versions again for each commit of another process.
    @Test("A writer that follows the commits of another process reads only the new part of the history")
    func followsOther() throws {
        let files = PosixFileSystem.shared
        let path = ProcessTests.newPath()
        defer { for path in [path, path + ".lock"] { try? files.remove(path) } }
        let run = try HistoryRun(
            seed: 12, limits: HistoryLimits(age: .max, byteCount: 1 << 30), files: files, path: path)
        for _ in 0..<80 { try run.commit(changes: 2) }
        let other = try Database.openAsOtherProcess(path: path, fileSystem: files)
        let session = try other.makeSession()
        for _ in 0..<5 {
            try session.beginWrite()
            try session.commitWrite()
            try run.commit(changes: 2)
            let database = try run.opened
            let history = try #require(database.spaceManager.recorded?.history)
            #expect(history.knownCount > 40)
            let newest = database.versions.newest
            let whole = try History.load(
                newest.history, of: newest.number, highWater: newest.highWater, database.reader)
            #expect(whole.knownCount == 0 && whole.versions == history.versions)
            #expect(whole.heldPages == history.heldPages && whole.byteCount == history.byteCount)
        }
        #expect(IntegrityCheck.run(other).findings == [])
    }

    // Several large versions at once would once not have fitted into the free log of any later commit.
    @Test("A commit drops no more blocks at once than its free log holds, and refuses to keep a version with more")
    func blockLimit() throws {
        let session = try Database.openAsOtherProcess(path: HistoryRun.path, fileSystem: MemoryFileSystem())
            .makeSession()
        var version = session.current
        var history = History(HistoryLimits(age: .max, byteCount: 0))
        history.blockLimit = 100
        func append(_ number: UInt64, _ count: UInt64) {
            version.number = number
            let freed = (0..<count).map {
                BlockRef(location: (16 + $0) << 16, birth: number, tagLow: 0, tagHigh: 0, info: 0)
            }
            history.append(version, freed: freed)
        }
        for number in 1...3 as ClosedRange<UInt64> { append(number, 60) }
        #expect(history.prune(now: 0).count == 60)
        #expect(history.prune(now: 0).count == 60)
        #expect(history.versions.map(\.number) == [3])
        append(4, 101)
        #expect(throws: EngineError.self) { _ = try history.seal(5, now: 0, into: session.space.sealer) }
    }

    @Test("A rolled back write leaves the history as it was")
    func rollback() throws {
        let run = try HistoryRun(seed: 8, limits: HistoryLimits(age: .max, byteCount: 1 << 30))
        for _ in 0..<5 { try run.commit(changes: 10) }
        let kept = try run.kept()
        let session = try run.opened.makeSession()
        try session.beginWrite()
        session.setHistory(nil)
        try #require(session.table(named: "Row")).deleteAll()
        session.rollbackWrite()
        #expect(try run.kept() == kept)
        try run.commit(changes: 3)
        try run.check(try run.kept())
        #expect(try run.opened.makeSession().features == [.history])
    }
}
