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
    ///
    /// Log handlers and tracers are called on the thread of the operation, which may hold the writer lock of the file.
    /// They must neither use the Realm of the operation, nor write to its file, nor wait for a thread that does. They
    /// may write to another file; operations that they begin on that thread are not reported.
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
            /// If true, logs and spans contain values of the program: the conditions of queries, and the messages of
            /// errors about values, such as duplicates. Otherwise they contain names of classes and properties, paths
            /// of files, places in the source, and other errors as they are, among them those that a migration block
            /// throws.
            public var showsValues = false

            /// Creates options with these defaults.
            public init(logger: Logging.Logger? = Logging.Logger(label: "regnum")) { self.logger = logger }
        }

        private static let running = Lock<MetricsCollector?>(nil)

        /// Starts reporting. If it has been started before, continues with the new options; operations that are running
        /// are reported with the old ones.
        public static func start(_ options: Options = Options()) {
            let collector = MetricsCollector(options)
            let recorder = OperationRecorder(options, collector)
            collector.begin(after: exchange(collector, recorder))
        }

        /// Sends the metrics once more, and stops reporting. Operations that are running are still reported.
        public static func stop() { exchange(nil, nil)?.stop() }

        /// Sets both under one lock, so that they belong together whichever threads start and stop. Returns the former
        /// collector.
        private static func exchange(
            _ collector: MetricsCollector?, _ recorder: OperationRecorder?
        ) -> MetricsCollector? {
            running.withLock { running in
                let former = running
                running = collector
                OperationHook.install(recorder)
                return former
            }
        }

        /// Sends the metrics, and looks for old versions, without waiting for the interval. For programs that send
        /// their metrics on request. Does nothing before `start`.
        public static func collect() { running.withLock { $0 }?.collect() }
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
