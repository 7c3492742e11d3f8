// SPDX-License-Identifier: Apache-2.0
// The cost of encryption: workloads alternating between a plain and an encrypted file. Reading workloads also run on
// newly opened files: a block is decrypted, or compared with its checksum, when it is first accessed.

import ArgumentParser
import Foundation

struct EncryptionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encryption",
        abstract: "Measures workloads on encrypted files beside plain ones; needs the package trait Encryption.")

    @Option(help: "Rows in the database.")
    var rows = 1_000_000

    @Option(help: "Timed runs of each workload; medians are shown.")
    var runs = 5

    @Option(help: "Folder for the databases, on the disk to be measured.")
    var directory = ".build-bench"

    private static let warm: [Workload] = Workload.all.filter { ["I1", "Q1", "K1", "R1"].contains($0.id) }
    private static let workloads: [Workload] = warm + warm.filter { $0.id != "I1" }.map { justOpened($0) }

    func validate() throws {
        guard rows >= 1_000 else { throw ValidationError("At least 1000 rows are needed.") }
        guard rows <= 1 << 24 else { throw ValidationError("Names are unique up to 16777216 rows.") }
        guard runs >= 1 else { throw ValidationError("--runs must be at least 1.") }
    }

    func run() throws {
        let people = People(count: rows)
        let parent = URL(fileURLWithPath: directory)
        let stages = try [Stage(parent: parent, people: people), Stage(parent: parent, people: people)]
        defer { for stage in stages { stage.removeAll() } }
        let calibrations = try Calibrations(file: stages[0].calibrationFile)
        let plain = makeRunner(people, stages[0], calibrations, key: nil)
        let encrypted = makeRunner(people, stages[1], calibrations, key: Data(repeating: 7, count: 64))
        defer {
            for runner in [plain, encrypted] {
                for engine in runner.engines { try? runner.stage.close(engine) }
            }
        }
        try requireEncrypted(encrypted)
        print("| id | workload | plain | encrypted | ratio |\n|---|---|---|---|---|")
        for workload in Self.workloads { try measure(workload, [plain, encrypted]) }
        for line in calibrations.summary { print(line) }
    }

    /// The workload on a newly opened file; the opening is not counted.
    private static func justOpened(_ workload: Workload) -> Workload {
        Workload(
            id: workload.id, title: workload.title + ", file just opened", unit: workload.unit, fixture: .closed,
            operations: workload.operations, prepare: { run in try run.engine.open(run.path, indexed: false) },
            timed: workload.timed, expected: workload.expected)
    }

    private func makeRunner(_ people: People, _ stage: Stage, _ calibrations: Calibrations, key: Data?) -> Runner {
        let engine = RegnumEngine(inputs: Inputs(people, rows: rows, lookups: min(1_000_000, rows)))
        engine.encryptionKey = key
        return Runner(people: people, engines: [engine], stage: stage, calibrations: calibrations, runs: 1)
    }

    /// Throws if the file can be read without the key: otherwise two plain files would be compared.
    private func requireEncrypted(_ runner: Runner) throws {
        for engine in runner.engines {
            let path = try runner.stage.prepare(.closed, for: engine)
            let stranger = RegnumEngine(inputs: engine.inputs)
            do { try stranger.open(path, indexed: false) } catch { continue }
            throw Failure("the file of the encrypted workloads can be read without its key")
        }
    }

    /// Prints a row. Every run compares its answer first.
    private func measure(_ workload: Workload, _ runners: [Runner]) throws {
        note("\(workload.id) \(workload.title)")
        var figures: [[Double]] = [[], []]
        for round in 0..<runs {
            // Alternating, so that neither always runs second.
            for side in [round % 2, 1 - round % 2] {
                let result = try runners[side].measure(workload)
                if let difference = result.differences.first { throw Failure("\(workload.id): \(difference)") }
                figures[side] += result.figures[.ours] ?? []
            }
        }
        let medians = figures.map { times in times.sorted()[times.count / 2] }
        let cells = [
            workload.id, workload.title, "\(shortened(medians[0])) \(workload.unit.rawValue)",
            "\(shortened(medians[1])) \(workload.unit.rawValue)", shortened(medians[1] / medians[0]),
        ]
        print("| " + cells.joined(separator: " | ") + " |")
    }
}
