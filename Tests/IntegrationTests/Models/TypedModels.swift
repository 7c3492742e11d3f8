// SPDX-License-Identifier: Apache-2.0
// A class with a property of every type, optional and not, indexed and not, and the values in a form that
// TypedDifferentialTests.swift can compare itself.

import Foundation
import RealmSwift

enum Typed {
    enum Rank: Int, PersistableEnum { case low = 1, mid, high }

    class Row: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var bool = false
        @Persisted var optBool: Bool?
        @Persisted(indexed: true) var indexedBool = false
        @Persisted(indexed: true) var indexedOptBool: Bool?
        @Persisted var int = 0
        @Persisted var optInt: Int?
        @Persisted(indexed: true) var indexedInt = 0
        @Persisted(indexed: true) var indexedOptInt: Int?
        @Persisted var int8: Int8 = 0
        @Persisted var optInt16: Int16?
        @Persisted var float: Float = 0
        @Persisted var optFloat: Float?
        @Persisted var double = 0.0
        @Persisted var optDouble: Double?
        @Persisted var decimal = Decimal128()
        @Persisted var optDecimal: Decimal128?
        @Persisted var string = ""
        @Persisted var optString: String?
        @Persisted(indexed: true) var indexedString = ""
        @Persisted(indexed: true) var indexedOptString: String?
        @Persisted var data = Data()
        @Persisted var optData: Data?
        @Persisted var date = Date(timeIntervalSince1970: 0)
        @Persisted var optDate: Date?
        @Persisted(indexed: true) var indexedDate = Date(timeIntervalSince1970: 0)
        @Persisted(indexed: true) var indexedOptDate: Date?
        @Persisted var objectId = ObjectId()
        @Persisted var optObjectId: ObjectId?
        @Persisted(indexed: true) var indexedObjectId = ObjectId()
        @Persisted(indexed: true) var indexedOptObjectId: ObjectId?
        @Persisted var uuid = UUID()
        @Persisted var optUuid: UUID?
        @Persisted(indexed: true) var indexedUuid = UUID()
        @Persisted(indexed: true) var indexedOptUuid: UUID?
        @Persisted var any: AnyRealmValue
        @Persisted(indexed: true) var indexedAny: AnyRealmValue
        @Persisted var rank = Rank.low
        @Persisted var optRank: Rank?

        @Persisted var bools: List<Bool>
        @Persisted var ints: List<Int>
        @Persisted var optInts: List<Int?>
        @Persisted var doubles: List<Double>
        @Persisted var decimals: List<Decimal128>
        @Persisted var strings: List<String>
        @Persisted var optStrings: List<String?>
        @Persisted var dates: List<Date>
        @Persisted var uuids: List<UUID>
        @Persisted var anys: List<AnyRealmValue>
        @Persisted var intSet: MutableSet<Int>
        @Persisted var stringSet: MutableSet<String>
        @Persisted var intMap: Map<String, Int>
        @Persisted var optStringMap: Map<String, String?>

        @Persisted var link: Row?
        @Persisted var links: List<Row>
        @Persisted(originProperty: "link") var back: LinkingObjects<Row>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// A value that is comparable without the database. Numbers are multiples of 0.5, which all types represent
    /// exactly.
    enum Plain: Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case text(String)
        case data([UInt8])
        case date(Double)
        case objectId(String)
        case uuid(String)
        case object(Int)

        var isNumber: Bool { if case .number(let value) = self { !value.isNaN } else { false } }
        var isNaN: Bool { if case .number(let value) = self { value.isNaN } else { false } }
    }

    static let words = ["", "a", "A", "ab", "Ab", "b", "aé", "É", "é", "b a", "a*"]
    static let datas = words.map { Data($0.utf8) }
    static let dates = [0, 1, 5.5, 1000].map { Date(timeIntervalSince1970: $0) }
    static let ids = ["000000000000000000000000", "0123456789abcdef01234567", "ff00000000000000000000ff"]
    static let uuids = [
        "00000000-0000-0000-0000-000000000000", "00112233-4455-6677-8899-AABBCCDDEEFF",
        "FF112233-4455-6677-8899-AABBCCDDEEFF",
    ]
}

// MARK: Comparison in plain Swift

extension Typed.Plain {
    /// The result of a comparison with the operator's name in predicates. Values of different types are different,
    /// and neither less nor greater. `isAny`: for a value of any type, where data is compared exactly, whatever the
    /// options are. `isNullLess`: for a comparison with a constant, where null is less than any text and any data.
    static func holds(
        _ found: Typed.Plain, _ operation: String, _ value: Typed.Plain, _ options: StringOptions = [],
        isAny: Bool = false, isNullLess: Bool = false
    ) -> Bool {
        if found == .null || value == .null {
            if isNullLess, value == .null, found.bytes([]) != nil, operation.hasPrefix(">") { return true }
            switch operation {
            case "==", "<=", ">=", "LIKE": return found == value
            case "!=": return found != value
            default: return false
            }
        }
        var options = options
        if isAny, case .data = value { options = [] }
        if let left = found.bytes(options), let right = value.bytes(options) {
            switch operation {
            case "BEGINSWITH": return !right.isEmpty && left.starts(with: right)
            case "ENDSWITH": return !right.isEmpty && left.reversed().starts(with: right.reversed())
            case "CONTAINS": return !right.isEmpty && left.indices.contains { left[$0...].starts(with: right) }
            // The only pattern in the tests is "a*".
            case "LIKE": return right.last == 0x2A ? left.starts(with: right.dropLast()) : left == right
            case "==": return left == right
            case "!=": return left != right
            default: break
            }
        }
        guard let order = order(found, value) else { return operation == "!=" }
        switch operation {
        case "==": return order == 0
        case "!=": return order != 0
        case "<": return order < 0
        case "<=": return order <= 0
        case ">": return order > 0
        case ">=": return order >= 0
        default: return false
        }
    }

    /// The bytes of text, and of data that is compared as text, folded as the tests need it.
    private func bytes(_ options: StringOptions) -> [UInt8]? {
        var text: String
        switch self {
        case .text(let string): text = string
        case .data(let bytes): text = String(decoding: bytes, as: UTF8.self)
        default: return nil
        }
        if options.contains(.diacriticInsensitive) {
            text = text.replacing("é", with: "e").replacing("É", with: "E")
        }
        return Array((options.contains(.caseInsensitive) ? text.lowercased() : text).utf8)
    }

    /// -1, 0 or 1; nil if the types do not compare.
    static func order(_ a: Typed.Plain, _ b: Typed.Plain) -> Int? {
        switch (a, b) {
        case (.bool(let a), .bool(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.number(let a), .number(let b)):
            // NaN is the least value, and equal to itself.
            return a.isNaN || b.isNaN ? compare(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) : compare(a, b)
        case (.text(let a), .text(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.data(let a), .data(let b)): return compare(a, b)
        case (.date(let a), .date(let b)): return compare(a, b)
        case (.objectId(let a), .objectId(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.uuid(let a), .uuid(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.object(let a), .object(let b)): return compare(a, b)
        default: return nil
        }
    }

    private static func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }

    /// An aggregate over the elements of a collection, without nulls and NaN.
    static func figure(_ name: String, _ elements: [Typed.Plain]) -> Typed.Plain {
        let counted = elements.filter { element in
            if case .date = element { true } else { element.isNumber }
        }
        switch name {
        case "@count": return .number(Double(elements.count))
        case "@min": return counted.min { order($0, $1) == -1 } ?? .null
        case "@max": return counted.max { order($0, $1) == -1 } ?? .null
        default: break
        }
        var sum = 0.0
        for case .number(let value) in counted { sum += value }
        if name == "@sum" { return .number(sum) }
        return counted.isEmpty ? .null : .number(sum / Double(counted.count))
    }
}

/// A type of properties whose values have a plain form.
protocol TypedForm {
    var plain: Typed.Plain { get }
}

extension Bool: TypedForm { var plain: Typed.Plain { .bool(self) } }
extension Int: TypedForm { var plain: Typed.Plain { .number(Double(self)) } }
extension Int8: TypedForm { var plain: Typed.Plain { .number(Double(self)) } }
extension Int16: TypedForm { var plain: Typed.Plain { .number(Double(self)) } }
extension Float: TypedForm { var plain: Typed.Plain { .number(Double(self)) } }
extension Double: TypedForm { var plain: Typed.Plain { .number(self) } }
extension Decimal128: TypedForm { var plain: Typed.Plain { .number(doubleValue) } }
extension String: TypedForm { var plain: Typed.Plain { .text(self) } }
extension Data: TypedForm { var plain: Typed.Plain { .data(Array(self)) } }
extension Date: TypedForm { var plain: Typed.Plain { .date(timeIntervalSince1970) } }
extension ObjectId: TypedForm { var plain: Typed.Plain { .objectId(stringValue) } }
extension UUID: TypedForm { var plain: Typed.Plain { .uuid(uuidString) } }
extension Typed.Rank: TypedForm { var plain: Typed.Plain { .number(Double(rawValue)) } }
extension Typed.Row: TypedForm { var plain: Typed.Plain { .object(id) } }
extension Optional: TypedForm where Wrapped: TypedForm { var plain: Typed.Plain { self?.plain ?? .null } }
extension AnyRealmValue: TypedForm {
    var plain: Typed.Plain {
        switch self {
        case .none: .null
        case .int(let value): value.plain
        case .bool(let value): value.plain
        case .float(let value): value.plain
        case .double(let value): value.plain
        case .string(let value): value.plain
        case .data(let value): value.plain
        case .date(let value): value.plain
        case .objectId(let value): value.plain
        case .decimal128(let value): value.plain
        case .uuid(let value): value.plain
        // The tests do not contain these values.
        case .object, .dictionary, .list: .null
        }
    }
}
