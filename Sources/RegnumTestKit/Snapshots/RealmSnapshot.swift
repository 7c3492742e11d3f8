// SPDX-License-Identifier: Apache-2.0
// The objects of a realm as text. The text is the same for the same objects, regardless of the order in which classes
// and properties are declared, and of objects inserted in between.

internal import Foundation
public import Regnum

extension RealmAdditions where Self == Realm {
    /// The objects as text, for comparison and review:
    ///
    /// ```
    /// Dog "Rex"
    ///     age: 3
    ///     owner: Person 1
    /// ```
    ///
    /// Classes are sorted by name, objects by primary key, properties by name. Objects without a primary key are
    /// numbered in the order of the file, `Dog #0`. Sets are sorted by the text of their elements, maps by key.
    ///
    /// - Parameters:
    ///   - types: The classes; all classes if none is given.
    ///   - redacted: Properties that differ in each run, such as "Dog.born" or "*.born"; they are shown as `...`.
    /// - Thread: The realm's own.
    /// - Complexity: O(objects); the whole text is in memory.
    public func snapshotText(of types: [ObjectBase.Type] = [], redacting redacted: Set<String> = []) -> String {
        let realm: Realm = self
        var writer = SnapshotWriter(realm: realm, redacted: redacted)
        let names = Set(types.map { $0.className() })
        return realm.schema.objectSchema
            .filter { !$0.isEmbedded && (names.isEmpty || names.contains($0.className)) }
            .sorted { $0.className < $1.className }
            .flatMap { writer.objects(of: $0) }.joined(separator: "\n") + "\n"
    }
}

private struct SnapshotWriter {
    let realm: Realm
    let redacted: Set<String>
    /// The objects without a primary key in the order of their numbers, filled on first use.
    private var numbers: [String: [DynamicObject]] = [:]

    init(realm: Realm, redacted: Set<String>) {
        self.realm = realm
        self.redacted = redacted
    }

    mutating func objects(of schema: ObjectSchema) -> [String] {
        var objects = Array(realm.dynamicObjects(schema.className))
        if let key = schema.primaryKeyProperty {
            objects = Array(realm.dynamicObjects(schema.className).sorted(byKeyPath: key.name))
        }
        var blocks: [String] = []
        for object in objects {
            let lines = properties(of: object, schema, indent: "    ")
            blocks.append(([name(object, schema)] + lines).joined(separator: "\n"))
        }
        return blocks
    }

    private mutating func properties(of object: ObjectBase, _ schema: ObjectSchema, indent: String) -> [String] {
        var lines: [String] = []
        for property in schema.properties.sorted(by: { $0.name < $1.name }) {
            let isHidden = ["\(schema.className).\(property.name)", "*.\(property.name)"].contains {
                redacted.contains($0)
            }
            let text =
                isHidden
                ? "..." : self.text(object.value(forKey: property.name), property, object, indent: indent)
            lines.append("\(indent)\(property.name): \(text)")
        }
        return lines
    }

    /// The name of an object in links.
    private mutating func name(_ object: ObjectBase, _ schema: ObjectSchema) -> String {
        if let key = schema.primaryKeyProperty {
            return "\(schema.className) \(plain(object.value(forKey: key.name)))"
        }
        let all = numbers[schema.className] ?? Array(realm.dynamicObjects(schema.className))
        numbers[schema.className] = all
        let number = all.firstIndex { $0.isSameObject(as: object) }
        return "\(schema.className) #\(number.map { "\($0)" } ?? "?")"
    }

    private mutating func text(_ value: Any?, _ property: Property, _ object: ObjectBase, indent: String) -> String {
        guard property.isArray || property.isSet || property.isMap else { return text(value, indent: indent) }
        return property.isMap
            ? map(value, property, object, indent) : list(value, property, object, indent)
    }

    private mutating func list(
        _ value: Any?, _ property: Property, _ object: ObjectBase, _ indent: String
    ) -> String {
        var elements: [String] = []
        if property.type == .object {
            let objects =
                property.isSet
                ? Array(object.dynamicMutableSet(property.name)) : Array(object.dynamicList(property.name))
            for element in objects { elements.append(text(element, indent: indent)) }
        } else if let collection = value as? any Sequence {
            for element in collection { elements.append(text(element, indent: indent)) }
        }
        return property.isSet
            ? "{" + elements.sorted().joined(separator: ", ") + "}" : "[" + elements.joined(separator: ", ") + "]"
    }

    private mutating func map(
        _ value: Any?, _ property: Property, _ object: ObjectBase, _ indent: String
    ) -> String {
        var entries: [(String, String)] = []
        if property.type == .object {
            for entry in object.dynamicMap(property.name).asKeyValueSequence() {
                entries.append((entry.key, text(entry.value, indent: indent)))
            }
        } else if let map = value as? any SnapshotMap {
            for (key, value) in map.snapshotEntries { entries.append((key, text(value, indent: indent))) }
        }
        let parts = entries.sorted { $0.0 < $1.0 }.map { "\(plain($0.0)): \($0.1)" }
        return "{" + parts.joined(separator: ", ") + "}"
    }

    private mutating func text(_ value: Any?, indent: String) -> String {
        if let mixed = value as? AnyRealmValue { return text(mixed, indent: indent) }
        // When read by name, a property of type AnyRealmValue returns the value that it contains.
        if let list = value as? List<AnyRealmValue> { return text(.list(list), indent: indent) }
        if let map = value as? Map<String, AnyRealmValue> { return text(.dictionary(map), indent: indent) }
        guard let object = value as? ObjectBase else { return plain(value) }
        let schema = object.objectSchema
        guard schema.isEmbedded else { return name(object, schema) }
        let lines = properties(of: object, schema, indent: indent + "    ")
        return (["\(schema.className)"] + lines).joined(separator: "\n")
    }

    private mutating func text(_ mixed: AnyRealmValue, indent: String) -> String {
        switch mixed {
        case .none: return "nil"
        case .object(let object): return text(object, indent: indent)
        case .list(let list):
            var elements: [String] = []
            for element in list { elements.append(text(element, indent: indent)) }
            return "[" + elements.joined(separator: ", ") + "]"
        case .dictionary(let map):
            var entries: [(String, String)] = []
            for entry in map.asKeyValueSequence() { entries.append((entry.key, text(entry.value, indent: indent))) }
            return "{" + entries.sorted { $0.0 < $1.0 }.map { "\(plain($0.0)): \($0.1)" }.joined(separator: ", ") + "}"
        case .int(let value): return plain(value)
        case .bool(let value): return plain(value)
        case .float(let value): return plain(value)
        case .double(let value): return plain(value)
        case .string(let value): return plain(value)
        case .data(let value): return plain(value)
        case .date(let value): return plain(value)
        case .objectId(let value): return plain(value)
        case .decimal128(let value): return plain(value)
        case .uuid(let value): return plain(value)
        }
    }

    /// A value that is neither an object nor a collection.
    private func plain(_ value: Any?) -> String {
        switch value {
        case nil, is NSNull: "nil"
        case let text as String: "\"\(Self.escaped(text))\""
        case let data as Data: "\(data.count) bytes " + data.map { Self.hexadecimal($0) }.joined()
        case let date as Date: date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        case let uuid as UUID: uuid.uuidString
        // Tested by its dynamic type, because a Bool can be cast to NSNumber.
        case let number? where type(of: number) is NSNumber.Type: Self.text(number)
        case let other?: "\(other)"
        }
    }

    /// A number that was read by name, in Swift's notation.
    private static func text(_ value: Any) -> String {
        guard let number = value as? NSNumber else { return "\(value)" }
        return switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"): "\(number.floatValue)"
        case UInt8(ascii: "d"): "\(number.doubleValue)"
        default: "\(number.int64Value)"
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\"", "\\": result += "\\\(character)"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default:
                if character.value < 0x20 {
                    result += "\\u{\(String(character.value, radix: 16))}"
                } else {
                    result.unicodeScalars.append(character)
                }
            }
        }
        return result
    }
}

/// A map with values of any type.
private protocol SnapshotMap {
    var snapshotEntries: [(String, Any)] { get }
}

extension Map: SnapshotMap {
    fileprivate var snapshotEntries: [(String, Any)] { asKeyValueSequence().map { ("\($0.key)", $0.value as Any) } }
}
