// SPDX-License-Identifier: Apache-2.0
// Each code sample of the guides must be compiled in GuideSamples.swift or GuideSamples+Content.swift; samples that
// need no special environment are also run.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

@Suite("Samples of the guides")
struct GuideSamplesTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    static let root = folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let guides = root.appendingPathComponent("Sources/Regnum/Regnum.docc")

    /// The text without white space, because the formatter may have joined or broken lines.
    static func words(_ text: some StringProtocol) -> String {
        String(text.filter { !$0.isWhitespace })
    }

    /// The Swift code blocks of a guide.
    static func samples(of guide: String) throws -> [String] {
        let text = try String(contentsOf: guides.appendingPathComponent(guide), encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    @Test("The files of samples contain every sample of every guide")
    func compiled() throws {
        let files = ["GuideSamples.swift", "GuideSamples+Content.swift"]
        let compiled = try files.map { name in
            Self.words(try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8))
        }.joined()
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.guides.path).sorted()
        var count = 0
        // ThreadsPageTests compares the samples of Threads.md.
        for name in names where name != "Threads.md" {
            for sample in try Self.samples(of: name) {
                count += 1
                #expect(compiled.contains(Self.words(sample)), "\(name): \(sample)")
            }
        }
        #expect(names.count >= 26)
        #expect(count >= 25)
    }

    @Test("The front page links to every guide")
    func linked() throws {
        let front = try String(contentsOf: Self.guides.appendingPathComponent("Regnum.md"), encoding: .utf8)
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.guides.path) where name != "Regnum.md" {
            #expect(front.contains("- <doc:\(name.dropLast(3))>"))
        }
    }

    @Test("The samples do what the guides say")
    func run() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString,
            objectTypes: [
                Guide.Dog.self, Guide.Book.self, Guide.Person.self, Guide.Address.self, Guide.Walk.self,
                Guide.Walker.self, Guide.Pup.self, Guide.Breeder.self,
            ])
        let queue = DispatchQueue(label: "guide")
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try Guide.keys(realm)
            #expect(realm.objects(Guide.Book.self).map(\.title) == ["Trees"])
            #expect(try Guide.decoding(realm).map(\.name) == ["Rex"])
            #expect(try Guide.values(realm) == ["Rex", "unknown"])
            try Guide.linking(realm)
            try Guide.linkingBack(realm)
            #expect(realm.objects(Guide.Walker.self)[0].walks.count == 1)
            try Guide.embedding(realm)
            #expect(realm.objects(Guide.Person.self).last?.address?.city == "Wells")
            try Guide.spellings(realm)
            try Guide.results(realm)
            try Guide.sections(realm)
            let token = try Guide.observing(realm)
            let dog = try #require(realm.objects(Guide.Dog.self).first)
            let other = Guide.observingObjects(dog, queue)
            try Guide.upserting(realm, dog.id)
            #expect(dog.age == 4)
            try Guide.freezing(realm)
            try Guide.same(realm)
            #expect(dog.age == 5)
            try Guide.misusing(realm)
            Guide.counting(realm)
            try Guide.transactions(realm, dog)
            #expect(dog.isInvalidated)
            token.invalidate()
            other.invalidate()
        }
        #expect(try Guide.ownRealm().isEmpty)
        #expect(Guide.raising().schemaVersion == 2 && Guide.migrating().schemaVersion == 3)
    }

    @Test("The samples for full text and places find what the guide says")
    func content() throws {
        let realm = try memoryRealm(Guide.Article.self, Guide.Cafe.self, Guide.Spot.self)
        try Guide.fillContent(realm)
        try Guide.searching(realm)
        try Guide.ranking(realm)
        try Guide.locating(realm)
        let radius = try #require(Distance.kilometers(2))
        let circle = try #require(GeoCircle(center: (59.91, 10.75), radius: radius))
        #expect(realm.objects(Guide.Cafe.self).where { $0.spot.geoWithin(circle) }.map(\.name) == ["Near"])
    }

    #if Encryption
        @Test("The samples for encryption change the key, and open the file before and after that")
        func changedKey() throws {
            let folder = TestFolder()
            let (current, next) = (Data(repeating: 1, count: 64), Data(repeating: 2, count: 64))
            var configuration = Realm.Configuration(fileURL: folder.file("a.realm"), objectTypes: [Guide.Dog.self])
            func dogs() throws -> Int {
                try Guide.openAfterChange(configuration, current: current, next: next).objects(Guide.Dog.self).count
            }
            func add() throws {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Guide.Dog()) }
            }
            try add()
            // From no key to the first one.
            try Guide.changeKey(of: configuration, to: current)
            configuration.encryptionKey = current
            #expect(try dogs() == 1)
            try add()
            try Guide.changeKey(of: configuration, to: next)
            #expect(try dogs() == 2)
            #expect(throws: Realm.Error.self) { _ = try Realm(configuration: configuration) }
            configuration.encryptionKey = next
            expectIntegrity(of: configuration)
        }
    #endif

    @Test("The samples for servers do what the guide says")
    func servers() async throws {
        try await Guide.serving(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Guide.Dog.self]))
    }
}
