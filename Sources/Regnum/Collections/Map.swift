// SPDX-License-Identifier: Apache-2.0
// `Map`: a dictionary property with String keys. An unmanaged map holds a Dictionary; a managed map is a view of the
// entries in the file, found by the owner's key. This file has the reading methods, `Map+Mutations.swift` the mutating
// methods and `Map+Querying.swift` the queries.

public import Foundation
internal import RegnumEngine

/// A type that can be the key of a `Map`; only String conforms.
public protocol _MapKey: Hashable {
    init(_mapKey: String)
    var _mapKey: String { get }
}

extension String: _MapKey {
    public init(_mapKey: String) { self = _mapKey }
    public var _mapKey: String { self }
}

/// A keyed collection that belongs to a Realm object; `Map` conforms.
public protocol RealmKeyedCollection: Sequence, ThreadConfined, CustomStringConvertible {
    associatedtype Key: _MapKey
    associatedtype Value: RealmCollectionValue
    /// The number of entries.
    var count: Int { get }
    /// The keys.
    var keys: [Key] { get }
    /// The values, in the order of the keys.
    var values: [Value] { get }
    /// The value of a key, or nil if there is none. Assigning nil removes the entry.
    subscript(key: Key) -> Value? { get set }
    /// Sets the value of a key.
    func updateValue(_ value: Value, forKey key: Key)
    /// Removes the entry of a key, if there is one.
    func removeObject(for key: Key)
    /// Removes all entries.
    func removeAll()
    /// Returns the values that satisfy the predicate.
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value>
    /// Returns the values that satisfy the predicate.
    func filter(_ predicate: NSPredicate) -> Results<Value>
    /// Returns the values that satisfy the condition.
    func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value>
    /// Returns whether any entry satisfies the condition.
    func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool
    /// Returns the value of a key in the form that the subscripts of objects return.
    func value(forKey key: String) -> Any?
    /// Returns a property of the value of a key, or an aggregate over all values.
    func value(forKeyPath keyPath: String) -> Any?
    /// Sets the value of a key; nil removes the entry.
    func setValue(_ value: Any?, forKey key: String)
    /// Returns the values sorted by the property at the key path.
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Value>
    /// Returns the values sorted by the descriptors; the first descriptor takes precedence.
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor
    /// Returns the smallest value of the property, or nil if there is none.
    func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// Returns the largest value of the property, or nil if there is none.
    func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType
    /// Returns the sum of the property's values. Integers wrap on overflow.
    func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType
    /// Returns the average of the property's values, or nil if there is none.
    func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType
    /// Calls `block` once with the current map, then after each change to it. See `RealmCollection.observe`.
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken
}

/// A collection of values by String keys, held by a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var scores: Map<String, Int>
///     @Persisted var dogs: Map<String, Dog?>
/// }
/// ```
///
/// When the owning object is added to a Realm, the same instance becomes managed and can be changed only in a write
/// transaction. The entries of a managed map are in ascending order of the UTF-8 bytes of their keys; its keys must not
/// start with "$" or contain ".". An unmanaged map has no defined order. A loop iterates over the entries as they were
/// when it began. When an object that is a value is deleted, the value becomes nil.
public final class Map<Key: _MapKey, Value: RealmCollectionValue>: _ManagedCollection {
    /// The entries while unmanaged.
    var entries: [TextKey: Value] = [:]
    /// The recorder, and the name it records for a read, while a key path is traced.
    private var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    /// Creates an empty, unmanaged map.
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

// MARK: Location

extension Map {
    /// Returns the location of a managed map after checking access to it; nil for an unmanaged map.
    @inline(__always)
    func checkedPlace() -> PropertyLocation? {
        guard let place else { return nil }
        note(place.check(.dictionary))
        return place
    }

    /// Like `checkedPlace`, but also requires a write transaction.
    @inline(__always)
    func writablePlace() -> PropertyLocation? {
        guard let place else { return nil }
        note(place.checkWritable(.dictionary))
        return place
    }
}

// MARK: Entries

extension Map: RealmKeyedCollection {
    /// The number of entries.
    public var count: Int {
        if let known { return known.count }
        guard let place = checkedPlace() else {
            recordField()
            return entries.count
        }
        return place.entryCount()
    }

    public var isEmpty: Bool { count == 0 }

    /// The keys. In a managed map they are in ascending order of their UTF-8 bytes.
    public var keys: [Key] {
        guard let place = checkedPlace() else { return entries.keys.map { Key(_mapKey: $0.text) } }
        return place.entries(isDeep: false).map { Key(_mapKey: $0.key) }
    }

    /// The values, in the order of the keys.
    public var values: [Value] {
        guard let place = checkedPlace() else { return Array(entries.values) }
        return place.entries(isDeep: false).map { place.element($0.value, as: Value.self, at: .key($0.key)) }
    }

    /// The value of a key, or nil if there is none. Assigning nil removes the entry. If values are optional, assigning
    /// `.some(nil)` keeps the key with a nil value.
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

    /// Returns the value of a key, or nil if there is none.
    public func object(forKey key: Key) -> Value? { self[key] }

    /// The current entries as pairs.
    var pairs: [(key: Key, value: Value)] {
        guard let place = checkedPlace() else { return entries.map { (Key(_mapKey: $0.key.text), $0.value) } }
        return place.entries(isDeep: false).map {
            (Key(_mapKey: $0.key), place.element($0.value, as: Value.self, at: .key($0.key)))
        }
    }

    /// Returns an iterator over the current entries.
    public func makeIterator() -> RLMMapIterator<SingleMapEntry<Key, Value>> {
        RLMMapIterator(pairs.map { SingleMapEntry(key: $0.key, value: $0.value) })
    }

    /// Returns the current entries as pairs.
    public func asKeyValueSequence() -> RLMKeyValueSequence<Key, Value> { RLMKeyValueSequence(pairs: pairs) }

    /// Returns whether any entry satisfies the condition.
    public func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool {
        for (key, value) in pairs where try predicate(key, value) { return true }
        return false
    }
}

extension Map: Hashable {
    /// Compares unmanaged maps by their entries, and managed maps by property and owning object.
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
    /// Returns the result of `==` if `object` is a map of the same type, otherwise false.
    ///
    /// - Parameter object: Any value. A dictionary of the same values is never equal to a map.
    public func isEqual(_ object: Any?) -> Bool { (object as? Map).map { $0 == self } ?? false }
}

// MARK: State

extension Map {
    /// The owner's Realm; nil while unmanaged.
    public var realm: Realm? { place.map { Realm(core: $0.core) } }

    /// True if the owner was deleted or its Realm was invalidated.
    public var isInvalidated: Bool {
        guard let place else { return false }
        place.core.check()
        return place.locate() == nil || !place.isThere(.dictionary)
    }

    /// True if the Realm is frozen.
    public var isFrozen: Bool { place?.core.isFrozen ?? false }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Map? {
        movedCopy(to: home, mayBeMissing: mayBeMissing)
    }

    /// A description of the first hundred entries.
    public var description: String { ObjectDescription.text(of: self) }
}

// MARK: Type-erased entries

/// Any `Map`.
protocol AnyMap: AnyOwnedCollection {
    /// The current keys and values, in the form that the subscripts of objects return.
    var anyEntries: [(key: String, value: Any?)] { get }
}

extension Map: AnyMap, TracedField {
    static var words: CollectionNames { .dictionary }
    static var elementName: String { Regnum.elementName(Value.self) }
    static var targetClass: ObjectBase.Type? { Value._shape.target }
    static var elementType: PropertyType { Value._shape.type }
    // `rawItems` and `rawKeys` both use the dictionary's own order, which is stable until it is changed.
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
    static func represents(_ value: Any) -> Bool { Regnum.coerced(value, as: Value.self) != nil }
    static func hasForm(for stored: RegnumEngine.Value) -> Bool { formed(stored, as: Value.self) is Value }

    func storableElements(of value: Any) -> OwnedElements? {
        if let map = instance(value, of: Map.self) {
            guard let place = map.checkedPlace() else {
                return OwnedElements(kind: .dictionary, keys: map.rawKeys, values: map.engineValues)
            }
            let entries = place.entries()
            return OwnedElements(kind: .dictionary, keys: entries.map(\.key), values: entries.map(\.value))
        }
        guard let given = Coercion.mapEntries(value) else { return nil }
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

    /// Records the field's name while a key path is traced through the map.
    func recordField() {
        if let traced, let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
    }

    /// Returns the value that stands for every value of a traced map.
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
        guard let given = Coercion.mapEntries(value) else { return false }
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
        becomeManaged(PropertyLocation(object, column: column))
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
