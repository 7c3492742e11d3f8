// SPDX-License-Identifier: Apache-2.0
// Auto-incremented numbers, UUIDs of version 7, and seeded generators.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private typealias Invoice = Rules.Invoice
private typealias Ticket = Rules.Ticket

@Suite("Generated identifiers")
struct GeneratedIdentifiersTests {
    @Test("A new object without a number gets the next one, however it is created")
    func numbers() throws {
        let realm = try memoryRealm(Invoice.self)
        try realm.write {
            realm.add(Invoice())
            realm.add([Invoice(), Invoice()])
            realm.create(Invoice.self, value: ["text": "four"])
            realm.create(Invoice.self, value: ["number": 100, "text": "own"], update: .modified)
            realm.create(Invoice.self, value: ["number": 0, "text": "after"], update: .modified)
            realm.dynamicCreate("Rules_Invoice", value: ["text": "dynamic"])
            realm.create(Invoice.self, value: ["number": 100, "text": "again"], update: .all)
        }
        #expect(realm.objects(Invoice.self).sorted(byKeyPath: "number").map(\.number) == [1, 2, 3, 4, 100, 101, 102])
        #expect(realm.object(ofType: Invoice.self, forPrimaryKey: 100)?.text == "again")
    }

    @Test("Numbers of deleted objects are not reused; those of cancelled writes are")
    func deleted() throws {
        try withFile([Invoice.self]) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { for _ in 0..<3 { realm.add(Invoice()) } }
                realm.beginWrite()
                realm.add(Invoice())
                realm.cancelWrite()
                try realm.write { realm.deleteAll() }
            }
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.add(Invoice()) }
            #expect(realm.objects(Invoice.self).map(\.number) == [4])
        }
    }

    @Test("Nil in an optional number is replaced by the next number; with no number left, adding is refused")
    func optional() throws {
        let realm = try memoryRealm(Ticket.self)
        try realm.write {
            realm.add(Ticket())
            realm.create(Ticket.self, value: ["number": 126])
            realm.add(Ticket())
        }
        #expect(realm.objects(Ticket.self).map(\.number) == [1, 126, 127])
        let text = try misuseText {
            let realm = try memoryRealm(Ticket.self)
            try realm.write {
                realm.create(Ticket.self, value: ["number": 127])
                realm.add(Ticket())
            }
        }
        #expect(text?.contains("No numbers are left for 'Rules_Ticket.number'") == true)
    }

    @Test("Concurrent threads get different numbers")
    func threads() throws {
        try withFile([Invoice.self]) { configuration in
            let done = DispatchGroup()
            for _ in 0..<3 {
                DispatchQueue.global().async(group: done) {
                    guard let realm = try? Realm(configuration: configuration) else { return }
                    for _ in 0..<10 { try? realm.write { realm.add(Invoice()) } }
                }
            }
            done.wait()
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Invoice.self).sorted(byKeyPath: "number").map(\.number) == Array(1...30))
        }
    }

    @Test("An auto-incremented property must be an indexed Int")
    func declarations() throws {
        let text = try misuseText { _ = try memoryRealm(WrongNumber.self) }
        #expect(text?.contains("Property 'WrongNumber.a' cannot be auto-incremented") == true)
    }

    @Test("UUIDs of version 7 are ascending and contain their time")
    func ascending() throws {
        let before = Date()
        let ids = (0..<10_000).map { _ in IdentifierGenerator.uuidV7() }
        let texts = ids.map(\.uuidString)
        #expect(texts == texts.sorted() && Set(texts).count == texts.count)
        #expect(ids.allSatisfy { $0.uuid.6 >> 4 == 7 && $0.uuid.8 >> 6 == 2 })
        let milliseconds = try #require(UInt64(texts[0].prefix(13).filter { $0 != "-" }, radix: 16))
        #expect(abs(Double(milliseconds) / 1000 - before.timeIntervalSince1970) < 86_400)
    }

    @Test("UUIDs that several threads generate are unique")
    func uniqueness() throws {
        let all = Mutexed<Set<UUID>>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let ids = (0..<5000).map { _ in IdentifierGenerator.uuidV7() }
            all.change { $0.formUnion(ids) }
        }
        #expect(all.value.count == 20_000)
    }

    @Test("A seeded generator repeats its identifiers, even in tasks")
    func seeded() async {
        func make() -> [String] {
            [
                IdentifierGenerator.uuidV7().uuidString, IdentifierGenerator.uuidV7().uuidString,
                ObjectId.generate().stringValue, ObjectId.generate().stringValue, WithDefaults().id.uuidString,
                WithDefaults().key.stringValue,
            ]
        }
        let first = IdentifierGenerator(seed: 1).run(make)
        #expect(IdentifierGenerator(seed: 1).run(make) == first)
        #expect(await IdentifierGenerator(seed: 1).run { await Task { make() }.value } == first)
        #expect(Set(first).count == first.count && first[0] < first[1] && first[2] < first[3])
        #expect(IdentifierGenerator(seed: 2).run(make) != first)
        #expect(make() != first)
        #expect(first[0].hasPrefix("016F5E66-E800-7"), "2020-01-01")
    }
}

private class WrongNumber: Object, AutoIncrement {
    @Persisted var a = 0
    class var autoIncrementedProperty: String { "a" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class WithDefaults: Object {
    @Persisted var id: UUID
    @Persisted var key: ObjectId
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A value that a lock protects.
private final class Mutexed<Value>: @unchecked Sendable {
    // Sendable: the lock is held for every access.
    private let lock = NSLock()
    private var stored: Value
    init(_ value: Value) { stored = value }
    var value: Value { lock.withLock { stored } }
    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}
