// SPDX-License-Identifier: Apache-2.0
// Logs and spans of operations. An opening, a migration or a transaction has its span from its beginning, because it
// contains others; the span of a query or of a wait is made at its end, with the time of its beginning.

#if Observability
    internal import Dispatch
    internal import Logging
    internal import Regnum
    internal import RegnumSystem
    internal import Synchronization
    internal import Tracing

    final class OperationRecorder: OperationObserver {
        let options: RealmObservability.Options
        let collector: MetricsCollector
        /// Nil if there is none, or if it does nothing.
        let tracer: (any Tracer)?

        init(_ options: RealmObservability.Options, _ collector: MetricsCollector) {
            self.options = options
            self.collector = collector
            let tracer = options.tracer ?? InstrumentationSystem.tracer
            self.tracer = tracer is NoOpTracer ? nil : tracer
        }

        var observesLookups: Bool { tracer != nil }

        func begin(
            _ kind: OperationKind, at place: OperationPlace, within parent: (any RunningOperation)?
        ) -> (any RunningOperation)? {
            let operation = RecordedOperation(self, kind, place, (parent as? RecordedOperation)?.span)
            operation.logBeginning()
            return operation
        }

        /// Starts a span that began the given time ago.
        func startSpan(
            _ name: String, nanosecondsAgo age: UInt64 = 0, within parent: (any Tracing.Span)?
        ) -> (any Tracing.Span)? {
            guard let tracer else { return nil }
            let instant = DefaultTracerClock.Timestamp(
                nanosecondsSinceEpoch: DefaultTracerClock.now.nanosecondsSinceEpoch &- age)
            guard let parent else { return tracer.startSpan(name, at: instant) }
            return tracer.startSpan(name, context: parent.context, at: instant)
        }
    }

    /// One operation. Sendable: its parts are constants, or atomic.
    final class RecordedOperation: RunningOperation {
        private let recorder: OperationRecorder
        private let kind: OperationKind
        private let place: OperationPlace
        /// `MonotonicClock` time.
        private let beginning: UInt64
        /// The span of an operation that contains others.
        let span: (any Tracing.Span)?
        private let parent: (any Tracing.Span)?
        private let hasEnded = Atomic(false)

        init(
            _ recorder: OperationRecorder, _ kind: OperationKind, _ place: OperationPlace,
            _ parent: (any Tracing.Span)?
        ) {
            self.recorder = recorder
            self.kind = kind
            self.place = place
            self.parent = parent
            beginning = if case .waiting(let since) = kind { since } else { MonotonicClock.now() }
            span = kind.spanName.flatMap { recorder.startSpan($0, within: parent) }
        }

        /// An abandoned transaction is rolled back without a report.
        deinit { if !hasEnded.load(ordering: .relaxed) { span?.end() } }

        private var logger: Logging.Logger? { recorder.options.logger }
        private var age: UInt64 { MonotonicClock.now() &- beginning }

        // MARK: Beginning

        func logBeginning() {
            switch kind {
            case .migration(let from, let to):
                logger?.info(
                    "Migration begins", metadata: metadata(["regnum.from": "\(from)", "regnum.to": "\(to)"]))
            case .waiting:
                let limit = recorder.options.blockedWriter.nanoseconds
                watch(after: limit - min(age, limit), again: limit)
            case .opening, .transaction, .query: break
            }
        }

        /// Logs that the thread is still waiting, after the given time from now, and again at intervals that begin with
        /// `interval` and double.
        private func watch(after nanoseconds: UInt64, again interval: UInt64) {
            guard let logger else { return }
            let delay = DispatchTimeInterval.nanoseconds(Int(clamping: nanoseconds))
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
                guard let self, !self.hasEnded.load(ordering: .relaxed) else { return }
                let holder = self.place.file?.writer.map { "\($0)" } ?? "unknown"
                OperationHook.reporting {
                    logger.warning(
                        "A write waits for the writer lock", metadata: self.metadata(["regnum.holder": "\(holder)"]))
                }
                // At most a day, so that it does not overflow.
                let next = min(max(interval, 1_000_000), 86_400_000_000_000)
                self.watch(after: next, again: next * 2)
            }
        }

        // MARK: End

        func end(_ outcome: OperationOutcome) {
            if hasEnded.exchange(true, ordering: .relaxed) { return }
            let duration = age
            OperationHook.reporting { report(outcome, duration) }
        }

        private func report(_ outcome: OperationOutcome, _ duration: UInt64) {
            switch outcome {
            case .opened(let version, let file):
                // Realms of further threads are not worth a line in most logs.
                let level: Logging.Logger.Level = recorder.collector.announce(file) ? .info : .debug
                // A file may have no schema version yet.
                let version = version == .max ? "none" : "\(version)"
                logger?.log(
                    level: level, "Opened", metadata: metadata(["regnum.schema_version": "\(version)"], duration))
                finish(span, "opened")
            case .migrated:
                logger?.notice("Migrated", metadata: metadata([:], duration))
                finish(span, "migrated")
            case .committed: endTransaction("committed", duration)
            case .rolledBack: endTransaction("rolled back", duration)
            case .queried(let report): endQuery(report, duration)
            case .waited:
                let span = recorder.startSpan("regnum wait", nanosecondsAgo: duration, within: parent)
                finish(span, "waited")
            case .failed(let error):
                let shown = OperationOutcome.shown(error, showsValues: recorder.options.showsValues)
                logger?.error("\(kind.failure)", metadata: metadata(["regnum.error": "\(shown)"], duration))
                span?.recordError(shown)
                span?.setStatus(SpanStatus(code: .error))
                finish(span, "failed")
            }
        }

        private func endTransaction(_ outcome: String, _ duration: UInt64) {
            if duration >= recorder.options.slowWrite.nanoseconds {
                logger?.warning("Slow write", metadata: metadata(["regnum.outcome": "\(outcome)"], duration))
            }
            finish(span, outcome)
        }

        private func endQuery(_ report: QueryReport, _ duration: UInt64) {
            let isSlow = duration >= recorder.options.slowQuery.nanoseconds
            if !isSlow, recorder.tracer == nil { return }
            let span = recorder.startSpan("regnum query", nanosecondsAgo: duration, within: parent)
            if !isSlow, span?.isRecording == false {
                span?.end()
                return
            }
            let plan = report.plan()
            if isSlow {
                var values: Logging.Logger.Metadata = [
                    "regnum.class": "\(plan.className)", "regnum.plan": "\(plan.way)",
                    "regnum.estimated_objects": "\(plan.estimatedRows)",
                ]
                if let found = plan.foundRows { values["regnum.found_objects"] = "\(found)" }
                if recorder.options.showsValues { values["regnum.conditions"] = "\(plan.conditions)" }
                logger?.warning("Slow query", metadata: metadata(values, duration))
            }
            guard let span else { return }
            var attributes = span.attributes
            attributes["db.collection.name"] = plan.className
            attributes["regnum.plan"] = plan.way
            attributes["regnum.estimated_objects"] = plan.estimatedRows
            if let found = plan.foundRows { attributes["regnum.found_objects"] = found }
            if recorder.options.showsValues { attributes["db.query.text"] = plan.conditions }
            span.attributes = attributes
            finish(span, nil)
        }

        /// Adds the attributes of all spans, and ends the span.
        private func finish(_ span: (any Tracing.Span)?, _ outcome: String?) {
            guard let span else { return }
            if span.isRecording {
                var attributes = span.attributes
                attributes["db.system.name"] = "regnum"
                attributes["db.namespace"] = place.name
                if let openedAt = place.openedAt { attributes["regnum.opened_at"] = openedAt }
                if let outcome { attributes["regnum.outcome"] = outcome }
                if case .migration(let from, let to) = kind {
                    attributes["regnum.from"] = Int(clamping: from)
                    attributes["regnum.to"] = Int(clamping: to)
                }
                span.attributes = attributes
            }
            span.end()
        }

        private func metadata(
            _ values: Logging.Logger.Metadata, _ duration: UInt64? = nil
        ) -> Logging.Logger.Metadata {
            var values = values
            values["regnum.file"] = "\(place.name)"
            if let openedAt = place.openedAt { values["regnum.opened_at"] = "\(openedAt)" }
            values["regnum.milliseconds"] = "\(Double((duration ?? age) / 1000) / 1000)"
            return values
        }
    }

    extension OperationKind {
        /// The name of the span; nil if it is made at the end of the operation.
        fileprivate var spanName: String? {
            switch self {
            case .opening: "regnum open"
            case .migration: "regnum migrate"
            case .transaction: "regnum write"
            case .query, .waiting: nil
            }
        }

        /// The message of a failure.
        fileprivate var failure: String {
            switch self {
            case .opening: "Opening failed"
            case .migration: "Migration failed"
            case .transaction: "Write failed"
            case .query: "Query failed"
            case .waiting: "Waiting failed"
            }
        }
    }

    extension QueryReport.Plan {
        /// How the objects were found, as `explain()` words it.
        fileprivate var way: String {
            if indexes.isEmpty { return "scan" }
            return (isAnsweredByIndex ? "only index on " : "index on ") + indexes.joined(separator: ", ")
        }
    }

    extension Duration {
        /// Not negative, and at most `UInt64.max`.
        var nanoseconds: UInt64 {
            let (seconds, attoseconds) = components
            if seconds < 0 || attoseconds < 0 { return 0 }
            let (whole, overflows) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
            return overflows ? .max : whole &+ UInt64(attoseconds / 1_000_000_000)
        }
    }
#endif
