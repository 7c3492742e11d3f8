// SPDX-License-Identifier: Apache-2.0
// Notifies the observers of one open Realm of new versions. Confined to the Realm, except `schedule`.
//
//     commit elsewhere ──▶ schedule ──▶ (queue, run loop) turn: refresh, deliver
//     own commit       ──▶ observers of the Realm immediately, all others at the next turn
//     refresh, beginWrite ──▶ deliver immediately, inside the write transaction that begins, with own commits too
//     initial calls due   ──▶ before a write transaction begins, with the state before it
//
// `baseline` is the version that was last delivered to observers. A delivery computes the changes between it and the
// Realm's version, asks each observer for its change set, moves `baseline`, and only then calls users' blocks: a block
// may write, refresh, or end any observation. Expensive diffs are computed by another thread first: the turn ends with
// the Realm at its old version, and the next turn comes when the diff is ready (see BackgroundDiff). No diff is
// computed while a write transaction has uncommitted changes: when one begins, all diffs are computed before the first
// block is called, and later changes wait for its end.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery
internal import Synchronization

final class RealmNotifier: @unchecked Sendable {
    // Sendable: other threads only call `schedule`, which uses `place`, `isScheduled` and the weak core.
    private weak var core: RealmCore?
    let place: CallbackScheduler
    private let isScheduled = Atomic(false)
    // Used only on the Realm's own thread, and read at every refresh: hence no exclusivity check.
    @exclusivity(unchecked) private var entries: [WeakEntry] = []
    /// The entries that have not begun.
    private var beginners: [WeakEntry] = []
    /// Observers of the Realm as a whole. Their blocks may retain the Realm, so only the tokens retain the entries.
    private var realmEntries: [WeakEntry] = []
    /// Ended entries are removed when this count is reached.
    private var realmEntryLimit = 16
    /// Nil while there are no observers.
    private var baseline: Session?
    /// Shares one query among observers of equal queries.
    let queries = ObservedQueries()
    /// Which of `entries` watch which tables; nil after observers were added or removed.
    private var watched: WatchedTables?
    var work = DeliveryWork()
    /// True if all changes since `baseline` were made through this Realm.
    private var isLocal = true
    /// True if the Realm has advanced and its observers have not been notified.
    private var owesChange = false
    /// True if one of `entries` began at a version other than `baseline`.
    private var hasLatecomer = false
    /// The version that such entries share.
    private var lateStart: Session?
    /// Calls that are due, in order. A block that writes appends to it during iteration.
    private var pending: [DueCall] = []
    private var isDelivering = false
    /// The diff that another thread computes or has computed for the next delivery.
    private var background: BackgroundDiff?
    /// The traversal by which a turn found that no background diff is needed; valid for its two versions only.
    private var nearWalk: (walk: RegionTraversal, older: UInt64, newer: UInt64)?
    /// The largest diff that this thread computes itself.
    var limits = DiffLimits()
    /// The number of turns so far, for tests.
    private(set) var turns = 0
    /// The number of calls to observers of the Realm that are on the stack.
    private var tellings = 0
    /// True while observers of the Realm are notified of `.refreshRequired`.
    private var isAsking = false
    /// True if a turn occurred while a block ran its run loop, and was skipped.
    private var hasMissedTurn = false

    private let database: Database

    init(core: RealmCore, place: CallbackScheduler) {
        self.core = core
        self.place = place
        database = core.settings.database
    }

    deinit {
        // In a forked child the watch belongs to the parent, and a thread of the parent may have held the lock.
        if database.isForked { return }
        dropBackground()
        CommitNotifications.remove(database)
    }

    // MARK: Observers

    /// Adds an observer; its initial call comes at the next turn.
    func add(_ entry: ObservationEntry) {
        append(entry)
        beginners.append(WeakEntry(entry: entry))
        schedule()
    }

    private func append(_ entry: ObservationEntry) {
        entries.append(WeakEntry(entry: entry))
        guard let session = core?.session, watched?.schema == session.schemaStamp else {
            watched = nil
            return
        }
        entry.tables = entry.observer.tables(in: session)
        watched?.add(entries.count - 1, entry.tables)
    }

    /// Adds an observer that gets no initial call and is notified of changes since the version shown now.
    func addFromNow(_ entry: ObservationEntry) {
        guard let core else { return }
        // The count includes the new entry. Ended entries stay until they are half of all: n additions cost O(n).
        if core.livingObservations - 1 <= (entries.count + realmEntries.count) / 2 { dropEnded() }
        engine { () throws(EngineError) in
            if baseline == nil {
                baseline = try shownVersion(core)
            } else if baseline?.version != core.session.version {
                // The other entries are at an older version; they are notified at the next turn.
                if lateStart?.shows(versionOf: core.session) != true { lateStart = try shownVersion(core) }
                entry.start = lateStart
                hasLatecomer = true
            }
        }
        entry.hasBegun = true
        append(entry)
        // A commit made before this Realm was listening has not scheduled a turn.
        if core.settings.autorefresh, core.session.version < core.session.database.newestVersion { schedule() }
    }

    /// Sets the observer's baseline to the version of `home` if this Realm has advanced further: the observation was
    /// requested at that version, in another Realm. Has no effect on observers that get an initial call, which begin
    /// with the current state.
    func backdate(_ entry: ObservationEntry, to home: RealmCore) {
        guard let core, entry.hasBegun, home.session.version < core.session.version else { return }
        entry.start = engine { () throws(EngineError) in try version(of: home.session, core) }
        hasLatecomer = true
        schedule()
    }

    private func shownVersion(_ core: RealmCore) throws(EngineError) -> Session { try version(of: core.session, core) }

    private func version(of other: Session, _ core: RealmCore) throws(EngineError) -> Session {
        let made = try core.session.database.makeSession()
        if made.version != other.version { try made.move(to: other) }
        return made
    }

    /// Adds an entry whose observer is a `RealmObserver`.
    func add(ofRealm entry: ObservationEntry) {
        // Own commits notify observers of the Realm without a turn, so no turn would remove ended entries.
        if realmEntries.count >= realmEntryLimit {
            realmEntries.removeAll { $0.entry?.isEnded ?? true }
            realmEntryLimit = max(16, realmEntries.count * 2)
        }
        realmEntries.append(WeakEntry(entry: entry))
        entry.hasBegun = true
    }

    private func dropEnded() {
        // The entries are only scanned if one has ended, not at every commit.
        let living = core?.livingObservations
        if living != entries.count + realmEntries.count {
            let count = entries.count
            work.visited += count + realmEntries.count
            entries.removeAll { $0.entry?.isEnded ?? true }
            if entries.count != count {
                watched = nil
                queries.dropEnded()
            }
            beginners.removeAll { $0.entry?.isEnded ?? true }
            realmEntries.removeAll { $0.entry?.isEnded ?? true }
        }
        if entries.isEmpty {
            baseline = nil
            dropBackground()
            nearWalk = nil
            // Without a baseline there are no changes yet that were made elsewhere.
            isLocal = true
        }
    }

    /// Called after `Realm.invalidate`, which may have advanced the Realm: observations continue with new accessors,
    /// and report at the next turn what has changed since the last delivery.
    func didInvalidate(hasMoved: Bool) {
        guard let core else { return }
        dropEnded()
        for weak in entries { weak.entry?.observer.revive(in: _RealmHome(core: core)) }
        if hasMoved {
            isLocal = false
            owesChange = true
        }
        if hasMoved || !entries.isEmpty { schedule() }
    }

    /// True while an observer's block is called with changes.
    var isSending: Bool { isDelivering || tellings > 0 }
    /// Also true while a block is called with `.refreshRequired`.
    var isCalling: Bool { isSending || isAsking }

    // MARK: Turns

    /// Requests a turn, unless one has already been requested. May be called from any thread.
    func schedule() {
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        place.perform { [weak self] in self?.turn() }
    }

    /// Performs one turn of the callback scheduler. With `isWhole`, no diff is left to another thread and a later turn.
    /// Confined to the Realm.
    func turn(isWhole: Bool = false) {
        isScheduled.store(false, ordering: .releasing)
        turns += 1
        guard let core else { return }
        core.check()
        dropEnded()
        // The end of the write transaction schedules another turn.
        if core.isWriting { return }
        if isCalling {
            hasMissedTurn = true
            return
        }
        // Another turn is scheduled when it is done.
        if !isWhole, let background, !background.isDone { return }
        let wasLookedAt = background != nil
        let isFree = core.settings.autorefresh
        guard let hasMoved = come(core, isFree: isFree, isWhole: isWhole) else { return }
        if hasMoved {
            core.reloadTables()
            core.didShowOtherVersion()
            isLocal = false
            owesChange = true
        }
        if owesChange { tellChange(core) }
        let isBehind = core.session.version < core.session.database.newestVersion
        if !isFree, isBehind { askForRefresh(core) }
        deliver()
        // For commits that arrived during a background diff. An unreadable newest version would reschedule forever.
        if isFree, isBehind, wasLookedAt { schedule() }
    }

    /// Called after the Realm has advanced to a version committed elsewhere: notifies all observers immediately. If the
    /// advance was caused by a write inside a block, observers of the Realm are not notified within that block.
    func didAdvance() {
        guard let core else { return }
        isLocal = false
        if !isSending { tellChange(core) }
        deliver()
    }

    /// Called when a write transaction begins at a newer version committed elsewhere, before any block is called:
    /// computes all change sets first, because the first block called may change objects.
    func lookBeforeWrite() {
        guard let core else { return }
        isLocal = false
        look(core, first: true)
    }

    /// Called after `lookBeforeWrite`: delivers the change sets that it computed, in the same way as `didAdvance`.
    func didBeginWrite() {
        guard let core else { return }
        if !isSending { tellChange(core) }
        send(core)
    }

    /// Delivers own commits that no turn has delivered yet. Called when a write transaction has begun, so that its
    /// changes, which may be silenced for some observers, are reported separately. With `first`, new observers get
    /// their initial call too.
    func settle(first: Bool) {
        // Called at every refresh: loads the weak reference only if there are observers.
        guard !entries.isEmpty, let core else { return }
        let isBehind = baseline.map { $0.version != core.session.version } ?? false
        if isBehind || hasLatecomer || first { deliver(first: first) }
    }

    /// Called before a write transaction changes anything: new observers get their initial call with the state before
    /// it. If a running block begins the write transaction, they are called within that block: a later call would
    /// already show the transaction's changes.
    func beginBeforeWrite() {
        guard !beginners.isEmpty, let core else { return }
        let known = pending.count
        look(core, first: true)
        if !isDelivering { return send(core) }
        let firsts = pending[known...].filter(\.isFirst)
        pending[known...].removeAll(where: \.isFirst)
        for first in firsts where !first.entry.isEnded { first.call() }
    }

    /// Called after a commit of this Realm. The observers of `silent` are not notified of it.
    func didCommit(silent: [NotificationToken]) {
        guard let core else { return }
        let silent = Set(silent.compactMap { $0.entry.map { ObjectIdentifier($0) } })
        if !silent.isEmpty { deliver(silent: silent) }
        tellChange(core, silent: silent)
        if !entries.isEmpty { schedule() }
    }

    // MARK: Background diff

    /// Advances to the version to deliver and returns whether the Realm has moved; nil if the diff was handed to
    /// another thread and the Realm stays at its version.
    private func come(_ core: RealmCore, isFree: Bool, isWhole: Bool) -> Bool? {
        if let background {
            // Accepted even if a newer version exists by now: else fast commits would defer delivery forever.
            let target = background.versions.newer
            if !isWhole, !target.isAbandoned {
                if target.shows(versionOf: core.session) { return false }
                let isAhead = target.version > core.session.version
                if isFree, isAhead, (try? core.session.move(to: target)) != nil { return true }
            }
            dropBackground()
            return isFree && core.advance()
        }
        if isWhole || entries.isEmpty || !place.hasTurns { return isFree && core.advance() }
        // A way back to the old version: no callback runs before the decision.
        let (last, schema) = (baseline, core.session.schemaStamp)
        var back: Session?
        if isFree, core.session.version < core.session.database.newestVersion {
            back = last.flatMap { $0.shows(versionOf: core.session) ? $0 : nil } ?? (try? shownVersion(core))
        }
        let hasMoved = isFree && core.advance()
        // Queries are bound to the columns of the schema they were created for.
        guard core.session.schemaStamp == schema, let preparation = try? preparation(core) else { return hasMoved }
        if hasMoved {
            guard let back, (try? core.session.move(to: back)) != nil else { return true }
        }
        work.lookedElsewhere += 1
        background = BackgroundDiff(preparation) { [weak self] in self?.schedule() }
        return nil
    }

    /// The diff that another thread should compute because it is expensive; nil if it is not.
    private func preparation(_ core: RealmCore) throws(EngineError) -> ChangePreparation? {
        nearWalk = nil
        let baseline = baseline
        if hasLatecomer || core.session.isAbandoned { return nil }
        if let baseline, baseline.schemaStamp != core.session.schemaStamp { return nil }
        var isLong = false
        var firsts: [(query: ObjectQuery, table: TableKey)] = []
        for weak in beginners {
            guard let entry = weak.entry, !entry.hasBegun, let first = entry.observer.watching.first else { continue }
            if core.session.table(first.table)?.count ?? 0 <= limits.rows { continue }
            if queries.isObserved(first.query, of: first.table) { continue }
            firsts.append(first)
            isLong = true
        }
        let isBehind = baseline.map { $0.version != core.session.version } ?? false
        if !isLong, let baseline, isBehind { isLong = try isLongWalk(from: baseline, core) }
        if !isLong { return nil }
        let made = ChangePreparation(
            older: isBehind ? try baseline?.freezeForLibrary() : nil, newer: try core.session.freezeForLibrary(),
            tables: watchedTables(core.session).tables,
            regions: isBehind ? entries.compactMap { $0.entry?.observer.watching.region } : [])
        for weak in entries where isBehind {
            if let entry = weak.entry, entry.hasBegun, let query = entry.observer.watching.query { made.add(query) }
        }
        for first in firsts { made.add(first.query, of: first.table, in: queries) }
        nearWalk = nil
        return made
    }

    /// True if much has changed, or if a query over many objects has to run again.
    private func isLongWalk(from baseline: Session, _ core: RealmCore) throws(EngineError) -> Bool {
        let watched = watchedTables(core.session)
        let near = try core.session.changes(
            since: baseline, in: { watched.contains($0) }, atMost: limits.changes)
        guard let near else { return true }
        let walk = RegionTraversal(older: baseline, newer: core.session, changes: near)
        nearWalk = (walk, baseline.version, core.session.version)
        if near.isEmpty { return false }
        for place in watched.places(of: walk.changes.keys) {
            guard let entry = entries[place].entry, entry.hasBegun, !entry.isEnded,
                let query = entry.observer.watching.query,
                core.session.table(query.table)?.count ?? 0 > limits.rows
            else { continue }
            if try query.runsAgain(behind: walk) { return true }
        }
        return false
    }

    /// The diff of another thread, if it compares exactly the versions to be compared. Waits for it if it is running.
    private func backgroundResult(_ core: RealmCore) -> ChangePreparation? {
        guard let background else { return nil }
        guard isOfNow(background.versions, core) else {
            dropBackground()
            return nil
        }
        let found = background.result()
        dropBackground()
        return found
    }

    private func isOfNow(_ versions: ChangePreparation, _ core: RealmCore) -> Bool {
        if hasLatecomer || !versions.newer.shows(versionOf: core.session) { return false }
        switch (baseline, versions.older) {
        case (nil, nil): break
        case (let baseline?, let older): if !(older ?? versions.newer).shows(versionOf: baseline) { return false }
        case (nil, _?): return false
        }
        // Observers of other tables may have been added.
        return versions.covers(watchedTables(core.session).tables)
    }

    /// For an in-memory database, waits until nothing reads it any more: it must be gone with its last Realm.
    private func dropBackground() {
        if database.isVolatile { background?.letGo() }
        background = nil
    }

    /// Waits for the background diff, for tests: the next turn delivers its result.
    func waitForBackground() -> Bool {
        guard let background else { return false }
        _ = background.result()
        return true
    }

    // MARK: Delivery

    private func tellChange(_ core: RealmCore, silent: Set<ObjectIdentifier> = []) {
        owesChange = false
        tellings += 1
        defer {
            tellings -= 1
            scheduleMissed()
        }
        call(.didChange, core, silent)
    }

    /// Called without autorefresh: asks the observers of the Realm to refresh it, which they may do within their call.
    private func askForRefresh(_ core: RealmCore) {
        isAsking = true
        defer {
            isAsking = false
            scheduleMissed()
        }
        // The first observer that refreshes has done so for all.
        call(.refreshRequired, core, []) { core.session.version < core.session.database.newestVersion }
    }

    private func call(
        _ notification: Realm.Notification, _ core: RealmCore, _ silent: Set<ObjectIdentifier>,
        while isDue: () -> Bool = { true }
    ) {
        for weak in realmEntries where isDue() {
            guard let entry = weak.entry, !entry.isEnded, !silent.contains(ObjectIdentifier(entry)),
                let observer = entry.observer as? RealmObserver
            else { continue }
            observer.block(notification, Realm(core: core))
        }
    }

    /// Schedules a turn in place of the one that was skipped while blocks ran.
    private func scheduleMissed() {
        if !hasMissedTurn || isCalling { return }
        hasMissedTurn = false
        schedule()
    }

    /// Notifies observers of the changes between their version and the version shown. Within a block's call it only
    /// computes the change sets; the calls follow after that call.
    private func deliver(silent: Set<ObjectIdentifier> = [], first: Bool = true) {
        guard let core else { return }
        look(core, silent: silent, first: first)
        send(core)
    }

    /// Moves the baseline to the version shown and appends the resulting calls to `pending`. If a block has left a
    /// write transaction open and has changed something, this waits for the end of the transaction, which brings a
    /// turn.
    private func look(_ core: RealmCore, silent: Set<ObjectIdentifier> = [], first: Bool) {
        dropEnded()
        if entries.isEmpty || core.hasUncommittedChanges { return }
        let calls = engine { () throws(EngineError) in try collect(core, silent, first: first) }
        pending += calls
        isLocal = true
    }

    /// Makes the calls that are due, unless a caller on the stack is making them.
    private func send(_ core: RealmCore) {
        if isDelivering { return }
        isDelivering = true
        var next = 0
        while next < pending.count {
            let due = pending[next]
            next += 1
            if due.entry.isEnded { continue }
            // The call would show uncommitted changes, and they would be reported again: begin after the transaction.
            if due.isFirst, core.hasUncommittedChanges {
                due.entry.hasBegun = false
                beginners.append(WeakEntry(entry: due.entry))
            }
            if due.entry.hasBegun { due.call() }
        }
        pending = []
        isDelivering = false
        scheduleMissed()
        // For writes of a block, or commits that arrived in the meantime.
        if let baseline, baseline.version != core.session.version, !core.isWriting { schedule() }
    }

    private func collect(
        _ core: RealmCore, _ silent: Set<ObjectIdentifier>, first: Bool
    ) throws(EngineError) -> [DueCall] {
        let found = backgroundResult(core)
        let walk = found?.adopt(in: queries)
        // Kept alive as long as its offers, which are found by addresses of objects it retains.
        defer { withExtendedLifetime(found) { queries.endOffers() } }
        var calls: [DueCall] = []
        if let baseline {
            let isBehind = baseline.version != core.session.version
            if isBehind || hasLatecomer { calls = try advance(baseline, core, silent, walk) }
            if isBehind { try baseline.move(to: core.session) }
        } else {
            baseline = try shownVersion(core)
        }
        if !first { return calls }
        let beginners = beginners
        self.beginners = []
        work.visited += beginners.count
        for weak in beginners {
            guard let entry = weak.entry, !entry.hasBegun, !entry.isEnded else { continue }
            entry.hasBegun = true
            if let call = try entry.observer.begin() { calls.append(DueCall(entry: entry, isFirst: true, call: call)) }
        }
        return calls
    }

    /// Asks only the observers whose tables have changed. Computes no diff if there are none.
    private func advance(
        _ baseline: Session, _ core: RealmCore, _ silent: Set<ObjectIdentifier>, _ made: RegionTraversal?
    ) throws(EngineError) -> [DueCall] {
        var calls: [DueCall] = []
        // An observer with a baseline of its own is asked whatever has changed.
        let asksAll = hasLatecomer
        hasLatecomer = false
        lateStart = nil
        var lateWalk: RegionTraversal?
        let walk = if let made { made } else { try walk(from: baseline, core) }
        let changes = walk.changes
        work.comparedTables += changes.count
        // A copy: a block of sections may add an observation.
        let entries = entries
        let places = asksAll ? Array(entries.indices) : watchedTables(core.session).places(of: changes.keys)
        work.visited += places.count
        for place in places {
            guard let entry = entries[place].entry, entry.hasBegun, !entry.isEnded else { continue }
            let own = try walkOf(entry, core, &lateWalk)
            if own == nil {
                if changes.isEmpty { continue }
                if let tables = entry.tables, tables.isDisjoint(with: walk.changes.keys) { continue }
            }
            work.asked += 1
            // Changes before the other observers' baseline may have been made elsewhere.
            let isLocal = isLocal && own.map { $0.older.version >= baseline.version } ?? true
            let call = try entry.observer.advance(own ?? walk, isLocal: isLocal)
            if let call, !silent.contains(ObjectIdentifier(entry)) {
                calls.append(DueCall(entry: entry, isFirst: false, call: call))
            }
        }
        return calls
    }

    private func walk(from baseline: Session, _ core: RealmCore) throws(EngineError) -> RegionTraversal {
        defer { nearWalk = nil }
        if let nearWalk, nearWalk.older == baseline.version, nearWalk.newer == core.session.version {
            return nearWalk.walk
        }
        let watched = watchedTables(core.session)
        // Empty if the versions are equal and only an observer with an older baseline has to be asked.
        let changes = try core.session.changes(since: baseline) { watched.contains($0) }
        return RegionTraversal(older: baseline, newer: core.session, changes: changes)
    }

    /// Called when an observer has changed the set of tables it watches.
    func forgetTables() { watched = nil }

    private func watchedTables(_ session: Session) -> WatchedTables {
        if let watched, watched.schema == session.schemaStamp { return watched }
        var found = WatchedTables(schema: session.schemaStamp)
        work.visited += entries.count
        for (place, weak) in entries.enumerated() {
            guard let entry = weak.entry else { continue }
            entry.tables = entry.observer.tables(in: session)
            found.add(place, entry.tables)
        }
        watched = found
        return found
    }

    /// The traversal for the first delivery to an observer with a baseline of its own; nil for all others. `last` is
    /// the most recent such traversal, which all observers with the same baseline share.
    private func walkOf(
        _ entry: ObservationEntry, _ core: RealmCore, _ last: inout RegionTraversal?
    ) throws(EngineError) -> RegionTraversal? {
        guard let start = entry.start else { return nil }
        entry.start = nil
        if let last, last.older === start { return last }
        last = RegionTraversal(older: start, newer: core.session, changes: try core.session.changes(since: start))
        return last
    }
}

/// A call to a user's block that is due.
private struct DueCall {
    let entry: ObservationEntry
    /// True for the initial call of an observation.
    let isFirst: Bool
    let call: () -> Void
}
