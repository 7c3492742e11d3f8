// SPDX-License-Identifier: Apache-2.0
// Objects and lists as text, in RealmSwift's form:
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
    static func text<Element>(of list: List<Element>) -> String { text(list, depth) }

    private static func text(_ object: ObjectBase, _ depth: Int) -> String {
        if depth == 0 { return "<Maximum depth exceeded>" }
        if object.isInvalidated { return "[invalid object]" }
        let schema = object.classSchema
        var text = "\(schema.name) {\n"
        for property in schema.properties where !property.isComputed {
            text += "\t\(property.name) = \(inner(property.get(object), depth));\n"
        }
        return text + "}"
    }

    private static func text<Element>(_ list: List<Element>, _ depth: Int) -> String {
        if depth == 0 { return "<Maximum depth exceeded>" }
        let address = String(UInt(bitPattern: Unmanaged.passUnretained(list).toOpaque()), radix: 16)
        let start = "List<\(List<Element>.elementName)> <0x\(address)> (\n"
        if list.isInvalidated { return start + "\n)" }
        let count = list.count
        let lines = (0..<min(count, elementCount)).map {
            "\t[\($0)] \(inner(Element._dynamic(list[$0]), depth))"
        }
        let rest = count > elementCount ? "\n\t... \(count - elementCount) objects skipped." : ""
        return start + lines.joined(separator: ",\n") + rest + "\n)"
    }

    /// A value within another: its lines one tab further in.
    private static func inner(_ value: Any?, _ depth: Int) -> String {
        plain(value, depth).replacingOccurrences(of: "\n", with: "\n\t")
    }

    private static func plain(_ value: Any?, _ depth: Int) -> String {
        switch value {
        case nil: return "(null)"
        case let object as ObjectBase: return text(object, depth - 1)
        case let list as any DescribedList: return list.text(depth: depth - 1)
        case let bool as Bool: return bool ? "1" : "0"
        case let data as Data: return bytes(data)
        case let value?: return "\(value)"
        }
    }

    private static func bytes(_ data: Data) -> String {
        let digits = data.prefix(byteCount).map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return "<\(digits.joined()) — \(data.count) total bytes>"
    }

    fileprivate static func listText<Element>(_ list: List<Element>, depth: Int) -> String {
        text(list, depth)
    }
}

private protocol DescribedList {
    func text(depth: Int) -> String
}

extension List: DescribedList {
    fileprivate func text(depth: Int) -> String { ObjectDescription.listText(self, depth: depth) }
}
