// SPDX-License-Identifier: Apache-2.0
// The ten examples of the page TenExamples.md in RegnumTestKit.docc, unchanged, and a test that compares them.

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

@Suite("README")
struct ReadmeTextTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// ") && !$0.hasPrefix("import ") }
    }

    /// The Swift listings of a document, or of one of its sections.
    private static func listings(in document: String, of heading: String) throws -> [String] {
        let text = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
        let section =
            heading.isEmpty
            ? text : text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading) } ?? ""
        return section.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    @Test(
        "Every listing about testing is in a test, line by line",
        arguments: [
            ("Sources/RegnumTestKit/RegnumTestKit.docc/TenExamples.md", "Test your app", 10),
            ("Sources/RegnumTestKit/RegnumTestKit.docc/TestingYourApp.md", "", 12),
            ("Sources/RegnumTestKit/RegnumTestKit.docc/RegnumTestKit.md", "", 4),
        ])
    func listings(_ document: String, _ heading: String, _ fewest: Int) throws {
        let folder = Self.root.appendingPathComponent("Tests/RegnumTestKitTests")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        let code = try names.flatMap { name in
            Self.lines(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
        }.joined(separator: "\n")
        let listings = try Self.listings(in: document, of: heading)
        #expect(listings.count >= fewest)
        for listing in listings {
            #expect(code.contains(Self.lines(listing).joined(separator: "\n")), "\(document): \(listing)")
        }
    }
}
