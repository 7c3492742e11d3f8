// SPDX-License-Identifier: Apache-2.0
// The order of an index tree. An entry is (null flag, value, object key). Nulls come first, whatever the other values
// are; each node counts its leading nulls, so no value of the 64-bit range is reserved for null. The value of a `fixed`
// tree is a UInt64; the value of a `bytes` tree is a byte string, compared unsigned, with a prefix before any string
// that it begins.

/// Order-preserving encodings of values.
package enum IndexKey {
    /// The longest value that is stored whole. For a longer one, this many bytes and a 16-byte digest are stored.
    package static let exactByteCount = 1000
    /// The maximum number of bytes that an entry of a `bytes` tree stores.
    package static let storedByteCount = exactByteCount + 16

    /// Encodes an Int, a date (seconds), a Bool or a link key as a UInt64 in the same order.
    @inlinable @inline(__always)
    package static func encode(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }

    @inlinable @inline(__always)
    package static func decode(_ value: UInt64) -> Int64 { Int64(bitPattern: value ^ (1 << 63)) }

    /// False if the tree stores a digest instead of the end of the value. Two such values that are equal in the tree
    /// are equal unless their digests collide, which the caller excludes by comparing the rows. Those that share their
    /// first 1,000 bytes are ordered by their digests.
    package static func isExact(byteCount: Int) -> Bool { byteCount <= exactByteCount }

    /// The first 8 bytes as a big-endian number, padded with zeros. Orders like the bytes, except for ties.
    @inline(__always)
    static func head(_ bytes: UnsafeRawPointer, _ byteCount: Int) -> UInt64 {
        if byteCount >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
        var result: UInt64 = 0
        for i in 0..<byteCount {
            result |= UInt64(bytes.load(fromByteOffset: i, as: UInt8.self)) &<< UInt64(56 &- 8 &* i)
        }
        return result
    }

    /// Negative, 0 or positive if the left bytes are before, equal to or after the right ones.
    @inline(__always)
    static func compare(_ a: UnsafeRawPointer, _ aCount: Int, _ b: UnsafeRawPointer, _ bCount: Int) -> Int {
        let common = min(aCount, bCount)
        var i = 0
        while i &+ 8 <= common {
            let x = a.loadUnaligned(fromByteOffset: i, as: UInt64.self)
            let y = b.loadUnaligned(fromByteOffset: i, as: UInt64.self)
            if x != y { return UInt64(bigEndian: x) < UInt64(bigEndian: y) ? -1 : 1 }
            i &+= 8
        }
        while i < common {
            let x = a.load(fromByteOffset: i, as: UInt8.self)
            let y = b.load(fromByteOffset: i, as: UInt8.self)
            if x != y { return x < y ? -1 : 1 }
            i &+= 1
        }
        return aCount &- bCount
    }

    /// The length of the common prefix, at most `limit` bytes.
    @inline(__always)
    static func commonPrefix(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, limit: Int) -> Int {
        var i = 0
        while i &+ 8 <= limit {
            let difference =
                a.loadUnaligned(fromByteOffset: i, as: UInt64.self)
                ^ b.loadUnaligned(fromByteOffset: i, as: UInt64.self)
            if difference != 0 { return i &+ difference.trailingZeroBitCount &>> 3 }
            i &+= 8
        }
        while i < limit,
            a.load(fromByteOffset: i, as: UInt8.self) == b.load(fromByteOffset: i, as: UInt8.self)
        { i &+= 1 }
        return i
    }
}

/// The bytes of a value; does not own them.
struct IndexText {
    var address: UnsafeRawPointer
    var byteCount: Int

    @inline(__always) init(_ address: UnsafeRawPointer, _ byteCount: Int) {
        self.address = address
        self.byteCount = byteCount
    }

    /// No bytes; the address is never dereferenced.
    static var empty: IndexText { IndexText(UnsafeRawPointer(bitPattern: 16).unsafelyUnwrapped, 0) }
}

/// An entry to search for or to insert. Its bytes belong to the caller or to the tree's scratch memory.
struct IndexProbe {
    /// `fixed`: the value; `bytes`: its `IndexKey.head`; 0 if null.
    var value: UInt64
    var key: UInt64
    var text: IndexText
    var isNull: Bool

    @inline(__always)
    init(value: UInt64, key: UInt64, text: IndexText = .empty, isNull: Bool = false) {
        self.value = value
        self.key = key
        self.text = text
        self.isNull = isNull
    }

    @inline(__always) static func null(key: UInt64) -> IndexProbe {
        IndexProbe(value: 0, key: key, isNull: true)
    }

    /// Negative, 0 or positive; compares null flag, value and key.
    func compare(_ other: IndexProbe, isBytes: Bool) -> Int {
        if isNull != other.isNull { return isNull ? -1 : 1 }
        if !isNull {
            if value != other.value { return value < other.value ? -1 : 1 }
            if isBytes {
                let order = IndexKey.compare(
                    text.address, text.byteCount, other.text.address, other.text.byteCount)
                if order != 0 { return order }
            }
        }
        return key == other.key ? 0 : key < other.key ? -1 : 1
    }
}
