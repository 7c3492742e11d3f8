// SPDX-License-Identifier: Apache-2.0
// Writes objects as JSON in the forms that `JSONObjectReader` reads: links as primary keys, embedded objects and objects
// without a key as nested objects.

internal import Foundation
internal import RegnumSystem

/// A JSON value to be written. Numbers keep their type: 1.0 is not written as 1, which would be read as an Int.
indirect enum JSONTree {
    case null
    case bool(Bool)
    case int(Int64)
    /// A finite number.
    case number(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    private func write(to out: inout String) {
        switch self {
        case .null: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        case .int(let value): out += "\(value)"
        case .number(let value): out += "\(value)"
        case .text(let value): JSONValue.quote(value, to: &out)
        case .array(let values):
            out += "["
            for (index, value) in values.enumerated() {
                if index > 0 { out += "," }
                value.write(to: &out)
            }
            out += "]"
        case .object(let members):
            out += "{"
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { out += "," }
                JSONValue.quote(member.key, to: &out)
                out += ":"
                member.value.write(to: &out)
            }
            out += "}"
        }
    }

    /// The value as UTF-8 text, with sorted members.
    var data: Data {
        var text = ""
        write(to: &text)
        return Data(text.utf8)
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
                let new: JSONTree
                do throws(JSONObjectError) { new = try tree(value, depth + 1) } catch { throw error.inside(".\(key)") }
                // A map distinguishes two spellings of one text, such as "\u{e9}" and "e\u{301}".
                if members.updateValue(new, forKey: key) != nil {
                    throw JSONObjectError("the key '\(key)' occurs twice, in two spellings")
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
        case let value as Date: return try date(value)
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

    /// Returns a text, which has four digits for the year; seconds since 1970 for a date in another year.
    private static func date(_ date: Date) throws(JSONObjectError) -> JSONTree {
        guard let text = JSONDate.text(of: date) else { return try number(date.timeIntervalSince1970) }
        return .text(text)
    }

    /// Returns the primary key of an object that has one, otherwise the object itself.
    private mutating func link(_ object: ObjectBase, _ depth: Int) throws(JSONObjectError) -> JSONTree {
        guard let place = object.classSchema.primaryKey else { return try tree(of: object, depth: depth) }
        return try tree(object.classSchema.properties[place].get(object), depth)
    }
}
