// SPDX-License-Identifier: Apache-2.0
// Loops over many sorted objects, which are located in batches ahead of the loop. Changes of the loop's body to later
// objects are visible as if each object were located in its turn.

import Dispatch
import Foundation
import Observation
import RealmSwift
import Testing

@Suite("Loops over many sorted objects")
struct IterationPrefetchTests {
    final class PlacedRow: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var place: Int
        @Persisted var name: String?
        @Persisted var isSet: Bool
        @Persisted var amount: Double?
        @Persisted var day: Date
        @Persisted var uuid: UUID
        @Persisted var decimal: Decimal128
        @Persisted var bytes: Data
        @Persisted var small: Int8
        @Persisted var tags: List<String>
        @Persisted var next: PlacedRow?
    }

    final class PlacedWatched: Object, Observable {
        @Persisted var place: Int
        @Persisted var name: String
    }

    private static let count = 12_000

    /// The position of an object in the sort order, which is spread over the table.
    private static func place(_ id: Int) -> Int { id * 7_919 % count }

    private static func name(_ id: Int) -> String? {
        id % 5 == 0 ? nil : "row \(id)" + String(repeating: "x", count: id % 40)
    }

    private static func id(_ place: Int) -> Int { ids[place] }

    private static let ids: [Int] = {
        var ids = [Int](repeating: 0, count: count)
        for id in 0..<count { ids[place(id)] = id }
        return ids
    }()

    private static func fill(_ realm: Realm) throws {
        try realm.write {
            realm.add(
                (0..<count).map { id in
                    let row = PlacedRow()
                    row.id = id
                    row.place = place(id)
                    row.name = name(id)
                    row.isSet = id % 3 == 0
                    row.amount = id % 7 == 0 ? nil : Double(id) / 4
                    row.day = Date(timeIntervalSince1970: Double(id) * 10.5)
                    row.decimal = Decimal128(value: id)
                    row.bytes = Data(repeating: UInt8(id % 256), count: id % 20)
                    row.small = Int8(id % 100)
                    row.tags.append("t\(id % 9)")
                    return row
                })
            // Many rows are changed, so that some row groups are changed and others are not.
            for row in realm.objects(PlacedRow.self).where({ $0.id < 3_000 }) { row.next = row }
        }
    }

    private static func filled() throws -> Realm {
        let realm = try memoryRealm(PlacedRow.self)
        try fill(realm)
        return realm
    }

    private static func check(_ row: PlacedRow) -> Bool {
        let id = row.id
        return row.place == place(id) && row.name == name(id)
            && row.isSet == (id % 3 == 0) && row.amount == (id % 7 == 0 ? nil : Double(id) / 4)
            && row.day == Date(timeIntervalSince1970: Double(id) * 10.5) && row.decimal == Decimal128(value: id)
            && row.bytes == Data(repeating: UInt8(id % 256), count: id % 20) && row.small == Int8(id % 100)
            && row.tags.first == "t\(id % 9)" && (row.next?.id == id) == (id < 3_000)
    }

    @Test("A loop over many sorted objects reads every property correctly, whichever it reads first", arguments: 0..<12)
    func properties(_ first: Int) throws {
        let realm = try Self.filled()
        var place = 0
        for row in realm.objects(PlacedRow.self).sorted(byKeyPath: "place") {
            // The property that is read first is the one that is prefetched.
            switch place / 3_000 == 3 ? (first + 5) % 12 : first {
            case 0: _ = row.id
            case 1: _ = row.place
            case 2: _ = row.name
            case 3: _ = row.isSet
            case 4: _ = row.amount
            case 5: _ = row.day
            case 6: _ = row.uuid
            case 7: _ = row.decimal
            case 8: _ = row.bytes
            case 9: _ = row.small
            case 10: _ = row.tags.count
            default: _ = row.next
            }
            guard row.id == Self.id(place), Self.check(row) else {
                Issue.record("\(row) at \(place)")
                break
            }
            place += 1
        }
        #expect(place == Self.count)
    }

    @Test("A loop skips objects that its body deletes, near and far")
    func deleting() throws {
        let realm = try Self.filled()
        var seen: [Int] = []
        realm.beginWrite()
        for row in realm.objects(PlacedRow.self).sorted(byKeyPath: "place", ascending: false) {
            let place = row.place
            seen.append(place)
            // The next one, which is located already, and one that comes much later.
            for other in [place - 1, place - 700] where other >= 0 && place % 5 == 0 {
                if let gone = realm.object(ofType: PlacedRow.self, forPrimaryKey: Self.id(other)) { realm.delete(gone) }
            }
        }
        try realm.commitWrite()
        // An object that is deleted 700 positions before its turn deletes nothing itself.
        var expected: [Int] = []
        var deleted: Set<Int> = []
        for place in (0..<Self.count).reversed() where !deleted.contains(place) {
            expected.append(place)
            if place % 5 == 0 { deleted.formUnion([place - 1, place - 700]) }
        }
        #expect(seen == expected)
        #expect(expected.count < Self.count * 9 / 10)
    }

    @Test("A loop sees the changes that its body commits to later objects")
    func changing() throws {
        let realm = try Self.filled()
        var place = 0
        for row in realm.objects(PlacedRow.self).sorted(byKeyPath: "place").prefix(600) {
            #expect(row.small == (place % 2 == 1 ? 101 : Int8(row.id % 100)))
            #expect(row.name == (place % 2 == 1 ? "changed \(place)" : Self.name(row.id)))
            if place % 2 == 0 {
                try realm.write {
                    let next = try #require(realm.object(ofType: PlacedRow.self, forPrimaryKey: Self.id(place + 1)))
                    next.small = 101
                    next.name = "changed \(place + 1)"
                }
            }
            place += 1
        }
        #expect(place == 600)
    }

    @Test("A loop keeps its order if its body adds objects, changes the sort key, or rolls back")
    func adding() throws {
        let realm = try Self.filled()
        var seen: [Int] = []
        for row in realm.objects(PlacedRow.self).sorted(byKeyPath: "place") {
            seen.append(row.id)
            guard seen.count % 400 == 3 else { continue }
            realm.beginWrite()
            realm.add(PlacedRow(value: ["id": Self.count + seen.count, "place": -1]))
            row.place = Self.count + seen.count
            if seen.count % 800 == 3 { realm.cancelWrite() } else { try realm.commitWrite() }
        }
        #expect(seen == Self.ids)
    }

    @Test("A loop sees the commits of others if its body refreshes the Realm")
    func refreshing() throws {
        try withFile([PlacedRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            try Self.fill(realm)
            var seen = 0
            var gone = 0
            for row in realm.objects(PlacedRow.self).sorted(byKeyPath: "place") {
                #expect(row.place % 3_000 != 1_001)
                seen += 1
                guard row.place % 3_000 == 1_000 else { continue }
                let next = Self.id(row.place + 1)
                onOtherThread {
                    #expect(throws: Never.self) {
                        let writer = try Realm(configuration: configuration)
                        try writer.write { writer.delete(writer.objects(PlacedRow.self).where { $0.id == next }) }
                    }
                }
                gone += realm.refresh() ? 1 : 0
            }
            #expect(gone == 4 && seen == Self.count - 4)
        }
    }

    @Test("Several threads iterate over frozen objects at the same time")
    func frozen() throws {
        // Frozen, so threads may share it.
        nonisolated(unsafe) let frozen = try Self.filled().objects(PlacedRow.self).sorted(byKeyPath: "place").freeze()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            var place = 0
            for row in frozen {
                guard row.id == Self.id(place), row.place == place else { break }
                place += 1
            }
            #expect(place == Self.count)
        }
    }

    @Test("Dynamic objects, objects that observe properties, and kept objects are iterated in order")
    func otherAccessors() throws {
        let realm = try Self.filled()
        let dynamic = realm.dynamicObjects(PlacedRow.className()).sorted(byKeyPath: "place")
        #expect(dynamic.map { $0["id"] as? Int ?? -1 } as [Int] == Self.ids)
        let held = Array(realm.objects(PlacedRow.self).sorted(byKeyPath: "place"))
        #expect(held.map(\.id) == Self.ids)
        let watching = try memoryRealm(PlacedWatched.self)
        try watching.write {
            for id in 0..<Self.count {
                watching.create(PlacedWatched.self, value: ["place": Self.place(id), "name": "\(id)"] as [String: Any])
            }
        }
        let names = watching.objects(PlacedWatched.self).sorted(byKeyPath: "place").map(\.name) as [String]
        #expect(names == Self.ids.map(String.init))
    }

    @Test("Interleaved loops over the same class do not disturb each other")
    func nested() throws {
        let realm = try Self.filled()
        let up = realm.objects(PlacedRow.self).sorted(byKeyPath: "place")
        let down = realm.objects(PlacedRow.self).sorted(byKeyPath: "place", ascending: false)
        var place = 0
        for (row, other) in zip(up, down) {
            guard row.id == Self.id(place), other.name == up[Self.count - 1 - place].name else {
                Issue.record("at \(place)")
                break
            }
            place += 1
        }
        #expect(place == Self.count)
    }
}
