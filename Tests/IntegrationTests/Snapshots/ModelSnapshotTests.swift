// SPDX-License-Identifier: Apache-2.0
// Structs of model classes that are written by hand, as the macro @Snapshot generates them: reading, applying with
// conflicts, streams and pools. RegnumMacrosTests has every kind of property.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum StructuredModels {
    class Band: Object, SnapshotModel {
        typealias SnapshotForm = LinkedSnapshot<Band>
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var genre = "none"
        @Persisted var hall: Hall?
        @Persisted var rival: Band?
        @Persisted var friends: List<Band>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        /// Without `genre`, which `apply` therefore leaves alone.
        struct Snapshot: ModelSnapshot {
            var id: Int
            var name: String
            var hall: Hall.SnapshotForm?
            var rival: Band.SnapshotForm?
            var friends: [Band.SnapshotForm]

            init(_ object: Band, depth: Int) {
                let reading = SnapshotReading(depth: depth)
                id = reading.value(object.id)
                name = reading.value(object.name)
                hall = reading.value(object.hall)
                rival = reading.value(object.rival)
                friends = reading.value(object.friends)
            }

            static func _key(of object: Band) -> Int? { object.id }
            var _key: Int? { id }

            func _write(to object: Band, _ writing: SnapshotWriting) {
                writing.write(id, to: &object.id, "id")
                writing.write(name, to: &object.name, "name")
                writing.write(hall, to: &object.hall, "hall")
                writing.write(rival, to: &object.rival, "rival")
                writing.write(friends, to: object.friends, "friends")
            }
        }
    }

    /// A subclass has the struct of its superclass.
    class Choir: Band {
        @Persisted var voices = 4
    }

    class Hall: EmbeddedObject, SnapshotModel {
        typealias SnapshotForm = Snapshot
        @Persisted var city = ""
        @Persisted var seats = 0

        struct Snapshot: ModelSnapshot {
            var city: String
            var seats: Int

            init(_ object: Hall, depth: Int) { (city, seats) = (object.city, object.seats) }

            typealias ModelKey = Never

            func _write(to object: Hall, _ writing: SnapshotWriting) {
                writing.write(city, to: &object.city, "city")
                writing.write(seats, to: &object.seats, "seats")
            }
        }
    }
}

private typealias Band = StructuredModels.Band
private typealias Choir = StructuredModels.Choir
private typealias Hall = StructuredModels.Hall

@Suite("Structs of model classes")
struct ModelSnapshotTests {
    /// Two bands, with a hall each.
    private func opened() throws -> Realm {
        let realm = try memoryRealm(Band.self, Choir.self, Hall.self)
        try realm.write {
            let first = Band(
                value: ["id": 1, "name": "First", "genre": "rock", "hall": ["city": "Rome"]] as [String: Any])
            let second = Band(value: ["id": 2, "name": "Second", "rival": first] as [String: Any])
            first.rival = second
            first.friends.append(second)
            realm.add(first)
        }
        return realm
    }

    private func band(_ id: Int, _ realm: Realm) throws -> Band {
        try #require(realm.object(ofType: Band.self, forPrimaryKey: id))
    }

    @Test("Links are followed to the depth, and are primary keys beyond it")
    func depth() throws {
        let realm = try opened()
        let first = try band(1, realm)
        let value = Band.Snapshot(first)
        #expect(value.rival?.value?.name == "Second" && value.rival?.value?.rival == .key(1))
        #expect(Band.Snapshot(first, depth: 0).friends == [.key(2)])
        let bands = realm.objects(Band.self).sorted(byKeyPath: "id")
        #expect(bands.snapshotValues().first == value)
        #expect(bands.snapshotValues(depth: 0).map(\.rival) == [.key(2), .key(1)])
        let json = try JSONEncoder().encode(bands.snapshotValues(depth: 2))
        #expect(try JSONDecoder().decode([Band.Snapshot].self, from: json) == bands.snapshotValues(depth: 2))
    }

    @Test("Only properties that were edited are written, and those that others have changed are in conflict")
    func applying() throws {
        let realm = try opened()
        let first = try band(1, realm)
        let before = Band.Snapshot(first)
        var after = before
        after.name = "New"
        after.hall?.seats = 9
        after.rival = nil
        try realm.write {
            first.hall?.city = "Bern"
            first.rival = first
        }
        realm.beginWrite()
        let error = #expect(throws: DraftConflict.self) { try after.apply(to: first, since: before) }
        #expect(error?.properties == ["rival"] && first.name == "First")
        #expect(error?.description.hasPrefix("The snapshot of the object of class") == true)
        let merged = try after.apply(to: first, since: before, .merge)
        #expect(merged == ["rival"] && first.rival?.id == 1)
        #expect(first.name == "New" && first.hall?.seats == 9 && first.hall?.city == "Bern")
        // Without a base, the struct's values replace all others.
        try after.apply(to: first)
        #expect(first.rival == nil && first.hall?.city == "Rome" && first.genre == "rock")
        try realm.commitWrite()
    }

    @Test("A link to a missing object and a struct of another object are errors, and nothing is written")
    func errors() throws {
        let realm = try opened()
        let (first, second) = (try band(1, realm), try band(2, realm))
        var value = Band.Snapshot(first)
        value.name = "New"
        value.friends.append(.key(5))
        try realm.write {
            #expect(throws: SnapshotError.targetMissing(property: "friends", className: Band.className())) {
                try value.apply(to: first)
            }
            #expect(throws: SnapshotError.otherObject(className: Band.className())) { try value.apply(to: second) }
        }
        #expect(first.name == "First" && second.name == "Second")
        let outside = try catchMisuse { try value.apply(to: first) }
        #expect(outside?.contains("outside of a write transaction") == true)
        let unmanaged = try catchMisuse { try value.apply(to: Band()) }
        #expect(unmanaged?.contains("object(linkedTo:)") == true)
    }

    @Test("A struct becomes a new object, and a subclass has the struct of its superclass")
    func objects() throws {
        let realm = try opened()
        var value = Band.Snapshot(try band(1, realm))
        value.id = 3
        let third = try value.object(linkedTo: realm)
        try realm.write { realm.add(third) }
        #expect(third.friends.map(\.id) == [2] && third.genre == "none")
        let choir = try realm.write { realm.create(Choir.self, value: ["id": 1, "name": "C"] as [String: Any]) }
        let values: [Band.Snapshot] = realm.objects(Choir.self).snapshotValues()
        #expect(values.map(\.name) == ["C"])
        var sung = values[0]
        sung.name = "D"
        try realm.write { try sung.apply(to: choir) }
        #expect(choir.name == "D" && choir.voices == 4)
    }

    @Test("A pool reads structs, and a stream delivers them after each change")
    func streams() async throws {
        let pool = try await RealmPool(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Band.self, Hall.self]))
        try await pool.write { realm in realm.add(Band(value: ["id": 1, "name": "A"] as [String: Any])) }
        let values = try await pool.values { realm in realm.objects(Band.self) }
        #expect(values.map(\.name) == ["A"])
        let names = try await namesOfTwo(pool.configuration)
        #expect(names == ["A", "B"])
        await pool.close()
    }

    @MainActor private func namesOfTwo(_ configuration: Realm.Configuration) async throws -> [String] {
        let realm = try await Realm.open(configuration: configuration)
        let stream = realm.objects(Band.self).sorted(byKeyPath: "id").values()
        let task = Task.detached {
            for try await bands in stream {
                if bands.count == 2 { return bands.map(\.name) }
            }
            return []
        }
        try await realm.asyncWrite { realm.add(Band(value: ["id": 2, "name": "B"] as [String: Any])) }
        return try await task.value
    }
}
