// SPDX-License-Identifier: Apache-2.0
// The schema as a text for review and for tests: the same for the same tables, in whatever order classes and
// properties are declared. The text can be read again: so a step of a migration knows what older files held.

internal import Foundation

/// What Regnum adds to `Schema`. Members of your own with these names win.
public protocol SchemaText {}

extension Schema: SchemaText {}

extension SchemaText where Self == Schema {
    /// One line for each class, by name, and below it one for each stored property, by the name of its column. Says
    /// what lies in files, nothing of names in Swift: two schemas with the same text can open each other's files.
    public var goldenText: String {
        let whole: Schema = self
        return whole.objectSchema.sorted { $0.className < $1.className }.map { schema in
            let head = "class \(schema.className)" + (schema.isEmbedded ? " embedded" : "")
            let lines = schema.properties.sorted { $0.columnName < $1.columnName }
                .map { property in "    \(property.columnName): \(Self.words(property, of: schema))" }
            return ([head] + lines).joined(separator: "\n") + "\n"
        }.joined()
    }

    /// 16 hexadecimal digits that tell texts apart: FNV-1a of `goldenText`. Not for adversaries.
    public var goldenHash: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in goldenText.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func words(_ property: Property, of schema: ObjectSchema) -> String {
        var element = property.type.text
        if let target = property.objectClassName { element += "<\(target)>" }
        if property.isArray { element = "list of \(element)" }
        if property.isSet { element = "set of \(element)" }
        if property.isMap { element = "map of \(element)" }
        var words = [element]
        if property.isOptional && property.objectClassName == nil { words.append("optional") }
        if schema.primaryKeyProperty?.name == property.name {
            words.append("primary")
        } else if property.isIndexed {
            words.append("indexed")
        }
        if property.info.isContentIndexed { words.append(property.type == .string ? "full-text" : "location") }
        return words.joined(separator: " ")
    }

    /// The schema that `goldenText` was written from: names of properties are those of the columns. Throws
    /// `Realm.Error(.invalidInput)` that names the line where the text is none.
    public static func golden(_ text: String) throws -> Schema { Schema(try GoldenText.parse(text)) }
}

/// `Schema.goldenText` read again.
enum GoldenText {
    static func parse(_ text: String) throws -> [ClassSchema] {
        var classes: [(name: String, isEmbedded: Bool, properties: [ClassProperty])] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ")
            guard let first = words.first else { continue }
            if first == "class", !line.hasPrefix(" ") {
                guard words.count == 2 || words.count == 3 && words[2] == "embedded" else { throw wrong(number, line) }
                classes.append((String(words[1]), words.count == 3, []))
                continue
            }
            guard let place = classes.indices.last,
                let property = property(line, number: classes[place].properties.count)
            else { throw wrong(number, line) }
            classes[place].properties.append(property)
        }
        let names = Set(classes.map(\.name))
        for (name, _, properties) in classes {
            if let lost = properties.first(where: { $0.targetName.map { !names.contains($0) } ?? false }) {
                throw refused("'\(name).\(lost.name)' links to '\(lost.targetName ?? "")', which is not in the text")
            }
        }
        guard names.count == classes.count else { throw refused("a class is there twice") }
        return classes.map { ClassSchema(dynamic: $0.name, isEmbedded: $0.isEmbedded, properties: $0.properties) }
    }

    private static func wrong(_ number: Int, _ line: Substring) -> Realm.Error {
        refused("line \(number + 1), '\(line.trimmingCharacters(in: .whitespaces))', is no line of one")
    }

    private static func refused(_ words: String) -> Realm.Error {
        Realm.Error(
            .invalidInput, .invalidSchema,
            "The text of a schema cannot be read: \(words). Take the text from "
                + "`goldenText`, or from the command `regnum schema`.", fileURL: nil)
    }

    /// `name: [list of|set of|map of] type[<Class>] [optional] [primary|indexed] [full-text|location]`
    private static func property(_ line: Substring, number: Int) -> ClassProperty? {
        guard let colon = line.range(of: ": ") else { return nil }
        let name = line[..<colon.lowerBound].trimmingCharacters(in: .whitespaces)
        var rest = line[colon.upperBound...].trimmingCharacters(in: .whitespaces)
        func take(suffix: String) -> Bool {
            guard rest.hasSuffix(suffix) else { return false }
            rest.removeLast(suffix.count)
            return true
        }
        let isContentIndexed = take(suffix: " full-text") || take(suffix: " location")
        let isPrimary = take(suffix: " primary")
        let isIndexed = !isPrimary && take(suffix: " indexed")
        let isOptional = take(suffix: " optional")
        var collection = _PropertyShape.Collection.none
        for (word, kind) in [("list of ", _PropertyShape.Collection.list), ("set of ", .set), ("map of ", .dictionary)]
        where rest.hasPrefix(word) {
            collection = kind
            rest.removeFirst(word.count)
            break
        }
        var target: String?
        if rest.hasPrefix("object<"), rest.hasSuffix(">") {
            target = String(rest.dropFirst("object<".count).dropLast())
            rest = "object"
        }
        let types = (0...12).compactMap { PropertyType(rawValue: $0) }
        guard let type = types.first(where: { $0.text == rest && $0 != .linkingObjects }), !name.isEmpty,
            (type == .object) == (target != nil)
        else { return nil }
        var shape = _PropertyShape(type)
        shape.collection = collection
        shape.isOptional = isOptional || type == .object && collection == .none
        if target != nil { shape.target = DynamicObject.self }
        var property = ClassProperty(
            name: name, offset: number, shape: shape, storage: .column, type: shape.dynamicType, fieldType: Any.self)
        property.isIndexed = isIndexed
        property.isContentIndexed = isContentIndexed
        property.isPrimaryKey = isPrimary
        property.targetName = target
        return property
    }
}
