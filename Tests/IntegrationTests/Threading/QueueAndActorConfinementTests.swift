// SPDX-License-Identifier: Apache-2.0
// Realms of queues and actors that code outside the queue or actor uses on the same thread, because a thread serves
// many queues and actors. Also writer locks that are offered to a queue which does not take them.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

/// Runs all jobs, including those of actors, on one thread.
private final class OneThread: SerialExecutor, @unchecked Sendable {
    // Sendable: `work` is guarded by the condition.
    private let condition = NSCondition()
    private var work: [() -> Void] = []
    private var isOver = false

    init() {
        Thread.detachNewThread { [self] in
            while let next = take() { next() }
        }
    }

    private func take() -> (() -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        while work.isEmpty, !isOver { condition.wait() }
        return work.isEmpty ? nil : work.removeFirst()
    }

    func run(_ piece: @escaping () -> Void) {
        condition.lock()
        work.append(piece)
        condition.signal()
        condition.unlock()
    }

    func end() {
        condition.lock()
        isOver = true
        condition.signal()
        condition.unlock()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private actor OneThreadKeeper {
    let executor: OneThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var realm: Realm?

    init(_ executor: OneThread) { self.executor = executor }

    struct Parcel: @unchecked Sendable {
        // Sendable: passed to a wrong caller, for the test.
        let realm: Realm
        let row: AsyncRow
    }

    func open() async throws -> Parcel {
        let opened = try await Realm.open(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self]))
        realm = opened
        let row = try opened.write { opened.create(AsyncRow.self, value: ["id": 1]) }
        #expect(row.id == 1 && opened.objects(AsyncRow.self).count == 1)
        return Parcel(realm: opened, row: row)
    }

    func count() throws -> Int { try #require(realm).objects(AsyncRow.self).count }
}

@Suite("Confinement to queues and actors, not to their threads")
struct QueueAndActorConfinementTests {
    @Test("An actor's Realm is refused on the actor's thread outside the actor")
    func actors() async throws {
        let thread = OneThread()
        defer { thread.end() }
        let keeper = OneThreadKeeper(thread)
        let parcel = try await keeper.open()
        let words: [String?] = await withCheckedContinuation { continuation in
            thread.run {
                continuation.resume(returning: [
                    catchMisuse { _ = parcel.realm.objects(AsyncRow.self) }, catchMisuse { _ = parcel.realm.isEmpty },
                    catchMisuse { parcel.realm.beginWrite() }, catchMisuse { _ = parcel.row.id },
                ])
            }
        }
        for text in words {
            #expect(text?.contains("Realm accessed from incorrect thread.") == true)
            #expect(text?.contains("opened on the actor OneThreadKeeper") == true)
        }
        #expect(try await keeper.count() == 1)
    }

    @Test("A queue's Realm is refused after the queue's block on the same thread")
    func queues() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self])
        let queue = DispatchQueue(label: "a queue")
        nonisolated(unsafe) var opened: Realm?
        nonisolated(unsafe) var found: AsyncRow?
        // `sync` runs the block on the caller's thread.
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            found = try realm.write { realm.create(AsyncRow.self, value: ["id": 1]) }
            #expect(found?.id == 1)
            opened = realm
        }
        let realm = try #require(opened)
        let row = try #require(found)
        let words = [catchMisuse { _ = realm.objects(AsyncRow.self) }, catchMisuse { realm.delete(row) }]
        for text in words {
            #expect(text?.contains("Realm accessed from incorrect thread.") == true)
            #expect(text?.contains("opened on the queue 'a queue'") == true)
        }
        #if DEBUG
            let read = catchMisuse { _ = row.id }
            #expect(read?.contains("Realm accessed from incorrect thread.") == true)
        #endif
        queue.sync { #expect(row.id == 1 && realm.objects(AsyncRow.self).count == 1) }
    }

    @Test(
        "A writer lock that a blocked queue does not take goes to the next writers, and the order is kept",
        .timeLimit(.minutes(240)))
    func absent() async throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self])
        let busy = try AsyncStage(configuration)
        let other = try AsyncStage(configuration)
        let free = DispatchSemaphore(value: 0)
        busy.queue.async {
            for id in [1, 2] {
                busy.realm?.writeAsync { busy.realm?.add(AsyncRow(value: ["id": id, "name": "\(busy.count)"])) }
            }
            free.wait()
        }
        // After the writes of the busy queue: if the lock waited for that queue, this write would wait forever.
        try other.on { realm in
            realm.writeAsync { realm.add(AsyncRow(value: ["id": 3, "name": "\(other.count)"])) }
        }
        _ = try await other.wait()
        try other.on { #expect($0.objects(AsyncRow.self).map(\.id) == [3]) }
        free.signal()
        _ = try await busy.wait()
        try busy.on { realm in
            #expect(realm.objects(AsyncRow.self).sorted(byKeyPath: "name").map(\.id) == [3, 1, 2])
        }
    }
}

extension AsyncStage {
    fileprivate var count: Int { realm?.objects(AsyncRow.self).count ?? -1 }
}
