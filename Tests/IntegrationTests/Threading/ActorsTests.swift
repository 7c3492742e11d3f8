// SPDX-License-Identifier: Apache-2.0
// Realms that are confined to actors: opening, writing, refreshing and observing without blocking the actor.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Testing

class ActorRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var map: Map<String, Int>
}

private func memory() -> Realm.Configuration {
    Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [ActorRow.self])
}

/// An actor that owns a Realm, as in users' programs.
actor Keeper: NotingActor {
    private var realm: Realm?
    var lines: [String] = []
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    init() {}

    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm.open(configuration: configuration)
        let again = try await Realm(configuration: configuration, actor: self)
        #expect(realm == again)
    }

    func add(_ id: Int) async throws -> Int {
        let realm = try #require(realm)
        return try await realm.asyncWrite {
            realm.add(ActorRow(value: ["id": id]))
            return realm.objects(ActorRow.self).count
        }
    }

    func fail() async throws {
        let realm = try #require(realm)
        try await realm.asyncWrite {
            realm.add(ActorRow(value: ["id": 99]))
            throw CocoaError(.featureUnsupported)
        }
    }

    func addAtOnce(_ id: Int) throws {
        let realm = try #require(realm)
        try realm.write { realm.add(ActorRow(value: ["id": id])) }
    }

    func refreshed() async throws -> Bool { try await #require(realm).asyncRefresh() }
    func holdBack() { realm?.autorefresh = false }
    func count() -> Int { realm?.objects(ActorRow.self).count ?? -1 }
    func used() { _ = realm?.objects(ActorRow.self).count }
    nonisolated func leaked() async -> Realm? { await take().realm }
    private func take() -> Box { Box(realm: realm) }
    struct Box: @unchecked Sendable {
        // Sendable: it is handed over and never used by two threads at once.
        let realm: Realm?
    }

    /// Observes the map of a row, and then changes the map.
    func observeMap() async throws -> NotificationToken {
        let realm = try #require(realm)
        let row = try realm.write { realm.create(ActorRow.self, value: ["id": 1, "map": ["a": 1]]) }
        let token = await row.map.observe(on: self) { keeper, change in
            switch change {
            case .initial(let map): keeper.note("initial \(map.keys)")
            case .update(let map, let deletions, let insertions, let modifications):
                keeper.note("\(map.count) d\(deletions) i\(insertions) m\(modifications)")
            case .error: keeper.note("error")
            }
        }
        await waitFor(1)
        try realm.write {
            row.map["b"] = 2
            row.map["a"] = 3
        }
        return token
    }

    func observe() async throws -> NotificationToken {
        let realm = try #require(realm)
        return await realm.objects(ActorRow.self).observe(on: self) { keeper, change in
            switch change {
            case .initial(let rows): keeper.note("initial \(rows.count)")
            case .update(let rows, let deletions, let insertions, let modifications):
                keeper.note("\(rows.count) d\(deletions) i\(insertions) m\(modifications)")
            case .error: keeper.note("error")
            }
        }
    }
}

/// Opens its Realm synchronously, so the Realm belongs to the thread that runs the actor at that moment.
private actor Passenger {
    func write(_ configuration: Realm.Configuration) async throws {
        let realm = try Realm(configuration: configuration)
        try await realm.asyncWrite {}
    }

    func refresh(_ configuration: Realm.Configuration) async throws {
        let realm = try Realm(configuration: configuration)
        await realm.asyncRefresh()
    }
}

@Suite struct ActorsTests {
    @Test("An actor opens a Realm, writes without blocking, and reads what it wrote on any thread")
    func opening() async throws {
        let keeper = Keeper()
        try await keeper.open(memory())
        for id in 0..<50 {
            #expect(try await keeper.add(id) == id + 1)
            await Task.yield()
        }
        #expect(await keeper.count() == 50)
        await #expect(throws: CocoaError.self) { try await keeper.fail() }
        #expect(await keeper.count() == 50)
    }

    @Test("Access from outside the actor is a programmer error whose message names the actor")
    func confinement() async throws {
        let keeper = Keeper()
        try await keeper.open(memory())
        nonisolated(unsafe) let realm = try #require(await keeper.leaked())
        let words: String? = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: try? misuseText { _ = realm.isEmpty }) }
        }
        #expect(words?.hasPrefix("Realm accessed from incorrect thread") == true)
        #expect(words?.contains("actor Keeper") == true)
    }

    @Test("Concurrent asynchronous and synchronous writes of several actors are all committed")
    func contention() async throws {
        let configuration = memory()
        let keepers = [Keeper(), Keeper(), Keeper()]
        for keeper in keepers { try await keeper.open(configuration) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, keeper) in keepers.enumerated() {
                for i in 0..<40 {
                    group.addTask {
                        if i % 4 == 0 {
                            try await keeper.addAtOnce(number * 100 + i)
                        } else {
                            _ = try await keeper.add(number * 100 + i)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for keeper in keepers {
            _ = try await keeper.refreshed()
            #expect(await keeper.count() == 120)
        }
    }

    @Test("asyncWrite and asyncRefresh are refused for a Realm that is confined to a thread")
    func threads() async throws {
        let texts = [
            try await catchAsyncMisuse { try await Passenger().write(memory()) },
            try await catchAsyncMisuse { try await Passenger().refresh(memory()) },
        ]
        for (name, text) in zip(["asyncWrite", "asyncRefresh"], texts) {
            let words = "\(name)() can only be called on main thread or actor-isolated Realms"
            #expect(text?.contains(words) == true, "\(text ?? "nil")")
        }
    }

    @Test("A cancelled task does not begin a write or open a Realm")
    func cancelledWrite() async throws {
        let keeper = Keeper()
        try await keeper.open(memory())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await keeper.add(1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await keeper.count() == 0)
        let opening = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await Keeper().open(memory())
        }
        await #expect(throws: CancellationError.self) { try await opening.value }
    }

    @Test("Cancelling its task ends a write that waits for the writer lock")
    func cancelledWhileWaiting() async throws {
        let configuration = memory()
        let keeper = Keeper()
        try await keeper.open(configuration)
        let queue = DispatchQueue(label: "writer")
        nonisolated(unsafe) var realm: Realm?
        try queue.sync {
            realm = try Realm(configuration: configuration, queue: queue)
            realm?.beginWrite()
        }
        let task = Task { try await keeper.add(1) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        queue.sync {
            realm?.cancelWrite()
            realm = nil
        }
        #expect(try await keeper.add(2) == 1)
    }

    @Test("asyncRefresh loads the commits of others, even if autorefresh is off")
    func refreshing() async throws {
        let configuration = memory()
        let keeper = Keeper()
        let other = Keeper()
        try await keeper.open(configuration)
        try await other.open(configuration)
        await keeper.holdBack()
        #expect(try await keeper.refreshed() == false)
        _ = try await other.add(1)
        #expect(await keeper.count() == 0)
        #expect(try await keeper.refreshed())
        #expect(await keeper.count() == 1)
        _ = try await other.add(2)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await keeper.refreshed()
        }
        #expect(try await cancelled.value == false)
        #expect(await keeper.count() == 1)
    }

    @Test("The main actor's Realm is that of the main queue")
    @MainActor func mainActor() async throws {
        let configuration = memory()
        let realm = try await Realm(configuration: configuration, downloadBeforeOpen: .never)
        #expect(try Realm(configuration: configuration, queue: .main) == realm)
        #expect(try await Realm.open(configuration: configuration) == realm)
        #expect(try await realm.asyncWrite { realm.create(ActorRow.self, value: ["id": 1]).id } == 1)
        #expect(await realm.asyncRefresh() == false)
        await withCheckedContinuation { continuation in
            realm.writeAsync {
                realm.create(ActorRow.self, value: ["id": 2])
            } onComplete: { _ in
                continuation.resume()
            }
        }
        #expect(realm.objects(ActorRow.self).count == 2)
    }

    @Test("asyncOpen calls back on its queue with a Realm or an error")
    func asyncOpen() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let count: Int = await withCheckedContinuation { continuation in
            Realm.asyncOpen(configuration: memory(), callbackQueue: queue) { result in
                dispatchPrecondition(condition: .onQueue(queue))
                continuation.resume(returning: (try? result.get())?.objects(ActorRow.self).count ?? -1)
            }
        }
        #expect(count == 0)
        let missing = Realm.Configuration(fileURL: URL(fileURLWithPath: "/nowhere/a.realm"), readOnly: true)
        let failed: Bool = await withCheckedContinuation { continuation in
            Realm.asyncOpen(configuration: missing, callbackQueue: queue) { result in
                if case .failure(let error) = result {
                    continuation.resume(returning: error is Realm.Error)
                } else {
                    continuation.resume(returning: false)
                }
            }
        }
        #expect(failed)
    }

    @Test("An observer on an actor is notified in order, until its token is invalidated")
    func observing() async throws {
        let keeper = Keeper()
        try await keeper.open(memory())
        let token = try await keeper.observe()
        await keeper.waitFor(1)
        for id in 0..<20 {
            _ = try await keeper.add(id)
            await keeper.waitFor(id + 2)
        }
        let lines = await keeper.lines
        #expect(lines == ["initial 0"] + (0..<20).map { "\($0 + 1) d[] i[\($0)] m[]" })
        #expect(token.invalidate())
        _ = try await keeper.add(100)
        #expect(await keeper.lines.count == 21)
    }

    @Test("An observer of a map on an actor receives the inserted and modified keys")
    func observingMaps() async throws {
        let keeper = Keeper()
        try await keeper.open(memory())
        let token = try await keeper.observeMap()
        await keeper.waitFor(2)
        #expect(await keeper.lines == ["initial [\"a\"]", "2 d[] i[\"b\"] m[\"a\"]"])
        #expect(token.invalidate())
    }

    @Test("An actor observes an object of the main actor; observing in a cancelled task returns an ended token")
    func observingElsewhere() async throws {
        let configuration = memory()
        let queue = DispatchQueue(label: "owner")
        nonisolated(unsafe) var kept: Realm?
        try queue.sync { kept = try Realm(configuration: configuration, queue: queue) }
        let keeper = Keeper()
        let token = try await Self.observeRow(configuration, keeper)
        let other = Keeper()
        try await other.open(configuration)
        try await Self.rename(configuration)
        await keeper.waitFor(1)
        #expect(await keeper.lines == ["name new"])
        #expect(token.invalidate())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await other.observe()
        }
        #expect(try await task.value.invalidate() == false)
        queue.sync {
            #expect(kept != nil)
            kept = nil
        }
    }

    @Test("asyncWrite throws if too many versions are kept, and succeeds after they are released")
    @MainActor func versionLimit() async throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [ActorRow.self])
        configuration.maximumNumberOfActiveVersions = 1
        let realm = try await Realm.open(configuration: configuration)
        var frozen: Realm? = realm.freeze()
        try await realm.asyncWrite { realm.add(ActorRow(value: ["id": 1])) }
        let error = await #expect(throws: Realm.Error.self) { try await realm.asyncWrite {} }
        #expect(error?.reason == .tooManyVersions && frozen?.objects(ActorRow.self).isEmpty == true)
        frozen = nil
        try await realm.asyncWrite { realm.add(ActorRow(value: ["id": 2])) }
        #expect(realm.objects(ActorRow.self).count == 2)
    }

    @MainActor static func observeRow(_ configuration: Realm.Configuration, _ keeper: Keeper) async throws
        -> NotificationToken
    {
        let realm = try await Realm.open(configuration: configuration)
        let row = try realm.write { realm.create(ActorRow.self, value: ["id": 7]) }
        return await row.observe(keyPaths: ["name"], on: keeper) { keeper, change in
            if case .change(_, let properties) = change {
                for property in properties { keeper.note("\(property.name) \(property.newValue ?? "nil")") }
            }
        }
    }

    @MainActor static func rename(_ configuration: Realm.Configuration) async throws {
        let realm = try await Realm.open(configuration: configuration)
        try await realm.asyncWrite {
            let row = try #require(realm.object(ofType: ActorRow.self, forPrimaryKey: 7))
            row.map["x"] = 1
            row.name = "new"
        }
    }
}
