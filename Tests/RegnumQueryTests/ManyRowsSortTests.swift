// SPDX-License-Identifier: Apache-2.0
// Sorts of many rows by numbers, which use one word for each row if that distinguishes nearly all of them, compared
// with the sort of the standard library: for several distributions, with and without nulls, ascending and descending.

import RegnumEngine
import RegnumQuery
import Testing

struct ManyRowsSortTests {
    enum Shape: CaseIterable {
        /// All bits differ; most rows have a value of their own.
        case spread
        /// Equal except for the last bits, which do not fit beside a key: a few rows, and all of them.
        case fewClose, allClose
        /// A thousand values; each value twice, which a sample does not reveal.
        case few, pairs
        case equal, extremes

        func value(_ index: Int, _ random: inout QueryRandom) -> Double {
            switch self {
            case .spread: return Double.random(in: -1...1, using: &random)
            case .fewClose where index % 1000 < 998: return Double.random(in: 0..<1, using: &random)
            case .fewClose: return 1 + (1.0).ulp * Double(Int.random(in: 0..<5, using: &random))
            case .allClose where index % 1000 == 0: return Double(index) * 1e300
            case .allClose:
                return Double(bitPattern: (1.0).bitPattern + UInt64.random(in: 0..<1 << 9, using: &random))
            case .few: return Double(Int.random(in: 0..<1000, using: &random)) / 7
            case .pairs: return Double(index / 2 * 7919 % 1_000_003) / 3
            case .equal: return -0.5
            case .extremes:
                let all: [Double] = [
                    .infinity, -.infinity, 0, -0.0, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1,
                ]
                return all[Int.random(in: 0..<all.count, using: &random)]
            }
        }
    }

    private struct Row {
        var key: ObjectKey
        var score: Double?
        var number: Int64
    }

    private static func makeRows(_ shape: Shape, count: Int, hasNulls: Bool) throws -> (Session, Table, [Row]) {
        let session = try makeSessionOfItsOwn()
        var random = QueryRandom(state: 77)
        try session.beginWrite()
        try session.addTables([
            NewTable(
                name: "Row",
                columns: [
                    NewColumn(name: "score", type: .double, isNullable: hasNulls),
                    NewColumn(name: "number", type: .int), NewColumn(name: "place", type: .uuid),
                ])
        ])
        let table = try #require(session.table(named: "Row"))
        var rows: [Row] = []
        for index in 0..<count {
            let location = try table.insertRow()
            let isNull = hasNulls && index % 9 == 4
            let row = Row(
                key: location.key, score: isNull ? nil : shape.value(index, &random),
                number: Int64.random(in: -5...5, using: &random))
            try table.finishInsert(location)
            if let score = row.score { try table.set(.double(score), 0, of: row.key) }
            try table.set(.int(row.number), 1, of: row.key)
            rows.append(row)
        }
        // Groups that are not dense.
        for index in stride(from: count - 3, to: 0, by: -5) {
            try table.delete(rows[index].key)
            rows.remove(at: index)
        }
        try session.commitWrite()
        return (session, try #require(session.table(named: "Row")), rows)
    }

    /// Nulls first, NaN before all numbers, -0 with 0.
    private static func order(_ a: Double?, _ b: Double?) -> Int {
        guard let a, let b else { return (a == nil ? 0 : 1) - (b == nil ? 0 : 1) }
        if a.isNaN || b.isNaN { return (a.isNaN ? 0 : 1) - (b.isNaN ? 0 : 1) }
        return a < b ? -1 : a > b ? 1 : 0
    }

    @Test(arguments: Shape.allCases, [false, true])
    func `sorts as the standard library does`(shape: Shape, hasNulls: Bool) throws {
        let (session, table, rows) = try Self.makeRows(shape, count: 6_000, hasNulls: hasNulls)
        let key = { (column: Int, type: ColumnType, isAscending: Bool) in
            SortKey(column: column, type: type, isAscending: isAscending)
        }
        for isAscending in [true, false] {
            let sign = isAscending ? 1 : -1
            for (keys, areInOrder) in [
                (
                    [key(0, .double, isAscending)],
                    { (a: Row, b: Row) in
                        let order = sign * Self.order(a.score, b.score)
                        return order == 0 ? a.key < b.key : order < 0
                    }
                ),
                (
                    [key(1, .int, !isAscending), key(0, .double, isAscending), key(2, .uuid, true)],
                    { a, b in
                        if a.number != b.number { return (a.number < b.number) != isAscending }
                        let order = sign * Self.order(a.score, b.score)
                        return order == 0 ? a.key < b.key : order < 0
                    }
                ),
                (
                    [key(0, .double, isAscending), key(1, .int, isAscending)],
                    { a, b in
                        var order = sign * Self.order(a.score, b.score)
                        if order == 0 { order = sign * (a.number < b.number ? -1 : a.number > b.number ? 1 : 0) }
                        return order == 0 ? a.key < b.key : order < 0
                    }
                ),
            ] as [([SortKey], (Row, Row) -> Bool)] {
                let query = ObjectQuery(session: session, table: table.definition.key, orderings: [.sort(keys)])
                let expected = rows.sorted(by: areInOrder).map(\.key)
                #expect(try query.keys() == expected, "\(keys.map(\.column)), \(isAscending)")
            }
        }
    }
}
