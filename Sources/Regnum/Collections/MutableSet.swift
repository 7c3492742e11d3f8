// SPDX-License-Identifier: Apache-2.0
// `MutableSet`: a collection property with distinct elements. `StoredCollection.swift` has the code shared with lists,
// `MutableSet+Algebra.swift` the set algebra.

public import Foundation
internal import RegnumEngine

/// A collection of distinct values or objects, held by a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var tags: MutableSet<String>
///     @Persisted var friends: MutableSet<Person>
/// }
/// ```
///
/// When the owning object is added to a Realm, the same instance becomes managed and can be changed only in a write
/// transaction. The elements of a managed set are in ascending order: values by their natural order (strings by their
/// UTF-8 bytes, nil first), objects by the order in which they were added to the Realm. An unmanaged set has no defined
/// order.
public final class MutableSet<Element: RealmCollectionValue>: _StoredCollection<Element> {
    override class var words: CollectionNames { .set }
    /// The elements of an unmanaged set, for lookup.
    private var members = SetMembers<Element>()
}

/// The members of an unmanaged set. Objects are kept by identity, because their hash changes when they become managed.
/// Strings are compared by their bytes.
private struct SetMembers<Element: RealmCollectionValue> {
    private var values: Set<Element> = []
    private var texts: Set<TextKey> = []
    private var objects: Set<ObjectIdentifier> = []

    func contains(_ element: Element, in items: [Element]) -> Bool {
        if let text = TextKey.of(element) { return texts.contains(text) }
        guard let object = element as? ObjectBase else { return values.contains(element) }
        if objects.contains(ObjectIdentifier(object)) { return true }
        // Two accessors of the same managed object may be equal.
        return object.rowContext != nil && items.contains(element)
    }

    mutating func insert(_ element: Element) {
        if let text = TextKey.of(element) {
            texts.insert(text)
        } else if let object = element as? ObjectBase {
            objects.insert(ObjectIdentifier(object))
        } else {
            values.insert(element)
        }
    }

    mutating func remove(_ element: Element) {
        if let text = TextKey.of(element) {
            texts.remove(text)
        } else if let object = element as? ObjectBase {
            objects.remove(ObjectIdentifier(object))
        } else {
            values.remove(element)
        }
    }
}

// MARK: Elements

extension MutableSet: RealmCollection {
    public typealias Index = Int
    public typealias SubSequence = Slice<MutableSet>
    public typealias Indices = Range<Int>

    /// The element at a position in the set's order. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Element { element(at: position) }

    /// A slice of the set, in the order of the set. It shares the set's elements.
    public subscript(bounds: Range<Int>) -> Slice<MutableSet> { Slice(base: self, bounds: bounds) }

    /// Returns whether the set contains an element. O(log n) if managed, otherwise O(1). A managed set of objects
    /// contains only objects of its own Realm. It is a programmer error to pass an object of a class other than the
    /// element class.
    public func contains(_ object: Element) -> Bool {
        guard let place = checkedPlace() else { return members.contains(object, in: items) }
        guard let wanted = place.soughtValue(object, Self.words) else { return false }
        return engine { () throws(EngineError) in
            try place.binding.table.setIndex(of: wanted, place.column, of: place.key) != nil
        }
    }

    /// Not available: the positions in a set are not stable.
    public func index(of object: Element) -> Int? { misuse("index(of:) is not available on MutableSet") }

    /// Not available: the positions in a set are not stable.
    public func index(matching predicate: NSPredicate) -> Int? {
        misuse("index(matching:) is not available on MutableSet")
    }

    /// Compares unmanaged sets by their elements, and managed sets by property and owning object.
    public static func == (left: MutableSet, right: MutableSet) -> Bool {
        if left === right { return true }
        switch (left.place, right.place) {
        case (nil, nil):
            return left.items.count == right.items.count
                && left.items.allSatisfy { right.members.contains($0, in: right.items) }
        case (let left?, let right?): return left.isSame(as: right)
        default: return false
        }
    }
}

extension MutableSet: Hashable {
    public func hash(into hasher: inout Hasher) {
        guard let place else {
            hasher.combine(items.count)
            return
        }
        hasher.combine(place.key)
        hasher.combine(place.column)
    }
}

extension MutableSet {
    /// Returns the result of `==` if `object` is a set of the same type, otherwise false.
    ///
    /// - Parameter object: Any value. An array or dictionary of the same values is never equal to a set.
    public func isEqual(_ object: Any?) -> Bool { (object as? MutableSet).map { $0 == self } ?? false }
}

// MARK: Changing

extension MutableSet {
    /// Inserts an element if it is not in the set. An unmanaged object is added to the set's Realm.
    public func insert(_ object: Element) {
        if let known, known.isWriting, let value = plainEngineValue(object) {
            return known.withTable { table throws(EngineError) in
                _ = try table.setInsert(value, known.column, of: known.key)
            }
        }
        guard let place = writablePlace() else { return insert(objectsIn: CollectionOfOne(object)) }
        insert([place.engineValue(object, Self.words)], place)
    }

    /// Inserts the elements that are not in the set.
    public func insert<S: Sequence>(objectsIn objects: S) where S.Element == Element {
        guard let place = writablePlace() else {
            for object in objects where !members.contains(object, in: items) {
                requireClass(of: CollectionOfOne(object), .set)
                if Element.self == AnyRealmValue.self { (object as? AnyRealmValue)?.requireSetElement() }
                members.insert(object)
                items.append(object)
            }
            return
        }
        // Convert all elements first: `objects` may be this set, and an invalid element must leave the set unchanged.
        insert(objects.map { place.engineValue($0, Self.words) }, place)
    }

    func insert(_ values: [Value], _ place: PropertyLocation) {
        engine { () throws(EngineError) in
            for value in values { try place.binding.table.setInsert(value, place.column, of: place.key) }
        }
    }

    /// Removes an element, if it is in the set. Objects stay in their Realm.
    public func remove(_ object: Element) {
        guard let place = writablePlace() else {
            removeItem(object)
            return
        }
        guard let value = place.soughtValue(object, Self.words) else { return }
        remove([value], place)
    }

    func removeItem(_ object: Element) {
        guard let index = items.firstIndex(where: { TextKey.areEqual($0, object) }) else { return }
        members.remove(items.remove(at: index))
    }

    func remove(_ values: [Value], _ place: PropertyLocation) {
        engine { () throws(EngineError) in
            for value in values { try place.binding.table.setRemove(value, place.column, of: place.key) }
        }
    }

    /// Removes all elements. Objects stay in their Realm.
    public func removeAll() {
        guard let place = writablePlace() else {
            dropItems()
            return
        }
        let count = count
        if count == 0 { return }
        engine { () throws(EngineError) in
            try place.binding.table.listRemove(0..<count, place.column, of: place.key)
        }
    }

    /// Keeps only the elements that satisfy the condition. For unmanaged sets.
    func keepItems(where isKept: (Element) -> Bool) {
        let kept = items.filter(isKept)
        dropItems()
        insert(objectsIn: kept)
    }
}

extension MutableSet {
    public var _watched: _Watched { _Watched(kind: place.map { .elements($0, .set) } ?? .unmanaged) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> MutableSet? {
        movedCopy(to: home, mayBeMissing: mayBeMissing)
    }

    /// A description of the first hundred elements.
    public var description: String { ObjectDescription.text(of: self) }
}

extension MutableSet: Codable where Element: Codable {
    /// Decodes the set from an array.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        try CodingDepth.check(decoder)
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { insert(try container.decode(Element.self)) }
    }

    /// Encodes the set as an array.
    public func encode(to encoder: any Encoder) throws {
        try CodingDepth.check(encoder, self)
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

// MARK: Type-erased elements

/// Any `MutableSet`.
protocol AnyOwnedSet: AnyOwnedCollection {}

extension MutableSet: AnyOwnedSet {}

extension MutableSet: AnyList {
    var anyElements: [Any] { typedElements(self) }
    func storableElements(of value: Any) -> OwnedElements? { storable(value, .set) }

    func dropItems() {
        items = []
        members = SetMembers()
    }

    func replaceElements(with value: Any) -> Bool {
        guard let value = unwrapped(value) else {
            removeAll()
            return true
        }
        if Element._shape.isPartial, let place = writablePlace() { return replaceStored(with: value, place) }
        if let set = instance(value, of: MutableSet.self) {
            _assign(set)
            return true
        }
        guard let elements = Coercion.elements(value) else { return false }
        let coerced = coerced(elements)
        removeAll()
        insert(objectsIn: coerced)
        return true
    }
}

// MARK: As a property

extension MutableSet: _OwnedCollection {
    public typealias PersistedType = MutableSet
    public typealias _Stored = MutableSet?

    public static var _shape: _PropertyShape { shape(of: Element.self, .set) }

    public func _assign(_ other: MutableSet) {
        if self === other || isManaged && other.isManaged && self == other { return }
        if Element._shape.isPartial, let place = writablePlace() {
            _ = replaceStored(with: other, place)
            return
        }
        let elements = Array(other)
        removeAll()
        insert(objectsIn: elements)
    }

    public func _replaceElements(with value: Any) -> Bool { replaceElements(with: value) }
}
