// SPDX-License-Identifier: Apache-2.0
// Pages of failed commits that sessions still show.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

extension DurabilityTests {
    @Test("No other process overwrites a failed commit while a session shows it", arguments: [true, false])
    func abandonedIsKept(isFrozen: Bool) throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id) }
        let other = try open(files).makeSession()
        let done = Done()
        for id in 4..<7 { try insertLater(first, id, done) }
        var frozen: Session? = isFrozen ? try first.freeze() : nil
        failToSync(first, files)
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

    // The object layer once took the keys from the version that the session showed next. There an object of another
    // commit had a key of the failed one, whose accessors then showed that object.
    @Test("A session that leaves a failed commit knows its keys, although later commits have given them again")
    func keysOfAbandoned() throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<3 { try insert(first, id) }
        let second = try first.database.makeSession()
        let table = try #require(first.table(named: "Row"))
        let (key, next) = (table.definition.key, table.nextKey)
        let done = Done()
        for id in 3..<5 { try insertLater(first, id, done) }
        failToSync(first, files)
        #expect(done.failed == 2)
        for id in 7..<9 { try insert(second, id) }
        #expect(try first.comeBack())
        #expect(rows(first) == 5 && first.hasLeftAbandoned)
        #expect(try #require(first.table(named: "Row")).nextKey == next + 2)
        #expect(first.firstAbandonedKey(of: key) == next)
        #expect(first.firstAbandonedKey(of: TableKey(99)) == 1)
        first.hasLeftAbandoned = false
        #expect(first.firstAbandonedKey(of: key) == nil)
        // Commits that became durable count as shown before.
        try insertLater(first, 10, done)
        try first.database.makeDurable()
        try insertLater(first, 11, done)
        failToSync(first, files)
        #expect(try first.comeBack())
        #expect(first.firstAbandonedKey(of: key) == next + 3)
    }

    // It once waited for the sync of the session's own commit before it, with all writes that were to share the sync.
    @Test("A rolled back write does not wait for the sync of the session's commit before it")
    func rollbackBehindOwnCommit() throws {
        let files = files()
        let first = try makeFile(files)
        let done = Done()
        try insertLater(first, 0, done)
        let syncs = files.operationCount(of: "sync")
        try first.beginWrite()
        first.rollbackWrite()
        #expect(files.operationCount(of: "sync") == syncs && done.durable == 0)
        #expect(rows(first) == 1)
        try insertLater(first, 1, done)
        try first.database.makeDurable()
        #expect(done.durable == 2)
        // If that commit has failed during the write, the session leaves it.
        try insertLater(first, 2, done)
        try first.beginWrite()
        failToSync(first, files)
        #expect(done.failed == 1)
        first.rollbackWrite()
        #expect(rows(first) == 2 && first.hasLeftAbandoned)
        #expect(try count(files) == 2)
    }

    @Test("Others may write after a while if a session keeps showing a failed commit")
    func abandonedIsRecordedSoon() throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id) }
        var soon = options()
        soon.syncDelay = 1_000_000
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: soon).makeSession()
        failNextSync(files)
        let done = Done()
        try insertLater(session, 4, done)
        let frozen = try session.freeze()
        let end = MonotonicClock.now() + 1_800_000_000_000
        while try done.failed == 0 || !(#require(first.database.shared).tryLockWriter()), MonotonicClock.now() < end {
            CurrentThread.sleep(nanoseconds: 100_000)
        }
        first.database.shared?.unlockWriter()
        files.failure = nil
        for id in 4..<30 { try insert(first, id) }
        #expect(rows(frozen) == 5)
        let table = try #require(frozen.table(named: "Row"))
        #expect(try table.value(0, of: table.key(atPosition: 4)) == .int(4))
        #expect(try count(files) == 30)
    }

    @Test("Others may write after a commit that records the failed pages, and sessions that show those pages keep them")
    func abandonedIsRecorded() throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id) }
        let other = try open(files).makeSession()
        let done = Done()
        for id in 4..<7 { try insertLater(first, id, done) }
        let frozen = try first.freeze()
        failToSync(first, files)
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

    /// An earlier version could not record the failed pages, so the lock was held as long as the session existed.
    @Test(
        "If a process can no longer write, others write beside the pages that its sessions show",
        arguments: [CommitDurability.full, .relaxed])
    func abandonedInLatched(level: CommitDurability) throws {
        let files = files()
        let first = try makeFile(files)
        for id in 0..<4 { try insert(first, id, id == 3 ? level : .full) }
        let other = try open(files).makeSession()
        let done = Done()
        for id in 4..<7 { try insertLater(first, id, done) }
        var frozen: Session? = try first.freeze()
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: true, operation: "sync")
        #expect(throws: EngineError.self) { try first.database.makeDurable() }
        files.failure = nil
        #expect(done.failed == 3)
        #expect(throws: EngineError.self) { try insert(first, 4) }
        let shared = try #require(other.database.shared)
        try #require(try shared.tryLockWriter())
        shared.unlockWriter()
        #expect(try shared.pinsOfOthers().contains { $0.failed.end > 0 })
        try insert(other, 4)
        #expect(other.version > frozen?.version ?? .max)
        for id in 5..<30 { try insert(other, id) }
        if let shown = frozen?.table(named: "Row") {
            #expect(shown.count == 7)
            for position in 0..<7 {
                #expect(try shown.value(0, of: shown.key(atPosition: position)) == .int(Int64(position)))
            }
        }
        #expect(try count(files) == 30)
        // After the sessions have gone, their pages are free like any other.
        frozen = nil
        #expect(try shared.pinsOfOthers().allSatisfy { $0.failed.end == 0 && $0.failed.last == 0 })
        _ = try first.refresh()
        #expect(rows(first) == 30)
        let before = other.highWater
        for id in 30..<60 { try insert(other, id) }
        #expect(other.highWater < before + 60)
        #expect(try count(files) == 60)
    }

    @Test("The file is not truncated while a session may show a failed commit")
    func abandonedIsNotCut() throws {
        let files = files()
        let first = try makeFile(files)
        let second = try first.database.makeSession()
        try insert(first, 0)
        let done = Done()
        try second.beginWrite()
        for id in 1..<200 { try SpaceTests.insert(try #require(second.table(named: "Row")), id, 3000) }
        try second.commitWriteLater { error in done.counts.withLock { if error != nil { $0.failed += 1 } } }
        failToSync(first, files)
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
}
