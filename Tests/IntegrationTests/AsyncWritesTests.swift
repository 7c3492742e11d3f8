// SPDX-License-Identifier: Apache-2.0
// Writes that wait for their turn without a thread, on queues: order, ends, cancelling, and what synchronous writes
// do between them. Each stage is a queue of its own; `wait` ends when all asynchronous work of it has.

import Dispatch
import Foundation
import RealmSwift
import RegnumEngine
import RegnumSystem
import RegnumTestKit
import Testing

class AsyncRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

/// A Realm on a queue of its own, with a list of what happened.
final class AsyncStage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "async stage")
    var realm: Realm?
    var lines: [String] = []
    /// Kept for the version that it shows.
    var frozen: Realm?

    init(_ configuration: Realm.Configuration) throws {
        try queue.sync { realm = try Realm(configuration: configuration, queue: queue) }
    }

    convenience init() throws {
        try self.init(Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self]))
    }

    @discardableResult
    func on<R>(_ body: (Realm) throws -> R) throws -> R { try queue.sync { try body(try #require(realm)) } }

    func note(_ line: String) { lines.append(line) }

    /// Until the Realm has no asynchronous work left; what was noted.
    func wait() async throws -> [String] {
        let end = ContinuousClock.now + .seconds(20)
        while try on({ $0.isPerformingAsynchronousWriteOperations }) {
            if ContinuousClock.now > end { throw Stuck() }
            try await Task.sleep(for: .milliseconds(1))
        }
        return try on { _ in
            defer { lines = [] }
            return lines
        }
    }

    struct Stuck: Error {}
}

@Suite struct AsyncWritesTests {
    private func add(_ id: Int, _ realm: Realm) { realm.add(AsyncRow(value: ["id": id])) }

    @Test("an asynchronous write runs later, commits by itself, and calls back when it is durable")
    func plain() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.writeAsync {
                stage.note("block \(realm.isInWriteTransaction)")
                self.add(1, realm)
            } onComplete: { error in
                stage.note("done \(error == nil) \(realm.isInWriteTransaction) \(realm.objects(AsyncRow.self).count)")
            }
            stage.note("returned \(realm.isPerformingAsynchronousWriteOperations)")
        }
        #expect(try await stage.wait() == ["returned true", "block true", "done true false 1"])
    }

    @Test("blocks run in the order of the calls, on whichever Realms of the file they were made")
    func order() async throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self])
        let stages = try (0..<3).map { _ in try AsyncStage(configuration) }
        for id in 0..<60 {
            try stages[id % 3].on { realm in
                realm.writeAsync {
                    realm.add(AsyncRow(value: ["id": id, "name": "\(realm.objects(AsyncRow.self).count)"]))
                }
            }
        }
        for stage in stages { _ = try await stage.wait() }
        try stages[0].on { realm in
            realm.refresh()
            #expect(realm.objects(AsyncRow.self).count == 60)
            #expect(realm.objects(AsyncRow.self).allSatisfy { $0.name == "\($0.id)" })
        }
    }

    @Test("a begun block that neither commits nor cancels loses its changes; one that commits keeps them")
    func begun() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.beginAsyncWrite { self.add(1, realm) }
            realm.beginAsyncWrite {
                self.add(2, realm)
                realm.commitAsyncWrite { _ in stage.note("two") }
                stage.note("in write \(realm.isInWriteTransaction)")
            }
            realm.beginAsyncWrite {
                self.add(3, realm)
                realm.cancelWrite()
            }
            realm.beginAsyncWrite {
                self.add(4, realm)
                try? realm.commitWrite()
            }
        }
        #expect(try await stage.wait() == ["in write false", "two"])
        #expect(try stage.on { $0.objects(AsyncRow.self).map(\.id).sorted() } == [2, 4])
    }

    @Test("a block or a sync write asked for inside a block is a later transaction of its own")
    func nested() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.writeAsync {
                self.add(1, realm)
                realm.writeAsync {
                    stage.note("inner \(realm.objects(AsyncRow.self).count)")
                    self.add(2, realm)
                } onComplete: { _ in
                    stage.note("inner done")
                }
                stage.note("outer")
            } onComplete: { _ in
                realm.beginWrite()
                realm.cancelWrite()
                stage.note("outer done")
            }
        }
        let lines = try await stage.wait()
        #expect(lines.first == "outer")
        #expect(Set(lines) == ["outer", "outer done", "inner 1", "inner done"])
        #expect(try stage.on { $0.objects(AsyncRow.self).count } == 2)
    }

    @Test("a synchronous write goes before the asynchronous ones that wait, and never waits for its own queue")
    func synchronous() async throws {
        let stage = try AsyncStage()
        for round in 0..<200 {
            try stage.on { realm in
                realm.writeAsync { stage.note("async") }
                if round.isMultiple(of: 2) { realm.writeAsync { stage.note("async") } }
                try realm.write { stage.note("sync") }
            }
            let lines = try await stage.wait()
            #expect(lines.first == "sync")
            #expect(lines.count == (round.isMultiple(of: 2) ? 3 : 2))
        }
    }

    @Test("a block that is cancelled before its turn never runs; of a commit only the callback is dropped")
    func cancelling() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            let first = realm.writeAsync {
                stage.note("first")
            } onComplete: { _ in
                stage.note("first done")
            }
            let second = realm.beginAsyncWrite { stage.note("second") }
            try realm.cancelAsyncWrite(first)
            try realm.cancelAsyncWrite(second)
            try realm.cancelAsyncWrite(second)
            realm.writeAsync { self.add(1, realm) }
            realm.beginWrite()
            self.add(2, realm)
            let commit = realm.commitAsyncWrite { _ in stage.note("commit done") }
            try realm.cancelAsyncWrite(commit)
        }
        #expect(try await stage.wait() == [])
        #expect(try stage.on { $0.objects(AsyncRow.self).map(\.id).sorted() } == [1, 2])
    }

    @Test("many queues with synchronous and asynchronous writes in between come to an end, and nothing is lost")
    func mixed() async throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self])
        let stages = try (0..<6).map { _ in try AsyncStage(configuration) }
        await withTaskGroup(of: Void.self) { group in
            for (number, stage) in stages.enumerated() {
                group.addTask {
                    for i in 0..<50 {
                        stage.queue.sync {
                            guard let realm = stage.realm else { return }
                            let id = number * 1000 + i
                            if (i + number) % 3 == 0 {
                                try? realm.write { self.add(id, realm) }
                            } else {
                                realm.writeAsync { self.add(id, realm) }
                            }
                        }
                    }
                }
            }
        }
        for stage in stages { _ = try await stage.wait() }
        try stages[0].on { realm in
            realm.refresh()
            #expect(realm.objects(AsyncRow.self).count == 300)
        }
    }

    @Test("commits that may share a sync are all made, each seen by the next block, and called back in their order")
    func grouped() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            for id in 1...4 {
                realm.beginAsyncWrite {
                    stage.note("block \(id) \(realm.objects(AsyncRow.self).count)")
                    self.add(id, realm)
                    realm.commitAsyncWrite(allowGrouping: id < 4) { error in stage.note("done \(id) \(error == nil)") }
                    stage.note("visible \(realm.objects(AsyncRow.self).count) \(realm.isInWriteTransaction)")
                }
            }
        }
        let lines = try await stage.wait()
        #expect(lines.filter { $0.hasPrefix("block") } == ["block 1 0", "block 2 1", "block 3 2", "block 4 3"])
        #expect(lines.filter { $0.hasPrefix("visible") } == (1...4).map { "visible \($0) false" })
        #expect(lines.filter { $0.hasPrefix("done") } == (1...4).map { "done \($0) true" })
        // A grouped write that is begun at once, and ends as the others do.
        try stage.on { realm in
            realm.beginWrite()
            self.add(5, realm)
            realm.commitAsyncWrite(allowGrouping: true) { error in stage.note("done \(error == nil)") }
            stage.note("\(realm.objects(AsyncRow.self).count)")
        }
        #expect(try await stage.wait() == ["5", "done true"])
    }

    @Test("a block that has ended its write itself is left at that, and one that has begun another is not")
    func endedByBlock() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.writeAsync {
                self.add(1, realm)
                try? realm.commitWrite()
                stage.note("in write \(realm.isInWriteTransaction)")
            } onComplete: { error in
                stage.note("committed \(error == nil) \(realm.isInWriteTransaction)")
            }
            realm.writeAsync {
                self.add(2, realm)
                realm.cancelWrite()
            } onComplete: { error in
                stage.note("cancelled \(error == nil) \(realm.isInWriteTransaction)")
            }
            realm.writeAsync {
                self.add(3, realm)
                realm.commitAsyncWrite { error in stage.note("inner \(error == nil)") }
            } onComplete: { error in
                stage.note("outer \(error == nil)")
            }
            realm.writeAsync {
                realm.cancelWrite()
                realm.beginWrite()
                self.add(4, realm)
            } onComplete: { error in
                stage.note("another \(error == nil) \(realm.isInWriteTransaction)")
            }
            realm.beginAsyncWrite {
                self.add(5, realm)
                try? realm.commitWrite()
                realm.beginWrite()
                self.add(6, realm)
            }
        }
        let lines = try await stage.wait()
        #expect(
            lines.sorted() == [
                "another true false", "cancelled true false", "committed true false", "in write false", "inner true",
                "outer true",
            ])
        #expect(try stage.on { $0.objects(AsyncRow.self).map(\.id).sorted() } == [1, 3, 4, 5])
    }

    @Test("in a block that has ended its write another end of it is misuse, and the next block has its turn")
    func endedTwice() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.writeAsync {
                self.add(1, realm)
                try? realm.commitWrite()
                stage.note(catchMisuse { realm.commitAsyncWrite() } ?? "no misuse")
                stage.note(catchMisuse { realm.cancelWrite() } ?? "no misuse")
            }
            realm.beginAsyncWrite {
                self.add(2, realm)
                realm.cancelWrite()
                stage.note(catchMisuse { realm.commitAsyncWrite() } ?? "no misuse")
                stage.note(catchMisuse { self.add(2, realm) } ?? "no misuse")
            }
            realm.writeAsync { self.add(3, realm) }
        }
        let lines = try await stage.wait()
        let gists = [
            "Can't commit a non-existing write transaction", "Can't cancel a non-existing write transaction",
            "Can't commit a non-existing write transaction",
            "Can only add, remove, or create objects in a Realm in a write transaction",
        ]
        #expect(lines.count == gists.count)
        for (line, gist) in zip(lines, gists) { #expect(line.hasPrefix(gist)) }
        #expect(try stage.on { $0.objects(AsyncRow.self).map(\.id).sorted() } == [1, 3])
    }

    @Test("a callback of a commit may write; what it may not is misuse in RealmSwift's words")
    func writingCallback() async throws {
        let stage = try AsyncStage()
        try stage.on { realm in
            realm.writeAsync {
                self.add(1, realm)
            } onComplete: { _ in
                stage.note(catchMisuse { _ = try? realm.commitWrite() } ?? "no misuse")
                stage.note(catchMisuse { _ = realm.commitAsyncWrite() } ?? "no misuse")
                stage.note(catchMisuse { realm.cancelWrite() } ?? "no misuse")
                realm.beginWrite()
                self.add(2, realm)
                stage.note(catchMisuse { realm.beginWrite() } ?? "no misuse")
                realm.cancelWrite()
                realm.beginWrite()
                self.add(3, realm)
                realm.commitAsyncWrite { _ in stage.note("inner") }
            }
        }
        let lines = try await stage.wait()
        let gists = ["commit", "commit", "cancel", "begin"].map {
            "Can't \($0) a write transaction from inside a commit completion callback."
        }
        #expect(lines.count == 5 && lines.last == "inner")
        for (line, gist) in zip(lines, gists) { #expect(line.hasPrefix(gist)) }
        #expect(lines.contains { $0.contains("The Realm is already in a write transaction") })
        #expect(try stage.on { $0.objects(AsyncRow.self).map(\.id).sorted() } == [1, 3])
        // Behind the callback they are those of everywhere else.
        let text = try stage.on { realm in catchMisuse { realm.cancelWrite() } }
        #expect(text?.hasPrefix("Can't cancel a non-existing write transaction") == true)
    }

    @Test("an observer's block that ends the write in which an asynchronous block is to run ends the program")
    func endedByObserver() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let configuration = Realm.Configuration(inMemoryIdentifier: "ended", objectTypes: [AsyncRow.self])
            let stage = try AsyncStage(configuration)
            nonisolated(unsafe) var token: NotificationToken?
            try stage.on { realm in
                realm.autorefresh = false
                token = realm.observe { _, realm in if realm.isInWriteTransaction { realm.cancelWrite() } }
            }
            // What the observer is told of as the write begins.
            onOtherThread {
                guard let realm = try? Realm(configuration: configuration) else { return }
                try? realm.write { realm.add(AsyncRow(value: ["id": 1])) }
            }
            try stage.on { realm in _ = realm.writeAsync {} }
            _ = try await stage.wait()
            withExtendedLifetime(token) {}
        }
        #expect(
            words(result).contains("An observer's block has ended the write transaction that had just begun"),
            "\(words(result))")
    }

    @Test("too many versions are told instead of running the block, and it runs when they are released")
    func versionLimit() async throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [AsyncRow.self])
        configuration.maximumNumberOfActiveVersions = 1
        let stage = try AsyncStage(configuration)
        try stage.on { realm in
            stage.frozen = realm.freeze()
            try realm.write { realm.add(AsyncRow(value: ["id": 1])) }
            realm.writeAsync(
                { stage.note("ran") },
                onComplete: { error in
                    stage.note((error as? Realm.Error)?.reason == .tooManyVersions ? "too many" : "another end")
                })
            realm.beginAsyncWrite { stage.note("began") }
        }
        #expect(try await stage.wait() == ["too many"])
        try stage.on { realm in
            #expect(!realm.isInWriteTransaction)
            stage.frozen = nil
            realm.writeAsync({ stage.note("ran") }, onComplete: { stage.note($0 == nil ? "done" : "failed") })
        }
        #expect(try await stage.wait() == ["ran", "done"])
    }

    @Test("a write that is refused gives back its turn, and with it the lock among processes")
    func refusedTurn() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("refused-\(UUID().uuidString).realm")
        var configuration = Realm.Configuration(fileURL: path, objectTypes: [AsyncRow.self])
        configuration.maximumNumberOfActiveVersions = 1
        let stage = try AsyncStage(configuration)
        try stage.on { realm in
            stage.frozen = realm.freeze()
            try realm.write { realm.add(AsyncRow(value: ["id": 1])) }
            realm.writeAsync({ stage.note("ran") }, onComplete: { stage.note($0 == nil ? "done" : "refused") })
        }
        #expect(try await stage.wait() == ["refused"])
        let hasBegun = DispatchSemaphore(value: 0)
        Thread {
            // As another process has it open.
            let database = try? Database.openAsOtherProcess(path: path.path, fileSystem: PosixFileSystem.shared)
            guard let session = try? database?.makeSession(), (try? session.beginWrite()) != nil else { return }
            session.rollbackWrite()
            hasBegun.signal()
        }.start()
        let isFree = await withCheckedContinuation { done in
            DispatchQueue.global().async { done.resume(returning: hasBegun.wait(timeout: .now() + 20) == .success) }
        }
        #expect(isFree)
        try stage.on { _ in
            stage.frozen = nil
            stage.realm = nil
        }
        _ = try? Realm.deleteFiles(for: configuration)
    }

    @Test("misuse: no run loop, frozen, commit without a write")
    func misuse() throws {
        let realm = try memoryRealm(AsyncRow.self)
        nonisolated(unsafe) let shared = realm
        #expect(
            try misuseText { shared.writeAsync {} }?.hasPrefix(
                "Cannot schedule async transaction. Make sure you are running from inside a run loop.") == true)
        #expect(
            try misuseText { shared.freeze().writeAsync {} }?.hasPrefix(
                "Can't perform transactions on a frozen Realm") == true)
        #expect(
            try misuseText { shared.commitAsyncWrite() }?.hasPrefix("Can't commit a non-existing write transaction")
                == true)
    }
}
