// SPDX-License-Identifier: Apache-2.0
// Maps in type-safe queries.

extension Query where T: RealmKeyedCollection {
    /// The number of entries in the map.
    public var count: Query<Int> { whole("@count") }

    /// Any key of the map.
    public var keys: Query<T.Key> { part("@allKeys") }

    /// Any value of the map.
    public var values: Query<T.Value> { part("@allValues") }

    /// The value of a key; nil if there is none.
    public subscript(key: T.Key) -> Query<T.Value> {
        var path = path
        path.subscripts.append(.key(key._mapKey))
        path.collectionCount -= 1
        path.endsInCollection = false
        return Query<T.Value>(.path(path))
    }

    /// Returns whether the map contains `value` as a value.
    public func contains(_ value: T.Value) -> Query<Bool> {
        let map: Query = whole()
        return Query<Bool>(.comparison(.isIn, .constant(QueryConstant(value)), map.node, []))
    }

    /// Returns whether the map contains any of `values` as a value.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
        comparison(.isIn, Array(values))
    }

    private func part<V>(_ name: String) -> Query<V> {
        var path = path
        path.names.append(name)
        return Query<V>(.path(path))
    }
}

extension Query where T: RealmKeyedCollection, T.Value.PersistedType: _QueryNumeric {
    /// The smallest value.
    public var min: Query<T.Value> { aggregate("@min") }
    /// The largest value.
    public var max: Query<T.Value> { aggregate("@max") }
    /// The average of the values.
    public var avg: Query<T.Value> { aggregate("@avg") }
    /// The sum of the values.
    public var sum: Query<T.Value> { aggregate("@sum") }
}
