// SPDX-License-Identifier: Apache-2.0
// The observed queries of one Realm: equal ones are one, so that ten observers of the same results cost one.

package import RegnumEngine
package import RegnumQuery

/// Confined to the session's thread.
package final class ObservedQueries {
    private struct Key: Hashable {
        var table: TableKey
        /// Of a query that nobody else may share.
        var identity: ObjectIdentifier?
        var predicate: BoundPredicate?
        var orderings: [Ordering] = []
    }
    private struct WeakQuery { weak var query: ObservedQuery? }

    private var queries: [Key: WeakQuery] = [:]
    /// How many there may be before ended ones are dropped.
    private var most = 64

    package init() {}

    /// What the query finds in the session's version of now; nil stands for all objects of the table. The caller holds
    /// it as long as it observes.
    package func query(
        _ query: ObjectQuery?, of table: TableKey, in session: Session
    ) throws(EngineError) -> ObservedQuery {
        var key = Key(table: table)
        if let query {
            if QueryRegion(query).namesKeys {
                key.identity = ObjectIdentifier(query)
            } else {
                key.predicate = query.predicate
                key.orderings = query.orderings
            }
        }
        // One whose observers have ended stays behind.
        if let known = queries[key]?.query, known.isCurrent(in: session) { return known }
        let made = try ObservedQuery(table: table, query: query, in: session)
        if queries.count >= most {
            queries = queries.filter { $0.value.query != nil }
            most = max(64, 2 * queries.count)
        }
        queries[key] = WeakQuery(query: made)
        return made
    }
}
