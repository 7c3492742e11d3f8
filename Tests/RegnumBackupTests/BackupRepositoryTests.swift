// SPDX-License-Identifier: Apache-2.0
// Backups to a repository: incremental, deduplicated, restorable one by one.

import Foundation
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumBackup

@Suite struct BackupRepositoryTests {
    @Test("Each backup restores its version", arguments: RunSeed.list(1...4))
    func eachVersion(seed: RunSeed) throws {
        let run = try BackupRun(seed: seed.value)
        let store = MemoryStore()
        let repository = try run.repository(store)
        var made: [BackupRepository.Backup] = []
        for turn in 0..<25 {
            try run.commit(changes: turn == 0 ? 400 : run.random.below(20))
            run.clock.advance(1_000_000)
            made.append(try #require(try repository.backUp(run.database)))
        }
        let again = try run.repository(store)
        #expect(try again.backups() == made)
        for backup in made { try run.expectRestored(backup, from: again, isWritten: backup.version % 5 == 0) }
    }

    @Test("A file with a history is backed up without it")
    func history() throws {
        let run = try BackupRun(seed: 11, history: HistoryLimits(age: 1 << 50, byteCount: 1 << 30))
        let repository = try run.repository(MemoryStore())
        for _ in 0..<12 {
            try run.commit(changes: 30)
            let backup = try #require(try repository.backUp(run.database))
            try run.expectRestored(backup, from: repository, isWritten: true)
        }
    }

    @Test("A backup stores what has changed")
    func incremental() throws {
        let run = try BackupRun(seed: 12)
        for _ in 0..<10 { try run.commit(changes: 200) }
        let store = MemoryStore()
        let repository = try run.repository(store)
        let first = try #require(try repository.backUp(run.database))
        // Page maps and the manifest count, too.
        let objects = ["packs/", "maps/", "copies/maps/"].reduce(0) { $0 + store.byteCount(below: $1) }
        #expect(first.storedByteCount > objects)
        #expect(first.storedByteCount < store.byteCount(below: ""))
        #expect(try repository.backUp(run.database) == nil)
        try run.commit(changes: 1)
        let second = try #require(try repository.backUp(run.database))
        #expect(second.storedByteCount * 4 < first.storedByteCount)
        let complete = try #require(try repository.backUp(run.database, isComplete: true))
        #expect(complete.storedByteCount * 4 > first.storedByteCount * 3)
    }

    @Test("The parts of a page are its bytes without long runs of zeros")
    func parts() {
        var page = [UInt8](repeating: 0, count: 4096)
        #expect(Manifest.Part.parts(page, at: 8192) == [])
        page[0] = 1
        page[40] = 2
        page[200] = 3
        page[4095] = 4
        let parts = Manifest.Part.parts(page, at: 8192)
        #expect(parts.map(\.offset) == [8192, 8392, 12_287])
        #expect(parts.map(\.bytes.count) == [41, 1, 1])
        var copy = [UInt8](repeating: 0, count: 4096)
        for part in parts {
            let start = Int(part.offset) - 8192
            copy.replaceSubrange(start..<start + part.bytes.count, with: part.bytes)
        }
        #expect(copy == page)
    }

    @Test("Listing backups keeps no manifests in memory, and those of a plain file have no empty pages")
    func listing() throws {
        let run = try BackupRun(seed: 19)
        let store = MemoryStore()
        let repository = try run.repository(store)
        for _ in 0..<5 {
            try run.commit(changes: 5)
            try repository.backUp(run.database)
        }
        let state = try repository.log.read()
        #expect(state.backups.count == 5)
        let long = (state.backups + state.others).filter { !$0.payload.isEmpty || !$0.claims.isEmpty }
        #expect(long == [])
        #expect(store.byteCount(below: "copies/log/") < 5 * 4096)
        #expect(try run.repository(store).backups().map(\.version) == Array(run.versions.keys.sorted().suffix(5)))
    }

    @Test("The packs of the newest backup are not much longer than its blocks")
    func renewal() throws {
        let run = try BackupRun(seed: 13)
        let store = MemoryStore()
        let repository = try run.repository(store)
        for _ in 0..<120 {
            try run.commit(changes: 6)
            run.clock.advance(hours: 2)
            try repository.backUp(run.database)
        }
        run.clock.advance(hours: 2)
        try repository.prune(RetentionPolicy())
        // The objects of the newest token stay until there is a newer one.
        try run.commit(changes: 1)
        try repository.backUp(run.database)
        run.clock.advance(hours: 2)
        try repository.prune(RetentionPolicy())
        let needed = try repository.plan(.newest).byteCount
        #expect(store.byteCount(below: "packs/") < needed * 3 + (256 << 10))
    }

    #if Encryption
        @Test("Blocks of an encrypted file are stored encrypted, and restored without the key")
        func encrypted() throws {
            let run = try BackupRun(seed: 14, key: BackupRun.key(5))
            let store = MemoryStore()
            let repository = try run.repository(store)
            for _ in 0..<8 {
                try run.commit(changes: 60)
                let backup = try #require(try repository.backUp(run.database))
                #expect(backup.isEncrypted)
                try run.expectRestored(backup, from: repository, isWritten: true)
            }
            for name in store.names {
                let bytes = try #require(try store.get(name))
                #expect(!bytes.withUnsafeBytes { OnlineBackupTests.contains("text 1", $0) }, "\(name)")
            }
            #expect(try repository.verify().findings == [])
        }
    #endif

    @Test("A file that was replaced by an older one, and then written, gets its own backups")
    func divergence() throws {
        let run = try BackupRun(seed: 15)
        let repository = try run.repository(MemoryStore())
        try run.commit(changes: 300)
        let first = try #require(try repository.backUp(run.database))
        for _ in 0..<3 {
            try run.commit(changes: 20)
            try repository.backUp(run.database)
        }
        // Restored with its version numbers, which the next commits use again.
        try repository.restore(.version(first.version), to: "/d/old.realm", in: run.files)
        let old = try Database.openAsOtherProcess(path: "/d/old.realm", fileSystem: run.files)
        let session = try old.makeSession()
        for _ in 0..<3 {
            try session.beginWrite()
            try #require(session.table(named: "Row")).deleteAll()
            let table = try #require(session.table(named: "Row"))
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(77), 0, of: key)
            try table.set(.string("other"), 1, of: key)
            try session.commitWrite()
        }
        let other = try #require(try repository.backUp(old))
        try repository.restore(.version(other.version), to: "/c.realm", in: run.files)
        let copy = try Database.openAsOtherProcess(path: "/c.realm", fileSystem: run.files)
        #expect(IntegrityCheck.run(copy).isClean)
        #expect(try BackupRun.read(copy).values.map(\.text) == ["other"])
    }

    @Test("A restore finds a backup by time and by version, and says so if there is none")
    func points() throws {
        let run = try BackupRun(seed: 16)
        let repository = try run.repository(MemoryStore())
        #expect(throws: BackupError.self) { try repository.plan(.newest) }
        var made: [BackupRepository.Backup] = []
        for _ in 0..<3 {
            try run.commit(changes: 5)
            run.clock.advance(hours: 1)
            made.append(try #require(try repository.backUp(run.database)))
            try run.commit(changes: 5)
        }
        #expect(try repository.plan(.newest).backup == made[2])
        #expect(try repository.plan(.date(made[1].date)).backup == made[1])
        #expect(try repository.plan(.date(made[2].date - 1)).backup == made[1])
        #expect(try repository.plan(.version(made[0].version)).backup == made[0])
        for point in [
            BackupRepository.Point.date(made[0].date - 1), .version(made[0].version + 1), .version(1_000_000),
        ] {
            #expect {
                try repository.plan(point)
            } throws: { ($0 as? BackupError)?.code == .noSuchBackup }
        }
    }

    @Test("A backup has the time of its version, not that of its end")
    func pinnedTime() throws {
        let run = try BackupRun(seed: 20)
        try run.commit(changes: 50)
        let repository = try run.repository(MemoryStore())
        let start = Date(timeIntervalSince1970: Double(run.clock.now) / 1e6)
        var isLate = false
        let first = try #require(
            try repository.backUp(run.database) { _, _ in
                if isLate { return }
                isLate = true
                run.clock.advance(20_000_000)
                try run.commit(changes: 5)
            })
        #expect(isLate)
        #expect(first.date == start)
        let second = try #require(try repository.backUp(run.database))
        #expect(try repository.plan(.date(second.date - 10)).backup == first)
        #expect(try repository.plan(.date(second.date)).backup == second)
    }

    @Test("After a clock was set back, a time means the backup with the nearest earlier time")
    func clockSetBack() throws {
        let run = try BackupRun(seed: 21)
        let repository = try run.repository(MemoryStore())
        var made: [BackupRepository.Backup] = []
        for hours in [0, 2, -1] {
            run.clock.advance(hours: hours)
            try run.commit(changes: 5)
            made.append(try #require(try repository.backUp(run.database)))
        }
        #expect(try repository.plan(.date(made[0].date + 1800)).backup == made[0])
        #expect(try repository.plan(.date(made[2].date + 1800)).backup == made[2])
        #expect(try repository.plan(.date(made[1].date + 1800)).backup == made[1])
        #expect(try repository.plan(.newest).backup == made[2])
    }

    struct Cancelled: Error {}

    @Test("A backup can be cancelled while it only reads, and says how much there is to store")
    func progress() throws {
        let run = try BackupRun(seed: 22)
        try run.commit(changes: 100)
        let store = MemoryStore()
        let repository = try run.repository(store)
        #expect(throws: Cancelled.self) {
            try repository.backUp(run.database) { _, wanted in if wanted == 0 { throw Cancelled() } }
        }
        #expect(store.byteCount(below: "packs/") == 0)
        var last = (done: 0, wanted: 0)
        try repository.backUp(run.database) { done, wanted in
            #expect(done >= last.done && done <= wanted)
            last = (done, wanted)
        }
        #expect(last.done > 0)
        #expect(last.done == last.wanted)
    }

    @Test("A backup whose bytes the store does not return does not count")
    func proof() throws {
        let run = try BackupRun(seed: 23)
        try run.commit(changes: 100)
        let base = MemoryStore()
        for prefix in ["packs/", "maps/", "copies/maps/"] {
            let store = HookStore(base)
            let repository = try run.repository(store)
            store.afterPut = { name in if name.hasPrefix(prefix) { base.flip(name, bit: 1000) } }
            #expect {
                try repository.backUp(run.database)
            } throws: { ($0 as? BackupError)?.code == .storage }
            #expect(try repository.backups() == [])
        }
        let backup = try #require(try run.repository(base).backUp(run.database))
        try run.expectRestored(backup, from: try run.repository(base))
    }

    @Test("Blocks that are near each other in a pack are read together")
    func ranges() throws {
        let base = MemoryStore()
        let store = FaultStore(base)
        let hasher = Hasher128(seedLow: 1, seedHigh: 2)
        var bytes = [UInt8](repeating: 0, count: 512 << 12)
        for page in 0..<512 { bytes[page << 12] = UInt8(page & 255) }
        let pack = PackName(token: 1, digest: hasher.digest(bytes), byteCount: UInt32(bytes.count))
        _ = try base.putIfAbsent(pack.packName, bytes)
        let records = [300, 5, 6, 9].map { (page: Int) -> BlockRecord in
            let block = Array(bytes[page << 12..<(page + 1) << 12])
            let ref = BlockRef(location: UInt64(16 + page) << 16, birth: 1, tagLow: 0, tagHigh: 0, info: 0)
            return BlockRecord(ref, digest: hasher.digest(block), pack: pack, offset: UInt32(page << 12))
        }
        var found: [UInt64] = []
        try ObjectAccess(store, hasher).read(records, in: pack, lost: { _ in Issue.record("a lost block") }) {
            record, _ in found.append(record.page)
        }
        #expect(found == [21, 22, 25, 316])
        #expect(store.calls == 2)
    }

    // A process that followed a database went on in the empty folder of a file system that was no longer mounted.
    @Test("A process that has opened a repository does not go on in an empty store")
    func unmounted() throws {
        let run = try BackupRun(seed: 24)
        try run.commit(changes: 50)
        let store = MemoryStore()
        let repository = try run.repository(store)
        try repository.backUp(run.database)
        try run.commit(changes: 5)
        let mount = store.unmount()
        #expect {
            try repository.backUp(run.database)
        } throws: { ($0 as? BackupError)?.code == .storage }
        #expect(store.names == [])
        mount()
        let backup = try #require(try repository.backUp(run.database))
        try run.expectRestored(backup, from: repository)
    }

    @Test("A restore never replaces anything")
    func existing() throws {
        let run = try BackupRun(seed: 17)
        let repository = try run.repository(MemoryStore())
        try repository.backUp(run.database)
        #expect {
            try repository.restore(.newest, to: BackupRun.path, in: run.files)
        } throws: { ($0 as? BackupError)?.code == .fileExists }
    }

    @Test("A repository is opened only if there is one, and not if it is newer")
    func opening() throws {
        #expect {
            _ = try BackupRepository(MemoryStore())
        } throws: { ($0 as? BackupError)?.code == .noRepository }
        let store = MemoryStore()
        _ = try BackupRepository(store, creating: true)
        _ = try BackupRepository(store)
        let damaged = store.copy()
        damaged.flip("repository", bit: 8 * 14)
        _ = try BackupRepository(damaged)
        damaged.flip("copies/repository", bit: 8 * 14)
        #expect {
            _ = try BackupRepository(damaged)
        } throws: { ($0 as? BackupError)?.code == .damaged }
        let newer = store.copy()
        for name in ["repository", "copies/repository"] { newer.flip(name, bit: 8 * 8 + 5) }
        #expect {
            _ = try BackupRepository(newer)
        } throws: { ($0 as? BackupError)?.code == .newerFormat }
    }
}

@Suite struct LeaseTests {
    private func payloads(_ log: BackupLog, _ entries: [LogEntry]) throws -> [[UInt8]] {
        try entries.compactMap { try log.entry($0.number)?.payload }
    }

    private func log(_ run: BackupRun, _ store: any BackupStore) throws -> (BackupLog, SIMD2<UInt64>) {
        let repository = try run.repository(store)
        return (repository.log, repository.owner)
    }

    @Test("A second process waits until the lease is over, and then fences the first one")
    func fencing() throws {
        let run = try BackupRun(seed: 1)
        let store = MemoryStore()
        let (first, firstOwner) = try log(run, store)
        let (second, secondOwner) = try log(run, store)
        let old = try first.claim(owner: firstOwner, duration: 30_000_000)
        try old.append(.beat)
        #expect {
            try second.claim(owner: secondOwner, duration: 30_000_000)
        } throws: { ($0 as? BackupError)?.code == .inUse }
        run.clock.advance(31_000_000)
        let new = try second.claim(owner: secondOwner, duration: 30_000_000)
        #expect {
            try old.append(.backup, payload: [1])
        } throws: { ($0 as? BackupError)?.code == .fenced }
        #expect(old.state == .fenced)
        try new.append(.backup, payload: [2])
        #expect(try payloads(first, first.read().backups) == [[2]])
        new.release()
        _ = try first.claim(owner: firstOwner, duration: 30_000_000)
    }

    @Test("A backup that a fenced process puts at the number of a deleted entry does not count")
    func late() throws {
        let run = try BackupRun(seed: 2)
        let store = MemoryStore()
        let (first, firstOwner) = try log(run, store)
        let (second, secondOwner) = try log(run, store)
        let old = try first.claim(owner: firstOwner, duration: 30_000_000)
        run.clock.advance(hours: 1)
        let new = try second.claim(owner: secondOwner, duration: 30_000_000)
        try new.append(.backup, payload: [1])
        // All that says so is deleted.
        try store.delete(ObjectName.entry(2))
        #expect {
            try old.append(.backup, payload: [9])
        } throws: { ($0 as? BackupError)?.code == .fenced }
        #expect(try payloads(second, second.read().backups) == [[1]])
        #expect(try payloads(second, second.read().others).contains([9]))
    }

    @Test("A backup that was overtaken fails, also if everything that says so was pruned")
    func overtaken() throws {
        let run = try BackupRun(seed: 5)
        try run.commit(changes: 100)
        let store = MemoryStore()
        let slow = try run.repository(store, packByteCount: 16 << 10)
        let other = try run.repository(store)
        var isOvertaken = false
        do {
            try slow.backUp(run.database) { _, _ in
                if isOvertaken { return }
                isOvertaken = true
                for _ in 0..<4 {
                    run.clock.advance(hours: 2)
                    try run.commit(changes: 5)
                    try other.backUp(run.database)
                }
                run.clock.advance(hours: 2)
                try other.prune(RetentionPolicy())
            }
            Issue.record("a backup that does not exist was reported")
        } catch let error as BackupError { #expect(error.code == .fenced) }
        #expect(isOvertaken)
        let backups = try run.repository(store).backups()
        #expect(backups.count == 1)
        try run.expectRestored(try #require(backups.first), from: other)
    }

    @Test("A process whose clock is behind waits for one whose clock is ahead, unless that clock is wrong")
    func clocks() throws {
        let run = try BackupRun(seed: 6)
        let store = MemoryStore()
        let clock = TestClock()
        clock.advance(60_000_000)
        var options = run.options()
        options.clock = { clock.now }
        let ahead = try BackupRepository(store, creating: true, options: options)
        let (behind, owner) = try log(run, store)
        let lease = try ahead.log.claim(owner: ahead.owner, duration: 30_000_000)
        #expect {
            try behind.claim(owner: owner, duration: 30_000_000)
        } throws: { ($0 as? BackupError)?.code == .inUse }
        try lease.append(.beat)
        run.clock.advance(91_000_000)
        try behind.claim(owner: owner, duration: 30_000_000).release()
        clock.advance(hours: 24)
        _ = try ahead.log.claim(owner: ahead.owner, duration: 30_000_000)
        _ = try behind.claim(owner: owner, duration: 30_000_000)
    }

    @Test("An entry before all listed claims does not count")
    func unlisted() {
        let entry = LogEntry(.backup, number: 4, token: 3, owner: [1, 2], time: 0, duration: 1, claims: [3])
        #expect(entry.counts(among: [3, 10]))
        #expect(!entry.counts(among: [4, 10]))
        #expect(!entry.counts(among: [10, 12]))
    }

    @Test("A process that has lost a reply does not wait for a lease of its own", arguments: 0..<24)
    func ownLease(call: Int) throws {
        let run = try BackupRun(seed: 8)
        let store = FaultStore(MemoryStore())
        let repository = try run.repository(store)
        store.set { $0.faults = [$0.calls + call: .replyLost] }
        do { try repository.backUp(run.database) } catch is StoreFailure {}
        store.set { $0.faults = [:] }
        try repository.backUp(run.database)
        #expect(try repository.backups().map(\.version) == [run.database.newestVersion])
    }

    @Test("A put whose reply was lost is recognized")
    func lostReply() throws {
        let run = try BackupRun(seed: 3)
        let store = FaultStore(MemoryStore())
        let (log, owner) = try log(run, store)
        let lease = try log.claim(owner: owner, duration: 30_000_000)
        store.set { $0.faults = [$0.calls + 1: .replyLost] }
        #expect(throws: StoreFailure.self) { try lease.append(.backup, payload: [1]) }
        try lease.append(.backup, payload: [2])
        store.set { $0.faults = [$0.calls + 1: .duplicated] }
        try lease.append(.backup, payload: [3])
        #expect(try payloads(log, log.read().backups) == [[1], [2], [3]])
    }

    @Test("Changed bytes of an entry are noticed, and its copy is read")
    func damagedEntry() throws {
        let run = try BackupRun(seed: 4)
        let store = MemoryStore()
        let repository = try run.repository(store)
        let backup = try #require(try repository.backUp(run.database))
        for bit in stride(from: 0, to: 8 * 600, by: 61) {
            let damaged = store.copy()
            damaged.flip(ObjectName.entry(backup.number), bit: bit)
            #expect(try run.repository(damaged).backups() == [backup])
        }
        try store.delete(ObjectName.copies + ObjectName.entry(backup.number))
        store.flip(ObjectName.entry(backup.number), bit: 100)
        #expect(try run.repository(store).backups() == [])
        #expect(try run.repository(store).verify().findings.map(\.lostBackups) == [[backup.number]])
    }

    @Test("A backup whose manifest is lost is reported until it is pruned, also after later backups")
    func lostEntry() throws {
        let run = try BackupRun(seed: 7)
        let store = MemoryStore()
        let lost = try #require(try run.repository(store).backUp(run.database))
        for prefix in ["", ObjectName.copies] { store.flip(prefix + ObjectName.entry(lost.number), bit: 100) }
        run.clock.advance(60_000_000)
        // What followed it is gone: only the process that takes over next says what was the newest backup.
        try store.delete(ObjectName.entry(lost.number + 1))
        try run.commit(changes: 5)
        let repository = try run.repository(store)
        let next = try #require(try repository.backUp(run.database))
        #expect(try repository.backups() == [next])
        let result = try repository.verify()
        #expect(!result.isRestorable)
        #expect(result.findings.map(\.lostBackups) == [[lost.number]])
        run.clock.advance(hours: 2)
        try repository.prune(RetentionPolicy())
        #expect(try repository.verify().findings == [])
        try run.expectRestored(next, from: repository)
    }
}
