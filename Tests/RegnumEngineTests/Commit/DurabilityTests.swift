// SPDX-License-Identifier: Apache-2.0
// Levels of durability, and commits that share a sync: how often each waits for stable storage, which commits a power
// loss may undo, and the effects of a failed sync.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@Suite struct DurabilityTests {
    static let path = "/d/a.realm"
    #if Encryption
        static let encryptions = [false, true]
    #else
        static let encryptions = [false]
    #endif

    func options() -> Database.OpenOptions {
        var options = Database.OpenOptions()
        // No background work: only the calls of the test.
        options.syncDelay = nil
        options.longestHold = .max
        return options
    }

    func files(_ seed: UInt64 = 1) -> SimulatedFileSystem {
        SimulatedFileSystem(seed: seed, reservedByteCount: 64 << 20)
    }

    func open(_ files: SimulatedFileSystem) throws -> Database {
        try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options())
    }

    func makeFile(_ files: SimulatedFileSystem) throws -> Session {
        let session = try open(files).makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        return session
    }

    func insert(
        _ session: Session, _ id: Int, _ durability: CommitDurability? = nil, byteCount: Int? = nil
    ) throws {
        try session.beginWrite()
        try SpaceTests.insert(try #require(session.table(named: "Row")), id, byteCount ?? id % 7 * 300)
        try session.commitWrite(durability)
    }

    /// Inserts without waiting, and counts the outcome.
    func insertLater(_ session: Session, _ id: Int, _ count: Done) throws {
        try session.beginWrite()
        try SpaceTests.insert(try #require(session.table(named: "Row")), id, id % 7 * 300)
        try session.commitWriteLater { error in
            count.counts.withLock { if error == nil { $0.durable += 1 } else { $0.failed += 1 } }
        }
    }

    final class Done: Sendable {
        let counts = Mutex((durable: 0, failed: 0))
        var durable: Int { counts.withLock { $0.durable } }
        var failed: Int { counts.withLock { $0.failed } }
    }

    /// The number of rows, which must be complete rows of the first commits.
    func count(_ files: SimulatedFileSystem) throws -> Int {
        let database = try open(files)
        let report = IntegrityCheck.run(database)
        try #require(report.isClean, "\(report.findings)")
        let session = try database.makeSession()
        guard let table = session.table(named: "Row") else { return 0 }
        for position in 0..<table.count {
            let key = try table.key(atPosition: position)
            #expect(try table.value(0, of: key) == .int(Int64(position)))
        }
        return table.count
    }

    /// The files after a power loss that left only confirmed writes.
    func nothing(_ files: SimulatedFileSystem) -> SimulatedFileSystem {
        var random = SeededRandom(seed: 1)
        return files.crash(keepingFirst: 0, model: .everything, random: &random)
    }

    func rows(_ session: Session) -> Int { session.table(named: "Row")?.count ?? -1 }

    // MARK: Levels

    @Test(
        "Each level waits for its number of syncs",
        arguments: zip([CommitDurability.paranoid, .full, .relaxed], [2, 1, 0]))
    func syncs(level: CommitDurability, perCommit: Int) throws {
        let files = files()
        let session = try makeFile(files)
        let before = files.operationCount(of: "sync")
        for id in 0..<5 { try insert(session, id, level) }
        #expect(files.operationCount(of: "sync") - before == 5 * perCommit)
        #expect(rows(session) == 5)
        // Visible to another process immediately.
        #expect(rows(try open(files).makeSession()) == 5)
    }

    @Test(
        "After a power loss all commits up to at least the last durable one are present",
        arguments: RunSeed.list(1...4))
    func powerLoss(seed: RunSeed) throws {
        var random = SeededRandom(seed: seed.value)
        let files = files(seed.value)
        let session = try makeFile(files)
        var durable = 0
        for id in 0..<(RunScale.isOptimized ? 200 : 40) {
            let level: CommitDurability = [.relaxed, .relaxed, .relaxed, .full, .paranoid][random.below(5)]
            try insert(session, id, level)
            if level != .relaxed { durable = id + 1 }
            if random.below(11) == 0 {
                try session.database.makeDurable()
                durable = id + 1
            }
            for model in LossModel.allCases {
                let found = try count(files.crash(model: model, random: &random))
                #expect(found >= durable && found <= id + 1, "\(model): \(found) rows, \(durable) durable, \(id + 1)")
            }
        }
    }

    @Test("While a relaxed commit writes its slot, no sync of another thread begins")
    func ownSlot() throws {
        // A sync would make the slot durable that the commit is about to overwrite.
        let files = HookedFileSystem(files())
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        try insert(session, 0, .relaxed)
        let slots = [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset]
        var seen: [Bool] = []
        files.before = { call, _ in
            guard case .write(let offset, _) = call, slots.contains(offset) else { return }
            seen.append(database.queue.monitor.withLock { database.queue.isBusy })
        }
        for id in 1..<4 { try insert(session, id, .relaxed) }
        files.before = { _, _ in }
        #expect(seen == [true, true, true])
        #expect(database.queue.monitor.withLock { !database.queue.isBusy })
    }

    @Test("Closing the last instance makes relaxed commits durable")
    func close() throws {
        let files = files()
        var session: Session? = try makeFile(files)
        for id in 0..<30 { if let session { try insert(session, id, .relaxed) } }
        session = nil
        var random = SeededRandom(seed: 2)
        for model in LossModel.allCases { #expect(try count(files.crash(model: model, random: &random)) == 30) }
    }

    @Test("Relaxed commits become durable in the background")
    func background() throws {
        let files = files()
        var options = Database.OpenOptions()
        options.syncDelay = 1_000_000
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
            .makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite(.relaxed)
        try insert(session, 0, .relaxed)
        let end = MonotonicClock.now() + 1_800_000_000_000
        let queue = session.database.queue
        while !queue.monitor.withLock({ queue.isIdle }), MonotonicClock.now() < end {
            CurrentThread.sleep(nanoseconds: 1_000_000)
        }
        #expect(try count(nothing(files)) == 1)
    }

    @Test("By default a relaxed commit is durable within a second")
    func backgroundByDefault() throws {
        let files = files()
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files).makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        var least = UInt64.max
        // The least of several times: on a busy machine the syncing thread waits to be scheduled.
        for id in 0..<60 where least > 1_000_000_000 {
            let syncs = files.operationCount(of: "sync")
            let begin = MonotonicClock.now()
            try insert(session, id, .relaxed)
            while files.operationCount(of: "sync") == syncs, MonotonicClock.now() < begin + 1_800_000_000_000 {
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
            least = min(least, MonotonicClock.now() - begin)
            #expect(try count(nothing(files)) == id + 1)
        }
        #expect(least <= 1_000_000_000)
    }

    @Test("No more than 16 MiB of relaxed commits wait for a sync")
    func relaxedBytes() throws {
        let files = files()
        let session = try makeFile(files)
        let byteCount = 1 << 20
        var syncs = files.operationCount(of: "sync")
        var (waiting, most) = (0, 0)
        for id in 0..<20 {
            try insert(session, id, .relaxed, byteCount: byteCount)
            let now = files.operationCount(of: "sync")
            waiting = now == syncs ? waiting + byteCount : 0
            most = max(most, waiting)
            syncs = now
        }
        // The commits do wait for a sync.
        #expect(most > 8 << 20 && most <= 16 << 20)
        #expect(try count(nothing(files)) >= 20 - (16 << 20) / byteCount)
    }

    @Test("Many relaxed commits, and a very large one, fit into one slot")
    func manyRelaxed() throws {
        let files = files()
        let session = try makeFile(files)
        var random = SeededRandom(seed: 5)
        for id in 0..<400 { try insert(session, id, .relaxed) }
        try session.beginWrite()
        for id in 400..<4400 { try SpaceTests.insert(try #require(session.table(named: "Row")), id, 5000) }
        try session.commitWrite(.relaxed)
        // More than a manifest may cover: the commit waited for its sync.
        #expect(try count(nothing(files)) == 4400)
        try insert(session, 4400, .relaxed)
        for model in LossModel.allCases {
            #expect((4400...4401).contains(try count(files.crash(model: model, random: &random))))
        }
    }

    @Test("The next writer makes the commits of a closed process durable", arguments: [true, false])
    func nextWriter(isKnown: Bool) throws {
        let files = files()
        let first = try makeFile(files)
        let other = try open(files).makeSession()
        if isKnown { try insert(other, 0, .full) }
        for id in rows(other)..<6 { try insert(first, id, .relaxed) }
        let before = files.operationCount(of: "sync")
        try insert(other, 6, .full)
        // One sync for the other process's unsynced commits, one for its own.
        #expect(files.operationCount(of: "sync") - before == 2)
        try insert(first, 7, .full)
        var random = SeededRandom(seed: 9)
        for model in LossModel.allCases { #expect(try count(files.crash(model: model, random: &random)) == 8) }
    }

    @Test("A process that ends before its commit is durable leaves nothing that a later power loss can break")
    func killedBeforeSync() throws {
        for seed in UInt64(1)...(RunScale.isOptimized ? 40 : 6) {
            let files = files(seed)
            var session: Session? = try makeFile(files)
            for id in 0..<4 { if let session { try insert(session, id) } }
            // Killed before its sync: its slot is in the file, and nothing of the commit is durable.
            files.beforeSync = { $0.crashAfterCall($0.operationCount) }
            if let session { #expect(throws: EngineError.self) { try insert(session, 4) } }
            session = nil
            files.beforeSync = nil
            files.crashAfterCall(.max)
            let next = try open(files).makeSession()
            let found = rows(next)
            #expect(found == 5)
            for id in found..<found + 4 {
                files.beforeSync = { files in
                    var random = SeededRandom(seed: seed &* 31 &+ UInt64(id))
                    for count in 0...files.pendingOperationCount {
                        let image = files.crash(keepingFirst: count, model: .garbage, random: &random)
                        image.beforeSync = nil
                        let rows = (try? self.count(image)) ?? -1
                        // The found commit was never acknowledged: the first sync makes it durable.
                        if rows < (id == found ? id - 1 : id) || rows > id + 1 {
                            Issue.record("seed \(seed): \(rows) of \(id)")
                        }
                    }
                }
                try insert(next, id)
                files.beforeSync = nil
                #expect(try count(nothing(files)) == id + 1)
            }
        }
    }

    // MARK: Failures

    @Test(
        "A commit with a failed call is abandoned, and the next commit writes its pages again",
        arguments: [CommitDurability.full, .paranoid, .relaxed])
    func failedCall(level: CommitDurability) throws {
        let files = files()
        let session = try makeFile(files)
        var rows = 0
        for turn in 0..<14 {
            try insert(session, rows, level)
            rows += 1
            try session.beginWrite()
            try SpaceTests.insert(try #require(session.table(named: "Row")), rows, 10)
            files.failure = SimulatedFailure(call: files.operationCount + turn, kind: .io, isPersistent: false)
            let failed = (try? session.commitWrite(level)) == nil
            files.failure = nil
            if !failed { rows += 1 }
            #expect(self.rows(session) == rows)
            if level == .relaxed { try session.database.makeDurable() }
            var random = SeededRandom(seed: UInt64(turn))
            for model in LossModel.allCases {
                #expect(try count(files.crash(model: model, random: &random)) == rows, "turn \(turn), \(model)")
            }
        }
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("Relaxed commits survive a failed sync: their pages are written again")
    func rewritten() throws {
        let files = files()
        let session = try makeFile(files)
        var random = SeededRandom(seed: 3)
        for round in 0..<6 {
            for id in 0..<3 { try insert(session, rows(session) + 0 * id, .relaxed) }
            files.failure = SimulatedFailure(
                call: files.operationCount(of: "sync"), kind: .io, isPersistent: round % 2 == 0, operation: "sync")
            #expect(throws: EngineError.self) { try session.database.makeDurable() }
            files.failure = nil
            if round % 3 == 0 { try insert(session, rows(session), .full) }
            if round % 3 == 1 { try insert(session, rows(session), .relaxed) }
            try session.database.makeDurable()
            for model in LossModel.allCases {
                #expect(try count(files.crash(model: model, random: &random)) == rows(session), "\(round) \(model)")
            }
        }
    }

    @Test("A full disk is detected before any write", arguments: [CommitDurability.full, .paranoid, .relaxed])
    func fullDisk(level: CommitDurability) throws {
        let files = files()
        let session = try makeFile(files)
        for id in 0..<3 { try insert(session, id, level) }
        try session.beginWrite()
        for id in 3..<200 { try SpaceTests.insert(try #require(session.table(named: "Row")), id, 3000) }
        let before = files.contents(of: Self.path)
        let writes = files.operationCount(of: "write")
        files.failure = SimulatedFailure(call: files.operationCount, kind: .noSpace, isPersistent: true)
        let error = #expect(throws: EngineError.self) { try session.commitWrite(level) }
        files.failure = nil
        if case .system(let system) = error {
            #expect(system.kind == .noSpace)
        } else {
            Issue.record("\(error as Any)")
        }
        #expect(files.operationCount(of: "write") == writes)
        #expect(files.contents(of: Self.path) == before)
        try insert(session, 3, level)
        #expect(try count(files) == 4)
    }

    // MARK: Sharing a sync

    @Test("Asynchronous commits share one sync, and others see them when it is done")
    func shared() throws {
        let files = files()
        let first = try makeFile(files)
        let database = first.database
        let second = try database.makeSession()
        let reader = try database.makeSession()
        let done = Done()
        let before = files.operationCount(of: "sync")
        for id in 0..<6 { try insertLater(id % 2 == 0 ? first : second, id, done) }
        #expect(files.operationCount(of: "sync") == before)
        #expect(rows(second) == 6 && rows(first) == 5)
        let other = try open(files).makeSession()
        #expect(try !reader.refresh() && !other.refresh())
        #expect(try rows(database.makeSession()) == 0)
        var random = SeededRandom(seed: 4)
        for model in LossModel.allCases { #expect(try count(files.crash(model: model, random: &random)) == 0) }
        try database.makeDurable()
        #expect(files.operationCount(of: "sync") == before + 1)
        #expect(done.durable == 6)
        #expect(try reader.refresh() && other.refresh())
        #expect(rows(reader) == 6 && rows(other) == 6)
        for model in LossModel.allCases { #expect(try count(files.crash(model: model, random: &random)) == 6) }
        // The writer lock was held until then.
        try insert(other, 6)
        try insert(first, 7)
        #expect(try count(files) == 8)
    }

    @Test("If a shared sync fails, so do all its commits and the write based on them", arguments: 0..<3)
    func sharedFailure(call: Int) throws {
        let files = files()
        let first = try makeFile(files)
        let database = first.database
        let second = try database.makeSession()
        try insert(second, 0, call == 2 ? .relaxed : .full)
        let done = Done()
        for id in 1..<5 { try insertLater(first, id, done) }
        let frozen = try first.freeze()
        try second.beginWrite()
        #expect(rows(second) == 5)
        try SpaceTests.insert(try #require(second.table(named: "Row")), 5, 100)
        files.failure = SimulatedFailure(
            call: files.operationCount(of: call == 1 ? "write" : "sync"), kind: .io, isPersistent: false,
            operation: call == 1 ? "write" : "sync")
        #expect(throws: EngineError.self) { try database.makeDurable() }
        files.failure = nil
        #expect(done.failed == 4)
        #expect(throws: EngineError.self) { try second.commitWrite() }
        #expect(rows(second) == 1)
        // A session that has not noticed the failure reads the abandoned commit until it advances.
        #expect(rows(first) == 5)
        for id in 1..<30 { try insert(second, id) }
        #expect(rows(frozen) == 5)
        #expect(try frozen.table(named: "Row").map { try $0.value(0, of: $0.key(atPosition: 4)) } == .int(4))
        #expect(try first.comeBack())
        #expect(rows(first) == 30)
        var random = SeededRandom(seed: 4)
        for model in LossModel.allCases { #expect(try count(files.crash(model: model, random: &random)) == 30) }
        #expect(IntegrityCheck.run(database).isClean)
    }

    /// After a failed attempt the free space was once that of the version before the queued commits, and the next
    /// commit overwrote their pages.
    @Test("Queued commits keep their pages if the pins of other processes cannot be read")
    func failedPins() throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<6 { try insert(first, id) }
        let other = try open(files).makeSession()
        let done = Done()
        try insertLater(first, 6, done)
        try insertLater(first, 7, done)
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "lock"), kind: .io, isPersistent: false, operation: "lock")
        #expect(throws: EngineError.self) { try first.beginWrite() }
        files.failure = nil
        for id in 8..<12 { try insertLater(first, id, done) }
        try first.database.makeDurable()
        #expect(done.durable == 6 && done.failed == 0)
        #expect(rows(other) == 6)
        #expect(try count(files) == 12)
    }

    /// The plain bytes of the failed commit were once taken for verified ones, because pages and version were the same.
    @Test(
        "Another process's commit is not taken for our own failed commit of the same version", arguments: encryptions)
    func otherCommitOfTheNumber(isEncrypted: Bool) throws {
        let files = files()
        var options = options()
        let key = [UInt8](repeating: 7, count: EncryptionKey.byteCount)
        if isEncrypted { options.encryptionKey = key.withUnsafeBytes { EncryptionKey($0) } }
        func open() throws -> Session {
            try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options).makeSession()
        }
        let first = try open()
        try first.beginWrite()
        try first.addTables([SpaceTests.rows])
        try first.commitWrite()
        try insert(first, 0)
        let other = try open()
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: false, operation: "sync")
        #expect(throws: EngineError.self) { try insert(first, 1) }
        files.failure = nil
        try insert(other, 8)
        _ = try first.comeBack()
        _ = try first.refresh()
        let table = try #require(first.table(named: "Row"))
        #expect(table.count == 2)
        #expect(try table.value(0, of: table.key(atPosition: 1)) == .int(8))
        try insert(first, 9)
        _ = try other.refresh()
        #expect(rows(other) == 3)
        #expect(IntegrityCheck.run(other.database).isClean)
    }

    @Test("A small file with only the copy of the header intact is refused and not changed")
    func onlyHeaderCopy() throws {
        let files = files()
        do { try insert(try makeFile(files), 0) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        let file = try files.open(Self.path, .readWrite)
        try file.write(zeros, at: 0)
        for offset in CommitSlot.byteOffsets + CommitSlot.settledByteOffsets {
            try file.write([UInt8](repeating: 1, count: 16), at: offset)
        }
        var before = [UInt8](repeating: 0, count: try file.byteCount())
        let count = try before.withUnsafeMutableBytes { try file.read($0, at: 0) }
        #expect(throws: EngineError.self) { try open(files) }
        var after = [UInt8](repeating: 0, count: count)
        _ = try after.withUnsafeMutableBytes { try file.read($0, at: 0) }
        let isKept = before == after
        #expect(isKept)
    }

    // Otherwise the slot would be written during the sync, which then took it for its own: it would never be synced.
    @Test("A relaxed commit waits until a running sync has ended, and gets a sync of its own")
    func relaxedBehindSync() throws {
        let files = files()
        let hooked = HookedFileSystem(files)
        let first = try makeFile(files)
        try insert(first, 0, .full)
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
        try insert(try database.makeSession(), 1, .relaxed)
        let done = DispatchSemaphore(value: 0)
        let isStarted = Mutex(false)
        hooked.before = { call, _ in
            let wasStarted = isStarted.withLock { isStarted in
                defer { isStarted = isStarted || call == .sync }
                return isStarted
            }
            if call != .sync || wasStarted { return }
            Thread.detachNewThread {
                #expect(throws: Never.self) { try self.insert(try database.makeSession(), 2, .relaxed) }
                done.signal()
            }
            // The commit does not end before the sync does.
            #expect(done.wait(timeout: .now() + 0.1) == .timedOut)
        }
        try database.makeDurable()
        done.wait()
        hooked.before = { _, _ in }
        try database.makeDurable()
        try expectAfterPowerLoss(files, 3, seed: 1)
    }

    @Test("A thread that waits to offer the writer lock is not recorded as its holder")
    func waitingToOffer() throws {
        let database = try open(files())
        let session = try database.makeSession()
        try session.beginWrite()
        let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            begun.signal()
            #expect(throws: Never.self) { try database.offerTurn(1) {} }
            done.signal()
        }
        begun.wait()
        #expect(done.wait(timeout: .now() + 0.05) == .timedOut)
        #expect(database.hasBegunWriteHere)
        session.rollbackWrite()
        done.wait()
        #expect(database.declineTurn(1))
    }

    @Test("A cancelled write shows the durable state if the commit that it was based on has failed")
    func cancelled() throws {
        let files = files()
        let first = try makeFile(files)
        let second = try first.database.makeSession()
        let done = Done()
        try insertLater(first, 0, done)
        try second.beginWrite()
        #expect(rows(second) == 1)
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: false, operation: "sync")
        second.rollbackWrite()
        files.failure = nil
        #expect(done.failed == 1)
        #expect(rows(second) == 0)
        #expect(try first.comeBack())
        try insert(second, 0)
        #expect(try count(files) == 1)
    }

    @Test("Threads that commit share syncs, and every commit is visible when it returns")
    func threads() throws {
        let folder =
            FileManager.default.temporaryDirectory.path
            + "/regnum-durability-\(CurrentProcess.id)-\(MonotonicClock.now())"
        try PosixFileSystem.shared.makeDirectories(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/a.realm"
        let database = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        let (threads, commits) = (8, 25)
        let failures = Mutex<[String]>([])
        let running = Atomic(threads)
        for thread in 0..<threads {
            #expect(
                DetachedThread.start {
                    do {
                        let session = try database.makeSession()
                        for i in 0..<commits {
                            try session.beginWrite()
                            guard let table = session.table(named: "Row") else { break }
                            let before = table.count
                            try SpaceTests.insert(table, thread * 1000 + i, 100)
                            try session.commitWrite(thread == 3 && i % 5 == 0 ? .relaxed : nil)
                            let others = try database.makeSession().table(named: "Row")?.count ?? 0
                            if others <= before { failures.withLock { $0.append("\(others) after \(before)") } }
                        }
                    } catch { failures.withLock { $0.append("\(error)") } }
                    running.wrappingSubtract(1, ordering: .acquiringAndReleasing)
                })
        }
        let end = MonotonicClock.now() + 1_800_000_000_000
        while running.load(ordering: .acquiring) > 0, MonotonicClock.now() < end {
            CurrentThread.sleep(nanoseconds: 1_000_000)
        }
        #expect(failures.withLock { $0 } == [])
        _ = try session.refresh()
        #expect(rows(session) == threads * commits)
        let report = IntegrityCheck.run(database)
        #expect(report.isClean, "\(report.findings)")
    }
}
