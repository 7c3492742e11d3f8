// SPDX-License-Identifier: Apache-2.0
// The logs, metrics and spans of RealmObservability. The suite is serial: the process has one observer.

#if Observability
    import Dispatch
    import Foundation
    import InMemoryLogging
    import InMemoryTracing
    import Logging
    import MetricsTestKit
    import RealmSwift
    import RegnumObservability
    import Testing
    import Tracing

    private struct Refusal: Error {}

    @Suite("Logs, metrics and traces", .serialized)
    struct ObservabilityTests {
        @Test("The first opening of a file is logged; each has a span, unless the thread has the Realm open already")
        func opening() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                let again = try stage.open()
                #expect(again == realm)
                let configuration = stage.configuration
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    _ = try? Realm(configuration: configuration)
                    done.signal()
                }
                done.wait()
                #expect(stage.spans("regnum open").count == 2)
                // The log shows messages from info on.
                let entries = stage.entries("Opened")
                #expect(entries.count == 1)
                #expect(entries.first?.level == .info)
                #expect(entries.first?.text("schema_version") == "0")
                #expect(entries.first?.text("opened_at").contains("Stage.swift:") == true)
                let span = try #require(stage.spans("regnum open").first)
                #expect(span.text("regnum.outcome") == "opened")
                #expect(span.text("db.system.name") == "regnum")
            }
        }

        @Test("An opening that fails is logged as an error, and its span has the error")
        func failedOpening() throws {
            try Stage.run { stage in
                var configuration = stage.configuration
                configuration.readOnly = true
                #expect(throws: (any Error).self) { try Realm(configuration: configuration) }
                #expect(stage.entries("Opening failed").first?.level == .error)
                let span = try #require(stage.spans("regnum open").first)
                #expect(span.errors.count == 1)
                #expect(span.status?.code == .error)
            }
        }

        @Test("A migration is logged with its versions, within the span of the opening")
        func migration() throws {
            try Stage.run { stage in
                try autoreleasepool { _ = try stage.open() }
                var configuration = stage.configuration
                configuration.schemaVersion = 3
                _ = try Realm(configuration: configuration)
                #expect(stage.entries("Migration begins").first?.text("from") == "0")
                #expect(stage.entries("Migrated").first?.level == .notice)
                let migration = try #require(stage.spans("regnum migrate").first)
                let opening = try #require(stage.spans("regnum open").last)
                #expect(migration.parentSpanID == opening.spanID)
                #expect(migration.attributes.get("regnum.to") == .int64(3))
            }
        }

        @Test("Slow writes are logged with their outcome; others only have a span")
        func writes() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                try realm.write { realm.add(Walker()) }
                #expect(stage.entries("Slow write").isEmpty)
                #expect(stage.spans("regnum write").map { $0.text("regnum.outcome") } == ["committed"])
            }
            try Stage.run({ $0.slowWrite = .zero }) { stage in
                let realm = try stage.open()
                try realm.write { realm.add(Walker()) }
                #expect(throws: Refusal.self) { try realm.write { throw Refusal() } }
                realm.beginWrite()
                realm.cancelWrite()
                let outcomes = stage.entries("Slow write").map { $0.text("outcome") }
                #expect(outcomes == ["committed", "rolled back", "rolled back"])
                #expect(stage.spans("regnum write").count == 3)
            }
        }

        @Test("An asynchronous write ends when it is durable")
        func asynchronousWrite() throws {
            let queue = DispatchQueue(label: "observability")
            try Stage.run { stage in
                let written = DispatchSemaphore(value: 0)
                try queue.sync {
                    let realm = try Realm(configuration: stage.configuration, queue: queue)
                    realm.writeAsync({ realm.add(Walker()) }, onComplete: { _ in written.signal() })
                }
                written.wait()
                #expect(stage.spans("regnum write").map { $0.text("regnum.outcome") } == ["committed"])
            }
        }

        @Test("A query has a span with its plan, within the transaction that it is a part of")
        func queries() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                try realm.write { for id in 0..<10 { realm.add(Walker(value: ["id": id, "age": id])) } }
                #expect(realm.objects(Walker.self).where { $0.age > 5 }.count == 4)
                #expect(realm.objects(Walker.self).where { $0.name == "none" }.isEmpty)
                try realm.write {
                    #expect(realm.objects(Walker.self).where { $0.age > 6 }.count == 3)
                }
                let spans = stage.spans("regnum query")
                #expect(spans.count == 3)
                #expect(spans.map { $0.text("regnum.plan") } == ["scan", "only index on name", "scan"])
                #expect(spans.map { $0.text("db.collection.name") } == ["Walker", "Walker", "Walker"])
                #expect(spans.first?.attributes.get("regnum.found_objects") == .int64(4))
                let write = try #require(stage.spans("regnum write").last)
                #expect(spans.last?.parentSpanID == write.spanID)
                #expect(spans.first?.parentSpanID == nil)
                #expect(spans.map { $0.text("db.query.text") } == ["", "", ""])
                #expect(stage.entries("Slow query").isEmpty)
            }
        }

        @Test("Slow queries are logged with their plan, with the conditions only if asked for")
        func slowQueries() throws {
            for shows in [false, true] {
                try Stage.run({ options in
                    options.slowQuery = .zero
                    options.showsValues = shows
                }) { stage in
                    let realm = try stage.open()
                    _ = realm.objects(Walker.self).where { $0.age == 4711 }.count
                    let entry = try #require(stage.entries("Slow query").first)
                    #expect(entry.level == .warning)
                    #expect(entry.text("class") == "Walker")
                    #expect(entry.text("plan") == "scan")
                    #expect(entry.text("found_objects") == "0")
                    #expect(entry.text("conditions").contains("4711") == shows)
                }
            }
        }

        @Test("A blocked writer is logged with the holder of the lock, and its wait has a span")
        func blockedWriter() throws {
            try Stage.run({ $0.blockedWriter = .milliseconds(5) }) { stage in
                let realm = try stage.open()
                let configuration = stage.configuration
                let done = DispatchSemaphore(value: 0)
                realm.beginWrite()
                Thread.detachNewThread {
                    _ = try? Realm(configuration: configuration).write {}
                    done.signal()
                }
                Stage.wait { !stage.entries("A write waits for the writer lock").isEmpty }
                let entry = try #require(stage.entries("A write waits for the writer lock").first)
                #expect(entry.level == .warning)
                #expect(entry.text("holder").contains("in the Realm opened at RegnumObservabilityTests/Stage.swift:"))
                #expect(entry.text("opened_at").contains("ObservabilityTests.swift:"))
                #expect(realm.statistics.blockedWriters.count == 1)
                realm.cancelWrite()
                done.wait()
                #expect(stage.spans("regnum wait").count == 1)
                #expect(realm.statistics.blockedWriters.isEmpty)
            }
        }

        @Test("An old version that is kept is logged once, with the line that opened its Realm")
        func oldPins() throws {
            try Stage.run({ $0.oldPin = .zero }) { stage in
                let realm = try stage.open()
                let frozen = realm.freeze()
                RealmObservability.collect()
                #expect(stage.entries("An old version is kept").isEmpty)
                try realm.write { realm.add(Walker()) }
                RealmObservability.collect()
                RealmObservability.collect()
                let entries = stage.entries("An old version is kept")
                #expect(entries.count == 1)
                #expect(entries.first?.text("pin").contains("by a frozen copy of the Realm opened at") == true)
                withExtendedLifetime(frozen) {}
            }
        }

        @Test("Counters and gauges agree with the statistics, and go on when the file is opened again")
        func metrics() throws {
            try Stage.run { stage in
                var name = ""
                var commits = 0
                try autoreleasepool {
                    let realm = try stage.open()
                    for id in 0..<5 { try realm.write { realm.add(Walker(value: ["id": id])) } }
                    #expect(realm.objects(Walker.self).where { $0.age >= 0 }.count == 5)
                    RealmObservability.collect()
                    let statistics = realm.statistics
                    name = statistics.name
                    commits = statistics.commits
                    #expect(commits >= 5)
                    #expect(stage.counter("regnum_commits", of: name) == commits)
                    #expect(stage.counter("regnum_committed_bytes", of: name) == statistics.committedBytes)
                    #expect(stage.counter("regnum_syncs", of: name) == statistics.syncs)
                    #expect(stage.counter("regnum_queries", of: name) == statistics.queries)
                    #expect(stage.counter("regnum_examined_objects", of: name) == statistics.examinedObjects)
                    let size = try stage.metrics.expectRecorder("regnum_file_bytes", [("file", name)])
                    #expect(size.lastValue == Double(statistics.fileSize))
                    let pins = try stage.metrics.expectRecorder("regnum_pins", [("file", name)])
                    #expect(pins.lastValue == Double(statistics.pins))
                }
                Stage.wait {
                    RealmObservability.collect()
                    return stage.metrics.recorders(label: "regnum_pins").isEmpty
                }
                let realm = try stage.open()
                try realm.write { realm.add(Walker(value: ["id": 5])) }
                RealmObservability.collect()
                #expect(stage.counter("regnum_commits", of: name) > commits)
            }
        }

        @Test("Nothing is reported after the end")
        func stopped() throws {
            try Stage.run { stage in
                let realm = try stage.open()
                RealmObservability.stop()
                let count = (stage.log.entries.count, stage.tracer.finishedSpans.count)
                try realm.write { realm.add(Walker()) }
                #expect(realm.objects(Walker.self).where { $0.age == 0 }.count == 1)
                RealmObservability.collect()
                #expect(stage.log.entries.count == count.0)
                #expect(stage.tracer.finishedSpans.count == count.1)
            }
        }
    }
#endif
