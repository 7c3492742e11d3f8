// SPDX-License-Identifier: Apache-2.0
// Dates and numbers of JSON: which texts are accepted, which are refused, and how exact they are.

import Foundation
import RealmSwift
import Testing

@Suite("Dates and numbers of JSON")
struct JSONScalarsTests {
    private typealias Dog = JSONModels.Dog

    private static func decoded(_ member: String, in realm: Realm) throws -> Dog {
        try realm.decode(Data(#"{"id": "a", \#(member)}"#.utf8), as: Dog.self)[0]
    }

    // History: Foundation's parser ignored text after a date, and rolled days and hours over that do not exist, so that
    // an invalid date was stored as another one. A value that does not fit must throw.
    @Test(
        "A text that is no date, and nothing but a date, is refused",
        arguments: [
            "2020-05-01T12:00:00Zjunk", "2020-02-30T12:00:00Z", "2021-02-29T12:00:00Z", "1900-02-29T12:00:00Z",
            "2020-04-31T12:00:00Z", "2020-13-01T12:00:00Z", "2020-00-01T12:00:00Z", "2020-01-00T12:00:00Z",
            "2020-05-01T24:00:00Z", "2020-05-01T99:00:00Z", "2020-05-01T12:60:00Z", "2020-05-01T12:00:60Z",
            "2020-05-01T12:00:00", "2020-05-01", "2020-05-01 12:00:00Z", "20200501T120000Z", "2020-5-1T12:00:00Z",
            "2020-05-01T12:00:00.Z", "2020-05-01T12:00:00,5Z", "2020-05-01T12:00:00+24:00", "2020-05-01T12:00:00+1:00",
            "2020-05-01T12:00:00+02:0", "2020-05-01T12:00:00+02:", "+2020-05-01T12:00:00Z", " 2020-05-01T12:00:00Z",
            "2020-05-01T12:00:00Z ", "12020-05-01T12:00:00Z", "2020-05-01T12:00:0\u{661}Z", "", "T", "Z",
        ])
    func refusedDates(_ text: String) throws {
        let realm = try JSONModels.realm()
        let error = #expect(throws: JSONObjectError.self) { try Self.decoded(#""born": "\#(text)""#, in: realm) }
        #expect(error?.path == "born" && error?.message.hasPrefix("must be an ISO 8601 text") == true)
        #expect(realm.isEmpty)
    }

    static let dates: [(text: String, seconds: Double)] = [
        ("1970-01-01T00:00:00Z", 0), ("2020-05-01T12:00:00Z", 1_588_334_400), ("2020-02-29T23:59:59Z", 1_583_020_799),
        ("2000-02-29T00:00:00Z", 951_782_400), ("1969-12-31T23:59:59.75Z", -0.25),
        ("2020-05-01T12:00:00.125Z", 1_588_334_400.125), ("2020-05-01t12:00:00z", 1_588_334_400),
        ("2020-05-01T12:00:00+02:00", 1_588_327_200), ("2020-05-01T12:00:00-0530", 1_588_354_200),
        ("2020-05-01T12:00:00+02", 1_588_327_200), ("2019-12-31T23:00:00-02:00", 1_577_840_400),
        ("0001-01-01T00:00:00Z", -62_135_596_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ("1582-10-14T00:00:00Z", -12_219_379_200), ("1500-03-01T00:00:00Z", -14_826_672_000),
    ]

    @Test("Dates of the Gregorian calendar, with fractions and offsets", arguments: dates)
    func acceptedDates(_ text: String, _ seconds: Double) throws {
        let realm = try JSONModels.realm()
        let born = try Self.decoded(#""born": "\#(text)""#, in: realm).born
        #expect(born == Date(timeIntervalSince1970: seconds), "\(born.map { $0.timeIntervalSince1970 } ?? .nan)")
    }

    // History: Foundation's format cut fractions off, so 0.1 s was written as 99 ms, and wrote dates before 1582 in the
    // Julian calendar, which other readers of ISO 8601 do not use.
    @Test("A date is written to the nearest millisecond, and read as it was written")
    func writtenDates() throws {
        let realm = try JSONModels.realm()
        let written = [
            (1_588_334_400.1, "2020-05-01T12:00:00.100Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
            (0.9996, "1970-01-01T00:00:01.000Z"), (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
            (-14_826_672_001, "1500-02-28T23:59:59.000Z"), (253_402_300_799.9, "9999-12-31T23:59:59.900Z"),
        ]
        for (seconds, text) in written {
            let dog = Dog(value: ["id": "a", "born": Date(timeIntervalSince1970: seconds)] as [String: Any])
            let json = String(decoding: try realm.encode(from: dog), as: UTF8.self)
            #expect(json.contains(#""born":"\#(text)""#), "\(json)")
        }
        // Every 1,000 days or so from the year 1 to 9999.
        for seconds in stride(from: -62_135_596_800.0, to: 253_402_300_799, by: 86_412_345.678) {
            let dog = Dog(value: ["id": "a", "born": Date(timeIntervalSince1970: seconds)] as [String: Any])
            let born = try #require(try realm.decode(realm.encode(from: dog), as: Dog.self)[0].born)
            #expect(abs(born.timeIntervalSince1970 - seconds) < 0.000_6, "\(seconds)")
        }
    }

    // History: 9007199254740993 was stored as 9007199254740992, although the documentation promised an error.
    @Test(
        "A number that its type cannot hold is refused",
        arguments: [
            #""sizes": {"x": 9007199254740993}"#, #""sizes": {"x": -9223372036854775807}"#, #""weight": 16777217"#,
            #""weight": 1e39"#, #""age": 4.00000000000000000001"#, #""age": 128"#,
            #""price": 12345678901234567890123456789012345"#, #""price": "1.2345678901234567890123456789012345""#,
            #""any": 123456789012345678901234567890123456789012"#,
        ])
    func refusedNumbers(_ member: String) throws {
        let realm = try JSONModels.realm()
        #expect(throws: JSONObjectError.self) { try Self.decoded(member, in: realm) }
        #expect(realm.isEmpty)
    }

    @Test("Whole numbers are kept, also as JavaScript writes them, and fractions are rounded to the nearest value")
    func acceptedNumbers() throws {
        let realm = try JSONModels.realm()
        let sizes = [
            ("9007199254740992", 0x1p53), ("1152921504606846976", 0x1p60), ("1152921504606847000", 0x1p60),
            ("18446744073709551616", 0x1p64), ("100000000000000000000000000000000000000000", 1e41), ("-0", -0.0),
            ("0.1", 0.1), ("0.1000000000000000000000000000001", 0.1), ("1e23", 1e23), ("-2.50", -2.5),
        ]
        for (text, size) in sizes {
            let dog = try Self.decoded(#""sizes": {"x": \#(text)}"#, in: realm)
            #expect(dog.sizes["x"] == size, "\(text)")
        }
        let dog = try Self.decoded(#""weight": 0.1, "age": 1.2e1, "price": 1.50"#, in: realm)
        let price = try Decimal128(string: "1.50")
        #expect(dog.weight == 0.1 as Float && dog.age == 12 && dog.price == price)
        let other = try Self.decoded(#""weight": 16777216, "age": -128.0, "price": 0.000"#, in: realm)
        #expect(other.weight == 16_777_216 && other.age == -128 && other.price == 0)
        let long = try Self.decoded(#""price": "1234567890123456789012345678901234000""#, in: realm)
        let rounded = try Decimal128(string: "1234567890123456789012345678901234E3")
        #expect(long.price == rounded)
    }
}
