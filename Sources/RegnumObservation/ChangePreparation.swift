// SPDX-License-Identifier: Apache-2.0
// The data that a delivery needs, computed on another thread: the changes between two versions, the current elements of
// observed queries, and the results of queries that are about to be observed.
//
//     Realm's thread: init, with the observed queries ──▶ any thread: run ──▶ Realm's thread: adopt
//
// It works in frozen sessions on its own copies; the observed queries stay at their version until `adopt`.

package import RegnumEngine
package import RegnumQuery

package final class ChangePreparation: @unchecked Sendable {
    // Sendable: everything except `newer` and `older` is used by one thread at a time, in the order above; the callers
    // synchronize the hand-over from one to the next.

    /// The version last delivered to observers; nil if no observer has begun yet.
    package let older: Session?
    /// The version to deliver.
    package let newer: Session
    private let tables: Set<TableKey>?
    private let regions: [Region]
    private var twins: [(query: ObservedQuery, twin: ObservedQuery)] = []
    private var known: Set<ObjectIdentifier> = []
    /// Queries that are about to be observed. `original` is retained because its address may be the key.
    private var firsts: [ObservedQueries.Key: (table: TableKey, query: ObjectQuery, original: ObjectQuery)] = [:]
    private var found: [ObservedQueries.Key: ObservedQuery] = [:]
    private var walk: RegionTraversal?
    private var failure: EngineError?

    /// - Parameters:
    ///   - older: frozen, like `newer`, and of the same schema.
    ///   - tables: the tables to compare; nil for all.
    ///   - regions: the regions in which changes count.
    package init(older: Session?, newer: Session, tables: Set<TableKey>?, regions: [Region]) {
        self.older = older
        self.newer = newer
        self.tables = tables
        self.regions = regions
    }

    /// Adds a query that is observed, at the version of `older`.
    package func add(_ query: ObservedQuery) {
        if !known.insert(ObjectIdentifier(query)).inserted { return }
        twins.append((query, query.twin(in: newer)))
    }

    /// Adds a query that is about to be observed.
    package func add(_ query: ObjectQuery, of table: TableKey, in queries: ObservedQueries) {
        firsts[queries.key(query, of: table)] = (table, ObjectQuery(query, in: newer), query)
    }

    /// True if changes to these tables, nil for all, are part of the comparison.
    package func covers(_ watched: Set<TableKey>?) -> Bool {
        guard let tables else { return true }
        return watched?.isSubset(of: tables) ?? false
    }

    /// Computes the results. May be called from any thread, once.
    package func run() {
        do throws(EngineError) {
            if let older {
                let changes = try newer.changes(since: older) { tables?.contains($0) ?? true }
                let walk = RegionTraversal(older: older, newer: newer, changes: changes)
                var modified: [TableKey: Set<ObjectKey>] = [:]
                for region in regions where region.isKept { modified[region.table] = try walk.modified(region) }
                for (query, twin) in twins { _ = try twin.advance(walk, modified: modified[query.table] ?? []) }
                self.walk = walk
            }
            for (key, first) in firsts {
                found[key] = try ObservedQuery(table: first.table, query: first.query, in: newer)
            }
        } catch {
            failure = error
        }
    }

    /// Moves the observed queries to the newer version, and offers the results of new queries to observers that are
    /// about to begin. Returns the traversal; nil if `run` failed, in which case nothing has moved, or if there is no
    /// older version. The caller must keep this object alive until all observers have been processed, because offers
    /// are found by the addresses of objects that it retains.
    package func adopt(in queries: ObservedQueries) -> RegionTraversal? {
        if failure != nil { return nil }
        queries.offer(found)
        if walk == nil { return nil }
        for (query, twin) in twins { query.adopt(twin) }
        return walk
    }
}
