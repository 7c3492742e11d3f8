// SPDX-License-Identifier: Apache-2.0
// Observers of ordered collections and maps.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

/// A change passed to the block that observes a collection.
@frozen
public enum RealmCollectionChange<CollectionType> {
    /// The initial call, with the current collection.
    case initial(CollectionType)
    /// The collection has changed. `deletions` and `modifications` are ascending positions in the collection before the
    /// change; `insertions` are positions in the collection after it. An element that has moved is in both.
    case update(CollectionType, deletions: [Int], insertions: [Int], modifications: [Int])
    /// Never sent: kept for switches that name it.
    case error(any Error)
}

/// A change passed to the block that observes a map.
@frozen
public enum RealmMapChange<MapType: RealmKeyedCollection> {
    /// The initial call, with the current map.
    case initial(MapType)
    /// Keys that were removed, keys that were added, and keys whose value has changed.
    case update(MapType, deletions: [MapType.Key], insertions: [MapType.Key], modifications: [MapType.Key])
    /// Never sent: kept for switches that name it.
    case error(any Error)
}

/// The objects of a change set as values of `ObjectKeyIdentifiable.id`, each list in the order of its positions. Empty
/// for collections of values.
package struct ChangedIDs: Hashable, Sendable {
    package var deleted: [UInt64] = []
    package var inserted: [UInt64] = []
    package var modified: [UInt64] = []
}

final class CollectionObserver<C: RealmCollection>: ChangeObserver {
    private var collection: C
    private var watched: _Watched
    /// Nil for collections of values.
    private let region: Region?
    private let block: (RealmCollectionChange<C>, ChangedIDs?) -> Void
    private let tellsIdentities: Bool
    private var elements: WatchedElements?

    init(
        _ collection: C, _ watched: _Watched, region: Region?, tellsIdentities: Bool = false,
        _ block: @escaping (RealmCollectionChange<C>, ChangedIDs?) -> Void
    ) {
        self.collection = collection
        self.watched = watched
        self.region = region
        self.block = block
        self.tellsIdentities = tellsIdentities
    }

    func tables(in session: Session) -> Set<TableKey>? {
        if watched.mayLinkAnywhere { return nil }
        return watched.tables().union(region?.tables(in: session) ?? [])
    }

    var watching: Watching { Watching(query: elements?.query, first: watched.tableQuery, region: region) }

    func revive(in home: _RealmHome) {
        guard let moved = collection._moved(to: home, mayBeMissing: true) else { return }
        collection = moved
        watched = moved._watched
        elements?.revive(watched)
    }

    func begin() throws(EngineError) -> (() -> Void)? {
        elements = try WatchedElements(watched)
        return { [block, collection] in block(.initial(collection), nil) }
    }

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        let modified = try region.map { region throws(EngineError) in try walk.modified(region) } ?? []
        guard let changes = try elements?.advance(walk, modified: modified), !changes.isEmpty else { return nil }
        let identities = try identities(of: changes, in: walk.newer)
        return { [block, collection] in
            block(
                .update(
                    collection, deletions: changes.deletions, insertions: changes.insertions,
                    modifications: changes.modifications), identities)
        }
    }

    /// The ids of the changed objects. O(changes * log n).
    private func identities(
        of changes: CollectionChanges, in session: Session
    ) throws(EngineError) -> ChangedIDs? {
        guard tellsIdentities, let identified = watched.elements, let elements else { return nil }
        var found = ChangedIDs(deleted: changes.deletedKeys.map { identified.identity(of: $0) })
        for position in changes.insertions {
            guard let key = try elements.key(at: position, in: session) else { continue }
            found.inserted.append(identified.identity(of: key))
        }
        for position in changes.newPositions(of: changes.modifications) {
            guard let key = try elements.key(at: position, in: session) else { continue }
            found.modified.append(identified.identity(of: key))
        }
        return found
    }
}

final class MapObserver<Key: _MapKey, Element: RealmCollectionValue>: ChangeObserver {
    private var map: Map<Key, Element>
    private var place: PropertyLocation
    private let region: Region?
    private let block: (RealmMapChange<Map<Key, Element>>) -> Void
    private var entries: [DictionaryEntry] = []
    /// True if one of the values is a link to an object of any class.
    private var linksAnywhere = false

    init(
        _ map: Map<Key, Element>, _ place: PropertyLocation, region: Region?,
        _ block: @escaping (RealmMapChange<Map<Key, Element>>) -> Void
    ) {
        self.map = map
        self.place = place
        self.region = region
        self.block = block
    }

    func tables(in session: Session) -> Set<TableKey>? {
        if place.mayLinkAnywhere { return nil }
        return Set([place.binding.tableKey]).union(region?.tables(in: session) ?? [])
    }

    func revive(in home: _RealmHome) {
        guard let moved = map._moved(to: home, mayBeMissing: true), let place = moved.place else { return }
        map = moved
        self.place = place
    }

    private func load() {
        entries = place.locate() == nil ? [] : place.entries()
        linksAnywhere = place.mayLinkAnywhere && entries.contains { $0.value.isAnyLink }
    }

    func begin() throws(EngineError) -> (() -> Void)? {
        load()
        return { [block, map] in block(.initial(map)) }
    }

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        let modified = try region.map { region throws(EngineError) in try walk.modified(region) } ?? []
        let anywhere = try linksAnywhere ? walk.modified(linkedBy: entries.lazy.map(\.value)) : [:]
        if modified.isEmpty, anywhere.isEmpty, !walk.touches(place) { return nil }
        let old = entries
        load()
        // Not keyed by `String`, because Swift considers canonically equivalent keys with different bytes equal.
        let before = Dictionary(
            old.map { (TextKey($0.key), GroupKey($0.value)) }, uniquingKeysWith: { first, _ in first })
        let after = Set(entries.map { TextKey($0.key) })
        let gone = old.map(\.key).filter { !after.contains(TextKey($0)) }
        var insertions: [String] = []
        var modifications: [String] = []
        for entry in entries {
            guard let last = before[TextKey(entry.key)] else {
                insertions.append(entry.key)
                continue
            }
            let value = GroupKey(entry.value)
            if last != value || value.isLink(toOneOf: modified, anywhere) { modifications.append(entry.key) }
        }
        if gone.isEmpty, insertions.isEmpty, modifications.isEmpty { return nil }
        let keys = (gone, insertions, modifications)
        return { [block, map] in
            block(
                .update(
                    map, deletions: keys.0.map { Key(_mapKey: $0) }, insertions: keys.1.map { Key(_mapKey: $0) },
                    modifications: keys.2.map { Key(_mapKey: $0) }))
        }
    }
}
