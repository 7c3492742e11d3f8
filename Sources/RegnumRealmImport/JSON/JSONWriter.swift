// SPDX-License-Identifier: Apache-2.0
// Writes values as JSON. Types that JSON lacks are tagged as in MongoDB's Extended JSON, version 2, with a few tags of
// our own:
//
//   Int                 3; beyond 2^53 {"$numberLong": "9007199254740993"}
//   Float, Double       1.5, always with a point or an exponent; {"$numberDouble": "NaN"}, "Infinity", "-Infinity".
//                       A NaN whose bits differ from the usual ones also has "$bits", in hexadecimal digits
//   Float in a mixed value   {"$numberFloat": "1.5"}
//   Decimal128          {"$numberDecimal": "12E-1"}
//   Data                {"$binary": {"base64": "AQI=", "subType": "00"}}
//   Date                {"$date": {"$numberLong": "milliseconds since 1970"}}, with "$nanoseconds" for the rest.
//                       If Int64 cannot hold the milliseconds: {"$date": {"$numberLong": "seconds"}, "$unit": "s"}
//   ObjectId            {"$oid": "24 hexadecimal digits"}
//   UUID                {"$uuid": "8-4-4-4-12 hexadecimal digits"}
//   link                {"$ref": "class", "$id": key}
//   list, set           an array
//   dictionary          an object; in a mixed value, if a key begins with "$", {"$literal": {...}}
//   table in a table    an array of arrays

internal import Foundation
internal import RegnumRealmFile
internal import RegnumSystem

struct JSONWriter {
    /// Returns the name of the class for the table number of a link; nil if the table is left out.
    let className: (Int) -> String?
    /// Called with the reason if a value cannot be written unchanged.
    let lose: (String) -> Void

    /// The greatest number up to which a Double represents every integer exactly.
    private static let exactLimit: Int64 = 1 << 53

    /// Returns the value of a property as JSON.
    func text(_ value: RealmFileValue, _ property: SourceProperty) -> String {
        switch value {
        case .list(let values), .set(let values):
            guard property.collection != .none else { return text(value, isAny: true) }
            return "[" + values.map { text($0, isAny: property.type == .any) }.joined(separator: ",") + "]"
        case .dictionary(let entries):
            guard property.collection != .none else { return text(value, isAny: true) }
            return object(entries, isAny: property.type == .any)
        case .rows where property.type == .any:
            lose("a table within a value cannot be written")
            return "null"
        default: return text(value, isAny: property.type == .any)
        }
    }

    private func text(_ value: RealmFileValue, isAny: Bool) -> String {
        switch value {
        case .null: return "null"
        case .bool(let bit): return bit ? "true" : "false"
        case .int(let number):
            return number.magnitude <= UInt64(Self.exactLimit) ? "\(number)" : "{\"$numberLong\":\"\(number)\"}"
        case .float(let number):
            guard number.isFinite else {
                return Self.notFinite(Double(number), UInt64(number.bitPattern), 0x7fc0_0000, isAny)
            }
            return isAny ? "{\"$numberFloat\":\"\(number)\"}" : "\(number)"
        case .double(let number):
            return number.isFinite
                ? "\(number)" : Self.notFinite(number, number.bitPattern, Double.nan.bitPattern, false)
        case .string(let text): return Self.quoted(text)
        case .data(let data): return "{\"$binary\":{\"base64\":\"\(data.base64EncodedString())\",\"subType\":\"00\"}}"
        case .date(let date): return Self.date(date)
        case .decimal(let decimal): return "{\"$numberDecimal\":\"\(decimal)\"}"
        case .objectId(let id): return "{\"$oid\":\"\(id)\"}"
        case .uuid(let uuid): return "{\"$uuid\":\"\(uuid.uuidString.lowercased())\"}"
        case .link(let link):
            guard let name = className(link.tableIndex) else {
                lose("it links to a table that is left out")
                return "null"
            }
            return "{\"$ref\":\(Self.quoted(name)),\"$id\":\(link.key)}"
        case .list(let values), .set(let values):
            if case .set = value { lose("a set within a value of any type becomes a list") }
            return "[" + values.map { text($0, isAny: true) }.joined(separator: ",") + "]"
        case .dictionary(let entries):
            let isAmbiguous = entries.contains {
                if case .string(let key) = $0.key { key.hasPrefix("$") } else { false }
            }
            let object = object(entries, isAny: true)
            return isAmbiguous ? "{\"$literal\":\(object)}" : object
        case .rows(let rows):
            return "["
                + rows.map { "[" + $0.map { text($0, isAny: true) }.joined(separator: ",") + "]" }.joined(
                    separator: ",")
                + "]"
        }
    }

    private func object(_ entries: [RealmFileEntry], isAny: Bool) -> String {
        let members = entries.map { entry in
            let key: String =
                switch entry.key {
                case .string(let text): text
                case .int(let number): "\(number)"
                default: "\(entry.key)"
                }
            if case .string = entry.key {} else { lose("a dictionary key is not a text, and becomes one") }
            return "\(Self.quoted(key)):\(text(entry.value, isAny: isAny))"
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func notFinite(_ number: Double, _ bits: UInt64, _ usual: UInt64, _ isFloat: Bool) -> String {
        let tag = isFloat ? "$numberFloat" : "$numberDouble"
        if number.isInfinite { return "{\"\(tag)\":\"\(number < 0 ? "-" : "")Infinity\"}" }
        return "{\"\(tag)\":\"NaN\"" + (bits == usual ? "" : ",\"$bits\":\"\(String(bits, radix: 16))\"") + "}"
    }

    private static func date(_ date: RealmFileDate) -> String {
        let nanoseconds = Int64(date.nanoseconds)
        let (whole, isLarge) = date.seconds.multipliedReportingOverflow(by: 1000)
        let (milliseconds, isLarger) = whole.addingReportingOverflow(nanoseconds / 1_000_000)
        if isLarge || isLarger {
            return "{\"$date\":{\"$numberLong\":\"\(date.seconds)\"},\"$unit\":\"s\""
                + (nanoseconds == 0 ? "}" : ",\"$nanoseconds\":\(nanoseconds)}")
        }
        let rest = nanoseconds % 1_000_000
        return "{\"$date\":{\"$numberLong\":\"\(milliseconds)\"}" + (rest == 0 ? "}" : ",\"$nanoseconds\":\(rest)}")
    }

    /// Returns a text as a JSON string, with quotation marks and escapes.
    static func quoted(_ string: String) -> String {
        var text = ""
        JSONValue.quote(string, to: &text)
        return text
    }
}
