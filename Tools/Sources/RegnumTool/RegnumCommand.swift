// SPDX-License-Identifier: Apache-2.0
// The command `regnum` and the list of its subcommands.

import ArgumentParser
import Foundation
import RealmSwift

@main
struct RegnumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "regnum",
        abstract:
            "Inspects, prunes, checks, compacts, backs up and salvages Regnum database files, and imports Realm files.",
        discussion: """
            Exits with status 0 on success, 1 if the file cannot be used or nothing was done, 2 if the file is damaged \
            or objects are missing or would be lost, 3 if diff has found differences, and 64 if the arguments are \
            not valid.
            """,
        version: "regnum \(RegnumVersion.current), file format \(RegnumVersion.fileFormat)",
        subcommands: [
            InfoCommand.self, SchemaCommand.self, QueryCommand.self, ExplainCommand.self, StatsCommand.self,
            PinsCommand.self, WatchCommand.self, DiffCommand.self, MigrateRehearseCommand.self, EditCommand.self,
            ShellSubcommand.self, StudioCommand.self, DeleteCommand.self,
            CheckCommand.self, CompactCommand.self, SalvageCommand.self,
            BackupCommand.self, BackupsCommand.self, RestoreCommand.self, VerifyCommand.self, PruneCommand.self,
            DumpCommand.self, LoadCommand.self, ExportCommand.self, ImportCommand.self, ImportRealmCommand.self,
        ])

    static func main() {
        Output.ignoreClosedPipe()
        main(nil)
    }

    func run() throws {
        Output.complain("regnum: specify a subcommand.\n\n\(Self.helpMessage())")
        throw ExitCode.validationFailure
    }
}
