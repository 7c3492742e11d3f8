// SPDX-License-Identifier: Apache-2.0
// A file in the making, beside the one that it is to become. Its maker holds the lock of a byte of it as long as it is
// in the making: so what a killed process has left is told from what a living one is at, and is removed by the next one
// who makes such a file at that place, or deletes what it was made for.
//
// The names are numbered, so that leftovers are found without a look through the folder, and no other program has
// reason to choose them. Between making a file and locking it somebody may take it for a leftover: whoever has made it
// looks whether it is still there.

package import RegnumSystem

package struct TemporaryFile: Sendable {
    package let path: String
    package let file: any File
    private let fileSystem: any FileSystem
    /// Removes what the maker of the file with that path has put beside it.
    private let removeCompanions: @Sendable (String) -> Void

    private static let lockedByte = 1 << 62 + 2
    /// More at once have names that nobody looks for.
    private static let numbers = 0..<8

    private static func numbered(_ path: String, _ number: Int) -> String { "\(path).regnum-\(number).tmp" }

    /// Makes one, empty, beside `path`, and removes what killed processes have left of others.
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

    /// Nil where somebody else has a file of that name.
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
            // Where it is not locked others take it for a leftover: better a name that nobody looks for.
            made.remove()
            return nil
        }
        do throws(SystemError) {
            if isLocked, try fileSystem.status(name)?.identity == file.identity { return made }
        } catch {
            made.remove()
            throw error
        }
        // It was taken for a leftover before it was locked.
        file.close()
        return nil
    }

    /// Removes what killed processes have left of such files beside `path`.
    package static func removeLeftovers(
        beside path: String, in fileSystem: any FileSystem, removeCompanions: @Sendable (String) -> Void = { _ in }
    ) {
        for number in numbers {
            let name = numbered(path, number)
            guard let file = try? fileSystem.open(name, .readWriteNoFollow) else { continue }
            defer { file.close() }
            // Whoever has locked it is at it. It may have its name by now, and another one this one.
            guard (try? file.tryLock(byte: lockedByte)) == true,
                (try? fileSystem.status(name))?.identity == file.identity
            else { continue }
            removeCompanions(name)
            try? fileSystem.remove(name)
        }
    }

    /// Removes it, and what its maker has put beside it. Not after it was renamed.
    package func remove() {
        removeCompanions(path)
        try? fileSystem.remove(path)
        // Last: while it is locked, nobody takes it for a leftover.
        file.close()
    }
}

extension FileSystem {
    /// A path in the same directory that nobody has.
    func unusedPath(beside path: String) -> String {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { fillRandom($0) }
        return "\(path).\(String(word, radix: 16)).tmp"
    }
}
