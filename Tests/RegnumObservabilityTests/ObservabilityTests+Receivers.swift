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
    }
#endif
