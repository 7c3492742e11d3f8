// SPDX-License-Identifier: Apache-2.0
// Notifies the observers of one open Realm of new versions. Confined to the Realm, except `schedule`.
//
//     commit elsewhere ──▶ schedule ──▶ (queue, run loop) turn: refresh, deliver
//     own commit       ──▶ observers of the Realm immediately, all others at the next turn
//     refresh, beginWrite ──▶ deliver immediately, inside the write transaction that begins, with own commits too
//     initial calls due   ──▶ before a write transaction begins, with the state before it
//
// Four parts hold the state, each with its transitions drawn in its file: `ObserverList` (the observers),
// `DeliveredVersion` (the version of the last notification), `DiffScheduler` (when and on which thread changes are
// computed) and `CallbackQueue` (which calls are due). A delivery computes the changes between the delivered version
// and the Realm's, asks each observer for its change set, moves the delivered version, and only then calls users'
// blocks: a block may write, refresh, or end any observation. No diff is computed while a write transaction has
// uncommitted changes: when one begins, all diffs are computed before the first block is called, and later changes wait
// for its end.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery
internal import Synchronization

final class RealmNotifier: @unchecked Sendable {
    // Sendable: other threads only call `schedule`, which uses `place`, `isScheduled` and the weak core.
    private weak var core: RealmCore?
    let place: CallbackScheduler
    private let isScheduled = Atomic(false)
    private let observers = ObserverList()
    private let delivered = DeliveredVersion()
    private let callbacks = CallbackQueue()
    private let diffs: DiffScheduler
    /// True if the Realm has advanced and its observers have not been notified.
    private var owesChange = false
    private var asked = 0
    private var comparedTables = 0
    /// The number of turns so far, for tests.
    private(set) var turns = 0

    private let database: Database

    init(core: RealmCore, place: CallbackScheduler) {
        self.core = core
        self.place = place
        database = core.settings.database
        diffs = DiffScheduler(observers, delivered, isVolatile: database.isVolatile)
    }

    deinit {
        // In a forked child the watch belongs to the parent, and a thread of the parent may have held the lock.
        if database.isForked { return }
        diffs.drop()
        CommitNotifications.remove(database)
    }

    /// Shares one query among observers of equal queries.
    var queries: ObservedQueries { observers.queries }
    /// The largest diff that the Realm's own thread computes itself.
    var limits: DiffLimits {
        get { diffs.limits }
        set { diffs.limits = newValue }
    }
    /// The counters so far.
    var work: DeliveryCounters {
        var work = DeliveryCounters()
        (work.visited, work.comparedTables) = (observers.visited, comparedTables)
        (work.asked, work.lookedElsewhere) = (asked, diffs.backgroundCount)
        return work
    }

    // MARK: Observers

    /// Adds an observer; its initial call comes at the next turn.
    func add(_ entry: ObservationEntry) {
        observers.append(entry, in: core?.session)
        observers.appendBeginner(entry)
        schedule()
    }

    /// Adds an observer that gets no initial call and is notified of changes since the version shown now.
    func addFromNow(_ entry: ObservationEntry) {
        guard let core else { return }
        // The count includes the new entry. Ended entries stay until they are half of all: n additions cost O(n).
        if core.livingObservations - 1 <= observers.count / 2 { dropEnded() }
        engine { () throws(EngineError) in
            if delivered.session == nil {
                delivered.begin(try core.sessionAtVersion())
            } else if delivered.isBehind(core.session) {
                // The other entries are at an older version; they are notified at the next turn.
                entry.start = try delivered.latecomerStart(core.session) { () throws(EngineError) in
                    try core.sessionAtVersion()
                }
            }
        }
        entry.hasBegun = true
        observers.append(entry, in: core.session)
        // A commit made before this Realm was listening has not scheduled a turn.
        if core.settings.autorefresh, core.session.version < core.session.database.newestVersion { schedule() }
    }

    /// Sets the observer's baseline to the version of `home` if this Realm has advanced further: the observation was
    /// requested at that version, in another Realm. Has no effect on observers that get an initial call, which begin
    /// with the current state.
    func backdate(_ entry: ObservationEntry, to home: RealmCore) {
        guard let core, entry.hasBegun, home.session.version < core.session.version else { return }
        entry.start = engine { () throws(EngineError) in try core.sessionAtVersion(of: home.session) }
        delivered.noteLatecomer()
        schedule()
    }

    /// Adds an entry whose observer is a `RealmObserver`.
    func add(ofRealm entry: ObservationEntry) { observers.append(ofRealm: entry) }

    /// Call when an observer has changed the set of tables it watches.
    func forgetTables() { observers.forgetTables() }

    private func dropEnded() {
        observers.dropEnded(core?.livingObservations)
        if observers.isEmpty {
            delivered.end()
            diffs.end()
        }
    }

    /// Called after `Realm.invalidate`, which may have advanced the Realm: observations continue with new accessors,
    /// and report at the next turn the changes since the last delivery.
    func didInvalidate(hasMoved: Bool) {
        guard let core else { return }
        dropEnded()
        for weak in observers.entries { weak.entry?.observer.revive(in: _RealmHome(core: core)) }
        if hasMoved {
            delivered.noteForeignChanges()
            owesChange = true
        }
        if hasMoved || !observers.isEmpty { schedule() }
    }

    /// True while an observer's block is called with changes.
    var isSending: Bool { callbacks.isSending }
    /// Also true while a block is called with `.refreshRequired`.
    var isCalling: Bool { callbacks.isCalling }

    // MARK: Turns

    /// Requests a turn, unless one has already been requested. May be called from any thread.
    func schedule() {
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        place.perform { [weak self] in self?.turn() }
    }

    /// Performs one turn of the callback scheduler. With `isWhole`, all diffs are computed on this thread, within the
    /// turn. Confined to the Realm.
    func turn(isWhole: Bool = false) {
        isScheduled.store(false, ordering: .releasing)
        turns += 1
        guard let core else { return }
        core.check()
        dropEnded()
        // The end of the write transaction schedules another turn.
        if core.isWriting { return }
        if isCalling {
            callbacks.missTurn()
            return
        }
        // Another turn is scheduled when it is done.
        if !isWhole, diffs.isRunning { return }
        let hadBackground = diffs.hasBackground
        let isFree = core.settings.autorefresh
        let hasMoved = diffs.advance(core, isFree: isFree, isWhole: isWhole || !place.hasTurns) { [weak self] in
            self?.schedule()
        }
        guard let hasMoved else { return }
        if hasMoved {
            core.reloadTables()
            core.didShowOtherVersion()
            delivered.noteForeignChanges()
            owesChange = true
        }
        if owesChange { tellChange(core) }
        let isBehind = core.session.version < core.session.database.newestVersion
        if !isFree, isBehind { askForRefresh(core) }
        deliver()
        // For commits that arrived during a background diff. An unreadable newest version would reschedule forever.
        if isFree, isBehind, hadBackground { schedule() }
    }

    /// Called after the Realm has advanced to a version committed elsewhere: notifies all observers immediately. If the
    /// advance was caused by a write inside a block, observers of the Realm are not notified within that block.
    func didAdvance() {
        guard let core else { return }
        delivered.noteForeignChanges()
        if !isSending { tellChange(core) }
        deliver()
    }

    /// Called when a write transaction begins at a newer version committed elsewhere, before any block is called:
    /// computes all change sets first, because the first block called may change objects.
    func lookBeforeWrite() {
        guard let core else { return }
        delivered.noteForeignChanges()
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
        guard !observers.isEmpty, let core else { return }
        if delivered.isBehind(core.session) || delivered.hasLatecomer || first { deliver(first: first) }
    }

    /// Called before a write transaction changes anything: new observers get their initial call with the state before
    /// it. If a running block begins the write transaction, they are called within that block: a later call would
    /// already show the transaction's changes.
    func beginBeforeWrite() {
        guard !observers.beginners.isEmpty, let core else { return }
        let known = callbacks.count
        look(core, first: true)
        if !callbacks.isDelivering { return send(core) }
        for first in callbacks.takeFirsts(after: known) where !first.entry.isEnded { first.call() }
    }

    /// Called after a commit of this Realm. The observers of `silent` are not notified of it.
    func didCommit(silent: [NotificationToken]) {
        guard let core else { return }
        let silent = Set(silent.compactMap { $0.entry.map { ObjectIdentifier($0) } })
        if !silent.isEmpty { deliver(silent: silent) }
        tellChange(core, silent: silent)
        if !observers.isEmpty { schedule() }
    }

    /// Waits for the background diff, for tests: the next turn delivers its result.
    func waitForBackground() -> Bool { diffs.waitForBackground() }

    // MARK: Delivery

    private func tellChange(_ core: RealmCore, silent: Set<ObjectIdentifier> = []) {
        owesChange = false
        callbacks.notifying { call(.didChange, core, silent) }
        scheduleMissed()
    }

    /// Called without autorefresh: asks the observers of the Realm to refresh it, which they may do within their call.
    private func askForRefresh(_ core: RealmCore) {
        // The first observer that refreshes has done so for all.
        callbacks.asking {
            call(.refreshRequired, core, []) { core.session.version < core.session.database.newestVersion }
        }
        scheduleMissed()
    }

    private func call(
        _ notification: Realm.Notification, _ core: RealmCore, _ silent: Set<ObjectIdentifier>,
        while isDue: () -> Bool = { true }
    ) {
        for weak in observers.realmEntries where isDue() {
            guard let entry = weak.entry, !entry.isEnded, !silent.contains(ObjectIdentifier(entry)),
                let observer = entry.observer as? RealmObserver
            else { continue }
            observer.block(notification, Realm(core: core))
        }
    }

    /// Schedules a turn in place of the one that was skipped while blocks ran.
    private func scheduleMissed() { if callbacks.takeMissedTurn() { schedule() } }

    /// Notifies observers of the changes between their version and the version shown. Within a block's call it only
    /// computes the change sets; the calls follow after that call.
    private func deliver(silent: Set<ObjectIdentifier> = [], first: Bool = true) {
        guard let core else { return }
        look(core, silent: silent, first: first)
        send(core)
    }

    /// Moves the delivered version to the one shown and appends the resulting calls to `callbacks`. If a block has left
    /// a write transaction open and has changed something, this waits for the end of the transaction, which schedules a
    /// turn.
    private func look(_ core: RealmCore, silent: Set<ObjectIdentifier> = [], first: Bool) {
        dropEnded()
        if observers.isEmpty || core.hasUncommittedChanges { return }
        let calls = engine { () throws(EngineError) in try collect(core, silent, first: first) }
        callbacks.append(calls)
        delivered.noteDelivery()
    }

    /// Makes the calls that are due, unless a caller on the stack is making them.
    private func send(_ core: RealmCore) {
        let isDone = callbacks.send { due in
            // The call would show uncommitted changes, and they would be reported again: begin after the transaction.
            if due.isFirst, core.hasUncommittedChanges {
                due.entry.hasBegun = false
                observers.appendBeginner(due.entry)
            }
            if due.entry.hasBegun { due.call() }
        }
        if !isDone { return }
        scheduleMissed()
        // For writes by a block, or commits that arrived in the meantime.
        if delivered.isBehind(core.session), !core.isWriting { schedule() }
    }

    private func collect(
        _ core: RealmCore, _ silent: Set<ObjectIdentifier>, first: Bool
    ) throws(EngineError) -> [DueCall] {
        let found = diffs.take(core)
        let walk = found?.adopt(in: queries)
        // Kept alive as long as its offers: they are looked up by the addresses of objects that it retains.
        defer { withExtendedLifetime(found) { queries.endOffers() } }
        var calls: [DueCall] = []
        if let baseline = delivered.session {
            let isBehind = delivered.isBehind(core.session)
            if isBehind || delivered.hasLatecomer { calls = try advance(baseline, core, silent, walk) }
            if isBehind { try baseline.move(to: core.session) }
        } else {
            delivered.begin(try core.sessionAtVersion())
        }
        if !first { return calls }
        let beginners = observers.takeBeginners()
        observers.visited += beginners.count
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
        let asksAll = delivered.takeLatecomers()
        var lateWalk: RegionTraversal?
        let walk = if let made { made } else { try diffs.traversal(from: baseline, core) }
        let changes = walk.changes
        comparedTables += changes.count
        // A copy: a block of sections may add an observation.
        let entries = observers.entries
        let places =
            asksAll ? Array(entries.indices) : observers.watchedTables(core.session).places(of: changes.keys)
        observers.visited += places.count
        for place in places {
            guard let entry = entries[place].entry, entry.hasBegun, !entry.isEnded else { continue }
            let own = try walkOf(entry, core, &lateWalk)
            if own == nil {
                if changes.isEmpty { continue }
                if let tables = entry.tables, tables.isDisjoint(with: walk.changes.keys) { continue }
            }
            asked += 1
            // Changes before the other observers' baseline may have been made elsewhere.
            let isLocal = delivered.isLocal && own.map { $0.older.version >= baseline.version } ?? true
            let call = try entry.observer.advance(own ?? walk, isLocal: isLocal)
            if let call, !silent.contains(ObjectIdentifier(entry)) {
                calls.append(DueCall(entry: entry, isFirst: false, call: call))
            }
        }
        return calls
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
