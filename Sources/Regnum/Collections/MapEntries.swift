// SPDX-License-Identifier: Apache-2.0
// The element, iterator and sequence types of loops over a `Map`.

/// The element type of a loop over a map.
public protocol _RealmMapValue {
    associatedtype Key: _MapKey
    associatedtype Value: RealmCollectionValue
    /// The key of the entry.
    var key: Key { get }
    /// The value of the entry.
    var value: Value { get }
}

/// An entry of a `Map`.
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

/// An iterator over the entries that the map had when the loop began.
public struct RLMMapIterator<Element: _RealmMapValue>: IteratorProtocol {
    private var rest: IndexingIterator<[Element]>

    init(_ entries: [Element]) { rest = entries.makeIterator() }

    /// The next entry, or nil at the end.
    public mutating func next() -> Element? { rest.next() }
}

/// A sequence of the entries that the map had when the sequence was created, as pairs.
public struct RLMKeyValueSequence<Key: _MapKey, Value: RealmCollectionValue>: Sequence {
    let pairs: [(key: Key, value: Value)]

    /// Returns an iterator over the pairs.
    public func makeIterator() -> RLMKeyValueIterator<Key, Value> { RLMKeyValueIterator(pairs) }
}

/// An iterator over key-value pairs.
public struct RLMKeyValueIterator<Key: _MapKey, Value: RealmCollectionValue>: IteratorProtocol {
    private var rest: IndexingIterator<[(key: Key, value: Value)]>

    init(_ pairs: [(key: Key, value: Value)]) { rest = pairs.makeIterator() }

    /// Returns the next pair, or nil at the end.
    public mutating func next() -> (key: Key, value: Value)? { rest.next() }
}
