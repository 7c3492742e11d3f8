// SPDX-License-Identifier: Apache-2.0
// Enums with raw values as stored types: stored as their raw values.

internal import RegnumEngine

/// An enum that can be stored in a `RealmOptional` or a `RealmProperty`, as in RealmSwift before `PersistableEnum`:
/// `let size = RealmOptional<Size>()`.
public protocol RealmEnum: RawRepresentable, RealmOptionalType
where RawValue: _Persistable & _PersistableInsideOptional, PersistedType == RawValue.PersistedType {}

/// An enum with a raw value of an integer, floating-point or String type that can be a property or an element.
///
/// ```swift
/// enum Size: String, PersistableEnum { case small, large }
/// ```
///
/// Reading a stored raw value that has no case returns nil if the property or element is optional; otherwise it
/// terminates the program. When accessed by name, as in `object["size"]`, and in descriptions, it is treated like any
/// other raw value.
public protocol PersistableEnum:
    _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional, RealmEnum, CaseIterable,
    Comparable
where RawValue: Comparable, _Stored == Self {}

extension PersistableEnum {
    /// Creates the first case.
    public init() {
        guard let first = Self.allCases.first else {
            misuse("The enum '\(Self.self)' has no cases, so it has no default value.")
        }
        self = first
    }

    /// Compares the raw values.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public static var _unset: Self { Self() }
    @inlinable public static var _hasFixedSize: Bool { RawValue._hasFixedSize }

    @inlinable
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Self
    {
        let raw = RawValue._load(column, row, object, offset)
        guard let value = Self(rawValue: raw) else { unknownRawValue("\(raw)", "\(Self.self)", column, object) }
        return value
    }

    @inlinable
    public static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self? {
        RawValue._loadOptional(column, row, object).flatMap { Self(rawValue: $0) }
    }

    @inlinable
    public static func _store(
        _ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        RawValue._store(value.rawValue, column, row, object)
    }

    @inlinable
    public static func _storeNarrow(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int) -> Bool {
        RawValue._storeNarrow(value.rawValue, column, row)
    }

    @inlinable public static var _hasFixedSizeInside: Bool { RawValue._hasFixedSize }

    @inlinable
    public static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        RawValue._storeOptional(value?.rawValue, column, row, object)
    }

    public static func _makeUnset() -> Self { Self() }
    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { Self() }
}

extension RealmEnum {
    public static var _shape: _PropertyShape {
        var shape = RawValue._shape
        shape.code = .generic
        shape.isPartial = true
        return shape
    }

    public static var _hasFixedSizeInside: Bool { RawValue._hasFixedSize }

    public static func _loadOptional(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase) -> Self? {
        RawValue._loadOptional(column, row, object).flatMap { Self(rawValue: $0) }
    }

    public static func _storeOptional(
        _ value: Self?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        RawValue._storeOptional(value?.rawValue, column, row, object)
    }

    public static func _makeUnset() -> Self { unset() }
    public static func _traced(_ recorder: _KeyPathRecorder) -> Self { unset() }

    /// Returns the case for the default of the raw value's type. An enum of this kind need not list its cases.
    private static func unset() -> Self {
        let raw = RawValue._makeUnset()
        guard let value = Self(rawValue: raw) else {
            misuse("The enum '\(Self.self)' has no case for '\(raw)': adopt PersistableEnum, so that it has a default.")
        }
        return value
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        let stored = RawValue._fromRaw(raw)
        guard let value = Self(rawValue: stored) else { unknownRawValue("\(stored)", "\(Self.self)", raw.place) }
        return value
    }

    public static func _fromOptionalRaw(_ raw: _RawValue) -> Self? {
        if case .null = raw.value { return nil }
        return Self(rawValue: RawValue._fromRaw(raw))
    }

    public static func _toRaw(_ value: Self) -> _RawValue { RawValue._toRaw(value.rawValue) }

    /// Converts a case, or its raw value.
    public static func _coerced(_ value: Any) -> Self? {
        if let value = value as? Self { return value }
        return RawValue._coerced(value).flatMap { Self(rawValue: $0) }
    }

    public static var _isBridgedByName: Bool { RawValue._isBridgedByName }
    public static func _dynamic(_ value: Self) -> Any? { RawValue._dynamic(value.rawValue) }
    public static func _shown(_ raw: _RawValue) -> Any? { RawValue._shown(raw) }
    public static func _storable(_ value: Any) -> _RawValue? {
        if let own = _coerced(value) { return _toRaw(own) }
        return RawValue._storable(value)
    }
}

/// Reports a programmer error: a column value that the type of its property cannot represent.
@usableFromInline @inline(never)
func unknownRawValue(_ raw: String, _ type: String, _ column: UnsafeRawPointer, _ object: ObjectBase) -> Never {
    let number =
        (column - UnsafeRawPointer(object.rowColumns.unsafelyUnwrapped)) / MemoryLayout<ColumnView>.stride
    unknownRawValue(raw, type, in: object.binding.label(number, of: object.rowKey))
}

/// Reports a programmer error: a value, or an element of a collection, that its type cannot represent.
func unknownRawValue(_ raw: String, _ type: String, _ place: PropertyLocation?) -> Never {
    unknownRawValue(raw, type, in: place.map { $0.binding.label($0.column, of: $0.key) } ?? "The file")
}

private func unknownRawValue(_ raw: String, _ type: String, in place: String) -> Never {
    misuse(
        "Failed to convert persisted value '\(raw)' to type '\(type)' in a non-optional context. \(place) "
            + "holds a value that the type cannot represent: declare the property optional, or extend the type (for an "
            + "enum, add the case). If a migration added the property, its block must set it.")
}

extension ClassBinding {
    /// Returns a description of an object's property for messages.
    fileprivate func label(_ column: Int, of key: ObjectKey) -> String {
        let property = columns.firstIndex(of: column).map { schema.properties[$0].name } ?? "?"
        var object = "an object without a primary key"
        if let place = schema.primaryKey, let value = try? table.value(columns[place], of: key) {
            let shown = AnyRealmValue._dynamic(AnyRealmValue._fromRaw(_RawValue(value)))
            object = "the object with the primary key '\(describe(shown as Any))'"
        }
        return "Property '\(schema.name).\(property)' of \(object)"
    }
}
