// SPDX-License-Identifier: Apache-2.0
// Types of the user's own as stored types: kept as another type that can be stored, or as an embedded object.

internal import RegnumEngine

/// What `CustomPersistable` and `FailableCustomPersistable` share; adopt one of these.
public protocol _CustomPersistable: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional
where PersistedType: _PersistableInsideOptional, _Stored == _CustomBox<Self>? {
    /// The value as it is stored.
    var persistableValue: PersistedType { get }
    /// The value that is stored so; nil where there is none.
    static func _converted(_ persisted: PersistedType) -> Self?
}

/// A type that is stored as another one: as a property, its optional, or an element of a collection.
///
/// ```swift
/// struct Kilograms: CustomPersistable {
///     var value: Double
///     init(persistedValue: Double) { value = persistedValue }
///     var persistableValue: Double { value }
/// }
/// ```
///
/// `PersistedType` is a type of values or a class of embedded objects. Queries, sorts, indexes and figures see the
/// value as it is stored; a read of a property calls `init(persistedValue:)`, which therefore should be quick. The
/// default is made of the default of `PersistedType`.
///
/// By name, as in `object["weight"]`, the value is read as what is stored. Where that is an embedded object, a managed
/// object gives that object itself, to be read and changed; an unmanaged one gives a new one, made of the value.
/// Setting such a property to nil by name takes what is stored away, also where it is not optional: then it has the
/// default of its type, and gives by name a new object made of that.
public protocol CustomPersistable: _CustomPersistable {
    /// As what it is stored.
    associatedtype PersistedType
    /// The value that is stored as `persistedValue`.
    init(persistedValue: PersistedType)
}

/// A type that is stored as another one, where not all values of that stand for one.
///
/// A stored value that `init(persistedValue:)` refuses reads as nil where the property or element is optional; else
/// reading it ends the program. By name, as in `object["word"]`, it is read and stored as any other. Making the default
/// of a property that has none of its own ends the program where the default of `PersistedType` is refused.
public protocol FailableCustomPersistable: _CustomPersistable {
    /// As what it is stored.
    associatedtype PersistedType
    /// The value that is stored as `persistedValue`; nil where none is.
    init?(persistedValue: PersistedType)
}

extension CustomPersistable {
    public static func _converted(_ persisted: PersistedType) -> Self? { Self(persistedValue: persisted) }
}

extension FailableCustomPersistable {
    public static func _converted(_ persisted: PersistedType) -> Self? { Self(persistedValue: persisted) }
}

/// What a property of an unmanaged object holds of a custom type: accessors are made of zeros, which not every
/// type of the user's can be destroyed from.
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

    /// Nil where the type has no form for what is stored.
    @usableFromInline
    static func loaded(_ persisted: PersistedType?) -> Self? {
        if let persisted { return _converted(persisted) }
        // An embedded object may be missing; else it is an enum that has no case for what is stored.
        return PersistedType._shape.target == nil ? nil : customDefault()
    }

    @usableFromInline
    static func unformedText(_ persisted: PersistedType?) -> String {
        persisted.map { "\($0)" } ?? "no \(PersistedType.self)"
    }

    public static func _toRaw(_ value: Self) -> _RawValue { PersistedType._toRaw(value.persistableValue) }

    // MARK: As values of type Any

    /// A value of the type, or what is stored of one.
    public static func _coerced(_ value: Any) -> Self? {
        if let value = value as? Self { return value }
        return PersistedType._coerced(value).flatMap { _converted($0) }
    }

    public static var _isBridgedByName: Bool { PersistedType._isBridgedByName }
    public static func _dynamic(_ value: Self) -> Any? { PersistedType._dynamic(value.persistableValue) }

    public static func _shown(_ raw: _RawValue) -> Any? {
        if PersistedType._shape.target == nil || raw.binding != nil { return PersistedType._shown(raw) }
        // There is no embedded object: one of the default.
        return _dynamic(_fromRaw(raw))
    }

    public static func _storable(_ value: Any) -> _RawValue? {
        if let own = _coerced(value) { return _toRaw(own) }
        return PersistedType._shape.target == nil ? PersistedType._storable(value) : nil
    }

    /// The default: its own members are not stored, so there is nothing to go on tracing.
    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { customDefault() }
}

/// The embedded object that stands for a value of a custom type; nil where that is stored as a value.
func embeddedForm(of value: Any) -> ObjectBase? {
    func open<T: _CustomPersistable>(_ value: T) -> ObjectBase? { T._toRaw(value).object }
    guard let custom = value as? any _CustomPersistable else { return nil }
    return open(custom)
}
