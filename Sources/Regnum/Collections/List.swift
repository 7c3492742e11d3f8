// SPDX-License-Identifier: Apache-2.0
// `List`: an ordered collection property. `StoredCollection.swift` has the code shared with sets,
// `List+Mutations.swift` the mutating methods.

internal import RegnumEngine

/// An ordered collection of values or objects, held by a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var dogs: List<Dog>
///     let tags = List<String>()
/// }
/// ```
///
/// When the owning object is added to a Realm, the same instance becomes managed and can be changed only in a write
/// transaction. A loop iterates over the elements as they were when it began.
public final class List<Element: RealmCollectionValue>: _StoredCollection<Element> {
    override class var words: CollectionNames { .list }
}

// MARK: Elements

extension List: RealmCollection, MutableCollection {
    public typealias Index = Int
    public typealias SubSequence = Slice<List>
    public typealias Indices = Range<Int>

    /// The element at a position. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Element {
        get { element(at: position) }
        set { replace(index: position, object: newValue) }
    }

    /// A slice of the list that shares its elements.
    public subscript(bounds: Range<Int>) -> Slice<List> {
        get { Slice(base: self, bounds: bounds) }
        set { replaceSubrange(bounds, with: Array(newValue)) }
    }

    /// Returns the position of the first element equal to `object`, or nil if there is none.
    ///
    /// In a managed list of objects, only objects of the same Realm are found. It is a programmer error to pass a
    /// deleted object, or an object of a class other than the element class. For objects, use this method instead of
    /// `firstIndex(of:)` or `contains(_:)` of the standard library: those compare with `==`, which for a class without
    /// a primary key is true only of the same instance, and each read of the list may create a new instance.
    /// O(elements).
    public func index(of object: Element) -> Int? {
        guard let place = checkedPlace() else {
            requireClass(of: CollectionOfOne(object), .list)
            return items.firstIndex { TextKey.areEqual($0, object) }
        }
        let values = place.values()
        guard let wanted = place.soughtValue(object, Self.words) else { return nil }
        return values.firstIndex { $0.matches(wanted) }
    }

    /// Compares unmanaged lists by their elements, and managed lists by property and owning object.
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
    /// Returns the result of `==` if `object` is a list of the same type, otherwise false.
    ///
    /// - Parameter object: Any value. An array or dictionary of the same values is never equal to a list.
    public func isEqual(_ object: Any?) -> Bool { (object as? List).map { $0 == self } ?? false }
}

// MARK: State

extension List {
    public var _watched: _Watched { _Watched(kind: place.map { .elements($0, .list) } ?? .unmanaged) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> List? {
        movedCopy(to: home, mayBeMissing: mayBeMissing)
    }

    /// A description of the first hundred elements.
    public var description: String { ObjectDescription.text(of: self) }
}

extension ObjectBase {
    /// Returns whether this class is `base` or derives from it.
    static func isKind(of base: ObjectBase.Type) -> Bool {
        var type: AnyClass? = self
        while let current = type {
            if current == base { return true }
            type = _getSuperclass(current)
        }
        return false
    }
}

// MARK: Type-erased elements

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
        if let list = instance(value, of: List.self) {
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
