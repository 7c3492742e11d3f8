// SPDX-License-Identifier: Apache-2.0
// Stores every value type through setters, `add`, `create` and lists, and reads it in the same write, after it, and
// from a reopened file.

import Foundation
import RealmSwift
import Testing

enum ValueModels {
    enum Colour: String, PersistableEnum { case red, green = "grün", empty = "" }
    enum Level: Int, PersistableEnum { case low = -1, high = 9_000_000_000 }

    class Bare: Object {
        @Persisted var bool: Bool
        @Persisted var int: Int
        @Persisted var int8: Int8
        @Persisted var int16: Int16
        @Persisted var int32: Int32
        @Persisted var int64: Int64
        @Persisted var float: Float
        @Persisted var double: Double
        @Persisted var string: String
        @Persisted var data: Data
        @Persisted var date: Date
        @Persisted var uuid: UUID
        @Persisted var oid: ObjectId
        @Persisted var decimal: Decimal128
        @Persisted var colour: Colour
        @Persisted var level: Level
    }

    class Optionals: Object {
        @Persisted var bool: Bool?
        @Persisted var int: Int?
        @Persisted var int8: Int8?
        @Persisted var int16: Int16?
        @Persisted var int32: Int32?
        @Persisted var int64: Int64?
        @Persisted var float: Float?
        @Persisted var double: Double?
        @Persisted var string: String?
        @Persisted var data: Data?
        @Persisted var date: Date?
        @Persisted var uuid: UUID?
        @Persisted var oid: ObjectId?
        @Persisted var decimal: Decimal128?
        @Persisted var colour: Colour?
        @Persisted var level: Level?
    }

    class Lists: Object {
        @Persisted var bool: List<Bool>
        @Persisted var int: List<Int>
        @Persisted var int8: List<Int8>
        @Persisted var int16: List<Int16?>
        @Persisted var int32: List<Int32>
        @Persisted var int64: List<Int64?>
        @Persisted var float: List<Float>
        @Persisted var double: List<Double?>
        @Persisted var string: List<String?>
        @Persisted var data: List<Data?>
        @Persisted var date: List<Date?>
        @Persisted var uuid: List<UUID?>
        @Persisted var oid: List<ObjectId?>
        @Persisted var decimal: List<Decimal128?>
        @Persisted var colour: List<Colour>
        @Persisted var level: List<Level?>
    }

    static let types: [ObjectBase.Type] = [Bare.self, Optionals.self, Lists.self]

    /// Values by property name.
    static let samples: [String: [any Hashable & Sendable]] = [
        "bool": [true, false],
        "int": [Int.min, Int.max, 0, -1, 1],
        "int8": [Int8.min, Int8.max, Int8(0)],
        "int16": [Int16.min, Int16.max, Int16(0)],
        "int32": [Int32.min, Int32.max, Int32(0)],
        "int64": [Int64.min, Int64.max, Int64(0)],
        "float": [
            Float.infinity, -Float.infinity, -0.0 as Float, Float.leastNonzeroMagnitude,
            Float.greatestFiniteMagnitude, 0.1 as Float,
        ],
        "double": [
            Double.infinity, -Double.infinity, -0.0, Double.leastNonzeroMagnitude,
            Double.greatestFiniteMagnitude, 0.1,
        ],
        "string": [
            "", "a", "\0", "a\0b\0", "👩‍👩‍👧‍👦🇯🇵", "e\u{301}", "\u{e9}", String(repeating: "x", count: 2047),
            String(repeating: "ß", count: 1025), String(repeating: "long ", count: 40_000),
        ],
        "data": [
            Data(), Data([0]), Data([0, 255, 0]), Data(repeating: 7, count: 2048),
            Data(repeating: 8, count: 2049),
            Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) }),
        ],
        "date": [
            Date.distantPast, Date.distantFuture, Date(timeIntervalSince1970: 0),
            Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: -0.5),
            Date(timeIntervalSince1970: -1.25), Date(timeIntervalSince1970: 0.75),
            Date(timeIntervalSinceReferenceDate: 1e-9), Date(timeIntervalSince1970: 1_700_000_000.125),
        ],
        "uuid": [
            UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), UUID(),
            UUID(
                uuid: (255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 254)),
        ],
        "oid": [
            ObjectId("000000000000000000000000"), ObjectId("ffffffffffffffffffffffff"),
            ObjectId("0123456789abcdef01234567"),
        ],
        "decimal": [
            0, "-1.5", Decimal128.min, Decimal128.max, "1E-6176", "nan", "inf", "-inf",
            "1234567890123456789012345678901234",
        ] as [Decimal128],
        "colour": [Colour.red, Colour.green, Colour.empty],
        "level": [Level.low, Level.high],
    ]
    static let names = samples.keys.sorted()
}

@Suite("Values of every type")
struct ValueTypesTests {
    typealias Bare = ValueModels.Bare
    typealias Optionals = ValueModels.Optionals
    typealias Lists = ValueModels.Lists

    /// The value that a subscript returns: enums as raw values, integers as Int. Text is compared by its bytes,
    /// because Swift treats texts of different bytes as equal.
    static func shown(_ value: Any?) -> AnyHashable? {
        if let value, type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            // Infinity and NaN of a Float report the type Double.
            let isFloating = ["f", "d"].contains(String(cString: number.objCType))
            return isFloating ? AnyHashable(number.floatValue.bitPattern) : AnyHashable(number.intValue)
        }
        return switch value {
        case let value as ValueModels.Colour: Array(value.rawValue.utf8)
        case let value as ValueModels.Level: value.rawValue
        case let value as any FixedWidthInteger: Int(value)
        case let value as Double: value.bitPattern
        case let value as Float: value.bitPattern
        case let value as String: Array(value.utf8)
        default: value as? AnyHashable
        }
    }

    static func expectSame(
        _ object: ObjectBase, _ name: String, _ value: Any?, _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(shown(object[name]) == shown(value), "\(name)", sourceLocation: location)
    }

    @Test(
        "Values of every type are stored and read unchanged, in the write, after it, and after reopening",
        arguments: ValueModels.names)
    func roundTrip(_ name: String) throws {
        try withFile(ValueModels.types) { configuration in
            let samples = try #require(ValueModels.samples[name])
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    for sample in samples {
                        let set = realm.create(Bare.self)
                        set[name] = sample
                        Self.expectSame(set, name, sample)
                        Self.expectSame(realm.create(Bare.self, value: [name: sample]), name, sample)
                        let added = Bare(value: [name: sample])
                        Self.expectSame(added, name, sample)
                        realm.add(added)
                        Self.expectSame(added, name, sample)

                        let optional = realm.create(Optionals.self)
                        #expect(optional[name] == nil)
                        optional[name] = sample
                        Self.expectSame(optional, name, sample)
                        let nulled = realm.create(Optionals.self, value: [name: sample])
                        nulled[name] = nil
                        #expect(nulled[name] == nil)
                        nulled[name] = sample
                        Self.expectSame(nulled, name, sample)
                        realm.add(Optionals(value: [name: sample]))
                    }
                    realm.create(Lists.self, value: [name: samples])
                }
            }
            let realm = try Realm(configuration: configuration)
            let bare = realm.objects(Bare.self)
            let optionals = realm.objects(Optionals.self)
            #expect(bare.count == 3 * samples.count)
            #expect(optionals.count == 3 * samples.count)
            for (index, sample) in samples.enumerated() {
                for copy in 0..<3 {
                    Self.expectSame(bare[3 * index + copy], name, sample)
                    Self.expectSame(optionals[3 * index + copy], name, sample)
                }
            }
            let list = try #require(realm.objects(Lists.self).first?[name] as? any RealmCollectionBase)
            #expect(Self.elements(list) == samples.map { Self.shown($0) })
        }
    }

    static func elements(_ list: any Sequence) -> [AnyHashable?] {
        func open<S: Sequence>(_ list: S) -> [AnyHashable?] { list.map { Self.shown($0) } }
        return open(list)
    }

    @Test("NaN is stored as NaN, even in optionals and lists")
    func nan() throws {
        let realm = try memoryRealm(Bare.self, Optionals.self, Lists.self)
        try realm.write {
            let bare = realm.create(Bare.self, value: ["double": Double.nan, "float": Float.nan])
            #expect(bare.double.isNaN && bare.float.isNaN)
            let optional = realm.create(Optionals.self, value: ["double": Double.nan, "float": Float.nan])
            #expect(optional.double?.isNaN == true && optional.float?.isNaN == true)
            let lists = realm.create(Lists.self, value: ["double": [Double.nan, nil], "float": [Float.nan]])
            #expect(lists.double[0]?.isNaN == true && lists.double[1] == nil && lists.float[0].isNaN)
        }
    }

    @Test("Dates are truncated to nanoseconds, NaN is stored as 1970, and values out of range are clamped")
    func dates() throws {
        let realm = try memoryRealm(Bare.self)
        try realm.write {
            let object = realm.create(Bare.self)
            func stored(_ interval: Double) -> Double {
                object.date = Date(timeIntervalSinceReferenceDate: interval)
                return object.date.timeIntervalSinceReferenceDate
            }
            #expect(stored(1e-9) == 1e-9)
            #expect(stored((1e-9).nextDown) == 0)
            #expect(stored(-1e-9) == -1e-9)
            #expect(stored((-1e-9).nextUp) == 0)
            object.date = Date(timeIntervalSinceReferenceDate: .nan)
            #expect(object.date == Date(timeIntervalSince1970: 0))
            #expect(stored(.infinity) > 9e18)
            #expect(stored(-.infinity) < -9e18)
            #expect(stored(1e300) == stored(.infinity))
            #expect(stored(-1e300) == stored(-.infinity))
            var random = SystemRandomNumberGenerator()
            for _ in 0..<1000 {
                let now = Date(timeIntervalSinceNow: Double.random(in: -1e9...1e9, using: &random))
                object.date = now
                #expect(
                    abs(object.date.timeIntervalSinceReferenceDate - now.timeIntervalSinceReferenceDate)
                        < 1e-7)
                let again = object.date
                object.date = again
                #expect(object.date == again)
            }
            let now = Date()
            object.date = now
            #expect(object.date == now)
        }
    }

    @Test("The longest text and data are stored, and one more byte is refused")
    func limits() throws {
        let realm = try memoryRealm(Bare.self, Lists.self)
        let text = String(repeating: "x", count: 16_777_199)
        let bytes = Data(count: 16_777_200)
        try realm.write {
            let object = realm.create(Bare.self)
            object.string = text
            object.data = bytes
            #expect(object.string.utf8.count == 16_777_199)
            #expect(object.data.count == 16_777_200)
        }
        for use in [Bare.tooLongText, Bare.tooLongTextCreated, Bare.tooLongTextInList] {
            #expect(try misuseText(use)?.contains("String too big") == true)
        }
        for use in [Bare.tooLongData, Bare.tooLongDataAdded] {
            #expect(try misuseText(use)?.contains("Binary too big") == true)
        }
    }

    @Test("Defaults are zero, empty or the first case; random defaults are different for each object")
    func defaults() throws {
        let realm = try memoryRealm(Bare.self, Optionals.self)
        try realm.write {
            let before = Date()
            let first = realm.create(Bare.self)
            let second = Bare()
            let drawn = second.uuid
            let date = second.date
            realm.add(second)
            #expect(second.uuid == drawn && second.date == date)
            #expect(first.uuid != second.uuid && first.oid != second.oid)
            #expect(first.date >= before.addingTimeInterval(-1e-6))
            #expect(first.int == 0 && first.string == "" && first.data == Data() && first.colour == .red)
            #expect(first.level == .low && !first.bool && first.double == 0)
            let empty = realm.create(Optionals.self)
            for name in ValueModels.names { #expect(empty[name] == nil) }
        }
    }

    @Test("An unknown raw value reads as nil through an optional enum, and is kept")
    func unknownEnum() throws {
        let realm = try memoryRealm(Optionals.self)
        try realm.write {
            let object = realm.create(Optionals.self)
            object["level"] = 10
            #expect(object.level == nil)
            #expect(object["level"] as? Int == 10)
            object["colour"] = "mauve"
            #expect(object.colour == nil)
            #expect(object["colour"] as? String == "mauve")
        }
    }

    @Test("Numbers of any width can be set by name if they are in range")
    func dynamicNumbers() throws {
        let realm = try memoryRealm(Bare.self)
        try realm.write {
            let object = realm.create(Bare.self)
            object["int8"] = 100
            #expect(object.int8 == 100)
            #expect(object["int8"] as? Int == 100)
            object["int"] = Int16(7)
            #expect(object.int == 7)
            object["double"] = 3
            #expect(object.double == 3)
            object["float"] = 2.5
            #expect(object.float == 2.5)
            object["int64"] = NSNumber(value: 12)
            #expect(object.int64 == 12)
            object["bool"] = 1
            #expect(object.bool)
        }
    }

    @Test(
        "Stored dates are equal to the original",
        arguments: [
            Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date(timeIntervalSinceReferenceDate: 0.1),
            Date(timeIntervalSince1970: -1.25),
        ])
    func equalDates(_ date: Date) throws {
        let realm = try Contract.realm()
        let values = try realm.write { realm.create(Contract.Values.self, value: ["date": date, "optDate": date]) }
        #expect(
            values.date == date && values.optDate == date
                && realm.objects(Contract.Values.self).where { $0.date == date }.count == 1)
    }
}

extension ValueModels.Bare {
    @Sendable static func tooLongText() throws {
        let realm = try memoryRealm(ValueModels.Bare.self)
        try realm.write {
            realm.create(ValueModels.Bare.self).string = String(repeating: "x", count: 16_777_200)
        }
    }
    @Sendable static func tooLongTextCreated() throws {
        let realm = try memoryRealm(ValueModels.Bare.self)
        try realm.write {
            _ = realm.create(
                ValueModels.Bare.self, value: ["string": String(repeating: "x", count: 16_777_200)])
        }
    }
    @Sendable static func tooLongTextInList() throws {
        let realm = try memoryRealm(ValueModels.Lists.self)
        try realm.write {
            realm.create(ValueModels.Lists.self).string.append(String(repeating: "x", count: 16_777_200))
        }
    }
    @Sendable static func tooLongData() throws {
        let realm = try memoryRealm(ValueModels.Bare.self)
        try realm.write { realm.create(ValueModels.Bare.self).data = Data(count: 16_777_201) }
    }
    @Sendable static func tooLongDataAdded() throws {
        let realm = try memoryRealm(ValueModels.Bare.self)
        let object = ValueModels.Bare()
        object.data = Data(count: 16_777_201)
        try realm.write { realm.add(object) }
    }
}
