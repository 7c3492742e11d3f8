// SPDX-License-Identifier: Apache-2.0
// One column of one row group in memory, either in the mapped file or in a transaction's own copy. Getters, scans,
// sorts and checks all read columns in this form. 64 bytes, plain pointers, no ownership.

/// The encoding of a column's values in `data`.
@usableFromInline @frozen
package enum ColumnForm: UInt8, Sendable {
    /// Every row holds `base` (integer-like types only).
    case constant = 0
    /// Bool: one bit per row.
    case bits = 1
    /// Integer-like: `base` plus an unsigned value of 1, 2 or 4 bytes per row.
    case uint8 = 2
    case uint16 = 3
    case uint32 = 4
    /// Integer-like, 8 bytes per row, `base` is 0. The form of a writable integer column.
    case int64 = 5
    case float32 = 6
    case float64 = 7
    /// ObjectId.
    case bytes12 = 8
    /// UUID, Decimal128.
    case bytes16 = 9
    /// Var-bytes (String, Data, list): end offsets of 2 or 4 bytes per row into the heap at `aux`.
    case text16 = 10
    case text32 = 11
    /// Writable var-bytes: a `ByteSlot` of 16 bytes per row.
    case slots = 12

    /// True for the forms of Ints, links and the seconds of dates.
    @inlinable package var isInteger: Bool { rawValue <= ColumnForm.int64.rawValue && self != .bits }
}

/// A writable var-bytes value. `address` points at `length` bytes, or at a blob record if `blobFlag` is 1.
@usableFromInline @frozen
package struct ByteSlot {
    @usableFromInline package var length: UInt32
    /// 1 if `address` points at a 48-byte blob record instead of the bytes.
    @usableFromInline package var blobFlag: UInt32
    @usableFromInline package var address: UInt64

    @inlinable package init(length: UInt32, blobFlag: UInt32, address: UInt64) {
        self.length = length
        self.blobFlag = blobFlag
        self.address = address
    }
}

@usableFromInline @frozen
package struct ColumnView {
    /// The values; aligned to 8 (`bytes16` is not guaranteed to be aligned to 16: load unaligned).
    @usableFromInline package var data: UnsafeMutableRawPointer
    /// One bit per row, set if the row has a value; nil if no row is null.
    @usableFromInline package var validity: UnsafeMutablePointer<UInt64>?
    /// Var-bytes: the heap. Dates: nanoseconds as UInt32 per row, nil if all are 0.
    @usableFromInline package var aux: UnsafeMutableRawPointer?
    /// Sealed var-bytes: one bit per row, set if the heap holds a blob record (`BlobRecord`) instead of the bytes; nil
    /// if no row has one.
    @usableFromInline package var blobs: UnsafeMutablePointer<UInt64>?
    @usableFromInline package var base: Int64
    /// The zone map: the smallest and largest non-null value (for float64 and float32 the bit pattern of a Double,
    /// excluding NaN). Valid only if `hasZone`.
    @usableFromInline package var zoneMin: Int64
    @usableFromInline package var zoneMax: Int64
    @usableFromInline package var form: ColumnForm
    @usableFromInline package var hasZone: Bool
    /// True in the running write transaction's own copy: `data` may be stored to.
    @usableFromInline package var isWritable: Bool
    /// True in the running write transaction's own copy of an integer column that has kept its narrow width:
    /// `putNarrow` stores values that fit.
    @usableFromInline package var isNarrow: Bool
    /// True if a store must update more than the column, such as an index or backlinks. Setters take the slow path.
    @usableFromInline package var isGuarded: Bool

    @inlinable
    package init(form: ColumnForm, data: UnsafeMutableRawPointer) {
        self.data = data
        validity = nil
        aux = nil
        blobs = nil
        base = 0
        zoneMin = 0
        zoneMax = 0
        self.form = form
        hasZone = false
        isWritable = false
        isNarrow = false
        isGuarded = false
    }
}

extension ColumnView {
    @inlinable @inline(__always)
    package func isNull(_ row: Int) -> Bool {
        guard let validity else { return false }
        return validity[row &>> 6] &>> UInt64(row & 63) & 1 == 0
    }

    /// Integer-like value (Int, seconds of a Date, key of a link). Undefined if null.
    @inlinable @inline(__always)
    package func integer(_ row: Int) -> Int64 {
        switch form {
        case .int64: return data.load(fromByteOffset: row &<< 3, as: Int64.self)
        case .uint8: return base &+ Int64(data.load(fromByteOffset: row, as: UInt8.self))
        case .uint16: return base &+ Int64(data.load(fromByteOffset: row &<< 1, as: UInt16.self))
        case .uint32: return base &+ Int64(data.load(fromByteOffset: row &<< 2, as: UInt32.self))
        default: return base
        }
    }

    /// Stores an integer in an `isNarrow` column. Returns false, and stores nothing, if it does not fit the width.
    @inlinable @inline(__always)
    package func putNarrow(_ value: Int64, _ row: Int) -> Bool {
        // Otherwise the difference would wrap around.
        guard value >= base else { return false }
        let distance = UInt64(bitPattern: value &- base)
        switch form {
        case .uint8 where distance <= 0xff:
            data.storeBytes(of: UInt8(truncatingIfNeeded: distance), toByteOffset: row, as: UInt8.self)
        case .uint16 where distance <= 0xffff:
            data.storeBytes(of: UInt16(truncatingIfNeeded: distance), toByteOffset: row &<< 1, as: UInt16.self)
        case .uint32 where distance <= 0xffff_ffff:
            data.storeBytes(of: UInt32(truncatingIfNeeded: distance), toByteOffset: row &<< 2, as: UInt32.self)
        default: return false
        }
        return true
    }

    @inlinable @inline(__always)
    package func bit(_ row: Int) -> Bool {
        data.load(fromByteOffset: (row &>> 6) &* 8, as: UInt64.self) &>> UInt64(row & 63) & 1 != 0
    }

    @inlinable @inline(__always)
    package func float(_ row: Int) -> Float { data.load(fromByteOffset: row &<< 2, as: Float.self) }

    @inlinable @inline(__always)
    package func double(_ row: Int) -> Double { data.load(fromByteOffset: row &<< 3, as: Double.self) }

    /// Nanoseconds of a Date, below 1,000,000,000 in magnitude, with the sign of the seconds.
    @inlinable @inline(__always)
    package func nanoseconds(_ row: Int) -> Int32 {
        aux.map { $0.load(fromByteOffset: row &<< 2, as: Int32.self) } ?? 0
    }

    /// True if the value is stored in a block of its own: read it through `Table.withBytes`.
    @inlinable @inline(__always)
    package func isBlob(_ row: Int) -> Bool {
        if form == .slots { return data.load(fromByteOffset: row &<< 4 &+ 4, as: UInt32.self) != 0 }
        guard let blobs else { return false }
        return blobs[row &>> 6] &>> UInt64(row & 63) & 1 != 0
    }

    /// The stored bytes of a var-bytes value; the blob record if `isBlob`. Empty if null.
    @inlinable @inline(__always)
    package func bytes(_ row: Int) -> UnsafeRawBufferPointer {
        switch form {
        case .text16:
            let p = data.assumingMemoryBound(to: UInt16.self)
            let start = row == 0 ? 0 : Int(p[row &- 1])
            return UnsafeRawBufferPointer(start: aux.unsafelyUnwrapped + start, count: Int(p[row]) &- start)
        case .text32:
            let p = data.assumingMemoryBound(to: UInt32.self)
            let start = row == 0 ? 0 : Int(p[row &- 1])
            return UnsafeRawBufferPointer(start: aux.unsafelyUnwrapped + start, count: Int(p[row]) &- start)
        default:
            let slot = data.load(fromByteOffset: row &<< 4, as: ByteSlot.self)
            return UnsafeRawBufferPointer(
                start: UnsafeRawPointer(bitPattern: UInt(slot.address)), count: Int(slot.length))
        }
    }

    @inlinable @inline(__always)
    package func bytes12(_ row: Int) -> (UInt64, UInt32) {
        (
            data.loadUnaligned(fromByteOffset: row &* 12, as: UInt64.self),
            data.loadUnaligned(fromByteOffset: row &* 12 &+ 8, as: UInt32.self)
        )
    }

    @inlinable @inline(__always)
    package func bytes16(_ row: Int) -> (UInt64, UInt64) {
        (
            data.loadUnaligned(fromByteOffset: row &<< 4, as: UInt64.self),
            data.loadUnaligned(fromByteOffset: row &<< 4 &+ 8, as: UInt64.self)
        )
    }
}
