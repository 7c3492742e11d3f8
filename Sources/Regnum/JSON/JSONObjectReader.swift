// SPDX-License-Identifier: Apache-2.0
// Reads JSON values as values of properties, according to the schema, and creates or updates the objects. All values
// are checked before anything is stored, so that JSON from outside cannot cause a programmer error. Used by
// `Realm.decode(_:as:)` and by the fixtures of the test kit.

package import Foundation
package import RegnumSystem

package struct JSONObjectReader {
    /// Members that are no properties of the class are skipped, and so are linking objects.
    package var ignoresUnknownMembers = false
    /// An object must have its primary key, unless the class generates the key.
    package var requiresPrimaryKeys = false
    /// A value must be one that the property's type can represent: a raw value without a case is refused.
    package var refusesUnknownCases = false
    private let classes: [String: ClassSchema]

    /// A link, to be resolved after everything has been read.
    private struct Link {
        let className: String
        let value: [String: Any]
    }

    /// The maximum nesting depth of objects, and of collections in values of any type.
    private static let depthLimit = 100

    package init(_ schema: Schema) {
        classes = Dictionary(
            schema.objectSchema.map { ($0.className, $0.schema) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Creating

    /// Creates an object from the values that `object` has returned, or updates the one with its key. Call it in a write
    /// transaction.
    @discardableResult
    package func create(_ name: String, _ value: [String: Any], in realm: Realm) -> DynamicObject {
        let value = value.mapValues { linked($0, in: realm) }
        return realm.dynamicCreate(name, value: value, update: hasKey(name) ? .modified : .error)
    }

    private func hasKey(_ name: String) -> Bool { classes[name]?.primaryKey != nil }

    /// The value with its links replaced by objects.
    private func linked(_ value: Any, in realm: Realm) -> Any {
        if isPlain(value) { return value }
        switch value {
        case let link as Link:
            if hasKey(link.className) { return create(link.className, link.value, in: realm) }
            return link.value.mapValues { linked($0, in: realm) }
        case let list as [Any]: return list.map { linked($0, in: realm) }
        case let members as [String: Any]: return members.mapValues { linked($0, in: realm) }
        default: return value
        }
    }

    // MARK: Reading

    /// Parses a JSON text in UTF-8. A byte order mark at the start is skipped.
    package static func parsed(_ json: Data) throws(JSONParser.Problem) -> JSONValue {
        var bytes = [UInt8](json)
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes.removeFirst(3) }
        return try JSONParser.parse(bytes)
    }

    /// Returns the values of an object by property, for `create`. `depth` is the number of objects around it.
    package func object(
        _ json: JSONValue, ofClass name: String, depth: Int = 0
    ) throws(JSONObjectError) -> [String: Any] {
        guard let schema = classes[name] else { throw JSONObjectError("the realm has no class '\(name)'") }
        guard case .object(let members) = json else {
            throw JSONObjectError("must be an object by property, not \(Self.shown(json))")
        }
        if depth >= Self.depthLimit {
            throw JSONObjectError("objects are nested more than \(Self.depthLimit) levels deep")
        }
        var value: [String: Any] = [:]
        for member in members {
            guard let property = schema.property(named: member.key) else {
                if ignoresUnknownMembers { continue }
                throw JSONObjectError("'\(name)' has no property '\(member.key)'")
            }
            if property.isComputed, ignoresUnknownMembers { continue }
            let new: Any
            do throws(JSONObjectError) { new = try content(member.value, property, depth) } catch {
                throw error.inside(".\(member.key)")
            }
            try Self.add(new, member.key, to: &value)
        }
        try checkKey(value, schema)
        return value
    }

    private func checkKey(_ value: [String: Any], _ schema: ClassSchema) throws(JSONObjectError) {
        guard requiresPrimaryKeys, let place = schema.primaryKey else { return }
        let key = schema.properties[place]
        if value[key.name] != nil || key.isAutoIncremented || key.shape.type == .UUID || key.shape.type == .objectId {
            return
        }
        throw JSONObjectError("has no primary key '\(key.name)'")
    }

    private func content(
        _ json: JSONValue, _ property: ClassProperty, _ depth: Int
    ) throws(JSONObjectError) -> Any {
        if property.isList || property.isSet {
            guard case .array(let list) = json else { throw JSONObjectError("must be an array") }
            var elements: [Any] = []
            elements.reserveCapacity(list.count)
            for (index, json) in list.enumerated() {
                do throws(JSONObjectError) { elements.append(try element(json, property, depth)) } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return elements
        }
        guard property.isMap else { return try element(json, property, depth) }
        guard case .object(let members) = json else { throw JSONObjectError("must be an object by key") }
        var entries: [String: Any] = [:]
        for member in members {
            try Self.check(key: member.key)
            let new: Any
            do throws(JSONObjectError) { new = try element(member.value, property, depth) } catch {
                throw error.inside(".\(member.key)")
            }
            try Self.add(new, member.key, to: &entries)
        }
        return entries
    }

    private static func check(key: String) throws(JSONObjectError) {
        if key.utf8.count > ByteLimits.string { throw JSONObjectError("a key is too long to be stored") }
        if keyProblem(key) != nil {
            throw JSONObjectError("a key must not start with '$' nor contain '.': '\(shown(.string(key)))'")
        }
    }

    /// Adds an entry. The parser distinguishes keys by their bytes; a dictionary does not distinguish two spellings of
    /// one text, such as "\u{e9}" and "e\u{301}".
    private static func add(
        _ value: Any, _ key: String, to entries: inout [String: Any]
    ) throws(JSONObjectError) {
        if entries.updateValue(value, forKey: key) == nil { return }
        throw JSONObjectError("the member '\(shown(.string(key)))' occurs twice, in two spellings")
    }

    /// A value that the property, or an element of it, can hold.
    private func element(
        _ json: JSONValue, _ property: ClassProperty, _ depth: Int
    ) throws(JSONObjectError) -> Any {
        if case .null = json {
            if property.shape.isOptional || property.shape.type == .any { return NSNull() }
            throw JSONObjectError("must not be null")
        }
        if property.shape.type == .object { return try link(json, property, depth) }
        let value = try value(json, property)
        if property.isSet, property.shape.type == .any, value is [Any] || value is [String: Any] {
            throw JSONObjectError("a set cannot hold arrays or objects")
        }
        guard refusesUnknownCases ? property.represents(value) : property.accepts(value) else {
            throw JSONObjectError("\(Self.shown(json)) is no value of the property's type")
        }
        return value
    }

    private func link(
        _ json: JSONValue, _ property: ClassProperty, _ depth: Int
    ) throws(JSONObjectError) -> Any {
        let name = property.targetName ?? ""
        if case .object = json {
            return Link(className: name, value: try object(json, ofClass: name, depth: depth + 1))
        }
        guard let schema = classes[name], let place = schema.primaryKey else {
            throw JSONObjectError("must be an object, not \(Self.shown(json)): '\(name)' has no primary key")
        }
        let key = schema.properties[place]
        return Link(className: name, value: [key.name: try element(json, key, depth)])
    }

    /// Text of a JSON value for messages, at most about a hundred characters.
    private static func shown(_ json: JSONValue) -> String {
        switch json {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .number(let text), .string(let text):
            let start = text.prefix(100)
            return start.endIndex == text.endIndex ? text : "\(start)..."
        case .array: return "an array"
        case .object: return "an object"
        }
    }
}

// MARK: Values

extension JSONObjectReader {
    private func value(_ json: JSONValue, _ property: ClassProperty) throws(JSONObjectError) -> Any {
        let type = property.shape.type
        switch (type, json) {
        case (.bool, .bool(let value)): return value
        case (.int, .number(let text)):
            if let number = JSONNumber.int(text) { return number }
        case (.float, .number(let text)):
            if let number = JSONNumber.binary(text, as: Float.self) { return number }
        case (.double, .number(let text)):
            if let number = JSONNumber.binary(text, as: Double.self) { return number }
        case (.decimal128, .number(let text)), (.decimal128, .string(let text)):
            if property.accepts(text), let number = JSONNumber.decimal(text) { return number }
        case (.string, .string(let text)): return text
        case (.data, .string(let text)):
            if let data = Data(base64Encoded: text) { return data }
        case (.date, .number(let text)):
            if let seconds = Double(text), abs(seconds) < 9.2e18 { return Date(timeIntervalSince1970: seconds) }
        case (.date, .string(let text)):
            if let date = JSONDate.date(text) { return date }
        case (.UUID, .string(let text)):
            if let uuid = UUID(uuidString: text) { return uuid }
        case (.objectId, .string(let text)):
            if let id = try? ObjectId(string: text) { return id }
        case (.any, _): return try Self.any(json, 0)
        case (.linkingObjects, _): throw JSONObjectError("is not stored: it follows from links")
        default: break
        }
        throw JSONObjectError("must be \(Self.wanted(type, json)), not \(Self.shown(json))")
    }

    /// The form of a type in JSON, for messages.
    private static func wanted(_ type: PropertyType, _ json: JSONValue) -> String {
        let isNumber = if case .number = json { true } else { false }
        return switch type {
        case .bool: "true or false"
        case .int: isNumber ? "a whole number that fits the type" : "a whole number"
        case .float, .double: isNumber ? "a number that fits the type" : "a number"
        case .decimal128: isNumber ? "a decimal number with up to 34 digits" : "a decimal number"
        case .string: "a text"
        case .data: "base64"
        case .date:
            isNumber ? "seconds since 1970 of a date that can be stored" : "an ISO 8601 text or seconds since 1970"
        case .UUID: "a UUID"
        case .objectId: "24 hexadecimal digits"
        case .any, .object, .linkingObjects: "an object"
        }
    }

    /// A value of any type.
    private static func any(_ json: JSONValue, _ depth: Int) throws(JSONObjectError) -> Any {
        switch json {
        case .null: return NSNull()
        case .bool(let value): return value
        case .number(let text):
            if let number = JSONNumber.any(text) { return number }
            throw JSONObjectError("must be a number that can be stored, not \(shown(json))")
        case .string(let text):
            if text.utf8.count > ByteLimits.string { throw JSONObjectError("a text is too long to be stored") }
            return text
        case .array(let values):
            try check(depth: depth)
            var elements: [Any] = []
            elements.reserveCapacity(values.count)
            for value in values { elements.append(try any(value, depth + 1)) }
            return elements
        case .object(let members):
            try check(depth: depth)
            var entries: [String: Any] = [:]
            for member in members {
                try check(key: member.key)
                try add(any(member.value, depth + 1), member.key, to: &entries)
            }
            return entries
        }
    }

    private static func check(depth: Int) throws(JSONObjectError) {
        if depth < depthLimit { return }
        throw JSONObjectError("arrays and objects are nested more than \(depthLimit) levels deep")
    }
}
