// SPDX-License-Identifier: Apache-2.0
// Shows the place of an error in a query, as compilers do: the text, and a caret below it.

import RegnumInspect

enum QueryCaret {
    /// The number of columns that are shown before and after the place.
    private static let before = 60
    private static let after = 20

    /// The two lines for an error with a position; nil for other errors.
    static func lines(_ error: any Error) -> String? {
        guard let error = error as? InspectionError, let query = error.query, let position = error.position else {
            return nil
        }
        return lines(query, at: position)
    }

    /// `position` is a UTF-8 offset.
    static func lines(_ query: String, at position: Int) -> String {
        let bytes = Array(query.utf8)
        let place = max(0, min(position, bytes.count))
        let all = TerminalText.shown(String(decoding: bytes[..<place], as: UTF8.self))
        let start = all.count > before ? "…\(all.suffix(before))" : all
        let rest = TerminalText.shown(String(decoding: bytes[place...], as: UTF8.self))
        let end = rest.count > after ? "\(rest.prefix(after))…" : rest
        return "  " + start + end + "\n  " + String(repeating: " ", count: TerminalText.width(start)) + "^"
    }
}
