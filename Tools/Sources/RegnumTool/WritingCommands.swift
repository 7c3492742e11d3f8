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
            Asks before it does, unless --yes is given. At the end of input, where nobody can answer, nothing is \
            deleted. Objects embedded in them go too; links to them become null. The file does not get shorter before \
            `regnum compact`.
            """)

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The class, as it is named in the file.") var className: String
    @Argument(help: "As in `filter(_:)`; TRUEPREDICATE for all objects.") var predicate: String
    @Flag(help: "Do not ask for confirmation.") var yes = false

    func run() throws {
        try reporting(on: arguments) {
            let inspector = try arguments.writingInspector()
            if !yes {
                let count = try inspector.count(className, where: predicate)
                Output().write("Delete \(count) of class \(className) in '\(arguments.file)'? [y/N] ")
                Output.flush()
                guard let answer = readLine()?.lowercased() else {
                    throw Refusal(
                        "Nothing was deleted: there was no answer. Use --yes to delete without confirmation.")
                }
                guard answer == "y" || answer == "yes" else { throw Refusal("Nothing was deleted.") }
            }
            Output().line("deleted \(try inspector.delete(className, where: predicate))")
        }
    }
}

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Shortens a file to the size of its contents. No process may have it open.")

    @OptionGroup var arguments: FileArguments

    func run() throws {
        try reporting(on: arguments) {
            if arguments.readOnly { throw Refusal("A file cannot be compacted with --read-only.") }
            _ = try arguments.version()
            let before = try size()
            guard try Realm.compactFile(for: arguments.configuration()) else {
                throw Refusal("'\(arguments.file)' is open in another process: nothing was done.")
            }
            Output().line("\(before) bytes before, \(try size()) now")
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
            "Writes all that can be read of a damaged file into a new one; exits with status 2 if anything is missing.")

    @OptionGroup var arguments: FileArguments
    @Argument(help: "The new file; encrypted with the same key.", completion: .file()) var output: String

    func run() throws {
        try reporting(on: arguments, advice: "Nothing can be saved: restore it from a backup.") {
            let key = try arguments.key()
            let inspector = try Inspector(fileURL: arguments.url, isReadOnly: true, encryptionKey: key)
            let report = try NewDatabase(output, encryptionKey: key).make {
                try inspector.salvage(to: $0.path, encryptionKey: key)
            }
            for table in report.tables {
                let ownerless = table.ownerless > 0 ? ", \(table.ownerless) more without their owners" : ""
                Output().line("\(table.name): \(table.objects) of \(table.expected) objects\(ownerless)")
            }
            for loss in report.losses { Output().line("lost: \(loss)") }
            if report.lossCount > report.losses.count { Output().line("\(report.lossCount) losses in all") }
            if !report.isComplete { throw Ending.damage }
        }
    }
}
