// SPDX-License-Identifier: Apache-2.0
// Q1 to Q9: counting the matches of a predicate.

import Foundation

/// The answers to the count queries, computed from the rows.
enum CountAnswers {
    /// Seconds since 1970: the middle of the dates.
    static let date = People.firstDate + People.dateSpan / 2
    static var asDate: Date { Date(timeIntervalSince1970: TimeInterval(date)) }

    static func expected(_ query: CountQuery, _ run: Run) -> Int {
        switch query {
        case .age: run.rows.count { $0.age >= 18 }
        case .ageActiveScore: run.rows.count { $0.age >= 18 && $0.active && $0.score < 0.5 }
        case .namePrefix: run.rows.count { $0.name.hasPrefix("Alice") }
        case .nameContains: run.rows.count { $0.name.hasPrefix("Hannah") }
        case .nameEquals: run.rows.count { $0.name == "Alice 123" }
        case .created: run.rows.count { $0.created > date }
        case .friendAge: run.inputs.friends.count { run.people.rows[$0].age > 50 }
        case .hasBacklink: Set(run.inputs.friends).count
        }
    }
}

extension Workload {
    static let counts: [Workload] = [
        count("Q1", "count age >= 18", .age),
        count("Q2", "count age >= 18 AND active AND score < 0.5", .ageActiveScore),
        count("Q3", "count name BEGINSWITH", .namePrefix),
        count("Q4", "count name CONTAINS[c]", .nameContains),
        count("Q5", "count name ==, no index", .nameEquals),
        count("Q6", "count created > date", .created),
        count("Q7", "count friend.age > 50", .friendAge, .linked),
        count("Q8", "count objects with a backlink", .hasBacklink, .linked),
        Workload(
            id: "Q9", title: "name == by an index", unit: .nanosecondsPerOperation, fixture: .indexed,
            operations: { $0.inputs.names.count },
            timed: { try $0.engine.countByIndex($0.inputs.names).asAnswer },
            // Names are unique.
            expected: { .whole($0.inputs.names.count) }),
    ]

    private static func count(
        _ id: String, _ title: String, _ query: CountQuery, _ fixture: Fixture = .loaded
    ) -> Workload {
        Workload(
            id: id, title: title, unit: .nanosecondsPerRow, fixture: fixture,
            operations: { $0.inputs.rows },
            timed: { try $0.engine.count(query).asAnswer },
            expected: { .whole(CountAnswers.expected(query, $0)) })
    }
}
