// SPDX-License-Identifier: Apache-2.0
// What loops over a `Map` see.

/// What a loop over a map gives.
public protocol _RealmMapValue {
    associatedtype Key: _MapKey
    associatedtype Value: RealmCollectionValue
    /// The key of the entry.
    var key: Key { get }
    /// The value of the entry.
    var value: Value { get }
}

/// One entry of a `Map`.
public struct SingleMapEntry<Key: _MapKey, Value: RealmCollectionValue>: _RealmMapValue, Hashable {
    /// The key of the entry.
    public var key: Key
    /// The value of the entry.
    public var value: Value

    public init(key: Key, value: Value) {
        self.key = key
        self.value = value
    }
}

/// Iterates over the entries that a map had when the loop began.
public struct RLMMapIterator<Element: _RealmMapValue>: IteratorProtocol {
    private var rest: IndexingIterator<[Element]>

    init(_ entries: [Element]) { rest = entries.makeIterator() }

    /// The next entry, or nil at the end.
    public mutating func next() -> Element? { rest.next() }
}

/// The entries of a map as pairs, of the time when it was asked for.
public struct RLMKeyValueSequence<Key: _MapKey, Value: RealmCollectionValue>: Sequence {
    let pairs: [(key: Key, value: Value)]

    /// Iterates over the pairs.
    public func makeIterator() -> RLMKeyValueIterator<Key, Value> { RLMKeyValueIterator(pairs) }
}

/// Iterates over pairs of keys and values.
public struct RLMKeyValueIterator<Key: _MapKey, Value: RealmCollectionValue>: IteratorProtocol {
    private var rest: IndexingIterator<[(key: Key, value: Value)]>

    init(_ pairs: [(key: Key, value: Value)]) { rest = pairs.makeIterator() }

    /// The next pair, or nil at the end.
    public mutating func next() -> (key: Key, value: Value)? { rest.next() }
}
