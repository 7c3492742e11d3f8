// SPDX-License-Identifier: Apache-2.0
// Logs, metrics and traces of the Realms of a process, through swift-log, swift-metrics and swift-distributed-tracing.
// Without the trait `Observability` the module contains one declaration, whose message says how to enable it.

#if Observability
    public import CoreMetrics
    public import Logging
    internal import Regnum
    internal import RegnumSystem
    public import Tracing

    /// Reports the operations of all Realms of the process.
    ///
    /// ```
    /// RealmObservability.start()
    /// defer { RealmObservability.stop() }
    /// ```
    ///
    /// Call `start` once, after the program has set up its logging, metrics and tracing, and before it opens a Realm.
    /// Any thread.
    public enum RealmObservability {
        /// The thresholds, and the receivers of the reports.
        public struct Options: Sendable {
            /// Receives the log; nil: nothing is logged.
            public var logger: Logging.Logger?
            /// Receives the metrics; nil: `MetricsSystem.factory` as it is when `start` is called.
            public var metrics: (any MetricsFactory)?
            /// Receives the spans; nil: `InstrumentationSystem.tracer` as it is when `start` is called. If that is the
            /// one that does nothing, no spans are made.
            public var tracer: (any Tracer)?
            /// A query that takes at least this long is logged as slow.
            public var slowQuery = Duration.milliseconds(100)
            /// A write transaction that takes at least this long, from the moment at which it has the writer lock until
            /// it is durable, is logged as slow.
            public var slowWrite = Duration.seconds(1)
            /// A thread that has waited this long for the writer lock is logged with the holder of the lock, and again
            /// after twice that time, four times, and so on.
            public var blockedWriter = Duration.seconds(5)
            /// A Realm or frozen value that has kept an old version for this long is logged once, with the line that
            /// opened it.
            public var oldPin = Duration.seconds(60)
            /// How often metrics are sent and old versions are looked for. Zero: only when `collect` is called.
            public var interval = Duration.seconds(10)
            /// If true, logs and spans of queries contain the conditions, and so the values that the program searches
            /// for.
            public var showsConditions = false

            /// Creates options with these defaults.
            public init(logger: Logging.Logger? = Logging.Logger(label: "regnum")) { self.logger = logger }
        }

        private struct Running: Sendable {
            let collector: MetricsCollector
        }
        private static let running = Lock<Running?>(nil)

        /// Starts reporting. If it has been started before, continues with the new options; operations that are running
        /// are reported with the old ones.
        public static func start(_ options: Options = Options()) {
            let collector = MetricsCollector(options)
            let former = running.withLock { running in
                let former = running
                running = Running(collector: collector)
                return former
            }
            former?.collector.stop()
            OperationHook.install(OperationRecorder(options, collector))
            collector.begin()
        }

        /// Sends the metrics once more, and stops reporting. Operations that are running are still reported.
        public static func stop() {
            let former = running.withLock { running in
                let former = running
                running = nil
                return former
            }
            guard let former else { return }
            OperationHook.install(nil)
            former.collector.stop()
        }

        /// Sends the metrics, and looks for old versions, without waiting for the interval. For programs that send
        /// their metrics on request. Does nothing before `start`.
        public static func collect() { running.withLock { $0 }?.collector.collect() }
    }
#else
    /// Requires the trait `Observability` of the package.
    @available(
        *, unavailable,
        message: """
            Observability is switched off. Add the trait to your Package.swift: \
            .package(url: "...", from: "...", traits: [.defaults, "Observability"])
            """
    )
    public enum RealmObservability {}
#endif
