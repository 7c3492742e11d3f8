// SPDX-License-Identifier: Apache-2.0
// Asynchronous writes on queues: their order, completion and cancellation, mixed with synchronous writes. Each stage
// has its own queue; `wait` returns when all asynchronous work of the stage has ended.

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

/// A Realm on its own queue, with a log of events.
final class AsyncStage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "async stage")
    var realm: Realm?
    var lines: [String] = []
    /// A frozen Realm that keeps its version in use.
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

    /// Waits until the Realm has no asynchronous work left, and returns the log.
    func wait() async throws -> [String] {
        let end = ContinuousClock.now + .seconds(14_400)
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

    @Test("An asynchronous write runs later, commits, and calls back when it is durable")
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

    @Test("Asynchronous writes run in the order of their calls, even from several Realms of the file")
    func order() async throws {
        // A queue that does not accept its write within half a second lets the next one write first, which may happen
        // on a busy machine: then again.
        var names: [String] = []
        let wanted = (0..<60).map { "\($0)" }
        for _ in 0..<20 where names != wanted { names = try await writtenInTurn() }
        #expect(names == wanted)
    }

    /// Writes on three queues in turn. Returns what each write saw: the number of objects before it.
    private func writtenInTurn() async throws -> [String] {
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
        return try stages[0].on { realm in
            realm.refresh()
            return realm.objects(AsyncRow.self).sorted(byKeyPath: "id").map(\.name)
        }
    }

    @Test("A block of beginAsyncWrite that neither commits nor cancels is rolled back")
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

    @Test("A write requested inside a block is a separate, later transaction")
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

    @Test("A synchronous write runs before pending asynchronous writes and never waits for its own queue")
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

    @Test("A block that is cancelled while pending never runs; cancelling a commit only drops its callback")
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

    @Test("Concurrent synchronous and asynchronous writes of many queues all complete")
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

    @Test("Grouped commits are each visible to the next block and call back in order")
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
        // A grouped commit of a write that was begun synchronously.
        try stage.on { realm in
            realm.beginWrite()
            self.add(5, realm)
            realm.commitAsyncWrite(allowGrouping: true) { error in stage.note("done \(error == nil)") }
            stage.note("\(realm.objects(AsyncRow.self).count)")
        }
        #expect(try await stage.wait() == ["5", "done true"])
    }

    @Test("A write that its block has ended is not ended again; another write that the block began is")
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

    @Test("Ending a write twice inside a block is a programmer error, and the next block still runs")
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

    @Test("A commit callback may write; ending or nesting writes there is a programmer error")
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
        // After the callback, the usual messages apply.
        let text = try stage.on { realm in catchMisuse { realm.cancelWrite() } }
        #expect(text?.hasPrefix("Can't cancel a non-existing write transaction") == true)
    }

    @Test("Ending a write in an observer, before its asynchronous block runs, ends the program")
    func endedByObserver() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let configuration = Realm.Configuration(inMemoryIdentifier: "ended", objectTypes: [AsyncRow.self])
            let stage = try AsyncStage(configuration)
            nonisolated(unsafe) var token: NotificationToken?
            try stage.on { realm in
                realm.autorefresh = false
                token = realm.observe { _, realm in if realm.isInWriteTransaction { realm.cancelWrite() } }
            }
            // A commit of another thread, so that the observer is notified when the write begins.
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

    @Test("If too many versions are kept, the callback gets the error and the block does not run")
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

    @Test("A refused write releases the writer lock for all threads and processes")
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
            // Opens the file as another process would.
            let database = try? Database.openAsOtherProcess(path: path.path, fileSystem: PosixFileSystem.shared)
            guard let session = try? database?.makeSession(), (try? session.beginWrite()) != nil else { return }
            session.rollbackWrite()
            hasBegun.signal()
        }.start()
        let isFree = await withCheckedContinuation { done in
            DispatchQueue.global().async { done.resume(returning: hasBegun.wait(timeout: .now() + 14_400) == .success) }
        }
        #expect(isFree)
        try stage.on { _ in
            stage.frozen = nil
            stage.realm = nil
        }
        _ = try? Realm.deleteFiles(for: configuration)
    }

    @Test("An asynchronous write without a run loop, on a frozen Realm, or a commit without a write is refused")
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
