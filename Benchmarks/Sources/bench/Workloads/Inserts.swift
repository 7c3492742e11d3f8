// SPDX-License-Identifier: Apache-2.0
// I1 to I3: inserting all rows in one write, and single rows in a write each, durable and in memory.

extension Workload {
    static let inserts: [Workload] = [
        Workload(
            id: "I1", title: "insert all, one durable write", unit: .nanosecondsPerRow, fixture: .empty,
            operations: { $0.inputs.rows },
            timed: { run in
                try run.engine.insert(run.rows)
                return .whole(0)
            },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { .whole($0.rows.reduce(0) { $0 + $1.age }) }),
        singleInserts("I2", "one insert per durable write", fragmented: false),
        singleInserts("I2F", "I2 on a fragmented file, after U1 and D1", fragmented: true),
        Workload(
            id: "G16", title: "one insert per durable write, 16 threads", unit: .nanosecondsPerOperation,
            fixture: .copy,
            operations: { $0.effort.singleWrites },
            timed: { run in
                guard run.engine.name != .grdb else { return nil }
                try run.engine.insertFromThreads(16, run.newRows(run.effort.singleWrites), run.path)
                return .whole(0)
            },
            inspect: { run in
                _ = try run.engine.refresh(times: 1)
                return .whole(try run.engine.sumAllAges() ?? -1)
            },
            expected: { run in
                .whole((run.rows + run.newRows(run.effort.singleWrites)).reduce(0) { $0 + $1.age })
            }),
        Workload(
            id: "G16P", title: "G16 by 32 tasks of a pool", unit: .nanosecondsPerOperation, fixture: .copy,
            operations: { $0.effort.singleWrites },
            timed: { run in
                guard let engine = run.engine as? RegnumEngine else { return nil }
                try engine.insertFromTasks(32, run.newRows(run.effort.singleWrites), run.path)
                return .whole(0)
            },
            inspect: { run in
                _ = try run.engine.refresh(times: 1)
                return .whole(try run.engine.sumAllAges() ?? -1)
            },
            expected: { run in
                .whole((run.rows + run.newRows(run.effort.singleWrites)).reduce(0) { $0 + $1.age })
            }),
        Workload(
            id: "I3", title: "one insert per write, in memory, all rows there",
            unit: .nanosecondsPerOperation,
            fixture: .memory,
            operations: { $0.effort.memoryWrites },
            prepare: { run in
                // Deletes the rows of the previous run, so that the ids are free again.
                if run.engine.name == .ours { try run.engine.delete(from: run.inputs.rows) }
            },
            timed: { run in
                guard run.engine.name == .ours else { return nil }
                try run.engine.insertOneByOne(run.newRows(run.effort.memoryWrites))
                return .whole(0)
            },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { run in
                .whole((run.rows + run.newRows(run.effort.memoryWrites)).reduce(0) { $0 + $1.age })
            }),
    ]

    private static func singleInserts(_ id: String, _ title: String, fragmented: Bool) -> Workload {
        Workload(
            id: id, title: title, unit: .nanosecondsPerOperation, fixture: .copy,
            operations: { $0.effort.singleWrites },
            prepare: { run in
                guard fragmented, run.engine.name != .grdb else { return }
                _ = try run.engine.setAges(run.inputs.changes)
                _ = try run.engine.deleteYoung()
            },
            timed: { run in
                if fragmented && run.engine.name == .grdb { return nil }
                try run.engine.insertOneByOne(run.newRows(run.effort.singleWrites))
                return .whole(0)
            },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { run in
                var ages = run.rows.map(\.age)
                if fragmented {
                    for change in run.inputs.changes { ages[change.row] = change.age }
                    ages.removeAll { $0 < 10 }
                }
                ages += run.newRows(run.effort.singleWrites).map(\.age)
                return .whole(ages.reduce(0, +))
            })
    }
}
