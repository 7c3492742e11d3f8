// SPDX-License-Identifier: Apache-2.0
// Changes of a pool's objects for many listeners: contents, updates, keys of deleted objects, slow listeners.

import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

@testable import Regnum

@Suite struct PoolChangesTests {
    private struct KeyError: Error {}

    private static func ids(_ objects: [PoolObject]) throws -> [Int] {
        try objects.map { object in
            guard case .int(let id)? = object.primaryKey else { throw KeyError() }
            return id
        }
    }

    /// Rows of a listener: its changes, applied to an array of primary keys.
    private static func mirror(
        _ changes: PoolChangeSequence, until isDone: @escaping @Sendable ([Int]) -> Bool
    ) async throws -> [Int] {
        var mirrored: [Int] = []
        for try await change in changes {
            switch change {
            case .contents(let contents): mirrored = try ids(contents.objects)
            case .update(let update): try update.apply(to: &mirrored) { try ids([$0])[0] }
            }
            if isDone(mirrored) { break }
        }
        return mirrored
    }

    @Test("A listener receives the contents, and then insertions, modifications and deletions with their primary keys")
    func updates() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        for id in [1, 5, 9] { try await PoolSupport.add(id, to: pool) }
        let changes = pool.changes(snapshots: true) { realm in
            realm.objects(PoolRow.self).where { $0.id > 1 }.sorted(byKeyPath: "id")
        }
        var iterator = changes.makeAsyncIterator()
        guard case .contents(let contents)? = try await iterator.next() else {
            Issue.record("no contents")
            return
        }
        #expect(try Self.ids(contents.objects) == [5, 9])
        #expect(contents.objects.map { $0.snapshot?["name"] } == [.string("row 5"), .string("row 9")])
        try await pool.write { realm in
            realm.add(PoolRow(value: ["id": 7, "name": "new"]))
            realm.object(ofType: PoolRow.self, forPrimaryKey: 9)?.name = "changed"
            if let row = realm.object(ofType: PoolRow.self, forPrimaryKey: 5) { realm.delete(row) }
        }
        guard case .update(let update)? = try await iterator.next() else {
            Issue.record("no update")
            return
        }
        #expect(update.version > contents.version)
        #expect(try Self.ids(update.deletions) == [5] && update.deletions.map(\.position) == [0])
        #expect(update.deletions[0].snapshot == nil)
        #expect(try Self.ids(update.insertions) == [7] && update.insertions.map(\.position) == [0])
        #expect(update.insertions[0].snapshot?["name"] == .string("new"))
        #expect(try Self.ids(update.modifications) == [9] && update.modifications.map(\.position) == [1])
        #expect(update.modifications[0].snapshot?["name"] == .string("changed"))
        // Rows that the filter leaves out are no changes.
        try await PoolSupport.add(0, to: pool)
        try await PoolSupport.add(20, to: pool)
        guard case .update(let next)? = try await iterator.next() else {
            Issue.record("no second update")
            return
        }
        #expect(try Self.ids(next.insertions) == [20] && next.deletions.isEmpty && next.modifications.isEmpty)
        await pool.close()
        let last = try await iterator.next()
        #expect(last == nil)
    }

    @Test("A commit is compared once for all listeners of equal results")
    func sharing() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 2)
        let ready = Counter()
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<30 {
                let changes = pool.changes { realm in realm.objects(PoolRow.self).where { $0.id >= 0 } }
                group.addTask {
                    var mirrored: [Int] = []
                    for try await change in changes {
                        switch change {
                        case .contents(let contents):
                            mirrored = try Self.ids(contents.objects)
                            ready.add()
                        case .update(let update): try update.apply(to: &mirrored) { try Self.ids([$0])[0] }
                        }
                        if mirrored.count == 5 { break }
                    }
                    return mirrored
                }
            }
            try await PoolSupport.eventually { ready.value == 30 }
            #expect(await pool.observer.work.observations == 1)
            for id in 0..<5 { try await PoolSupport.add(id, to: pool) }
            for try await mirrored in group { #expect(mirrored == [0, 1, 2, 3, 4]) }
        }
        // Without listeners the pool observes nothing.
        try await PoolSupport.eventually { await pool.observer.work.observations == 0 }
        await pool.close()
    }

    @Test("The observer is asked once for each commit, however many listeners there are", arguments: [1, 30])
    func work(listeners: Int) async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        var iterators: [PoolChangeSequence.AsyncIterator] = []
        for _ in 0..<listeners {
            var iterator = pool.changes { realm in realm.objects(PoolRow.self) }.makeAsyncIterator()
            _ = try await iterator.next()
            iterators.append(iterator)
        }
        for id in 0..<4 {
            try await PoolSupport.add(id, to: pool)
            // One listener waits for the update, so that each commit has a turn of its own.
            _ = try await iterators[0].next()
        }
        #expect(await pool.observer.work.asked == 4)
        await pool.close()
        // The updates that were sent before the end are dropped with it.
        for index in iterators.indices {
            let last = try await iterators[index].next()
            #expect(last == nil)
        }
    }

    @Test("A listener that is too slow receives the contents again, and misses nothing that still holds")
    func slow() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let all = { @Sendable (realm: Realm) in realm.objects(PoolRow.self) }
        var slow = pool.changes(bufferLimit: 2, all).makeAsyncIterator()
        var fast = pool.changes(bufferLimit: 100, all).makeAsyncIterator()
        _ = try await slow.next()
        _ = try await fast.next()
        var mirrored: [Int] = []
        for id in 0..<10 {
            try await PoolSupport.add(id, to: pool)
            guard case .update(let update)? = try await fast.next() else {
                Issue.record("no update")
                return
            }
            try update.apply(to: &mirrored) { try Self.ids([$0])[0] }
        }
        #expect(mirrored == Array(0..<10))
        guard case .contents(let contents)? = try await slow.next() else {
            Issue.record("no contents")
            return
        }
        #expect(try Self.ids(contents.objects) == Array(0..<10))
        try await PoolSupport.add(10, to: pool)
        guard case .update(let update)? = try await slow.next() else {
            Issue.record("no update after the contents")
            return
        }
        #expect(try Self.ids(update.insertions) == [10])
        await pool.close()
    }

    @Test("Listeners mirror random changes of many tasks")
    func mirrors() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 2)
        let changes = pool.changes(bufferLimit: 3) { realm in
            realm.objects(PoolRow.self).where { $0.name != "hidden" }.sorted(byKeyPath: "id", ascending: false)
        }
        let last = 1_000_000
        try await withThrowingTaskGroup(of: [Int].self) { listeners in
            for _ in 0..<3 { listeners.addTask { try await Self.mirror(changes) { $0.first == last } } }
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for writer in 0..<4 {
                    writers.addTask {
                        for step in 0..<25 {
                            let id = (writer * 31 + step * 17) % 40
                            try await pool.write { realm in
                                let row = realm.object(ofType: PoolRow.self, forPrimaryKey: id)
                                if let row, step % 3 == 0 { return realm.delete(row) }
                                realm.create(
                                    PoolRow.self, value: ["id": id, "name": step % 4 == 1 ? "hidden" : "\(step)"],
                                    update: .modified)
                            }
                        }
                    }
                }
                try await writers.waitForAll()
            }
            try await PoolSupport.add(last, to: pool)
            let expected = try await pool.read { realm in
                realm.objects(PoolRow.self).where { $0.name != "hidden" }.sorted(byKeyPath: "id", ascending: false)
                    .map(\.id) as [Int]
            }
            for try await mirrored in listeners { #expect(mirrored == expected) }
        }
        await pool.close()
    }

    @Test("Writing in a closure of changes is a programmer error")
    func writeInChanges() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        final class Words: Sendable { let found = Mutex<[String?]>([]) }
        let words = Words()
        let changes = pool.changes { realm -> Results<PoolRow> in
            let found = [catchMisuse { realm.beginWrite() }, catchMisuse { realm.writeAsync {} }]
            words.found.withLock { $0 = found }
            return realm.objects(PoolRow.self)
        }
        var iterator = changes.makeAsyncIterator()
        guard case .contents(let contents)? = try await iterator.next() else {
            Issue.record("no contents")
            return
        }
        #expect(contents.objects.isEmpty)
        let found = words.found.withLock { $0 }
        #expect(found.count == 2)
        for text in found { #expect(text?.hasPrefix("Can't perform transactions in a closure of `changes`.") == true) }
        await pool.close()
    }

    @Test("Using one iterator in two tasks at the same time is a programmer error")
    func sharedIterator() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        var iterator = pool.changes { realm in realm.objects(PoolRow.self) }.makeAsyncIterator()
        _ = try await iterator.next()
        let shared = iterator
        let waiting = Task {
            var iterator = shared
            return try await iterator.next()
        }
        try await PoolSupport.eventually { shared.listener.isWaiting }
        let words = try await catchAsyncMisuse {
            var iterator = shared
            _ = try await iterator.next()
        }
        #expect(words?.hasPrefix("Two tasks use one iterator of `changes` at the same time.") == true)
        // The first task still waits, and is resumed.
        try await PoolSupport.add(1, to: pool)
        guard case .update(let update)? = try await waiting.value else {
            Issue.record("no update")
            return
        }
        #expect(try Self.ids(update.insertions) == [1])
        await pool.close()
    }

    @Test("A cancelled listener ends, and so do all others when the pool is closed")
    func ends() async throws {
        let pool = try await RealmPool(configuration: PoolSupport.memory(), readers: 1)
        let changes = pool.changes { realm in realm.objects(PoolRow.self) }
        let began = Counter()
        let listen: @Sendable () async throws -> Int = {
            var count = 0
            for try await _ in changes {
                count += 1
                began.add()
            }
            return count
        }
        let cancelled = Task { try await listen() }
        let other = Task { try await listen() }
        try await PoolSupport.eventually { began.value == 2 }
        cancelled.cancel()
        #expect(try await cancelled.value == 1)
        try await PoolSupport.add(1, to: pool)
        try await PoolSupport.eventually { began.value == 3 }
        await pool.close()
        #expect(try await other.value == 2)
        await #expect(throws: RealmPoolError.closed) { _ = try await listen() }
    }
}
