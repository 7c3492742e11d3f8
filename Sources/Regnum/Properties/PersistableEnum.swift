// SPDX-License-Identifier: Apache-2.0
// Enums with raw values as stored types: kept as their raw value.

internal import RegnumEngine

/// The old name of enums that can be stored.
public protocol RealmEnum: RawRepresentable, RealmOptionalType {}

/// An enum with a raw value of an integer, floating-point or String type that can be a property or an
/// element.
///
/// ```swift
/// enum Size: String, PersistableEnum { case small, large }
/// ```
///
/// A raw value in the file that no case has ends the program when read, and reads as nil where the property
/// is optional. By name, as in `object["size"]`, it is read and stored as any other raw value.
public protocol PersistableEnum:
    _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional, RealmEnum, CaseIterable,
    Comparable
where
    RawValue: _Persistable & _PersistableInsideOptional & Comparable, _Stored == Self,
    PersistedType == RawValue.PersistedType
{}

extension PersistableEnum {
    /// The first case.
    public init() {
        guard let first = Self.allCases.first else {
            misuse("The enum '\(Self.self)' has no cases, so there is no default value of it.")
        }
        self = first
    }

    /// By raw value.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    public static var _shape: _PropertyShape {
        var shape = RawValue._shape
        shape.code = .generic
        return shape
    }

    public static var _unset: Self { Self() }
    @inlinable public static var _hasFixedSize: Bool { RawValue._hasFixedSize }

    @inlinable
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Self
    {
        let raw = RawValue._load(column, row, object, offset)
        guard let value = Self(rawValue: raw) else { unknownRawValue("\(raw)", "\(Self.self)") }
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

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        let raw = RawValue._fromRaw(raw)
        guard let value = Self(rawValue: raw) else { unknownRawValue("\(raw)", "\(Self.self)") }
        return value
    }

    public static func _fromOptionalRaw(_ raw: _RawValue) -> Self? {
        if case .null = raw.value { return nil }
        return Self(rawValue: RawValue._fromRaw(raw))
    }

    public static func _toRaw(_ value: Self) -> _RawValue { RawValue._toRaw(value.rawValue) }

    /// A case, or its raw value.
    public static func _coerced(_ value: Any) -> Self? {
        if let value = value as? Self { return value }
        return RawValue._coerced(value).flatMap { Self(rawValue: $0) }
    }

    public static func _dynamic(_ value: Self) -> Any? { RawValue._dynamic(value.rawValue) }
}

/// Raw values that no case has: newer programs may have stored them, and a subscript shows and stores them.
extension ClassProperty {
    /// What the file has for an enum, with a case or without, or for an integer of few bits, whether it fits or not.
    /// Nil for null, for unmanaged objects, and for all other properties.
    func storedValue(of object: ObjectBase) -> Any? {
        guard storedForm != .other, object.rowContext?.pointee.kind == .managed else { return nil }
        object.requireValid()
        let context = object.rowContext.unsafelyUnwrapped
        let column = Int(context.pointee.columnNumbers[offset])
        if context.pointee.isTracked { trackRead(of: object, column) }
        return object.plainColumn(storedForm, column)
    }

    /// A raw value that no case of the enum has, for the engine; nil for all other values and properties, and for
    /// primary keys.
    func unknownRaw(_ value: Any) -> Value? {
        guard let rawType, !isPrimaryKey, let present = unwrapped(value), coercedRaw(present) == nil else { return nil }
        func open<V: _Persistable>(_ type: V.Type) -> Value? { V._coerced(present).map { V._toRaw($0).value } }
        return open(rawType)
    }

    /// Stores a raw value that no case of an enum has. False where the usual way is right.
    func setUnknownRawValue(_ value: Any?, of object: ObjectBase) -> Bool {
        guard object.rowContext?.pointee.kind == .managed, let value, let raw = unknownRaw(value),
            let column = column(in: object)
        else { return false }
        let binding = object.binding
        engine { () throws(EngineError) in try binding.table.set(raw, column, of: object.rowKey) }
        return true
    }

    /// The raw type of an enum, optional or not; nil for other types.
    static func rawType(of type: (any _Persistable.Type)?) -> (any _Persistable.Type)? {
        if let type = type as? any OptionalEnum.Type { return type.rawType }
        func open<E: PersistableEnum>(_ type: E.Type) -> any _Persistable.Type { E.RawValue.self }
        guard let type = type as? any PersistableEnum.Type else { return nil }
        return open(type)
    }

    private func column(in object: ObjectBase) -> Int? {
        guard let place = object.binding.schema.place(named: name) else { return nil }
        let column = object.binding.columns[place]
        return column < 0 ? nil : column
    }
}

private protocol OptionalEnum {
    static var rawType: any _Persistable.Type { get }
}

extension Optional: OptionalEnum where Wrapped: PersistableEnum {
    static var rawType: any _Persistable.Type { Wrapped.RawValue.self }
}

@usableFromInline @inline(never)
func unknownRawValue(_ raw: String, _ type: String) -> Never {
    misuse(
        "Failed to convert persisted value '\(raw)' to type '\(type)' in a non-optional context. The file "
            + "holds a value that the type has no form for: declare the property optional, or add what is missing "
            + "to the type, the case to an enum.")
}
