// SPDX-License-Identifier: Apache-2.0
// The arguments that the subcommands share: the database file, and the source of its encryption key.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect

/// The source of a key. A key is never an argument: other users could read it in the list of processes.
enum KeySource {
    static let fileVariable = "REGNUM_KEY_FILE"
    static let keyVariable = "REGNUM_KEY"

    case option(String)
    case fileInEnvironment(String)
    case environment(String)

    /// The source to use: --key-file takes precedence over the environment.
    static func find(_ keyFile: String?) -> KeySource? {
        if let keyFile { return .option(keyFile) }
        let environment = ProcessInfo.processInfo.environment
        if let path = environment[fileVariable], !path.isEmpty { return .fileInEnvironment(path) }
        if let digits = environment[keyVariable], !digits.isEmpty { return .environment(digits) }
        return nil
    }

    /// The name of the source in messages.
    var name: String {
        switch self {
        case .option(let path), .fileInEnvironment(let path): "'\(path)'"
        case .environment: "the environment variable \(Self.keyVariable)"
        }
    }

    /// The advice for a file that must not have a key.
    var removal: String {
        switch self {
        case .option: "omit --key-file"
        case .fileInEnvironment: "unset the environment variable \(Self.fileVariable)"
        case .environment: "unset the environment variable \(Self.keyVariable)"
        }
    }

    func key() throws -> Data {
        switch self {
        case .option(let path), .fileInEnvironment(let path):
            let bytes: Data
            do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
                throw Refusal("The key file '\(path)' cannot be read: \(error.localizedDescription)")
            }
            if bytes.count == 64 { return bytes }
            guard let key = Self.key(String(decoding: bytes, as: UTF8.self)) else {
                throw Refusal(
                    "The key file '\(path)' has \(bytes.count) bytes: a key is 64 bytes, or 128 hexadecimal digits.")
            }
            return key
        case .environment(let digits):
            guard let key = Self.key(digits) else {
                throw Refusal("The environment variable \(Self.keyVariable) needs the 128 hexadecimal digits of a key.")
            }
            return key
        }
    }

    private static func key(_ text: String) -> Data? {
        let digits = Array(text.utf8.filter { $0 > 0x20 })
        guard digits.count == 128 else { return nil }
        var key = Data()
        for place in stride(from: 0, to: 128, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            key.append(byte)
        }
        return key
    }
}

/// The file that a subcommand works on.
struct FileArguments: ParsableArguments {
    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Option(
        name: .long,
        help: """
            A file with the 64 bytes of the encryption key, as they are or as 128 hex digits. Without it the \
            environment variable REGNUM_KEY_FILE names the file, or REGNUM_KEY has the digits.
            """)
    var keyFile: String?

    @Flag(
        name: .long,
        help: "Write nothing, not even a lock file beside it. The default of all that only looks.")
    var readOnly = false

    var url: URL { URL(fileURLWithPath: file) }

    var keySource: KeySource? { KeySource.find(keyFile) }

    func key() throws -> Data? { try keySource?.key() }

    /// The key in a file; nil without a file.
    static func key(in keyFile: String?) throws -> Data? { try keyFile.map { try KeySource.option($0).key() } }

    /// The schema version of the file; nil if it was never opened with classes. Throws the errors of opening the file.
    func version() throws -> UInt64? { try version(withKey: try key()) }

    private func version(withKey key: Data?) throws -> UInt64? {
        do { return try schemaVersionAtURL(url, encryptionKey: key) } catch let error as Realm.Error {
            if error.reason == .neverVersioned { return nil }
            throw error
        }
    }

    /// Opens the file for reading: writes nothing, and needs no permission to write. Other processes may write in the
    /// meantime; the version that was opened stays readable.
    func readingInspector() throws -> Inspector { try readingInspector(withKey: try key()) }

    /// The same with another key; nil for none.
    func readingInspector(withKey key: Data?) throws -> Inspector {
        // Throws the library's own error, even for damage that an inspector tolerates.
        _ = try version(withKey: key)
        return try Inspector(fileURL: url, isReadOnly: true, encryptionKey: key)
    }

    /// Opens the file for writing, as any other process would.
    func writingInspector() throws -> Inspector {
        if readOnly { throw Refusal("'\(file)' is open read-only: omit --read-only to change it.") }
        // Throws the library's own error, before anything is created beside the file.
        _ = try version()
        return try Inspector(fileURL: url, encryptionKey: try key())
    }

    func configuration() throws -> Realm.Configuration {
        Realm.Configuration(fileURL: url, encryptionKey: try key(), objectTypes: [])
    }
}
