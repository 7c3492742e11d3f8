// SPDX-License-Identifier: Apache-2.0
// Decides when and on which thread the changes since the last delivery are computed.
//
//     none ──advance: the diff is expensive──▶ running ──its thread is done──▶ finished
//      ▲                                          │                                │
//      └──drop: the versions no longer fit────────┴──take: the next turn delivers──┘
//
// While a diff runs, the Realm stays at its old version. Cheap diffs are computed by the Realm's own thread,
// immediately.
//
// Confined to the Realm.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

final class DiffScheduler {
    /// The diff that another thread computes or has computed for the next delivery.
    private var background: BackgroundDiff?
    /// The traversal by which a turn found that no background diff is needed; valid for its two versions only.
    private var nearWalk: (walk: RegionTraversal, older: UInt64, newer: UInt64)?
    /// The largest diff that the Realm's own thread computes itself.
    var limits = DiffLimits()
    /// The number of diffs handed to another thread so far.
    private(set) var backgroundCount = 0

    private let observers: ObserverList
    private let delivered: DeliveredVersion
    private let isVolatile: Bool

    init(_ observers: ObserverList, _ delivered: DeliveredVersion, isVolatile: Bool) {
        (self.observers, self.delivered, self.isVolatile) = (observers, delivered, isVolatile)
    }

    var hasBackground: Bool { background != nil }
    var isRunning: Bool { background.map { !$0.isDone } ?? false }

    /// Advances to the version to deliver and returns whether the Realm has moved; nil if the diff was handed to
    /// another thread and the Realm stays at its version. `isFree`: the Realm may advance. `isWhole`: no diff is left
    /// to another thread. `whenDone` is called on any thread when such a diff is finished.
    func advance(
        _ core: RealmCore, isFree: Bool, isWhole: Bool, whenDone: @escaping @Sendable () -> Void
    ) -> Bool? {
        if let background {
            // Accepted even if a newer version exists by now: else fast commits would defer delivery forever.
            let target = background.versions.newer
            if !isWhole, !target.isAbandoned {
                if target.shows(versionOf: core.session) { return false }
                let isAhead = target.version > core.session.version
                if isFree, isAhead, (try? core.session.move(to: target)) != nil { return true }
            }
            drop()
            return isFree && core.advance()
        }
        if isWhole || observers.isEmpty { return isFree && core.advance() }
        // Keep the old version open, to return to it if the diff is expensive. No callback runs before that decision.
        let (last, schema) = (delivered.session, core.session.schemaStamp)
        var back: Session?
        if isFree, core.session.version < core.session.database.newestVersion {
            back = last.flatMap { $0.shows(versionOf: core.session) ? $0 : nil } ?? (try? core.sessionAtVersion())
        }
        let hasMoved = isFree && core.advance()
        // Queries are bound to the columns of the schema they were created for.
        guard core.session.schemaStamp == schema, let preparation = try? preparation(core) else { return hasMoved }
        if hasMoved {
            guard let back, (try? core.session.move(to: back)) != nil else { return true }
        }
        backgroundCount += 1
        background = BackgroundDiff(preparation, whenDone: whenDone)
        assertState()
        return nil
    }

    /// The diff that another thread should compute because it is expensive; nil if it is not.
    private func preparation(_ core: RealmCore) throws(EngineError) -> ChangePreparation? {
        nearWalk = nil
        let baseline = delivered.session
        if delivered.hasLatecomer || core.session.isAbandoned { return nil }
        if let baseline, baseline.schemaStamp != core.session.schemaStamp { return nil }
        var isLong = false
        var firsts: [(query: ObjectQuery, table: TableKey)] = []
        for weak in observers.beginners {
            guard let entry = weak.entry, !entry.hasBegun, let first = entry.observer.watching.first else { continue }
            if core.session.table(first.table)?.count ?? 0 <= limits.rows { continue }
            if observers.queries.isObserved(first.query, of: first.table) { continue }
            firsts.append(first)
            isLong = true
        }
        let isBehind = delivered.isBehind(core.session)
        if !isLong, let baseline, isBehind { isLong = try isLongWalk(from: baseline, core) }
        if !isLong { return nil }
        let made = ChangePreparation(
            older: isBehind ? try baseline?.freezeForLibrary() : nil, newer: try core.session.freezeForLibrary(),
            tables: observers.watchedTables(core.session).tables,
            regions: isBehind ? observers.entries.compactMap { $0.entry?.observer.watching.region } : [])
        for weak in observers.entries where isBehind {
            if let entry = weak.entry, entry.hasBegun, let query = entry.observer.watching.query { made.add(query) }
        }
        for first in firsts { made.add(first.query, of: first.table, in: observers.queries) }
        nearWalk = nil
        return made
    }

    /// True if much has changed, or if a query over many objects has to run again.
    private func isLongWalk(from baseline: Session, _ core: RealmCore) throws(EngineError) -> Bool {
        let watched = observers.watchedTables(core.session)
        let near = try core.session.changes(
            since: baseline, in: { watched.contains($0) }, atMost: limits.changes)
        guard let near else { return true }
        let walk = RegionTraversal(older: baseline, newer: core.session, changes: near)
        nearWalk = (walk, baseline.version, core.session.version)
        assertState()
        if near.isEmpty { return false }
        for index in watched.places(of: walk.changes.keys) {
            guard let entry = observers.entries[index].entry, entry.hasBegun, !entry.isEnded,
                let query = entry.observer.watching.query,
                core.session.table(query.table)?.count ?? 0 > limits.rows
            else { continue }
            if try query.runsAgain(behind: walk) { return true }
        }
        return false
    }

    /// Takes the diff of another thread, if it compares exactly the versions to be compared. Waits for it if it is
    /// running.
    func take(_ core: RealmCore) -> ChangePreparation? {
        guard let background else { return nil }
        guard fits(background.versions, core) else {
            drop()
            return nil
        }
        let found = background.result()
        drop()
        return found
    }

    private func fits(_ versions: ChangePreparation, _ core: RealmCore) -> Bool {
        if delivered.hasLatecomer || !versions.newer.shows(versionOf: core.session) { return false }
        switch (delivered.session, versions.older) {
        case (nil, nil): break
        case (let baseline?, let older): if !(older ?? versions.newer).shows(versionOf: baseline) { return false }
        case (nil, _?): return false
        }
        // Observers of other tables may have been added.
        return versions.covers(observers.watchedTables(core.session).tables)
    }

    /// Returns the traversal from the last delivered version to the one shown, computed by this thread.
    func traversal(from baseline: Session, _ core: RealmCore) throws(EngineError) -> RegionTraversal {
        defer { nearWalk = nil }
        if let nearWalk, nearWalk.older == baseline.version, nearWalk.newer == core.session.version {
            return nearWalk.walk
        }
        let watched = observers.watchedTables(core.session)
        // Empty if the versions are equal and only an observer with an older baseline has to be asked.
        let changes = try core.session.changes(since: baseline) { watched.contains($0) }
        return RegionTraversal(older: baseline, newer: core.session, changes: changes)
    }

    /// Call when no observer is left.
    func end() {
        drop()
        nearWalk = nil
    }

    /// For an in-memory database, waits until nothing reads it any more: it must be gone with its last Realm.
    func drop() {
        if isVolatile { background?.letGo() }
        background = nil
        assertState()
    }

    /// The traversal is that of a cheap diff, the background diff is that of an expensive one.
    private func assertState() {
        Invariants.require(
            "diff scheduler", background == nil || nearWalk == nil ? [] : ["two diffs of the same versions"])
    }

    /// Waits for the background diff, for tests: the next turn delivers its result.
    func waitForBackground() -> Bool {
        guard let background else { return false }
        _ = background.result()
        return true
    }
}

extension RealmCore {
    /// Opens a session that shows the Realm's version and does not advance with it.
    func sessionAtVersion() throws(EngineError) -> Session { try sessionAtVersion(of: session) }

    /// Like the method above, but at the version of another session of the same file.
    func sessionAtVersion(of other: Session) throws(EngineError) -> Session {
        let made = try session.database.makeSession()
        if made.version != other.version { try made.move(to: other) }
        return made
    }
}
