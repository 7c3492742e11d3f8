// SPDX-License-Identifier: Apache-2.0
// Creates objects from JSON: an object that has an array for each class; each element is an object with a member for
// each property.

public import Foundation
public import Regnum
internal import RegnumSystem

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
        let content: JSONValue
        do throws(JSONParser.Problem) { content = try JSONObjectReader.parsed(json) } catch {
            throw FixtureError(place: "fixture", message: "is not valid JSON: \(error.message)")
        }
        guard case .object(let classes) = content else {
            throw FixtureError(place: "fixture", message: "must be an object of arrays, one for each class")
        }
        let reader = JSONObjectReader(realm.schema)
        var values: [(name: String, value: [String: Any])] = []
        for member in classes.sorted(by: { $0.key < $1.key }) {
            let name = member.key
            guard case .array(let list) = member.value else {
                throw FixtureError(place: name, message: "must be an array of objects")
            }
            if realm.schema[name]?.isEmbedded == true {
                throw FixtureError(place: name, message: "is embedded: put its objects into the objects that own them")
            }
            for (index, element) in list.enumerated() {
                do throws(JSONObjectError) {
                    values.append((name, try reader.object(element, ofClass: name)))
                } catch {
                    throw FixtureError(place: "\(name)[\(index)]\(error.path)", message: error.message)
                }
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
