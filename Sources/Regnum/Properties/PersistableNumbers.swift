// SPDX-License-Identifier: Apache-2.0
// Integers of all widths, Bool, Float and Double as stored types. All integers are stored as Int64.

public import RegnumEngine

extension _Persistable where Self: FixedWidthInteger {
    @inlinable @inline(__always) public static var _unset: Self { 0 }

    /// Loads an integer. Terminates the program if the stored value does not fit the declared width.
    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Self
    {
        let stored = column.assumingMemoryBound(to: ColumnView.self).pointee.integer(row)
        guard let value = Self(exactly: stored) else { unknownRawValue("\(stored)", "\(Self.self)", column, object) }
        return value
    }

    @inlinable @inline(__always)
    public static func _store(
        _ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        column.assumingMemoryBound(to: ColumnView.self).pointee.data
            .storeBytes(of: Int64(value), toByteOffset: row &<< 3, as: Int64.self)
    }

    @inlinable @inline(__always)
    public static func _storeNarrow(_ value: Self, _ column: UnsafeMutableRawPointer, _ row: Int) -> Bool {
        column.assumingMemoryBound(to: ColumnView.self).pointee.putNarrow(Int64(value), row)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        guard case .int(let stored) = raw.value else { return 0 }
        guard let value = Self(exactly: stored) else { unknownRawValue("\(stored)", "\(Self.self)", raw.place) }
        return value
    }
    public static func _toRaw(_ value: Self) -> _RawValue { _RawValue(.int(Int64(value))) }
    public static func _coerced(_ value: Any) -> Self? {
        // Tested by the exact type: a cast would also accept an NSNumber that holds a Double.
        if type(of: value) == Self.self { return value as? Self }
        return Coercion.integer(value).flatMap { Self(exactly: $0) }
    }
    public static var _isBridgedByName: Bool { Self.self != Int.self }
    /// Returns the value as an Int, whatever its width.
    public static func _dynamic(_ value: Self) -> Any? { Int(value) }
    /// Returns the full 64 bits of the column, whatever the width of the type.
    public static func _shown(_ raw: _RawValue) -> Any? {
        if case .int(let value) = raw.value { return Int(value) }
        return 0
    }
}

extension Int: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Int
    public static var _shape: _PropertyShape { _PropertyShape(.int, code: .int64) }
}
extension Int8: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Int8
    public static var _shape: _PropertyShape { _PropertyShape(.int, code: .int8) }
}
extension Int16: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Int16
    public static var _shape: _PropertyShape { _PropertyShape(.int, code: .int16) }
}
extension Int32: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Int32
    public static var _shape: _PropertyShape { _PropertyShape(.int, code: .int32) }
}
extension Int64: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Int64
    public static var _shape: _PropertyShape { _PropertyShape(.int, code: .int64) }
}

extension Int: _Indexable, _PrimaryKey, MinMaxType, AddableType, SortableType, _QueryNumeric {}
extension Int8: _Indexable, _PrimaryKey, MinMaxType, AddableType, SortableType, _QueryNumeric {}
extension Int16: _Indexable, _PrimaryKey, MinMaxType, AddableType, SortableType, _QueryNumeric {}
extension Int32: _Indexable, _PrimaryKey, MinMaxType, AddableType, SortableType, _QueryNumeric {}
extension Int64: _Indexable, _PrimaryKey, MinMaxType, AddableType, SortableType, _QueryNumeric {}

extension Bool: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional, _Indexable,
    _PrimaryKey
{
    public typealias PersistedType = Bool
    public static var _shape: _PropertyShape { _PropertyShape(.bool, code: .bool) }
    @inlinable @inline(__always) public static var _unset: Bool { false }

    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Bool
    {
        column.assumingMemoryBound(to: ColumnView.self).pointee.bit(row)
    }

    @inlinable @inline(__always)
    public static func _store(
        _ value: Bool, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        let words = column.assumingMemoryBound(to: ColumnView.self).pointee.data.assumingMemoryBound(
            to: UInt64.self)
        let mask: UInt64 = 1 &<< UInt64(row & 63)
        if value { words[row &>> 6] |= mask } else { words[row &>> 6] &= ~mask }
    }

    public static func _fromRaw(_ raw: _RawValue) -> Bool { raw.value == .bool(true) }
    public static func _toRaw(_ value: Bool) -> _RawValue { _RawValue(.bool(value)) }
    public static func _coerced(_ value: Any) -> Bool? {
        if type(of: value) == Bool.self { return value as? Bool }
        switch Coercion.integer(value) {
        case 0: return false
        case 1: return true
        default: return nil
        }
    }
}

extension Float: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Float
    public static var _isBridgedByName: Bool { true }
    public static var _shape: _PropertyShape { _PropertyShape(.float, code: .float) }
    @inlinable @inline(__always) public static var _unset: Float { 0 }

    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Float
    {
        column.assumingMemoryBound(to: ColumnView.self).pointee.float(row)
    }

    @inlinable @inline(__always)
    public static func _store(
        _ value: Float, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        column.assumingMemoryBound(to: ColumnView.self).pointee.data
            .storeBytes(of: value, toByteOffset: row &<< 2, as: Float.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Float {
        guard case .float(let value) = raw.value else { return 0 }
        return value
    }
    public static func _toRaw(_ value: Float) -> _RawValue { _RawValue(.float(value)) }
    public static func _coerced(_ value: Any) -> Float? {
        if let value = value as? Float { return value }
        guard let number = Coercion.number(value) else { return nil }
        // A number beyond Float's range is rejected; infinity and NaN are kept.
        return number.isFinite && Float(number).isInfinite ? nil : Float(number)
    }
}
extension Float: MinMaxType, AddableType, SortableType, _QueryNumeric {}

extension Double: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Double
    public static var _shape: _PropertyShape { _PropertyShape(.double, code: .double) }
    @inlinable @inline(__always) public static var _unset: Double { 0 }

    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Double
    {
        column.assumingMemoryBound(to: ColumnView.self).pointee.double(row)
    }

    @inlinable @inline(__always)
    public static func _store(
        _ value: Double, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        column.assumingMemoryBound(to: ColumnView.self).pointee.data
            .storeBytes(of: value, toByteOffset: row &<< 3, as: Double.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Double {
        guard case .double(let value) = raw.value else { return 0 }
        return value
    }
    public static func _toRaw(_ value: Double) -> _RawValue { _RawValue(.double(value)) }
    public static func _coerced(_ value: Any) -> Double? { (value as? Double) ?? Coercion.number(value) }
}
extension Double: MinMaxType, AddableType, SortableType, _QueryNumeric {}
