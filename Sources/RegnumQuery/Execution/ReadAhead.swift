// SPDX-License-Identifier: Apache-2.0
// Which columns a plan is sure to read of a group, or nearly so: what a scan touches ahead (`LinesAhead`).

import RegnumEngine

struct ReadAhead {
    private enum Column {
        /// Whose values are compared, where the zone does not tell.
        case tested(Int, ColumnTest, ValueTest)
        /// `withBytes`: of texts not only how long they are.
        case read(Int, withBytes: Bool)
    }

    private let columns: [Column]

    /// The tests that the plan begins with and what comes first behind them; `firstColumn` where that is nothing.
    init(_ node: PlanNode, firstColumn: Int?) {
        let parts: ArraySlice<PlanNode>
        if case .and(let all) = node { parts = all[...] } else { parts = [node] }
        var columns: [Column] = []
        for part in parts {
            if case .column(let column, let type, let test) = part, let plain = ColumnTest(column, type, test) {
                columns.append(.tested(column, plain, test))
                continue
            }
            switch part {
            case .column(let column, _, let test): columns.append(.read(column, withBytes: test.readsMostBytes))
            case .through(let through):
                if case .link(let column, _) = through.step { columns.append(.read(column, withBytes: true)) }
            default: break
            }
            break
        }
        if columns.isEmpty, let firstColumn { columns = [.read(firstColumn, withBytes: true)] }
        self.columns = columns
    }

    /// Adds what will be read of the group. Nothing of what comes behind a test that all its rows fail by their zone.
    func add(_ group: UnsafeMutablePointer<GroupView>, to lines: inout LinesAhead, scratch: RowBitmap) {
        for column in columns {
            switch column {
            case .read(let column, let withBytes):
                lines.add(group.columns[column], group.pointee.count, withBytes: withBytes)
            case .tested(let column, let plain, let test):
                let view = group.columns[column]
                guard test.isToldByZone(view) else {
                    lines.add(view, group.pointee.count)
                    continue
                }
                plain.scan(group, scratch)
                if !scratch.hasRows { return }
            }
        }
    }
}

extension ValueTest {
    /// False where texts of another length are passed over.
    fileprivate var readsMostBytes: Bool {
        switch self {
        case .bytes(let test): test.isDiacriticInsensitive || test.operation != .equal && test.operation != .notEqual
        case .bytesSet: false
        default: true
        }
    }
}
