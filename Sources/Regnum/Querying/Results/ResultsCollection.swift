// SPDX-License-Identifier: Apache-2.0
// The members common to `Results` and `LinkingObjects`, which are both based on a `ResultsState`.

public import Foundation
internal import RegnumEngine
internal import RegnumQuery

/// The state of a collection; nil while it is unmanaged.
public struct _ResultsHandle {
    package let state: ResultsState?
    /// The list or set itself, if the collection is one.
    let owned: (any AnyOwnedCollection)?
    init(state: ResultsState?, owned: (any AnyOwnedCollection)? = nil) {
        self.state = state
        self.owned = owned
    }
}

/// A collection of objects that is the result of a query.
public protocol _ResultsCollection: RealmCollection {}

// MARK: Elements

extension _ResultsCollection {
    func iterator() -> RLMIterator<Element> {
        guard let state = _handle.state else { return RLMIterator([]) }
        guard let binding = state.binding else {
            return RLMIterator(state.valueElements(0..<state.currentValues().count, as: Element.self))
        }
        state.check()
        let cursor =
            state.isWholeTable ? ObjectCursor(tableOf: binding) : ObjectCursor(state.currentKeys(), of: binding)
        let shape = Element._shape
        return shape.isProjection || shape.isCustom ? RLMIterator(projecting: cursor) : RLMIterator(cursor)
    }

    /// Returns the position of an element, or nil if there is none. Only objects of the same Realm are found. It is a
    /// programmer error to pass a deleted object, or an object of another class. For objects, use this method instead
    /// of `firstIndex(of:)` or `contains(_:)` of the standard library: those compare with `==`, which for a class
    /// without a primary key is true only of the same instance, and each read of the collection may create a new
    /// instance. O(elements).
    public func index(of object: Element) -> Int? {
        if let state = _handle.state, state.isOfValues {
            let raw = Element._toRaw(object)
            let values = state.currentValues()
            var wanted: Value? = raw.value
            if let mixed = raw.mixed { wanted = state.realm.soughtMixedValue(mixed) }
            guard let wanted else { return nil }
            return values.firstIndex { $0.matches(wanted) }
        }
        guard let state = _handle.state, let object = Element._toRaw(object).object else { return nil }
        state.check()
        guard let realm = object.realm?.core, realm === state.realm else { return nil }
        if object.isInvalidated { misuse("Object has been deleted or invalidated.") }
        guard let binding = state.binding else { return nil }
        if object.binding.tableKey != binding.tableKey {
            misuse(
                "Object of type '\(object.classSchema.name)' does not match Results type '\(binding.schema.name)'.")
        }
        return state.position(of: object.rowKey)
    }

    /// The Realm of the elements; nil while unmanaged.
    public var realm: Realm? { _handle.state.map { Realm(core: $0.realm) } }

    /// True after `Realm.invalidate`.
    public var isInvalidated: Bool { _handle.state?.isInvalidated ?? false }

    public var _watched: _Watched { _Watched(kind: _handle.state.map { .results($0) } ?? .unmanaged) }

    /// True if the Realm is frozen.
    public var isFrozen: Bool { _handle.state?.realm.isFrozen ?? false }

    /// A description of the first hundred elements.
    public var description: String {
        ObjectDescription.text(of: self)
    }
}

// MARK: Queries

extension RealmCollection {
    /// Returns the state. Operations on an unmanaged collection that need the state are programmer errors.
    func managed() -> ResultsState {
        let handle = _handle
        guard let state = handle.state else {
            let name = handle.owned.map { type(of: $0).words.objectiveName } ?? "RLMArray"
            misuse(
                "This method may only be called on \(name) instances retrieved from an RLMRealm. Add the "
                    + "object that has this collection to a Realm first.")
        }
        return state
    }

    func appending(_ step: ResultsState.Step) -> Results<Element> {
        let state = managed()
        do throws(QueryError) { return Results(state: try state.appending(step)) } catch { misuse(error.message) }
    }

    /// Returns the elements that satisfy the predicate. A malformed predicate is a programmer error.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        filter(NSPredicate(format: predicateFormat, argumentArray: args))
    }

    /// Returns the elements that satisfy the predicate. A predicate created from a block is a programmer error.
    public func filter(_ predicate: NSPredicate) -> Results<Element> {
        appending(.filter(predicate.predicate(for: managed().realm)))
    }

    /// Returns the elements that satisfy a predicate written by a user. Throws `ParsedPredicate.Error` if it names
    /// unknown properties, or compares values that cannot be compared.
    public func filter(
        _ predicate: ParsedPredicate
    ) throws(ParsedPredicate.Error) -> Results<Element> {
        let state = managed()
        do throws(QueryError) {
            return Results(state: try state.appending(.filter(predicate.predicate(for: state.realm))))
        } catch { throw ParsedPredicate.Error(error, in: predicate.format) }
    }

    /// Returns the elements that satisfy the condition.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        let condition = isIncluded(Query()).node
        let state = managed()
        if let asked = state.asking(condition) { return Results(state: asked) }
        do throws(QueryError) {
            return Results(state: try state.appending(.filter(condition.lowered(for: state.realm))))
        } catch { misuse(error.message) }
    }

    /// Returns the position of the first element that satisfies the predicate, or nil if there is none.
    public func index(matching predicate: NSPredicate) -> Int? {
        guard let state = _handle.state else { return unmanagedIndex(matching: predicate.predicate(for: nil)) }
        return filter(predicate).state.firstKey().flatMap { state.position(of: $0) }
    }

    /// Returns the position of the first element that satisfies the predicate, or nil if there is none.
    public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
        index(matching: NSPredicate(format: predicateFormat, argumentArray: args))
    }

    /// Returns the position of the first element that satisfies the condition, or nil if there is none. Calling it on a
    /// set, whose positions are not stable, is a programmer error.
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        if self is MutableSet<Element> { misuse("index(matching:) is not available on MutableSet") }
        guard let state = _handle.state else {
            return unmanagedIndex(matching: isIncluded(Query()).node.lowered(for: nil))
        }
        return self.where(isIncluded).state.firstKey().flatMap { state.position(of: $0) }
    }

    /// Returns the elements sorted by the property at the key path; equal elements keep their previous order.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// Returns the elements sorted by the descriptors; the first descriptor takes precedence.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        appending(.sort(Array(sortDescriptors)))
    }

    /// Returns the elements without those that equal an earlier element in all the given properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        appending(.distinct(Array(keyPaths)))
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Returns the elements sorted by the property.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Element, T>, ascending: Bool = true
    ) -> Results<Element> where T.PersistedType: SortableType {
        sorted(byKeyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Returns the elements without those that equal an earlier element in all the given properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element>
    where S.Element == PartialKeyPath<Element> {
        distinct(by: keyPaths.map(_name(for:)))
    }
}
