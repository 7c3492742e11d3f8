// SPDX-License-Identifier: Apache-2.0
// Every operator on every type, nullable and not, by index and by scan, at the end of every shape of path, compared
// with a constant, another property or an aggregate: the executor against the evaluator of ReferenceObjects.swift,
// alone and in compounds, on random schemas and on data that changes. The seed is printed; REGNUM_QUERY_SEED repeats a
// run, REGNUM_QUERY_CASES sets the number of comparisons. The type-safe syntax has a table of its own:
// TypedDifferentialTests.

import Foundation
import RegnumEngine
import RegnumQuery
import Testing

/// One cell of the table: the parts of a comparison.
struct Cell: Hashable {
    var type: ColumnType
    var comparison: String
    var isNull: Bool
    var isIndexed: Bool
    var shape: Shape

    enum Shape: String, CaseIterable {
        case own, link = "link.", links = "link.link.", any = "ANY links.", back = "ANY backlinks.", list = "ANY list"
        case set = "ANY set", map = "ANY map", entry = "map['k']", keys = "ANY map.@allKeys", within = "any['k']"
        case subquery = "SUBQUERY"
        // With a property of the object itself on the other side instead of a constant.
        case columns = "own, own", linkedColumns = "link., own"
        case count = "@count, own", extreme = "@min @max, own", total = "@sum @avg, own"
        case countOf = "@count", extremeOf = "@min @max", totalOf = "@sum @avg"
    }

    static let orders = ["==", "!=", "<", "<=", ">", ">="]

    /// Further operators for strings and data: all of them with [c] and [d] but LIKE, which has no [d].
    private static let textual: [String] = {
        let parts = ["IN", "BEGINSWITH", "ENDSWITH", "CONTAINS"]
        var names = parts + ["LIKE", "LIKE[c]"]
        for options in ["[c]", "[d]", "[cd]"] { names += (["==", "!="] + parts).map { $0 + options } }
        return names
    }()

    static func operators(_ type: ColumnType) -> [String] {
        switch type {
        case .int, .float, .double, .decimal128, .date: orders + ["IN", "BETWEEN"]
        case .mixed: orders + ["BETWEEN"] + textual
        case .string, .data: orders + textual
        default: ["==", "!=", "IN"]
        }
    }

    static func isIndexable(_ type: ColumnType) -> Bool {
        [.bool, .int, .string, .date, .objectID, .uuid, .mixed].contains(type)
    }

    private var isReachable: Bool {
        let isOfSome = comparison == "BETWEEN" || comparison.hasPrefix("IN")
        if isNull, comparison == "BETWEEN" { return false }
        switch shape {
        case .own, .link, .links, .any, .back, .subquery: return !isIndexed || Self.isIndexable(type)
        case .list, .set, .map, .entry: return !isIndexed
        case .keys: return !isIndexed && !isNull && type == .string
        case .within: return !isIndexed && type == .mixed
        case .columns, .linkedColumns: return !isIndexed && !isOfSome
        case .count: return !isOfSome && isOfFigures([.int, .float, .double, .decimal128, .mixed])
        case .extreme: return !isOfSome && isOfFigures([.int, .float, .double, .decimal128, .mixed, .date])
        case .total: return !isOfSome && isOfFigures([.int, .float, .double])
        case .countOf: return !isNull && isOfFigures(ReferenceObjects.types)
        case .extremeOf: return isOfFigures([.int, .float, .double, .decimal128, .mixed, .date])
        case .totalOf: return isOfFigures([.int, .float, .double, .decimal128, .mixed])
        }
    }

    private func isOfFigures(_ types: [ColumnType]) -> Bool {
        !isIndexed && types.contains(type) && (Self.orders + ["IN", "BETWEEN"]).contains(comparison)
    }

    /// The reachable cells of a type, an operator and a shape.
    static func cells(of type: ColumnType, _ comparison: String, _ shape: Shape) -> [Cell] {
        var cells: [Cell] = []
        for number in 0..<4 {
            let cell = Cell(
                type: type, comparison: comparison, isNull: number & 1 != 0, isIndexed: number & 2 != 0, shape: shape)
            if cell.isReachable { cells.append(cell) }
        }
        return cells
    }

    /// All reachable cells.
    static let reachable: [Cell] = {
        var all: [Cell] = []
        for type in ReferenceObjects.types {
            for comparison in operators(type) {
                for shape in Shape.allCases { all += cells(of: type, comparison, shape) }
            }
        }
        return all
    }()
}

@Suite struct DifferentialTests {
    private static func environment(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    #if DEBUG
        private static let usualCases: UInt64 = 3_000
    #else
        private static let usualCases: UInt64 = 200_000
    #endif

    @Test("Every operator, type, null, index and shape of path has the result of a plain evaluator")
    func differential() throws {
        let cases = Int(Self.environment("REGNUM_QUERY_CASES") ?? Self.usualCases)
        let seed = Self.environment("REGNUM_QUERY_SEED") ?? UInt64.random(in: 0...UInt64.max)
        var random = QueryRandom(state: seed)
        var counts: [Cell: Int] = [:]
        var asked = 0
        var nodes = try ReferenceObjects(&random)
        var cells: [Cell] = []
        var before: (text: String, arguments: [Constant], rows: Set<Int>)?
        while asked < cases {
            if cells.isEmpty { cells = Cell.reachable.shuffled(using: &random) }
            if asked % 700 == 699 { nodes = try ReferenceObjects(&random) }
            if asked % 50 == 49 { try nodes.change(&random) }
            let cell = cells.removeLast()
            asked += 1
            counts[cell, default: 0] += 1
            let leaf = nodes.comparison(cell, &random)
            var rows = Set(leaf.rows)
            var (text, arguments) = (leaf.text, leaf.arguments)
            if asked % 3 == 0 {
                text = "NOT (\(text))"
                rows = Set(0..<nodes.rowCount).subtracting(rows)
            }
            if asked % 50 > 1, asked % 700 != 0, let before, asked % 2 == 0 {
                let isAnd = random.next() % 2 == 0
                text = "(\(before.text)) \(isAnd ? "AND" : "OR") \(text)"
                arguments = before.arguments + arguments
                rows = isAnd ? rows.intersection(before.rows) : rows.union(before.rows)
            }
            before = asked % 50 >= 48 || asked % 700 >= 698 ? nil : (text, arguments, rows)
            if text.utf8.count > 400 { before = nil }
            guard try nodes.check(text, arguments, rows.sorted(), &random) else {
                Issue.record("seed \(seed), case \(asked): \(text) \(arguments)")
                return
            }
        }
        // Each cell is tested once before one is tested again.
        let empty = Cell.reachable.filter { counts[$0] == nil }
        #expect(empty.count == max(0, Cell.reachable.count - cases), "seed \(seed): never asked: \(empty.prefix(5))")
        Self.show(counts, seed, asked)
    }

    /// The table: a line for each type and operator, with the fewest cases of a cell in it and all of them.
    private static func show(_ counts: [Cell: Int], _ seed: UInt64, _ asked: Int) {
        var text = "Seed \(seed), \(asked) comparisons in \(counts.count) of \(Cell.reachable.count) cells\n"
        text +=
            "type operator: cells, fewest and most cases of a cell by "
            + Cell.Shape.allCases.map(\.rawValue)
            .joined(separator: " | ") + "\n"
        for type in ReferenceObjects.types {
            for comparison in Cell.operators(type) {
                text += "\(type) \(comparison):"
                for shape in Cell.Shape.allCases {
                    let found = Cell.cells(of: type, comparison, shape).map { counts[$0] ?? 0 }
                    text += " | \(found.count): \(found.min() ?? 0)-\(found.max() ?? 0)"
                }
                text += "\n"
            }
        }
        FileHandle.standardError.write(Data(text.utf8))
    }
}
