// SPDX-License-Identifier: Apache-2.0
// Classes for the tests of growth, and the comparison of the work of an operation on n elements with that on 4n.

import Foundation
import RealmSwift
import Regnum
import RegnumSystem
import Testing

enum Scaling {
    class Part: EmbeddedObject {
        @Persisted var value = 0
        @Persisted var link: Item?
        @Persisted var parts: List<Part>

        convenience init(_ value: Int) {
            self.init()
            self.value = value
        }
    }

    class Item: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted(indexed: true) var group = 0
        @Persisted var any: AnyRealmValue
        @Persisted var next: Item?
        @Persisted(originProperty: "next") var previous: LinkingObjects<Item>

        convenience init(_ id: Int) {
            self.init()
            (self.id, name, group) = (id, "item \(id)", id % 7)
        }
    }

    class Owner: Object {
        @Persisted var items: List<Item>
        @Persisted var itemSet: MutableSet<Item>
        @Persisted var itemMap: Map<String, Item?>
        @Persisted var numbers: List<Int>
        @Persisted var numberSet: MutableSet<Int>
        @Persisted var numberMap: Map<String, Int>
        @Persisted var values: List<AnyRealmValue>
        @Persisted var valueSet: MutableSet<AnyRealmValue>
        @Persisted var valueMap: Map<String, AnyRealmValue>
        @Persisted var any: AnyRealmValue
        @Persisted var part: Part?
        @Persisted var parts: List<Part>
        @Persisted var partMap: Map<String, Part?>
    }

    static let types: [ObjectBase.Type] = [Part.self, Item.self, Owner.self]

    static func realm() throws -> Realm {
        try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
    }

    /// A Realm with `count` items and an owner without items.
    static func filled(_ count: Int) throws -> (realm: Realm, owner: Owner, items: [Item]) {
        let realm = try realm()
        let owner = Owner()
        try realm.write {
            realm.add(owner)
            for id in 0..<count { realm.add(Item(id)) }
        }
        return (realm, owner, Array(realm.objects(Item.self)))
    }
}

/// An operation on n elements: `prepare` returns the operation to measure. It is called for each measurement.
struct ScalingCase: Sendable, CustomStringConvertible {
    let description: String
    /// n: large enough that work for each pair of elements would be visible.
    let count: Int
    let prepare: @Sendable (Int) throws -> () throws -> Void

    init(_ description: String, _ count: Int = 600, _ prepare: @escaping @Sendable (Int) throws -> () throws -> Void) {
        self.description = description
        self.count = count
        self.prepare = prepare
    }

    /// The processor time of this thread, as the minimum of several runs; other threads and processes do not count.
    private func work(_ count: Int, runs: Int) throws -> Double {
        var least = Double.infinity
        for _ in 0..<runs {
            let body = try prepare(count)
            let start = ThreadTime.seconds
            try body()
            least = min(least, ThreadTime.seconds - start)
        }
        return least
    }

    /// The factor by which 4n elements take more work than n. If it exceeds the limit, it is measured again, so that
    /// only a permanent excess is reported.
    func growth(limit: Double) throws -> Double {
        var least = Double.infinity
        for round in 0..<4 where least > limit {
            least = min(least, try work(4 * count, runs: 1 + round) / max(work(count, runs: 2 + round), 1e-6))
        }
        return least
    }
}
