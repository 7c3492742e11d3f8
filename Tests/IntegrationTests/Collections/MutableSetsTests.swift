// SPDX-License-Identifier: Apache-2.0
// Managed and unmanaged sets compared with sets of the standard library; storing every element type; links in sets;
// programmer errors.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum SetModels {
    enum Size: Int, PersistableEnum { case small = 1, large = 2 }

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
        @Persisted var ints: MutableSet<Int>
        @Persisted var others: MutableSet<Int>
        @Persisted var texts: MutableSet<String?>
        @Persisted var items: MutableSet<Item>
        @Persisted var otherItems: MutableSet<Item>
        @Persisted var friends: MutableSet<Holder>
        let marks = MutableSet<String>()
    }

    class Values: Object {
        @Persisted var bool: MutableSet<Bool>
        @Persisted var int8: MutableSet<Int8?>
        @Persisted var int16: MutableSet<Int16>
        @Persisted var int32: MutableSet<Int32?>
        @Persisted var int64: MutableSet<Int64>
        @Persisted var float: MutableSet<Float>
        @Persisted var double: MutableSet<Double?>
        @Persisted var string: MutableSet<String?>
        @Persisted var data: MutableSet<Data?>
        @Persisted var date: MutableSet<Date?>
        @Persisted var uuid: MutableSet<UUID>
        @Persisted var oid: MutableSet<ObjectId?>
        @Persisted var size: MutableSet<Size?>
    }

    static let types: [ObjectBase.Type] = [Item.self, Holder.self, Values.self]
    static func realm() throws -> Realm { try memoryRealm(Item.self, Holder.self, Values.self) }

    /// A managed holder in a write transaction.
    static func write(_ body: (Realm, Holder) throws -> Void) throws {
        let realm = try realm()
        try realm.write { try body(realm, realm.create(Holder.self, value: ["id": 1])) }
    }

    /// Fills a set with values of one type, and checks them.
    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        /// Fills the set of an object.
        let fill: @Sendable (Values) -> Void
        let holds: @Sendable (Values) -> Bool

        init<E: RealmCollectionValue>(
            _ name: String, _ path: @escaping @Sendable (Values) -> MutableSet<E>, _ values: [E]
        ) where E: Sendable {
            description = name
            fill = { path($0).insert(objectsIn: values + values) }
            holds = { object in
                let set = path(object)
                return Set(set) == Set(values) && set.count == Set(values).count
                    && values.allSatisfy { set.contains($0) }
            }
        }
    }

    static let kinds: [Kind] = [
        Kind("bool", { $0.bool }, [true, false]),
        Kind("int8", { $0.int8 }, [nil, Int8.min, Int8.max, 0]),
        Kind("int16", { $0.int16 }, [Int16.max, -1]),
        Kind("int32", { $0.int32 }, [nil, Int32.min]),
        Kind("int64", { $0.int64 }, [Int64.max, Int64.min, 0, 7]),
        Kind("float", { $0.float }, [Float.infinity, -1.5, 0]),
        Kind("double", { $0.double }, [nil, -Double.infinity, 0.1, 0.2]),
        Kind(
            "string", { $0.string },
            [nil, "", "b", "B", "ß", "👩‍👩‍👧‍👦", String(repeating: "long ", count: 40_000)]),
        Kind("data", { $0.data }, [nil, Data(), Data([0]), Data(repeating: 9, count: 5_000)]),
        Kind("date", { $0.date }, [nil, .distantPast, Date(timeIntervalSince1970: -0.25)]),
        Kind("uuid", { $0.uuid }, [UUID(), UUID()]),
        Kind("oid", { $0.oid }, [nil, ObjectId("0123456789abcdef01234567")]),
        Kind("size", { $0.size }, [nil, .large, .small]),
    ]
}

private typealias Item = SetModels.Item
private typealias Holder = SetModels.Holder
private typealias Values = SetModels.Values

@Suite("MutableSets")
struct MutableSetsTests {
    @Test(
        "A set stores every type of element once, unmanaged, in a write and in a reopened file",
        arguments: SetModels.kinds)
    func types(_ kind: SetModels.Kind) throws {
        let object = Values()
        kind.fill(object)
        #expect(kind.holds(object), "unmanaged")
        try withFile(SetModels.types) { configuration in
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

    /// A change of a set, and the same change of a set of the standard library.
    struct Change: Sendable, CustomStringConvertible {
        let description: String
        /// Changes the set, with another set of the same object as argument.
        let change: @Sendable (MutableSet<Int>, MutableSet<Int>) -> Void
        let plain: @Sendable (inout Set<Int>, Set<Int>) -> Void
        init(
            _ name: String, _ change: @escaping @Sendable (MutableSet<Int>, MutableSet<Int>) -> Void,
            _ plain: @escaping @Sendable (inout Set<Int>, Set<Int>) -> Void
        ) {
            description = name
            self.change = change
            self.plain = plain
        }
    }

    static let changes: [Change] = [
        Change("insert a new one", { set, _ in set.insert(9) }, { set, _ in set.insert(9) }),
        Change("insert a known one", { set, _ in set.insert(3) }, { _, _ in }),
        Change("insert many", { set, _ in set.insert(objectsIn: [7, 8, 7]) }, { set, _ in set.formUnion([7, 8]) }),
        Change("insert itself", { set, _ in set.insert(objectsIn: set) }, { _, _ in }),
        Change("remove", { set, _ in set.remove(3) }, { set, _ in set.remove(3) }),
        Change("remove what is not there", { set, _ in set.remove(99) }, { _, _ in }),
        Change("removeAll", { set, _ in set.removeAll() }, { set, _ in set.removeAll() }),
        Change("formUnion", { $0.formUnion($1) }, { $0.formUnion($1) }),
        Change("formIntersection", { $0.formIntersection($1) }, { $0.formIntersection($1) }),
        Change("subtract", { $0.subtract($1) }, { $0.subtract($1) }),
        Change("formUnion with itself", { set, _ in set.formUnion(set) }, { _, _ in }),
        Change("formIntersection with itself", { set, _ in set.formIntersection(set) }, { _, _ in }),
        Change("subtract itself", { set, _ in set.subtract(set) }, { set, _ in set.removeAll() }),
    ]

    @Test("A change of a set, managed or unmanaged, has the same result as that of a standard set", arguments: changes)
    func change(_ change: Change) throws {
        let first: Set<Int> = [3, 1, 2, 5]
        let second: Set<Int> = [5, 6, 1]
        var expected = first
        change.plain(&expected, second)
        let holder = Holder(value: ["ints": first, "others": second])
        change.change(holder.ints, holder.others)
        #expect(Set(holder.ints) == expected && holder.ints.count == expected.count, "unmanaged")
        try SetModels.write { realm, managed in
            managed.ints.insert(objectsIn: first)
            managed.others.insert(objectsIn: second)
            change.change(managed.ints, managed.others)
            #expect(Array(managed.ints) == expected.sorted(), "managed")
            #expect(managed.ints.first == expected.min() && managed.ints.last == expected.max())
        }
    }

    @Test(
        "Sets compare with each other like standard sets", arguments: [[], [1], [1, 2], [1, 2, 3], [4]],
        [[], [2], [1, 2], [5, 6]])
    func comparing(_ first: [Int], _ second: [Int]) throws {
        func check(_ holder: Holder) {
            #expect(holder.ints.isSubset(of: holder.others) == Set(first).isSubset(of: second))
            #expect(holder.ints.intersects(holder.others) == !Set(first).isDisjoint(with: second))
            #expect(!holder.ints.contains(77))
        }
        let holder = Holder(value: ["ints": first, "others": second])
        check(holder)
        let realm = try SetModels.realm()
        try realm.write {
            realm.add(holder)
            check(holder)
        }
    }

    @Test("Managed sets are sorted: texts by their bytes with nil first, objects by the order of creation")
    func order() throws {
        try SetModels.write { realm, holder in
            holder.texts.insert(objectsIn: ["b", nil, "Z", "é", "a", "ab"])
            #expect(Array(holder.texts) == [nil, "Z", "a", "ab", "b", "é"])
            #expect(holder.texts[1] == "Z" && Array(holder.texts[2..<4]) == ["a", "ab"])
            let items = [Item(3), Item(1), Item(2)]
            realm.add(items)
            holder.items.insert(objectsIn: items.reversed())
            #expect(holder.items.map(\.n) == [3, 1, 2])
        }
    }

    @Test("The set of an added object stays the same instance, even if it is declared with let")
    func identity() throws {
        let holder = Holder()
        let set = holder.ints
        let marks = holder.marks
        set.insert(1)
        marks.insert("x")
        let realm = try SetModels.realm()
        try realm.write {
            realm.add(holder)
            #expect(holder.ints === set && holder.marks === marks && set.realm == realm)
            set.insert(2)
        }
        let read = try #require(realm.objects(Holder.self).first)
        #expect(Array(read.ints) == [1, 2] && Array(read.marks) == ["x"] && read.ints == set)
        #expect(!read.ints.isInvalidated && !read.ints.isFrozen && read.ints.hashValue == set.hashValue)
    }

    @Test("Assigning a set copies its elements")
    func assigning() throws {
        try SetModels.write { _, holder in
            let set = MutableSet<Int>()
            set.insert(objectsIn: [1, 2])
            let mine = holder.ints
            holder.ints = set
            #expect(Array(mine) == [1, 2] && holder.ints === mine)
            holder.ints = holder.ints
            holder.others = holder.ints
            holder["ints"] = [5, 5, 4]
            #expect(Array(holder.ints) == [4, 5] && Array(holder.others) == [1, 2])
        }
    }

    @Test("Unmanaged sets are equal by their elements, managed sets by their location")
    func equality() throws {
        let one = MutableSet<Int>()
        let two = MutableSet<Int>()
        one.insert(objectsIn: [1, 2])
        two.insert(objectsIn: [2, 1])
        #expect(one == two && one.hashValue == two.hashValue)
        two.insert(3)
        #expect(one != two)
        try SetModels.write { _, holder in
            holder.ints.insert(objectsIn: [1, 2])
            holder.others.insert(objectsIn: [1, 2])
            #expect(holder.ints != holder.others && holder.ints != one)
        }
    }

    @Test("Objects in a set are added, have linking objects, and are removed when deleted")
    func links() throws {
        let realm = try SetModels.realm()
        let holder = Holder(value: ["id": 1])
        let (one, two) = (Item(1, score: 2), Item(2))
        holder.items.insert(objectsIn: [one, two, one])
        #expect(holder.items.count == 2)
        try realm.write {
            realm.add(holder)
            #expect(one.realm == realm && holder.items.contains(one) && one.holders.first?.id == 1)
            realm.delete(one)
            #expect(holder.items.map(\.n) == [2] && two.holders.count == 1)
            holder.items.remove(two)
            #expect(two.holders.isEmpty && !two.isInvalidated)
            holder.items.insert(Item(3))
            realm.delete(holder.items)
            #expect(holder.items.isEmpty && realm.objects(Item.self).map(\.n) == [2])
            holder.friends.insert(holder)
            #expect(holder.friends.contains(holder) && !holder.items.contains(Item(2)))
        }
    }

    @Test("Unmanaged objects in a cycle of sets are added once")
    func circle() throws {
        let (a, b) = (Holder(value: ["id": 1]), Holder(value: ["id": 2]))
        a.friends.insert(b)
        b.friends.insert(a)
        let realm = try SetModels.realm()
        try realm.write { realm.add(a) }
        #expect(realm.objects(Holder.self).count == 2 && b.friends.first == a && a.friends.first == b)
    }

    @Test("Updates replace the elements", arguments: [Realm.UpdatePolicy.modified, .all])
    func updates(_ policy: Realm.UpdatePolicy) throws {
        try SetModels.write { realm, holder in
            holder.ints.insert(objectsIn: [1, 2])
            holder.items.insert(Item(1))
            let values: [String: Any] = [
                "id": 1, "ints": [2, 3], "items": [["n": 1, "score": 4.0] as [String: Any], ["n": 5]],
            ]
            realm.create(Holder.self, value: values, update: policy)
            #expect(Array(holder.ints) == [2, 3] && holder.items.map(\.n) == [1, 5])
            #expect(holder.items.first?.score == 4)
            realm.create(Holder.self, value: ["id": 1], update: policy)
            #expect(Array(holder.ints) == [2, 3])
            realm.add(Holder(value: ["id": 1, "texts": ["e\u{301}"]]), update: policy)
            #expect(holder.ints.isEmpty && holder.texts.count == 1)
            realm.add(Holder(value: ["id": 1, "texts": ["\u{e9}"]]), update: policy)
            #expect(holder.texts.first??.utf8.count == 2)
        }
    }

    @Test("A loop iterates over the elements at its start")
    func snapshot() throws {
        try SetModels.write { realm, holder in
            holder.ints.insert(objectsIn: 0..<50)
            var seen: [Int] = []
            for n in holder.ints {
                seen.append(n)
                holder.ints.remove(n)
                holder.ints.insert(n + 100)
            }
            #expect(seen == Array(0..<50) && Array(holder.ints) == Array(100..<150))
            holder.items.insert(objectsIn: (0..<20).map { Item($0) })
            for item in holder.items where item.n % 2 == 0 { realm.delete(item) }
            #expect(holder.items.map(\.n) == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
        }
    }

    @Test("Aggregates of values and properties ignore nil")
    func figures() throws {
        func check(_ holder: Holder) {
            #expect(holder.ints.min() == 1 && holder.ints.max() == 4 && holder.ints.sum() == 7)
            #expect(holder.ints.average() == 7.0 / 3)
            #expect(holder.items.max(ofProperty: "score") == 3.0 && holder.items.sum(of: \.n) == 6)
            #expect(holder.items.average(ofProperty: "score") == 2.0 && holder.others.min() == nil)
            #expect(holder.ints.value(forKeyPath: "@sum.self") as? Int == 7)
        }
        let holder = Holder(value: ["ints": [1, 2, 4]])
        holder.items.insert(objectsIn: [Item(1, score: 1), Item(2), Item(3, score: 3)])
        check(holder)
        let realm = try SetModels.realm()
        try realm.write {
            realm.add(holder)
            check(holder)
            #expect(holder.items.value(forKey: "n") as? [Int] == [1, 2, 3])
            holder.items.setValue(9.0, forKey: "score")
            #expect(holder.items.value(forKeyPath: "@sum.score") as? Double == 27)
        }
    }

    @Test("The objects of a managed set can be filtered and sorted")
    func querying() throws {
        try SetModels.write { _, holder in
            holder.items.insert(objectsIn: [Item(1, score: 1), Item(2), Item(3, score: 3)])
            #expect(holder.items.filter("score != nil").map(\.n) == [1, 3])
            #expect(holder.items.where { $0.n > 1 }.count == 2)
            #expect(holder.items.sorted(byKeyPath: "n", ascending: false).map(\.n) == [3, 2, 1])
            #expect(AnyRealmCollection(holder.items).map(\.n) == [1, 2, 3])
        }
    }

    @Test("Large sets keep their elements through many changes and reopening")
    func large() throws {
        try withFile(SetModels.types) { configuration in
            var expected: Set<Int> = []
            do {
                let realm = try Realm(configuration: configuration)
                let holder = Holder()
                try realm.write { realm.add(holder) }
                for round in 0..<5 {
                    try realm.write {
                        for _ in 0..<400 {
                            let n = Int.random(in: 0..<1_000) &* (round + 1)
                            if Bool.random() {
                                holder.ints.insert(n)
                                expected.insert(n)
                            } else {
                                holder.ints.remove(n)
                                expected.remove(n)
                            }
                        }
                    }
                }
            }
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Holder.self).first.map { Array($0.ints) } == expected.sorted())
            expectIntegrity(of: configuration)
        }
    }

    @Test("A set encodes as a JSON array and decodes again")
    func coding() throws {
        let set = MutableSet<Int>()
        set.insert(objectsIn: [2, 1])
        let data = try JSONEncoder().encode(set)
        #expect(try JSONDecoder().decode(MutableSet<Int>.self, from: data) == set)
    }

    @Test("The description of a set contains its elements")
    func description() {
        let set = MutableSet<Int?>()
        set.insert(nil)
        set.insert(5)
        #expect(set.description.hasPrefix("MutableSet<int> <0x"))
        #expect(set.description.hasSuffix("(\n\t[0] (null),\n\t[1] 5\n)"))
        let property = Holder.sharedSchema()?["texts"]
        #expect(property?.isSet == true && property?.isArray == false && property?.type == .string)
        #expect(property?.isOptional == true && property?.description.contains("set = YES;") == true)
    }

    static let refusals: [MisuseCase] = [
        .onSet("index(of:) is not available on MutableSet") { _, holder in _ = holder.ints.index(of: 1) },
        .onSet("Index 0 is out of bounds (must be less than 0).") { _, holder in _ = holder.ints[0] },
        .onSet("Right hand side value must be a managed Set.") { _, holder in
            holder.ints.formUnion(MutableSet<Int>())
        },
        .onSet("Right hand side value must be a managed Set.") { _, holder in
            _ = holder.ints.isSubset(of: MutableSet<Int>())
        },
        .onSet("Cannot insersect sets managed by different Realms.") { _, holder in
            try SetModels.write { _, other in holder.ints.subtract(other.ints) }
        },
        .onSet("Invalid nil value for set of 'int'.") { _, holder in holder["ints"] = [1, nil] },
        .onSet("Invalid value 'x' of type 'String' for expected type 'int'.") { _, holder in
            holder["ints"] = ["x"]
        },
        .onSet("Object of type 'SetModels_Holder' does not match RLMSet type 'SetModels_Item'.") { _, holder in
            holder["items"] = [Holder(value: ["id": 7])]
        },
        .onSet("Set is no longer valid. Either the parent object was deleted") { realm, holder in
            let set = holder.ints
            realm.delete(holder)
            _ = set.count
        },
        .onSet("Querying is currently only implemented for sets of Realm Objects") { _, holder in
            _ = holder.ints.filter("TRUEPREDICATE")
        },
        MisuseCase("This method may only be called on RLMSet instances retrieved from an RLMRealm") {
            _ = Holder().items.filter("n = 1")
        },
        MisuseCase("Cannot modify Set outside of a write transaction.") { try SetModels.kept().ints.insert(1) },
        MisuseCase("Cannot modify Set outside of a write transaction.") { try SetModels.kept().ints.remove(1) },
        MisuseCase("Can only perform formUnion in a Realm in a write transaction") {
            let holder = try SetModels.kept()
            holder.ints.formUnion(holder.others)
        },
    ]

    @Test("Invalid uses of sets are refused with RealmSwift's messages", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension SetModels {
    /// A managed holder outside a write transaction.
    static func kept() throws -> Holder {
        let realm = try realm()
        return try realm.write { realm.create(Holder.self, value: ["id": 1]) }
    }
}

extension MisuseCase {
    /// For a managed holder in a write transaction.
    fileprivate static func onSet(
        _ words: String, _ body: @escaping @Sendable (Realm, SetModels.Holder) throws -> Void
    ) -> MisuseCase {
        MisuseCase(words) { try SetModels.write { try body($0, $1) } }
    }
}
