// SPDX-License-Identifier: Apache-2.0
// The elements of an observed collection in the version that was last delivered to its observer, and the changes since
// then; one case for each kind of collection.

internal import RegnumEngine
internal import RegnumObservation
internal import RegnumQuery

/// The properties of a collection that its observation needs.
public struct _Watched {
    enum Kind {
        case results(ResultsState)
        /// A list or a set, by its location.
        case elements(PropertyLocation, CollectionKind)
        case unmanaged
    }
    let kind: Kind

    /// The class of the elements; nil for values.
    var elements: ClassBinding? {
        switch kind {
        case .results(let state): state.binding
        case .elements(let place, _): place.elementBinding
        case .unmanaged: nil
        }
    }

    /// The query that selects the elements from all objects of a table; nil for whole tables and other sources.
    var tableQuery: (query: ObjectQuery, table: TableKey)? {
        guard case .results(let state) = kind, case .table = state.source, let query = state.query,
            let binding = state.binding
        else { return nil }
        return (query, binding.tableKey)
    }

    /// True if the elements are values that may be links to objects of any class.
    var mayLinkAnywhere: Bool {
        switch kind {
        case .results(let state):
            if case .values(let owner, let column, _, _) = state.source {
                owner.binding.table.definition.columns[column].type == .mixed
            } else {
                false
            }
        case .elements(let place, _): place.mayLinkAnywhere
        case .unmanaged: false
        }
    }
}

extension PropertyLocation {
    /// True if the collection may contain links to objects of any class.
    var mayLinkAnywhere: Bool { binding.table.definition.columns[column].type == .mixed }
}

/// Confined to the Realm.
enum WatchedElements {
    case query(ObservedQuery)
    /// Results whose objects come from a list or from backlinks.
    case keys(ResultsState, [ObjectKey])
    /// Results whose elements are values.
    case ordered(ResultsState, WatchedValues)
    case values(PropertyLocation, CollectionKind, WatchedValues)

    init(_ watched: _Watched) throws(EngineError) {
        switch watched.kind {
        case .results(let state):
            if case .table = state.source, let binding = state.binding {
                let session = state.realm.session
                let queries = state.realm.notifier?.queries ?? ObservedQueries()
                self = .query(try queries.query(state.query, of: binding.tableKey, in: session))
            } else if case .values = state.source {
                self = .ordered(state, WatchedValues(state.currentValues()))
            } else {
                self = .keys(state, state.allKeys())
            }
        case .elements(let place, let kind):
            self = .values(place, kind, Self.values(place))
        case .unmanaged:
            preconditionFailure("an unmanaged collection is not observed")
        }
    }

    /// The query that finds the elements; nil if there is none.
    var query: ObservedQuery? { if case .query(let query) = self { query } else { nil } }

    private static func values(_ place: PropertyLocation) -> WatchedValues {
        WatchedValues(place.locate() == nil ? [] : place.values())
    }

    /// Continues after `Realm.invalidate` with the same elements and the new collection. A query does not depend on it.
    mutating func revive(_ watched: _Watched) {
        switch (self, watched.kind) {
        case (.keys(_, let keys), .results(let state)): self = .keys(state, keys)
        case (.ordered(_, let values), .results(let state)): self = .ordered(state, values)
        case (.values(_, _, let values), .elements(let place, let kind)): self = .values(place, kind, values)
        default: break
        }
    }

    /// Returns the change set and moves to the newer version. `modified`: the objects that count as changed.
    mutating func advance(_ walk: RegionTraversal, modified: Set<ObjectKey>) throws(EngineError) -> CollectionChanges {
        switch self {
        case .query(let query):
            return try query.advance(walk, modified: modified)
        case .keys(let state, let old):
            if try !walk.touches(state) {
                if modified.isEmpty { return CollectionChanges() }
                return CollectionChanges(modifications: old.indices.filter { modified.contains(old[$0]) })
            }
            let new = state.allKeys()
            self = .keys(state, new)
            var changes = CollectionDiff.between(old, new) { modified.contains($0) }
            changes.deletedKeys = changes.deletions.map { old[$0] }
            return changes
        case .ordered(let state, let last):
            let (old, anywhere) = (last.values, try last.modified(in: walk))
            let isModified = { (value: GroupKey) in value.isLink(toOneOf: [], anywhere) }
            if try !walk.touches(state) {
                if anywhere.isEmpty { return CollectionChanges() }
                return CollectionChanges(modifications: old.indices.filter { isModified(old[$0]) })
            }
            let new = WatchedValues(state.currentValues())
            self = .ordered(state, new)
            return CollectionDiff.between(old, new.values, isModified: isModified)
        case .values(let place, let kind, let last):
            let (old, anywhere) = (last.values, try last.modified(in: walk))
            let isModified = { (value: GroupKey) in value.isLink(toOneOf: modified, anywhere) }
            if !walk.touches(place) {
                if modified.isEmpty, anywhere.isEmpty { return CollectionChanges() }
                return CollectionChanges(modifications: old.indices.filter { isModified(old[$0]) })
            }
            let new = Self.values(place)
            self = .values(place, kind, new)
            var changes =
                kind == .list
                ? CollectionDiff.ofList(old, new.values, isModified: isModified)
                : CollectionDiff.between(old, new.values, isModified: isModified)
            changes.deletedKeys = changes.deletions.compactMap { old[$0].linked }
            return changes
        }
    }

    /// The object at a position in the version last delivered, which `session` shows; nil for values.
    func key(at position: Int, in session: Session) throws(EngineError) -> ObjectKey? {
        switch self {
        case .query(let query): try query.key(at: position, in: session)
        case .keys(_, let keys): keys[position]
        case .ordered: nil
        case .values(_, _, let last): last.values[position].linked
        }
    }
}

/// The elements, compared as storage compares them, and whether they include links to objects of any class.
struct WatchedValues {
    let values: [GroupKey]
    private let linksAnywhere: Bool

    init(_ values: [Value]) {
        self.values = values.map { GroupKey($0) }
        linksAnywhere = values.contains { $0.isAnyLink }
    }

    /// Of the links to objects of any class, those whose objects count as changed.
    func modified(in walk: RegionTraversal) throws(EngineError) -> [TableKey: Set<ObjectKey>] {
        try linksAnywhere ? walk.modified(linkedBy: values.lazy.map(\.value)) : [:]
    }
}

extension Value {
    /// True for a link to an object of any class.
    var isAnyLink: Bool {
        if case .typedLink = self { true } else { false }
    }
}

extension GroupKey {
    /// The object it links to, if all elements link to one class.
    fileprivate var linked: ObjectKey? {
        if case .link(let key) = value { key } else { nil }
    }

    /// True for a link to one of the objects; `anywhere` contains the targets of links to any class.
    func isLink(toOneOf keys: Set<ObjectKey>, _ anywhere: [TableKey: Set<ObjectKey>]) -> Bool {
        switch value {
        case .link(let key): keys.contains(key)
        case .typedLink(let table, let key): anywhere[table]?.contains(key) ?? false
        default: false
        }
    }
}

extension _Watched {
    /// The tables whose changes may affect the elements or their order.
    func tables() -> Set<TableKey> {
        var found: Set<TableKey> = []
        switch kind {
        case .results(let state):
            if let key = state.binding?.tableKey { found.insert(key) }
            if let query = state.query { found.formUnion(QueryRegion(query).otherTables) }
            switch state.source {
            case .list(let owner, _), .values(let owner, _, _, _), .backlinks(let owner, _):
                found.insert(owner.binding.tableKey)
            case .table, .nothing: break
            }
        case .elements(let place, _): found.insert(place.binding.tableKey)
        case .unmanaged: break
        }
        return found
    }
}

extension RegionTraversal {
    /// False if the collection at the location is unchanged.
    func touches(_ place: PropertyLocation) -> Bool { touches(place.binding.tableKey, place.key, place.column) }

    private func touches(_ table: TableKey, _ key: ObjectKey, _ column: Int) -> Bool {
        guard let changes = changes[table] else { return false }
        return !changes.deleted.isEmpty || changes.columns(of: key)?.contains(column) ?? false
    }

    /// False if the elements and their order are unchanged.
    func touches(_ state: ResultsState) throws(EngineError) -> Bool {
        if let query = state.query, try !QueryRegion(query).deciding(in: self).isEmpty { return true }
        switch state.source {
        case .table, .nothing: return true
        case .list(let owner, let column), .values(let owner, let column, _, _):
            return touches(owner.binding.tableKey, owner.key, column)
        case .backlinks: return state.binding.map { changes[$0.tableKey] != nil } ?? true
        }
    }
}

extension PropertyLocation {
    /// The class that the links of the column point to; nil if it holds values.
    var elementBinding: ClassBinding? {
        binding.target(of: column)
    }
}

extension ClassBinding {
    /// The class that the links of the column point to; nil for values.
    func target(of column: Int) -> ClassBinding? {
        table.definition.columns[column].target.flatMap { target in
            core.binding(forTable: target) ?? core.session.table(target).map { core.dynamicBinding($0) }
        }
    }
}
