// SPDX-License-Identifier: Apache-2.0
// Random schedules of writers, backups, prunes, restores and kills, by several processes over one store whose lists are
// old: each backup restores what was committed. Replay: REGNUM_SEED, REGNUM_BACKUP_SCHEDULES.

import RegnumBackup
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

/// Several processes that use a repository. Confined to its test.
final class ScheduleRun {
    struct Process {
        var store: FaultStore
        var repository: BackupRepository
    }

    let run: BackupRun
    let base = MemoryStore()
    private var processes: [Process?]
    /// The backups that were made and not removed.
    private var made: [UInt64: BackupRepository.Backup] = [:]
    private(set) var restored = 0
    private let isReliable: Bool
    private let form: ObjectForm

    init(seed: UInt64) throws {
        run = try BackupRun(seed: seed)
        isReliable = seed % 3 == 0
        let forms = [.plain] + ObjectForm.framed
        form = forms[Int(seed / 3 % UInt64(forms.count))]
        processes = [nil, nil, nil]
        _ = try run.repository(base, form: form)
    }

    func go(steps: Int) throws {
        for _ in 0..<steps {
            run.clock.advance(Int64(run.random.below(6) == 0 ? 7_200_000_000 : run.random.below(40_000_000)))
            let number = run.random.below(processes.count)
            do {
                switch run.random.below(12) {
                case 0..<4: try run.commit(changes: run.random.below(15) + 1)
                case 4..<8: try backUp(try process(number), number)
                case 8: try prune(try process(number))
                case 9: try restore(try process(number))
                case 10: processes[number] = nil
                default: kill(number)
                }
            } catch is StoreFailure {
                // The process ends, and another one takes its place.
                processes[number] = nil
            } catch let error as BackupError where [.inUse, .fenced].contains(error.code) {}
        }
        try checkAll()
    }

    private func process(_ number: Int) throws -> Process {
        if let process = processes[number] { return process }
        let store = FaultStore(base, seed: run.random.next(), clock: run.clock)
        let repository = try run.repository(store, packByteCount: 16 << 10, form: form)
        store.set {
            $0.staleRate = 3
            $0.rate = isReliable ? 0 : 40
        }
        let made = Process(store: store, repository: repository)
        processes[number] = made
        return made
    }

    /// The process dies at one of its next calls.
    private func kill(_ number: Int) {
        let calls = run.random.below(20)
        let isDone = run.random.below(2) == 0
        processes[number]?.store.set {
            $0.deathCall = $0.calls + calls
            $0.isLastCallDone = isDone
        }
    }

    private func backUp(_ process: Process, _ number: Int) throws {
        // In the middle of it, another process may prune, and time may pass.
        var calls = 0
        let backup = try process.repository.backUp(run.database) { _, _ in
            calls += 1
            guard calls % 17 == 3 else { return }
            if run.random.below(3) == 0 { run.clock.advance(20_000_000) }
            if run.random.below(3) == 0 { try prune(try self.process((number + 1) % processes.count)) }
        }
        if let backup { made[backup.number] = backup }
    }

    private func prune(_ process: Process) throws {
        let policy = RetentionPolicy(last: run.random.below(4), hourly: run.random.below(6), daily: run.random.below(3))
        // Also if it is killed in the middle, the newest backup is there: the newest that was acknowledged, or one that
        // came later without an answer.
        defer {
            let left = Set(((try? run.repository(base, form: form).backups()) ?? []).map(\.number))
            if let newest = made.keys.max() { #expect(left.contains { $0 >= newest }, "\(newest) of \(left)") }
            made = made.filter { left.contains($0.key) }
        }
        try process.repository.prune(policy)
    }

    private func restore(_ process: Process) throws {
        guard let backup = try process.repository.backups().randomElement(using: &run.random) else { return }
        do { try run.expectRestored(backup, from: process.repository) } catch let error as BackupError {
            // Its list was old.
            let isThere = made[backup.number] != nil
            if isThere || ![.damaged, .noSuchBackup].contains(error.code) { throw error }
        }
        restored += 1
    }

    private func checkAll() throws {
        let honest = try run.repository(base, form: form)
        let found = try honest.backups()
        for backup in made.values { #expect(found.contains(backup), "backup \(backup.number) is missing") }
        let verification = try honest.verify()
        #expect(verification.isRestorable, "\(verification.findings)")
        for backup in found {
            try run.expectRestored(backup, from: honest)
            restored += 1
        }
        // Garbage is bounded: after one more backup, only what is needed is left.
        run.clock.advance(hours: 2)
        try run.commit(changes: 1)
        try honest.backUp(run.database)
        run.clock.advance(hours: 2)
        try honest.prune(RetentionPolicy())
        #expect(try honest.backups().count == 1)
        try run.expectRestored(try #require(try honest.backups().first), from: honest, isWritten: true)
    }
}

@Suite struct ScheduleTests {
    #if DEBUG
        static let usual = 80
    #else
        static let usual = 2000
    #endif
    static let schedules = CurrentProcess.environment("REGNUM_BACKUP_SCHEDULES").flatMap { Int($0) } ?? usual

    @Test("Each restored version is equal to what was committed", arguments: RunSeed.list(1...4))
    func schedules(seed: RunSeed) throws {
        var restored = 0
        for turn in 0..<max(Self.schedules / 4, 1) {
            let own = seed.value &* 1_000_003 &+ UInt64(turn)
            do {
                let run = try ScheduleRun(seed: own)
                try run.go(steps: 40)
                restored += run.restored
            } catch {
                Issue.record("\(seed), schedule \(turn): \(error)")
                return
            }
        }
        #expect(restored > Self.schedules / 4)
    }
}
