// SPDX-License-Identifier: Apache-2.0
// Existence and deletion of a Realm's files.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm {
    /// True if the configuration's file exists; for an in-memory Realm, if it is open.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let url = configuration.fileURL else {
            guard let identifier = configuration.inMemoryIdentifier else { return false }
            return RealmCache.shared.isOpen(.memory(identifier: identifier))
        }
        return FileManager.default.fileExists(atPath: url.path)
    }

    /// Deletes the file and its auxiliary files, except the lock file and the original in Realm's format that an import
    /// with `legacyFile` has kept as `NAME.legacy`: delete that one yourself if no data may remain. A symbolic link is
    /// deleted together with the file that it points to. Returns true if there was a file. Waits for at most one second
    /// while the writes of a released Realm are being synced. Throws `Realm.Error(.alreadyOpen)` while the file is
    /// open, in this process or another, and errors of the file system.
    @discardableResult
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        let path = url.standardizedFileURL.path
        let target = PosixFileSystem.shared.linked(path)
        let removal: Result<Bool, SystemError>?
        // Held until the registry is released: the last reference to a core may close a database, which calls the
        // registry.
        var open: [RealmCore] = []
        do {
            let removed = try Database.whileUnused(path: target, fileSystem: PosixFileSystem.shared) { isThere in
                // The file of a Realm that is open here may have been replaced.
                open = RealmCache.shared.cores(at: .file(path: path))
                return open.isEmpty ? SideFiles.removeAll(of: path, target, isThere: isThere) : nil
            }
            removal = removed ?? nil
        } catch { throw Error(using: path, doing: "delete", error) }
        open = []
        switch removal {
        case nil:
            // Another path may lead to the same file.
            throw Error(
                .alreadyOpen, .inUse,
                "Cannot delete files of an open Realm: '\(path)' is still in use. "
                    + "Release all Realms, objects and collections of it first, in other processes too.", fileURL: url)
        case .failure(let error)?: throw Error(using: path, doing: "delete", .system(error))
        case .success(let wasThere)?:
            if wasThere { Logger.log(.detail, "DB: Delete Realm: \(path)") }
            return wasThere
        }
    }
}

/// The auxiliary files that may exist beside a Realm's file.
package enum SideFiles {
    private static let ends = [
        ".note", ".management", ".log", ".log_a", ".log_b", ".before-migration", ".before-migration.compacting",
        ".compacting",
    ]
    /// Names of the temporary files for copies of rehearsals and seed files: see `TemporaryFile`.
    static let rehearsal = ".rehearsal"
    static let seed = ".seed"
    /// The suffix for the temporary files of imports.
    package static let importing = ".import"

    /// Removes all files whose names start with the name of `path` and a dot.
    package static let removeCompanions: @Sendable (String) -> Void = { path in
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent()
        let start = url.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(start) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    /// Removes unfinished lock files that killed processes have left, while no process creates one: see `LockFile`.
    private static func removeLockFilesInTheMaking(beside path: String, in files: PosixFileSystem) {
        let url = URL(fileURLWithPath: path + ".lock")
        let folder = url.deletingLastPathComponent()
        let start = url.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(start) && name.hasSuffix(".tmp") {
            // Folders are skipped: they are not ours.
            try? files.remove(folder.appendingPathComponent(name).path)
        }
    }

    /// Deletes the files while no process uses them: `path` is the user's path, `target` the file that it leads to. If
    /// the file does not exist, another process may be about to create it: then this removes only leftovers that can be
    /// distinguished from files in use, and returns false.
    fileprivate static func removeAll(
        of path: String, _ target: String, isThere: Bool
    ) -> Result<Bool, SystemError> {
        let files = PosixFileSystem.shared
        for place in Set([path, target]) {
            TemporaryFile.removeLeftovers(beside: place, in: files)
            for end in [rehearsal, seed, importing] {
                TemporaryFile.removeLeftovers(beside: place + end, in: files, removeCompanions: removeCompanions)
            }
            guard isThere else { continue }
            for end in ends { try? FileManager.default.removeItem(atPath: place + end) }
            removeLockFilesInTheMaking(beside: place, in: files)
        }
        guard isThere else { return .success(false) }
        do throws(SystemError) {
            try files.remove(target)
            if target != path { try files.remove(path) }
        } catch { return .failure(error) }
        return .success(true)
    }
}
