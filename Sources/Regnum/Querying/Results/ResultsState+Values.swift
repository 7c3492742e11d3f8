// SPDX-License-Identifier: Apache-2.0
// Results of values: those of a list, a set or a map, sorted or distinct. They are not rows of a table, so only the
// ordering of the query engine is used.

internal import RegnumEngine
internal import RegnumQuery

extension ResultsState {
    /// True if the elements are values, not objects.
    var isOfValues: Bool {
        if case .values = source { return true }
        return false
    }

    /// Throws if the step is not supported for values.
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
            throw QueryError(.unsupported, "Paging after an object works only for objects; these are \(kind).")
        }
        if let path = paths.first(where: { $0 != "self" }) {
            throw QueryError(
                .keyPath,
                "Cannot \(verb == "sorted" ? "sort" : "distinct") on key path '\(path)': \(kind) can only be "
                    + "\(verb) on 'self'")
        }
    }

    /// Returns the current values in order; empty if the owner was deleted.
    func currentValues() -> [Value] { placedValues().values }

    /// Like `currentValues`, with the position of each value in the collection.
    private func placedValues() -> (values: [Value], places: [Int]) {
        check()
        guard case .values(let owner, let column, let path, _) = source, owner.exists else { return ([], []) }
        return realm.alone { valuesOfNow(owner, column, path) }
    }

    /// Returns the current values at these positions as elements. Links know their Realm; lists and dictionaries know
    /// their location in the collection, whatever order they are sorted in.
    func valueElements<Element: _HasPersistedType>(_ positions: Range<Int>, as type: Element.Type) -> [Element] {
        let (values, places) = placedValues()
        guard case .values(let owner, let column, let path, _) = source else { return [] }
        let place = PropertyLocation(core: realm, binding: owner.binding, key: owner.key, column: column, path: path)
        var names: [String]?
        var elements: [Element] = []
        elements.reserveCapacity(positions.count)
        for position in positions {
            switch values[position] {
            case .list, .dictionary:
                if names == nil { names = place.isMap ? place.entries().map(\.key) : [] }
                let index = places[position]
                let step = names.flatMap { index < $0.count ? NestedStep.key($0[index]) : nil } ?? .index(index)
                elements.append(place.nested(at: step).element(values[position], as: type))
            case let value: elements.append(place.element(value, as: type))
            }
        }
        return elements
    }

    /// Like `valueElements`, for one element.
    func valueElement<Element: _HasPersistedType>(at position: Int, as type: Element.Type) -> Element {
        let value = currentValues()[position]
        switch value {
        case .typedLink, .list, .dictionary, .link: return valueElements(position..<position + 1, as: type)[0]
        default: return Element._fromRaw(_RawValue(value))
        }
    }

    /// Returns a value that was at the position, as an element. A list or dictionary that is no longer there has no
    /// location.
    func valueElement<Element: _HasPersistedType>(
        _ value: Value, from position: Int, as type: Element.Type
    ) -> Element {
        let values = currentValues()
        if position < values.count, values[position] == value {
            return valueElements(position..<position + 1, as: type)[0]
        }
        guard case .values(let owner, let column, let path, _) = source, case .typedLink = value else {
            return Element._fromRaw(_RawValue(value))
        }
        return PropertyLocation(core: realm, binding: owner.binding, key: owner.key, column: column, path: path)
            .element(value, as: type)
    }

    private func valuesOfNow(_ owner: RowReference, _ column: Int, _ path: [NestedStep]?)
        -> (values: [Value], places: [Int])
    {
        let now = realm.changeCount
        if let valueCache, valueCache.stamp == now { return (valueCache.values, valueCache.places) }
        let table = owner.binding.table
        let values =
            path.map {
                PropertyLocation(core: realm, binding: owner.binding, key: owner.key, column: column, path: $0)
                    .nestedElements
            }
            ?? engine { () throws(EngineError) in try table.listValues(column, of: owner.key) }
        var places = Array(values.indices)
        for step in steps {
            switch step {
            case .sort(let descriptors):
                guard let first = descriptors.first else { continue }
                places = Self.sorted(places, of: values, by: first)
            case .distinct(let names) where !names.isEmpty: places = Self.distinct(places, of: values)
            case .slice(let offset, let limit):
                let rest = places.dropFirst(offset)
                places = Array(limit.map { rest.prefix($0) } ?? rest)
            default: continue
            }
        }
        let ordered = steps.isEmpty ? values : places.map { values[$0] }
        valueCache = (now, ordered, places)
        return (ordered, places)
    }

    /// Sorts stably: equal values keep their order.
    private static func sorted(_ places: [Int], of values: [Value], by descriptor: SortDescriptor) -> [Int] {
        var texts: [NaturalText?] = []
        if descriptor.collation == .natural {
            texts = values.map { value -> NaturalText? in
                guard case .string(let text) = value else { return nil }
                return NaturalText(text)
            }
        }
        func compare(_ left: Int, _ right: Int) -> Int {
            if !texts.isEmpty, let text = texts[left], let other = texts[right] {
                return NaturalText.compare(text, other)
            }
            return MixedOrder.compare(values[left], values[right])
        }
        return places.enumerated().sorted { left, right in
            let order = compare(left.element, right.element)
            if order != 0 { return descriptor.ascending ? order < 0 : order > 0 }
            return left.offset < right.offset
        }.map(\.element)
    }

    /// Keeps the first of equal values.
    private static func distinct(_ places: [Int], of values: [Value]) -> [Int] {
        let order = places.indices.sorted { left, right in
            let order = MixedOrder.compare(values[places[left]], values[places[right]])
            return order != 0 ? order < 0 : left < right
        }
        var kept: [Int] = []
        for index in order {
            if let last = kept.last, MixedOrder.compare(values[places[last]], values[places[index]]) == 0 { continue }
            kept.append(index)
        }
        return kept.sorted().map { places[$0] }
    }
}

extension PropertyLocation {
    /// Returns the elements of a collection as the input of a query: objects of the class `target`, or values.
    func results(_ target: ObjectBase.Type?, _ words: CollectionNames, elementName: String) -> ResultsState {
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

// MARK: Operations on values

extension RealmCollection where Element.PersistedType: SortableType {
    /// Returns the elements sorted.
    public func sorted(ascending: Bool = true) -> Results<Element> { sorted(byKeyPath: "self", ascending: ascending) }
}

extension RealmCollection where Element.PersistedType: SortableType {
    /// Returns the elements without those that equal an earlier one.
    public func distinct() -> Results<Element> { distinct(by: ["self"]) }
}

extension Map where Value.PersistedType: SortableType {
    /// Returns the values sorted.
    public func sorted(ascending: Bool = true) -> Results<Value> { sorted(byKeyPath: "self", ascending: ascending) }

    /// Returns the values without those that equal an earlier one.
    public func distinct() -> Results<Value> { distinct(by: ["self"]) }
}
