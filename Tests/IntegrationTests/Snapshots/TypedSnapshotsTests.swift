// SPDX-License-Identifier: Apache-2.0
// Objects as values of users' types: every type of property, from managed, frozen, unmanaged and dynamic objects.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

enum TypedValues {
    enum Rank: Int, Codable { case low = 1, mid, high }
    enum Mood: String, Codable { case calm = "a", wild = "b" }

    struct Plain: Codable, Sendable, Equatable {
        var pk: Int
        var bool: Bool
        var int: Int
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var float: Float
        var double: Double
        var string: String
        var data: Data
        var date: Date
        var decimal: Decimal128
        var objectId: ObjectId
        var uuid: UUID
        var any: Int?
        var rank: Rank
        var mood: Mood
        var metres: Int
        var label: String
    }

    struct Optionals: Codable, Sendable, Equatable {
        var optBool: Bool?
        var optInt: Int?
        var optInt8: Int8?
        var optInt16: Int16?
        var optInt32: Int32?
        var optInt64: Int64?
        var optFloat: Float?
        var optDouble: Double?
        var optString: String?
        var optData: Data?
        var optDate: Date?
        var optDecimal: Decimal128?
        var optObjectId: ObjectId?
        var optUuid: UUID?
        var optRank: Rank?
        var optMood: Mood?
        var optMetres: Int?
        var optLabel: String?
        /// The class has no such property.
        var absent: String?
    }

    struct Part: Codable, Sendable, Equatable {
        var size: Int
        var word: String?
    }

    struct Key: Codable, Sendable, Equatable { var pk: Int }

    struct Links: Codable, Sendable, Equatable {
        var link: Key?
        var part: Part?
        var parents: [Key]
        var holders: [Key]
        var list: [Key]
        var set: [Key]
        var map: [String: Key?]
        var parts: [Part]
        var partMap: [String: Part?]
    }

    struct Collections: Codable, Sendable, Equatable {
        var bools: [Bool]
        var ints: [Int]
        var int8s: [Int8]
        var doubles: [Double]
        var strings: [String]
        var dates: [Date]
        var decimals: [Decimal128]
        var uuids: [UUID]
        var ranks: [Rank]
        var moods: [Mood]
        var metres: [Int]
        var optInts: [Int?]
        var optStrings: [String?]
        var intSet: Set<Int>
        var stringSet: [String]
        var intMap: [String: Int]
        var optStringMap: [String: String?]
        var rankMap: [String: Rank]
    }
}

enum CustomValues {
    /// Stored as an Int; decoded by its own initialiser it would need a key.
    struct Length: CustomPersistable, Codable {
        var metres: Int
        init(_ metres: Int) { self.metres = metres }
        init(persistedValue: Int) { metres = persistedValue }
        var persistableValue: Int { metres }
    }

    class Road: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var length = Length(0)
        @Persisted var optLength: Length?
        @Persisted var lengths: List<Length>
        @Persisted var site = ""
        @Persisted var optSite: String?
        @Persisted var sites: List<String>
        @Persisted var toll: Decimal128
    }

    struct RoadValue: Codable, Sendable, Equatable {
        var length: Length
        var optLength: Length?
        var lengths: [Length]
        var site: URL
        var optSite: URL?
        var sites: [URL]
        var toll: Decimal
    }
}

@Suite("Typed snapshots")
struct TypedSnapshotsTests {
    private typealias All = Contract.All

    /// Two objects, one with a value in each property.
    private static func realm() throws -> (Realm, full: Contract.All, empty: Contract.All) {
        let realm = try Contract.allTypes()
        return try realm.write {
            let full = realm.create(All.self, value: ["pk": 1])
            full.bool = true
            full.int = -3
            full.int8 = -8
            full.int16 = -16
            full.int32 = -32
            full.int64 = 1 << 40
            full.float = 1.5
            full.double = -2.25
            full.string = String(repeating: "\u{e4} long text ", count: 40)
            full.data = Data([0, 255])
            full.date = Date(timeIntervalSince1970: 1.5)
            full.decimal = try Decimal128(string: "1.25")
            full.objectId = try ObjectId(string: "0123456789abcdef01234567")
            full.uuid = UUID()
            full.any = .int(7)
            full.rank = .high
            full.mood = .wild
            full.metres = Contract.Metres(5)
            full.label = Contract.Label("l")
            fill(full)
            let empty = realm.create(All.self, value: ["pk": 2])
            return (realm, full, empty)
        }
    }

    /// Gives each optional property a value.
    private static func fill(_ full: All) {
        full.optBool = false
        full.optInt = 0
        full.optInt8 = 8
        full.optInt16 = 16
        full.optInt32 = 32
        full.optInt64 = 64
        full.optFloat = 0.5
        full.optDouble = 0
        full.optString = ""
        full.optData = Data()
        full.optDate = Date(timeIntervalSince1970: 0)
        full.optDecimal = 0
        full.optObjectId = full.objectId
        full.optUuid = full.uuid
        full.optRank = .mid
        full.optMood = .calm
        full.optMetres = Contract.Metres(6)
        full.optLabel = Contract.Label("m")
    }

    @Test("Every type of property is decoded from managed, frozen, unmanaged and dynamic objects")
    func plain() throws {
        let (realm, full, _) = try Self.realm()
        let value = try full.snapshot(as: TypedValues.Plain.self)
        let expected = TypedValues.Plain(
            pk: 1, bool: true, int: -3, int8: -8, int16: -16, int32: -32, int64: 1 << 40, float: 1.5, double: -2.25,
            string: full.string, data: Data([0, 255]), date: Date(timeIntervalSince1970: 1.5), decimal: full.decimal,
            objectId: full.objectId, uuid: full.uuid, any: 7, rank: .high, mood: .wild, metres: 5, label: "l")
        #expect(value == expected)
        #expect(try full.freeze().snapshot(as: TypedValues.Plain.self) == value)
        #expect(try full.detached().snapshot(as: TypedValues.Plain.self) == value)
        let row = try #require(realm.dynamicObject(ofType: All.className(), forPrimaryKey: 1))
        #expect(try row.snapshot(as: TypedValues.Plain.self) == value)
        let all = try realm.objects(All.self).sorted(byKeyPath: "pk").snapshots(as: TypedValues.Plain.self)
        #expect(all.map(\.pk) == [1, 2] && all[0] == value && all[1].string.isEmpty && all[1].any == nil)
        #expect(try realm.dynamicObjects(All.className()).snapshots(as: TypedValues.Plain.self).contains(value))
    }

    @Test("Optional properties are decoded as values or as nil, from all kinds of objects")
    func optionals() throws {
        let (realm, full, empty) = try Self.realm()
        let value = try full.snapshot(as: TypedValues.Optionals.self)
        let expected = TypedValues.Optionals(
            optBool: false, optInt: 0, optInt8: 8, optInt16: 16, optInt32: 32, optInt64: 64, optFloat: 0.5,
            optDouble: 0, optString: "", optData: Data(), optDate: Date(timeIntervalSince1970: 0), optDecimal: 0,
            optObjectId: full.objectId, optUuid: full.uuid, optRank: .mid, optMood: .calm, optMetres: 6, optLabel: "m")
        #expect(value == expected)
        for other in [full.freeze(), full.detached()] {
            #expect(try other.snapshot(as: TypedValues.Optionals.self) == value)
        }
        let nothing = TypedValues.Optionals()
        #expect(try empty.snapshot(as: TypedValues.Optionals.self) == nothing)
        #expect(try empty.detached().snapshot(as: TypedValues.Optionals.self) == nothing)
        let all = realm.objects(All.self).sorted(byKeyPath: "pk", ascending: false)
        #expect(try all.snapshots(as: TypedValues.Optionals.self) == [nothing, value])
    }

    @Test("Links, embedded objects, lists, sets, maps and linking objects become values")
    func links() throws {
        let (realm, full, empty) = try Self.realm()
        try realm.write {
            full.link = empty
            full.part = Contract.Part(value: ["size": 1, "word": "w"] as [String: Any])
            full.list.append(objectsIn: [empty, full, empty])
            full.set.insert(empty)
            full.map["e"] = empty
            full.parts.append(Contract.Part(value: ["size": 2]))
            full.partMap["p"] = Contract.Part(value: ["size": 3])
        }
        let value = try full.snapshot(as: TypedValues.Links.self)
        #expect(value.link?.pk == 2 && value.part == TypedValues.Part(size: 1, word: "w"))
        #expect(value.list.map(\.pk) == [2, 1, 2] && value.set.map(\.pk) == [2])
        #expect(value.map == ["e": TypedValues.Key(pk: 2)])
        #expect(value.parts == [TypedValues.Part(size: 2)] && value.partMap == ["p": TypedValues.Part(size: 3)])
        #expect(value.parents.isEmpty && value.holders.map(\.pk) == [1])
        let all = try realm.objects(All.self).sorted(byKeyPath: "pk").snapshots(as: TypedValues.Links.self)
        #expect(all[0] == value && all[1].link == nil && all[1].part == nil && all[1].list.isEmpty)
        #expect(all[1].parents.map(\.pk) == [1] && all[1].holders.map(\.pk) == Array(empty.holders).map(\.pk))
        #expect(try full.freeze().snapshot(as: TypedValues.Links.self) == value)
        let row = try #require(realm.dynamicObject(ofType: All.className(), forPrimaryKey: 1))
        #expect(try row.snapshot(as: TypedValues.Links.self) == value)
    }

    @Test("Collections of every type of element become values, in a transaction too")
    func collections() throws {
        let realm = try Contract.allTypes()
        realm.beginWrite()
        let many = realm.create(Contract.Many.self)
        many.bools.append(objectsIn: [true, false])
        many.ints.append(objectsIn: [3, -1])
        many.int8s.append(8)
        many.doubles.append(objectsIn: [0.5, .infinity])
        many.strings.append(objectsIn: ["", "ä", String(repeating: "long", count: 50)])
        many.dates.append(Date(timeIntervalSince1970: 3))
        many.decimals.append(2)
        many.uuids.append(UUID())
        many.ranks.append(objectsIn: [.mid, .low])
        many.moods.append(.wild)
        many.metres.append(Contract.Metres(9))
        many.optInts.append(objectsIn: [1, nil])
        many.optStrings.append(objectsIn: [nil, "x"])
        many.intSet.insert(objectsIn: [5, 4])
        many.stringSet.insert("s")
        many.intMap["i"] = 1
        many.optStringMap["n"] = .some(nil)
        many.rankMap["r"] = .high
        let value = try many.snapshot(as: TypedValues.Collections.self)
        #expect(value.bools == [true, false] && value.ints == [3, -1] && value.int8s == [8])
        #expect(value.doubles == [0.5, .infinity] && value.strings == Array(many.strings))
        #expect(value.dates == Array(many.dates) && value.decimals == [2] && value.uuids == Array(many.uuids))
        #expect(value.ranks == [.mid, .low] && value.moods == [.wild] && value.metres == [9])
        #expect(value.optInts == [1, nil] && value.optStrings == [nil, "x"] && value.intSet == [4, 5])
        #expect(value.stringSet == ["s"] && value.intMap == ["i": 1] && value.rankMap == ["r": .high])
        #expect(value.optStringMap == ["n": nil])
        try realm.commitWrite()
        #expect(try realm.objects(Contract.Many.self).snapshots(as: TypedValues.Collections.self) == [value])
        #expect(try many.detached().snapshot(as: TypedValues.Collections.self) == value)
    }

    struct SiteValue: Codable, Sendable { var site: URL }

    @Test("Values may have custom types, URL for a text, and Decimal for a decimal")
    func customTypes() throws {
        let realm = try memoryRealm(CustomValues.Road.self)
        let road = try realm.write {
            let road = realm.create(CustomValues.Road.self)
            road.length = CustomValues.Length(5)
            road.optLength = CustomValues.Length(6)
            road.lengths.append(CustomValues.Length(7))
            road.site = "https://example.org/a"
            road.optSite = "b"
            road.sites.append("c")
            road.toll = try Decimal128(string: "1.25")
            return road
        }
        let value = CustomValues.RoadValue(
            length: CustomValues.Length(5), optLength: CustomValues.Length(6), lengths: [CustomValues.Length(7)],
            site: try #require(URL(string: "https://example.org/a")), optSite: URL(string: "b"),
            sites: [try #require(URL(string: "c"))], toll: try #require(Decimal(string: "1.25")))
        for object in [road, road.freeze(), road.detached()] {
            #expect(try object.snapshot(as: CustomValues.RoadValue.self) == value)
        }
        try realm.write {
            road.optLength = nil
            road.optSite = nil
            road.site = ""
        }
        #expect(throws: DecodingError.self) { try road.snapshot(as: SiteValue.self) }
        try realm.write { road.site = "d" }
        let others = try realm.objects(CustomValues.Road.self).snapshots(as: CustomValues.RoadValue.self)
        #expect(others.count == 1 && others[0].optLength == nil && others[0].optSite == nil)
        #expect(others[0].site == URL(string: "d"))
    }

    struct OptionalRank: Codable, Sendable { var optRank: TypedValues.Rank? }
    struct OptionalMood: Codable, Sendable { var optMood: TypedValues.Mood? }
    struct AnyRank: Codable, Sendable { var rank: Int }
    struct KnownRank: Codable, Sendable { var rank: TypedValues.Rank }

    @Test("A stored value without a case is nil if the property is optional, otherwise an error or the raw value")
    func unknownCases() throws {
        let (realm, full, _) = try Self.realm()
        try realm.write {
            full["optRank"] = 99
            full["optMood"] = "zzz"
            full["rank"] = 98
        }
        let all = realm.objects(All.self).sorted(byKeyPath: "pk")
        #expect(try all.snapshots(as: OptionalRank.self).map(\.optRank) == [nil, nil])
        #expect(try all.snapshots(as: OptionalMood.self).map(\.optMood) == [nil, nil])
        #expect(try all.snapshots(as: AnyRank.self).map(\.rank) == [98, 1])
        #expect(throws: DecodingError.self) { try all.snapshots(as: KnownRank.self) }
    }

    struct Anys: Codable, Sendable, Equatable {
        var anys: [Int?]
        var anyMap: [String: Double?]
    }
    struct Nested: Codable, Sendable, Equatable { var anys: [[String]] }
    struct AnyLinks: Codable, Sendable, Equatable { var any: [TypedValues.Key] }

    @Test("Elements of any type become values: nil, collections and objects")
    func anyElements() throws {
        let (realm, full, empty) = try Self.realm()
        let (many, nested) = try realm.write {
            let many = realm.create(Contract.Many.self)
            many.anys.append(objectsIn: [.int(1), .none, .int(3)])
            many.anyMap["half"] = .double(0.5)
            many.anyMap["two"] = .int(2)
            many.anyMap["none"] = AnyRealmValue.none
            let nested = realm.create(Contract.Many.self)
            nested.anys.append(objectsIn: [.fromArray([.string("a"), .string("b")]), .fromArray([])])
            full.any = .fromArray([.object(full), .object(empty)])
            return (many, nested)
        }
        let value = Anys(anys: [1, nil, 3], anyMap: ["half": 0.5, "two": 2, "none": nil])
        #expect(try many.snapshot(as: Anys.self) == value)
        #expect(try many.detached().snapshot(as: Anys.self) == value)
        #expect(try nested.snapshot(as: Nested.self).anys == [["a", "b"], []])
        #expect(try full.snapshot(as: AnyLinks.self).any.map(\.pk) == [1, 2])
    }

    struct Numbers: Codable, Sendable, Equatable {
        var int: Double
        var int8: Float
        var float: Double
        var double: Float
        var optInt: Double?
    }
    struct SingleDouble: Codable, Sendable { var double: Float }
    struct OptionalDouble: Codable, Sendable { var optDouble: Float? }

    @Test("A number is converted to another type if it is in range")
    func numbers() throws {
        let (realm, full, _) = try Self.realm()
        let value = Numbers(int: -3, int8: -8, float: 1.5, double: -2.25, optInt: 0)
        #expect(try full.snapshot(as: Numbers.self) == value)
        #expect(try full.detached().snapshot(as: Numbers.self) == value)
        try realm.write {
            full.double = 1e300
            full.optDouble = -1e300
        }
        for object in [full, full.detached()] {
            #expect(throws: DecodingError.self) { try object.snapshot(as: SingleDouble.self) }
            #expect(throws: DecodingError.self) { try object.snapshot(as: OptionalDouble.self) }
        }
        try realm.write { full.double = .infinity }
        #expect(try full.snapshot(as: SingleDouble.self).double == .infinity)
    }

    struct Narrow: Codable, Sendable { var int64: Int16 }
    struct Unsigned: Codable, Sendable { var int: UInt }
    struct WrongInList: Codable, Sendable {
        struct Element: Codable, Sendable { var string: Int }
        var list: [Element]
    }
    struct WrongInLink: Codable, Sendable {
        struct Target: Codable, Sendable { var missing: Int }
        var link: Target?
    }
    struct WrongElement: Codable, Sendable { var ints: [String] }

    /// The path of a decoding error, joined by dots.
    private func path(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "no error"
        } catch let error as DecodingError {
            let context: DecodingError.Context
            switch error {
            case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found): context = found
            case .keyNotFound(let key, let found):
                return (found.codingPath + [key]).map(\.stringValue).joined(separator: ".")
            @unknown default: return "\(error)"
            }
            return context.codingPath.map(\.stringValue).joined(separator: ".")
        } catch { return "\(error)" }
    }

    @Test("An error has the path to the value that does not fit")
    func paths() throws {
        let (realm, full, empty) = try Self.realm()
        let many = try realm.write {
            full.list.append(empty)
            full.link = empty
            return realm.create(Contract.Many.self, value: ["ints": [1]])
        }
        #expect(path { _ = try full.snapshot(as: Narrow.self) } == "int64")
        #expect(path { _ = try full.snapshot(as: Unsigned.self) } == "int")
        #expect(path { _ = try full.snapshot(as: WrongInList.self) } == "list.0.string")
        #expect(path { _ = try full.snapshot(as: WrongInLink.self) } == "link.missing")
        #expect(path { _ = try many.snapshot(as: WrongElement.self) } == "ints.0")
        #expect(path { _ = try realm.objects(All.self).snapshots(as: WrongInLink.self) } == "link.missing")
    }
}
