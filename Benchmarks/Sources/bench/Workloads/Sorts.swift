// SPDX-License-Identifier: Apache-2.0
// S1 to S3: sorted results, read to the end or only at their beginning.

extension Workload {
    static let sorts: [Workload] = [
        Workload(
            id: "S1", title: "age >= 18 by age desc, name; all keys", unit: .nanosecondsPerRow,
            fixture: .loaded,
            operations: { run in run.rows.count { $0.age >= 18 } },
            timed: { try $0.engine.sortedByAgeAndName(first: nil).asAnswer },
            expected: { .whole(sortedByAgeAndName($0).reduce(0) { keyHash($0, $1.id) }) }),
        Workload(
            id: "S2", title: "all by score; all keys", unit: .nanosecondsPerRow, fixture: .loaded,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.sortedByScore().asAnswer },
            expected: { run in
                .whole(run.rows.sorted { $0.score < $1.score }.reduce(0) { keyHash($0, $1.id) })
            }),
        Workload(
            id: "S3", title: "first 20 of S1", unit: .milliseconds, fixture: .loaded,
            operations: { _ in 1 },
            timed: { try $0.engine.sortedByAgeAndName(first: 20).asAnswer },
            expected: { .whole(sortedByAgeAndName($0).prefix(20).reduce(0) { keyHash($0, $1.id) }) }),
    ]

    private static func sortedByAgeAndName(_ run: Run) -> [PersonRow] {
        run.rows.filter { $0.age >= 18 }.sorted { ($1.age, $0.name) < ($0.age, $1.name) }
    }
}
