// SPDX-License-Identifier: Apache-2.0
// The command line: the workloads, the number of rows and runs, and the exit code.

import ArgumentParser
import Foundation

@main
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures Regnum beside SQLite and GRDB in one process.",
        subcommands: [
            SearchesCommand.self, ReadsCommand.self, ObserversCommand.self, TasksCommand.self,
            OpeningCommand.self, EncryptionCommand.self, MigrationsCommand.self, HotCommand.self, SnapshotsCommand.self,
            OldFilesCommand.self, BackupsCommand.self,
        ])

    @Option(help: "Rows in the database.")
    var rows = 1_000_000

    @Option(help: "Rows for GRDB, whose figures are per row, at most as many as the others have.")
    var grdbRows = 200_000

    @Option(help: "Only these workloads: Q1,Q2")
    var only: String?

    @Option(help: "Timed runs of each workload; medians of at least 5 are fit to be compared.")
    var runs = 5

    @Option(help: "Folder for the databases, on the disk to be measured.")
    var directory = ".build-bench"

    @Flag(help: "One JSON object a line for each workload.")
    var json = false

    @Flag(help: "Fail if a target is missed.")
    var check = false

    @Flag(help: "Fail if a workload is slower than with SQLite.")
    var checkNotSlower = false

    @Flag(help: "Compare the answers of the engines and measure nothing.")
    var checkEqualityOnly = false

    @Option(help: "With --check-equality-only: random queries asked of Regnum and of SQLite.")
    var queries = 4_000

    @Option(help: "Decides the rows and the random queries; 0 takes another one each time.")
    var seed: UInt64 = 1

    @Flag(help: "Only the random queries.")
    var queriesOnly = false

    func validate() throws {
        guard rows >= 1_000, grdbRows >= 1_000 else {
            throw ValidationError("At least 1000 rows are needed.")
        }
        guard rows <= 1 << 24 else { throw ValidationError("Names are unique up to 16777216 rows.") }
        guard runs >= 1 else { throw ValidationError("--runs must be at least 1.") }
    }

    func run() throws {
        if queriesOnly { return try compareQueries() }
        let workloads = try selected()
        #if DEBUG
            note("This is a debug build: its times mean nothing. Build with -c release.")
        #endif
        let people = People(count: rows)
        let stage = try Stage(parent: URL(fileURLWithPath: directory), people: people)
        defer { stage.removeAll() }
        let calibrations = try Calibrations(file: stage.calibrationFile)
        let runner = Runner(
            people: people, engines: makeEngines(people), stage: stage, calibrations: calibrations, runs: runs
        )
        defer { for engine in runner.engines { try? stage.close(engine) } }

        var failed = false
        if !json && !checkEqualityOnly { print(Verdict.heading) }
        for workload in workloads {
            failed = try runOne(workload, runner) || failed
        }
        if !checkEqualityOnly {
            for line in calibrations.summary { json ? note(line) : print(line) }
        }
        if failed { throw ExitCode.failure }
        if checkEqualityOnly, only == nil { try compareQueries() }
    }

    /// Runs random queries on Regnum and on SQLite; fails if the answers differ.
    private func compareQueries() throws {
        let seed = seed == 0 ? UInt64.random(in: 1 ... .max) : seed
        let differential = Differential(seed: seed, cases: queries)
        print(
            "queries: \(differential.count) of seed \(seed), again with --queries-only --queries \(queries) --seed \(seed)"
        )
        let differences = try differential.differences()
        for difference in differences { print(difference) }
        if !differences.isEmpty { throw ExitCode.failure }
        print("queries equal")
    }

    /// Whether the workload makes the command fail.
    private func runOne(_ workload: Workload, _ runner: Runner) throws -> Bool {
        if checkEqualityOnly {
            let result = try runner.compare(workload)
            print(
                workload.id, result.differences.isEmpty ? "equal" : result.differences.joined(separator: "; ")
            )
            return !result.differences.isEmpty
        }
        note("\(workload.id) \(workload.title)")
        let verdict = Verdict(try runner.measure(workload), runner.calibrations)
        print(json ? verdict.json(runner.calibrations) : verdict.row(runner.calibrations))
        return !verdict.result.differences.isEmpty
            || (check && !verdict.missed.isEmpty) || (checkNotSlower && verdict.isSlowerThanSQLite)
    }

    private func selected() throws -> [Workload] {
        guard let only else { return Workload.all }
        return try only.split(separator: ",").map { id in
            if let workload = Workload.all.first(where: { $0.id == id.uppercased() }) { return workload }
            let known = Workload.all.map(\.id).joined(separator: " ")
            throw ValidationError("There is no workload \(id); there are: \(known).")
        }
    }

    private func makeEngines(_ people: People) -> [any Engine] {
        let few = min(rows, grdbRows)
        return [
            RegnumEngine(inputs: Inputs(people, rows: rows, lookups: min(1_000_000, rows))),
            SQLiteEngine(inputs: Inputs(people, rows: rows, lookups: min(1_000_000, rows))),
            GRDBEngine(inputs: Inputs(people, rows: few, lookups: min(20_000, few))),
        ]
    }
}
