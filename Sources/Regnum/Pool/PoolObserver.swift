// SPDX-License-Identifier: Apache-2.0
// Finds the changes for all listeners of a pool: an actor on a queue of its own, and a Realm that is confined to the
// queue and advances with each commit while there are listeners. Equal results have one observation.

internal import Foundation
internal import RegnumEngine
internal import RegnumObservation

actor PoolObserver {
    private let executor = QueueExecutor(label: "regnum.pool.observer")
    private let configuration: Realm.Configuration
    private let origin: SessionOrigin
    /// Nil while there are no listeners.
    private var core: RealmCore?
    private var isClosed = false
    private struct Key: Hashable {
        let query: ObservedQueries.Key
        let form: PoolForm
    }
    private struct Observation {
        weak var broadcast: PoolBroadcast?
        let reader: PoolObjectReader
    }
    private var observations: [Key: Observation] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ configuration: Realm.Configuration, _ origin: SessionOrigin) {
        self.configuration = configuration
        self.origin = origin
    }

    /// Adds the listener to the observation of its results, which begins if there is none. Returns the contents at the
    /// version from which on the listener receives updates.
    func join(
        _ listener: PoolListener, _ source: PoolChangeSource
    ) throws -> (PoolBroadcast, PoolContents) {
        if isClosed { throw RealmPoolError.closed }
        let core = try opened()
        let watched = source.results(Realm(core: core))
        guard case .results(let state) = watched.kind, case .table = state.source, state.realm === core,
            let binding = state.binding
        else {
            misuse("The changes of a pool are those of the objects of a class: begin with `realm.objects(_:)`.")
        }
        let queries = core.notifier?.queries ?? ObservedQueries()
        let key = Key(query: queries.key(state.query, of: binding.tableKey), form: source.form)
        if let known = observations[key], let broadcast = known.broadcast {
            // First: if it throws, the listener may join again.
            let contents = try self.contents(known.reader, core, source)
            broadcast.add(listener)
            return (broadcast, contents)
        }
        let reader = PoolObjectReader(state, binding, source.form)
        let broadcast = PoolBroadcast { [weak self] in Task { [weak self] in await self?.dropEnded() } }
        let observer = PoolResultsObserver(watched, reader, region: watched.region(nil)) { [weak broadcast] update in
            broadcast?.send(update)
        }
        do throws(EngineError) { _ = try observer.begin() } catch { throw core.error("read", error) }
        broadcast.begin(core.observeFromNow(observer))
        let contents = try self.contents(reader, core, source)
        broadcast.add(listener)
        observations[key] = Observation(broadcast: broadcast, reader: reader)
        return (broadcast, contents)
    }

    /// The contents for a listener that has lost updates; nil if the pool is closed. Updates after them are sent to it.
    /// A listener whose contents cannot be read has ended.
    func contents(
        of broadcast: PoolBroadcast, for listener: PoolListener, _ source: PoolChangeSource
    ) throws -> PoolContents? {
        guard let core, let known = observations.values.first(where: { $0.broadcast === broadcast }) else {
            listener.end()
            return nil
        }
        do {
            let contents = try self.contents(known.reader, core, source)
            listener.restart()
            return contents
        } catch {
            listener.end()
            throw error
        }
    }

    private func opened() throws -> RealmCore {
        if let core { return core }
        let made = try RealmOpening.open(
            configuration, queue: executor.queue, origin: origin, poolRole: .observer)
        core = made
        return made
    }

    private func contents(
        _ reader: PoolObjectReader, _ core: RealmCore, _ source: PoolChangeSource
    ) throws -> PoolContents {
        let version = core.session.version
        if !source.contents { return PoolContents(version: version, objects: []) }
        do throws(EngineError) { return try reader.contents(version) } catch { throw core.error("read", error) }
    }

    /// How many observations the commits so far have been compared for, and how many are running; for tests.
    var work: (asked: Int, observations: Int) { (core?.notifier?.work.asked ?? 0, observations.count) }

    /// Removes observations without listeners, and the Realm with the last one.
    private func dropEnded() {
        observations = observations.filter { $0.value.broadcast != nil }
        if observations.isEmpty { core = nil }
    }

    /// Ends all listeners, refuses later ones, and releases the Realm.
    func close() {
        isClosed = true
        for observation in observations.values { observation.broadcast?.end() }
        observations = [:]
        core = nil
    }
}

/// Reads the objects of results as values, at the version that their Realm shows. Confined to the Realm.
private final class PoolObjectReader {
    private let state: ResultsState
    private let binding: ClassBinding
    private let form: PoolForm
    /// The column of the primary key.
    private let keyColumn: Int?
    /// The contents that were read last: hundreds of listeners may ask for those of one version.
    private var last: PoolContents?

    init(_ state: ResultsState, _ binding: ClassBinding, _ form: PoolForm) {
        (self.state, self.binding, self.form) = (state, binding, form)
        keyColumn = binding.schema.primaryKey.map { binding.columns[$0] }
    }

    /// All objects at the version that the Realm shows.
    func contents(_ version: UInt64) throws(EngineError) -> PoolContents {
        if let last, last.version == version { return last }
        let table = binding.table
        let decoder = SnapshotReader()
        var objects: [PoolObject] = []
        for key in state.allKeys() { objects.append(try object(key, at: objects.count, in: table, decoder)) }
        let contents = PoolContents(version: version, objects: objects)
        last = contents
        return contents
    }

    /// Frees the memory of the contents that were read last. Call when they have changed.
    func dropContents() { last = nil }

    /// An object at the version that the Realm shows. `decoder` belongs to the objects of one call.
    func object(
        _ key: ObjectKey, at position: Int, in table: Table, _ decoder: SnapshotReader
    ) throws(EngineError) -> PoolObject {
        PoolObject(
            position: position, primaryKey: try primaryKey(of: key, in: table),
            snapshot: form.snapshots ? binding.makeAccessor(key).snapshot() : nil,
            decoded: form.valueType.map { decoded(key, as: $0, decoder) })
    }

    private func decoded<Value: Decodable & Sendable>(
        _ key: ObjectKey, as type: Value.Type, _ decoder: SnapshotReader
    ) -> Result<any Sendable, any Error> {
        Result { try decoder.value(binding.makeAccessor(key), as: type) }
    }

    /// An object that may exist only in the older version, to which `table` belongs.
    func deleted(_ key: ObjectKey, at position: Int, in table: Table) throws(EngineError) -> PoolObject {
        PoolObject(position: position, primaryKey: try primaryKey(of: key, in: table), snapshot: nil, decoded: nil)
    }

    private func primaryKey(of key: ObjectKey, in table: Table) throws(EngineError) -> SnapshotValue? {
        guard let keyColumn, keyColumn >= 0 else { return nil }
        switch try table.value(keyColumn, of: key) {
        case .null: return .null
        case .int(let value): return .int(Int(value))
        case .string(let value): return .string(value)
        case .objectID(let low, let high): return .objectId(ObjectId(low: low, high: high))
        case .uuid(let low, let high): return .uuid(UUID(words: (low, high)))
        default: return nil
        }
    }
}

/// Computes updates as values. Observes from the version at which it is created.
private final class PoolResultsObserver: ChangeObserver {
    private let watched: _Watched
    private let reader: PoolObjectReader
    private let region: Region?
    private let send: (PoolUpdate) -> Void
    private var elements: WatchedElements?

    init(
        _ watched: _Watched, _ reader: PoolObjectReader, region: Region?, _ send: @escaping (PoolUpdate) -> Void
    ) {
        (self.watched, self.reader, self.region, self.send) = (watched, reader, region, send)
    }

    func tables(in session: Session) -> Set<TableKey>? {
        watched.tables().union(region?.tables(in: session) ?? [])
    }

    var watching: Watching { Watching(query: elements?.query, first: watched.tableQuery, region: region) }

    func begin() throws(EngineError) -> (() -> Void)? {
        elements = try WatchedElements(watched)
        return nil
    }

    /// Nothing invalidates the Realm.
    func revive(in home: _RealmHome) {}

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        reader.dropContents()
        let modified = try region.map { region throws(EngineError) in try walk.modified(region) } ?? []
        guard let changes = try elements?.advance(walk, modified: modified), !changes.isEmpty,
            let table = watched.elements?.tableKey, let older = walk.older.table(table),
            let newer = walk.newer.table(table)
        else { return nil }
        var deletions: [PoolObject] = []
        for (position, key) in zip(changes.deletions, changes.deletedKeys) {
            deletions.append(try reader.deleted(key, at: position, in: older))
        }
        let positions = changes.newPositions(of: changes.modifications)
        let update = PoolUpdate(
            version: walk.newer.version, deletions: deletions,
            insertions: try objects(changes.insertions, walk.newer, newer),
            modifications: try objects(positions, walk.newer, newer))
        return { [send] in send(update) }
    }

    private func objects(
        _ positions: [Int], _ session: Session, _ table: Table
    ) throws(EngineError) -> [PoolObject] {
        let decoder = SnapshotReader()
        var found: [PoolObject] = []
        for position in positions {
            guard let key = try elements?.key(at: position, in: session) else { continue }
            found.append(try reader.object(key, at: position, in: table, decoder))
        }
        return found
    }
}
