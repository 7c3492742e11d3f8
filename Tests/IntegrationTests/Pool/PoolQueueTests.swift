// SPDX-License-Identifier: Apache-2.0
// Calls of a pool that wait: their order, cancellation, limits, and what closing does to them.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Synchronization
import Testing

@Suite struct PoolQueueTests {
    @Test("A cancelled task that waits for the writer leaves the queue while another closure still runs")
    func cancelledWaitingWrite() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let held = HeldClosure()
        let first = Task { try await pool.write { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 }
        let second = Task { try await PoolSupport.add(2, to: pool) }
        let third = Task { try await PoolSupport.add(3, to: pool) }
        try await PoolSupport.eventually { pool.metrics.writes.waiting == 2 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(pool.metrics.writes.waiting == 1 && pool.metrics.writes.running == 1)
        held.letGo()
        try await first.value
        try await third.value
        #expect(try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] } == [3])
        #expect(pool.metrics.writes.cancelled == 1)
        await pool.close()
    }

    @Test("A cancelled task that waits for a reader leaves the queue")
    func cancelledWaitingRead() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let held = HeldClosure()
        let first = Task { try await pool.read { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.reads.running == 1 }
        let second = Task { try await PoolSupport.count(pool) }
        try await PoolSupport.eventually { pool.metrics.reads.waiting == 1 }
        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        // A task that was cancelled before does not even begin to wait.
        let third = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await PoolSupport.count(pool)
        }
        await #expect(throws: CancellationError.self) { _ = try await third.value }
        held.letGo()
        try await first.value
        #expect(try await PoolSupport.count(pool) == 0)
        #expect(pool.metrics.reads.cancelled == 2 && pool.metrics.reads.mostWaiting == 1)
        await pool.close()
    }

    @Test("A cancelled write that waits for another thread's transaction leaves the queue, and the next one waits on")
    func cancelledAtWriterLock() async throws {
        let configuration = PoolSupport.memory()
        let pool = try await RealmPool(configuration: configuration, readers: 1)
        let held = HeldClosure()
        let hasBegun = Atomic(false)
        let other = Task.detached {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                Thread.detachNewThread {
                    do {
                        let realm = try Realm(configuration: configuration)
                        realm.beginWrite()
                        hasBegun.store(true, ordering: .releasing)
                        held.hold()
                        realm.add(PoolRow(value: ["id": 1]))
                        try realm.commitWrite()
                    } catch { Issue.record(error) }
                    continuation.resume()
                }
            }
        }
        try await PoolSupport.eventually { hasBegun.load(ordering: .acquiring) }
        let second = Task { try await PoolSupport.add(2, to: pool) }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        let third = Task { try await PoolSupport.add(3, to: pool) }
        held.letGo()
        await other.value
        try await third.value
        #expect(try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] } == [1, 3])
        // It had been let in, and once counted as failed.
        #expect(pool.metrics.writes.cancelled == 1 && pool.metrics.writes.failed == 0)
        await pool.close()
    }

    @Test("A write whose transaction is committed reports its result although its task is cancelled")
    func cancelledAfterCommit() async throws {
        let disk = HeldDisk()
        let pool = try await RealmPool(configuration: disk.configuration, readers: 1)
        disk.holdNextSync()
        let write = Task {
            try await pool.write { realm in
                realm.add(PoolRow(value: ["id": 1]))
                return "committed"
            }
        }
        await disk.waitForSync()
        write.cancel()
        disk.letGo()
        #expect(try await write.value == "committed")
        #expect(try await PoolSupport.count(pool) == 1)
        await pool.close()
    }

    @Test("Calls are served in the order in which they wait")
    func order() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let held = HeldClosure()
        let first = Task { try await pool.write { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 }
        var tasks: [Task<Void, any Error>] = []
        for id in 0..<10 {
            tasks.append(
                Task {
                    try await pool.write { realm in
                        let rows = realm.objects(PoolRow.self)
                        realm.add(PoolRow(value: ["id": id, "name": "\(rows.count)"]))
                    }
                })
            try await PoolSupport.eventually { pool.metrics.writes.waiting == id + 1 }
        }
        held.letGo()
        try await first.value
        for task in tasks { try await task.value }
        let names = try await pool.read { realm in
            realm.objects(PoolRow.self).sorted(byKeyPath: "id").map(\.name) as [String]
        }
        #expect(names == (0..<10).map { "\($0)" })
        await pool.close()
    }

    @Test("Tasks keep their order when others among them are cancelled, also when the pool is closing")
    func orderOfTheRest() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let held = HeldClosure()
        let first = Task { try await pool.write { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 }
        let served = Served()
        var tasks: [Task<Void, any Error>] = []
        for id in 0..<12 {
            tasks.append(Task { try await pool.write { _ in served.add(id) } })
            try await PoolSupport.eventually { pool.metrics.writes.waiting == id + 1 }
        }
        for id in [0, 1, 4, 7, 11] { tasks[id].cancel() }
        try await PoolSupport.eventually { pool.metrics.writes.waiting == 7 }
        let closing = Task { await pool.close() }
        try await PoolSupport.eventually {
            do {
                _ = try await PoolSupport.count(pool)
                return false
            } catch { return error is RealmPoolError }
        }
        for id in [2, 10] { tasks[id].cancel() }
        held.letGo()
        try await first.value
        await closing.value
        #expect(served.ids == [3, 5, 6, 8, 9])
        #expect(pool.metrics.writes.cancelled == 7 && pool.metrics.writes.waiting == 0)
    }

    // The writer's queue once waited for that sync, and no other write could share it.
    @Test("A closure that throws ends while the sync of the write before it still runs")
    func throwingBehindSync() async throws {
        let disk = HeldDisk()
        let pool = try await RealmPool(configuration: disk.configuration, readers: 1)
        disk.holdNextSync()
        let first = Task { try await PoolSupport.add(1, to: pool) }
        await disk.waitForSync()
        await #expect(throws: Refused.self) {
            try await pool.write { realm in
                realm.add(PoolRow(value: ["id": 2]))
                throw Refused()
            }
        }
        #expect(pool.metrics.writes.running == 1)
        disk.letGo()
        try await first.value
        #expect(try await PoolSupport.count(pool) == 1)
        await pool.close()
    }

    private struct Refused: Error {}

    /// The order in which closures ran.
    private final class Served: Sendable {
        private let all = Mutex<[Int]>([])
        var ids: [Int] { all.withLock { $0 } }
        func add(_ id: Int) { all.withLock { $0.append(id) } }
    }

    @Test("More calls than may wait are refused, and later ones are served")
    func limit() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1, waitingLimit: 1)
        let held = HeldClosure()
        let first = Task { try await pool.write { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 }
        let second = Task { try await PoolSupport.add(2, to: pool) }
        try await PoolSupport.eventually { pool.metrics.writes.waiting == 1 }
        await #expect(throws: RealmPoolError.tooManyWaiting(limit: 1)) { try await PoolSupport.add(3, to: pool) }
        #expect(try await PoolSupport.count(pool) == 0)
        held.letGo()
        try await first.value
        try await second.value
        try await PoolSupport.add(4, to: pool)
        #expect(pool.metrics.writes.refused == 1)
        await pool.close()
    }

    // MARK: Closing

    @Test("Closing waits for the calls made before, refuses later ones, and closes the file")
    func closing() async throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file("pool.realm"), objectTypes: [PoolRow.self])
        let pool = try await RealmPool(configuration: configuration, readers: 2)
        let held = HeldClosure()
        let write = Task { try await pool.write { _ in held.hold() } }
        let read = Task { try await pool.read { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.writes.running == 1 && pool.metrics.reads.running == 1 }
        let waiting = Task { try await PoolSupport.add(1, to: pool) }
        try await PoolSupport.eventually { pool.metrics.writes.waiting == 1 }
        let isClosed = Atomic(false)
        let closing = Task {
            await pool.close()
            isClosed.store(true, ordering: .releasing)
        }
        try await PoolSupport.eventually {
            do {
                _ = try await pool.read { _ in }
                return false
            } catch { return error as? RealmPoolError == .closed }
        }
        await #expect(throws: RealmPoolError.closed) { try await PoolSupport.add(2, to: pool) }
        let hasClosed = isClosed.load(ordering: .acquiring)
        #expect(!hasClosed)
        held.letGo()
        held.letGo()
        try await write.value
        try await read.value
        try await waiting.value
        await closing.value
        await pool.close()
        #expect("\(RealmPoolError.closed)".hasPrefix("The pool is closed"))
        #expect(configuration.openRealms().isEmpty)
        expectIntegrity(of: configuration)
        let again = try await RealmPool(configuration: configuration, readers: 1)
        #expect(pool.metrics.writes.completed == 2)
        #expect(try await PoolSupport.count(again) == 1)
        await again.close()
    }

    @Test("A service that runs the pool closes it when it is cancelled, or returns when the pool is closed")
    func service() async throws {
        let cancelled = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let service = Task { await cancelled.runUntilCancelled() }
        try await PoolSupport.add(1, to: cancelled)
        service.cancel()
        await service.value
        await #expect(throws: RealmPoolError.closed) { try await PoolSupport.add(2, to: cancelled) }

        let closed = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let other = Task { await closed.runUntilCancelled() }
        await closed.close()
        await other.value
        // After the end, it returns at once.
        await closed.runUntilCancelled()
    }

    @Test("A pool that is released without being closed closes its file")
    func released() async throws {
        let configuration = PoolSupport.memory()
        do {
            let pool = try await RealmPool(configuration: configuration, readers: 2)
            try await PoolSupport.add(1, to: pool)
            #expect(try await PoolSupport.count(pool) == 1)
        }
        try await PoolSupport.eventually { configuration.openRealms().isEmpty }
    }
}
