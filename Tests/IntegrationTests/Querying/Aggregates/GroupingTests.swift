// SPDX-License-Identifier: Apache-2.0
// Grouped objects, with aggregates of each group.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum GroupModels {
    class Customer: Object {
        @Persisted var town = ""
    }
    class Order: Object {
        @Persisted var id = 0
        @Persisted var status = ""
        @Persisted var code: Int?
        @Persisted var ratio = 0.0
        @Persisted var amount: Int?
        @Persisted var weight: Float = 0
        @Persisted var price: Decimal128
        @Persisted var when: Date?
        @Persisted var customer: Customer?
        @Persisted var photo: Data?
        @Persisted var tags: List<Int>
    }
}

private typealias Order = GroupModels.Order

@Suite("Groups")
struct GroupingTests {
    private func orders(_ count: Int = 100) throws -> Realm {
        let realm = try memoryRealm(Order.self, GroupModels.Customer.self)
        try realm.write {
            let customers = ["Oslo", "Rome"].map { town in
                realm.create(GroupModels.Customer.self, value: ["town": town])
            }
            for id in 0..<count {
                let order = realm.create(Order.self)
                order.id = id
                order.status = ["open", "paid", "sent"][id % 3]
                order.code = id % 4 == 0 ? nil : id % 4
                order.ratio = id % 2 == 0 ? .nan : 0.5
                order.amount = id % 5 == 0 ? nil : id
                order.weight = Float(id)
                order.price = Decimal128(value: id)
                order.when = Date(timeIntervalSince1970: Double(id))
                order.customer = id % 3 == 2 ? nil : customers[id % 3]
            }
        }
        return realm
    }

    @Test("The aggregates of each group are the same as those of a loop")
    func figures() throws {
        let realm = try orders()
        for results in [
            realm.objects(Order.self), realm.objects(Order.self).where { $0.id > 30 },
            realm.objects(Order.self).sorted(by: \.id, ascending: false).limit(17),
        ] {
            let groups = results.grouped(by: \.status, over: [\.amount, \.weight, \.price, \.when])
            let wanted = Dictionary(grouping: Array(results), by: \.status)
            #expect(groups.count == wanted.count)
            var seen: [String] = []
            for object in results where !seen.contains(object.status) { seen.append(object.status) }
            #expect(groups.map(\.key) == seen)
            for group in groups {
                let members = try #require(wanted[group.key])
                let amounts = members.compactMap(\.amount)
                #expect(group.count == members.count && group.id == group.key)
                #expect(group.sum(of: \.amount) == amounts.reduce(0, +))
                #expect(group.min(of: \.amount) == amounts.min() && group.max(of: \.amount) == amounts.max())
                let average = Double(amounts.reduce(0, +)) / Double(amounts.count)
                #expect(group.average(of: \.amount) == average)
                #expect(group.sum(of: \.weight) == members.map(\.weight).reduce(0, +))
                #expect(group.sum(of: \.price) == members.map(\.price).reduce(0) { $0 + $1 })
                #expect(group.max(of: \.when) == members.compactMap(\.when).max())
            }
        }
    }

    @Test("Keys may be nil, NaN, and at the end of links")
    func keys() throws {
        let realm = try orders()
        let all = realm.objects(Order.self)
        let codes = all.grouped(by: \.code)
        #expect(codes.map(\.key) == [nil, 1, 2, 3] && codes.map(\.count) == [25, 25, 25, 25])
        #expect(codes.group(for: nil)?.count == 25 && codes.group(for: 9) == nil)
        #expect(all.grouped(by: \.ratio).map(\.count) == [50, 50])
        let towns = all.grouped(by: \.customer?.town, over: [\.id])
        #expect(towns.map(\.key) == ["Oslo", "Rome", nil])
        #expect(towns.group(for: nil)?.max(of: \.id) == 98)
        #expect(all.grouped(by: \.when).count == 100)
    }

    @Test("Groups keep the state of their query; without objects there are no groups, and without values no aggregates")
    func values() throws {
        let realm = try orders(10)
        let groups = realm.objects(Order.self).grouped(by: \.status)
        try realm.write { realm.delete(realm.objects(Order.self)) }
        #expect(groups.map(\.count) == [4, 3, 3])
        #expect(realm.objects(Order.self).grouped(by: \.status).isEmpty)
        try realm.write { _ = realm.create(Order.self) }
        let one = try #require(realm.objects(Order.self).grouped(by: \.status, over: [\.amount, \.weight]).first)
        #expect(one.count == 1 && one.min(of: \.amount) == nil && one.average(of: \.amount) == nil)
        #expect(one.sum(of: \.amount) == 0 && one.sum(of: \.weight) == 0)
    }

    @Test("10,000 objects can form 10,000 groups")
    func many() throws {
        let realm = try orders(10_000)
        let groups = realm.objects(Order.self).grouped(by: \.when, over: [\.id])
        #expect(groups.count == 10_000 && groups.allSatisfy { $0.count == 1 })
        #expect(groups[9_999].sum(of: \.id) == 9_999)
    }

    @Test(
        "Grouping on invalid key paths is refused",
        arguments: [
            MisuseCase("Cannot group on key path 'photo'") {
                _ = try memoryRealm(Order.self, GroupModels.Customer.self).objects(Order.self).grouped(by: \.photo)
            },
            MisuseCase("Cannot aggregate on key path 'status': aggregates are for numbers and dates") {
                _ = try memoryRealm(Order.self, GroupModels.Customer.self).objects(Order.self)
                    .grouped(by: \.id, over: [\.status])
            },
            MisuseCase("The groups have no aggregates of 'weight'.") {
                let realm = try memoryRealm(Order.self, GroupModels.Customer.self)
                try realm.write { _ = realm.create(Order.self) }
                _ = realm.objects(Order.self).grouped(by: \.id)[0].sum(of: \.weight)
            },
        ])
    func misuse(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words))
    }
}
