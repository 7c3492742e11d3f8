// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries in values of any type: every change compared with a model, with everything that may read the
// value while a write changes it. Reading and changing take work in proportion to the data that is read or changed.

import Foundation
import RealmSwift
import Regnum
import RegnumTestKit
import Testing

@Suite struct NestedValueModelTests {
    class Indexed: Object {
        @Persisted(indexed: true) var any: AnyRealmValue
    }

    /// The contents of a value, without accessors.
    private indirect enum Model: Equatable {
        case scalar(AnyRealmValue)
        /// By its key, because frozen objects are not equal to others.
        case object(Int)
        case list([Model])
        case map([String: Model])

        init(_ value: AnyRealmValue) {
            switch value {
            case .list(let list): self = .list(list.map { Model($0) })
            case .dictionary(let map):
                var entries: [String: Model] = [:]
                for entry in map { entries[entry.key] = Model(entry.value) }
                self = .map(entries)
            case .object(let object): self = .object((object as? Scaling.Item)?.id ?? -1)
            default: self = .scalar(value)
            }
        }

        func value(_ realm: Realm) -> AnyRealmValue {
            switch self {
            case .scalar(let value): value
            case .object(let id):
                realm.object(ofType: Scaling.Item.self, forPrimaryKey: id).map { .object($0) } ?? .none
            case .list(let values): .fromArray(values.map { $0.value(realm) })
            case .map(let entries): .fromDictionary(entries.mapValues { $0.value(realm) })
            }
        }

        var isCollection: Bool {
            switch self {
            case .list, .map: true
            default: false
            }
        }
    }

    /// The locations of a value.
    private enum Place: CaseIterable {
        case property, list, map

        func read(_ owner: Scaling.Owner) -> AnyRealmValue {
            switch self {
            case .property: owner.any
            case .list: owner.values[1]
            case .map: owner.valueMap["b"] ?? .none
            }
        }

        func write(_ owner: Scaling.Owner, _ value: AnyRealmValue) {
            switch self {
            case .property: owner.any = value
            case .list: owner.values[1] = value
            case .map: owner.valueMap["b"] = value
            }
        }
    }

    private static func random(_ random: inout SeededGenerator, _ depth: Int, _ items: [Scaling.Item]) -> Model {
        switch Int.random(in: 0..<(depth > 3 ? 4 : 7), using: &random) {
        case 0: return .scalar(.none)
        case 1: return .scalar(.string(String(repeating: "text ", count: Int.random(in: 0..<40, using: &random))))
        case 2: return .scalar(.int(Int.random(in: 0..<1_000, using: &random)))
        case 3: return items.randomElement(using: &random).map { .object($0.id) } ?? .scalar(.bool(true))
        case 4, 5:
            return .list(
                (0..<Int.random(in: 0..<5, using: &random)).map { _ in Self.random(&random, depth + 1, items) })
        default:
            var entries: [String: Model] = [:]
            for _ in 0..<Int.random(in: 0..<5, using: &random) {
                entries["k\(Int.random(in: 0..<9, using: &random))"] = Self.random(&random, depth + 1, items)
            }
            return .map(entries)
        }
    }

    /// Changes a collection at or below the value, and the model in the same way.
    private static func change(
        _ value: AnyRealmValue, _ model: inout Model, _ random: inout SeededGenerator, _ items: [Scaling.Item]
    ) {
        switch (value, model) {
        case (.list(let list), .list(var models)):
            defer { model = .list(models) }
            if let index = models.indices.randomElement(using: &random), Bool.random(using: &random) {
                if models[index].isCollection { return change(list[index], &models[index], &random, items) }
            }
            let new = Self.random(&random, 2, items)
            guard let realm = list.realm else { return }
            let place = Int.random(in: 0...models.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where place < models.count:
                list[place] = new.value(realm)
                models[place] = new
            case 1 where place < models.count:
                list.remove(at: place)
                models.remove(at: place)
            case 2 where place < models.count:
                let other = Int.random(in: 0..<models.count, using: &random)
                list.move(from: place, to: other)
                models.insert(models.remove(at: place), at: other)
            case 3 where models.count > 6:
                list.removeSubrange(1..<4)
                models.removeSubrange(1..<4)
            default:
                list.insert(new.value(realm), at: place)
                models.insert(new, at: place)
            }
        case (.dictionary(let map), .map(var models)):
            defer { model = .map(models) }
            let key = "k\(Int.random(in: 0..<9, using: &random))"
            if let inner = models[key], Bool.random(using: &random), let value = map[key] {
                if inner.isCollection {
                    var inner = inner
                    change(value, &inner, &random, items)
                    models[key] = inner
                    return
                }
            }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                map.removeObject(for: key)
                models[key] = nil
            case 1 where models.count > 5:
                map.removeAll()
                models = [:]
            default:
                guard let realm = map.realm else { return }
                let new = Self.random(&random, 2, items)
                map[key] = new.value(realm)
                models[key] = new
            }
        default: break
        }
    }

    @Test(
        "Nested collections have the same contents as arrays and dictionaries after the same changes", arguments: 0..<6)
    func model(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed + 1))
        try withFile(Scaling.types) { configuration in
            for place in Place.allCases {
                let realm = try Realm(configuration: configuration)
                let owner = Scaling.Owner()
                var model = Model.map(["k1": .list([]), "k2": .map([:]), "k3": .list([.list([]), .map([:])])])
                try realm.write {
                    realm.deleteAll()
                    realm.add(owner)
                    owner.values.append(objectsIn: [.int(0), .none, .int(2)])
                    for id in 0..<8 { realm.add(Scaling.Item(id)) }
                    place.write(owner, model.value(realm))
                }
                for round in 0..<12 {
                    let before = model
                    realm.beginWrite()
                    for _ in 0..<10 {
                        let items = Array(realm.objects(Scaling.Item.self))
                        let value = place.read(owner)
                        Self.change(value, &model, &random, items)
                        switch Int.random(in: 0..<12, using: &random) {
                        case 0: #expect(Model(place.read(owner)) == model)
                        case 1: owner.numbers.append(1)
                        case 2: owner.values.append(.int(1))
                        case 3: realm.add(Scaling.Item(1_000 + realm.objects(Scaling.Item.self).count * 20 + round))
                        case 4: #expect(realm.objects(Scaling.Owner.self).filter("numbers.@count >= 0").count == 1)
                        case 5:
                            place.write(owner, model.value(realm))
                        case 6: owner.values.move(from: 0, to: 0)
                        default: break
                        }
                    }
                    #expect(Model(place.read(owner)) == model)
                    if round % 4 == 3 {
                        realm.cancelWrite()
                        model = before
                    } else {
                        try realm.commitWrite()
                    }
                    #expect(Model(place.read(owner)) == model)
                    #expect(Model(place.read(owner.freeze())) == model)
                }
                expectIntegrity(of: configuration)
            }
        }
    }

    @Test("A deleted object is removed from collections that the write is changing")
    func deleting() throws {
        for place in Place.allCases {
            let (realm, owner, items) = try Scaling.filled(40)
            try realm.write {
                owner.values.append(objectsIn: [.int(0), .none])
                place.write(owner, .fromDictionary(["list": .fromArray([]), "map": .fromDictionary([:])]))
                let list = try #require(place.read(owner).dictionaryValue?["list"]?.listValue)
                let map = try #require(place.read(owner).dictionaryValue?["map"]?.dictionaryValue)
                for item in items {
                    list.append(.object(item))
                    map["k\(item.id)"] = .object(item)
                }
                realm.delete(items[7])
                #expect(list.count == 39 && map.count == 40 && map["k7"] == AnyRealmValue.none)
                list.append(.int(7))
                realm.delete(realm.objects(Scaling.Item.self).filter("id < 30"))
                #expect(list.count == 11 && list.last?.intValue == 7)
            }
            expectIntegrity(of: realm.configuration)
            try realm.write { realm.delete(owner) }
            expectIntegrity(of: realm.configuration)
        }
    }

    @Test("Indexed properties with collections are found after each change")
    func indexed() throws {
        let realm = try memoryRealm(Indexed.self)
        let object = Indexed()
        try realm.write {
            realm.add(object)
            object.any = .fromArray([.int(1)])
            object.any.listValue?.append(.int(2))
            object.any.listValue?.append(.fromDictionary(["a": .int(3)]))
            object.any.listValue?[2].dictionaryValue?["b"] = .int(4)
        }
        #expect(
            Model(object.any)
                == .list([.scalar(.int(1)), .scalar(.int(2)), .map(["a": .scalar(.int(3)), "b": .scalar(.int(4))])]))
        expectIntegrity(of: realm.configuration)
    }

    /// An owner with a list in its property, nested at the given depth.
    private static func deep(_ depth: Int, _ elements: [AnyRealmValue]) throws -> (
        realm: Realm, list: List<AnyRealmValue>
    ) {
        let (realm, owner, _) = try Scaling.filled(0)
        var value = AnyRealmValue.fromArray(elements)
        for level in 0..<depth {
            value = level % 2 == 0 ? .fromDictionary(["in": value, "by": .int(1)]) : .fromArray([.int(0), value])
        }
        try realm.write { owner.any = value }
        var found = owner.any
        for level in (0..<depth).reversed() {
            found = try #require(level % 2 == 0 ? found.dictionaryValue?["in"] : found.listValue?[1])
        }
        return (realm, try #require(found.listValue))
    }

    static let growing: [ScalingCase] = [
        ScalingCase("reading by index") { n in
            let (_, list) = try deep(5, (0..<n).map { .int($0) })
            return { for i in 0..<n { #expect(list[i].intValue == i) } }
        },
        ScalingCase("reading by index through the property", 300) { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.any = .fromDictionary(["items": .fromArray((0..<n).map { .int($0) })]) }
            return { for i in 0..<n { #expect(owner.any.dictionaryValue?["items"]?.listValue?[i].intValue == i) } }
        },
        ScalingCase("a loop, and reading the collections in it") { n in
            let (_, list) = try deep(2, (0..<n).map { .fromArray([.int($0), .int(1)]) })
            return { for value in list { #expect(value.listValue?.count == 2) } }
        },
        ScalingCase("appending and reading") { n in
            let (realm, list) = try deep(3, [])
            return {
                try realm.write {
                    for i in 0..<n {
                        list.append(.int(i))
                        #expect(list.count == i + 1 && list[i / 2].intValue == i / 2)
                    }
                }
            }
        },
        ScalingCase("setting and getting the keys of a dictionary") { n in
            let (realm, owner, _) = try Scaling.filled(0)
            try realm.write { owner.any = .fromDictionary(["map": .fromDictionary([:])]) }
            let map = try #require(owner.any.dictionaryValue?["map"]?.dictionaryValue)
            return {
                try realm.write { for i in 0..<n { map["k\(i * 7919 % n)"] = .int(i) } }
                for i in 0..<n { #expect(map["k\(i)"] != nil) }
            }
        },
        ScalingCase("appending links") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.any = .fromDictionary(["items": .fromArray([])]) }
            let list = try #require(owner.any.dictionaryValue?["items"]?.listValue)
            return {
                try realm.write { for item in items { list.append(.object(item)) } }
                for i in 0..<n { #expect(list[i].object(Scaling.Item.self)?.id == i) }
            }
        },
        ScalingCase("appending, and setting other properties") { n in
            let (realm, owner, items) = try Scaling.filled(1)
            try realm.write { items[0].any = .fromArray([]) }
            let list = try #require(items[0].any.listValue)
            return {
                try realm.write {
                    for i in 0..<n {
                        list.append(.string("element \(i)"))
                        items[0].name = "name \(i)"
                        owner.numbers.append(i)
                    }
                }
            }
        },
        ScalingCase("appending to the lists of some objects in turn") { n in
            let (realm, _, items) = try Scaling.filled(4)
            try realm.write { for item in items { item.any = .fromArray([]) } }
            let lists = items.compactMap(\.any.listValue)
            return { try realm.write { for i in 0..<n { lists[i % 4].append(.string("element \(i)")) } } }
        },
        ScalingCase("appending to a list in a list of values") { n in
            let (realm, owner, items) = try Scaling.filled(n)
            try realm.write { owner.values.append(objectsIn: [.int(1), .fromArray([]), .int(2)]) }
            let list = try #require(owner.values[1].listValue)
            return {
                try realm.write { for item in items { list.append(.object(item)) } }
                for i in 0..<n { #expect(list[i].object(Scaling.Item.self)?.id == i) }
            }
        },
    ]

    @Test("The work on nested collections grows in proportion to the number of elements", arguments: growing)
    func growth(_ test: ScalingCase) throws { #expect(try test.growth(limit: 6) < 6) }
}
