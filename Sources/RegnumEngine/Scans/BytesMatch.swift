// SPDX-License-Identifier: Apache-2.0
// Tests of one string or data value on its bytes.

// The only decomposition available without Foundation.
@_spi(_Unicode) import Swift

/// Operators on bytes.
package enum BytesOperator: UInt8, Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual, prefix, suffix, contains, like
}

/// A test of bytes. `needle` is folded if `isFolded`.
package struct BytesTest: Sendable, Hashable {
    package let operation: BytesOperator
    package let needle: [UInt8]
    /// [c]
    package let isFolded: Bool
    /// [d] or [cd]: the value is first decomposed and stripped of marks; see `UnicodeFolding`.
    package let isDiacriticInsensitive: Bool

    package init(
        _ operation: BytesOperator, _ needle: [UInt8], isFolded: Bool = false,
        isDiacriticInsensitive: Bool = false
    ) {
        self.operation = operation
        self.isFolded = isFolded
        self.isDiacriticInsensitive = isDiacriticInsensitive
        if isDiacriticInsensitive {
            self.needle = needle.withUnsafeBytes { UnicodeFolding.fold($0, ignoresCase: isFolded) }
        } else {
            self.needle = isFolded ? TextFolding.lower(needle) : needle
        }
    }

    /// True if the value passes. Must not be called for null. O(length of the value × length of the needle).
    package func matches(_ value: UnsafeRawBufferPointer) -> Bool {
        if isDiacriticInsensitive {
            let folded = UnicodeFolding.fold(value, ignoresCase: isFolded)
            return folded.withUnsafeBytes { value in
                needle.withUnsafeBytes { BytesMatch.matches(operation, value, $0, isFolded: false) }
            }
        }
        return needle.withUnsafeBytes { BytesMatch.matches(operation, value, $0, isFolded: isFolded) }
    }
}

package enum BytesMatch {
    /// `needle` must be folded already if `isFolded`.
    package static func matches(
        _ operation: BytesOperator, _ value: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer,
        isFolded: Bool
    ) -> Bool {
        switch operation {
        case .equal: return value.count == needle.count && isEqual(value, 0, needle, isFolded)
        case .notEqual: return value.count != needle.count || !isEqual(value, 0, needle, isFolded)
        case .less: return compare(value, needle) < 0
        case .lessOrEqual: return compare(value, needle) <= 0
        case .greater: return compare(value, needle) > 0
        case .greaterOrEqual: return compare(value, needle) >= 0
        case .prefix:
            return !needle.isEmpty && value.count >= needle.count && isEqual(value, 0, needle, isFolded)
        case .suffix:
            return !needle.isEmpty && value.count >= needle.count
                && isEqual(value, value.count - needle.count, needle, isFolded)
        case .contains:
            guard !needle.isEmpty, value.count >= needle.count else { return false }
            for start in 0...(value.count - needle.count) where isEqual(value, start, needle, isFolded) {
                return true
            }
            return false
        case .like: return like(value, needle, isFolded: isFolded)
        }
    }

    /// Compares the bytes of `value` from `start` on with all of `needle`; `value` must be long enough.
    @inline(__always)
    static func isEqual(
        _ value: UnsafeRawBufferPointer, _ start: Int, _ needle: UnsafeRawBufferPointer, _ isFolded: Bool
    ) -> Bool {
        guard needle.count > 0 else { return true }
        let a = value.baseAddress.unsafelyUnwrapped + start
        let b = needle.baseAddress.unsafelyUnwrapped
        if !isFolded {
            for index in 0..<needle.count
            where a.load(fromByteOffset: index, as: UInt8.self)
                != b.load(fromByteOffset: index, as: UInt8.self)
            {
                return false
            }
            return true
        }
        var previous: UInt8 = start > 0 ? value[start &- 1] : 0
        for index in 0..<needle.count {
            let byte = a.load(fromByteOffset: index, as: UInt8.self)
            if TextFolding.lower(byte, after: previous) != b.load(fromByteOffset: index, as: UInt8.self) {
                return false
            }
            previous = byte
        }
        return true
    }

    /// Compares as unsigned bytes, a prefix before any value that it begins.
    @inlinable
    package static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = a.count < b.count ? a.count : b.count
        var index = 0
        while index < common {
            let x = a[index]
            let y = b[index]
            if x != y { return x < y ? -1 : 1 }
            index &+= 1
        }
        return a.count &- b.count
    }

    /// `*` matches any run, `?` one UTF-8 character. O(value × needle) at worst, not recursive.
    static func like(_ value: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, isFolded: Bool)
        -> Bool
    {
        var v = 0
        var p = 0
        var starPattern = -1
        var starValue = 0
        while v < value.count {
            if p < pattern.count, pattern[p] == 0x2A {
                starPattern = p
                starValue = v
                p &+= 1
                continue
            }
            if p < pattern.count, pattern[p] == 0x3F {
                v = nextCharacter(value, v)
                p &+= 1
                continue
            }
            if p < pattern.count {
                let byte = value[v]
                let seen = isFolded ? TextFolding.lower(byte, after: v > 0 ? value[v &- 1] : 0) : byte
                if seen == pattern[p] {
                    v &+= 1
                    p &+= 1
                    continue
                }
            }
            guard starPattern >= 0 else { return false }
            starValue = nextCharacter(value, starValue)
            v = starValue
            p = starPattern &+ 1
        }
        while p < pattern.count, pattern[p] == 0x2A { p &+= 1 }
        return p == pattern.count
    }

    private static func nextCharacter(_ value: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var next = start &+ 1
        while next < value.count, value[next] & 0xC0 == 0x80 { next &+= 1 }
        return next
    }
}

/// Folding for [d] and [cd]: removes diacritics and, for [cd], case.
package enum UnicodeFolding {
    /// Returns the canonical decomposition without combining marks, in lower case if `ignoresCase`. O(length).
    package static func fold(_ bytes: UnsafeRawBufferPointer, ignoresCase: Bool) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) {
            return ignoresCase ? bytes.map { $0 &- 0x41 < 26 ? $0 &+ 32 : $0 } : Array(bytes)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        var folded: [UInt8] = []
        folded.reserveCapacity(bytes.count)
        for character in text {
            for scalar in decomposed(character) {
                switch scalar.properties.generalCategory {
                case .nonspacingMark, .enclosingMark: continue
                default: break
                }
                if ignoresCase {
                    folded.append(contentsOf: caseFolded(scalar).utf8)
                } else {
                    folded.append(contentsOf: String(Character(scalar)).utf8)
                }
            }
        }
        return folded
    }

    /// Maps to upper case, then to lower case, so that ß becomes ss and both small sigmas are equal; the dotless i
    /// stays distinct.
    private static func caseFolded(_ scalar: Unicode.Scalar) -> String {
        if scalar.isASCII || scalar == "\u{131}" { return scalar.properties.lowercaseMapping }
        return scalar.properties.uppercaseMapping.unicodeScalars.reduce(into: "") {
            $0 += $1.properties.lowercaseMapping
        }
    }

    /// Returns the canonical decomposition. O(length).
    static func scalars(_ bytes: UnsafeRawBufferPointer) -> [Unicode.Scalar] {
        Array(String(decoding: bytes, as: UTF8.self)._nfd)
    }

    private static func decomposed(_ character: Character) -> [Unicode.Scalar] {
        Array(String(character)._nfd)
    }
}
