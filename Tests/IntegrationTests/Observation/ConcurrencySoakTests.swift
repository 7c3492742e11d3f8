// SPDX-License-Identifier: Apache-2.0
// 50 threads and 20 actors read, write and observe one file. All finish, no write is lost, and no accessors, pins,
// open files or threads are leaked. The test takes a second here and a minute each night.

import Dispatch
import Foundation
import RealmSwift
import Regnum
import Synchronization
import Testing

class SoakRow: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var count = 0
    @Persisted var list: List<SoakRow>
}

/// The state that the workers share, on any thread.
private final class Soak: Sendable {
    let configuration: Realm.Configuration
    let end: ContinuousClock.Instant
    /// The count of committed increments.
    let written = Atomic(0)
    let told = Atomic(0)
    let failures = Mutex<[String]>([])
    private let accessors = Mutex<[WeakRow]>([])

    private struct WeakRow: @unchecked Sendable {
        // Sendable: only compared with nil.
        weak var row: SoakRow?
    }

    init(_ configuration: Realm.Configuration, seconds: Double) {
        self.configuration = configuration
        end = .now + .seconds(seconds)
    }

    var isOver: Bool { ContinuousClock.now >= end }

    /// Tracks one of several accessors.
    func watch(_ row: SoakRow) {
        let weak = WeakRow(row: row)
        accessors.withLock { if $0.count < 20_000 { $0.append(weak) } }
    }

    var livingAccessors: Int { accessors.withLock { $0.count { $0.row != nil } } }

    func increment(_ realm: Realm, _ number: Int) {
        guard let row = realm.object(ofType: SoakRow.self, forPrimaryKey: number % 16) else { return }
        row.count += 1
        if number % 5 == 0 { row.list.append(row) }
        if row.list.count > 20 { row.list.removeAll() }
        if number % 7 == 0 { realm.add(SoakRow(value: ["id": 1000 + number % 64]), update: .modified) }
        if number % 11 == 0, let extra = realm.object(ofType: SoakRow.self, forPrimaryKey: 1000 + number % 64) {
            realm.delete(extra)
        }
    }

    func look(_ realm: Realm, _ number: Int) {
        let rows = realm.objects(SoakRow.self)
        var sum = 0
        for row in rows { sum += row.count }
        let frozen = rows.filter("count > \(number % 50)").freeze()
        sum += frozen.count
        if let row = rows.first { watch(row) }
        if sum < 0 { failures.withLock { $0.append("a negative sum") } }
    }

    func thread(_ number: Int) {
        var turn = number
        // At least once, because on a busy machine the time may be over before the first turn.
        repeat {
            turn += 50
            do {
                let realm = try Realm(configuration: configuration)
                if turn % 3 == 0 {
                    try realm.write { increment(realm, turn) }
                    written.add(1, ordering: .relaxed)
                } else {
                    realm.refresh()
                    look(realm, turn)
                }
            } catch { failures.withLock { $0.append("thread \(number): \(error)") } }
        } while !isOver
    }
}

private actor SoakActor {
    private let soak: Soak
    private var realm: Realm?
    private var token: NotificationToken?

    init(_ soak: Soak) { self.soak = soak }

    func run(_ number: Int) async {
        do {
            let realm = try await Realm.open(configuration: soak.configuration)
            self.realm = realm
            token = await realm.objects(SoakRow.self).filter("count > 3").observe(on: self) { actor, _ in
                actor.soak.told.add(1, ordering: .relaxed)
            }
            var turn = number
            while !soak.isOver {
                turn += 20
                if turn % 2 == 0 {
                    try await realm.asyncWrite { soak.increment(realm, turn) }
                    soak.written.add(1, ordering: .relaxed)
                } else {
                    await realm.asyncRefresh()
                    soak.look(realm, turn)
                }
                await Task.yield()
            }
        } catch { soak.failures.withLock { $0.append("actor \(number): \(error)") } }
        token?.invalidate()
        token = nil
        realm = nil
    }
}

@Suite("Many threads and actors")
struct ConcurrencySoakTests {
    private static let seconds =
        Double(ProcessInfo.processInfo.environment["REGNUM_SOAK_SECONDS"] ?? "") ?? 1

    private static var threads: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    /// Waits for a condition that becomes true on its own.
    private func comes(_ condition: () -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(14_400)
        while !condition() {
            if ContinuousClock.now > end { return false }
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }

    @Test("All workers finish, no write is lost, and nothing is leaked", .timeLimit(.minutes(240)))
    func soak() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = Realm.Configuration(
            fileURL: folder.appendingPathComponent("a.realm"), objectTypes: [SoakRow.self])
        try await Self.onThread {
            let realm = try Realm(configuration: configuration)
            try realm.write { for id in 0..<16 { realm.add(SoakRow(value: ["id": id])) } }
        }
        let threadsBefore = Self.threads
        let soak = Soak(configuration, seconds: Self.seconds)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try? await Self.onThread { soak.thread(number) } }
            }
            for number in 0..<20 {
                group.addTask { await SoakActor(soak).run(number) }
            }
        }
        #expect(soak.failures.withLock { $0 } == [])
        let sum = try await Self.onThread {
            let realm = try Realm(configuration: configuration)
            return realm.objects(SoakRow.self).filter("id < 16").sum(ofProperty: "count") as Int
        }
        let written = soak.written.load(ordering: .relaxed)
        #expect(sum == written && written > 0)
        #expect(try await comes { soak.livingAccessors == 0 }, "\(soak.livingAccessors) accessors")
        // The only pin is that of the Realm that asks.
        #expect(try await comes { (try? Realm(configuration: configuration))?.pins().count == 1 }, "leaked pins")
        // A file that is open anywhere cannot be deleted.
        #expect(try await comes { (try? Realm.deleteFiles(for: configuration)) == true })
        // The system keeps some threads for later, and other tests run at the same time as a short run.
        let spare = Self.seconds >= 10 ? 40 : 100
        #expect(try await comes { Self.threads < threadsBefore + spare }, "\(Self.threads) of \(threadsBefore) threads")
        // On a busy machine a second may pass without a turn.
        if Self.seconds >= 10 { #expect(soak.told.load(ordering: .relaxed) > 0) }
    }

    /// Runs on a new thread.
    private static func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
