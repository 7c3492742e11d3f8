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
        _ run: BackupRun, _ store: any BackupStore, retention: RetentionPolicy? = nil, limit: Int = 20_000,
        isEnded: () -> Bool, event: (BackupRepository.FollowEvent) throws -> Void
    ) throws {
        let repository = try run.repository(store)
        var turns = 0
        try repository.follow(
            BackupRun.path, in: run.files, key: run.key, retention: retention,
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
            case .pruned: Issue.record("nothing is to be pruned")
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

    @Test("Old backups are deleted at the beginning, and then once an hour")
    func retention() throws {
        let run = try BackupRun(seed: 6)
        let store = MemoryStore()
        let first = try run.repository(store)
        for _ in 0..<4 {
            try run.commit(changes: 5)
            try first.backUp(run.database)
            run.clock.advance(hours: 2)
        }
        var removed: [Int] = []
        var made: [BackupRepository.Backup] = []
        try follow(run, store, retention: RetentionPolicy(), isEnded: { removed.count == 2 }) { event in
            switch event {
            case .backedUp(let backup): made.append(backup)
            case .waiting(let error): throw error
            case .pruned(let result):
                removed.append(result.removed.count)
                run.clock.advance(hours: 2)
                try run.commit(changes: 5)
            }
        }
        #expect(removed == [3, 1])
        let repository = try run.repository(store)
        #expect(try repository.backups() == made)
        #expect(try repository.verify().findings == [])
        for backup in made { try run.expectRestored(backup, from: repository) }
    }

    @Test("A process that made many backups deletes old ones, and keeps what the others need")
    func manyOfOneLease() throws {
        let run = try BackupRun(seed: 7)
        try run.commit(changes: 200)
        let store = MemoryStore()
        // The others need blocks that another process has stored.
        try run.repository(store).backUp(run.database)
        try run.commit(changes: 5)
        var made: [BackupRepository.Backup] = []
        var removed = 0
        try follow(run, store, retention: RetentionPolicy(last: 2), isEnded: { made.count == 9 }) { event in
            switch event {
            case .backedUp(let backup): made.append(backup)
            case .waiting(let error): throw error
            case .pruned(let result): removed += result.removed.count
            }
            try run.commit(changes: 10)
            run.clock.advance(25 * 60_000_000)
        }
        #expect(removed > 3)
        let repository = try run.repository(store)
        #expect(try repository.verify().findings == [])
        for backup in try repository.backups() { try run.expectRestored(backup, from: repository) }
    }

    @Test("Without its file system, a store gets nothing, and the process says so and waits")
    func unmounted() throws {
        let run = try BackupRun(seed: 8)
        let store = MemoryStore()
        var mount: (() -> Void)?
        var waits = 0
        var made: [BackupRepository.Backup] = []
        try follow(run, store, isEnded: { made.count == 2 }) { event in
            switch event {
            case .backedUp(let backup):
                made.append(backup)
                if made.count == 1 { mount = store.unmount() }
                try run.commit(changes: 5)
            case .waiting(let error):
                #expect((error as? BackupError)?.code == .storage)
                #expect(store.names == [])
                waits += 1
                if waits == 2 { mount?() }
            case .pruned: Issue.record("nothing is to be pruned")
            }
        }
        #expect(waits == 2)
        let repository = try run.repository(store)
        #expect(try repository.backups() == made)
        for backup in made { try run.expectRestored(backup, from: repository) }
    }

    @Test("An error of the callback ends it")
    func ended() throws {
        let run = try BackupRun(seed: 4)
        #expect(throws: Enough.self) {
            try follow(run, MemoryStore(), isEnded: { false }) { _ in throw Enough() }
        }
    }
}
