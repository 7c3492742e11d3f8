// SPDX-License-Identifier: Apache-2.0
// Formats objects as a readable line, as JSON, and as plain text by property.

internal import Foundation
package import RegnumEngine
internal import RegnumSystem

/// Confined to the session.
package final class ObjectFormatter {
    /// How a value is written.
    enum Style {
        /// For reading: long strings are truncated, data is counted.
        case line
        /// JSON as `ObjectFormat.json` describes it.
        case json
        /// As `json`, but a value in a property of type `AnyRealmValue` has a tag if JSON lacks its type, so that
        /// `ObjectParser` restores it.
        case tagged
    }

    private let session: Session
    /// The number of characters at which strings in lines are truncated.
    private static let shownCharacters = 80
    private struct Row: Hashable {
        var table: TableKey
        var key: ObjectKey
    }

    /// The embedded objects written within the current object. Each has one owner, so one that occurs twice is damage,
    /// and may be a cycle.
    private var nested: Set<Row> = []
    private var depth = 0

    package init(session: Session) { self.session = session }

    package func line(_ table: Table, _ key: ObjectKey) throws(EngineError) -> String {
        var text = "\(PrintableText.escaped(table.definition.name)) #\(key.rawValue)"
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            if text.utf8.count > ObjectLine.byteLimit { return text + " ..." }
            text += " \(PrintableText.escaped(definition.name))="
            try write(table, column, key, .line, to: &text)
        }
        return text
    }

    func json(_ table: Table, _ key: ObjectKey, tagged: Bool = false) throws(EngineError) -> String {
        var text = ""
        try write(table, key, tagged ? .tagged : .json, to: &text)
        return text
    }

    /// The value of one property as JSON with tags.
    package func json(_ table: Table, _ column: Int, _ key: ObjectKey) throws(EngineError) -> String {
        var text = ""
        try write(table, column, key, .tagged, to: &text)
        return text
    }

    /// A value that is neither a link nor a collection as plain text, as in `cells`.
    package func plain(_ value: Value) throws(EngineError) -> String {
        switch value {
        case .string(let text): return text
        case .data(let bytes): return Data(bytes).base64EncodedString()
        default:
            var text = ""
            try write(value, nil, .line, to: &text)
            return text
        }
    }

    /// The values of the properties as plain text; nil for null.
    func cells(_ table: Table, _ key: ObjectKey) throws(EngineError) -> [String?] {
        let all = table.definition.columns
        return try cells(table, key, columns: all.indices.filter { !all[$0].isHidden })
    }

    /// The same for some columns, in their order.
    package func cells(_ table: Table, _ key: ObjectKey, columns: [Int]) throws(EngineError) -> [String?] {
        var cells: [String?] = []
        for column in columns { cells.append(try cell(table, column, key, table.definition.columns[column])) }
        return cells
    }

    private func cell(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ definition: ColumnDefinition
    ) throws(EngineError) -> String? {
        guard definition.collection == .none, definition.type != .mixed else {
            let text = try json(table, column, key)
            return definition.collection == .none && text == "null" ? nil : text
        }
        switch try table.value(column, of: key) {
        case .null: return nil
        case .string(let text): return text
        case .data(let bytes): return Data(bytes).base64EncodedString()
        case .link(let target):
            guard let other = definition.target.flatMap({ session.table($0) }), target != .none else { return nil }
            if other.definition.isEmbedded { return try json(table, column, key) }
            guard let primary = other.definition.primaryKey else { return "#\(target.rawValue)" }
            return try cell(other, primary, target, other.definition.columns[primary])
        case let value:
            var text = ""
            try write(value, nil, .line, to: &text)
            return text
        }
    }

    private func write(_ table: Table, _ key: ObjectKey, _ style: Style, to out: inout String) throws(EngineError) {
        var isFirst = true
        out += "{"
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            if !isFirst { out += ", " }
            isFirst = false
            JSONValue.quote(definition.name, to: &out)
            out += ": "
            try write(table, column, key, style, to: &out)
        }
        out += "}"
    }

    private func write(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ style: Style, to out: inout String
    ) throws(EngineError) {
        let definition = table.definition.columns[column]
        // Only values of any type have tags.
        let isMixed = definition.type == .mixed
        if style == .line, definition.collection != .none {
            return try writeFirst(table, column, key, definition, to: &out)
        }
        switch definition.collection {
        case .none: try write(try table.value(column, of: key), definition.target, style, isMixed, to: &out)
        case .list, .set:
            try write(try table.listValues(column, of: key), definition.target, style, isMixed, to: &out)
        case .dictionary:
            try write(try table.dictionaryEntries(column, of: key), definition.target, style, isMixed, to: &out)
        }
    }

    /// Writes the first elements of a collection in a line, without reading the others.
    private func writeFirst(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ definition: ColumnDefinition, to out: inout String
    ) throws(EngineError) {
        let isMap = definition.collection == .dictionary
        let count = isMap ? try table.dictionaryCount(column, of: key) : try table.listCount(column, of: key)
        out += isMap ? "{" : "["
        for index in 0..<count {
            if index > 0 { out += ", " }
            if index == ObjectLine.elementLimit || out.utf8.count > ObjectLine.byteLimit {
                out += "... \(count - index) more"
                break
            }
            if isMap {
                Self.write(try table.dictionaryKey(column, of: key, at: index), false, to: &out)
                out += ": "
                try write(try table.dictionaryValue(column, of: key, at: index), definition.target, .line, to: &out)
            } else {
                try write(try table.listValue(column, of: key, at: index), definition.target, .line, to: &out)
            }
        }
        out += isMap ? "}" : "]"
    }

    private func write(
        _ values: [Value], _ target: TableKey?, _ style: Style, _ isMixed: Bool, to out: inout String
    ) throws(EngineError) {
        out += "["
        for (index, value) in values.enumerated() {
            if index > 0 { out += ", " }
            if Self.isFull(out, index, style) {
                out += "... \(values.count - index) more"
                break
            }
            try write(value, target, style, isMixed, to: &out)
        }
        out += "]"
    }

    private func write(
        _ entries: [DictionaryEntry], _ target: TableKey?, _ style: Style, _ isMixed: Bool, to out: inout String
    ) throws(EngineError) {
        out += "{"
        for (index, entry) in entries.enumerated() {
            if index > 0 { out += ", " }
            if Self.isFull(out, index, style) {
                out += "... \(entries.count - index) more"
                break
            }
            Self.write(entry.key, style != .line, to: &out)
            out += ": "
            try write(entry.value, target, style, isMixed, to: &out)
        }
        out += "}"
    }

    /// True if a line has room for no further element.
    private static func isFull(_ out: String, _ index: Int, _ style: Style) -> Bool {
        style == .line && (index == ObjectLine.elementLimit || out.utf8.count > ObjectLine.byteLimit)
    }

    private func write(
        _ value: Value, _ target: TableKey?, _ style: Style, _ isMixed: Bool, to out: inout String
    ) throws(EngineError) {
        guard isMixed, style == .tagged else { return try write(value, target, style, to: &out) }
        switch value {
        case .null, .bool, .int, .string: try write(value, target, style, to: &out)
        case .double(let double) where double.isFinite: out += "\(double)"
        case .list(let values): try write(values, nil, style, true, to: &out)
        case .dictionary(let entries):
            let isAmbiguous = entries.contains { $0.key.hasPrefix("$") }
            if isAmbiguous { out += "{\"$literal\": " }
            try write(entries, nil, style, true, to: &out)
            if isAmbiguous { out += "}" }
        case .typedLink(let table, let key): try writeLink(key, table, "$ref", to: &out)
        default:
            out += "{\"\(Self.tag(value))\": "
            // Numbers are written as strings, as in Extended JSON.
            if case .float(let float) = value { out += "\"\(float)\"" } else { try write(value, nil, .json, to: &out) }
            out += "}"
        }
    }

    /// A primary key as JSON.
    func json(primaryKey value: Value) throws(EngineError) -> String {
        var out = ""
        try write(value, nil, .json, to: &out)
        return out
    }

    private static func tag(_ value: Value) -> String {
        switch value {
        case .float: "$numberFloat"
        case .double: "$numberDouble"
        case .data: "$binary"
        case .date: "$date"
        case .objectID: "$oid"
        case .uuid: "$uuid"
        default: "$numberDecimal"
        }
    }

    private func write(
        _ value: Value, _ target: TableKey?, _ style: Style, to out: inout String
    ) throws(EngineError) {
        let isJSON = style != .line
        func quoted(_ text: String) -> String { isJSON ? "\"\(text)\"" : text }
        switch value {
        case .null: out += "null"
        case .bool(let bool): out += bool ? "true" : "false"
        case .int(let int): out += "\(int)"
        case .float(let float): out += float.isFinite ? "\(float)" : quoted("\(float)")
        case .double(let double): out += double.isFinite ? "\(double)" : quoted("\(double)")
        case .string(let string): Self.write(string, isJSON, to: &out)
        case .data(let bytes):
            out += isJSON ? quoted(Data(bytes).base64EncodedString()) : "<\(bytes.count) bytes>"
        case .date(let time): out += quoted(DateText.text(time))
        case .objectID(let low, let high): out += quoted(Self.hex(low, 8) + Self.hex(UInt64(high), 4))
        case .uuid(let low, let high):
            let digits = Array((Self.hex(low, 8) + Self.hex(high, 8)).uppercased())
            out += quoted(
                [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-"))
        case .decimal128(let low, let high): out += quoted(DecimalBits(low: low, high: high).text)
        case .link(let key): try writeLink(key, target, style, to: &out)
        case .typedLink(let table, let key): try writeLink(key, table, style, to: &out)
        case .list(let values): try write(values, nil, style, false, to: &out)
        case .dictionary(let entries): try write(entries, nil, style, false, to: &out)
        }
    }

    private func writeLink(
        _ key: ObjectKey, _ target: TableKey?, _ style: Style, to out: inout String
    ) throws(EngineError) {
        guard let table = target.flatMap({ session.table($0) }), key != .none else {
            out += "null"
            return
        }
        let definition = table.definition
        // In a line a deeper object is named only. JSON is read again, so it has all objects or is an error.
        let isShown = style != .line || depth < EmbeddedNesting.depthLimit
        if definition.isEmbedded, isShown, nested.insert(Row(table: definition.key, key: key)).inserted {
            depth += 1
            defer {
                depth -= 1
                if depth == 0 { nested.removeAll() }
            }
            try EmbeddedNesting.check(depth)
            guard style == .line else { return try write(table, key, style, to: &out) }
            out += "(\(try line(table, key)))"
            return
        }
        if style == .line {
            out += "\(PrintableText.escaped(definition.name))#\(key.rawValue)"
        } else {
            try writeLink(key, definition.key, "class", to: &out)
        }
    }

    /// Writes the class, and the primary key or else the number of the object, as a JSON object. `tag` is the name of
    /// the member with the class.
    private func writeLink(
        _ key: ObjectKey, _ target: TableKey, _ tag: String, to out: inout String
    ) throws(EngineError) {
        guard let table = session.table(target), key != .none else {
            out += "null"
            return
        }
        out += "{\"\(tag)\": "
        JSONValue.quote(table.definition.name, to: &out)
        if let primary = table.definition.primaryKey {
            out += ", \"primaryKey\": "
            try write(try table.value(primary, of: key), nil, .json, to: &out)
        } else {
            out += ", \"key\": \(key.rawValue)"
        }
        out += "}"
    }

    private static func write(_ string: String, _ isJSON: Bool, to out: inout String) {
        if isJSON || string.utf8.count <= shownCharacters { return JSONValue.quote(string, to: &out) }
        let (start, isCut) = ObjectLine.start(of: string, characters: shownCharacters)
        JSONValue.quote(start, to: &out)
        if isCut { out += "..." }
    }

    /// The bytes of a word, lowest first, as two hexadecimal digits each.
    private static func hex(_ word: UInt64, _ bytes: Int) -> String {
        (0..<bytes).map { byte in
            let digits = String((word >> UInt64(8 * byte)) & 0xff, radix: 16)
            return digits.count < 2 ? "0" + digits : digits
        }.joined()
    }
}
