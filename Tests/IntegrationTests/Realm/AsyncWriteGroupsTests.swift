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
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<16 { group.addTask { try await keeper.add(id) } }
            try await group.waitForAll()
        }
        #expect(keeper.ran.load(ordering: .relaxed) == 16)
        await keeper.close()
    }
}
