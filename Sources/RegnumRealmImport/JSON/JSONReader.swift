// SPDX-License-Identifier: Apache-2.0
// Converts JSON that JSONWriter has written to values, according to the type of the property.

internal import Foundation
internal import RegnumRealmFile
internal import RegnumSystem

struct JSONReader {
    struct Problem: Error {
        var words: String
    }

    /// Returns the index of the class with that name; nil if there is none.
    let classIndex: (String) -> Int?

    /// Returns the value of a property. A missing property is null, or an empty collection. Throws `Problem`.
    func value(_ json: JSONValue?, _ property: SourceProperty) throws -> RealmFileValue {
        let json = json ?? .null
        if property.type == .rows { return try rows(json) }
        switch (property.collection, json) {
        case (.none, _): return try single(json, property.type)
        case (.list, .null): return .list([])
        case (.set, .null): return .set([])
        case (.dictionary, .null): return .dictionary([])
        case (.list, .array(let values)): return .list(try values.map { try single($0, property.type) })
        case (.set, .array(let values)): return .set(try values.map { try single($0, property.type) })
        case (.dictionary, .object(let members)):
            return .dictionary(
                try members.map { RealmFileEntry(key: .string($0.key), value: try single($0.value, property.type)) })
        default: throw Problem(words: "it is not a \(property.collection)")
        }
    }

    /// Returns the rows of a table within a table, which no file can hold any longer: an array of arrays.
    private func rows(_ json: JSONValue) throws -> RealmFileValue {
        if json == .null { return .rows([]) }
        guard case .array(let rows) = json else { throw Problem(words: "it is not an array of rows") }
        return .rows(
            try rows.map { row in
                guard case .array(let values) = row else { throw Problem(words: "a row is not an array") }
                return try values.map { try any($0) }
            })
    }

    private func single(_ json: JSONValue, _ type: RealmFileProperty.ValueType) throws -> RealmFileValue {
        if json == .null { return .null }
        switch type {
        case .any: return try any(json)
        case .bool:
            if case .bool(let bit) = json { return .bool(bit) }
        case .int:
            if let number = integer(json) { return .int(number) }
        case .float:
            if let number = try float(json) { return .float(number) }
        case .double:
            if let number = try double(json) { return .double(number) }
        case .string:
            if case .string(let text) = json { return .string(text) }
        default:
            let value = try tagged(json)
            switch (type, value) {
            case (.data, .data), (.date, .date), (.decimal, .decimal), (.objectId, .objectId), (.uuid, .uuid),
                (.link, .link):
                return value
            case (.decimal, .int(let number)): return try decimal("\(number)")
            default: break
            }
            if type == .decimal, case .number(let text) = json { return try decimal(text) }
        }
        throw Problem(words: "it is not of type \(type)")
    }

    private func any(_ json: JSONValue) throws -> RealmFileValue {
        switch json {
        case .null: return .null
        case .bool(let bit): return .bool(bit)
        case .string(let text): return .string(text)
        case .number(let text):
            if let number = Int64(text) { return .int(number) }
            return .double(try finite(text))
        case .array(let values): return .list(try values.map { try any($0) })
        case .object(let members):
            if members.contains(where: { $0.key.hasPrefix("$") }) { return try tagged(json) }
            return try dictionary(members)
        }
    }

    private func dictionary(_ members: [JSONMember]) throws -> RealmFileValue {
        .dictionary(try members.map { RealmFileEntry(key: .string($0.key), value: try any($0.value)) })
    }

    private func tagged(_ json: JSONValue) throws -> RealmFileValue {
        guard case .object(let members) = json else { return .null }
        // Other programs may have sorted the members.
        guard let member = members.first(where: { Self.companions[$0.key] != nil }) else {
            throw Problem(words: "an object has no tag" + (members.first.map { " but the member '\($0.key)'" } ?? ""))
        }
        let tag = member.key
        if let other = members.first(where: { $0.key != tag && Self.companions[tag]?.contains($0.key) != true }) {
            throw Problem(words: "'\(tag)' has the unknown member '\(other.key)' beside it")
        }
        switch (tag, member.value) {
        case ("$numberLong", .string(let text)), ("$numberInt", .string(let text)):
            if let number = Int64(text) { return .int(number) }
        case ("$numberDouble", _):
            if let number = try double(json) { return .double(number) }
        case ("$numberFloat", _):
            if let number = try float(json) { return .float(number) }
        case ("$numberDecimal", .string(let text)): return try decimal(text)
        case ("$oid", .string(let text)):
            if let id = Self.objectId(text) { return .objectId(id) }
        case ("$uuid", .string(let text)):
            if let uuid = UUID(uuidString: text) { return .uuid(uuid) }
        case ("$binary", let binary): return try self.binary(binary)
        case ("$date", let date): return .date(try self.date(date, json))
        case ("$literal", .object(let members)): return try dictionary(members)
        case ("$ref", .string(let name)):
            guard let index = classIndex(name) else { throw Problem(words: "there is no class '\(name)'") }
            guard let key = json["$id"].flatMap(integer) else { throw Problem(words: "'$id' is not a key") }
            return .link(RealmFileLink(tableIndex: index, key: key))
        default: break
        }
        throw Problem(words: "'\(tag)' has an invalid value")
    }

    /// The members that may be beside each tag.
    private static let companions: [String: [String]] = [
        "$numberLong": [], "$numberInt": [], "$numberDouble": ["$bits"], "$numberFloat": ["$bits"],
        "$numberDecimal": [], "$oid": [], "$uuid": [], "$binary": [], "$date": ["$nanoseconds", "$unit"],
        "$literal": [], "$ref": ["$id"],
    ]

    private func integer(_ json: JSONValue) -> Int64? {
        switch json {
        case .number(let text): return Int64(text)
        case .object(let members):
            guard members.count == 1, case .string(let text)? = json["$numberLong"] ?? json["$numberInt"] else {
                return nil
            }
            return Int64(text)
        default: return nil
        }
    }

    private func double(_ json: JSONValue) throws -> Double? {
        if case .number(let text) = json { return try finite(text) }
        guard case .string(let text)? = json["$numberDouble"], json.member(besides: "$numberDouble", "$bits") == nil
        else { return nil }
        if case .string(let bits)? = json["$bits"] { return UInt64(bits, radix: 16).map { Double(bitPattern: $0) } }
        return try Self.words[text] ?? finite(text)
    }

    private func finite(_ text: String) throws -> Double {
        guard let number = Double(text) else { throw Problem(words: "'\(text)' is not a number") }
        guard number.isFinite else { throw Problem(words: "'\(text)' is out of the range of a double") }
        return number
    }

    private func float(_ json: JSONValue) throws -> Float? {
        if case .number(let text) = json { return try finiteFloat(text) }
        guard case .string(let text)? = json["$numberFloat"] ?? json["$numberDouble"],
            json.member(besides: json["$numberFloat"] == nil ? "$numberDouble" : "$numberFloat", "$bits") == nil
        else { return nil }
        if case .string(let bits)? = json["$bits"] { return UInt32(bits, radix: 16).map { Float(bitPattern: $0) } }
        return try Self.words[text].map { Float($0) } ?? finiteFloat(text)
    }

    private func finiteFloat(_ text: String) throws -> Float {
        guard let number = Float(text) else { throw Problem(words: "'\(text)' is not a number") }
        guard number.isFinite else { throw Problem(words: "'\(text)' is out of the range of a float") }
        return number
    }

    private static let words = ["NaN": Double.nan, "Infinity": .infinity, "-Infinity": -.infinity]

    private func binary(_ json: JSONValue) throws -> RealmFileValue {
        guard case .string(let base64)? = json["base64"], let data = Data(base64Encoded: base64) else {
            throw Problem(words: "'$binary' has no base 64")
        }
        if let other = json.member(besides: "base64", "subType") {
            throw Problem(words: "'$binary' has the unknown member '\(other)'")
        }
        if json["subType"] == .string("04"), data.count == 16 {
            return data.withUnsafeBytes { .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
        }
        return .data(data)
    }

    private func date(_ json: JSONValue, _ whole: JSONValue) throws -> RealmFileDate {
        if case .string(let text) = json {
            if let other = whole.member(besides: "$date") {
                throw Problem(words: "a '$date' with a text has the member '\(other)' beside it")
            }
            return try self.date(text)
        }
        guard let number = integer(json) else { throw Problem(words: "'$date' is not a number") }
        guard let rest = whole["$nanoseconds"].map(integer) ?? 0 else {
            throw Problem(words: "'$nanoseconds' is not a number")
        }
        if let unit = whole["$unit"] {
            guard unit == .string("s") else { throw Problem(words: "'$unit' is not \"s\"") }
            guard let nanoseconds = Int32(exactly: rest) else { throw Problem(words: "'$nanoseconds' is not a number") }
            return RealmFileDate(seconds: number, nanoseconds: nanoseconds)
        }
        guard rest.magnitude < 1_000_000 else { throw Problem(words: "'$nanoseconds' is a millisecond or more") }
        return RealmFileDate(seconds: number / 1000, nanoseconds: Int32(number % 1000 * 1_000_000 + rest))
    }

    /// Parses a date in the form of ISO 8601, such as "2024-02-29T12:00:00.25Z", with up to nine digits of a fraction.
    private func date(_ text: String) throws -> RealmFileDate {
        var whole = text
        var nanoseconds: Int32 = 0
        if let point = text.firstIndex(of: ".") {
            let digits = text[text.index(after: point)...].prefix { $0.isASCII && $0.isNumber }
            let isExact = digits.dropFirst(9).allSatisfy { $0 == "0" }
            guard !digits.isEmpty, isExact else {
                throw Problem(words: "'\(text)' is not a date with at most nine digits after the point")
            }
            let nine = digits.prefix(9)
            nanoseconds = Int32(nine + String(repeating: "0", count: 9 - nine.count)) ?? 0
            whole = String(text[..<point]) + text[digits.endIndex...]
        }
        guard let date = try? Date(whole, strategy: .iso8601) else { throw Problem(words: "'\(text)' is not a date") }
        let seconds = Int64(date.timeIntervalSince1970)
        // The nanoseconds have the sign of the seconds.
        if seconds < 0, nanoseconds > 0 {
            return RealmFileDate(seconds: seconds + 1, nanoseconds: nanoseconds - 1_000_000_000)
        }
        return RealmFileDate(seconds: seconds, nanoseconds: nanoseconds)
    }

    private static func objectId(_ text: String) -> RealmFileObjectId? {
        let digits = Array(text.utf8)
        guard digits.count == 24 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: 24, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes.withUnsafeBytes { RealmFileObjectId($0.baseAddress!) }
    }

    /// Parses a decimal, as in "-12E-1", "1.50", "NaN" or "-Infinity".
    private func decimal(_ text: String) throws -> RealmFileValue {
        var rest = Substring(text)
        let isNegative = rest.first == "-"
        if rest.first == "-" || rest.first == "+" { rest = rest.dropFirst() }
        switch rest.lowercased() {
        case "nan": return .decimal(RealmFileDecimal(kind: .notANumber, isNegative: isNegative))
        case "infinity", "inf": return .decimal(RealmFileDecimal(kind: .infinity, isNegative: isNegative))
        default: break
        }
        let parts = rest.split(separator: "E", omittingEmptySubsequences: false).flatMap {
            $0.split(separator: "e", omittingEmptySubsequences: false)
        }
        let digits = parts.first?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard (1...2).contains(parts.count), (1...2).contains(digits.count),
            var exponent = parts.count == 1 ? 0 : Int(parts[1]), exponent.magnitude < 1_000_000
        else { throw Problem(words: "'\(text)' is not a decimal") }
        var coefficient: UInt128 = 0
        for character in digits.joined() {
            guard character.isASCII, let digit = character.wholeNumberValue, coefficient < UInt128.max / 10 - 1 else {
                throw Problem(words: "'\(text)' is not a decimal")
            }
            coefficient = coefficient * 10 + UInt128(digit)
        }
        guard digits.contains(where: { !$0.isEmpty }) else { throw Problem(words: "'\(text)' is not a decimal") }
        if digits.count == 2 { exponent -= digits[1].count }
        return .decimal(
            RealmFileDecimal(
                kind: .finite, isNegative: isNegative,
                coefficient: (UInt64(truncatingIfNeeded: coefficient >> 64), UInt64(truncatingIfNeeded: coefficient)),
                exponent: exponent))
    }
}
