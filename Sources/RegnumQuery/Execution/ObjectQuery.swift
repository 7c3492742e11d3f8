// SPDX-License-Identifier: Apache-2.0
// A query over the objects of one table: a predicate and an order. It is evaluated again at each call, on the session's
// current version; caching is up to the caller.

package import RegnumEngine

/// Confined to the session's thread. The session may be refreshed; after a change of the schema a new query is needed.
package final class ObjectQuery {
    package let session: Session
    package let tableKey: TableKey
    package let predicate: BoundPredicate?
    package let orderings: [Ordering]
    /// See `findAdviceColumns`.
    package private(set) lazy var adviceColumns = findAdviceColumns()

    package init(
        session: Session, table: TableKey, predicate: BoundPredicate? = nil, orderings: [Ordering] = []
    ) {
        self.session = session
        tableKey = table
        self.predicate = predicate
        self.orderings = orderings
    }

    /// Creates the same query in another session of the same schema.
    package convenience init(_ other: ObjectQuery, in session: Session) {
        self.init(session: session, table: other.tableKey, predicate: other.predicate, orderings: other.orderings)
    }

    /// True if it is certain, without a traversal, that the query does not depend on another table. This is a fast path
    /// for queries that are created, run once and released.
    package var asksOwnColumnsOnly: Bool { orderings.isEmpty && predicate?.asksOwnColumnsOnly ?? true }

    var table: Table {
        guard let table = session.table(tableKey) else { preconditionFailure("the queried table is gone") }
        return table
    }

    /// True if the number and membership of the results depend on the orderings.
    private var needsKeys: Bool {
        orderings.contains { if case .sort = $0 { false } else { true } }
    }

    /// Creates a plan for one run, because a plan caches results of the run.
    private func makePlan() -> PlanNode { Planner.plan(predicate ?? .constant(true)) }

    // MARK: The whole table

    /// The number of objects. O(rows), less if an index or zone maps answer it.
    package func count() throws(EngineError) -> Int {
        if needsKeys { return try keys().count }
        session.database.counters.noteQuery()
        let table = table
        guard predicate != nil else { return table.count }
        let access = try choose(table)
        if !access.isScan {
            if access.isCount { return access.estimate }
            return try rows(access, table).count
        }
        return try Evaluator(session: session, table: table, expectedRows: table.count).count(makePlan())
    }

    /// All keys in the order of the orderings, or else ascending.
    package func keys() throws(EngineError) -> [ObjectKey] { try run(.all) }

    /// The first keys in order. Cheap for a small limit: rows after it are not sorted and, without an ordering, not
    /// read.
    package func keys(first limit: Int) throws(EngineError) -> [ObjectKey] { try run(.first(limit)) }

    /// The last keys in order.
    package func keys(last limit: Int) throws(EngineError) -> [ObjectKey] { try run(.last(limit)) }

    /// The first key in order, or nil. Stops at the first match if there is no ordering.
    package func first() throws(EngineError) -> ObjectKey? { try run(.first(1)).first }

    /// True if the object is among the results; false if there is no such object.
    package func contains(_ key: ObjectKey) throws(EngineError) -> Bool {
        let table = table
        try session.writeBackIndexed()
        guard let location = try table.locate(key) else { return false }
        let evaluator = Evaluator(session: session, table: table, expectedRows: 1)
        guard try evaluator.holds(makePlan(), table, location) else { return false }
        return try needsKeys ? keys().contains(key) : true
    }

    // MARK: Given objects

    /// The candidates for which the predicate holds, in their order; orderings are ignored. Skips keys of deleted
    /// objects.
    package func matches(among candidates: [ObjectKey]) throws(EngineError) -> [ObjectKey] {
        session.database.counters.noteQuery()
        return try filter(candidates, makePlan(), table).map(\.key)
    }

    /// The candidates that match, in the order of the orderings, or else in their own. Skips keys of deleted objects;
    /// repeated keys stay repeated.
    package func keys(among candidates: [ObjectKey]) throws(EngineError) -> [ObjectKey] {
        session.database.counters.noteQuery()
        let table = table
        return try apply(orderings[...], try filter(candidates, makePlan(), table), table).map(\.key)
    }

    func filter(
        _ candidates: [ObjectKey], _ plan: PlanNode, _ table: Table, limit: Int = .max
    ) throws(EngineError) -> [RowLocation] {
        try session.writeBackIndexed()
        session.database.counters.noteExamined(candidates.count)
        let evaluator = Evaluator(session: session, table: table, expectedRows: candidates.count)
        var rows: [RowLocation] = []
        var passesAll = false
        if case .constant(true) = plan { passesAll = true }
        var examined = 0
        for key in candidates where rows.count < limit {
            if examined & 1023 == 0 { try session.checkStop() }
            examined &+= 1
            guard let location = try table.locate(key) else { continue }
            if passesAll {
                rows.append(location)
            } else if try evaluator.holds(plan, table, location) {
                rows.append(location)
            }
        }
        return rows
    }

    // MARK: Aggregates

    /// The aggregate of a column over all matching objects: `.int`, `.double`, `.float` or `.date`; null if there are
    /// no values (`sum`: 0). Nulls and NaN are ignored; integer sums wrap.
    package func aggregate(_ kind: AggregateKind, _ column: Int) throws(EngineError) -> Value {
        if needsKeys { return try aggregate(kind, column, among: try keys()) }
        let table = table
        if predicate != nil, try !choose(table).isScan {
            return try aggregate(kind, column, among: try keys())
        }
        let definition = table.definition.columns[column]
        guard definition.type == .int || definition.type == .double || definition.type == .float else {
            return try aggregate(kind, column, among: try keys())
        }
        session.database.counters.noteQuery()
        var integers = IntegerAggregate()
        var doubles = DoubleAggregate()
        let isInteger = definition.type == .int
        let isFiltered = predicate != nil
        try Evaluator(session: session, table: table, expectedRows: table.count)
            .forEachGroup(makePlan(), firstColumn: column) { group, rows in
                let view = group.columns[column]
                let chosen: RowBitmap? = isFiltered ? rows : nil
                if isInteger {
                    AggregateScan.integers(view, group.pointee.count, chosen, into: &integers)
                } else {
                    AggregateScan.doubles(view, group.pointee.count, chosen, into: &doubles)
                }
                return true
            }
        // Sums wrap, averages do not.
        if isInteger, kind == .avg, integers.mayHaveWrapped {
            return try aggregate(kind, column, among: try keys())
        }
        return isInteger
            ? Self.result(kind, integers) : Self.result(kind, doubles, isFloat: definition.type == .float)
    }

    private static func result(_ kind: AggregateKind, _ total: IntegerAggregate) -> Value {
        switch kind {
        case .count: .int(Int64(total.count))
        case .sum: .int(total.sum)
        case .min: total.count == 0 ? .null : .int(total.min)
        case .max: total.count == 0 ? .null : .int(total.max)
        case .avg: total.count == 0 ? .null : .double(Double(total.sum) / Double(total.count))
        }
    }

    private static func result(_ kind: AggregateKind, _ total: DoubleAggregate, isFloat: Bool) -> Value {
        switch kind {
        case .count: .int(Int64(total.count))
        case .sum: .double(total.sum)
        case .min: total.count == 0 ? .null : isFloat ? .float(Float(total.min)) : .double(total.min)
        case .max: total.count == 0 ? .null : isFloat ? .float(Float(total.max)) : .double(total.max)
        case .avg: total.count == 0 ? .null : .double(total.sum / Double(total.count))
        }
    }

    /// Like `aggregate(_:_:)`, over the given objects without filtering them.
    package func aggregate(
        _ kind: AggregateKind, _ column: Int, among keys: [ObjectKey]
    ) throws(EngineError) -> Value {
        let table = table
        let type = table.definition.columns[column].type
        var total = ValueAggregate(isDecimal: type == .decimal128 || type == .mixed)
        for (index, key) in keys.enumerated() {
            if index & 1023 == 0 { try session.checkStop() }
            guard let location = try table.locate(key) else { continue }
            total.add(try table.value(column, at: location))
        }
        if kind == .sum, total.count == 0, type == .float || type == .double { return .double(0) }
        return total.result(kind)
    }
}
