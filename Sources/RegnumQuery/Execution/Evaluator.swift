// SPDX-License-Identifier: Apache-2.0
// Runs a plan over the groups of a table, 1,024 rows at a time, as bitmaps. Whether a null in a column passes a test:
// `ValueTest.matchesNull`.

import RegnumEngine

/// One run of a plan over one version. Confined to the session's thread.
struct Evaluator {
    let session: Session
    let table: Table
    /// The number of rows that will be evaluated; decides whether to evaluate all objects at the other end of a link
    /// once.
    let expectedRows: Int
    /// Set if the run is explained.
    var statistics: UnsafeMutablePointer<ScanStatistics>? = nil
    /// The outer objects of enclosing SUBQUERYs, innermost last; only if the inner conditions refer to them.
    var scopes: [Scope] = []
    /// The results of the pieces of a condition evaluated so far: for a group, one bitmap per piece; for one object,
    /// one Bool per piece.
    var pieceRows: RowBitmap?
    var pieceAnswers: [Bool] = []

    struct Scope {
        let table: Table
        let location: RowLocation
    }

    typealias Group = UnsafeMutablePointer<GroupView>

    /// Writes the rows of `mask` for which the node holds. `scratch` has two bitmaps for each level of the plan.
    func evaluate(
        _ node: PlanNode, _ group: Group, mask: RowBitmap, out: RowBitmap, scratch: RowBitmap
    ) throws(EngineError) {
        let count = group.pointee.count
        switch node {
        case .constant(let value): value ? out.copyRows(mask) : out.clearRows()
        case .and(let parts):
            out.copyRows(mask)
            for part in parts {
                guard out.hasRows else { return }
                scratch.copyRows(out)
                try evaluate(part, group, mask: scratch, out: out, scratch: scratch + 32)
            }
        case .or(let parts):
            out.clearRows()
            let rest = scratch
            let found = scratch + 16
            rest.copyRows(mask)
            for part in parts where rest.hasRows {
                try evaluate(part, group, mask: rest, out: found, scratch: scratch + 32)
                out.orRows(found)
                rest.subtractRows(found)
            }
        case .not(let part):
            try evaluate(part, group, mask: mask, out: scratch, scratch: scratch + 32)
            out.copyRows(mask)
            out.subtractRows(scratch)
        case .pieces(let pieces): try evaluate(pieces, group, mask: mask, out: out, scratch: scratch)
        case .piece(let index):
            guard let pieceRows else { preconditionFailure("a piece outside of its condition") }
            out.copyRows(pieceRows + 16 * index)
            out.andRows(mask)
        case .column(let column, let type, let test):
            try scan(group, column, type, test, out, scratch)
            out.andRows(mask)
        case .key(let test):
            out.clearRows()
            for row in 0..<count where mask.hasRow(row) {
                if test.matches(int: Int64(bitPattern: group.pointee.key(at: row))) { out.insertRow(row) }
            }
        case .text(let text): try evaluate(text, group, mask: mask, out: out)
        case .through(let through):
            statistics?.pointee.hasRead = true
            try follow(through, group, mask: mask, out: out)
        case .aggregate(let aggregate) where try canCount(aggregate):
            out.clearRows()
            for row in 0..<count where mask.hasRow(row) {
                let links = aggregate.counts?.count(group.pointee.key(at: row)) ?? 0
                if aggregate.test.matches(int: Int64(links)) { out.insertRow(row) }
            }
        default:
            statistics?.pointee.hasRead = true
            out.clearRows()
            for row in 0..<count where mask.hasRow(row) {
                if try holds(node, table, RowLocation(group: group, row: row)) { out.insertRow(row) }
            }
        }
    }

    private func evaluate(
        _ pieces: [PlanNode], _ group: Group, mask: RowBitmap, out: RowBitmap, scratch: RowBitmap
    ) throws(EngineError) {
        var evaluator = self
        evaluator.pieceRows = scratch
        let rest = scratch + 16 * pieces.count
        for (index, piece) in pieces.enumerated() {
            try evaluator.evaluate(piece, group, mask: mask, out: scratch + 16 * index, scratch: rest)
        }
        out.copyRows(scratch + 16 * (pieces.count - 1))
    }

    private func evaluate(
        _ text: TextNode, _ group: Group, mask: RowBitmap, out: RowBitmap
    ) throws(EngineError) {
        statistics?.pointee.hasRead = true
        out.clearRows()
        let passing = try passingTexts(text, table)
        for row in 0..<group.pointee.count where mask.hasRow(row) {
            let key = group.pointee.key(at: row)
            var passes = false
            if let passing {
                passes = passing.contains(key)
            } else {
                passes = try table.hasTerm(text.term, ObjectKey(key), inTextIndexOf: text.column)
            }
            if passes { out.insertRow(row) }
        }
    }

    // MARK: Columns

    private func scan(
        _ group: Group, _ number: Int, _ type: ColumnType, _ test: ValueTest, _ out: RowBitmap,
        _ scratch: RowBitmap
    ) throws(EngineError) {
        let column = group.columns[number]
        let count = group.pointee.count
        if let statistics, !test.isToldByZone(column) { statistics.pointee.hasRead = true }
        switch test {
        case .always: out.setRows(count)
        case .never: out.clearRows()
        case .isNull, .isNotNull, .int, .link, .double, .float, .bool, .date:
            guard let test = ColumnTest(number, type, test) else { preconditionFailure("a comparison") }
            test.scan(group, out)
        case .objectID(let comparison, _, _) where comparison.isOrdering:
            scanIDs(column, count, type, test, out)
        case .uuid(let comparison, _, _) where comparison.isOrdering:
            scanIDs(column, count, type, test, out)
        case .objectID(let comparison, let low, let high):
            CompareScan.bytes12(column, count, low, high, isEqual: comparison == .equal, out)
        case .uuid(let comparison, let low, let high):
            CompareScan.bytes16(column, count, low, high, isEqual: comparison == .equal, out)
        case .decimal, .mixed: try scanRows(group, number, test, out)
        case .intSet(let set): set.scan(column, count, out)
        case .wideSet(let set):
            out.clearRows()
            for row in 0..<count where !column.isNull(row) && set.contains(WideKey(column, row, type)) {
                out.insertRow(row)
            }
        case .bytes(let test):
            TextScan.scan(column, count, test, out, undecided: scratch)
            try decide(group, number, .bytes(test), out, undecided: scratch)
        case .bytesSet(let set):
            TextScan.scan(column, count, set, out, undecided: scratch)
            try decide(group, number, test, out, undecided: scratch)
        case .all(let tests):
            out.setRows(count)
            for test in tests {
                try scan(group, number, type, test, scratch, scratch + 16)
                out.andRows(scratch)
            }
        case .any(let tests):
            out.clearRows()
            for test in tests {
                try scan(group, number, type, test, scratch, scratch + 16)
                out.orRows(scratch)
            }
        }
    }

    /// Ordering comparisons of ids occur only in pages of sorted results.
    private func scanIDs(
        _ column: ColumnView, _ count: Int, _ type: ColumnType, _ test: ValueTest, _ out: RowBitmap
    ) {
        out.clearRows()
        for row in 0..<count where !column.isNull(row) {
            let key = WideKey(column, row, type)
            if test.matches(low: key.low, high: key.high) { out.insertRow(row) }
        }
    }

    /// Tests decimals and mixed values row by row.
    private func scanRows(
        _ group: Group, _ number: Int, _ test: ValueTest, _ out: RowBitmap
    ) throws(EngineError) {
        let column = group.columns[number]
        let isDecimal = table.definition.columns[number].type == .decimal128
        out.clearRows()
        for row in 0..<group.pointee.count {
            let passes: Bool
            if column.isNull(row) {
                passes = test.matchesNull
            } else if isDecimal {
                let (low, high) = column.bytes16(row)
                passes = test.matches(low: low, high: high)
            } else {
                passes = test.matches(try table.value(number, at: RowLocation(group: group, row: row)))
            }
            if passes { out.insertRow(row) }
        }
    }

    /// Tests the rows whose bytes are stored in separate blocks.
    private func decide(
        _ group: Group, _ number: Int, _ test: ValueTest, _ out: RowBitmap, undecided: RowBitmap
    ) throws(EngineError) {
        guard undecided.hasRows else { return }
        for row in 0..<group.pointee.count where undecided.hasRow(row) {
            let location = RowLocation(group: group, row: row)
            if try table.withBytes(number, at: location, { test.matches(bytes: $0) }) { out.insertRow(row) }
        }
    }

    // MARK: Links

    private func follow(
        _ through: LinkTraversal, _ group: Group, mask: RowBitmap, out: RowBitmap
    ) throws(EngineError) {
        let count = group.pointee.count
        if through.passing == nil {
            through.passing = try passingObjects(through)
            // No object has key 0, which represents a null link.
            if case .link = through.step, through.matchesNull { through.passing?.insert(0) }
        }
        out.clearRows()
        guard let passing = through.passing else {
            for row in 0..<count where mask.hasRow(row) {
                if try holds(.through(through), table, RowLocation(group: group, row: row)) {
                    out.insertRow(row)
                }
            }
            return
        }
        switch through.step {
        case .link(let number, _):
            passing.copyRows(linkingBy: group.columns[number], count, to: out)
            out.andRows(mask)
        case .links(let number, _):
            for row in 0..<count where mask.hasRow(row) {
                let isMissing = try table.forEachLeaf(number, RowLocation(group: group, row: row)) { list in
                    for index in 0..<list.count
                    where !list.isNull(index) && passing.contains(list.integer(index)) { return false }
                    return true
                }
                if !isMissing { out.insertRow(row) }
            }
        case .entry:
            preconditionFailure("entries are followed row by row")
        case .backlinks: passing.copyRows(of: group, mask: mask, to: out)
        }
    }

    /// Evaluates all objects at the other end once, if that is less work than following each row's links.
    private func passingObjects(_ through: LinkTraversal) throws(EngineError) -> KeyBitmap? {
        guard let other = session.table(through.step.target) else { return nil }
        if case .geo(let test) = through.inner, let ranges = test.ranges(other) {
            return try passingPlaces(test, ranges, through.step, other)
        }
        guard other.count / 16 <= expectedRows || through.hasManyWays else { return nil }
        switch through.step {
        case .entry: return nil
        case .link, .links:
            guard let limit = try other.keyLimit() else { return nil }
            let passing = KeyBitmap(limit: limit)
            try Evaluator(session: session, table: other, expectedRows: other.count)
                .forEachGroup(through.inner) { group, rows in
                    passing.insert(rows, of: group)
                    return true
                }
            return passing
        case .backlinks(_, let number):
            guard let limit = try table.keyLimit() else { return nil }
            let passing = KeyBitmap(limit: limit)
            let isList = other.definition.columns[number].collection != .none
            let evaluator = Evaluator(session: session, table: other, expectedRows: other.count)
            if isList {
                try evaluator.forEachMatch(through.inner) { group, row throws(EngineError) in
                    try other.forEachLeaf(number, RowLocation(group: group, row: row)) { list in
                        for index in 0..<list.count where !list.isNull(index) {
                            passing.insert(list.integer(index))
                        }
                        return true
                    }
                }
            } else {
                try evaluator.forEachGroup(through.inner, firstColumn: number) { group, rows in
                    passing.insert(linkedBy: group.columns[number], group.pointee.count, rows)
                    return true
                }
            }
            return passing
        }
    }

    /// The matching objects according to the full-text index, if enough rows are evaluated to make loading them
    /// worthwhile.
    func passingTexts(_ text: TextNode, _ table: Table) throws(EngineError) -> KeyBitmap? {
        if let passing = text.passing { return passing }
        let estimate = try table.textEstimate(text.term, inTextIndexOf: text.column)
        guard expectedRows >= 16 + estimate / 64, let limit = try table.keyLimit() else { return nil }
        let passing = KeyBitmap(limit: limit)
        for key in try table.keys(with: text.term, inTextIndexOf: text.column) { passing.insert(key.rawValue) }
        text.passing = passing
        return passing
    }

    /// The objects in the ranges of a geospatial index that lie in the area.
    private func passingPlaces(
        _ test: GeoTest, _ ranges: [ClosedRange<UInt64>], _ step: PathStep, _ other: Table
    ) throws(EngineError) -> KeyBitmap? {
        switch step {
        case .link, .links: break
        case .entry, .backlinks: return nil
        }
        guard let limit = try other.keyLimit(),
            try other.placeCount(in: ranges, inIndexOf: test.coordinatesColumn) / 16 <= expectedRows
        else { return nil }
        let passing = KeyBitmap(limit: limit)
        for key in try places(test, ranges, other) { passing.insert(key.rawValue) }
        return passing
    }

    /// The objects in the area, ascending.
    func places(
        _ test: GeoTest, _ ranges: [ClosedRange<UInt64>], _ table: Table
    ) throws(EngineError) -> [ObjectKey] {
        var found: [ObjectKey] = []
        for key in try table.keys(in: ranges, inPlaceIndexOf: test.coordinatesColumn) {
            guard let location = try table.locate(key) else { continue }
            if try lies(test, table, location) { found.append(key) }
        }
        return found
    }

    /// True if the node is the `@count` of backlinks and all of them have been counted.
    private func canCount(_ node: AggregateNode) throws(EngineError) -> Bool {
        if node.counts != nil { return true }
        guard node.aggregate.kind == .count, node.aggregate.path.steps.count == 1,
            case .backlinks(let origin, let number)? = node.aggregate.path.steps.first,
            let other = session.table(origin), other.count / 16 <= expectedRows,
            let limit = try table.keyLimit(bitsPerKey: UInt64(UInt32.bitWidth))
        else { return false }
        let counts = KeyCounts(limit: limit)
        let isList = other.definition.columns[number].collection != .none
        let reads = { (group: Group, lines: inout ScanPrefetch) in
            lines.add(group.columns[number], group.pointee.count)
        }
        try other.forEachGroup(readingAhead: reads) { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                if isList {
                    try other.forEachLeaf(number, RowLocation(group: group, row: row)) { list in
                        for index in 0..<list.count where !list.isNull(index) { counts.add(list.integer(index)) }
                        return true
                    }
                } else {
                    counts.add(UInt64(bitPattern: group.columns[number].integer(row)))
                }
            }
            return true
        }
        node.counts = counts
        return true
    }

    // MARK: All rows

    /// Calls `body` with each matching row, in key order.
    func forEachMatch(
        _ node: PlanNode, _ body: (Group, Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        try forEachGroup(node) { group, rows throws(EngineError) in
            for word in 0..<16 {
                var bits = rows[word]
                while bits != 0 {
                    try body(group, word &<< 6 &+ bits.trailingZeroBitCount)
                    bits &= bits &- 1
                }
            }
            return true
        }
    }

    /// Calls `body` with each group and its matching rows, until it returns false. `firstColumn`: the column that
    /// `body` reads first, used for prefetch if the node reads none.
    func forEachGroup(
        _ node: PlanNode, firstColumn: Int? = nil, _ body: (Group, RowBitmap) throws(EngineError) -> Bool
    ) throws(EngineError) {
        let bitmaps = RowBitmap.makeRowBitmaps(2 + 2 * (node.depth + 1))
        defer { bitmaps.deallocate() }
        let mask = bitmaps
        let out = bitmaps + 16
        // When a run is explained, each part records whether it has read values.
        let (leading, rest) = statistics == nil ? ColumnTest.leading(node) : ([], node)
        let tests = UnsafeMutablePointer<ColumnTest>.allocate(capacity: max(leading.count, 1))
        defer { tests.deallocate() }
        tests.initialize(from: leading, count: leading.count)
        let testCount = leading.count
        let reads = ScannedColumns(node, firstColumn: firstColumn)
        var examined = 0
        defer { session.database.counters.noteExamined(examined) }
        try table.forEachGroup(readingAhead: { reads.add($0, to: &$1, scratch: mask) }) { group throws(EngineError) in
            examined &+= group.pointee.count
            if testCount == 0 { out.setRows(group.pointee.count) } else { tests[0].scan(group, out) }
            var next = 1
            while next < testCount, out.hasRows {
                tests[next].scan(group, mask)
                out.andRows(mask)
                next &+= 1
            }
            if let rest, out.hasRows {
                mask.copyRows(out)
                statistics?.pointee.hasRead = false
                try evaluate(rest, group, mask: mask, out: out, scratch: bitmaps + 32)
                if let statistics, !statistics.pointee.hasRead {
                    statistics.pointee.skippedRows += group.pointee.count
                }
            }
            return try body(group, out)
        }
    }

    /// The number of rows of the table for which the node holds.
    func count(_ node: PlanNode) throws(EngineError) -> Int {
        var count = 0
        let (tests, rest) = ColumnTest.leading(node)
        guard let test = tests.first, tests.count == 1, rest == nil, statistics == nil else {
            try forEachGroup(node) { _, rows in
                count &+= rows.rowCount
                return true
            }
            return count
        }
        let reads = ScannedColumns(node, firstColumn: nil)
        let scratch = RowBitmap.makeRowBitmaps(1)
        var examined = 0
        defer {
            scratch.deallocate()
            session.database.counters.noteExamined(examined)
        }
        try table.forEachGroup(readingAhead: { reads.add($0, to: &$1, scratch: scratch) }) { group in
            examined &+= group.pointee.count
            count &+= test.count(group, scratch)
            return true
        }
        return count
    }
}

extension PlanNode {
    /// The number of levels of scratch bitmaps that evaluation needs.
    var depth: Int {
        switch self {
        case .and(let parts), .or(let parts): 1 + (parts.map(\.depth).max() ?? 0)
        case .not(let part): 1 + part.depth
        // Two bitmaps make one level.
        case .pieces(let pieces): 1 + pieces.count / 2 + (pieces.map(\.depth).max() ?? 0)
        case .column(_, _, let test): test.depth
        default: 1
        }
    }
}

extension ValueTest {
    var depth: Int {
        switch self {
        case .all(let tests), .any(let tests): 1 + (tests.map(\.depth).max() ?? 0)
        default: 1
        }
    }
}
