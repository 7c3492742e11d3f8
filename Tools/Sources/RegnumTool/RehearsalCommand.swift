// SPDX-License-Identifier: Apache-2.0
// The subcommand `migrate-rehearse`: runs a program on a copy of a file, and reports the effect of its migration.

import ArgumentParser
import Foundation
import RealmSwift

struct MigrateRehearseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate-rehearse",
        abstract: "Runs a program on a copy of a file, and reports the changes and losses of its migration.",
        discussion: """
            regnum migrate-rehearse people.realm -- .build/release/people --migrate {}

            The program is the new version of an app, or a test of it: it opens the copy, which migrates it, and ends. \
            The path of the copy replaces each argument {} and is in the environment variable REGNUM_FILE; an encrypted \
            file has an encrypted copy, with the same key. The file itself is only read. There are two copies, in the \
            folder for temporary files (TMPDIR): one stays as it was, to be compared. Both are removed at the end; those \
            of a killed rehearsal at the start of the next.

            Exits with status 1 if the program fails or changes the encryption of the copy, and with 2 if the copy is \
            then damaged, or if a class, objects or values are lost.
            """)

    @OptionGroup var arguments: FileArguments
    @Option(help: "Keep the copies in this new folder, as before/NAME and after/NAME.", completion: .directory)
    var keep: String?
    @Flag(help: "Exit with status 0 also if classes, objects or values are lost.") var allowLoss = false
    @Flag(help: "Print the report as one JSON object.") var json = false
    @Argument(parsing: .postTerminator, help: "After --, the program and its arguments.") var program: [String]

    func run() throws {
        try reporting(on: arguments) {
            // Throws the library's own error, before anything is created.
            _ = try arguments.version()
            let rehearsed = try RehearsedProgram(program)
            Interruption.watch()
            // Writing the report may end the process: the copies are removed before.
            let (end, report) = try rehearse(rehearsed)
            Output.progress(nil)
            let refusal = refusal(rehearsed, end, report)
            if let refusal { Output.setEnding(ofClosedPipe: refusal.ending.rawValue) }
            if json { report.writeJSON(program, folder: keep) } else { report.write(rehearsed.name, folder: keep) }
            if let refusal { throw refusal }
        }
    }

    private func rehearse(_ program: RehearsedProgram) throws -> (RehearsedProgram.End, RehearsalReport) {
        let copies = try RehearsalCopies(of: arguments, in: keep)
        defer { if keep == nil { copies.remove() } }
        let end = try program.run(on: copies.after.file)
        return (end, try RehearsalReport(copies, end))
    }

    /// Nil if the program has ended with success, and nothing is damaged or lost.
    private func refusal(
        _ program: RehearsedProgram, _ end: RehearsedProgram.End, _ report: RehearsalReport
    ) -> Refusal? {
        if let finding = report.findings.first {
            return Refusal("The copy is damaged, or not a database: \(finding)", ending: Ending.damage)
        }
        if !end.isSuccess { return Refusal("The program '\(program.name)' \(end.text).") }
        if report.losses.isEmpty || allowLoss { return nil }
        return Refusal("The migration loses data. If it is meant to, use --allow-loss.", ending: Ending.damage)
    }
}
