// SPDX-License-Identifier: Apache-2.0
// Frozen objects and collections as `Sendable` values.
//
// What several threads may read at once, and why:
//
//     version, tables, groups    never change; decoding and its caches are under `FrozenSessionLock`
//     the row of an accessor     found before the accessor is handed out (`ClassBinding.makeAccessor`)
//     collections of an object   made at the first read, under `RealmCore.alone`
//     results                    evaluated at the first read, and cached, under `RealmCore.alone`
//     linking objects            each read makes its own
//     recycled values            only used on a live Realm's own thread
//
// An accessor's own stored properties, which the schema ignores, are not covered: the class of the model declares them.

/// A frozen object that can be sent to any task, actor or thread.
///
/// ```swift
/// let dog = try await pool.read { realm in realm.object(ofType: Dog.self, forPrimaryKey: id).map { Frozen($0) } }
/// print(dog?.name ?? "gone", dog?.owner?.name ?? "nobody", dog?.toys.count ?? 0)
/// ```
///
/// The object's properties can be read by their names: values and collections of values as they are, links as `Frozen`,
/// lists, sets and linking objects as `FrozenResults`. Any number of tasks may read at the same time. `object` gives
/// the object itself, for everything else: also for a property that a member of this type hides because it has the same
/// name, such as `object` or `description`. Write `dog.object.description` then.
///
/// It keeps its version of the file as long as it lives, as every frozen object does: `ObjectSnapshot` is a copy that
/// keeps nothing. Properties that the schema ignores are the exception to the thread rule: read them only if the class
/// itself makes that safe.
@dynamicMemberLookup
public struct Frozen<T: ObjectBase>: @unchecked Sendable {
    // Sendable: the object is frozen; see the table above.
    /// The frozen object. It may be used on any thread.
    public let object: T

    /// Freezes an object; a frozen one is taken as it is. During a write transaction, shows the object before the
    /// transaction. It is a programmer error if the object is unmanaged, invalid, or created by the running
    /// transaction.
    public init(_ object: T) { self.object = object.freeze() }

    fileprivate init(frozen object: T) { self.object = object }

    // The disfavoured subscripts lose to those of objects, even for classes that are declared `Sendable`.

    /// The value of a property, or of a computed property of the class.
    @_disfavoredOverload
    public subscript<Value: Sendable>(dynamicMember path: KeyPath<T, Value>) -> Value { object[keyPath: path] }

    /// The object that a property links to; frozen, if a computed property of the class gives a live one.
    public subscript<Target: ObjectBase>(dynamicMember path: KeyPath<T, Target?>) -> Frozen<Target>? {
        object[keyPath: path].map { Frozen<Target>($0) }
    }

    /// The objects in a list or a set, or those that link to the object.
    public subscript<Base: RealmCollection>(
        dynamicMember path: KeyPath<T, Base>
    ) -> FrozenResults<Base.Element> where Base.Element: ObjectBase {
        FrozenResults(object[keyPath: path])
    }

    /// The values in a list or a set. O(values).
    @_disfavoredOverload
    public subscript<Base: RealmCollection>(
        dynamicMember path: KeyPath<T, Base>
    ) -> [Base.Element] where Base.Element: Sendable {
        Array(object[keyPath: path])
    }

    /// The values in a map. O(values).
    public subscript<Key: _MapKey & Sendable, Value: RealmCollectionValue & Sendable>(
        dynamicMember path: KeyPath<T, Map<Key, Value>>
    ) -> [Key: Value] {
        var values: [Key: Value] = [:]
        for entry in object[keyPath: path] { values[entry.key] = entry.value }
        return values
    }

    /// The live object of the calling thread, queue or actor; nil if it does not exist there. See
    /// `ThreadConfined.thaw()`.
    public func thaw() -> T? { object.thaw() }
}

extension Frozen: Hashable, CustomStringConvertible {
    /// True for the same object at the same version.
    public static func == (left: Frozen, right: Frozen) -> Bool { left.object == right.object }

    public func hash(into hasher: inout Hasher) { hasher.combine(object) }

    public var description: String { object.description }
}

/// A frozen collection of objects that can be sent to any task, actor or thread: a random-access collection of
/// `Frozen`.
///
/// ```swift
/// let dogs = try await pool.read { realm in FrozenResults(realm.objects(Dog.self).where { $0.age > 5 }) }
/// for dog in dogs { print(dog.name) }
/// ```
///
/// The query runs when the elements are first read, on the thread that reads them, and once: other tasks that read at
/// that moment wait for it. To run it in the pool's reader, read `count` or `first` there. The collection keeps its
/// version of the file as long as it lives.
public struct FrozenResults<T: ObjectBase & RealmCollectionValue>: RandomAccessCollection, @unchecked Sendable {
    // Sendable: the collection is frozen; see the table above.
    /// The frozen collection. It may be used on any thread.
    public let collection: AnyRealmCollection<T>

    /// Freezes results, a list, a set or linking objects; a frozen collection is taken as it is. During a write
    /// transaction, shows the elements before the transaction. It is a programmer error if the collection is unmanaged
    /// or invalid. O(1).
    public init<Base: RealmCollection>(_ collection: Base) where Base.Element == T {
        self.collection = AnyRealmCollection(collection.freeze())
    }

    public typealias Index = Int
    public typealias Indices = Range<Int>

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { collection.count }
    /// The number of objects.
    public var count: Int { collection.count }
    /// True if there are no objects.
    public var isEmpty: Bool { collection.isEmpty }
    /// The object at a position. An out-of-bounds position is a programmer error.
    public subscript(position: Int) -> Frozen<T> { Frozen(frozen: collection[position]) }
    /// The first object; nil if there is none. Does not search for others.
    public var first: Frozen<T>? { collection.first.map { Frozen(frozen: $0) } }
    /// The last object; nil if there is none.
    public var last: Frozen<T>? { collection.last.map { Frozen(frozen: $0) } }

    /// The objects that satisfy the condition.
    public func `where`(_ isIncluded: (Query<T>) -> Query<Bool>) -> FrozenResults {
        FrozenResults(collection.where(isIncluded))
    }

    /// The objects sorted by one property.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> FrozenResults {
        FrozenResults(collection.sorted(byKeyPath: keyPath, ascending: ascending))
    }
}
