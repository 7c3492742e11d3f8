// SPDX-License-Identifier: Apache-2.0
// Continuous backup: each commit arrives, commits that come together share a backup, and a second process waits.

import RegnumBackup
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct FollowingTests {
    struct Enough: Error {}

    /// Follows the database of `run` until `isEnded`; `event` gets each event.
    private func follow(
        _ run: BackupRun, _ store: any BackupStore, limit: Int = 20_000, isEnded: () -> Bool,
        event: (BackupRepository.FollowEvent) throws -> Void
    ) throws {
        let repository = try run.repository(store)
        var turns = 0
        try repository.follow(
            BackupRun.path, in: run.files, key: run.key,
            isEnded: {
                turns += 1
                return turns > limit || isEnded()
            }, report: event)
        #expect(turns <= limit)
    }

    @Test("Each commit arrives, together with those that were made in the meantime")
    func commits() throws {
        let run = try BackupRun(seed: 1)
        let store = MemoryStore()
        var made: [BackupRepository.Backup] = []
        try follow(run, store, isEnded: { made.count == 6 }) { event in
            guard case .backedUp(let backup) = event else { return }
            #expect(backup.version == run.versions.keys.max())
            made.append(backup)
            for _ in 0..<3 { try run.commit(changes: 5) }
        }
        #expect(made.count == 6)
        let repository = try run.repository(store)
        for backup in made { try run.expectRestored(backup, from: repository) }
        // The lease was released.
        #expect(try repository.backUp(run.database) != nil)
    }

    @Test("It goes on after failures of the store, and after another process had the lease")
    func failures() throws {
        let run = try BackupRun(seed: 2)
        let base = MemoryStore()
        let store = FaultStore(base)
        let other = try run.repository(base)
        // Another process was killed while it had the lease.
        let dying = FaultStore(base)
        let killed = try run.repository(dying)
        dying.set { $0.deathCall = $0.calls + 6 }
        #expect(throws: StoreFailure.self) { try killed.backUp(run.database) }
        var waits = 0
        var count = 0
        try follow(run, store, isEnded: { count == 3 }) { event in
            switch event {
            case .waiting:
                waits += 1
                run.clock.advance(20_000_000)
            case .backedUp:
                count += 1
                try run.commit(changes: 3)
                store.set { $0.faults[$0.calls + 2] = .lost }
            }
        }
        #expect(waits >= 2)
        #expect(count == 3)
        #expect(try other.verify().isRestorable)
        try run.expectRestored(try #require(try other.backups().last), from: other)
    }

    @Test("A file that was replaced is followed under its name")
    func replaced() throws {
        let run = try BackupRun(seed: 3)
        try run.commit(changes: 100)
        let store = MemoryStore()
        var made: [BackupRepository.Backup] = []
        try follow(run, store, isEnded: { made.count == 2 }) { event in
            guard case .backedUp(let backup) = event else { return }
            made.append(backup)
            if made.count == 1 {
                try run.database.makeSession().writeCopy(to: BackupRun.path, in: run.files, replacing: true)
            }
        }
        let repository = try run.repository(store)
        #expect(made.count == 2)
        try repository.restore(.newest, to: "/r.realm", in: run.files)
        let copy = try Database.openAsOtherProcess(path: "/r.realm", fileSystem: run.files)
        let found = try BackupRun.read(copy)
        #expect(found == run.state)
    }

    @Test("Commits that come fast do not fill the repository with backups")
    func gathering() throws {
        let run = try BackupRun(seed: 5)
        var count = 0
        let start = MonotonicClock.now()
        try follow(run, MemoryStore(), isEnded: { count == 4 }) { event in
            guard case .backedUp = event else { return }
            count += 1
            try run.commit(changes: 1)
        }
        #expect(count == 4)
        #expect(MonotonicClock.now() - start >= 1_000_000_000)
    }

    @Test("An error of the callback ends it")
    func ended() throws {
        let run = try BackupRun(seed: 4)
        #expect(throws: Enough.self) {
            try follow(run, MemoryStore(), isEnded: { false }) { _ in throw Enough() }
        }
    }
}
