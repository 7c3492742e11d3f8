// SPDX-License-Identifier: Apache-2.0
// The results of a query at one version, by position and by object, of which only as many are found as are asked for.

internal import RegnumEngine
internal import RegnumInspect
internal import RegnumQuery

/// Confined to the query's session. Memory: nothing for all objects in the order of their creation, otherwise 8 bytes
/// for each result once a position beyond the first ones was asked for.
final class ResultList {
    /// The number of results that are found at first. Cheap also for a sorted query: the others are not sorted.
    private static let firstCount = 1000

    let count: Int
    private let query: ObjectQuery
    private let table: Table
    private let path: String
    /// All or the first results; nil if the positions are those of the table.
    private var found: [ObjectKey]?

    /// Throws `InspectionError`.
    init(_ query: ObjectQuery, _ table: Table, _ path: String) throws {
        self.query = query
        self.table = table
        self.path = path
        if query.predicate == nil, query.orderings.isEmpty {
            count = table.count
            return
        }
        let isSortOnly = query.orderings.allSatisfy { if case .sort = $0 { true } else { false } }
        let first = try inspecting(path) { () throws(EngineError) in
            isSortOnly ? try query.keys(first: Self.firstCount) : try query.keys()
        }
        found = first
        guard isSortOnly, first.count == Self.firstCount else {
            count = first.count
            return
        }
        count = try inspecting(path) { () throws(EngineError) in try query.count() }
    }

    /// The objects at the positions, as far as there are any.
    func keys(_ positions: Range<Int>) throws -> [ObjectKey] {
        let positions = positions.clamped(to: 0..<count)
        if found == nil {
            return try inspecting(path) { () throws(EngineError) in
                var keys: [ObjectKey] = []
                for position in positions { keys.append(try table.key(atPosition: position)) }
                return keys
            }
        }
        return Array(try keys(upTo: positions.upperBound)[positions])
    }

    /// The number of objects that are held in memory.
    var keptCount: Int { found?.count ?? 0 }

    private func keys(upTo end: Int) throws -> [ObjectKey] {
        if let found, found.count >= end { return found }
        let all = try inspecting(path) { () throws(EngineError) in try query.keys() }
        found = all
        guard all.count == count else {
            throw InspectionError(
                path: path, reason: .damaged, description: "'\(path)' is damaged: the results of a query differ.")
        }
        return all
    }

    /// The position of an object; nil if it is not among the results. O(results) if they are filtered or sorted.
    func position(of key: ObjectKey) throws -> Int? {
        guard let first = found else {
            return try inspecting(path) { () throws(EngineError) in try table.position(of: key) }
        }
        if let position = first.firstIndex(of: key) { return position }
        return first.count == count ? nil : try keys(upTo: count).firstIndex(of: key)
    }
}
