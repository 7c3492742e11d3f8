// SPDX-License-Identifier: Apache-2.0
// Durability levels as programs choose them, and writing threads that share syncs.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

class LevelRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

@Suite struct DurabilityLevelsTests {
    private func configuration(_ folder: TestFolder, _ level: Durability) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: folder.file("levels.realm"), objectTypes: [LevelRow.self])
        configuration.durability = level
        return configuration
    }

    @Test("The default durability is full, and durability does not affect equality of configurations")
    func plain() {
        var configuration = Realm.Configuration()
        #expect(configuration.durability == .full)
        let copy = configuration
        configuration.durability = .relaxed
        #expect(configuration.durability == .relaxed && copy.durability == .full)
        #expect(configuration == copy)
    }

    @Test(
        "Commits of every level are visible to other Realms and after reopening",
        arguments: [Durability.relaxed, .full, .paranoid])
    func levels(level: Durability) throws {
        let folder = TestFolder()
        try autoreleasepool {
            let realm = try Realm(configuration: configuration(folder, level))
            for id in 0..<20 { try realm.write { realm.add(LevelRow(value: ["id": id])) } }
            let queue = DispatchQueue(label: "other")
            try queue.sync {
                let other = try Realm(configuration: configuration(folder, level), queue: queue)
                #expect(other.objects(LevelRow.self).count == 20)
            }
            expectIntegrity(of: configuration(folder, level))
        }
        #expect(try Realm(configuration: configuration(folder, .full)).objects(LevelRow.self).count == 20)
    }

    @Test("Concurrent writers each see their own commits, and no partial commit of others")
    func threads() throws {
        let folder = TestFolder()
        let configuration = configuration(folder, .full)
        _ = try Realm(configuration: configuration)
        let wrong = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            do {
                let realm = try Realm(configuration: configuration)
                for i in 0..<10 {
                    try realm.write {
                        realm.add(LevelRow(value: ["id": thread * 100 + i, "name": "a"]))
                        realm.add(LevelRow(value: ["id": -(thread * 100 + i) - 1, "name": "b"]))
                    }
                    let rows = realm.objects(LevelRow.self)
                    if rows.count % 2 != 0
                        || realm.object(ofType: LevelRow.self, forPrimaryKey: thread * 100 + i) == nil
                    {
                        wrong.withLock { $0.append("\(thread) \(i) \(rows.count)") }
                    }
                }
            } catch { wrong.withLock { $0.append("\(error)") } }
        }
        #expect(wrong.withLock { $0 } == [])
        #expect(try Realm(configuration: configuration).objects(LevelRow.self).count == 160)
        expectIntegrity(of: configuration)
    }

    @Test("An observer is notified of commits that share syncs")
    func observed() async throws {
        let folder = TestFolder()
        let configuration = configuration(folder, .full)
        let queue = DispatchQueue(label: "observer")
        let counts = AsyncStream.makeStream(of: Int.self)
        nonisolated(unsafe) var token: NotificationToken?
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            token = realm.objects(LevelRow.self).observe { change in
                switch change {
                case .initial(let rows), .update(let rows, _, _, _): counts.continuation.yield(rows.count)
                case .error: break
                }
            }
        }
        for thread in 0..<4 {
            DispatchQueue.global().async {
                guard let realm = try? Realm(configuration: configuration) else { return }
                for i in 0..<5 { try? realm.write { realm.add(LevelRow(value: ["id": thread * 100 + i])) } }
            }
        }
        // The last delivery shows all rows.
        for await count in counts.stream where count == 20 { break }
        queue.sync { token.map { $0.invalidate() } ?? () }
    }
}
