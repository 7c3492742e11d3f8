// SPDX-License-Identifier: Apache-2.0
// `withObservationTracking` over objects of observable classes and results of them.

import Dispatch
import Foundation
import Observation
import RealmSwift
import RegnumTestKit
import Testing

class SeenRow: Object, Observable {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var rank = 0
    @Persisted var other: SeenRow?
    @Persisted var list: List<SeenRow>
    @Persisted(originProperty: "other") var others: LinkingObjects<SeenRow>
}

class UnseenRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

@Suite("Tracked reads")
struct TrackedReadsTests {
    /// Counts the calls of scopes.
    private final class Count: @unchecked Sendable {
        // Sendable: used on the test's thread.
        var value = 0
        func take() -> Int {
            defer { value = 0 }
            return value
        }
    }
    private let count = Count()

    private func track(_ read: () -> Void) {
        let count = count
        withObservationTracking(read, onChange: { count.value += 1 })
    }

    private func filled() throws -> Realm {
        let realm = try memoryRealm(SeenRow.self, UnseenRow.self)
        try realm.write {
            for id in 0..<4 { realm.add(SeenRow(value: ["id": id, "name": "n\(id)", "rank": id])) }
            realm.add(UnseenRow(value: ["id": 1]))
        }
        return realm
    }

    private func find(_ id: Int, _ realm: Realm) throws -> SeenRow {
        try #require(realm.object(ofType: SeenRow.self, forPrimaryKey: id))
    }

    @Test("A change of a property that was read calls its scope once; other changes do not")
    func properties() throws {
        let realm = try filled()
        let row = try find(1, realm)
        track { _ = row.name }
        try realm.write { row.rank = 9 }
        try realm.write { try find(2, realm).name = "x" }
        #expect(count.take() == 0)
        try realm.write { try find(1, realm).name = "y" }
        #expect(count.take() == 1 && row.name == "y")
        try realm.write { row.name = "z" }
        #expect(count.take() == 0)
    }

    @Test("Two scopes over one object are called independently")
    func twoScopes() throws {
        let realm = try filled()
        let row = try find(1, realm)
        let other = Count()
        track { _ = row.name }
        withObservationTracking({ _ = row.rank + row.name.count }, onChange: { other.value += 1 })
        try realm.write { row.rank = 7 }
        #expect(count.take() == 0 && other.take() == 1)
        try realm.write { row.name = "q" }
        #expect(count.take() == 1 && other.take() == 0)
    }

    @Test("A change of others calls the scope when the Realm advances, and a rolled-back change never")
    func elsewhere() throws {
        let realm = try filled()
        let row = try find(1, realm)
        track { _ = row.name }
        realm.beginWrite()
        row.name = "gone"
        realm.cancelWrite()
        #expect(count.take() == 0)
        let configuration = realm.configuration
        try onOtherThreadThrowing {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.object(ofType: SeenRow.self, forPrimaryKey: 1)?.name = "far" }
        }
        #expect(row.name == "n1" && count.take() == 0)
        realm.refresh()
        #expect(row.name == "far" && count.take() == 1)
    }

    @Test("Deleting an object calls every scope that read it")
    func deleted() throws {
        let realm = try filled()
        let row = try find(1, realm)
        track { _ = row.rank }
        try realm.write { realm.delete(row) }
        #expect(count.take() == 1)
        let second = try find(2, realm)
        track { _ = second.name }
        realm.invalidate()
        #expect(count.take() == 1)
    }

    @Test("Links, lists and linking objects call a scope when their contents change")
    func links() throws {
        let realm = try filled()
        let row = try find(0, realm)
        track { _ = row.list.count }
        try realm.write { row.list.append(try find(1, realm)) }
        #expect(count.take() == 1)
        track { _ = row.list.first?.name }
        try realm.write { try find(1, realm).name = "in it" }
        #expect(count.take() == 1)
        track { _ = row.other?.name }
        try realm.write { row.other = try find(3, realm) }
        #expect(count.take() == 1)
        let third = try find(3, realm)
        track { _ = third.others.count }
        try realm.write { try find(2, realm).other = third }
        #expect(count.take() == 1)
    }

    @Test("Results call a scope for changes that affect them, not for other properties")
    func results() throws {
        let realm = try filled()
        let rows = realm.objects(SeenRow.self)
        track { _ = rows.count }
        try realm.write { try find(1, realm).name = "x" }
        #expect(count.take() == 0)
        try realm.write { realm.add(SeenRow(value: ["id": 10])) }
        #expect(count.take() == 1)
        track { _ = rows.filter("rank > 1").sorted(byKeyPath: "name").first }
        try realm.write { realm.add(UnseenRow(value: ["id": 2])) }
        #expect(count.take() == 0)
        try realm.write { try find(0, realm).rank = 5 }
        #expect(count.take() == 1)
        track { for row in rows.where({ $0.other.name == "n3" }) { _ = row } }
        try realm.write { try find(3, realm).name = "other" }
        #expect(count.take() == 1)
    }

    @Test("Objects of other classes, frozen objects and unmanaged objects are not tracked")
    func untracked() throws {
        let realm = try filled()
        let row = try #require(realm.objects(UnseenRow.self).first)
        let frozen = try find(1, realm).freeze()
        let loose = SeenRow()
        track {
            _ = row.name
            _ = realm.objects(UnseenRow.self).count
            _ = frozen.name
            _ = loose.name
        }
        try realm.write {
            row.name = "a"
            realm.add(UnseenRow(value: ["id": 5]))
            try find(1, realm).name = "b"
        }
        loose.name = "c"
        #expect(count.take() == 0)
    }

    @Test("The block of a scope may write and read again")
    func again() throws {
        let realm = try filled()
        let row = try find(1, realm)
        nonisolated(unsafe) let taken = (realm, row)
        let count = count
        withObservationTracking({ _ = row.name }) {
            count.value += 1
            try? taken.0.write { taken.1.rank = 50 }
        }
        track { _ = row.rank }
        try realm.write { row.name = "x" }
        #expect(count.take() == 2 && row.rank == 50)
    }

    @Test("A sequence of observations follows an object on the main actor", .timeLimit(.minutes(240)))
    @MainActor func sequence() async throws {
        let realm = try await Realm.open(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [SeenRow.self]))
        let row = try realm.write { realm.create(SeenRow.self, value: ["id": 1, "name": "0"]) }
        let names = Observations { row.name }
        var seen: [String] = []
        for await name in names {
            seen.append(name)
            if seen.count == 4 { break }
            try realm.write { row.name = "\(seen.count)" }
        }
        #expect(seen == ["0", "1", "2", "3"])
    }

    private func onOtherThreadThrowing(_ body: @escaping @Sendable () throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var failure: (any Error)?
        Thread.detachNewThread {
            do { try body() } catch { failure = error }
            done.signal()
        }
        done.wait()
        if let failure { throw failure }
    }
}
