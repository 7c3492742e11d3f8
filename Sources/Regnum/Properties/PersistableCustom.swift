// SPDX-License-Identifier: Apache-2.0
// Custom types as stored types: stored as another type that can be stored, or as an embedded object.

internal import RegnumEngine

/// The common requirements of `CustomPersistable` and `FailableCustomPersistable`; conform to one of those.
public protocol _CustomPersistable: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional
where PersistedType: _PersistableInsideOptional, _Stored == _CustomBox<Self>? {
    /// The value in its stored form.
    var persistableValue: PersistedType { get }
    /// Returns the value for a stored value; nil if there is none.
    static func _converted(_ persisted: PersistedType) -> Self?
}

/// A type that is stored as another type: as a property, its optional, or an element of a collection.
///
/// ```swift
/// struct Kilograms: CustomPersistable {
///     var value: Double
///     init(persistedValue: Double) { value = persistedValue }
///     var persistableValue: Double { value }
/// }
/// ```
///
/// `PersistedType` is a value type or a class of embedded objects. Queries, sorts, indexes and aggregates use the
/// stored form; each read of a property calls `init(persistedValue:)`, which should therefore be fast. The default is
/// created from the default of `PersistedType`.
///
/// When read by name, as in `object["weight"]`, the value has its stored form. If that is an embedded object, a managed
/// object returns the embedded object itself, which can be read and changed; an unmanaged object returns a new one
/// created from the value. Setting such a property to nil by name removes the stored object, even if the property is
/// not optional: it then has the default of its type, and reading it by name returns a new object created from that
/// default.
public protocol CustomPersistable: _CustomPersistable {
    /// The type that it is stored as.
    associatedtype PersistedType
    /// Creates the value that is stored as `persistedValue`.
    init(persistedValue: PersistedType)
}

/// A type that is stored as another type, some of whose values it cannot represent.
///
/// A stored value for which `init(persistedValue:)` returns nil is read as nil if the property or element is optional;
/// otherwise reading it terminates the program. When accessed by name, as in `object["word"]`, it is read and stored
/// like any other value. If a property has no default of its own, creating its default terminates the program if
/// `init(persistedValue:)` returns nil for the default of `PersistedType`.
public protocol FailableCustomPersistable: _CustomPersistable {
    /// The type that it is stored as.
    associatedtype PersistedType
    /// Creates the value that is stored as `persistedValue`; nil if there is none.
    init?(persistedValue: PersistedType)
}

extension CustomPersistable {
    public static func _converted(_ persisted: PersistedType) -> Self? { Self(persistedValue: persisted) }
}

extension FailableCustomPersistable {
    public static func _converted(_ persisted: PersistedType) -> Self? { Self(persistedValue: persisted) }
}

/// The storage of a custom value in an unmanaged object. A class, because accessors are created zeroed, and destroying
/// zeroed memory is not safe for every custom type.
public final class _CustomBox<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }
}

extension _CustomPersistable {
    public static var _shape: _PropertyShape {
        var shape = PersistedType._shape
        shape.code = .generic
        shape.isCustom = true
        shape.isPartial = shape.target == nil
        return shape
    }

    // MARK: In unmanaged objects

    public static var _unset: _CustomBox<Self>? { nil }
    public static func _wrapped(_ value: Self) -> _CustomBox<Self>? { _CustomBox(value) }
    public static func _peek(_ stored: _CustomBox<Self>?) -> Self? { stored?.value }
    public static func _filled(_ stored: inout _CustomBox<Self>?) -> Self {
        if let stored { return stored.value }
        let value = customDefault()
        stored = _CustomBox(value)
        return value
    }
    public static func _replace(_ stored: inout _CustomBox<Self>?, _ value: Self) { stored = _CustomBox(value) }

    private static func customDefault() -> Self {
        if let value = _converted(PersistedType._makeUnset()) { return value }
        misuse(
            "Failed to default construct a \(Self.self) using the default value for persisted type "
                + "\(PersistedType.self). This conversion must either succeed, the property must be optional, or you "
                + "must explicitly specify a default value for the property.")
    }

    // MARK: In the file

    public static var _hasFixedSize: Bool { false }
    public static var _hasFixedSizeInside: Bool { false }

    @inlinable
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int) -> Self {
        let persisted = PersistedType._loadOptional(column, row, object)
        if let value = loaded(persisted) { return value }
        unknownRawValue(unformedText(persisted), "\(Self.self)", column, object)
    }

    @inlinable
    public static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self? {
        PersistedType._loadOptional(column, row, object).flatMap { _converted($0) }
    }

    public static func _store(
        _ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a custom value is stored through its table")
    }

    public static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a custom value is stored through its table")
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        let persisted = raw.object == nil ? PersistedType._fromOptionalRaw(raw) : PersistedType._fromRaw(raw)
        if let value = loaded(persisted) { return value }
        unknownRawValue(unformedText(persisted), "\(Self.self)", raw.place)
    }

    public static func _fromOptionalRaw(_ raw: _RawValue) -> Self? {
        let persisted = raw.object == nil ? PersistedType._fromOptionalRaw(raw) : PersistedType._fromRaw(raw)
        return persisted.flatMap { _converted($0) }
    }

    /// Returns the value for a stored value; nil if the type cannot represent it.
    @usableFromInline
    static func loaded(_ persisted: PersistedType?) -> Self? {
        if let persisted { return _converted(persisted) }
        // An embedded object may be missing. Otherwise the persisted type is an enum that has no case for the stored
        // value.
        return PersistedType._shape.target == nil ? nil : customDefault()
    }

    @usableFromInline
    static func unformedText(_ persisted: PersistedType?) -> String {
        persisted.map { "\($0)" } ?? "no \(PersistedType.self)"
    }

    public static func _toRaw(_ value: Self) -> _RawValue { PersistedType._toRaw(value.persistableValue) }

    // MARK: As values of type Any

    /// Converts a value of the type, or a value in its stored form.
    public static func _coerced(_ value: Any) -> Self? {
        if let value = value as? Self { return value }
        return PersistedType._coerced(value).flatMap { _converted($0) }
    }

    public static var _isBridgedByName: Bool { PersistedType._isBridgedByName }
    public static func _dynamic(_ value: Self) -> Any? { PersistedType._dynamic(value.persistableValue) }

    public static func _shown(_ raw: _RawValue) -> Any? {
        if PersistedType._shape.target == nil || raw.binding != nil { return PersistedType._shown(raw) }
        // The embedded object is missing: return one created from the default.
        return _dynamic(_fromRaw(raw))
    }

    public static func _storable(_ value: Any) -> _RawValue? {
        if let own = _coerced(value) { return _toRaw(own) }
        return PersistedType._shape.target == nil ? PersistedType._storable(value) : nil
    }

    /// Returns the default: its own members are not stored, so tracing ends here.
    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { customDefault() }
}

/// Returns the embedded object that represents a value of a custom type; nil if the type is stored as a value.
func embeddedForm(of value: Any) -> ObjectBase? {
    func open<T: _CustomPersistable>(_ value: T) -> ObjectBase? { T._toRaw(value).object }
    guard let custom = value as? any _CustomPersistable else { return nil }
    return open(custom)
}
