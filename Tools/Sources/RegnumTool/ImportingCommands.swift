// SPDX-License-Identifier: Apache-2.0
// The subcommands that convert files from one format to another: import-realm, export-json, import-json.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumRealmImport

struct ImportRealmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-realm",
        abstract: "Imports a file in Realm's own format (2 to 11, 20 to 24). Ends with 2 if values are missing.",
        discussion: """
            All classes and objects, and the schema version. The old file is only read. No program may write to it \
            during the import. The new file appears when it is complete; import again after an interruption.
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
            Interruption.watch()
            let shows = progress
            job.progress = {
                try Interruption.check()
                if shows { Progress.show($0) }
            }
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
            The first line has the classes, as `regnum schema --json`, and the number of objects, by which \
            `regnum import-json` notices that lines are missing. Types that JSON lacks are tagged as in MongoDB's \
            Extended JSON. Values that cannot be written unchanged are listed on standard error; the command then \
            ends with 2.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "Only these classes.") var classNames: [String] = []
    @Flag(help: "Omit the line with the classes. Missing lines are not noticed then.") var noSchema = false
    @Option(
        help: "Write to this new file instead, which appears when it is complete.", completion: .file())
    var output: String?

    func run() throws {
        try reporting(on: arguments) {
            let names = classNames.isEmpty ? nil : classNames
            let made: ObjectJSONReport
            if let output {
                Interruption.watch()
                made = try ObjectJSON.export(
                    arguments.url, to: URL(fileURLWithPath: output), encryptionKey: arguments.key(),
                    classNames: names, withSchema: !noSchema, progress: { _ in try Interruption.check() })
            } else {
                let handle = FileHandle.standardOutput
                made = try ObjectJSON.export(
                    arguments.url, encryptionKey: arguments.key(), classNames: names, withSchema: !noSchema
                ) { try handle.write(contentsOf: $0) }
            }
            if made.isComplete { return }
            FileHandle.standardError.write(Data("\(made.description)\n".utf8))
            throw Ending.damage
        }
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
            Interruption.watch()
            let made = try ObjectJSON.importLines(
                from: arguments.url, to: URL(fileURLWithPath: output), encryptionKey: arguments.key(), schema: classes
            ) { _ in try Interruption.check() }
            try finish(made, report)
        }
    }
}

/// Prints the report, writes it to the file at path `report` if there is one, and exits with status 2 if a value is
/// missing.
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

/// A line on standard error that shows the progress of an import.
private enum Progress {
    static func show(_ progress: RealmFileImportProgress) {
        let words = "\(Int(progress.fraction * 100)) % \(progress.phase.rawValue) \(progress.className ?? "")"
        FileHandle.standardError.write(Data("\r\u{1B}[K\(words)".utf8))
    }

    static func end() { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
}
