// SPDX-License-Identifier: Apache-2.0
// Textual descriptions of objects and collections, in RealmSwift's form:
//
//     Dog {
//         name = Rex;
//         owner = (null);
//     }

internal import Foundation

enum ObjectDescription {
    private static let depth = 5
    private static let elementCount = 100
    private static let byteCount = 24

    static func text(of object: ObjectBase) -> String { text(object, depth) }
    static func text<Element>(of collection: _StoredCollection<Element>) -> String { text(collection, depth) }
    static func text<Key, Value>(of map: Map<Key, Value>) -> String { text(map, depth) }

    /// Returns the description of a collection in the form used for an object's collections. The class is named as in
    /// the file, even if the elements are dynamic.
    static func text<Elements: _ResultsCollection>(of elements: Elements) -> String {
        let kind = "\(Elements.self)".prefix { $0 != "<" }
        guard let state = elements._handle.state else {
            return "\(kind)<\(typeName(Elements.Element.self))> <unmanaged>"
        }
        let name = state.binding?.schema.name ?? typeName(Elements.Element.self)
        let start = "\(kind)<\(name)> \(address(state)) (\n"
        let count = state.isInvalidated ? 0 : state.count
        return start + lines(count, depth) { Elements.Element._dynamic(elements[$0]) }
    }

    private static func text(_ object: ObjectBase, _ depth: Int) -> String {
        if depth == 0 { return "<Maximum depth exceeded>" }
        if object.isInvalidated { return "[invalid object]" }
        let schema = object.classSchema
        var text = "\(schema.name) {\n"
        for property in schema.properties where !property.isComputed {
            text += "\t\(property.name) = \(inner(property.shown(of: object), depth));\n"
        }
        return text + "}"
    }

    private static func text<Element>(_ collection: _StoredCollection<Element>, _ depth: Int) -> String {
        if depth == 0 { return "<Maximum depth exceeded>" }
        let name = collection is List<Element> ? "List" : "MutableSet"
        let start = "\(name)<\(typeName(Element.self))> \(address(collection)) (\n"
        let count = collection.isInvalidated ? 0 : collection.count
        return start + lines(count, depth) { collection.shownElement(at: $0) }
    }

    /// Returns the elements of a collection, each preceded by its position, and the closing parenthesis.
    private static func lines(_ count: Int, _ depth: Int, _ element: (Int) -> Any?) -> String {
        let lines = (0..<min(count, elementCount)).map { "\t[\($0)] \(inner(element($0), depth))" }
        return lines.joined(separator: ",\n") + skipped(count) + "\n)"
    }

    private static func text<Key, Value>(_ map: Map<Key, Value>, _ depth: Int) -> String {
        if depth == 0 { return "<Maximum depth exceeded>" }
        let start = "Map<string, \(typeName(Value.self))> \(address(map)) (\n"
        if map.isInvalidated { return start + "\n)" }
        let entries = map.anyEntries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        let lines = entries.prefix(elementCount).map { "[\($0.key)]: \(inner($0.value, depth))" }
        return start + lines.joined(separator: ",\n") + skipped(entries.count) + "\n)"
    }

    /// Returns the name of the element type, without a mark for optional types.
    private static func typeName<Element: _HasPersistedType>(_ type: Element.Type) -> String {
        Element._shape.target.map { ClassNames.name(of: $0) } ?? Element._shape.type.text
    }

    private static func address(_ object: AnyObject) -> String {
        "<0x\(String(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()), radix: 16))>"
    }

    private static func skipped(_ count: Int) -> String {
        count > elementCount ? "\n\t... \(count - elementCount) objects skipped." : ""
    }

    /// Returns the text of a nested value, with its lines indented by one more tab.
    private static func inner(_ value: Any?, _ depth: Int) -> String {
        plain(value, depth).replacingOccurrences(of: "\n", with: "\n\t")
    }

    private static func plain(_ value: Any?, _ depth: Int) -> String {
        switch value {
        case nil: return "(null)"
        case let object as ObjectBase: return text(object, depth - 1)
        case let collection as any DescribedCollection: return collection.text(depth: depth - 1)
        case let bool as Bool: return bool ? "1" : "0"
        case let number as Double: return whole(number) ?? "\(number)"
        case let number as Float: return whole(Double(number)) ?? "\(number)"
        case let data as Data: return bytes(data)
        case let value?: return "\(value)"
        }
    }

    /// Returns a whole number without its fraction, as Apple's `NSNumber` does.
    private static func whole(_ number: Double) -> String? {
        if number == 0, number.sign == .minus { return "-0" }
        return abs(number) < 1e16 ? Int(exactly: number).map { "\($0)" } : nil
    }

    private static func bytes(_ data: Data) -> String {
        let digits = data.prefix(byteCount).map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return "<\(digits.joined()) — \(data.count) total bytes>"
    }

    fileprivate static func collectionText<Element>(_ collection: _StoredCollection<Element>, _ depth: Int)
        -> String
    { text(collection, depth) }
    fileprivate static func mapText<Key, Value>(_ map: Map<Key, Value>, _ depth: Int) -> String { text(map, depth) }
}

private protocol DescribedCollection {
    func text(depth: Int) -> String
}

extension _StoredCollection: DescribedCollection {
    fileprivate final func text(depth: Int) -> String { ObjectDescription.collectionText(self, depth) }
}

extension Map: DescribedCollection {
    fileprivate func text(depth: Int) -> String { ObjectDescription.mapText(self, depth) }
}
