// SPDX-License-Identifier: Apache-2.0
// An unfinished file, in the same directory as the path that it is made for. Its creator holds a byte lock on it until
// it is finished, so that a leftover of a killed process can be distinguished from a file in use. The next process that
// creates such a file at that path, or deletes the file at that path, removes the leftover, or takes it over.
//
// The names are numbered, so that leftovers are found without listing the folder, and no other program has a reason to
// choose them. Between creating and locking a file, another process may take it for a leftover: its creator therefore
// checks afterwards that it is still there.

package import RegnumSystem

package struct TemporaryFile: Sendable {
    package let path: String
    package let file: any File
    private let fileSystem: any FileSystem
    /// Removes the files that the creator has put next to the file at that path.
    private let removeCompanions: @Sendable (String) -> Void

    private static let lockedByte = 1 << 62 + 2
    /// The numbers in the names. If more files exist at the same time, they get names that no process searches for.
    private static let numbers = 0..<8

    private static func numbered(_ path: String, _ number: Int) -> String { "\(path).regnum-\(number).tmp" }

    /// Creates an empty file beside `path`, and removes leftovers of killed processes.
    package static func make(
        beside path: String, permissions: UInt32, in fileSystem: any FileSystem,
        removeCompanions: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SystemError) -> TemporaryFile {
        removeLeftovers(beside: path, in: fileSystem, removeCompanions: removeCompanions)
        for number in numbers {
            let name = numbered(path, number)
            if let made = try claim(name, permissions, fileSystem, removeCompanions) { return made }
        }
        let name = fileSystem.unusedPath(beside: path)
        return TemporaryFile(
            path: name, file: try fileSystem.open(name, .createNew(permissions: permissions)), fileSystem: fileSystem,
            removeCompanions: removeCompanions)
    }

    /// Creates the file at `path`. It has that name only when `fill` has written it and it is on stable storage; nothing
    /// remains after an error. Throws `EngineError.fileExists` if something is at the path by then, and the errors of
    /// `fill` and of the file system as they are.
    package static func publish(
        at path: String, permissions: UInt32, in fileSystem: any FileSystem, _ fill: (any File) throws -> Void
    ) throws {
        let made = try make(beside: path, permissions: permissions, in: fileSystem)
        var isRenamed = false
        do {
            try fill(made.file)
            try made.file.sync(.full)
            try fileSystem.renameIfAbsent(made.path, to: path)
            isRenamed = true
            try fileSystem.syncName(of: path)
            made.file.close()
        } catch {
            if isRenamed { made.file.close() } else { made.remove() }
            if let known = error as? SystemError, known.kind == .exists { throw EngineError.fileExists(path: path) }
            throw error
        }
    }

    /// Returns nil if a file with that name exists.
    private static func claim(
        _ name: String, _ permissions: UInt32, _ fileSystem: any FileSystem,
        _ removeCompanions: @escaping @Sendable (String) -> Void
    ) throws(SystemError) -> TemporaryFile? {
        let file: any File
        do throws(SystemError) { file = try fileSystem.open(name, .createNew(permissions: permissions)) } catch {
            if error.kind == .exists { return nil }
            throw error
        }
        let made = TemporaryFile(path: name, file: file, fileSystem: fileSystem, removeCompanions: removeCompanions)
        let isLocked: Bool
        do throws(SystemError) { isLocked = try file.tryLock(byte: lockedByte) } catch {
            // Without the lock other processes would take it for a leftover: a name that no process searches for is
            // better.
            made.remove()
            return nil
        }
        do throws(SystemError) {
            if isLocked, try fileSystem.status(name)?.identity == file.identity { return made }
        } catch {
            made.remove()
            throw error
        }
        // Another process took it for a leftover before it was locked.
        file.close()
        return nil
    }

    /// Removes the leftovers of killed processes beside `path`.
    package static func removeLeftovers(
        beside path: String, in fileSystem: any FileSystem, removeCompanions: @Sendable (String) -> Void = { _ in }
    ) {
        for number in numbers {
            let name = numbered(path, number)
            guard let file = lockLeftover(name, fileSystem) else { continue }
            removeCompanions(name)
            try? fileSystem.remove(name)
            file.close()
        }
    }

    /// Takes over a leftover of a killed process beside `path` for whose path `isWanted` returns true, and removes the
    /// other leftovers. Returns nil, and removes none, if there is no such leftover.
    package static func adopt(
        beside path: String, in fileSystem: any FileSystem,
        removeCompanions: @escaping @Sendable (String) -> Void = { _ in }, where isWanted: (String) -> Bool
    ) -> TemporaryFile? {
        for number in numbers {
            let name = numbered(path, number)
            guard isWanted(name), let file = lockLeftover(name, fileSystem) else { continue }
            // Another process may have replaced it before it was locked.
            guard isWanted(name) else {
                file.close()
                continue
            }
            removeLeftovers(beside: path, in: fileSystem, removeCompanions: removeCompanions)
            return TemporaryFile(path: name, file: file, fileSystem: fileSystem, removeCompanions: removeCompanions)
        }
        return nil
    }

    /// Locks the file at `name`. Returns nil if there is none, or if it is still in use.
    private static func lockLeftover(_ name: String, _ fileSystem: any FileSystem) -> (any File)? {
        guard let file = try? fileSystem.open(name, .readWriteNoFollow) else { return nil }
        // A locked file is still in use. It may have been renamed by now, and another file may have this name.
        guard (try? file.tryLock(byte: lockedByte)) == true,
            (try? fileSystem.status(name))?.identity == file.identity
        else {
            file.close()
            return nil
        }
        return file
    }

    /// Removes the file, and the files that its creator has put next to it. Must not be called after it was renamed.
    package func remove() {
        removeCompanions(path)
        try? fileSystem.remove(path)
        // Last: while it is locked, no process takes it for a leftover.
        file.close()
    }
}

extension FileSystem {
    /// Returns a path in the same directory that no file has.
    func unusedPath(beside path: String) -> String {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { fillRandom($0) }
        // Always 16 digits: whether the name is too long must not depend on the number.
        word |= 1 << 63
        return "\(path).\(String(word, radix: 16)).tmp"
    }
}
