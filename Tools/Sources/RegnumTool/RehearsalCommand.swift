// SPDX-License-Identifier: Apache-2.0
// The subcommand `migrate-rehearse`: runs a program on a copy of a file, and reports the effect of its migration.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect

struct MigrateRehearseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate-rehearse",
        abstract: "Runs a program on a copy of a file, and reports the changes and losses of its migration.",
        discussion: """
            regnum migrate-rehearse people.realm -- .build/release/people --migrate {}

            The program is the new version of an app, or a test of it: it opens the copy, which migrates it, and ends. \
            The path of the copy replaces each argument {} and is in the environment variable REGNUM_FILE; an encrypted \
            file has an encrypted copy, with the same key. The file itself is only read. There are two copies, in the \
            folder for temporary files (TMPDIR): one stays as it was, to be compared. Both are removed at the end.

            Exits with status 1 if the program fails, and with 2 if the copy is then damaged, or if a class, objects or \
            values are lost.
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
            let copies = try RehearsalCopies(of: arguments, in: keep)
            defer { if keep == nil { copies.remove() } }
            let end = try rehearsed.run(on: copies.after.file)
            let report = try RehearsalReport(copies, end)
            Output.progress(nil)
            if json { report.writeJSON(program, folder: keep) } else { report.write(rehearsed.name, folder: keep) }
            if let finding = report.findings.first {
                throw Refusal("The copy is damaged, or not a database: \(finding)", ending: Ending.damage)
            }
            if !end.isSuccess { throw Refusal("The program '\(rehearsed.name)' \(end.text).") }
            if !report.losses.isEmpty, !allowLoss {
                throw Refusal("The migration loses data. If it is meant to, use --allow-loss.", ending: Ending.damage)
            }
        }
    }
}

/// Two copies of a file, with its key, in a folder that only this user can read.
struct RehearsalCopies {
    /// The copy that stays as it is.
    let before: FileArguments
    /// The copy for the program.
    let after: FileArguments
    private let folder: URL

    /// Makes the copies of the newest version, in a new folder at `kept` or, without it, in the one for temporary files.
    init(of arguments: FileArguments, in kept: String?) throws {
        let temporary = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-\(UUID().uuidString)")
        folder = kept.map { URL(fileURLWithPath: $0) } ?? temporary
        if let kept, FileKind(kept) != nil { throw Refusal("'\(kept)': File exists. Name a new folder.") }
        func copy(_ name: String) throws -> FileArguments {
            let place = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            var copy = arguments
            copy.file = place.appendingPathComponent(arguments.url.lastPathComponent).path
            return copy
        }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch { throw Refusal("'\(folder.path)' cannot be made: \(error.localizedDescription)") }
        do {
            before = try copy("before")
            after = try copy("after")
            try Realm.backup(try arguments.configuration(), to: before.url) { progress in
                try Interruption.check()
                Output.progress("\(progress.copiedByteCount) of \(progress.byteCount) bytes copied")
            }
            try FileManager.default.copyItem(at: before.url, to: after.url)
            // The file itself may be protected.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: after.file)
            Output.progress(nil)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}
