// SPDX-License-Identifier: Apache-2.0
// What a failed or unfinished sync of one process means to the others that have the file open.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

extension DurabilityTests {
    private func failNextSync(_ files: SimulatedFileSystem) {
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: false, operation: "sync")
    }

    /// In pages of its own, which the commits that follow do not write.
    private func insertLarge(_ session: Session, _ id: Int) throws {
        try insert(session, id, .relaxed, byteCount: 20_000)
    }

    enum Successor: CaseIterable { case hasItOpen, opensBeside, opensAlone }

    /// The system may have dropped the pages, and another process's sync of them confirms nothing.
    @Test(
        "what another process could not make durable is written again by the next writer",
        arguments: Successor.allCases)
    func failedElsewhere(successor: Successor) throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            var first: Session? = try makeFile(files)
            var next: Session?
            if successor == .hasItOpen { next = try open(files).makeSession() }
            for id in 0..<3 { try insertLarge(try #require(first), id) }
            failNextSync(files)
            #expect(throws: EngineError.self) { try first?.database.makeDurable() }
            if successor == .opensAlone {
                // Killed: what it would still do at its end, it does not do.
                files.crashAfterCall(files.operationCount)
                first = nil
                files.crashAfterCall(.max)
            }
            files.failure = nil
            let writer = try next ?? open(files).makeSession()
            try insert(writer, 3, .full)
            var random = SeededRandom(seed: seed)
            for model in LossModel.allCases {
                #expect(try count(files.crash(model: model, random: &random)) == 4, "seed \(seed), \(model)")
            }
            if let first {
                try insert(first, 4, .full)
                #expect(try count(nothing(files)) == 5)
            }
        }
    }

    @Test("where the next writer's sync fails too, nothing counts as durable, and the one after it writes again")
    func failedTwice() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let first = try makeFile(files)
            let other = try open(files).makeSession()
            for id in 0..<3 { try insertLarge(first, id) }
            failNextSync(files)
            #expect(throws: EngineError.self) { try first.database.makeDurable() }
            failNextSync(files)
            #expect(throws: EngineError.self) { try insert(other, 3, .full) }
            files.failure = nil
            try other.database.makeDurable()
            try insert(other, 3, .full)
            var random = SeededRandom(seed: seed)
            for model in LossModel.allCases {
                #expect(try count(files.crash(model: model, random: &random)) == 4, "seed \(seed), \(model)")
            }
        }
    }

    @Test("where the slot of a relaxed commit can neither be written nor taken back, those before it are written again")
    func latchedRelaxed() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let session = try makeFile(files)
            try insert(session, 0, .full)
            for id in 1..<4 { try insert(session, id, .relaxed) }
            // The write of the slot is the last one of a commit.
            let before = files.operationCount(of: "write")
            try insert(session, 4, .relaxed)
            let writes = files.operationCount(of: "write") - before
            files.failure = SimulatedFailure(
                call: files.operationCount(of: "write") + writes - 1, kind: .io, isPersistent: true,
                operation: "write")
            #expect(throws: EngineError.self) { try insert(session, 5, .relaxed) }
            files.failure = nil
            #expect(throws: EngineError.self) { try session.database.makeDurable() }
            var random = SeededRandom(seed: seed)
            for model in LossModel.allCases {
                #expect(try count(files.crash(model: model, random: &random)) == 5, "seed \(seed), \(model)")
            }
        }
    }

    @Test("while a session shows what has failed, no other process writes over it", arguments: [true, false])
    func abandonedIsKept(isFrozen: Bool) throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id) }
        let other = try open(files).makeSession()
        let done = Done()
        for id in 4..<7 { try insertLater(first, id, done) }
        var frozen: Session? = isFrozen ? try first.freeze() : nil
        failNextSync(files)
        #expect(throws: EngineError.self) { try first.database.makeDurable() }
        files.failure = nil
        #expect(done.failed == 3)
        let shared = try #require(other.database.shared)
        #expect(try !shared.tryLockWriter())
        if isFrozen {
            #expect(try first.comeBack())
            #expect(try !shared.tryLockWriter())
            #expect(frozen.map(rows) == 7)
            frozen = nil
        } else {
            #expect(rows(first) == 7)
            #expect(try first.comeBack())
        }
        try insert(other, 4)
        _ = try first.refresh()
        #expect(rows(first) == 5)
        #expect(try count(files) == 5)
    }

    @Test("once a commit has succeeded that knows what has failed, others may write, and what is shown stays")
    func abandonedIsRecorded() throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id) }
        let other = try open(files).makeSession()
        let done = Done()
        for id in 4..<7 { try insertLater(first, id, done) }
        let frozen = try first.freeze()
        failNextSync(files)
        #expect(throws: EngineError.self) { try first.database.makeDurable() }
        files.failure = nil
        #expect(try first.comeBack())
        try insert(first, 4)
        for id in 5..<30 { try insert(other, id) }
        #expect(rows(frozen) == 7)
        let table = try #require(frozen.table(named: "Row"))
        for position in 0..<7 {
            #expect(try table.value(0, of: table.key(atPosition: position)) == .int(Int64(position)))
        }
        #expect(try count(files) == 30)
    }

    @Test("the end of the file is not cut while a session may show what has failed")
    func abandonedIsNotCut() throws {
        let files = files()
        let first = try makeFile(files)
        let second = try first.database.makeSession()
        try insert(first, 0)
        let done = Done()
        try second.beginWrite()
        for id in 1..<200 { try SpaceTests.insert(try #require(second.table(named: "Row")), id, 3000) }
        try second.commitWriteLater { error in done.counts.withLock { if error != nil { $0.failed += 1 } } }
        failNextSync(files)
        #expect(throws: EngineError.self) { try first.database.makeDurable() }
        files.failure = nil
        #expect(done.failed == 1)
        let file = try files.open(Self.path, .readWrite)
        try file.allocate(8 << 20)
        first.database.shrinkIfLong(first.database.versions.newest)
        #expect(try file.byteCount() == 8 << 20)
        #expect(rows(second) == 200)
        #expect(try second.comeBack())
        try insert(first, 1)
        first.database.shrinkIfLong(first.database.versions.newest)
        #expect(try file.byteCount() < 4 << 20)
    }

    /// The slot of a relaxed commit is written over by the next one before that is published. A process that looks for
    /// the former just then once waited for the writer's lock, which may be kept for another transaction.
    @Test("nobody who reads waits for another process's transaction", arguments: [true, false])
    func readersDoNotWait(isOpening: Bool) throws {
        let hooked = HookedFileSystem(files())
        @Sendable func open() throws -> Database {
            try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
        }
        let first = try open().makeSession()
        try first.beginWrite()
        try first.addTables([SpaceTests.rows])
        try first.commitWrite()
        let reader = isOpening ? nil : try open()
        let second = try first.database.makeSession()
        try insert(first, 0, .relaxed)
        try insertLater(first, 1, Done())
        try second.beginWrite()

        let state = Monitor()
        let has = Mutex((asked: false, rows: -1))
        let own = CurrentThread.id
        hooked.before = { call, _ in
            switch call {
            case .lock(byte: 1 << 62) where CurrentThread.id != own:
                // The writer's lock: the reader has met the slot that is written over.
                state.withLock {
                    has.withLock { $0.asked = true }
                    state.tellAll()
                }
            case .sync where CurrentThread.id == own:
                _ = DetachedThread.start {
                    let session = try? (reader ?? open()).makeSession()
                    let rows = session.map(self.rows) ?? -2
                    state.withLock {
                        has.withLock { $0.rows = rows }
                        state.tellAll()
                    }
                }
                let end = MonotonicClock.now() + 60_000_000_000
                state.withLock {
                    while !has.withLock({ $0.asked }), MonotonicClock.now() < end { state.wait(until: end) }
                }
            default: break
            }
        }
        try first.database.makeDurable()
        let end = MonotonicClock.now() + 60_000_000_000
        state.withLock {
            while has.withLock({ $0.rows }) == -1, MonotonicClock.now() < end { state.wait(until: end) }
        }
        #expect(has.withLock { $0.asked })
        #expect(has.withLock { $0.rows } == 2)
        hooked.before = { _, _ in }
        second.rollbackWrite()
    }
}
