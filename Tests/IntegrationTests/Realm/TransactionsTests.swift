// SPDX-License-Identifier: Apache-2.0
// The rules of write transactions, on one thread and across threads.

import Foundation
import RealmSwift
import Testing

class TransactionRow: Object {
    @Persisted var number = 0
    @Persisted var next: TransactionRow?
    @Persisted var list: List<Int>
}

private func memory() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [TransactionRow.self])
}

enum TransactionMisuse: String, CaseIterable, Codable, Sendable {
    case beginInWrite, writeInWrite, beginInBlock, commitWithout, cancelWithout, addOutside, createOutside
    case deleteOutside, deleteAllOutside, setOutside, appendOutside, readOnlyWrite, readOnlyBegin, readOnlyRefresh
    case useAfterCancel, commitTwice

    var gist: String {
        switch self {
        case .beginInWrite, .writeInWrite, .beginInBlock: "The Realm is already in a write transaction"
        case .commitWithout, .commitTwice: "Can't commit a non-existing write transaction"
        case .cancelWithout: "Can't cancel a non-existing write transaction"
        case .addOutside, .createOutside, .deleteOutside, .deleteAllOutside:
            "Can only add, remove, or create objects in a Realm in a write transaction"
        case .appendOutside: "Cannot modify List outside of a write transaction."
        case .setOutside: "Cannot modify managed objects outside of a write transaction."
        case .readOnlyWrite, .readOnlyBegin: "Can't perform transactions on read-only Realms."
        case .readOnlyRefresh: "Read-only Realms do not change and cannot be refreshed."
        case .useAfterCancel: "Object has been deleted or invalidated."
        }
    }

    func run() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(TransactionRow.self) }
        switch self {
        case .beginInWrite:
            realm.beginWrite()
            realm.beginWrite()
        case .writeInWrite:
            realm.beginWrite()
            try realm.write {}
        case .beginInBlock: try realm.write { realm.beginWrite() }
        case .commitWithout: try realm.commitWrite()
        case .commitTwice:
            realm.beginWrite()
            try realm.commitWrite()
            try realm.commitWrite()
        case .cancelWithout: realm.cancelWrite()
        case .addOutside: realm.add(TransactionRow())
        case .createOutside: realm.create(TransactionRow.self)
        case .deleteOutside: realm.delete(row)
        case .deleteAllOutside: realm.deleteAll()
        case .setOutside: row.number = 1
        case .appendOutside: row.list.append(1)
        case .readOnlyWrite, .readOnlyBegin, .readOnlyRefresh:
            let folder = TestFolder()
            var configuration = Realm.Configuration(fileURL: folder.file(), objectTypes: [TransactionRow.self])
            _ = try Realm(configuration: configuration)
            configuration.readOnly = true
            let readOnly = try Realm(configuration: configuration)
            switch self {
            case .readOnlyWrite: try readOnly.write {}
            case .readOnlyBegin: readOnly.beginWrite()
            default: readOnly.refresh()
            }
        case .useAfterCancel:
            realm.beginWrite()
            let gone = realm.create(TransactionRow.self, value: ["number": 2])
            realm.cancelWrite()
            _ = gone.number
        }
    }
}

@Suite("Transactions") struct TransactionsTests {
    struct Failure: Error, Equatable {}

    @Test("Programmer errors end the program with RealmSwift's messages", arguments: TransactionMisuse.allCases)
    func misuse(_ misuse: TransactionMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            try misuse.run()
        }
        #expect(words(result).contains(misuse.gist), "\(words(result))")
    }

    @Test("Only the Realm that began the write is in a write transaction")
    func inWrite() throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        #expect(!realm.isInWriteTransaction)
        realm.beginWrite()
        #expect(realm.isInWriteTransaction)
        onOtherThread { #expect(try! !Realm(configuration: configuration).isInWriteTransaction) }
        realm.cancelWrite()
        #expect(!realm.isInWriteTransaction)
    }

    @Test("`write` returns the result of its block, including nil and Void")
    func value() throws {
        let realm = try Realm(configuration: memory())
        #expect(try realm.write { 3 } == 3)
        let none: Int? = try realm.write { nil }
        #expect(none == nil)
        let row = try realm.write { realm.create(TransactionRow.self) }
        #expect(row.realm == realm)
        try realm.write {}
    }

    @Test("If its block throws, `write` rolls back and throws the same error")
    func rollback() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(TransactionRow.self, value: ["number": 1, "list": [1, 2]]) }
        var made: TransactionRow?
        #expect(throws: Failure()) {
            try realm.write {
                row.number = 2
                row.list.append(3)
                made = realm.create(TransactionRow.self)
                row.next = made
                throw Failure()
            }
        }
        #expect(!realm.isInWriteTransaction)
        #expect(row.number == 1)
        #expect(Array(row.list) == [1, 2])
        #expect(row.next == nil)
        #expect(made?.isInvalidated == true)
        #expect(realm.objects(TransactionRow.self).count == 1)
    }

    @Test("An object that was deleted in a cancelled write exists again")
    func undelete() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(TransactionRow.self, value: ["number": 1]) }
        realm.beginWrite()
        realm.delete(row)
        #expect(row.isInvalidated)
        realm.cancelWrite()
        #expect(realm.objects(TransactionRow.self).first?.number == 1)
    }

    @Test("A new object in the row of a rolled-back object is a different object")
    func reuse() throws {
        let realm = try Realm(configuration: memory())
        realm.beginWrite()
        let gone = realm.create(TransactionRow.self, value: ["number": 1])
        let list = gone.list
        realm.cancelWrite()
        let row = try realm.write { realm.create(TransactionRow.self, value: ["number": 2]) }
        #expect(gone.isInvalidated)
        #expect(list.isInvalidated)
        #expect(!row.isInvalidated)
        #expect(gone != row)
    }

    @Test("A block may end its write and begin another one", arguments: [true, false])
    func ownEnd(commits: Bool) throws {
        let realm = try Realm(configuration: memory())
        let value = try realm.write {
            realm.create(TransactionRow.self)
            if commits { try realm.commitWrite() } else { realm.cancelWrite() }
            return 7
        }
        #expect(value == 7)
        #expect(realm.objects(TransactionRow.self).count == (commits ? 1 : 0))
        #expect(throws: Failure()) {
            try realm.write {
                realm.cancelWrite()
                throw Failure()
            }
        }
        try realm.write {
            try realm.commitWrite()
            realm.beginWrite()
            realm.create(TransactionRow.self)
        }
        #expect(!realm.isInWriteTransaction)
        #expect(realm.objects(TransactionRow.self).count == (commits ? 2 : 1))
    }

    @Test("Commits of others are visible after refresh or beginWrite, and not before")
    func refresh() throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        let rows = realm.objects(TransactionRow.self)
        let add: @Sendable () -> Void = {
            let other = try! Realm(configuration: configuration)
            try! other.write { other.create(TransactionRow.self) }
        }
        #expect(!realm.refresh())
        onOtherThread(add)
        #expect(rows.count == 0)
        #expect(realm.refresh())
        #expect(rows.count == 1)
        #expect(!realm.refresh())
        onOtherThread(add)
        realm.beginWrite()
        #expect(rows.count == 2)
        #expect(!realm.refresh())
        realm.cancelWrite()
        #expect(rows.count == 2)
    }

    @Test("Concurrent writers lose no changes", arguments: [false, true])
    func threads(isFile: Bool) throws {
        let folder = TestFolder()
        let configuration =
            isFile
            ? Realm.Configuration(fileURL: folder.file(), objectTypes: [TransactionRow.self]) : memory()
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(TransactionRow.self) }
        let rounds = isFile ? 40 : 300
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let realm = try! Realm(configuration: configuration)
            for _ in 0..<rounds {
                try! realm.write {
                    realm.objects(TransactionRow.self).first!.number += 1
                    realm.create(TransactionRow.self)
                }
            }
        }
        realm.refresh()
        #expect(realm.objects(TransactionRow.self).first?.number == 4 * rounds)
        #expect(realm.objects(TransactionRow.self).count == 4 * rounds + 1)
    }

    @Test("A thread that waits for another's write sees its commit")
    func waiting() throws {
        let configuration = memory()
        let realm = try Realm(configuration: configuration)
        realm.beginWrite()
        let began = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let other = try! Realm(configuration: configuration)
            began.signal()
            try! other.write { #expect(other.objects(TransactionRow.self).count == 1) }
            done.signal()
        }
        began.wait()
        #expect(done.wait(timeout: .now() + 0.05) == .timedOut)
        realm.create(TransactionRow.self)
        try realm.commitWrite()
        #expect(done.wait(timeout: .now() + 14_400) == .success)
    }

    @Test("invalidate() in a write rolls back and invalidates all objects")
    func invalidate() throws {
        let realm = try Realm(configuration: memory())
        let row = try realm.write { realm.create(TransactionRow.self, value: ["number": 1]) }
        let rows = realm.objects(TransactionRow.self)
        realm.beginWrite()
        row.number = 2
        realm.invalidate()
        #expect(!realm.isInWriteTransaction)
        #expect(row.isInvalidated)
        #expect(rows.isInvalidated)
        #expect(realm.objects(TransactionRow.self).first?.number == 1)
        try realm.write { realm.objects(TransactionRow.self).first?.number = 5 }
        #expect(row.isInvalidated)
    }

    @Test("A read-only Realm can be invalidated")
    func invalidateReadOnly() throws {
        try withFile([TransactionRow.self]) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write { _ = realm.create(TransactionRow.self, value: ["number": 1]) }
            }
            var readOnly = configuration
            readOnly.readOnly = true
            let realm = try Realm(configuration: readOnly)
            let row = try #require(realm.objects(TransactionRow.self).first)
            realm.invalidate()
            #expect(row.isInvalidated)
            #expect(realm.objects(TransactionRow.self).first?.number == 1)
        }
    }

    @Test("A Realm that is released in a write releases the writer lock")
    func abandoned() throws {
        let configuration = memory()
        let keeper = try Realm(configuration: configuration)
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            realm.beginWrite()
            realm.create(TransactionRow.self)
        }
        try keeper.write { keeper.create(TransactionRow.self) }
        #expect(keeper.objects(TransactionRow.self).count == 1)
    }

    @Test("A frozen Realm is never refreshed")
    func frozenRefresh() throws {
        let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString))
        let frozen = realm.freeze()
        try realm.write {}
        #expect(!frozen.refresh() && frozen.isFrozen)
    }
}
