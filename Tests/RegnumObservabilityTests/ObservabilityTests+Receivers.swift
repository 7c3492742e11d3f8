// SPDX-License-Identifier: Apache-2.0
// What the receivers of reports may do, what they are told, and collections that meet closed files and each other.

#if Observability
    import CoreMetrics
    import Dispatch
    import Foundation
    import InMemoryTracing
    import Logging
    import MetricsTestKit
    import RealmSwift
    import RegnumObservability
    import Synchronization
    import Testing

    class Badge: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    extension Badge: UniqueConstraints {
        static var uniqueConstraints: [[String]] { [["name"]] }
    }

    /// Calls a function for each log entry.
    private struct CallingHandler: LogHandler {
        var metadata: Logging.Logger.Metadata = [:]
        var logLevel = Logging.Logger.Level.info
        let call: @Sendable () -> Void

        init(_ call: @escaping @Sendable () -> Void) { self.call = call }

        subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { call() }
    }

    /// Opens a Realm on another thread whenever it makes a counter, and waits for that.
    private final class OpeningFactory: MetricsFactory {
        let metrics = TestMetrics()
        let configuration: Realm.Configuration

        init(_ configuration: Realm.Configuration) { self.configuration = configuration }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            let isOpen = DispatchSemaphore(value: 0)
            let configuration = configuration
            Thread.detachNewThread {
                _ = try? Realm(configuration: configuration)
                isOpen.signal()
            }
            isOpen.wait()
            return metrics.makeCounter(label: label, dimensions: dimensions)
        }

        func makeRecorder(
            label: String, dimensions: [(String, String)], aggregate: Bool
        ) -> any RecorderHandler {
            metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            metrics.makeTimer(label: label, dimensions: dimensions)
        }

        func destroyCounter(_ handler: any CounterHandler) { metrics.destroyCounter(handler) }
        func destroyRecorder(_ handler: any RecorderHandler) { metrics.destroyRecorder(handler) }
        func destroyTimer(_ handler: any TimerHandler) { metrics.destroyTimer(handler) }
    }

    private struct PoolRefusal: Error {}

    /// Passes metrics on, and commits to a file when a counter is next incremented.
    private final class CommittingMetrics: MetricsFactory {
        let metrics = TestMetrics()
        private let configuration: Realm.Configuration
        private let isDue = Atomic(false)

        init(_ configuration: Realm.Configuration) { self.configuration = configuration }

        func commitsOnNextIncrement() { isDue.store(true, ordering: .relaxed) }

        fileprivate func didIncrement() {
            if !isDue.exchange(false, ordering: .relaxed) { return }
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.add(Walker(value: ["id": 2])) }
            } catch { Issue.record(error) }
        }

        private final class CommittingCounter: CounterHandler {
            private let counter: any CounterHandler
            private let owner: CommittingMetrics

            init(_ counter: any CounterHandler, _ owner: CommittingMetrics) {
                (self.counter, self.owner) = (counter, owner)
            }

            func increment(by amount: Int64) {
                counter.increment(by: amount)
                owner.didIncrement()
            }

            func reset() { counter.reset() }
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            CommittingCounter(metrics.makeCounter(label: label, dimensions: dimensions), self)
        }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            metrics.makeTimer(label: label, dimensions: dimensions)
        }

        // The totals of destroyed counters are needed.
        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }

    extension ObservabilityTests {
        /// The lock that the end of an opening needs was once held while metrics were made: this waited for itself.
        @Test("A factory of metrics may open Realms")
        func openingFactory() throws {
            let factory = OpeningFactory(
                Realm.Configuration(
                    inMemoryIdentifier: "opening-factory-" + UUID().uuidString, objectTypes: [Walker.self]))
            try Stage.run({ $0.metrics = factory }) { stage in
                let realm = try stage.open()
                RealmObservability.collect()
                let name = realm.statistics.name
                let commits = factory.metrics.counterTotal(label: "regnum_commits", dimensions: [("file", name)])
                #expect(Int(commits) == realm.statistics.commits)
            }
        }

        /// A handler that stored its entries in a Realm once reported each of its own slow writes, without end.
        @Test("A log that is stored in another Realm does not report itself")
        func storedLog() throws {
            let configuration = Realm.Configuration(
                inMemoryIdentifier: "stored-log-" + UUID().uuidString, objectTypes: [Walker.self])
            let stored = try Realm(configuration: configuration)
            let handler = CallingHandler {
                guard let log = try? Realm(configuration: configuration) else { return }
                try? log.write { log.add(Walker(value: ["id": log.objects(Walker.self).count])) }
            }
            try Stage.run({ options in
                options.slowWrite = .zero
                options.logger = Logging.Logger(label: "stored") { _ in handler }
            }) { stage in
                let realm = try stage.open()
                try realm.write { realm.add(Walker()) }
                // "Opened" and "Slow write".
                #expect(stored.objects(Walker.self).count == 2)
                #expect(stage.spans("regnum write").count == 1)
            }
        }

        /// The message of a violated constraint contains the values, and was once logged as it is.
        @Test("An error about values is reported by its reason, with the values only if asked for")
        func refusedValues() throws {
            for shows in [false, true] {
                try Stage.run({ $0.showsValues = shows }) { stage in
                    var configuration = stage.configuration
                    configuration.objectTypes = [Badge.self]
                    let realm = try Realm(configuration: configuration)
                    #expect(throws: Realm.Error.self) {
                        try realm.write {
                            for id in 0..<2 {
                                realm.add(Badge(value: ["id": id, "name": "a secret"] as [String: Any]))
                            }
                        }
                    }
                    let logged = try #require(stage.entries("Write failed").first).text("error")
                    let error = try #require(stage.spans("regnum write").first?.errors.first?.error)
                    #expect(logged == "\(error)")
                    #expect(logged.contains("a secret") == shows)
                    #expect(shows || logged == "refused: duplicateValues")
                }
            }
        }

        /// The gauges of the former opening were once destroyed after those of the new one had been made, which are the
        /// same in the eyes of the factory.
        @Test("A file that is closed and opened again between two collections keeps its gauges")
        func reopened() throws {
            try Stage.run { stage in
                for _ in 0..<8 {
                    var name = ""
                    try autoreleasepool {
                        let realm = try stage.open()
                        name = realm.statistics.name
                        RealmObservability.collect()
                    }
                    Stage.wait { !Realm.statistics.contains { $0.name == name } }
                    let realm = try stage.open()
                    RealmObservability.collect()
                    let pins = try stage.metrics.expectRecorder("regnum_pins", [("file", name)])
                    #expect(pins.lastValue == Double(realm.statistics.pins))
                }
            }
        }

        /// Two collections once took the same increase, or one went back behind the other and sent it again.
        @Test("Collections at the same time send each count once")
        func concurrentCollections() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                let collections = DispatchGroup()
                for _ in 0..<3 {
                    DispatchQueue.global().async(group: collections) {
                        for _ in 0..<200 { RealmObservability.collect() }
                    }
                }
                for id in 0..<50 {
                    try realm.write { realm.add(Walker(value: ["id": id])) }
                    _ = realm.objects(Walker.self).where { $0.age > id }.count
                }
                collections.wait()
                RealmObservability.collect()
                let statistics = realm.statistics
                #expect(stage.counter("regnum_commits", of: statistics.name) == statistics.commits)
                #expect(stage.counter("regnum_queries", of: statistics.name) == statistics.queries)
            }
        }

        /// The new collector once began with the counts at that moment, although the former one had sent older ones.
        @Test("A restart loses no count, although operations go on between the last report and the next one")
        func restarted() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                try realm.write { realm.add(Walker()) }
                let factory = CommittingMetrics(stage.configuration)
                var options = RealmObservability.Options(logger: nil)
                options.metrics = factory
                options.tracer = stage.tracer
                options.interval = .zero
                // The collector of the stage sends the commits so far to its own factory.
                RealmObservability.start(options)
                let before = realm.statistics.commits
                try realm.write { realm.add(Walker(value: ["id": 1])) }
                // The collector that ends sends this commit; its receiver then makes another one.
                factory.commitsOnNextIncrement()
                RealmObservability.start(options)
                RealmObservability.collect()
                let statistics = realm.statistics
                #expect(statistics.commits == before + 2)
                let sent = factory.metrics.counterTotal(
                    label: "regnum_commits", dimensions: [("file", statistics.name)])
                #expect(Int(sent) == 2)
            }
        }

        @Test("The calls of pools are counted by file and kind, and their states are gauges")
        func pools() async throws {
            let metrics = TestMetrics()
            var options = RealmObservability.Options(logger: nil)
            options.metrics = metrics
            options.interval = .zero
            RealmObservability.start(options)
            defer { RealmObservability.stop() }
            let name = UUID().uuidString
            let pool = try await RealmPool(
                configuration: Realm.Configuration(inMemoryIdentifier: name, objectTypes: [Walker.self]), readers: 1)
            func calls(_ label: String, _ call: String) -> Int {
                Int(metrics.counterTotal(label: "regnum_pool_" + label, dimensions: [("file", name), ("call", call)]))
            }
            for id in 0..<3 { try await pool.write { realm in realm.add(Walker(value: ["id": id])) } }
            await #expect(throws: PoolRefusal.self) { try await pool.read { _ in throw PoolRefusal() } }
            RealmObservability.collect()
            #expect(calls("completed_calls", "write") == 3 && calls("failed_calls", "read") == 1)
            #expect(calls("run_nanoseconds", "write") > 0 && calls("completed_calls", "read") == 0)
            let dimensions = [("file", name), ("call", "read")]
            let running = try metrics.expectRecorder("regnum_pool_running_calls", dimensions)
            #expect(running.lastValue == 0)
            // The last calls are sent after the end of the pool too.
            _ = try await pool.read { realm in realm.objects(Walker.self).count }
            await pool.close()
            RealmObservability.collect()
            RealmObservability.collect()
            #expect(calls("completed_calls", "read") == 1 && calls("completed_calls", "write") == 3)
        }
    }
#endif
