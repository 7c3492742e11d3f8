// SPDX-License-Identifier: Apache-2.0
// Online backup: a consistent copy of a Realm's file while it is being written.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// The progress of `Realm.backup(to:rate:progress:)`. A value; any thread.
public struct BackupProgress: Sendable, Equatable {
    /// Bytes that have been copied.
    public let copiedByteCount: Int
    /// Bytes to copy, an estimate until the end.
    public let byteCount: Int

    /// The fraction that has been copied, 0 to 1.
    public var fraction: Double { byteCount == 0 ? 1 : Double(copiedByteCount) / Double(byteCount) }
}

extension RealmAdditions where Self == Realm {
    /// Copies the newest committed version of this Realm to a new file at `fileURL`, while this and other processes may
    /// continue to write.
    ///
    /// ```swift
    /// try realm.backup(to: backupURL, rate: 20_000_000) { progress in
    ///     print("\(Int(progress.fraction * 100)) %")
    /// }
    /// ```
    ///
    /// The copy shows one version: uncommitted changes, and commits made after the call began, are not in it. It is
    /// encrypted with the same key if the file is encrypted, has the length of the file, and has no history of older
    /// versions. The name appears in one step, when the copy is on stable storage and each of its blocks has been
    /// compared with its checksum. If the call fails or the process ends, there is no file at `fileURL`.
    ///
    /// - Parameters:
    ///   - fileURL: the new file.
    ///   - rate: the maximum number of bytes to read per second, of the file and then of the copy; nil for no limit.
    ///   - progress: called on the same thread after each part that was copied or compared, and at least ten times per
    ///     second while the rate is being kept. An error that it throws cancels the backup and is rethrown.
    ///
    /// Throws `Realm.Error(.fileExists)` if something exists at `fileURL`, and errors of the operating system. Writers
    /// never wait for it; space that only the copied version needs is not reused until the end. Call it on a thread
    /// that may use this Realm; to copy a file without opening a Realm use `Realm.backup(_:to:rate:progress:)`.
    /// A Realm in memory has no file: that is a programmer error. Takes as long as reading and writing the data.
    public func backup(
        to fileURL: URL, rate: Int? = nil, progress: (BackupProgress) throws -> Void = { _ in }
    ) throws {
        let realm = self as Realm
        realm.core.check()
        let database = realm.core.session.database
        if database.isVolatile { misuse("A Realm in memory has no file to back up. Use writeCopy(toFile:).") }
        try Backups.write(database, to: fileURL, rate: rate, progress)
    }

    /// Copies the file of `configuration`, which this or other processes may be writing, to a new file at `fileURL`, as
    /// `backup(to:rate:progress:)` does. Any thread. The file must exist; its schema is not compared with any class.
    public static func backup(
        _ configuration: Realm.Configuration, to fileURL: URL, rate: Int? = nil,
        progress: (BackupProgress) throws -> Void = { _ in }
    ) throws {
        guard case .file(let path) = try configuration.validated() else {
            misuse("A backup needs a file: set fileURL in the configuration, instead of inMemoryIdentifier.")
        }
        let database: Database
        do throws(EngineError) {
            database = try Database.openToRead(
                path: path, fileSystem: PosixFileSystem.shared, encryptionKey: configuration.engineKey)
        } catch { throw Realm.Error(opening: path, readOnly: true, error) }
        try Backups.write(database, to: fileURL, rate: rate, progress)
    }
}

/// The part of a backup that both calls share.
private enum Backups {
    static func write(
        _ database: Database, to url: URL, rate: Int?, _ progress: (BackupProgress) throws -> Void
    ) throws {
        if let rate, rate <= 0 { misuse("The rate of a backup is a positive number of bytes per second, or nil.") }
        let path = url.standardizedFileURL.path
        do {
            try FileBackup.write(database, to: path, in: PosixFileSystem.shared, rate: rate) { done in
                try progress(BackupProgress(copiedByteCount: done.copiedByteCount, byteCount: done.byteCount))
            }
        } catch let error as EngineError {
            throw Realm.Error(using: path, doing: "write a backup to", error)
        }
    }
}
