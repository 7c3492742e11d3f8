// SPDX-License-Identifier: Apache-2.0
// `withObservationTracking` for objects whose class declares `: Observable`, and for results of them: properties read
// in a scope are recorded, and the scope is notified when the Realm advances to a version in which one differs.
//
// Objects are short-lived accessors, so the registrars belong to the rows and tables they refer to, and only to those
// read in a scope. There is no API to ask whether a scope is open. But a scope inserts key paths into a set and
// therefore hashes them: `TrackedColumn` detects that. Classes that are not observable never reach this code.

internal import Observation
internal import RegnumEngine
internal import RegnumObservation
internal import Synchronization

/// Set when a key path was inserted into a set. Any thread may set it; setting it needlessly costs one entry.
private final class ScopeMark: Sendable {
    let isSet = Atomic(false)
}

/// The part of a row or table that is read: a column, or one of the negative numbers below.
private struct TrackedColumn: Hashable, Sendable {
    let number: Int
    let mark: ScopeMark

    static func == (left: TrackedColumn, right: TrackedColumn) -> Bool { left.number == right.number }

    func hash(into hasher: inout Hasher) {
        mark.isSet.store(true, ordering: .relaxed)
        hasher.combine(number)
    }
}

/// A row or a table that was read in a scope.
private final class TrackedPlace: Observable {
    let registrar = ObservationRegistrar()
    /// The columns that scopes wait for. A scope that ended for another reason leaves columns here until they change.
    var pending: Set<Int> = []

    subscript(column: TrackedColumn) -> Void { () }
}

/// The tracked reads of one Realm, confined to it.
final class ReadTracker {
    /// Insertions and deletions of objects in a table.
    static let existence = -1
    /// Any change to a table.
    static let anything = -2

    private struct Place: Hashable {
        let table: TableKey
        /// Nil for the table itself.
        let key: ObjectKey?
    }

    private unowned let core: RealmCore
    /// The version that scopes have read; nil while no scope waits.
    private var baseline: Session?
    private var places: [Place: TrackedPlace] = [:]
    /// Used for the next row or table, if it is read in a scope.
    private var spare = TrackedPlace()
    private let mark = ScopeMark()
    private var keyPaths: [Int: KeyPath<TrackedPlace, Void>] = [:]

    init(_ core: RealmCore) { self.core = core }

    private func keyPath(_ column: Int) -> KeyPath<TrackedPlace, Void> {
        if let known = keyPaths[column] { return known }
        let made = \TrackedPlace[TrackedColumn(number: column, mark: mark)]
        keyPaths[column] = made
        return made
    }

    /// Records a read; called for each one. `key` is nil for a table. Returns false outside of scopes.
    @discardableResult
    func read(_ table: TableKey, _ key: ObjectKey?, _ column: Int) -> Bool {
        let path = keyPath(column)
        mark.isSet.store(false, ordering: .relaxed)
        spare.registrar.access(spare, keyPath: path)
        guard mark.isSet.load(ordering: .relaxed) else { return false }
        let place = Place(table: table, key: key)
        if let known = places[place] {
            known.registrar.access(known, keyPath: path)
            known.pending.insert(column)
        } else {
            spare.pending.insert(column)
            places[place] = spare
        }
        spare = TrackedPlace()
        if baseline == nil { baseline = engine { () throws(EngineError) in try shownVersion() } }
        return true
    }

    private func shownVersion() throws(EngineError) -> Session {
        let made = try core.session.database.makeSession()
        if made.version != core.session.version { try made.move(to: core.session) }
        return made
    }

    /// Notifies scopes of changes; called when the Realm shows another version.
    func advance() {
        guard let last = baseline, last.version != core.session.version else { return }
        let changes = engine { () throws(EngineError) in
            let changes = try core.session.changes(since: last)
            try last.move(to: core.session)
            return changes
        }
        let byTable = Dictionary(changes.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
        var due: [(place: TrackedPlace, columns: [Int])] = []
        for (place, tracked) in places {
            guard let changes = byTable[place.table] else { continue }
            let columns = Self.columns(of: place, tracked.pending, changes)
            if !columns.isEmpty { due.append((tracked, columns)) }
        }
        fire(due)
    }

    private static func columns(of place: Place, _ pending: Set<Int>, _ changes: TableChanges) -> [Int] {
        guard let key = place.key else {
            let all = changes.allColumns
            let isCount = !changes.inserted.isEmpty || !changes.deleted.isEmpty
            return pending.filter { $0 == anything || ($0 == existence ? isCount : all.contains($0)) }
        }
        if changes.isDeleted(key) { return Array(pending) }
        guard let own = changes.columns(of: key) else { return [] }
        return pending.filter { $0 >= 0 && own.contains($0) }
    }

    /// Notifies all scopes; called after `invalidate`, when every value may differ.
    func invalidated() {
        fire(places.values.map { ($0, Array($0.pending)) })
        places = [:]
        baseline = nil
    }

    /// Notifies each scope once: a scope that needs more notifications reads again. The code it calls may read and
    /// write.
    private func fire(_ due: [(place: TrackedPlace, columns: [Int])]) {
        for (place, columns) in due { place.pending.subtract(columns) }
        places = places.filter { !$0.value.pending.isEmpty }
        if places.isEmpty { baseline = nil }
        for (place, columns) in due {
            for column in columns {
                let path = keyPath(column)
                place.registrar.willSet(place, keyPath: path)
                place.registrar.didSet(place, keyPath: path)
            }
        }
    }
}

extension RealmCore {
    /// Created with the first read of an object of an observable class.
    var readTracker: ReadTracker {
        if let tracker { return tracker }
        let made = ReadTracker(self)
        tracker = made
        return made
    }

    /// Called when the Realm shows another version and no operation is incomplete.
    func didShowOtherVersion() { tracker?.advance() }
}

/// Records a read of a property of an object of an observable class.
@inline(never)
func trackRead(of object: ObjectBase, _ column: Int) {
    // Linking objects have no column; their content is tracked when it is read through their results.
    if column >= 0 { object.core.readTracker.read(object.binding.tableKey, object.rowKey, column) }
}

extension ResultsState {
    /// Records a read of results of an observable class: of all columns and tables that determine their objects and
    /// order.
    @inline(never)
    func trackRead() {
        guard let table = binding?.tableKey else { return }
        let tracker = realm.readTracker
        guard tracker.read(table, nil, ReadTracker.existence) else { return }
        switch source {
        case .list(let owner, let column), .values(let owner, let column, _, _):
            tracker.read(owner.binding.tableKey, owner.key, column)
        case .backlinks(_, let column): tracker.read(table, nil, column)
        case .table, .nothing: break
        }
        guard let query else { return }
        let region = QueryRegion(query)
        for column in region.filterColumns.columns + region.orderColumns.columns { tracker.read(table, nil, column) }
        for other in region.otherTables { tracker.read(other, nil, ReadTracker.anything) }
    }
}
