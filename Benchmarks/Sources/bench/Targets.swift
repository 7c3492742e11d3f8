// SPDX-License-Identifier: Apache-2.0
// The performance target of each workload, by its name. Each limit is independent: all limits of a row must hold.

struct Target {
    /// Our time divided by SQLite's in the same run.
    var ratioToSQLite: Double?
    /// A calibration of the same run, and how many times its value ours may be.
    var calibration: (name: Calibration, times: Double)?
    /// In the workload's unit.
    var figure: Double?
    /// Bytes of private memory.
    var privateBytes: Int?

    static let all: [String: Target] = [
        "I1": Target(ratioToSQLite: 0.42),
        "I2": Target(ratioToSQLite: 1.0, calibration: (.commit, 1.5)),
        "I2F": Target(ratioToSQLite: 1.0, calibration: (.commit, 1.5)),
        "I3": Target(figure: 4_000),
        "K1": Target(ratioToSQLite: 0.25),
        "R1": Target(ratioToSQLite: 0.22),
        "R2": Target(ratioToSQLite: 0.5),
        "R3": Target(calibration: (.getter, 2)),
        "Q1": Target(ratioToSQLite: 0.01),
        "Q2": Target(ratioToSQLite: 0.03),
        "Q3": Target(ratioToSQLite: 0.06),
        "Q4": Target(ratioToSQLite: 0.1),
        "Q5": Target(ratioToSQLite: 0.06),
        "Q6": Target(ratioToSQLite: 0.03),
        "Q7": Target(ratioToSQLite: 0.015),
        "Q8": Target(ratioToSQLite: 0.05),
        "Q9": Target(ratioToSQLite: 0.3),
        "A1": Target(ratioToSQLite: 0.02),
        "A2": Target(ratioToSQLite: 0.02),
        "S1": Target(ratioToSQLite: 0.2),
        "S2": Target(ratioToSQLite: 0.11),
        "S3": Target(ratioToSQLite: 0.1),
        "U1": Target(ratioToSQLite: 0.06),
        "L1": Target(ratioToSQLite: 0.25),
        "X1": Target(ratioToSQLite: 0.4),
        "D1": Target(ratioToSQLite: 0.2),
        "F1": Target(ratioToSQLite: 0.9),
        "F2": Target(figure: 0),
        "O1": Target(ratioToSQLite: 0.12, privateBytes: 20_000_000),
        "C1": Target(figure: 60),
        "N1": Target(figure: 50_000),
        "N1F": Target(figure: 50_000),
        "N1S": Target(figure: 50_000),
        "N1T": Target(figure: 150_000),
    ]
}

extension Target {
    /// The limit that the shown ratio belongs to.
    var shown: Double? { ratioToSQLite ?? calibration?.times ?? figure }

    /// Descriptions of the missed limits; empty if all hold. A limit that could not be measured counts as missed.
    func missed(_ result: Result, _ calibrations: Calibrations) -> [String] {
        guard let ours = result.median(.ours) else { return ["ours was not measured"] }
        var missed: [String] = []
        if let ratioToSQLite {
            let ratio = result.ratioToSQLite ?? .infinity
            if ratio > ratioToSQLite {
                missed.append("\(shortened(ratio)) of SQLite, limit \(ratioToSQLite)")
            }
        }
        if let calibration {
            let times = ours / calibrations.median(calibration.name)
            if !(times <= calibration.times) {
                missed.append(
                    "\(shortened(times)) x \(calibration.name.rawValue), limit \(calibration.times)")
            }
        }
        if let figure, ours > figure { missed.append("\(shortened(ours)), limit \(figure)") }
        if let privateBytes, let bytes = result.privateBytes, bytes > privateBytes {
            missed.append("\(bytes) bytes of private memory, limit \(privateBytes)")
        }
        return missed
    }
}
