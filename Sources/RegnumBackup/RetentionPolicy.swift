// SPDX-License-Identifier: Apache-2.0
// Which backups are kept.

/// How many backups are kept: of each of the last hours, days, weeks, months and years that have one, the newest. The
/// newest backup and those of the last hour are always kept. Hours and days are those of UTC, weeks begin on Monday. A
/// value; any thread.
///
/// ```swift
/// try repository.prune(RetentionPolicy(hourly: 24, daily: 30, monthly: 12))
/// ```
public struct RetentionPolicy: Sendable, Equatable {
    /// The number of newest backups that are kept in any case.
    public var last: Int
    public var hourly: Int
    public var daily: Int
    public var weekly: Int
    public var monthly: Int
    public var yearly: Int

    public init(last: Int = 1, hourly: Int = 0, daily: Int = 0, weekly: Int = 0, monthly: Int = 0, yearly: Int = 0) {
        self.last = last
        self.hourly = hourly
        self.daily = daily
        self.weekly = weekly
        self.monthly = monthly
        self.yearly = yearly
    }

    private static let day: Int64 = 86_400_000_000

    /// Returns the indexes of the backups to keep. `times`: in microseconds since 1970, in the order in which the backups
    /// were made. They may descend where a clock was set back.
    func kept(_ times: [Int64]) -> Set<Int> {
        var kept = Set(times.indices.suffix(max(last, 1)))
        let newestFirst = times.indices.sorted { (times[$0], $0) > (times[$1], $1) }
        let rules: [(count: Int, bucket: (Int64) -> Int64)] = [
            (hourly, { Self.floor($0, 3_600_000_000) }),
            (daily, { Self.floor($0, Self.day) }),
            // Day 0 was a Thursday.
            (weekly, { Self.floor(Self.floor($0, Self.day) + 3, 7) }),
            (monthly, { Self.month(ofDay: Self.floor($0, Self.day)) }),
            (yearly, { Self.floor(Self.month(ofDay: Self.floor($0, Self.day)), 12) }),
        ]
        for rule in rules {
            var left = rule.count
            var bucket: Int64?
            for index in newestFirst where left > 0 {
                let own = rule.bucket(times[index])
                if own == bucket { continue }
                bucket = own
                left -= 1
                kept.insert(index)
            }
        }
        return kept
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value / divisor - (value % divisor < 0 ? 1 : 0)
    }

    /// The number of a day's month, from January of the year 0 on, in the Gregorian calendar. Day 0 is the first of
    /// January 1970.
    static func month(ofDay day: Int64) -> Int64 {
        // Years begin in March, so that the leap day is the last one.
        let shifted = day + 719_468
        let era = floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        return (yearOfEra + era * 400) * 12 + monthFromMarch + 2
    }
}
