// SPDX-License-Identifier: Apache-2.0
// `List`: the ordered collection that a property holds. What it shares with sets is in `StoredCollection.swift`,
// changing it in `List+Mutations.swift`.

internal import RegnumEngine

/// An ordered collection of values or objects as a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var dogs: List<Dog>
///     let tags = List<String>()
/// }
/// ```
///
/// When its object is added to a Realm the same instance becomes managed. Then it may only be changed in a
/// write transaction. A loop runs over the order at its start.
public final class List<Element: RealmCollectionValue>: _StoredCollection<Element> {
    override class var words: CollectionWords { .list }
}

// MARK: Elements

extension List: RealmCollection, MutableCollection {
    public typealias Index = Int
    public typealias SubSequence = Slice<List>
    public typealias Indices = Range<Int>

    /// The element at a position; misuse where it is out of bounds.
    public subscript(position: Int) -> Element {
        get { element(at: position) }
        set { replace(index: position, object: newValue) }
    }

    /// A part of the list, sharing its elements.
    public subscript(bounds: Range<Int>) -> Slice<List> {
        get { Slice(base: self, bounds: bounds) }
        set { replaceSubrange(bounds, with: Array(newValue)) }
    }

    /// The position of the first element equal to `object`; a managed list of objects finds only objects of
    /// its Realm. Misuse for an object of another class than that of the elements, or one that was deleted. For
    /// objects ask this, not `firstIndex(of:)` or `contains(_:)` of the standard library: they compare by `==`, which
    /// is true of objects of a class without a primary key only for the very same instance, and each read of the list
    /// may make another. O(elements).
    public func index(of object: Element) -> Int? {
        guard let place = checkedPlace() else {
            requireClass(of: CollectionOfOne(object), .list)
            return items.firstIndex { TextKey.areEqual($0, object) }
        }
        let values = place.values()
        guard let wanted = place.soughtValue(object, Self.words) else { return nil }
        return values.firstIndex { $0.matches(wanted) }
    }

    /// Unmanaged lists: equal elements. Managed ones: the same list of the same object.
    public static func == (left: List, right: List) -> Bool {
        if left === right { return true }
        switch (left.place, right.place) {
        case (nil, nil): return left.items.elementsEqual(right.items) { TextKey.areEqual($0, $1) }
        case (let left?, let right?): return left.isSame(as: right)
        default: return false
        }
    }
}

extension List: Hashable {
    public func hash(into hasher: inout Hasher) {
        guard let place else {
            hasher.combine(items)
            return
        }
        hasher.combine(place.key)
        hasher.combine(place.column)
    }
}

extension List {
    /// As `==`: true for a list of the same type that is equal; false for everything else.
    ///
    /// - Parameter object: Anything. An array or dictionary of the same values is no list.
    public func isEqual(_ object: Any?) -> Bool { (object as? List).map { $0 == self } ?? false }
}

// MARK: State

extension List {
    public var _watched: _Watched { _Watched(kind: place.map { .elements($0, .list) } ?? .unmanaged) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> List? {
        movedCopy(to: home, mayBeMissing: mayBeMissing)
    }

    /// The elements, the first hundred of them.
    public var description: String { ObjectDescription.text(of: self) }
}

extension ObjectBase {
    /// True for the class itself and those that derive from it.
    static func isKind(of base: ObjectBase.Type) -> Bool {
        var type: AnyClass? = self
        while let current = type {
            if current == base { return true }
            type = _getSuperclass(current)
        }
        return false
    }
}

// MARK: For those who do not know the type of the elements

extension List: AnyList {
    var anyElements: [Any] { typedElements(self) }
    func storableElements(of value: Any) -> OwnedElements? { storable(value, .list) }
    func dropItems() { items = [] }

    func replaceElements(with value: Any) -> Bool {
        guard let value = unwrapped(value) else {
            removeAll()
            return true
        }
        if Element._shape.isPartial, let place = writablePlace() { return replaceStored(with: value, place) }
        if let list = value as? List {
            _assign(list)
            return true
        }
        guard let elements = Coercion.elements(value) else { return false }
        let coerced = coerced(elements)
        place?.requireNoOwners(coerced, .list)
        removeAll()
        append(objectsIn: coerced)
        return true
    }
}

// MARK: As a property

extension List: _OwnedCollection {
    public typealias PersistedType = List
    public typealias _Stored = List?

    public static var _shape: _PropertyShape { shape(of: Element.self, .list) }

    public func _assign(_ other: List) {
        if self === other || isManaged && other.isManaged && self == other { return }
        if Element._shape.isPartial, let place = writablePlace() {
            _ = replaceStored(with: other, place)
            return
        }
        let elements = Array(other)
        place?.requireNoOwners(elements, .list)
        removeAll()
        append(objectsIn: elements)
    }

    public func _replaceElements(with value: Any) -> Bool { replaceElements(with: value) }
}
