// SPDX-License-Identifier: Apache-2.0
// Opens a file of either kind, a Regnum file or one in Realm's format, for reading only.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumRealmFile
internal import RegnumSystem

enum OpenedSource {
    /// Throws `CancellationError`, `RealmFileError`, `Realm.Error`, or `RealmFileImportError` if the key is not 64
    /// bytes long.
    static func open(
        _ url: URL, encryptionKey: Data?, snapshot: RealmFileSnapshot = .current
    ) throws -> any ObjectSource {
        try Task.checkCancellation()
        let path = url.path
        let key = try NewFile.engineKey(encryptionKey)
        let session: Session
        do throws(EngineError) {
            session = try Database.openToRead(path: path, fileSystem: PosixFileSystem.shared, encryptionKey: key)
                .makeSession()
        } catch {
            guard case .notADatabase(_, let why) = error, why != .directory else {
                throw Realm.Error(opening: path, readOnly: true, error)
            }
            return try RealmFileSource.open(url, encryptionKey: encryptionKey, snapshot: snapshot)
        }
        if snapshot == .previous {
            throw RealmFileError(
                .noPreviousSnapshot, "it is a Regnum file: only files in Realm's format have a previous state",
                filePath: path)
        }
        return DatabaseSource(session)
    }
}
