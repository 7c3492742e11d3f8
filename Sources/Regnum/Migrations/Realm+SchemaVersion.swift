// SPDX-License-Identifier: Apache-2.0
// Migration without opening a Realm, and the schema version of a file.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm {
    /// Migrates the file of the configuration, as opening it does. Throws `Realm.Error`; the file is then left
    /// unchanged. It is a programmer error if the process has the file open.
    public static func performMigration(for configuration: Configuration = .defaultConfiguration) throws {
        if RealmCache.shared.isOpen(try configuration.validated()) {
            misuse(
                "Cannot migrate Realms that are already open. Release all Realms, objects and collections of it first, "
                    + "or migrate by opening it.")
        }
        _ = try RealmOpening.open(configuration, queue: nil, origin: nil)
    }
}

/// The schema version of the file, which is not changed and need not be closed. Throws `Realm.Error`: if the file is
/// not a Realm file of this library, and with `.invalidDatabase` if there is no file or it was never opened with
/// classes.
public func schemaVersionAtURL(_ fileURL: URL, encryptionKey: Data? = nil) throws -> UInt64 {
    var configuration = Realm.Configuration(fileURL: fileURL, encryptionKey: encryptionKey, readOnly: true)
    configuration.objectTypes = []
    guard case .file(let path) = try configuration.validated() else {
        misuse("A schema version can be read only from a file: '\(fileURL)' is not a file URL.")
    }
    let version: UInt64
    do {
        let database = try Database.openToRead(
            path: path, fileSystem: PosixFileSystem.shared, encryptionKey: configuration.engineKey)
        version = try database.makeSession().schemaVersion
    } catch {
        let problem = Realm.Error(opening: path, readOnly: true, error)
        guard problem.reason == .missingFile else { throw problem }
        // RealmSwift's code for this case; RealmSwift creates the file in order to read its version.
        throw Realm.Error(
            .invalidDatabase, .missingFile,
            "Realm at path '\(path)' has not been initialized. No such file or directory: open it with "
                + "`Realm(configuration:)` first.", fileURL: fileURL)
    }
    if version == UInt64.max {
        throw Realm.Error(
            .invalidDatabase, .neverVersioned,
            "Realm at path '\(path)' has not been initialized. It has no schema version yet: open it with "
                + "`Realm(configuration:)` first.", fileURL: fileURL)
    }
    return version
}
