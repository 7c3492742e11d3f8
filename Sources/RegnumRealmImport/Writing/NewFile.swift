// SPDX-License-Identifier: Apache-2.0
// An unfinished Regnum file. It has a temporary name in the folder of its final path until it is complete and on stable
// storage; then one rename moves it there. A killed process leaves no file at the final path. The next import continues
// with its temporary file or removes it, and so does a deletion (`TemporaryFile`).

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumSystem

final class NewFile {
    private let claim: TemporaryFile
    private let path: String
    /// The file whose access rights the new one gets.
    private let original: String?
    private let isReplacement: Bool
    private let options: Database.OpenOptions
    private let files: any FileSystem
    private var database: Database?
    private var session: Session?

    /// The temporary path of the file. Others may read the file there after `close`.
    let temporaryPath: String
    /// True if the file has the content that a killed process has left: use it, or call `startOver`.
    private(set) var isLeftover = false

    /// Creates an empty database beside `path`, with the access rights of the file `original` unless that is nil.
    /// Unless it is a replacement, throws if a file exists at `path`, or if another program's file has the name of its
    /// lock file, because the database could not be opened then. With `resumes`, opens the database that a killed
    /// process has left, if there is one with the same key.
    init(
        beside path: String, like original: String?, isReplacement: Bool, key: Data?, resumes: Bool = false,
        in files: any FileSystem = PosixFileSystem.shared
    ) throws {
        self.path = path
        self.original = original
        self.isReplacement = isReplacement
        self.files = files
        var options = Database.OpenOptions()
        options.encryptionKey = try Self.engineKey(key)
        self.options = options
        if !isReplacement {
            if try files.status(path) != nil { throw Realm.Error.fileExists(path) }
            try Database.checkLockFileName(path: path, fileSystem: files)
        }
        let leftover = resumes ? Self.leftover(beside: path + SideFiles.importing, files) : nil
        claim =
            try leftover
            ?? TemporaryFile.make(
                beside: path + SideFiles.importing, permissions: 0o600, in: files,
                removeCompanions: SideFiles.removeCompanions)
        temporaryPath = claim.path + Self.suffix
        if leftover != nil {
            database = try? Database.openAsOtherProcess(path: temporaryPath, fileSystem: files, options: options)
            isLeftover = database != nil
        }
        // If this throws, `deinit` removes the temporary file.
        if !isLeftover { try startOver() }
    }

    private static let suffix = ".new"

    /// Takes over the temporary file of a killed process. Its permissions show that no other user has put it there.
    private static func leftover(beside path: String, _ files: any FileSystem) -> TemporaryFile? {
        TemporaryFile.adopt(beside: path, in: files, removeCompanions: SideFiles.removeCompanions) { name in
            (try? files.status(name))?.permissions == 0o600 && (try? files.status(name + suffix))?.kind == .file
        }
    }

    /// Replaces the content by an empty database.
    func startOver() throws {
        session = nil
        database = nil
        isLeftover = false
        SideFiles.removeCompanions(claim.path)
        // In a folder that may not be listed.
        try? files.remove(temporaryPath)
        let made = try files.open(temporaryPath, .createNew(permissions: 0o600))
        if let original {
            let other = try files.open(original, .readOnly)
            made.takeAccess(of: other, asReplacement: isReplacement)
            other.close()
        }
        made.close()
        database = try Database.openAsOtherProcess(path: temporaryPath, fileSystem: files, options: options)
    }

    deinit {
        session = nil
        database = nil
        claim.remove()
    }

    /// Returns the one session of the file, and creates it on the first call. Not after `close`.
    func makeSession() throws -> Session {
        if let session { return session }
        guard let database else { preconditionFailure("a new file that is closed") }
        let made = try database.makeSession()
        session = made
        return made
    }

    /// Closes the database. All commits are on stable storage when it returns.
    func close() throws {
        session = nil
        if let database { try database.makeDurable() }
        database = nil
        let file = try files.open(temporaryPath, .readOnly)
        try file.sync(.full)
        file.close()
    }

    /// Renames the closed file to its final path. If it throws, there is no file at that path. Throws `Realm.Error` if
    /// a file exists at the path.
    func rename() throws { try files.publish(temporaryPath, as: path) }

    /// Renames the closed file to its final path, and replaces the file there. If it throws, that file is unchanged.
    func replace() throws {
        try files.rename(temporaryPath, to: path)
        // The file is replaced whether or not the folder can be synced. An error would suggest that it was not
        // replaced, and would not make opening it any safer.
        try? files.syncName(of: path)
    }

    /// Returns the engine's form of a key. Throws `RealmFileImportError.Code.wrongKey` unless it has 64 bytes.
    static func engineKey(_ key: Data?) throws -> EncryptionKey? {
        guard let key else { return nil }
        guard key.count == EncryptionKey.byteCount else {
            throw RealmFileImportError(
                .wrongKey,
                "An encryption key has exactly 64 bytes, not \(key.count): pass the whole key, or nil for a file that is not "
                    + "encrypted.")
        }
        return key.withUnsafeBytes { EncryptionKey($0) }
    }
}
