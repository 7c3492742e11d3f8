// SPDX-License-Identifier: Apache-2.0
// Runs a query: chooses an index or a scan, sorts, and stops at the number of rows requested.

import RegnumEngine

extension ObjectQuery {
    /// The part of the result that is requested.
    enum Extent {
        case all
        case first(Int)
        case last(Int)

        /// The number of rows, if it is limited.
        var limit: Int? {
            switch self {
            case .all: nil
            case .first(let limit), .last(let limit): limit
            }
        }
        var isTail: Bool {
            if case .last = self { return true }
            return false
        }
        func cut(_ keys: [ObjectKey]) -> [ObjectKey] {
            switch self {
            case .all: keys
            case .first(let limit): Array(keys.prefix(limit))
            case .last(let limit): Array(keys.suffix(limit))
            }
        }
    }

    /// Chooses the access path. Inside a write transaction this may move rows, which later steps do not.
    func choose(_ table: Table) throws(EngineError) -> Access {
        try session.writeBackIndexed()
        return try Access.choose(predicate, table)
    }

    /// The leading sorts merged into one, in which the last sort takes precedence, and the orderings after them.
    private var leadingSort: (keys: [SortKey], rest: ArraySlice<Ordering>) {
        var keys: [SortKey] = []
        var rest = orderings[...]
        while case .sort(let next)? = rest.first {
            keys = next + keys
            rest.removeFirst()
        }
        return (keys, rest)
    }

    func run(_ extent: Extent) throws(EngineError) -> [ObjectKey] {
        session.database.counters.noteQuery()
        let table = table
        let (keys, rest) = leadingSort
        var wanted = rest.isEmpty ? extent : .all
        if case .slice(let offset, let limit?)? = rest.first {
            wanted = .first(offset.addingReportingOverflow(limit).overflow ? .max : offset + limit)
        }
        if let found = try byIndexAlone(keys, rest, wanted, table) { return extent.cut(found) }
        if rest.isEmpty, Self.isMuch(wanted, table) { return extent.cut(try allKeys(keys, table)) }
        let rows = try sortedRows(keys, wanted, table)
        return extent.cut(try apply(rest, rows, table).map(\.key))
    }

    /// The result of an ordering or a distinct over all objects, if an index provides it without reading objects.
    private func byIndexAlone(
        _ keys: [SortKey], _ rest: ArraySlice<Ordering>, _ wanted: Extent, _ table: Table
    ) throws(EngineError) -> [ObjectKey]? {
        guard predicate == nil else { return nil }
        if rest.isEmpty, keys.count == 1, wanted.limit == nil, isIndexed(keys[0], table) {
            return try table.orderedKeys(inIndexOf: keys[0].column, isAscending: keys[0].isAscending)?.keys
        }
        if keys.isEmpty, rest.count == 1, case .distinct(let keys)? = rest.first, keys.count == 1,
            isIndexed(keys[0], table),
            let (all, firsts) = try table.orderedKeys(inIndexOf: keys[0].column, isAscending: true)
        {
            return firsts.map { all[$0] }.sorted()
        }
        return nil
    }

    /// The column whose index alone provides all keys in order, or the distinct ones.
    func orderedByIndex(_ table: Table) -> Int? {
        guard predicate == nil, orderings.count == 1 else { return nil }
        switch orderings[0] {
        case .sort(let keys), .distinct(let keys):
            return keys.count == 1 && isIndexed(keys[0], table) ? keys[0].column : nil
        default: return nil
        }
    }

    /// An index of mixed values only finds equal values; it is not in value order.
    private func isIndexed(_ key: SortKey, _ table: Table) -> Bool {
        key.links.isEmpty && !key.isFolded && key.type != .mixed && table.hasIndex(key.column)
    }

    /// True if so many rows are wanted that sorting all rows is no more work.
    private static func isMuch(_ wanted: Extent, _ table: Table) -> Bool {
        wanted.limit.map { $0 >= table.count / 4 } ?? true
    }

    /// The keys of all matches in the order of the sort keys.
    private func allKeys(_ keys: [SortKey], _ table: Table) throws(EngineError) -> [ObjectKey] {
        let access = try choose(table)
        let plan = Planner.plan(access.rest ?? .constant(true))
        var rows = RowList()
        if access.isScan {
            if predicate == nil { rows.reserveCapacity(table.count) }
            try Evaluator(session: session, table: table, expectedRows: table.count)
                .forEachGroup(plan) { group, found in
                    rows.append(found, of: group)
                    return true
                }
        } else {
            rows = RowList(try filter(try access.keys(table), plan, table))
        }
        if keys.isEmpty { return rows.keys }
        try session.checkStop()
        if let sorted = try PackedSort.keys(rows, keys, table, session) { return sorted }
        return try SortExtractor.sortByLevels(rows.locations, keys, table, session).map(\.key)
    }

    /// The matches in the order of the sort keys, limited to the extent wanted.
    private func sortedRows(
        _ keys: [SortKey], _ wanted: Extent, _ table: Table
    ) throws(EngineError) -> [RowLocation] {
        let access = try choose(table)
        guard let limit = wanted.limit, !Self.isMuch(wanted, table) else {
            let rows = try rows(access, table)
            return keys.isEmpty ? rows : try SortExtractor.sort(rows, keys, table, session)
        }
        if keys.isEmpty {
            return wanted.isTail ? try rows(access, table).suffix(limit) : try rows(access, table, limit: limit)
        }
        let scratch = RowBitmap.makeRowBitmaps(1)
        defer { scratch.deallocate() }
        var top = TopRows(session, table, keys, limit: limit, isTail: wanted.isTail, scratch: scratch)
        if predicate == nil, let first = keys.first, isIndexed(first, table),
            let few = try table.extremeKeys(
                inIndexOf: first.column, isAscending: first.isAscending != wanted.isTail, limit: limit,
                most: max(4096, limit * 4))
        {
            for key in few.sorted() {
                if let location = try table.locate(key) { try top.add(location) }
            }
        } else if access.isScan {
            try Evaluator(session: session, table: table, expectedRows: table.count)
                .forEachGroup(Planner.plan(access.rest ?? .constant(true))) { group, rows throws(EngineError) in
                    try top.add(group, rows)
                    return true
                }
        } else {
            for location in try rows(access, table) { try top.add(location) }
        }
        return try top.finish()
    }

    /// The matches in key order, at most `limit` of them.
    func rows(_ access: Access, _ table: Table, limit: Int = .max) throws(EngineError) -> [RowLocation] {
        let plan = Planner.plan(access.rest ?? .constant(true))
        if !access.isScan { return try filter(try access.keys(table), plan, table, limit: limit) }
        var rows: [RowLocation] = []
        if predicate == nil { rows.reserveCapacity(min(limit, table.count)) }
        // If few rows are wanted, links are followed row by row, because the scan may soon stop.
        let expected = limit < 1024 ? 0 : table.count
        try Evaluator(session: session, table: table, expectedRows: expected)
            .forEachGroup(plan) { group, found in
                for word in 0..<16 {
                    var bits = found[word]
                    while bits != 0 {
                        rows.append(RowLocation(group: group, row: word &<< 6 &+ bits.trailingZeroBitCount))
                        if rows.count >= limit { return false }
                        bits &= bits &- 1
                    }
                }
                return true
            }
        return rows
    }

    func apply(
        _ orderings: ArraySlice<Ordering>, _ rows: [RowLocation], _ table: Table
    ) throws(EngineError) -> [RowLocation] {
        var rows = rows
        for ordering in orderings {
            try session.checkStop()
            switch ordering {
            case .sort(let keys): rows = try SortExtractor.sort(rows, keys, table, session)
            case .distinct(let keys): rows = try SortExtractor.distinct(rows, keys, table, session)
            case .slice(let offset, let limit):
                rows = Array(rows.dropFirst(offset).prefix(limit ?? .max))
            case .filter(let predicate):
                rows = try filter(rows.map(\.key), Planner.plan(predicate), table)
            }
        }
        return rows
    }
}
