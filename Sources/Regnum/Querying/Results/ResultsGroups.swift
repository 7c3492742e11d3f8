// SPDX-License-Identifier: Apache-2.0
// Groups of objects with aggregates: the equivalent of SQL's GROUP BY. An addition to RealmSwift's API.

internal import RegnumEngine
internal import RegnumQuery

extension RealmCollection where Element: ObjectBase {
    /// Groups the elements by a property, and computes the count of each group and aggregates over other properties.
    ///
    /// ```swift
    /// let byTown = orders.grouped(by: \.customer?.town, over: [\.amount])
    /// for group in byTown { print(group.key ?? "?", group.count, group.sum(of: \.amount)) }
    /// ```
    ///
    /// The groups are in the order of their first elements. They do not change when the elements do, and any thread may
    /// read them. Elements whose key is reached through a null link are in the group with the key nil. Programmer
    /// errors: key paths through collections, to objects or to data, and aggregates of properties that are neither
    /// numbers nor dates. O(elements).
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
                    "Cannot aggregate on key path '\(name)': aggregates are for numbers and dates, not for "
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
                misuse("Cannot group on key path '\(name)': its values include objects or collections.")
            default: continue
            }
        }
        return groups
    }
}

/// The groups of a collection at one point in time; see `grouped(by:over:)`.
public struct ResultsGroups<Key: _Persistable & Hashable, Element: ObjectBase>: RandomAccessCollection {
    private let groups: [ResultsGroup<Key, Element>]

    init(_ groups: [ResultsGroup<Key, Element>]) { self.groups = groups }

    public var startIndex: Int { 0 }
    public var endIndex: Int { groups.count }
    public subscript(position: Int) -> ResultsGroup<Key, Element> {
        checkIndex(position, count: groups.count)
        return groups[position]
    }

    /// Returns the group with this key, or nil if there is none. O(groups).
    public func group(for key: Key) -> ResultsGroup<Key, Element>? {
        let raw = Key._toRaw(key)
        if raw.mixed != nil || raw.object != nil { return nil }
        let wanted = GroupKey(raw.value)
        return groups.first { $0.groupKey == wanted }
    }
}

extension ResultsGroups: Sendable {}

/// The count and aggregates of one group of objects. Aggregates ignore nulls and NaN.
public struct ResultsGroup<Key: _Persistable & Hashable, Element: ObjectBase>: Identifiable, Sendable {
    let groupKey: GroupKey
    /// The number of objects in the group.
    public let count: Int
    private let totals: [String: ValueAggregate]

    init(_ group: ObjectGroup, _ names: [String]) {
        groupKey = GroupKey(group.key)
        count = group.count
        totals = Dictionary(zip(names, group.totals), uniquingKeysWith: { first, _ in first })
    }

    /// The value that the objects of the group have in common.
    public var key: Key { Key._fromRaw(_RawValue(groupKey.value)) }
    /// The same as `key`.
    public var id: Key { key }

    private func figure(_ kind: AggregateKind, _ keyPath: PartialKeyPath<Element>) -> Value {
        let name = _name(for: keyPath)
        guard let total = totals[name] else {
            misuse("The groups have no aggregates of '\(name)'. Pass it to grouped(by:over:).")
        }
        return total.result(kind)
    }

    /// Returns the smallest value of the property in the group, or nil if there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.min, keyPath))
    }

    /// Returns the largest value of the property in the group, or nil if there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        converted(figure(.max, keyPath))
    }

    /// Returns the sum of the property's values in the group. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
        converted(figure(.sum, keyPath), to: T.self)
    }

    /// Returns the average of the property's values in the group, or nil if there is none.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Element, T>
    ) -> Double? where T.PersistedType: AddableType {
        let average = figure(.avg, keyPath)
        if case .decimal128 = average { return Decimal128._fromRaw(_RawValue(average)).doubleValue }
        return converted(average)
    }
}
