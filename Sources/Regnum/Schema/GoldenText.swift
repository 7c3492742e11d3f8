// SPDX-License-Identifier: Apache-2.0
// Parses the text of `Schema.goldenText`, line by line and by Unicode scalars, because the first scalar of a name may
// combine with the character before it. Also accepts older texts, in which names had no quotes, and the line ends of
// other systems.

internal import RegnumEngine

/// Names as written in schema texts.
enum GoldenName {
    private static let special: Set<Unicode.Scalar> = ["\"", "\\", ":", "<", ">", "(", ")", ","]

    /// The name, in quotes if it could be mistaken for something else.
    static func written(_ name: String) -> String {
        let scalars = name.unicodeScalars
        if !scalars.isEmpty, !scalars.contains(where: { special.contains($0) || isBlank($0) }) { return name }
        return "\"" + scalars.map { escaped($0) }.joined() + "\""
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.generalCategory == .control
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        if scalar == "\"" || scalar == "\\" { return "\\" + String(scalar) }
        if scalar == " " || !isBlank(scalar) { return String(scalar) }
        return "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}

/// A line, or the rest of it that is not yet parsed.
private struct GoldenLine {
    private var rest: ArraySlice<Unicode.Scalar>

    /// Trims the white space around the line.
    init(_ scalars: some Sequence<Unicode.Scalar>) {
        rest = Array(scalars)[...]
        trim()
    }

    var isEmpty: Bool { rest.isEmpty }
    var text: String { Self.text(rest) }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    mutating func trim() {
        while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
    }

    mutating func take(prefix: String) -> Bool {
        guard rest.starts(with: prefix.unicodeScalars) else { return false }
        rest.removeFirst(prefix.unicodeScalars.count)
        return true
    }

    mutating func take(suffix: String) -> Bool {
        guard rest.reversed().starts(with: suffix.unicodeScalars.reversed()) else { return false }
        rest.removeLast(suffix.unicodeScalars.count)
        return true
    }

    /// Takes a name that is quoted, or that ends before one of `ends` or before white space.
    mutating func takeName(endingAt ends: Set<Unicode.Scalar> = []) -> String? {
        if rest.first == "\"" { return takeQuoted() }
        let name = rest.prefix { !$0.properties.isWhitespace && !ends.contains($0) }
        rest = rest.dropFirst(name.count)
        return name.isEmpty ? nil : Self.text(name)
    }

    /// Takes the rest of the line as a name.
    mutating func takeLastName() -> String? {
        if rest.first == "\"" {
            let name = takeQuoted()
            return isEmpty ? name : nil
        }
        defer { rest = [] }
        return isEmpty ? nil : text
    }

    /// Takes the name of a property and the colon after it.
    mutating func takePropertyName() -> String? {
        if rest.first == "\"" {
            guard let name = takeQuoted(), take(prefix: ": ") else { return nil }
            return name
        }
        let colon = rest.indices.first { rest[$0] == ":" && $0 + 1 < rest.endIndex && rest[$0 + 1] == " " }
        guard let colon else { return nil }
        let name = GoldenLine(rest[..<colon])
        rest = rest[(colon + 2)...]
        return name.isEmpty ? nil : name.text
    }

    /// Takes a delete rule at the end of the line, after `word`.
    mutating func takeRule(_ word: String) -> LinkRule? {
        for rule in LinkRule.allCases where take(suffix: " \(word) \(rule)") { return rule }
        return nil
    }

    private mutating func takeQuoted() -> String? {
        guard take(prefix: "\"") else { return nil }
        var name = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == "\"" { return String(name) }
            guard scalar == "\\" else {
                name.append(scalar)
                continue
            }
            guard let escaped = takeEscaped() else { return nil }
            name.append(escaped)
        }
        return nil
    }

    /// Takes the character after a backslash: itself, or `u{hexadecimal}`.
    private mutating func takeEscaped() -> Unicode.Scalar? {
        guard let scalar = rest.popFirst() else { return nil }
        if scalar != "u" { return scalar }
        guard take(prefix: "{") else { return nil }
        let digits = rest.prefix { $0 != "}" }
        rest = rest.dropFirst(digits.count)
        guard take(prefix: "}"), let value = UInt32(Self.text(digits), radix: 16) else { return nil }
        return Unicode.Scalar(value)
    }
}

enum GoldenText {
    private struct Class {
        var name: String
        var isEmbedded: Bool
        var properties: [ClassProperty] = []
        var uniques: [[String]] = []
    }

    static func parse(_ text: String) throws -> [ClassSchema] {
        var classes: [Class] = []
        let lines = text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }
        var names: Set<String> = []
        for (number, scalars) in lines.enumerated() {
            let line = GoldenLine(scalars)
            if line.isEmpty { continue }
            let isHead = scalars.first?.properties.isWhitespace == false
            if isHead, isEnd(line) { break }
            if isHead, let head = head(line) {
                guard names.insert(head.name).inserted else {
                    throw refused("line \(number + 1), '\(line.text)', declares a class a second time")
                }
                classes.append(head)
            } else if let place = classes.indices.last,
                let property = property(line, number: classes[place].properties.count)
            {
                classes[place].properties.append(property)
            } else if let place = classes.indices.last, let unique = unique(line) {
                classes[place].uniques.append(unique)
            } else {
                throw refused("line \(number + 1), '\(line.text)', is not a line of a schema")
            }
        }
        return try classes.map { try schema($0, among: names) }
    }

    private static func schema(_ read: Class, among names: Set<String>) throws -> ClassSchema {
        if let lost = read.properties.first(where: { $0.targetName.map { !names.contains($0) } ?? false }) {
            throw refused("'\(read.name).\(lost.name)' links to '\(lost.targetName ?? "")', which is not in the text")
        }
        let uniques = try read.uniques.map { columns in
            try columns.map { column in
                guard let place = read.properties.firstIndex(where: { $0.name == column }) else {
                    throw refused("'\(column)' is in a unique constraint, but is not a property of '\(read.name)'")
                }
                return place
            }
        }
        return ClassSchema(
            dynamic: read.name, isEmbedded: read.isEmbedded, properties: read.properties, uniques: uniques)
    }

    private static func refused(_ words: String) -> Realm.Error {
        Realm.Error(
            .invalidInput, .invalidSchema,
            "The text of a schema cannot be read: \(words). Take the text from "
                + "`goldenText`, or from the command `regnum schema`.")
    }

    /// `version number hash digits`: the line that `regnum schema` prints after the text.
    private static func isEnd(_ whole: GoldenLine) -> Bool {
        var line = whole
        guard line.take(prefix: "version "), line.takeName() != nil else { return false }
        return line.take(prefix: " hash ")
    }

    /// `class name [embedded]`
    private static func head(_ whole: GoldenLine) -> Class? {
        var line = whole
        guard line.take(prefix: "class ") else { return nil }
        line.trim()
        guard let name = line.takeName() else { return nil }
        line.trim()
        let isEmbedded = line.take(prefix: "embedded")
        return line.isEmpty ? Class(name: name, isEmbedded: isEmbedded) : nil
    }

    /// `unique (name, name)`
    private static func unique(_ whole: GoldenLine) -> [String]? {
        var line = whole
        guard line.take(prefix: "unique ("), line.take(suffix: ")") else { return nil }
        var names: [String] = []
        repeat {
            guard let name = line.takeName(endingAt: [","]) else { return nil }
            names.append(name)
        } while line.take(prefix: ", ")
        return line.isEmpty ? names : nil
    }

    /// `name: [list of|set of|map of] type[<Class>] [optional] [primary|indexed] [full-text|location]`, and for links
    /// `[on-delete rule] [on-target-delete rule]`
    private static func property(_ whole: GoldenLine, number: Int) -> ClassProperty? {
        var line = whole
        guard let name = line.takePropertyName() else { return nil }
        line.trim()
        let originRule = line.takeRule("on-target-delete")
        let deleteRule = line.takeRule("on-delete")
        let isContentIndexed = line.take(suffix: " full-text") || line.take(suffix: " location")
        let isPrimary = line.take(suffix: " primary")
        let isIndexed = !isPrimary && line.take(suffix: " indexed")
        let isOptional = line.take(suffix: " optional")
        var collection = _PropertyShape.Collection.none
        if line.take(prefix: "list of ") {
            collection = .list
        } else if line.take(prefix: "set of ") {
            collection = .set
        } else if line.take(prefix: "map of ") {
            collection = .dictionary
        }
        guard let (type, target) = valueType(line), target != nil || originRule == nil && deleteRule == nil else {
            return nil
        }
        var shape = _PropertyShape(type)
        shape.collection = collection
        shape.isOptional = isOptional || type == .object && collection == .none
        if target != nil { shape.target = DynamicObject.self }
        let property = ClassProperty(
            name: name, offset: number, shape: shape, storage: .column, type: shape.dynamicType, fieldType: Any.self)
        property.isIndexed = isIndexed
        property.isContentIndexed = isContentIndexed
        property.isPrimaryKey = isPrimary
        property.targetName = target
        property.deleteRule = deleteRule ?? .nullify
        property.originRule = originRule
        return property
    }

    /// `type` or `object<Class>`
    private static func valueType(_ whole: GoldenLine) -> (PropertyType, String?)? {
        var line = whole
        if line.take(prefix: "object<") {
            guard line.take(suffix: ">"), let target = line.takeLastName() else { return nil }
            return (.object, target)
        }
        let text = line.text
        let types = (0...12).compactMap { PropertyType(rawValue: $0) }
        let type = types.first { $0.text == text && $0 != .linkingObjects && $0 != .object }
        guard let type else { return nil }
        return (type, nil)
    }
}
