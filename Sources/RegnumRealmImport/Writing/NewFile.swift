// SPDX-License-Identifier: Apache-2.0
// A Regnum file in the making. It has another name beside its place until it is whole and on stable storage; then one rename
// gives it its name. A killed process leaves no file at the place, and what it has left beside it goes with the next
// import or deletion (`TemporaryFile`).

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumSystem

final class NewFile {
    private let claim: TemporaryFile
    private let path: String
    private var database: Database?
    private var session: Session?

    /// The unfinished file, as another program may read it once `close` was called.
    let temporaryPath: String

    /// Makes an empty database beside `path`, with the access rights of `original` if there is one.
    init(beside path: String, like original: String?, isReplacement: Bool, key: Data?) throws {
        let files = PosixFileSystem.shared
        self.path = path
        do throws(SystemError) {
            claim = try TemporaryFile.make(
                beside: path + SideFiles.importing, permissions: 0o600, in: files,
                removeCompanions: SideFiles.removeCompanions)
        } catch { throw error }
        temporaryPath = claim.path + ".new"
        do {
            let made = try files.open(temporaryPath, .createNew(permissions: 0o600))
            if let original {
                let other = try files.open(original, .readOnly)
                made.takeAccess(of: other, asReplacement: isReplacement)
                other.close()
            }
            made.close()
            var options = Database.OpenOptions()
            options.encryptionKey = try Self.engineKey(key)
            database = try Database.openAsOtherProcess(path: temporaryPath, fileSystem: files, options: options)
        } catch {
            claim.remove()
            throw error
        }
    }

    deinit {
        session = nil
        database = nil
        claim.remove()
    }

    /// The session that writes.
    func makeSession() throws -> Session {
        if let session { return session }
        guard let database else { preconditionFailure("a new file that is closed") }
        let made = try database.makeSession()
        session = made
        return made
    }

    /// Ends the use of the database: all that was committed is on stable storage afterwards.
    func close() throws {
        session = nil
        if let database { try database.makeDurable() }
        database = nil
        let file = try PosixFileSystem.shared.open(temporaryPath, .readOnly)
        try file.sync(.full)
        file.close()
    }

    /// Gives the closed file its name. Throws `.exists` if there is a file, unless it is to be replaced.
    func rename(replacing: Bool) throws {
        let files = PosixFileSystem.shared
        if replacing {
            try files.rename(temporaryPath, to: path)
        } else {
            try files.renameIfAbsent(temporaryPath, to: path)
        }
        try files.syncDirectory(containing: path)
    }

    static func engineKey(_ key: Data?) throws -> EncryptionKey? {
        guard let key else { return nil }
        guard key.count == EncryptionKey.byteCount else {
            throw RealmFileImportError(.wrongKey, "An encryption key has exactly 64 bytes, not \(key.count).")
        }
        return key.withUnsafeBytes { EncryptionKey($0) }
    }

    /// Removes what killed imports have left beside `path`.
    static func removeLeftovers(beside path: String) {
        TemporaryFile.removeLeftovers(
            beside: path + SideFiles.importing, in: PosixFileSystem.shared, removeCompanions: SideFiles.removeCompanions
        )
    }
}
