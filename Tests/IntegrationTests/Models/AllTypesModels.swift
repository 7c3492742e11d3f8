// SPDX-License-Identifier: Apache-2.0
// Classes with every type of property in every kind of collection, for tests of generic code.

import Foundation
import RealmSwift

extension Contract {
    enum Rank: Int, PersistableEnum { case low = 1, mid, high }
    enum Mood: String, PersistableEnum { case calm = "a", wild = "b" }

    /// Stored as an Int.
    struct Metres: CustomPersistable {
        var value: Int
        init(_ value: Int) { self.value = value }
        init(persistedValue: Int) { value = persistedValue }
        var persistableValue: Int { value }
    }

    /// Stored as a String.
    struct Label: FailableCustomPersistable {
        var text: String
        init(_ text: String) { self.text = text }
        init?(persistedValue: String) { text = persistedValue }
        var persistableValue: String { text }
    }

    class Part: EmbeddedObject {
        @Persisted var size = 0
        @Persisted var word: String?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class All: Object {
        @Persisted(primaryKey: true) var pk = 0
        @Persisted var bool = false
        @Persisted var int = 0
        @Persisted var int8: Int8 = 0
        @Persisted var int16: Int16 = 0
        @Persisted var int32: Int32 = 0
        @Persisted var int64: Int64 = 0
        @Persisted var float: Float = 0
        @Persisted var double = 0.0
        @Persisted var string = ""
        @Persisted var data = Data()
        @Persisted var date = Date(timeIntervalSince1970: 0)
        @Persisted var decimal = Decimal128()
        @Persisted var objectId = ObjectId()
        @Persisted var uuid = UUID()
        @Persisted var any: AnyRealmValue
        @Persisted var rank = Rank.low
        @Persisted var mood = Mood.calm
        @Persisted var metres = Metres(0)
        @Persisted var label = Label("")

        @Persisted var optBool: Bool?
        @Persisted var optInt: Int?
        @Persisted var optInt8: Int8?
        @Persisted var optInt16: Int16?
        @Persisted var optInt32: Int32?
        @Persisted var optInt64: Int64?
        @Persisted var optFloat: Float?
        @Persisted var optDouble: Double?
        @Persisted var optString: String?
        @Persisted var optData: Data?
        @Persisted var optDate: Date?
        @Persisted var optDecimal: Decimal128?
        @Persisted var optObjectId: ObjectId?
        @Persisted var optUuid: UUID?
        @Persisted var optRank: Rank?
        @Persisted var optMood: Mood?
        @Persisted var optMetres: Metres?
        @Persisted var optLabel: Label?

        @Persisted var link: All?
        @Persisted var part: Part?
        @Persisted(originProperty: "link") var parents: LinkingObjects<All>
        @Persisted(originProperty: "list") var holders: LinkingObjects<All>

        @Persisted var list: List<All>
        @Persisted var set: MutableSet<All>
        @Persisted var map: Map<String, All?>
        @Persisted var parts: List<Part>
        @Persisted var partMap: Map<String, Part?>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Many: Object {
        @Persisted var bools: List<Bool>
        @Persisted var ints: List<Int>
        @Persisted var int8s: List<Int8>
        @Persisted var floats: List<Float>
        @Persisted var doubles: List<Double>
        @Persisted var strings: List<String>
        @Persisted var datas: List<Data>
        @Persisted var dates: List<Date>
        @Persisted var decimals: List<Decimal128>
        @Persisted var objectIds: List<ObjectId>
        @Persisted var uuids: List<UUID>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var ranks: List<Rank>
        @Persisted var moods: List<Mood>
        @Persisted var metres: List<Metres>
        @Persisted var labels: List<Label>
        @Persisted var optInts: List<Int?>
        @Persisted var optStrings: List<String?>
        @Persisted var optDates: List<Date?>
        @Persisted var optDecimals: List<Decimal128?>
        @Persisted var optRanks: List<Rank?>
        @Persisted var optMetres: List<Metres?>

        @Persisted var intSet: MutableSet<Int>
        @Persisted var doubleSet: MutableSet<Double>
        @Persisted var stringSet: MutableSet<String>
        @Persisted var dateSet: MutableSet<Date>
        @Persisted var decimalSet: MutableSet<Decimal128>
        @Persisted var anySet: MutableSet<AnyRealmValue>
        @Persisted var rankSet: MutableSet<Rank>
        @Persisted var metreSet: MutableSet<Metres>
        @Persisted var optIntSet: MutableSet<Int?>

        @Persisted var intMap: Map<String, Int>
        @Persisted var doubleMap: Map<String, Double>
        @Persisted var stringMap: Map<String, String>
        @Persisted var dateMap: Map<String, Date>
        @Persisted var decimalMap: Map<String, Decimal128>
        @Persisted var anyMap: Map<String, AnyRealmValue>
        @Persisted var rankMap: Map<String, Rank>
        @Persisted var metreMap: Map<String, Metres>
        @Persisted var optIntMap: Map<String, Int?>
        @Persisted var optStringMap: Map<String, String?>
        @Persisted var optRankMap: Map<String, Rank?>
        @Persisted var optMetreMap: Map<String, Metres?>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static func allTypes() throws -> Realm { try memoryRealm(All.self, Part.self, Many.self) }
}
