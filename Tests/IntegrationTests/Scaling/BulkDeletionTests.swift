// SPDX-License-Identifier: Apache-2.0
// Deleting many objects at once, with every kind of owner and query. The work is proportional to the number of
// deleted objects, not to its square.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

@Suite struct BulkDeletionTests {
    /// The kinds of collections that own embedded objects.
    enum Holder: String, CaseIterable, Sendable {
        case list, map, links, nested, deep
    }

    private func add(_ count: Int, _ holder: Holder, to realm: Realm) throws {
        try realm.write {
            let owner = Scaling.Owner()
            realm.add(owner)
            let parts = (0..<count).map { Scaling.Part($0) }
            switch holder {
            case .list: owner.parts.append(objectsIn: parts)
            case .map: for part in parts { owner.partMap["k\(part.value)"] = part }
            case .links:
                for part in parts {
                    let owner = Scaling.Owner()
                    owner.part = part
                    realm.add(owner)
                }
            case .nested:
                let top = Scaling.Part(-1)
                owner.part = top
                owner.part?.parts.append(objectsIn: parts)
            case .deep:
                owner.part = Scaling.Part(-1)
                var last = owner.part
                for part in parts {
                    last?.parts.append(part)
                    last = last?.parts.first
                }
            }
        }
    }

    private static func parts(_ realm: Realm) -> Results<DynamicObject> {
        realm.dynamicObjects(Scaling.Part.className()).filter("value >= 0")
    }

    private static let ways: [@Sendable (Realm) -> Void] = [
        { $0.delete(parts($0)) },
        { $0.delete(parts($0).sorted(byKeyPath: "value", ascending: false)) },
        {
            // Some values occur twice.
            $0.delete(parts($0).distinct(by: ["value"]))
            $0.delete(parts($0).distinct(by: ["value"]))
        },
        { $0.delete(Array(parts($0))) },
        { $0.delete(Array(parts($0).sorted(byKeyPath: "value"))) },
        { realm in
            for owner in realm.objects(Scaling.Owner.self) {
                realm.delete(owner.parts.filter("value >= 0"))
                realm.delete(owner.partMap.filter("value >= 0"))
                if let part = owner.part {
                    realm.delete(part.parts.where { $0.value >= 0 })
                    if part.value >= 0 { realm.delete(part) }
                }
            }
        },
        { realm in
            for owner in realm.objects(Scaling.Owner.self) {
                realm.delete(owner.parts.sorted(byKeyPath: "value"))
                realm.delete(owner.partMap)
                if let part = owner.part {
                    realm.delete(part.parts)
                    if part.value >= 0 { realm.delete(part) }
                }
            }
        },
    ]

    @Test("Any number of embedded objects can be deleted, with every kind of owner and query")
    func embedded() throws {
        for holder in Holder.allCases {
            for count in [1, 2, 31, 32, 70] {
                for (number, delete) in Self.ways.enumerated() {
                    let realm = try Scaling.realm()
                    try add(count, holder, to: realm)
                    try add(3, .list, to: realm)
                    try realm.write { delete(realm) }
                    #expect(
                        realm.dynamicObjects(Scaling.Part.className()).filter("value >= 0").count == 0,
                        "\(holder) \(count) \(number)")
                    for owner in realm.objects(Scaling.Owner.self) {
                        #expect(owner.parts.count == 0 && (owner.part?.parts.count ?? 0) == 0)
                        #expect(owner.partMap.values.allSatisfy { $0 == nil })
                        #expect((owner.part?.value ?? -1) == -1)
                    }
                    expectIntegrity(of: realm.configuration)
                }
            }
        }
    }

    @Test("If some embedded objects of a list are deleted, the others keep their order")
    func some() throws {
        let realm = try Scaling.realm()
        try add(1_000, .list, to: realm)
        let owner = try #require(realm.objects(Scaling.Owner.self).first)
        try realm.write { realm.delete(Array(owner.parts).filter { $0.value % 3 != 0 }) }
        #expect(Array(owner.parts.map(\.value)) == (0..<1_000).filter { $0 % 3 == 0 })
        #expect(realm.dynamicObjects(Scaling.Part.className()).count == 334)
        expectIntegrity(of: realm.configuration)
    }

    /// Adds the items twice if the collection allows duplicates.
    private static let holders: [@Sendable (Scaling.Owner, [Scaling.Item]) -> Void] = [
        { $0.items.append(objectsIn: $1 + $1) },
        { $0.itemSet.insert(objectsIn: $1) },
        { owner, items in for item in items { owner.itemMap["k\(item.id)"] = item } },
        { $0.values.append(objectsIn: ($1 + $1).map { AnyRealmValue.object($0) }) },
        { $0.valueSet.insert(objectsIn: $1.map { AnyRealmValue.object($0) }) },
        { owner, items in for item in items { owner.valueMap["k\(item.id)"] = .object(item) } },
        { owner, items in owner.any = .fromArray(items.map { .object($0) }) },
        { owner, items in
            let lists = items.map { AnyRealmValue.fromArray([.int($0.id), .object($0)]) }
            owner.any = .fromDictionary(["lists": .fromArray(lists)])
        },
        { owner, items in
            owner.values.append(objectsIn: items.map { .fromDictionary(["link": .object($0), "id": .int($0.id)]) })
        },
    ]

    @Test("Objects in many collections can be deleted together, and links to other objects stay")
    func linked() throws {
        for (number, hold) in Self.holders.enumerated() {
            let (realm, owner, items) = try Scaling.filled(300)
            try realm.write {
                hold(owner, items)
                for item in items { item.next = items[(item.id + 1) % 300] }
            }
            try realm.write { realm.delete(Array(realm.objects(Scaling.Item.self)).filter { $0.id % 2 == 1 }) }
            #expect(realm.objects(Scaling.Item.self).count == 150)
            #expect(realm.objects(Scaling.Item.self).filter("next != nil").count == 0)
            let left = (0..<300).filter { $0 % 2 == 0 }
            switch number {
            case 0: #expect(owner.items.map(\.id) == left + left)
            case 1: #expect(owner.itemSet.map(\.id).sorted() == left)
            case 2:
                #expect(owner.itemMap.count == 300)
                #expect(owner.itemMap.values.compactMap { $0?.id }.sorted() == left)
            case 3: #expect(owner.values.compactMap { $0.object(Scaling.Item.self)?.id } == left + left)
            case 4: #expect(owner.valueSet.compactMap { $0.object(Scaling.Item.self)?.id }.sorted() == left)
            case 5: #expect(owner.valueMap.values.compactMap { $0.object(Scaling.Item.self)?.id }.sorted() == left)
            case 6: #expect(owner.any.listValue?.compactMap { $0.object(Scaling.Item.self)?.id } == left)
            case 7:
                let lists = try #require(owner.any.dictionaryValue?["lists"]?.listValue)
                let counts: [Int] = lists.map { $0.listValue?.count ?? 0 }
                let expected: [Int] = (0..<300).map { $0 % 2 == 0 ? 2 : 1 }
                #expect(counts == expected)
            default:
                #expect(owner.values.count == 300)
                let ids: [Int] = owner.values.compactMap { value in
                    let link: AnyRealmValue? = value.dictionaryValue?["link"]
                    return link?.object(Scaling.Item.self)?.id
                }
                #expect(ids == left)
            }
            #expect(owner.items.count == (number == 0 ? 300 : 0))
            expectIntegrity(of: realm.configuration)
            try realm.write { realm.delete(realm.objects(Scaling.Item.self)) }
            #expect(owner.items.isEmpty && owner.itemSet.isEmpty && owner.itemMap.values.allSatisfy { $0 == nil })
            expectIntegrity(of: realm.configuration)
        }
    }

    @Test("Objects can be deleted one by one from the start, the end and the middle of a list")
    func oneByOne() throws {
        for step in [1, -1, 7] {
            let (realm, owner, items) = try Scaling.filled(210)
            try realm.write { owner.items.append(objectsIn: items) }
            try realm.write {
                for turn in 0..<209 {
                    let place = ((turn * step) % 210 + 210 + (step < 0 ? -1 : 0)) % 210
                    realm.delete(items[step == 7 ? (turn * 7 + turn / 30) % 210 : place])
                    #expect(owner.items.count == 209 - turn)
                }
            }
            #expect(realm.objects(Scaling.Item.self).count == 1 && owner.items.count == 1)
            #expect(owner.items.first?.id == realm.objects(Scaling.Item.self).first?.id)
            expectIntegrity(of: realm.configuration)
        }
    }

    @Test("An array of objects to delete may contain an object twice, and an object with one that it owns")
    func twice() throws {
        let realm = try Scaling.realm()
        try add(40, .nested, to: realm)
        let owner = try #require(realm.objects(Scaling.Owner.self).first)
        let top = try #require(owner.part)
        try realm.write { realm.delete([top, top] + Array(top.parts) + [top]) }
        #expect(owner.part == nil && realm.dynamicObjects(Scaling.Part.className()).isEmpty)
        expectIntegrity(of: realm.configuration)
    }

    static let growing: [ScalingCase] = [
        ScalingCase("a list of objects") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { realm.delete(owner.items) } }
        },
        ScalingCase("a set of objects") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.itemSet.insert(objectsIn: items) }
            return { try realm.write { realm.delete(owner.itemSet) } }
        },
        ScalingCase("a map of objects") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { for item in items { owner.itemMap["k\(item.id)"] = item } }
            return { try realm.write { realm.delete(owner.itemMap) } }
        },
        ScalingCase("the objects of a list, by a filter") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { realm.delete(owner.items.filter("id >= 3")) } }
        },
        ScalingCase("the objects of a list, one by one from its beginning") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { for item in items { realm.delete(item) } } }
        },
        ScalingCase("the objects of a list, one by one from its end") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { for item in items.reversed() { realm.delete(item) } } }
        },
        ScalingCase("the objects of a list, some at a time from its end") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { while !owner.items.isEmpty { realm.delete(Array(owner.items.suffix(10))) } } }
        },
        ScalingCase("the objects of two lists, in turn from their ends") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            let other = Scaling.Owner()
            try realm.write {
                realm.add(other)
                owner.items.append(objectsIn: items[..<(n / 2)])
                other.items.append(objectsIn: items[(n / 2)...])
            }
            return {
                try realm.write {
                    for i in (0..<n / 2).reversed() {
                        realm.delete(items[i])
                        realm.delete(items[i + n / 2])
                    }
                }
            }
        },
        ScalingCase("the objects of a map, one by one") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { for item in items { owner.itemMap["\(item.id + 10_000_000)"] = item } }
            return { try realm.write { for item in owner.itemMap.values { if let item { realm.delete(item) } } } }
        },
        ScalingCase("the objects of a set, one by one from its end") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.itemSet.insert(objectsIn: items) }
            return { try realm.write { for item in items.reversed() { realm.delete(item) } } }
        },
        ScalingCase("the objects in a list of any values") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.values.append(objectsIn: items.map { .object($0) }) }
            return { try realm.write { realm.delete(items) } }
        },
        ScalingCase("the objects in a list within any value") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.any = .fromDictionary(["list": .fromArray(items.map { .object($0) })]) }
            return { try realm.write { realm.delete(items) } }
        },
        ScalingCase("one object that is in a list many times", 4_000) { n in
            let (realm, owner, items) = try Scaling.filled(1)
            try realm.write { owner.items.append(objectsIn: repeatElement(items[0], count: n)) }
            return { try realm.write { realm.delete(items[0]) } }
        },
        ScalingCase("embedded objects in a list, by a filter") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.parts.append(objectsIn: (0..<n).map { Scaling.Part($0) }) }
            return { try realm.write { realm.delete(owner.parts.filter("value >= 3")) } }
        },
        ScalingCase("embedded objects in a list, all of them") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.parts.append(objectsIn: (0..<n).map { Scaling.Part($0) }) }
            return { try realm.write { realm.delete(owner.parts) } }
        },
        ScalingCase("embedded objects in a map") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { for i in 0..<n { owner.partMap["k\(i)"] = Scaling.Part(i) } }
            return {
                try realm.write { realm.delete(realm.dynamicObjects(Scaling.Part.className()).filter("value >= 0")) }
            }
        },
        ScalingCase("an owner of embedded objects") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.parts.append(objectsIn: (0..<n).map { Scaling.Part($0) }) }
            return { try realm.write { realm.delete(owner) } }
        },
        ScalingCase("all objects of a class that another one links to") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { realm.delete(realm.objects(Scaling.Item.self)) } }
        },
    ]

    @Test("The work of deleting grows in proportion to the number of objects", arguments: growing)
    func growth(_ test: ScalingCase) throws { #expect(try test.growth(limit: 6) < 6) }
}
