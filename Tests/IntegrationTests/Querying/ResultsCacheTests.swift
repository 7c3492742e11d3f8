// SPDX-License-Identifier: Apache-2.0
// Results that are used while the Realm changes: their cached values are always those of a new query.

import Foundation
import RealmSwift
import Testing

enum ResultsCacheModels {
    class Item: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var n = 0
        @Persisted var owner: Owner?
        @Persisted var parts: List<Item>
        @Persisted(originProperty: "parts") var wholes: LinkingObjects<Item>
    }
    class Owner: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var n = 0
        @Persisted(originProperty: "owner") var items: LinkingObjects<Item>
        @Persisted var best: List<Item>
    }
    class Other: Object { @Persisted var n = 0 }
}

@Suite("Cached results") struct ResultsCacheTests {
    typealias Item = ResultsCacheModels.Item
    typealias Owner = ResultsCacheModels.Owner
    typealias Other = ResultsCacheModels.Other

    private static let makers: [@Sendable (Realm) -> Results<Item>] = [
        { $0.objects(Item.self).filter("n > 5") },
        { $0.objects(Item.self).sorted(byKeyPath: "n") },
        { $0.objects(Item.self).filter("owner.n > 5") },
        { $0.objects(Item.self).sorted(byKeyPath: "owner.n", ascending: false) },
        { $0.objects(Item.self).filter("ANY parts.n == 3") },
        { $0.objects(Item.self).filter("wholes.@count > 1") },
        { $0.objects(Item.self).filter("SUBQUERY(parts, $p, $p.owner.n > 4).@count > 0") },
        {
            $0.objects(Item.self).filter(
                "SUBQUERY(parts, $p, SUBQUERY($p.wholes, $w, $w.n > $p.owner.n).@count > 0).@count > 0")
        },
        { $0.objects(Item.self).distinct(by: ["owner.n"]) },
        { $0.objects(Item.self).filter("n < 7").limit(5).filter("owner.n > 2") },
        { $0.objects(Owner.self)[0].items.filter("n < 8") },
        { $0.objects(Owner.self)[1].best.filter("owner.n > 3") },
        { $0.objects(Owner.self)[1].best.sorted(byKeyPath: "n") },
    ]

    @Test(
        "Long-lived results are the same as new ones, in writes and after rollbacks, whichever table changes",
        arguments: 1...3)
    func differential(seed: UInt64) throws {
        var state = seed
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let realm = try memoryRealm(Item.self, Owner.self, Other.self)
        let items = realm.objects(Item.self)
        let owners = realm.objects(Owner.self)
        try realm.write {
            for id in 0..<4 { realm.create(Owner.self, value: ["id": id, "n": id * 2]) }
            for id in 0..<30 { realm.create(Item.self, value: ["id": id, "n": id % 10]).owner = owners[id % 4] }
            for _ in 0..<10 { owners[1].best.append(items[random(30)]) }
        }
        let kept = Self.makers.map { $0(realm) }
        func check(_ step: Int) {
            for (number, results) in kept.enumerated() {
                let fresh = Array(Self.makers[number](realm).map(\.id))
                // The first call differs, because each answer is cached separately.
                switch (step + number) % 4 {
                case 0: #expect(results.count == fresh.count, "count of \(number) in \(step)")
                case 1: #expect(results.first?.id == fresh.first, "first of \(number) in \(step)")
                case 2: #expect(results.last?.id == fresh.last, "last of \(number) in \(step)")
                default: #expect(results.isEmpty == fresh.isEmpty, "isEmpty of \(number) in \(step)")
                }
                #expect(Array(results.map(\.id)) == fresh, "\(number) in \(step)")
            }
        }
        check(0)
        for step in 1..<60 {
            try realm.write {
                switch random(7) {
                case 0: realm.create(Other.self)
                case 1: owners[random(4)].n = random(10)
                case 2: items[random(items.count)].n = random(10)
                case 3: items[random(items.count)].parts.append(items[random(items.count)])
                case 4: if items.count > 20 { realm.delete(items[random(items.count)]) }
                case 5: owners[1].best.append(items[random(items.count)])
                default: items[random(items.count)].owner = random(3) == 0 ? nil : owners[random(4)]
                }
                if random(3) == 0 { check(step) }
                if random(4) == 0 { realm.cancelWrite() }
            }
            if random(3) > 0 { check(step) }
        }
    }
}
