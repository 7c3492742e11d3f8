// SPDX-License-Identifier: Apache-2.0
// The protocols that all Realm collections conform to.

public import Foundation

/// A homogeneous collection of values that a Realm can hold. It is lazy, and therefore `map` and `filter { }` are lazy
/// too; `Array(collection.map { ... })` creates an array.
public protocol RealmCollectionBase:
    RandomAccessCollection, LazyCollectionProtocol, CustomStringConvertible, ThreadConfined
where Element: RealmCollectionValue, Index == Int {}

/// A collection of values or objects of a Realm: `Results`, `List`, `LinkingObjects`.
public protocol RealmCollection: RealmCollectionBase, Equatable where Iterator == RLMIterator<Element> {
    /// The source that an observation of the collection watches.
    var _watched: _Watched { get }
    /// The elements as the input of a query.
    var _handle: _ResultsHandle { get }
    /// The first element, or nil if the collection is empty.
    var first: Element? { get }
    /// The last element, or nil if the collection is empty.
    var last: Element? { get }
    /// Returns the position of an element, or nil if there is none. Only objects of the same Realm are found. For
    /// objects, use this method instead of `firstIndex(of:)` or `contains(_:)` of the standard library: those compare
    /// with `==`, which for a class without a primary key is true only of the same instance, and each read of the
    /// collection may create a new instance. O(elements).
    func index(of object: Element) -> Int?
    /// Returns the position of the first element that satisfies the predicate, or nil if there is none.
    func index(matching predicate: NSPredicate) -> Int?
    /// Returns the elements at the given positions. An out-of-bounds position is a programmer error.
    func objects(at indexes: IndexSet) -> [Element]
    /// Returns the elements that satisfy the predicate.
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element>
    /// Returns the elements that satisfy the predicate.
    func filter(_ predicate: NSPredicate) -> Results<Element>
    /// Returns the elements that satisfy the condition.
    func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element>
    /// Returns the elements sorted by the property at the key path.
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Element>
    /// Returns the elements sorted by the descriptors; the first descriptor takes precedence.
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor
    /// Returns the elements without those that equal an earlier element in all the given properties.
    func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String
    /// Returns the values of a property of all elements.
    func value(forKey key: String) -> Any?
    /// Returns the values at the key path, or the result of a collection operator in it.
    func value(forKeyPath keyPath: String) -> Any?
    /// Sets a property of all elements. Calling it outside a write transaction is a programmer error.
    func setValue(_ value: Any?, forKey key: String)
    /// Sets the property at the key path of all elements.
    func setValue(_ value: Any?, forKeyPath keyPath: String)
}

/// Checks a position, and reports an invalid one with RealmSwift's message.
@inline(__always)
func checkIndex(_ index: Int, count: Int) {
    if index < 0 || index >= count { refuseIndex(index, count) }
}

@inline(never)
func refuseIndex(_ index: Int, _ count: Int) -> Never {
    if index < 0 { misuse("Cannot pass a negative value for 'index'.") }
    misuse("Index \(index) is out of bounds (must be less than \(count)).")
}
