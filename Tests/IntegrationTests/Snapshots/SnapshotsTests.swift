// SPDX-License-Identifier: Apache-2.0
// Objects as plain values: dynamic and of custom types, compared, and sent to other threads.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum SnapshotModels {
    enum Mood: String, PersistableEnum, Codable { case calm, wild }

    class Tag: EmbeddedObject {
        @Persisted var text = ""
        @Persisted var owner: Keeper?
    }

    class Pet: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var age: Int?
        @Persisted var weight: Float = 1.5
        @Persisted var mood = Mood.calm
        @Persisted var moods: List<Mood>
        @Persisted var born = Date(timeIntervalSince1970: 5)
        @Persisted var photo = Data([1, 2])
        @Persisted var chip: UUID?
        @Persisted var price: Decimal128 = 3
        @Persisted var any: AnyRealmValue
        @Persisted var tag: Tag?
        @Persisted var keeper: Keeper?
        @Persisted var friends: List<Pet>
        @Persisted var numbers: MutableSet<Int>
        @Persisted var sizes: Map<String, Int>
    }

    class Keeper: Object {
        @Persisted var name = ""
        @Persisted(originProperty: "keeper") var pets: LinkingObjects<Pet>
    }

    static func realm() throws -> (Realm, Pet) {
        let realm = try memoryRealm(Pet.self, Keeper.self, Tag.self)
        let pet = try realm.write {
            let pet = realm.create(
                Pet.self,
                value: [
                    "id": 1, "name": "Rex", "mood": "wild", "moods": ["calm", "wild"], "keeper": ["name": "Ann"],
                    "tag": ["text": "t"], "numbers": [3, 1], "sizes": ["a": 1, "b": 2],
                    "friends": [["id": 2, "name": "Bo"]],
                ] as [String: Any])
            pet.any = .fromArray([.int(1), .string("x"), .object(pet.friends[0])])
            pet.friends[0].friends.append(pet)
            pet.tag?.owner = pet.keeper
            return pet
        }
        return (realm, pet)
    }
}

@Suite("Snapshots")
struct SnapshotsTests {
    private typealias Pet = SnapshotModels.Pet

    @Test("A snapshot contains every property by name, links to the depth, and keys beyond it")
    func dynamic() throws {
        let (realm, pet) = try SnapshotModels.realm()
        let snapshot = pet.snapshot()
        #expect(snapshot.className == Pet.className() && snapshot.primaryKey == .int(1))
        #expect(snapshot.names.first == "id" && snapshot.names.count == 16)
        #expect(snapshot["name"] == .string("Rex") && snapshot["age"] == .null && snapshot["weight"] == .float(1.5))
        #expect(snapshot["mood"] == .string("wild") && snapshot["moods"] == .list([.string("calm"), .string("wild")]))
        #expect(snapshot["born"] == .date(Date(timeIntervalSince1970: 5)) && snapshot["photo"] == .data(Data([1, 2])))
        #expect(snapshot["chip"] == .null && snapshot["price"] == .decimal128(3) && snapshot["nope"] == nil)
        #expect(snapshot["numbers"] == .set([.int(1), .int(3)]))
        #expect(snapshot["sizes"] == .map(["a": .int(1), "b": .int(2)]))
        guard case .object(let keeper) = snapshot["keeper"], case .object(let tag) = snapshot["tag"],
            case .list(let friends) = snapshot["friends"], case .object(let friend) = friends.first,
            case .list(let anything) = snapshot["any"]
        else {
            Issue.record("\(snapshot)")
            return
        }
        #expect(keeper.properties == ["name": .string("Ann")] && keeper.primaryKey == nil)
        // Embedded, so always included; its links are as deep as those of its owner.
        #expect(tag["text"] == .string("t") && tag["owner"] == .object(keeper))
        #expect(friend["name"] == .string("Bo") && friend["friends"] == .list([.link(Pet.className(), .int(1))]))
        #expect(anything.prefix(2) == [.int(1), .string("x")] && anything.last == .object(friend))
        let flat = pet.snapshot(depth: 0)
        #expect(
            flat["keeper"] == .link(SnapshotModels.Keeper.className(), .null)
                && flat["friends"] == .list([.link(Pet.className(), .int(2))]))
        #expect(pet.freeze().snapshot() == snapshot && pet.detached().snapshot() == snapshot)
        #expect(realm.objects(Pet.self).sorted(byKeyPath: "id").snapshots().first == snapshot)
        #expect(snapshot["name"]?.any as? String == "Rex" && snapshot["age"]?.any == nil)
        let row = try #require(realm.dynamicObjects(Pet.className()).filter("id == 1").first)
        #expect(row.snapshot()["mood"] == .string("wild") && row.snapshot()["sizes"] == snapshot["sizes"])
    }

    @Test("Snapshots list the changes between them, across links and maps")
    func changes() throws {
        let (realm, pet) = try SnapshotModels.realm()
        let before = pet.snapshot()
        #expect(before.changes(since: before).isEmpty)
        try realm.write {
            pet.name = "Max"
            pet.keeper?.name = "Bob"
            pet.sizes["a"] = nil
            pet.sizes["c"] = 3
            pet.friends.removeAll()
            pet.age = 4
        }
        let after = pet.snapshot()
        let changes = after.changes(since: before).filter { !$0.path.hasPrefix("any") && !$0.path.hasPrefix("tag") }
        #expect(changes.map(\.path) == ["name", "age", "keeper.name", "friends", "sizes.a", "sizes.c"])
        #expect(changes[0].oldValue == .string("Rex") && changes[0].newValue == .string("Max"))
        #expect(changes[4].oldValue == .int(1) && changes[4].newValue == nil)
        #expect(after != before && Set([before, after, pet.snapshot()]).count == 2)
        let moved = [after, before].difference(from: [before])
        #expect(moved.insertions.count == 1 && moved.removals.isEmpty)
    }

    @Test("NaN equals itself in a snapshot, and none in a list of any values is null")
    func unusualValues() throws {
        let (realm, pet) = try SnapshotModels.realm()
        try realm.write {
            pet.weight = .nan
            pet.any = .fromArray([.int(1), .none, .double(.nan)])
        }
        let before = pet.snapshot()
        guard case .list(let values)? = before["any"] else { throw SnapshotFault() }
        #expect(values[0] == .int(1) && values[1] == .null)
        #expect(pet.snapshot().changes(since: before).isEmpty)
        try realm.write { pet.weight = 1 }
        #expect(pet.snapshot().changes(since: before).map(\.path) == ["weight"])
        #expect(before.changes(since: pet.snapshot()).map(\.path) == ["weight"])
    }

    struct SnapshotFault: Error {}

    struct KeeperValue: Codable, Sendable, Equatable { var name: String }
    enum PetValue {
        struct Friend: Codable, Sendable, Equatable { var name: String }
    }
    struct TagText: Codable, Sendable { var text: String }
    struct Light: Codable, Sendable { var name: String; var tag: TagText?; var keeper: Counted? }
    struct Counted: Codable, Sendable { var pets: [PetValue.Friend] }
    struct Endless: Codable, Sendable { var friends: [Endless] }
    struct Wrong: Codable, Sendable { var name: Int }
    struct Missing: Codable, Sendable { var nope: Int }
    struct Narrow: Codable, Sendable { var price: Int8 }

    struct WithoutTag: Codable, Sendable, Equatable {
        var id: UInt8
        var name: String
        var age: Int?
        var weight: Double
        var mood: SnapshotModels.Mood
        var moods: [SnapshotModels.Mood]
        var born: Date
        var photo: Data
        var chip: UUID?
        var price: Decimal128
        var keeper: KeeperValue?
        var friends: [PetValue.Friend]
        var numbers: Set<Int>
        var sizes: [String: Int]
    }

    @Test("A custom type gets the properties that it names, and can be sent to another task")
    func typed() async throws {
        let (value, lights) = try {
            let (realm, pet) = try SnapshotModels.realm()
            return (
                try pet.snapshot(as: WithoutTag.self),
                try realm.objects(Pet.self).sorted(byKeyPath: "id").snapshots(as: Light.self)
            )
        }()
        let expected = WithoutTag(
            id: 1, name: "Rex", age: nil, weight: 1.5, mood: .wild, moods: [.calm, .wild],
            born: Date(timeIntervalSince1970: 5), photo: Data([1, 2]), chip: nil, price: 3,
            keeper: KeeperValue(name: "Ann"), friends: [PetValue.Friend(name: "Bo")], numbers: [1, 3],
            sizes: ["a": 1, "b": 2])
        #expect(await Task.detached { value == expected }.value)
        #expect(lights.map(\.name) == ["Rex", "Bo"] && lights[0].tag?.text == "t")
        #expect(lights[0].keeper?.pets.map(\.name) == ["Rex"] && lights[1].keeper == nil)
    }

    @Test("A value that does not fit the type throws a decoding error with its coding path")
    func refusals() throws {
        let (realm, pet) = try SnapshotModels.realm()
        #expect(throws: DecodingError.self) { try pet.snapshot(as: Wrong.self) }
        #expect(throws: DecodingError.self) { try pet.snapshot(as: Missing.self) }
        #expect(throws: DecodingError.self) { try pet.snapshot(as: Narrow.self) }
        #expect(throws: DecodingError.self) { try pet.snapshot(as: Endless.self) }
        do {
            _ = try pet.snapshot(as: Wrong.self)
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["name"])
        }
        try realm.write { realm.delete(pet) }
        let words = catchMisuse { _ = pet.snapshot() }
        #expect(words?.contains("Object has been deleted or invalidated.") == true)
        let typedWords = catchMisuse { _ = try? pet.snapshot(as: Light.self) }
        #expect(typedWords?.contains("Object has been deleted or invalidated.") == true)
    }
}
