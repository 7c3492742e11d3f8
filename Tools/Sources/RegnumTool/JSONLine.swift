// SPDX-License-Identifier: Apache-2.0
// Writes results of the subcommands as JSON objects, one per line, with their members in a fixed order.

import RegnumInspect

indirect enum JSONLine {
    case null
    case bool(Bool)
    case number(Int)
    case string(String)
    case array([JSONLine])
    case object([(String, JSONLine)])
    /// JSON that is inserted unchanged.
    case verbatim(String)

    /// One object, followed by a line feed.
    static func text(_ members: [(String, JSONLine)]) -> String { JSONLine.object(members).text + "\n" }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let bool): bool ? "true" : "false"
        case .number(let number): "\(number)"
        case .string(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.text }.joined(separator: ",") + "}"
        case .verbatim(let json): json
        }
    }

    static func quoted(_ string: String) -> String { EscapedText.json(string) }
}
