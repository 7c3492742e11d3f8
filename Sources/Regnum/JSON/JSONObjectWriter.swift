// SPDX-License-Identifier: Apache-2.0
// Writes objects as JSON in the forms that `JSONObjectReader` reads: links as primary keys, embedded objects and objects
// without a key as nested objects.

internal import Foundation

/// A JSON value to be encoded. Numbers keep their type: in an `NSNumber` a Bool could become a number.
indirect enum JSONTree: Encodable {
    case null
    case bool(Bool)
    case int(Int64)
    case number(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }

    /// The value as UTF-8 text, with sorted members.
    func data() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

struct JSONObjectWriter {
    /// The maximum nesting depth of objects and collections.
    private static let depthLimit = 100
    /// The objects around the current value.
    private var above: [ObjectBase] = []

    /// Returns an object with all its stored properties. `depth` is the number of values around it.
    mutating func tree(of object: ObjectBase, depth: Int = 0) throws(JSONObjectError) -> JSONTree {
        if object.rowContext != nil { object.requireValid() }
        if above.contains(where: { $0.isSameObject(as: object) }) {
            throw JSONObjectError("a link leads back to an object that contains it and has no primary key")
        }
        above.append(object)
        defer { above.removeLast() }
        var members: [String: JSONTree] = [:]
        for property in object.classSchema.properties where !property.isComputed {
            do throws(JSONObjectError) { members[property.name] = try tree(property.get(object), depth + 1) } catch {
                throw error.inside(".\(property.name)")
            }
        }
        return .object(members)
    }

    private mutating func tree(_ value: Any?, _ depth: Int) throws(JSONObjectError) -> JSONTree {
        guard let value = value.flatMap({ unwrapped($0) }) else { return .null }
        if let scalar = try Self.scalar(value) { return scalar }
        if depth > Self.depthLimit {
            throw JSONObjectError("values are nested more than \(Self.depthLimit) levels deep")
        }
        switch value {
        case let mixed as AnyRealmValue: return try tree(AnyRealmValue._dynamic(mixed), depth)
        case let object as ObjectBase: return try link(object, depth)
        case let map as any AnyMap:
            var members: [String: JSONTree] = [:]
            for (key, value) in map.anyEntries {
                do throws(JSONObjectError) { members[key] = try tree(value, depth + 1) } catch {
                    throw error.inside(".\(key)")
                }
            }
            return .object(members)
        case let collection as any AnyOwnedCollection:
            var elements: [JSONTree] = []
            for (index, element) in collection.anyElements.enumerated() {
                do throws(JSONObjectError) { elements.append(try tree(element, depth + 1)) } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return .array(elements)
        default:
            // Enums and custom types are written in their stored form.
            guard let stored = storedForm(of: value) else { return .text(describe(value)) }
            return try tree(stored, depth)
        }
    }

    private static func scalar(_ value: Any) throws(JSONObjectError) -> JSONTree? {
        switch value {
        case let value as Bool: return .bool(value)
        case let value as Int: return .int(Int64(value))
        case let value as Float: return try number(Double("\(value)") ?? Double(value))
        case let value as Double: return try number(value)
        case let value as String: return .text(value)
        case let value as Data: return .text(value.base64EncodedString())
        case let value as Date: return .text(date(value))
        case let value as Decimal128: return .text(value.stringValue)
        case let value as ObjectId: return .text(value.stringValue)
        case let value as UUID: return .text(value.uuidString)
        case let value as any FixedWidthInteger: return .int(Int64(clamping: value))
        default: return nil
        }
    }

    private static func number(_ value: Double) throws(JSONObjectError) -> JSONTree {
        guard value.isFinite else { throw JSONObjectError("\(value) has no form in JSON") }
        return .number(value)
    }

    private static func date(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }

    /// Returns the primary key of an object that has one, otherwise the object itself.
    private mutating func link(_ object: ObjectBase, _ depth: Int) throws(JSONObjectError) -> JSONTree {
        guard let place = object.classSchema.primaryKey else { return try tree(of: object, depth: depth) }
        return try tree(object.classSchema.properties[place].get(object), depth)
    }
}
