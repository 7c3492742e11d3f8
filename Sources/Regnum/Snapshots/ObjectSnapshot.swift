// SPDX-License-Identifier: Apache-2.0
// Objects as plain values: their content at one moment, which can be compared and sent to any thread or actor.
// Additions to RealmSwift's API, and therefore members of protocol extensions: a member of the same name in a user's
// class takes precedence.

public import Foundation
internal import RegnumEngine

/// The content of an object when the snapshot was taken: values by property name.
///
/// ```swift
/// let before = dog.snapshot()
/// try realm.write { dog.age += 1 }
/// dog.snapshot().changes(since: before)   // age: 3 -> 4
/// ```
///
/// Two snapshots are equal if they are of the same class and contain the same values.
public struct ObjectSnapshot: Sendable, Hashable {
    /// The name of the class in the file.
    public let className: String
    /// The names of the properties, in the order of the schema.
    public let names: [String]
    /// The value of the primary key; nil for classes without one.
    public let primaryKey: SnapshotValue?
    private let values: [SnapshotValue]

    fileprivate init(
        className: String, names: [String], values: [SnapshotValue], primaryKey: SnapshotValue?
    ) {
        self.className = className
        self.names = names
        self.values = values
        self.primaryKey = primaryKey
    }

    /// The value of a property; nil if the class has no property of that name.
    public subscript(name: String) -> SnapshotValue? { names.firstIndex(of: name).map { values[$0] } }

    /// The values by name.
    public var properties: [String: SnapshotValue] {
        Dictionary(zip(names, values), uniquingKeysWith: { first, _ in first })
    }
}

/// The value of a property in a snapshot.
public indirect enum SnapshotValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case float(Float)
    case double(Double)
    case string(String)
    case data(Data)
    case date(Date)
    case decimal128(Decimal128)
    case objectId(ObjectId)
    case uuid(UUID)
    /// A list.
    case list([SnapshotValue])
    /// A set, in the order of the Realm.
    case set([SnapshotValue])
    /// A map, or a dictionary. Of keys that differ only in Unicode normalisation, it has the last one.
    case map([String: SnapshotValue])
    /// An object with its values.
    case object(ObjectSnapshot)
    /// An object beyond the requested depth: its class and primary key, which is `.null` if the class has none.
    case link(String, SnapshotValue)

    /// The value as Swift represents it: nil for `.null`, arrays for lists and sets, snapshots for objects.
    public var any: Any? {
        switch self {
        case .null: nil
        case .bool(let value): value
        case .int(let value): value
        case .float(let value): value
        case .double(let value): value
        case .string(let value): value
        case .data(let value): value
        case .date(let value): value
        case .decimal128(let value): value
        case .objectId(let value): value
        case .uuid(let value): value
        case .list(let values), .set(let values): values
        case .map(let values): values
        case .object(let value): value
        case .link(_, let key): key.any
        }
    }
}

extension ThreadConfined where Self: ObjectBase {
    /// The content of the object, as values that can be passed to any thread or actor.
    ///
    /// Links are followed to the given depth, links to embedded objects always, but never more than 100 levels. Beyond
    /// that, and for a link back to an object that contains it, an object is represented by its class and primary key.
    /// Linking objects are left out. It is a programmer error if the object is invalid. Cost: reads every object that
    /// it copies.
    @_disfavoredOverload
    public func snapshot(depth: Int = 1) -> ObjectSnapshot {
        var taking = TakingSnapshot()
        return taking.object(self, depth)
    }

    /// The content of the object as a user-defined type whose properties have the names of the object's. Only those
    /// properties of the object, and of the objects that it links to, are read.
    ///
    /// ```swift
    /// struct DogValue: Codable, Sendable { let name: String; let owner: PersonValue? }
    /// let value = try dog.snapshot(as: DogValue.self)
    /// ```
    ///
    /// Links, also in lists and sets and linking objects, become values of the type that the property has; a type that
    /// contains itself ends where the links end, after at most 100 levels. Numbers are converted if they fit. Enums are
    /// decoded from their stored form, and so are custom types, unless the property has the custom type itself. A
    /// String may be a `URL`, a `Decimal128` a `Decimal`. A property of a name that the class does not have is nil if it
    /// is optional, otherwise an error.
    ///
    /// - Returns: The value, which can be passed to any thread or actor.
    /// - Throws: `DecodingError` with the path of the property if the values do not fit the type.
    /// - Thread: That of the object. It is a programmer error if the object is invalid.
    /// - Complexity: O(values read).
    @_disfavoredOverload
    public func snapshot<Value: Decodable & Sendable>(as type: Value.Type) throws -> Value {
        try SnapshotReader().value(self, as: type)
    }
}

extension RealmCollection where Element: ObjectBase {
    /// Snapshots of the objects, in order. See `snapshot(depth:)` of an object.
    @_disfavoredOverload
    public func snapshots(depth: Int = 1) -> [ObjectSnapshot] {
        var taking = TakingSnapshot()
        return map { taking.object($0, depth) }
    }

    /// The objects as values of a user-defined type, in order. See `snapshot(as:)` of an object.
    ///
    /// The columns that the type's keys mean are determined once, for the first object; the values of the others are
    /// read straight from the file, without an accessor for each linked object. A decoder passed to `init(from:)` may
    /// be kept by the value, but then each object needs a new one; a container of it must not be used after
    /// `init(from:)` has returned.
    ///
    /// - Throws: `DecodingError` with the path of the property, of the first object whose values do not fit the type.
    /// - Thread: That of the collection. The values can be passed to any thread or actor.
    /// - Complexity: O(values read).
    @inlinable
    @_disfavoredOverload
    public func snapshots<Value: Decodable & Sendable>(as type: Value.Type) throws -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        let reader = SnapshotReader()
        for object in self { values.append(try reader.value(object, as: type)) }
        return values
    }
}

/// Reads objects, and records the objects that contain the current one.
struct TakingSnapshot {
    /// Snapshots are nested: a longer chain would need too much of the stack to be compared and released.
    private static let limit = 100
    /// True if a link is represented by the identity of its target instead of by its primary key. Only snapshots of
    /// this kind, taken while the targets exist, can then be compared.
    var identifiesTargets = false
    private var above: [(context: UnsafeMutableRawPointer?, key: UInt64, instance: ObjectIdentifier)] = []

    mutating func object(_ object: ObjectBase, _ depth: Int) -> ObjectSnapshot {
        if object.rowContext != nil { object.requireValid() }
        above.append(Self.place(object))
        defer { above.removeLast() }
        let schema = object.classSchema
        var names: [String] = []
        var values: [SnapshotValue] = []
        var key: SnapshotValue?
        for property in schema.properties where !property.isComputed {
            var value = value(property.get(object), depth)
            // The property alone distinguishes sets from lists.
            if property.isSet, case .list(let elements) = value { value = .set(elements) }
            names.append(property.name)
            values.append(value)
            if property.isPrimaryKey { key = value }
        }
        return ObjectSnapshot(className: schema.name, names: names, values: values, primaryKey: key)
    }

    private static func place(
        _ object: ObjectBase
    ) -> (context: UnsafeMutableRawPointer?, key: UInt64, instance: ObjectIdentifier) {
        (object.rowContext.map { UnsafeMutableRawPointer($0) }, object.rowKey.rawValue, ObjectIdentifier(object))
    }

    private func isInside(_ object: ObjectBase) -> Bool {
        let place = Self.place(object)
        return above.contains {
            place.context == nil
                ? $0.instance == place.instance : $0.context == place.context && $0.key == place.key
        }
    }

    private mutating func linked(_ object: ObjectBase, _ depth: Int) -> SnapshotValue {
        let schema = object.classSchema
        let isEmbedded = schema.type.isEmbedded()
        if isEmbedded || depth > 0, above.count <= Self.limit, !isInside(object) {
            return .object(self.object(object, isEmbedded ? depth : depth - 1))
        }
        if identifiesTargets {
            let place = Self.place(object)
            let number = place.context == nil ? UInt64(UInt(bitPattern: place.instance)) : place.key
            return .link(place.context == nil ? "" : schema.name, .int(Int(truncatingIfNeeded: number)))
        }
        guard let place = schema.primaryKey else { return .link(schema.name, .null) }
        return .link(schema.name, value(schema.properties[place].get(object), 0))
    }

    private mutating func value(_ value: Any?, _ depth: Int) -> SnapshotValue {
        guard let value = value.flatMap({ unwrapped($0) }) else { return .null }
        if let scalar = SnapshotValue(scalar: value) { return scalar }
        switch value {
        case AnyRealmValue.none as AnyRealmValue: return .null
        case let object as ObjectBase: return linked(object, depth)
        case let map as any AnyMap where identifiesTargets:
            // A dictionary would lose one of two keys that differ only in normalisation.
            var pairs: [SnapshotValue] = []
            for entry in map.anyEntries.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                pairs.append(.string(entry.key))
                pairs.append(self.value(entry.value, depth))
            }
            return .list(pairs)
        case let map as any AnyMap:
            var entries: [String: SnapshotValue] = [:]
            for (key, value) in map.anyEntries { entries[key] = self.value(value, depth) }
            return .map(entries)
        case let collection as any AnyOwnedCollection:
            return .list(collection.anyElements.map { self.value($0, depth) })
        default:
            // Enums and custom types are represented by their stored form.
            guard let stored = storedForm(of: value) else { return .string(describe(value)) }
            return self.value(stored, depth)
        }
    }
}

/// The stored form of an enum or of a value of a custom type; nil for other values.
func storedForm(of value: Any) -> Any? {
    func open<Value: _HasPersistedType>(_ value: Value) -> Any? { Value._dynamic(value) }
    guard let persisted = value as? any _HasPersistedType, let stored = open(persisted),
        type(of: stored) != type(of: value)
    else { return nil }
    return stored
}

extension SnapshotValue {
    /// Creates a scalar value; nil if the value contains other values.
    init?(scalar value: Any) {
        switch value {
        case let value as Bool: self = .bool(value)
        case let value as Int: self = .int(value)
        case let value as Float: self = .float(value)
        case let value as Double: self = .double(value)
        case let value as String: self = .string(value)
        case let value as Data: self = .data(value)
        case let value as Date: self = .date(value)
        case let value as Decimal128: self = .decimal128(value)
        case let value as ObjectId: self = .objectId(value)
        case let value as UUID: self = .uuid(value)
        default: return nil
        }
    }
}
