// SPDX-License-Identifier: Apache-2.0
// The numbers that monitoring reads, as plain text in the format of Prometheus.

import Foundation
import RealmSwift

extension EntryStore {
    func metrics() async throws -> String {
        let (count, pins) = try await pool.read { realm -> (Int, [VersionPin]) in
            (realm.objects(Entry.self).count, realm.pins())
        }
        var lines: [String] = []
        func add(_ kind: String, _ name: String, _ values: [(labels: String, value: Double)]) {
            lines.append("# TYPE \(name) \(kind)")
            for (labels, value) in values { lines.append("\(name)\(labels) \(value)") }
        }
        add("gauge", "entries_count", [("", Double(count))])
        add("gauge", "entries_file_bytes", [("", Double(try Self.byteCount(of: file)))])
        add("gauge", "entries_pinned_versions", [("", Double(Set(pins.map(\.version)).count))])
        // Versions that are kept for a long time make the file grow.
        let oldest = pins.compactMap(\.since).min().map { Date().timeIntervalSince($0) } ?? 0
        add("gauge", "entries_oldest_pin_seconds", [("", oldest)])
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
