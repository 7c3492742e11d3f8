// SPDX-License-Identifier: Apache-2.0
// Comparisons of a column with a constant, without reference-counted fields. Most predicates begin with some of them;
// they run over all groups without reference counting.

import RegnumEngine

struct ColumnTest {
    private enum Test {
        case nulls(isLink: Bool, isInverted: Bool)
        case integers(ScanOperator, Int64)
        case doubles(ScanOperator, Double)
        case floats(ScanOperator, Float)
        case bools(Bool, isEqual: Bool)
        case dates(ScanOperator, Timestamp)
    }

    let column: Int
    private let test: Test

    /// Nil if the test needs more than a constant.
    init?(_ column: Int, _ type: ColumnType, _ test: ValueTest) {
        self.column = column
        switch test {
        case .isNull: self.test = .nulls(isLink: type == .link, isInverted: false)
        case .isNotNull: self.test = .nulls(isLink: type == .link, isInverted: true)
        case .int(let comparison, let value): self.test = .integers(comparison.scanOperator, value)
        case .link(let comparison, let key):
            self.test = .integers(comparison.scanOperator, Int64(bitPattern: key.rawValue))
        case .double(let comparison, let value): self.test = .doubles(comparison.scanOperator, value)
        case .float(let comparison, let value): self.test = .floats(comparison.scanOperator, value)
        case .bool(let comparison, let value): self.test = .bools(value, isEqual: comparison == .equal)
        case .date(let comparison, let value): self.test = .dates(comparison.scanOperator, value)
        default: return nil
        }
    }

    /// Sets the bits of the rows of a group that pass.
    @inline(__always)
    func scan(_ group: UnsafeMutablePointer<GroupView>, _ out: RowBitmap) {
        let view = group.columns[column]
        let count = group.pointee.count
        switch test {
        case .nulls(let isLink, let isInverted):
            isLink ? CompareScan.integers(view, count, .equal, 0, out) : CompareScan.nulls(view, count, out)
            if isInverted { CompareScan.invert(out, count) }
        case .integers(let operation, let value): CompareScan.integers(view, count, operation, value, out)
        case .doubles(let operation, let value): CompareScan.doubles(view, count, operation, value, out)
        case .floats(let operation, let value): CompareScan.floats(view, count, operation, value, out)
        case .bools(let value, let isEqual): CompareScan.bools(view, count, value, isEqual: isEqual, out)
        case .dates(let operation, let value): CompareScan.dates(view, count, operation, value, out)
        }
    }

    /// The number of rows of a group that pass. `scratch`: space for one bitmap.
    @inline(__always)
    func count(_ group: UnsafeMutablePointer<GroupView>, _ scratch: RowBitmap) -> Int {
        if case .integers(let operation, let value) = test,
            let found = CompareScan.countIntegers(group.columns[column], group.pointee.count, operation, value)
        {
            return found
        }
        scan(group, scratch)
        return scratch.rowCount
    }

    /// The leading tests of a plan, and the remaining plan; nil if nothing remains.
    static func leading(_ node: PlanNode) -> (tests: [ColumnTest], rest: PlanNode?) {
        switch node {
        case .constant(true): return ([], nil)
        case .column(let column, let type, let test):
            guard let test = ColumnTest(column, type, test) else { return ([], node) }
            return ([test], nil)
        case .and(let parts):
            var tests: [ColumnTest] = []
            for part in parts {
                guard case .column(let column, let type, let test) = part,
                    let test = ColumnTest(column, type, test)
                else { break }
                tests.append(test)
            }
            let rest = Array(parts.dropFirst(tests.count))
            return (tests, rest.isEmpty ? nil : rest.count == 1 ? rest[0] : .and(rest))
        default: return ([], node)
        }
    }
}
