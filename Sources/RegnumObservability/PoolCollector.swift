// SPDX-License-Identifier: Apache-2.0
// Reads the counts of all open pools from time to time, and sends them as metrics: see `MetricsCollector`.

#if Observability
    internal import CoreMetrics
    internal import Regnum
    internal import RegnumSystem

    /// Thread-safe.
    final class PoolCollector: Sendable {
        typealias Activity = RealmPool.Metrics.Activity

        struct KnownPool {
            let pool: OpenPool
            /// The counts that were sent, or are being sent.
            var reads = Activity()
            var writes = Activity()
        }

        private struct Key: Hashable {
            let file: String
            let call: String
        }

        /// The increases since the last collection, and the current states, of all pools of a file.
        private struct Due {
            var increase = Activity()
            var running = 0
            var waiting = 0

            mutating func add(_ now: Activity, since sent: Activity) {
                increase.completed += now.completed - sent.completed
                increase.failed += now.failed - sent.failed
                increase.cancelled += now.cancelled - sent.cancelled
                increase.refused += now.refused - sent.refused
                increase.timeWaited += now.timeWaited - sent.timeWaited
                increase.timeRun += now.timeRun - sent.timeRun
                running += now.running
                waiting += now.waiting
            }
        }

        private struct State {
            /// True from `begin` to `stop`. Before, it is not known which counts were sent.
            var isRunning = false
            var known: [ObjectIdentifier: KnownPool] = [:]
            /// A pool of the same file that is opened later continues its metrics.
            var metrics: [Key: CallMetrics] = [:]
        }

        private let factory: any MetricsFactory
        private let state = Lock(State())

        init(_ factory: any MetricsFactory) { self.factory = factory }

        /// Goes on after the counts that a former collector has sent; nil: after those of this moment.
        func begin(after sent: [ObjectIdentifier: KnownPool]?) {
            let open = OpenPool.all
            state.withLock { state in
                state.isRunning = true
                state.known = sent ?? [:]
                for pool in open where sent == nil {
                    state.known[pool.id] = KnownPool(pool: pool, reads: pool.reads, writes: pool.writes)
                }
            }
        }

        func collect() {
            let open = OpenPool.all
            let due = state.withLock { state -> [Key: Due] in
                if !state.isRunning { return [:] }
                for pool in open where state.known[pool.id] == nil { state.known[pool.id] = KnownPool(pool: pool) }
                var due: [Key: Due] = [:]
                for (id, known) in state.known {
                    let (reads, writes) = (known.pool.reads, known.pool.writes)
                    due[Key(file: known.pool.name, call: "read"), default: Due()].add(reads, since: known.reads)
                    due[Key(file: known.pool.name, call: "write"), default: Due()].add(writes, since: known.writes)
                    state.known[id] = KnownPool(pool: known.pool, reads: reads, writes: writes)
                }
                // The counts of a pool that is closed are final.
                let ids = Set(open.map(\.id))
                state.known = state.known.filter { ids.contains($0.key) }
                return due
            }
            for (key, due) in due { metrics(key).send(due.increase, running: due.running, waiting: due.waiting) }
        }

        /// Returns the metrics of a kind of calls, made if necessary.
        private func metrics(_ key: Key) -> CallMetrics {
            if let known = state.withLock({ $0.metrics[key] }) { return known }
            let made = CallMetrics([("file", key.file), ("call", key.call)], factory)
            return state.withLock { state in
                if let known = state.metrics[key] { return known }
                state.metrics[key] = made
                return made
            }
        }

        /// Returns the counts that were sent.
        func stop() -> [ObjectIdentifier: KnownPool] {
            let last = state.withLock { state in
                let last = state
                state = State()
                return last
            }
            for metrics in last.metrics.values { metrics.destroy() }
            return last.known
        }
    }

    /// Metrics of the reads, or of the writes, of the pools of a file.
    private final class CallMetrics {
        private let completed, failed, cancelled, refused, waitTime, runTime: Counter
        private let running, waiting: Gauge

        init(_ dimensions: [(String, String)], _ factory: any MetricsFactory) {
            func counter(_ label: String) -> Counter {
                Counter(label: "regnum_pool_" + label, dimensions: dimensions, factory: factory)
            }
            func gauge(_ label: String) -> Gauge {
                Gauge(label: "regnum_pool_" + label, dimensions: dimensions, factory: factory)
            }
            completed = counter("completed_calls")
            failed = counter("failed_calls")
            cancelled = counter("cancelled_calls")
            refused = counter("refused_calls")
            waitTime = counter("wait_nanoseconds")
            runTime = counter("run_nanoseconds")
            running = gauge("running_calls")
            waiting = gauge("waiting_calls")
        }

        func send(_ increase: PoolCollector.Activity, running runningCalls: Int, waiting waitingCalls: Int) {
            func add(_ amount: Int, to counter: Counter) { if amount > 0 { counter.increment(by: amount) } }
            func add(_ duration: Duration, to counter: Counter) {
                let amount = duration.nanoseconds
                if amount > 0 { counter.increment(by: Int64(clamping: amount)) }
            }
            add(increase.completed, to: completed)
            add(increase.failed, to: failed)
            add(increase.cancelled, to: cancelled)
            add(increase.refused, to: refused)
            add(increase.timeWaited, to: waitTime)
            add(increase.timeRun, to: runTime)
            running.record(runningCalls)
            waiting.record(waitingCalls)
        }

        func destroy() {
            for counter in [completed, failed, cancelled, refused, waitTime, runTime] { counter.destroy() }
            for gauge in [running, waiting] { gauge.destroy() }
        }
    }
#endif
