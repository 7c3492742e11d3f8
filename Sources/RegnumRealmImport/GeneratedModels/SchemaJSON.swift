// SPDX-License-Identifier: Apache-2.0
// Writes and reads classes as one JSON object on one line:
//
//   {"schemaVersion": 7, "classes": [{"name": "Dog", "kind": "object", "properties": [
//       {"name": "id", "type": "int", "primaryKey": true},
//       {"name": "owners", "type": "link", "target": "Person", "collection": "list"}]}]}
//
//   kind        object, embedded, asymmetric
//   type        int bool float double string data date decimal objectId uuid any link; rows: a table within a table,
//               which no Regnum file can hold
//   collection  list, set, dictionary; omitted for a single value
//   optional, primaryKey, indexed, fullText: omitted if false
//
// The first line of an export also has the member "objects": the number of lines after it. An import uses that number
// to detect that the end of the file is missing. The command `regnum dump` adds the member "rules": unique constraints,
// delete rules and geospatial indexes, which `regnum load` applies after the import.

internal import RegnumRealmFile
internal import RegnumSystem

enum SchemaJSON {
    /// Returns the schema as JSON. `objects` is the number of object lines of an export.
    static func text(_ classes: [SourceClass], _ version: UInt64?, objects: Int? = nil) -> String {
        var text = "{\"schemaVersion\":\(version.map { "\($0)" } ?? "null"),\"classes\":["
        text += classes.map { sourceClass in
            "{\"name\":\(JSONWriter.quoted(sourceClass.name)),\"kind\":\"\(kind(sourceClass.kind))\",\"properties\":["
                + sourceClass.properties.filter { !$0.isInternal }.map(property)
                .joined(separator: ",") + "]}"
        }.joined(separator: ",")
        return text + "]" + (objects.map { ",\"objects\":\($0)" } ?? "") + "}"
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
        ("rows", .rows),
    ]

    private static func typeName(_ type: RealmFileProperty.ValueType) -> String {
        if case .link = type { return "link" }
        guard let name = types.first(where: { $0.1 == type })?.0 else { preconditionFailure("a type without a name") }
        return name
    }

    // MARK: Reading

    /// Returns true if the JSON is a schema: an object with the member `classes`.
    static func isSchema(_ json: JSONValue) -> Bool { json["classes"] != nil }

    /// A schema that was read.
    struct Parsed {
        var classes: [SourceClass] = []
        var version: UInt64?
        /// The number of object lines; nil if the schema does not state it.
        var objects: Int?
    }

    /// Returns a schema. Throws `RealmFileImportError.Code.malformedJSON`.
    static func parse(_ json: JSONValue) throws -> Parsed {
        guard case .array(let list)? = json["classes"] else { throw problem("it has no list 'classes'") }
        try refuse(json.member(besides: "schemaVersion", "classes", "objects", "rules"), in: "the schema")
        var parsed = Parsed()
        parsed.classes = try self.classes(list)
        switch json["schemaVersion"] {
        case nil, .null: break
        case .number(let text):
            guard let number = UInt64(text), number < .max else { throw problem("'schemaVersion' is not a version") }
            parsed.version = number
        default: throw problem("'schemaVersion' is not a version")
        }
        if let objects = json["objects"] {
            guard case .number(let text) = objects, let number = Int(text), number >= 0 else {
                throw problem("'objects' is not a number of lines")
            }
            parsed.objects = number
        }
        return parsed
    }

    private static func classes(_ list: [JSONValue]) throws -> [SourceClass] {
        var classes: [SourceClass] = []
        for entry in list {
            guard case .string(let name)? = entry["name"], case .array(let properties)? = entry["properties"] else {
                throw problem("a class needs 'name' and 'properties'")
            }
            try refuse(entry.member(besides: "name", "kind", "properties"), in: "class '\(name)'")
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
            throw problem("class names are empty or duplicate")
        }
        for sourceClass in classes {
            guard Set(sourceClass.properties.map(\.name)).count == sourceClass.properties.count else {
                throw problem("class '\(sourceClass.name)' has two properties with the same name")
            }
        }
        return classes
    }

    /// Throws if there is a member that no schema has.
    private static func refuse(_ member: String?, in name: String) throws {
        if let member { throw problem("\(name) has the unknown member '\(member)'") }
    }

    /// Returns the value of a member that is true, false or missing.
    private static func flag(_ json: JSONValue, _ member: String, _ name: String) throws -> Bool {
        switch json[member] {
        case nil, .bool(false): return false
        case .bool(true): return true
        default: throw problem("'\(member)' of property '\(name)' is neither true nor false")
        }
    }

    private static func property(_ json: JSONValue, _ className: String) throws -> SourceProperty {
        guard case .string(let name)? = json["name"], case .string(let type)? = json["type"] else {
            throw problem("a property of class '\(className)' needs 'name' and 'type'")
        }
        let label = "\(className).\(name)"
        try refuse(
            json.member(
                besides: "name", "type", "target", "collection", "optional", "primaryKey", "indexed", "fullText"),
            in: "property '\(label)'")
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
            isOptional: try flag(json, "optional", label), isPrimaryKey: try flag(json, "primaryKey", label),
            isIndexed: try flag(json, "indexed", label), hasFullTextIndex: try flag(json, "fullText", label))
    }

    private static func problem(_ words: String) -> RealmFileImportError {
        RealmFileImportError(.malformedJSON, "The schema cannot be used: \(words).")
    }
}
