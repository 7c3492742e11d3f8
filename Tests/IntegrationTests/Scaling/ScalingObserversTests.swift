// SPDX-License-Identifier: Apache-2.0
// The work for observers and linking objects as their number grows.

import Foundation
import RealmSwift
import Regnum
import Testing

@Suite struct ScalingObserversTests {
    /// The state of a test while its Realm's queue calls it.
    private final class Held: @unchecked Sendable {
        // Sendable: written and read on the stage's queue.
        var tokens: [NotificationToken] = []
        var calls = 0
    }

    private func stage(_ count: Int) throws -> Stage {
        let stage = try Stage(
            Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: Scaling.types))
        try stage.write { realm in for id in 0..<count { realm.add(Scaling.Item(id)) } }
        return stage
    }

    /// The count of visited observers while `count` objects were observed, each with one more call of `also`.
    private func visits(
        _ count: Int, keyPaths: [String]? = nil, also: ((Realm, Int) throws -> Void)? = nil
    ) throws -> (visited: Int, calls: Int) {
        let stage = try stage(count)
        let held = Held()
        try stage.on { realm in
            for item in realm.objects(Scaling.Item.self) {
                held.tokens.append(
                    item.observe(keyPaths: keyPaths) { (_: ObjectChange<Scaling.Item>) in held.calls += 1 })
                try also?(realm, item.id)
            }
            try realm.write { for item in realm.objects(Scaling.Item.self) { item.name = "new" } }
        }
        stage.settle()
        defer { stage.queue.sync { held.tokens = [] } }
        return try stage.on { ($0.deliveryWork.visited, held.calls) }
    }

    @Test("Observing n objects visits each observer a constant number of times", arguments: [nil, ["name"]])
    func objects(_ keyPaths: [String]?) throws {
        let few = try visits(100, keyPaths: keyPaths)
        let many = try visits(400, keyPaths: keyPaths)
        #expect(few.calls == 100 && many.calls == 400)
        #expect(many.visited <= 4 * few.visited + 100)
        #expect(many.visited <= 4 * 400)
    }

    @Test("Observers that end while others start do not cause visits of all others")
    func ending() throws {
        func visited(_ count: Int) throws -> Int {
            let stage = try stage(count)
            let held = Held()
            return try stage.on { realm in
                let item = try #require(realm.objects(Scaling.Item.self).first)
                for item in realm.objects(Scaling.Item.self) {
                    held.tokens.append(item.observe { (_: ObjectChange<Scaling.Item>) in held.calls += 1 })
                }
                for _ in 0..<count {
                    item.observe { (_: ObjectChange<Scaling.Item>) in held.calls += 1 }.invalidate()
                    realm.observe { _, _ in held.calls += 1 }.invalidate()
                }
                defer { held.tokens = [] }
                return realm.deliveryWork.visited
            }
        }
        let few = try visited(100)
        #expect(try visited(400) <= 6 * max(few, 100))
    }

    @Test("An observer that starts between two turns is notified only of changes since its start")
    func latecomers() throws {
        let stage = try stage(3)
        let held = Held()
        nonisolated(unsafe) var seen: [String] = []
        try stage.on { realm in
            let items = realm.objects(Scaling.Item.self)
            held.tokens.append(items.observe { _ in })
            try realm.write { items[0].name = "before" }
            for item in items {
                held.tokens.append(
                    item.observe { (change: ObjectChange<Scaling.Item>) in
                        if case .change(let item, let properties) = change {
                            seen.append("\(item.id) \(properties.map(\.name))")
                        }
                    })
            }
            try realm.write { items[1].name = "after" }
        }
        stage.settle()
        #expect(try stage.on { _ in seen } == ["1 [\"name\"]"])
        stage.queue.sync { held.tokens = [] }
    }

    static let growing: [ScalingCase] = [
        ScalingCase("counting backlinks", 4_000) { n in
            let (realm, _, items) = try Scaling.filled(n)
            try realm.write { for item in items { item.next = items[0] } }
            return { for _ in 0..<20 { #expect(items[0].previous.count == n) } }
        },
        ScalingCase("the first and the last backlink", 4_000) { n in
            let (realm, _, items) = try Scaling.filled(n)
            try realm.write { for item in items { item.next = items[0] } }
            return {
                for _ in 0..<20 {
                    let hub = try #require(realm.object(ofType: Scaling.Item.self, forPrimaryKey: 0))
                    #expect(hub.previous.first?.id == 0 && hub.previous.last?.id == n - 1 && !hub.previous.isEmpty)
                }
            }
        },
        ScalingCase("one backlink of the middle", 4_000) { n in
            let (realm, _, items) = try Scaling.filled(n)
            try realm.write { for item in items { item.next = items[0] } }
            return {
                for _ in 0..<20 {
                    let hub = try #require(realm.object(ofType: Scaling.Item.self, forPrimaryKey: 0))
                    #expect(hub.previous[n / 2].id == n / 2)
                }
            }
        },
    ]

    @Test("Linking objects are counted and found without traversing all of them", arguments: growing)
    func backlinks(_ test: ScalingCase) throws { #expect(try test.growth(limit: 2) < 2) }

    @Test("Linking objects by position are the same as in a loop, even while a write changes them")
    func positions() throws {
        let (realm, _, items) = try Scaling.filled(300)
        let hub = items[0]
        #expect(hub.previous.isEmpty && hub.previous.first == nil && hub.previous.last == nil)
        try realm.write {
            for item in items where item.id % 3 == 1 { item.next = hub }
            #expect(hub.previous.count == 100 && hub.previous.first?.id == 1 && hub.previous.last?.id == 298)
            items[1].next = nil
            #expect(hub.previous.count == 99 && hub.previous.first?.id == 4)
        }
        #expect(hub.previous.map(\.id) == (0..<99).map { hub.previous[$0].id })
        #expect((0..<99).reversed().map { items[0].previous[$0].id } == Array(hub.previous.map(\.id).reversed()))
    }
}
