// SPDX-License-Identifier: Apache-2.0
// Writes and reads points in time as ISO 8601 in UTC, without rounding.

internal import Foundation
internal import RegnumEngine

enum DateText {
    /// Times outside of the range of calendars, which a damaged file may have.
    private static let outside = " s since 1970"

    /// The time in ISO 8601, with as many fractional digits as it needs.
    static func text(_ time: Timestamp) -> String {
        if abs(Double(time.seconds)) > 1e14 { return "\(time.seconds)\(outside)" }
        // Times before 1970 have negative nanoseconds.
        let isBefore = time.nanoseconds < 0
        let fraction = isBefore ? 1_000_000_000 + Int(time.nanoseconds) : Int(time.nanoseconds)
        let seconds = isBefore ? time.seconds - 1 : time.seconds
        let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        if fraction == 0 { return whole }
        var digits = String(String(1_000_000_000 + fraction).dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return whole.dropLast() + "." + digits + "Z"
    }

    /// The time of a text such as `2026-11-28T12:00:00.25Z`, or with an offset such as `+01:00`; nil if it is none.
    static func time(_ text: String) -> Timestamp? {
        if text.hasSuffix(outside) {
            return Int64(text.dropLast(outside.count)).map { Timestamp(seconds: $0, nanoseconds: 0) }
        }
        var whole = text
        var fraction: Int32 = 0
        if let point = text.firstIndex(of: ".") {
            let digits = text[text.index(after: point)...].prefix { $0.isASCII && $0.isNumber }
            guard (1...9).contains(digits.count), let value = Int32(digits) else { return nil }
            fraction = (digits.count..<9).reduce(value) { value, _ in value * 10 }
            whole = String(text[..<point]) + text[digits.endIndex...]
        }
        guard let date = try? Date(whole, strategy: .iso8601) else { return nil }
        let seconds = Int64(date.timeIntervalSince1970)
        // Both parts of a time have the same sign.
        if seconds < 0, fraction > 0 { return Timestamp(seconds: seconds + 1, nanoseconds: fraction - 1_000_000_000) }
        return Timestamp(seconds: seconds, nanoseconds: fraction)
    }
}
