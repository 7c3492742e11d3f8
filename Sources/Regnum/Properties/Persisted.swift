// SPDX-License-Identifier: Apache-2.0
// `@Persisted`, and the fast paths of properties. A getter of a managed object compares the epoch and the thread and
// loads from the column; everything else is out of line in `ObjectBase.swift`.
//
// The object stores nothing about the column: the wrapper's byte offset, a constant after inlining, is looked up in a
// table of the class. Every function on this path is `@inline(__always)`: otherwise the key paths of the
// enclosing-instance subscript become real objects, and a read costs 100 ns.

public import RegnumEngine

/// A stored property of a model class.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(primaryKey: true) var id: UUID
///     @Persisted(indexed: true) var name = ""
///     @Persisted var owner: Person?
///     @Persisted var toys: List<String>
/// }
/// ```
@propertyWrapper
@frozen
public struct Persisted<Value: _Persistable> {
    // First: `storedPointer` depends on it.
    @usableFromInline var stored: Value._Stored
    @usableFromInline var flags: UInt8

    /// Bits of `flags`.
    @usableFromInline static var indexedFlag: UInt8 { 1 }
    @usableFromInline static var primaryKeyFlag: UInt8 { 2 }
    @usableFromInline static var contentFlag: UInt8 { 8 }
    /// The object is managed, so `stored` does not hold the value. Set only if the class is encodable.
    static var managedFlag: UInt8 { 4 }

    /// Creates a property with the default of its type: 0, false, "", nil, empty, or the first case of an enum. The
    /// default of a Date is the time of its first use; a UUID is random, and an ObjectId newly generated. The default
    /// of a custom type is converted from the default of its `PersistedType`.
    @inlinable
    public init() {
        stored = Value._unset
        flags = 0
    }

    /// Creates a property with a default value.
    @inlinable
    public init(wrappedValue value: Value) {
        stored = Value._wrapped(value)
        flags = 0
    }

    @available(*, unavailable, message: "@Persisted is only available on properties of Object classes")
    public var wrappedValue: Value {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    public static subscript<EnclosingSelf: ObjectBase>(
        _enclosingInstance object: EnclosingSelf,
        wrapped wrapped: ReferenceWritableKeyPath<EnclosingSelf, Value>,
        storage storage: ReferenceWritableKeyPath<EnclosingSelf, Self>
    ) -> Value {
        @inlinable @inline(__always)
        get {
            if let context = object.rowContext {
                let offset = wrapperOffset(object, storage)
                if context.pointee.state.pointee.epoch == object.rowEpoch,
                    context.pointee.state.pointee.owner == currentThreadWord()
                {
                    return Value._load(
                        object.rowColumns.unsafelyUnwrapped + Int(context.pointee.columnNumbers[offset]),
                        Int(object.rowNumber), object, offset)
                }
                return slowGet(object, offset)
            }
            if let value = Value._peek(object[keyPath: storage].stored) { return value }
            return Value._filled(&object[keyPath: storage].stored)
        }
        @inlinable @inline(__always)
        set {
            if let context = object.rowContext {
                let offset = wrapperOffset(object, storage)
                if Value._hasFixedSize, context.pointee.state.pointee.epoch == object.rowEpoch,
                    context.pointee.state.pointee.owner == currentThreadWord()
                {
                    let column =
                        object.rowColumns.unsafelyUnwrapped + Int(context.pointee.columnNumbers[offset])
                    if column.pointee.isWritable, !column.pointee.isGuarded {
                        context.pointee.stores.pointee &+= 1
                        return Value._store(newValue, column, Int(object.rowNumber), object)
                    }
                    if column.pointee.isNarrow, !column.pointee.isGuarded,
                        Value._storeNarrow(newValue, column, Int(object.rowNumber))
                    {
                        context.pointee.stores.pointee &+= 1
                        return
                    }
                }
                return slowSet(object, offset, newValue)
            }
            Value._replace(&object[keyPath: storage].stored, newValue)
        }
    }
}

extension Persisted where Value.PersistedType: _Indexable {
    /// Creates a property with an index if `indexed` is true.
    @inlinable
    public init(indexed: Bool) {
        stored = Value._unset
        flags = indexed ? Self.indexedFlag : 0
    }

    /// Creates a property with a default value, and an index if `indexed` is true.
    @inlinable
    public init(wrappedValue value: Value, indexed: Bool) {
        stored = Value._wrapped(value)
        flags = indexed ? Self.indexedFlag : 0
    }
}

/// The kind of index of a property.
@frozen
public enum PropertyIndex: Sendable {
    /// No index.
    case none
    /// An index of whole values, as with `indexed: true`: speeds up ==, IN, ranges and prefixes, and sorting by the
    /// property.
    case values
    /// A full-text index: makes the property searchable with `TEXT`, `fullTextSearch(_:)` and `search(_:in:)`.
    case fullText
    /// A geospatial index: for the list `coordinates` (longitude, latitude) of an embedded class used in geospatial
    /// queries, so that a query finds the locations in an area without examining the others.
    case location
}

extension Persisted where Value.PersistedType: _QueryString {
    /// Creates a property with an index of the given kind. Each word in a full-text index takes about 10 bytes in the
    /// file, and about as long to write as a property.
    @inlinable
    public init(indexed kind: PropertyIndex) {
        stored = Value._unset
        flags = Self.flags(kind)
    }

    /// Creates a property with a default value and an index of the given kind.
    @inlinable
    public init(wrappedValue value: Value, indexed kind: PropertyIndex) {
        stored = Value._wrapped(value)
        flags = Self.flags(kind)
    }

    @inlinable static func flags(_ kind: PropertyIndex) -> UInt8 {
        switch kind {
        case .none: 0
        case .values: indexedFlag
        case .fullText: contentFlag
        // Rejected when the schema is built.
        case .location: contentFlag | indexedFlag
        }
    }
}

extension Persisted
where
    Value: RealmCollection, Value.Element: _HasPersistedType,
    Value.Element.PersistedType: _QueryString
{
    /// Creates a list whose strings can be searched by words; `values` is rejected when the schema is built.
    public init(indexed kind: PropertyIndex) {
        stored = Value._unset
        flags =
            switch kind {
            case .none: 0
            case .values: Self.indexedFlag
            case .fullText: Self.contentFlag
            case .location: Self.contentFlag | Self.indexedFlag
            }
    }
}

extension Persisted where Value: RealmCollection, Value.Element == Double {
    /// Creates a list whose first two numbers are longitude and latitude in degrees, with a geospatial index; `values`
    /// and `fullText` are rejected when the schema is built.
    public init(indexed kind: PropertyIndex) {
        stored = Value._unset
        flags =
            switch kind {
            case .none: 0
            case .values: Self.indexedFlag
            case .fullText: Self.indexedFlag | Self.contentFlag
            case .location: Self.contentFlag
            }
    }
}

extension Persisted where Value.PersistedType: _PrimaryKey {
    /// Creates a property that is the primary key of its class if `primaryKey` is true.
    @inlinable
    public init(primaryKey: Bool) {
        stored = Value._unset
        flags = primaryKey ? Self.primaryKeyFlag : 0
    }

    /// Creates a property with a default value that is the primary key of its class if `primaryKey` is true.
    @inlinable
    public init(wrappedValue value: Value, primaryKey: Bool) {
        stored = Value._wrapped(value)
        flags = primaryKey ? Self.primaryKeyFlag : 0
    }
}

extension Persisted where Value: _LinkingObjectsProtocol {
    /// Creates linking objects: the objects that link to this one with their property `originProperty`.
    public init(originProperty: String) {
        stored = Value._wrapped(Value(_originProperty: originProperty))
        flags = 0
    }
}

/// Returns the byte offset of the wrapper in the object.
@inlinable @inline(__always)
func wrapperOffset<Root: ObjectBase, Wrapper>(
    _ object: Root, _ storage: ReferenceWritableKeyPath<Root, Wrapper>
) -> Int {
    #if DEBUG
        // Forming the property's address would take a debug build several times as long.
        if RuntimeLayout.isVerified { return RuntimeLayout.storedOffset(of: storage) }
    #endif
    // Release builds fold this to a constant.
    return withUnsafeMutablePointer(to: &object[keyPath: storage]) {
        UnsafeRawPointer($0) - UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    }
}

/// Recognises a wrapper by the type of its field.
protocol AnyPersisted {
    static var valueType: any _Persistable.Type { get }
    /// Returns the `flags` of the wrapper at `address`.
    static func flags(at address: UnsafeRawPointer) -> UInt8
    /// Sets `managedFlag` of the wrapper at `address`.
    static func markManaged(at address: UnsafeMutableRawPointer)
}

extension Persisted: AnyPersisted {
    static var valueType: any _Persistable.Type { Value.self }
    static func flags(at address: UnsafeRawPointer) -> UInt8 {
        address.assumingMemoryBound(to: Self.self).pointee.flags
    }
    static func markManaged(at address: UnsafeMutableRawPointer) {
        address.assumingMemoryBound(to: Self.self).pointee.flags |= managedFlag
    }
}
