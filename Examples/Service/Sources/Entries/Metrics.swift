// SPDX-License-Identifier: Apache-2.0
// The numbers that monitoring reads, as plain text in the format of Prometheus.

import Foundation
import RealmSwift

extension EntryStore {
    /// Needs neither a reader nor the writer, so it also answers while the database is overloaded.
    func metrics() throws -> String {
        let statistics = try self.statistics()
        var lines: [String] = []
        func add(_ kind: String, _ name: String, _ values: [(labels: String, value: Double)]) {
            lines.append("# TYPE \(name) \(kind)")
            for (labels, value) in values { lines.append("\(name)\(labels) \(value)") }
        }
        add("gauge", "entries_file_bytes", [("", Double(statistics.fileSize))])
        add("gauge", "entries_free_bytes", [("", Double(statistics.freeSpace ?? 0))])
        add("gauge", "entries_pins", [("", Double(statistics.pins))])
        // A version that is kept for a long time makes the file grow, unless it is the newest one.
        let oldest = statistics.oldestPin.flatMap { $0.newerVersions > 0 ? $0.since : nil }
        add("gauge", "entries_oldest_pin_seconds", [("", oldest.map { Date().timeIntervalSince($0) } ?? 0)])
        add("counter", "entries_commits_total", [("", Double(statistics.commits))])
        let metrics = pool.metrics
        func calls(_ value: (RealmPool.Metrics.Activity) -> Double) -> [(labels: String, value: Double)] {
            [("{call=\"read\"}", value(metrics.reads)), ("{call=\"write\"}", value(metrics.writes))]
        }
        add("gauge", "entries_calls_running", calls { Double($0.running) })
        add("gauge", "entries_calls_waiting", calls { Double($0.waiting) })
        add("counter", "entries_calls_completed_total", calls { Double($0.completed) })
        add("counter", "entries_calls_failed_total", calls { Double($0.failed) })
        add("counter", "entries_calls_refused_total", calls { Double($0.refused) })
        add("counter", "entries_calls_waited_seconds_total", calls { $0.timeWaited / .seconds(1) })
        add("counter", "entries_calls_run_seconds_total", calls { $0.timeRun / .seconds(1) })
        add("counter", "entries_syncs_total", [("", Double(metrics.syncs))])
        return lines.joined(separator: "\n") + "\n"
    }
}
