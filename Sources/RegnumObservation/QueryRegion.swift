// SPDX-License-Identifier: Apache-2.0
// What the result of a query depends on: which columns of its own table decide about membership and order, and
// whether other tables do.

package import RegnumEngine
package import RegnumQuery

package struct QueryRegion: Sendable {
    /// Columns of the query's table that decide about membership.
    package private(set) var filterColumns = ColumnSet()
    /// Columns of the query's table that decide about order.
    package private(set) var orderColumns = ColumnSet()
    /// Other tables that decide about either; backlinks make it that of their origin.
    package private(set) var otherTables: Set<TableKey> = []
    /// True where an object's membership and place do not depend on other objects of the table: no order, no
    /// distinctness, no slices, no links.
    package private(set) var isPlainFilter = true

    package init(_ query: ObjectQuery) {
        if let predicate = query.predicate { visit(predicate) }
        for ordering in query.orderings {
            isPlainFilter = false
            switch ordering {
            case .sort(let keys), .distinct(let keys):
                for key in keys { visit(key.links, last: key.column, isOrder: true) }
            case .slice: break
            case .filter(let predicate): visit(predicate)
            }
        }
        if !otherTables.isEmpty { isPlainFilter = false }
    }

    /// True where a change of these columns of the own table may change membership or order.
    package func dependsOn(_ columns: ColumnSet) -> Bool {
        columns.intersects(filterColumns) || columns.intersects(orderColumns)
    }

    private mutating func visit(_ predicate: BoundPredicate) {
        switch predicate {
        case .constant: break
        case .and(let parts), .or(let parts): for part in parts { visit(part) }
        case .not(let part): visit(part)
        case .test(let path, _): visit(path)
        case .aggregate(let aggregate, _): visit(aggregate)
        case .comparePaths(let left, _, let right, _):
            visit(left)
            visit(right)
        case .compareAggregate(let aggregate, _, let path):
            visit(aggregate)
            visit(path)
        case .geo(let path, _), .text(let path, _): visit(path)
        case .subquery(let path, let inner, _):
            visit(path)
            // Its columns are those of the table at the end of the path, which is another one already.
            visitElsewhere(inner)
        }
    }

    private mutating func visit(_ aggregate: BoundAggregate) { visit(aggregate.path) }

    private mutating func visit(_ path: BoundPath) {
        let last: Int? =
            switch path.end {
            case .column(let column, _), .elements(let column, _), .keys(let column), .entry(let column, _, _),
                .nested(let column, _):
                column
            case .object: nil
            }
        visit(path.steps, last: last, isOrder: false)
    }

    /// Only the tables that a predicate on another table leads to.
    private mutating func visitElsewhere(_ predicate: BoundPredicate) {
        var inner = self
        inner.visit(predicate)
        otherTables.formUnion(inner.otherTables)
    }

    private mutating func visit(_ steps: [PathStep], last: Int?, isOrder: Bool) {
        for (i, step) in steps.enumerated() {
            switch step {
            case .link(let column, let target), .links(let column, let target), .entry(let column, _, let target):
                if i == 0 { insert(column, isOrder) }
                otherTables.insert(target)
            case .backlinks(let origin, _): otherTables.insert(origin)
            }
        }
        if steps.isEmpty, let last { insert(last, isOrder) }
    }

    private mutating func insert(_ column: Int, _ isOrder: Bool) {
        if isOrder { orderColumns.insert(column) } else { filterColumns.insert(column) }
    }
}
