// SPDX-License-Identifier: Apache-2.0
// The structs of @Snapshot in use: reading, JSON, applying, streams and pools.

#if Macros
    import Foundation
    import RealmSwift
    import RegnumMacros
    import RegnumTestKit
    import Testing

    @Suite("Structs of @Snapshot")
    struct SnapshotMacroTests {
        private static func configuration() -> Realm.Configuration {
            Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString,
                objectTypes: [Dog.self, Person.self, Address.self, Note.self])
        }

        private func opened() throws -> Realm { try Realm(configuration: Self.configuration()) }

        /// A dog with a value in each property.
        private func addRex(_ realm: Realm) throws -> Dog {
            try realm.write {
                let rex = Dog(1, "Rex")
                (rex.nick, rex.age, rex.size, rex.mood) = ("R", 3, .large, .wild)
                (rex.weight, rex.photo) = (Weight(grams: 2.5), Data([1, 2]))
                let ada = Person(value: ["id": "ada", "name": "Ada"])
                rex.owner = ada
                ada.best = rex
                rex.home = Address(value: ["city": "Rome", "lines": ["a"], "keeper": ada] as [String: Any])
                rex.former.append(Address(value: ["city": "Oslo"]))
                rex.toys.append(objectsIn: ["ball", "bone"])
                rex.marks.append(objectsIn: [1, nil])
                rex.friends.append(objectsIn: [Dog(2, "Max"), Dog(3, "Ben")])
                rex.tags.insert("good")
                rex.rivals.insert(rex.friends[0])
                rex.scores["x"] = 4
                rex.sitters["day"] = ada
                rex.sitters["night"] = .some(nil)
                rex.places["den"] = Address(value: ["city": "Bonn"])
                realm.add(rex)
                return rex
            }
        }

        @Test("A struct has the values of each kind of property, and links to the depth")
        func values() throws {
            let rex = try addRex(opened())
            let value = Dog.Snapshot(rex)
            #expect(value.id == 1 && value.name == "Rex" && value.nick == "R" && value.age == 3)
            #expect(value.size == .large && value.mood == .wild && value.weight.grams == 2.5)
            #expect(value.photo == Data([1, 2]) && value.born == Date(timeIntervalSince1970: 0) && value.default)
            #expect(value.home?.city == "Rome" && value.home?.lines == ["a"])
            #expect(value.former.map(\.city) == ["Oslo"])
            #expect(value.toys == ["ball", "bone"] && value.marks == [1, nil] && value.tags == ["good"])
            #expect(value.scores == ["x": 4] && value.places["den"]??.city == "Bonn")
            #expect(value.owner?.value?.name == "Ada" && value.owner?.key == "ada")
            #expect(value.owner?.value?.best == .key(1))
            #expect(value.friends.map { $0.value?.name } == ["Max", "Ben"])
            #expect(value.rivals.map(\.key) == [2])
            #expect(value.sitters["day"]??.key == "ada" && value.sitters["night"] == .some(nil))

            let flat = Dog.Snapshot(rex, depth: 0)
            #expect(flat.owner == .key("ada") && flat.friends == [.key(2), .key(3)])
            #expect(value.home?.keeper?.value?.name == "Ada" && flat.home?.keeper == .key("ada"))
            #expect(Person.Snapshot(rex.owner!).best == .key(1))
            // A cycle ends at the depth.
            let deep = Person.Snapshot(rex.owner!, depth: 3)
            #expect(deep.best?.value?.owner?.value?.best?.value?.owner == .key("ada"))
        }

        @Test("A struct is the same after it was encoded and decoded as JSON")
        func json() throws {
            let rex = try addRex(opened())
            for depth in 0...2 {
                let value = Dog.Snapshot(rex, depth: depth)
                let decoded = try JSONDecoder().decode(Dog.Snapshot.self, from: JSONEncoder().encode(value))
                #expect(decoded == value && decoded.hashValue == value.hashValue)
            }
            let text = #"{"id": "x", "name": "Eve", "best": 5}"#
            let person = try JSONDecoder().decode(Person.Snapshot.self, from: Data(text.utf8))
            #expect(person == Person.Snapshot(id: "x", name: "Eve", best: .key(5)))
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(Person.Snapshot.self, from: Data(#"{"name": "Eve", "best": "five"}"#.utf8))
            }
        }

        @Test("Only values that differ are written")
        func written() throws {
            let realm = try opened()
            let rex = try addRex(realm)
            var value = Dog.Snapshot(rex, depth: 0)
            let before = rex.snapshot()
            do {
                let conflicts = try realm.write { try value.apply(to: rex) }
                #expect(conflicts.isEmpty && rex.snapshot() == before)
            }
            value.name = "Max"
            value.owner = nil
            value.home?.city = "Bern"
            value.friends = [.key(3)]
            value.tags = ["bad"]
            value.sitters = ["night": .key("ada")]
            value.places["den"] = nil
            try realm.write { try value.apply(to: rex) }
            #expect(Dog.Snapshot(rex, depth: 0) == value)
            let changes = Set(rex.snapshot().changes(since: before).map { $0.path.prefix { $0 != "." } })
            #expect(changes == ["name", "owner", "home", "friends", "tags", "sitters", "places"])
        }

        @Test("Properties that others have changed are in conflict, by name")
        func conflicts() throws {
            let realm = try opened()
            let rex = try addRex(realm)
            let before = Dog.Snapshot(rex, depth: 0)
            var after = before
            after.name = "Max"
            after.age = 4
            after.home?.city = "Bern"
            try realm.write {
                rex.name = "Rolf"
                rex.toys.removeAll()
                rex.home?.city = "Turin"
                rex.home?.street = "Po"
            }
            realm.beginWrite()
            let error = #expect(throws: DraftConflict.self) { try after.apply(to: rex, since: before) }
            #expect(error?.properties == ["name", "home.city"] && error?.primaryKey == .int(1))
            #expect(error?.description.contains("since it was taken") == true)
            #expect(rex.age == 3)
            let merged = try after.apply(to: rex, since: before, .merge)
            #expect(merged == ["name", "home.city"] && rex.name == "Rolf" && rex.age == 4)
            let overwritten = try after.apply(to: rex, since: before, .overwrite)
            #expect(overwritten == ["name", "home.city"])
            #expect(rex.name == "Max" && rex.home?.city == "Bern" && rex.home?.street == "Po" && rex.toys.isEmpty)
            try realm.commitWrite()
        }

        @Test("A struct of another object, a missing target and a deleted object are errors, and nothing is written")
        func errors() throws {
            let realm = try opened()
            let rex = try addRex(realm)
            let before = Dog.Snapshot(rex, depth: 0)
            var value = before
            value.name = "Max"
            try realm.write {
                #expect(throws: SnapshotError.otherObject(className: "Dog")) { try value.apply(to: rex.friends[0]) }
                value.home?.keeper = .key("nobody")
                #expect(throws: SnapshotError.targetMissing(property: "home.keeper", className: "Person")) {
                    try value.apply(to: rex)
                }
                value.home?.keeper = before.home?.keeper
                realm.delete(rex.owner!)
                // The link that the base had to the deleted object is no edit.
                try value.apply(to: rex, since: before)
                #expect(rex.name == "Max" && rex.owner == nil)
                realm.delete(rex)
                let error = #expect(throws: DraftConflict.self) { try value.apply(to: rex) }
                #expect(error?.isDeleted == true)
            }
        }

        @Test("Links to classes without a primary key are read and left alone, and user's members keep their names")
        func notes() throws {
            let realm = try opened()
            try realm.write {
                let note = realm.create(Note.self, value: ["key": "a", "next": ["key": "b"]] as [String: Any])
                var value = Note.Snapshot(note, depth: 0)
                #expect(value.next == .unidentified && value.apply == 1 && value.depth == 3)
                value.key = "c"
                value.next = nil
                try ModelSnapshotUse.apply(value, note)
                #expect(note.key == "c" && note.next == nil)
            }
        }

        @Test("A struct becomes a new object with links to those of the Realm")
        func added() throws {
            let realm = try opened()
            let rex = try addRex(realm)
            let value = Person.Snapshot(id: "eve", name: "Eve", best: .key(1))
            let eve = try value.object(linkedTo: realm)
            try realm.write { realm.add(eve) }
            #expect(eve.name == "Eve" && eve.best?.isSameObject(as: rex) == true)
            #expect(throws: SnapshotError.targetMissing(property: "best", className: "Dog")) {
                try value.object(linkedTo: nil)
            }
        }

        @Test("Collections give structs, also inside of other Decodable types")
        func collections() throws {
            struct Owned: Decodable, Sendable {
                let owner: Person.Snapshot?
                let friends: [LinkedSnapshot<Dog>]
            }
            let realm = try opened()
            let rex = try addRex(realm)
            let dogs = realm.objects(Dog.self).sorted(byKeyPath: "id")
            let values: [Dog.Snapshot] = dogs.snapshotValues()
            #expect(values.map(\.name) == ["Rex", "Max", "Ben"] && values[0] == Dog.Snapshot(rex))
            #expect(try dogs.snapshots(as: Dog.Snapshot.self) == values)
            let owned = try dogs.snapshots(as: Owned.self)
            #expect(owned[0].owner == Person.Snapshot(rex.owner!) && owned[1].owner == nil)
            #expect(owned[0].friends.map(\.key) == [2, 3])
        }

        @Test("A stream delivers structs after each change, and a pool reads them")
        func streams() async throws {
            let pool = try await RealmPool(configuration: Self.configuration())
            try await pool.write { realm in realm.add(Dog(1, "Rex")) }
            let values = try await pool.values { realm in realm.objects(Dog.self) }
            #expect(values.map(\.name) == ["Rex"])
            try await streamed(pool.configuration)
            await pool.close()
        }

        @MainActor private func streamed(_ configuration: Realm.Configuration) async throws {
            let realm = try await Realm.open(configuration: configuration)
            let stream = realm.objects(Dog.self).sorted(byKeyPath: "id").values()
            let task = Task.detached {
                for try await dogs in stream {
                    if dogs.count == 2 { return dogs.map(\.name) }
                }
                return []
            }
            try await realm.asyncWrite { realm.add(Dog(2, "Max")) }
            let names = try await task.value
            #expect(names == ["Rex", "Max"])
        }

        @Test("Wrong calls are programmer errors")
        func misuse() throws {
            let realm = try opened()
            let rex = try addRex(realm)
            let value = Dog.Snapshot(rex, depth: 0)
            let outside = try catchMisuse { try value.apply(to: rex) }
            #expect(outside?.contains("outside of a write transaction") == true)
            let unmanaged = try catchMisuse { try value.apply(to: Dog()) }
            #expect(unmanaged?.contains("object(linkedTo:)") == true)
        }
    }

    /// Calls `apply` of a struct that has a property of this name.
    private enum ModelSnapshotUse {
        static func apply<Value: ModelSnapshot>(_ value: Value, _ object: Value.ModelClass) throws {
            try value.apply(to: object)
        }
    }
#endif
