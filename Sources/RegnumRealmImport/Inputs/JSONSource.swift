// SPDX-License-Identifier: Apache-2.0
// Lines of JSON as a source: a schema, then one object per line. An index in memory has the key and the offset of each
// object's line, 16 bytes per object.

internal import Foundation
internal import RegnumRealmFile
internal import RegnumSystem

final class JSONSource: ObjectSource {
    /// The key of an object, and the offset of its line in the file.
    struct Line {
        var key: Int64
        var offset: Int
    }

    private(set) var classes: [SourceClass] = []
    private(set) var schemaVersion: UInt64?
    let replacedTextCount = 0
    let deletedLinkCount = 0
    let omissions: [String] = []
    let omittedObjectCount = 0
    private let path: String
    private let reader: LineReader
    private var hasSchema = false
    /// The number of object lines, according to the first line.
    private var announcedCount: Int?
    private var classIndexes: [String: Int] = [:]
    /// By class: the index of each property.
    fileprivate private(set) var propertyIndexes: [[String: Int]] = []
    fileprivate private(set) var values = JSONReader { _ in nil }
    fileprivate private(set) var lines: [[Line]] = []

    /// Parses every line once, to index the objects. `schema` is the schema if the file has none; two schemas are an
    /// error. Throws `RealmFileImportError`, with the line number if a line is not valid.
    init(_ url: URL, schema: Data?) throws {
        path = url.path
        do throws(SystemError) {
            reader = LineReader(try PosixFileSystem.shared.open(path, .readOnly))
        } catch { throw Self.unreadable(path, error) }
        if let schema {
            try take(schema.withUnsafeBytes { try Self.parse($0, "The schema") })
            announcedCount = nil
        }
        try index()
    }

    func classIndex(ofTable table: Int) -> Int? { classes.indices.contains(table) ? table : nil }

    func objects(ofClass index: Int) -> JSONCursor { JSONCursor(self, index) }

    private func take(_ schema: JSONValue) throws {
        let parsed = try SchemaJSON.parse(schema)
        hasSchema = true
        (classes, schemaVersion, announcedCount) = (parsed.classes, parsed.version, parsed.objects)
        lines = classes.map { _ in [] }
        let indexes = Dictionary(uniqueKeysWithValues: classes.enumerated().map { ($1.name, $0) })
        classIndexes = indexes
        propertyIndexes = classes.map { sourceClass in
            Dictionary(uniqueKeysWithValues: sourceClass.properties.enumerated().map { ($1.name, $0) })
        }
        values = JSONReader { indexes[$0] }
    }

    // MARK: The index

    private func index() throws {
        var (offset, number, count) = (0, 0, 0)
        while let next = try line(
            at: offset,
            { line, next in
                number += 1
                // The index takes long, and no progress is reported in the meantime.
                if number & 255 == 0 { try Task.checkCancellation() }
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { return next }
                let json = try Self.parse(line, "Line \(number)")
                if SchemaJSON.isSchema(json) {
                    guard !hasSchema else { throw Self.malformed("Line \(number) is a second schema.") }
                    try take(json)
                } else {
                    let (place, key) = try check(json, number)
                    lines[place].append(Line(key: key, offset: offset))
                    count += 1
                }
                return next
            })
        {
            offset = next
        }
        guard hasSchema else {
            throw Self.malformed("'\(path)' is empty: it has neither classes nor objects. " + Self.needsSchema)
        }
        if let announcedCount, announcedCount != count {
            throw Self.malformed(
                "'\(path)' has \(count) objects, but its first line announces \(announcedCount): "
                    + (count < announcedCount ? "its end is missing, or lines were removed" : "lines were added")
                    + ". Export it again, or remove the member 'objects' of the first line to import the lines "
                    + "that there are.")
        }
        try sort()
    }

    private static let needsSchema =
        "The first line must be the one that `regnum schema --json` writes; or pass the schema separately."

    /// Checks the members of an object's line. Returns the index of its class, and its key.
    private func check(_ json: JSONValue, _ number: Int) throws -> (place: Int, key: Int64) {
        guard case .string(let name)? = json["class"], case .number(let text)? = json["key"],
            let key = Int64(text), case .object(let members)? = json["value"]
        else {
            throw Self.malformed("Line \(number) is not an object: it needs 'class', 'key' and 'value'.")
        }
        if let member = json.member(besides: "class", "key", "value") {
            throw Self.malformed(
                "Line \(number) has the unknown member '\(member)': an object has 'class', 'key' and 'value'.")
        }
        guard let place = classIndexes[name] else {
            throw Self.malformed(
                hasSchema
                    ? "Line \(number) is of class '\(name)', which the schema does not have."
                    : "There is no schema before line \(number). \(Self.needsSchema)")
        }
        if let member = members.first(where: { propertyIndexes[place][$0.key] == nil }) {
            throw Self.malformed(
                "Line \(number) has the member '\(member.key)' in its value, which class '\(name)' of the schema "
                    + "does not have.")
        }
        return (place, key)
    }

    private func sort() throws {
        for place in lines.indices {
            if zip(lines[place], lines[place].dropFirst()).contains(where: { $0.key >= $1.key }) {
                lines[place].sort { $0.key < $1.key }
            }
            if let twice = zip(lines[place], lines[place].dropFirst()).first(where: { $0.key == $1.key }) {
                throw Self.malformed("Class '\(classes[place].name)' has two objects with the key \(twice.0.key).")
            }
            classes[place].objectCount = lines[place].count
        }
    }

    // MARK: Reading

    private func line<R>(at offset: Int, _ body: (UnsafeRawBufferPointer, Int) throws -> R) throws -> R? {
        do { return try reader.line(at: offset, body) } catch let error as SystemError {
            throw Self.unreadable(path, error)
        }
    }

    fileprivate func object(_ line: Line) throws -> JSONValue {
        let json = try self.line(at: line.offset) { bytes, _ in
            try Self.parse(bytes, "The object with the key \(line.key)")
        }
        guard let value = json?["value"] else {
            throw Self.malformed("'\(path)' was changed during the import: do not change it, and import it again.")
        }
        return value
    }

    /// Returns the number of the line at `offset`; for errors. O(offset).
    fileprivate func number(ofLineAt offset: Int) throws -> Int {
        var (number, start) = (1, 0)
        while start < offset, let next = try line(at: start, { _, next in next }) {
            number += 1
            start = next
        }
        return number
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer, _ name: String) throws -> JSONValue {
        do { return try JSONParser.parse(bytes) } catch {
            throw malformed("\(name) is not valid JSON: \(error.message).")
        }
    }

    private static func malformed(_ message: String) -> RealmFileImportError {
        RealmFileImportError(.malformedJSON, message)
    }

    private static func unreadable(_ path: String, _ error: SystemError) -> RealmFileImportError {
        malformed("'\(path)' cannot be read: \(error).")
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
        let indexes = source.propertyIndexes[place]
        var values: [JSONValue?] = Array(repeating: nil, count: source.classes[place].properties.count)
        if case .object(let members) = try source.object(line) {
            for member in members { if let index = indexes[member.key] { values[index] = member.value } }
        }
        return JSONObject(source: source, sourceClass: source.classes[place], line: line, values: values)
    }
}

struct JSONObject: SourceObject {
    fileprivate let source: JSONSource
    fileprivate let sourceClass: SourceClass
    fileprivate let line: JSONSource.Line
    /// By index of the property; nil for a member that the line does not have.
    fileprivate let values: [JSONValue?]

    var key: Int64 { line.key }

    func value(at index: Int) throws -> RealmFileValue {
        let property = sourceClass.properties[index]
        do { return try source.values.value(values[index], property) } catch let error as JSONReader.Problem {
            throw RealmFileImportError(
                .malformedJSON,
                "Line \(try source.number(ofLineAt: line.offset)): '\(sourceClass.name).\(property.name)' of the object "
                    + "with the key \(key): \(error.words).")
        }
    }
}
