// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of pools: their class, a disk whose syncs a test holds back, and waiting for a condition.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import RegnumSimulation
import RegnumSystem
import Testing

class PoolRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var note: String?
    @Persisted var next: PoolRow?
    @Persisted var rows: List<PoolRow>
    @Persisted var tags: List<String>
    @Persisted var marks: MutableSet<Int>
    @Persisted var prices: Map<String, Int>
    @Persisted(originProperty: "next") var before: LinkingObjects<PoolRow>
}

enum PoolSupport {
    static func memory() -> Realm.Configuration {
        Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [PoolRow.self])
    }

    /// Waits until the condition holds, for at most half an hour.
    static func eventually(
        _ sourceLocation: SourceLocation = #_sourceLocation, _ holds: () async throws -> Bool
    ) async throws {
        for _ in 0..<180_000 {
            if try await holds() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("The condition has not become true.", sourceLocation: sourceLocation)
    }

    /// Adds a row in a write of its own.
    static func add(_ id: Int, to pool: RealmPool) async throws {
        try await pool.write { realm in realm.add(PoolRow(value: ["id": id, "name": "row \(id)"])) }
    }

    static func count(_ pool: RealmPool) async throws -> Int {
        try await pool.read { realm in realm.objects(PoolRow.self).count }
    }
}

/// A closure that holds the thread it runs on until the test lets it go on.
final class HeldClosure: Sendable {
    private let end = DispatchSemaphore(value: 0)

    /// Runs in the closure.
    func hold() { end.wait() }

    /// Lets one call of `hold` go on.
    func letGo() { end.signal() }
}

/// A simulated disk, on which the test can hold back the syncs of the database.
final class HeldDisk: Sendable {
    let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
    let configuration: Realm.Configuration
    private let held = HeldClosure()
    private let began = DispatchSemaphore(value: 0)

    init() {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: "/pool/\(UUID().uuidString).realm"), objectTypes: [PoolRow.self])
        configuration.extras.fileSystem = files
        self.configuration = configuration
    }

    /// Holds back the next sync until `letGo` is called.
    func holdNextSync() {
        files.beforeSync = { [held, began] files in
            files.beforeSync = nil
            began.signal()
            held.hold()
        }
    }

    /// Waits until the sync is held back.
    func waitForSync() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [began] in
                began.wait()
                continuation.resume()
            }
        }
    }

    func letGo() { held.letGo() }

    /// From now on the file cannot grow.
    func becomeFull() {
        files.failure = SimulatedFailure(call: 0, kind: .noSpace, isPersistent: true, operation: "allocate")
    }

    /// Makes the sync that is held back fail.
    func failHeldSync() {
        files.failure = SimulatedFailure(call: files.operationCount(of: "sync"), kind: .io, operation: "sync")
    }
}
