// SPDX-License-Identifier: Apache-2.0
// Imports a file in Realm's format, into a new file or into an open Realm.

public import Foundation
internal import RegnumEngine
internal import RegnumRealmFile
internal import RegnumSystem
public import Regnum

/// Carries the classes and objects of a file in Realm's format, versions 2 to 11 and 20 to 24, over to Regnum.
///
/// ```swift
/// let report = try RealmFileImport(from: oldURL, to: newURL).run()
/// guard report.isComplete else { return log(report.description) }
/// ```
///
/// The old file is only read; it must not be written to meanwhile. A new file gets the classes of the old one, its schema
/// version, and a name only when it is whole: a process that is killed, and an import that throws, leave no file there.
/// Import again then. See <doc:ImportingRealmFiles> for imports into an open Realm.
///
/// Thread: any; of an open Realm the Realm's own. Memory: bounded by the batches that are committed, and 24 bytes for each
/// run of objects without a gap.
public struct RealmFileImport {
    private enum Target {
        case file(URL)
        case realm(Realm)
    }

    private let source: URL
    private let target: Target
    /// The 64 bytes of the old file's key, if it is encrypted.
    public var sourceKey: Data?
    /// The 64 bytes with which a new file is encrypted; nil for one that is not.
    public var targetKey: Data?
    /// True to read a new file back before it gets its name, and compare each value with the old file. Takes about as long
    /// as the import.
    public var verifies = false
    /// Called about 200 times, on the thread of the import. What it throws ends the import, as cancelling the task does.
    public var progress: ((RealmFileImportProgress) throws -> Void)?

    /// An import into a new file; there must be none at `target`.
    public init(from source: URL, to target: URL) {
        self.source = source
        self.target = .file(target)
    }

    /// An import into an open Realm, whose classes say what is taken over.
    ///
    /// Classes go by their names, properties by the names in the file or, with `propertiesMapping`, by those of the
    /// class. Objects with a primary key that is there already get the values of the old file. If all classes have primary keys, the
    /// import commits in batches, and importing again after an interruption leads to the same objects. Otherwise, and
    /// within a write transaction, it is one transaction.
    public init(from source: URL, to target: Realm) {
        self.source = source
        self.target = .realm(target)
    }

    /// Imports.
    ///
    /// - Returns: what was read and written, and what could not be carried over.
    /// - Throws: `RealmFileError`, `Realm.Error` or `RealmFileImportError`; `CancellationError` of a cancelled task, and what
    ///   `progress` throws. There is no new file then.
    /// - Complexity: O(size of the old file); with links to other objects it is read twice.
    @discardableResult
    public func run() throws -> RealmFileImportReport {
        let file = try RealmFile(url: source, encryptionKey: sourceKey)
        let objects = try RealmFileSource(file, path: source.path)
        var report = RealmFileImportReport()
        report.formatVersion = file.formatVersion
        report.isEncrypted = file.isEncrypted
        if file.historyType >= 3 {
            report.notes.append(
                "The file belongs to a synchronised Realm: what it has not uploaded yet is in the new file only.")
        }
        switch target {
        case .file(let url):
            let path = PosixFileSystem.shared.linked(url.standardizedFileURL.path)
            return try RealmFileImport.writing(path) {
                if try PosixFileSystem.shared.status(path) != nil { throw Realm.Error.fileExists(path) }
                let new = try NewFile(beside: path, like: source.path, isReplacement: false, key: targetKey)
                let driver = NewFileImport(source: objects, report: report, verifies: verifies, progress: progress)
                let made = try driver.run(into: new)
                do { try new.rename(replacing: false) } catch let error as SystemError where error.kind == .exists {
                    throw Realm.Error.fileExists(path)
                }
                return made
            }
        case .realm(let realm):
            return try OpenRealmImport(source: objects, report: report, progress: progress).run(into: realm)
        }
    }

    /// Errors of the engine and the system become `Realm.Error`.
    static func writing<R>(_ path: String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as EngineError {
            throw Realm.Error(using: path, doing: "write", error)
        } catch let error as SystemError {
            throw Realm.Error(using: path, doing: "write", .system(error))
        }
    }
}
