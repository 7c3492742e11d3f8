// SPDX-License-Identifier: Apache-2.0
// Objects from the JSON of a server, by primary key, and as JSON. Additions to RealmSwift's API, and therefore members
// of a protocol extension.

public import Foundation
internal import RegnumSystem

extension RealmAdditions where Self == Realm {
    /// Decodes a JSON array of objects, or a single object, as objects of a class: an object whose primary key exists is
    /// updated with the given members, any other is added.
    ///
    /// ```swift
    /// // [{"id": 1, "name": "Rex", "born": "2020-05-01T12:00:00Z", "owner": 7, "tags": ["good"]}]
    /// let dogs = try realm.decode(data, as: Dog.self)
    /// ```
    ///
    /// Members have the names of the properties. Missing members leave the object unchanged; in a new object they have
    /// the defaults of the class. A link is the primary key of an object, or an object, which is added or updated in
    /// the same way. If no object with such a key exists, one with the key and defaults is added, so that objects may
    /// arrive in any order. Embedded objects are objects; lists and sets are arrays; maps are objects. Dates are ISO
    /// 8601 texts with a time and an offset (RFC 3339) or seconds since 1970, data is base64, UUIDs and ObjectIds are
    /// texts, decimals are texts or numbers, enums are raw values.
    ///
    /// A number that does not fit the type of its property is an error: also a whole number that a Double or a Float
    /// cannot hold, such as 9007199254740993, and a decimal of more than 34 digits. Fractions of a Double or a Float
    /// are rounded to the nearest value.
    ///
    /// The objects are stored in the open write transaction, or else in one of their own. All values are checked before
    /// the first is stored.
    ///
    /// - Parameters:
    ///   - json: The text, in UTF-8. An object that has a member twice is an error.
    ///   - type: The class of the objects.
    ///   - ignoringUnknownMembers: True, the default, to skip members that are no properties. If false, they are errors.
    /// - Returns: The objects, in the order of the text.
    /// - Throws: `JSONObjectError` with the path to a value that does not fit, such as `[3].address.street`, or for an
    ///   object without its primary key; then nothing is changed. `Realm.Error` if the transaction fails.
    /// - Thread: That of the Realm. It is a programmer error if the Realm does not have the class.
    /// - Complexity: O(size of the text · log objects).
    @discardableResult
    public func decode<T: Object>(
        _ json: Data, as type: T.Type, ignoringUnknownMembers: Bool = true
    ) throws -> [T] {
        let realm: Realm = self
        realm.core.check()
        let binding = realm.core.binding(for: type)
        let content: JSONValue
        do throws(JSONParser.Problem) { content = try JSONObjectReader.parsed(json) } catch {
            throw JSONObjectError("cannot be parsed: \(error.message)")
        }
        var reader = JSONObjectReader(realm.schema)
        reader.ignoresUnknownMembers = ignoringUnknownMembers
        reader.requiresPrimaryKeys = true
        reader.refusesUnknownCases = true
        let values = try reader.objects(content, ofClass: binding.schema.name)
        func store() -> [T] {
            values.map { value in
                let key = reader.create(binding.schema.name, value, in: realm).rowKey
                return unsafeDowncast(binding.makeAccessor(key), to: T.self)
            }
        }
        if realm.isInWriteTransaction { return store() }
        return try realm.write { store() }
    }

    /// Encodes objects as a JSON array, in the form that `decode(_:as:)` reads.
    ///
    /// Each object has all its stored properties. Links to objects with a primary key are the key, others are nested
    /// objects. Dates are ISO 8601 texts, rounded to milliseconds, outside the years 1 to 9999 seconds since 1970; data
    /// is base64; UUIDs, ObjectIds and decimals are texts; enums and custom types have their stored form. Linking
    /// objects are left out. Members are sorted by name.
    ///
    /// - Parameter objects: Results, a list, an array or another sequence of objects, managed or not.
    /// - Returns: The text, in UTF-8.
    /// - Throws: `JSONObjectError` with the path to a value that has no form in JSON: NaN, infinity, or an object without
    ///   a primary key that contains itself, or is nested more than 100 levels deep.
    /// - Thread: That of the objects.
    /// - Complexity: O(size of the text).
    public func encode<S: Sequence>(from objects: S) throws -> Data where S.Element: ObjectBase {
        var trees: [JSONTree] = []
        for object in objects {
            var writer = JSONObjectWriter()
            do throws(JSONObjectError) { trees.append(try writer.tree(of: object)) } catch {
                throw error.inside("[\(trees.count)]")
            }
        }
        return JSONTree.array(trees).data
    }

    /// Encodes an object as JSON. See `encode(from:)` of several objects.
    public func encode(from object: ObjectBase) throws -> Data {
        var writer = JSONObjectWriter()
        let tree: JSONTree
        do throws(JSONObjectError) { tree = try writer.tree(of: object) } catch { throw error.ofObject }
        return tree.data
    }
}

extension JSONObjectReader {
    /// Returns the values of the objects of an array, or of a single object.
    fileprivate func objects(_ json: JSONValue, ofClass name: String) throws(JSONObjectError) -> [[String: Any]] {
        guard case .array(let elements) = json else {
            do throws(JSONObjectError) { return [try object(json, ofClass: name)] } catch { throw error.ofObject }
        }
        var values: [[String: Any]] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do throws(JSONObjectError) { values.append(try object(element, ofClass: name)) } catch {
                throw error.inside("[\(index)]")
            }
        }
        return values
    }
}
