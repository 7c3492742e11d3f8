// SPDX-License-Identifier: Apache-2.0
// Opens a database file for inspection, without the classes of the program that wrote it.

public import Foundation
package import RegnumEngine
internal import RegnumSystem

/// Inspects a database file: sizes, schema, tables, versions, and integrity.
///
/// **Unstable.** Everything in this module may change in any release. Its output is meant to be read by users, not by
/// programs.
///
/// ```swift
/// let inspector = try Inspector(fileURL: realm.configuration.fileURL!)
/// var text = ""
/// try inspector.dump(to: &text)
/// ```
///
/// Thread: use an instance from one thread at a time. Its methods wait until no write transaction is open, so calling
/// them inside a write transaction of the same thread on the same file waits forever.
public final class Inspector {
    package let database: Database
    /// Ends queries and measurements that begin after it was set, if the file is open to be read only; nil for none.
    public var stop: InspectionStop?

    /// Opens the file at `path`, which must exist.
    ///
    /// With `isReadOnly` nothing is written, not even a lock file. Use it for damaged files, which opening for writing
    /// may repair, and for files that may only be read. Other processes may write at the same time; a single version is
    /// shown. If the catalog or the schema of the newest commit cannot be read, the commit before it is shown. If no
    /// commit is complete, as in a file that was truncated, the readable parts of the newest one are shown.
    /// `integrityFindings()` and `salvage` report both cases.
    ///
    /// Without `isReadOnly` the file is opened as by any other process, and may be in use.
    ///
    /// `encryptionKey` is the 64-byte key of an encrypted file.
    ///
    /// Throws `InspectionError` if there is no such file, if it is not a database, or if the key does not match.
    public convenience init(path: String, isReadOnly: Bool = false, encryptionKey: Data? = nil) throws {
        try self.init(path: path, isReadOnly: isReadOnly, encryptionKey: encryptionKey, busyTimeout: nil)
    }

    /// The same. Opening, and beginning a write, wait at most `busyTimeout` nanoseconds for other processes; without it,
    /// opening waits for 30 s, and a write without limit.
    package init(path: String, isReadOnly: Bool, encryptionKey: Data?, busyTimeout: UInt64?) throws {
        let fileSystem = PosixFileSystem.shared
        let key = try Self.engineKey(encryptionKey, path)
        database = try inspecting(path) { () throws(EngineError) in
            do throws(SystemError) {
                guard try fileSystem.status(path) != nil else {
                    throw SystemError(.notFound, "open", path)
                }
            } catch { throw .system(error) }
            var options = Database.OpenOptions(isReadOnly: isReadOnly)
            // An inspector must report damage, not fail because of it.
            options.checksSmallFiles = false
            options.takesOlderCommit = isReadOnly
            options.encryptionKey = key
            options.busyTimeout = busyTimeout
            return try Database.openAsOtherProcess(path: path, fileSystem: fileSystem, options: options)
        }
    }

    /// The engine's own copy of a key, which is wiped when it is released.
    static func engineKey(_ key: Data?, _ path: String) throws -> EncryptionKey? {
        guard key.map({ $0.count == EncryptionKey.byteCount }) ?? true else {
            throw InspectionError(path: path, description: "An encryption key must be exactly 64 bytes long.")
        }
        return key?.withUnsafeBytes { EncryptionKey($0) }
    }

    /// Same as `init(path:isReadOnly:encryptionKey:)`.
    public convenience init(fileURL: URL, isReadOnly: Bool = false, encryptionKey: Data? = nil) throws {
        try self.init(path: fileURL.path, isReadOnly: isReadOnly, encryptionKey: encryptionKey)
    }

    /// The findings of the integrity check, one sentence each, at most 100; empty if the file is undamaged. Each begins
    /// with the number of the violated law (`Documentation/FORMAT.md`) and the path to the block that violates it.
    /// Reads the whole file once; uses one byte of memory per page of the file.
    ///
    /// Calls `progress` now and then with the checked part of the file, 0...1; it is not exact if blocks are damaged.
    /// After `stop` it ends soon, and the findings mean nothing.
    public func integrityFindings(
        stop: InspectionStop? = nil, progress: (Double) -> Void = { _ in }
    ) -> [String] {
        IntegrityCheck.run(database, stop: stop?.scans, progress: progress).findings.map(\.description)
    }
}
