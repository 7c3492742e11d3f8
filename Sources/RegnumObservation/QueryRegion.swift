// SPDX-License-Identifier: Apache-2.0
// The data that the result of a query depends on: the columns of its own table that determine membership and order, the
// links through which other tables affect them, and whether membership is decided for each object separately.

package import RegnumEngine
package import RegnumQuery

package struct QueryRegion: Sendable {
    /// Columns of the query's table that determine membership.
    package let filterColumns: ColumnSet
    /// Columns of the query's table that determine order.
    package let orderColumns: ColumnSet
    /// Other tables that determine either; for backlinks, the table of their origin.
    package let otherTables: Set<TableKey>
    /// The objects that may have entered, left or moved although none was inserted or deleted.
    package let region: Region
    /// True if membership of an object does not depend on other objects of the table: no distinct, no slices.
    package let isEachForItself: Bool
    /// True if the query names keys of dictionaries, which storage distinguishes more finely than `==` on strings.
    package let namesKeys: Bool

    package init(_ query: ObjectQuery) {
        let paths = Paths(query)
        isEachForItself = paths.isEachForItself
        filterColumns = paths.filterColumns
        orderColumns = paths.orderColumns
        otherTables = paths.otherTables
        namesKeys = paths.namesKeys
        region = .keyPaths(query.tableKey, paths.paths)
    }

    /// `otherTables`, without computing the rest.
    package static func otherTables(of query: ObjectQuery) -> Set<TableKey> {
        query.asksOwnColumnsOnly ? [] : Paths(query).otherTables
    }

    /// The objects of a diff that may have entered, left or moved in the result. They may no longer exist, or may not
    /// have existed before.
    package func deciding(in walk: RegionTraversal) throws(EngineError) -> Set<ObjectKey> {
        var found = try walk.modified(region)
        if let changes = walk.changes[region.table] {
            found.formUnion(changes.inserted)
            found.formUnion(changes.deleted)
        }
        return found
    }
}

/// The paths that a query reads.
private struct Paths {
    var paths: [(steps: [Region.Step], column: Int?)] = []
    var filterColumns = ColumnSet()
    var orderColumns = ColumnSet()
    var otherTables: Set<TableKey> = []
    var namesKeys = false
    var isEachForItself = true
    /// The steps to the objects on which enclosing SUBQUERYs are evaluated, innermost last.
    private var scopes: [[Region.Step]] = []

    init(_ query: ObjectQuery) {
        if let predicate = query.predicate { visit(predicate, behind: []) }
        for ordering in query.orderings {
            switch ordering {
            case .sort(let keys): visit(keys)
            case .distinct(let keys):
                isEachForItself = false
                visit(keys)
            case .slice: isEachForItself = false
            case .filter(let predicate):
                isEachForItself = false
                visit(predicate, behind: [])
            }
        }
    }

    private mutating func visit(_ keys: [SortKey]) {
        for key in keys {
            if key.entry != nil { namesKeys = true }
            visit(key.links, key.column, behind: [], isOrder: true)
        }
    }

    mutating func visit(_ predicate: BoundPredicate, behind steps: [Region.Step]) {
        switch predicate {
        case .constant, .piece: break
        case .and(let parts), .or(let parts), .pieces(let parts): for part in parts { visit(part, behind: steps) }
        case .not(let part): visit(part, behind: steps)
        case .test(let path, _), .text(let path, _): visit(path, behind: steps)
        case .aggregate(let aggregate, _): visit(aggregate, behind: steps)
        case .comparePaths(let left, _, let right, _):
            visit(left, behind: steps)
            visit(right, behind: steps)
        case .compareAggregate(let aggregate, _, let path):
            visit(aggregate, behind: steps)
            visit(path, behind: steps)
        case .geo(let path, let test):
            let steps = start(of: path, behind: steps)
            visit(path.steps, test.typeColumn, behind: steps)
            visit(path.steps, test.coordinatesColumn, behind: steps)
        case .subquery(let path, let inner, _):
            visit(path, behind: steps)
            let found = start(of: path, behind: steps) + path.steps.map { step($0) }
            scopes.append(steps)
            visit(inner, behind: found)
            scopes.removeLast()
        }
    }

    /// The steps to the object at which the path begins.
    private func start(of path: BoundPath, behind steps: [Region.Step]) -> [Region.Step] {
        path.outer == 0 ? steps : scopes[scopes.count - path.outer]
    }

    private mutating func visit(_ aggregate: BoundAggregate, behind steps: [Region.Step]) {
        visit(aggregate.path, behind: steps)
        guard let column = aggregate.column else { return }
        visit(aggregate.path.steps, column, behind: start(of: aggregate.path, behind: steps))
    }

    private mutating func visit(_ path: BoundPath, behind steps: [Region.Step]) {
        let steps = start(of: path, behind: steps)
        switch path.end {
        case .column(let column, _), .elements(let column, _), .keys(let column):
            visit(path.steps, column, behind: steps)
        case .entry(let column, _, _), .nested(let column, _):
            namesKeys = true
            visit(path.steps, column, behind: steps)
        case .object: visit(path.steps, nil, behind: steps)
        }
    }

    mutating func visit(
        _ links: [PathStep], _ column: Int?, behind steps: [Region.Step], isOrder: Bool = false
    ) {
        var all = steps
        for link in links {
            let next = step(link)
            if all.isEmpty, case .forward(let column, _) = next { insert(column, isOrder) }
            all.append(next)
        }
        if all.isEmpty, let column { insert(column, isOrder) }
        paths.append((all, column))
    }

    private mutating func step(_ step: PathStep) -> Region.Step {
        otherTables.insert(step.target)
        switch step {
        case .link(let column, let target), .links(let column, let target):
            return .forward(column: column, target: target)
        case .entry(let column, _, let target):
            namesKeys = true
            return .forward(column: column, target: target)
        case .backlinks(let origin, let column): return .backlinks(origin: origin, column: column)
        }
    }

    private mutating func insert(_ column: Int, _ isOrder: Bool) {
        if isOrder { orderColumns.insert(column) } else { filterColumns.insert(column) }
    }
}
