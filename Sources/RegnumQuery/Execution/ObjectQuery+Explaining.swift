// SPDX-License-Identifier: Apache-2.0
// Explains a run of a query, and finds the indexes that would have made it faster.

package import RegnumEngine

/// Statistics of one run of a query.
package struct QueryRun: Sendable {
    /// The columns whose indexes found the rows or determined their order; empty for a scan.
    package var indexes: [Int] = []
    /// True if the indexes produced the result without reading objects.
    package var isByIndexAlone = false
    /// The estimated number of rows to examine.
    package var estimatedRows = 0
    /// The number of rows examined.
    package var examinedRows = 0
    /// The number of rows skipped by zone maps.
    package var skippedRows = 0
    package var foundRows = 0
    package var duration = Duration.zero
    package init() {}
}

/// Counters of an explained scan.
struct ScanStatistics {
    /// True if a value of the group was read.
    var hasRead = false
    var skippedRows = 0
}

extension ObjectQuery {
    /// Runs the query and returns its statistics. With `candidates`, it runs over these objects instead of the whole
    /// table.
    package func explain(among candidates: [ObjectKey]? = nil) throws(EngineError) -> QueryRun {
        var run = QueryRun()
        let clock = ContinuousClock()
        let start = clock.now
        if let candidates {
            run.estimatedRows = candidates.count
            run.examinedRows = candidates.count
            run.foundRows = try keys(among: candidates).count
            run.duration = clock.now - start
            return run
        }
        let table = table
        let found = try keys()
        run.duration = clock.now - start
        run.foundRows = found.count
        let access = try plan(into: &run)
        guard let access else { return run }
        if access.isScan {
            run.skippedRows = predicate == nil ? 0 : try skippedRows(table)
            run.examinedRows = table.count - run.skippedRows
        } else {
            run.examinedRows = try access.keys(table).count
        }
        return run
    }

    /// The indexes that a run over the whole table uses, and the estimated number of rows, without running the query.
    package func plan() throws(EngineError) -> QueryRun {
        var run = QueryRun()
        _ = try plan(into: &run)
        return run
    }

    /// Returns the access path; nil if an index alone gives the objects in order.
    private func plan(into run: inout QueryRun) throws(EngineError) -> Access? {
        let table = table
        if let column = orderedByIndex(table) {
            run.indexes = [column]
            run.isByIndexAlone = true
            run.estimatedRows = table.count
            return nil
        }
        let access = try choose(table)
        run.estimatedRows = access.estimate
        run.indexes = access.indexes.map(\.column)
        run.isByIndexAlone = !access.isScan && access.rest == nil
        return access
    }

    private func skippedRows(_ table: Table) throws(EngineError) -> Int {
        let statistics = UnsafeMutablePointer<ScanStatistics>.allocate(capacity: 1)
        statistics.initialize(to: ScanStatistics())
        defer { statistics.deallocate() }
        var evaluator = Evaluator(session: session, table: table, expectedRows: table.count)
        evaluator.statistics = statistics
        try evaluator.forEachGroup(Planner.plan(predicate ?? .constant(true))) { _, _ in true }
        return statistics.pointee.skippedRows
    }

    /// The columns without an index whose conditions every match must pass: conditions on a property of the object
    /// itself for which an index has ranges. Includes the fraction of rows that a condition of its kind is assumed to
    /// select.
    func findAdviceColumns() -> [(column: Int, selectivity: Double)] {
        switch predicate {
        case .and(let parts)?: return parts.compactMap { advice(on: $0) }
        case let whole?: return advice(on: whole).map { [$0] } ?? []
        case nil: return []
        }
    }

    private func advice(on part: BoundPredicate) -> (column: Int, selectivity: Double)? {
        guard case .test(let path, let test) = part, path.steps.isEmpty,
            case .column(let number, let type) = path.end, !table.hasIndex(number),
            type == .int || type == .string || type == .date || type == .objectID || type == .uuid,
            let selectivity = Self.selectivity(test, type)
        else { return nil }
        return (number, selectivity)
    }

    /// The fraction of rows selected; nil if an index would not help.
    private static func selectivity(_ test: ValueTest, _ type: ColumnType) -> Double? {
        switch test {
        // The fraction for one value, because computing the ranges of many takes long.
        case .intSet: return 0.001
        case .wideSet: return 0.01
        case .bytesSet(let set): return set.isFolded || type != .string ? nil : 0.01
        default: break
        }
        guard let ranges = test.rangesToWalk(type)?.ranges else { return nil }
        var iterator = ranges.makeIterator()
        guard let range = iterator.next() else { return 0 }
        switch range {
        case .nulls: return 0.1
        case .integers(let low, let high):
            return low == high ? 0.001 : low > .min && high < .max ? 0.05 : 0.3
        case .bytes(let low, let high):
            return low.isEmpty || high == nil ? 0.3 : 0.01
        }
    }
}

extension ValueTest {
    /// True if the test of a group reads no value of the column, because nulls and the zone map decide it.
    func isToldByZone(_ column: ColumnView) -> Bool {
        func isTold<T: Comparable>(_ low: T, _ high: T, _ comparison: ComparisonOperator, _ value: T) -> Bool {
            switch comparison {
            case .equal, .notEqual: value < low || value > high || low == high
            case .less, .greaterOrEqual: high < value || low >= value
            default: high <= value || low > value
            }
        }
        switch self {
        case .always, .never, .isNull, .isNotNull: return true
        case .int(let comparison, let value):
            if column.form == .constant { return true }
            return column.hasZone && isTold(column.zoneMin, column.zoneMax, comparison, value)
        case .double(let comparison, let value):
            return column.hasZone && isTold(column.zoneLow, column.zoneHigh, comparison, value)
        case .float(let comparison, let value):
            return column.hasZone && isTold(column.zoneLow, column.zoneHigh, comparison, Double(value))
        case .date(let comparison, let value):
            let isOutside = value.seconds < column.zoneMin || value.seconds > column.zoneMax
            return column.hasZone && isOutside && comparison != .in
        case .intSet(let set):
            guard let low = set.values.first, let high = set.values.last else { return true }
            return column.hasZone && (column.zoneMax < low || column.zoneMin > high)
        case .all(let tests): return tests.contains { $0.isToldByZone(column) }
        default: return false
        }
    }
}

extension ColumnView {
    fileprivate var zoneLow: Double { Double(bitPattern: UInt64(bitPattern: zoneMin)) }
    fileprivate var zoneHigh: Double { Double(bitPattern: UInt64(bitPattern: zoneMax)) }
}
