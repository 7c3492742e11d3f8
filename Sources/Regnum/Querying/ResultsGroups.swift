// SPDX-License-Identifier: Apache-2.0
// Groups of objects with figures over each: what SQL says with GROUP BY. An addition to RealmSwift's API.

internal import RegnumEngine
internal import RegnumQuery

extension RealmCollection where Element: ObjectBase {
    /// The elements put together by a property, with how many there are in each group and figures over other
    /// properties.
    ///
    /// ```swift
    /// let byTown = orders.grouped(by: \.customer?.town, over: [\.amount])
    /// for group in byTown { print(group.key ?? "?", group.count, group.sum(of: \.amount)) }
    /// ```
    ///
    /// The groups come in the order of their first elements. They are those of now and do not change any more; any
    /// thread may read them. Elements behind a null link are in the group of nil. Misuse for key paths through
    /// collections, to objects and to data, and for figures of what is no number and no date. O(elements).
    @_disfavoredOverload
    public func grouped<Key: _Persistable & Hashable>(
        by keyPath: KeyPath<Element, Key>, over figures: [PartialKeyPath<Element>] = []
    ) -> ResultsGroups<Key, Element> {
        let names = figures.map { _name(for: $0) }
        let groups = managed().groups(by: _name(for: keyPath), over: names)
        return ResultsGroups(groups.map { ResultsGroup($0, names) })
    }
}

extension ResultsState {
    fileprivate func groups(by name: String, over names: [String]) -> [ObjectGroup] {
        check()
        guard let binding else { return [] }
        let schema = RealmQuerySchema(realm: realm)
        let table = binding.tableKey
        let key: SortKey
        var columns: [SortKey] = []
        do throws(QueryError) {
            key = try SortKey.bind(name, to: table, in: schema, verb: "group")
            for name in names { columns.append(try SortKey.bind(name, to: table, in: schema, verb: "aggregate")) }
        } catch { misuse(error.message) }
        for (name, column) in zip(names, columns) {
            switch column.type {
            case .int, .float, .double, .decimal128, .date, .mixed: continue
            default:
                misuse(
                    "Cannot aggregate on key path '\(name)': figures are of numbers and dates, not of "
                        + "\(column.type.shown).")
            }
        }
        let keys = allKeys()
        let groups = engine { () throws(EngineError) in
            try Grouping.groups(of: keys, by: key, over: columns, in: table, realm.session)
        }
        for group in groups {
            switch group.key {
            case .typedLink, .list, .dictionary:
                misuse("Cannot group on key path '\(name)': there are objects or collections among its values.")
            default: continue
            }
        }
        return groups
    }
}

/// The groups of a collection at one moment; see `grouped(by:over:)`.
public struct ResultsGroups<Key: _Persistable & Hashable, Element: ObjectBase>: RandomAccessCollection {
    private let groups: [ResultsGroup<Key, Element>]

    init(_ groups: [ResultsGroup<Key, Element>]) { self.groups = groups }

    public var startIndex: Int { 0 }
    public var endIndex: Int { groups.count }
    public subscript(position: Int) -> ResultsGroup<Key, Element> {
        checkIndex(position, count: groups.count)
        return groups[position]
    }

    /// The group of that key; nil where there is none. O(groups).
    public func group(for key: Key) -> ResultsGroup<Key, Element>? {
        let raw = Key._toRaw(key)
        if raw.mixed != nil || raw.object != nil { return nil }
        let wanted = GroupKey(raw.value)
        return groups.first { $0.groupKey == wanted }
    }
}

extension ResultsGroups: Sendable {}

/// What one group of objects comes to. Nulls and NaN are left out of its figures.
public struct ResultsGroup<Key: _Persistable & Hashable, Element: ObjectBase>: Identifiable, Sendable {
    let groupKey: GroupKey
    /// How many objects there are in it.
    public let count: Int
    private let totals: [String: ValueAggregate]

    init(_ group: ObjectGroup, _ names: [String]) {
        groupKey = GroupKey(group.key)
        count = group.count
        totals = Dictionary(zip(names, group.totals), uniquingKeysWith: { first, _ in first })
    }

    /// What its objects have in common.
    public var key: Key { Key._fromRaw(_RawValue(groupKey.value)) }
    /// The key.
    public var id: Key { key }

    private func figure(_ kind: AggregateKind, _ keyPath: PartialKeyPath<Element>) -> Value {
        let name = _name(for: keyPath)
        guard let total = totals[name] else {
            misuse("The groups were made without figures of '\(name)'. Name it in grouped(by:over:).")
        }
        return total.result(kind)
    }

    /// The smallest value of the property in the group; nil where there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.min, keyPath))
    }

    /// The largest value of the property in the group; nil where there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.max, keyPath))
    }

    /// The sum of the property's values in the group; ints wrap.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
        converted(figure(.sum, keyPath), to: T.self)
    }

    /// The average of the property's values in the group; nil where there is none.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Element, T>
    ) -> Double? where T.PersistedType: AddableType {
        let average = figure(.avg, keyPath)
        if case .decimal128 = average { return Decimal128._fromRaw(_RawValue(average)).doubleValue }
        return converted(average)
    }
}
