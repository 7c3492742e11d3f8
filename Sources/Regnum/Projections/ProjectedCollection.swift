// SPDX-License-Identifier: Apache-2.0
// A property of all objects in a collection, as a collection of its own.

public import Dispatch
public import Foundation
internal import RegnumEngine

extension RealmCollection where Element: ObjectBase {
    /// The starting point for a projected property of the elements, in `@Projected` key paths.
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

/// The value to which a property of the elements is appended: `friends.projectTo.name`.
@dynamicMemberLookup
public struct CollectionElementMapper<Element: ObjectBase> {
    private let collection: AnyRealmCollection<Element>
    /// While a key path is traced: the object that represents all elements.
    private let traced: Element?

    init(_ collection: AnyRealmCollection<Element>, traced: Element?) {
        self.collection = collection
        self.traced = traced
    }

    /// The property of all elements.
    public subscript<Value>(dynamicMember member: KeyPath<Element, Value>) -> ProjectedCollection<Value> {
        // One element records the remaining names.
        if let traced { _ = traced[keyPath: member] }
        return ProjectedCollection(ProjectionBox(collection, member))
    }
}

/// The values of one property of the objects in a collection; live if the collection is.
///
/// Setting an element sets the property of the object at that position.
public struct ProjectedCollection<Value>: RandomAccessCollection, CustomStringConvertible, ThreadConfined {
    public typealias Index = Int

    private let box: AnyProjectionBox<Value>

    fileprivate init(_ box: AnyProjectionBox<Value>) { self.box = box }

    public var startIndex: Int { 0 }
    public var endIndex: Int { box.count }
    /// The number of values.
    public var count: Int { box.count }

    /// The value of the object at a position. An out-of-bounds position is a programmer error, and so is setting a
    /// value that cannot be set.
    public subscript(position: Int) -> Value {
        get { box.value(position) }
        nonmutating set { box.setValue(newValue, position) }
    }

    /// Returns the position of the first object that satisfies the predicate on the objects' properties; nil if there
    /// is none.
    public func index(matching predicate: NSPredicate) -> Int? { box.index(matching: predicate) }

    /// The Realm of the objects; nil while unmanaged.
    public var realm: Realm? { box.realm }
    /// True if the collection can no longer be used.
    public var isInvalidated: Bool { box.isInvalidated }
    /// True if the collection is frozen: it stays at one version.
    public var isFrozen: Bool { box.isFrozen }

    public func _moved(to home: _RealmHome, mayBeMissing: Bool) -> ProjectedCollection? {
        box.moved(to: home, mayBeMissing: mayBeMissing).map { ProjectedCollection($0) }
    }

    /// A description of the values, one per line.
    public var description: String {
        let lines = enumerated().map { number, value in "\t[\(number)] \(describe(value))\n" }
        return "ProjectedCollection<\(Value.self)> {\n" + lines.joined() + "}"
    }
}

extension ProjectedCollection {
    /// Calls `block` once with the current collection, then after each change to it. See `RealmCollection.observe`.
    ///
    /// - Parameters:
    ///   - keyPaths: key paths of the objects; only changes to these count as modifications. If nil, the projected
    ///     property is observed.
    ///   - queue: a serial queue for the callbacks; if nil, they run on the thread of the collection.
    ///   - block: the callback, which receives the changes.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void
    ) -> NotificationToken {
        requireObservable()
        return observing(self, on: queue, checking: { $0.check(keyPaths: keyPaths) }) { $0.entry(keyPaths, block) }
    }

    /// Reports a programmer error for invalid key paths.
    func check(keyPaths: [String]?) { box.check(keyPaths: keyPaths) }

    /// Registers the observation in the Realm of the collection.
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
    /// Returns the same positions with another collection.
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
    /// Returns the position of the first value equal to `object`; nil if there is none.
    public func index(of object: Value) -> Int? { firstIndex(of: object) }
}

/// The interface of a projected collection, without the class of its objects.
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

    private func missing() -> Never { fatalError("only ProjectionBox is ever created") }
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
            misuse("KeyPath is not writable: set the property of the object at that position instead.")
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
        // A value computed from no stored property may depend on any part of the object.
        return collection.entry(keyPaths ?? recorder.path.map { [$0] }) { [keyPath] change in
            block(change.map { ProjectedCollection(ProjectionBox($0, keyPath)) })
        }
    }
}
