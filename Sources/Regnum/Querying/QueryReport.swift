// SPDX-License-Identifier: Apache-2.0
// The report about a query to the observer of operations. Everything that costs time is computed only if the observer
// asks for it.

internal import RegnumEngine
internal import RegnumQuery

/// A query that has run. Use it on the thread that it is given on, before the call returns.
package struct QueryReport {
    /// How a query found its objects.
    package struct Plan {
        package var className: String
        /// The conditions as text, with the values of the user; empty if there are none.
        package var conditions: String
        /// The properties whose indexes were used; empty for a scan.
        package var indexes: [String]
        package var isAnsweredByIndex: Bool
        package var estimatedRows: Int
        /// Nil if the result is not a number of objects.
        package var foundRows: Int?
    }

    package let plan: () -> Plan
}

extension QueryReport {
    init(
        className: String, conditions: @autoclosure @escaping () -> String, indexes: [String],
        isAnsweredByIndex: Bool, estimatedRows: Int, foundRows: Int?
    ) {
        plan = {
            Plan(
                className: className, conditions: conditions(), indexes: indexes,
                isAnsweredByIndex: isAnsweredByIndex, estimatedRows: estimatedRows, foundRows: foundRows)
        }
    }
}

/// A lookup in an index from its beginning to its end. Empty if lookups are not observed.
struct ObservedQueryRun {
    private let operation: (any RunningOperation)?

    @inline(__always)
    init(_ binding: ClassBinding) {
        operation = OperationHook.isOnForLookups ? binding.core.beginOperation(.query) : nil
    }

    @inline(__always)
    func end(_ report: () -> QueryReport) {
        if let operation { operation.end(.queried(report())) }
    }
}

extension ResultsState {
    /// Runs a query, and reports it if queries are observed.
    @inline(__always)
    func observing<R>(_ query: ObjectQuery, _ body: () throws(EngineError) -> R) -> R {
        OperationHook.isOn ? runObserved(query, body) : engine(body)
    }

    @inline(never)
    private func runObserved<R>(_ query: ObjectQuery, _ body: () throws(EngineError) -> R) -> R {
        let operation = realm.beginOperation(.query)
        let result = engine(body)
        guard let operation else { return result }
        let found = (result as? [ObjectKey])?.count ?? (result as? Int)
        operation.end(.queried(QueryReport { self.plan(of: query, found: found) }))
        return result
    }

    private func plan(of query: ObjectQuery, found: Int?) -> QueryReport.Plan {
        var run = QueryRun()
        // The plan of a query that has run is not worth the end of the program.
        if case .table = source, let planned = try? query.plan() { run = planned }
        return QueryReport.Plan(
            className: binding?.schema.name ?? ClassNames.name(of: elementType), conditions: conditionsText,
            indexes: run.indexes.compactMap { binding?.propertyName(ofColumn: $0) },
            isAnsweredByIndex: run.isByIndexAlone, estimatedRows: run.estimatedRows, foundRows: found)
    }

    /// The filters as text; empty if there are none.
    var conditionsText: String {
        let conditions = steps.compactMap { step -> String? in
            if case .filter(let predicate) = step { return predicate.description }
            return nil
        }
        return conditions.count < 2
            ? conditions.joined() : conditions.map { "(\($0))" }.joined(separator: " AND ")
    }
}
