// SPDX-License-Identifier: Apache-2.0
// When writeback of a commit's pages starts early: only for a commit that has the next sync for itself.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@Suite struct WritebackTests {
    private enum Call: Equatable {
        case write(Range<Int>), slot, begin(Range<Int>), sync
    }

    private let database: Database
    private let session: Session
    private let calls = Calls()

    private final class Calls: Sendable {
        let all = Mutex<[Call]>([])
        /// The calls since the last `take`.
        func take() -> [Call] {
            all.withLock { calls in
                defer { calls = [] }
                return calls
            }
        }
    }

    init() throws {
        let files = HookedFileSystem(MemoryFileSystem())
        var options = Database.OpenOptions()
        // No background work: only the calls of the test.
        options.syncDelay = nil
        options.spillLimits.sealed = 64 << 20...64 << 20
        database = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files, options: options)
        session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        let slots = [FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset]
        files.before = { [calls] call, path in
            guard path == "/a.realm" else { return }
            switch call {
            case .write(let offset, _) where slots.contains(offset): calls.all.withLock { $0.append(.slot) }
            case .write(let offset, let count) where offset >= Int(FormatLimits.reservedPages) << 12:
                calls.all.withLock { $0.append(.write(offset..<offset + count)) }
            case .beginWriteback(let range): calls.all.withLock { $0.append(.begin(range)) }
            case .sync: calls.all.withLock { $0.append(.sync) }
            default: break
            }
        }
    }

    private func insert(_ id: Int, byteCount: Int = 100) throws {
        try session.beginWrite()
        try SpaceTests.insert(try #require(session.table(named: "Row")), id, byteCount)
    }

    @Test("A commit alone starts writeback between its pages and its slot")
    func alone() throws {
        for id in 0..<3 {
            try insert(id)
            try session.commitWrite(.full)
            let calls = calls.take()
            let first = try #require(calls.first)
            guard case .write(let pages) = first else {
                Issue.record("\(first)")
                return
            }
            #expect(calls == [.write(pages), .begin(pages), .slot, .sync])
        }
    }

    /// Whether writeback has started since the last call.
    private func hasBegun() -> Bool { calls.take().contains { if case .begin = $0 { true } else { false } } }

    @Test(
        "No writeback starts if the pages are synced next, or need no sync",
        arguments: [CommitDurability.paranoid, .relaxed])
    func otherLevels(level: CommitDurability) throws {
        try insert(0)
        try session.commitWrite(level)
        #expect(!hasBegun())
    }

    @Test("No writeback starts for so many pages that they are synced next", arguments: [(900, true), (1100, false)])
    func many(kibibytes: Int, begins: Bool) throws {
        try insert(0, byteCount: kibibytes << 10)
        try session.commitWrite(.full)
        #expect(hasBegun() == begins)
    }

    @Test("No writeback starts if relaxed commits wait for the same sync")
    func behindRelaxed() throws {
        try insert(0)
        try session.commitWrite(.relaxed)
        for (id, begins) in [(1, false), (2, true)] {
            try insert(id)
            try session.commitWrite(.full)
            #expect(hasBegun() == begins)
        }
    }

    @Test("A failed writeback fails the commit, leaves nothing of it, and the next commit counts")
    func failing() throws {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        var options = Database.OpenOptions()
        options.syncDelay = nil
        let session = try Database.openAsOtherProcess(path: "/a.realm", fileSystem: files, options: options)
            .makeSession()
        try session.beginWrite()
        try session.addTables([SpaceTests.rows])
        try session.commitWrite()
        let table = try #require(session.table(named: "Row"))
        let failures = session.database.failures
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "writeback"), kind: .io, operation: "writeback")
        try session.beginWrite()
        try SpaceTests.insert(table, 1, 100)
        #expect(throws: EngineError.self) { try session.commitWrite(.full) }
        files.failure = nil
        // This process records the failure, and so do all others.
        #expect(session.database.failures.own == failures.own + 1)
        #expect(session.database.failures.all?.failed == (failures.all?.failed).map { $0 + 1 })
        try session.beginWrite()
        try SpaceTests.insert(table, 2, 100)
        try session.commitWrite(.full)
        var random = SeededRandom(seed: 1)
        for model in LossModel.allCases {
            let after = try Database.openAsOtherProcess(
                path: "/a.realm", fileSystem: files.crash(model: model, random: &random), options: options)
            #expect(IntegrityCheck.run(after).isClean)
            #expect(try after.makeSession().table(named: "Row")?.count == 1)
        }
    }

    @Test("A commit queued after another starts no writeback, because they share a sync")
    func inLine() throws {
        for (id, begins) in [(0, true), (1, false), (2, false)] {
            try insert(id)
            try session.commitWriteLater { _ in }
            #expect(hasBegun() == begins)
        }
        try database.makeDurable()
        #expect(calls.take() == [.slot, .sync])
    }

    @Test("No writeback starts if a waiting writer may share the sync")
    func awaited() throws {
        try insert(0)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [database] in
            _ = database.writerLock.takeOffer() || database.writerLock.enter(until: FairLock.never) { wait in wait() }
            database.writerLock.leave()
            done.signal()
        }
        let limit = Date() + 1800
        while !database.writerLock.isAwaited, Date() < limit { sched_yield() }
        #expect(database.writerLock.isAwaited)
        try session.commitWrite(.full)
        done.wait()
        #expect(!hasBegun())
    }
}
