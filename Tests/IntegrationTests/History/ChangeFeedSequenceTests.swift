// SPDX-License-Identifier: Apache-2.0
// The change feed as an asynchronous sequence: commits of this process and of others, until the task ends.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

final class FedRow: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var count: Int
}

@Suite struct ChangeFeedSequenceTests {
    private static func configuration(_ path: String) -> Realm.Configuration {
        var configuration = Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [FedRow.self])
        configuration.history = .keep(for: .days(1), atMost: .megabytes(10))
        return configuration
    }

    /// Commits rows, one at a time.
    static func commit(_ path: String, _ ids: ClosedRange<Int>) throws {
        let realm = try Realm(configuration: configuration(path))
        for id in ids { try realm.write { realm.add(FedRow(value: ["id": id])) } }
    }

    /// Makes commits without changes.
    static func commitNothing(_ path: String, count: Int) throws {
        let realm = try Realm(configuration: configuration(path))
        for _ in 0..<count { try realm.write {} }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("a.realm").path)
    }

    /// Reads a feed until it has seen so many insertions.
    private static func insertions(_ feed: ChangeFeed, _ count: Int) async throws -> [ChangeBatch.Identity] {
        var found: [ChangeBatch.Identity] = []
        for try await batch in feed {
            found += batch[FedRow.className()]?.inserted ?? []
            if found.count >= count { break }
        }
        return found
    }

    private static func makeFeed(_ path: String, since cursor: ChangeCursor?, byCommit: Bool = false) throws
        -> ChangeFeed
    {
        try Realm(configuration: configuration(path)).changeFeed(since: cursor, byCommit: byCommit)
    }

    private static func cursor(_ path: String) throws -> ChangeCursor {
        try Realm(configuration: configuration(path)).changeCursor
    }

    @Test("A feed delivers what came before it and what comes later, in order", .timeLimit(.minutes(240)))
    func order() async throws {
        try await withFolder { path in
            let start = try Self.cursor(path)
            try Self.commit(path, 1...3)
            let feed = try Self.makeFeed(path, since: start, byCommit: true)
            let reading = Task { try await Self.insertions(feed, 8) }
            try Self.commit(path, 4...8)
            #expect(try await reading.value == (1...8).map { .int($0) })
        }
    }

    @Test("Without a cursor a feed begins after the newest version", .timeLimit(.minutes(240)))
    func fromNow() async throws {
        try await withFolder { path in
            try Self.commit(path, 1...3)
            let feed = try Self.makeFeed(path, since: nil)
            let reading = Task { try await Self.insertions(feed, 2) }
            try Self.commit(path, 4...5)
            #expect(Set(try await reading.value) == [.int(4), .int(5)])
        }
    }

    @Test("A feed delivers the commits of another process", .timeLimit(.minutes(240)))
    func otherProcess() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.realm").path
        let feed = try Self.makeFeed(path, since: try Self.cursor(path))
        let reading = Task { try await Self.insertions(feed, 4) }
        await #expect(processExitsWith: .success) { [path = path as String] in
            try ChangeFeedSequenceTests.commit(path, 1...4)
        }
        #expect(Set(try await reading.value) == [.int(1), .int(2), .int(3), .int(4)])
    }

    @Test(
        "Of many commits without changes some give an empty batch, so that the cursor moves on",
        .timeLimit(.minutes(240)))
    func emptyChanges() async throws {
        try await withFolder { path in
            let start = try Self.cursor(path)
            try Self.commitNothing(path, count: 100)
            try Self.commit(path, 1...1)
            for byCommit in [true, false] {
                var batches: [ChangeBatch] = []
                for try await batch in try Self.makeFeed(path, since: start, byCommit: byCommit) {
                    batches.append(batch)
                    if !batch.isEmpty { break }
                }
                #expect(batches.map(\.isEmpty) == (byCommit ? [true, true, true, false] : [false]))
            }
            // Joined, they are one batch.
            let end = try Self.cursor(path)
            try Self.commitNothing(path, count: 40)
            var iterator = try Self.makeFeed(path, since: end).makeAsyncIterator()
            let found = try await iterator.next()
            let first = try #require(found)
            let newest = try Self.cursor(path)
            #expect(first.isEmpty && first.cursor == newest && newest != end)
        }
    }

    @Test("A feed ends when its task is cancelled", .timeLimit(.minutes(240)))
    func cancelled() async throws {
        try await withFolder { path in
            let feed = try Self.makeFeed(path, since: nil)
            let reading = Task { try await Self.insertions(feed, 1) }
            reading.cancel()
            #expect(try await reading.value == [])
        }
    }
}
