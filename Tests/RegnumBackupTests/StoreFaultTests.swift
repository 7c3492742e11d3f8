// SPDX-License-Identifier: Apache-2.0
// A store that loses calls and replies, and processes that are killed at each call: what was backed up stays
// restorable, and the next process goes on.

import RegnumBackup
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct StoreFaultTests {
    /// Three backups to begin with, of which `prune` removes two.
    private func prepared(_ seed: UInt64) throws -> (BackupRun, MemoryStore, [BackupRepository.Backup]) {
        let run = try BackupRun(seed: seed)
        let store = MemoryStore()
        let repository = try run.repository(store, packByteCount: 16 << 10)
        var made: [BackupRepository.Backup] = []
        for turn in 0..<3 {
            try run.commit(changes: turn == 0 ? 120 : 15)
            made.append(try #require(try repository.backUp(run.database)))
            run.clock.advance(hours: 2)
        }
        try run.commit(changes: 25)
        return (run, store, made)
    }

    /// Runs `body` with a process that is killed at call 0, 1, 2 and so on, each time from the same state, with and
    /// without the effect of that call, until it completes. Then `check` gets the store that it has left.
    private func killAtEachCall(
        _ store: MemoryStore, atLeast calls: Int, _ body: (any BackupStore) throws -> Void,
        check: (MemoryStore, _ isDone: Bool) throws -> Void
    ) throws {
        var call = 0
        while true {
            var isDone = false
            for isLastCallDone in [false, true] {
                let left = store.copy()
                let fault = FaultStore(left)
                fault.set {
                    $0.deathCall = call
                    $0.isLastCallDone = isLastCallDone
                }
                isDone = false
                do {
                    try body(fault)
                    isDone = fault.calls <= call
                } catch is StoreFailure {}
                try check(left, isDone)
            }
            if isDone { break }
            call += 1
            try #require(call < 2000)
        }
        #expect(call >= calls)
    }

    @Test("A backup killed at any call exists completely or not at all, and the next one goes on")
    func killedBackup() throws {
        let (run, store, made) = try prepared(1)
        try killAtEachCall(store, atLeast: 10) { store in
            try run.repository(store, packByteCount: 16 << 10).backUp(run.database)
        } check: { left, isDone in
            let repository = try run.repository(left, packByteCount: 16 << 10)
            let found = try repository.backups()
            #expect(found.count == made.count || found.count == made.count + 1)
            if isDone { #expect(found.count == made.count + 1) }
            let isRestorable = try repository.verify().isRestorable
            #expect(isRestorable)
            // The lease of the killed process ends.
            run.clock.advance(60_000_000)
            let next = try repository.backUp(run.database)
            #expect((next == nil) == (found.count == made.count + 1))
            try run.expectRestored(try #require(try repository.backups().last), from: repository)
        }
    }

    @Test("A prune killed at any call leaves every kept backup restorable, and the next one goes on")
    func killedPrune() throws {
        let (run, store, made) = try prepared(2)
        run.clock.advance(hours: 2)
        try killAtEachCall(store, atLeast: 8) { store in
            try run.repository(store).prune(RetentionPolicy())
        } check: { left, _ in
            let repository = try run.repository(left)
            let isRestorable = try repository.verify().isRestorable
            let newest = try repository.backups().last
            #expect(isRestorable)
            #expect(newest == made.last)
            try repository.prune(RetentionPolicy())
            let (left, findings) = (try repository.backups(), try repository.verify().findings)
            #expect(left == [made[2]])
            #expect(findings == [])
            try run.expectRestored(made[2], from: repository)
        }
    }

    // The copy of a pack was deleted before the new one was put.
    @Test("A process killed while it heals loses nothing that was healed before")
    func killedHealing() throws {
        let run = try BackupRun(seed: 5)
        try run.commit(changes: 200)
        let (store, other) = (MemoryStore(), MemoryStore())
        for store in [store, other] { try run.repository(store, packByteCount: 16 << 20).backUp(run.database) }
        func pack(_ store: MemoryStore) throws -> String {
            try #require(store.names.first { $0.hasPrefix("packs/") })
        }
        func heal(_ store: any BackupStore) throws -> BackupRepository.Verification {
            try run.repository(store).verify(healing: true, from: [try run.repository(other)])
        }
        let name = try pack(store)
        store.flip(name, bit: 8)
        let first = try heal(store)
        #expect(first.findings.map(\.isHealed) == [true])
        // Now only the copy has the first block.
        other.flip(try pack(other), bit: 8)
        let bit = 8 * (store.byteCount(below: "packs/") - 100)
        for prefix in ["", "copies/"] { store.flip(prefix + name, bit: bit) }
        try killAtEachCall(store, atLeast: 8) { store in
            _ = try heal(store)
        } check: { left, isDone in
            let result = try run.repository(left).verify()
            #expect(result.findings.count <= 1, "\(result.findings)")
            if isDone { #expect(result.isRestorable) }
            let again = try heal(left)
            #expect(again.isRestorable)
            try run.expectRestored(try #require(try run.repository(left).backups().last), from: run.repository(left))
        }
    }

    @Test("A restore killed at any call leaves no file at the path")
    func killedRestore() throws {
        let (run, store, made) = try prepared(3)
        var number = 0
        try killAtEachCall(store, atLeast: 5) { store in
            number += 1
            try run.repository(store).restore(.version(made[1].version), to: "/r/\(number).realm", in: run.files)
        } check: { _, isDone in
            let status = try run.files.status("/r/\(number).realm")
            #expect((status != nil) == isDone)
            if isDone { try run.expectFile("/r/\(number).realm", version: made[1].version) }
        }
    }

    @Test("A restore that fails at any call of the file system leaves no file, or the whole one")
    func failingFiles() throws {
        let (run, store, made) = try prepared(4)
        let repository = try run.repository(store)
        let files = SimulatedFileSystem(seed: 4, reservedByteCount: 64 << 20)
        var call = 0
        while true {
            let path = "/r\(call).realm"
            files.failure = SimulatedFailure(call: files.operationCount + call, kind: .noSpace)
            var isDone = false
            do {
                try repository.restore(.newest, to: path, in: files)
                isDone = true
            } catch is BackupError {}
            let isFailed = files.failure.map { files.operationCount > $0.call } ?? true
            files.failure = nil
            if try files.status(path) != nil {
                let copy = try Database.openAsOtherProcess(path: path, fileSystem: files)
                let found = try BackupRun.read(copy)
                #expect(found == run.versions[made[2].version])
            } else {
                #expect(!isDone)
            }
            let models = LossModel.allCases
            try expectWholeOrUnusable(
                path + ".regnum-0.tmp", files.crash(model: models[call % models.count], random: &run.random),
                run.versions[made[2].version])
            if isDone, !isFailed { break }
            call += 1
            try #require(call < 2000)
        }
        #expect(call > 10)
    }

    /// After a crash of the machine an unfinished file does not open, unless only its name was missing.
    private func expectWholeOrUnusable(
        _ path: String, _ image: SimulatedFileSystem, _ state: BackupRun.State?
    ) throws {
        guard try image.status(path) != nil else { return }
        var options = Database.OpenOptions()
        options.makesFile = false
        guard let copy = try? Database.openAsOtherProcess(path: path, fileSystem: image, options: options) else {
            return
        }
        let found = try BackupRun.read(copy)
        #expect(found == state)
    }

    @Test("With a store that loses and repeats calls, a backup that returns exists", arguments: RunSeed.list(1...20))
    func unreliable(seed: RunSeed) throws {
        let run = try BackupRun(seed: seed.value)
        let base = MemoryStore()
        let fault = FaultStore(base, seed: seed.value, clock: run.clock)
        // The first call makes the repository.
        var repository = try run.repository(fault, packByteCount: 32 << 10)
        fault.set {
            $0.rate = 12
            $0.staleRate = 3
        }
        var made: [BackupRepository.Backup] = []
        for turn in 0..<30 {
            try run.commit(changes: turn == 0 ? 100 : 8)
            run.clock.advance(40_000_000)
            do {
                if let backup = try repository.backUp(run.database) { made.append(backup) }
            } catch is StoreFailure {
                if run.random.below(2) == 0, let other = try? run.repository(fault, packByteCount: 32 << 10) {
                    repository = other
                }
            } catch let error as BackupError {
                #expect(error.code == .inUse || error.code == .fenced, "\(error)")
            }
        }
        #expect(!made.isEmpty)
        let honest = try run.repository(base)
        let found = try honest.backups()
        for backup in made {
            #expect(found.contains(backup))
            try run.expectRestored(backup, from: honest)
        }
        #expect(try honest.verify().isRestorable)
    }
}
