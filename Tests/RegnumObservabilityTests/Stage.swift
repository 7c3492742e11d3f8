// SPDX-License-Identifier: Apache-2.0
// A log, metrics and a tracer in memory, to which RealmObservability reports while a test runs, and a file for the
// test.

#if Observability
    import Foundation
    import InMemoryLogging
    import InMemoryTracing
    import Logging
    import MetricsTestKit
    import RealmSwift
    import RegnumObservability
    import Tracing

    class Walker: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: true) var name = ""
        @Persisted var age = 0
    }

    struct Stage {
        let log = InMemoryLogHandler()
        let metrics = TestMetrics()
        let tracer = InMemoryTracer()
        let configuration: Realm.Configuration

        /// Runs `body` with a new file in a folder that is removed afterwards. By default nothing is slow, nothing is
        /// old, and metrics are sent on request only.
        static func run(
            _ change: (inout RealmObservability.Options) -> Void = { _ in }, _ body: (Stage) throws -> Void
        ) throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-" + UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let stage = Stage(
                configuration: Realm.Configuration(
                    fileURL: folder.appendingPathComponent("a.realm"), objectTypes: [Walker.self]))
            let handler = stage.log
            var options = RealmObservability.Options(logger: Logging.Logger(label: "test") { _ in handler })
            options.metrics = stage.metrics
            options.tracer = stage.tracer
            options.interval = .zero
            options.slowQuery = .seconds(86_400)
            options.slowWrite = .seconds(86_400)
            options.blockedWriter = .seconds(86_400)
            options.oldPin = .seconds(86_400)
            change(&options)
            RealmObservability.start(options)
            defer { RealmObservability.stop() }
            try body(stage)
        }

        func open() throws -> Realm { try Realm(configuration: configuration) }

        /// The log entries with this message.
        func entries(_ message: String) -> [InMemoryLogHandler.Entry] {
            log.entries.filter { $0.message.description == message }
        }

        /// The finished spans with this name.
        func spans(_ name: String) -> [FinishedInMemorySpan] {
            tracer.finishedSpans.filter { $0.operationName == name }
        }

        /// The sum of a counter of the file.
        func counter(_ label: String, of name: String) -> Int {
            Int(metrics.counterTotal(label: label, dimensions: [("file", name)]))
        }

        /// Waits until the condition holds, for hours if need be.
        static func wait(until isTrue: () -> Bool) {
            while !isTrue() { Thread.sleep(forTimeInterval: 0.01) }
        }
    }

    extension InMemoryLogHandler.Entry {
        /// A value of the metadata as text.
        func text(_ key: String) -> String { metadata["regnum." + key].map { "\($0)" } ?? "" }
    }

    extension FinishedInMemorySpan {
        /// A text among the attributes.
        func text(_ key: String) -> String {
            if case .string(let text)? = attributes.get(key) { text } else { "" }
        }
    }
#endif
