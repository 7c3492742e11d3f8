// SPDX-License-Identifier: Apache-2.0
// The observed queries of one Realm. Equal queries share one `ObservedQuery`, so ten observers of the same results cost
// as much as one.

package import RegnumEngine
package import RegnumQuery

/// Confined to the session's thread.
package final class ObservedQueries {
    /// Equal for queries that share one `ObservedQuery`. Valid while the query exists.
    package struct Key: Hashable {
        var table: TableKey
        /// Set for a query that cannot be shared.
        var identity: ObjectIdentifier?
        var predicate: BoundPredicate?
        var orderings: [Ordering] = []
    }
    private struct WeakQuery { weak var query: ObservedQuery? }

    private var queries: [Key: WeakQuery] = [:]
    /// Results that another thread has computed for queries that are not observed yet; see `ChangePreparation`.
    private var offers: [Key: ObservedQuery] = [:]
    /// The tables of queries that do not select a whole table.
    private var tables: Set<TableKey> = []
    /// When there are this many entries, those without observers are removed.
    private var most = 64

    package init() {}

    /// Returns the observed query at the session's current version. A nil `query` stands for all objects of the table.
    /// The caller retains the result for as long as it observes it.
    package func query(
        _ query: ObjectQuery?, of table: TableKey, in session: Session
    ) throws(EngineError) -> ObservedQuery {
        let key = key(query, of: table)
        // A query whose observers have ended stays at its old version.
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

    /// Removes queries without observers, so that later lookups do not pay for them. Called when observers have ended.
    package func dropEnded() {
        queries = queries.filter { $0.value.query != nil }
        tables = Set(queries.keys.lazy.filter { $0 != Key(table: $0.table) }.map(\.table))
    }

    /// The result of an equal query, from its observers or from another thread that computed it for new observers, if
    /// it matches the session's current version; nil for a whole table.
    package func known(_ query: ObjectQuery, of table: TableKey, in session: Session) -> ObservedQuery? {
        // Most queries run once, and building a key for each would often cost as much as the query.
        if !tables.contains(table), offers.isEmpty { return nil }
        let key = key(query, of: table)
        if let known = queries[key]?.query, known.isCurrent(in: session) { return known }
        if let offer = offers[key], offer.isCurrent(in: session) { return offer }
        return nil
    }

    /// True if an equal query has observers.
    package func isObserved(_ query: ObjectQuery, of table: TableKey) -> Bool {
        tables.contains(table) && queries[key(query, of: table)]?.query != nil
    }

    package func key(_ query: ObjectQuery?, of table: TableKey) -> Key {
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

    /// Called when the observations that the results were computed for have begun.
    package func endOffers() { if !offers.isEmpty { offers = [:] } }
}
