// SPDX-License-Identifier: Apache-2.0
// Each code sample of the guides must be compiled in GuideSamples.swift; samples that need no special environment are
// also run.

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

    @Test("GuideSamples.swift contains every sample of every guide")
    func compiled() throws {
        let code = try String(
            contentsOf: Self.folder.appendingPathComponent("GuideSamples.swift"), encoding: .utf8)
        let compiled = Self.words(code)
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.guides.path).sorted()
        var count = 0
        // ThreadsPageTests compares the samples of Threads.md.
        for name in names where name != "Threads.md" {
            for sample in try Self.samples(of: name) {
                count += 1
                #expect(compiled.contains(Self.words(sample)), "\(name): \(sample)")
            }
        }
        #expect(names.count == 24)
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
            try Guide.transactions(realm, dog)
            #expect(dog.isInvalidated)
            token.invalidate()
            other.invalidate()
        }
        #expect(try Guide.ownRealm().isEmpty)
        #expect(Guide.raising().schemaVersion == 2 && Guide.migrating().schemaVersion == 3)
    }

    @Test("The samples for servers do what the guide says")
    func servers() async throws {
        try await Guide.serving(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Guide.Dog.self]))
    }
}
