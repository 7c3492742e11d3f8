// SPDX-License-Identifier: Apache-2.0
// The lifetime of the data of an in-memory Realm: as long as a Realm or one of its managed objects exists, or the
// default configuration names it.

import Foundation
import RealmSwift
import Testing

class MemoryRow: Object {
    @Persisted var number = 0
    @Persisted var list: List<Int>
    @Persisted var next: MemoryRow?
}

@Suite("In-memory Realms") struct InMemoryTests {
    let configuration = Realm.Configuration(
        inMemoryIdentifier: UUID().uuidString, objectTypes: [MemoryRow.self])

    func fill() throws -> MemoryRow {
        let realm = try Realm(configuration: configuration)
        return try realm.write {
            realm.create(MemoryRow.self, value: ["number": 1, "list": [1, 2], "next": ["number": 2]])
        }
    }

    var count: Int { get throws { try Realm(configuration: configuration).objects(MemoryRow.self).count } }

    /// The only reference that keeps the Realm alive.
    enum Held: CaseIterable, Sendable { case nothing, realm, object, linked, results, list, iterator, otherThread }

    @Test(
        "The data exists while any part of the Realm is referenced, and is gone afterwards", arguments: Held.allCases)
    func lifetime(_ held: Held) throws {
        var kept: Any?
        do {
            let row = try fill()
            let realm = try #require(row.realm)
            switch held {
            case .nothing, .otherThread: break
            case .realm: kept = realm
            case .object: kept = row
            case .linked: kept = row.next
            case .results: kept = realm.objects(MemoryRow.self).filter("number > 0")
            case .list: kept = row.list
            case .iterator: kept = realm.objects(MemoryRow.self).makeIterator()
            }
            if held == .otherThread { try otherThread() }
        }
        #expect(try count == ([.nothing, .otherThread].contains(held) ? 0 : 2))
        withExtendedLifetime(kept) {}
        kept = nil
        _ = kept
        #expect(try count == 0)
    }

    /// A Realm of another thread shares the data while both exist.
    private func otherThread() throws {
        let configuration = configuration
        onOtherThread { #expect(try! Realm(configuration: configuration).objects(MemoryRow.self).count == 2) }
    }

    @Test("A Realm of another thread keeps the data alive")
    func otherInstance() throws {
        let configuration = configuration
        let opened = DispatchSemaphore(value: 0)
        let release = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        do {
            let row = try fill()
            Thread.detachNewThread {
                do {
                    let realm = try! Realm(configuration: configuration)
                    opened.signal()
                    release.wait()
                    #expect(realm.objects(MemoryRow.self).count == 2)
                }
                done.signal()
            }
            opened.wait()
            #expect(row.number == 1)
        }
        #expect(try count == 2)
        release.signal()
        done.wait()
        #expect(try count == 0)
    }

    @Test("Two identifiers have separate data, and nothing is written to disk")
    func apart() throws {
        let other = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [MemoryRow.self])
        let row = try fill()
        let realm = try Realm(configuration: other)
        #expect(realm.isEmpty)
        #expect(row.realm != realm)
        #expect(!FileManager.default.fileExists(atPath: other.inMemoryIdentifier ?? ""))
        #expect(Realm.fileExists(for: other))
        #expect(try !Realm.deleteFiles(for: other))
    }
}

/// Tests that set the default configuration, and therefore run one after the other.
@Suite(.serialized)
enum DefaultConfigurationTests {}

extension DefaultConfigurationTests {
    @Suite(.serialized) struct InMemoryDefaultTests {
        func count(_ configuration: Realm.Configuration) throws -> Int {
            try Realm(configuration: configuration).objects(MemoryRow.self).count
        }

        func add() throws {
            let realm = try Realm()
            try realm.write { realm.create(MemoryRow.self) }
        }

        @Test("The data stays while the default configuration names it, without any Realm")
        func kept() throws {
            let before = Realm.Configuration.defaultConfiguration
            defer { Realm.Configuration.defaultConfiguration = before }
            let configuration = Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [MemoryRow.self])
            Realm.Configuration.defaultConfiguration = configuration
            try add()
            try add()
            #expect(try Realm().objects(MemoryRow.self).count == 2)
            var same = configuration
            same.schemaVersion = 0
            Realm.Configuration.defaultConfiguration = same
            #expect(try Realm().objects(MemoryRow.self).count == 2)
            Realm.Configuration.defaultConfiguration.inMemoryIdentifier = UUID().uuidString
            #expect(try count(configuration) == 0)
            #expect(try Realm().objects(MemoryRow.self).count == 0)
        }

        @Test("Open data stays if the default configuration is set to it later")
        func adopted() throws {
            let before = Realm.Configuration.defaultConfiguration
            defer { Realm.Configuration.defaultConfiguration = before }
            let configuration = Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [MemoryRow.self])
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.create(MemoryRow.self) }
                Realm.Configuration.defaultConfiguration = configuration
                _ = try Realm()
            }
            #expect(try count(configuration) == 1)
            Realm.Configuration.defaultConfiguration = before
            #expect(try count(configuration) == 0)
        }
    }
}
