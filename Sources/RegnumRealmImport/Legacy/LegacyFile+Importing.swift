// SPDX-License-Identifier: Apache-2.0
// Imports the file of a configuration when it is opened, and replaces it with the new file.
//
//   1  lock a byte of the old file; a process that waited for this lock finds Regnum's file, and does not import
//   2  lock Realm's lock file as a whole, as Realm does while it has the file open
//   3  import into a temporary file in the same folder, read it back, and compare it with the old file
//   4  give the old file a second name, NAME.legacy, if it is to be kept
//   5  check that nothing was written to the old file since step 3 began
//   6  delete Realm's lock file, because Regnum's lock file has the same name
//   7  rename the new file to the name of the old one
//
// If a process is killed before step 7, the old file is unchanged, possibly with a second name, and its import
// continues when it is next opened. After step 7 the new file has replaced the old one, and there is nothing left to import.

internal import Foundation
internal import RegnumEngine
internal import RegnumRealmFile
internal import RegnumSystem
public import Regnum

extension LegacyFile {
    /// Returns the setting that imports a file in Realm's format when it is opened: all classes and objects, and the
    /// schema version, from which migration blocks then run as they do in Realm. As in Realm, a schema version above
    /// that of the configuration is an error; the old file is not imported then and remains, unless
    /// `deleteRealmIfMigrationNeeded` is set.
    ///
    /// Opening the Realm takes as long as the import and its verification, O(size of the old file). If the import
    /// fails, opening throws `Realm.Error`, or `CancellationError` if the task is cancelled, and the old file remains.
    /// If the process is killed, the old file remains, and the next opening continues the import.
    ///
    /// The `encryptionKey` of the configuration decrypts the old file and encrypts the new one. Other processes that
    /// open the file wait up to the `busyTimeout` of their configuration, without limit if it has none, and then throw
    /// `Realm.Error`. If a process has the file open with Realm itself, or has written to it during the import, opening
    /// throws `Realm.Error` with the reason `.busy`, and the old file remains.
    ///
    /// - Parameters:
    ///   - keepOriginal: True to keep the old file beside the new one, as `NAME.legacy`, or `NAME.legacy-2` and so on
    ///     if another file has that name. The old file is always kept if a value could not be carried over, or if
    ///     objects were left out (those of asymmetric classes, of Realm's synchronisation, and of no class). Nothing
    ///     deletes a kept file, not even `Realm.deleteFiles(for:)`, because it may be the only complete copy.
    ///   - progress: Called about 200 times with the progress of the import, on the thread that opens the Realm.
    ///   - report: Called once with the report, on the thread that opens the Realm, before the new file replaces the
    ///     old one. If it throws, opening throws the same error, and the old file remains.
    /// - Thread: Any.
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

/// The import of one file, and its replacement by the new one.
struct LegacySwap {
    /// The byte of the old file that is locked during the import. `TemporaryFile` locks another byte, and databases
    /// lock neither.
    static let lockedByte = 1 << 62 + 11

    let path: String
    let configuration: Realm.Configuration
    let keepsOriginal: Bool
    let progress: (@Sendable (RealmFileImportProgress) -> Void)?
    let report: (@Sendable (RealmFileImportReport) throws -> Void)?

    var files: any FileSystem = PosixFileSystem.shared

    /// Imports the file and replaces it. Returns false if the file is not in Realm's format.
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

    /// Runs the import while holding the byte lock of the old file. Throws `Realm.Error` if the lock is not free before
    /// the busy timeout.
    private func alone() throws -> Bool {
        let old = try files.open(path, .readWrite)
        defer { old.close() }
        guard try lock(old) else {
            throw Realm.Error(
                .fail, .busy,
                "Another process is importing the file '\(path)': try again later, or raise `busyTimeout`.",
                fileURL: URL(fileURLWithPath: path))
        }
        // Another process or thread may have imported the file while this one waited: the path then has Regnum's file.
        guard try files.status(path)?.identity == old.identity, try !Self.isOfRegnum(old) else { return true }
        try swap(old)
        return true
    }

    /// Waits for the byte lock until the busy timeout; returns false after that. An import takes seconds or minutes, so
    /// this polls less often than a wait for a write: the first pause is 1 ms, and pauses double up to 5 ms.
    private func lock(_ old: any File) throws -> Bool {
        let start = MonotonicClock.now()
        let timeout = configuration.busyNanoseconds ?? .max
        var pause: UInt64 = 1_000_000
        while try !old.tryLock(byte: Self.lockedByte) {
            if Task.isCancelled { throw CancellationError() }
            let waited = MonotonicClock.now() - start
            if waited >= timeout { return false }
            CurrentThread.sleep(nanoseconds: min(pause, timeout - waited))
            pause = min(pause * 2, 5_000_000)
        }
        return true
    }

    /// True if the file is a Regnum database, which has replaced the file in Realm's format that opening found.
    private static func isOfRegnum(_ file: any File) throws -> Bool {
        var word: UInt64 = 0
        let count = try withUnsafeMutableBytes(of: &word) { bytes throws(SystemError) in try file.read(bytes, at: 0) }
        return count == 8 && word == FileHeader.magic
    }

    /// Takes the lock that Realm shares among the processes that have the file open. Returns nil if there is no lock
    /// file: then no process has the file open. Throws `Realm.Error` if another process has the lock.
    private func lockAgainstRealm() throws -> WholeFileLock? {
        let lockPath = path + ".lock"
        guard try files.status(lockPath)?.kind == .file else { return nil }
        if let lock = try PosixFileSystem.shared.lockWhole(lockPath) { return lock }
        throw Realm.Error(
            .fail, .busy,
            "Another process has the file '\(path)' open with Realm: close it there, and open the file again.",
            fileURL: URL(fileURLWithPath: path))
    }

    private func swap(_ old: any File) throws {
        let realmLock = try lockAgainstRealm()
        defer { withExtendedLifetime(realmLock) {} }
        let before = try SourceState(old)
        let file = try RealmFile(url: URL(fileURLWithPath: path), encryptionKey: configuration.encryptionKey)
        // Opening the new file would fail, as it does in Realm. The old one must not be replaced by it: an older
        // release of the app that still uses Realm may need it.
        if let version = file.schemaVersion, version > configuration.schemaVersion,
            !configuration.deleteRealmIfMigrationNeeded
        {
            throw Realm.Error(
                .fail, .newerSchemaVersion,
                "Provided schema version \(configuration.schemaVersion) is less than last set version \(version) of the file "
                    + "'\(path)' in Realm's own format. It was not imported. Raise `schemaVersion` to \(version) or more.",
                fileURL: URL(fileURLWithPath: path))
        }
        let source = try RealmFileSource(file, path: path)
        let new = try NewFile(
            beside: path, like: path, isReplacement: true, key: configuration.encryptionKey, resumes: true, in: files)
        let origin = ImportOrigin(before, path: path, isPrevious: false, isReplacement: true, verifies: true)
        let made = try reading(old, before) {
            try NewFileImport(
                source: source, report: RealmFileImportReport(of: file), verifies: true, origin: origin,
                progress: { [progress] in progress?($0) }
            ).run(into: new)
        }
        try report?(made)
        // If something was lost or left out, the old file is the only complete copy: keep it.
        if keepsOriginal || !made.isComplete { try keepOriginal(old.identity) }
        try check(old, before)
        try deleteLockFile()
        try new.replace()
    }

    /// Calls `body`, which reads the old file. If another process has written to the file by then, an error of reading
    /// or comparing is only a consequence, and this throws the error of `check` instead.
    private func reading<R>(_ old: any File, _ before: SourceState, _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            if error is RealmFileError || error is RealmFileImportError { try check(old, before) }
            throw error
        }
    }

    /// Throws `Realm.Error` if another process has written to the old file since `before`.
    private func check(_ old: any File, _ before: SourceState) throws {
        guard try SourceState(old) == before else {
            throw Realm.Error(
                .fail, .busy,
                "Another process has written to the file '\(path)' during its import: close it there, and open the file "
                    + "again.", fileURL: URL(fileURLWithPath: path))
        }
    }

    /// Creates a second name for the old file.
    private func keepOriginal(_ identity: FileIdentity) throws {
        var number = 1
        while true {
            let name = path + ".legacy" + (number == 1 ? "" : "-\(number)")
            if let there = try files.status(name) {
                // An import that was killed has already created the second name or the copy, but may not have synced
                // it.
                if there.identity == identity { return try files.syncName(of: name) }
                if there.kind == .file, FileManager.default.contentsEqual(atPath: path, andPath: name) {
                    try syncContents(name)
                    return try files.syncName(of: name)
                }
                number += 1
                continue
            }
            do {
                try FileManager.default.linkItem(atPath: path, toPath: name)
            } catch {
                // The file system may not support hard links.
                try copyOriginal(to: name)
            }
            return try files.syncName(of: name)
        }
    }

    /// Copies the old file under a temporary name, syncs the copy, and renames it to `name`.
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
                    + "Free some space, or set `keepOriginal` to false.", fileURL: URL(fileURLWithPath: path))
        }
        try syncContents(temporary)
        try files.renameIfAbsent(temporary, to: name)
    }

    private func syncContents(_ path: String) throws {
        let file = try files.open(path, .readOnly)
        defer { file.close() }
        try file.sync(.full)
    }

    /// Deletes Realm's lock file. It contains nothing permanent: Realm creates it again.
    private func deleteLockFile() throws {
        let lock = path + ".lock"
        guard let status = try files.status(lock), status.kind == .file else { return }
        try files.remove(lock)
    }
}

extension Realm.Error {
    fileprivate static let adviceOnOldFile =
        "The file was not changed. Restore it from a backup, or import its last commit but one with `RealmFileImport` and "
        + "`snapshot = .previous`, or with `regnum import-realm --previous`."

    private static let unknownContent =
        "it does not begin like a Regnum file, and no page of it matches the `encryptionKey` of the configuration. Either "
        + "it is a file in Realm's own format that was encrypted with another key: set that key. Or it is another file, "
        + "or was overwritten: choose another fileURL, or restore it from a backup. It was not changed."

    /// Creates the error that opening throws for an error in a file in Realm's format.
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
        let start = "Failed to open Realm file at path '\(path)': "
        // Without the right key, an encrypted file cannot be distinguished from any other bytes.
        var words = "it is a file of Realm's own format that cannot be imported. \(error.description)."
        if error.code == .damaged { words += " " + Self.adviceOnOldFile }
        if error.code == .wrongKey { words = Self.unknownContent }
        self.init(code, reason, start + words, fileURL: URL(fileURLWithPath: path))
    }
}
