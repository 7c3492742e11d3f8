// SPDX-License-Identifier: Apache-2.0
// Managed and unmanaged maps compared with dictionaries of the standard library; storing every type of value; links
// in maps; programmer errors.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum MapModels {
    enum Size: String, PersistableEnum { case small, large }

    class Item: Object {
        @Persisted(primaryKey: true) var n: Int
        @Persisted var score: Double?
        @Persisted(originProperty: "items") var holders: LinkingObjects<Holder>
        convenience init(_ n: Int, score: Double? = nil) {
            self.init()
            self.n = n
            self.score = score
        }
    }

    class Holder: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var ints: Map<String, Int>
        @Persisted var texts: Map<String, String?>
        @Persisted var items: Map<String, Item?>
        @Persisted var friends: Map<String, Holder?>
        let marks = Map<String, String>()
    }

    class Values: Object {
        @Persisted var bool: Map<String, Bool>
        @Persisted var int8: Map<String, Int8?>
        @Persisted var int16: Map<String, Int16>
        @Persisted var int32: Map<String, Int32?>
        @Persisted var int64: Map<String, Int64>
        @Persisted var float: Map<String, Float>
        @Persisted var double: Map<String, Double?>
        @Persisted var string: Map<String, String?>
        @Persisted var data: Map<String, Data?>
        @Persisted var date: Map<String, Date?>
        @Persisted var uuid: Map<String, UUID>
        @Persisted var oid: Map<String, ObjectId?>
        @Persisted var size: Map<String, Size?>
    }

    static let types: [ObjectBase.Type] = [Item.self, Holder.self, Values.self]
    static func realm() throws -> Realm { try memoryRealm(Item.self, Holder.self, Values.self) }

    /// A managed holder in a write transaction.
    static func write(_ body: (Realm, Holder) throws -> Void) throws {
        let realm = try realm()
        try realm.write { try body(realm, realm.create(Holder.self, value: ["id": 1])) }
    }

    /// A managed holder outside a write transaction.
    static func kept() throws -> Holder {
        let realm = try realm()
        return try realm.write { realm.create(Holder.self, value: ["id": 1, "ints": ["a": 1]]) }
    }

    /// Fills a map with values of one type, and checks them.
    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        let fill: @Sendable (Values) -> Void
        let holds: @Sendable (Values) -> Bool

        init<E: RealmCollectionValue>(
            _ name: String, _ path: @escaping @Sendable (Values) -> Map<String, E>, _ values: [E]
        ) where E: Sendable {
            description = name
            let keys = ["", "b", "B", "ключ", "a key", "e\u{301}", String(repeating: "k", count: 3_000)]
            let pairs = Dictionary(uniqueKeysWithValues: zip(keys, values + values + values))
            fill = { for (key, value) in pairs { path($0)[key] = value } }
            holds = { object in
                let map = path(object)
                return pairs.allSatisfy { map[$0.key] == .some($0.value) } && map.count == pairs.count
                    && Set(map.keys) == Set(pairs.keys) && map["none"] == nil
                    && Dictionary(uniqueKeysWithValues: map.asKeyValueSequence().map { ($0.key, $0.value) })
                        == pairs
            }
        }
    }

    static let kinds: [Kind] = [
        Kind("bool", { $0.bool }, [true, false, true]),
        Kind("int8", { $0.int8 }, [nil, Int8.min, Int8.max, 0]),
        Kind("int16", { $0.int16 }, [Int16.max, -1, 0]),
        Kind("int32", { $0.int32 }, [nil, Int32.min, 1]),
        Kind("int64", { $0.int64 }, [Int64.max, Int64.min, 0, 7]),
        Kind("float", { $0.float }, [Float.infinity, -1.5, 0]),
        Kind("double", { $0.double }, [nil, -Double.infinity, 0.1, 0.2]),
        Kind("string", { $0.string }, [nil, "", "ß", String(repeating: "long ", count: 40_000)]),
        Kind("data", { $0.data }, [nil, Data(), Data([0]), Data(repeating: 9, count: 5_000)]),
        Kind("date", { $0.date }, [nil, .distantPast, Date(timeIntervalSince1970: -0.25)]),
        Kind("uuid", { $0.uuid }, [UUID(), UUID(), UUID()]),
        Kind("oid", { $0.oid }, [nil, ObjectId("0123456789abcdef01234567"), ObjectId.generate()]),
        Kind("size", { $0.size }, [nil, .large, .small]),
    ]
}

private typealias Item = MapModels.Item
private typealias Holder = MapModels.Holder
private typealias Values = MapModels.Values

@Suite("Maps")
struct MapsTests {
    @Test("Maps store every type of value, unmanaged, in a write and in a reopened file", arguments: MapModels.kinds)
    func types(_ kind: MapModels.Kind) throws {
        let object = Values()
        kind.fill(object)
        #expect(kind.holds(object), "unmanaged")
        try withFile(MapModels.types) { configuration in
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    realm.add(object)
                    #expect(kind.holds(object), "added")
                    let other = realm.create(Values.self)
                    kind.fill(other)
                    #expect(kind.holds(other), "filled")
                    let copy = realm.create(Values.self, value: object)
                    #expect(kind.holds(copy), "copied")
                }
            }
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Values.self).allSatisfy { kind.holds($0) })
            expectIntegrity(of: configuration)
        }
    }

    /// A change of a map, and the same change of a dictionary.
    struct Change: Sendable, CustomStringConvertible {
        let description: String
        let change: @Sendable (Map<String, Int>) -> Void
        let plain: @Sendable (inout [String: Int]) -> Void
        init(
            _ name: String, _ change: @escaping @Sendable (Map<String, Int>) -> Void,
            _ plain: @escaping @Sendable (inout [String: Int]) -> Void
        ) {
            description = name
            self.change = change
            self.plain = plain
        }
    }

    static let changes: [Change] = [
        Change("set a new key", { $0["x"] = 9 }, { $0["x"] = 9 }),
        Change("set a known key", { $0["a"] = 9 }, { $0["a"] = 9 }),
        Change("updateValue", { $0.updateValue(5, forKey: "b") }, { $0["b"] = 5 }),
        Change("assign nil", { $0["a"] = nil }, { $0["a"] = nil }),
        Change("assign nil to no key", { $0["none"] = nil }, { _ in }),
        Change("removeObject", { $0.removeObject(for: "b") }, { $0["b"] = nil }),
        Change("removeAll", { $0.removeAll() }, { $0 = [:] }),
        Change(
            "merge pairs", { $0.merge([("a", 10), ("n", 1)].map { (key: $0.0, value: $0.1) }) { $0 + $1 } },
            { $0.merge(["a": 10, "n": 1]) { $0 + $1 } }),
        Change("merge itself", { $0.merge($0) { $0 + $1 } }, { $0 = $0.mapValues { 2 * $0 } }),
        Change("setValue", { $0.setValue(7, forKey: "c") }, { $0["c"] = 7 }),
        Change("setValue nil", { $0.setValue(nil, forKey: "c") }, { $0["c"] = nil }),
    ]

    @Test("A change of a map, managed or unmanaged, has the same result as that of a dictionary", arguments: changes)
    func change(_ change: Change) throws {
        let start = ["a": 1, "b": 2, "c": 3]
        var expected = start
        change.plain(&expected)
        let holder = Holder(value: ["ints": start])
        change.change(holder.ints)
        #expect(holder.ints.dictionary == expected, "unmanaged")
        try MapModels.write { _, managed in
            for (key, value) in start { managed.ints[key] = value }
            change.change(managed.ints)
            #expect(managed.ints.dictionary == expected && managed.ints.count == expected.count, "managed")
            #expect(managed.ints.keys == expected.keys.sorted())
            #expect(managed.ints.values == expected.sorted { $0.key < $1.key }.map(\.value))
        }
    }

    @Test("Entries of a managed map are sorted by the bytes of their keys")
    func order() throws {
        try MapModels.write { _, holder in
            for key in ["é", "b", "Z", "", "ab", "a"] { holder.ints[key] = key.utf8.count }
            #expect(holder.ints.keys == ["", "Z", "a", "ab", "b", "é"] && holder.ints.values == [0, 1, 1, 2, 1, 2])
            #expect(holder.ints.map(\.key) == holder.ints.keys)
            #expect(holder.ints.contains { $0 == "ab" && $1 == 2 } && !holder.ints.contains { $1 > 2 })
        }
    }

    @Test("Nil is a value of a map with optional values")
    func nils() throws {
        func check(_ holder: Holder) {
            holder.texts["a"] = .some(nil)
            holder.texts["b"] = "x"
            #expect(holder.texts.count == 2 && holder.texts["a"] == .some(nil) && holder.texts["c"] == nil)
            holder.texts["a"] = nil
            #expect(holder.texts.keys == ["b"])
            holder.items["none"] = .some(nil)
            #expect(holder.items.count == 1 && holder.items["none"] == .some(nil))
        }
        let holder = Holder()
        check(holder)
        let realm = try MapModels.realm()
        try realm.write {
            realm.add(holder)
            #expect(holder.items["none"] == .some(nil) && holder.items.count == 1)
            check(holder)
        }
    }

    @Test("The map of an added object stays the same instance, even if it is declared with let")
    func identity() throws {
        let holder = Holder()
        let (map, marks) = (holder.ints, holder.marks)
        map["a"] = 1
        marks["m"] = "x"
        let realm = try MapModels.realm()
        try realm.write {
            realm.add(holder)
            #expect(holder.ints === map && holder.marks === marks && map.realm == realm)
            map["b"] = 2
        }
        let read = try #require(realm.objects(Holder.self).first)
        #expect(read.ints.dictionary == ["a": 1, "b": 2] && read.marks["m"] == "x" && read.ints == map)
        #expect(!read.ints.isInvalidated && !read.ints.isFrozen && read.ints.hashValue == map.hashValue)
    }

    @Test("Assigning a map copies its entries")
    func assigning() throws {
        try MapModels.write { _, holder in
            let map = Map<String, Int>()
            map["a"] = 1
            let mine = holder.ints
            holder.ints = map
            #expect(mine.dictionary == ["a": 1] && holder.ints === mine && holder.ints != map)
            holder.ints = holder.ints
            #expect(mine.dictionary == ["a": 1])
            holder["ints"] = ["z": 26]
            #expect(mine.dictionary == ["z": 26])
        }
    }

    @Test("Objects in maps are added, have linking objects, and become nil when deleted")
    func links() throws {
        let realm = try MapModels.realm()
        let holder = Holder(value: ["id": 1])
        let (one, two) = (Item(1), Item(2))
        holder.items["one"] = one
        holder.items["two"] = two
        holder.items["again"] = one
        try realm.write {
            realm.add(holder)
            #expect(one.realm == realm && one.holders.count == 2 && holder.items["one"] == .some(one))
            realm.delete(one)
            #expect(holder.items.keys == ["again", "one", "two"] && holder.items["one"] == .some(nil))
            holder.items["two"] = Item(3)
            #expect(two.holders.isEmpty && !two.isInvalidated && holder.items["two"]??.n == 3)
            realm.delete(holder.items)
            #expect(holder.items.count == 0 && realm.objects(Item.self).map(\.n) == [2])
            holder.friends["me"] = holder
            #expect(holder.friends["me"]??.id == 1)
        }
    }

    @Test("Unmanaged objects in a cycle of maps are added once")
    func circle() throws {
        let (a, b) = (Holder(value: ["id": 1]), Holder(value: ["id": 2]))
        a.friends["b"] = b
        b.friends["a"] = a
        let realm = try MapModels.realm()
        try realm.write { realm.add(a) }
        #expect(realm.objects(Holder.self).count == 2 && b.friends["a"] == .some(a))
    }

    @Test("Updates replace the entries", arguments: [Realm.UpdatePolicy.modified, .all])
    func updates(_ policy: Realm.UpdatePolicy) throws {
        try MapModels.write { realm, holder in
            holder.ints["a"] = 1
            holder.ints["b"] = 2
            holder.items["x"] = Item(1)
            let items: [String: Any] = ["x": ["n": 1, "score": 4.0] as [String: Any], "y": ["n": 5], "z": NSNull()]
            realm.create(Holder.self, value: ["id": 1, "ints": ["b": 3], "items": items], update: policy)
            #expect(holder.ints.dictionary == ["b": 3] && holder.items.keys == ["x", "y", "z"])
            #expect(holder.items["x"]??.score == 4 && holder.items["z"] == .some(nil))
            realm.create(Holder.self, value: ["id": 1], update: policy)
            #expect(holder.ints.dictionary == ["b": 3])
            realm.add(Holder(value: ["id": 1, "texts": ["k": nil] as [String: String?]]), update: policy)
            #expect(holder.ints.count == 0 && holder.items.count == 0 && holder.texts["k"] == .some(nil))
        }
    }

    @Test("A loop iterates over the entries at its start")
    func snapshot() throws {
        try MapModels.write { realm, holder in
            for n in 10..<60 { holder.ints["k\(n)"] = n }
            var seen: [Int] = []
            for entry in holder.ints {
                seen.append(entry.value)
                holder.ints[entry.key] = nil
                holder.ints["new" + entry.key] = 0
            }
            #expect(seen == Array(10..<60) && holder.ints.count == 50 && holder.ints["newk10"] == 0)
        }
    }

    @Test("Aggregates of values and properties ignore nil")
    func figures() throws {
        func check(_ holder: Holder) {
            #expect(holder.ints.min() == 1 && holder.ints.max() == 4 && holder.ints.sum() == 7)
            #expect(holder.ints.average() == 7.0 / 3)
            #expect(holder.items.max(ofProperty: "score") == 3.0 && holder.items.sum(of: \.n) == 6)
            #expect(holder.items.average(ofProperty: "score") == 2.0)
            #expect(holder.ints.value(forKeyPath: "@sum.self") as? Int == 7)
            #expect(holder.ints.value(forKey: "a") as? Int == 1 && holder.ints.value(forKey: "@count") as? Int == 3)
            #expect(holder.items.value(forKeyPath: "a.n") as? Int == 1)
        }
        let holder = Holder(value: ["ints": ["a": 1, "b": 2, "c": 4]])
        for (key, item) in ["a": Item(1, score: 1), "b": Item(2), "c": Item(3, score: 3)] { holder.items[key] = item }
        holder.items["d"] = .some(nil)
        check(holder)
        let realm = try MapModels.realm()
        try realm.write {
            realm.add(holder)
            check(holder)
        }
    }

    @Test("The objects of a managed map can be filtered and sorted")
    func querying() throws {
        try MapModels.write { _, holder in
            for (key, item) in ["c": Item(1, score: 1), "b": Item(2), "a": Item(3, score: 3)] {
                holder.items[key] = item
            }
            holder.items["d"] = .some(nil)
            #expect(holder.items.filter("score != nil").map { $0?.n } == [3, 1])
            #expect(holder.items.where { $0.n > 1 }.count == 2)
            #expect(holder.items.sorted(byKeyPath: "n").map { $0?.n } == [1, 2, 3])
            #expect(holder.items.sorted(by: \.n, ascending: false).first??.n == 3)
        }
    }

    @Test("A map encodes as a JSON object and decodes again")
    func coding() throws {
        let map = Map<String, Int?>()
        map["a"] = 1
        map["b.c"] = .some(nil)
        let data = try JSONEncoder().encode(map)
        #expect(try JSONDecoder().decode(Map<String, Int?>.self, from: data) == map)
    }

    @Test("The description of a map contains its entries")
    func description() {
        let map = Map<String, Int?>()
        map["b"] = 5
        map["a"] = .some(nil)
        #expect(map.description.hasPrefix("Map<string, int> <0x"))
        #expect(map.description.hasSuffix("(\n[a]: (null),\n[b]: 5\n)"))
        let property = Holder.sharedSchema()?["items"]
        #expect(property?.isMap == true && property?.isArray == false && property?.type == .object)
        #expect(property?.isOptional == true && property?.description.contains("dictionary = YES;") == true)
    }

    class BadMap: Object {
        @Persisted var items: Map<String, MapModels.Item>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class BadSet: Object {
        @Persisted var items: MutableSet<MapModels.Item?>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let refusals: [MisuseCase] = [
        .onMap("key must not start with '$'") { _, holder in holder.ints["$a"] = 1 },
        .onMap("key must not contain '.'") { _, holder in holder.ints["a.b"] = 1 },
        .onMap("key must not contain '.'") { _, holder in holder.ints.removeObject(for: "a.b") },
        .onMap("key must not start with '$'") { realm, _ in
            let unmanaged = Holder(value: ["id": 2, "ints": ["$a": 1]])
            realm.add(unmanaged)
        },
        .onMap("Invalid nil value for dictionary of 'int'.") { _, holder in
            holder["ints"] = ["a": nil] as [String: Int?]
        },
        .onMap("Invalid value 'x' of type 'String' for expected type 'int'.") { _, holder in
            holder["ints"] = ["a": "x"]
        },
        .onMap("Value of type 'MapModels_Holder' does not match RLMDictionary value type 'MapModels_Item'.") {
            _, holder in
            holder["items"] = ["a": Holder(value: ["id": 7])]
        },
        .onMap("dictionary property 'MapModels_Holder.ints'") { _, holder in holder["ints"] = [1, 2] },
        .onMap("Dictionary is no longer valid. Either the parent object was deleted") { realm, holder in
            let map = holder.ints
            realm.delete(holder)
            _ = map.count
        },
        .onMap("Querying is currently only implemented for dictionaries of Realm Objects") { _, holder in
            _ = holder.ints.filter("TRUEPREDICATE")
        },
        MisuseCase("This method may only be called on RLMDictionary instances retrieved from an RLMRealm") {
            _ = Holder().items.filter("n = 1")
        },
        MisuseCase("Cannot modify Dictionary outside of a write transaction.") {
            try MapModels.kept().ints["a"] = 2
        },
        MisuseCase("Cannot modify Dictionary outside of a write transaction.") {
            try MapModels.kept().ints.removeAll()
        },
        MisuseCase("Map<String, MapModels_Item> property 'items' must be marked as optional.") {
            _ = try memoryRealm(BadMap.self, MapModels.Item.self, MapModels.Holder.self)
        },
        MisuseCase("MutableSet<MapModels_Item> property 'items' must not be marked as optional.") {
            _ = try memoryRealm(BadSet.self, MapModels.Item.self, MapModels.Holder.self)
        },
    ]

    @Test("Invalid uses of maps are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension Map {
    fileprivate var dictionary: [Key: Value] {
        Dictionary(uniqueKeysWithValues: asKeyValueSequence().map { ($0.key, $0.value) })
    }
}

extension MisuseCase {
    /// For a managed holder in a write transaction.
    fileprivate static func onMap(
        _ words: String, _ body: @escaping @Sendable (Realm, MapModels.Holder) throws -> Void
    ) -> MisuseCase {
        MisuseCase(words) { try MapModels.write { try body($0, $1) } }
    }
}
