// SPDX-License-Identifier: Apache-2.0
// `Map`: the dictionary with String keys that a property holds. Unmanaged it is a Dictionary; managed it is a
// view of the entries in the file, by their owner's key. Reading is here, changing in `Map+Mutations.swift`,
// queries in `Map+Querying.swift`.

public import Foundation
internal import RegnumEngine

/// What a key of a `Map` must be: only String is.
public protocol _MapKey: Hashable {
    init(_mapKey: String)
    var _mapKey: String { get }
}

extension String: _MapKey {
    public init(_mapKey: String) { self = _mapKey }
    public var _mapKey: String { self }
}

/// A collection of values by keys that belongs to a Realm object: `Map`.
public protocol RealmKeyedCollection: Sequence, ThreadConfined, CustomStringConvertible {
    associatedtype Key: _MapKey
    associatedtype Value: RealmCollectionValue
    /// How many entries there are.
    var count: Int { get }
    /// The keys.
    var keys: [Key] { get }
    /// The values, in the order of the keys.
    var values: [Value] { get }
    /// The value of a key, or nil; assigning nil removes the entry.
    subscript(key: Key) -> Value? { get set }
    /// Sets the value of a key.
    func updateValue(_ value: Value, forKey key: Key)
    /// Removes the entry of a key; nothing where there is none.
    func removeObject(for key: Key)
    /// Removes all entries.
    func removeAll()
    /// The values that satisfy the predicate.
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value>
    /// The values that satisfy the predicate.
    func filter(_ predicate: NSPredicate) -> Results<Value>
    /// The values that satisfy the condition.
    func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value>
    /// Whether some entry satisfies the condition.
    func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool
    /// The value of a key as subscripts of objects show it.
    func value(forKey key: String) -> Any?
    /// A property of the value of a key, or one figure over all values.
    func value(forKeyPath keyPath: String) -> Any?
    /// Sets the value of a key; nil removes it.
    func setValue(_ value: Any?, forKey key: String)
    /// The values ordered by the property at the key path.
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Value>
    /// The values ordered by the descriptors, the first one first.
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor
    /// The smallest value of the property; nil where there is none.
    func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// The largest value of the property; nil where there is none.
    func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// The sum of the property's values; ints wrap.
    func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType
    /// The average of the property's values; nil where there is none.
    func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType
    /// Calls `block` once with the map as it is, and then after each change of it. See `RealmCollection.observe`.
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken
}

/// Values by String keys as a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var scores: Map<String, Int>
///     @Persisted var dogs: Map<String, Dog?>
/// }
/// ```
///
/// When its object is added to a Realm the same instance becomes managed. Then it may only be changed in a write
/// transaction, and its entries are ascending by the UTF-8 bytes of their keys; keys must not start with "$" nor
/// contain ".". Unmanaged there is no order to rely on. A loop runs over the entries at its start. Where an object
/// that is a value is deleted, the value becomes nil.
public final class Map<Key: _MapKey, Value: RealmCollectionValue>: _ManagedCollection {
    /// While unmanaged.
    var entries: [TextKey: Value] = [:]
    /// The name under which reads are recorded, while a key path is traced.
    private var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    /// Empty and unmanaged.
    public override init() {}

    deinit {
        guard Value.self == AnyRealmValue.self, !entries.isEmpty else { return }
        DeepRelease.release { waiting in
            for (_, item) in entries {
                if let value = item as? AnyRealmValue { DeepRelease.take(value, into: &waiting) }
            }
            entries = [:]
        }
    }
}

// MARK: Places

extension Map {
    /// The place of a managed map, checked; nil for an unmanaged one.
    @inline(__always)
    func checkedPlace() -> ManagedPlace? {
        guard let place else { return nil }
        note(place.check(.dictionary))
        return place
    }

    /// As `checkedPlace`, in a write.
    @inline(__always)
    func writablePlace() -> ManagedPlace? {
        guard let place else { return nil }
        note(place.checkWritable(.dictionary))
        return place
    }
}

// MARK: Entries

extension Map: RealmKeyedCollection {
    /// How many entries there are.
    public var count: Int {
        if let known { return known.count }
        guard let place = checkedPlace() else {
            recordField()
            return entries.count
        }
        return place.entryCount()
    }

    public var isEmpty: Bool { count == 0 }

    /// The keys, of a managed map ascending by their UTF-8 bytes.
    public var keys: [Key] {
        guard let place = checkedPlace() else { return entries.keys.map { Key(_mapKey: $0.text) } }
        return place.entries(isDeep: false).map { Key(_mapKey: $0.key) }
    }

    /// The values, in the order of the keys.
    public var values: [Value] {
        guard let place = checkedPlace() else { return Array(entries.values) }
        return place.entries(isDeep: false).map { place.element($0.value, as: Value.self, at: .key($0.key)) }
    }

    /// The value of a key, or nil where there is none. Assigning nil removes the entry; where values may be nil,
    /// `.some(nil)` keeps the key with that.
    public subscript(key: Key) -> Value? {
        get {
            if let known {
                let value = known.withTable { table throws(EngineError) in
                    try table.dictionaryValue(for: key._mapKey, known.column, of: known.key, at: known.location)
                }
                switch value {
                case .int(let number) where Value.self == Int.self: return unsafeBitCast(Int(number), to: Value.self)
                case .some(let value):
                    if let place { return place.element(value, as: Value.self, at: .key(key._mapKey)) }
                case nil: return nil
                }
            }
            if let traced { return tracedValue(traced) }
            guard let place = checkedPlace() else { return entries[TextKey(key._mapKey)] }
            return place.value(forKey: key._mapKey).map {
                place.element($0, as: Value.self, at: .key(key._mapKey))
            }
        }
        set {
            if let newValue { updateValue(newValue, forKey: key) } else { removeObject(for: key) }
        }
    }

    /// The value of a key, or nil where there is none.
    public func object(forKey key: Key) -> Value? { self[key] }

    /// The pairs of now.
    var pairs: [(key: Key, value: Value)] {
        guard let place = checkedPlace() else { return entries.map { (Key(_mapKey: $0.key.text), $0.value) } }
        return place.entries(isDeep: false).map {
            (Key(_mapKey: $0.key), place.element($0.value, as: Value.self, at: .key($0.key)))
        }
    }

    /// Iterates over the entries of now.
    public func makeIterator() -> RLMMapIterator<SingleMapEntry<Key, Value>> {
        RLMMapIterator(pairs.map { SingleMapEntry(key: $0.key, value: $0.value) })
    }

    /// The entries of now as pairs.
    public func asKeyValueSequence() -> RLMKeyValueSequence<Key, Value> { RLMKeyValueSequence(pairs: pairs) }

    /// Whether some entry satisfies the condition.
    public func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool {
        for (key, value) in pairs where try predicate(key, value) { return true }
        return false
    }
}

extension Map: Hashable {
    /// Unmanaged maps: equal entries. Managed ones: the same map of the same object.
    public static func == (left: Map, right: Map) -> Bool {
        if left === right { return true }
        switch (left.place, right.place) {
        case (nil, nil): return left.entries == right.entries
        case (let left?, let right?): return left.isSame(as: right)
        default: return false
        }
    }

    public func hash(into hasher: inout Hasher) {
        guard let place else {
            hasher.combine(entries.count)
            return
        }
        hasher.combine(place.key)
        hasher.combine(place.column)
    }
}

extension Map {
    /// As `==`: true for a map of the same type that is equal; false for everything else.
    ///
    /// - Parameter object: Anything. An array or dictionary of the same values is no map.
    public func isEqual(_ object: Any?) -> Bool { (object as? Map).map { $0 == self } ?? false }
}

// MARK: State

extension Map {
    /// The Realm of the owner; nil while unmanaged.
    public var realm: Realm? { place.map { Realm(core: $0.core) } }

    /// True where the owner was deleted or its Realm invalidated.
    public var isInvalidated: Bool {
        guard let place else { return false }
        place.core.check()
        return place.locate() == nil || !place.isThere(.dictionary)
    }

    /// True where the Realm is frozen.
    public var isFrozen: Bool { place?.core.isFrozen ?? false }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Map? {
        movedCopy(to: home, mayBeMissing: mayBeMissing)
    }

    /// The entries, the first hundred of them.
    public var description: String { ObjectDescription.text(of: self) }
}

// MARK: For those who do not know the types

/// Any `Map`.
protocol AnyMap: AnyOwnedCollection {
    /// Text keys and values of now, as subscripts show them.
    var anyEntries: [(key: String, value: Any?)] { get }
}

extension Map: AnyMap, TracedField {
    static var words: CollectionWords { .dictionary }
    static var elementName: String { Regnum.elementName(Value.self) }
    static var targetClass: ObjectBase.Type? { Value._shape.target }
    static var elementType: PropertyType { Value._shape.type }
    // Both in the dictionary's own order, which stays while it does not change.
    var rawItems: [_RawValue] { entries.values.map { Value._toRaw($0) } }
    var rawKeys: [String] {
        entries.keys.map {
            checkKey($0.text)
            return $0.text
        }
    }
    var anyElements: [Any] {
        guard Value._shape.isPartial, let place = checkedPlace() else { return values.map { $0 as Any } }
        return place.entries().map { formed($0.value, as: Value.self) }
    }
    var anyEntries: [(key: String, value: Any?)] {
        guard Value._shape.isPartial, let place = checkedPlace() else {
            return pairs.map { ($0.key._mapKey, Value._dynamic($0.value)) }
        }
        return place.entries().map { ($0.key, Value._shown(_RawValue($0.value))) }
    }
    static func held(_ value: Any) -> Any? { Regnum.held(value, as: Value.self) }
    static func accepts(_ value: Any) -> Bool { Regnum.accepts(value, as: Value.self) }
    static func hasForm(for stored: RegnumEngine.Value) -> Bool { formed(stored, as: Value.self) is Value }

    func storableElements(of value: Any) -> OwnedElements? {
        if let map = value as? Map {
            guard let place = map.checkedPlace() else {
                return OwnedElements(kind: .dictionary, keys: map.rawKeys, values: map.engineValues)
            }
            let entries = place.entries()
            return OwnedElements(kind: .dictionary, keys: entries.map(\.key), values: entries.map(\.value))
        }
        guard let given = (value as? any AnyMap)?.anyEntries ?? Coercion.entries(value)?.map({ ($0, $1) }) else {
            return nil
        }
        for (key, _) in given { checkKey(key) }
        let isKnown = value is any AnyOwnedCollection
        return OwnedElements(
            kind: .dictionary, keys: given.map(\.key),
            values: given.map { storedElement($0.value as Any, as: Value.self, .dictionary, isKnown: isKnown) })
    }

    func dropItems() { entries = [:] }

    func trace(_ recorder: _KeyPathRecorder, as name: String?) {
        traced = (recorder, name, recorder.names.count)
    }

    /// Records the name of the field, while a key path is traced through one.
    func recordField() {
        if let traced, let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
    }

    /// Any value of a traced map stands for all.
    private func tracedValue(_ traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)) -> Value {
        if let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
        return Value._traced(traced.recorder)
    }

    func replaceElements(with value: Any) -> Bool {
        guard let value = unwrapped(value) else {
            removeAll()
            return true
        }
        if Value._shape.isPartial, let place = writablePlace() { return replaceStored(with: value, place) }
        if let map = value as? Map {
            _assign(map)
            return true
        }
        guard let given = (value as? any AnyMap)?.anyEntries ?? Coercion.entries(value)?.map({ ($0, $1) }) else {
            return false
        }
        let coerced = given.map {
            (Key(_mapKey: $0.key), coercedElement($0.value as Any, Value.self, .dictionary))
        }
        place?.requireNoOwners(coerced.map(\.1), .dictionary)
        removeAll()
        insert(coerced)
        return true
    }
}

// MARK: As a property

extension Map: _OwnedCollection {
    public typealias PersistedType = Map
    public typealias _Stored = Map?

    public static var _shape: _PropertyShape { shape(of: Value.self, .dictionary) }

    public func _becomeManaged(_ object: ObjectBase, _ column: Int) {
        becomeManaged(ManagedPlace(object, column: column))
    }
    public func _trace(_ recorder: _KeyPathRecorder) { trace(recorder, as: nil) }
    public func _replaceElements(with value: Any) -> Bool { replaceElements(with: value) }

    public func _assign(_ other: Map) {
        if self === other || isManaged && other.isManaged && self == other { return }
        if Value._shape.isPartial, let place = writablePlace() {
            _ = replaceStored(with: other, place)
            return
        }
        let pairs = other.pairs
        place?.requireNoOwners(pairs.map(\.value), .dictionary)
        removeAll()
        insert(pairs)
    }
}
