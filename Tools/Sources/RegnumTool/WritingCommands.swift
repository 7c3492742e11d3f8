// SPDX-License-Identifier: Apache-2.0
// The subcommands that write: delete, compact, salvage.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumInspect

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes the objects of a class for which a predicate holds.",
        discussion: """
            regnum delete people.realm Person "age > 120"

            Asks before it does, unless --yes is given. At the end of input, where nobody can answer, nothing is \
            deleted. Objects embedded in them go too; links to them become null. The file does not get shorter before \
            `regnum compact`.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As in `filter(_:)`; TRUEPREDICATE for all objects.") var predicate: String
    @Flag(help: "Do not ask for confirmation.") var yes = false
    @Flag(help: "Print the result as one JSON object; needs --yes.") var json = false

    func validate() throws {
        if json, !yes { throw ValidationError("--json needs --yes: a question would be mixed with the JSON.") }
    }

    func run() throws {
        try reporting(on: arguments) {
            let inspector = try arguments.writingInspector()
            if !yes {
                let count = try inspector.count(className, where: predicate)
                let text = "Delete \(count) of class \(className) in '\(arguments.file)'? [y/N] "
                Output().write(TerminalText.shown(text))
                Output.flush()
                guard let answer = readLine()?.lowercased() else {
                    throw Refusal(
                        "Nothing was deleted: there was no answer. Use --yes to delete without confirmation.")
                }
                guard answer == "y" || answer == "yes" else { throw Refusal("Nothing was deleted.") }
            }
            let count = try WriterWait.noticing(arguments) { try inspector.delete(className, where: predicate) }
            if json { return Output().write(JSONLine.text([("deleted", .number(count))])) }
            Output().line("deleted \(count)")
        }
    }
}

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Shortens a file to the size of its contents. No process may have it open.",
        discussion: """
            regnum compact people.realm

            Exits with status 1 if a process has it open.
            """)

    @OptionGroup var arguments: FileArguments
    @Flag(help: "Print the result as one JSON object.") var json = false

    func run() throws {
        try reporting(on: arguments) {
            if arguments.readOnly { throw Refusal("A file cannot be compacted with --read-only.") }
            _ = try arguments.version()
            let before = try size()
            guard try Realm.compactFile(for: arguments.configuration()) else {
                throw Refusal("'\(arguments.file)' is open in another process: nothing was done.")
            }
            let after = try size()
            if json { return Output().write(JSONLine.text([("before", .number(before)), ("after", .number(after))])) }
            Output().line("\(before) bytes before, \(after) now")
        }
    }

    private func size() throws -> Int {
        try FileManager.default.attributesOfItem(atPath: arguments.file)[.size] as? Int ?? 0
    }
}

struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract:
            "Writes all that can be read of a damaged file into a new one; exits with status 2 if anything is missing.",
        discussion: """
            regnum salvage damaged.realm rescued.realm

            Names what was lost, with the damaged blocks as `regnum check` names them. The damaged file is not changed.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file; encrypted with the same key.", completion: .file()) var output: String
    @Flag(help: "Print the report as one JSON object.") var json = false

    func run() throws {
        try reporting(on: arguments, advice: "Nothing can be saved: restore it from a backup.") {
            let key = try arguments.key()
            let inspector = try Inspector(fileURL: arguments.url, isReadOnly: true, encryptionKey: key)
            let report = try NewDatabase(output, encryptionKey: key).make {
                try inspector.salvage(to: $0.path, encryptionKey: key)
            }
            write(report)
            if !report.isComplete { throw Ending.damage }
        }
    }

    private func write(_ report: SalvageReport) {
        if json {
            let classes = report.tables.map { table in
                JSONLine.object([
                    ("name", .string(table.name)), ("objects", .number(table.objects)),
                    ("expected", .number(table.expected)), ("ownerless", .number(table.ownerless)),
                ])
            }
            return Output().write(
                JSONLine.text([
                    ("isComplete", .bool(report.isComplete)), ("classes", .array(classes)),
                    ("losses", .array(report.losses.map { .string($0) })), ("lossCount", .number(report.lossCount)),
                ]))
        }
        for table in report.tables {
            let ownerless = table.ownerless > 0 ? ", \(table.ownerless) more without their owners" : ""
            Output().line(
                TerminalText.shown("\(table.name): \(table.objects) of \(table.expected) objects\(ownerless)"))
        }
        for loss in report.losses { Output().line(TerminalText.shown("lost: \(loss)")) }
        if report.lossCount > report.losses.count { Output().line("\(report.lossCount) losses in all") }
    }
}
