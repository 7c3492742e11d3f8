// SPDX-License-Identifier: Apache-2.0
// The bounds of a line that shows an object, and the beginning of a text that is too long for it.

package enum ObjectLine {
    /// The number of bytes of UTF-8 from which no further values are added.
    static let byteLimit = 1 << 16
    /// The number of elements of a collection that are shown.
    static let elementLimit = 100
    /// A character may consist of any number of scalars: of each one this many bytes are expected, on average.
    private static let bytesPerCharacter = 16

    /// The first characters of a text, in at most 16 bytes for each. O(characters).
    package static func start(of text: String, characters: Int) -> (text: String, isCut: Bool) {
        let bytes = text.utf8
        let limit = characters * bytesPerCharacter
        var end = bytes.index(bytes.startIndex, offsetBy: limit, limitedBy: bytes.endIndex) ?? bytes.endIndex
        // Not in the middle of a scalar.
        while end > bytes.startIndex, end < bytes.endIndex, bytes[end] & 0xc0 == 0x80 { end = bytes.index(before: end) }
        let start = String(text[..<end]).prefix(characters)
        return (String(start), start.utf8.count < bytes.count)
    }

    /// The first characters of a text that is a part of a message.
    static func part(_ text: String) -> String {
        let (start, isCut) = start(of: text, characters: 60)
        return isCut ? start + "..." : start
    }
}
