// SPDX-License-Identifier: Apache-2.0
// A write that was begun on a Realm without references continues until it is committed or cancelled, or until its
// thread, queue or actor ends.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Synchronization
import Testing

class KeptRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
}

private class Unkept: Object { @Persisted var id = 0 }

private func configuration(_ folder: TestFolder?) -> Realm.Configuration {
    guard let folder else {
        return Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [KeptRow.self])
    }
    return Realm.Configuration(fileURL: folder.file(), objectTypes: [KeptRow.self])
}

/// In nanoseconds: more than a whole run of the tests takes.
private let someHours: UInt64 = 14_400_000_000_000

/// Calls `body`, and keeps the writes that it leaves open for some hours: on a busy machine the seconds for which the
/// product keeps them may pass between two statements.
private func patiently<R>(_ body: () throws -> R) rethrows -> R {
    try OrphanedWrites.$scopedPatience.withValue(someHours, operation: body)
}

/// Runs `body`, as `patiently` does, on another thread and waits for its end.
private func patientlyOnOtherThread(_ body: @escaping @Sendable () -> Void) {
    onOtherThread { patiently(body) }
}

private func count(_ configuration: Realm.Configuration) -> Int {
    let count = Mutex(-1)
    onOtherThread {
        let realm = try! Realm(configuration: configuration)
        realm.refresh()
        count.withLock { $0 = realm.objects(KeptRow.self).count }
    }
    return count.withLock { $0 }
}

private actor KeptActor {
    func begin(_ configuration: Realm.Configuration) async throws {
        try await Realm(configuration: configuration, actor: self).beginWrite()
    }
    /// Returns false if the write is not open any more.
    func add(_ configuration: Realm.Configuration, id: Int) async throws -> Bool {
        let realm = try await Realm(configuration: configuration, actor: self)
        guard realm.isInWriteTransaction else { return false }
        realm.create(KeptRow.self, value: ["id": id])
        return true
    }
    /// Returns the message of the second write, or nil if it began.
    func beginTwice(
        _ configuration: Realm.Configuration, other narrow: Realm.Configuration
    ) async throws -> String? {
        try await Realm(configuration: configuration, actor: self).beginWrite()
        nonisolated(unsafe) let other = try await Realm(configuration: narrow, actor: self)
        defer { if other.isInWriteTransaction { other.cancelWrite() } }
        return try misuseText { other.beginWrite() }
    }
    func cancel(_ configuration: Realm.Configuration) async throws {
        let realm = try await Realm(configuration: configuration, actor: self)
        if realm.isInWriteTransaction { realm.cancelWrite() }
    }
    /// Returns false if the write is not open any more.
    func end(_ configuration: Realm.Configuration) async throws -> Bool {
        let realm = try await Realm(configuration: configuration, actor: self)
        guard realm.isInWriteTransaction else { return false }
        try realm.commitWrite()
        return true
    }
}

@Suite struct OrphanedWritesTests {
    @Test(
        "A write on an unreferenced Realm continues on its thread, in a file and in memory", arguments: [true, false])
    func onThread(inMemory: Bool) throws {
        let folder = inMemory ? nil : TestFolder()
        let configuration = configuration(folder)
        // An in-memory database lives as long as one of its Realms.
        let keeper = inMemory ? try Realm(configuration: configuration) : nil
        patientlyOnOtherThread {
            try! Realm(configuration: configuration).beginWrite()
            for id in 0..<3 { try! Realm(configuration: configuration).create(KeptRow.self, value: ["id": id]) }
            #expect(try! Realm(configuration: configuration).isInWriteTransaction)
            try! Realm(configuration: configuration).objects(KeptRow.self).first?.name = "a"
            try! Realm(configuration: configuration).commitWrite()
            let realm = try! Realm(configuration: configuration)
            #expect(!realm.isInWriteTransaction && realm.objects(KeptRow.self).map(\.id) == [0, 1, 2])
            realm.beginWrite()
            realm.deleteAll()
            realm.cancelWrite()
            #expect(realm.objects(KeptRow.self).count == 3)
        }
        #expect(count(configuration) == 3)
        if let folder { expectIntegrity(of: folder.file()) }
        withExtendedLifetime(keeper) {}
    }

    @Test("A write that would wait for an unreferenced write of its own queue or actor is refused")
    func waitsForItself() async throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        var narrow = configuration
        narrow.objectTypes = []
        let queue = DispatchQueue(label: "kept")
        let words: String? = try queue.sync { [narrow] in
            try patiently {
                try Realm(configuration: configuration, queue: queue).beginWrite()
                nonisolated(unsafe) let other = try Realm(configuration: narrow, queue: queue)
                defer {
                    if other.isInWriteTransaction { other.cancelWrite() }
                    if let realm = try? Realm(configuration: configuration, queue: queue), realm.isInWriteTransaction {
                        realm.cancelWrite()
                    }
                }
                return try misuseText { other.beginWrite() }
            }
        }
        #expect(words?.contains("no longer referenced") == true, "\(words ?? "nil")")
        let actor = KeptActor()
        let ofActor: String? = try await OrphanedWrites.$scopedPatience.withValue(someHours) { [narrow] in
            try await actor.beginTwice(configuration, other: narrow)
        }
        try await actor.cancel(configuration)
        #expect(ofActor?.contains("no longer referenced") == true, "\(ofActor ?? "nil")")
    }

    @Test("A reference made in an unreferenced write does not resolve after its rollback")
    func outcome() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        let box = Mutex<ThreadSafeReference<KeptRow>?>(nil)
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            realm.beginWrite()
            let row = realm.create(KeptRow.self, value: ["id": 1])
            let reference = ThreadSafeReference(to: row)
            box.withLock { $0 = reference }
        }
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { _ = realm.create(KeptRow.self, value: ["id": 2]) }
            let reference = box.withLock { $0.take() }
            #expect(reference.flatMap { realm.resolve($0) } == nil)
        }
    }

    @Test("A cancelled unreferenced write leaves no changes, and objects keep the Realm alive")
    func cancelled() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        patientlyOnOtherThread {
            try! Realm(configuration: configuration).beginWrite()
            try! Realm(configuration: configuration).create(KeptRow.self, value: ["id": 1])
            try! Realm(configuration: configuration).cancelWrite()
            try! Realm(configuration: configuration).beginWrite()
            let row = try! Realm(configuration: configuration).create(KeptRow.self, value: ["id": 2])
            row.name = "b"
            try! Realm(configuration: configuration).commitWrite()
            #expect(row.name == "b")
            #expect(try! Realm(configuration: configuration).objects(KeptRow.self).map(\.id) == [2])
        }
        #expect(count(configuration) == 1)
    }

    @Test("An unreferenced write is rolled back when its thread ends")
    func endOfThread() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        onOtherThread {
            patiently { try! Realm(configuration: configuration).beginWrite() }
            try! Realm(configuration: configuration).create(KeptRow.self, value: ["id": 1])
        }
        // Waits until the thread has ended.
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { _ = realm.create(KeptRow.self, value: ["id": 2]) }
            #expect(realm.objects(KeptRow.self).map(\.id) == [2])
        }
    }

    @Test("An unreferenced write on a thread of a pool is rolled back after a few seconds")
    func onPoolThread() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        DispatchQueue.global().sync {
            // A block that runs on a thread other than the caller's.
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                if number == 0 { try! Realm(configuration: configuration).beginWrite() }
            }
        }
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { _ = realm.create(KeptRow.self, value: ["id": 2]) }
            #expect(realm.objects(KeptRow.self).map(\.id) == [2])
        }
    }

    @Test("An unreferenced write continues over several blocks of a queue, and is rolled back with the queue")
    func onQueue() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        try {
            let queue = DispatchQueue(label: "kept")
            func begin() throws {
                try patiently { try Realm(configuration: configuration, queue: queue).beginWrite() }
            }
            try queue.sync { try begin() }
            try queue.sync {
                try patiently {
                    _ = try Realm(configuration: configuration, queue: queue).create(KeptRow.self, value: ["id": 1])
                }
            }
            try queue.sync { try Realm(configuration: configuration, queue: queue).commitWrite() }
            try queue.sync {
                try begin()
                _ = try Realm(configuration: configuration, queue: queue).create(KeptRow.self, value: ["id": 2])
            }
        }()
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { _ = realm.create(KeptRow.self, value: ["id": 3]) }
            #expect(realm.objects(KeptRow.self).map(\.id).sorted() == [1, 3])
        }
    }

    /// Begins a write, adds three objects and commits, each in a call of its own. Returns false if the write was rolled
    /// back on the way.
    private func writeInCalls(_ actor: KeptActor, _ configuration: Realm.Configuration) async throws -> Bool {
        try await actor.begin(configuration)
        for id in 0..<3 { guard try await actor.add(configuration, id: id) else { return false } }
        return try await actor.end(configuration)
    }

    @Test("An unreferenced write continues over several calls of an actor, and is rolled back with the actor")
    func onActor() async throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        do {
            let actor = KeptActor()
            let hasContinued = try await OrphanedWrites.$scopedPatience.withValue(someHours) {
                try await writeInCalls(actor, configuration)
            }
            #expect(hasContinued)
            try await actor.begin(configuration)
            _ = try await actor.add(configuration, id: 9)
        }
        // An actor may live for a moment after its last call.
        onOtherThread {
            let realm = try! Realm(configuration: configuration)
            try! realm.write { _ = realm.create(KeptRow.self, value: ["id": 3]) }
            #expect(realm.objects(KeptRow.self).map(\.id).sorted() == [0, 1, 2, 3])
        }
    }

    @Test("An unreferenced write continues on the main actor")
    @MainActor func onMain() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        try patiently {
            try Realm(configuration: configuration).beginWrite()
            _ = try Realm(configuration: configuration).create(KeptRow.self, value: ["id": 1])
            try Realm(configuration: configuration).commitWrite()
        }
        #expect(count(configuration) == 1)
    }

    @Test("Inside an unreferenced write, other Realms of the file are refused on its thread")
    func otherRealm() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        patientlyOnOtherThread {
            try! Realm(configuration: configuration).beginWrite()
            var wide = configuration
            wide.objectTypes = [KeptRow.self, Unkept.self]
            let error = #expect(throws: Realm.Error.self) { _ = try Realm(configuration: wide) }
            #expect(error?.code == .alreadyOpen)
            var narrow = configuration
            narrow.objectTypes = []
            let waits = try! misuseText { [narrow] in try Realm(configuration: narrow).beginWrite() }
            #expect(waits?.contains("deadlock") == true, "\(waits ?? "nil")")
            var newer = configuration
            newer.schemaVersion = 1
            let words = try! misuseText { [newer] in _ = try Realm(configuration: newer) }
            #expect(words?.contains("already opened with different schema version") == true)
        }
    }

    @Test("A `write` on an unreferenced Realm is one transaction for all Realms that its block opens")
    func within() throws {
        let folder = TestFolder()
        let configuration = configuration(folder)
        patientlyOnOtherThread {
            try! Realm(configuration: configuration).write {
                for id in 0..<3 { try! Realm(configuration: configuration).create(KeptRow.self, value: ["id": id]) }
            }
            #expect(!(try! Realm(configuration: configuration).isInWriteTransaction))
        }
        #expect(count(configuration) == 3)
    }
}
