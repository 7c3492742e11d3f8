// SPDX-License-Identifier: Apache-2.0
// The elements of an observed collection in the version that its observer was told of last, and what has become of
// them since: one way for each kind of collection.

internal import RegnumEngine
internal import RegnumObservation

/// What a collection says of itself to be observed.
public struct _Watched {
    enum Kind {
        case results(ResultsState)
        /// A list or a set by its owner's place.
        case elements(ManagedPlace, CollectionKind)
        case unmanaged
    }
    let kind: Kind

    /// The class whose objects are the elements; nil for values.
    var elements: ClassBinding? {
        switch kind {
        case .results(let state): state.binding
        case .elements(let place, _): place.elementBinding
        case .unmanaged: nil
        }
    }
}

/// Confined to the Realm.
enum WatchedElements {
    case query(ObservedQuery)
    /// Results whose objects come from a list or from backlinks.
    case keys(ResultsState, [ObjectKey])
    /// Results whose elements are values.
    case ordered(ResultsState, [Value])
    case values(ManagedPlace, CollectionKind, [Value])

    init(_ watched: _Watched) throws(EngineError) {
        switch watched.kind {
        case .results(let state):
            if case .table = state.source, let binding = state.binding {
                let session = state.realm.session
                let queries = state.realm.notifier?.queries ?? ObservedQueries()
                self = .query(try queries.query(state.query, of: binding.tableKey, in: session))
            } else if case .values = state.source {
                self = .ordered(state, state.currentValues())
            } else {
                self = .keys(state, state.allKeys())
            }
        case .elements(let place, let kind):
            self = .values(place, kind, Self.values(place))
        case .unmanaged:
            preconditionFailure("an unmanaged collection is not observed")
        }
    }

    private static func values(_ place: ManagedPlace) -> [Value] { place.locate() == nil ? [] : place.values() }

    /// What has changed, and moves on. `modified` are the objects that count as changed.
    mutating func advance(_ walk: RegionWalk, modified: Set<ObjectKey>) throws(EngineError) -> CollectionChanges {
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
        case .ordered(let state, let old):
            if try !walk.touches(state) { return CollectionChanges() }
            let new = state.currentValues()
            self = .ordered(state, new)
            return CollectionDiff.between(old, new)
        case .values(let place, let kind, let old):
            let isModified = { (value: Value) in
                if case .link(let key) = value { modified.contains(key) } else { false }
            }
            if !walk.touches(place) {
                if modified.isEmpty { return CollectionChanges() }
                return CollectionChanges(modifications: old.indices.filter { isModified(old[$0]) })
            }
            let new = Self.values(place)
            self = .values(place, kind, new)
            var changes =
                kind == .list
                ? CollectionDiff.ofList(old, new, isModified: isModified)
                : CollectionDiff.between(old, new, isModified: isModified)
            changes.deletedKeys = changes.deletions.compactMap { old[$0].linked }
            return changes
        }
    }

    /// The object at a position in the version that was told of last, which `session` shows; nil for values.
    func key(at position: Int, in session: Session) throws(EngineError) -> ObjectKey? {
        switch self {
        case .query(let query): try query.key(at: position, in: session)
        case .keys(_, let keys): keys[position]
        case .ordered: nil
        case .values(_, _, let values): values[position].linked
        }
    }
}

extension Value {
    /// The object that it links to.
    fileprivate var linked: ObjectKey? {
        if case .link(let key) = self { key } else { nil }
    }
}

extension _Watched {
    /// The tables whose changes may change the elements or their order.
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

extension RegionWalk {
    /// False where what the place holds is what it was.
    func touches(_ place: ManagedPlace) -> Bool { touches(place.binding.tableKey, place.key, place.column) }

    private func touches(_ table: TableKey, _ key: ObjectKey, _ column: Int) -> Bool {
        guard let changes = changes[table] else { return false }
        return !changes.deleted.isEmpty || changes.columns(of: key)?.contains(column) ?? false
    }

    /// False where the elements, and their order, are what they were.
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

extension ManagedPlace {
    /// The class that the links of the column lead to; nil where it holds values.
    var elementBinding: ClassBinding? {
        binding.target(of: column)
    }
}

extension ClassBinding {
    /// The class that the links of the column lead to; nil for values.
    func target(of column: Int) -> ClassBinding? {
        table.definition.columns[column].target.flatMap { target in
            core.binding(forTable: target) ?? core.session.table(target).map { core.dynamicBinding($0) }
        }
    }
}
