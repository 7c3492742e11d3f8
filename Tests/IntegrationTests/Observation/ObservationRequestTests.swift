// SPDX-License-Identifier: Apache-2.0
// Observers that are added on another queue or actor. Changes between the call and the start of the observation are
// delivered once, whichever version the Realm there has. Also the memory that an observation keeps, which must be
// released when it ends.

import Dispatch
import Foundation
import RealmSwift
import Testing

/// An actor with its own Realm, and a log of its notifications.
private actor Watcher: NotingActor {
    private var realm: Realm?
    var lines: [String] = []
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm.open(configuration: configuration)
    }

    func set(_ number: Int) throws {
        let realm = try #require(realm)
        try realm.write { realm.objects(FaultRow.self)[0].n = number }
    }

    func deleteAll() throws {
        let realm = try #require(realm)
        try realm.write { realm.deleteAll() }
    }
}

/// The kinds of observations, which keep the user's block.
enum KeepingObservation: CaseIterable {
    case results, list, object, map, sections, projection, waiting

    func begin(_ realm: Realm, _ row: FaultRow, _ block: @escaping () -> Void) -> NotificationToken {
        switch self {
        case .results: realm.objects(FaultRow.self).observe { _ in block() }
        case .list: row.list.observe { _ in block() }
        case .object: row.observe { (_: ObjectChange<FaultRow>) in block() }
        case .map: row.map.observe { _ in block() }
        case .sections: realm.objects(FaultRow.self).sectioned(by: \.name).observe { _ in block() }
        case .projection: FaultView(projecting: row).observe { (_: ObjectChange<FaultView>) in block() }
        case .waiting:
            realm.objects(FaultRow.self).observe(on: KeepingObservation.suspended) { _ in block() }
        }
    }

    /// A queue that never runs.
    private static let suspended = {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        return queue
    }()
}

@Suite("Observations that start elsewhere, and ended observations")
struct ObservationRequestTests {
    private static func configuration() -> Realm.Configuration {
        Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [FaultRow.self, FaultPart.self])
    }

    private func text(_ properties: [PropertyChange]) -> String {
        properties.map { "\($0.name) \($0.oldValue ?? "nil")>\($0.newValue ?? "nil")" }.joined(separator: ", ")
    }

    private func note<T>(_ label: String, _ diary: Diary) -> (ObjectChange<T>) -> Void {
        { change in
            switch change {
            case .change(_, let properties): diary.lines.append("\(label) \(text(properties))")
            case .deleted: diary.lines.append("\(label) deleted")
            case .error: diary.lines.append("error")
            }
        }
    }

    private func settle(_ queue: DispatchQueue) { for _ in 0..<3 { queue.sync {} } }

    /// A stage with row 0, and another one whose Realm has been read, so that a reference does not determine its
    /// version.
    private func stages() throws -> (Stage, Stage) {
        let configuration = Self.configuration()
        let (stage, other) = (try Stage(configuration), try Stage(configuration))
        try stage.write { realm in realm.create(FaultRow.self, value: ["id": 0]) }
        other.settle()
        try other.on { realm in #expect(realm.objects(FaultRow.self).count == 1) }
        return (stage, other)
    }

    // MARK: Changes before the start

    // A Realm that is newer than the call must not start with its own version, which would omit the changes in
    // between.
    @Test("A commit between the call and the queue's turn is delivered once, although the queue's Realm is newer")
    func openAhead() throws {
        let (stage, other) = try stages()
        let diary = Diary()
        nonisolated(unsafe) var hasMoved = false
        other.queue.suspend()
        // Runs first on the queue, so that the Realm there is newer when the observations start.
        other.queue.async { hasMoved = other.refresh() }
        try stage.on { realm in
            let row = realm.objects(FaultRow.self)[0]
            diary.tokens = [
                row.observe(on: other.queue, note("row", diary)),
                row.observe(keyPaths: ["name"], on: other.queue, note("name", diary)),
                FaultView(projecting: row).observe(on: other.queue, note("view", diary)),
            ]
            try realm.write { row.n = 7 }
        }
        other.queue.resume()
        other.settle()
        #expect(hasMoved)
        #expect(diaryLines(other, diary) == ["row n 0>7", "view number 0>7"])
        try stage.write { $0.objects(FaultRow.self)[0].name = "x" }
        other.settle()
        #expect(diaryLines(other, diary) == ["row name >x", "name name >x"])
        other.queue.sync { diary.tokens = [] }
    }

    @Test("A deletion between the call and the queue's turn is delivered once")
    func deletedAhead() throws {
        let (stage, other) = try stages()
        let diary = Diary()
        other.queue.suspend()
        other.queue.async { _ = other.refresh() }
        try stage.on { realm in
            let row = realm.objects(FaultRow.self)[0]
            diary.tokens = [
                row.observe(on: other.queue, note("row", diary)),
                FaultView(projecting: row).observe(on: other.queue, note("view", diary)),
            ]
            try realm.write { realm.delete(row) }
        }
        other.queue.resume()
        other.settle()
        #expect(diaryLines(other, diary) == ["row deleted", "view deleted"])
        try stage.write { realm in realm.create(FaultRow.self, value: ["id": 0]) }
        other.settle()
        #expect(diaryLines(other, diary) == [])
        other.queue.sync { diary.tokens = [] }
    }

    @Test("An observation starts from the version that the caller sees, although there are newer ones")
    func callerBehind() throws {
        let (stage, other) = try stages()
        let diary = Diary()
        try stage.on { $0.autorefresh = false }
        try other.write { $0.objects(FaultRow.self)[0].n = 3 }
        try stage.on { realm in
            let row = realm.objects(FaultRow.self)[0]
            #expect(row.n == 0)
            diary.tokens = [row.observe(on: other.queue, note("row", diary))]
        }
        other.settle()
        #expect(diaryLines(other, diary) == ["row n 0>3"])
        // The queue's own later changes are local again.
        try other.write { $0.objects(FaultRow.self)[0].n = 4 }
        #expect(diaryLines(other, diary) == ["row n nil>4"])
        other.queue.sync { diary.tokens = [] }
    }

    @Test("In a write, changes after the call are delivered and changes before it are not")
    func inWrite() throws {
        let (stage, other) = try stages()
        let (before, behind) = (Diary(), Diary())
        try stage.on { realm in
            let row = realm.objects(FaultRow.self)[0]
            try realm.write {
                before.tokens = [row.observe(on: other.queue, note("row", before))]
                row.n = 5
                behind.tokens = [row.observe(on: other.queue, note("row", behind))]
            }
        }
        other.settle()
        #expect(diaryLines(other, before) == ["row n 0>5"] && diaryLines(other, behind) == [])
        try stage.write { $0.objects(FaultRow.self)[0].n = 6 }
        other.settle()
        #expect(diaryLines(other, before) == ["row n 5>6"] && diaryLines(other, behind) == ["row n 5>6"])
        other.queue.sync { (before.tokens, behind.tokens) = ([], []) }
    }

    // The observer must not start with the version that the queue has reached, which would omit the changes in
    // between.
    @Test(
        "An observation that is added in a write with changes starts from the result of the write",
        arguments: [false, true])
    func behindWrite(isAsynchronous: Bool) throws {
        try withFile([FaultRow.self, FaultPart.self]) { configuration in
            let (stage, other) = (try Stage(configuration), try Stage(configuration))
            try stage.write { realm in realm.create(FaultRow.self, value: ["id": 0]) }
            other.settle()
            try other.on { realm in #expect(realm.objects(FaultRow.self).count == 1) }
            let diary = Diary()
            other.queue.suspend()
            try stage.on { realm in
                realm.beginWrite()
                let old = realm.objects(FaultRow.self)[0]
                let made = realm.create(FaultRow.self, value: ["id": 1])
                old.n = 1
                diary.tokens = [
                    old.observe(on: other.queue, note("old", diary)),
                    made.observe(on: other.queue, note("made", diary)),
                ]
                (old.n, made.n) = (2, 5)
                if isAsynchronous { realm.commitAsyncWrite() } else { try realm.commitWrite() }
                try realm.write { (old.n, made.n) = (3, 6) }
                try realm.write { old.name = "x" }
            }
            other.queue.resume()
            let end = ContinuousClock.now + .seconds(14_400)
            while other.queue.sync(execute: { diary.lines.count < 2 }), ContinuousClock.now < end {
                Thread.sleep(forTimeInterval: 0.001)
            }
            other.settle()
            #expect(diaryLines(other, diary).sorted() == ["made n 5>6", "old name >x, n 2>3"])
            other.queue.sync { diary.tokens = [] }
        }
    }

    @Test("An observation that is added in a write that is rolled back starts from the version before it")
    func rolledBack() throws {
        let (stage, other) = try stages()
        let diary = Diary()
        other.queue.suspend()
        try stage.on { realm in
            let row = realm.objects(FaultRow.self)[0]
            realm.beginWrite()
            row.n = 1
            diary.tokens = [row.observe(on: other.queue, note("row", diary))]
            realm.cancelWrite()
            try realm.write { row.n = 3 }
        }
        other.queue.resume()
        other.settle()
        #expect(diaryLines(other, diary) == ["row n 0>3"])
        other.queue.sync { diary.tokens = [] }
    }

    // The queue must not start before the version that the write commits is pinned.
    @Test("An observation that is added in a write that is durable immediately starts from its result")
    func behindWriteAtOnce() throws {
        let (stage, other) = try stages()
        for round in 0..<100 {
            let diary = Diary()
            try stage.on { realm in
                let row = realm.objects(FaultRow.self)[0]
                realm.beginWrite()
                row.n = 2 * round + 1
                diary.tokens = [row.observe(on: other.queue, note("row", diary))]
                realm.commitAsyncWrite()
                try realm.write { row.n = 2 * round + 2 }
            }
            let end = ContinuousClock.now + .seconds(14_400)
            while other.queue.sync(execute: { diary.lines.isEmpty }), ContinuousClock.now < end {
                Thread.sleep(forTimeInterval: 0.0001)
            }
            #expect(diaryLines(other, diary) == ["row n \(2 * round + 1)>\(2 * round + 2)"])
            other.queue.sync { diary.tokens = [] }
        }
    }

    @Test(
        "A commit before the start is delivered even on an actor whose Realm is newer than the caller's",
        .timeLimit(.minutes(240))) @MainActor
    func actorAhead() async throws {
        let configuration = Self.configuration()
        let realm = try await Realm.open(configuration: configuration)
        let row = try realm.write { realm.create(FaultRow.self, value: ["id": 0]) }
        realm.autorefresh = false
        let watcher = Watcher()
        try await watcher.open(configuration)
        try await watcher.set(7)
        #expect(row.n == 0)
        let token = await row.observe(on: watcher) { watcher, change in
            guard case .change(let row, let properties) = change else { return watcher.note("deleted") }
            watcher.note("\(row.n) \(properties.map { "\($0.name) \($0.oldValue ?? "nil")" })")
        }
        await watcher.waitFor(1)
        #expect(await watcher.lines == ["7 [\"n 0\"]"])
        try await watcher.set(8)
        await watcher.waitFor(2)
        #expect(await watcher.lines == ["7 [\"n 0\"]", "8 [\"n nil\"]"])
        try await watcher.deleteAll()
        await watcher.waitFor(3)
        #expect(await watcher.lines.last == "deleted")
        // The caller still sees the object; a new observer is notified of its deletion.
        #expect(row.n == 0)
        let late = await row.observe(on: watcher) { watcher, change in
            if case .deleted = change { watcher.note("gone") }
        }
        await watcher.waitFor(4)
        #expect(await watcher.lines.last == "gone")
        #expect(token.invalidate() && late.invalidate())
    }

    @Test("A cancelled task adds no observation, of any kind") @MainActor
    func cancelled() async throws {
        let realm = try await Realm.open(configuration: Self.configuration())
        let row = try realm.write { realm.create(FaultRow.self, value: ["id": 0]) }
        let watcher = Watcher()
        let task = Task { @MainActor in
            withUnsafeCurrentTask { $0?.cancel() }
            return [
                await row.observe(on: watcher) { watcher, _ in watcher.note("object") },
                await row.map.observe(on: watcher) { watcher, _ in watcher.note("map") },
                await row.list.observe(on: watcher) { watcher, _ in watcher.note("list") },
                await FaultView(projecting: row).observe(on: watcher) { watcher, _ in watcher.note("view") },
                await realm.objects(FaultRow.self).sectioned(by: \.name).observe(on: watcher) { watcher, _ in
                    watcher.note("sections")
                },
            ]
        }
        let tokens = await task.value
        #expect(tokens.map { $0.invalidate() } == [false, false, false, false, false])
        let inTime = await row.map.observe(on: watcher) { watcher, _ in watcher.note("map in time") }
        await watcher.waitFor(1)
        #expect(await watcher.lines == ["map in time"])
        #expect(inTime.invalidate())
    }

    // The reference must resolve, although the Realm there finds no newer version.
    @Test("A reference to an object of an asynchronous commit resolves before others are notified of the commit")
    func notDurableYet() throws {
        try withFile([FaultRow.self, FaultPart.self]) { configuration in
            let (stage, other) = (try Stage(configuration), try Stage(configuration))
            try other.on { realm in #expect(realm.objects(FaultRow.self).isEmpty) }
            let done = DispatchSemaphore(value: 0)
            nonisolated(unsafe) var found: [Int?] = []
            for id in 0..<5 {
                try stage.on { realm in
                    _ = realm.beginAsyncWrite {
                        let row = realm.create(FaultRow.self, value: ["id": id])
                        realm.commitAsyncWrite()
                        let reference = ThreadSafeReference(to: row)
                        found.append(try? other.on { realm in realm.resolve(reference)?.id })
                        done.signal()
                    }
                }
                done.wait()
            }
            #expect(found == [0, 1, 2, 3, 4])
        }
    }

    // MARK: Memory

    private final class Probe {}

    private final class Witness: @unchecked Sendable {
        // Sendable: set on one thread, which has ended when it is read.
        weak var probe: Probe?
    }

    @Test(
        "An ended observation keeps neither its block nor the Realm that the block references",
        arguments: KeepingObservation.allCases, [true, false])
    func closes(_ kind: KeepingObservation, isInvalidated: Bool) throws {
        try withFile([FaultRow.self, FaultPart.self]) { configuration in
            let queue = DispatchQueue(label: "closing")
            try queue.sync {
                weak var held: Probe?
                var token: NotificationToken? = try {
                    let realm = try Realm(configuration: configuration, queue: queue)
                    let row = try realm.write { realm.create(FaultRow.self, value: ["id": 1]) }
                    let probe = Probe()
                    held = probe
                    return kind.begin(realm, row) { [realm, probe] in withExtendedLifetime((realm, probe)) {} }
                }()
                #expect(held != nil)
                if isInvalidated { #expect(token?.invalidate() == true) } else { token = nil }
                #expect(held == nil)
                // The file is not open any more.
                #expect(try Realm.deleteFiles(for: configuration))
                token = nil
            }
        }
    }

    // A Realm must not keep a block that waits for the end of its write if the block keeps the Realm: the write would
    // never end, and no other thread could write.
    @Test("An observation that waits for the end of a write does not keep the writing Realm")
    func abandonedWrite() throws {
        let configuration = Self.configuration()
        let keeper = try Realm(configuration: configuration)
        let queue = DispatchQueue(label: "never")
        let witness = Witness()
        onOtherThread {
            guard let realm = try? Realm(configuration: configuration) else { return }
            realm.beginWrite()
            let row = realm.create(FaultRow.self, value: ["id": 1])
            let probe = Probe()
            witness.probe = probe
            _ = row.observe(on: queue) { (_: ObjectChange<FaultRow>) in withExtendedLifetime((realm, probe)) {} }
        }
        try #require(witness.probe == nil)
        try keeper.write { keeper.create(FaultRow.self, value: ["id": 2]) }
        #expect(keeper.objects(FaultRow.self).map(\.id) == [2])
    }
}

extension Stage {
    /// To be called in a block of the queue.
    fileprivate func refresh() -> Bool {
        (try? Realm(configuration: configuration, queue: queue))?.refresh() ?? false
    }
}
