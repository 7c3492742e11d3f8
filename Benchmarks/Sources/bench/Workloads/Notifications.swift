// SPDX-License-Identifier: Apache-2.0
// N1 and NT: the time to notify observers of a commit. Only Regnum has observers.

extension Workload {
    static let notifications: [Workload] = [
        changeSets("N1", "change set of a commit, all objects", .plain),
        changeSets("N1F", "change set of a commit, filtered", .filtered),
        changeSets("N1S", "change set of a commit, sorted by two keys", .sorted),
        changeSets("N1T", "change sets of a commit, ten observers of the filter", .tenFiltered),
        roundTrip("NT1", 1),
        roundTrip("NT2", 100),
        roundTrip("NT4", 10_000),
    ]

    /// From the refresh that finds the commit to the end of the last block.
    private static func changeSets(_ id: String, _ title: String, _ observed: Observed) -> Workload {
        Workload(
            id: id, title: title, unit: .nanosecondsPerOperation, fixture: .copy, operations: { _ in 1 },
            timed: { run in
                guard let engine = run.engine as? RegnumEngine else { return nil }
                let told = try engine.changeSets(of: observed, commits: run.effort.notifications)
                run.figure = told.nanoseconds
                return .whole(told.calls)
            },
            expected: { .whole($0.effort.notifications * observed.observers) })
    }

    /// From before a write in memory to the end of the last observer's block on another thread.
    private static func roundTrip(_ id: String, _ observers: Int) -> Workload {
        Workload(
            id: id, title: "commit to last of \(observers) observers, in memory", unit: .nanosecondsPerOperation,
            fixture: .empty, operations: { $0.effort.notifications },
            timed: { run in
                guard run.engine is RegnumEngine else { return nil }
                return .whole(try RoundTrip(observers: observers).run(commits: run.effort.notifications))
            },
            expected: { .whole($0.effort.notifications * observers) })
    }
}
