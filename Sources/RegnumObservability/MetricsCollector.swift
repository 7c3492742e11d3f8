// SPDX-License-Identifier: Apache-2.0
// Reads the statistics of all open files from time to time, sends them as metrics, and logs versions that are kept for
// a long time. So metrics cost the operations nothing. Each increase of a count is taken under the lock, by one
// collection, and sent without it: the receivers are code of the program, and may use Realms. `PoolCollector.swift`
// does the same for pools.

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
        struct KnownFile {
            let file: OpenFile
            /// The counts that were sent, or are being sent.
            var sent = RealmStatistics.Totals()
            /// False when the file is being closed.
            var isOpen = true
            /// True if the opening of the file was logged, or was before the start.
            var isAnnounced = false
        }

        /// The counts that a collector has sent, with which the next one goes on.
        struct Sent {
            var files: [ObjectIdentifier: KnownFile] = [:]
            var pools: [ObjectIdentifier: PoolCollector.KnownPool] = [:]
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
            var known: [ObjectIdentifier: KnownFile] = [:]
            /// By name: a file that is opened again continues its metrics.
            var counters: [String: FileCounters] = [:]
            var gauges: [String: FileGauges] = [:]
            var pins: [PinKey: PinNote] = [:]
            var isStopped = false

            /// Adds a file, unless it was closed: then its counts may have been sent.
            mutating func add(_ file: OpenFile, isAnnounced: Bool = false) {
                if isStopped || known[file.id] != nil || file.isClosed { return }
                known[file.id] = KnownFile(file: file, isAnnounced: isAnnounced)
            }
        }

        private let options: RealmObservability.Options
        private let factory: any MetricsFactory
        private let pools: PoolCollector
        private let state = Lock(State())
        /// Written with the lock held: true from `begin` to `stop`.
        private let isRunning = Atomic(false)

        init(_ options: RealmObservability.Options) {
            self.options = options
            factory = options.metrics ?? MetricsSystem.factory
            pools = PoolCollector(factory)
        }

        /// Collects at each interval until `stop`. Goes on after the counts that the former collector has sent, if
        /// there is one. Counts of operations before the first start are not sent.
        func begin(after former: MetricsCollector?) {
            let sent = former?.stop()
            let files = OpenFile.all
            pools.begin(after: sent?.pools)
            state.withLock { state in
                if state.isStopped { return }
                for (id, known) in sent?.files ?? [:] { state.known[id] = known }
                for file in files where sent == nil && state.known[file.id] == nil {
                    state.add(file, isAnnounced: true)
                    state.known[file.id]?.sent = file.totals
                }
                isRunning.store(true, ordering: .releasing)
            }
            if options.interval > .zero { collectLater() }
        }

        private func collectLater() {
            let delay = DispatchTimeInterval.nanoseconds(Int(clamping: options.interval.nanoseconds))
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
                guard let self, self.isRunning.load(ordering: .relaxed) else { return }
                self.collect()
                self.collectLater()
            }
        }

        /// Sends the counts once more. Returns the counts that were sent.
        @discardableResult
        func stop() -> Sent {
            collect()
            let last = state.withLock { state in
                isRunning.store(false, ordering: .relaxed)
                let last = state
                state = State()
                state.isStopped = true
                return last
            }
            for gauges in last.gauges.values { gauges.destroy() }
            for counters in last.counters.values { counters.destroy() }
            return Sent(files: last.known, pools: pools.stop())
        }

        /// Remembers a file that was opened, so that its counts are sent even if it is closed soon. Returns true for
        /// the first opening of a Realm of the file.
        func announce(_ file: OpenFile) -> Bool {
            state.withLock { state in
                state.add(file)
                let isFirst = state.known[file.id]?.isAnnounced == false
                state.known[file.id]?.isAnnounced = true
                return isFirst
            }
        }

        /// Does nothing before `begin`, when it does not know yet which counts were sent, and after `stop`.
        func collect() {
            if !isRunning.load(ordering: .acquiring) { return }
            let open = OpenFile.all
            let files = state.withLock { state in
                for file in open { state.add(file) }
                return state.known.values.map(\.file)
            }
            for file in files { send(file) }
            destroyUnused()
            pools.collect()
            logPins(of: files)
        }

        private func send(_ file: OpenFile) {
            let statistics = file.statistics
            let isClosed = file.isClosed
            let due = state.withLock { state -> (totals: RealmStatistics.Totals, sent: RealmStatistics.Totals)? in
                guard var known = state.known[file.id] else { return nil }
                // Read here, so that they never fall behind those of another collection.
                let totals = file.totals
                let sent = known.sent
                known.sent = totals
                known.isOpen = statistics != nil
                state.known[file.id] = isClosed ? nil : known
                return (totals, sent)
            }
            guard let due else { return }
            metrics(\.counters, of: file) { FileCounters(file.name, factory) }.add(due.totals, since: due.sent)
            if let statistics { metrics(\.gauges, of: file) { FileGauges(file.name, factory) }.record(statistics) }
        }

        /// Returns the metrics of a file, made if necessary.
        private func metrics<Metrics>(
            _ path: WritableKeyPath<State, [String: Metrics]>, of file: OpenFile, _ make: () -> Metrics
        ) -> Metrics {
            if let known = state.withLock({ $0[keyPath: path][file.name] }) { return known }
            let made = make()
            return state.withLock { state in
                // Factories return the same metric for the same name, so those that were made twice are not destroyed.
                if let known = state[keyPath: path][file.name] { return known }
                if !state.isStopped { state[keyPath: path][file.name] = made }
                return made
            }
        }

        /// Destroys the gauges of names that no open file has. Not those of a file that was closed and opened again.
        private func destroyUnused() {
            let unused = state.withLock { state in
                let open = Set(state.known.values.filter(\.isOpen).map(\.file.name))
                let unused = state.gauges.filter { !open.contains($0.key) }
                for name in unused.keys { state.gauges[name] = nil }
                return unused
            }
            for gauges in unused.values { gauges.destroy() }
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
                OperationHook.reporting {
                    logger.warning(
                        "An old version is kept",
                        metadata: [
                            "regnum.file": "\(name)", "regnum.pin": "\(pin)", "regnum.version": "\(pin.version)",
                        ])
                }
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
