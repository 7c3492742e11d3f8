// SPDX-License-Identifier: Apache-2.0
// The schema as a text for reviews and tests: identical for identical tables, in whatever order classes and properties
// are declared. The text can be parsed again (`GoldenText`), which gives a migration step the schema of older files.
//
//     class Department
//         id: int primary
//         "old name": string optional indexed
//         projects: list of object<Project> on-delete cascade
//         unique (country, number)
//
// Names are quoted if they contain white space or one of  " \ : < > ( ) ,

internal import RegnumEngine

/// Additions of Regnum to `Schema`. A program's own members of the same names take precedence.
public protocol SchemaText {}

extension Schema: SchemaText {}

extension SchemaText where Self == Schema {
    /// The schema as text: one line for each class, in the order of their names, followed by one for each stored
    /// property, in the order of the column names, and one for each unique constraint. Describes what files contain,
    /// without the Swift names of properties: two schemas with the same text can open each other's files.
    public var goldenText: String {
        let whole: Schema = self
        let classes = whole.objectSchema.map(\.schema)
        return whole.objectSchema.sorted { $0.className < $1.className }.map { schema in
            let head = "class \(GoldenName.written(schema.className))" + (schema.isEmbedded ? " embedded" : "")
            let lines = schema.properties.sorted { $0.columnName < $1.columnName }.map { property in
                "    \(GoldenName.written(property.columnName)): \(Self.words(property, of: schema, among: classes))"
            }
            let uniques = schema.schema.uniqueColumns.map { columns in
                "    unique (\(columns.map { GoldenName.written($0) }.joined(separator: ", ")))"
            }
            return ([head] + lines + uniques.sorted()).joined(separator: "\n") + "\n"
        }.joined()
    }

    /// A hash that distinguishes texts: FNV-1a of `goldenText`, as 16 hexadecimal digits. Not collision-resistant
    /// against an adversary.
    public var goldenHash: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in goldenText.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func words(
        _ property: Property, of schema: ObjectSchema, among classes: [ClassSchema]
    ) -> String {
        var element = property.type.text
        if let target = property.objectClassName { element += "<\(GoldenName.written(target))>" }
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
        if property.info.deleteRule != .nullify { words.append("on-delete \(property.info.deleteRule)") }
        if let rule = schema.schema.originRule(of: property.info, among: classes), rule != .nullify {
            words.append("on-target-delete \(rule)")
        }
        return words.joined(separator: " ")
    }

    /// The schema that `goldenText` was created from; properties have the names of their columns. If the text is not a
    /// schema, throws `Realm.Error(.invalidInput)` with the line in question.
    public static func golden(_ text: String) throws -> Schema { Schema(try GoldenText.parse(text)) }
}
