// SPDX-License-Identifier: Apache-2.0
// A query of the objects of one table: which of them, in which order. Evaluated anew at every call on what the
// session sees then; caching is the caller's.

package import RegnumEngine

/// Confined to the session's thread. Refreshes of the session are fine; after a change of the schema make a new one.
package final class ObjectQuery {
    package let session: Session
    package let tableKey: TableKey
    package let predicate: BoundPredicate?
    package let orderings: [Ordering]

    package init(
        session: Session, table: TableKey, predicate: BoundPredicate? = nil, orderings: [Ordering] = []
    ) {
        self.session = session
        tableKey = table
        self.predicate = predicate
        self.orderings = orderings
    }

    private var table: Table {
        guard let table = session.table(tableKey) else { preconditionFailure("the queried table is gone") }
        return table
    }

    private var hasDistinct: Bool {
        orderings.contains { if case .distinct = $0 { true } else { false } }
    }

    /// A plan of its own for each run, as it keeps what the run finds out.
    private func makePlan() -> PlanNode { Planner.plan(predicate ?? .constant(true)) }

    // MARK: The whole table

    /// Number of objects. O(rows), less where an index or zones answer.
    package func count() throws(EngineError) -> Int {
        if hasDistinct { return try keys().count }
        let table = table
        guard let predicate else { return table.count }
        if let candidates = try indexed(predicate, table) {
            return try filter(candidates, table).count
        }
        var count = 0
        try Evaluator(session: session, table: table, expectedRows: table.count)
            .forEachGroup(makePlan()) { _, rows in
                count &+= rows.rowCount
                return true
            }
        return count
    }

    /// All keys in order: that of the orderings, or ascending.
    package func keys() throws(EngineError) -> [ObjectKey] {
        let rows = try matches()
        return try apply(orderings[...], rows).map(\.key)
    }

    /// The first key in order, or nil. Stops at the first match where nothing is ordered.
    package func first() throws(EngineError) -> ObjectKey? {
        guard orderings.isEmpty else { return try keys().first }
        let table = table
        if let predicate, let candidates = try indexed(predicate, table) {
            return try filter(candidates, table).first?.key
        }
        var found: ObjectKey?
        // What follows links is asked row by row: the first match may be near.
        try Evaluator(session: session, table: table, expectedRows: 0)
            .forEachGroup(makePlan()) { group, rows in
                for row in 0..<group.pointee.count where rows.hasRow(row) {
                    found = ObjectKey(group.pointee.key(at: row))
                    return false
                }
                return true
            }
        return found
    }

    /// Whether an object passes the predicate; false where there is no such object.
    package func contains(_ key: ObjectKey) throws(EngineError) -> Bool {
        let table = table
        guard let location = try table.locate(key) else { return false }
        return try Evaluator(session: session, table: table, expectedRows: 1).holds(
            makePlan(), table, location)
    }

    // MARK: Given objects

    /// Those of `candidates` that pass, in the order of the orderings, else in theirs. Keys of objects that are gone
    /// are passed over; repeated keys stay repeated.
    package func keys(among candidates: [ObjectKey]) throws(EngineError) -> [ObjectKey] {
        try apply(orderings[...], try filter(candidates, table)).map(\.key)
    }

    private func filter(_ candidates: [ObjectKey], _ table: Table) throws(EngineError) -> [RowLocation] {
        let plan = makePlan()
        let evaluator = Evaluator(session: session, table: table, expectedRows: candidates.count)
        var rows: [RowLocation] = []
        for key in candidates {
            guard let location = try table.locate(key) else { continue }
            if predicate == nil {
                rows.append(location)
            } else if try evaluator.holds(plan, table, location) {
                rows.append(location)
            }
        }
        return rows
    }

    // MARK: Aggregates

    /// The aggregate of a column over all matching objects: `.int`, `.double`, `.float` or `.date`; null where there
    /// is nothing to aggregate (`sum`: 0). Nulls and NaN do not count; integer sums wrap.
    package func aggregate(_ kind: AggregateKind, _ column: Int) throws(EngineError) -> Value {
        if hasDistinct { return try aggregate(kind, column, among: try keys()) }
        let table = table
        let definition = table.definition.columns[column]
        guard definition.type == .int || definition.type == .double || definition.type == .float else {
            return try aggregate(kind, column, among: try keys())
        }
        var integers = IntegerAggregate()
        var doubles = DoubleAggregate()
        let isInteger = definition.type == .int
        let isFiltered = predicate != nil
        try Evaluator(session: session, table: table, expectedRows: table.count)
            .forEachGroup(makePlan()) { group, rows in
                let view = group.pointee.columns[column]
                let chosen: RowBitmap? = isFiltered ? rows : nil
                if isInteger {
                    AggregateScan.integers(view, group.pointee.count, chosen, into: &integers)
                } else {
                    AggregateScan.doubles(view, group.pointee.count, chosen, into: &doubles)
                }
                return true
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

    /// As `aggregate`, over given objects without filtering them.
    package func aggregate(
        _ kind: AggregateKind, _ column: Int, among keys: [ObjectKey]
    ) throws(EngineError) -> Value {
        let table = table
        var total = ValueAggregate()
        for key in keys {
            guard let location = try table.locate(key) else { continue }
            total.add(try table.value(column, at: location))
        }
        if kind == .sum, table.definition.columns[column].type != .int { return .double(total.doubleSum) }
        return total.result(kind)
    }

    // MARK: Index

    /// Keys, ascending, among which all matches are, where an index or the primary key tells them.
    private func indexed(_ predicate: BoundPredicate, _ table: Table) throws(EngineError) -> [ObjectKey]? {
        switch predicate {
        case .and(let parts):
            for part in parts {
                if let keys = try indexed(part, table) { return keys }
            }
            return nil
        case .test(let path, let test):
            guard path.steps.isEmpty, case .column(let number, let type) = path.end, table.hasIndex(number),
                let value = test.equalTo(type)
            else { return nil }
            return try table.keys(inIndexOf: number, equalTo: value)
        default: return nil
        }
    }

    // MARK: Order

    private func matches() throws(EngineError) -> [RowLocation] {
        let table = table
        if let predicate, let candidates = try indexed(predicate, table) {
            return try filter(candidates, table)
        }
        var rows: [RowLocation] = []
        if predicate == nil { rows.reserveCapacity(table.count) }
        try Evaluator(session: session, table: table, expectedRows: table.count)
            .forEachMatch(makePlan()) { group, row in rows.append(RowLocation(group: group, row: row)) }
        return rows
    }

    private func apply(
        _ orderings: ArraySlice<Ordering>, _ rows: [RowLocation]
    ) throws(EngineError) -> [RowLocation] {
        var rows = rows
        let table = table
        for ordering in orderings {
            switch ordering {
            case .sort(let keys): rows = try sort(rows, keys, table)
            case .distinct(let keys): rows = try distinct(rows, keys, table)
            }
        }
        return rows
    }

    private func sort(_ rows: [RowLocation], _ keys: [SortKey], _ table: Table) throws(EngineError)
        -> [RowLocation]
    {
        let extractor = SortExtractor(session)
        var levels: [SortLevel] = []
        for key in keys { levels += try extractor.levels(of: key, table, rows) }
        let sorted = RowSorter.order(levels, rows.count).map { rows[$0] }
        withExtendedLifetime(extractor) {}
        return sorted
    }

    private func distinct(
        _ rows: [RowLocation], _ keys: [SortKey], _ table: Table
    ) throws(EngineError) -> [RowLocation] {
        let extractor = SortExtractor(session)
        var seen: Set<[Value]> = []
        var ends: [(table: Table, places: [RowLocation?])] = []
        for key in keys { ends.append(try extractor.follow(key, table, rows)) }
        var kept: [RowLocation] = []
        next: for index in rows.indices {
            var values: [Value] = []
            for (key, end) in zip(keys, ends) {
                guard let place = end.places[index] else { continue next }
                values.append(try end.table.value(key.column, at: place))
            }
            if seen.insert(values).inserted { kept.append(rows[index]) }
        }
        return kept
    }
}

extension ValueTest {
    /// The one value that passes, or nil where more may.
    func equalTo(_ type: ColumnType) -> Value? {
        switch self {
        case .isNull: .null
        case .bool(.equal, let value): .bool(value)
        case .int(.equal, let value): .int(value)
        case .date(.equal, let value): .date(value)
        case .objectID(.equal, let low, let high): .objectID(low, high)
        case .uuid(.equal, let low, let high): .uuid(low, high)
        case .bytes(let test)
        where type == .string && test.operation == .equal && !test.isFolded && !test.isDiacriticInsensitive:
            .string(String(decoding: test.needle, as: UTF8.self))
        default: nil
        }
    }
}
