// SPDX-License-Identifier: Apache-2.0
// Translates engine errors into the public error type: RealmSwift's wording first, then a sentence that says what to
// do.

internal import Foundation
package import RegnumEngine
internal import RegnumSystem

private let importsNothing = "opening with `readOnly` imports nothing. Open it once without `readOnly`, and "

extension Realm.Error {
    /// Translates an error that occurred while opening the file at `path`.
    package init(opening path: String, readOnly: Bool, _ error: EngineError) {
        let start = "Failed to open Realm file at path '\(path)': "
        func make(_ code: Code, _ reason: Reason, _ words: String) -> Realm.Error {
            Realm.Error(code, reason, start + words, fileURL: URL(fileURLWithPath: path))
        }
        switch error {
        case .notADatabase(_, .tooSmall):
            let size = FileFacts.byteCount(path)
            self =
                size == 0
                ? .emptyFile(path)
                : make(
                    .invalidDatabase, .tooSmall,
                    "file is non-empty but too small (\(size) bytes) to be a "
                        + "valid Realm. Restore it from a backup, or delete it to start with an empty Realm.")
        case .notADatabase(_, .wrongMagic):
            self = make(
                .invalidDatabase, .notARealmFile,
                "header has invalid mnemonic. The file is not a Realm "
                    + "file, or its start was overwritten: choose another fileURL, or restore it from a backup.")
        case .notADatabase(_, .oldRealmCore):
            let version = FileFacts.realmCoreVersion(path).map { " (\($0))" } ?? ""
            self = make(
                .unsupportedFileFormatVersion, .olderRealmFile,
                "Database has an unsupported version"
                    + "\(version) and cannot be upgraded. It is a Realm Core file, written by RealmSwift or another "
                    + "SDK of Realm: \(readOnly ? importsNothing : "")set `legacyFile` of the configuration to `.importing()` of the module "
                    + "RegnumRealmImport, or make a new file of it with `regnum import-realm OLD NEW`."
            )
        case .notADatabase(_, .directory):
            self =
                FileFacts.isFolder(path)
                ? make(
                    .fileOperationFailed, .isAFolder,
                    "Is a directory. fileURL must name a file: append a file name, such as 'default.realm'.")
                : make(
                    .fileOperationFailed, .notARegularFile,
                    "Not a regular file. "
                        + "fileURL must name a file, not a device, a pipe or a socket.")
        case .unsupported(_, let feature):
            self = make(
                .unsupportedFileFormatVersion, .newerFormat,
                "Database has an unsupported version "
                    + "(\(feature)) and cannot be upgraded. A newer version of this library wrote it: update the "
                    + "library to open it.")
        case .encryption(_, let problem): self = .encryption(problem, start, path)
        case .corrupted(let damage): self = .damaged(damage, start, path)
        case .overwritten: self = make(.invalidDatabase, .damaged, error.words)
        case .system(let system): self.init(system, start, path, readOnly: readOnly)
        case .latched(let words): self = .latched(words, path)
        case .busy(let words):
            self = make(.fail, .busy, words + " `busyTimeout` in the configuration limits the wait.")
        case .limit(let words): self = make(.fail, .overLimit, words)
        case .lockFile(let lock):
            self = make(
                .incompatibleLockFile, .foreignLockFile,
                "Other processes have it open, and the lock file '\(lock)', "
                    + "which coordinates them, has since been deleted, replaced or damaged. Let those processes close "
                    + "the file, then open it again; never touch the lock file while a Realm is open.")
        case .foreignLockFile(let lock):
            self = make(
                .incompatibleLockFile, .foreignLockFile,
                "The file '\(lock)' has the name of the database's lock file, but is not one, and was left as it is. "
                    + "Choose another name for the database, or remove that file if it is not needed.")
        case .fileExists(let path): self = .fileExists(path)
        case .stopped: preconditionFailure("the session of a Realm has no ScanStop")
        case .refused(let why, let words):
            self = .refused(why, words + " The file is as it was: change the objects in the `migrationBlock`.", path)
        }
    }

    /// Translates an error that occurred while beginning or committing a write, or while reading, in the file at
    /// `path`.
    package init(using path: String, doing action: String, _ error: EngineError) {
        let start = "Failed to \(action) Realm file at path '\(path)': "
        switch error {
        case .corrupted(let damage): self = .damaged(damage, start, path)
        case .system(let system): self.init(system, start, path, readOnly: false)
        case .latched(let words): self = .latched(words, path)
        case .busy(let words): self = Realm.Error(.fail, .busy, start + words, fileURL: URL(fileURLWithPath: path))
        case .limit(let words):
            self = Realm.Error(.fail, .overLimit, start + words, fileURL: URL(fileURLWithPath: path))
        case .refused(let why, let words):
            self = .refused(why, words + " Nothing of the write was kept.", path)
        default: self.init(opening: path, readOnly: false, error)
        }
    }

    /// The error of a transaction that breaks a rule of the file.
    private static func refused(_ why: EngineError.Refusal, _ words: String, _ path: String) -> Realm.Error {
        let reason: Reason =
            switch why {
            case .duplicate: .duplicateValues
            case .deniedDelete: .deniedDelete
            }
        return Realm.Error(.fail, reason, words, fileURL: URL(fileURLWithPath: path))
    }

    /// The error of a copy whose target already exists.
    package static func fileExists(_ path: String) -> Realm.Error {
        Realm.Error(
            .fileExists, .fileExists,
            "Failed to open file at path '\(path)': File exists. Choose a path at which nothing exists, or "
                + "remove the file first.", fileURL: URL(fileURLWithPath: path))
    }

    /// The error of an empty file that must not be written.
    static func emptyFile(_ path: String) -> Realm.Error {
        Realm.Error(
            .invalidDatabase, .emptyFile,
            "Failed to open Realm file at path '\(path)': file is empty. "
                + "A read-only Realm must have been written before: open it once without `readOnly`.",
            fileURL: URL(fileURLWithPath: path))
    }

    /// The error of a key that does not match the file.
    private static func encryption(_ problem: EncryptionProblem, _ start: String, _ path: String) -> Realm.Error {
        func make(_ reason: Reason, _ words: String) -> Realm.Error {
            Realm.Error(.invalidDatabase, reason, start + words, fileURL: URL(fileURLWithPath: path))
        }
        let decryption =
            "Realm file decryption failed (Decryption failed: page 0 in file of size \(FileFacts.byteCount(path))). "
        switch problem {
        case .keyMissing:
            return make(
                .encryptedWithoutKey,
                "header has invalid mnemonic. The file is encrypted: set the `encryptionKey` of the configuration to "
                    + "the key it was written with.")
        case .wrongKey:
            return make(
                .wrongKey,
                decryption + "The file was encrypted with a key other than the `encryptionKey` of the "
                    + "configuration; its content is not damaged.")
        case .notEncrypted:
            return make(
                .notEncrypted,
                decryption + "The file is not encrypted: open it without `encryptionKey`, and make an encrypted copy "
                    + "of it with `writeCopy(toFile:encryptionKey:)`.")
        case .unavailable:
            return Realm.Error(
                .fail, .unavailableFeature,
                start + "this build has no encryption. Enable the package trait `Encryption` (it is on by "
                    + "default), or leave `encryptionKey` nil.", fileURL: URL(fileURLWithPath: path))
        case .otherKeyInUse: return RealmCache.Setting.key.error(path)
        }
    }

    private static func damaged(_ damage: Corruption, _ start: String, _ path: String) -> Realm.Error {
        let isCut = damage.isTruncation
        return Realm.Error(
            .invalidDatabase, isCut ? .truncated : .damaged,
            start + "\(damage). "
                + (isCut ? "The end of the file is missing" : "A part of the file was overwritten") + ": "
                + EngineError.adviceOnDamage, fileURL: URL(fileURLWithPath: path))
    }

    /// Damage found by a call that cannot throw; `words` is the program's last message.
    init(reading damage: Corruption, _ words: String) {
        self.init(
            .invalidDatabase, damage.isTruncation ? .truncated : .damaged, words,
            fileURL: damage.path.map { URL(fileURLWithPath: $0) })
    }

    private static func latched(_ words: String, _ path: String) -> Realm.Error {
        Realm.Error(
            .fail, .writesStopped,
            "Failed to write Realm file at path '\(path)': \(words). An earlier "
                + "commit failed; everything committed before it is safe. Close all Realms of the file and open it "
                + "again to write.", fileURL: URL(fileURLWithPath: path))
    }
}

extension EngineError {
    fileprivate static let adviceOnDamage =
        "keep a copy of it, and restore it from a backup, or save what can be read with `regnum salvage`; `regnum check` "
        + "lists the damage."

    /// The message with which the program ends if the call cannot throw.
    var lastWords: String {
        switch self {
        case .limit(let words), .refused(_, let words), .busy(let words): return words
        default:
            var path: String?
            if case .corrupted(let damage) = self { path = damage.path }
            if case .overwritten(let file) = self { path = file }
            return "The Realm file\(path.map { " '\($0)'" } ?? "") could not be read: \(words)"
        }
    }

    /// The message, for contexts that do not name the path.
    var words: String {
        switch self {
        case .corrupted(let damage):
            "\(damage). A part of the file was overwritten or is missing: \(Self.adviceOnDamage)"
        case .overwritten:
            "another program has overwritten the file while it was open. None of its data can be trusted: "
                + "close all Realms of the file and open it again. To replace a Realm file, close it first, or rename "
                + "the new file to its path."
        case .system(let error):
            "\(error)."
        case .latched(let words):
            "\(words). An earlier commit failed: close all Realms of the file and open it again to write."
        case .limit(let words), .refused(_, let words), .busy(let words): words
        case .notADatabase, .unsupported, .encryption, .lockFile, .foreignLockFile, .fileExists, .stopped:
            "\(self)."
        }
    }
}

/// Facts about a path that error messages need.
enum FileFacts {
    static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    static func byteCount(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int ?? 0
    }

    /// The file format version in the header of a Realm Core file: two version bytes at offset 20; the lowest bit of
    /// the flags at offset 23 selects the one in use.
    static func realmCoreVersion(_ path: String) -> UInt8? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let header = try? handle.read(upToCount: 24), header.count == 24 else { return nil }
        let bytes = [UInt8](header)
        return bytes[20 + Int(bytes[23] & 1)]
    }
}
