// SPDX-License-Identifier: Apache-2.0
// Writes and reads classes as one JSON object in one line:
//
//   {"schemaVersion": 7, "classes": [{"name": "Dog", "kind": "object", "properties": [
//       {"name": "id", "type": "int", "primaryKey": true},
//       {"name": "owners", "type": "link", "target": "Person", "collection": "list"}]}]}
//
//   kind        object, embedded, asymmetric
//   type        int bool float double string data date decimal objectId uuid any link
//   collection  list, set, dictionary; omitted for a single value
//   optional, primaryKey, indexed, fullText: omitted if false

internal import RegnumRealmFile

enum SchemaJSON {
    static func text(_ classes: [SourceClass], _ version: UInt64?) -> String {
        var text = "{\"schemaVersion\":\(version.map { "\($0)" } ?? "null"),\"classes\":["
        text += classes.map { sourceClass in
            "{\"name\":\(JSONWriter.quoted(sourceClass.name)),\"kind\":\"\(kind(sourceClass.kind))\",\"properties\":["
                + sourceClass.properties.filter { !$0.isInternal && $0.type != .rows }.map(property)
                .joined(separator: ",") + "]}"
        }.joined(separator: ",")
        return text + "]}"
    }

    private static func property(_ property: SourceProperty) -> String {
        var text = "{\"name\":\(JSONWriter.quoted(property.name)),\"type\":\"\(typeName(property.type))\""
        if case .link(let target) = property.type { text += ",\"target\":\(JSONWriter.quoted(target))" }
        if property.collection != .none { text += ",\"collection\":\"\(property.collection)\"" }
        let flags = [
            ("optional", property.isOptional), ("primaryKey", property.isPrimaryKey), ("indexed", property.isIndexed),
            ("fullText", property.hasFullTextIndex),
        ]
        for (name, isSet) in flags where isSet { text += ",\"\(name)\":true" }
        return text + "}"
    }

    private static func kind(_ kind: RealmFileTable.Kind) -> String {
        switch kind {
        case .topLevel: "object"
        case .embedded: "embedded"
        case .asymmetric: "asymmetric"
        }
    }

    private static let types: [(String, RealmFileProperty.ValueType)] = [
        ("int", .int), ("bool", .bool), ("float", .float), ("double", .double), ("string", .string), ("data", .data),
        ("date", .date), ("decimal", .decimal), ("objectId", .objectId), ("uuid", .uuid), ("any", .any),
    ]

    private static func typeName(_ type: RealmFileProperty.ValueType) -> String {
        if case .link = type { return "link" }
        return types.first { $0.1 == type }?.0 ?? "rows"
    }

    // MARK: Reading

    /// Returns true if the JSON is a schema: an object with the member `classes`.
    static func isSchema(_ json: JSONValue) -> Bool { json["classes"] != nil }

    /// Returns the classes and the version of a schema. Throws `RealmFileImportError.Code.malformedJSON`.
    static func parse(_ json: JSONValue) throws -> (classes: [SourceClass], version: UInt64?) {
        guard case .array(let list)? = json["classes"] else { throw problem("it has no list 'classes'") }
        var classes: [SourceClass] = []
        for entry in list {
            guard case .string(let name)? = entry["name"], case .array(let properties)? = entry["properties"] else {
                throw problem("a class needs 'name' and 'properties'")
            }
            let kind: RealmFileTable.Kind
            switch entry["kind"] {
            case nil, .string("object"): kind = .topLevel
            case .string("embedded"): kind = .embedded
            case .string("asymmetric"): kind = .asymmetric
            default: throw problem("class '\(name)' has an unknown 'kind'")
            }
            classes.append(
                SourceClass(
                    name: name, kind: kind, properties: try properties.map { try property($0, name) }, objectCount: 0))
        }
        let names = Set(classes.map(\.name))
        guard names.count == classes.count, !names.contains("") else {
            throw problem("names of classes are empty or there twice")
        }
        for sourceClass in classes {
            guard Set(sourceClass.properties.map(\.name)).count == sourceClass.properties.count else {
                throw problem("class '\(sourceClass.name)' has two properties of one name")
            }
        }
        var version: UInt64?
        if case .number(let text)? = json["schemaVersion"] {
            guard let number = UInt64(text), number < .max else { throw problem("'schemaVersion' is no version") }
            version = number
        }
        return (classes, version)
    }

    private static func property(_ json: JSONValue, _ className: String) throws -> SourceProperty {
        guard case .string(let name)? = json["name"], case .string(let type)? = json["type"] else {
            throw problem("a property of class '\(className)' needs 'name' and 'type'")
        }
        var found = types.first { $0.0 == type }?.1
        if type == "link" {
            guard case .string(let target)? = json["target"] else {
                throw problem("property '\(className).\(name)' needs a 'target'")
            }
            found = .link(target)
        }
        guard let found else { throw problem("property '\(className).\(name)' has the unknown type '\(type)'") }
        let collection: RealmFileProperty.Collection
        switch json["collection"] {
        case nil: collection = .none
        case .string("list"): collection = .list
        case .string("set"): collection = .set
        case .string("dictionary"): collection = .dictionary
        default: throw problem("property '\(className).\(name)' has an unknown 'collection'")
        }
        return SourceProperty(
            name: name, storedName: name, type: found, collection: collection,
            isOptional: json["optional"] == .bool(true),
            isPrimaryKey: json["primaryKey"] == .bool(true), isIndexed: json["indexed"] == .bool(true),
            hasFullTextIndex: json["fullText"] == .bool(true))
    }

    private static func problem(_ words: String) -> RealmFileImportError {
        RealmFileImportError(.malformedJSON, "The schema cannot be used: \(words).")
    }
}
