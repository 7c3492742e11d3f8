// SPDX-License-Identifier: Apache-2.0
// The two copies of a rehearsal: they are removed at its end, and those of a killed one at the start of the next.

import Foundation
import RealmSwift

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Two copies of a file, with its key, in a folder that only this user can read.
struct RehearsalCopies {
    /// The copy that stays as it is.
    let before: FileArguments
    /// The copy for the program.
    let after: FileArguments
    private let folder: URL
    /// Keeps the lock of a temporary folder.
    private let lock: Int32?

    private static let prefix = "regnum-rehearsal-"

    /// Makes the copies of the newest version, in a new folder at `kept` or, without it, in the one for temporary files.
    init(of arguments: FileArguments, in kept: String?) throws {
        let temporary = FileManager.default.temporaryDirectory
        Self.removeLeftovers(in: temporary)
        let folder =
            kept.map { URL(fileURLWithPath: $0) }
            ?? temporary.appendingPathComponent("\(Self.prefix)\(UUID().uuidString)")
        if let kept, FileKind(kept) != nil { throw Refusal("'\(kept)': File exists. Name a new folder.") }
        func copy(_ name: String) throws -> FileArguments {
            let place = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            var copy = arguments
            copy.file = place.appendingPathComponent(arguments.url.lastPathComponent).path
            return copy
        }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch { throw Refusal("'\(folder.path)' cannot be made: \(error.localizedDescription)") }
        self.folder = folder
        lock = kept == nil ? Self.lock(folder) : nil
        do {
            before = try copy("before")
            after = try copy("after")
            try Realm.backup(try arguments.configuration(), to: before.url) { progress in
                try Interruption.check()
                Output.progress("\(progress.copiedByteCount) of \(progress.byteCount) bytes copied")
            }
            try FileManager.default.copyItem(at: before.url, to: after.url)
            // The file itself may be protected.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: after.file)
            Output.progress(nil)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    /// Removes both copies.
    func remove() {
        try? FileManager.default.removeItem(at: folder)
        if let lock { close(lock) }
    }

    /// Removes the folders of rehearsals that were killed: folders of this user that no process has locked. A folder
    /// younger than a minute may not be locked yet.
    private static func removeLeftovers(in place: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let folder = place.appendingPathComponent(name)
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path)
            guard (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value == geteuid(),
                let date = attributes?[.modificationDate] as? Date, date.timeIntervalSinceNow < -60,
                let descriptor = lock(folder)
            else { continue }
            try? FileManager.default.removeItem(at: folder)
            close(descriptor)
        }
    }

    /// Locks a folder until the result is closed, or the process ends. Nil if another process has locked it, or if its
    /// file system has no locks.
    private static func lock(_ folder: URL) -> Int32? {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { return nil }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
        close(descriptor)
        return nil
    }
}
