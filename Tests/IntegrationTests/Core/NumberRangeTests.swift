// SPDX-License-Identifier: Apache-2.0
// Numbers outside the range of a property's type. JSON has integers of any length: 9223372036854775808 is read as an
// unsigned NSNumber, and must not be stored as the smallest Int.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

class RangeRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var int = 0
    @Persisted var int64: Int64 = 0
    @Persisted var int32: Int32 = 0
    @Persisted var int16: Int16 = 0
    @Persisted var int8: Int8 = 0
    @Persisted var optional: Int?
    @Persisted var optional8: Int8?
    @Persisted var float: Float = 0
    @Persisted var double = 0.0
    @Persisted var decimal: Decimal128
    @Persisted var date = Date(timeIntervalSince1970: 0)
    @Persisted var any: AnyRealmValue
    @Persisted var ints: List<Int>
    @Persisted var int8s: MutableSet<Int8>
    @Persisted var int16s: Map<String, Int16>
    @Persisted var floats: List<Float>
}

@Suite("Ranges of numbers") struct NumberRangeTests {
    private static func realm() throws -> Realm { try memoryRealm(RangeRow.self) }

    /// The values of an object in JSON, as `JSONSerialization` reads them.
    private static func values(_ text: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    static let refused: [(property: String, json: String)] = [
        ("int", "9223372036854775808"), ("int", "-9223372036854775809"), ("int", "18446744073709551616"),
        ("int", "1e30"), ("int64", "9223372036854775808"), ("int32", "2147483648"), ("int32", "-2147483649"),
        ("int16", "32768"), ("int8", "128"), ("int8", "-129"), ("optional", "9223372036854775808"),
        ("optional8", "200"), ("float", "1e39"), ("float", "-1e39"), ("ints", "[1, 9223372036854775808]"),
        ("int8s", "[1, 128]"), ("int16s", #"{"a": 40000}"#), ("floats", "[1e300]"),
        ("decimal", #""1e7000""#), ("id", "9223372036854775808"),
    ]

    @Test("A number from JSON that is out of range is a programmer error that names the property", arguments: refused)
    func refusing(_ property: String, _ json: String) throws {
        nonisolated(unsafe) let values = try Self.values(#"{"\#(property)": \#(json)}"#)
        let bodies: [@Sendable () throws -> Void] = [
            { _ = RangeRow(value: values) },
            { RangeRow()[property] = values[property] },
            {
                let realm = try Self.realm()
                try realm.write { _ = realm.create(RangeRow.self, value: values) }
            },
            {
                let realm = try Self.realm()
                try realm.write { _ = realm.create(RangeRow.self, value: values, update: .modified) }
            },
            {
                let realm = try Self.realm()
                try realm.write { _ = realm.dynamicCreate("RangeRow", value: values) }
            },
        ]
        for (number, body) in bodies.enumerated() {
            let words = try misuseText(body)
            #expect(words?.contains("Invalid value") == true, "\(number): \(words ?? "stored")")
            let isCollection = json.hasPrefix("[") || json.hasPrefix("{")
            #expect(isCollection || words?.contains("'RangeRow.\(property)'") == true, "\(number): \(words ?? "")")
        }
    }

    @Test("A fixture with a number that is out of range throws its location, and nothing is stored", arguments: refused)
    func refusingFixtures(_ property: String, _ json: String) throws {
        let realm = try Self.realm()
        let text = #"{"RangeRow": [{"id": 1}, {"\#(property)": \#(json)}]}"#
        let error = #expect(throws: FixtureError.self) { try realm.seed(json: Data(text.utf8)) }
        #expect(error?.place.hasPrefix("RangeRow[1].\(property)") == true, "\(error?.description ?? "")")
        #expect(realm.isEmpty)
    }

    @Test("The least and the greatest number of each type are stored unchanged")
    func limits() throws {
        let text = """
            {"int": 9223372036854775807, "int64": -9223372036854775808, "int32": -2147483648, "int16": 32767,
            "int8": -128, "optional": 9223372036854775807, "float": 3e38, "double": 1e308,
            "decimal": "9.9e6144", "ints": [-9223372036854775808], "int8s": [127], "int16s": {"a": -32768}}
            """
        func check(_ row: RangeRow) {
            #expect(row.int == .max && row.int64 == .min && row.int32 == .min && row.int16 == .max && row.int8 == .min)
            #expect(row.optional == .max && row.float == 3e38 && row.double == 1e308)
            #expect(row.decimal == (try? Decimal128(string: "9.9e6144")), "\(row.decimal)")
            #expect(Array(row.ints) == [.min] && Array(row.int8s) == [127] && row.int16s["a"] == .min)
        }
        let values = try Self.values(text)
        check(RangeRow(value: values))
        let realm = try Self.realm()
        try realm.write { check(realm.create(RangeRow.self, value: values)) }
        let seeded = try Self.realm()
        try seeded.seed(json: Data(#"{"RangeRow": [\#(text)]}"#.utf8))
        check(try #require(seeded.objects(RangeRow.self).first))
    }

    @Test("A number above Int.max is stored in a value of any type as a decimal")
    func anyValues() throws {
        let values = try Self.values(#"{"any": [9223372036854775808, 18446744073709551616, 9223372036854775807]}"#)
        let realm = try Self.realm()
        let row = try realm.write { realm.create(RangeRow.self, value: values) }
        let list = try #require(row.any.listValue)
        #expect(list[0] == .decimal128(try Decimal128(string: "9223372036854775808")))
        #expect(list[1] == .decimal128(try Decimal128(string: "18446744073709551616")))
        #expect(list[2] == .int(.max))
    }

    @Test("Unsigned numbers are stored if they are in range")
    func unsigned() throws {
        #expect(
            RangeRow(value: ["int": UInt64(5), "int8": UInt8(127), "int32": NSNumber(value: UInt64(7))]).int32 == 7)
        for value in [UInt64(1) << 63 as Any, NSNumber(value: UInt64.max), UInt.max] {
            nonisolated(unsafe) let value = value
            let words = try misuseText { _ = RangeRow(value: ["int": value]) }
            #expect(words?.contains("'RangeRow.int'") == true, "\(words ?? "stored")")
        }
    }

    @Test("A fixture with an invalid date throws")
    func dates() throws {
        let realm = try Self.realm()
        for json in ["1e300", "-1e19", #""today""#] {
            let text = #"{"RangeRow": [{"date": \#(json)}]}"#
            let error = #expect(throws: FixtureError.self) { try realm.seed(json: Data(text.utf8)) }
            #expect(error?.place == "RangeRow[0].date")
        }
        try realm.seed(json: Data(#"{"RangeRow": [{"date": 1e15}]}"#.utf8))
        #expect(realm.objects(RangeRow.self).first?.date == Date(timeIntervalSince1970: 1e15))
    }
}
