// SPDX-License-Identifier: Apache-2.0
// A type-erased Realm collection.

public import Foundation

/// A type-erased collection of a Realm: a `List`, `Results` or `LinkingObjects`.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<AnyRealmCollection>

    private let base: AnyCollectionBox<Element>

    /// Creates a type-erased collection around `base`; live if `base` is.
    public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = CollectionBox(base) }

    /// The Realm of the collection; nil if it is unmanaged.
    public var realm: Realm? { base.realm }
    /// True if the collection's Realm was invalidated or the object that owns it was deleted.
    public var isInvalidated: Bool { base.isInvalidated }
    /// True if the collection never changes; it can then be used on any thread.
    public var isFrozen: Bool { base.isFrozen }
    public var _watched: _Watched { base.watched }
    public var _handle: _ResultsHandle { base.handle }
    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyRealmCollection? {
        base.moved(to: home, mayBeMissing: mayBeMissing)
    }
    /// A description of the first hundred elements.
    public var description: String {
        let text = base.description
        return "AnyRealmCollection<\(Element.self)>" + text[(text.firstIndex(of: " ") ?? text.startIndex)...]
    }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { base.count }
    /// The number of elements.
    public var count: Int { base.count }
    /// True if there are no elements.
    public var isEmpty: Bool { base.count == 0 }
    /// The first element, or nil if the collection is empty.
    public var first: Element? { base.first }
    /// The last element, or nil if the collection is empty.
    public var last: Element? { base.last }
    /// The element at a position. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Element { base.element(position) }
    /// A slice of the collection that shares its elements.
    public subscript(bounds: Range<Int>) -> Slice<AnyRealmCollection> { Slice(base: self, bounds: bounds) }
    public func makeIterator() -> RLMIterator<Element> { base.makeIterator() }
    /// Returns the position of the first element equal to `object`, or nil if there is none. For objects, use this
    /// instead of `firstIndex(of:)`: see `RealmCollection`. O(n).
    public func index(of object: Element) -> Int? { base.index(of: object) }
    /// Returns the position of the first element that satisfies the predicate, or nil if there is none.
    public func index(matching predicate: NSPredicate) -> Int? { base.index(matching: predicate) }
    /// Returns the elements at the given positions. An out-of-bounds position is a programmer error.
    public func objects(at indexes: IndexSet) -> [Element] { base.objects(at: indexes) }
    /// Returns the elements that satisfy the predicate. A malformed predicate is a programmer error; the message has
    /// its position.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        base.filter(NSPredicate(format: predicateFormat, argumentArray: args))
    }
    /// Returns the elements that satisfy the predicate.
    public func filter(_ predicate: NSPredicate) -> Results<Element> { base.filter(predicate) }
    /// Returns the elements that satisfy the condition.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> { base.where(isIncluded) }
    /// Returns the elements sorted by one property.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        base.sorted([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }
    /// Returns the elements sorted by several properties.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        base.sorted(Array(sortDescriptors))
    }
    /// Returns one element for each combination of values of the given properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        base.distinct(Array(keyPaths))
    }
    /// Returns an array of the values of a property of each element.
    public func value(forKey key: String) -> Any? { base.value(forKey: key) }
    /// Returns an array of the values at the key path of each element, or an aggregate such as `@sum.price`.
    public func value(forKeyPath keyPath: String) -> Any? { base.value(forKeyPath: keyPath) }
    /// Sets a property of each element. Requires a write transaction.
    public func setValue(_ value: Any?, forKey key: String) { base.setValue(value, forKey: key) }
    /// Sets the property at the key path of each element. Requires a write transaction.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) { base.setValue(value, forKeyPath: keyPath) }

    /// Returns whether both wrap the same collection.
    public static func == (left: AnyRealmCollection, right: AnyRealmCollection) -> Bool {
        left.base.isEqual(to: right.base)
    }
}

/// The interface of a collection, without its type.
private class AnyCollectionBox<Element: RealmCollectionValue> {
    var realm: Realm? { missing() }
    var isInvalidated: Bool { missing() }
    var isFrozen: Bool { missing() }
    var watched: _Watched { missing() }
    var handle: _ResultsHandle { missing() }
    func moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyRealmCollection<Element>? { missing() }
    var description: String { missing() }
    var count: Int { missing() }
    var first: Element? { missing() }
    var last: Element? { missing() }
    func element(_ position: Int) -> Element { missing() }
    func makeIterator() -> RLMIterator<Element> { missing() }
    func index(of object: Element) -> Int? { missing() }
    func index(matching predicate: NSPredicate) -> Int? { missing() }
    func objects(at indexes: IndexSet) -> [Element] { missing() }
    func filter(_ predicate: NSPredicate) -> Results<Element> { missing() }
    func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> { missing() }
    func sorted(_ descriptors: [SortDescriptor]) -> Results<Element> { missing() }
    func distinct(_ keyPaths: [String]) -> Results<Element> { missing() }
    func value(forKey key: String) -> Any? { missing() }
    func value(forKeyPath keyPath: String) -> Any? { missing() }
    func setValue(_ value: Any?, forKey key: String) { missing() }
    func setValue(_ value: Any?, forKeyPath keyPath: String) { missing() }
    func isEqual(to other: AnyCollectionBox) -> Bool { missing() }

    private func missing() -> Never { fatalError("only CollectionBox is ever created") }
}

private final class CollectionBox<Base: RealmCollection>: AnyCollectionBox<Base.Element> {
    let base: Base

    init(_ base: Base) { self.base = base }

    override var realm: Realm? { base.realm }
    override var isInvalidated: Bool { base.isInvalidated }
    override var isFrozen: Bool { base.isFrozen }
    override var watched: _Watched { base._watched }
    override var handle: _ResultsHandle { base._handle }
    override func moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyRealmCollection<Base.Element>? {
        base._moved(to: home, mayBeMissing: mayBeMissing).map { AnyRealmCollection($0) }
    }
    override var description: String { base.description }
    override var count: Int { base.count }
    override var first: Base.Element? { base.first }
    override var last: Base.Element? { base.last }
    override func element(_ position: Int) -> Base.Element { base[position] }
    override func makeIterator() -> RLMIterator<Base.Element> { base.makeIterator() }
    override func index(of object: Base.Element) -> Int? { base.index(of: object) }
    override func index(matching predicate: NSPredicate) -> Int? { base.index(matching: predicate) }
    override func objects(at indexes: IndexSet) -> [Base.Element] { base.objects(at: indexes) }
    override func filter(_ predicate: NSPredicate) -> Results<Base.Element> { base.filter(predicate) }
    override func `where`(_ isIncluded: (Query<Base.Element>) -> Query<Bool>) -> Results<Base.Element> {
        base.where(isIncluded)
    }
    override func sorted(_ descriptors: [SortDescriptor]) -> Results<Base.Element> { base.sorted(by: descriptors) }
    override func distinct(_ keyPaths: [String]) -> Results<Base.Element> { base.distinct(by: keyPaths) }
    override func value(forKey key: String) -> Any? { base.value(forKey: key) }
    override func value(forKeyPath keyPath: String) -> Any? { base.value(forKeyPath: keyPath) }
    override func setValue(_ value: Any?, forKey key: String) { base.setValue(value, forKey: key) }
    override func setValue(_ value: Any?, forKeyPath keyPath: String) { base.setValue(value, forKeyPath: keyPath) }
    override func isEqual(to other: AnyCollectionBox<Base.Element>) -> Bool {
        (other as? CollectionBox<Base>)?.base == base
    }
}
