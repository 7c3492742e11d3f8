// SPDX-License-Identifier: Apache-2.0
// The columns that a plan will almost certainly read in a group. A scan prefetches them with `ScanPrefetch`.

import RegnumEngine

struct ScannedColumns {
    private enum Column {
        /// Its values are compared, unless the zone map decides.
        case tested(Int, ColumnTest, ValueTest)
        /// `withBytes`: the bytes of strings are read, not only their lengths.
        case read(Int, withBytes: Bool)
    }

    private let columns: [Column]

    /// Includes the leading tests of the plan and the part after them; `firstColumn` if the plan reads no column.
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

    /// Adds the columns that will be read in the group. Stops at a test that all rows fail by their zone map.
    func add(_ group: UnsafeMutablePointer<GroupView>, to lines: inout ScanPrefetch, scratch: RowBitmap) {
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
    /// False if strings of another length are skipped without reading their bytes.
    fileprivate var readsMostBytes: Bool {
        switch self {
        case .bytes(let test): test.isDiacriticInsensitive || test.operation != .equal && test.operation != .notEqual
        case .bytesSet: false
        default: true
        }
    }
}
