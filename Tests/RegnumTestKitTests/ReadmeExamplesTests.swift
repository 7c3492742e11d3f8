// SPDX-License-Identifier: Apache-2.0
// The ten examples of the page TenExamples.md in RegnumTestKit.docc, unchanged. `ReadmeTextTests` compares them.

import Foundation
import Regnum
import RegnumTestKit
import Testing

class Cat: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var lives = 9
}

class Shelter {
    let realm: Realm
    init(realm: Realm) { self.realm = realm }

    func take(_ id: Int, _ name: String) throws {
        try realm.write { _ = realm.create(Cat.self, value: ["id": id, "name": name], update: .modified) }
    }
    func give(_ id: Int) throws {
        guard let cat = realm.object(ofType: Cat.self, forPrimaryKey: id) else { return }
        try realm.write { realm.delete(cat) }
    }
    var names: [Int: String] {
        Dictionary(uniqueKeysWithValues: realm.objects(Cat.self).map { ($0.id, $0.name) })
    }
}

// 1
@Test(.realm(Cat.self))
func everyTestHasItsOwnRealm() throws {
    try Shelter(realm: Realm()).take(1, "Tom")
    #expect(try Realm().objects(Cat.self).count == 1)
}

@Suite(.realm(Cat.self), .serialized)
struct ReadmeExamplesTests {
    // 3
    @Test func fixturesAreListsOrJSON() throws {
        let realm = try Realm()
        try realm.seed {
            Cat(value: ["id": 1, "name": "Tom"])
            for id in 2...4 { Cat(value: ["id": id, "name": "kitten"]) }
        }
        try realm.seed(json: Data(#"{"Cat": [{"id": 5, "name": "Tiger"}]}"#.utf8))
        #expect(realm.objects(Cat.self).count == 5)
    }

    // 4
    @Test func misuseIsATextInsteadOfACrash() throws {
        let realm = try Realm()
        let words = catchMisuse { realm.add(Cat()) }
        #expect(words?.contains("in a write transaction") == true)
    }

    // 5
    @Test func changesAreToldWithoutWaiting() throws {
        let realm = try Realm()
        try expectChanges(on: realm.objects(Cat.self), .update(insertions: [0])) {
            try Shelter(realm: realm).take(1, "Tom")
        }
    }

    // 6
    @Test func aRealmIsComparedAsText() throws {
        let realm = try Realm()
        try Shelter(realm: realm).take(1, "Tom")
        expectSnapshot(
            of: realm,
            matches: """
                Cat 1
                    id: 1
                    lives: 9
                    name: "Tom"
                """)
    }

    // 7
    @Test func aQueryHasABudget() throws {
        let realm = try Realm()
        try realm.seed { for id in 0..<500 { Cat(value: ["id": id, "name": "\(id)"]) } }
        expectQuery(realm.objects(Cat.self).where { $0.name == "7" }, usesIndexOn: "name", examinesAtMost: 1)
    }

    // 8
    @Test func everyShippedFileMigrates() throws {
        let shipped = try TestRealm(Cat.self, storage: .file)
        let newest = Realm.Configuration(schemaVersion: 2, objectTypes: [Cat.self])
        try expectMigrations(of: [shipped.configuration.fileURL!], to: newest)
    }

    // 9
    @Test func noCrashOrFullDiskLosesACat() throws {
        try expectSurvival(Cat.self, limit: 16) { realm in
            try Shelter(realm: realm).take(1, "Tom")
        } block: { realm in
            try Shelter(realm: realm).take(2, "Tiger")
        } invariant: { realm in
            try #require(realm.objects(Cat.self).first?.name == "Tom")
        }
    }

    // 10
    @Test func theShelterDoesAsADictionary() {
        expectModel(
            seeds: [1], steps: 50, make: { try Shelter(realm: TestRealm(Cat.self).realm) }, model: [Int: String](),
            operations: [
                RandomOperation("take", weight: 3) { shelter, model, random in
                    let (id, name) = (Int.random(in: 0..<5, using: &random), random.text())
                    try shelter.take(id, name)
                    model[id] = name
                },
                RandomOperation("give") { shelter, model, random in
                    let id = Int.random(in: 0..<5, using: &random)
                    try shelter.give(id)
                    model[id] = nil
                },
            ], agree: { shelter, model in shelter.names == model })
    }
}
