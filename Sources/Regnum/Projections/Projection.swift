// SPDX-License-Identifier: Apache-2.0
// Projections: user-defined classes that expose some properties of an object, and of objects it links to, under their
// own names. Nothing is copied: each access goes to the object.

internal import Foundation
internal import RegnumEngine
internal import RegnumSystem
internal import Synchronization

/// The protocol of projections of objects. To declare a projection, derive from `Projection`.
public protocol ProjectionObservable: AnyObject, ThreadConfined, RealmFetchable where PersistedType == Root {
    /// The class of the projected objects.
    associatedtype Root: ObjectBase
    /// The projected object.
    var rootObject: Root { get }
    /// Creates a projection of an object.
    init(projecting object: Root)
}

/// A view of an object with properties of its own.
///
/// ```swift
/// class PersonProjection: Projection<Person> {
///     @Projected(\Person.name) var name
///     @Projected(\Person.address?.city) var city
///     @Projected(\Person.friends.projectTo.name) var friends: ProjectedCollection<String>
/// }
/// let people = realm.objects(PersonProjection.self)
/// ```
///
/// Filters and sorts by name use the names of the root's properties; key paths and `where` use those of the projection.
/// A projection is managed or unmanaged, and confined to a thread, like its root object.
open class Projection<Root: ObjectBase>: ProjectionObservable {
    public typealias PersistedType = Root

    /// The projected object.
    public final let rootObject: Root

    /// Creates a projection of an object. It is a programmer error if a projected property does not lead to a stored
    /// property.
    public required init(projecting object: Root) {
        rootObject = object
        checkedProjections.check(type(of: self)) { projectedProperties() }
    }

    /// The Realm of the root object; nil while it is unmanaged.
    public final var realm: Realm? { rootObject.realm }
    /// True if the root object was deleted or its Realm was invalidated.
    public final var isInvalidated: Bool { rootObject.isInvalidated }
    /// True for an object of a frozen Realm.
    public final var isFrozen: Bool { rootObject.isFrozen }

    public final func _moved(to home: _RealmHome, mayBeMissing: Bool) -> Self? {
        rootObject._moved(to: home, mayBeMissing: mayBeMissing).map { Self(projecting: $0) }
    }

    public static var _confinedName: String { "objects" }

    /// Returns the name of the root's class.
    public static func className() -> String { Root.className() }
}

/// The projection classes whose properties have been checked.
private let checkedProjections = CheckedProjections()

private final class CheckedProjections: Sendable {
    private let classes = Lock(Set<ObjectIdentifier>())
    /// The class that was checked last, read without the lock: programs create many projections of one class.
    private let last = Atomic<UInt>(0)

    /// Reports a programmer error for a property that does not lead to a stored property. Checks each class once.
    func check(_ type: Any.Type, _ properties: () -> [(name: String, projected: any AnyProjected)]) {
        let id = ObjectIdentifier(type)
        let word = UInt(bitPattern: id)
        if last.load(ordering: .relaxed) == word { return }
        if classes.withLock({ $0.contains(id) }) { return last.store(word, ordering: .relaxed) }
        for (name, projected) in properties() where projected.trace().names.isEmpty {
            misuse(
                "@Projected property '\(name)' of '\(type)' must be a part of Realm object: it has to lead to "
                    + "properties marked @Persisted.")
        }
        classes.withLock { _ = $0.insert(id) }
    }
}

extension Projection: CustomStringConvertible {
    /// A description of the projected properties with their paths and values.
    public final var description: String {
        let address = String(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()), radix: 16)
        let start = "\(type(of: self))<\(Root.self)> <0x\(address)> {\n"
        if isInvalidated { return start + "\t\t[invalid object]\n}" }
        var lines = ""
        for (name, projected) in projectedProperties() {
            let value = describe(projected.value(of: rootObject)).replacing("\n", with: "\n\t\t")
            lines += "\t\t\(name)(\\.\(projected.path)) = \(value);\n"
        }
        return start + lines + "}"
    }
}

extension ProjectionObservable {
    /// Returns the projected properties in the order of declaration, those of base classes first.
    func projectedProperties() -> [(name: String, projected: any AnyProjected)] {
        var found: [(name: String, projected: any AnyProjected)] = []
        var mirror: Mirror? = Mirror(reflecting: self)
        while let current = mirror {
            var own: [(name: String, projected: any AnyProjected)] = []
            for child in current.children {
                guard let label = child.label, let projected = child.value as? any AnyProjected else { continue }
                own.append((String(label.dropFirst()), projected))
            }
            found = own + found
            mirror = current.superclassMirror
        }
        return found
    }
}

extension Projection: Hashable {
    /// Returns whether both are projections of the same class and the same object.
    public static func == (left: Projection, right: Projection) -> Bool {
        type(of: left) == type(of: right)
            && (left.rootObject === right.rootObject || ObjectBase.areSameRow(left.rootObject, right.rootObject))
    }

    public final func hash(into hasher: inout Hasher) { hasher.combine(rootObject.objectIdentity) }
}

extension ObjectKeyIdentifiable where Self: ProjectionObservable {
    /// The identifier of the root object.
    public var id: UInt64 { rootObject.objectIdentity }
}

// MARK: As elements of results

extension ProjectionObservable {
    public static var _shape: _PropertyShape {
        var shape = _PropertyShape(.object, target: Root.self)
        shape.isProjection = true
        return shape
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self { Self(projecting: Root._fromRaw(raw)) }
    public static func _toRaw(_ value: Self) -> _RawValue { Root._toRaw(value.rootObject) }

    public static func _coerced(_ value: Any) -> Self? {
        (value as? Self) ?? (value as? Root).map { Self(projecting: $0) }
    }

    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { Self(projecting: Root._traced(recorder)) }
}

/// Returns the name of the root's property that a projected property leads to, or several names joined by dots. A
/// projected property that does not lead to a stored property is a programmer error.
public func _name<Root: ProjectionObservable>(for keyPath: PartialKeyPath<Root>) -> String {
    let recorder = _KeyPathRecorder()
    recorder.recordEnd(Root._traced(recorder)[keyPath: keyPath])
    guard let name = recorder.path else {
        misuse(
            "@Projected property '\(keyPath)' must be a part of Realm object: it has to lead to properties marked "
                + "@Persisted.")
    }
    return name
}

extension Query where T: ProjectionObservable {
    /// The root's property that the projected property leads to.
    public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> {
        appending(QueryMember(_name(for: member), isCollection: QueryMember.isOfMany(V.self)))
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// Returns the elements sorted by the projected property.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Element, T>, ascending: Bool = true
    ) -> Results<Element> where T.PersistedType: SortableType {
        sorted(byKeyPath: _name(for: keyPath), ascending: ascending)
    }

    /// Returns the elements without those that equal an earlier element in all the given projected properties.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element>
    where S.Element == PartialKeyPath<Element> {
        distinct(by: keyPaths.map { _name(for: $0) })
    }

    /// Returns the smallest value of the projected property, or nil if there is none.
    public func min<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        min(ofProperty: _name(for: keyPath))
    }

    /// Returns the largest value of the projected property, or nil if there is none.
    public func max<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T? where T.PersistedType: MinMaxType {
        max(ofProperty: _name(for: keyPath))
    }

    /// Returns the sum of the projected property's values. Integers wrap on overflow.
    public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Element, T>) -> T where T.PersistedType: AddableType {
        sum(ofProperty: _name(for: keyPath))
    }

    /// Returns the average of the projected property's values, or nil if there is none.
    public func average<T: _HasPersistedType>(
        of keyPath: KeyPath<Element, T>
    ) -> T? where T.PersistedType: AddableType {
        average(ofProperty: _name(for: keyPath))
    }
}
