// SPDX-License-Identifier: Apache-2.0
// Asynchronous writes of an actor's tasks that share syncs, and those of observed Realms, which do not.

import RealmSwift
import Regnum
import RegnumSimulation
import RegnumTestKit
import Synchronization
import Testing

/// An actor whose tasks write through one Realm.
private actor GroupKeeper {
    private var realm: Realm?
    private var token: NotificationToken?
    nonisolated let ran = Atomic(0)

    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm.open(configuration: configuration)
    }

    func observe() async throws {
        let realm = try #require(realm)
        token = realm.objects(PoolRow.self).observe { _ in }
    }

    func add(_ id: Int) async throws {
        let realm = try #require(realm)
        try await realm.asyncWrite {
            realm.add(PoolRow(value: ["id": id]))
            ran.add(1, ordering: .relaxed)
        }
    }

    func ids() throws -> [Int] { try #require(realm).objects(PoolRow.self).map(\.id) as [Int] }

    func close() {
        token?.invalidate()
        (realm, token) = (nil, nil)
    }
}

@Suite struct AsyncWriteGroupsTests {
    // Each Realm of an actor or a queue has a notifier, even without observers. Writes waited until the commit before
    // them was durable whenever there was one, so that concurrent tasks never shared a sync.
    @Test(
        "Asynchronous writes of an actor without observers are queued while the disk is busy, and share the next sync")
    func shared() async throws {
        let disk = HeldDisk()
        let keeper = GroupKeeper()
        try await keeper.open(disk.configuration)
        let before = disk.files.operationCount(of: "sync")
        disk.holdNextSync()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<16 { group.addTask { try await keeper.add(id) } }
            await disk.waitForSync()
            try await PoolSupport.eventually { keeper.ran.load(ordering: .relaxed) == 16 }
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(disk.files.operationCount(of: "sync") - before <= 3)
        await keeper.close()
        expectIntegrity(of: disk.configuration)
    }

    @Test("An observed Realm begins a write at a durable version, and all its writes succeed")
    func observed() async throws {
        let disk = HeldDisk()
        let keeper = GroupKeeper()
        try await keeper.open(disk.configuration)
        try await keeper.observe()
        let before = disk.files.operationCount(of: "sync")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<16 { group.addTask { try await keeper.add(id) } }
            try await group.waitForAll()
        }
        #expect(keeper.ran.load(ordering: .relaxed) == 16)
        // Each write has waited for the sync of the one before it.
        #expect(disk.files.operationCount(of: "sync") - before >= 16)
        await keeper.close()
    }

    @Test("If a sync fails, all asynchronous writes that were queued for it throw, and later ones succeed")
    func failed() async throws {
        let disk = HeldDisk()
        let keeper = GroupKeeper()
        try await keeper.open(disk.configuration)
        disk.holdNextSync()
        let failures = await withTaskGroup(of: Bool.self) { group in
            for id in 0..<8 {
                group.addTask {
                    do {
                        try await keeper.add(id)
                        return false
                    } catch { return error is Realm.Error }
                }
            }
            await disk.waitForSync()
            try? await PoolSupport.eventually { keeper.ran.load(ordering: .relaxed) == 8 }
            disk.failHeldSync()
            disk.letGo()
            return await group.reduce(into: 0) { if $1 { $0 += 1 } }
        }
        #expect(failures == 8)
        disk.files.failure = nil
        try await keeper.add(100)
        #expect(try await keeper.ids() == [100])
        await keeper.close()
        expectIntegrity(of: disk.configuration)
    }

    // Until the callback of a failed commit runs, its objects have to be invalid already: a write that begins before it
    // returns to the last durable version, and may create other objects under the same keys.
    @Test("An object of a failed commit is invalid if the next write begins before the callback")
    func failedBeforeNext() async throws {
        let disk = HeldDisk()
        let stage = try AsyncStage(disk.configuration)
        var row: PoolRow?
        var token: NotificationToken?
        disk.holdNextSync()
        try stage.on { realm in
            token = realm.objects(PoolRow.self).observe { _ in }
            realm.beginWrite()
            row = realm.create(PoolRow.self, value: ["id": 1])
            realm.commitAsyncWrite { error in stage.note(error == nil ? "durable" : "failed") }
        }
        await disk.waitForSync()
        disk.failHeldSync()
        try stage.on { realm in
            #expect(row?.isInvalidated == false)
            // The queue is occupied from here on, so that the callback comes after the write. The write waits for the
            // sync, because the Realm is observed.
            disk.letGo()
            try realm.write { realm.add(PoolRow(value: ["id": 2])) }
            #expect(row?.isInvalidated == true)
        }
        #expect(try await stage.wait() == ["failed"])
        try stage.on { realm in
            let ids = realm.objects(PoolRow.self).map(\.id) as [Int]
            #expect(ids == [2])
            #expect(row?.isInvalidated == true)
            token?.invalidate()
        }
    }
}
