// SPDX-License-Identifier: Apache-2.0
// Reads the statistics of all open files from time to time, sends them as metrics, and logs versions that are kept for
// a long time. So metrics cost the operations nothing.
//
//     open ──▶ closed ──▶ forgotten      counts are sent twice after the file was closed, because commits may become
//                                        durable while it is being closed

#if Observability
    internal import CoreMetrics
    internal import Dispatch
    internal import Foundation
    internal import Logging
    internal import Regnum
    internal import RegnumSystem
    internal import Synchronization

    /// Thread-safe.
    final class MetricsCollector: Sendable {
        private struct Known {
            let file: OpenFile
            /// The counts that were sent.
            var sent = RealmStatistics.Totals()
            /// Nil before the first time, and after the file was closed.
            var gauges: FileGauges?
            var isClosed = false
            /// True if the opening of the file was logged, or was before the start.
            var isAnnounced = false
        }

        /// A version that is kept by the same holder.
        private struct PinKey: Hashable {
            let file: ObjectIdentifier
            let version: UInt64
            let text: String
        }

        private struct PinNote {
            /// `MonotonicClock` time at which it was first seen.
            let since: UInt64
            var isLogged = false
        }

        private struct State {
            var known: [ObjectIdentifier: Known] = [:]
            /// By name: a file that is opened again continues its counters.
            var counters: [String: FileCounters] = [:]
            var pins: [PinKey: PinNote] = [:]
        }

        private let options: RealmObservability.Options
        private let factory: any MetricsFactory
        private let state = Lock(State())
        private let isStopped = Atomic(false)

        init(_ options: RealmObservability.Options) {
            self.options = options
            factory = options.metrics ?? MetricsSystem.factory
        }

        /// Collects at each interval until `stop`.
        func begin() {
            // Counts of operations before the start are not sent.
            state.withLock { state in
                for file in OpenFile.all where state.known[file.id] == nil {
                    state.known[file.id] = Known(file: file, sent: file.totals, isAnnounced: true)
                }
            }
            if options.interval > .zero { collectLater() }
        }

        private func collectLater() {
            let delay = DispatchTimeInterval.nanoseconds(Int(clamping: options.interval.nanoseconds))
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
                guard let self, !self.isStopped.load(ordering: .relaxed) else { return }
                self.collect()
                self.collectLater()
            }
        }

        func stop() {
            if isStopped.exchange(true, ordering: .relaxed) { return }
            collect()
            state.withLock { state in
                for known in state.known.values { known.gauges?.destroy() }
                for counters in state.counters.values { counters.destroy() }
                state = State()
            }
        }

        /// Remembers a file that was opened, so that its counts are sent even if it is closed soon.
        func note(_ file: OpenFile) {
            state.withLock { state in
                if state.known[file.id] == nil { state.known[file.id] = Known(file: file) }
            }
        }

        /// Returns true for the first opening of a Realm of a file.
        func announce(_ file: OpenFile) -> Bool {
            note(file)
            return state.withLock { state in
                let isFirst = state.known[file.id]?.isAnnounced == false
                state.known[file.id]?.isAnnounced = true
                return isFirst
            }
        }

        func collect() {
            for file in OpenFile.all { note(file) }
            let files = state.withLock { $0.known.values.map(\.file) }
            // Not under the lock: this reads files.
            for file in files { send(file, file.statistics) }
            logPins(of: files)
        }

        private func send(_ file: OpenFile, _ statistics: RealmStatistics?) {
            let totals = statistics?.totals ?? file.totals
            state.withLock { state in
                guard var known = state.known[file.id] else { return }
                let counters = state.counters[file.name] ?? FileCounters(file.name, factory)
                state.counters[file.name] = counters
                counters.add(totals, since: known.sent)
                known.sent = totals
                if let statistics {
                    let gauges = known.gauges ?? FileGauges(file.name, factory)
                    gauges.record(statistics)
                    known.gauges = gauges
                } else {
                    known.gauges?.destroy()
                    known.gauges = nil
                }
                let isForgotten = statistics == nil && known.isClosed
                known.isClosed = statistics == nil
                state.known[file.id] = isForgotten ? nil : known
            }
        }

        // MARK: Old versions

        private func logPins(of files: [OpenFile]) {
            guard let logger = options.logger else { return }
            let now = MonotonicClock.now()
            var found: [PinKey: (pin: VersionPin, name: String)] = [:]
            for file in files {
                // A version that is the newest one costs nothing.
                for pin in file.pins where pin.newerVersions > 0 {
                    found[PinKey(file: file.id, version: pin.version, text: pin.place)] = (pin, file.name)
                }
            }
            let old = state.withLock { state in
                state.pins = state.pins.filter { found[$0.key] != nil }
                var old: [(pin: VersionPin, name: String)] = []
                for (key, holder) in found {
                    var note = state.pins[key] ?? PinNote(since: now &- holder.pin.nanosecondsKept)
                    if !note.isLogged, now &- note.since >= options.oldPin.nanoseconds {
                        note.isLogged = true
                        old.append(holder)
                    }
                    state.pins[key] = note
                }
                return old
            }
            for (pin, name) in old {
                logger.warning(
                    "An old version is kept",
                    metadata: ["regnum.file": "\(name)", "regnum.pin": "\(pin)", "regnum.version": "\(pin.version)"])
            }
        }
    }

    extension VersionPin {
        /// Distinguishes holders of the same version.
        fileprivate var place: String { "\(holder) \(processIdentifier) \(fileID ?? "") \(line ?? 0)" }

        /// 0 for another process: the collector counts from the moment at which it sees the pin.
        fileprivate var nanosecondsKept: UInt64 {
            guard let since else { return 0 }
            return UInt64(max(0, -since.timeIntervalSinceNow) * 1e9)
        }
    }

    /// Counters of a file, over all of its openings.
    private final class FileCounters {
        private let commits, bytes, rollbacks, failures, syncs, syncTime, queries, objects, waits, waitTime: Counter

        init(_ name: String, _ factory: any MetricsFactory) {
            func counter(_ label: String) -> Counter {
                Counter(label: "regnum_" + label, dimensions: [("file", name)], factory: factory)
            }
            commits = counter("commits")
            bytes = counter("committed_bytes")
            rollbacks = counter("rollbacks")
            failures = counter("failed_commits")
            syncs = counter("syncs")
            syncTime = counter("sync_nanoseconds")
            queries = counter("queries")
            objects = counter("examined_objects")
            waits = counter("writer_waits")
            waitTime = counter("writer_wait_nanoseconds")
        }

        private var all: [Counter] {
            [commits, bytes, rollbacks, failures, syncs, syncTime, queries, objects, waits, waitTime]
        }

        func add(_ totals: RealmStatistics.Totals, since sent: RealmStatistics.Totals) {
            func add(_ amount: Int, to counter: Counter) { if amount > 0 { counter.increment(by: amount) } }
            func add(_ duration: Duration, to counter: Counter) {
                let amount = duration.nanoseconds
                if amount > 0 { counter.increment(by: Int64(clamping: amount)) }
            }
            add(totals.commits - sent.commits, to: commits)
            add(totals.committedBytes - sent.committedBytes, to: bytes)
            add(totals.rollbacks - sent.rollbacks, to: rollbacks)
            add(totals.failedCommits - sent.failedCommits, to: failures)
            add(totals.syncs - sent.syncs, to: syncs)
            add(totals.syncTime - sent.syncTime, to: syncTime)
            add(totals.queries - sent.queries, to: queries)
            add(totals.examinedObjects - sent.examinedObjects, to: objects)
            add(totals.waits - sent.waits, to: waits)
            add(totals.waitTime - sent.waitTime, to: waitTime)
        }

        func destroy() { for counter in all { counter.destroy() } }
    }

    /// Gauges of an open file.
    private final class FileGauges {
        private let fileSize, freeSpace, pins, oldest, blocked: Gauge

        init(_ name: String, _ factory: any MetricsFactory) {
            func gauge(_ label: String) -> Gauge {
                Gauge(label: "regnum_" + label, dimensions: [("file", name)], factory: factory)
            }
            fileSize = gauge("file_bytes")
            freeSpace = gauge("free_bytes")
            pins = gauge("pins")
            oldest = gauge("oldest_pin_versions")
            blocked = gauge("blocked_writers")
        }

        func record(_ statistics: RealmStatistics) {
            fileSize.record(statistics.fileSize)
            if let free = statistics.freeSpace { freeSpace.record(free) }
            pins.record(statistics.pins)
            oldest.record(Int64(clamping: statistics.oldestPin?.newerVersions ?? 0))
            blocked.record(statistics.blockedWriters.count)
        }

        func destroy() { for gauge in [fileSize, freeSpace, pins, oldest, blocked] { gauge.destroy() } }
    }
#endif
