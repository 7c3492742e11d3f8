// SPDX-License-Identifier: Apache-2.0
// Checks a configuration before anything is opened. A setting that contradicts another is a programmer error; a setting
// whose feature this version lacks is rejected by name, never ignored.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem

extension Realm.Configuration {
    /// Where the data is stored.
    enum Place: Hashable {
        case file(path: String)
        case memory(identifier: String)

        /// For messages: the path or the identifier.
        var name: String {
            switch self {
            case .file(let path): path
            case .memory(let identifier): identifier
            }
        }
    }

    /// Checks the settings and returns the location; traps if they contradict each other. Throws for features that are
    /// not available.
    func validated() throws -> Place {
        let place = validatedPlace()
        if let encryptionKey, encryptionKey.count != 64 {
            misuse("Encryption key must be exactly 64 bytes long")
        }
        if schemaVersion == UInt64.max {
            misuse("Cannot set schema version to \(schemaVersion) (RLMNotVersioned)")
        }
        if readOnly {
            let conflicts = [
                ("deleteRealmIfMigrationNeeded", deleteRealmIfMigrationNeeded),
                ("shouldCompactOnLaunch", shouldCompactOnLaunch != nil),
            ]
            for (name, isSet) in conflicts where isSet {
                misuse("Cannot set `\(name)` when `readOnly` is set.")
            }
        }
        return place
    }

    /// The `busyTimeout` in nanoseconds; nil if it is not set, or not a number.
    package var busyNanoseconds: UInt64? {
        storedBusyTimeout.flatMap { $0.isNaN ? nil : UInt64(min(max($0, 0), 1e9) * 1e9) }
    }

    /// A copy of the key, wiped when it is released. It is a programmer error if the key is not 64 bytes long.
    var engineKey: EncryptionKey? {
        guard let encryptionKey else { return nil }
        guard encryptionKey.count == EncryptionKey.byteCount else {
            misuse("Encryption key must be exactly 64 bytes long")
        }
        return encryptionKey.withUnsafeBytes { EncryptionKey($0) }
    }

    /// The error for a setting whose feature is not available.
    func unavailable(_ property: String, _ words: String) -> Realm.Error {
        Realm.Error(
            .fail, .unavailableFeature,
            "Cannot open Realm with `\(property)` set: this version does not "
                + "support it (\(words)). Leave `\(property)` at its default.", fileURL: fileURL)
    }

    private func validatedPlace() -> Place {
        if let inMemoryIdentifier {
            if inMemoryIdentifier.isEmpty { misuse("In-memory identifier must not be empty") }
            return .memory(identifier: inMemoryIdentifier)
        }
        guard let fileURL else {
            misuse("A Realm Configuration must specify a path or an in-memory identifier.")
        }
        let path = fileURL.path
        guard !path.isEmpty, !fileURL.relativeString.isEmpty else { misuse("Realm path must not be empty") }
        return .file(path: Self.isStandard(path) ? path : fileURL.standardizedFileURL.path)
    }

    /// True for most paths: absolute, with no empty, `.` or `..` component. Standardizing a URL takes longer.
    private static func isStandard(_ path: String) -> Bool {
        #if os(Linux)
            guard path.utf8.first == UInt8(ascii: "/") else { return false }
            return path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .allSatisfy {
                    !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
                }
        #else
            // Other names may refer to the same file.
            return false
        #endif
    }

    /// Creates the folder of the default file, and copies the seed file if no file exists yet.
    func prepareFile(_ path: String) throws {
        // Looking up the home directory reads system files: done only for a file of that name.
        let mayBeDefault = path.hasSuffix("/" + DefaultFile.name)
        guard mayBeDefault || seedFilePath != nil else { return }
        let url = URL(fileURLWithPath: path, isDirectory: false)
        if mayBeDefault, url.path == DefaultFile.url.standardizedFileURL.path {
            try Self.makeDefaultFolder(of: url)
        }
        guard let seedFilePath, !FileManager.default.fileExists(atPath: path) else { return }
        guard FileManager.default.fileExists(atPath: seedFilePath.path) else {
            throw Realm.Error(
                .fileNotFound, .missingFile,
                "Failed to open Realm file at path "
                    + "'\(seedFilePath.path)': No such file or directory. It is the `seedFilePath` of the "
                    + "configuration, from which '\(path)' is to be copied.", fileURL: seedFilePath)
        }
        try Self.copy(seedFilePath, to: url)
    }

    /// Copies to a temporary file beside the target and renames it, so that no other thread or process opens a partial
    /// file.
    private static func copy(_ source: URL, to target: URL) throws {
        let files = PosixFileSystem.shared
        do {
            let claim = try TemporaryFile.make(
                beside: target.path + SideFiles.seed, permissions: 0o600, in: files,
                removeCompanions: SideFiles.removeCompanions)
            defer { claim.remove() }
            let temporary = claim.path + ".copy"
            try FileManager.default.copyItem(atPath: source.path, toPath: temporary)
            // Sync first: later commits must not be lost together with the file's first bytes or its name.
            try files.open(temporary, .readOnly).sync(.full)
            try files.renameIfAbsent(temporary, to: target.path)
            try files.syncDirectory(containing: target.path)
        } catch {
            // If another thread or process has copied the seed first, its copy is used.
            if FileManager.default.fileExists(atPath: target.path) { return }
            // The `localizedDescription` of a `SystemError` would show its type and a number.
            let why = (error as? SystemError).map { "\($0.description)." } ?? error.localizedDescription
            throw Realm.Error(
                .fileAccess, .inputOutput,
                "Failed to copy the seed file '\(source.path)' to "
                    + "'\(target.path)': \(why) Use a path where your app has read-write "
                    + "permissions.", fileURL: target)
        }
    }

    private static func makeDefaultFolder(of url: URL) throws {
        let folder = url.deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw Realm.Error(
                .fileAccess, .noDefaultFolder,
                "Failed to make the folder '\(folder.path)' of the "
                    + "default Realm: \(error.localizedDescription) Set XDG_DATA_HOME, or HOME, to a folder where "
                    + "your app may write, or set a fileURL.", fileURL: url)
        }
    }
}
