// SPDX-License-Identifier: Apache-2.0
// U1, L1, X1 and D1: changing a number of many objects, linking all objects, a new index, deleting many.

extension Workload {
    static let updates: [Workload] = [
        Workload(
            id: "U1", title: "set one Int of a tenth, random, one write", unit: .nanosecondsPerOperation,
            fixture: .copy,
            operations: { $0.inputs.changes.count },
            timed: { try $0.engine.setAges($0.inputs.changes) ? .whole(0) : nil },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { run in
                var ages = run.rows.map(\.age)
                for change in run.inputs.changes { ages[change.row] = change.age }
                return .whole(ages.reduce(0, +))
            }),
        Workload(
            id: "L1", title: "set a link on all, one write", unit: .nanosecondsPerRow, fixture: .copy,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.linkAll($0.inputs.friends) ? .whole(0) : nil },
            inspect: { .whole(try $0.engine.sumOfFriendAges()) },
            expected: { run in .whole(run.inputs.friends.reduce(0) { $0 + run.people.rows[$1].age }) }),
        Workload(
            id: "X1", title: "build an index on name", unit: .nanosecondsPerRow, fixture: .copy,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.indexNames($0.path) ? .whole(0) : nil },
            inspect: { .whole(try $0.engine.countByIndex($0.inputs.names) ?? -1) },
            // Names are unique.
            expected: { .whole($0.inputs.names.count) }),
        Workload(
            id: "D1", title: "delete age < 10, name indexed, one write", unit: .nanosecondsPerOperation,
            fixture: .indexed,
            operations: { run in run.rows.count { $0.age < 10 } },
            timed: { try $0.engine.deleteYoung() ? .whole(0) : nil },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { .whole($0.rows.reduce(0) { $0 + ($1.age < 10 ? 0 : $1.age) }) }),
    ]
}
