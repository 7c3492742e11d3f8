// SPDX-License-Identifier: Apache-2.0
// Copies of Realms without free space, and compaction of files.

public import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm {
    /// Writes the data that this Realm shows, including changes of the running write transaction, to a new file at
    /// `fileURL`. The copy contains all objects, but no free space and no lock file. The file appears only when it is
    /// complete, and cannot be read by anyone who cannot read this Realm's file.
    ///
    /// Throws `Realm.Error(.fileExists)` if something exists at `fileURL`, and errors of the operating system. Takes as
    /// long as reading and writing the whole file.
    public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
        var configuration = Configuration(fileURL: fileURL)
        configuration.encryptionKey = encryptionKey
        try copy(to: configuration)
    }

    /// Like `writeCopy(toFile:encryptionKey:)`, to the file of `configuration`, with its key.
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

/// Additions of Regnum to `Realm` for the management of files. A program's own members of the same names take
/// precedence.
public protocol RealmAdditions {}

extension Realm: RealmAdditions {}

extension RealmAdditions where Self == Realm {
    /// Compacts the file of `configuration`: replaces it with a copy without free space.
    ///
    /// Returns true if the file was compacted; false if there is no file, or if it is open, in this process or another.
    /// After an error (`Realm.Error`) the file is unchanged or, if only the final sync of its folder failed, the copy
    /// with the same content. Other calls that open the file wait in the meantime. Any thread; takes as long as reading
    /// and writing the whole file, and needs space for a second copy.
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
