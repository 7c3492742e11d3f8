// SPDX-License-Identifier: Apache-2.0
// The requirements on a Swift type that is a property or an element of a collection, and the marker protocols that
// constrain methods at compile time. Names with a leading underscore are public only because users' code is compiled
// against them.

public import RegnumEngine

/// How a Swift type is stored, as described by a schema.
public struct _PropertyShape {
    package enum Collection: UInt8, Sendable { case none, list, linkingObjects, set, dictionary }

    package var type: PropertyType
    package var isOptional = false
    package var collection = Collection.none
    /// The class that links point to.
    package var target: ObjectBase.Type?
    /// True for projections, which cannot be stored.
    package var isProjection = false
    /// True for custom types that are stored as another type. If that is an embedded class, `target` is set too.
    package var isCustom = false
    /// True for types that cannot represent every value that may be stored: enums, integers of fewer than 64 bits, and
    /// custom types that are stored as values.
    package var isPartial = false
    /// How `add` reads the value from an unmanaged object; see `InsertPlan`.
    package var code = StorageCode.generic

    package init(_ type: PropertyType, code: StorageCode = .generic, target: ObjectBase.Type? = nil) {
        self.type = type
        self.code = code
        self.target = target
        isPartial = code == .int8 || code == .int16 || code == .int32
    }

    package var isCollection: Bool { collection != .none }

    /// True for custom types that are stored as embedded objects, and for collections of them.
    var hasEmbeddedForm: Bool { isCustom && target != nil }

    /// The kind of collection that the column stores.
    package var collectionKind: CollectionKind {
        switch collection {
        case .none, .linkingObjects: .none
        case .list: .list
        case .set: .set
        case .dictionary: .dictionary
        }
    }
}

/// The layout of an unmanaged value in its object.
package enum StorageCode: UInt8, Sendable {
    /// Any other layout; the value is read through its type.
    case generic
    case bool, int8, int16, int32, int64, float, double, string, data, date, objectID, uuid, decimal128
    case link, collection, mixed
}

/// A value being converted between a Swift type and the engine.
public struct _RawValue {
    package var value: Value
    /// For a link being stored: the object, managed or not.
    package var object: ObjectBase?
    /// For a link being read: the class of its object.
    package var binding: ClassBinding?
    /// For a mixed value being stored: the value, if it holds objects or collections.
    var mixed: AnyRealmValue?
    /// For a link or collection of a mixed value being read: its location.
    var place: PropertyLocation?

    package init(_ value: Value) { self.value = value }
}

/// An object in a collection that is being read.
public struct _RowPlace {
    /// The collection that contains the element keeps it alive, and also `object`.
    unowned(unsafe) let binding: ClassBinding
    let key: ObjectKey
    /// The object's row, if it is known.
    let location: RowLocation?
    /// The object's accessor, if there is one already.
    var object: Unmanaged<ObjectBase>?
}

/// A type that can be stored: as a property, in a collection, or both.
public protocol _HasPersistedType: _RealmSchemaDiscoverable {
    /// The type that it is stored as.
    associatedtype PersistedType
    static var _shape: _PropertyShape { get }
    static func _fromRaw(_ raw: _RawValue) -> Self
    /// Returns the element for an object. For objects and projections.
    static func _element(_ place: _RowPlace) -> Self
    static func _toRaw(_ value: Self) -> _RawValue
    /// Converts a value to this type, as `init(value:)` and subscripts do; nil if it does not fit.
    static func _coerced(_ value: Any) -> Self?
    /// Returns the value as type Any: enums as their raw values, custom types as the type they are stored as.
    static func _dynamic(_ value: Self) -> Any?
    /// Returns a stored value in the form that subscripts return, even if the type cannot represent it. For custom
    /// types that are stored as embedded objects, this is the object itself.
    static func _shown(_ raw: _RawValue) -> Any?
    /// Returns the value to store for a value of type Any, even if the type cannot represent it; nil if none can be
    /// stored.
    static func _storable(_ value: Any) -> _RawValue?
    /// True for numbers that are read by name as `NSNumber`; see `byName`.
    static var _isBridgedByName: Bool { get }
    /// Returns a value to continue tracing a key path with.
    static func _traced(_ recorder: _KeyPathRecorder) -> Self
}

extension _HasPersistedType {
    public static func _element(_ place: _RowPlace) -> Self {
        var raw = _RawValue(.link(place.key))
        raw.binding = place.binding
        return _fromRaw(raw)
    }
}

/// A type that can be the type of a `@Persisted` property.
public protocol _Persistable: _HasPersistedType {
    /// The storage of the wrapper: the value itself, or an optional that is filled on first use. Destroying zeroed
    /// memory of this type must have no effect, because accessors are created zeroed.
    associatedtype _Stored = Self
    static var _unset: _Stored { get }
    static func _wrapped(_ value: Self) -> _Stored
    /// Returns the value of an unmanaged object if it exists already.
    static func _peek(_ stored: _Stored) -> Self?
    /// Returns the value of an unmanaged object, creating it if it does not exist yet.
    static func _filled(_ stored: inout _Stored) -> Self
    static func _replace(_ stored: inout _Stored, _ value: Self)
    /// Loads the value from a `ColumnView`. `offset` is the byte offset of the wrapper in the object.
    static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int) -> Self
    /// True if storing a fixed-size value is all that a store has to do; then `_store` may be called.
    static var _hasFixedSize: Bool { get }
    /// Stores a value in a writable `ColumnView`, with no other effect.
    static func _store(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase)
    /// Like `_store`, into a column with narrow integers. Returns false, and stores nothing, if the value does not fit.
    static func _storeNarrow(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int) -> Bool
    /// Stores a value in a managed object in a write transaction, and maintains indexes and links.
    static func _assign(_ value: Self, _ object: ObjectBase, _ column: Int)
}

/// A type whose optional is `_Persistable`. Objects conform only to this protocol, because links are always optional.
public protocol _PersistableInsideOptional: _HasPersistedType {
    static var _hasFixedSizeInside: Bool { get }
    static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self?
    static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase)
    static func _assignOptional(_ value: Self?, _ object: ObjectBase, _ column: Int)
    static func _fromOptionalRaw(_ raw: _RawValue) -> Self?
    static var _optionalShape: _PropertyShape { get }
    /// Returns the type's own default.
    static func _makeUnset() -> Self
}

/// A type that can be an element of a Realm collection.
public protocol RealmCollectionValue: Hashable, _HasPersistedType {}

/// A type whose optional can be an element of a Realm collection.
public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue, _PersistableInsideOptional {}

/// A stored type that can be indexed.
public protocol _Indexable {}
/// A stored type that can be a primary key.
public protocol _PrimaryKey {}
/// A type with a minimum and a maximum.
public protocol MinMaxType {}
/// A type with a sum and an average.
public protocol AddableType { init() }
/// A type whose collections can be sorted.
public protocol SortableType {}
/// An element type with properties, whose collections can be sorted by key path.
public protocol KeypathSortable {}
extension ObjectBase: KeypathSortable {}
extension Projection: KeypathSortable {}
/// A stored type that queries compare by order.
public protocol _QueryNumeric {}
/// A stored type that queries compare as bytes.
public protocol _QueryBinary {}
/// A stored type that queries compare as text.
public protocol _QueryString: _QueryBinary {}

extension _Persistable where _Stored == Self {
    @inlinable @inline(__always) public static func _wrapped(_ value: Self) -> Self { value }
    @inlinable @inline(__always) public static func _peek(_ stored: Self) -> Self? { stored }
    @inlinable @inline(__always) public static func _filled(_ stored: inout Self) -> Self { stored }
    @inlinable @inline(__always) public static func _replace(_ stored: inout Self, _ value: Self) {
        stored = value
    }
}

/// A type whose default is created on first use and then kept.
public protocol _MadeOnFirstUse: _Persistable where _Stored == Self? {
    static func _makeDefault() -> Self
}

extension _MadeOnFirstUse {
    @inlinable @inline(__always) public static var _unset: Self? { nil }
    @inlinable @inline(__always) public static func _wrapped(_ value: Self) -> Self? { value }
    @inlinable @inline(__always) public static func _peek(_ stored: Self?) -> Self? { stored }
    @inlinable public static func _filled(_ stored: inout Self?) -> Self {
        if let stored { return stored }
        let value = _makeDefault()
        stored = value
        return value
    }
    @inlinable @inline(__always) public static func _replace(_ stored: inout Self?, _ value: Self) {
        stored = value
    }
}

extension _HasPersistedType {
    public static var _isBridgedByName: Bool { false }
    public static func _dynamic(_ value: Self) -> Any? { value }
    public static func _shown(_ raw: _RawValue) -> Any? { _dynamic(_fromRaw(raw)) }
    public static func _storable(_ value: Any) -> _RawValue? { _coerced(value).map { _toRaw($0) } }
}

extension _Persistable {
    @inlinable @inline(__always) public static var _hasFixedSize: Bool { true }

    @inlinable @inline(__always)
    public static func _storeNarrow(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int) -> Bool { false }

    public static func _assign(_ value: Self, _ object: ObjectBase, _ column: Int) {
        assignRaw(_toRaw(value), _shape.target, object, column)
    }
}

/// Stores the value that a property was set to. `target` is the class that its links point to.
func assignRaw(
    _ raw: _RawValue, _ target: @autoclosure () -> ObjectBase.Type?, _ object: ObjectBase, _ column: Int
) {
    let binding = object.binding
    var value = raw.value
    if let linked = raw.object {
        linked.requireClass(target(), for: .property)
        // An embedded object may be assigned to the property that already holds it.
        if linked.isOwned, linked.isLinked(from: object, column) { return }
        value = .link(binding.core.adopt(linked, for: .property))
    }
    engine { () throws(EngineError) in try binding.table.set(value, column, of: object.rowKey) }
}

extension _PersistableInsideOptional {
    public static func _assignOptional(_ value: Self?, _ object: ObjectBase, _ column: Int) {
        assignRaw(value.map { _toRaw($0) } ?? _RawValue(.null), _optionalShape.target, object, column)
    }
}

extension _PersistableInsideOptional where Self: _Persistable {
    @inlinable @inline(__always) public static var _hasFixedSizeInside: Bool { _hasFixedSize }

    @inlinable @inline(__always)
    public static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self? {
        if column.assumingMemoryBound(to: ColumnView.self).pointee.isNull(row) { return nil }
        return _load(column, row, object, 0)
    }

    @inlinable @inline(__always)
    public static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        let validity = column.assumingMemoryBound(to: ColumnView.self).pointee.validity.unsafelyUnwrapped
        let mask: UInt64 = 1 &<< UInt64(row & 63)
        if let value {
            validity[row &>> 6] |= mask
            _store(value, column, row, object)
        } else {
            validity[row &>> 6] &= ~mask
        }
    }

    public static func _makeUnset() -> Self {
        var stored = _unset
        return _filled(&stored)
    }

    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { _makeUnset() }
}

extension _PersistableInsideOptional {
    public static func _fromOptionalRaw(_ raw: _RawValue) -> Self? {
        if case .null = raw.value { return nil }
        return _fromRaw(raw)
    }

    public static var _optionalShape: _PropertyShape {
        var shape = _shape
        shape.isOptional = true
        return shape
    }
}
