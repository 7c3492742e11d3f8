// SPDX-License-Identifier: Apache-2.0
// Writing before the observer's first call: `.initial` is delivered before the write, with the state before it, and
// each write is delivered as an update.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Synchronization
import Testing

class FirstItem: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var items: List<FirstItem>
    @Persisted var tags: MutableSet<Int>
    @Persisted var counts: Map<String, Int>
    @Persisted(originProperty: "items") var owners: LinkingObjects<FirstItem>
}

class FirstView: Projection<FirstItem> {
    @Projected(\FirstItem.name) var name
}

/// The kinds of observed collections; each write of the tests adds one element.
enum FirstObserved: String, CaseIterable, Sendable {
    case results, filtered, sorted, list, set, map, backlinks, erased, sections, section, projections

    /// Logs "initial COUNT" and "update COUNT +INSERTED".
    func observe(_ realm: Realm, _ owner: FirstItem, _ note: @escaping (String) -> Void) -> NotificationToken {
        func collection<C>(_ change: RealmCollectionChange<C>) where C: Collection {
            switch change {
            case .initial(let all): note("initial \(all.count)")
            case .update(let all, _, let inserted, _): note("update \(all.count) +\(inserted.count)")
            case .error: note("error")
            }
        }
        func section<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>, _ count: (C) -> Int) {
            switch change {
            case .initial(let all): note("initial \(count(all))")
            case .update(let all, _, let inserted, _, _, _): note("update \(count(all)) +\(inserted.count)")
            }
        }
        switch self {
        case .results: return realm.objects(FirstItem.self).observe { collection($0) }
        case .filtered: return realm.objects(FirstItem.self).where { $0.id >= 0 }.observe { collection($0) }
        case .sorted: return realm.objects(FirstItem.self).sorted(byKeyPath: "name").observe { collection($0) }
        case .list: return owner.items.observe { collection($0) }
        case .set: return owner.tags.observe { collection($0) }
        case .backlinks: return owner.owners.observe { collection($0) }
        case .erased: return AnyRealmCollection(owner.items).observe { collection($0) }
        case .projections: return realm.objects(FirstView.self).observe { collection($0) }
        case .map:
            return owner.counts.observe { change in
                switch change {
                case .initial(let all): note("initial \(all.count)")
                case .update(let all, _, let inserted, _): note("update \(all.count) +\(inserted.count)")
                case .error: note("error")
                }
            }
        case .sections:
            return realm.objects(FirstItem.self).sectioned(by: \.name).observe {
                section($0) { $0.reduce(0) { $0 + $1.count } }
            }
        case .section:
            return realm.objects(FirstItem.self).sectioned(by: \.name)[0].observe { section($0) { $0.count } }
        }
    }
}

/// A Realm on its own queue, whose turns run when the queue is free.
private final class FirstStage: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    let queue = DispatchQueue(label: "first")
    private(set) var notes: [String] = []
    private var held: (realm: Realm, owner: FirstItem)?
    var token: NotificationToken?
    private var next = 1

    init() throws {
        try queue.sync {
            let realm = try Realm(
                configuration: Realm.Configuration(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [FirstItem.self]), queue: queue)
            let owner = try realm.write { realm.create(FirstItem.self, value: ["id": 0, "name": "a"]) }
            held = (realm, owner)
        }
    }

    func on<R>(_ body: (Realm, FirstItem, @escaping (String) -> Void) throws -> R) throws -> R {
        try queue.sync {
            let (realm, owner) = try #require(held)
            return try body(realm, owner) { self.notes.append($0) }
        }
    }

    /// Adds one element to every observed collection, in an open write transaction.
    func addOne(_ realm: Realm, _ owner: FirstItem) {
        let item = realm.create(FirstItem.self, value: ["id": next, "name": "a"])
        item.items.append(owner)
        owner.items.append(item)
        owner.tags.insert(next)
        owner.counts["k\(next)"] = next
        next += 1
    }

    func allNotes() -> [String] {
        for _ in 0..<5 { queue.sync {} }
        return queue.sync { notes }
    }
}

@Suite struct InitialNotificationTests {
    private func expected(_ writes: Int, from start: Int) -> [String] {
        ["initial \(start)"] + (1...writes).map { "update \(start + $0) +1" }
    }

    /// The initial number of elements.
    private func start(_ observed: FirstObserved) -> Int {
        switch observed {
        case .list, .set, .map, .backlinks, .erased: 0
        default: 1
        }
    }

    @Test(
        "An observer gets `.initial` with the state before the first write, then each write",
        arguments: FirstObserved.allCases)
    func writes(_ observed: FirstObserved) throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            stage.token = observed.observe(realm, owner, note)
            for number in 0..<3 {
                try realm.write { stage.addOne(realm, owner) }
                // Each write first delivers the changes of the writes before it; the last change is delivered at the
                // next turn.
                #expect(stage.notes.count == number + 1)
            }
        }
        // The collection is live: an update that is delivered inside the next write still shows the count before that
        // write.
        #expect(stage.allNotes() == expected(3, from: start(observed)))
    }

    @Test("`beginWrite` delivers `.initial` first, even if the write is cancelled", arguments: FirstObserved.allCases)
    func begins(_ observed: FirstObserved) throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            stage.token = observed.observe(realm, owner, note)
            realm.beginWrite()
            stage.addOne(realm, owner)
            realm.cancelWrite()
            realm.beginWrite()
            stage.addOne(realm, owner)
            try realm.commitWrite()
        }
        #expect(stage.allNotes() == expected(1, from: start(observed)))
    }

    @Test("`writeAsync` right after `observe` is delivered as an update", arguments: FirstObserved.allCases)
    func asynchronous(_ observed: FirstObserved) async throws {
        let stage = try FirstStage()
        await withCheckedContinuation { done in
            try? stage.on { realm, owner, note in
                stage.token = observed.observe(realm, owner, note)
                realm.writeAsync {
                    stage.addOne(realm, owner)
                } onComplete: { _ in
                    done.resume()
                }
            }
        }
        #expect(stage.allNotes() == expected(1, from: start(observed)))
    }

    @Test(
        "An observer is evaluated once for each write, whether or not its first call came before",
        arguments: [FirstObserved.results, .sorted, .list])
    func work(_ observed: FirstObserved) throws {
        let (early, late) = (try FirstStage(), try FirstStage())
        var asked: [Int] = []
        for (stage, hasTurn) in [(early, true), (late, false)] {
            try stage.on { realm, owner, note in
                stage.token = observed.observe(realm, owner, note)
                if hasTurn { realm.refresh() }
                for _ in 0..<3 { try realm.write { stage.addOne(realm, owner) } }
            }
            _ = stage.allNotes()
            asked.append(try stage.on { realm, _, _ in realm.deliveryWork.asked })
        }
        #expect(asked[0] == asked[1] && asked[0] == 3)
    }

    @Test("The first call is delivered outside the write, so its block may write")
    func writingBlock() throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            stage.token = realm.objects(FirstItem.self).observe { change in
                switch change {
                case .initial(let all):
                    note("initial \(all.count) \(realm.isInWriteTransaction)")
                    try? realm.write { stage.addOne(realm, owner) }
                case .update(let all, _, let inserted, _): note("update \(all.count) +\(inserted.count)")
                case .error: note("error")
                }
            }
            try realm.write { stage.addOne(realm, owner) }
        }
        let notes = stage.allNotes()
        #expect(notes.first == "initial 1 false" && notes.last == "update 3 +1" && notes.count == 3, "\(notes)")
    }

    @Test("An observer that a block adds gets its first call before the block's own write")
    func withinBlock() throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            var inner: NotificationToken?
            stage.token = owner.observe { change in
                guard case .change = change, inner == nil else { return }
                inner = FirstObserved.list.observe(realm, owner, note)
                if !realm.isInWriteTransaction { try? realm.write { stage.addOne(realm, owner) } }
            }
            try realm.write { owner.name = "b" }
            realm.refresh()
            withExtendedLifetime(inner) {}
            stage.token = inner
        }
        #expect(stage.allNotes() == ["initial 0", "update 1 +1"])
    }

    @Test("An observer that is invalidated before the write gets no call")
    func ended() throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            let token = FirstObserved.results.observe(realm, owner, note)
            token.invalidate()
            try realm.write { stage.addOne(realm, owner) }
        }
        #expect(stage.allNotes().isEmpty)
    }

    @Test("`write(withoutNotifying:)` right after `observe` delivers `.initial` with the state before it")
    func silent() throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            let token = FirstObserved.results.observe(realm, owner, note)
            stage.token = token
            try realm.write(withoutNotifying: [token]) { stage.addOne(realm, owner) }
            try realm.write { stage.addOne(realm, owner) }
        }
        #expect(stage.allNotes() == ["initial 1", "update 3 +1"])
    }

    @Test("Observers of objects and projections, which have no first call, are notified of each write")
    func objects() throws {
        let stage = try FirstStage()
        try stage.on { realm, owner, note in
            let tokens = [
                owner.observe { (change: ObjectChange<FirstItem>) in
                    guard case .change(let item, let properties) = change else { return }
                    note("object \(item.name) \(properties.count)")
                },
                FirstView(projecting: owner).observe { (change: ObjectChange<FirstView>) in
                    guard case .change(let view, let properties) = change else { return }
                    note("view \(view.name) \(properties.count)")
                },
            ]
            for name in ["b", "c"] { try realm.write { owner.name = name } }
            realm.refresh()
            withExtendedLifetime(tokens) {}
        }
        #expect(stage.allNotes() == ["object b 1", "view b 1", "object c 1", "view c 1"])
    }

    @Test("A sequence of changes begins with `.initial`, a sequence of versions with the one before the write")
    @MainActor func sequences() async throws {
        let realm = try Realm(
            configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [FirstItem.self]))
        let items = realm.objects(FirstItem.self)
        let (changes, versions) = (items.changes(), items.versions())
        for id in 0..<2 { try realm.write { _ = realm.create(FirstItem.self, value: ["id": id]) } }
        var notes: [String] = []
        for await change in changes {
            switch change {
            case .initial: notes.append("initial")
            case .update(_, _, let inserted, _): notes.append("update \(inserted)")
            case .error: notes.append("error")
            }
            if notes.count == 3 { break }
        }
        #expect(notes == ["initial", "update [0]", "update [1]"])
        for await version in versions {
            #expect(version.isFrozen)
            if version.count == 2 { break }
        }
    }

    @Test("`asyncWrite` on an actor right after `observe` is delivered as an update")
    func onActor() async throws {
        let watcher = FirstWatcher()
        #expect(try await watcher.notesOfTwoWrites() == ["initial 0", "update [0]", "update [1]"])
    }
}

private actor FirstWatcher: NotingActor {
    var lines: [String] = []
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func notesOfTwoWrites() async throws -> [String] {
        let realm = try await Realm(
            configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [FirstItem.self]),
            actor: self)
        let token = await realm.objects(FirstItem.self).observe(on: self) { watcher, change in
            switch change {
            case .initial(let all): watcher.note("initial \(all.count)")
            case .update(_, _, let inserted, _): watcher.note("update \(inserted)")
            case .error: watcher.note("error")
            }
        }
        for id in 0..<2 { try await realm.asyncWrite { _ = realm.create(FirstItem.self, value: ["id": id]) } }
        await waitFor(3)
        token.invalidate()
        return lines
    }
}
