// SPDX-License-Identifier: Apache-2.0
// Values as JSON for the page: short ones for the cells of a grid, whole ones for the panel of an object.
//
// A cell is null, a text, or an object:
//   {"s": text, "cut": length}              a text that is cut
//   {"link": class, "key": number, "s": label}
//   {"in": class, "s": text}                an embedded object
//   {"n": count, "s": first elements}       a collection
//   {"bytes": count}                        data
//   {"type": type, "s": text}               a value of any type
//
// A node is an object with the type "t" of the value: `node(_:_:_:)`.

internal import Foundation
internal import RegnumEngine
internal import RegnumInspect
internal import RegnumSystem

/// Confined to the session.
struct CellWriter {
    /// The number of characters at which the text of a cell is cut.
    static let cellLength = 200
    /// The number of bytes of a text from which the characters of a cell or a label are taken.
    private static let readBytes = 8192
    /// The number of characters at which a text in the panel is cut.
    static let textLength = 100_000
    /// The number of elements of a collection that a node has.
    static let elementCount = 100
    /// The number of bytes of data that a node has.
    static let byteCount = 512
    /// The depth of nested objects and collections up to which they are written.
    private static let depthLimit = 12
    /// The number of nested values, and of their characters, up to which they are written: an answer is held in memory.
    private static let nestedValues = 20_000
    private static let nestedCharacters = 10_000_000

    /// What is left of the limits of nested values.
    private final class Budget {
        var values = CellWriter.nestedValues
        var characters = CellWriter.nestedCharacters
        var isUsedUp: Bool { values <= 0 || characters <= 0 }
    }

    let session: Session
    let writer: ObjectFormatter
    private let budget = Budget()

    init(_ session: Session) {
        self.session = session
        writer = ObjectFormatter(session: session)
    }

    // MARK: Cells

    func cells(_ table: Table, _ key: ObjectKey) throws(EngineError) -> JSONValue {
        var cells: [JSONValue] = []
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            cells.append(try cell(table, column, key, definition))
        }
        return .array(cells)
    }

    private func cell(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ definition: ColumnDefinition
    ) throws(EngineError) -> JSONValue {
        switch definition.collection {
        case .none:
            if definition.type == .string || definition.type == .data, let location = try table.locate(key) {
                return try bytesCell(table, column, location, isText: definition.type == .string)
            }
            return try cell(try table.value(column, of: key), definition)
        case .list, .set:
            let count = try table.listCount(column, of: key)
            var first: [String] = []
            for index in 0..<min(count, 3) {
                first.append(try short(try table.listValue(column, of: key, at: index), definition.target))
            }
            return ["n": .int(count), "s": .string(first.joined(separator: ", "))]
        case .dictionary:
            let count = try table.dictionaryCount(column, of: key)
            var first: [String] = []
            for index in 0..<min(count, 3) {
                let name = try table.dictionaryKey(column, of: key, at: index)
                let value = try table.dictionaryValue(column, of: key, at: index)
                let start = ObjectLine.start(of: name, characters: 40).text
                first.append(start + ": " + (try short(value, definition.target)))
            }
            return ["n": .int(count), "s": .string(first.joined(separator: ", "))]
        }
    }

    /// The cell of a text or of data, without a copy of a long one.
    private func bytesCell(
        _ table: Table, _ column: Int, _ location: RowLocation, isText: Bool
    ) throws(EngineError) -> JSONValue {
        if location.group.columns[column].isNull(location.row) { return .null }
        return try table.withBytes(column, at: location) { bytes -> JSONValue in
            if !isText { return ["bytes": .int(bytes.count)] }
            if bytes.count <= Self.readBytes { return Self.cut(Self.start(of: bytes), Self.cellLength) }
            return ["s": .string(String(Self.start(of: bytes).prefix(Self.cellLength))), "cut": .int(bytes.count)]
        }
    }

    /// The first characters of a text in UTF-8, all of them if it is not long.
    private static func start(of bytes: UnsafeRawBufferPointer) -> String {
        if bytes.count <= readBytes { return StoredText.string(bytes) }
        var end = readBytes
        // Not in the middle of a scalar.
        while end > 0, bytes[end] & 0xc0 == 0x80 { end -= 1 }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    private func cell(_ value: Value, _ definition: ColumnDefinition) throws(EngineError) -> JSONValue {
        switch value {
        case .null: return .null
        case .link(let key):
            guard let target = definition.target.flatMap({ session.table($0) }), key != .none else { return .null }
            return try link(key, target)
        case .typedLink(let table, let key):
            guard let target = session.table(table), key != .none else { return .null }
            return try link(key, target)
        case let value where definition.type == .mixed:
            return ["type": .string(Self.typeName(value)), "s": .string(try short(value, nil))]
        default: return .string(try writer.plain(value))
        }
    }

    private func link(_ key: ObjectKey, _ target: Table) throws(EngineError) -> JSONValue {
        let name = JSONValue.string(target.definition.name)
        let text = JSONValue.string(try label(target, key))
        return target.definition.isEmbedded
            ? ["in": name, "key": .int(key.rawValue), "s": text]
            : ["link": name, "key": .int(key.rawValue), "s": text]
    }

    private static func cut(_ text: String, _ length: Int) -> JSONValue {
        let start = text.prefix(length)
        if start.endIndex == text.endIndex { return .string(text) }
        return ["s": .string(String(start)), "cut": .int(text.utf8.count)]
    }

    /// A value as a part of a line.
    private func short(_ value: Value, _ target: TableKey?) throws(EngineError) -> String {
        switch value {
        case .null: return "null"
        case .string(let text): return ObjectLine.start(of: text, characters: 60).text
        case .data(let bytes): return "\(bytes.count) bytes"
        case .link(let key):
            guard let table = target.flatMap({ session.table($0) }), key != .none else { return "null" }
            return try label(table, key)
        case .typedLink(let table, let key):
            guard let table = session.table(table), key != .none else { return "null" }
            return table.definition.name + " " + (try label(table, key))
        case .list(let values): return values.count == 1 ? "1 element" : "\(values.count) elements"
        case .dictionary(let entries): return entries.count == 1 ? "1 entry" : "\(entries.count) entries"
        default: return try writer.plain(value)
        }
    }

    static func typeName(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool: "Bool"
        case .int: "Int"
        case .float: "Float"
        case .double: "Double"
        case .string: "String"
        case .data: "Data"
        case .date: "Date"
        case .objectID: "ObjectId"
        case .uuid: "UUID"
        case .decimal128: "Decimal128"
        case .link, .typedLink: "Object"
        case .list: "List"
        case .dictionary: "Map"
        }
    }

    // MARK: Labels

    /// A few words that name an object: of an embedded one its first values, of another one its first text property, or
    /// its primary key, or its number.
    func label(_ table: Table, _ key: ObjectKey) throws(EngineError) -> String {
        let columns = table.definition.columns
        if table.definition.isEmbedded {
            var words: [String] = []
            for (column, definition) in columns.enumerated()
            where !definition.isHidden && definition.collection == .none && definition.type != .link {
                let value = try table.value(column, of: key)
                if value != .null { words.append(try short(value, nil)) }
                if words.count == 3 { break }
            }
            return words.isEmpty ? table.definition.name : words.joined(separator: ", ")
        }
        if let column = Self.labelColumn(table.definition), let location = try table.locate(key),
            !location.group.columns[column].isNull(location.row)
        {
            let text = try table.withBytes(column, at: location) { Self.start(of: $0) }
            if !text.isEmpty { return ObjectLine.start(of: text, characters: 60).text }
        }
        guard let primary = table.definition.primaryKey else { return "#\(key.rawValue)" }
        return try short(try table.value(primary, of: key), nil)
    }

    /// The column of text that names the objects of a class: `name`, `title` or `label`, or the first one.
    static func labelColumn(_ definition: TableDefinition) -> Int? {
        let texts = definition.columns.indices.filter { index in
            let column = definition.columns[index]
            return column.type == .string && column.collection == .none && !column.isHidden
        }
        return texts.first { ["name", "title", "label"].contains(definition.columns[$0].name.lowercased()) }
            ?? texts.first
    }

    // MARK: Nodes

    /// The value of a property.
    func node(_ table: Table, _ column: Int, _ key: ObjectKey, depth: Int = 0) throws(EngineError) -> JSONValue {
        let definition = table.definition.columns[column]
        let target = definition.target
        switch definition.collection {
        case .none: return try node(try table.value(column, of: key), target, depth)
        case .list, .set:
            let count = try table.listCount(column, of: key)
            return [
                "t": .string(definition.collection == .list ? "list" : "set"), "n": .int(count),
                "items": .array(try elements(table, column, key, 0..<min(count, Self.elementCount), depth)),
            ]
        case .dictionary:
            let count = try table.dictionaryCount(column, of: key)
            return [
                "t": "map", "n": .int(count),
                "entries": .array(try elements(table, column, key, 0..<min(count, Self.elementCount), depth)),
            ]
        }
    }

    /// Elements of a list or set; of a map, pairs of key and value.
    func elements(
        _ table: Table, _ column: Int, _ key: ObjectKey, _ range: Range<Int>, _ depth: Int = 0
    ) throws(EngineError) -> [JSONValue] {
        let definition = table.definition.columns[column]
        var nodes: [JSONValue] = []
        for index in range {
            if definition.collection == .dictionary {
                let name = try table.dictionaryKey(column, of: key, at: index)
                let value = try table.dictionaryValue(column, of: key, at: index)
                nodes.append([.string(name), try node(value, definition.target, depth + 1)])
            } else {
                nodes.append(
                    try node(try table.listValue(column, of: key, at: index), definition.target, depth + 1))
            }
        }
        return nodes
    }

    private func node(_ value: Value, _ target: TableKey?, _ depth: Int) throws(EngineError) -> JSONValue {
        if depth > Self.depthLimit || depth > 0 && budget.isUsedUp { return ["t": "deep"] }
        if depth > 0 { budget.values -= 1 }
        switch value {
        case .null: return ["t": "null"]
        case .bool(let bool): return ["t": "Bool", "v": .string(bool ? "true" : "false")]
        case .string(let text):
            if depth > 0 { budget.characters -= min(text.utf8.count, Self.textLength) }
            guard case .object(let cut) = Self.cut(text, Self.textLength) else {
                return ["t": "String", "v": .string(text)]
            }
            return .object([.init(key: "t", value: "String"), .init(key: "v", value: cut[0].value), cut[1]])
        case .data(let bytes):
            var members: [JSONMember] = [
                .init(key: "t", value: "Data"), .init(key: "n", value: .int(bytes.count)),
                .init(key: "v", value: .string(Data(bytes.prefix(Self.byteCount)).base64EncodedString())),
            ]
            if let type = StudioPicture.type(bytes) { members.append(.init(key: "picture", value: .string(type))) }
            return .object(members)
        case .link(let key):
            guard let table = target.flatMap({ session.table($0) }), key != .none else { return ["t": "null"] }
            return try linkNode(key, table, depth)
        case .typedLink(let table, let key):
            guard let table = session.table(table), key != .none else { return ["t": "null"] }
            return try linkNode(key, table, depth)
        case .list(let values):
            var nodes: [JSONValue] = []
            for value in values.prefix(Self.elementCount) { nodes.append(try node(value, nil, depth + 1)) }
            return ["t": "list", "n": .int(values.count), "items": .array(nodes)]
        case .dictionary(let entries):
            var nodes: [JSONValue] = []
            for entry in entries.prefix(Self.elementCount) {
                nodes.append([.string(entry.key), try node(entry.value, nil, depth + 1)])
            }
            return ["t": "map", "n": .int(entries.count), "entries": .array(nodes)]
        default: return ["t": .string(Self.typeName(value)), "v": .string(try writer.plain(value))]
        }
    }

    private func linkNode(_ key: ObjectKey, _ table: Table, _ depth: Int) throws(EngineError) -> JSONValue {
        let name = JSONValue.string(table.definition.name)
        guard table.definition.isEmbedded else {
            return ["t": "link", "class": name, "key": .int(key.rawValue), "v": .string(try label(table, key))]
        }
        var properties: [JSONValue] = []
        for (column, definition) in table.definition.columns.enumerated() where !definition.isHidden {
            properties.append([.string(definition.name), try node(table, column, key, depth: depth + 1)])
        }
        return ["t": "embedded", "class": name, "key": .int(key.rawValue), "properties": .array(properties)]
    }
}

/// Pictures that browsers show and that cannot contain programs, by their first bytes.
enum StudioPicture {
    static func type(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) { return "image/png" }
        if bytes.starts(with: [0xff, 0xd8, 0xff]) { return "image/jpeg" }
        if bytes.starts(with: "GIF8".utf8) { return "image/gif" }
        if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) { return "image/webp" }
        return nil
    }
}
