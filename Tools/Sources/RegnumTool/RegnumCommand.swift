// SPDX-License-Identifier: Apache-2.0
// The command `regnum`, and the parts that its subcommands share: the file, the key, and standard output.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect

@main
struct RegnumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "regnum",
        abstract:
            "Looks into Regnum database files, prunes, checks, compacts and salvages them, and imports files of Realm.",
        discussion: """
            Ends with 0 where all went well, 1 where the file cannot be used or nothing was done, 2 where the file is \
            damaged or objects are missing, and 64 where the arguments cannot be understood.
            """,
        version: "regnum, not released yet; file format 1",
        subcommands: [
            InfoCommand.self, SchemaCommand.self, QueryCommand.self, DeleteCommand.self, CheckCommand.self,
            CompactCommand.self, SalvageCommand.self,
            ImportRealmCommand.self, ExportJSONCommand.self, ImportJSONCommand.self,
        ])

    func run() throws {
        FileHandle.standardError.write(Data("regnum: name a subcommand.\n\n\(Self.helpMessage())\n".utf8))
        throw ExitCode.validationFailure
    }
}

/// The file that a subcommand works on.
struct FileArguments: ParsableArguments {
    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Option(name: .long, help: "A file with the 64 bytes of the encryption key, as they are or as 128 hex digits.")
    var keyFile: String?

    @Flag(
        name: .long,
        help:
            "Write nothing, not even a lock file beside it: for damaged files. Others may write meanwhile.")
    var readOnly = false

    var url: URL { URL(fileURLWithPath: file) }

    func key() throws -> Data? { try Self.key(in: keyFile) }

    /// The key in a file; nil without a file.
    static func key(in keyFile: String?) throws -> Data? {
        guard let keyFile else { return nil }
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: keyFile)) } catch {
            throw Refusal("The key file '\(keyFile)' cannot be read: \(error.localizedDescription)")
        }
        if bytes.count == 64 { return bytes }
        let digits = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        let key = stride(from: 0, to: digits.count - digits.count % 2, by: 2).compactMap { place -> UInt8? in
            let start = digits.index(digits.startIndex, offsetBy: place)
            return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
        }
        guard digits.count == 128, key.count == 64 else {
            throw Refusal(
                "The key file '\(keyFile)' has \(bytes.count) bytes: a key is 64 bytes, or 128 hexadecimal digits.")
        }
        return Data(key)
    }

    /// The schema version of the file; nil if it was never opened with classes. Throws the errors of opening the file.
    func version() throws -> UInt64? {
        do { return try schemaVersionAtURL(url, encryptionKey: try key()) } catch let error as Realm.Error {
            if error.reason == .neverVersioned { return nil }
            throw error
        }
    }

    /// Opens the file as any other process would, or read-only if it may not be written.
    func inspector(readOnly: Bool = false) throws -> Inspector {
        // Throws the library's own error, before anything is created beside the file.
        _ = try version()
        let folder = url.deletingLastPathComponent().path
        let isProtected = [file, folder].contains { !FileManager.default.isWritableFile(atPath: $0) }
        return try Inspector(
            fileURL: url, isReadOnly: readOnly || self.readOnly || isProtected, encryptionKey: try key())
    }

    func configuration() throws -> Realm.Configuration {
        Realm.Configuration(fileURL: url, encryptionKey: try key(), objectTypes: [])
    }
}

/// Standard output, to which results are written.
struct Output: TextOutputStream {
    func write(_ string: String) { FileHandle.standardOutput.write(Data(string.utf8)) }
    func line(_ string: String) { write(string + "\n") }
}
