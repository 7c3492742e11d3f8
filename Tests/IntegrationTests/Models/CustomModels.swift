// SPDX-License-Identifier: Apache-2.0
// Model classes for the tests of custom types.

import Foundation
import RealmSwift

enum Custom {
    /// Any stored type in a struct, with a member for which zeroed memory is not a valid value.
    struct Wrapped<Stored: _PersistableInsideOptional & Hashable>: CustomPersistable, Comparable
    where Stored: Comparable {
        let stored: Stored
        private let extra: any Hashable & Sendable = 1

        init(_ stored: Stored) { self.stored = stored }
        init(persistedValue: Stored) { stored = persistedValue }
        var persistableValue: Stored { stored }
        static func == (left: Self, right: Self) -> Bool { left.stored == right.stored }
        static func < (left: Self, right: Self) -> Bool { left.stored < right.stored }
        func hash(into hasher: inout Hasher) { hasher.combine(stored) }
    }

    /// For types without an order.
    struct Plain<Stored: _PersistableInsideOptional & Hashable>: CustomPersistable {
        let stored: Stored
        init(_ stored: Stored) { self.stored = stored }
        init(persistedValue: Stored) { stored = persistedValue }
        var persistableValue: Stored { stored }
    }

    enum Size: String, PersistableEnum { case small, large }

    /// Stored as text; an empty text or one with spaces converts to no value.
    struct Word: FailableCustomPersistable, Codable {
        let text: String
        init?(persistedValue: String) {
            if persistedValue.isEmpty || persistedValue.contains(" ") { return nil }
            text = persistedValue
        }
        init(_ text: String) { self.text = text }
        var persistableValue: String { text }
    }

    class Point: EmbeddedObject {
        @Persisted var x = 7
        @Persisted var y = 8
    }

    /// Stored as an embedded object.
    struct Location: CustomPersistable {
        var x: Int
        var y: Int
        init(_ x: Int, _ y: Int) {
            self.x = x
            self.y = y
        }
        init(persistedValue: Point) { self.init(persistedValue.x, persistedValue.y) }
        var persistableValue: Point { Point(value: [x, y]) }
    }

    /// Stored as an embedded object that cannot be compared member by member.
    class Holder: EmbeddedObject {
        @Persisted var marks: List<Int>
    }

    struct Marks: CustomPersistable {
        var marks: [Int]
        init(persistedValue: Holder) { marks = Array(persistedValue.marks) }
        init(_ marks: [Int]) { self.marks = marks }
        var persistableValue: Holder { Holder(value: [marks]) }
    }

    /// Stored as an embedded object; one with a negative x converts to no value.
    struct Span: FailableCustomPersistable {
        var x: Int
        init(_ x: Int) { self.x = x }
        init?(persistedValue: Point) {
            if persistedValue.x < 0 { return nil }
            x = persistedValue.x
        }
        var persistableValue: Point { Point(value: [x, 0]) }
    }

    class Measured: Object {
        @Persisted var length = Span(1)
        @Persisted var optLength: Span?
    }

    class Everything: Object {
        @Persisted(primaryKey: true) var id: Wrapped<Int>
        @Persisted var bool: Plain<Bool>
        @Persisted(indexed: true) var int: Wrapped<Int>
        @Persisted var int8: Wrapped<Int8>
        @Persisted var int16: Wrapped<Int16>
        @Persisted var int32: Wrapped<Int32>
        @Persisted var int64: Wrapped<Int64>
        @Persisted var float: Wrapped<Float>
        @Persisted var double: Wrapped<Double>
        @Persisted(indexed: true) var string: Wrapped<String>
        @Persisted var data: Plain<Data>
        @Persisted var date: Wrapped<Date>
        @Persisted var decimal: Wrapped<Decimal128>
        @Persisted var objectId: Plain<ObjectId>
        @Persisted var uuid: Plain<UUID>
        @Persisted var size: Wrapped<Size>
        @Persisted var location: Location

        @Persisted var optBool: Plain<Bool>?
        @Persisted var optInt: Wrapped<Int>?
        @Persisted var optFloat: Wrapped<Float>?
        @Persisted var optDouble: Wrapped<Double>?
        @Persisted var optString: Wrapped<String>?
        @Persisted var optData: Plain<Data>?
        @Persisted var optDate: Wrapped<Date>?
        @Persisted var optDecimal: Wrapped<Decimal128>?
        @Persisted var optObjectId: Plain<ObjectId>?
        @Persisted var optUuid: Plain<UUID>?
        @Persisted var optSize: Wrapped<Size>?
        @Persisted var optLocation: Location?
    }

    class Collections: Object {
        @Persisted var ints: List<Wrapped<Int>>
        @Persisted var optInts: List<Wrapped<Int>?>
        @Persisted var dates: List<Wrapped<Date>>
        @Persisted var decimals: List<Wrapped<Decimal128>>
        @Persisted var uuids: MutableSet<Plain<UUID>>
        @Persisted var strings: MutableSet<Wrapped<String>>
        @Persisted var doubles: Map<String, Wrapped<Double>>
        @Persisted var words: List<Word?>
        @Persisted var places: List<Location>
        @Persisted var named: Map<String, Location?>
    }

    class Failing: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var word = Word("first")
        @Persisted var optWord: Word?
    }

    class Undefaulted: Object {
        @Persisted var word: Word
    }

    class Uncomparable: Object {
        @Persisted var marks: Marks
    }

    class TopLevel: Object {
        @Persisted var x = 0
    }

    struct Linked: CustomPersistable {
        init(persistedValue: TopLevel) {}
        var persistableValue: TopLevel { TopLevel() }
    }

    class BadlyLinked: Object {
        @Persisted var linked: Linked
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Coded: Object, Codable {
        @Persisted var id = 0
        @Persisted var word = Word("w")
        @Persisted var optWord: Word?
    }

    static let types: [ObjectBase.Type] = [
        Point.self, Holder.self, Everything.self, Collections.self, Failing.self, Undefaulted.self, Uncomparable.self,
        Coded.self, Measured.self,
    ]

    static func realm() throws -> Realm {
        try Realm(configuration: Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: types))
    }

    static func pointCount(_ realm: Realm) -> Int { realm.dynamicObjects(Point.className()).count }

    /// The names of the properties of `Everything` except the key, with a value of the persisted type.
    static var values: [(name: String, value: AnyHashable)] {
        let date = Date(timeIntervalSinceReferenceDate: 12345.5)
        let id = ObjectId("0123456789abcdef01234567")
        let uuid = UUID(uuidString: "6E4FF95B-00BC-405F-AAB0-BB3C3D2D2A93") ?? UUID()
        let simple: [(String, AnyHashable)] = [
            ("bool", true), ("int", 5), ("float", Float(1.5)), ("double", 2.5), ("string", "text"),
            ("data", Data([1, 2])), ("date", date), ("decimal", Decimal128(value: "1.25")), ("objectId", id),
            ("uuid", uuid), ("size", "large"),
        ]
        let optional = simple.map { ("opt" + $0.0.prefix(1).uppercased() + $0.0.dropFirst(), $0.1) }
        return simple + optional + [("int8", 8), ("int16", 16), ("int32", 32), ("int64", 64)]
    }
}
