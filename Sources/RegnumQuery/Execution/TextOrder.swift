// SPDX-License-Identifier: Apache-2.0
// The order of names in a list for people, without tables of languages: letters first, then numbers by their value,
// then accents, then case.

import RegnumEngine

enum TextOrder {
    /// What a text is compared by, one after the other, as bytes.
    static var levels: [(UnsafeRawBufferPointer) -> [UInt8]] { [primary, accents, raw] }

    /// Letters without marks and case; each run of digits as its length and itself, so that 9 comes before 10.
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
            // A digit keeps its place among other characters; longer numbers are the greater ones.
            keyed.append(0x30)
            keyed.append(UInt8(min(digits.count, 255)))
            keyed.append(contentsOf: digits)
            index = end
        }
        return keyed
    }

    /// Without case.
    static func accents(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        Array(String(decoding: bytes, as: UTF8.self).lowercased().utf8)
    }

    /// As it is, lower case before upper case.
    static func raw(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        bytes.map { byte in
            (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A ? byte ^ 0x20 : byte
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}

/// A text among others in the order of people. What it is compared by is made once, not for each comparison.
package struct NaturalText: Sendable {
    private let levels: [[UInt8]]

    /// O(length).
    package init(_ text: String) {
        var text = text
        levels = text.withUTF8 { bytes in TextOrder.levels.map { $0(UnsafeRawBufferPointer(bytes)) } }
    }

    /// Below, at or above 0 where `a` comes before, with or behind `b`. O(length).
    package static func compare(_ a: NaturalText, _ b: NaturalText) -> Int {
        for (left, right) in zip(a.levels, b.levels) {
            let order = left.withUnsafeBytes { left in right.withUnsafeBytes { BytesMatch.compare(left, $0) } }
            if order != 0 { return order }
        }
        return 0
    }
}
