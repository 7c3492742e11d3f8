// SPDX-License-Identifier: Apache-2.0
// A file that is written in order and appears at its path only when it is complete and on stable storage. Until then it
// has a temporary name in the same folder, and if the process is killed, the next export to that path removes the file.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumSystem

final class OutputFile {
    private let claim: TemporaryFile
    private let path: String
    private var byteCount = 0
    private var isComplete = false

    /// Creates a temporary file with the access rights of `original`. Throws `Realm.Error` if a file exists at `path`.
    init(at path: String, like original: String) throws {
        let files = PosixFileSystem.shared
        self.path = path
        if try files.status(path) != nil { throw Realm.Error.fileExists(path) }
        claim = try TemporaryFile.make(beside: path, permissions: 0o600, in: files)
        do {
            let other = try files.open(original, .readOnly)
            claim.file.takeAccess(of: other, asReplacement: false)
            other.close()
        } catch {
            claim.remove()
            throw error
        }
    }

    deinit { if !isComplete { claim.remove() } }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { try claim.file.write($0, at: byteCount) }
        byteCount += data.count
    }

    /// Syncs the file, and renames it to its path. Throws `Realm.Error` if a file exists there. The file is not written
    /// after this.
    func finish() throws {
        try claim.file.sync(.full)
        try PosixFileSystem.shared.publish(claim.path, as: path)
        isComplete = true
        claim.file.close()
    }
}

extension FileSystem {
    /// Renames a complete file to its final path, and makes the name durable. If it throws, no file is at `path`.
    /// Throws `Realm.Error` if a file exists there.
    func publish(_ temporaryPath: String, as path: String) throws {
        do { try renameIfAbsent(temporaryPath, to: path) } catch {
            if error.kind == .exists { throw Realm.Error.fileExists(path) }
            throw error
        }
        do { try syncName(of: path) } catch {
            try? remove(path)
            throw error
        }
    }

    /// Makes the name of a created or renamed file durable, if the process has the permission: syncing a folder
    /// requires permission to read it, which creating files does not.
    func syncName(of path: String) throws(SystemError) {
        do throws(SystemError) { try syncDirectory(containing: path) } catch {
            if error.kind != .permissionDenied { throw error }
        }
    }
}
