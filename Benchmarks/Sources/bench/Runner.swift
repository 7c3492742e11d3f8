// SPDX-License-Identifier: Apache-2.0
// Runs workloads: first one untimed round that must return equal answers, then the timed rounds, alternating the
// engines, with the calibrations between them.

/// The results of a workload.
struct Result {
    let workload: Workload
    /// Measurements in the workload's unit, one of each run.
    var figures: [EngineName: [Double]] = [:]
    /// The most private memory that Regnum has added.
    var privateBytes: Int?
    /// Differences from the correct answer.
    var differences: [String] = []

    func median(_ engine: EngineName) -> Double? {
        guard let sorted = figures[engine]?.sorted(), !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// Our time divided by SQLite's; nil if one of them was not measured or SQLite's is zero.
    var ratioToSQLite: Double? {
        guard let ours = median(.ours), let sqlite = median(.sqlite), sqlite > 0 else { return nil }
        return ours / sqlite
    }
}

struct Runner {
    let people: People
    let engines: [any Engine]
    let stage: Stage
    let calibrations: Calibrations
    let runs: Int

    /// One quick round of the workload with every engine: do their answers agree with the reference?
    func compare(_ workload: Workload) throws -> Result {
        var result = Result(workload: workload)
        for engine in engines {
            _ = try runOnce(workload, engine, Effort(isQuick: true), &result)
        }
        return result
    }

    /// The whole measurement. Differing answers end it before any time counts.
    func measure(_ workload: Workload) throws -> Result {
        var result = try compare(workload)
        for round in 0..<runs where result.differences.isEmpty {
            calibrations.measure()
            for turn in engines.indices {
                let engine = engines[(turn + round) % engines.count]
                if let figure = try runOnce(workload, engine, Effort(isQuick: false), &result) {
                    result.figures[engine.name, default: []].append(figure)
                }
            }
        }
        return result
    }

    /// The measurement of one run; nil if the engine does not support the workload or its answer is wrong.
    private func runOnce(
        _ workload: Workload, _ engine: any Engine, _ effort: Effort, _ result: inout Result
    ) throws -> Double? {
        let path = try stage.prepare(workload.fixture, for: engine)
        var run = Run(engine: engine, people: people, path: path, effort: effort, stage: stage)
        defer { try? stage.finish(workload.fixture, of: engine) }
        try workload.prepare(&run)
        var answer: Answer?
        let elapsed = try nanoseconds { answer = try workload.timed(&run) }
        guard answer != nil else { return nil }
        if let inspect = workload.inspect { answer = try inspect(&run) }
        if let answer, let expected = workload.expected(run), !answer.agrees(with: expected) {
            result.differences.append("\(engine.name.rawValue) answers \(answer), right is \(expected)")
            return nil
        }
        if engine.name == .ours, let bytes = run.privateBytes {
            result.privateBytes = max(result.privateBytes ?? 0, bytes)
        }
        if let figure = run.figure { return figure }
        let scale = workload.unit == .milliseconds ? 1_000_000 : Double(max(1, workload.operations(run)))
        return elapsed / scale
    }
}
