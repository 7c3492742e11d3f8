// SPDX-License-Identifier: Apache-2.0
// Questions about files of Realms, and their removal.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm {
    /// True where the configuration's file exists; of one in memory where it is open.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let url = configuration.fileURL else {
            guard let identifier = configuration.inMemoryIdentifier else { return false }
            return RealmCache.shared.isOpen(.memory(identifier: identifier))
        }
        return FileManager.default.fileExists(atPath: url.path)
    }

    /// Deletes the file and what lies beside it; the lock file stays. True where there was a file. Throws
    /// `Realm.Error(.alreadyOpen)` while the file is open, in this process or another, and what the file system refuses.
    @discardableResult
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        let path = url.standardizedFileURL.path
        // Another path may lead to the same file.
        if RealmCache.shared.isOpen(.file(path: path))
            || Database.isOpen(path: path, fileSystem: PosixFileSystem.shared)
            || Database.isOpenElsewhere(path: path, fileSystem: PosixFileSystem.shared)
        {
            throw Error(
                .alreadyOpen, .inUse,
                "Cannot delete files of an open Realm: '\(path)' is still in use. "
                    + "Release all Realms, objects and collections of it first, in other processes too.", fileURL: url)
        }
        let sides = [
            ".note", ".management", ".log", ".log_a", ".log_b", ".before-migration", ".before-migration.compacting",
            ".compacting",
        ]
        for suffix in sides {
            let side = path + suffix
            if FileManager.default.fileExists(atPath: side) { try? FileManager.default.removeItem(atPath: side) }
        }
        guard FileManager.default.fileExists(atPath: path) else { return false }
        try FileManager.default.removeItem(atPath: path)
        Logger.log(.detail, "DB: Delete Realm: \(path)")
        return true
    }
}
