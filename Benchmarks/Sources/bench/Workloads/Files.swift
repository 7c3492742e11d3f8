// SPDX-License-Identifier: Apache-2.0
// F1, F2 and O1: the size of the file, its growth, and the time to open it.

extension Workload {
    static let files: [Workload] = [
        Workload(
            id: "F1", title: "file after I1", unit: .bytes, fixture: .closed,
            operations: { _ in 1 },
            timed: { run in
                // GRDB's file is SQLite's.
                if run.engine.name == .grdb { return nil }
                run.figure = Double(run.stage.loadedBytes[run.engine.name] ?? 0)
                return .whole(0)
            },
            expected: { _ in .whole(0) }),
        Workload(
            id: "F2", title: "growth over 100 x (insert, delete 1,000) after the third", unit: .bytes,
            fixture: .copy,
            operations: { _ in 1 },
            timed: { run in
                if run.engine.name == .grdb { return nil }
                var bytes = 0
                for cycle in 0..<run.effort.cycles {
                    try run.engine.insert(run.newRows(1_000)[...])
                    try run.engine.delete(from: run.inputs.rows)
                    if cycle == 2 { bytes = fileBytes(run.path) }
                }
                run.figure = Double(fileBytes(run.path) - bytes)
                return .whole(0)
            },
            inspect: { .whole(try $0.engine.sumAllAges() ?? -1) },
            expected: { .whole($0.rows.reduce(0) { $0 + $1.age }) }),
        Workload(
            id: "O1", title: "open and count", unit: .milliseconds, fixture: .closed,
            operations: { _ in 1 },
            timed: { run in
                // Querying the kernel for the memory takes longer than opening.
                let before = privateMemory()
                var count: Int?
                let elapsed = try nanoseconds { count = try run.engine.openAndCount(run.path) }
                run.privateBytes = privateMemory() - before
                run.figure = elapsed / 1_000_000
                return count.asAnswer
            },
            expected: { .whole($0.inputs.rows) }),
    ]
}
