// SPDX-License-Identifier: Apache-2.0
// Dates in JSON: writes and reads points in time as RFC 3339 (a profile of ISO 8601) in the Gregorian calendar, for all
// years from 0000. Foundation's format changes to the Julian calendar in 1582, rolls days over that a month does not
// have, ignores text after the date, and cuts fractions off.

internal import Foundation

enum JSONDate {
    private static let secondsOfDay = 86_400

    // MARK: Writing

    /// The date in UTC, rounded to milliseconds, such as `2020-05-01T12:00:00.250Z`; nil outside the years 1 to 9999.
    static func text(of date: Date) -> String? {
        let rounded = (date.timeIntervalSince1970 * 1000).rounded()
        guard rounded >= -62_135_596_800_000, rounded < 253_402_300_800_000 else { return nil }
        let (seconds, milliseconds) = floored(Int(rounded), 1000)
        let (days, second) = floored(seconds, secondsOfDay)
        let (year, month, day) = calendarDate(ofDay: days)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
            + ".\(padded(milliseconds, 3))Z"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    // MARK: Reading

    /// The date of a text such as `2020-05-01T12:00:00.25Z` or `2020-05-01T14:00:00+02:00`; nil if the text is none, or
    /// contains anything else. The offset may be `+0200` or `+02` too.
    static func date(_ text: String) -> Date? {
        var rest = Rest(bytes: Array(text.utf8)[...])
        guard let year = rest.number(4, 0...9999), rest.skip("-"), let month = rest.number(2, 1...12), rest.skip("-"),
            let day = rest.number(2, 1...31), day <= dayCount(ofMonth: month, year), rest.skip("T") || rest.skip("t"),
            let hour = rest.number(2, 0...23), rest.skip(":"), let minute = rest.number(2, 0...59), rest.skip(":"),
            let second = rest.number(2, 0...59), let fraction = rest.fraction(), let offset = rest.offset(),
            rest.bytes.isEmpty
        else { return nil }
        let seconds = dayNumber(year, month, day) * secondsOfDay + hour * 3600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// The part of a text that has not been read.
    private struct Rest {
        var bytes: ArraySlice<UInt8>

        /// Skips a character. Returns false if the rest does not begin with it.
        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard bytes.first == UInt8(ascii: character) else { return false }
            bytes.removeFirst()
            return true
        }

        /// Reads a number of exactly so many digits.
        mutating func number(_ digitCount: Int, _ range: ClosedRange<Int>) -> Int? {
            let digits = bytes.prefix(digitCount)
            guard digits.count == digitCount, digits.allSatisfy(isDigit) else { return nil }
            bytes.removeFirst(digitCount)
            let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return range.contains(number) ? number : nil
        }

        /// Reads the fraction of a second; 0 if there is no point, nil if no digit follows it.
        mutating func fraction() -> Double? {
            guard skip(".") else { return 0 }
            let digits = bytes.prefix(while: isDigit)
            bytes.removeFirst(digits.count)
            return digits.isEmpty ? nil : Double("0." + String(decoding: digits, as: UTF8.self))
        }

        /// Reads the offset from UTC, in seconds.
        mutating func offset() -> Int? {
            if skip("Z") || skip("z") { return 0 }
            let isNegative = skip("-")
            guard isNegative || skip("+"), let hours = number(2, 0...23) else { return nil }
            var minutes = 0
            if skip(":") || !bytes.isEmpty {
                guard let number = number(2, 0...59) else { return nil }
                minutes = number
            }
            return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
        }

        private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    }

    // MARK: The Gregorian calendar

    // Years of these functions begin in March, so that the leap day is their last one.

    /// The number of a day; 1970-01-01 is 0.
    private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let (cycle, yearOfCycle) = floored(month <= 2 ? year - 1 : year, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    /// The date of a day by its number.
    private static func calendarDate(ofDay number: Int) -> (year: Int, month: Int, day: Int) {
        let (cycle, day) = floored(number + 719_468, 146_097)
        let yearOfCycle = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    private static func dayCount(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The quotient, rounded down, and the remainder, which is not negative.
    private static func floored(_ number: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
