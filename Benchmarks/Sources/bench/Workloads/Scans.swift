// SPDX-License-Identifier: Apache-2.0
// R1 and R2: iterating all objects and reading one property of each.

extension Workload {
    static let scans: [Workload] = [
        Workload(
            id: "R1", title: "iterate all, read one Int", unit: .nanosecondsPerRow, fixture: .loaded,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.sumAllAges().asAnswer },
            expected: { .whole($0.rows.reduce(0) { $0 + $1.age }) }),
        Workload(
            id: "R2", title: "iterate all, read one String", unit: .nanosecondsPerRow, fixture: .loaded,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.sumAllNameLengths().asAnswer },
            expected: { .whole($0.rows.reduce(0) { $0 + $1.name.utf8.count }) }),
    ]
}
