// SPDX-License-Identifier: Apache-2.0
// Reads JSON values as values of properties, according to the schema, and creates or updates the objects. All values
// are checked before anything is stored, so that JSON from outside cannot cause a programmer error. Used by
// `Realm.decode(_:as:)` and by the fixtures of the test kit.

internal import Foundation

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

    /// Returns the values of an object by property, for `create`. `depth` is the number of objects around it.
    package func object(
        _ json: Any, ofClass name: String, depth: Int = 0
    ) throws(JSONObjectError) -> [String: Any] {
        guard let schema = classes[name] else { throw JSONObjectError("the realm has no class '\(name)'") }
        guard let members = json as? [String: Any] else {
            throw JSONObjectError("must be an object by property, not \(Self.shown(json))")
        }
        if depth >= Self.depthLimit {
            throw JSONObjectError("objects are nested more than \(Self.depthLimit) levels deep")
        }
        var value: [String: Any] = [:]
        for (member, json) in members {
            guard let property = schema.property(named: member) else {
                if ignoresUnknownMembers { continue }
                throw JSONObjectError("'\(name)' has no property '\(member)'")
            }
            if property.isComputed, ignoresUnknownMembers { continue }
            do throws(JSONObjectError) { value[member] = try content(json, property, depth) } catch {
                throw error.inside(".\(member)")
            }
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

    private func content(_ json: Any, _ property: ClassProperty, _ depth: Int) throws(JSONObjectError) -> Any {
        if property.isList || property.isSet {
            guard let list = json as? [Any] else { throw JSONObjectError("must be an array") }
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
        guard let members = json as? [String: Any] else { throw JSONObjectError("must be an object by key") }
        var entries: [String: Any] = [:]
        for (key, json) in members {
            try Self.check(key: key)
            do throws(JSONObjectError) { entries[key] = try element(json, property, depth) } catch {
                throw error.inside(".\(key)")
            }
        }
        return entries
    }

    private static func check(key: String) throws(JSONObjectError) {
        if key.hasPrefix("$") || key.contains(".") {
            throw JSONObjectError("a key must not start with '$' nor contain '.': '\(key)'")
        }
    }

    /// A value that the property, or an element of it, can hold.
    private func element(_ json: Any, _ property: ClassProperty, _ depth: Int) throws(JSONObjectError) -> Any {
        if json is NSNull {
            if property.shape.isOptional || property.shape.type == .any { return NSNull() }
            throw JSONObjectError("must not be null")
        }
        if property.shape.type == .object { return try link(json, property, depth) }
        let value = try value(json, property)
        guard refusesUnknownCases ? property.represents(value) : property.accepts(value) else {
            throw JSONObjectError("\(Self.shown(json)) is no value of the property's type")
        }
        // Converted to Float only after it is known to fit.
        return property.shape.type == .float ? Float(value as? Double ?? 0) : value
    }

    private func link(_ json: Any, _ property: ClassProperty, _ depth: Int) throws(JSONObjectError) -> Any {
        let name = property.targetName ?? ""
        if json is [String: Any] {
            return Link(className: name, value: try object(json, ofClass: name, depth: depth + 1))
        }
        guard let schema = classes[name], let place = schema.primaryKey else {
            throw JSONObjectError("must be an object, not \(Self.shown(json)): '\(name)' has no primary key")
        }
        let key = schema.properties[place]
        return Link(className: name, value: [key.name: try element(json, key, depth)])
    }

    /// Text of a JSON value for messages, at most about a hundred characters.
    private static func shown(_ json: Any) -> String {
        let text = json as? String ?? "\(json)"
        return text.count <= 100 ? text : String(text.prefix(100)) + "..."
    }
}

// MARK: Values

extension JSONObjectReader {
    private func value(_ json: Any, _ property: ClassProperty) throws(JSONObjectError) -> Any {
        func wanted(_ words: String) -> JSONObjectError {
            JSONObjectError("must be \(words), not \(Self.shown(json))")
        }
        switch property.shape.type {
        case .date: return try date(json, wanted)
        case .data:
            guard let data = (json as? String).flatMap({ Data(base64Encoded: $0) }) else { throw wanted("base64") }
            return data
        case .UUID:
            guard let uuid = (json as? String).flatMap(UUID.init(uuidString:)) else { throw wanted("a UUID") }
            return uuid
        case .objectId:
            guard let id = (json as? String).flatMap({ try? ObjectId(string: $0) }) else {
                throw wanted("24 hexadecimal digits")
            }
            return id
        case .decimal128:
            if let number = Self.whole(json) { return Decimal128(integerLiteral: Int64(number)) }
            guard let text = Self.decimalText(json), property.accepts(text), let number = try? Decimal128(string: text)
            else { throw wanted("a decimal number as a text") }
            return number
        case .bool:
            guard let bool = json as? Bool else { throw wanted("true or false") }
            return bool
        case .int:
            guard let number = Self.whole(json) else {
                throw wanted(json is NSNumber ? "a whole number that fits the type" : "a whole number")
            }
            return number
        case .float, .double:
            guard let number = Self.number(json) else { throw wanted("a number") }
            return number
        case .string:
            guard let text = json as? String else { throw wanted("a text") }
            return text
        case .any:
            try check(any: json, 0)
            return json
        case .linkingObjects: throw JSONObjectError("is not stored: it follows from links")
        case .object: throw wanted("an object")
        }
    }

    private func date(
        _ json: Any, _ wanted: (String) -> JSONObjectError
    ) throws(JSONObjectError) -> Date {
        if let seconds = Self.number(json) {
            guard abs(seconds) < 9.2e18 else { throw wanted("seconds since 1970 of a date that can be stored") }
            return Date(timeIntervalSince1970: seconds)
        }
        guard let date = (json as? String).flatMap(Self.parsedDate) else {
            throw wanted("an ISO 8601 text or seconds since 1970")
        }
        return date
    }

    private static func parsedDate(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }

    /// The value as an Int. Nil also for a number that an Int cannot hold, for which a cast would give another number.
    private static func whole(_ json: Any) -> Int? {
        guard let decimal = json as? NSDecimalNumber else { return json as? Int }
        return decimal.decimalValue == Decimal(Int.min) ? .min : nil
    }

    /// The text of a decimal. A number with a fraction has been rounded by the parser; its shortest text is that of the
    /// JSON if it had at most 15 digits.
    private static func decimalText(_ json: Any) -> String? {
        if let text = json as? String { return text }
        guard let number = json as? NSNumber else { return nil }
        return number is NSDecimalNumber ? number.stringValue : "\(number.doubleValue)"
    }

    private static func number(_ json: Any) -> Double? { (json as? Double) ?? (json as? NSNumber)?.doubleValue }

    private func check(any json: Any, _ depth: Int) throws(JSONObjectError) {
        let elements: [Any]
        if let members = json as? [String: Any] {
            for key in members.keys { try Self.check(key: key) }
            elements = Array(members.values)
        } else if let list = json as? [Any] {
            elements = list
        } else {
            return
        }
        if depth >= Self.depthLimit {
            throw JSONObjectError("arrays and objects are nested more than \(Self.depthLimit) levels deep")
        }
        for element in elements { try check(any: element, depth + 1) }
    }
}
