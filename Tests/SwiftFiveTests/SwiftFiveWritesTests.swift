// SPDX-License-Identifier: Apache-2.0
// The spellings of writes in programs for RealmSwift compile and return the correct values: in Swift 5 mode here, in
// Swift 6 mode in IntegrationTests.

import Dispatch
import Foundation
import RealmSwift
import Testing

class SpelledItem: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

private func configuration() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [SpelledItem.self])
}

private func take(_ body: () -> Void) { body() }
private func pass(_ body: () throws -> Void) rethrows { try body() }
private func each(_ numbers: Range<Int>, _ body: (Int) throws -> Void) rethrows { for id in numbers { try body(id) } }
private func eventually(_ body: @escaping @Sendable () async throws -> Void) async throws { try await body() }

@Suite struct SwiftFiveWritesTests {
    @Test("A write that creates an object may be the only expression of a block that returns nothing")
    func inBlocks() throws {
        let realm = try Realm(configuration: configuration())
        take { try! realm.write { realm.create(SpelledItem.self, value: ["id": 0]) } }
        pass { try! realm.write { realm.create(SpelledItem.self, value: ["id": 1]) } }
        try pass { try realm.write { realm.create(SpelledItem.self, value: ["id": 2]) } }
        take { try! realm.write(withoutNotifying: []) { realm.create(SpelledItem.self, value: ["id": 3]) } }
        each(4..<6) { id in try! realm.write { realm.create(SpelledItem.self, value: ["id": id]) } }
        try each(6..<8) { id in try realm.write { realm.create(SpelledItem.self, value: ["id": id]) } }
        let block: () -> Void = { try! realm.write { realm.create(SpelledItem.self, value: ["id": 8]) } }
        block()
        take { do { try realm.write { realm.create(SpelledItem.self, value: ["id": 9]) } } catch {} }
        take { try! realm.write { realm.add(SpelledItem(value: ["id": 10])) } }
        take { try! realm.write { realm.deleteAll() } }
        #expect(realm.isEmpty)
    }

    @Test("A write that creates an object may be the only expression of a block on a queue")
    func onQueues() throws {
        let queue = DispatchQueue(label: "spelled")
        let configuration = configuration()
        let kept = try Realm(configuration: configuration)
        queue.async {
            try! Realm(configuration: configuration).write {
                try! Realm(configuration: configuration).create(SpelledItem.self, value: ["id": 1])
            }
        }
        queue.async {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { realm.create(SpelledItem.self, value: ["id": 2]) }
        }
        let third: Int = queue.sync {
            let realm = try! Realm(configuration: configuration)
            return try! realm.write { realm.create(SpelledItem.self, value: ["id": 3]).id }
        }
        kept.refresh()
        #expect(third == 3 && kept.objects(SpelledItem.self).count == 3)
    }

    @Test("Blocks of a queue may capture its Realm")
    func captured() throws {
        let queue = DispatchQueue(label: "spelled")
        let configuration = configuration()
        let realm = try queue.sync { try Realm(configuration: configuration, queue: queue) }
        queue.async { try! realm.write { realm.create(SpelledItem.self, value: ["id": 1]) } }
        queue.async { try! realm.write(withoutNotifying: []) { realm.create(SpelledItem.self, value: ["id": 2]) } }
        let third: SpelledItem = try queue.sync {
            try realm.write { realm.create(SpelledItem.self, value: ["id": 3]) }
        }
        queue.sync { #expect(realm.objects(SpelledItem.self).count == 3 && third.id == 3) }
    }

    @Test("A write returns the value of its block")
    func results() throws {
        let realm = try Realm(configuration: configuration())
        let first = try realm.write { realm.create(SpelledItem.self, value: ["id": 1]) }
        let second: SpelledItem = try realm.write { realm.create(SpelledItem.self, value: ["id": 2]) }
        let third = try realm.write {
            let item = realm.create(SpelledItem.self, value: ["id": 3])
            item.name = "c"
            return item
        }
        let fourth = try realm.write { () -> SpelledItem in realm.create(SpelledItem.self, value: ["id": 4]) }
        let fifth = try realm.write(withoutNotifying: []) { realm.create(SpelledItem.self, value: ["id": 5]) }
        let maybe: SpelledItem? = try? realm.write { realm.create(SpelledItem.self, value: ["id": 6]) }
        let count = try realm.write { realm.objects(SpelledItem.self).count }
        let nothing: Void = try realm.write { first.name = "a" }
        let names: [String] = try realm.write {
            second.name = "b"
            return realm.objects(SpelledItem.self).map(\.name)
        }
        #expect([first.id, second.id, third.id, fourth.id, fifth.id] == [1, 2, 3, 4, 5] && maybe?.id == 6)
        #expect(count == 6 && names.prefix(3) == ["a", "b", "c"] && nothing == ())
        try realm.write {}
        try realm.write { for item in realm.objects(SpelledItem.self) { item.name = "x" } }
        try realm.write {
            if realm.isEmpty { return }
            realm.delete(first)
        }
        #expect(throws: CancellationError.self) { try realm.write { throw CancellationError() } }
        #expect(throws: CancellationError.self) {
            try realm.write {
                realm.delete(second)
                throw CancellationError()
            }
        }
        #expect(realm.objects(SpelledItem.self).count == 5)
        let work: () throws -> Void = { realm.delete(second) }
        try realm.write(work)
        let making: () -> SpelledItem = { realm.create(SpelledItem.self, value: ["id": 7]) }
        #expect(try realm.write(making).id == 7)
        let written = Result { try realm.write { realm.create(SpelledItem.self, value: ["id": 8]) } }
        #expect(try written.get().id == 8)
    }

    @Test("`asyncWrite` returns the value of its block, and may be the only expression of a block or a task")
    @MainActor func asynchronous() async throws {
        let realm = try await Realm.open(configuration: configuration())
        try await realm.asyncWrite { realm.create(SpelledItem.self, value: ["id": 1]) }
        let second = try await realm.asyncWrite { realm.create(SpelledItem.self, value: ["id": 2]) }
        let third = try await realm.asyncWrite {
            let item = realm.create(SpelledItem.self, value: ["id": 3])
            item.name = "c"
            return item
        }
        try await realm.asyncWrite { realm.delete(third) }
        let count: Int = try await realm.asyncWrite { realm.objects(SpelledItem.self).count }
        #expect(second.id == 2 && count == 2)
        try await eventually { @MainActor in
            try await realm.asyncWrite { realm.create(SpelledItem.self, value: ["id": 4]) }
        }
        try await Task { @MainActor in
            _ = try await realm.asyncWrite { realm.create(SpelledItem.self, value: ["id": 5]) }
        }.value
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            realm.writeAsync {
                realm.create(SpelledItem.self, value: ["id": 6])
            } onComplete: { error in
                if let error { done.resume(throwing: error) } else { done.resume() }
            }
        }
        #expect(realm.objects(SpelledItem.self).count == 5)
    }
}
