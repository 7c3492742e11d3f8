// SPDX-License-Identifier: Apache-2.0
// Exports the objects of a file as lines of JSON, and imports such lines.

public import Foundation
internal import Regnum
public import RegnumRealmFile
internal import RegnumSystem

/// Exports the objects of a file in Realm's or Regnum's format as JSON, one object per line, and imports such lines
/// into a new file.
///
/// The first line has the classes, in the form of `FileModels.json`, and the number of lines after it as the member
/// `objects`. Each further line is an object:
///
/// ```json
/// {"class":"Dog","key":3,"value":{"name":"Rex","born":{"$date":{"$numberLong":"1600000000000"}},"owner":{"$ref":"Person","$id":1}}}
/// ```
///
/// Types that JSON lacks are tagged as in MongoDB's Extended JSON; see <doc:ObjectsAsJSON>. Embedded objects have their
/// own lines.
public enum ObjectJSON {
    /// Exports the objects of a file as lines of JSON.
    ///
    /// - Parameters:
    ///   - url: The file, in Realm's or Regnum's format. It is only read.
    ///   - encryptionKey: The 64-byte key of an encrypted file.
    ///   - snapshot: The state of a file in Realm's format. `.previous` is the commit before the newest one, for the
    ///     recovery of a damaged file. It is an error for a Regnum file.
    ///   - classNames: The classes to export; nil, the default, for all. Links to objects of other classes are written,
    ///     too.
    ///   - withSchema: False to omit the line with the classes. An import then cannot detect that lines are missing at
    ///     the end.
    ///   - progress: Called about 200 times, on the calling thread. An error that it throws ends the export, and so
    ///     does cancelling the task.
    ///   - write: Called on the calling thread with UTF-8 text of one or more whole lines, about 1 MiB at a time.
    /// - Returns: The number of exported objects, and the values that could not be exported unchanged.
    /// - Throws: `RealmFileError` or `Realm.Error` if the file cannot be read, `RealmFileImportError` if the key is not
    ///   64 bytes long, the file lacks a class of `classNames`, or another program has written to a file in Realm's
    ///   format in the meantime, `CancellationError` if the task is cancelled, and any error that `progress` or `write`
    ///   throws.
    /// - Thread: Any.
    /// - Complexity: O(size of the exported objects).
    @discardableResult
    public static func export(
        _ url: URL, encryptionKey: Data? = nil, snapshot: RealmFileSnapshot = .current, classNames: [String]? = nil,
        withSchema: Bool = true,
        progress: ((RealmFileImportProgress) throws -> Void)? = nil, write: (Data) throws -> Void
    ) throws -> ObjectJSONReport {
        let source = try OpenedSource.open(url, encryptionKey: encryptionKey, snapshot: snapshot)
        return try RealmFileImport.writing(url.path) {
            try export(source, classNames, withSchema: withSchema, path: url.path, progress, write)
        }
    }

    /// Exports the objects of a file as lines of JSON into a new file, which appears at its path when it is complete
    /// and on stable storage. If it throws, there is no new file.
    ///
    /// - Parameters:
    ///   - url: The file, in Realm's or Regnum's format. It is only read.
    ///   - target: The path of the new file. It is an error if a file exists there. It gets the access rights of `url`.
    ///   - encryptionKey: The 64-byte key of an encrypted file. The lines are not encrypted.
    ///   - snapshot: The state of a file in Realm's format. `.previous` is the commit before the newest one, for the
    ///     recovery of a damaged file. It is an error for a Regnum file.
    ///   - classNames: The classes to export; nil, the default, for all.
    ///   - withSchema: False to omit the line with the classes.
    ///   - progress: Called about 200 times, on the calling thread. An error that it throws ends the export, and so
    ///     does cancelling the task.
    /// - Returns: The number of exported objects, and the values that could not be exported unchanged.
    /// - Throws: The errors of the other `export`, and `Realm.Error` if the new file cannot be written.
    /// - Thread: Any.
    /// - Complexity: O(size of the exported objects).
    @discardableResult
    public static func export(
        _ url: URL, to target: URL, encryptionKey: Data? = nil, snapshot: RealmFileSnapshot = .current,
        classNames: [String]? = nil,
        withSchema: Bool = true,
        progress: ((RealmFileImportProgress) throws -> Void)? = nil
    ) throws -> ObjectJSONReport {
        let path = target.standardizedFileURL.path
        return try RealmFileImport.writing(path) {
            if try PosixFileSystem.shared.status(path) != nil { throw Realm.Error.fileExists(path) }
            let source = try OpenedSource.open(url, encryptionKey: encryptionKey, snapshot: snapshot)
            let output = try OutputFile(at: path, like: url.path)
            let report = try export(
                source, classNames, withSchema: withSchema, path: url.path, progress, output.write)
            try output.finish()
            return report
        }
    }

    private static func export(
        _ source: some ObjectSource, _ classNames: [String]?, withSchema: Bool, path: String,
        _ progress: ((RealmFileImportProgress) throws -> Void)?, _ write: (Data) throws -> Void
    ) throws -> ObjectJSONReport {
        try source.reading {
            let report = try ObjectExport(source, classNames, withSchema: withSchema, path: path, progress).run(write)
            try source.checkUnchanged()
            return report
        }
    }

    /// Imports lines that `export` has written into a new file. If it throws, there is no new file.
    ///
    /// Lines that do not match the schema are errors: an unknown class, a member that the class does not have, the same
    /// member twice, or a value of another type. So is a file whose number of objects differs from the number that its
    /// first line announces, because part of it is missing, and an empty file unless `schema` is given.
    ///
    /// - Parameters:
    ///   - url: The file with the lines.
    ///   - target: The path of the new file. It is an error if a file exists there.
    ///   - encryptionKey: The 64-byte key that encrypts the new file; nil, the default, for a file that is not
    ///     encrypted.
    ///   - schema: The classes, in the form of `FileModels.json`, if the lines do not begin with them.
    ///   - progress: Called about 200 times, on the calling thread. An error that it throws ends the import, and so
    ///     does cancelling the task.
    /// - Returns: The numbers of objects read and written, and the values that could not be carried over.
    /// - Throws: `RealmFileImportError` if the lines cannot be read or are not valid, or the key is not 64 bytes long,
    ///   `Realm.Error` if the new file cannot be written, `CancellationError` if the task is cancelled, and any error
    ///   that `progress` throws.
    /// - Thread: Any.
    /// - Complexity: O(size of the lines); each line is parsed two or three times. Memory: 16 bytes per object.
    @discardableResult
    public static func importLines(
        from url: URL, to target: URL, encryptionKey: Data? = nil, schema: Data? = nil,
        progress: ((RealmFileImportProgress) throws -> Void)? = nil
    ) throws -> RealmFileImportReport {
        let source = try JSONSource(url, schema: schema)
        let path = PosixFileSystem.shared.linked(target.standardizedFileURL.path)
        return try RealmFileImport.writing(path) {
            let new = try NewFile(beside: path, like: url.path, isReplacement: false, key: encryptionKey)
            let made = try NewFileImport(source: source, report: RealmFileImportReport(), progress: progress).run(
                into: new)
            try new.rename()
            return made
        }
    }
}
