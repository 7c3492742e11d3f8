// SPDX-License-Identifier: Apache-2.0
// `MutableSet`: the collection of distinct elements that a property holds. What it shares with lists is in
// `StoredCollection.swift`, its algebra in `MutableSet+Algebra.swift`.

public import Foundation
internal import RegnumEngine

/// A collection of distinct values or objects as a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var tags: MutableSet<String>
///     @Persisted var friends: MutableSet<Person>
/// }
/// ```
///
/// When its object is added to a Realm the same instance becomes managed. Then it may only be changed in a write
/// transaction, and its elements are in ascending order: values by themselves (texts by their UTF-8 bytes, nil
/// first), objects by their age in the Realm. Unmanaged there is no order to rely on.
public final class MutableSet<Element: RealmCollectionValue>: _StoredCollection<Element> {
    override class var words: CollectionWords { .set }
    /// The elements of an unmanaged set, to look them up.
    private var members = SetMembers<Element>()
}

/// What an unmanaged set contains. Objects are kept by identity: their hash changes when they become managed. Texts are
/// told apart by their bytes.
private struct SetMembers<Element: RealmCollectionValue> {
    private var values: Set<Element> = []
    private var texts: Set<TextKey> = []
    private var objects: Set<ObjectIdentifier> = []

    func contains(_ element: Element, in items: [Element]) -> Bool {
        if let text = TextKey.of(element) { return texts.contains(text) }
        guard let object = element as? ObjectBase else { return values.contains(element) }
        if objects.contains(ObjectIdentifier(object)) { return true }
        // Two accessors of one managed object may be equal.
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

    /// The element at a position of the set's order; misuse where it is out of bounds.
    public subscript(position: Int) -> Element { element(at: position) }

    /// A part of the set's order, sharing its elements.
    public subscript(bounds: Range<Int>) -> Slice<MutableSet> { Slice(base: self, bounds: bounds) }

    /// Whether an element is in the set. O(log n) managed, else O(1). A managed set of objects contains only
    /// objects of its Realm; misuse for one of another class than that of the elements.
    public func contains(_ object: Element) -> Bool {
        guard let place = checkedPlace() else { return members.contains(object, in: items) }
        guard let wanted = place.soughtValue(object, Self.words) else { return false }
        return engine { () throws(EngineError) in
            try place.binding.table.setIndex(of: wanted, place.column, of: place.key) != nil
        }
    }

    /// Not available: a set has no positions to rely on.
    public func index(of object: Element) -> Int? { misuse("index(of:) is not available on MutableSet") }

    /// Not available: a set has no positions to rely on.
    public func index(matching predicate: NSPredicate) -> Int? {
        misuse("index(matching:) is not available on MutableSet")
    }

    /// Unmanaged sets: equal elements. Managed ones: the same set of the same object.
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
    /// As `==`: true for a set of the same type that is equal; false for everything else.
    ///
    /// - Parameter object: Anything. An array or dictionary of the same values is no set.
    public func isEqual(_ object: Any?) -> Bool { (object as? MutableSet).map { $0 == self } ?? false }
}

// MARK: Changing

extension MutableSet {
    /// Inserts an element that is not in the set yet. An object that is not managed yet is added to the Realm.
    public func insert(_ object: Element) {
        if let known, known.isWriting, let value = plainEngineValue(object) {
            return known.withTable { table throws(EngineError) in
                _ = try table.setInsert(value, known.column, of: known.key)
            }
        }
        guard let place = writablePlace() else { return insert(objectsIn: CollectionOfOne(object)) }
        insert([place.engineValue(object, Self.words)], place)
    }

    /// Inserts the elements that are not in the set yet.
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
        // First all values: `objects` may be this set, and one that does not fit must change nothing.
        insert(objects.map { place.engineValue($0, Self.words) }, place)
    }

    func insert(_ values: [Value], _ place: ManagedPlace) {
        engine { () throws(EngineError) in
            for value in values { try place.binding.table.setInsert(value, place.column, of: place.key) }
        }
    }

    /// Removes an element; nothing where it is not in the set. Objects stay in their Realm.
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

    func remove(_ values: [Value], _ place: ManagedPlace) {
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

    /// Leaves what satisfies the condition, in an unmanaged set.
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

    /// The elements, the first hundred of them.
    public var description: String { ObjectDescription.text(of: self) }
}

extension MutableSet: Codable where Element: Codable {
    /// From an array.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        try CodingDepth.check(decoder)
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd { insert(try container.decode(Element.self)) }
    }

    /// As an array.
    public func encode(to encoder: any Encoder) throws {
        try CodingDepth.check(encoder, self)
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

// MARK: For those who do not know the type of the elements

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
        if let set = value as? MutableSet {
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
