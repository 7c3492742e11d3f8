// SPDX-License-Identifier: Apache-2.0
// String and Data as stored types: bytes in the row group's heap, or in a block of their own if they are long.

public import Foundation
public import RegnumEngine

/// The largest byte counts that RealmSwift allows.
enum ByteLimits {
    static let string = 0xff_ffff - 16
    static let data = 0xff_ffff - 15
}

/// Reads the bytes of a value that is stored in a block of its own.
@usableFromInline @inline(never)
func loadBlob<R>(
    _ object: ObjectBase, _ column: UnsafeRawPointer, _ row: Int, _ body: (UnsafeRawBufferPointer) -> R
) -> R {
    let number =
        (column - UnsafeRawPointer(object.rowColumns.unsafelyUnwrapped)) / MemoryLayout<ColumnView>.stride
    let binding = object.binding
    return engine { () throws(EngineError) in
        guard let location = try binding.table.locate(object.rowKey) else {
            misuse("Object has been deleted or invalidated.")
        }
        return try binding.table.withBytes(number, at: location, body)
    }
}

/// Reports a programmer error if there are too many bytes for a property.
@inline(__always)
func checkLength(_ what: String, _ count: Int, _ limit: Int) {
    if count > limit { refuseLength(what, count, limit) }
}

@inline(never)
private func refuseLength(_ what: String, _ count: Int, _ limit: Int) -> Never {
    misuse("\(what) too big: \(count) bytes, at most \(limit) can be stored in a property.")
}

extension String: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = String
    public static var _shape: _PropertyShape { _PropertyShape(.string, code: .string) }
    @inlinable @inline(__always) public static var _unset: String { "" }

    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> String
    {
        let view = column.assumingMemoryBound(to: ColumnView.self)
        if view.pointee.isBlob(row) {
            return loadBlob(object, column, row) { StoredText.string($0) }
        }
        return StoredText.string(view.pointee.bytes(row))
    }

    @inlinable @inline(__always) public static var _hasFixedSize: Bool { false }
    public static func _store(
        _ value: String, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("text is stored through its table")
    }

    public static func _fromRaw(_ raw: _RawValue) -> String {
        guard case .string(let value) = raw.value else { return "" }
        return value
    }
    public static func _toRaw(_ value: String) -> _RawValue {
        checkLength("String", value.utf8.count, ByteLimits.string)
        return _RawValue(.string(value))
    }
    public static func _coerced(_ value: Any) -> String? {
        (value as? String) ?? (value as? Substring).map(String.init)
    }
}
extension String: _Indexable, _PrimaryKey, SortableType, _QueryString {}

extension Data: _Persistable, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Data
    public static var _shape: _PropertyShape { _PropertyShape(.data, code: .data) }
    @inlinable @inline(__always) public static var _unset: Data { Data() }

    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Data
    {
        let view = column.assumingMemoryBound(to: ColumnView.self)
        if view.pointee.isBlob(row) { return loadBlob(object, column, row) { Data($0) } }
        return Data(view.pointee.bytes(row))
    }

    @inlinable @inline(__always) public static var _hasFixedSize: Bool { false }
    public static func _store(
        _ value: Data, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("bytes are stored through their table")
    }

    public static func _fromRaw(_ raw: _RawValue) -> Data {
        guard case .data(let bytes) = raw.value else { return Data() }
        return Data(bytes)
    }
    public static func _toRaw(_ value: Data) -> _RawValue {
        checkLength("Binary", value.count, ByteLimits.data)
        return _RawValue(.data([UInt8](value)))
    }
    public static func _coerced(_ value: Any) -> Data? { value as? Data }
}
extension Data: SortableType, _QueryBinary {}
