// SPDX-License-Identifier: Apache-2.0
// How a Realm is opened: where its data is stored, with which classes, and with which settings. Plain values; they are
// checked when a Realm is opened (`Configuration+Validation.swift`).

public import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// Runs when a file with an older schema version is opened.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

extension Realm {
    /// The settings for opening a Realm. A value: changing a copy does not affect the original.
    public struct Configuration: Sendable {
        /// The configuration that `Realm()` opens. Can be read and set on any thread.
        ///
        /// While it names an in-memory identifier, the data of that Realm is kept even when no instance is open.
        public static var defaultConfiguration: Configuration {
            get { DefaultConfiguration.current.value }
            set { DefaultConfiguration.current.value = newValue }
        }

        /// Settings that RealmSwift does not have; see `MigrationSettings`.
        package var extras = InternalMigrationSettings()
        private var url: URL?
        private var identifier: String?

        /// The URL of the file. Setting it clears `inMemoryIdentifier`.
        public var fileURL: URL? {
            get { url }
            set {
                if newValue != nil { identifier = nil }
                url = newValue
            }
        }

        /// The name of an in-memory Realm. Setting it clears `fileURL`.
        public var inMemoryIdentifier: String? {
            get { identifier }
            set {
                if newValue != nil { url = nil }
                identifier = newValue
            }
        }

        /// The 64-byte key that encrypts the file with AES-256-GCM. Requires the package trait `Encryption`, which is
        /// on by default. A file is encrypted from its creation. Opening it needs the same key; a different key, or
        /// none, throws `.invalidDatabase`. It is a programmer error if the key is not exactly 64 bytes long, or if the
        /// file is open in this process with a different key. An in-memory Realm is never written to disk and ignores
        /// the key.
        ///
        /// The configuration keeps these bytes as given; the keys that the database derives from them are wiped when
        /// the last Realm of the file is closed.
        public var encryptionKey: Data?
        /// True if the file must not be written to. The file, or its `seedFilePath`, must exist and have this
        /// `schemaVersion`. Other processes may write to the file in the meantime: the Realm shows the version that was
        /// newest when it was opened, and pins it, which takes space in the file until the Realm is closed. Read
        /// permission for the file is sufficient.
        public var readOnly: Bool
        /// The schema version of the classes; a file never returns to a lower version.
        public var schemaVersion: UInt64
        /// Migrates a file that has an older schema version.
        public var migrationBlock: MigrationBlock?
        /// True if a file is emptied when it is opened with a different schema version or with classes that would need
        /// a migration: all objects are deleted in one transaction, and their space is reused. Opening throws
        /// `.alreadyOpen` if the process already has the file open. It is a programmer error to combine this with
        /// `readOnly`.
        public var deleteRealmIfMigrationNeeded: Bool
        /// Called when the process first opens the file; returns true to compact it, which drops the older versions of
        /// a file with a `history`. These count as used.
        public var shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)?
        /// The classes of the schema; nil for all subclasses of `Object` in the process.
        public var objectTypes: [ObjectBase.Type]?
        /// A file that is copied to `fileURL` if no file exists there, even with `readOnly`.
        public var seedFilePath: URL?
        /// The maximum number of versions that may be alive at once; a write fails if there are more.
        public var maximumNumberOfActiveVersions: UInt?
        /// See `durability`.
        var storedDurability = Durability.full
        /// See `verify`.
        var storedVerification = FileVerification.onFirstUse
        /// See `busyTimeout`.
        var storedBusyTimeout: TimeInterval?
        /// See `history`.
        var storedHistory: HistoryPolicy?

        /// Creates a configuration; if both a file and an identifier are given, the identifier takes precedence.
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
    /// Compares the file or identifier, the key, `readOnly` and the schema version.
    public static func == (left: Self, right: Self) -> Bool {
        left.fileURL == right.fileURL && left.inMemoryIdentifier == right.inMemoryIdentifier
            && left.encryptionKey == right.encryptionKey && left.readOnly == right.readOnly
            && left.schemaVersion == right.schemaVersion
    }
}

extension Realm.Configuration: CustomStringConvertible {
    /// One setting per line. The bytes of the key are not shown.
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
    /// The location of `default.realm`: `$XDG_DATA_HOME`, or `~/.local/share`, then the name of the program.
    public enum DefaultFile {
        /// The default file of a configuration. Its folder is created when the file is first opened.
        public static var url: URL {
            folder(
                environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory(),
                program: ProcessInfo.processInfo.processName
            )
            .appendingPathComponent(name, isDirectory: false)
        }

        static let name = "default.realm"

        /// Computes the folder. A relative `XDG_DATA_HOME` is ignored, as the XDG specification requires.
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
