// SPDX-License-Identifier: Apache-2.0
// Confinement of Realms to threads, queues and the main actor, and the error for access from elsewhere.

import Foundation
import RealmSwift
import Testing

class ConfinedRow: Object {
    @Persisted var number = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var list: List<Int>
    @Persisted var friends: List<ConfinedRow>
    @Persisted(originProperty: "friends") var admirers: LinkingObjects<ConfinedRow>
}

private func memory() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [ConfinedRow.self])
}

/// Every kind of access that another thread might try.
enum WrongThread: String, CaseIterable, Codable, Sendable {
    case objects, isEmpty, write, beginWrite, commitWrite, isInWrite, refresh, add, create, delete, invalidate
    case lookup, get, set, objectDescription, listCount, listSubscript, listAppend, linking
    case count, subscripting, iteration, filter, equality, sorted, sum, first, observeLess, freeze

    func run() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(ConfinedRow.self, value: ["number": 1, "list": [1]]) }
        let list = row.list
        let linking = row.admirers
        let rows = realm.objects(ConfinedRow.self)
        _ = rows.count
        if self == .commitWrite { realm.beginWrite() }
        nonisolated(unsafe) let shared = (realm, row, list, linking, rows)
        onOtherThread { self.touch(shared.0, shared.1, shared.2, shared.3, shared.4) }
    }

    private func touch(
        _ realm: Realm, _ row: ConfinedRow, _ list: List<Int>, _ linking: LinkingObjects<ConfinedRow>,
        _ rows: Results<ConfinedRow>
    ) {
        switch self {
        case .objects: _ = realm.objects(ConfinedRow.self)
        case .isEmpty: _ = realm.isEmpty
        case .write: try? realm.write {}
        case .beginWrite: realm.beginWrite()
        case .commitWrite: try? realm.commitWrite()
        case .isInWrite: _ = realm.isInWriteTransaction
        case .refresh: realm.refresh()
        case .add: realm.add(ConfinedRow())
        case .create: realm.create(ConfinedRow.self)
        case .delete: realm.delete(row)
        case .invalidate: realm.invalidate()
        case .lookup: _ = realm.object(ofType: ConfinedRow.self, forPrimaryKey: 1)
        case .get: _ = row.number
        case .set: row.number = 2
        case .objectDescription: _ = row.description
        case .listCount: _ = list.count
        case .freeze: _ = row.freeze()
        case .listSubscript: _ = list[0]
        case .listAppend: list.append(2)
        case .linking: _ = linking.count
        case .count: _ = rows.count
        case .subscripting: _ = rows[0]
        case .iteration: for row in rows { _ = row }
        case .filter: _ = rows.filter("number == 1").count
        case .equality: _ = rows.where { $0.name == "" }
        case .sorted: _ = rows.sorted(byKeyPath: "number").first
        case .sum: let _: Int = rows.sum(ofProperty: "number")
        case .first: _ = rows.first
        case .observeLess: _ = rows.index(of: row)
        }
    }
}

@Suite("Confinement") struct ConfinementTests {
    @Test("Every access on another thread ends the program with the same message", arguments: WrongThread.allCases)
    func wrongThread(_ use: WrongThread) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
            try use.run()
        }
        #expect(words(result).contains("Realm accessed from incorrect thread."), "\(words(result))")
    }

    @Test("isInvalidated and equality may be used on any thread")
    func harmless() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(ConfinedRow.self) }
        nonisolated(unsafe) let shared = (realm, row)
        onOtherThread {
            #expect(shared.0 == shared.0)
            #expect(shared.1 == shared.1)
            #expect(!shared.1.isInvalidated)
        }
    }

    @Test("An unmanaged object may be changed on any thread")
    func unmanaged() {
        let row = ConfinedRow()
        nonisolated(unsafe) let shared = row
        onOtherThread {
            shared.number = 3
            shared.list.append(4)
        }
        #expect(row.number == 3)
        #expect(row.list.first == 4)
    }

    @Test("A queue's Realm works in all blocks of its queue")
    func queues() throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "a queue")
        nonisolated(unsafe) var realm: Realm?
        nonisolated(unsafe) var row: ConfinedRow?
        queue.sync {
            realm = try! Realm(configuration: configuration, queue: queue)
            row = try! realm!.write { realm!.create(ConfinedRow.self, value: ["number": 1]) }
        }
        for i in 2..<50 {
            let done = DispatchSemaphore(value: 0)
            queue.async {
                #expect(row!.number == i - 1)
                try! realm!.write { row!.number = i }
                #expect(try! Realm(configuration: configuration, queue: queue) == realm!)
                done.signal()
            }
            done.wait()
        }
        queue.sync {
            // Released on the queue, to which the Realm is confined.
            row = nil
            realm = nil
        }
    }

    @Test("Two queues have two Realms of one file")
    func twoQueues() throws {
        let configuration = memory()
        let first = DispatchQueue(label: "one")
        let second = DispatchQueue(label: "two")
        nonisolated(unsafe) var realms: [Realm] = []
        first.sync { realms.append(try! Realm(configuration: configuration, queue: first)) }
        second.sync { realms.append(try! Realm(configuration: configuration, queue: second)) }
        #expect(realms[0] != realms[1])
        first.sync { try! realms[0].write { _ = realms[0].create(ConfinedRow.self) } }
        second.sync {
            realms[1].refresh()
            #expect(realms[1].objects(ConfinedRow.self).count == 1)
        }
        first.sync { realms.removeSubrange(0..<1) }
        second.sync { realms.removeAll() }
    }

    @Test("Access to a queue's Realm outside the queue ends the program")
    func outsideOfQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let configuration = memory()
            let queue = DispatchQueue(label: "a queue")
            nonisolated(unsafe) var realm: Realm?
            queue.sync { realm = try! Realm(configuration: configuration, queue: queue) }
            onOtherThread { _ = realm?.objects(ConfinedRow.self).count }
        }
        #expect(words(result).contains("Realm accessed from incorrect thread."))
    }

    @Test("A Realm of the main actor works after each suspension")
    @MainActor func mainActor() async throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        let row = try realm.write { realm.create(ConfinedRow.self, value: ["number": 1]) }
        for i in 1..<20 {
            await Task.detached { try? await Task.sleep(for: .milliseconds(1)) }.value
            #expect(row.number == i)
            try realm.write { row.number = i + 1 }
            #expect(try Realm(configuration: configuration) == realm)
        }
    }
}
