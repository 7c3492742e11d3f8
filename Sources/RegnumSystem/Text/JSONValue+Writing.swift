// SPDX-License-Identifier: Apache-2.0
// Writes JSON values, in one line and without blanks. A number is written as its text, so that all its digits stay; the
// nesting is that of the value, which is 512 levels at most if it was parsed.

extension JSONValue {
    /// The value as JSON. O(length of the text).
    package var text: String {
        var out = ""
        write(to: &out)
        return out
    }

    /// A whole number with all its digits. JavaScript rounds numbers beyond 2^53: what a page shows or sends back as it
    /// was goes to it as a string.
    package static func int(_ number: some BinaryInteger) -> JSONValue { .number("\(number)") }

    /// A number that its text restores exactly; a string if JSON has no such number: "nan", "inf", "-inf".
    package static func double(_ number: Double) -> JSONValue {
        number.isFinite ? .number("\(number)") : .string("\(number)")
    }

    /// Appends the value as JSON.
    package func write(to out: inout String) {
        switch self {
        case .null: out += "null"
        case .bool(let bool): out += bool ? "true" : "false"
        case .number(let text): out += text
        case .string(let text): Self.quote(text, to: &out)
        case .array(let values):
            out += "["
            for (index, value) in values.enumerated() {
                if index > 0 { out += "," }
                value.write(to: &out)
            }
            out += "]"
        case .object(let members):
            out += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { out += "," }
                Self.quote(member.key, to: &out)
                out += ":"
                member.value.write(to: &out)
            }
            out += "}"
        }
    }
}
