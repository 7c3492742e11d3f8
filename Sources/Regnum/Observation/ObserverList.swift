// SPDX-License-Identifier: Apache-2.0
// The observers of one open Realm, and the tables that they watch. Tokens retain the entries; this list does not.
//
// Confined to the Realm.

internal import RegnumEngine
internal import RegnumObservation

final class ObserverList {
    /// Observers of objects, collections, maps, sections and projections. Read at every refresh: hence no exclusivity
    /// check.
    @exclusivity(unchecked) private(set) var entries: [WeakEntry] = []
    /// The entries that have not begun.
    private(set) var beginners: [WeakEntry] = []
    /// Observers of the Realm as a whole. Their blocks may retain the Realm, so only the tokens retain the entries.
    private(set) var realmEntries: [WeakEntry] = []
    /// Ended entries are removed when this count is reached.
    private var realmEntryLimit = 16
    /// The observers of each table, by their positions in `entries`; nil after observers were added or removed.
    private var watched: WatchedTables?
    /// Shares one query among observers of equal queries.
    let queries = ObservedQueries()
    /// The number of observers visited so far, whether they were asked or skipped.
    var visited = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count + realmEntries.count }

    /// Adds an entry. `session` shows the Realm's version; nil if the Realm is gone.
    func append(_ entry: ObservationEntry, in session: Session?) {
        entries.append(WeakEntry(entry: entry))
        guard let session, watched?.schema == session.schemaStamp else {
            watched = nil
            return
        }
        entry.tables = entry.observer.tables(in: session)
        watched?.add(entries.count - 1, entry.tables)
        assertState()
    }

    /// Adds an entry to those whose initial call is due.
    func appendBeginner(_ entry: ObservationEntry) { beginners.append(WeakEntry(entry: entry)) }

    /// Removes and returns the entries whose initial call is due.
    func takeBeginners() -> [WeakEntry] {
        defer { beginners = [] }
        return beginners
    }

    /// Adds an entry whose observer is a `RealmObserver`.
    func append(ofRealm entry: ObservationEntry) {
        // Own commits notify observers of the Realm without a turn, so no turn would remove ended entries.
        if realmEntries.count >= realmEntryLimit {
            realmEntries.removeAll { $0.entry?.isEnded ?? true }
            realmEntryLimit = max(16, realmEntries.count * 2)
        }
        realmEntries.append(WeakEntry(entry: entry))
        entry.hasBegun = true
    }

    /// Removes ended entries if their number differs from `living`, the number of observations that have not ended: the
    /// entries are not scanned at every commit.
    func dropEnded(_ living: Int?) {
        if living == count { return }
        let before = entries.count
        visited += count
        entries.removeAll { $0.entry?.isEnded ?? true }
        if entries.count != before {
            watched = nil
            queries.dropEnded()
        }
        beginners.removeAll { $0.entry?.isEnded ?? true }
        realmEntries.removeAll { $0.entry?.isEnded ?? true }
        assertState()
    }

    /// Call when an observer has changed the set of tables it watches.
    func forgetTables() { watched = nil }

    /// The tables that the observers watch. `session` shows the Realm's version.
    func watchedTables(_ session: Session) -> WatchedTables {
        if let watched, watched.schema == session.schemaStamp { return watched }
        var found = WatchedTables(schema: session.schemaStamp)
        visited += entries.count
        for (index, weak) in entries.enumerated() {
            guard let entry = weak.entry else { continue }
            entry.tables = entry.observer.tables(in: session)
            found.add(index, entry.tables)
        }
        watched = found
        return found
    }

    private func assertState() {
        assert(beginners.count <= entries.count, "an entry that is not observed is about to begin")
    }
}
