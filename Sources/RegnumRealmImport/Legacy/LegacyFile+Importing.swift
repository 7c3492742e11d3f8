// SPDX-License-Identifier: Apache-2.0
// Imports the file of a configuration in its place when it is opened.
//
//   1  take the lock of a byte of the old file; whoever waited for it finds Regnum's file, and imports nothing
//   2  import into a file with another name beside it, read it back, and compare it with the old one
//   3  give the old file a second name, NAME.legacy, if it is to be kept
//   4  delete Realm's lock file, whose name Regnum's has
//   5  rename the new file to the old one's name
//
// A process that is killed before 5 leaves the old file as it was, perhaps with a second name; after it the new file is in
// place. The next opening begins again, or has nothing to do.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile
internal import RegnumSystem
public import Regnum

extension LegacyFile {
    /// Imports a file in Realm's format when it is opened: all classes and objects, with the schema version, so that
    /// migration blocks run from that version as they do in Realm. Opening takes as long as the import, and throws if it fails;
    /// the old file is in place then.
    ///
    /// An encrypted file is opened, and the new one encrypted, with the `encryptionKey` of the configuration. Other processes that open
    /// the file wait. They must not have it open with Realm itself.
    ///
    /// - Parameters:
    ///   - keepOriginal: True to keep the old file beside the new one, as `NAME.legacy`, or `NAME.legacy-2` and so on if
    ///     another file has that name. It is kept in any case if a value could not be carried over.
    ///   - progress: How far the import is, on the thread that opens the Realm.
    ///   - report: What was imported and what could not be carried over, before the new file takes the place of the old one.
    ///     What the function throws, opening throws, and the old file stays.
    public static func importing(
        keepOriginal: Bool = true, progress: (@Sendable (RealmFileImportProgress) -> Void)? = nil,
        report: (@Sendable (RealmFileImportReport) throws -> Void)? = nil
    ) -> LegacyFile {
        LegacyFile { path, configuration in
            try LegacySwap(
                path: PosixFileSystem.shared.linked(path), configuration: configuration, keepsOriginal: keepOriginal,
                progress: progress, report: report
            ).run()
        }
    }
}

/// One such import.
struct LegacySwap {
    /// Of the old file; see `TemporaryFile` for another byte that no database locks.
    private static let lockedByte = 1 << 62 + 11

    let path: String
    let configuration: Realm.Configuration
    let keepsOriginal: Bool
    let progress: (@Sendable (RealmFileImportProgress) -> Void)?
    let report: (@Sendable (RealmFileImportReport) throws -> Void)?

    private var files: PosixFileSystem { PosixFileSystem.shared }

    /// False if the file is not in Realm's format.
    func run() throws -> Bool {
        do {
            return try RealmFileImport.writing(path) { try alone() }
        } catch let error as RealmFileError {
            if error.code == .notARealmFile { return false }
            throw Realm.Error(error, path)
        } catch let error as RealmFileImportError {
            throw Realm.Error(.fail, .migrationFailed, error.message, fileURL: URL(fileURLWithPath: path))
        }
    }

    /// With the lock of the file.
    private func alone() throws -> Bool {
        let old = try files.open(path, .readWrite)
        defer { old.close() }
        let deadline = configuration.busyNanoseconds.map { MonotonicClock.now() &+ $0 } ?? .max
        guard try old.lock(byte: Self.lockedByte, isShared: false, until: deadline) else {
            throw Realm.Error(
                .fail, .busy,
                "Another process is importing the file '\(path)': try again later, or raise `busyTimeout`.",
                fileURL: URL(fileURLWithPath: path))
        }
        // Another process or thread may have been faster: then the path leads to Regnum's file.
        guard try files.status(path)?.identity == old.identity, try !Self.isOfRegnum(old) else { return true }
        try swap(old)
        return true
    }

    /// True for a database of Regnum: it has come to the path since the opening found a file in Realm's format.
    private static func isOfRegnum(_ file: any File) throws -> Bool {
        var word: UInt64 = 0
        let count = try withUnsafeMutableBytes(of: &word) { bytes throws(SystemError) in try file.read(bytes, at: 0) }
        return count == 8 && word == FileHeader.magic
    }

    private func swap(_ old: any File) throws {
        let file = try RealmFile(url: URL(fileURLWithPath: path), encryptionKey: configuration.encryptionKey)
        let source = try RealmFileSource(file, path: path)
        let new = try NewFile(
            beside: path, like: path, isReplacement: true, key: configuration.encryptionKey)
        let progress = progress
        let made = try NewFileImport(
            source: source, report: RealmFileImportReport(of: file), verifies: true, progress: { progress?($0) }
        ).run(into: new)
        try report?(made)
        // The only whole copy of what could not be carried over is not deleted.
        if keepsOriginal || !made.isComplete { try keepOriginal(old.identity) }
        try deleteLockFile()
        try new.rename(replacing: true)
    }

    /// Gives the old file a second name.
    private func keepOriginal(_ identity: FileIdentity) throws {
        var number = 1
        while true {
            let name = path + ".legacy" + (number == 1 ? "" : "-\(number)")
            if let there = try files.status(name) {
                // An import that was killed has come as far as this.
                if there.identity == identity { return }
                number += 1
                continue
            }
            do {
                try FileManager.default.linkItem(atPath: path, toPath: name)
            } catch {
                // A file system without second names.
                try copyOriginal(to: name)
            }
            return try files.syncDirectory(containing: name)
        }
    }

    /// The copy has its name once it is whole.
    private func copyOriginal(to name: String) throws {
        let claim = try TemporaryFile.make(
            beside: path + SideFiles.importing, permissions: 0o600, in: files,
            removeCompanions: SideFiles.removeCompanions)
        defer { claim.remove() }
        let temporary = claim.path + ".copy"
        do {
            try FileManager.default.copyItem(atPath: path, toPath: temporary)
        } catch {
            throw Realm.Error(
                .fileAccess, .inputOutput,
                "Failed to keep a copy of the original of Realm file at path '\(path)': \(error.localizedDescription) "
                    + "Make room for it, or set `keepOriginal` to false.", fileURL: URL(fileURLWithPath: path))
        }
        let copy = try files.open(temporary, .readOnly)
        try copy.sync(.full)
        copy.close()
        try files.renameIfAbsent(temporary, to: name)
    }

    /// Deletes Realm's lock file. It holds nothing that lasts: Realm makes it again.
    private func deleteLockFile() throws {
        let lock = path + ".lock"
        guard let status = try files.status(lock), status.kind == .file else { return }
        try files.remove(lock)
    }
}

extension Realm.Error {
    /// What is wrong with a file in Realm's format, as opening tells it.
    init(_ error: RealmFileError, _ path: String) {
        let (code, reason): (Code, Reason) =
            switch error.code {
            case .notFound: (.fileNotFound, .missingFile)
            case .permissionDenied: (.filePermissionDenied, .noPermission)
            case .unreadable: (.fileAccess, .inputOutput)
            case .notEncrypted: (.invalidDatabase, .notEncrypted)
            case .wrongKey: (.invalidDatabase, .wrongKey)
            case .encryptionUnavailable: (.fail, .unavailableFeature)
            case .unsupportedFormat, .unfinishedUpgrade: (.unsupportedFileFormatVersion, .olderRealmFile)
            case .notARealmFile, .noPreviousSnapshot, .unknownName: (.invalidDatabase, .notARealmFile)
            case .damaged: (.invalidDatabase, .damaged)
            }
        self.init(
            code, reason,
            "Failed to open Realm file at path '\(path)': it is a file of Realm's own format that cannot be imported. "
                + "\(error.description)",
            fileURL: URL(fileURLWithPath: path))
    }
}
