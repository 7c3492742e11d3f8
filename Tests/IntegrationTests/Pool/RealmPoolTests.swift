// SPDX-License-Identifier: Apache-2.0
// Reading and writing through a pool: what reads see, errors, shared syncs, and wrong calls.

import Dispatch
import Foundation
import RealmSwift
import RegnumEngine
import RegnumSimulation
import RegnumTestKit
import Testing

@testable import Regnum

@Suite struct RealmPoolTests {
    private enum Trace {
        @TaskLocal static var id = ""
    }

    private struct Refusal: Error, Equatable {}

    @Test("Tasks read and write side by side, and each read sees whole transactions")
    func sideBySide() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for step in 0..<10 {
                        let id = 2 * (writer * 10 + step)
                        try await pool.write { realm in
                            realm.add(PoolRow(value: ["id": id]))
                            realm.add(PoolRow(value: ["id": id + 1]))
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<20 {
                        let ids = try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] }
                        #expect(ids.count % 2 == 0)
                        #expect(Set(ids.map { $0 / 2 }).count * 2 == ids.count)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await PoolSupport.count(pool) == 160)
        let metrics = pool.metrics
        #expect(metrics.writes.completed == 80 && metrics.reads.completed == 161)
        #expect(metrics.writes.running == 0 && metrics.reads.waiting == 0)
        await pool.close()
    }

    @Test("A read sees every write that returned before it was called, whichever reader runs it")
    func readYourWrites() async throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file("pool.realm"), objectTypes: [PoolRow.self])
        let pool = try await RealmPool(configuration: configuration, readers: 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for step in 0..<5 {
                        let id = task * 5 + step
                        try await PoolSupport.add(id, to: pool)
                        let name = try await pool.read { realm in
                            realm.object(ofType: PoolRow.self, forPrimaryKey: id)?.name
                        }
                        #expect(name == "row \(id)")
                    }
                }
            }
            try await group.waitForAll()
        }
        await pool.close()
        expectIntegrity(of: configuration)
    }

    @Test("A read sees a write by a Realm outside of the pool, and the pool writes after it")
    func outside() async throws {
        let folder = TestFolder()
        let configuration = Realm.Configuration(fileURL: folder.file("pool.realm"), objectTypes: [PoolRow.self])
        let pool = try await RealmPool(configuration: configuration, readers: 1)
        #expect(try await PoolSupport.count(pool) == 0)
        let queue = DispatchQueue(label: "other")
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.add(PoolRow(value: ["id": 1])) }
        }
        #expect(try await PoolSupport.count(pool) == 1)
        try await PoolSupport.add(2, to: pool)
        #expect(try await PoolSupport.count(pool) == 2)
        await pool.close()
    }

    @Test("A closure that throws changes nothing, and the next write is not affected")
    func throwing() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        await #expect(throws: Refusal()) {
            try await pool.write { realm in
                realm.add(PoolRow(value: ["id": 1]))
                throw Refusal()
            }
        }
        await #expect(throws: Refusal()) { try await pool.read { _ in throw Refusal() } }
        try await PoolSupport.add(2, to: pool)
        #expect(try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] } == [2])
        #expect(pool.metrics.writes.failed == 1 && pool.metrics.reads.failed == 1)
        await pool.close()
    }

    @Test("A closure may end its transaction itself")
    func endedInside() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let cancelled = try await pool.write { realm in
            realm.add(PoolRow(value: ["id": 1]))
            realm.cancelWrite()
            return realm.objects(PoolRow.self).count
        }
        let committed = try await pool.write { realm in
            realm.add(PoolRow(value: ["id": 2]))
            try realm.commitWrite()
            return realm.objects(PoolRow.self).count
        }
        #expect(cancelled == 0 && committed == 1)
        #expect(try await PoolSupport.count(pool) == 1)
        await pool.close()
    }

    @Test("Closures run within the caller's task")
    func inTask() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let seen = try await Trace.$id.withValue("request 7") {
            [try await pool.read { _ in Trace.id }, try await pool.write { _ in Trace.id }]
        }
        #expect(seen == ["request 7", "request 7"])
        await pool.close()
    }

    // The pool's Realms have no observers, so a write does not wait until the commit before it is durable.
    @Test("Writes of concurrent tasks are queued while the disk is busy, and share the next sync")
    func sharedSyncs() async throws {
        let disk = HeldDisk()
        let pool = try await RealmPool(configuration: disk.configuration, readers: 1)
        let before = pool.metrics.syncs
        disk.holdNextSync()
        let ran = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<32 {
                group.addTask {
                    try await pool.write { realm in
                        realm.add(PoolRow(value: ["id": id]))
                        ran.add()
                    }
                }
            }
            await disk.waitForSync()
            try await PoolSupport.eventually { ran.value == 32 }
            // Nothing is durable yet, so nothing is shown.
            #expect(try await PoolSupport.count(pool) == 0)
            #expect(pool.metrics.writes.completed == 0)
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(try await PoolSupport.count(pool) == 32)
        // The first commit alone, those that were queued, and perhaps the last one.
        #expect(pool.metrics.syncs - before <= 3)
        await pool.close()
    }

    @Test("If a sync fails, all writes that were queued for it throw, nothing of them is kept, and later ones succeed")
    func failedSync() async throws {
        let disk = HeldDisk()
        let pool = try await RealmPool(configuration: disk.configuration, readers: 1)
        try await PoolSupport.add(100, to: pool)
        disk.holdNextSync()
        let ran = Counter()
        let failures = await withTaskGroup(of: Bool.self) { group in
            for id in 0..<8 {
                group.addTask {
                    do {
                        try await pool.write { realm in
                            realm.add(PoolRow(value: ["id": id]))
                            ran.add()
                        }
                        return false
                    } catch { return error is Realm.Error }
                }
            }
            await disk.waitForSync()
            try? await PoolSupport.eventually { ran.value == 8 }
            disk.failHeldSync()
            disk.letGo()
            return await group.reduce(into: 0) { if $1 { $0 += 1 } }
        }
        #expect(failures == 8)
        disk.files.failure = nil
        try await PoolSupport.add(101, to: pool)
        #expect(try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] } == [100, 101])
        await pool.close()
    }

    @Test("A write for which the disk has no room throws, and those before and after it succeed")
    func diskFull() async throws {
        let disk = HeldDisk()
        let pool = try await RealmPool(configuration: disk.configuration, readers: 1)
        disk.holdNextSync()
        let first = Task { try await PoolSupport.add(1, to: pool) }
        await disk.waitForSync()
        disk.becomeFull()
        let ran = Counter()
        let second = Task {
            try await pool.write { realm in
                realm.add(PoolRow(value: ["id": 2, "name": String(repeating: "long", count: 1 << 20)]))
                ran.add()
            }
        }
        try await PoolSupport.eventually { ran.value == 1 }
        disk.letGo()
        await #expect(throws: Realm.Error.self) { try await second.value }
        try await first.value
        disk.files.failure = nil
        try await PoolSupport.add(3, to: pool)
        #expect(try await pool.read { realm in realm.objects(PoolRow.self).map(\.id) as [Int] } == [1, 3])
        await pool.close()
        expectIntegrity(of: disk.configuration)
    }

    @Test("The statistics of the file need no reader, and end with the pool")
    func statistics() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let held = HeldClosure()
        let read = Task { try await pool.read { _ in held.hold() } }
        try await PoolSupport.eventually { pool.metrics.reads.running == 1 }
        let before = try #require(pool.statistics).commits
        try await PoolSupport.add(1, to: pool)
        let after = try #require(pool.statistics)
        #expect(after.commits == before + 1 && after.name == pool.configuration.inMemoryIdentifier)
        held.letGo()
        try await read.value
        await pool.close()
        let closed = pool.statistics
        #expect(closed == nil)
    }

    @Test("An idle reader does not keep an old version for long")
    func idleReaders() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 2)
        let held = HeldClosure()
        // Opens both readers.
        async let first: Void = pool.read { _ in held.hold() }
        async let second: Void = pool.read { _ in held.hold() }
        try await PoolSupport.eventually { pool.metrics.reads.running == 2 }
        held.letGo()
        held.letGo()
        _ = try await (first, second)
        for id in 0..<20 { try await PoolSupport.add(id, to: pool) }
        // The reader that counts, the other one and the writer show the newest version.
        try await PoolSupport.eventually {
            try await pool.read { realm in Set(realm.pins().map(\.version)).count } == 1
        }
        await pool.close()
    }

    @Test("A read-only file is read by the pool")
    func readOnly() async throws {
        let folder = TestFolder()
        var configuration = Realm.Configuration(fileURL: folder.file("pool.realm"), objectTypes: [PoolRow.self])
        let pool = try await RealmPool(configuration: configuration, readers: 1)
        try await PoolSupport.add(1, to: pool)
        await pool.close()
        configuration.readOnly = true
        let reading = try await RealmPool(configuration: configuration, readers: 2)
        #expect(try await PoolSupport.count(reading) == 1)
        let words = try await catchAsyncMisuse { [reading] in try await reading.write { _ in } }
        #expect(words?.hasPrefix("Can't perform transactions on read-only Realms.") == true)
        await reading.close()
    }

    @Test("A file that cannot be opened is an error of the initialiser")
    func unopenable() async throws {
        let folder = TestFolder()
        let file = folder.file("pool.realm")
        try Data(repeating: 7, count: 10_000).write(to: file)
        let configuration = Realm.Configuration(fileURL: file, objectTypes: [PoolRow.self])
        await #expect(throws: Realm.Error.self) { _ = try await RealmPool(configuration: configuration) }
    }

    // MARK: Wrong calls

    /// Carries a Realm out of a closure, which is wrong.
    private final class Leak: @unchecked Sendable {
        // Sendable: used by one thread at a time.
        var realm: Realm?
    }

    @Test("Writing in a closure of read is a programmer error")
    func writeInRead() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let words = try await pool.read { realm in
            [
                catchMisuse { realm.beginWrite() }, try catchMisuse { try realm.write {} },
                catchMisuse { realm.writeAsync {} },
            ]
        }
        for text in words { #expect(text?.hasPrefix("Can't perform transactions in a closure of `read`.") == true) }
        #expect(try await PoolSupport.count(pool) == 0)
        await pool.close()
    }

    @Test("Using the Realm of a closure outside of it is a programmer error")
    func leaked() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let leak = Leak()
        try await pool.read { realm in leak.realm = realm }
        let words = catchMisuse { _ = leak.realm?.isEmpty }
        #expect(words?.hasPrefix("Realm accessed from incorrect thread.") == true)
        try await pool.write { realm in leak.realm = realm }
        #expect(catchMisuse { _ = leak.realm?.isEmpty }?.contains("incorrect thread") == true)
        leak.realm = nil
        await pool.close()
    }

    @Test("A pool without readers is a programmer error")
    func noReaders() async throws {
        let configuration = PoolSupport.memory()
        let words = try await catchAsyncMisuse { _ = try await RealmPool(configuration: configuration, readers: 0) }
        #expect(words == "A pool needs at least one reader.")
    }
}
