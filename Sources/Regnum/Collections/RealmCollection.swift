// SPDX-License-Identifier: Apache-2.0
// What all Realm collections have in common.

public import Foundation

/// A homogenous collection of values that a Realm can hold. Because it is lazy, `map` and `filter { }` are
/// too: `Array(collection.map { ... })` makes an array.
public protocol RealmCollectionBase:
    RandomAccessCollection, LazyCollectionProtocol, CustomStringConvertible, ThreadConfined
where Element: RealmCollectionValue, Index == Int {}

/// A collection of values or objects of a Realm: `Results`, `List`, `LinkingObjects`.
public protocol RealmCollection: RealmCollectionBase, Equatable where Iterator == RLMIterator<Element> {
    /// How it is observed.
    var _watched: _Watched { get }
    /// Its elements as a query sees them.
    var _handle: _ResultsHandle { get }
    /// The first element, or nil where there is none.
    var first: Element? { get }
    /// The last element, or nil where there is none.
    var last: Element? { get }
    /// The position of an element; of objects only those of the same Realm are found. For objects ask this, not
    /// `firstIndex(of:)` or `contains(_:)` of the standard library: they compare by `==`, which is true of objects of a
    /// class without a primary key only for the very same instance, and each read of the collection may make another.
    /// O(elements).
    func index(of object: Element) -> Int?
    /// The position of the first element that satisfies the predicate.
    func index(matching predicate: NSPredicate) -> Int?
    /// The elements at the positions; misuse where one is out of bounds.
    func objects(at indexes: IndexSet) -> [Element]
    /// The elements that satisfy the predicate.
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element>
    /// The elements that satisfy the predicate.
    func filter(_ predicate: NSPredicate) -> Results<Element>
    /// The elements that satisfy the condition.
    func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element>
    /// The elements ordered by the property at the key path.
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Element>
    /// The elements ordered by the descriptors, the first one first.
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor
    /// The elements without those that equal an earlier one in all the properties.
    func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String
    /// The values of a property of all elements.
    func value(forKey key: String) -> Any?
    /// The values that the key path leads to, or what a collection operator makes of them.
    func value(forKeyPath keyPath: String) -> Any?
    /// Sets a property of all elements. Misuse outside a write.
    func setValue(_ value: Any?, forKey key: String)
    /// Sets the property that the key path leads to from all elements.
    func setValue(_ value: Any?, forKeyPath keyPath: String)
}

/// Checks a position, in the words that RealmSwift's users know.
@inline(__always)
func checkIndex(_ index: Int, count: Int) {
    if index < 0 || index >= count { refuseIndex(index, count) }
}

@inline(never)
func refuseIndex(_ index: Int, _ count: Int) -> Never {
    if index < 0 { misuse("Cannot pass a negative value for 'index'.") }
    misuse("Index \(index) is out of bounds (must be less than \(count)).")
}
