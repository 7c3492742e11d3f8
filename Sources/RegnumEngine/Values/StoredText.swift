// SPDX-License-Identifier: Apache-2.0
// Strings of stored bytes, and copies of these: short ones without the byte loop that Swift makes them by, or the call.

import RegnumSystem

/// Makes strings of stored bytes, and copies these.
@usableFromInline
package enum StoredText {
    /// Most bytes that a Swift string of a 64-bit system keeps in itself, without memory of its own.
    @usableFromInline static let shortByteCount = 15

    /// The string of `bytes`, which are UTF-8; what is not becomes U+FFFD, as everywhere in Swift.
    ///
    /// `String(decoding:as:)` copies short texts byte by byte, here they are copied in two pieces, of 8 or of 4 bytes,
    /// that overlap: two thirds of the time. O(`bytes.count`), on any thread.
    @inlinable @inline(__always)
    package static func string(_ bytes: UnsafeRawBufferPointer) -> String {
        let count = bytes.count
        guard count > 0, count <= shortByteCount, let from = bytes.baseAddress else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(unsafeUninitializedCapacity: count) { room in
            copy(from, to: UnsafeMutableRawPointer(room.baseAddress.unsafelyUnwrapped), count)
            return count
        }
    }

    /// Copies up to 15 bytes.
    @inlinable @inline(__always)
    static func copy(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, _ count: Int) {
        if count >= 8 {
            copyEnds(UInt64.self, from, to: to, count)
        } else if count >= 4 {
            copyEnds(UInt32.self, from, to: to, count)
        } else {
            for i in 0..<count {
                to.storeBytes(of: from.load(fromByteOffset: i, as: UInt8.self), toByteOffset: i, as: UInt8.self)
            }
        }
    }

    /// Copies any number of bytes, few of them without a call.
    @inline(__always)
    static func copyAny(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, _ count: Int) {
        if count <= shortByteCount { copy(from, to: to, count) } else { Memory.copy(to, from, count) }
    }

    /// Copies the first and the last bytes of `count`, as many as a `Word` has each: at least one word, at most two.
    @inlinable @inline(__always)
    static func copyEnds<Word: FixedWidthInteger>(
        _: Word.Type, _ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, _ count: Int
    ) {
        let last = count &- MemoryLayout<Word>.size
        let ends = (from.loadUnaligned(as: Word.self), from.loadUnaligned(fromByteOffset: last, as: Word.self))
        to.storeBytes(of: ends.0, as: Word.self)
        to.storeBytes(of: ends.1, toByteOffset: last, as: Word.self)
    }
}
