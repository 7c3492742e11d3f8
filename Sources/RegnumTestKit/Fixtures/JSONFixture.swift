// SPDX-License-Identifier: Apache-2.0
// Creates objects from JSON: an object that has an array for each class; each element is an object with a member for
// each property.

public import Foundation
public import Regnum

/// An error in a fixture.
public struct FixtureError: Error, CustomStringConvertible, Sendable {
    /// The position in the fixture, such as "Dog[2].owner".
    public let place: String
    /// The message: what was found, and what was expected.
    public let message: String

    public var description: String { "\(place): \(message)" }
}

extension RealmAdditions where Self == Realm {
    /// Adds the objects in a JSON text, in the open transaction or else in a new one.
    ///
    /// ```json
    /// {
    ///   "Person": [{"id": 1, "name": "Ann", "born": "1990-05-01T00:00:00Z"}],
    ///   "Dog": [{"name": "Rex", "owner": 1}, {"name": "Odd", "owner": {"id": 2, "name": "Bob"}}]
    /// }
    /// ```
    ///
    /// Links are primary keys, of objects anywhere in the text or already in the realm, or whole objects. Dates are ISO
    /// 8601 strings or seconds since 1970; data is base64; UUIDs, ObjectIds and decimals are strings. An object whose
    /// primary key exists already is updated. Objects, and collections in a value of any type, may be nested at most
    /// 100 levels deep. Numbers must fit the declared type.
    ///
    /// - Returns: The number of objects of each class that the text lists.
    /// - Throws: `FixtureError` for a text that does not match the classes, in which case nothing is changed;
    ///   `Realm.Error`.
    @discardableResult
    public func seed(json: Data) throws -> [String: Int] {
        let realm: Realm = self
        let content: Any
        do { content = try JSONSerialization.jsonObject(with: json) } catch {
            throw FixtureError(place: "fixture", message: "is not valid JSON: \(error)")
        }
        guard let classes = content as? [String: Any] else {
            throw FixtureError(place: "fixture", message: "must be an object of arrays, one for each class")
        }
        let reader = JSONReader(schema: realm.schema)
        var values: [(name: String, value: [String: Any])] = []
        for (name, list) in classes.sorted(by: { $0.key < $1.key }) {
            guard let list = list as? [Any] else {
                throw FixtureError(place: name, message: "must be an array of objects")
            }
            if realm.schema[name]?.isEmbedded == true {
                throw FixtureError(place: name, message: "is embedded: put its objects into the objects that own them")
            }
            for (index, element) in list.enumerated() {
                values.append((name, try reader.object(element, ofClass: name, "\(name)[\(index)]", 0)))
            }
        }
        try realm.writing {
            for (name, value) in values { reader.create(name, value, in: realm) }
        }
        return Dictionary(values.map { ($0.name, 1) }, uniquingKeysWith: +)
    }

    /// Same as `seed(json:)`, for a file.
    @discardableResult
    public func seed(jsonFile url: URL) throws -> [String: Int] { try seed(json: Data(contentsOf: url)) }
}

/// Converts JSON values to values that properties accept.
private struct JSONReader {
    let schema: Schema

    /// A link, to be resolved after everything has been read.
    private struct Link {
        let className: String
        let value: [String: Any]
    }

    private func hasKey(_ name: String) -> Bool { schema[name]?.primaryKeyProperty != nil }

    /// Creates the object, or updates the one with its key. Called inside a write transaction.
    @discardableResult
    func create(_ name: String, _ value: [String: Any], in realm: Realm) -> DynamicObject {
        let value = value.mapValues { linked($0, in: realm) }
        return realm.dynamicCreate(name, value: value, update: hasKey(name) ? .modified : .error)
    }

    /// The value with its links replaced by objects.
    private func linked(_ value: Any, in realm: Realm) -> Any {
        switch value {
        case let link as Link:
            if hasKey(link.className) { return create(link.className, link.value, in: realm) }
            return link.value.mapValues { linked($0, in: realm) }
        case let list as [Any]: return list.map { linked($0, in: realm) }
        case let members as [String: Any]: return members.mapValues { linked($0, in: realm) }
        default: return value
        }
    }

    /// The maximum nesting depth of objects, and of collections in values of any type.
    private static let depthLimit = 100

    func object(_ json: Any, ofClass name: String, _ place: String, _ depth: Int) throws -> [String: Any] {
        guard let objectSchema = schema[name] else {
            throw FixtureError(place: place, message: "the realm has no class '\(name)'")
        }
        guard let members = json as? [String: Any] else {
            throw FixtureError(place: place, message: "must be an object by property, not \(json)")
        }
        if depth >= Self.depthLimit {
            throw FixtureError(
                place: place, message: "objects are nested more than \(Self.depthLimit) levels deep")
        }
        var value: [String: Any] = [:]
        for (member, json) in members {
            guard let property = objectSchema[member] else {
                throw FixtureError(place: place, message: "'\(name)' has no property '\(member)'")
            }
            value[member] = try content(json, property, "\(place).\(member)", depth)
        }
        return value
    }

    private func content(_ json: Any, _ property: Property, _ place: String, _ depth: Int) throws -> Any {
        if property.isArray || property.isSet {
            guard let list = json as? [Any] else { throw FixtureError(place: place, message: "must be an array") }
            return try list.enumerated().map { try element($1, property, "\(place)[\($0)]", depth) }
        }
        if property.isMap {
            guard let members = json as? [String: Any] else {
                throw FixtureError(place: place, message: "must be an object by key")
            }
            for key in members.keys { try check(key: key, place) }
            return try Dictionary(
                uniqueKeysWithValues: members.map { ($0, try element($1, property, "\(place).\($0)", depth)) })
        }
        return try element(json, property, place, depth)
    }

    private func check(key: String, _ place: String) throws {
        if key.hasPrefix("$") || key.contains(".") {
            throw FixtureError(place: place, message: "a key must not start with '$' or contain '.': '\(key)'")
        }
    }

    /// A value that the property, or an element of it, can hold.
    private func element(_ json: Any, _ property: Property, _ place: String, _ depth: Int) throws -> Any {
        if json is NSNull {
            if property.info.shape.isOptional || property.type == .any { return NSNull() }
            throw FixtureError(place: place, message: "must not be null")
        }
        if property.type == .object { return try link(json, property, place, depth) }
        let value = try value(json, property, place)
        guard property.info.accepts(value) else {
            throw FixtureError(place: place, message: "\(json) is not a value of the property's type")
        }
        // Converted to Float only after it is known to fit.
        return property.type == .float ? Float(value as? Double ?? 0) : value
    }

    private func value(_ json: Any, _ property: Property, _ place: String) throws -> Any {
        func wanted(_ words: String) -> FixtureError {
            FixtureError(place: place, message: "must be \(words), not \(json)")
        }
        switch property.type {
        case .date:
            if let seconds = Self.number(json) {
                guard abs(seconds) < 9.2e18 else { throw wanted("seconds since 1970 of a date that can be stored") }
                return Date(timeIntervalSince1970: seconds)
            }
            guard let date = (json as? String).flatMap(Self.date) else {
                throw wanted("an ISO 8601 text or seconds since 1970")
            }
            return date
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
            guard let text = json as? String, property.info.accepts(text), let number = try? Decimal128(string: text)
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
            try check(any: json, place, 0)
            return json
        case .linkingObjects: throw FixtureError(place: place, message: "is not stored: it follows from links")
        case .object: throw wanted("an object")
        }
    }

    /// The value as an Int. Also nil for a number that an Int cannot represent, which a cast would change.
    private static func whole(_ json: Any) -> Int? {
        guard let decimal = json as? NSDecimalNumber else { return json as? Int }
        return decimal.decimalValue == Decimal(Int.min) ? .min : nil
    }

    private static func number(_ json: Any) -> Double? { (json as? Double) ?? (json as? NSNumber)?.doubleValue }

    private func check(any json: Any, _ place: String, _ depth: Int) throws {
        let elements: [Any]
        if let members = json as? [String: Any] {
            for key in members.keys { try check(key: key, place) }
            elements = Array(members.values)
        } else if let list = json as? [Any] {
            elements = list
        } else {
            return
        }
        if depth >= Self.depthLimit {
            throw FixtureError(
                place: place, message: "arrays and objects are nested more than \(Self.depthLimit) levels deep")
        }
        for element in elements { try check(any: element, place, depth + 1) }
    }

    private func link(_ json: Any, _ property: Property, _ place: String, _ depth: Int) throws -> Any {
        let name = property.objectClassName ?? ""
        if json is [String: Any] {
            return Link(className: name, value: try object(json, ofClass: name, place, depth + 1))
        }
        guard let key = schema[name]?.primaryKeyProperty else {
            throw FixtureError(
                place: place, message: "must be an object, not \(json): '\(name)' has no primary key")
        }
        return Link(className: name, value: [key.name: try element(json, key, place, depth)])
    }

    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }
}
