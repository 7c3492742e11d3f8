// SPDX-License-Identifier: Apache-2.0
// `realm.statistics` and `Realm.statistics`: the operations of this process on a file, and the state of the file.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

class CountedRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var age = 0
}

private struct Refusal: Error {}

@Suite("Statistics of a Realm")
struct StatisticsTests {
    @Test("Commits, their bytes and their syncs are counted; rollbacks apart")
    func commits() throws {
        try withFile([CountedRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let before = realm.statistics
            for id in 0..<5 { try realm.write { realm.add(CountedRow(value: ["id": id])) } }
            #expect(throws: Refusal.self) { try realm.write { throw Refusal() } }
            let after = realm.statistics
            #expect(after.commits - before.commits == 5)
            #expect(after.totals.rollbacks - before.totals.rollbacks == 1)
            #expect(after.totals.failedCommits == 0)
            #expect(after.syncs - before.syncs >= 5)
            #expect(after.syncTime > before.syncTime)
            // Each commit writes at least a row group, the catalog and the free log.
            #expect(after.committedBytes - before.committedBytes >= 5 * 3 * 4096)
        }
    }

    @Test("Relaxed commits, and commits in memory, are counted when they return")
    func relaxed() throws {
        try withFile([CountedRow.self]) { configuration in
            var relaxed = configuration
            relaxed.durability = .relaxed
            let realm = try Realm(configuration: relaxed)
            let before = realm.statistics.commits
            for id in 0..<20 { try realm.write { realm.add(CountedRow(value: ["id": id])) } }
            #expect(realm.statistics.commits - before == 20)
        }
        let realm = try memoryRealm(CountedRow.self)
        let before = realm.statistics
        try realm.write { realm.add(CountedRow()) }
        #expect(realm.statistics.commits - before.commits == 1)
        #expect(realm.statistics.syncs == 0)
    }

    @Test("Queries count when they run, with the objects that they examine")
    func queries() throws {
        let realm = try memoryRealm(CountedRow.self)
        try realm.write {
            for id in 0..<3000 {
                realm.add(CountedRow(value: ["id": id, "name": "n\(id % 10)", "age": id] as [String: Any]))
            }
        }
        func run(_ query: () -> Int) -> (found: Int, queries: Int, examined: Int) {
            let before = realm.statistics
            let found = query()
            let after = realm.statistics
            return (found, after.queries - before.queries, after.examinedObjects - before.examinedObjects)
        }
        let scanned = realm.objects(CountedRow.self).where { $0.age >= 1000 }
        let scan = run { scanned.count }
        #expect(scan.found == 2000 && scan.queries == 1 && scan.examined == 3000)
        let again = run { scanned.count }
        #expect(again.found == 2000 && again.queries == 0 && again.examined == 0)
        let sum = run { scanned.sum(ofProperty: "age") }
        #expect(sum.queries == 1 && sum.examined == 3000)
        // More objects than the direct lookup takes: the planner decides.
        let indexed = run { Array(realm.objects(CountedRow.self).where { $0.name == "n3" }).count }
        #expect(indexed.found == 300 && indexed.queries >= 1 && indexed.examined >= 300)
        let whole = run { realm.objects(CountedRow.self).count }
        #expect(whole.found == 3000 && whole.queries == 0)
        let byKey = run { realm.object(ofType: CountedRow.self, forPrimaryKey: 7) == nil ? 0 : 1 }
        #expect(byKey.found == 1 && byKey.queries == 0)
    }

    @Test("A lookup in an index counts as a query")
    func lookups() throws {
        let realm = try memoryRealm(CountedRow.self)
        try realm.write { realm.add(CountedRow(value: ["id": 1, "name": "a", "age": 1] as [String: Any])) }
        let before = realm.statistics
        let found = realm.objects(CountedRow.self).where { $0.name == "a" }.first
        #expect(found?.id == 1)
        let after = realm.statistics
        #expect(after.queries - before.queries == 1)
        #expect(after.examinedObjects - before.examinedObjects == 1)
    }

    @Test("Threads count together, and nothing is lost")
    func threads() throws {
        try withFile([CountedRow.self]) { configuration in
            var relaxed = configuration
            relaxed.durability = .relaxed
            let shared = relaxed
            let realm = try Realm(configuration: shared)
            let before = realm.statistics
            DispatchQueue.concurrentPerform(iterations: 4) { part in
                guard let own = try? Realm(configuration: shared) else { return }
                for number in 0..<25 {
                    try? own.write { own.add(CountedRow(value: ["id": part * 25 + number])) }
                    _ = own.objects(CountedRow.self).where { $0.age > 5 }.count
                }
            }
            let after = realm.statistics
            #expect(after.commits - before.commits == 100)
            #expect(after.queries - before.queries == 100)
        }
    }

    @Test("The oldest pin, the size of the file and its free space are those of the file")
    func state() throws {
        try withFile([CountedRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            var frozen: Realm? = realm.freeze()
            let text = String(repeating: "many bytes", count: 30)
            try realm.write {
                for id in 0..<2000 {
                    realm.add(CountedRow(value: ["id": id, "name": "\(id) \(text)"] as [String: Any]))
                }
            }
            try realm.write { realm.deleteAll() }
            let statistics = realm.statistics
            #expect(statistics.pins == realm.pins().count)
            #expect(statistics.oldestPin?.holder == .frozenRealm)
            #expect(statistics.oldestPin?.newerVersions == 2)
            let path = try #require(configuration.fileURL?.path)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(statistics.fileSize == (attributes[.size] as? NSNumber)?.intValue)
            let free = try #require(statistics.freeSpace)
            #expect(free >= 0 && free < statistics.fileSize)
            // Nothing keeps the pages of the deleted objects any more.
            withExtendedLifetime(frozen) {}
            frozen = nil
            for id in 0..<4 { try realm.write { realm.add(CountedRow(value: ["id": id])) } }
            let later = realm.statistics
            #expect(later.oldestPin?.newerVersions == 0)
            let freed = try #require(later.freeSpace)
            #expect(freed > 30_000 && freed < later.fileSize)
        }
    }

    @Test("A thread that waits for the writer lock is listed, with the holder of the lock")
    func blockedWriters() throws {
        try withFile([CountedRow.self]) { configuration in
            let realm = try Realm(configuration: configuration)
            let done = DispatchSemaphore(value: 0)
            #expect(realm.statistics.writer == nil)
            realm.beginWrite()
            Thread.detachNewThread {
                _ = try? Realm(configuration: configuration).write {}
                done.signal()
            }
            while realm.statistics.blockedWriters.isEmpty { Thread.sleep(forTimeInterval: 0.01) }
            let statistics = realm.statistics
            #expect(statistics.blockedWriters.count == 1)
            let blocked = try #require(statistics.blockedWriters.first)
            #expect(blocked.fileID == "IntegrationTests/StatisticsTests.swift")
            #expect(blocked.duration > .zero)
            let writer = try #require(statistics.writer)
            #expect(writer.fileID == "IntegrationTests/StatisticsTests.swift")
            #expect(writer.description.hasPrefix("thread 0x"))
            #expect(statistics.description.contains("waiting writers: 1"))
            realm.cancelWrite()
            #expect(done.wait(timeout: .now() + 14_400) == .success)
            #expect(realm.statistics.blockedWriters.isEmpty)
            #expect(realm.statistics.totals.waits == 1)
            #expect(realm.statistics.totals.waitTime > .zero)
        }
    }

    @Test("A thread that reads the statistics of all files does not keep one of them from being opened or deleted")
    func readersLetGo() throws {
        try withFile([CountedRow.self]) { configuration in
            let (isOver, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread {
                while isOver.wait(timeout: .now()) == .timedOut { _ = Realm.statistics }
                done.signal()
            }
            defer {
                isOver.signal()
                done.wait()
            }
            var readOnly = configuration
            readOnly.readOnly = true
            for turn in 0..<100 {
                try autoreleasepool {
                    let realm = try Realm(configuration: configuration)
                    try realm.write { realm.add(CountedRow(value: ["id": turn])) }
                }
                let count = try autoreleasepool {
                    try Realm(configuration: readOnly).objects(CountedRow.self).count
                }
                #expect(count == 1)
                let isDeleted = try Realm.deleteFiles(for: configuration)
                #expect(isDeleted)
            }
        }
    }

    @Test("Realm.statistics lists the open files, and a file that is opened again begins at zero")
    func openFiles() throws {
        try withFile([CountedRow.self]) { configuration in
            var name = ""
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                for id in 0..<50 { try realm.write { realm.add(CountedRow(value: ["id": id])) } }
                name = realm.statistics.name
                let found = Realm.statistics.first { $0.name == name }
                #expect(found?.totals == realm.statistics.totals)
            }
            while Realm.statistics.contains(where: { $0.name == name }) {
                Thread.sleep(forTimeInterval: 0.01)
            }
            let realm = try Realm(configuration: configuration)
            #expect(realm.statistics.commits < 50)
        }
    }
}
