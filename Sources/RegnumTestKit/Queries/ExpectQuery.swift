// SPDX-License-Identifier: Apache-2.0
// How much work a query may be: a budget that a test holds it to, in objects looked at, not in time.

public import Regnum
public import Testing

/// Expects that a query finds its objects as cheaply as it should. Counts, unlike times, are the same on every machine.
///
/// ```swift
/// expectQuery(people.where { $0.email == address }, usesIndexOn: "email", examinesAtMost: 1)
/// ```
///
/// - Parameters:
///   - collection: the results.
///   - property: an index on it must be used.
///   - limit: so many objects may be looked at.
///   - share: the objects found must be at least this share of those looked at, from 0 to 1.
///   - sourceLocation: where failures are shown.
/// - Returns: how the query was run.
/// - Thread: that of the collection. Runs the query once.
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
            "The query looked at \(run.examinedRows) objects, \(limit) are allowed. \(run)", at: sourceLocation)
    }
    if let share, Double(run.foundRows) < share * Double(run.examinedRows) {
        Report.issue(
            "The query found \(run.foundRows) of \(run.examinedRows) objects that it looked at, less than a share of "
                + "\(share). \(run)", at: sourceLocation)
    }
    return run
}
