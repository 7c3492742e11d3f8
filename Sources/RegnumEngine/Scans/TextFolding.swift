// SPDX-License-Identifier: Apache-2.0
// Case folding for [c]: ASCII and Latin-1 letters only, in UTF-8.

package enum TextFolding {
    /// Returns the lower-case form of one byte of UTF-8, given the byte before it. The two-byte letters U+00C0...U+00DE
    /// except U+00D7 are C3 80...C3 9E and fold to C3 A0...C3 BE, so folding never changes the length.
    @inlinable @inline(__always)
    package static func lower(_ byte: UInt8, after previous: UInt8) -> UInt8 {
        if byte &- 0x41 < 26 { return byte &+ 32 }
        if previous == 0xC3, byte &- 0x80 < 31, byte != 0x97 { return byte &+ 32 }
        return byte
    }

    /// O(count).
    package static func lower(_ bytes: [UInt8]) -> [UInt8] {
        var previous: UInt8 = 0
        return bytes.map { byte in
            let folded = lower(byte, after: previous)
            previous = byte
            return folded
        }
    }

    /// Returns the upper-case form of a folded byte; `previous` is the byte before it.
    @inlinable @inline(__always)
    package static func upper(_ byte: UInt8, after previous: UInt8) -> UInt8 {
        if byte &- 0x61 < 26 { return byte &- 32 }
        if previous == 0xC3, byte &- 0xA0 < 31, byte != 0xB7 { return byte &- 32 }
        return byte
    }
}
