// SPDX-License-Identifier: Apache-2.0
// Writes the objects of a source as lines of JSON, and reports the values that could not be written unchanged.

internal import Foundation
internal import RegnumRealmFile

/// The result of an export. A value; can be used on any thread.
public struct ObjectJSONReport: Sendable, Equatable, CustomStringConvertible {
    /// The number of objects that were written.
    public internal(set) var objectCount = 0
    /// The number of values that could not be written unchanged.
    public internal(set) var lossCount = 0
    /// The first `RealmFileImportReport.lossLimit` of these values, in the order in which they were written.
    public internal(set) var losses: [RealmFileImportReport.Loss] = []
    /// A sentence for each table of a file in Realm's format that was left out, or belongs to no class and has another
    /// name than in the file.
    public internal(set) var notes: [String] = []
    /// The number of objects of the tables that were left out; 0 if the caller has named the classes to export.
    public internal(set) var omittedObjectCount = 0

    /// True if each object was written, and each value unchanged. O(1).
    public var isComplete: Bool { lossCount == 0 && omittedObjectCount == 0 }

    /// The report as text: the number of objects, a line for each of the first 1,000 losses, and the notes.
    public var description: String {
        var lines = ["\(objectCount) objects written" + (lossCount > 0 ? ", \(lossCount) values not unchanged" : "")]
        lines += losses.prefix(1000).map { "not carried over: \($0)" }
        if lossCount > min(losses.count, 1000) { lines.append("\(lossCount) not carried over in all") }
        return (lines + notes).joined(separator: "\n")
    }
}

final class ObjectExport<Source: ObjectSource> {
    private static var bufferByteCount: Int { 1 << 20 }

    private let source: Source
    /// The indexes of the exported classes.
    private let places: [Int]
    private let exportsAll: Bool
    private let withSchema: Bool
    private let path: String
    private let watch: ImportWatch
    private var buffer = Data()
    private var report = ObjectJSONReport()
    /// The current value, for losses.
    private var current = (place: 0, property: "", key: Int64(0))

    /// Throws `.unknownClass` if a class of `classNames` does not exist.
    init(
        _ source: Source, _ classNames: [String]?, withSchema: Bool, path: String,
        _ progress: ((RealmFileImportProgress) throws -> Void)?
    ) throws {
        for name in classNames ?? [] where !source.classes.contains(where: { $0.name == name }) {
            let names = source.classes.map { "'\($0.name)'" }.joined(separator: ", ")
            throw RealmFileImportError(.unknownClass, "'\(path)' has no class '\(name)'. It has: \(names).")
        }
        self.source = source
        self.withSchema = withSchema
        self.path = path
        exportsAll = classNames == nil
        places = source.classes.indices.filter { classNames?.contains(source.classes[$0].name) ?? true }
        watch = ImportWatch(objects: places.reduce(0) { $0 + source.classes[$1].objectCount }, passes: 1, progress)
    }

    func run(_ write: (Data) throws -> Void) throws -> ObjectJSONReport {
        if withSchema {
            let count = places.reduce(0) { $0 + source.classes[$1].objectCount }
            let schema = SchemaJSON.text(source.classes, source.schemaVersion, objects: count)
            buffer.append(contentsOf: Array((schema + "\n").utf8))
        }
        report.notes = source.omissions
        if exportsAll { report.omittedObjectCount = source.omittedObjectCount }
        for place in places { try export(place, write) }
        try watch.finish()
        if !buffer.isEmpty { try write(buffer) }
        return report
    }

    private func export(_ place: Int, _ write: (Data) throws -> Void) throws {
        let sourceClass = source.classes[place]
        let writer = JSONWriter(
            className: { [source] table in source.classIndex(ofTable: table).map { source.classes[$0].name } },
            lose: { [unowned self] in lose($0) })
        let name = JSONWriter.quoted(sourceClass.name)
        let names = sourceClass.properties.map { JSONWriter.quoted($0.name) }
        let cursor = try source.objects(ofClass: place)
        var count = 0
        while let object = try cursor.next() {
            var line = "{\"class\":\(name),\"key\":\(object.key),\"value\":{"
            var isFirst = true
            for (index, property) in sourceClass.properties.enumerated() where !property.isInternal {
                line += (isFirst ? "" : ",") + names[index] + ":"
                current = (place, property.name, object.key)
                let replaced = source.replacedTextCount
                let value = try object.value(at: index)
                if source.replacedTextCount > replaced { lose("bytes that are not valid UTF-8 are replaced by U+FFFD") }
                line += writer.text(value, property)
                isFirst = false
            }
            line += "}}\n"
            line.withUTF8 { buffer.append(contentsOf: $0) }
            count += 1
            try watch.report(.objects, sourceClass.name, count, sourceClass.objectCount)
            if buffer.count > Self.bufferByteCount {
                try write(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        report.objectCount += count
        // The first line has announced the number.
        guard count == sourceClass.objectCount else {
            throw RealmFileError(
                .damaged,
                "class '\(sourceClass.name)' has \(count) objects, but its table counts \(sourceClass.objectCount)",
                filePath: path)
        }
    }

    private func lose(_ reason: String) {
        report.lossCount += 1
        if report.losses.count < RealmFileImportReport.lossLimit {
            report.losses.append(
                RealmFileImportReport.Loss(
                    className: source.classes[current.place].name, property: current.property, key: current.key,
                    reason: reason))
        }
    }
}
