// SPDX-License-Identifier: Apache-2.0
// What a delivery needs to know, found out on another thread: what has changed between two versions, where the
// elements of observed queries are now, and what queries find that are to be observed from now on.
//
//     Realm's thread: init, with what is observed ──▶ any thread: run ──▶ Realm's thread: adopt
//
// It works in frozen sessions on copies of its own; what is observed stays where it is until `adopt`.

package import RegnumEngine
package import RegnumQuery

package final class ChangePreparation: @unchecked Sendable {
    // Sendable: everything but `newer` and `older` is touched by one thread at a time, in the order above; who goes
    // over from one to the next sees to that.

    /// What observers were told of last; nil where all of them are to begin.
    package let older: Session?
    /// What they are to be told of.
    package let newer: Session
    private let tables: Set<TableKey>?
    private let regions: [Region]
    private var twins: [(query: ObservedQuery, twin: ObservedQuery)] = []
    private var known: Set<ObjectIdentifier> = []
    /// With the query as it is observed, which is held because its address may be its key.
    private var firsts: [ObservedQueries.Key: (table: TableKey, query: ObjectQuery, original: ObjectQuery)] = [:]
    private var found: [ObservedQueries.Key: ObservedQuery] = [:]
    private var walk: RegionWalk?
    private var failure: EngineError?

    /// - Parameters:
    ///   - older: frozen, as `newer`, which has the same schema.
    ///   - tables: those to be compared; nil for all.
    ///   - regions: what is to count as changed.
    package init(older: Session?, newer: Session, tables: Set<TableKey>?, regions: [Region]) {
        self.older = older
        self.newer = newer
        self.tables = tables
        self.regions = regions
    }

    /// One that is observed, at the version of `older`.
    package func add(_ query: ObservedQuery) {
        if !known.insert(ObjectIdentifier(query)).inserted { return }
        twins.append((query, query.twin(in: newer)))
    }

    /// One that is to be observed.
    package func add(_ query: ObjectQuery, of table: TableKey, in queries: ObservedQueries) {
        firsts[queries.key(query, of: table)] = (table, ObjectQuery(query, in: newer), query)
    }

    /// True where changes of these tables, nil for all, would have been found.
    package func covers(_ watched: Set<TableKey>?) -> Bool {
        guard let tables else { return true }
        return watched?.isSubset(of: tables) ?? false
    }

    /// Looks. Any thread; once.
    package func run() {
        do throws(EngineError) {
            if let older {
                let changes = try newer.changes(since: older) { tables?.contains($0) ?? true }
                let walk = RegionWalk(older: older, newer: newer, changes: changes)
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

    /// Brings what is observed to the newer version, and offers the rest to those who begin; nil where it could not be
    /// found out: then nothing has moved. To be held while observers are asked.
    package func adopt(in queries: ObservedQueries) -> RegionWalk? {
        if failure != nil { return nil }
        queries.offer(found)
        if walk == nil { return nil }
        for (query, twin) in twins { query.adopt(twin) }
        return walk
    }
}
