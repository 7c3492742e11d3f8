// SPDX-License-Identifier: Apache-2.0
// A Realm collection whose kind does not matter.

public import Foundation

/// Any collection of a Realm with elements of one type: a `List`, `Results` or `LinkingObjects`.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection {
    public typealias Index = Int
    public typealias Indices = Range<Int>
    public typealias SubSequence = Slice<AnyRealmCollection>

    private let base: AnyCollectionBox<Element>

    /// Stands for `base`; live as it is.
    public init<C: RealmCollection>(_ base: C) where C.Element == Element { self.base = CollectionBox(base) }

    /// Realm of the collection; nil where it is unmanaged.
    public var realm: Realm? { base.realm }
    /// True where its Realm or the object that it belongs to is gone.
    public var isInvalidated: Bool { base.isInvalidated }
    /// True where it stays as it is, on every thread.
    public var isFrozen: Bool { base.isFrozen }
    public var _watched: _Watched { base.watched }
    public var _handle: _ResultsHandle { base.handle }
    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyRealmCollection? {
        base.moved(to: home, mayBeMissing: mayBeMissing)
    }
    /// The elements, the first hundred of them.
    public var description: String {
        let text = base.description
        return "AnyRealmCollection<\(Element.self)>" + text[(text.firstIndex(of: " ") ?? text.startIndex)...]
    }
    /// 0.
    public var startIndex: Int { 0 }
    /// The number of elements.
    public var endIndex: Int { base.count }
    /// The number of elements.
    public var count: Int { base.count }
    /// True where there are no elements.
    public var isEmpty: Bool { base.count == 0 }
    /// The first element, nil where there is none.
    public var first: Element? { base.first }
    /// The last element, nil where there is none.
    public var last: Element? { base.last }
    /// The element at that place, which must exist.
    public subscript(position: Int) -> Element { base.element(position) }
    /// The elements at those places, which must exist.
    public subscript(bounds: Range<Int>) -> Slice<AnyRealmCollection> { Slice(base: self, bounds: bounds) }
    public func makeIterator() -> RLMIterator<Element> { base.makeIterator() }
    /// Place of the first element that is equal to it; nil where there is none. For objects ask this, not
    /// `firstIndex(of:)`: see `RealmCollection`. O(n).
    public func index(of object: Element) -> Int? { base.index(of: object) }
    /// Place of the first element for which the predicate holds; nil where there is none.
    public func index(matching predicate: NSPredicate) -> Int? { base.index(matching: predicate) }
    /// The elements at those places, which must exist.
    public func objects(at indexes: IndexSet) -> [Element] { base.objects(at: indexes) }
    /// The elements for which the predicate holds. A malformed predicate ends the program with its position.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        base.filter(NSPredicate(format: predicateFormat, argumentArray: args))
    }
    /// The elements for which the predicate holds.
    public func filter(_ predicate: NSPredicate) -> Results<Element> { base.filter(predicate) }
    /// The elements for which the condition holds.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> { base.where(isIncluded) }
    /// The elements in the order of one property.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        base.sorted([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }
    /// The elements in an order of several properties.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        base.sorted(Array(sortDescriptors))
    }
    /// One element for each combination of values of those properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        base.distinct(Array(keyPaths))
    }
    /// The property of each element, as an array.
    public func value(forKey key: String) -> Any? { base.value(forKey: key) }
    /// What lies at the key path of each element, as an array; or a figure such as `@sum.price`.
    public func value(forKeyPath keyPath: String) -> Any? { base.value(forKeyPath: keyPath) }
    /// Sets the property of each element, in a write.
    public func setValue(_ value: Any?, forKey key: String) { base.setValue(value, forKey: key) }
    /// Sets what lies at the key path of each element, in a write.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) { base.setValue(value, forKeyPath: keyPath) }

    /// True where both stand for the same collection.
    public static func == (left: AnyRealmCollection, right: AnyRealmCollection) -> Bool {
        left.base.isEqual(to: right.base)
    }
}

/// What is asked of a collection of unknown kind.
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

    private func missing() -> Never { fatalError("only CollectionBox is ever made") }
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
