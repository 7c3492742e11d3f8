// SPDX-License-Identifier: Apache-2.0
// Frozen objects and collections as `Sendable` values, read by many tasks at once.

import Dispatch
import Foundation
import RealmSwift
import RegnumEngine
import RegnumTestKit
import Testing

@testable import Regnum

class PlainRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    var shout: String { name.uppercased() }
    var live: PlainRow? { thaw() }
}

@Suite struct FrozenValuesTests {
    /// Rows 0 to 9; each one links to the one before it, and row 0 has all of them in its list.
    private func filledPool() async throws -> RealmPool {
        let pool = try await RealmPool(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [PoolRow.self, PlainRow.self]), readers: 2)
        try await pool.write { realm in
            for id in 0..<10 {
                let row = PoolRow(value: ["id": id, "name": "row \(id)", "tags": ["a", "b\(id)"], "marks": [id]])
                row.prices["each"] = id
                row.next = realm.object(ofType: PoolRow.self, forPrimaryKey: id - 1)
                realm.add(row)
                realm.add(PlainRow(value: ["id": id, "name": "plain \(id)"]))
            }
            let rows = realm.objects(PoolRow.self)
            rows[0].rows.append(objectsIn: Array(rows))
        }
        return pool
    }

    @Test("A frozen value that leaves a reader gives the properties of its version by their names")
    func properties() async throws {
        let pool = try await filledPool()
        let row = try #require(
            try await pool.read { realm in
                realm.object(ofType: PoolRow.self, forPrimaryKey: 3).map { Frozen($0) }
            })
        let first = try #require(
            try await pool.read { realm in realm.objects(PoolRow.self).first.map { Frozen($0) } })
        let plain = try await pool.read { realm in realm.objects(PlainRow.self).last.map { Frozen($0) } }
        try await pool.write { realm in realm.deleteAll() }
        let id: Int = row.id
        let name: String = row.name
        let note: String? = row.note
        let tags: [String] = row.tags
        let marks: [Int] = row.marks
        let prices: [String: Int] = row.prices
        #expect(id == 3 && name == "row 3" && note == nil)
        #expect(tags == ["a", "b3"] && marks == [3] && prices == ["each": 3])
        #expect(row.next?.name == "row 2" && row.next?.next?.id == 1 && first.next == nil)
        #expect(row.before.map(\.id) == [4])
        #expect(first.rows.count == 10 && first.rows[7].name == "row 7")
        #expect(first.rows.map(\.id) == Array(0..<10))
        #expect(plain?.shout == "PLAIN 9")
        #expect(row.object.isFrozen && row.next == row.next && row != first)
        #expect(Set([row, first, row]).count == 2)
        #expect("\(row)".contains("row 3"))
        await pool.close()
    }

    @Test("Frozen results are a collection of frozen values, and can be queried further")
    func results() async throws {
        let pool = try await filledPool()
        let rows = try await pool.read { realm in FrozenResults(realm.objects(PoolRow.self).where { $0.id >= 4 }) }
        try await pool.write { realm in realm.deleteAll() }
        #expect(rows.count == 6 && !rows.isEmpty)
        #expect(rows.first?.id == 4 && rows.last?.id == 9 && rows[1].name == "row 5")
        #expect(rows.map(\.id) == [4, 5, 6, 7, 8, 9])
        #expect(rows.where { $0.name == "row 8" }.first?.id == 8)
        #expect(rows.sorted(byKeyPath: "id", ascending: false).prefix(2).map(\.id) == [9, 8])
        #expect(try await PoolSupport.count(pool) == 0)
        await pool.close()
    }

    @Test("Many tasks read the same frozen values at the same time, while others write")
    func concurrentReads() async throws {
        let pool = try await filledPool()
        let rows = try await pool.read { realm in FrozenResults(realm.objects(PoolRow.self)) }
        let filtered = rows.where { $0.id >= 5 }
        let first = try #require(rows.first)
        let plain = try await pool.read { realm in FrozenResults(realm.objects(PlainRow.self).where { $0.id >= 0 }) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                group.addTask {
                    if task % 8 == 0 {
                        try await pool.write { realm in
                            for row in realm.objects(PoolRow.self) { row.name = "changed \(task)" }
                        }
                    }
                    // The first read of each collection makes it, in whichever task that is.
                    #expect(first.rows.count == 10 && first.rows[task % 10].id == task % 10)
                    #expect(first.tags == ["a", "b0"] && first.prices == ["each": 0])
                    #expect(filtered.map(\.name) == (5..<10).map { "row \($0)" })
                    #expect(rows[task % 10].before.map(\.id) == (task % 10 == 9 ? [] : [task % 10 + 1]))
                    #expect(plain.reduce(0) { $0 + $1.id } == 45)
                    #expect(rows.where { $0.name == "row \(task % 10)" }.first?.id == task % 10)
                }
            }
            try await group.waitForAll()
        }
        await pool.close()
    }

    @Test("The live object of a frozen value can be changed elsewhere, although a reader of a pool has frozen it")
    func thawing() async throws {
        let pool = try await filledPool()
        let row = try #require(
            try await pool.read { realm in
                realm.object(ofType: PoolRow.self, forPrimaryKey: 3).map { Frozen($0) }
            })
        try DispatchQueue(label: "elsewhere").sync {
            let live = try #require(row.thaw())
            try #require(live.realm).write { live.name = "thawed" }
        }
        #expect(row.name == "row 3")
        let name = try await pool.read { realm in realm.object(ofType: PoolRow.self, forPrimaryKey: 3)?.name }
        #expect(name == "thawed")
        try await pool.write { realm in
            if let row = realm.object(ofType: PoolRow.self, forPrimaryKey: 3) { realm.delete(row) }
        }
        let isGone = try await pool.read { _ in row.thaw() == nil }
        #expect(isGone)
        await pool.close()
    }

    @Test("A live object that a computed property gives is frozen before it is handed out")
    func computedLink() throws {
        let queue = DispatchQueue(label: "computed")
        let isFrozen = try queue.sync {
            let configuration = Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [PlainRow.self])
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.add(PlainRow(value: ["id": 1])) }
            let row = try #require(realm.objects(PlainRow.self).first)
            return Frozen(row).live?.object.isFrozen
        }
        #expect(isFrozen == true)
    }

    // The loop reuses its accessor. It set the new row without looking it up, so that the first two threads that read
    // a frozen object could write its location at the same time.
    @Test("An object of a loop over frozen results is looked up before it is handed out")
    func lookedUp() throws {
        let realm = try memoryRealm(PlainRow.self)
        try realm.write { for id in 0..<5 { realm.add(PlainRow(value: ["id": id])) } }
        let frozen = realm.objects(PlainRow.self).filter("id != 2").freeze()
        var ids: [Int] = []
        for row in frozen {
            #expect(row.rowEpoch == row.core.session.state.pointee.epoch)
            ids.append(row.id)
        }
        #expect(ids == [0, 1, 3, 4])
    }

    @Test("Freezing an unmanaged object, or one of the running transaction, is a programmer error")
    func refusals() throws {
        let realm = try memoryRealm(PlainRow.self)
        #expect(catchMisuse { _ = Frozen(PlainRow()) }?.hasPrefix("Unmanaged") == true)
        realm.beginWrite()
        let words = catchMisuse { _ = Frozen(realm.create(PlainRow.self, value: ["id": 1])) }
        #expect(words?.hasPrefix("Cannot freeze an object in the same write transaction") == true)
        realm.cancelWrite()
    }
}
