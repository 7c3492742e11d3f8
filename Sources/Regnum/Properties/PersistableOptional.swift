// SPDX-License-Identifier: Apache-2.0
// Optionals of stored types, as properties and as elements.

internal import RegnumEngine

/// Any Optional, for constraints in generic code.
public protocol OptionalProtocol {
    associatedtype Wrapped
    /// Returns the value as an Optional.
    func _rlmInferWrappedType() -> Wrapped?
}

extension Optional: OptionalProtocol {
    public func _rlmInferWrappedType() -> Wrapped? { self }
}

extension Optional: _HasPersistedType where Wrapped: _PersistableInsideOptional {
    public typealias PersistedType = Wrapped.PersistedType?
    public static var _shape: _PropertyShape { Wrapped._optionalShape }
    public static func _fromRaw(_ raw: _RawValue) -> Wrapped? { Wrapped._fromOptionalRaw(raw) }
    public static func _toRaw(_ value: Wrapped?) -> _RawValue {
        value.map { Wrapped._toRaw($0) } ?? _RawValue(.null)
    }
    public static func _coerced(_ value: Any) -> Wrapped?? {
        guard let value = unwrapped(value) else { return .some(nil) }
        return Wrapped._coerced(value).map { .some($0) }
    }
    public static var _isBridgedByName: Bool { Wrapped._isBridgedByName }
    public static func _dynamic(_ value: Wrapped?) -> Any? { value.flatMap { Wrapped._dynamic($0) } }
    public static func _shown(_ raw: _RawValue) -> Any? {
        if case .null = raw.value { return nil }
        return Wrapped._shown(raw)
    }
    public static func _storable(_ value: Any) -> _RawValue? {
        guard let value = unwrapped(value) else { return _RawValue(.null) }
        return Wrapped._storable(value)
    }
    /// Returns a non-nil value, so that `?.` continues.
    public static func _traced(_ recorder: _KeyPathRecorder) -> Wrapped? { Wrapped._traced(recorder) }
}

extension Optional: _Persistable where Wrapped: _PersistableInsideOptional {
    @inlinable @inline(__always) public static var _unset: Wrapped? { nil }
    @inlinable @inline(__always) public static var _hasFixedSize: Bool { Wrapped._hasFixedSizeInside }

    @inlinable @inline(__always)
    public static func _load(
        _ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int
    ) -> Wrapped? {
        Wrapped._loadOptional(column, row, object)
    }

    @inlinable @inline(__always)
    public static func _store(
        _ value: Wrapped?, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        Wrapped._storeOptional(value, column, row, object)
    }

    public static func _assign(_ value: Wrapped?, _ object: ObjectBase, _ column: Int) {
        Wrapped._assignOptional(value, object, column)
    }
}

extension Optional: RealmCollectionValue where Wrapped: _RealmCollectionValueInsideOptional {}

extension Optional: _Indexable where Wrapped: _Indexable {}
extension Optional: _PrimaryKey where Wrapped: _PrimaryKey {}
extension Optional: MinMaxType where Wrapped: MinMaxType {}
extension Optional: AddableType where Wrapped: AddableType {
    public init() { self = .some(Wrapped()) }
}
extension Optional: SortableType where Wrapped: SortableType {}
extension Optional: _QueryNumeric where Wrapped: _QueryNumeric {}
extension Optional: _QueryBinary where Wrapped: _QueryBinary {}
extension Optional: _QueryString where Wrapped: _QueryString {}
