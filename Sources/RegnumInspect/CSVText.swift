// SPDX-License-Identifier: Apache-2.0
// Writes CSV records as in RFC 4180, except that lines end with a line feed only.

/// Writes CSV. **Unstable**, like `Inspector`.
public enum CSVText {
    /// One record with its line feed. Null is an empty field without quotes, an empty string an empty field with
    /// quotes.
    public static func record(_ fields: [String?]) -> String {
        // A record of one empty field would be an empty line, which readers skip.
        if fields.count == 1, fields[0] == nil { return ",\n" }
        return fields.map(field).joined(separator: ",") + "\n"
    }

    private static func field(_ text: String?) -> String {
        guard let text else { return "" }
        let needsQuotes =
            text.isEmpty
            || text.utf8.contains { byte in
                byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == 0x0a || byte == 0x0d
            } || text.first == " " || text.last == " " || text.first == "\u{FEFF}"
        return needsQuotes ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }
}
