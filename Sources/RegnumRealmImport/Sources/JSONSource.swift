// SPDX-License-Identifier: Apache-2.0
// Lines of JSON as a source: a schema, then one object per line. The file is mapped; an index in memory has the key and
// the offset of each object's line, 16 bytes per object.

internal import Foundation
internal import RegnumRealmFile

final class JSONSource: ObjectSource {
    /// The key of an object, and the offset of its line in `data`.
    struct Line {
        var key: Int64
        var offset: Int
    }

    private(set) var classes: [SourceClass]
    private(set) var schemaVersion: UInt64?
    let replacedTextCount = 0
    fileprivate let data: Data
    fileprivate private(set) var reader: JSONReader
    fileprivate private(set) var lines: [[Line]] = []

    /// Parses every line once, to index the objects. `schema` is the schema if the file has none; two schemas are an
    /// error. Throws `RealmFileImportError`, with the line number if a line is not valid.
    init(_ url: URL, schema: Data?) throws {
        do { data = try Data(contentsOf: url, options: .alwaysMapped) } catch {
            throw RealmFileImportError(.malformedJSON, "'\(url.path)' cannot be read: \(error.localizedDescription)")
        }
        classes = []
        reader = JSONReader { _ in nil }
        if let schema { try take(Self.parse(schema, "The schema")) }
        try index()
    }

    func classIndex(ofTable table: Int) -> Int? { classes.indices.contains(table) ? table : nil }

    func objects(ofClass index: Int) -> JSONCursor { JSONCursor(self, index) }

    private func take(_ schema: JSONValue) throws {
        (classes, schemaVersion) = try SchemaJSON.parse(schema)
        lines = classes.map { _ in [] }
        let names = Dictionary(uniqueKeysWithValues: classes.enumerated().map { ($1.name, $0) })
        reader = JSONReader { names[$0] }
    }

    /// The offset of the end of the line that contains `offset`, without its line feed.
    private func end(_ offset: Int) -> Int {
        data.withUnsafeBytes { bytes in
            var place = offset
            while place < bytes.count, bytes[place] != 0x0a { place += 1 }
            return place
        }
    }

    private func index() throws {
        var offset = data.startIndex
        var number = 0
        while offset < data.endIndex {
            let end = end(offset)
            number += 1
            defer { offset = end + 1 }
            let line = data[offset..<end]
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { continue }
            let json = try Self.parse(line, "Line \(number)")
            if SchemaJSON.isSchema(json) {
                guard classes.isEmpty else {
                    throw RealmFileImportError(.malformedJSON, "Line \(number) is a second schema.")
                }
                try take(json)
                continue
            }
            guard case .string(let name)? = json["class"], case .number(let text)? = json["key"],
                let key = Int64(text), case .object? = json["value"]
            else {
                throw RealmFileImportError(
                    .malformedJSON, "Line \(number) is no object: it needs 'class', 'key' and 'value'.")
            }
            guard let place = classes.firstIndex(where: { $0.name == name }) else {
                throw RealmFileImportError(
                    .malformedJSON,
                    classes.isEmpty
                        ? "There is no schema: let the first line be the one that `regnum schema --json` writes."
                        : "Line \(number) is of class '\(name)', which the schema does not have.")
            }
            lines[place].append(Line(key: key, offset: offset))
        }
        for place in lines.indices {
            if zip(lines[place], lines[place].dropFirst()).contains(where: { $0.key >= $1.key }) {
                lines[place].sort { $0.key < $1.key }
            }
            if let twice = zip(lines[place], lines[place].dropFirst()).first(where: { $0.key == $1.key }) {
                throw RealmFileImportError(
                    .malformedJSON, "Class '\(classes[place].name)' has two objects with the key \(twice.0.key).")
            }
            classes[place].objectCount = lines[place].count
        }
    }

    private static func parse(_ data: Data, _ name: String) throws -> JSONValue {
        do {
            return try data.withUnsafeBytes { try JSONParser.parse($0) }
        } catch let error as JSONParser.Problem {
            throw RealmFileImportError(.malformedJSON, "\(name) is no JSON: \(error.words).")
        }
    }

    fileprivate func object(_ line: Line) throws -> JSONValue {
        try Self.parse(data[line.offset..<end(line.offset)], "The object with the key \(line.key)")["value"] ?? .null
    }
}

/// Iterates over the objects of one class in the order of their keys.
final class JSONCursor: SourceCursor {
    private let source: JSONSource
    private let place: Int
    private var position = 0

    init(_ source: JSONSource, _ place: Int) {
        self.source = source
        self.place = place
    }

    func next() throws -> JSONObject? {
        guard position < source.lines[place].count else { return nil }
        let line = source.lines[place][position]
        position += 1
        return JSONObject(
            key: line.key, json: try source.object(line), sourceClass: source.classes[place], reader: source.reader)
    }
}

struct JSONObject: SourceObject {
    let key: Int64
    let json: JSONValue
    let sourceClass: SourceClass
    let reader: JSONReader

    func value(at index: Int) throws -> RealmFileValue {
        let property = sourceClass.properties[index]
        do { return try reader.value(json[property.name], property) } catch let error as JSONReader.Problem {
            throw RealmFileImportError(
                .malformedJSON,
                "'\(sourceClass.name).\(property.name)' of the object with the key \(key): \(error.words).")
        }
    }
}
