// SPDX-License-Identifier: Apache-2.0
// Copies of Realms without free space, and compaction of files.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm {
    /// Writes what this Realm sees, changes of the running write transaction too, into a new file at `fileURL`: all
    /// objects, no free space, and nothing of lock files. The file appears when it is whole, and nobody can read it who
    /// cannot read this Realm's.
    ///
    /// Throws `Realm.Error(.fileExists)` where there is something at `fileURL`, and what the system refuses. Takes
    /// the time of reading and writing the whole file.
    public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
        var configuration = Configuration(fileURL: fileURL)
        configuration.encryptionKey = encryptionKey
        try copy(to: configuration)
    }

    /// As `writeCopy(toFile:encryptionKey:)`, to the file of `configuration` with its key.
    public func writeCopy(configuration: Configuration) throws {
        try copy(to: configuration)
    }

    private func copy(to configuration: Configuration) throws {
        core.check()
        guard case .file(let path) = try configuration.validated() else {
            misuse("A copy needs a file: set fileURL in the configuration, instead of inMemoryIdentifier.")
        }
        do {
            try core.session.writeCopy(to: path, in: PosixFileSystem.shared, key: configuration.engineKey)
        } catch { throw Error(using: path, doing: "write a copy to", error) }
    }
}

/// What Regnum adds to `Realm` for who looks after files. Members of a Realm's own with the same names win.
public protocol RealmCare {}

extension Realm: RealmCare {}

extension RealmCare where Self == Realm {
    /// Makes the file of `configuration` as short as its content: it is replaced by a copy without free space.
    ///
    /// True where that was done; false where there is no file, or where it is open, in this process or another. After
    /// an error (`Realm.Error`) the file is what it was, or, where its folder could not be synced at last, the copy with
    /// the same content. Others who open the file meanwhile wait. Any thread; takes the time of reading and writing the
    /// whole file, and its space once more.
    @discardableResult
    public static func compactFile(for configuration: Realm.Configuration) throws -> Bool {
        guard case .file(let path) = try configuration.validated() else { return false }
        if configuration.readOnly { misuse("Cannot compact a file when `readOnly` is set.") }
        do {
            return try Database.compact(
                path: path, fileSystem: PosixFileSystem.shared, options: RealmOpening.options(configuration))
        } catch { throw Realm.Error(opening: path, readOnly: false, error) }
    }
}
