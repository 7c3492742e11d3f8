// SPDX-License-Identifier: Apache-2.0
// The subcommands that carry objects from one kind of file to another: import-realm, export-json, import-json.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumRealmImport

struct ImportRealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-realm",
        abstract: "Makes a new file of one in Realm's own format (2 to 11, 20 to 24); ends with 2 where values are missing.",
        discussion: """
            All classes and objects, and the schema version. The old file is only read. Nobody may write to it meanwhile. The new \
            file appears when it is whole; import again after an interruption.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file.", completion: .file()) var output: String
    @Option(help: "A file with the key with which the new file is encrypted.") var newKeyFile: String?
    @Option(help: "Write what was imported, and each value that was not, as JSON to this file.") var report: String?
    @Flag(help: "Read the new file back before it appears, and compare each value with the old one.") var verify = false
    @Flag(help: "Show on standard error how far it is.") var progress = false

    func run() throws {
        try reporting(on: arguments) {
            var job = RealmFileImport(from: arguments.url, to: URL(fileURLWithPath: output))
            job.sourceKey = try arguments.key()
            job.targetKey = try FileArguments.key(in: newKeyFile)
            job.verifies = verify
            if progress { job.progress = { Progress.show($0) } }
            let made = try job.run()
            if progress { Progress.end() }
            try finish(made, report)
        }
    }
}

struct ExportJSONCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-json",
        abstract: "Writes the objects of a file, Regnum's or Realm's, as JSON, one a line, to standard output.",
        discussion: """
            The first line has the classes, as `regnum schema --json`. Types that JSON lacks are tagged as in MongoDB's Extended \
            JSON. `regnum import-json` makes a file of the lines.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "Only these classes.") var classNames: [String] = []
    @Flag(help: "Leave the line with the classes out.") var noSchema = false
    @Option(help: "Write to this file, which must not be there, instead.", completion: .file()) var output: String?

    func run() throws {
        try reporting(on: arguments) {
            let names = classNames.isEmpty ? nil : classNames
            let handle = try makeOutput()
            do {
                try ObjectJSON.export(
                    arguments.url, encryptionKey: arguments.key(), classNames: names, withSchema: !noSchema
                ) { try handle.write(contentsOf: $0) }
                if output != nil { try handle.close() }
            } catch {
                // Half of the lines could be taken for all.
                if let output { try? FileManager.default.removeItem(atPath: output) }
                throw error
            }
        }
    }

    private func makeOutput() throws -> FileHandle {
        guard let output else { return .standardOutput }
        if FileManager.default.fileExists(atPath: output) { throw Refusal("There is a file at '\(output)' already.") }
        guard FileManager.default.createFile(atPath: output, contents: nil),
            let handle = FileHandle(forWritingAtPath: output)
        else { throw Refusal("'\(output)' cannot be written.") }
        return handle
    }
}

struct ImportJSONCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-json", abstract: "Makes a new file of the lines that export-json has written.")

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file.", completion: .file()) var output: String
    @Option(help: "A file with the classes, as `regnum schema --json` writes them, if the first line has none.")
    var schema: String?
    @Option(help: "Write what was imported as JSON to this file.") var report: String?

    func run() throws {
        try reporting(on: arguments) {
            var classes: Data?
            if let schema {
                do { classes = try Data(contentsOf: URL(fileURLWithPath: schema)) } catch {
                    throw Refusal("The schema '\(schema)' cannot be read: \(error.localizedDescription)")
                }
            }
            let made = try ObjectJSON.importLines(
                from: arguments.url, to: URL(fileURLWithPath: output), encryptionKey: arguments.key(), schema: classes)
            try finish(made, report)
        }
    }
}

/// Shows the report, writes it, and ends with 2 where something is missing.
private func finish(_ made: RealmFileImportReport, _ report: String?) throws {
    let text = made.description
    if !text.isEmpty { Output().line(text) }
    if let report {
        do { try made.json().write(to: URL(fileURLWithPath: report)) } catch {
            throw Refusal(
                "The file is imported, but the report '\(report)' cannot be written: \(error.localizedDescription)")
        }
    }
    if !made.isComplete { throw Ending.damage }
}

/// A line on standard error that says how far an import is.
private enum Progress {
    static func show(_ progress: RealmFileImportProgress) {
        let words = "\(Int(progress.fraction * 100)) % \(progress.phase.rawValue) \(progress.className ?? "")"
        FileHandle.standardError.write(Data("\r\u{1B}[K\(words)".utf8))
    }

    static func end() { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
}
