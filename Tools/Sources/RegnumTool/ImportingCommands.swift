// SPDX-License-Identifier: Apache-2.0
// The subcommand import-realm, and the end of all imports of whole files.

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
                if shows { Output.progress($0.words) }
            }
            let made = try job.run()
            if progress { Output.progress(nil) }
            try finish(made, report)
        }
    }
}

/// Prints the report, writes it to the file at path `report` if there is one, and exits with status 2 if a value is
/// missing.
func finish(_ made: RealmFileImportReport, _ report: String?) throws {
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

extension RealmFileImportProgress {
    /// For a line on standard error.
    var words: String { "\(Int(fraction * 100)) % \(phase.rawValue) \(className ?? "")" }
}
