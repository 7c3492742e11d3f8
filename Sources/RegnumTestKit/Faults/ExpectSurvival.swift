// SPDX-License-Identifier: Apache-2.0
// Tests whether a user's data survives if the power fails, the process is killed, or the disk fails, at each call to
// the disk that a piece of code makes. The disk is simulated; the database and the code are real.

internal import Foundation
public import Regnum
internal import RegnumSimulation
internal import RegnumSystem
public import Testing

/// A fault of the disk or the process.
public enum StorageFault: String, Sendable, CaseIterable {
    /// The power fails. Writes that no sync has confirmed may reach the disk or not, in parts and in any order.
    case powerLoss
    /// The process is killed. Everything that it has written is kept.
    case killedProcess
    /// The disk is full from that call on.
    case diskFull
    /// One call to the disk fails.
    case ioError
}

/// Runs `block` repeatedly, each time with a fault at a different one of its calls to the disk. After each run it opens
/// the realm again and checks its integrity and `invariant`. Damage, and errors that the invariant throws, are failures
/// of the running test that name the fault and the call.
///
/// ```swift
/// try expectSurvival(Account.self) { realm in
///     try realm.seed { Account(value: ["id": 1, "sum": 100]); Account(value: ["id": 2, "sum": 0]) }
/// } block: { realm in
///     try Bank(realm: realm).transfer(30, from: 1, to: 2)
/// } invariant: { realm in
///     let sum: Int = realm.objects(Account.self).sum(ofProperty: "sum")
///     try #require(sum == 100)
/// }
/// ```
///
/// `block` may throw, since a full or failing disk causes errors. It must not end the program because of them (`try!`);
/// programmer errors in it are caught. After `.diskFull` and `.ioError` the invariant is also checked in the realm in
/// which the fault occurred, which must still be usable.
///
/// - Parameters:
///   - types: The classes.
///   - faults: The faults to try.
///   - limit: The maximum number of calls to try for each fault, evenly spread if `block` makes more.
///   - seed: Determines what a power loss leaves.
///   - sourceLocation: The location of failures.
///   - prepare: Fills the realm beforehand, without faults.
///   - block: The code under test.
///   - invariant: Throws if the data is wrong. It must accept the data both with and without the changes of `block`.
/// - Returns: The number of runs of `block` with a fault.
/// - Throws: The error that `prepare` throws, or `block` if there is no fault.
/// - Thread: The calling thread, for everything. Each run opens a realm twice, which takes about a millisecond in a
///   release build.
@discardableResult
public func expectSurvival(
    _ types: ObjectBase.Type..., of faults: [StorageFault] = StorageFault.allCases, limit: Int = 64, seed: UInt64 = 1,
    sourceLocation: SourceLocation = #_sourceLocation, prepare: (Realm) throws -> Void = { _ in },
    block: (Realm) throws -> Void, invariant: (Realm) throws -> Void
) throws -> Int {
    var trial = SurvivalTrial(types: types, location: sourceLocation, random: SeededRandom(seed: seed))
    let start = try trial.contents(after: prepare)
    let calls = try trial.calls(of: block, on: start)
    var runs = 0
    for fault in faults {
        let places = fault == .diskFull ? calls.filter(\.takesSpace) : calls
        for place in SurvivalTrial.spread(places, limit) {
            trial.run(block, on: start, fault, at: place, of: calls.count, invariant)
            runs += 1
        }
    }
    return runs
}

/// A call to the disk made by the block.
private struct DiskCall {
    /// The index among all calls of the block.
    let index: Int
    let operation: String
    /// The index among the calls of the same operation.
    let indexOfOperation: Int

    var takesSpace: Bool { operation == "write" || operation == "allocate" }
}

/// The disks of one call of `expectSurvival`. Confined to that call.
private struct SurvivalTrial {
    let types: [ObjectBase.Type]
    let location: SourceLocation
    var random: SeededRandom
    /// The number of failures so far. Only the first ones are reported, because an invariant that always fails would
    /// flood the report.
    private var complaints = 0
    private static let complaintLimit = 10

    init(types: [ObjectBase.Type], location: SourceLocation, random: SeededRandom) {
        self.types = types
        self.location = location
        self.random = random
    }

    static func spread(_ calls: [DiskCall], _ limit: Int) -> [DiskCall] {
        if calls.count <= limit { return calls }
        return (0..<max(limit, 1)).map { calls[$0 * calls.count / max(limit, 1)] }
    }

    /// The file that `prepare` leaves.
    mutating func contents(after prepare: (Realm) throws -> Void) throws -> [UInt8] {
        let disk = SimulatedRealmDisk(nil, seed: random.next())
        try prepare(Realm(configuration: disk.configuration(types)))
        return disk.contents ?? []
    }

    /// The calls to the disk that `block` makes without a fault.
    mutating func calls(of block: (Realm) throws -> Void, on start: [UInt8]) throws -> [DiskCall] {
        let disk = SimulatedRealmDisk(start, seed: random.next())
        let realm = try Realm(configuration: disk.configuration(types))
        disk.files.recordedCalls = []
        try block(realm)
        var counts: [String: Int] = [:]
        return (disk.files.recordedCalls ?? []).enumerated().map { index, operation in
            defer { counts[operation, default: 0] += 1 }
            return DiskCall(index: index, operation: operation, indexOfOperation: counts[operation, default: 0])
        }
    }

    mutating func run(
        _ block: (Realm) throws -> Void, on start: [UInt8], _ fault: StorageFault, at call: DiskCall, of count: Int,
        _ invariant: (Realm) throws -> Void
    ) {
        let name = "\(fault.rawValue) at call \(call.index + 1) (\(call.operation)) of \(count)"
        let disk = SimulatedRealmDisk(start, seed: random.next())
        do {
            let realm = try Realm(configuration: disk.configuration(types))
            disk.arm(fault, call)
            // The fault leads to errors, and to programmer errors, because reads have no other way to fail.
            _ = catchMisuse { try? block(realm) }
            if fault == .diskFull || fault == .ioError {
                disk.files.failure = nil
                realm.core.cancelAnyWrite()
                check(name + ", in the same realm", realm, invariant)
            }
        } catch { return complain(name, "the realm cannot be opened: \(error)") }
        guard let left = disk.contents(after: fault, &random) else {
            return complain(name, "the file no longer exists")
        }
        reopen(left, name, invariant)
    }

    private mutating func reopen(_ contents: [UInt8], _ name: String, _ invariant: (Realm) throws -> Void) {
        let disk = SimulatedRealmDisk(contents, seed: random.next())
        do {
            let realm = try Realm(configuration: disk.configuration(types))
            check(name, realm, invariant)
            for finding in realm.configuration.integrityFindings() { complain(name, "Integrity: \(finding)") }
        } catch { complain(name, "the realm cannot be opened afterwards: \(error)") }
    }

    private mutating func check(_ name: String, _ realm: Realm, _ invariant: (Realm) throws -> Void) {
        do {
            if let words = try catchMisuse({ try invariant(realm) }) { complain(name, words) }
        } catch { complain(name, "the invariant does not hold: \(error)") }
    }

    private mutating func complain(_ name: String, _ text: String) {
        complaints += 1
        if complaints == Self.complaintLimit {
            Report.issue("More failures are not shown.", at: location)
        } else if complaints < Self.complaintLimit {
            Report.issue("After \(name): \(text)", at: location)
        }
    }
}

extension SimulatedRealmDisk {
    /// Schedules the fault for that call, counted from now.
    fileprivate func arm(_ fault: StorageFault, _ call: DiskCall) {
        switch fault {
        case .powerLoss, .killedProcess: files.crashAfterCall(files.operationCount + call.index)
        case .diskFull:
            files.failure = SimulatedFailure(
                call: files.operationCount(of: call.operation) + call.indexOfOperation, kind: .noSpace,
                isPersistent: true, operation: call.operation)
        case .ioError:
            files.failure = SimulatedFailure(call: files.operationCount + call.index, kind: .io)
        }
    }
}
