// SPDX-License-Identifier: Apache-2.0
// The trait `.realm`: a default configuration for each test.

import Foundation
import Regnum
import RegnumTestKit
import Testing

@Suite("The trait .realm")
struct RealmTraitTests {
    @Test("The default configuration is the test's own, with its classes", .realm(Pup.self))
    func own() throws {
        let realm = try Realm()
        #expect(realm.isEmpty)
        #expect(realm.schema.objectSchema.map(\.className) == ["Pup"])
        try realm.seed { Pup(value: ["id": 1]) }
        #expect(Realm.Configuration.defaultConfiguration.inMemoryIdentifier?.contains("own") == true)
    }

    @Test("Each case has separate data, which stays while no Realm is open", .realm(Pup.self), arguments: 0..<8)
    func cases(_ id: Int) async throws {
        func add(_ id: Int) throws { try Realm().seed { Pup(value: ["id": id]) } }
        try add(id)
        await Task.yield()
        #expect(try Realm().objects(Pup.self).map(\.id) == [id])
        async let child = try Realm().objects(Pup.self).count
        #expect(try await child == 1)
    }

    @Test("Setting the default configuration changes the test's own", .realm(Pup.self), arguments: 0..<4)
    func setting(_ version: UInt64) throws {
        Realm.Configuration.defaultConfiguration.schemaVersion = version
        #expect(try Realm().configuration.schemaVersion == version)
    }

    @Test("The Realm of a test may be a file", .realm(Pup.self, storage: .file))
    func file() throws {
        let url = try #require(Realm.Configuration.defaultConfiguration.fileURL)
        try Realm().seed { Pup(value: ["id": 1]) }
        #expect(FileManager.default.fileExists(atPath: url.path))
    }

    @Test("Without the trait the configuration is that of the process")
    func outside() {
        #expect(Realm.Configuration.defaultConfiguration.inMemoryIdentifier?.contains("own") != true)
    }

    @MainActor
    @Test("The trait works on the main actor", .realm(Pup.self))
    func mainActor() async throws {
        let realm = try Realm()
        try await realm.asyncWrite { realm.add(Pup(value: ["id": 1])) }
        #expect(realm.objects(Pup.self).count == 1)
    }

    @Suite("The trait on a suite", .realm(Pup.self))
    struct OfSuite {
        @Test("Each test has a Realm of its own", arguments: 0..<3)
        func each(_ id: Int) throws {
            let realm = try Realm()
            #expect(realm.isEmpty)
            try realm.seed { Pup(value: ["id": id]) }
        }
    }
}
