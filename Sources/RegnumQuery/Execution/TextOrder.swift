// SPDX-License-Identifier: Apache-2.0
// A natural order of text for display, without language tables: letters first, then numbers by value, then accents,
// then case.

import RegnumEngine

enum TextOrder {
    /// The sort keys of a text as bytes, in order of precedence.
    static var levels: [(UnsafeRawBufferPointer) -> [UInt8]] { [primary, accents, raw] }

    /// The letters without accents and case; each run of digits as its length and its digits, so that 9 comes before
    /// 10.
    static func primary(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let folded = UnicodeFolding.fold(bytes, ignoresCase: true)
        guard folded.contains(where: isDigit) else { return folded }
        var keyed: [UInt8] = []
        keyed.reserveCapacity(folded.count + 8)
        var index = 0
        while index < folded.count {
            guard isDigit(folded[index]) else {
                keyed.append(folded[index])
                index += 1
                continue
            }
            var end = index
            while end < folded.count, isDigit(folded[end]) { end += 1 }
            let digits = folded[index..<end].drop { $0 == 0x30 }
            // A digit still sorts as a digit among other characters; longer numbers are greater.
            keyed.append(0x30)
            keyed.append(UInt8(min(digits.count, 255)))
            keyed.append(contentsOf: digits)
            index = end
        }
        return keyed
    }

    /// The text without case.
    static func accents(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        Array(String(decoding: bytes, as: UTF8.self).lowercased().utf8)
    }

    /// The text unchanged, except that lower case comes before upper case.
    static func raw(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        bytes.map { byte in
            (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A ? byte ^ 0x20 : byte
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}

/// A text to be compared in natural order. Its sort keys are computed once, not for each comparison.
package struct NaturalText: Sendable {
    private let levels: [[UInt8]]

    /// O(length).
    package init(_ text: String) {
        var text = text
        levels = text.withUTF8 { bytes in TextOrder.levels.map { $0(UnsafeRawBufferPointer(bytes)) } }
    }

    /// Returns a negative number, 0 or a positive number if `a` comes before, equals or comes after `b`. O(length).
    package static func compare(_ a: NaturalText, _ b: NaturalText) -> Int {
        for (left, right) in zip(a.levels, b.levels) {
            let order = left.withUnsafeBytes { left in right.withUnsafeBytes { BytesMatch.compare(left, $0) } }
            if order != 0 { return order }
        }
        return 0
    }
}
