// SPDX-License-Identifier: Apache-2.0
// Parses objects in JSON or CSV, and checks every value against the schema before anything is stored.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// The checked values of an object.
struct PlannedObject: Sendable {
    var table: TableKey
    /// The columns that are given, with their values.
    var values: [Int: PlannedValue] = [:]
}

enum PlannedValue: Sendable {
    case value(Value)
    case embedded(PlannedObject)
    /// The elements of a list or set.
    case elements([PlannedValue])
    case entries([(key: String, value: PlannedValue)])
}

/// Confined to the session.
struct ObjectParser {
    /// The reason why an object cannot be stored, as part of a sentence.
    struct Problem: Error {
        var message: String
        /// True if a link points to an object that is not in the file, yet.
        var isMissingTarget = false

        func at(_ name: String) -> Problem {
            Problem(message: "property '\(name)': \(message)", isMissingTarget: isMissingTarget)
        }
    }

    let session: Session
    let path: String
    /// In a preview: the objects that would be there.
    var preview: PreviewedObjects?

    // MARK: Objects

    /// Reads a JSON object. Members that the class lacks are a problem. `later` is called with the columns whose links
    /// lead to objects that are not in the file, which are then left out; without it they are a problem.
    func object(
        _ json: JSONValue, of table: Table, depth: Int = 0, later: ((Int, JSONValue) -> Void)? = nil
    ) throws -> PlannedObject {
        guard case .object(let members) = json else { throw Problem(message: "it is \(kind(json)), not an object") }
        guard depth <= EmbeddedNesting.depthLimit else { throw Problem(message: EmbeddedNesting.message) }
        let definition = table.definition
        var planned = PlannedObject(table: definition.key)
        for member in members {
            guard let column = definition.column(named: member.key), !definition.columns[column].isHidden else {
                throw Problem(
                    message: "class '\(definition.name)' has no property '\(ObjectLine.part(member.key))'")
            }
            guard planned.values[column] == nil else { throw Problem(message: "'\(member.key)' is given twice") }
            do {
                planned.values[column] = try value(member.value, of: definition.columns[column], depth)
            } catch let problem as Problem {
                guard problem.isMissingTarget, let later else { throw problem.at(member.key) }
                later(column, member.value)
            }
        }
        return planned
    }

    /// The value of a property.
    func value(_ json: JSONValue, of column: ColumnDefinition, _ depth: Int = 0) throws -> PlannedValue {
        switch (column.collection, json) {
        case (.none, _): return try single(json, column, depth)
        case (.list, .array(let values)), (.set, .array(let values)):
            return .elements(try values.map { try single($0, column, depth) })
        case (.dictionary, .object(let members)):
            // The parser has refused equal keys. Two spellings of one text are two keys.
            return .entries(
                try members.map { member in
                    try check(member.key)
                    return (member.key, try single(member.value, column, depth))
                })
        case (.list, _): throw Problem(message: "it is \(kind(json)), not an array")
        case (.set, _): throw Problem(message: "it is \(kind(json)), not an array")
        case (.dictionary, _): throw Problem(message: "it is \(kind(json)), not an object")
        }
    }

    private func check(_ key: String) throws {
        if key.utf8.count > FormatLimits.stringByteCount { throw Problem(message: "a key is too long") }
    }

    private func single(_ json: JSONValue, _ column: ColumnDefinition, _ depth: Int) throws -> PlannedValue {
        if column.type == .mixed { return .value(try mixed(json, 0)) }
        if json == .null {
            guard column.isNullable || column.type == .link && column.collection != .list && column.collection != .set
            else { throw Problem(message: "it is null, which the property does not allow") }
            return .value(.null)
        }
        guard column.type == .link else { return .value(try scalar(json, column.type)) }
        guard let target = column.target.flatMap({ session.table($0) }) else {
            throw Problem(message: "it links to a class that the file lacks")
        }
        if target.definition.isEmbedded { return .embedded(try object(json, of: target, depth: depth + 1)) }
        return .value(.link(try link(json, to: target)))
    }

    // MARK: Links

    /// The object of a link: an object with `primaryKey` or `key`, or the primary key itself.
    private func link(_ json: JSONValue, to table: Table) throws -> ObjectKey {
        let definition = table.definition
        if case .string(let name)? = json["class"] ?? json["$ref"], name != definition.name {
            throw Problem(message: "it links to class '\(ObjectLine.part(name))', not '\(definition.name)'")
        }
        if case .number(let text)? = json["key"] ?? json["$id"] {
            guard let number = UInt64(text), number > 0, number < 1 << 62 else {
                throw Problem(message: "'\(ObjectLine.part(text))' is not the number of an object")
            }
            let key = ObjectKey(number)
            let isThere = try inspecting(path) { () throws(EngineError) in try table.contains(key) }
            guard isThere || preview?.contains(key, in: table) == true else {
                throw Problem(
                    message: "there is no '\(definition.name)' with the number \(text)", isMissingTarget: true)
            }
            return key
        }
        guard let primary = definition.primaryKey else {
            throw Problem(message: "class '\(definition.name)' has no primary key: link to it as {\"key\": NUMBER}")
        }
        let given: JSONValue
        if case .object = json {
            guard let found = json["primaryKey"] else { throw Problem(message: "a link lacks its 'primaryKey'") }
            given = found
        } else {
            given = json
        }
        let value = given == .null ? Value.null : try scalar(given, definition.columns[primary].type)
        let found = try inspecting(path) { () throws(EngineError) in try table.key(forPrimaryKey: value) }
        guard let key = found ?? preview?.key(forPrimaryKey: value, in: table) else {
            throw Problem(
                message: "there is no '\(definition.name)' with the primary key \(text(given))", isMissingTarget: true)
        }
        return key
    }

    // MARK: Values

    /// The number that was read from the text. Throws if it is infinite only because the text is out of range.
    private func inRange<Number: BinaryFloatingPoint>(_ number: Number, _ text: String) throws -> Number {
        if number.isInfinite, !text.lowercased().contains("inf") {
            throw Problem(message: "\(ObjectLine.part(text)) is out of range")
        }
        return number
    }

    /// The text without white space at its ends.
    private static func trimmed(_ text: String) -> String {
        let start = text.drop { $0.isWhitespace }
        return String(start.prefix(start.count - start.reversed().prefix { $0.isWhitespace }.count))
    }

    /// A value that is neither null, a link nor a collection.
    func scalar(_ json: JSONValue, _ type: ColumnType) throws -> Value {
        switch (type, json) {
        case (.bool, .bool(let bool)): return .bool(bool)
        case (.int, .number(let text)):
            if let int = Int64(text) { return .int(int) }
        case (.float, .number(let text)), (.float, .string(let text)):
            if let float = Float(text) { return .float(try inRange(float, text)) }
        case (.double, .number(let text)), (.double, .string(let text)):
            if let double = Double(text) { return .double(try inRange(double, text)) }
        case (.string, .string(let text)):
            guard text.utf8.count <= FormatLimits.stringByteCount else {
                throw Problem(message: "a string is longer than \(FormatLimits.stringByteCount) bytes")
            }
            return .string(text)
        case (.data, .string(let text)):
            if let data = Data(base64Encoded: text) {
                guard data.count <= FormatLimits.dataByteCount else {
                    throw Problem(message: "data is longer than \(FormatLimits.dataByteCount) bytes")
                }
                return .data([UInt8](data))
            }
        case (.date, .string(let text)):
            if let time = DateText.time(text) { return .date(time) }
        case (.objectID, .string(let text)):
            if let bytes = Self.bytes(text), bytes.count == 12 {
                return .objectID(Self.word(bytes[0..<8]), UInt32(Self.word(bytes[8..<12])))
            }
        case (.uuid, .string(let text)):
            if UUID(uuidString: text) != nil, let bytes = Self.bytes(text.filter { $0 != "-" }) {
                return .uuid(Self.word(bytes[0..<8]), Self.word(bytes[8..<16]))
            }
        case (.decimal128, .number(let text)), (.decimal128, .string(let text)):
            let decimal = DecimalBits(text)
            if decimal.isInfinite, !text.lowercased().contains("inf") {
                throw Problem(message: "\(ObjectLine.part(text)) is out of range")
            }
            if !decimal.isNaN || DecimalBits.isNaNText(text) { return .decimal128(decimal.low, decimal.high) }
        default: break
        }
        throw Problem(message: "\(text(json)) is not \(Self.named(type))")
    }

    private func mixed(_ json: JSONValue, _ depth: Int) throws -> Value {
        guard depth <= MixedCodec.depthLimit else { throw Problem(message: "collections are nested too deeply") }
        switch json {
        case .null: return .null
        case .bool(let bool): return .bool(bool)
        case .number(let text):
            if let int = Int64(text) { return .int(int) }
            return try scalar(json, .double)
        case .string: return try scalar(json, .string)
        case .array(let values): return .list(try values.map { try mixed($0, depth + 1) })
        case .object(let members):
            guard let tag = members.first, tag.key.hasPrefix("$") else { return try entries(members, depth) }
            return try tagged(tag, json, depth)
        }
    }

    private func entries(_ members: [JSONMember], _ depth: Int) throws -> Value {
        var entries: [DictionaryEntry] = []
        for member in members {
            try check(member.key)
            entries.append(DictionaryEntry(key: member.key, value: try mixed(member.value, depth + 1)))
        }
        entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (one, next) in zip(entries, entries.dropFirst()) where one.key.utf8.elementsEqual(next.key.utf8) {
            throw Problem(message: "the key '\(ObjectLine.part(one.key))' is given twice")
        }
        return .dictionary(entries)
    }

    private func tagged(_ tag: JSONMember, _ json: JSONValue, _ depth: Int) throws -> Value {
        let types: [String: ColumnType] = [
            "$numberFloat": .float, "$numberDouble": .double, "$binary": .data, "$date": .date, "$oid": .objectID,
            "$uuid": .uuid, "$numberDecimal": .decimal128,
        ]
        if let type = types[tag.key] { return try scalar(tag.value, type) }
        switch (tag.key, tag.value) {
        case ("$literal", .object(let members)): return try entries(members, depth)
        case ("$ref", .string(let name)):
            guard let table = session.table(named: name), !table.definition.isEmbedded else {
                throw Problem(message: "it links to '\(ObjectLine.part(name))', which is not a class to link to")
            }
            return .typedLink(table.definition.key, try link(json, to: table))
        default: throw Problem(message: "'\(ObjectLine.part(tag.key))' is not a known tag")
        }
    }

    private static func bytes(_ digits: String) -> [UInt8]? {
        let digits = Array(digits.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            let pair = digits[place..<place + 2]
            guard pair.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// The bytes as a word, lowest first.
    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Words for problems

    private static func named(_ type: ColumnType) -> String {
        switch type {
        case .bool: "true or false"
        case .int: "an Int"
        case .data: "data in base64"
        case .date: "a date such as 2026-01-31T12:00:00Z"
        case .objectID: "an ObjectId of 24 hexadecimal digits"
        case .uuid: "a UUID"
        default: "a \(type.swiftName)"
        }
    }

    private func kind(_ json: JSONValue) -> String {
        switch json {
        case .null: "null"
        case .bool: "a Bool"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    private func text(_ json: JSONValue) -> String {
        switch json {
        case .bool(let bool): bool ? "true" : "false"
        case .number(let text): "'\(ObjectLine.start(of: text, characters: 60).text)'"
        case .string(let text): "'\(ObjectLine.start(of: text, characters: 60).text)'"
        default: kind(json)
        }
    }
}

// MARK: Cells

extension ObjectParser {
    /// The JSON that stands for a field of CSV: the same as `ObjectFormatter.cells` writes, and `true`, `false`, `1`
    /// and `0` for a Bool in any case. An empty field is null, or an empty string or collection if the property does
    /// not allow null; a quoted empty field is an empty string.
    func json(_ text: String, isQuoted: Bool, of column: ColumnDefinition) throws -> JSONValue {
        if text.isEmpty, !isQuoted {
            switch column.collection {
            case .list, .set: return .array([])
            case .dictionary: return .object([])
            case .none: return column.type == .string && !column.isNullable ? .string("") : .null
            }
        }
        guard column.collection == .none else { return try parsed(text) }
        switch column.type {
        case .string, .data, .date, .objectID, .uuid: return .string(text)
        case .int, .float, .double, .decimal128: return .number(Self.trimmed(text))
        case .bool:
            switch text.lowercased() {
            case "true", "1": return .bool(true)
            case "false", "0": return .bool(false)
            default: return .string(text)
            }
        case .mixed: return (try? parsed(text)) ?? .string(text)
        case .link:
            guard let target = column.target.flatMap({ session.table($0) })?.definition else { return .null }
            if target.isEmbedded { return try parsed(text) }
            if let primary = target.primaryKey {
                return .object([
                    .init(key: "primaryKey", value: try json(text, isQuoted: true, of: target.columns[primary]))
                ])
            }
            return .object([.init(key: "key", value: .number(String(text.drop { $0 == "#" })))])
        }
    }

    private func parsed(_ text: String) throws -> JSONValue {
        do throws(JSONParser.Problem) { return try JSONParser.parse(Array(text.utf8)) } catch {
            throw Problem(message: "it is not JSON: \(error.message)")
        }
    }
}
