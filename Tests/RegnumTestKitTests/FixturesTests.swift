// SPDX-License-Identifier: Apache-2.0
// Fixtures, snapshots, and the sources of determinism in tests.

import Foundation
import Regnum
import RegnumTestKit
import Testing

private let everything: [ObjectBase.Type] = [KitKeeper.self, KitPet.self, KitHome.self, KitTagged.self]

@Suite("Fixtures")
struct FixturesTests {
    private let test: TestRealm
    private var realm: Realm { test.realm }

    init() throws { test = try TestRealm(configuration: Realm.Configuration(objectTypes: everything)) }

    private static let json = """
        {
          "KitPet": [
            {"name": "Rex", "age": 3, "keeper": 1, "tags": ["good", "brown"], "anything": 7},
            {"name": "Odd", "keeper": {"id": 2, "name": "Bob"}}
          ],
          "KitKeeper": [
            {"id": 1, "name": "Ann", "born": "1990-05-01T12:00:00Z", "scores": {"agility": 3},
             "den": {"street": "High"}}
          ],
          "KitTagged": [
            {"id": "0123456789abcdef01234567", "uuid": "00000000-0000-0000-0000-000000000001", "price": "1.50",
             "photo": "AQI=", "ratio": 0.5, "isNew": true}
          ]
        }
        """

    @Test("A builder adds objects, lists of them and conditional ones, in one transaction")
    func builder() throws {
        let isOld = true
        try realm.seed {
            KitPet(value: ["name": "Rex"])
            if isOld { KitPet(value: ["name": "Odd"]) }
            for age in 1...2 { KitPet(value: ["name": "pup", "age": age]) }
            [KitKeeper(value: ["id": 1]), KitKeeper(value: ["id": 2])]
        }
        #expect(realm.objects(KitPet.self).count == 4)
        #expect(realm.objects(KitKeeper.self).count == 2)
        try realm.write { try realm.seed(update: .all) { KitKeeper(value: ["id": 1, "name": "Ann"]) } }
        #expect(realm.object(ofType: KitKeeper.self, forPrimaryKey: 1)?.name == "Ann")
    }

    @Test("JSON brings every type of value, links by key to later objects, and nested objects")
    func json() throws {
        #expect(try realm.seed(json: Data(Self.json.utf8)) == ["KitPet": 2, "KitKeeper": 1, "KitTagged": 1])
        let rex = try #require(realm.objects(KitPet.self).where { $0.name == "Rex" }.first)
        #expect(rex.keeper?.name == "Ann")
        #expect(rex.keeper?.born == Date(timeIntervalSince1970: 641_563_200))
        #expect(rex.keeper?.scores["agility"] == 3)
        #expect(rex.keeper?.den?.street == "High")
        #expect(rex.anything == .int(7))
        #expect(Set(rex.tags) == ["good", "brown"])
        #expect(realm.objects(KitKeeper.self).count == 2)
        let tagged = try #require(realm.objects(KitTagged.self).first)
        #expect(tagged.photo == Data([1, 2]))
        #expect(tagged.price == (try Decimal128(string: "1.50")))
        // Again: objects with keys are updated, others added.
        try realm.seed(json: Data(Self.json.utf8))
        #expect(realm.objects(KitKeeper.self).count == 2)
        #expect(realm.objects(KitPet.self).count == 4)
    }

    @Test(
        "An error names the value that does not fit the classes, and nothing is added",
        arguments: [
            ("[]", "fixture: must be an object of arrays"), ("{", "fixture: is not valid JSON"),
            (#"{"Cat": [{}]}"#, "Cat[0]: the realm has no class 'Cat'"),
            (#"{"KitPet": [{"name": "a"}, {"nam": "b"}]}"#, "KitPet[1]: 'KitPet' has no property 'nam'"),
            (#"{"KitPet": [{"age": "old"}]}"#, "KitPet[0].age: must be a whole number, not old"),
            (#"{"KitKeeper": [{"id": 1, "pets": [4]}]}"#, "KitKeeper[0].pets[0]: must be an object, not 4"),
            (#"{"KitKeeper": [{"id": 1, "born": "today"}]}"#, "KitKeeper[0].born: must be an ISO 8601 text"),
            (#"{"KitTagged": [{"uuid": "1"}]}"#, "KitTagged[0].uuid: must be a UUID"),
        ])
    func wrong(_ json: String, _ words: String) throws {
        let error = #expect(throws: FixtureError.self) { try realm.seed(json: Data(json.utf8)) }
        #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
        #expect(realm.isEmpty)
    }

    // MARK: Snapshots

    private static let text = """
        KitKeeper 1
            born: 1990-05-01T12:00:00.000Z
            den: KitHome
                street: "High"
            id: 1
            name: "Ann"
            pets: []
            scores: {"agility": 3}
        KitKeeper 2
            born: nil
            den: nil
            id: 2
            name: "Bob"
            pets: []
            scores: {}
        KitPet #0
            age: 3
            anything: 7
            keeper: KitKeeper 1
            name: "Rex"
            tags: {"brown", "good"}
        KitPet #1
            age: 0
            anything: nil
            keeper: KitKeeper 2
            name: "Odd"
            tags: {}
        KitTagged 0123456789abcdef01234567
            id: 0123456789abcdef01234567
            isNew: true
            photo: 2 bytes 0102
            price: 1.5
            ratio: 0.5
            uuid: 00000000-0000-0000-0000-000000000001
        """

    @Test("A snapshot is a text of all objects, the same in each run")
    func snapshot() throws {
        try realm.seed(json: Data(Self.json.utf8))
        #expect(expectSnapshot(of: realm, matches: Self.text))
    }

    @Test("A snapshot can be limited to some classes, and omit properties")
    func redacted() throws {
        try realm.seed(json: Data(Self.json.utf8))
        try realm.write { realm.objects(KitKeeper.self)[0].pets.append(objectsIn: realm.objects(KitPet.self)) }
        let text = realm.snapshotText(of: [KitKeeper.self], redacting: ["*.born", "KitKeeper.den", "KitPet.name"])
        #expect(text.contains("born: ...") && text.contains("den: ...") && !text.contains("\nKitPet"))
        #expect(text.contains("pets: [KitPet #0, KitPet #1]"))
    }

    @Test("A difference is shown by its lines and their context")
    func difference() throws {
        try realm.seed(json: Data(Self.json.utf8))
        try realm.write { realm.objects(KitKeeper.self)[0].name = "Eve" }
        let texts = issues { expectSnapshot(of: realm, matches: Self.text) }
        #expect(
            texts == [
                """
                The realm differs from the snapshot:
                  (...)
                          street: "High"
                      id: 1
                -     name: "Ann"
                +     name: "Eve"
                      pets: []
                      scores: {"agility": 3}
                  (...)
                """
            ], "\(texts)")
    }

    @Test("A snapshot file is written once, for review, and compared from then on")
    func file() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snapshots-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("pets.txt")
        try realm.seed { KitPet(value: ["name": "Rex"]) }
        #expect(issues { expectSnapshot(of: realm, file: url) }.first?.contains("it has been written") == true)
        #expect(expectSnapshot(of: realm, file: url))
        try realm.write { realm.deleteAll() }
        #expect(issues { expectSnapshot(of: realm, file: url) }.first?.contains("differs from 'pets.txt'") == true)
    }

    // MARK: Determinism

    @Test("Identifiers are counted up", .countedObjectIds)
    func identifiers() {
        let ids = TestIdentifiers()
        #expect(ids.integer() == 1)
        #expect(ids.uuid().uuidString == "00000000-0000-0000-0000-000000000002")
        #expect(ids.objectId().stringValue == "000000000000000000000003")
        #expect(ids.text() == "id-4")
        #expect(ObjectId.generate().stringValue == "000000000000000000000001")
        #expect(KitTagged().id.stringValue == "000000000000000000000002")
        withCountedObjectIds { #expect(KitTagged().id.stringValue == "000000000000000000000001") }
    }

    // The schema of a class is read from an instance. Its identifiers once came from the active generator, so that the
    // first test of a process counted from 2. Now they come from the system.
    @Test("The first use of a class consumes no identifier")
    func firstUse() {
        final class Unseen: Object {
            @Persisted(primaryKey: true) var id: ObjectId
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        withCountedObjectIds { #expect(Unseen().id.stringValue == "000000000000000000000001") }
    }

    @Test("Without the trait identifiers are unique")
    func generated() { #expect(ObjectId.generate().stringValue.hasPrefix("0000000000") == false) }

    @Test("A test clock stands still, advances with each read, or on request")
    func clock() {
        let clock = TestClock()
        #expect(clock.now == clock.now)
        clock.advance(by: 60)
        #expect(clock.now.timeIntervalSinceReferenceDate == 60)
        clock.set(to: Date(timeIntervalSinceReferenceDate: 5))
        #expect(clock.now.timeIntervalSinceReferenceDate == 5)
        let ticking = TestClock(step: 2)
        #expect([ticking.now, ticking.now].map(\.timeIntervalSinceReferenceDate) == [0, 2])
    }

    @Test("A generator returns the same values for the same seed")
    func generator() {
        func values(_ seed: UInt64) -> [String] {
            var generator = SeededGenerator(seed: seed)
            return (0..<20).map { _ in generator.text() + "\(generator.integer())" }
        }
        #expect(values(7) == values(7))
        #expect(values(7) != values(8))
        #expect(Set(values(7)).count > 15)
    }
}
