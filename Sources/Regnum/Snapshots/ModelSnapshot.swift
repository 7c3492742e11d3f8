// SPDX-License-Identifier: Apache-2.0
// Structs with the values of a model class, known to the compiler. The macro @Snapshot of RegnumMacros generates them,
// and a program can write them by hand. `SnapshotApplying.swift` writes their values to objects.

/// A model class with a struct of its values. The macro `@Snapshot` of RegnumMacros adds the conformance.
public protocol SnapshotModel: ObjectBase, SendableMetatype {
    /// The values of an object.
    associatedtype Snapshot: ModelSnapshot
}

/// The values of an object as a struct, which can be compared, encoded, and sent to any thread or actor.
///
/// ```swift
/// @Snapshot class Dog: Object {                      // import RegnumMacros, trait `Macros`
///     @Persisted(primaryKey: true) var id: UUID
///     @Persisted var name = ""
///     @Persisted var owner: Person?
/// }
///
/// var value = Dog.Snapshot(dog)                      // id, name, owner: LinkedSnapshot<Person>?
/// value.name = "Rex"
/// try realm.write { try value.apply(to: dog) }
/// ```
///
/// The requirements whose names begin with an underscore are for the macro. A struct that is written by hand has them
/// too: `SnapshotReading` and `SnapshotWriting` convert the values of each type of property.
public protocol ModelSnapshot: Sendable, Codable, Hashable {
    /// The model class.
    associatedtype ModelClass: ObjectBase
    /// The type of the primary key; `Never` for a class without one.
    associatedtype ModelKey: Codable & Hashable & Sendable

    /// How many links are followed if no depth is given.
    static var linkDepth: Int { get }

    /// Reads the values of an object.
    ///
    /// - Parameters:
    ///   - object: The object, managed or not. It is a programmer error if it is invalid.
    ///   - depth: How many links are followed, at most 100; beyond that, a linked object is its primary key. An object
    ///     is read again for each path that leads to it, so choose a small depth for objects that link to one another.
    /// - Thread: That of the object.
    /// - Complexity: O(values read).
    init(_ object: ModelClass, depth: Int)

    /// The primary key of an object; nil if its class has none.
    static func _key(of object: ModelClass) -> ModelKey?
    /// The primary key among the values; nil if the class has none.
    var _key: ModelKey? { get }
    /// Stores the values in an unmanaged object.
    func _write(to object: ModelClass, _ writing: SnapshotWriting)
}

extension ModelSnapshot {
    /// One link is followed: the values of linked objects, with the primary keys of those that these link to.
    public static var linkDepth: Int { 1 }

    /// Reads the values of an object; links are followed to the depth that the macro was given. See
    /// `init(_:depth:)`.
    public init(_ object: ModelClass) { self.init(object, depth: Self.linkDepth) }

    public static func _key(of object: ModelClass) -> ModelKey? { nil }
    public var _key: ModelKey? { nil }

    /// The object that a decoder of `snapshots(as:)` stands at; nil for other decoders. Then the values are read from
    /// the object, by their types, instead of being decoded.
    public static func _object(in decoder: any Decoder) -> ModelClass? {
        if let decoder = decoder as? RowDecoder { return decoder.current as? ModelClass }
        return (decoder as? LiveNode)?.value as? ModelClass
    }
}

extension SnapshotModel {
    /// The values of the object. Its class may be a subclass of the one with the struct.
    func structured(depth: Int) -> Snapshot { Snapshot(structuredModel, depth: depth) }

    /// The object as the class of its struct.
    var structuredModel: Snapshot.ModelClass {
        guard let model = self as? Snapshot.ModelClass else {
            misuse("'\(Snapshot.self)' is a struct of '\(Snapshot.ModelClass.self)', not of '\(Self.self)'.")
        }
        return model
    }
}

extension _Persistable {
    /// The type of the property's values in a struct of `@Snapshot`.
    public typealias SnapshotForm = Self
}

extension ThreadConfined where Self: ObjectBase {
    @available(*, unavailable, message: "write @Snapshot above this class too, so that the links to it have a value")
    public typealias SnapshotForm = Never
}

/// An object that a property of a `ModelSnapshot` links to: its values or, beyond the depth, its primary key.
///
/// Two of them are equal if they contain the same: a primary key differs from values with this key. It is encoded as
/// the values or the key alone, and decoded from either.
public indirect enum LinkedSnapshot<Target: SnapshotModel>: Sendable, Hashable {
    /// The values.
    case value(Target.Snapshot)
    /// The primary key.
    case key(Target.Snapshot.ModelKey)
    /// An object beyond the depth, of a class without a primary key. Encoded as null.
    case unidentified

    init(_ object: Target, depth: Int) {
        if depth > 0 {
            self = .value(object.structured(depth: depth - 1))
        } else {
            self = Target.Snapshot._key(of: object.structuredModel).map { .key($0) } ?? .unidentified
        }
    }

    /// The primary key; nil if the class has none.
    public var key: Target.Snapshot.ModelKey? {
        switch self {
        case .value(let value): value._key
        case .key(let key): key
        case .unidentified: nil
        }
    }

    /// The values; nil beyond the depth.
    public var value: Target.Snapshot? { if case .value(let value) = self { value } else { nil } }
}

extension LinkedSnapshot: Codable {
    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        if let object = Target.Snapshot._object(in: decoder) {
            self = .value(Target.Snapshot(object))
        } else if (try? decoder.container(keyedBy: AnyName.self)) != nil {
            self = .value(try Target.Snapshot(from: decoder))
        } else if try decoder.singleValueContainer().decodeNil() {
            self = .unidentified
        } else {
            self = .key(try Target.Snapshot.ModelKey(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .value(let value): try value.encode(to: encoder)
        case .key(let key): try key.encode(to: encoder)
        case .unidentified:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
    }
}

/// Converts the values of properties to those of a `ModelSnapshot`: links to `LinkedSnapshot`, embedded objects to
/// their structs, collections to arrays, sets and dictionaries.
public struct SnapshotReading {
    private static let depthLimit = 100
    private let depth: Int

    /// - Parameter depth: How many links are followed, at most 100.
    public init(depth: Int) { self.depth = min(depth, Self.depthLimit) }

    public func value<Value>(_ value: Value) -> Value { value }

    public func value<Target: Object & SnapshotModel>(_ target: Target?) -> LinkedSnapshot<Target>? {
        target.map { LinkedSnapshot($0, depth: depth) }
    }

    public func value<Target: EmbeddedObject & SnapshotModel>(_ target: Target?) -> Target.Snapshot? {
        target.map { $0.structured(depth: depth) }
    }

    public func value<Element>(_ list: List<Element>) -> [Element] { Array(list) }

    public func value<Target: Object & SnapshotModel>(_ list: List<Target>) -> [LinkedSnapshot<Target>] {
        list.map { LinkedSnapshot($0, depth: depth) }
    }

    public func value<Target: EmbeddedObject & SnapshotModel>(_ list: List<Target>) -> [Target.Snapshot] {
        list.map { $0.structured(depth: depth) }
    }

    public func value<Element>(_ set: MutableSet<Element>) -> Set<Element> { Set(set) }

    public func value<Target: Object & SnapshotModel>(_ set: MutableSet<Target>) -> Set<LinkedSnapshot<Target>> {
        Set(set.map { LinkedSnapshot($0, depth: depth) })
    }

    public func value<Key, Value>(_ map: Map<Key, Value>) -> [Key: Value] { entries(map) { $0 } }

    public func value<Key, Target: Object & SnapshotModel>(
        _ map: Map<Key, Target?>
    ) -> [Key: LinkedSnapshot<Target>?] { entries(map) { value($0) } }

    public func value<Key, Target: EmbeddedObject & SnapshotModel>(
        _ map: Map<Key, Target?>
    ) -> [Key: Target.Snapshot?] { entries(map) { value($0) } }

    private func entries<Key, Value, Form>(_ map: Map<Key, Value>, _ form: (Value) -> Form) -> [Key: Form] {
        var entries: [Key: Form] = [:]
        for entry in map { entries.updateValue(form(entry.value), forKey: entry.key) }
        return entries
    }
}

extension RealmCollection where Element: ObjectBase & SnapshotModel {
    /// The objects as structs of their class, in order: `realm.objects(Dog.self).snapshotValues()` is `[Dog.Snapshot]`.
    ///
    /// - Parameter depth: How many links are followed; nil, the default, for the depth that the macro was given.
    /// - Thread: That of the collection. The values can be passed to any thread or actor.
    /// - Complexity: O(values read).
    @_disfavoredOverload
    public func snapshotValues(depth: Int? = nil) -> [Element.Snapshot] {
        map { $0.structured(depth: depth ?? Element.Snapshot.linkDepth) }
    }

    /// A sequence of the objects as structs of their class: the current ones, and all of them again after each change.
    ///
    /// ```swift
    /// for try await dogs in realm.objects(Dog.self).values() { show(dogs) }   // dogs: [Dog.Snapshot]
    /// ```
    ///
    /// Like `values(as:keyPaths:)`, with its rules for threads, cancellation and slow readers.
    ///
    /// - Parameters:
    ///   - depth: How many links are followed; nil, the default, for the depth that the macro was given.
    ///   - keyPaths: The properties whose changes lead to another array; nil, the default, for all.
    /// - Complexity: O(values read) for each change.
    @_disfavoredOverload
    public func values(
        depth: Int? = nil, keyPaths: [String]? = nil
    ) -> AsyncThrowingStream<[Element.Snapshot], any Error> {
        stream(keyPaths) { $0.snapshotValues(depth: depth) }
    }
}

extension RealmPool {
    /// Reads objects as structs of their class, on a reader at the newest version of the file.
    ///
    /// ```swift
    /// let dogs = try await pool.values { realm in realm.objects(Dog.self).where { $0.age > 5 } }   // [Dog.Snapshot]
    /// ```
    ///
    /// Like `read`, with its errors and its order.
    ///
    /// - Parameters:
    ///   - depth: How many links are followed; nil, the default, for the depth that the macro was given.
    ///   - results: The objects, of a class with `@Snapshot`.
    /// - Complexity: O(values read).
    public func values<T: Object & SnapshotModel>(
        depth: Int? = nil, _ results: @Sendable (Realm) throws -> Results<T>
    ) async throws -> [T.Snapshot] {
        try await read { realm in try results(realm).snapshotValues(depth: depth) }
    }
}
