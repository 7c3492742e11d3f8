// SPDX-License-Identifier: Apache-2.0
// Thawing on an actor or a serial queue: the live object belongs to the caller's actor or queue, and can be used in
// its writes.

import Dispatch
import Foundation
import RealmSwift
import RegnumTestKit
import Synchronization
import Testing

class ThawPart: EmbeddedObject {
    @Persisted var size = 0
}

class ThawItem: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var part: ThawPart?
    @Persisted var items: List<ThawItem>
    @Persisted var tags: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var any: AnyRealmValue
    @Persisted(originProperty: "items") var owners: LinkingObjects<ThawItem>
}

class ThawView: Projection<ThawItem> {
    @Projected(\ThawItem.name) var name
}

private let thawTypes: [ObjectBase.Type] = [ThawItem.self, ThawPart.self]

/// A frozen object or collection of each kind, from one Realm.
private struct FrozenThings: @unchecked Sendable {
    // Sendable: contains frozen objects and values only.
    let item: ThawItem
    let part: ThawPart
    let results: Results<ThawItem>
    let list: List<ThawItem>
    let tags: MutableSet<String>
    let counts: Map<String, Int>
    let owners: LinkingObjects<ThawItem>
    let erased: AnyRealmCollection<ThawItem>
    let sections: SectionedResults<Int, ThawItem>
    let section: ResultsSection<Int, ThawItem>
    let view: ThawView
    let views: Results<ThawView>
    let nested: List<AnyRealmValue>
    let realm: Realm

    init(of realm: Realm) throws {
        try realm.write {
            let item = realm.create(ThawItem.self, value: ["id": 1, "name": "a", "part": ["size": 1]], update: .all)
            item.items.removeAll()
            item.items.append(item)
            item.tags.insert("t")
            item.counts["k"] = 1
            item.any = .fromArray([.int(1)])
        }
        let item = try #require(realm.object(ofType: ThawItem.self, forPrimaryKey: 1))
        self.item = item.freeze()
        part = try #require(item.part).freeze()
        results = realm.objects(ThawItem.self).where { $0.id > 0 }.freeze()
        list = item.items.freeze()
        tags = item.tags.freeze()
        counts = item.counts.freeze()
        owners = item.owners.freeze()
        erased = AnyRealmCollection(item.items).freeze()
        sections = realm.objects(ThawItem.self).sectioned(by: \.id).freeze()
        section = realm.objects(ThawItem.self).sectioned(by: \.id)[0].freeze()
        view = ThawView(projecting: item).freeze()
        views = realm.objects(ThawView.self).freeze()
        nested = try #require(item.any.listValue).freeze()
        self.realm = realm.freeze()
    }

    /// The Realms of these objects after the caller has thawed them.
    func thawed(by realm: Realm) -> [(kind: String, home: Realm?)] {
        [
            ("object", item.thaw()?.realm), ("embedded object", part.thaw()?.realm),
            ("results", results.thaw()?.realm), ("list", list.thaw()?.realm), ("set", tags.thaw()?.realm),
            ("map", counts.thaw()?.realm), ("backlinks", owners.thaw()?.realm),
            ("erased collection", erased.thaw()?.realm), ("sections", sections.thaw()?.realm),
            ("section", section.thaw()?.realm), ("projection", view.thaw()?.realm),
            ("results of projections", views.thaw()?.realm), ("list in an any value", nested.thaw()?.realm),
            ("Realm", self.realm.thaw()), ("object by the Realm", realm.thaw(item)?.realm),
            ("results by the Realm", realm.thaw(results)?.realm), ("list by the Realm", realm.thaw(list)?.realm),
        ]
    }

    /// Changes each of them in the open write transaction.
    func change(to name: String) {
        item.thaw()?.name = name
        part.thaw()?.size += 1
        results.thaw()?.setValue(name, forKey: "name")
        if let list = list.thaw() { list.append(list[0]) }
        tags.thaw()?.insert(name)
        counts.thaw()?[name] = 2
        view.thaw()?.name = name
        nested.thaw()?.append(.string(name))
    }

    /// Checks the effects of `change`.
    func expectChanged(to name: String, in realm: Realm) throws {
        let item = try #require(realm.object(ofType: ThawItem.self, forPrimaryKey: 1))
        #expect(item.name == name && item.part?.size == 2 && item.items.count == 2 && item.tags.contains(name))
        #expect(item.counts[name] == 2 && item.any.listValue?.count == 2)
    }
}

private actor Thawer {
    private var realm: Realm?

    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm(configuration: configuration, actor: self)
    }

    func things() throws -> FrozenThings { try FrozenThings(of: #require(realm)) }

    func thaw(_ things: FrozenThings) async throws {
        let realm = try #require(realm)
        await realm.asyncRefresh()
        for thawed in things.thawed(by: realm) { #expect(thawed.home == realm, "\(thawed.kind)") }
        let item = try #require(things.item.thaw())
        try await realm.asyncWrite {
            item.name = "before"
            things.change(to: "changed")
        }
        try things.expectChanged(to: "changed", in: realm)
        let shared = ThreadSafe(wrappedValue: item)
        #expect(shared.wrappedValue?.realm == realm)
        // Also on another thread of the pool.
        for _ in 0..<20 { await Task.yield() }
        #expect(item.name == "changed" && shared.wrappedValue?.realm == realm)
    }
}

@Suite struct ThawingElsewhereTests {
    private func configuration(_ folder: TestFolder?) -> Realm.Configuration {
        guard let folder else {
            return Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: thawTypes)
        }
        return Realm.Configuration(fileURL: folder.file(), objectTypes: thawTypes)
    }

    @Test("Objects that another thread has frozen thaw on an actor to the actor's Realm", arguments: [true, false])
    func fromThread(inMemory: Bool) async throws {
        let folder = inMemory ? nil : TestFolder()
        let configuration = configuration(folder)
        let thawer = Thawer()
        try await thawer.open(configuration)
        let things = try onOtherThreadThrowing { try FrozenThings(of: Realm(configuration: configuration)) }
        try await thawer.thaw(things)
        withExtendedLifetime(folder) {}
    }

    @Test("Objects that another actor or the main actor has frozen thaw on an actor to its Realm")
    func fromActor() async throws {
        let configuration = configuration(nil)
        let (thawer, other) = (Thawer(), Thawer())
        try await thawer.open(configuration)
        try await other.open(configuration)
        try await thawer.thaw(other.things())
        try await other.thaw(thawer.things())
        let ofMain = try await MainActor.run { try FrozenThings(of: Realm(configuration: configuration)) }
        try await thawer.thaw(ofMain)
    }

    @Test("Objects that a thread, the main actor or another queue has frozen thaw on a queue to its Realm")
    func onQueue() async throws {
        let configuration = configuration(nil)
        let queues = (DispatchQueue(label: "one"), DispatchQueue(label: "two"))
        try queues.0.sync {
            let realm = try Realm(configuration: configuration, queue: queues.0)
            let thawing: (FrozenThings) throws -> Void = { things in
                realm.refresh()
                for thawed in things.thawed(by: realm) { #expect(thawed.home == realm, "\(thawed.kind)") }
                try realm.write { things.change(to: "changed") }
                try things.expectChanged(to: "changed", in: realm)
                #expect(ThreadSafe(wrappedValue: things.item.thaw()).wrappedValue?.realm == realm)
            }
            try thawing(onOtherThreadThrowing { try FrozenThings(of: Realm(configuration: configuration)) })
            try thawing(queues.1.sync { try FrozenThings(of: Realm(configuration: configuration, queue: queues.1)) })
        }
    }

    @Test("In a block that a queue's `sync` runs on the main thread, objects thaw to the queue's Realm")
    @MainActor func onQueueOfMain() async throws {
        let configuration = configuration(nil)
        let realm = try Realm(configuration: configuration)
        let things = try FrozenThings(of: realm)
        let queue = DispatchQueue(label: "one")
        try queue.sync {
            let own = try Realm(configuration: configuration, queue: queue)
            for thawed in things.thawed(by: own) { #expect(thawed.home == own, "\(thawed.kind)") }
        }
        for thawed in things.thawed(by: realm) { #expect(thawed.home == realm, "\(thawed.kind)") }
    }

    @Test("Objects that an actor has frozen thaw on a thread to the thread's Realm")
    func onThread() async throws {
        let configuration = configuration(nil)
        let thawer = Thawer()
        try await thawer.open(configuration)
        let things = try await thawer.things()
        try onOtherThreadThrowing {
            let realm = try Realm(configuration: configuration)
            for thawed in things.thawed(by: realm) { #expect(thawed.home == realm, "\(thawed.kind)") }
            try realm.write { things.change(to: "changed") }
            try things.expectChanged(to: "changed", in: realm)
        }
    }
}

/// Returns the result of `body` on a new thread.
private func onOtherThreadThrowing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
    let result = Mutex<Result<R, any Error>?>(nil)
    onOtherThread {
        let found = Result { try body() }
        result.withLock { $0 = found }
    }
    return try #require(result.withLock { $0 }).get()
}
