// SPDX-License-Identifier: Apache-2.0
// The objects of a class, filtered and ordered: live and lazy. `ResultsState` does the work.
//
// What is asked for often is a member of the types themselves: in an extension of their protocol each call looks up
// what the elements' type is and can do, which takes longer than the rest.

public import Foundation

/// Types that `Realm.objects` can fetch.
public protocol RealmFetchable: RealmCollectionValue {
    /// The name of the class whose objects are fetched: a projection's is that of its root.
    static func className() -> String
}

extension Object: RealmFetchable {}

/// A live, lazily evaluated collection of objects.
///
/// It always shows what the Realm shows: after a change in a write, or a refresh, the next access sees the new
/// elements. A loop runs over the order at its start, so that a body may delete or add. Confined to the thread of its
/// Realm.
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

    /// How many elements there are. Of all objects of a class constant, else the query's cost once a change.
    public var count: Int { state.count }

    /// True where there is no element. Of a filter constant where the first match is near.
    public var isEmpty: Bool { state.isEmpty }

    /// The first element, or nil where there is none.
    public var first: Element? { state.first(as: Element.self) }

    /// The last element, or nil where there is none.
    public var last: Element? { state.last(as: Element.self) }

    /// The element at a position; misuse where it is out of bounds.
    public subscript(position: Int) -> Element { state.element(at: position, as: Element.self) }

    /// The elements at the positions; misuse where one is out of bounds.
    public func objects(at indexes: IndexSet) -> [Element] { state.elements(at: indexes, as: Element.self) }

    /// A part of the collection.
    public subscript(bounds: Range<Int>) -> Slice<Results> { Slice(base: self, bounds: bounds) }

    /// Iterates over the order of now.
    public func makeIterator() -> RLMIterator<Element> { iterator() }

    public var _handle: _ResultsHandle { _ResultsHandle(state: state) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Results? {
        // The owner of a list may be gone: then there are no elements.
        state.moved(to: home.core, mayBeMissing: true).map { Results(state: $0) }
    }
}

extension Results: Equatable {
    /// True for copies of one `Results`; fetched twice they are not equal.
    public static func == (left: Results, right: Results) -> Bool { left.state === right.state }
}

extension LinkingObjects: _ResultsCollection {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<LinkingObjects>

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    /// How many elements there are; evaluated once a change.
    public var count: Int {
        guard let state = handle.results else {
            handle.recordField()
            return 0
        }
        return state.count
    }

    /// True where there is no element.
    public var isEmpty: Bool { handle.results?.isEmpty ?? (count == 0) }

    /// The first element, or nil where there is none.
    public var first: Element? {
        guard let state = handle.results else { return tracedElement }
        return state.first(as: Element.self)
    }

    /// The last element, or nil where there is none.
    public var last: Element? {
        guard let state = handle.results else { return tracedElement }
        return state.last(as: Element.self)
    }

    /// The element at a position; misuse where it is out of bounds.
    public subscript(position: Int) -> Element {
        guard let state = handle.results else {
            guard let tracedElement else { refuseIndex(position, 0) }
            return tracedElement
        }
        return state.element(at: position, as: Element.self)
    }

    /// While a key path is traced: the object that stands for all.
    private var tracedElement: Element? { handle.tracedElement().map { unsafeDowncast($0, to: Element.self) } }

    /// The elements at the positions; misuse where one is out of bounds.
    public func objects(at indexes: IndexSet) -> [Element] {
        guard let state = handle.results else {
            if !indexes.isEmpty { misuse("Indexes for collection are out of bounds.") }
            return []
        }
        return state.elements(at: indexes, as: Element.self)
    }

    /// A part of the collection.
    public subscript(bounds: Range<Int>) -> Slice<LinkingObjects> { Slice(base: self, bounds: bounds) }

    /// Iterates over the order of now.
    public func makeIterator() -> RLMIterator<Element> { iterator() }

    public var _handle: _ResultsHandle { _ResultsHandle(state: handle.results) }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> LinkingObjects? {
        handle.moved(to: home.core, mayBeMissing: mayBeMissing).map { LinkingObjects(handle: $0) }
    }
}

extension LinkingObjects: Equatable {
    /// True for copies of one value: each access to the property makes another.
    public static func == (left: LinkingObjects, right: LinkingObjects) -> Bool { left.handle === right.handle }
}
