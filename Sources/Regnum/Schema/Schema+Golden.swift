// SPDX-License-Identifier: Apache-2.0
// The schema as a text for review and for tests: the same for the same tables, in whatever order classes and
// properties are declared.

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
        return words.joined(separator: " ")
    }
}
