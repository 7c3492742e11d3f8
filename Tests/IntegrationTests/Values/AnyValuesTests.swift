// SPDX-License-Identifier: Apache-2.0
// AnyRealmValue: storing every case, links, nested lists and dictionaries, queries, order, aggregates.

import Foundation
import RealmSwift
import Testing

enum AnyModels {
    class Entry: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var anyCol: AnyRealmValue
        @Persisted(indexed: true) var indexed: AnyRealmValue
        @Persisted var list: List<AnyRealmValue>
        @Persisted var set: MutableSet<AnyRealmValue>
        @Persisted var map: Map<String, AnyRealmValue>
        let box = RealmProperty<AnyRealmValue>()
    }
    class Dog: Object {
        @Persisted var name: String
    }
    class Folder: Object {
        @Persisted var entries: List<Entry>
    }
    static let types: [ObjectBase.Type] = [Entry.self, Dog.self, Folder.self]
}

@Suite("Values of any type")
struct AnyValuesTests {
    typealias Entry = AnyModels.Entry
    typealias Dog = AnyModels.Dog

    private static func realm() throws -> Realm { try memoryRealm(Entry.self, Dog.self, AnyModels.Folder.self) }

    static var scalars: [AnyRealmValue] {
        [
            .none, .int(-7), .int(.max), .bool(true), .bool(false), .float(1.5), .double(-0.25), .double(.infinity),
            .string(""), .string("grün"), .string(String(repeating: "x", count: 5000)), .data(Data()),
            .data(Data([0, 255])), .date(Date(timeIntervalSince1970: 1.5)), .date(.distantFuture),
            .objectId(ObjectId("0123456789abcdef01234567")), .decimal128("1.25"), .decimal128("nan"), .uuid(UUID()),
        ]
    }

    @Test func `scalars come back from setters, add, create, collections and a file opened anew`() throws {
        try withFile(AnyModels.types) { configuration in
            let scalars = Self.scalars
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    for (id, value) in scalars.enumerated() {
                        let entry = Entry()
                        entry.id = id
                        entry.anyCol = value
                        entry.box.value = value
                        entry.list.append(objectsIn: [value, .int(1)])
                        entry.set.insert(value)
                        entry.map["k"] = value
                        realm.add(entry)
                        #expect(entry.anyCol == value && entry.box.value == value && entry.list[0] == value)
                        entry.indexed = value
                        entry.anyCol = .int(0)
                        entry.anyCol = value
                        #expect(entry.indexed == value)
                        let made = realm.create(
                            Entry.self, value: ["id": 1000 + id, "anyCol": value, "list": [value], "box": value])
                        #expect(made.anyCol == value && made.list.first == value && made.box.value == value)
                    }
                }
            }
            let realm = try Realm(configuration: configuration)
            for (id, value) in scalars.enumerated() {
                let entry = try #require(realm.object(ofType: Entry.self, forPrimaryKey: id))
                #expect(entry.anyCol == value && entry.indexed == value && entry.box.value == value)
                #expect(Array(entry.list) == [value, .int(1)] && Array(entry.set) == [value])
                #expect(entry.map["k"] == value && entry.set.contains(value))
                #expect(entry.list.index(of: value) == 0)
            }
        }
    }

    @Test func `a value reads as its own type only`() throws {
        let value = AnyRealmValue.int(3)
        #expect(value.intValue == 3 && value.stringValue == nil && value.doubleValue == nil)
        #expect(AnyRealmValue() == .none && AnyRealmValue.int(1) != .double(1))
        #expect(AnyRealmValue.string("a").stringValue == "a" && AnyRealmValue.bool(true).boolValue == true)
        #expect(AnyRealmValue.decimal128(2).decimal128Value == 2 && AnyRealmValue.float(2).floatValue == 2)
        #expect(AnyRealmValue.fromArray([.int(1)]).listValue?.first == .int(1))
        #expect(AnyRealmValue.fromDictionary(["a": .int(1)]).dictionaryValue?["a"] == .int(1))
        #expect(Set(Self.scalars).count == Self.scalars.count)
    }

    @Test func `a link leads to an object of any class and leaves with the object`() throws {
        let realm = try Self.realm()
        try realm.write {
            let dog = Dog(value: ["name": "Rex"])
            let entry = Entry(value: ["id": 1])
            entry.anyCol = .object(dog)
            entry.list.append(objectsIn: [.object(dog), .string("x"), .fromArray([.object(dog)])])
            entry.map["dog"] = .object(dog)
            realm.add(entry)
            #expect(realm.objects(Dog.self).count == 1)
            #expect(entry.anyCol.object(Dog.self)?.name == "Rex" && entry.anyCol.object(Entry.self) == nil)
            #expect(entry.anyCol.dynamicObject?["name"] as? String == "Rex")
            #expect(entry.map["dog"]?.object(Dog.self)?.isSameObject(as: dog) == true)
            #expect(realm.objects(Entry.self).filter("anyCol == %@", dog).count == 1)
            #expect(realm.objects(Entry.self).where { $0.anyCol == .object(dog) }.count == 1)
            entry.anyCol = .object(entry)
            #expect(entry.anyCol.object(Entry.self)?.id == 1)
            entry.anyCol = .fromDictionary(["d": .object(dog)])
            realm.delete(dog)
            #expect(entry.anyCol.dictionaryValue?["d"] == AnyRealmValue.none)
            #expect(entry.list.count == 2 && entry.list[0] == .string("x") && entry.list[1].listValue?.isEmpty == true)
            #expect(entry.map["dog"] == AnyRealmValue.none)
        }
    }

    @Test func `nested lists and dictionaries are read and changed in place`() throws {
        let realm = try Self.realm()
        try realm.write {
            let entry = Entry(value: ["id": 1])
            entry.anyCol = .fromDictionary([
                "size": .int(3), "tags": .fromArray([.string("a"), .fromDictionary(["deep": .bool(true)])]),
            ])
            realm.add(entry)
            let map = try #require(entry.anyCol.dictionaryValue)
            let tags = try #require(map["tags"]?.listValue)
            #expect(map.keys == ["size", "tags"] && tags.count == 2 && tags.realm == realm)
            #expect(tags[1].dictionaryValue?["deep"] == .bool(true))
            tags.append(.int(9))
            tags[0] = .string("b")
            tags.move(from: 2, to: 0)
            tags[2].dictionaryValue?["deep"] = .fromArray([.none])
            map["size"] = nil
            map["new"] = .double(0.5)
            let again = try #require(realm.object(ofType: Entry.self, forPrimaryKey: 1)).anyCol
            #expect(again.dictionaryValue?.keys == ["new", "tags"])
            let list = try #require(again.dictionaryValue?["tags"]?.listValue)
            #expect(Array(list.prefix(2)) == [.int(9), .string("b")])
            #expect(list[2].dictionaryValue?["deep"]?.listValue?.count == 1)
            list.removeAll()
            #expect(tags.isEmpty && again == entry.anyCol)
            entry.anyCol = .int(1)
            #expect(tags.isInvalidated && map.isInvalidated)
            entry.list.append(.fromArray([.int(1)]))
            entry.list[0].listValue?.append(.int(2))
            #expect(entry.list[0].listValue.map { Array($0) } == [.int(1), .int(2)])
            entry.list[0] = entry.list[0]
            #expect(entry.list[0].listValue.map { Array($0) } == [.int(1), .int(2)])
            entry.map["k"] = .fromDictionary(["x": .int(1)])
            entry.map["k"]?.dictionaryValue?["y"] = .int(2)
            #expect(entry.map["k"]?.dictionaryValue?.count == 2)
        }
    }

    @Test func `twelve levels of nesting come back`() throws {
        let realm = try Self.realm()
        var value = AnyRealmValue.string("end")
        for level in 0..<12 { value = level % 2 == 0 ? .fromArray([value]) : .fromDictionary(["k": value]) }
        let entry = try realm.write { realm.create(Entry.self, value: ["id": 1, "anyCol": value]) }
        var found = entry.anyCol
        for _ in 0..<12 { found = found.listValue?[0] ?? found.dictionaryValue?["k"] ?? .none }
        #expect(found == .string("end"))
    }

    /// 1...9: int 3, double 3, decimal 2.5, "three", nil, true, data, "THREE", date.
    private func filled() throws -> Realm {
        let realm = try Self.realm()
        try realm.write {
            let values: [AnyRealmValue] = [
                .int(3), .double(3), .decimal128(2.5), .string("three"), .none, .bool(true), .data(Data([1])),
                .string("THREE"), .date(Date(timeIntervalSince1970: 5)),
            ]
            let folder = realm.create(AnyModels.Folder.self, value: [:] as [String: Any])
            for (index, value) in values.enumerated() {
                let entry = realm.create(
                    Entry.self, value: ["id": index + 1, "anyCol": value, "indexed": value, "list": [value, 3]])
                folder.entries.append(entry)
            }
        }
        return realm
    }

    private func ids(_ entries: Results<Entry>) -> String { entries.map { "\($0.id)" }.joined() }

    @Test(arguments: [
        ("# == 3", "12"), ("# == 3.0", "12"), ("# == 2.5", "3"), ("# != 3", "3456789"), ("# > 2.5", "12"),
        ("# >= 2.5", "123"), ("# < 3", "3"), ("# == nil", "5"), ("# != nil", "12346789"), ("# == 'three'", "4"),
        ("# ==[c] 'three'", "48"), ("# BEGINSWITH 'th'", "4"), ("# CONTAINS[c] 'hre'", "48"), ("# LIKE 't*'", "4"),
        ("# > 'a'", "4"), ("# == true", "6"), ("# BETWEEN {2, 3}", "123"), ("# IN {3, 'three', nil}", "1245"),
        ("# IN {2.5, true}", "36"),
    ])
    func `predicates compare by rank and by worth`(_ format: String, _ found: String) throws {
        let entries = try filled().objects(Entry.self)
        for property in ["anyCol", "indexed"] {
            #expect(ids(entries.filter(format.replacing("#", with: property))) == found, "\(property)")
        }
    }

    @Test func `type-safe queries, elements and links are asked alike`() throws {
        let realm = try filled()
        let entries = realm.objects(Entry.self)
        #expect(ids(entries.where { $0.anyCol == .int(3) }) == "12")
        #expect(ids(entries.where { $0.anyCol > .double(2.75) }) == "12")
        #expect(ids(entries.where { $0.anyCol == .none }) == "5")
        #expect(ids(entries.where { $0.anyCol.starts(with: .string("TH")) }) == "8")
        #expect(ids(entries.where { $0.anyCol.contains(.string("hre"), options: .caseInsensitive) }) == "48")
        #expect(ids(entries.where { $0.anyCol.in([.bool(true), .decimal128(2.5)]) }) == "36")
        #expect(ids(entries.where { $0.list.contains(.string("three")) }) == "4")
        #expect(ids(entries.filter("ANY list == 2.5")) == "3")
        #expect(ids(entries.filter("list.@sum == 6")) == "12")
        #expect(realm.objects(AnyModels.Folder.self).filter("ANY entries.anyCol == 'three'").count == 1)
        #expect(realm.objects(AnyModels.Folder.self).filter("entries.@min.anyCol == 2.5").count == 1)
    }

    @Test func `sorting goes by rank and then by worth, and distinct takes equal numbers for one`() throws {
        let entries = try filled().objects(Entry.self)
        #expect(ids(entries.sorted(byKeyPath: "anyCol")) == "563128479")
        #expect(ids(entries.sorted(byKeyPath: "anyCol", ascending: false)) == "974812365")
        #expect(ids(entries.distinct(by: ["anyCol"])) == "13456789")
    }

    @Test func `aggregates take the numbers and are decimals`() throws {
        let entries = try filled().objects(Entry.self)
        let sum: AnyRealmValue = entries.sum(of: \.anyCol)
        #expect(sum == .decimal128(8.5))
        // Minimum and maximum include dates, which are greater than numbers.
        #expect(entries.min(of: \.anyCol) == .decimal128(2.5) && entries.max(of: \.anyCol)?.dateValue != nil)
        let average: AnyRealmValue? = entries.filter("id < 3").average(of: \.anyCol)
        #expect(average == .decimal128(3))
        let list = List<AnyRealmValue>()
        list.append(objectsIn: [.int(1), .string("x"), .double(0.5)])
        #expect(list.sum() == .decimal128(1.5) && list.max() == .int(1))
    }

    @Test func `subscripts show the payload and take every value`() throws {
        let realm = try Self.realm()
        try realm.write {
            let entry = realm.create(Entry.self, value: ["id": 1])
            #expect(entry["anyCol"] == nil)
            entry["anyCol"] = 5
            #expect(entry["anyCol"] as? Int == 5 && entry.anyCol == .int(5))
            entry["anyCol"] = NSNumber(value: 2.5)
            #expect(entry.anyCol == .double(2.5))
            entry["anyCol"] = ["a": [1, "x", NSNull()]] as [String: Any]
            #expect(entry.anyCol.dictionaryValue?["a"]?.listValue.map { Array($0) } == [.int(1), .string("x"), .none])
            entry["anyCol"] = Dog(value: ["name": "Rex"])
            #expect((entry["anyCol"] as? Dog)?.name == "Rex")
            entry["anyCol"] = NSNull()
            #expect(entry.anyCol == .none)
            entry.anyCol = .string("s")
            #expect(entry.description.contains("anyCol = s;"))
            let dynamic = try #require(realm.dynamicObjects("AnyModels_Entry").first)
            #expect(dynamic["anyCol"] as? String == "s")
            dynamic["anyCol"] = 7
            #expect(entry.anyCol == .int(7))
        }
    }

    @Test func `update policies write what differs`() throws {
        let realm = try Self.realm()
        try realm.write {
            realm.create(Entry.self, value: ["id": 1, "anyCol": 1, "list": [1, 2]])
            let entry = Entry(value: ["id": 1, "anyCol": ["k": Dog(value: ["name": "Rex"])], "list": [3]])
            realm.add(entry, update: .modified)
            #expect(entry.anyCol.dictionaryValue?["k"]?.object(Dog.self)?.name == "Rex")
            #expect(Array(entry.list) == [.int(3)] && realm.objects(Entry.self).count == 1)
            realm.create(Entry.self, value: ["id": 1, "anyCol": "x"], update: .all)
            #expect(entry.anyCol == .string("x"))
        }
    }

    static let misuses: [MisuseCase] = [
        MisuseCase("Sets cannot hold") {
            let realm = try AnyValuesTests.realm()
            try realm.write { realm.create(Entry.self, value: ["id": 1]).set.insert(.fromArray([])) }
        },
        MisuseCase("at most 100 levels deep") {
            let realm = try AnyValuesTests.realm()
            let list = List<AnyRealmValue>()
            list.append(.list(list))
            try realm.write { realm.create(Entry.self, value: ["id": 1]).anyCol = .list(list) }
        },
        MisuseCase("must not contain '.'") {
            let realm = try AnyValuesTests.realm()
            try realm.write { realm.create(Entry.self, value: ["id": 1]).anyCol = .fromDictionary(["a.b": .none]) }
        },
        MisuseCase("is no longer valid") {
            let realm = try AnyValuesTests.realm()
            try realm.write {
                let entry = realm.create(Entry.self, value: ["id": 1, "anyCol": [1]])
                let list = entry.anyCol.listValue
                entry.anyCol = .none
                list?.append(.int(1))
            }
        },
        MisuseCase("outside of a write transaction") {
            let realm = try AnyValuesTests.realm()
            let entry = try realm.write { realm.create(Entry.self, value: ["id": 1, "anyCol": [1]]) }
            entry.anyCol.listValue?.append(.int(1))
        },
    ]

    @Test(arguments: misuses)
    func `what cannot be stored is refused`(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}
