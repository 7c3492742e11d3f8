// SPDX-License-Identifier: Apache-2.0
// Limits the work of a query in a test, as a number of objects examined, not as a time.

public import Regnum
public import Testing

/// Expects that a query finds its objects as cheaply as it should. Counts, unlike times, are the same on every machine.
///
/// ```swift
/// expectQuery(people.where { $0.email == address }, usesIndexOn: "email", examinesAtMost: 1)
/// ```
///
/// - Parameters:
///   - collection: The results.
///   - property: A property whose index must be used.
///   - limit: The maximum number of objects that may be examined.
///   - share: The minimum ratio of objects found to objects examined, from 0 to 1.
///   - sourceLocation: The location of failures.
/// - Returns: A description of how the query was run.
/// - Thread: The collection's thread. Runs the query once.
@discardableResult
public func expectQuery<C: RealmCollection>(
    _ collection: C, usesIndexOn property: String? = nil, examinesAtMost limit: Int? = nil,
    findsAtLeast share: Double? = nil, sourceLocation: SourceLocation = #_sourceLocation
) -> QueryExplanation {
    let run = collection.explain()
    if let property, !run.usesIndex(on: property) {
        Report.issue("The query uses no index on '\(property)'. \(run)", at: sourceLocation)
    }
    if let limit, run.examinedRows > limit {
        Report.issue(
            "The query examined \(run.examinedRows) objects; \(limit) are allowed. \(run)", at: sourceLocation)
    }
    if let share, Double(run.foundRows) < share * Double(run.examinedRows) {
        Report.issue(
            "The query found \(run.foundRows) of the \(run.examinedRows) objects that it examined, a share of "
                + "less than \(share). \(run)", at: sourceLocation)
    }
    return run
}
