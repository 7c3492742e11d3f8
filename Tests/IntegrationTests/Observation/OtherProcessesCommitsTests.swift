// SPDX-License-Identifier: Apache-2.0
// Observers are notified of commits of another process, promptly and without a refresh.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Synchronization
import Testing

final class DistantRow: Object {
    @Persisted(primaryKey: true) var id: Int
}

@Suite struct OtherProcessesCommitsTests {
    /// The limit for a delivery. The environment sets 50 on a machine that does nothing else; a busy one has none.
    private static let limit =
        UInt64(ProcessInfo.processInfo.environment["REGNUM_DELIVERY_MILLISECONDS"] ?? "") ?? .max / 1_000_000

    static func configuration(_ path: String) -> Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [DistantRow.self])
    }

    /// The other process, on one thread.
    static func commit(_ path: String) throws {
        let realm = try Realm(configuration: configuration(path))
        for id in 1...3 {
            try realm.write { realm.add(DistantRow(value: ["id": id])) }
            let time = "\(DispatchTime.now().uptimeNanoseconds)"
            try time.write(toFile: path + ".\(id)", atomically: true, encoding: .utf8)
            Thread.sleep(forTimeInterval: 0.15)
        }
    }

    @Test("A commit of another process is delivered to an observer by an event", .timeLimit(.minutes(240)))
    func delivered() async throws {
        // Without an event the delivery takes longer than the test may.
        let longestWait = CommitNotifications.longestWait
        CommitNotifications.longestWait = 5 * 3_600_000
        defer { CommitNotifications.longestWait = longestWait }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("distant-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.realm").path
        let stage = try Stage(Self.configuration(path))
        let (times, told) = AsyncStream.makeStream(of: (count: Int, at: UInt64).self)
        let diary = Diary()
        try stage.on { realm in
            diary.tokens = [
                realm.objects(DistantRow.self).observe { change in
                    if case .update(let rows, _, _, _) = change {
                        told.yield((rows.count, DispatchTime.now().uptimeNanoseconds))
                    }
                }
            ]
        }
        stage.settle()

        await #expect(processExitsWith: .success) { [path = path as String] in
            try OtherProcessesCommitsTests.commit(path)
        }

        var iterator = times.makeAsyncIterator()
        var last = (count: 0, at: UInt64(0))
        var first: UInt64?
        while last.count < 3 {
            last = try #require(await iterator.next())
            if last.count == 1 { first = last.at }
        }
        // Uptime is the same in both processes.
        let committed = try #require(UInt64(try String(contentsOfFile: path + ".3", encoding: .utf8)))
        let delay = last.at > committed ? last.at - committed : 0
        #expect(delay < Self.limit * 1_000_000, "\(delay) ns; the first at \(first ?? 0)")
        try stage.on { _ in diary.tokens = [] }
    }

    // The thread that waits for other processes reads the shared memory, which must stay mapped until the watch has
    // been removed, even when the last Realm of the file is released at that time. ThreadSanitizer finds a violation
    // in one of two runs.
    @Test("A file can be closed while the watch checks for commits of others")
    func closedWhileWatched() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("distant-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.realm").path
        let queue = DispatchQueue(label: "closing")
        try queue.sync { _ = try Realm(configuration: Self.configuration(path), queue: queue) }
        let isOver = Atomic(false)
        let shared = try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".lock"))
        let bell = DispatchGroup()
        // Writes that other processes make there after a commit.
        Thread.detachNewThread(in: bell) {
            while !isOver.load(ordering: .relaxed) {
                try? shared.seek(toOffset: 1024)
                try? shared.write(contentsOf: [1])
            }
        }
        for id in 0..<100 {
            try queue.sync {
                let realm = try Realm(configuration: Self.configuration(path), queue: queue)
                if id % 20 == 0 { try realm.write { realm.add(DistantRow(value: ["id": id])) } }
                #expect(realm.objects(DistantRow.self).count == id / 20 + 1)
            }
        }
        isOver.store(true, ordering: .relaxed)
        bell.wait()
    }
}

extension Thread {
    fileprivate static func detachNewThread(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
