// SPDX-License-Identifier: Apache-2.0
// Characters that a terminal does not print but obeys, and texts without them.

extension Unicode.Scalar {
    /// True for control characters, and for characters that change the direction of text or end a line.
    package var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}

/// Texts of a file for people, which could otherwise control their terminal.
package enum PrintableText {
    /// The text with each control character as an escape, such as `\n` and `\u{9b}`. O(length).
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isControl) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": escaped += "\\n"
            case "\t": escaped += "\\t"
            case "\r": escaped += "\\r"
            case _ where scalar.isControl: escaped += "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
