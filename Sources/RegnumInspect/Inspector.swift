// SPDX-License-Identifier: Apache-2.0
// Opens a database file to look at it from outside, without the classes of the program that wrote it.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

/// Shows what lies in a database file: sizes, schema, tables, versions, and whether the file is whole.
///
/// **Unstable.** Everything in this module may change in any release; what it writes is for people, not for
/// programs.
///
/// ```swift
/// let inspector = try Inspector(fileURL: realm.configuration.fileURL!)
/// var text = ""
/// try inspector.dump(to: &text)
/// ```
///
/// Thread: use an instance from one thread at a time. Its methods wait until nobody writes, so calling them
/// inside a write transaction of the same thread on the same file waits for ever.
public final class Inspector {
    let database: Database

    /// Opens the file at `path`, which must exist.
    ///
    /// With `isReadOnly` nothing is written, not even a lock file beside it: right for damaged files, which opening for
    /// writing may repair, and for those that may only be read. Others may write meanwhile: one version is shown. Where the catalog or the schema of
    /// the newest commit cannot be read, the commit before it is shown, and where no commit is whole, as in a file that
    /// was cut off, what is left of the newest one; `integrityFindings()` and `salvage` say so.
    /// Otherwise the file is opened as any other process would open it, and may be in use.
    ///
    /// `encryptionKey` are the 64 bytes of an encrypted file.
    ///
    /// Throws `InspectionError` where there is no such file, it is not a database, or the key does not fit.
    public init(path: String, isReadOnly: Bool = false, encryptionKey: Data? = nil) throws {
        let fileSystem = PosixFileSystem.shared
        let key = try Self.engineKey(encryptionKey, path)
        database = try inspecting(path) { () throws(EngineError) in
            do throws(SystemError) {
                guard try fileSystem.status(path) != nil else {
                    throw SystemError(.notFound, "open", path)
                }
            } catch { throw .system(error) }
            var options = Database.OpenOptions(isReadOnly: isReadOnly)
            // Damage is what an inspector is to find.
            options.checksSmallFiles = false
            options.takesOlderCommit = isReadOnly
            options.encryptionKey = key
            return try Database.openAsOtherProcess(path: path, fileSystem: fileSystem, options: options)
        }
    }

    /// Our own copy of a key, wiped when it ends.
    static func engineKey(_ key: Data?, _ path: String) throws -> EncryptionKey? {
        guard key.map({ $0.count == EncryptionKey.byteCount }) ?? true else {
            throw InspectionError(path: path, description: "An encryption key must be exactly 64 bytes long.")
        }
        return key?.withUnsafeBytes { EncryptionKey($0) }
    }

    /// As `init(path:isReadOnly:encryptionKey:)`.
    public convenience init(fileURL: URL, isReadOnly: Bool = false, encryptionKey: Data? = nil) throws {
        try self.init(path: fileURL.path, isReadOnly: isReadOnly, encryptionKey: encryptionKey)
    }

    /// What the integrity check finds wrong, one sentence each, at most 100; empty where the file is whole. Each begins
    /// with the number of the law that is broken (`Documentation/FORMAT.md`) and the way to what breaks it.
    /// Reads everything once; memory is one byte a page of the file.
    public func integrityFindings() -> [String] {
        IntegrityCheck.run(database).findings.map(\.description)
    }
}
