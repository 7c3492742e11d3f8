// SPDX-License-Identifier: Apache-2.0
// Chooses the index, if any, that finds the candidate rows, if that is less work than a scan of all rows.

package import RegnumEngine

/// One index and the ranges of it that contain all rows that pass a condition.
package struct IndexAccess: Sendable {
    package var column: Int
    package var ranges: IndexRanges
    /// The number of entries in the ranges; if there are many ranges, an estimate from the first of them.
    package var estimate: Int
    /// True if every entry passes the condition.
    package var isExact: Bool
    /// For a full-text index: the term to find, instead of ranges.
    package var term: TextTerm? = nil
    /// For a geospatial index of the embedded objects that the column links to.
    var area: AreaAccess? = nil
}

/// An area, and the ranges of the geospatial index that cover it.
struct AreaAccess: Sendable {
    var test: GeoTest
    var places: TableKey
    var ranges: [ClosedRange<UInt64>]
}

/// The access path to the candidate rows: indexes whose entries together contain all of them, or a scan.
struct Access {
    /// Empty for a scan of all rows.
    var indexes: [IndexAccess] = []
    /// The number of rows that will be read.
    var estimate: Int
    /// The condition that remains to be evaluated on them; nil for none.
    var rest: BoundPredicate?

    var isScan: Bool { indexes.isEmpty }
}

extension Access {
    /// The approximate cost in ns of a row found through an index: traversing the tree, sorting the key, locating the
    /// row.
    private static let entryCost = 60.0
    /// The approximate cost in ns of finding the beginning of a range.
    private static let rangeCost = 300.0
    /// Counts are capped here: a damaged index may contain any number.
    private static let estimateLimit = 1 << 48

    /// The lowest approximate cost in ns of a row in a scan.
    private static let leastRowCost = 0.4

    /// In a table with fewer rows an index is always used if there is one.
    private static let leastRowCount = 64

    /// Chooses the cheapest access path. O(log n) for each condition with an index. A set that is combined with other
    /// conditions on its property costs O(its values), and is only used if it has no more values than the table has
    /// rows.
    static func choose(_ predicate: BoundPredicate?, _ table: Table) throws(EngineError) -> Access {
        let scan = Access(estimate: table.count, rest: predicate)
        guard let predicate, let found = try through(predicate, table) else { return scan }
        if table.count < leastRowCount { return found }
        let ranges = found.indexes.reduce(0) { $0 + $1.ranges.count }
        let cost = Double(found.estimate) * entryCost + Double(ranges) * rangeCost
        // Most results of an index are far cheaper than any scan: no need to compute the cost of the plan.
        if cost < Double(table.count) * leastRowCost { return found }
        return cost < Double(table.count) * Planner.plan(predicate).cost ? found : scan
    }

    private static func through(_ predicate: BoundPredicate, _ table: Table) throws(EngineError) -> Access? {
        switch predicate {
        case .and(let written):
            let parts = joined(written, table)
            var best: (access: Access, part: Int)?
            for (number, part) in parts.enumerated() {
                guard let access = try through(part, table) else { continue }
                if access.estimate < best?.access.estimate ?? .max { best = (access, number) }
            }
            guard var best else { return nil }
            var rest = parts
            if let left = best.access.rest { rest[best.part] = left } else { rest.remove(at: best.part) }
            best.access.rest = rest.isEmpty ? nil : rest.count == 1 ? rest[0] : .and(rest)
            return best.access
        case .or(let parts):
            guard !parts.isEmpty, parts.count <= 1000 else { return nil }
            var whole = Access(estimate: 0)
            var isExact = true
            for part in parts {
                guard let access = try through(part, table) else { return nil }
                whole.indexes += access.indexes
                whole.estimate = min(whole.estimate + access.estimate, estimateLimit)
                if access.rest != nil { isExact = false }
            }
            whole.rest = isExact ? nil : predicate
            return whole
        case .pieces(let pieces):
            guard let last = pieces.last, var access = try through(last, table) else { return nil }
            if let rest = access.rest { access.rest = .pieces(pieces.dropLast() + [rest]) }
            return access
        case .test(let path, let test):
            guard path.steps.isEmpty, case .column(let number, let type) = path.end, table.hasIndex(number) else {
                return nil
            }
            // Each value of the set would be tested against the other conditions, which costs more than a scan.
            if case .all = test, test.largestSet > max(table.count, leastRowCount) { return nil }
            guard let (ranges, isExact) = test.rangesToWalk(type) else { return nil }
            let estimate = try estimate(ranges, number, table)
            let index = IndexAccess(column: number, ranges: ranges, estimate: estimate, isExact: isExact)
            return Access(indexes: [index], estimate: estimate, rest: isExact ? nil : predicate)
        case .text(let path, .term(let term)):
            guard path.steps.isEmpty, case .column(let number, _) = path.end else { return nil }
            let estimate = try table.textEstimate(term, inTextIndexOf: number)
            let index = IndexAccess(
                column: number, ranges: .made([]), estimate: estimate, isExact: true, term: term)
            return Access(indexes: [index], estimate: estimate)
        case .geo(let path, let test):
            guard path.steps.count == 1, case .link(let column, let target)? = path.steps.first,
                let places = table.other(target), let ranges = test.ranges(places)
            else { return nil }
            // Reading an embedded object and finding its owner costs as much as several entries.
            let estimate = try places.placeCount(in: ranges, inIndexOf: test.coordinatesColumn)
            let area = AreaAccess(test: test, places: target, ranges: ranges)
            let index = IndexAccess(
                column: column, ranges: .made([]), estimate: estimate, isExact: true, area: area)
            return Access(indexes: [index], estimate: min(estimate, estimateLimit) * 8)
        default: return nil
        }
    }

    /// Merges conditions on one indexed column, so that its ranges are intersected: `age >= 18 AND age < 30` becomes
    /// one range.
    private static func joined(_ parts: [BoundPredicate], _ table: Table) -> [BoundPredicate] {
        var tests: [Int: [ValueTest]] = [:]
        for part in parts {
            guard case .test(let path, let test) = part, let column = path.ownColumn, table.hasIndex(column) else {
                continue
            }
            tests[column, default: []].append(test)
        }
        guard tests.values.contains(where: { $0.count > 1 }) else { return parts }
        var joined: [BoundPredicate] = []
        for part in parts {
            guard case .test(let path, _) = part, let column = path.ownColumn, let all = tests[column], all.count != 1
            else {
                joined.append(part)
                continue
            }
            // Empty: already merged into the first of them.
            if !all.isEmpty { joined.append(.test(path, .all(all))) }
            tests[column] = []
        }
        return joined
    }

    private static func estimate(
        _ ranges: IndexRanges, _ column: Int, _ table: Table
    ) throws(EngineError) -> Int {
        if case .made(let all) = ranges, all.count == 1 { return try table.count(inIndexOf: column, all[0]) }
        let sample = 32
        var sum = 0
        for range in ranges.prefix(sample) { sum += try table.count(inIndexOf: column, range) }
        let count = ranges.count
        if count <= sample { return sum }
        let (product, overflow) = sum.multipliedReportingOverflow(by: count)
        return overflow ? estimateLimit : max(count, product / sample)
    }

    /// True if the entries are the matches, each once, and `estimate` is their exact number.
    var isCount: Bool {
        indexes.count == 1 && rest == nil && indexes[0].ranges.count <= 32 && indexes[0].term == nil
            && indexes[0].area == nil
    }

    /// The distinct keys of all entries, ascending.
    func keys(_ table: Table) throws(EngineError) -> [ObjectKey] {
        var keys: [ObjectKey] = []
        keys.reserveCapacity(min(estimate, table.count))
        var isAscending = true
        var last: UInt64 = 0
        for index in indexes {
            if let area = index.area {
                isAscending = false
                keys += try owners(area, index.column, table)
                continue
            }
            if let term = index.term {
                for key in try table.keys(with: term, inTextIndexOf: index.column) {
                    if key.rawValue <= last { isAscending = false }
                    last = key.rawValue
                    keys.append(key)
                }
                continue
            }
            for range in index.ranges {
                try table.forEachKey(inIndexOf: index.column, range) { key in
                    if key <= last { isAscending = false }
                    last = key
                    keys.append(ObjectKey(key))
                    return true
                }
            }
        }
        if isAscending { return keys }
        keys.sort()
        guard indexes.count > 1 else { return keys }
        var unique: [ObjectKey] = []
        unique.reserveCapacity(keys.count)
        for key in keys where unique.last != key { unique.append(key) }
        return unique
    }
}

extension Access {
    /// The objects whose embedded objects in the column lie in the area, each once.
    private func owners(_ area: AreaAccess, _ column: Int, _ table: Table) throws(EngineError) -> [ObjectKey] {
        guard let places = table.other(area.places) else { return [] }
        let evaluator = Evaluator(session: table.owner, table: places, expectedRows: area.ranges.count)
        var keys: [ObjectKey] = []
        for key in try evaluator.places(area.test, area.ranges, places) {
            keys += try places.backlinks(to: key, from: table, column: column)
        }
        return keys
    }
}

extension BoundPath {
    /// The column of the queried objects that the path consists of; nil if it has steps or ends inside a column.
    var ownColumn: Int? {
        if steps.isEmpty, outer == 0, case .column(let number, _) = end { return number }
        return nil
    }
}

extension ValueTest {
    /// The disjoint ranges of an index that contain every value that passes; `isExact` if they contain no other. Nil if
    /// an index is of no use.
    func indexRanges(_ type: ColumnType) -> (ranges: [IndexRange], isExact: Bool)? {
        switch self {
        case .isNull: return ([.nulls], true)
        case .never: return ([], true)
        case .bool(.equal, let value): return ([.integers(value ? 1 : 0, value ? 1 : 0)], true)
        case .int(let comparison, let value): return Self.range(comparison, value).map { ($0, true) }
        case .date(let comparison, let value): return Self.range(comparison, .date(value))
        case .objectID(let comparison, let low, let high):
            return Self.range(comparison, .objectID(low, high))
        case .uuid(let comparison, let low, let high): return Self.range(comparison, .uuid(low, high))
        case .intSet, .wideSet, .bytesSet: return rangesOfSet(type, passing: []).map { (Array($0), true) }
        case .bytes(let test) where type == .string && !test.isFolded && !test.isDiacriticInsensitive:
            return Self.ranges(test)
        case .all(let tests): return Self.intersection(tests, type)
        case .any(let tests):
            var ranges: [IndexRange] = []
            var isExact = true
            for test in tests {
                guard let found = test.indexRanges(type) else { return nil }
                ranges += found.ranges
                isExact = isExact && found.isExact
            }
            return (IndexRange.united(ranges), isExact)
        default: return nil
        }
    }

    private static func range(_ comparison: ComparisonOperator, _ value: Int64) -> [IndexRange]? {
        switch comparison {
        case .equal: [.integers(value, value)]
        case .less: value == .min ? [] : [.integers(.min, value - 1)]
        case .lessOrEqual: [.integers(.min, value)]
        case .greater: value == .max ? [] : [.integers(value + 1, .max)]
        case .greaterOrEqual: [.integers(value, .max)]
        default: nil
        }
    }

    /// The range of values that an index stores as bytes.
    private static func range(
        _ comparison: ComparisonOperator, _ value: Value
    ) -> (ranges: [IndexRange], isExact: Bool)? {
        let range: IndexRange?
        switch comparison {
        case .equal: range = .values(from: value, to: value)
        case .lessOrEqual: range = .values(from: nil, to: value)
        case .greaterOrEqual: range = .values(from: value, to: nil)
        // Includes one value too many.
        case .less: return IndexRange.values(from: nil, to: value).map { ([$0.withoutEnd], $0.isExact) }
        case .greater: return IndexRange.values(from: value, to: nil).map { ([$0.withoutBegin], $0.isExact) }
        default: return nil
        }
        return range.map { ([$0], $0.isExact) }
    }

    private static func ranges(_ test: BytesTest) -> (ranges: [IndexRange], isExact: Bool)? {
        let needle = test.needle
        let range: IndexRange
        switch test.operation {
        case .equal: range = .texts(from: needle, to: needle)
        case .less, .lessOrEqual: range = .texts(from: nil, to: needle)
        case .greater, .greaterOrEqual: range = .texts(from: needle, to: nil)
        case .prefix:
            if needle.isEmpty { return ([], true) }
            return ([.prefix(needle)], needle.count < IndexKey.exactByteCount)
        case .like:
            // The literal before the first wildcard.
            let literal = Array(needle.prefix { $0 != 0x2A && $0 != 0x3F })
            return literal.isEmpty ? nil : ([.prefix(literal)], false)
        case .notEqual, .suffix, .contains: return nil
        }
        switch test.operation {
        case .less: return ([range.withoutEnd], range.isExact)
        case .greater: return ([range.withoutBegin], range.isExact)
        default: return ([range], range.isExact)
        }
    }

    /// The intersection of the ranges of all tests that have ranges; the other tests are evaluated on the rows.
    private static func intersection(
        _ tests: [ValueTest], _ type: ColumnType
    ) -> (ranges: [IndexRange], isExact: Bool)? {
        var left: [IndexRange]?
        var isExact = true
        for test in tests {
            guard let found = test.indexRanges(type) else {
                isExact = false
                continue
            }
            let ranges = IndexRange.united(found.ranges)
            left = left.map { IndexRange.intersection($0, ranges) } ?? ranges
            isExact = isExact && found.isExact
        }
        return left.map { ($0, isExact) }
    }
}
