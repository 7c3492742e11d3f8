// SPDX-License-Identifier: Apache-2.0
// Tells the observers of one open Realm of new versions. Confined to the Realm, but for `schedule`.
//
//     commit elsewhere ──▶ schedule ──▶ (queue, run loop) turn: refresh, deliver
//     own commit       ──▶ Realm observers at once, the others at the next turn
//     refresh, beginWrite ──▶ deliver at once, within the write that begins: also what own commits have left for
//                             the next turn
//     first calls due     ──▶ before a write begins, with what there is before it
//
// `baseline` shows the version that observers were told of last. A delivery compares it with the Realm's version,
// asks every observer what it makes of the difference, moves on, and only then calls users' blocks: a block may
// write, refresh, or end any observation. What takes long to look at is looked at by another thread first: the turn ends
// with the Realm where it was, and the next one comes when that is done (see BackgroundLook). Versions are not compared while a write has changed something: in one that
// begins everything is looked at before the first block is called, and what comes later waits for its end.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery
internal import Synchronization

final class RealmNotifier: @unchecked Sendable {
    // Sendable: other threads call `schedule` only, which touches `place`, `isScheduled` and the weak core.
    private weak var core: RealmCore?
    let place: DeliveryPlace
    private let isScheduled = Atomic(false)
    // On the Realm's own thread, and asked at every refresh.
    @exclusivity(unchecked) private var entries: [WeakEntry] = []
    /// Those of them that have not begun.
    private var beginners: [WeakEntry] = []
    /// Observers of the Realm as a whole. Their blocks may hold the Realm, so only the tokens keep them.
    private var realmEntries: [WeakEntry] = []
    /// With so many of them those that have ended are dropped.
    private var realmEntryLimit = 16
    /// Nil while nobody observes.
    private var baseline: Session?
    /// Equal queries of several observers are one.
    let queries = ObservedQueries()
    /// Which of `entries` look at which tables; nil after observers came or went.
    private var watched: WatchedTables?
    var work = DeliveryWork()
    /// True where all changes since `baseline` were made through this Realm.
    private var isLocal = true
    /// True where the Realm has moved on and its observers have not heard of it.
    private var owesChange = false
    /// True where one of `entries` has begun at another version than `baseline`.
    private var hasLatecomer = false
    /// The version that such observers share.
    private var lateStart: Session?
    /// Calls that are due, in their order. A block that writes adds to them while they are gone through.
    private var pending: [DueCall] = []
    private var isDelivering = false
    /// What another thread looks at, or has looked at, for the next delivery.
    private var background: BackgroundLook?
    /// The walk with which a turn has found that it need not, if any: good for the versions that it compares.
    private var nearWalk: (walk: RegionWalk, older: UInt64, newer: UInt64)?
    /// What this thread looks at by itself.
    var limits = LookLimits()
    /// Turns so far, for tests.
    private(set) var turns = 0
    /// How many calls of observers of the Realm are on the stack.
    private var tellings = 0
    /// True while observers of the Realm are told `.refreshRequired`.
    private var isAsking = false
    /// True where a turn came while a block ran its run loop: nothing was done in it.
    private var hasMissedTurn = false

    private let database: Database

    init(core: RealmCore, place: DeliveryPlace) {
        self.core = core
        self.place = place
        database = core.settings.database
    }

    deinit {
        // In the child of a fork the watch is the parent's, and a thread of the parent may have had the lock.
        if database.isForked { return }
        dropBackground()
        CommitBoard.remove(database)
    }

    // MARK: Observers

    /// Begins to observe; the first call comes at the next turn.
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

    /// Begins to observe what differs from the version shown now.
    func addFromNow(_ entry: ObservationEntry) {
        guard let core else { return }
        // The new one is counted already. Few ended ones wait for the next turn, so that n observers cost O(n).
        if core.livingObservations - 1 <= (entries.count + realmEntries.count) / 2 { dropEnded() }
        engine { () throws(EngineError) in
            if baseline == nil {
                baseline = try shownVersion(core)
            } else if baseline?.version != core.session.version {
                // The others are still behind; they are told at the next turn.
                if lateStart?.shows(versionOf: core.session) != true { lateStart = try shownVersion(core) }
                entry.start = lateStart
                hasLatecomer = true
            }
        }
        entry.hasBegun = true
        append(entry)
        // What was committed before this Realm was listening has asked for no turn.
        if core.settings.autorefresh, core.session.version < core.session.database.newestVersion { schedule() }
    }

    /// What an observer is told begins with the version of `home`, where this Realm has come further: it was asked for
    /// then, from elsewhere. Of observers with a first call nothing else is expected than to begin with what is there.
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
        // Without other observers no turn drops those that have ended: own commits tell these without a turn.
        if realmEntries.count >= realmEntryLimit {
            realmEntries.removeAll { $0.entry?.isEnded ?? true }
            realmEntryLimit = max(16, realmEntries.count * 2)
        }
        realmEntries.append(WeakEntry(entry: entry))
        entry.hasBegun = true
    }

    private func dropEnded() {
        // They are looked at where one has ended: not at every commit.
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
            // There is nothing that others could have changed since.
            isLocal = true
        }
    }

    /// After `Realm.invalidate`, which may have brought the Realm to a newer version: observations go on with accessors
    /// made anew, and tell at the next turn what has changed since they were told last.
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

    /// True while a block of an observer is told of changes.
    var isSending: Bool { isDelivering || tellings > 0 }
    /// Also while one is told that there are some.
    var isCalling: Bool { isSending || isAsking }

    // MARK: Turns

    /// Any thread: asks for a turn, unless one has been asked for already.
    func schedule() {
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        place.perform { [weak self] in self?.turn() }
    }

    /// What happens at a turn of the place of delivery. With `isWhole` it is not left to another thread and a later turn.
    /// Confined to the Realm.
    func turn(isWhole: Bool = false) {
        isScheduled.store(false, ordering: .releasing)
        turns += 1
        guard let core else { return }
        core.check()
        dropEnded()
        // The end of the write schedules again.
        if core.isWriting { return }
        if isCalling {
            hasMissedTurn = true
            return
        }
        // Its end brings a turn.
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
        // Of what came while another thread looked. Not where the newest version cannot be read, which would go on.
        if isFree, isBehind, wasLookedAt { schedule() }
    }

    /// After the Realm came to a newer version that others have made: tells everybody at once. Where a block's own
    /// write has led there, observers of the Realm are not told within their call.
    func didAdvance() {
        guard let core else { return }
        isLocal = false
        if !isSending { tellChange(core) }
        deliver()
    }

    /// Where a write begins at a newer version that others have made, before anybody is called: looks what is to be
    /// told of it. Whoever is called first may change objects.
    func lookBeforeWrite() {
        guard let core else { return }
        isLocal = false
        look(core, first: true)
    }

    /// Behind `lookBeforeWrite`: as `didAdvance`, of what that has found.
    func didBeginWrite() {
        guard let core else { return }
        if !isSending { tellChange(core) }
        send(core)
    }

    /// Tells what own commits have changed and no turn has told yet: when a write has begun, so that what the write
    /// changes, or keeps silent, is told apart from it. With `first` those that have begun to observe get their
    /// first call too.
    func settle(first: Bool) {
        // Asked at every refresh: the weak reference is looked at only where somebody observes.
        guard !entries.isEmpty, let core else { return }
        let isBehind = baseline.map { $0.version != core.session.version } ?? false
        if isBehind || hasLatecomer || first { deliver(first: first) }
    }

    /// Before a write changes anything: those that have begun to observe get their first call, with what there is before
    /// the write. Where a block that is being called begins the write, they get it within that call: later they would
    /// see the write already.
    func beginBeforeWrite() {
        guard !beginners.isEmpty, let core else { return }
        let known = pending.count
        look(core, first: true)
        if !isDelivering { return send(core) }
        let firsts = pending[known...].filter(\.isFirst)
        pending[known...].removeAll(where: \.isFirst)
        for first in firsts where !first.entry.isEnded { first.call() }
    }

    /// After a commit of this Realm. The observers of `silent` are not told of it.
    func didCommit(silent: [NotificationToken]) {
        guard let core else { return }
        let silent = Set(silent.compactMap { $0.entry.map { ObjectIdentifier($0) } })
        if !silent.isEmpty { deliver(silent: silent) }
        tellChange(core, silent: silent)
        if !entries.isEmpty { schedule() }
    }

    // MARK: Another thread's look

    /// Comes to the version that is to be told of, and says whether the Realm has moved; nil where another thread looks
    /// at it first, and the Realm stays.
    private func come(_ core: RealmCore, isFree: Bool, isWhole: Bool) -> Bool? {
        if let background {
            // Also where there is newer by now: else those would wait for ever whose commits come fast.
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
        // The way back: nobody sees anything before it is decided.
        let (last, schema) = (baseline, core.session.schemaStamp)
        var back: Session?
        if isFree, core.session.version < core.session.database.newestVersion {
            back = last.flatMap { $0.shows(versionOf: core.session) ? $0 : nil } ?? (try? shownVersion(core))
        }
        let hasMoved = isFree && core.advance()
        // Queries know the columns of the schema that they were made for.
        guard core.session.schemaStamp == schema, let preparation = try? preparation(core) else { return hasMoved }
        if hasMoved {
            guard let back, (try? core.session.move(to: back)) != nil else { return true }
        }
        work.lookedElsewhere += 1
        background = BackgroundLook(preparation) { [weak self] in self?.schedule() }
        return nil
    }

    /// What another thread is to look at where the Realm's own would need long; else nil.
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

    /// True where much has changed, or a query of many objects has to run again.
    private func isLongWalk(from baseline: Session, _ core: RealmCore) throws(EngineError) -> Bool {
        let watched = watchedTables(core.session)
        let near = try core.session.changes(
            since: baseline, in: { watched.contains($0) }, atMost: limits.changes)
        guard let near else { return true }
        let walk = RegionWalk(older: baseline, newer: core.session, changes: near)
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

    /// What another thread has found, or is about to, of just the versions that are to be compared.
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
        // Observers may have come that look at other tables.
        return versions.covers(watchedTables(core.session).tables)
    }

    /// Of a database in memory only when nothing of it is read any more: it is to be gone with its last Realm.
    private func dropBackground() {
        if database.isVolatile { background?.letGo() }
        background = nil
    }

    /// Ends what another thread looks at, for tests: when this returns the next turn tells what it has found.
    func waitForBackground() -> Bool {
        guard let background else { return false }
        _ = background.result()
        return true
    }

    // MARK: Telling

    private func tellChange(_ core: RealmCore, silent: Set<ObjectIdentifier> = []) {
        owesChange = false
        tellings += 1
        defer {
            tellings -= 1
            scheduleMissed()
        }
        call(.didChange, core, silent)
    }

    /// Without autorefresh: asks the observers of the Realm to refresh it, which they may do within their call.
    private func askForRefresh(_ core: RealmCore) {
        isAsking = true
        defer {
            isAsking = false
            scheduleMissed()
        }
        // The first one who refreshes has done it for all.
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

    /// Another turn for the one that came while blocks ran.
    private func scheduleMissed() {
        if !hasMissedTurn || isCalling { return }
        hasMissedTurn = false
        schedule()
    }

    /// Tells the observers how the version shown differs from the one they know. Within a block's call it only looks:
    /// what is to be told comes behind that call.
    private func deliver(silent: Set<ObjectIdentifier> = [], first: Bool = true) {
        guard let core else { return }
        look(core, silent: silent, first: first)
        send(core)
    }

    /// Comes to the version shown; what is to be told of it is due then. Where a block has left a write open and
    /// changed something, that waits for the end of the write, which brings a turn.
    private func look(_ core: RealmCore, silent: Set<ObjectIdentifier> = [], first: Bool) {
        dropEnded()
        if entries.isEmpty || core.hasUncommittedChanges { return }
        let calls = engine { () throws(EngineError) in try collect(core, silent, first: first) }
        pending += calls
        isLocal = true
    }

    /// Makes the calls that are due, unless they are being made.
    private func send(_ core: RealmCore) {
        if isDelivering { return }
        isDelivering = true
        var next = 0
        while next < pending.count {
            let due = pending[next]
            next += 1
            if due.entry.isEnded { continue }
            // It would show what may be rolled back, and be told of it again. So it begins behind the write.
            if due.isFirst, core.hasUncommittedChanges {
                due.entry.hasBegun = false
                beginners.append(WeakEntry(entry: due.entry))
            }
            if due.entry.hasBegun { due.call() }
        }
        pending = []
        isDelivering = false
        scheduleMissed()
        // What a block has written, or the commits that came meanwhile.
        if let baseline, baseline.version != core.session.version, !core.isWriting { schedule() }
    }

    private func collect(
        _ core: RealmCore, _ silent: Set<ObjectIdentifier>, first: Bool
    ) throws(EngineError) -> [DueCall] {
        let found = backgroundResult(core)
        let walk = found?.adopt(in: queries)
        // Held as long as its offers, which are found by addresses of what it holds.
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

    /// Asks the observers whose tables have changed, and looks at no others. Nothing is compared where there are none.
    private func advance(
        _ baseline: Session, _ core: RealmCore, _ silent: Set<ObjectIdentifier>, _ made: RegionWalk?
    ) throws(EngineError) -> [DueCall] {
        var calls: [DueCall] = []
        // A latecomer is asked whatever has changed.
        let asksAll = hasLatecomer
        hasLatecomer = false
        lateStart = nil
        var lateWalk: RegionWalk?
        let walk = if let made { made } else { try walk(from: baseline, core) }
        let changes = walk.changes
        work.comparedTables += changes.count
        // A block of sections may begin to observe.
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
            // What lies before the others' version others may have changed.
            let isLocal = isLocal && own.map { $0.older.version >= baseline.version } ?? true
            let call = try entry.observer.advance(own ?? walk, isLocal: isLocal)
            if let call, !silent.contains(ObjectIdentifier(entry)) {
                calls.append(DueCall(entry: entry, isFirst: false, call: call))
            }
        }
        return calls
    }

    private func walk(from baseline: Session, _ core: RealmCore) throws(EngineError) -> RegionWalk {
        defer { nearWalk = nil }
        if let nearWalk, nearWalk.older == baseline.version, nearWalk.newer == core.session.version {
            return nearWalk.walk
        }
        let watched = watchedTables(core.session)
        // None where only a latecomer does not know the version.
        let changes = try core.session.changes(since: baseline) { watched.contains($0) }
        return RegionWalk(older: baseline, newer: core.session, changes: changes)
    }

    /// An observer looks at other tables from now on.
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

    /// The first walk of an observer that began at another version than the others; nil for all others.
    /// `last`: the one that was made last, which serves all that began at the same version.
    private func walkOf(
        _ entry: ObservationEntry, _ core: RealmCore, _ last: inout RegionWalk?
    ) throws(EngineError) -> RegionWalk? {
        guard let start = entry.start else { return nil }
        entry.start = nil
        if let last, last.older === start { return last }
        last = RegionWalk(older: start, newer: core.session, changes: try core.session.changes(since: start))
        return last
    }
}

/// A call of a user's block that is due.
private struct DueCall {
    let entry: ObservationEntry
    /// True for the call with which an observation begins.
    let isFirst: Bool
    let call: () -> Void
}
