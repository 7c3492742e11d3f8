// SPDX-License-Identifier: Apache-2.0
// What a Swift type must offer to be a property or an element of a collection, and the markers that gate
// methods at compile time. Names with a leading underscore are public only because users' code is compiled
// against them.

public import RegnumEngine

/// How a Swift type is stored, as far as a schema tells.
public struct _PropertyShape {
    package enum Collection: UInt8, Sendable { case none, list, linkingObjects, set, dictionary }

    package var type: PropertyType
    package var isOptional = false
    package var collection = Collection.none
    /// The class that links lead to.
    package var target: ObjectBase.Type?
    /// True of projections, which cannot be stored.
    package var isProjection = false
    /// True of types of the user's own that are stored as another one, `target` too where that is embedded.
    package var isCustom = false
    /// True of types that have no form for some of what may be stored: enums, integers of fewer bits, and types of the
    /// user's own that are stored as values.
    package var isPartial = false
    /// How `add` finds the value in an unmanaged object; see `InsertPlan`.
    package var code = StorageCode.generic

    package init(_ type: PropertyType, code: StorageCode = .generic, target: ObjectBase.Type? = nil) {
        self.type = type
        self.code = code
        self.target = target
        isPartial = code == .int8 || code == .int16 || code == .int32
    }

    package var isCollection: Bool { collection != .none }

    /// True of types of the user's own that are stored as embedded objects, and of collections of them.
    var hasEmbeddedForm: Bool { isCustom && target != nil }

    /// How the column keeps it.
    package var collectionKind: CollectionKind {
        switch collection {
        case .none, .linkingObjects: .none
        case .list: .list
        case .set: .set
        case .dictionary: .dictionary
        }
    }
}

/// Layout of an unmanaged value in its object.
package enum StorageCode: UInt8, Sendable {
    /// Anything else: asked through its type.
    case generic
    case bool, int8, int16, int32, int64, float, double, string, data, date, objectID, uuid, decimal128
    case link, collection, mixed
}

/// One value between a Swift type and the engine.
public struct _RawValue {
    package var value: Value
    /// A link on its way in: the object, managed or not.
    package var object: ObjectBase?
    /// A link on its way out: where its object lives.
    package var binding: ClassBinding?
    /// A mixed value on its way in that holds objects or collections.
    var mixed: AnyRealmValue?
    /// A link or collection of a mixed value on its way out: where it lies.
    var place: ManagedPlace?

    package init(_ value: Value) { self.value = value }
}

/// An object that a collection holds, on its way out.
public struct _RowPlace {
    /// Kept by the collection that the element is of, as `object` is.
    unowned(unsafe) let binding: ClassBinding
    let key: ObjectKey
    /// Where it lies, if that is known.
    let location: RowLocation?
    /// Its accessor, if there is one already.
    var object: Unmanaged<ObjectBase>?
}

/// A type that can be stored: as a property, in a collection, or both.
public protocol _HasPersistedType: _RealmSchemaDiscoverable {
    /// The type as which it is stored.
    associatedtype PersistedType
    static var _shape: _PropertyShape { get }
    static func _fromRaw(_ raw: _RawValue) -> Self
    /// Of objects and what projects them.
    static func _element(_ place: _RowPlace) -> Self
    static func _toRaw(_ value: Self) -> _RawValue
    /// The value as this type, or nil where it cannot be: what `init(value:)` and subscripts accept.
    static func _coerced(_ value: Any) -> Self?
    /// The value as type Any: enums as their raw values, types of the user's own as what they are stored as.
    static func _dynamic(_ value: Self) -> Any?
    /// What subscripts show of what is stored, also where the type has no form for it. Of types of the user's own that
    /// are stored as embedded objects: the object itself.
    static func _shown(_ raw: _RawValue) -> Any?
    /// What is stored for a value of type Any, also for one that the type has no form for; nil where none can be.
    static func _storable(_ value: Any) -> _RawValue?
    /// True of numbers that are read by name as `NSNumber`; see `byName`.
    static var _isBridgedByName: Bool { get }
    /// A value to go on tracing a key path with.
    static func _traced(_ recorder: _KeyPathRecorder) -> Self
}

extension _HasPersistedType {
    public static func _element(_ place: _RowPlace) -> Self {
        var raw = _RawValue(.link(place.key))
        raw.binding = place.binding
        return _fromRaw(raw)
    }
}

/// A type of `@Persisted` properties.
public protocol _Persistable: _HasPersistedType {
    /// What the wrapper holds: the bare value, or an optional that is filled on first use. Memory of zeros
    /// must be destroyable without effect (accessors are made so).
    associatedtype _Stored = Self
    static var _unset: _Stored { get }
    static func _wrapped(_ value: Self) -> _Stored
    /// The value of an unmanaged object where it is there already.
    static func _peek(_ stored: _Stored) -> Self?
    /// The value of an unmanaged object, made where it is not there yet.
    static func _filled(_ stored: inout _Stored) -> Self
    static func _replace(_ stored: inout _Stored, _ value: Self)
    /// The value in a `ColumnView`. `offset`: of the wrapper in the object.
    static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int) -> Self
    /// True where a value of fixed size is all there is to store: then `_store` may be called.
    static var _hasFixedSize: Bool { get }
    /// Stores into a writable `ColumnView` that needs nothing else.
    static func _store(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase)
    /// As `_store` into a column that is as narrow as its integers: false, and nothing is stored, where it does not fit.
    static func _storeNarrow(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int) -> Bool
    /// Stores into a managed object in a write, keeping indexes and links.
    static func _assign(_ value: Self, _ object: ObjectBase, _ column: Int)
}

/// A type whose optional is `_Persistable`. Objects are only that: links are always optional.
public protocol _PersistableInsideOptional: _HasPersistedType {
    static var _hasFixedSizeInside: Bool { get }
    static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self?
    static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase)
    static func _assignOptional(_ value: Self?, _ object: ObjectBase, _ column: Int)
    static func _fromOptionalRaw(_ raw: _RawValue) -> Self?
    static var _optionalShape: _PropertyShape { get }
    /// The type's own default.
    static func _makeUnset() -> Self
}

/// A type that can be an element of a Realm collection.
public protocol RealmCollectionValue: Hashable, _HasPersistedType {}

/// A type whose optional can be an element of a Realm collection.
public protocol _RealmCollectionValueInsideOptional: RealmCollectionValue, _PersistableInsideOptional {}

/// Stored types that may be indexed.
public protocol _Indexable {}
/// Stored types that may be primary keys.
public protocol _PrimaryKey {}
/// Types with a smallest and a largest value.
public protocol MinMaxType {}
/// Types with a sum and an average.
public protocol AddableType { init() }
/// Types whose collections can be sorted.
public protocol SortableType {}
/// Elements with properties, by whose key paths collections of them can be sorted.
public protocol KeypathSortable {}
extension ObjectBase: KeypathSortable {}
extension Projection: KeypathSortable {}
/// Stored types that queries compare by order.
public protocol _QueryNumeric {}
/// Stored types that queries compare as bytes.
public protocol _QueryBinary {}
/// Stored types that queries compare as text.
public protocol _QueryString: _QueryBinary {}

extension _Persistable where _Stored == Self {
    @inlinable @inline(__always) public static func _wrapped(_ value: Self) -> Self { value }
    @inlinable @inline(__always) public static func _peek(_ stored: Self) -> Self? { stored }
    @inlinable @inline(__always) public static func _filled(_ stored: inout Self) -> Self { stored }
    @inlinable @inline(__always) public static func _replace(_ stored: inout Self, _ value: Self) {
        stored = value
    }
}

/// Types whose unset value is made on first use and then stays.
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

/// Stores what a property was set to. `target`: the class that its links lead to.
func assignRaw(
    _ raw: _RawValue, _ target: @autoclosure () -> ObjectBase.Type?, _ object: ObjectBase, _ column: Int
) {
    let binding = object.binding
    var value = raw.value
    if let linked = raw.object {
        linked.requireClass(target(), for: .property)
        // An embedded object may be assigned to where it is already.
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
