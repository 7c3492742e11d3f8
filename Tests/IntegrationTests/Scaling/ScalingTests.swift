// SPDX-License-Identifier: Apache-2.0
// Operations of the public API on n and on 4n elements: the work must not grow with the square of their number.

import Foundation
import RealmSwift
import Regnum
import Testing

@Suite struct ScalingTests {
    static let collectionCases: [ScalingCase] = [
        ScalingCase("appending to a list one by one") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            return { try realm.write { for i in 0..<n { owner.numbers.append(i) } } }
        },
        ScalingCase("inserting at the beginning of a list") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            return { try realm.write { for i in 0..<n { owner.numbers.insert(i, at: 0) } } }
        },
        ScalingCase("inserting objects at the beginning of a list") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            return { try realm.write { for item in items { owner.items.insert(item, at: 0) } } }
        },
        ScalingCase("removing the first of a list again and again") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { for _ in 0..<n { owner.items.removeFirst() } } }
        },
        ScalingCase("removing the last of a list again and again") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { for _ in 0..<n { owner.items.removeLast() } } }
        },
        ScalingCase("removing all of a list of objects") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { owner.items.removeAll() } }
        },
        ScalingCase("removing embedded objects one by one") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.parts.append(objectsIn: (0..<n).map { Scaling.Part($0) }) }
            return { try realm.write { for _ in 0..<n { owner.parts.removeFirst() } } }
        },
        ScalingCase("removing all embedded objects of a list") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.parts.append(objectsIn: (0..<n).map { Scaling.Part($0) }) }
            return { try realm.write { owner.parts.removeAll() } }
        },
        ScalingCase("removing every second element by offsets") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.numbers.append(objectsIn: 0..<n) }
            return {
                try realm.write { owner.numbers.remove(atOffsets: IndexSet(stride(from: 0, to: n, by: 2))) }
            }
        },
        // Growing from one leaf to several makes a move more expensive once, so both counts have several leaves.
        ScalingCase("moving the first of a list to its end", 2400) { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { for _ in 0..<n { owner.items.move(from: 0, to: n - 1) } } }
        },
        ScalingCase("replacing a list piece by piece") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.numbers.append(objectsIn: 0..<n) }
            return {
                try realm.write {
                    for i in stride(from: 0, to: n - 4, by: 4) {
                        owner.numbers.replaceSubrange(i..<i + 4, with: [i, i + 1, i + 2, i + 3])
                    }
                }
            }
        },
        ScalingCase("setting each element of a list of any values") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.values.append(objectsIn: items.map { .object($0) }) }
            return { try realm.write { for i in 0..<n { owner.values[i] = .object(items[n - 1 - i]) } } }
        },
        ScalingCase("inserting into a set") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            return {
                try realm.write {
                    for item in items { owner.itemSet.insert(item) }
                    for i in 0..<n { owner.numberSet.insert(i * 7919 % n) }
                }
            }
        },
        ScalingCase("removing from a set") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.itemSet.insert(objectsIn: items) }
            return { try realm.write { for item in items { owner.itemSet.remove(item) } } }
        },
        ScalingCase("subtracting a set from an equal one") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            let other = Scaling.Owner()
            try realm.write {
                realm.add(other)
                owner.itemSet.insert(objectsIn: items)
                other.itemSet.insert(objectsIn: items)
            }
            return { try realm.write { owner.itemSet.subtract(other.itemSet) } }
        },
        ScalingCase("setting the keys of a map") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            return { try realm.write { for item in items { owner.itemMap["k\(item.id * 7919 % n)"] = item } } }
        },
        ScalingCase("removing the keys of a map") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { for i in 0..<n { owner.numberMap["k\(i)"] = i } }
            return { try realm.write { for i in 0..<n { owner.numberMap.removeObject(for: "k\(i)") } } }
        },
        ScalingCase("reading a list by index, and in a loop") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return {
                for i in 0..<n { #expect(owner.items[i].id == i) }
                #expect(owner.items.reduce(0) { $0 + $1.id } == n * (n - 1) / 2)
            }
        },
        ScalingCase("reading a map by key, and in a loop") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { for item in items { owner.itemMap["k\(item.id)"] = item } }
            return {
                for i in 0..<n { _ = owner.itemMap["k\(i)"]??.id }
                for entry in owner.itemMap { _ = entry.value?.id }
            }
        },
        ScalingCase("setting the links of objects to one of them") { n in
            let (realm, _, items) = try Scaling.filled(n)
            return {
                try realm.write { for item in items { item.next = items[0] } }
                try realm.write { for item in items { item.next = nil } }
            }
        },
    ]

    static let objectCases: [ScalingCase] = [
        ScalingCase("adding objects") { n in
            let realm = try Scaling.realm()
            return { try realm.write { for id in 0..<n { realm.add(Scaling.Item(id)) } } }
        },
        ScalingCase("adding objects in transactions of their own", 150) { n in
            let realm = try Scaling.realm()
            return { for id in 0..<n { try realm.write { realm.add(Scaling.Item(id)) } } }
        },
        ScalingCase("updating objects by their keys") { n in
            let (realm, _, _) = try Scaling.filled(n)
            return { try realm.write { for id in 0..<n { realm.add(Scaling.Item(id), update: .modified) } } }
        },
        ScalingCase("creating an object with many others") { n in
            let realm = try Scaling.realm()
            let values: [[String: Any]] = (0..<n).map { ["id": $0, "name": "n"] }
            return { try realm.write { _ = realm.create(Scaling.Owner.self, value: ["items": values]) } }
        },
        ScalingCase("deleting objects one by one") { n in
            let (realm, _, items) = try Scaling.filled(n)
            return { try realm.write { for item in items { realm.delete(item) } } }
        },
        ScalingCase("deleting everything") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return { try realm.write { realm.deleteAll() } }
        },
        ScalingCase("freezing and thawing objects") { n in
            let (_, _, items) = try Scaling.filled(n)
            return { for item in items { _ = item.freeze().thaw()?.id } }
        },
        ScalingCase("references to objects for other threads") { n in
            let (realm, _, items) = try Scaling.filled(n)
            return { for item in items { _ = realm.resolve(ThreadSafeReference(to: item))?.id } }
        },
        ScalingCase("values by key of a collection") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.items.append(objectsIn: items) }
            return {
                _ = owner.items.value(forKey: "name")
                _ = realm.objects(Scaling.Item.self).value(forKey: "id")
                try realm.write { realm.objects(Scaling.Item.self).setValue("same", forKey: "name") }
            }
        },
    ]

    static let queryCases: [ScalingCase] = [
        ScalingCase("a filter with a long IN") { n in
            let (realm, _, _) = try Scaling.filled(n)
            return { #expect(realm.objects(Scaling.Item.self).filter("id IN %@", Array(0..<n)).count == n) }
        },
        ScalingCase("a filter with a long IN of texts") { n in
            let (realm, _, _) = try Scaling.filled(n)
            let names = (0..<n).map { "item \($0)" }
            return { #expect(realm.objects(Scaling.Item.self).filter("name IN %@", names).count == n) }
        },
        ScalingCase("a text of many parts, on few objects", 200) { n in
            let (realm, _, _) = try Scaling.filled(10)
            let text = (0..<n).map { "group == \($0)" }.joined(separator: " OR ")
            return { #expect(realm.objects(Scaling.Item.self).filter(text).count == 10) }
        },
        ScalingCase("sorting, distinct values and sections") { n in
            let (realm, _, _) = try Scaling.filled(n)
            return {
                let items = realm.objects(Scaling.Item.self)
                #expect(items.sorted(byKeyPath: "name").last != nil)
                #expect(items.distinct(by: ["name"]).count == n)
                let sections = items.sectioned(by: \.name, ascending: true)
                #expect(sections.count == n)
                for section in sections { _ = section.key }
            }
        },
        ScalingCase("results by index, and in a loop") { n in
            let (realm, _, _) = try Scaling.filled(n)
            return {
                let items = realm.objects(Scaling.Item.self).filter("group < 5").sorted(byKeyPath: "name")
                for i in items.indices { _ = items[i].id }
                for item in items { _ = item.id }
            }
        },
        ScalingCase("a filter over links and over backlinks") { n in
            let (realm, _, items) = try Scaling.filled(n)
            try realm.write { for item in items { item.next = items[item.id / 2] } }
            return {
                #expect(realm.objects(Scaling.Item.self).filter("next.next.id < 1000000").count == n)
                #expect(realm.objects(Scaling.Item.self).filter("previous.@count > 1").count > 0)
            }
        },
    ]

    @Test("The work on collections grows in proportion to their elements", arguments: collectionCases)
    func collections(_ test: ScalingCase) throws { #expect(try test.growth(limit: 6) < 6) }

    @Test("The work on objects grows in proportion to their number", arguments: objectCases)
    func objects(_ test: ScalingCase) throws { #expect(try test.growth(limit: 6) < 6) }

    @Test("The work of queries grows in proportion to objects and parts of the condition", arguments: queryCases)
    func queries(_ test: ScalingCase) throws { #expect(try test.growth(limit: 6) < 6) }
}
