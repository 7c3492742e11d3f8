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

    /// Deletes the file and what lies beside it; the lock file stays. A symbolic link goes with the file that it leads
    /// to. True where there was a file. Waits, a second at most, while what a Realm that is gone has written is synced.
    /// Throws `Realm.Error(.alreadyOpen)` while the file is open, in this process or another, and what the file system
    /// refuses.
    @discardableResult
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        let path = url.standardizedFileURL.path
        let target = PosixFileSystem.shared.linked(path)
        let removal: Result<Bool, SystemError>?
        // Until the registry is let go of: the last reference to one may end a database, which asks the registry.
        var open: [RealmCore] = []
        do {
            let removed = try Database.whileUnused(path: target, fileSystem: PosixFileSystem.shared) { isThere in
                // Of a Realm here the file may have been replaced.
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

/// What lies beside a Realm's file at times.
package enum SideFiles {
    private static let ends = [
        ".note", ".management", ".log", ".log_a", ".log_b", ".before-migration", ".before-migration.compacting",
        ".compacting",
    ]
    /// Beside which the copies of rehearsals and seed files are made, until they are done: see `TemporaryFile`.
    static let rehearsal = ".rehearsal"
    static let seed = ".seed"
    /// Beside which imports make new files.
    package static let importing = ".import"

    /// Removes all files whose names begin with that of `path` and a dot.
    package static let removeCompanions: @Sendable (String) -> Void = { path in
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent()
        let start = url.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(start) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    /// Removes what killed processes have left of lock files in the making, while nobody makes one: see `SharedFile`.
    private static func removeLockFilesInTheMaking(beside path: String, in files: PosixFileSystem) {
        let url = URL(fileURLWithPath: path + ".lock")
        let folder = url.deletingLastPathComponent()
        let start = url.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(start) && name.hasSuffix(".tmp") {
            // No folders: those are not ours.
            try? files.remove(folder.appendingPathComponent(name).path)
        }
    }

    /// While nobody uses the file: `path` is what its user calls it, `target` where it is. Where it is not there,
    /// somebody may be about to make it, and only what is told from what others are at is removed. False then.
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
