// SPDX-License-Identifier: Apache-2.0
// Expensive change sets are computed on a background thread while the Realm stays at its version. Observers receive
// the same change sets as without a background thread.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import Synchronization
import Testing

class LookedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var rank = 0
    @Persisted var group = 0
}

/// A Realm and its observers, used on its own queue.
private final class LookStage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "looked")
    let configuration: Realm.Configuration
    var realm: Realm?
    var results: Results<LookedRow>?
    var tokens: [NotificationToken] = []
    /// The change sets delivered to the observer of `results`, and the ids at the last delivery.
    var told: [RealmCollectionChange<Results<LookedRow>>] = []
    var ids: [Int] = []
    let isTold = DispatchSemaphore(value: 0)

    init(rows: Int, _ configuration: Realm.Configuration? = nil) throws {
        let configuration =
            configuration
            ?? Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [LookedRow.self, LookedElse.self])
        self.configuration = configuration
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write {
                for id in 0..<rows {
                    let rank = id * 7919 % rows
                    realm.add(LookedRow(value: ["id": id, "rank": rank, "group": rank % 3]))
                }
            }
            self.realm = realm
        }
    }

    func observe(_ make: (Realm) -> Results<LookedRow>) throws {
        try queue.sync {
            let results = make(try #require(realm))
            self.results = results
            tokens.append(
                results.observe { [unowned self] change in
                    told.append(change)
                    switch change {
                    case .initial(let now), .update(let now, _, _, _): ids = Array(now.map(\.id))
                    case .error: break
                    }
                    isTold.signal()
                })
        }
    }

    func wait() { #expect(isTold.wait(timeout: .now() + 14_400) == .success) }

    /// Writes in a Realm of another thread.
    func writeElsewhere(_ change: @escaping @Sendable (Realm) -> Void) throws {
        let configuration = configuration
        let writer = DispatchQueue(label: "writer")
        try writer.sync {
            let realm = try Realm(configuration: configuration, queue: writer)
            try realm.write { change(realm) }
        }
    }

    /// To be called on the queue. Commits a large change on another thread, and starts a turn, which leaves the diff
    /// to a background thread. It is the second background diff, after that of the first delivery.
    func startLook(_ realm: Realm) throws {
        try writeElsewhere { realm in
            for row in realm.objects(LookedRow.self).filter("id < 5000") { row.rank = 1 }
        }
        realm.startTurn()
        #expect(realm.deliveryWork.lookedElsewhere == 2)
    }

    /// The ids in frozen, unobserved results of the current version.
    func found(_ make: (Realm) -> Results<LookedRow>) throws -> [Int] {
        try queue.sync { make(try #require(realm)).freeze().map(\.id) }
    }

    var lookedElsewhere: Int { queue.sync { realm?.deliveryWork.lookedElsewhere ?? -1 } }

    func end() {
        queue.sync {
            tokens = []
            results = nil
            told = []
            realm = nil
        }
    }
}

@Suite struct BackgroundDiffTests {
    private let sorted: (Realm) -> Results<LookedRow> = {
        $0.objects(LookedRow.self).filter("rank >= 10").sorted(byKeyPath: "rank")
    }

    @Test("The first delivery of many sorted objects is prepared in the background, of few on the Realm's thread")
    func first() throws {
        for (rows, looks) in [(10_000, 1), (1_000, 0)] {
            let stage = try LookStage(rows: rows)
            try stage.observe(sorted)
            stage.wait()
            #expect(stage.lookedElsewhere == looks)
            #expect(try stage.ids == stage.found(sorted))
            stage.end()
        }
    }

    @Test("A large commit is diffed in the background and delivered like a small one")
    func largeCommit() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.observe(sorted)
        stage.wait()
        let before = stage.queue.sync { stage.ids }
        try stage.writeElsewhere { realm in
            for id in 0..<3_000 { realm.object(ofType: LookedRow.self, forPrimaryKey: id)?.rank = 0 }
            for id in 3_000..<3_010 {
                if let row = realm.object(ofType: LookedRow.self, forPrimaryKey: id) { realm.delete(row) }
            }
        }
        stage.wait()
        #expect(stage.lookedElsewhere == 2)
        let after = try stage.found(sorted)
        #expect(after == before.filter { $0 >= 3_010 })
        #expect(stage.queue.sync { stage.ids } == after)
        try stage.queue.sync {
            guard case .update(_, let deletions, let insertions, let modifications) = try #require(stage.told.last)
            else { throw Realm.Error(.fail) }
            #expect(deletions == before.indices.filter { before[$0] < 3_010 })
            #expect(insertions.isEmpty && modifications.isEmpty)
        }
        stage.end()
    }

    @Test("A small commit is diffed on the Realm's thread, unless the whole query has to run again")
    func smallCommit() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.observe(sorted)
        stage.wait()
        try stage.writeElsewhere { $0.object(ofType: LookedRow.self, forPrimaryKey: 5)?.rank = 20_000 }
        stage.wait()
        #expect(stage.lookedElsewhere == 1)
        #expect(try stage.queue.sync { stage.ids } == stage.found(sorted))
        stage.end()

        let distinct: (Realm) -> Results<LookedRow> = { $0.objects(LookedRow.self).distinct(by: ["rank"]) }
        let other = try LookStage(rows: 10_000)
        try other.observe(distinct)
        other.wait()
        try other.writeElsewhere { $0.object(ofType: LookedRow.self, forPrimaryKey: 5)?.rank = 0 }
        other.wait()
        #expect(other.lookedElsewhere == 2)
        #expect(try other.queue.sync { other.ids } == other.found(distinct))
        other.end()
    }

    @Test("The Realm keeps its version during a background diff, and refresh() delivers the result")
    func staysMeanwhile() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.observe(sorted)
        stage.wait()
        try stage.queue.sync {
            // The queue is blocked, so no other turn runs in between.
            let realm = try #require(stage.realm)
            let results = try #require(stage.results)
            let count = results.count
            try stage.startLook(realm)
            #expect(results.count == count && stage.told.count == 1)
            #expect(realm.refresh())
            #expect(results.count < count && stage.told.count == 2)
            #expect(stage.ids == results.freeze().map(\.id))
        }
        stage.end()
    }

    @Test("A background diff that the Realm's own write overtakes is discarded, and the change is still delivered")
    func overtaken() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.observe(sorted)
        stage.wait()
        try stage.queue.sync {
            let realm = try #require(stage.realm)
            try stage.startLook(realm)
            try stage.writeElsewhere { $0.object(ofType: LookedRow.self, forPrimaryKey: 6_000)?.rank = 2 }
            try realm.write { realm.object(ofType: LookedRow.self, forPrimaryKey: 7_000)?.rank = 3 }
        }
        stage.wait()
        stage.wait()
        let after = try stage.found(sorted)
        #expect(!after.contains(6_000) && !after.contains(7_000) && !after.contains(4_999))
        #expect(stage.queue.sync { stage.ids } == after)
        stage.end()
    }

    @Test("A file can be deleted after its last Realm is released, although a background diff still runs")
    func deletedMeanwhile() throws {
        // The deletion waits a second for the diff, which on a busy machine may not even have begun by then: again.
        var isDeleted = false
        for _ in 0..<3000 where !isDeleted { isDeleted = try deletesDuringDiff() }
        #expect(isDeleted)
    }

    private func deletesDuringDiff() throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = Realm.Configuration(
            fileURL: folder.appendingPathComponent("looked.realm"), objectTypes: [LookedRow.self, LookedElse.self])
        let stage = try LookStage(rows: 2_000, configuration)
        try stage.observe(sorted)
        stage.wait()
        try stage.queue.sync {
            let realm = try #require(stage.realm)
            realm.deliverByTurns(.none)
            let before = realm.deliveryWork.lookedElsewhere
            try stage.writeElsewhere { realm in
                for row in realm.objects(LookedRow.self).filter("id < 1000") { row.rank = 1 }
            }
            realm.startTurn()
            #expect(realm.deliveryWork.lookedElsewhere == before + 1)
        }
        stage.end()
        let begin = ContinuousClock.now
        do { return try Realm.deleteFiles(for: configuration) } catch Realm.Error.alreadyOpen {
            #expect(ContinuousClock.now - begin >= .seconds(1), "the deletion did not wait")
            return false
        }
    }

    @Test("An in-memory database is deleted with its last Realm, although a background diff still runs")
    func goneMeanwhile() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.observe(sorted)
        stage.wait()
        try stage.queue.sync {
            let realm = try #require(stage.realm)
            try stage.startLook(realm)
        }
        stage.end()
        let next = try Realm(configuration: stage.configuration)
        #expect(next.objects(LookedRow.self).isEmpty)
    }

    @Test("A Realm may be invalidated or lose autorefresh during a background diff")
    func changedMeanwhile() throws {
        for invalidates in [true, false] {
            let stage = try LookStage(rows: 10_000)
            try stage.observe(sorted)
            stage.wait()
            try stage.queue.sync {
                let realm = try #require(stage.realm)
                try stage.startLook(realm)
                if invalidates { realm.invalidate() } else { realm.autorefresh = false }
            }
            if !invalidates {
                try stage.queue.sync {
                    let realm = try #require(stage.realm)
                    realm.deliverByTurns(DiffLimits())
                    #expect(stage.told.count == 1 && realm.objects(LookedRow.self).filter("rank == 1").count == 1)
                    #expect(realm.refresh())
                }
            }
            stage.wait()
            #expect(try stage.queue.sync { stage.ids } == stage.found(sorted))
            #expect(stage.queue.sync { stage.told.count } == 2)
            stage.end()
        }
    }

    @Test("The first delivery of many sections is prepared in the background")
    func sections() throws {
        let stage = try LookStage(rows: 10_000)
        let shown = Mutex<[Int]>([])
        try stage.queue.sync {
            let realm = try #require(stage.realm)
            let sections = realm.objects(LookedRow.self).filter("rank >= 10").sectioned(by: \.group)
            stage.tokens.append(
                sections.observe { change in
                    if case .initial(let sections) = change { shown.withLock { $0 = sections.map(\.count) } }
                    stage.isTold.signal()
                })
        }
        stage.wait()
        #expect(stage.lookedElsewhere == 1)
        #expect(shown.withLock { $0 } == [3_330, 3_330, 3_330])
        stage.end()
    }

    @Test("An observer that is added during a background diff is notified of that commit")
    func newcomer() throws {
        let stage = try LookStage(rows: 10_000)
        try stage.writeElsewhere { $0.add(LookedElse(value: ["id": 1])) }
        try stage.observe(sorted)
        stage.wait()
        let isChanged = DispatchSemaphore(value: 0)
        try stage.queue.sync {
            let realm = try #require(stage.realm)
            let other = try #require(realm.object(ofType: LookedElse.self, forPrimaryKey: 1))
            try stage.writeElsewhere { realm in
                for row in realm.objects(LookedRow.self).filter("id < 5000") { row.rank = 1 }
                realm.object(ofType: LookedElse.self, forPrimaryKey: 1)?.name = "new"
            }
            realm.startTurn()
            stage.tokens.append(other.observe { _ in isChanged.signal() })
        }
        #expect(isChanged.wait(timeout: .now() + 14_400) == .success)
        stage.wait()
        #expect(try stage.queue.sync { stage.ids } == stage.found(sorted))
        stage.end()
    }
}

class LookedElse: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}
