// SPDX-License-Identifier: Apache-2.0
// Date, UUID and ObjectId as stored types.

public import Foundation
public import RegnumEngine

/// Conversion of a Date to and from seconds since 1970 and nanoseconds. Both directions go through the reference date
/// in which Foundation represents dates, so that a stored date equals the original.
@usableFromInline
enum DateCoding {
    @inlinable static var referenceSeconds: Int64 { 978_307_200 }

    /// Truncates to a nanosecond. NaN becomes 1970; a date out of range becomes the first or last timestamp.
    static func timestamp(_ date: Date) -> Timestamp {
        let interval = date.timeIntervalSinceReferenceDate
        let limit = 9_223_372_035_876_468_000.0
        guard interval.magnitude < limit else {
            if interval.isNaN { return Timestamp(seconds: 0, nanoseconds: 0) }
            return interval > 0
                ? Timestamp(seconds: .max, nanoseconds: 999_999_999)
                : Timestamp(seconds: .min, nanoseconds: -999_999_999)
        }
        // One instruction; `rounded` is a function call when the code targets a generic processor.
        let seconds = Int64(interval)
        let whole = Double(seconds)
        let fraction = interval - whole
        if fraction == 0 { return Timestamp(seconds: seconds + referenceSeconds, nanoseconds: 0) }
        var nanoseconds = Int32(fraction * 1_000_000_000)
        // Truncation may lose a nanosecond of a date that was read from a file; the same nanosecond must be stored
        // again.
        if whole + Double(nanoseconds) / 1_000_000_000 != interval {
            let next = nanoseconds + (fraction < 0 ? -1 : 1)
            if whole + Double(next) / 1_000_000_000 == interval { nanoseconds = next }
        }
        return timestamp(seconds + referenceSeconds, nanoseconds)
    }

    /// Returns a timestamp whose seconds and nanoseconds have the same sign.
    private static func timestamp(_ seconds: Int64, _ nanoseconds: Int32) -> Timestamp {
        // A fraction near 1 may have been rounded up to 1.
        var seconds = seconds + Int64(nanoseconds / 1_000_000_000)
        var nanoseconds = nanoseconds % 1_000_000_000
        if seconds > 0, nanoseconds < 0 {
            seconds -= 1
            nanoseconds += 1_000_000_000
        } else if seconds < 0, nanoseconds > 0 {
            seconds += 1
            nanoseconds -= 1_000_000_000
        }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }

    @inlinable @inline(__always)
    static func date(seconds: Int64, nanoseconds: Int32) -> Date {
        // Overflows only for the clamped first second.
        let whole = seconds.subtractingReportingOverflow(referenceSeconds)
        var base = whole.overflow ? Double(seconds) : Double(whole.partialValue)
        if nanoseconds == 0 { return Date(timeIntervalSinceReferenceDate: base) }
        var nanoseconds = nanoseconds
        // Give both parts the same sign, as they had when truncated: exact to the nanosecond around the reference date.
        if base < 0, nanoseconds > 0 {
            base += 1
            nanoseconds -= 1_000_000_000
        } else if base > 0, nanoseconds < 0 {
            base -= 1
            nanoseconds += 1_000_000_000
        }
        return Date(timeIntervalSinceReferenceDate: base + Double(nanoseconds) / 1_000_000_000)
    }
}

extension Date: _MadeOnFirstUse, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = Date
    public static var _shape: _PropertyShape { _PropertyShape(.date, code: .date) }
    /// Returns the current date.
    public static func _makeDefault() -> Date { Date() }

    @inlinable @inline(__always)
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> Date
    {
        let view = column.assumingMemoryBound(to: ColumnView.self)
        return DateCoding.date(seconds: view.pointee.integer(row), nanoseconds: view.pointee.nanoseconds(row))
    }

    public static func _store(
        _ value: Date, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        let view = column.assumingMemoryBound(to: ColumnView.self)
        let time = DateCoding.timestamp(value)
        view.pointee.data.storeBytes(of: time.seconds, toByteOffset: row &<< 3, as: Int64.self)
        // Writable date columns always have nanoseconds.
        view.pointee.aux.unsafelyUnwrapped
            .storeBytes(of: time.nanoseconds, toByteOffset: row &<< 2, as: Int32.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Date {
        guard case .date(let time) = raw.value else { return Date(timeIntervalSince1970: 0) }
        return DateCoding.date(seconds: time.seconds, nanoseconds: time.nanoseconds)
    }
    public static func _toRaw(_ value: Date) -> _RawValue { _RawValue(.date(DateCoding.timestamp(value))) }
    public static func _coerced(_ value: Any) -> Date? { value as? Date }
}
extension Date: _Indexable, MinMaxType, SortableType, _QueryNumeric {}

extension UUID: _MadeOnFirstUse, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = UUID
    public static var _shape: _PropertyShape { _PropertyShape(.UUID, code: .uuid) }
    /// Returns a random UUID, or one from the current `IdentifierGenerator`.
    public static func _makeDefault() -> UUID { IdentifierGenerator.current?.uuid() ?? UUID() }

    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> UUID
    {
        let words = column.assumingMemoryBound(to: ColumnView.self).pointee.bytes16(row)
        return UUID(words: words)
    }

    public static func _store(
        _ value: UUID, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        column.assumingMemoryBound(to: ColumnView.self).pointee.data
            .storeBytes(of: value.uuid, toByteOffset: row &<< 4, as: uuid_t.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> UUID {
        guard case .uuid(let low, let high) = raw.value else { return UUID(words: (0, 0)) }
        return UUID(words: (low, high))
    }
    public static func _toRaw(_ value: UUID) -> _RawValue {
        let words = value.words
        return _RawValue(.uuid(words.0, words.1))
    }
    /// Converts a UUID, or its text.
    public static func _coerced(_ value: Any) -> UUID? {
        (value as? UUID) ?? (value as? String).flatMap { UUID(uuidString: $0) }
    }
}
extension UUID: _Indexable, _PrimaryKey {}

extension UUID {
    init(words: (UInt64, UInt64)) { self.init(uuid: unsafeBitCast(words, to: uuid_t.self)) }
    /// The 16 bytes as two words loaded from memory.
    var words: (UInt64, UInt64) { unsafeBitCast(uuid, to: (UInt64, UInt64).self) }
}

extension ObjectId: _MadeOnFirstUse, _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    public typealias PersistedType = ObjectId
    public static var _shape: _PropertyShape { _PropertyShape(.objectId, code: .objectID) }
    /// Returns a newly generated ObjectId.
    public static func _makeDefault() -> Self { unsafeDowncast(ObjectId.generate(), to: Self.self) }

    public static func _load(
        _ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int
    ) -> Self {
        let bytes = column.assumingMemoryBound(to: ColumnView.self).pointee.bytes12(row)
        let value =
            object.recycledValues?.pointee.objectID(low: bytes.0, high: bytes.1)
            ?? ObjectId(low: bytes.0, high: bytes.1)
        return unsafeDowncast(value, to: Self.self)
    }

    public static func _store(
        _ value: ObjectId, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        let data = column.assumingMemoryBound(to: ColumnView.self).pointee.data + row &* 12
        data.storeBytes(of: value.low, as: UInt64.self)
        data.storeBytes(of: value.high, toByteOffset: 8, as: UInt32.self)
    }

    public static func _fromRaw(_ raw: _RawValue) -> Self {
        guard case .objectID(let low, let high) = raw.value else {
            return unsafeDowncast(ObjectId(low: 0, high: 0), to: Self.self)
        }
        return unsafeDowncast(ObjectId(low: low, high: high), to: Self.self)
    }
    public static func _toRaw(_ value: ObjectId) -> _RawValue { _RawValue(.objectID(value.low, value.high)) }
    public static func _coerced(_ value: Any) -> Self? { value as? Self }
}
extension ObjectId: _Indexable, _PrimaryKey {}
