// SPDX-License-Identifier: Apache-2.0
// One observation of one Realm: the object that its token retains and that the notifier calls.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery
internal import Synchronization

/// Computes change sets and calls a user's block. Confined to the Realm.
protocol ChangeObserver: AnyObject {
    /// The tables whose changes may have to be reported; nil for all. The observer is not asked about commits to other
    /// tables.
    func tables(in session: Session) -> Set<TableKey>?
    /// Reads the version shown now and returns the initial call, which the caller makes; nil if there is none.
    func begin() throws(EngineError) -> (() -> Void)?
    /// Returns the call that reports the changes of the new version, or nil. The caller makes it after all observers
    /// have been asked. `isLocal`: the change was made through this Realm.
    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)?
    /// The expensive parts of the observer's work, before and after `begin`: see `Watching`.
    var watching: Watching { get }
    /// Continues after `Realm.invalidate` with new accessors of the same Realm, because the old ones are invalid.
    func revive(in home: _RealmHome)
}

/// The parts of an observer's work that another thread can do.
struct Watching {
    /// The query that finds its elements, once it has begun.
    var query: ObservedQuery?
    /// The query to begin with; nil for whole tables.
    var first: (query: ObjectQuery, table: TableKey)?
    /// The objects and properties that count as changed.
    var region: Region?
}

extension ChangeObserver {
    var watching: Watching { Watching() }
}

/// Keeps the Realm open while its token lives.
final class ObservationEntry: @unchecked Sendable {
    // Sendable: `isEnded` is atomic; everything else is used on the Realm's own thread only.
    let core: RealmCore
    let observer: any ChangeObserver
    /// Set once the initial call has been made.
    var hasBegun = false
    /// The result of `tables(in:)`, once asked.
    var tables: Set<TableKey>?
    /// The baseline of the first diff, if it differs from that of the other observers.
    var start: Session?
    /// True for tokens of a Realm, for which RealmSwift logs a warning.
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

    /// Ends the observation: no call begins after this. May be called from any thread; the notifier releases the entry
    /// at its next turn.
    func end() {
        if ended.exchange(true, ordering: .acquiringAndReleasing) { return }
        core.observationCount.subtract(1, ordering: .relaxed)
    }
}

/// A weak reference to an entry.
struct WeakEntry { weak var entry: ObservationEntry? }
