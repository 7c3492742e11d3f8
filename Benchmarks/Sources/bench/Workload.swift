// SPDX-License-Identifier: Apache-2.0
// The definition of a workload: its database, its timed part, its expected answer. The workloads are in Workloads/, a
// file for each family, and their targets in Targets.swift. Documentation/PERFORMANCE.md has the results.

/// The unit of a workload.
enum Unit: String {
    case nanosecondsPerRow = "ns/row"
    case nanosecondsPerOperation = "ns/op"
    case milliseconds = "ms"
    case bytes
}

/// The amount of work: everything, or just enough to compare the answers.
struct Effort {
    let isQuick: Bool

    var singleWrites: Int { isQuick ? 20 : 1_000 }
    var memoryWrites: Int { isQuick ? 100 : 10_000 }
    var reads: Int { isQuick ? 1_000 : 10_000_000 }
    var refreshes: Int { isQuick ? 100 : 100_000 }
    var cycles: Int { isQuick ? 5 : 100 }
    var notifications: Int { isQuick ? 5 : 200 }
}

/// The state that a run of a workload can access.
struct Run {
    let engine: any Engine
    let people: People
    let path: String
    let effort: Effort
    let stage: Stage
    /// Private memory that the timed part has added, in bytes, if it was measured.
    var privateBytes: Int?
    /// A result that is not a time.
    var figure: Double?

    var inputs: Inputs { engine.inputs }
    var rows: ArraySlice<PersonRow> { people.rows[..<engine.inputs.rows] }
    /// Rows that are not in the database yet.
    func newRows(_ count: Int, from first: Int = 0) -> [PersonRow] {
        (0..<count).map { offset in
            let like = people.rows[(first + offset) % people.rows.count]
            return PersonRow(
                id: inputs.rows + first + offset, name: like.name, age: like.age, score: like.score,
                active: like.active, created: like.created, email: like.email)
        }
    }
}

struct Workload: Sendable {
    let id: String
    let title: String
    let unit: Unit
    let fixture: Fixture
    /// The number of operations or rows by which the time is divided.
    let operations: @Sendable (Run) -> Int
    /// Not timed, before the timed part.
    var prepare: @Sendable (inout Run) throws -> Void = { _ in }
    /// The timed part; nil if the engine does not support this workload.
    let timed: @Sendable (inout Run) throws -> Answer?
    /// Not timed: verifies that a writing workload has done its work. Replaces the answer of the timed part.
    var inspect: (@Sendable (inout Run) throws -> Answer)?
    /// The correct answer, computed from the rows without any database.
    let expected: @Sendable (Run) -> Answer?
}

extension Workload {
    static let all: [Workload] =
        inserts + pointReads + scans + counts + aggregates + sorts + updates + files + notifications
}

extension Optional where Wrapped == Int {
    var asAnswer: Answer? { map { .whole($0) } }
}

extension Optional where Wrapped == Double {
    var asAnswer: Answer? { map { .fraction($0) } }
}
