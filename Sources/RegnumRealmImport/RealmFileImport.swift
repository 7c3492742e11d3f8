// SPDX-License-Identifier: Apache-2.0
// Imports a file in Realm's format, into a new file or into an open Realm.

public import Foundation
internal import RegnumEngine
public import RegnumRealmFile
internal import RegnumSystem
public import Regnum

/// Imports the classes and objects of a file in Realm's format, versions 2 to 11 and 20 to 24, into Regnum.
///
/// ```swift
/// let report = try RealmFileImport(from: oldURL, to: newURL).run()
/// guard report.isComplete else { return log(report.description) }
/// ```
///
/// The import only reads the old file. If another program commits to it in the meantime, the import throws. A new file
/// gets the classes and the schema version of the old one. It appears at its path only when it is complete: if the
/// import throws or its process is killed, there is no file at that path, and the import can be repeated. After a kill,
/// an import of the same file with the same options continues after the last batch. See <doc:ImportingRealmFiles> for
/// imports into an open Realm.
///
/// Thread: use an instance from one thread at a time, on any thread; with an open Realm, on that Realm's thread.
/// Memory: bounded by the batches that are committed, plus 24 bytes for each run of objects with consecutive keys. In
/// formats from 10 to 21, classes with primary keys have keys that are not consecutive: 24 bytes for each object.
public struct RealmFileImport {
    private enum Target {
        case file(URL)
        case realm(Realm)
    }

    private let source: URL
    private let target: Target
    /// The 64-byte encryption key of the old file; nil, the default, if the file is not encrypted.
    public var sourceKey: Data?
    /// The 64-byte key that encrypts a new file; nil, the default, for a file that is not encrypted. With a key of
    /// another length, `run` throws `RealmFileImportError.Code.wrongKey`. Ignored by an import into an open Realm.
    public var targetKey: Data?
    /// True to read a new file back before it appears at its path, and to compare each value with the old file; false
    /// by default. Takes about as long as the import. An import that continues after a kill always does this. Ignored
    /// by an import into an open Realm.
    public var verifies = false
    /// The state of the old file that is imported. `.previous` is the commit before the newest one, for the recovery of
    /// a damaged file; later writes may have overwritten parts of it. `.current` by default.
    public var snapshot = RealmFileSnapshot.current
    /// Called about 200 times, on the thread of the import. An error that it throws ends the import, and so does
    /// cancelling the task.
    public var progress: ((RealmFileImportProgress) throws -> Void)?

    /// Creates an import into a new file. Reads and writes nothing until `run`. Any thread.
    ///
    /// - Parameters:
    ///   - source: The file in Realm's format.
    ///   - target: The path of the new file. `run` throws `Realm.Error` if a file exists there, or if a file that is
    ///     not a lock file of Regnum has that name with `.lock`.
    public init(from source: URL, to target: URL) {
        self.source = source
        self.target = .file(target)
    }

    /// Creates an import into an open Realm. Only the classes and properties that the Realm declares are imported.
    /// Reads and writes nothing until `run`.
    ///
    /// Classes are matched by name. Properties are matched first by the name of their column, which `propertiesMapping`
    /// may specify, and then by their name in the class. An object whose primary key exists already is updated with the
    /// values of the old file. The classes with primary keys come first, and are committed in batches: repeating the
    /// import after an interruption produces the same objects. All other classes, and the links that may lead to them,
    /// are one transaction at the end. If the Realm is in a write transaction when `run` is called, the import is part
    /// of that transaction and does not commit it.
    ///
    /// - Parameters:
    ///   - source: The file in Realm's format.
    ///   - target: The Realm. Call `run` on its thread; on another thread the call is a programmer error.
    public init(from source: URL, to target: Realm) {
        self.source = source
        self.target = .realm(target)
    }

    /// Runs the import, and returns when it is complete.
    ///
    /// If it throws, there is no new file. In an open Realm, the batches committed so far remain; if the import is part
    /// of the caller's write transaction, cancel that transaction.
    ///
    /// - Returns: The numbers of objects read and written, and the values that could not be carried over.
    /// - Throws: `RealmFileError` if the old file cannot be read, `Realm.Error` if the target cannot be written or
    ///   read, `RealmFileImportError` if the key or the verification fails or another program has written to the old
    ///   file, `CancellationError` if the task is cancelled, and any error that `progress` throws.
    /// - Complexity: O(size of the old file). Classes with links are read twice; verification reads everything once
    ///   more.
    @discardableResult
    public func run() throws -> RealmFileImportReport {
        try Task.checkCancellation()
        let objects = try RealmFileSource.open(source, encryptionKey: sourceKey, snapshot: snapshot)
        return try objects.reading { try run(objects) }
    }

    private func run(_ objects: RealmFileSource) throws -> RealmFileImportReport {
        let report = RealmFileImportReport(of: objects.file)
        switch target {
        case .file(let url):
            let path = PosixFileSystem.shared.linked(url.standardizedFileURL.path)
            return try RealmFileImport.writing(path) {
                let new = try NewFile(
                    beside: path, like: source.path, isReplacement: false, key: targetKey, resumes: true)
                let origin = objects.state.map { state in
                    ImportOrigin(
                        state, path: source.path, isPrevious: snapshot == .previous, isReplacement: false,
                        verifies: verifies)
                }
                let driver = NewFileImport(
                    source: objects, report: report, verifies: verifies, origin: origin, progress: progress)
                let made = try driver.run(into: new)
                try objects.checkUnchanged()
                try new.rename()
                return made
            }
        case .realm(let realm):
            let configuration = realm.configuration
            let path = configuration.fileURL?.path ?? configuration.inMemoryIdentifier ?? ""
            return try RealmFileImport.writing(path) {
                try OpenRealmImport(source: objects, report: report, progress: progress).run(into: realm)
            }
        }
    }

    /// Calls `body`, and converts errors of the engine and the system to `Realm.Error`.
    static func writing<R>(_ path: String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as EngineError {
            throw Realm.Error(using: path, doing: "write", error)
        } catch let error as SystemError {
            throw Realm.Error(using: path, doing: "write", .system(error))
        }
    }
}
