// SPDX-License-Identifier: Apache-2.0
// The output: a readable table or one JSON object on each line.

import Foundation

/// Prints at most four digits.
func shortened(_ value: Double) -> String {
    if value == 0 { return "0" }
    if abs(value) >= 1_000 { return String(Int(value.rounded())) }
    return String(format: abs(value) >= 100 ? "%.1f" : abs(value) >= 1 ? "%.2f" : "%.4f", value)
}

/// A result with its target.
struct Verdict {
    let result: Result
    let missed: [String]

    init(_ result: Result, _ calibrations: Calibrations) {
        self.result = result
        let target = Target.all[result.workload.id]
        missed = result.differences + (target?.missed(result, calibrations) ?? [])
    }

    /// Our time divided by the reference of the target: SQLite, a calibration, or the limit itself.
    func ratio(_ calibrations: Calibrations) -> Double? {
        if let ratio = result.ratioToSQLite { return ratio }
        guard let ours = result.median(.ours), let target = Target.all[result.workload.id] else { return nil }
        return target.calibration.map { ours / calibrations.median($0.name) }
    }

    var isSlowerThanSQLite: Bool { !result.differences.isEmpty || (result.ratioToSQLite ?? 0) > 1 }

    func json(_ calibrations: Calibrations) -> String {
        func number(_ value: Double?) -> String {
            guard let value, value.isFinite else { return "null" }
            return value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
        }
        let workload = result.workload
        return "{\"id\":\"\(workload.id)\",\"unit\":\"\(workload.unit.rawValue)\""
            + EngineName.allCases.map { ",\"\($0.rawValue)\":\(number(result.median($0)))" }.joined()
            + ",\"ratio\":\(number(ratio(calibrations)))"
            + ",\"target\":\(number(Target.all[workload.id]?.shown)),\"ok\":\(missed.isEmpty)}"
    }

    static let heading = line("", "", "", "ours", "SQLite", "GRDB", "ratio", "target", "")

    func row(_ calibrations: Calibrations) -> String {
        func text(_ value: Double?) -> String { value.map(shortened) ?? "-" }
        let workload = result.workload
        return Self.line(
            workload.id, workload.title, workload.unit.rawValue, text(result.median(.ours)),
            text(result.median(.sqlite)), text(result.median(.grdb)), text(ratio(calibrations)),
            text(Target.all[workload.id]?.shown),
            missed.isEmpty ? "ok" : "MISSED: " + missed.joined(separator: "; "))
    }

    private static func line(
        _ id: String, _ title: String, _ unit: String, _ ours: String, _ sqlite: String, _ grdb: String,
        _ ratio: String, _ target: String, _ verdict: String
    ) -> String {
        left(id, 4) + left(title, 59) + left(unit, 7) + right(ours, 10) + right(sqlite, 10) + right(grdb, 10)
            + right(ratio, 9) + right(target, 8) + "  " + verdict
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}

extension Calibrations {
    /// Medians, and a warning if the disk was throttled.
    var summary: [String] {
        var lines = Calibration.allCases.map { "calibration \($0.title): \(shortened(median($0)))" }
        lines.append("calibration C, p10: \(shortened(percentile(.commit, 0.1)))")
        if diskIsThrottled {
            lines.append("The disk was THROTTLED (C p10 above 1 ms): discard the times of writes.")
        } else if median(.commit) > 1_000_000 {
            lines.append("The disk was throttled at times (C median above 1 ms): doubt the times of writes.")
        }
        return lines
    }
}

/// Progress and remarks go to standard error.
func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
