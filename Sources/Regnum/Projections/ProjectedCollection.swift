// SPDX-License-Identifier: Apache-2.0
// One property of all objects of a collection, seen as a collection of its own.

public import Dispatch
public import Foundation
internal import RegnumEngine

extension RealmCollection where Element: ObjectBase {
    /// For `@Projected`: behind it stands the property of the elements that a projection shows.
    public var projectTo: CollectionElementMapper<Element> {
        let collection = AnyRealmCollection(self)
        if let links = self as? any TraceableLinks {
            let traced = links.handle.tracedElement().map { unsafeDowncast($0, to: Element.self) }
            return CollectionElementMapper(collection, traced: traced)
        }
        let isTraced = (self as? any AnyList)?.isTraced ?? false
        return CollectionElementMapper(collection, traced: isTraced ? collection[0] : nil)
    }
}

/// What a property of the elements follows: `friends.projectTo.name`.
@dynamicMemberLookup
public struct CollectionElementMapper<Element: ObjectBase> {
    private let collection: AnyRealmCollection<Element>
    /// While a key path is traced: the object that stands for all.
    private let traced: Element?

    init(_ collection: AnyRealmCollection<Element>, traced: Element?) {
        self.collection = collection
        self.traced = traced
    }

    /// The property of all elements.
    public subscript<Value>(dynamicMember member: KeyPath<Element, Value>) -> ProjectedCollection<Value> {
        // One element records the rest of the names.
        if let traced { _ = traced[keyPath: member] }
        return ProjectedCollection(ProjectionBox(collection, member))
    }
}

/// The values of one property of the objects in a collection; live as the collection is.
///
/// Setting an element sets the property of the object at that place.
public struct ProjectedCollection<Value>: RandomAccessCollection, CustomStringConvertible, ThreadConfined {
    public typealias Index = Int

    private let box: AnyProjectionBox<Value>

    fileprivate init(_ box: AnyProjectionBox<Value>) { self.box = box }

    public var startIndex: Int { 0 }
    public var endIndex: Int { box.count }
    /// How many values there are.
    public var count: Int { box.count }

    /// The value of the object at a position; misuse where it is out of bounds, and to set what cannot be set.
    public subscript(position: Int) -> Value {
        get { box.value(position) }
        nonmutating set { box.setValue(newValue, position) }
    }

    /// The position of the first object that satisfies the predicate, over the properties of the objects.
    public func index(matching predicate: NSPredicate) -> Int? { box.index(matching: predicate) }

    /// The Realm of the objects; nil while unmanaged.
    public var realm: Realm? { box.realm }
    /// True where the collection can no longer be used.
    public var isInvalidated: Bool { box.isInvalidated }
    /// True for what stays at one version for ever.
    public var isFrozen: Bool { box.isFrozen }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> ProjectedCollection? {
        box.moved(to: home, mayBeMissing: mayBeMissing).map { ProjectedCollection($0) }
    }

    /// The values, one a line.
    public var description: String {
        let lines = enumerated().map { number, value in "\t[\(number)] \(describe(value))\n" }
        return "ProjectedCollection<\(Value.self)> {\n" + lines.joined() + "}"
    }
}

extension ProjectedCollection {
    /// Calls `block` once with the collection as it is, and then after each change of it. See
    /// `RealmCollection.observe`.
    ///
    /// - Parameters:
    ///   - keyPaths: of the objects whose property is shown: only changes of these count as modifications. Nil: the
    ///     property that is shown.
    ///   - queue: a serial queue to be called on; nil: the thread of the collection.
    ///   - block: is told what has changed.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
    ) -> NotificationToken {
        requireObservable()
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { box.check(keyPaths: keyPaths) }

    /// Observes where the collection is.
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
    ) -> ObservationEntry {
        box.entry(keyPaths, block)
    }

    func requireObservable() {
        if realm == nil { misuse("Change notifications are only supported on managed collections.") }
    }
}

extension RealmCollectionChange {
    /// The same positions of another collection.
    fileprivate func map<Other>(_ other: (CollectionType) -> Other) -> RealmCollectionChange<Other> {
        switch self {
        case .initial(let collection): .initial(other(collection))
        case .update(let collection, let deletions, let insertions, let modifications):
            .update(other(collection), deletions: deletions, insertions: insertions, modifications: modifications)
        case .error(let error): .error(error)
        }
    }
}

extension ProjectedCollection where Value: Equatable {
    /// The position of the first such value.
    public func index(of object: Value) -> Int? { firstIndex(of: object) }
}

/// What is asked of a projected collection whose objects have an unknown class.
private class AnyProjectionBox<Value> {
    var count: Int { missing() }
    var realm: Realm? { missing() }
    var isInvalidated: Bool { missing() }
    var isFrozen: Bool { missing() }
    func value(_ position: Int) -> Value { missing() }
    func setValue(_ value: Value, _ position: Int) { missing() }
    func moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyProjectionBox? { missing() }
    func index(matching predicate: NSPredicate) -> Int? { missing() }
    func check(keyPaths: [String]?) { missing() }
    func entry(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<ProjectedCollection<Value>>) -> Void
    ) -> ObservationEntry {
        missing()
    }

    private func missing() -> Never { fatalError("only ProjectionBox is ever made") }
}

private final class ProjectionBox<Element: ObjectBase, Value>: AnyProjectionBox<Value> {
    private let collection: AnyRealmCollection<Element>
    private let keyPath: KeyPath<Element, Value>

    init(_ collection: AnyRealmCollection<Element>, _ keyPath: KeyPath<Element, Value>) {
        self.collection = collection
        self.keyPath = keyPath
    }

    override var count: Int { collection.count }
    override var realm: Realm? { collection.realm }
    override var isInvalidated: Bool { collection.isInvalidated }
    override var isFrozen: Bool { collection.isFrozen }
    override func moved(to home: _RealmHome, mayBeMissing: Bool) -> AnyProjectionBox<Value>? {
        collection._moved(to: home, mayBeMissing: mayBeMissing).map { ProjectionBox($0, keyPath) }
    }
    override func value(_ position: Int) -> Value { collection[position][keyPath: keyPath] }
    override func setValue(_ value: Value, _ position: Int) {
        guard let path = keyPath as? ReferenceWritableKeyPath<Element, Value> else {
            misuse("KeyPath is not writable: set the property of the object at that place instead.")
        }
        collection[position][keyPath: path] = value
    }
    override func index(matching predicate: NSPredicate) -> Int? { collection.index(matching: predicate) }
    override func check(keyPaths: [String]?) { collection.check(keyPaths: keyPaths) }
    override func entry(
        _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<ProjectedCollection<Value>>) -> Void
    ) -> ObservationEntry {
        let recorder = _KeyPathRecorder()
        recorder.recordEnd(Element._traced(recorder)[keyPath: keyPath])
        // What is computed from nothing stored may depend on all of the object.
        return collection.entry(keyPaths ?? recorder.path.map { [$0] }) { [keyPath] change in
            block(change.map { ProjectedCollection(ProjectionBox($0, keyPath)) })
        }
    }
}
