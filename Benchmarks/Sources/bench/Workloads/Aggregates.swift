// SPDX-License-Identifier: Apache-2.0
// A1 and A2: a sum and an average over all rows.

extension Workload {
    static let aggregates: [Workload] = [
        Workload(
            id: "A1", title: "sum(score)", unit: .nanosecondsPerRow, fixture: .loaded,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.sumOfScores().asAnswer },
            expected: { .fraction($0.rows.reduce(0) { $0 + $1.score }) }),
        Workload(
            id: "A2", title: "average(age)", unit: .nanosecondsPerRow, fixture: .loaded,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.averageAge().asAnswer },
            expected: { run in .fraction(Double(run.rows.reduce(0) { $0 + $1.age }) / Double(run.inputs.rows))
            }),
    ]
}
