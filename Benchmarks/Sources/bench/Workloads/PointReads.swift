// SPDX-License-Identifier: Apache-2.0
// K1, R3 and C1: one object by its key, one number of one object, a refresh that finds nothing new.

extension Workload {
    static let pointReads: [Workload] = [
        Workload(
            id: "K1", title: "object by primary key, one Int", unit: .nanosecondsPerOperation,
            fixture: .loaded,
            operations: { $0.inputs.lookups.count },
            timed: { try $0.engine.sumAges(of: $0.inputs.lookups).asAnswer },
            expected: { run in .whole(run.inputs.lookups.reduce(0) { $0 + run.people.rows[$1].age }) }),
        Workload(
            id: "R3", title: "one Int of one live object", unit: .nanosecondsPerOperation, fixture: .loaded,
            operations: { $0.effort.reads },
            timed: { try $0.engine.readOneObject(times: $0.effort.reads).asAnswer },
            expected: { run in .whole(run.people.rows[run.inputs.rows / 2].age) }),
        Workload(
            id: "C1", title: "refresh that finds nothing new", unit: .nanosecondsPerOperation,
            fixture: .loaded,
            operations: { $0.effort.refreshes },
            timed: { try $0.engine.refresh(times: $0.effort.refreshes) ? .whole(0) : nil },
            expected: { _ in .whole(0) }),
    ]
}
