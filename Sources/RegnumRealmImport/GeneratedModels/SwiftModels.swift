// SPDX-License-Identifier: Apache-2.0
// Writes classes as Swift source.

internal import RegnumEngine
internal import RegnumRealmFile

struct SwiftModels {
    private let classes: [SourceClass]
    private let version: UInt64?
    /// The Swift names of the classes, in the order of `classes`.
    private let names: [String]
    /// The Swift names by the names of the classes.
    private let namesByClass: [String: String]

    init(_ classes: [SourceClass], _ version: UInt64?) {
        self.classes = classes
        self.version = version
        var taken = Self.typeNames
        let names = classes.map { Self.unique(Self.identifier($0.name), suffix: "Model", &taken) }
        self.names = names
        namesByClass = Dictionary(zip(classes.map(\.name), names), uniquingKeysWith: { first, _ in first })
    }

    var text: String {
        var lines = [
            "// The classes of a file" + (version.map { ", schema version \($0)." } ?? "."), "import RealmSwift", "",
        ]
        let schema = NewSchema(classes)
        for index in classes.indices { lines += classLines(index, schema) + [""] }
        return lines.joined(separator: "\n")
    }

    private func classLines(_ index: Int, _ schema: NewSchema) -> [String] {
        let sourceClass = classes[index]
        let base = sourceClass.kind == .embedded ? "EmbeddedObject" : "Object"
        var lines: [String] = []
        lines.append("class \(Self.quoted(names[index])): \(base) {")
        var taken = Self.memberNames
        var mapping: [(String, String)] = []
        let columns = Dictionary(
            uniqueKeysWithValues: zip(schema.carried[index], schema.tables[index].columns))
        let reasons = Dictionary(uniqueKeysWithValues: schema.dropped[index].map { ($0.source, $0.reason) })
        for (place, property) in sourceClass.properties.enumerated() {
            guard let column = columns[place] else {
                let reason =
                    reasons[place] ?? "it belongs to Realm's synchronisation"
                lines.append("    // '\(Self.comment(property.name))' is left out: \(Self.comment(reason))")
                continue
            }
            let name = Self.unique(Self.identifier(property.name), suffix: "Value", &taken)
            if name != property.name { mapping.append((name, property.name)) }
            lines.append("    \(attribute(column)) var \(Self.quoted(name)): \(type(property))")
        }
        if names[index] != sourceClass.name {
            lines += [
                "", "    override class func _realmObjectName() -> String? { \(Self.literal(sourceClass.name)) }",
            ]
        }
        if !mapping.isEmpty {
            lines += ["", "    override class func propertiesMapping() -> [String: String] {", "        ["]
            lines += mapping.map { "            \(Self.literal($0.0)): \(Self.literal($0.1))," }
            lines += ["        ]", "    }"]
        }
        return lines + ["}"]
    }

    private func attribute(_ column: NewColumn) -> String {
        if column.isPrimaryKey { return "@Persisted(primaryKey: true)" }
        if column.isContentIndexed { return "@Persisted(indexed: .fullText)" }
        return column.isIndexed ? "@Persisted(indexed: true)" : "@Persisted"
    }

    private func type(_ property: SourceProperty) -> String {
        let value: String
        var isOptional = property.isOptional
        switch property.type {
        case .int: value = "Int"
        case .bool: value = "Bool"
        case .float: value = "Float"
        case .double: value = "Double"
        case .string: value = "String"
        case .data: value = "Data"
        case .date: value = "Date"
        case .decimal: value = "Decimal128"
        case .objectId: value = "ObjectId"
        case .uuid: value = "UUID"
        case .any, .rows: (value, isOptional) = ("AnyRealmValue", false)
        case .link(let target):
            value = namesByClass[target].map { Self.quoted($0) } ?? "Object"
            isOptional = property.collection == .none || property.collection == .dictionary
        }
        let element = value + (isOptional ? "?" : "")
        switch property.collection {
        case .none: return element
        case .list: return "List<\(element)>"
        case .set: return "MutableSet<\(element)>"
        case .dictionary: return "Map<String, \(element)>"
        }
    }

    // MARK: Names

    /// Returns a valid Swift identifier that resembles `name`: other characters are replaced by underscores.
    private static func identifier(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            let isPart =
                scalar == "_" || (scalar.isASCII ? scalar.properties.isXIDContinue : scalar.properties.isAlphabetic)
            text.unicodeScalars.append(isPart ? scalar : "_")
        }
        guard let first = text.unicodeScalars.first else { return "_empty" }
        if first != "_", !first.properties.isXIDStart { return "_" + text }
        return text.allSatisfy { $0 == "_" } ? text + "0" : text
    }

    private static func unique(_ name: String, suffix: String, _ taken: inout Set<String>) -> String {
        var candidate = name
        var number = 1
        while !taken.insert(candidate).inserted {
            candidate = name + suffix + (number == 1 ? "" : "\(number)")
            number += 1
        }
        return candidate
    }

    private static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    private static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\" + String(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                literal += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    /// Returns the text on one line: line breaks are replaced by spaces.
    private static func comment(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    /// Names of types that the generated source uses, and names that a class cannot have.
    private static let typeNames: Set<String> = [
        "Int", "Bool", "Float", "Double", "String", "Data", "Date", "Decimal128", "ObjectId", "UUID", "AnyRealmValue",
        "Object", "ObjectBase", "EmbeddedObject", "AsymmetricObject", "DynamicObject", "List", "MutableSet", "Map",
        "Results", "Realm", "RealmSwift", "Regnum", "Foundation", "Swift", "Persisted", "Optional", "Array", "Set",
        "Dictionary", "Any", "AnyObject", "Self", "Type", "Protocol", "Never", "Error", "Result", "Void", "self",
        "init",
        "Sendable", "Equatable", "Hashable", "Codable",
    ]

    /// Members of the base classes, and names that a property cannot have.
    private static let memberNames: Set<String> = [
        "description", "debugDescription", "hash", "hashValue", "realm", "isInvalidated", "isFrozen", "objectSchema",
        "className", "self", "Self", "Any", "Type", "Protocol", "init", "deinit", "subscript", "observe", "freeze",
        "thaw",
        "isSameObject", "value", "setValue", "sharedSchema", "primaryKey", "ignoredProperties", "indexedProperties",
        "propertiesMapping", "isEmbedded", "dynamicList", "objectIdentity", "linkingObjects", "detached", "_",
        "shouldIncludeInDefaultSchema", "superclass", "isKind", "responds",
    ]

    private static let keywords: Set<String> = [
        "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout",
        "internal", "let", "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows", "static",
        "struct", "subscript", "typealias", "var", "break", "case", "catch", "continue", "default", "defer", "do",
        "else",
        "fallthrough", "for", "guard", "if", "in", "repeat", "return", "throw", "switch", "where", "while", "as",
        "false", "is", "nil", "super", "throws", "true", "try", "await", "async", "actor", "some", "any",
    ]
}
