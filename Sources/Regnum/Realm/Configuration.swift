// SPDX-License-Identifier: Apache-2.0
// How a Realm is opened: where its data lies, with which classes, and under which rules. Plain values; they are
// checked when a Realm is opened (`Configuration+Validation.swift`).

public import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// Runs when a file with an older schema version is opened.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

extension Realm {
    /// The settings with which a Realm is opened. A value: changing a copy changes nothing else.
    public struct Configuration: Sendable {
        /// The configuration that `Realm()` opens. May be read and set from any thread.
        ///
        /// While it names an in-memory identifier, that Realm's data stays even when no instance is alive.
        public static var defaultConfiguration: Configuration {
            get { DefaultConfiguration.current.value }
            set { DefaultConfiguration.current.value = newValue }
        }

        /// What only Regnum knows; see `MigrationSettings`.
        package var extras = MigrationExtras()
        private var url: URL?
        private var identifier: String?

        /// The file. Setting it clears `inMemoryIdentifier`.
        public var fileURL: URL? {
            get { url }
            set {
                if newValue != nil { identifier = nil }
                url = newValue
            }
        }

        /// The name of a Realm in memory. Setting it clears `fileURL`.
        public var inMemoryIdentifier: String? {
            get { identifier }
            set {
                if newValue != nil { url = nil }
                identifier = newValue
            }
        }

        /// The 64 bytes with which the file is encrypted: AES-256-GCM, needs the package trait `Encryption`, which is
        /// on by default. A file is encrypted from its making on. The same key opens it again; another one, or none,
        /// throws `.invalidDatabase`. Misuse where it is not exactly 64 bytes long, or where the file is open in this
        /// process with another key. A Realm in memory is never written anywhere and takes no notice of it.
        ///
        /// The configuration keeps these bytes as you gave them; what the database derives from them is wiped when
        /// the last Realm of the file is closed.
        public var encryptionKey: Data?
        /// True where nothing may be written. The file must exist, or its `seedFilePath`, and be of this `schemaVersion`.
        /// Other processes may write to it meanwhile: the Realm shows the version that was the newest when it was opened,
        /// and keeps it, which takes space in the file until it is closed. Read permission for the file is enough.
        public var readOnly: Bool
        /// The version of the schema; a file never goes back to a lower one.
        public var schemaVersion: UInt64
        /// Brings a file of an older schema version up to date.
        public var migrationBlock: MigrationBlock?
        /// True where a file of another schema version, or with differences that need one, is emptied as it is opened:
        /// all objects go, in one transaction, and their space is used again. Opening throws `.alreadyOpen` where the
        /// process has that file open already. Misuse together with `readOnly`.
        public var deleteRealmIfMigrationNeeded: Bool
        /// Asked at the first opening of the file in the process whether it is to be compacted.
        public var shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)?
        /// The classes of the schema; nil for all subclasses of `Object` in the process.
        public var objectTypes: [ObjectBase.Type]?
        /// A file that is copied to `fileURL` where there is none, also with `readOnly`.
        public var seedFilePath: URL?
        /// How many versions may be alive at a time before a write fails.
        public var maximumNumberOfActiveVersions: UInt?
        /// See `durability`.
        var storedDurability = Durability.full
        /// See `verify`.
        var storedVerification = FileVerification.onFirstUse
        /// See `busyTimeout`.
        var storedBusyTimeout: TimeInterval?

        /// Makes a configuration; where both are given the identifier wins over the file.
        public init(
            fileURL: URL? = DefaultFile.url,
            inMemoryIdentifier: String? = nil,
            encryptionKey: Data? = nil,
            readOnly: Bool = false,
            schemaVersion: UInt64 = 0,
            migrationBlock: MigrationBlock? = nil,
            deleteRealmIfMigrationNeeded: Bool = false,
            shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)? = nil,
            objectTypes: [ObjectBase.Type]? = nil,
            seedFilePath: URL? = nil
        ) {
            url = inMemoryIdentifier == nil ? fileURL : nil
            identifier = inMemoryIdentifier
            self.encryptionKey = encryptionKey
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.migrationBlock = migrationBlock
            self.deleteRealmIfMigrationNeeded = deleteRealmIfMigrationNeeded
            self.shouldCompactOnLaunch = shouldCompactOnLaunch
            self.objectTypes = objectTypes
            self.seedFilePath = seedFilePath
        }
    }
}

extension Realm.Configuration {
    var files: any FileSystem { extras.fileSystem ?? PosixFileSystem.shared }
}

extension Realm.Configuration: Equatable {
    /// Compares the place, the key, `readOnly` and the schema version.
    public static func == (left: Self, right: Self) -> Bool {
        left.fileURL == right.fileURL && left.inMemoryIdentifier == right.inMemoryIdentifier
            && left.encryptionKey == right.encryptionKey && left.readOnly == right.readOnly
            && left.schemaVersion == right.schemaVersion
    }
}

extension Realm.Configuration: CustomStringConvertible {
    /// One line a setting. The bytes of the key are not shown.
    public var description: String {
        let none = "(null)"
        let lines: [(String, String)] = [
            ("fileURL", fileURL?.absoluteString ?? none),
            ("inMemoryIdentifier", inMemoryIdentifier ?? none),
            ("encryptionKey", encryptionKey.map { "<\($0.count) bytes>" } ?? none),
            ("readOnly", readOnly ? "1" : "0"),
            ("schemaVersion", "\(schemaVersion)"),
            ("migrationBlock", migrationBlock == nil ? none : "<block>"),
            ("deleteRealmIfMigrationNeeded", deleteRealmIfMigrationNeeded ? "1" : "0"),
            ("shouldCompactOnLaunch", shouldCompactOnLaunch == nil ? none : "<block>"),
            ("dynamic", "0"),
            ("customSchema", objectTypes.map { $0.map { "\($0)" }.joined(separator: ", ") } ?? none),
        ]
        return "Realm.Configuration {\n" + lines.map { "\t\($0) = \($1);\n" }.joined() + "}"
    }
}

extension Realm.Configuration {
    /// Where `default.realm` lies: `$XDG_DATA_HOME`, or `~/.local/share`, then the program's name.
    public enum DefaultFile {
        /// The file of a configuration that names none. Its folder is made when it is first opened.
        public static var url: URL {
            folder(
                environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory(),
                program: ProcessInfo.processInfo.processName
            )
            .appendingPathComponent(name, isDirectory: false)
        }

        static let name = "default.realm"

        /// The rule itself. A relative `XDG_DATA_HOME` is ignored, as the XDG specification demands.
        static func folder(environment: [String: String], home: @autoclosure () -> String, program: String) -> URL {
            let data: URL
            if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
                data = URL(fileURLWithPath: path, isDirectory: true)
            } else {
                let base = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home()
                data = URL(fileURLWithPath: base, isDirectory: true)
                    .appendingPathComponent(".local", isDirectory: true)
                    .appendingPathComponent("share", isDirectory: true)
            }
            let name = program.isEmpty ? "regnum" : program.replacing("/", with: "_")
            return data.appendingPathComponent(name, isDirectory: true)
        }
    }
}
