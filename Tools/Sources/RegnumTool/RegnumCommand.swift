// SPDX-License-Identifier: Apache-2.0
// The command `regnum` and the list of its subcommands.

import ArgumentParser
import Foundation

@main
struct RegnumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "regnum",
        abstract:
            "Looks into Regnum database files, prunes, checks, compacts and salvages them, and imports files of Realm.",
        discussion: """
            Ends with 0 where all went well, 1 where the file cannot be used or nothing was done, 2 where the file is \
            damaged or objects are missing, 3 where diff has found differences, and 64 where the arguments cannot be understood.
            """,
        version: "regnum, not released yet; file format 1",
        subcommands: [
            InfoCommand.self, SchemaCommand.self, QueryCommand.self, ExplainCommand.self, StatsCommand.self,
            PinsCommand.self, WatchCommand.self, DiffCommand.self, EditCommand.self, ShellSubcommand.self,
            StudioCommand.self, DeleteCommand.self,
            CheckCommand.self, CompactCommand.self, SalvageCommand.self,
            DumpCommand.self, LoadCommand.self, ExportCommand.self, ImportCommand.self, ImportRealmCommand.self,
        ])

    static func main() {
        Output.ignoreClosedPipe()
        main(nil)
    }

    func run() throws {
        Output.complain("regnum: name a subcommand.\n\n\(Self.helpMessage())")
        throw ExitCode.validationFailure
    }
}
