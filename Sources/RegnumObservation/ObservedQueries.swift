// SPDX-License-Identifier: Apache-2.0
// The observed queries of one Realm: equal ones are one, so that ten observers of the same results cost one.

package import RegnumEngine
package import RegnumQuery

/// Confined to the session's thread.
package final class ObservedQueries {
    struct Key: Hashable {
        var table: TableKey
        /// Of a query that nobody else may share.
        var identity: ObjectIdentifier?
        var predicate: BoundPredicate?
        var orderings: [Ordering] = []
    }
    private struct WeakQuery { weak var query: ObservedQuery? }

    private var queries: [Key: WeakQuery] = [:]
    /// What another thread has found for queries that nobody observes yet; see `ChangePreparation`.
    private var offers: [Key: ObservedQuery] = [:]
    /// Of the queries of less than whole tables.
    private var tables: Set<TableKey> = []
    /// How many there may be before ended ones are dropped.
    private var most = 64

    package init() {}

    /// What the query finds in the session's version of now; nil stands for all objects of the table. The caller holds
    /// it as long as it observes.
    package func query(
        _ query: ObjectQuery?, of table: TableKey, in session: Session
    ) throws(EngineError) -> ObservedQuery {
        let key = key(query, of: table)
        // One whose observers have ended stays behind.
        if let known = queries[key]?.query, known.isCurrent(in: session) { return known }
        let made: ObservedQuery
        if let offer = offers[key], offer.isCurrent(in: session) {
            made = ObservedQuery(table: table, query: query, as: offer)
        } else {
            made = try ObservedQuery(table: table, query: query, in: session)
        }
        if queries.count >= most {
            dropEnded()
            most = max(64, 2 * queries.count)
        }
        if query != nil { tables.insert(table) }
        queries[key] = WeakQuery(query: made)
        return made
    }

    /// When observers have ended: what nobody observes costs those nothing who ask for it.
    package func dropEnded() {
        queries = queries.filter { $0.value.query != nil }
        tables = Set(queries.keys.lazy.filter { $0 != Key(table: $0.table) }.map(\.table))
    }

    /// What observers of an equal query have found, or another thread for some that begin, where that is what the session's version of now has; nil for a
    /// whole table.
    package func known(_ query: ObjectQuery, of table: TableKey, in session: Session) -> ObservedQuery? {
        // Most queries are asked once: a key of each would take as long as many of them.
        if !tables.contains(table), offers.isEmpty { return nil }
        let key = key(query, of: table)
        if let known = queries[key]?.query, known.isCurrent(in: session) { return known }
        if let offer = offers[key], offer.isCurrent(in: session) { return offer }
        return nil
    }

    /// True where there are observers of an equal query.
    package func isObserved(_ query: ObjectQuery, of table: TableKey) -> Bool {
        tables.contains(table) && queries[key(query, of: table)]?.query != nil
    }

    func key(_ query: ObjectQuery?, of table: TableKey) -> Key {
        var key = Key(table: table)
        guard let query else { return key }
        if QueryRegion(query).namesKeys {
            key.identity = ObjectIdentifier(query)
        } else {
            key.predicate = query.predicate
            key.orderings = query.orderings
        }
        return key
    }

    func offer(_ found: [Key: ObservedQuery]) { offers = found }

    /// When the observations that wait for what was found have begun.
    package func endOffers() { if !offers.isEmpty { offers = [:] } }
}
