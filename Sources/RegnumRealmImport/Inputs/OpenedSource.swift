// SPDX-License-Identifier: Apache-2.0
// Opens a file of either kind, a Regnum file or one in Realm's format, for reading only.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumRealmFile
internal import RegnumSystem

enum OpenedSource {
    /// Throws `RealmFileError`, `Realm.Error`, or `RealmFileImportError` if the key is not 64 bytes long.
    static func open(_ url: URL, encryptionKey: Data?) throws -> any ObjectSource {
        let path = url.path
        let key = try NewFile.engineKey(encryptionKey)
        do throws(EngineError) {
            return DatabaseSource(
                try Database.openToRead(path: path, fileSystem: PosixFileSystem.shared, encryptionKey: key)
                    .makeSession())
        } catch {
            guard case .notADatabase(_, let why) = error, why != .directory else {
                throw Realm.Error(opening: path, readOnly: true, error)
            }
            return try RealmFileSource(RealmFile(url: url, encryptionKey: encryptionKey), path: path)
        }
    }
}
