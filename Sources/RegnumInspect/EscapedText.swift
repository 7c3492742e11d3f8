// SPDX-License-Identifier: Apache-2.0
// Texts of a file without the characters that control a terminal.

internal import RegnumSystem

/// Escapes the names and values of a file for people. **Unstable**, like `Inspector`.
public enum EscapedText {
    /// The text with control characters, and those that change the direction of text, as escapes such as `\n` and
    /// `\u{9b}`. O(length).
    public static func printable(_ text: String) -> String { PrintableText.escaped(text) }

    /// The text as a JSON string with its quotation marks. O(length).
    public static func json(_ text: String) -> String {
        var json = ""
        JSONValue.quote(text, to: &json)
        return json
    }
}
