// SPDX-License-Identifier: Apache-2.0
// Realms: instances, transactions and the rules of write.

import Dispatch
import Foundation
import Testing

@testable import Regnum

private class Item: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

private class Plain: Object {
    @Persisted var number = 0
}

private func memory(_ identifier: String = UUID().uuidString) -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: identifier, objectTypes: [Item.self, Plain.self])
}

/// A folder that is removed after the test.
final class RealmFolder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("RealmTests-\(UUID())")
    init() { try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
    func configuration(_ name: String = "a.realm") -> Realm.Configuration {
        Realm.Configuration(fileURL: url.appendingPathComponent(name), objectTypes: [Item.self, Plain.self])
    }
}

struct RealmTests {
    private struct Failure: Error {}

    #if !Encryption
        @Test("A build without the trait refuses a key with a named error and creates no file")
        func withoutEncryption() throws {
            let folder = RealmFolder()
            var configuration = folder.configuration()
            configuration.encryptionKey = Data(repeating: 1, count: 64)
            let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
            #expect(error?.reason == .unavailableFeature)
            #expect(error?.localizedDescription.contains("trait `Encryption`") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        }
    #endif

    @Test("The same configuration on one thread returns the same Realm, another configuration does not")
    func equality() throws {
        let configuration = memory()
        let one = try Realm(configuration: configuration)
        #expect(try Realm(configuration: configuration) == one)
        #expect(try Realm(configuration: memory()) != one)
    }

    @Test("A write commits and returns the block's value, or rolls back if the block throws")
    func write() throws {
        let realm = try Realm(configuration: memory())
        let item = try realm.write { realm.create(Item.self, value: ["id": 1]) }
        #expect(item.id == 1)
        #expect(throws: Failure.self) {
            try realm.write {
                realm.create(Item.self, value: ["id": 2])
                throw Failure()
            }
        }
        #expect(!realm.isInWriteTransaction)
        #expect(realm.objects(Item.self).count == 1)
    }

    @Test("A block may commit or cancel itself", arguments: [true, false])
    func ownEnd(commits: Bool) throws {
        let realm = try Realm(configuration: memory())
        try realm.write {
            realm.create(Item.self, value: ["id": 2])
            if commits { try realm.commitWrite() } else { realm.cancelWrite() }
        }
        #expect(realm.objects(Item.self).count == (commits ? 1 : 0))
        #expect(!realm.isInWriteTransaction)
    }

    @Test("`cancelWrite` invalidates objects created since beginWrite")
    func cancel() throws {
        let realm = try Realm(configuration: memory())
        realm.beginWrite()
        #expect(realm.isInWriteTransaction)
        let item = realm.create(Item.self, value: ["id": 2])
        realm.cancelWrite()
        #expect(item.isInvalidated)
        #expect(realm.isEmpty)
    }

    @Test("Objects are found by their primary key")
    func primaryKey() throws {
        let realm = try Realm(configuration: memory())
        try realm.write { for id in 0..<100 { realm.create(Item.self, value: ["id": id, "name": "n\(id)"]) } }
        #expect(realm.object(ofType: Item.self, forPrimaryKey: 42)?.name == "n42")
        #expect(realm.object(ofType: Item.self, forPrimaryKey: 100) == nil)
    }

    @Test("`deleteAll` and `delete` of results empty tables")
    func deletes() throws {
        let realm = try Realm(configuration: memory())
        try realm.write {
            for id in 0..<10 { realm.create(Item.self, value: ["id": id]) }
            realm.create(Plain.self)
        }
        try realm.write { realm.delete(realm.objects(Item.self).filter("id < 5")) }
        #expect(realm.objects(Item.self).count == 5)
        try realm.write { realm.delete(realm.objects(Item.self)) }
        #expect(realm.objects(Item.self).isEmpty)
        #expect(!realm.isEmpty)
        try realm.write { realm.deleteAll() }
        #expect(realm.isEmpty)
    }

    @Test("Results see changes of the same write immediately")
    func live() throws {
        let realm = try Realm(configuration: memory())
        let all = realm.objects(Plain.self)
        let large = all.filter("number > 5").sorted(byKeyPath: "number", ascending: false)
        try realm.write {
            for number in 0..<10 { realm.create(Plain.self, value: ["number": number]) }
            #expect(all.count == 10)
            #expect(large.map(\.number) == [9, 8, 7, 6])
            all[0].number = 100
            #expect(large.first?.number == 100)
        }
        #expect(large.count == 5)
        #expect(large.last?.number == 6)
        #expect(large.index(of: all[0]) == 0)
        #expect(all.index(matching: "number == 7") == 7)
    }

    @Test("Another thread's commit is visible after a refresh")
    func refresh() throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        #expect(!realm.refresh())
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let other = try! Realm(configuration: configuration)
            try! other.write { other.create(Plain.self) }
            done.signal()
        }
        done.wait()
        #expect(realm.objects(Plain.self).count == 0)
        #expect(realm.refresh())
        #expect(realm.objects(Plain.self).count == 1)
    }

    @Test("In-memory data is gone with the last Realm or object of it")
    func memoryEnds() throws {
        let configuration = memory()
        var object: Plain?
        do {
            let realm = try Realm(configuration: configuration)
            object = try realm.write { realm.create(Plain.self, value: ["number": 3]) }
        }
        do {
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Plain.self).first?.number == 3)
        }
        object = nil
        _ = object
        #expect(try Realm(configuration: configuration).isEmpty)
    }

    @Test("Objects in a file persist")
    func file() throws {
        let folder = RealmFolder()
        do {
            let realm = try Realm(configuration: folder.configuration())
            try realm.write { realm.create(Item.self, value: ["id": 7, "name": "seven"]) }
        }
        let realm = try Realm(configuration: folder.configuration())
        #expect(realm.object(ofType: Item.self, forPrimaryKey: 7)?.name == "seven")
    }

    @Test("`invalidate` invalidates objects and results, not the Realm")
    func invalidate() throws {
        let realm = try Realm(configuration: memory())
        let item = try realm.write { realm.create(Item.self, value: ["id": 1]) }
        let items = realm.objects(Item.self)
        realm.invalidate()
        #expect(item.isInvalidated)
        #expect(items.isInvalidated)
        #expect(realm.objects(Item.self).count == 1)
    }

    @Test("A file can only be deleted while no process has it open")
    func deleteFiles() throws {
        let folder = RealmFolder()
        var realm: Realm? = try Realm(configuration: folder.configuration())
        #expect(Realm.fileExists(for: folder.configuration()))
        #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: folder.configuration()) }
        #expect(realm != nil)
        realm = nil
        #expect(try Realm.deleteFiles(for: folder.configuration()))
        #expect(!Realm.fileExists(for: folder.configuration()))
        #expect(try !Realm.deleteFiles(for: folder.configuration()))
    }

    @Test("A lower schema version is refused, a higher one is stored")
    func schemaVersion() throws {
        let folder = RealmFolder()
        func open(_ version: UInt64, _ block: MigrationBlock? = nil) throws -> UInt64 {
            var configuration = folder.configuration()
            configuration.schemaVersion = version
            configuration.migrationBlock = block
            return try Realm(configuration: configuration).configuration.schemaVersion
        }
        #expect(try open(5) == 5)
        #expect(try open(10) == 10)
        let error = #expect(throws: Realm.Error.self) { try open(5) }
        #expect(error?.code == .fail)
        #expect(
            error?.localizedDescription.hasPrefix("Provided schema version 5 is less than last set version 10.") == true
        )
        let migrated = try open(11) { _, old in #expect(old == 10) }
        #expect(migrated == 11)
    }

    @Test("A Realm of a serial queue may be used on any thread that runs the queue")
    func queue() throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "queue of a test")
        // Moved between blocks of one queue only.
        nonisolated(unsafe) var realm: Realm?
        queue.sync {
            realm = try! Realm(configuration: configuration, queue: queue)
            try! realm!.write { realm!.create(Plain.self) }
        }
        for _ in 0..<20 {
            let done = DispatchSemaphore(value: 0)
            queue.async {
                #expect(realm!.objects(Plain.self).count == 1)
                #expect(try! Realm(configuration: configuration, queue: queue) == realm!)
                done.signal()
            }
            done.wait()
        }
        queue.sync { realm = nil }
    }
}
