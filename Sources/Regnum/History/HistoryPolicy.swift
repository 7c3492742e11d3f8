// SPDX-License-Identifier: Apache-2.0
// Which older versions a file keeps: the setting, and its part of opening a Realm.

internal import RegnumEngine

/// Which older versions of a file stay readable. See <doc:History>.
///
/// ```swift
/// configuration.history = .keep(for: .days(7), atMost: .megabytes(200))
/// ```
public struct HistoryPolicy: Sendable, Hashable {
    /// A length of time.
    public struct Age: Sendable, Hashable {
        let microseconds: Int64
        private init(seconds: Double) {
            // The limit is 10,000 years.
            microseconds = Int64(min(max(seconds.isNaN ? 0 : seconds, 0), 315_360_000_000) * 1e6)
        }

        /// That many seconds; 0 if the number is negative.
        public static func seconds(_ count: Double) -> Age { Age(seconds: count) }
        /// That many hours of 3,600 seconds.
        public static func hours(_ count: Double) -> Age { Age(seconds: count * 3600) }
        /// That many days of 24 hours.
        public static func days(_ count: Double) -> Age { Age(seconds: count * 86400) }
    }

    /// A number of bytes.
    public struct Size: Sendable, Hashable {
        let byteCount: Int
        private init(_ count: Double) { byteCount = Int(min(max(count.isNaN ? 0 : count, 0), 1e18)) }

        /// That many bytes; 0 if the number is negative.
        public static func bytes(_ count: Int) -> Size { Size(Double(count)) }
        /// That many times 1,000,000 bytes.
        public static func megabytes(_ count: Double) -> Size { Size(count * 1e6) }
        /// That many times 1,000,000,000 bytes.
        public static func gigabytes(_ count: Double) -> Size { Size(count * 1e9) }
    }

    /// Nil: nothing is kept.
    let limits: HistoryLimits?

    /// Each version stays readable for `age` after the next one was committed, as long as all kept versions together
    /// take no more than `size` beyond the newest version. If they take more, the oldest are dropped first.
    public static func keep(for age: Age, atMost size: Size) -> HistoryPolicy {
        HistoryPolicy(limits: HistoryLimits(age: age.microseconds, byteCount: size.byteCount))
    }

    /// No older versions are kept; those that the file keeps are dropped.
    public static let off = HistoryPolicy(limits: nil)
}

extension ConfigurationAdditions where Self == Realm.Configuration {
    /// Which older versions the file keeps. Nil, the default: as the file says, which is none in a new file.
    ///
    /// The setting is stored in the file when a Realm is opened with another one, and then holds for all processes,
    /// whatever their configurations. While it is on, versions of this library without history cannot open the file.
    /// Has no effect on a read-only Realm.
    public var history: HistoryPolicy? {
        get {
            let configuration: Realm.Configuration = self
            return configuration.storedHistory
        }
        set {
            var configuration: Realm.Configuration = self
            configuration.storedHistory = newValue
            self = configuration
        }
    }
}

extension Session {
    /// True if the file keeps other versions than `wanted` says.
    func needsHistory(_ wanted: HistoryPolicy?) throws(EngineError) -> Bool {
        guard let wanted else { return false }
        return try history()?.limits != wanted.limits
    }
}
