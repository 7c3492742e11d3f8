// SPDX-License-Identifier: Apache-2.0
// A file that is written in order and appears at its path only when it is complete and on stable storage. Until then it
// has a temporary name in the same folder, and if the process is killed, the next export to that path removes the file.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumSystem

final class OutputFile {
    private let claim: TemporaryFile
    private let files: any FileSystem
    private let path: String
    private var byteCount = 0
    /// After this, `claim` must not remove its path: another export may have claimed it.
    private var isRenamed = false

    /// Creates a temporary file with the access rights of `original`. Throws `Realm.Error` if a file exists at `path`.
    init(at path: String, like original: String, in files: any FileSystem = PosixFileSystem.shared) throws {
        self.path = path
        self.files = files
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

    deinit { if !isRenamed { claim.remove() } }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { try claim.file.write($0, at: byteCount) }
        byteCount += data.count
    }

    /// Syncs the file, and renames it to its path. Throws `Realm.Error` if a file exists there. The file is not written
    /// after this.
    func finish() throws {
        try claim.file.sync(.full)
        try files.publish(claim.path, as: path) { isRenamed = true }
        claim.file.close()
    }
}

extension FileSystem {
    /// Renames a complete file to its final path, calls `renamed`, and makes the name durable. If it throws, no file is
    /// at `path`. Throws `Realm.Error` if a file exists there.
    func publish(_ temporaryPath: String, as path: String, renamed: () -> Void = {}) throws {
        do { try renameIfAbsent(temporaryPath, to: path) } catch {
            if error.kind == .exists { throw Realm.Error.fileExists(path) }
            throw error
        }
        renamed()
        do { try syncName(of: path) } catch {
            try? remove(path)
            throw error
        }
    }
}
