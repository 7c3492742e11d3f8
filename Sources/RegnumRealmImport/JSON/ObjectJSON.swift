// SPDX-License-Identifier: Apache-2.0
// Objects of a file as lines of JSON, and back.

public import Foundation
internal import Regnum
internal import RegnumRealmFile
internal import RegnumSystem

/// Writes the objects of a file, in Realm's format or Regnum's, as JSON, one object a line, and makes a file of such lines.
///
/// The first line has the classes, as `FileModels.json`. Each line after it is an object:
///
/// ```json
/// {"class":"Dog","key":3,"value":{"name":"Rex","born":{"$date":{"$numberLong":"1600000000000"}},"owner":{"$ref":"Person","$id":1}}}
/// ```
///
/// Types that JSON lacks have the tags of MongoDB's Extended JSON; see <doc:ObjectsAsJSON>. Embedded objects have lines of
/// their own.
public enum ObjectJSON {
    /// Writes the objects of the file.
    ///
    /// - Parameters:
    ///   - url: The file, in Realm's format or Regnum's. It is only read.
    ///   - encryptionKey: The 64 bytes of an encrypted file.
    ///   - classNames: Only these classes; all by default. Links to objects of others are written all the same.
    ///   - withSchema: False to leave the line with the classes out.
    ///   - write: Gets the lines, some at a time.
    /// - Returns: The number of objects.
    /// - Throws: `RealmFileError` or `Realm.Error`, and what `write` throws.
    @discardableResult
    public static func export(
        _ url: URL, encryptionKey: Data? = nil, classNames: [String]? = nil, withSchema: Bool = true,
        write: (Data) throws -> Void
    ) throws -> Int {
        let source = try OpenedSource.open(url, encryptionKey: encryptionKey)
        return try RealmFileImport.writing(url.path) { try export(source, classNames, withSchema, url.path, write) }
    }

    private static func export<Source: ObjectSource>(
        _ source: Source, _ classNames: [String]?, _ withSchema: Bool, _ path: String, _ write: (Data) throws -> Void
    ) throws -> Int {
        for name in classNames ?? [] where !source.classes.contains(where: { $0.name == name }) {
            let names = source.classes.map { "'\($0.name)'" }.joined(separator: ", ")
            throw RealmFileImportError(.unsuitableTarget, "'\(path)' has no class '\(name)'. It has: \(names).")
        }
        var buffer = Data()
        var count = 0
        if withSchema {
            buffer.append(contentsOf: Array((SchemaJSON.text(source.classes, source.schemaVersion) + "\n").utf8))
        }
        let writer = JSONWriter { table in source.classIndex(ofTable: table).map { source.classes[$0].name } }
        for (index, sourceClass) in source.classes.enumerated() {
            if let classNames, !classNames.contains(sourceClass.name) { continue }
            let name = JSONWriter.quoted(sourceClass.name)
            let names = sourceClass.properties.map { JSONWriter.quoted($0.name) }
            let cursor = try source.objects(ofClass: index)
            while let object = try cursor.next() {
                var line = "{\"class\":\(name),\"key\":\(object.key),\"value\":{"
                var isFirst = true
                for (place, property) in sourceClass.properties.enumerated() where !property.isInternal {
                    line += (isFirst ? "" : ",") + names[place] + ":"
                    line += writer.text(try object.value(at: place), property)
                    isFirst = false
                }
                line += "}}\n"
                line.withUTF8 { buffer.append(contentsOf: $0) }
                count += 1
                if buffer.count > 1 << 20 {
                    try write(buffer)
                    buffer.removeAll(keepingCapacity: true)
                }
            }
        }
        if !buffer.isEmpty { try write(buffer) }
        return count
    }

    /// Makes a new file of lines that `export` has written; there must be none at `target`.
    ///
    /// - Parameters:
    ///   - url: The lines.
    ///   - target: The new file.
    ///   - encryptionKey: The 64 bytes with which the new file is encrypted.
    ///   - schema: The classes, if the first line has none.
    ///   - progress: As that of `RealmFileImport`.
    /// - Throws: `RealmFileImportError`, or `Realm.Error`. There is no new file then.
    @discardableResult
    public static func importLines(
        from url: URL, to target: URL, encryptionKey: Data? = nil, schema: Data? = nil,
        progress: ((RealmFileImportProgress) throws -> Void)? = nil
    ) throws -> RealmFileImportReport {
        let source = try JSONSource(url, schema: schema)
        let path = PosixFileSystem.shared.linked(target.standardizedFileURL.path)
        return try RealmFileImport.writing(path) {
            if try PosixFileSystem.shared.status(path) != nil { throw Realm.Error.fileExists(path) }
            let new = try NewFile(beside: path, like: url.path, isReplacement: false, key: encryptionKey)
            let made = try NewFileImport(source: source, report: RealmFileImportReport(), progress: progress).run(
                into: new)
            do { try new.rename(replacing: false) } catch let error as SystemError where error.kind == .exists {
                throw Realm.Error.fileExists(path)
            }
            return made
        }
    }
}
