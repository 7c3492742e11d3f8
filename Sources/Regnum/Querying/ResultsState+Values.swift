// SPDX-License-Identifier: Apache-2.0
// Results of values: those of a list, a set or a map, ordered or each once. They are no rows of a table, so nothing
// of the query machinery but its order is used.

internal import RegnumEngine
internal import RegnumQuery

extension ResultsState {
    /// True where the elements are values, not objects.
    var isOfValues: Bool {
        if case .values = source { return true }
        return false
    }

    /// Throws where values cannot be asked for that.
    func checkStep(_ step: Step) throws(QueryError) {
        guard case .values(_, _, _, let kind) = source else { return }
        let paths: [String]
        let verb: String
        switch step {
        case .filter:
            throw QueryError(
                .unsupported,
                "Querying is currently only implemented for \(kind.prefix { $0 != " " }) of Realm Objects")
        case .sort(let descriptors):
            paths = descriptors.map(\.keyPath)
            verb = "sorted"
        case .distinct(let names):
            paths = names
            verb = "made distinct"
        case .slice: return
        case .behind:
            throw QueryError(.unsupported, "Pages behind an object are of objects; these are \(kind).")
        }
        if let path = paths.first(where: { $0 != "self" }) {
            throw QueryError(
                .keyPath,
                "Cannot \(verb == "sorted" ? "sort" : "distinct") on key path '\(path)': \(kind) can only be "
                    + "\(verb) on 'self'")
        }
    }

    /// The values of now in their order; empty where the owner is gone.
    func currentValues() -> [Value] {
        check()
        guard case .values(let owner, let column, let path, _) = source, owner.exists else { return [] }
        return realm.alone { valuesOfNow(owner, column, path) }
    }

    private func valuesOfNow(_ owner: RowReference, _ column: Int, _ path: [NestedStep]?) -> [Value] {
        let now = realm.changeCount
        if let valueCache, valueCache.stamp == now { return valueCache.values }
        let table = owner.binding.table
        var values =
            path.map {
                ManagedPlace(core: realm, binding: owner.binding, key: owner.key, column: column, path: $0)
                    .nestedElements
            }
            ?? engine { () throws(EngineError) in try table.listValues(column, of: owner.key) }
        for step in steps {
            switch step {
            case .sort(let descriptors):
                guard let first = descriptors.first else { continue }
                values = Self.sorted(values, ascending: first.ascending)
            case .distinct(let names) where !names.isEmpty: values = Self.distinct(values)
            case .slice(let offset, let limit):
                let rest = values.dropFirst(offset)
                values = Array(limit.map { rest.prefix($0) } ?? rest)
            default: continue
            }
        }
        valueCache = (now, values)
        return values
    }

    /// Stable: equal values keep their order.
    private static func sorted(_ values: [Value], ascending: Bool) -> [Value] {
        values.enumerated().sorted { left, right in
            let order = MixedOrder.compare(left.element, right.element)
            if order != 0 { return ascending ? order < 0 : order > 0 }
            return left.offset < right.offset
        }.map(\.element)
    }

    /// The first of those that are equal.
    private static func distinct(_ values: [Value]) -> [Value] {
        let order = values.indices.sorted { left, right in
            let order = MixedOrder.compare(values[left], values[right])
            return order != 0 ? order < 0 : left < right
        }
        var kept: [Int] = []
        for index in order {
            if let last = kept.last, MixedOrder.compare(values[last], values[index]) == 0 { continue }
            kept.append(index)
        }
        return kept.sorted().map { values[$0] }
    }
}

extension ManagedPlace {
    /// The elements of a collection as a query sees them: objects of the class `target`, or values.
    func results(_ target: ObjectBase.Type?, _ words: CollectionWords, elementName: String) -> ResultsState {
        if let target {
            return ResultsState(
                realm: core, elementType: target, binding: fetchableTarget(target),
                source: .list(owner: owner, column: column))
        }
        return ResultsState(
            realm: core, elementType: ObjectBase.self, binding: nil,
            source: .values(owner: owner, column: column, path: path, kind: "\(words.plural) of '\(elementName)'"))
    }
}

// MARK: What values can do

extension RealmCollection where Element.PersistedType: SortableType {
    /// The elements in order.
    public func sorted(ascending: Bool = true) -> Results<Element> { sorted(byKeyPath: "self", ascending: ascending) }
}

extension RealmCollection where Element.PersistedType: SortableType {
    /// The elements without those that equal an earlier one.
    public func distinct() -> Results<Element> { distinct(by: ["self"]) }
}

extension Map where Value.PersistedType: SortableType {
    /// The values in order.
    public func sorted(ascending: Bool = true) -> Results<Value> { sorted(byKeyPath: "self", ascending: ascending) }

    /// The values without those that equal an earlier one.
    public func distinct() -> Results<Value> { distinct(by: ["self"]) }
}
