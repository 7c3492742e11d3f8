// SPDX-License-Identifier: Apache-2.0
// One observation of one Realm: what its token holds, and what its notifier tells of new versions.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery
internal import Synchronization

/// What an observer makes of a new version. Confined to the Realm.
protocol ChangeObserver: AnyObject {
    /// The tables of which a change may have to be told; nil for all. Of commits to others the observer is not asked.
    func tables(in session: Session) -> Set<TableKey>?
    /// Looks at the version shown now, for the first call; nil where there is none. The caller calls what is
    /// returned.
    func begin() throws(EngineError) -> (() -> Void)?
    /// What is to be told of the new version, or nil. The caller calls what is returned when all observers have
    /// looked. `isLocal`: the change was made through this Realm.
    func advance(_ walk: RegionWalk, isLocal: Bool) throws(EngineError) -> (() -> Void)?
    /// What may take long to look at, before and after `begin`: see `Watching`.
    var watching: Watching { get }
    /// After `Realm.invalidate`: goes on with accessors made anew in the same Realm, whose old ones are invalid.
    func revive(in home: _RealmHome)
}

/// What of an observer another thread can look at.
struct Watching {
    /// That finds its elements, once it has begun.
    var query: ObservedQuery?
    /// That it is to begin with; of others than whole tables.
    var first: (query: ObjectQuery, table: TableKey)?
    /// What counts as changed.
    var region: Region?
}

extension ChangeObserver {
    var watching: Watching { Watching() }
}

/// Keeps the Realm open while its token lives.
final class ObservationEntry: @unchecked Sendable {
    // Sendable: `isEnded` is atomic; the rest is only touched by the Realm's own thread.
    let core: RealmCore
    let observer: any ChangeObserver
    /// Set once the first call has been made.
    var hasBegun = false
    /// What `tables(in:)` said, once asked.
    var tables: Set<TableKey>?
    /// The version it began with, where the first comparison is with another one than that of the others.
    var start: Session?
    /// True for tokens of a Realm, which RealmSwift warns about.
    let warnsWhenDropped: Bool
    private let ended = Atomic(false)

    init(core: RealmCore, observer: any ChangeObserver, warnsWhenDropped: Bool = false) {
        self.core = core
        self.observer = observer
        self.warnsWhenDropped = warnsWhenDropped
        core.observationCount.add(1, ordering: .relaxed)
    }

    deinit { end() }

    var isEnded: Bool { ended.load(ordering: .acquiring) }

    /// No call begins after this. Any thread; the notifier lets go of it at its next turn.
    func end() {
        if ended.exchange(true, ordering: .acquiringAndReleasing) { return }
        core.observationCount.subtract(1, ordering: .relaxed)
    }
}

/// As an entry, not kept alive.
struct WeakEntry { weak var entry: ObservationEntry? }
