// SPDX-License-Identifier: Apache-2.0
// The objects of a class, filtered and sorted: live and lazy. `ResultsState` does the work.
//
// Frequently used members are members of the types themselves: in an extension of their protocol each call would look
// up the element type's conformances, which takes longer than the rest.

public import Foundation

/// A type that `Realm.objects` can fetch.
public protocol RealmFetchable: RealmCollectionValue {
    /// Returns the name of the class whose objects are fetched; for a projection, the class of its root.
    static func className() -> String
}

extension Object: RealmFetchable {}

/// A live, lazily evaluated collection of objects.
///
/// The collection always reflects the current state of its Realm: after a change in a write transaction, or after a
/// refresh, the next access sees the new elements. A loop iterates over the elements in the order they had when it
/// began, so that its body may delete or add objects. Confined to the thread of its Realm.
public struct Results<Element: RealmCollectionValue> {
    package let state: ResultsState

    package init(state: ResultsState) { self.state = state }
}

extension Results: _ResultsCollection {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<Results>

    public var startIndex: Int { 0 }
    public var endIndex: Int { state.count }

    /// The number of elements. O(1) for all objects of a class; otherwise the cost of the query, once per change.
    public var count: Int { state.count }

    /// True if there are no elements. For a filter, O(1) if the first match is near the start.
    public var isEmpty: Bool { state.isEmpty }

    /// The first element, or nil if the collection is empty.
    public var first: Element? { state.first(as: Element.self) }

    /// The last element, or nil if the collection is empty.
    public var last: Element? { state.last(as: Element.self) }

    /// The element at a position. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Element { state.element(at: position, as: Element.self) }

    /// Returns the elements at the given positions. An out-of-bounds position is a programmer error.
    public func objects(at indexes: IndexSet) -> [Element] { state.elements(at: indexes, as: Element.self) }

    /// A slice of the collection that shares its elements.
    public subscript(bounds: Range<Int>) -> Slice<Results> { Slice(base: self, bounds: bounds) }

    /// Returns an iterator over the elements in their current order.
    public func makeIterator() -> RLMIterator<Element> { iterator() }

    public var _handle: _ResultsHandle { _ResultsHandle(state: state) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Results? {
        // The owner of a list may have been deleted; then there are no elements.
        state.moved(to: home.core, mayBeMissing: true).map { Results(state: $0) }
    }
}

extension Results: Equatable {
    /// Returns whether both are copies of the same `Results`. Two separate fetches are not equal.
    public static func == (left: Results, right: Results) -> Bool { left.state === right.state }
}

extension LinkingObjects: _ResultsCollection {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<LinkingObjects>

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    /// The number of elements, evaluated once per change.
    public var count: Int {
        guard let state = handle.results else {
            handle.recordField()
            return 0
        }
        return state.count
    }

    /// True if there are no elements.
    public var isEmpty: Bool { handle.results?.isEmpty ?? (count == 0) }

    /// The first element, or nil if the collection is empty.
    public var first: Element? {
        guard let state = handle.results else { return tracedElement }
        return state.first(as: Element.self)
    }

    /// The last element, or nil if the collection is empty.
    public var last: Element? {
        guard let state = handle.results else { return tracedElement }
        return state.last(as: Element.self)
    }

    /// The element at a position. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Element {
        guard let state = handle.results else {
            guard let tracedElement else { refuseIndex(position, 0) }
            return tracedElement
        }
        return state.element(at: position, as: Element.self)
    }

    /// While a key path is traced: the object that stands for every element.
    private var tracedElement: Element? { handle.tracedElement().map { unsafeDowncast($0, to: Element.self) } }

    /// Returns the elements at the given positions. An out-of-bounds position is a programmer error.
    public func objects(at indexes: IndexSet) -> [Element] {
        guard let state = handle.results else {
            if !indexes.isEmpty { misuse("Indexes for collection are out of bounds.") }
            return []
        }
        return state.elements(at: indexes, as: Element.self)
    }

    /// A slice of the collection that shares its elements.
    public subscript(bounds: Range<Int>) -> Slice<LinkingObjects> { Slice(base: self, bounds: bounds) }

    /// Returns an iterator over the elements in their current order.
    public func makeIterator() -> RLMIterator<Element> { iterator() }

    public var _handle: _ResultsHandle { _ResultsHandle(state: handle.results) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> LinkingObjects? {
        handle.moved(to: home.core, mayBeMissing: mayBeMissing).map { LinkingObjects(handle: $0) }
    }
}

extension LinkingObjects: Equatable {
    /// Returns whether both are copies of the same value; each access to the property creates another one.
    public static func == (left: LinkingObjects, right: LinkingObjects) -> Bool { left.handle === right.handle }
}
