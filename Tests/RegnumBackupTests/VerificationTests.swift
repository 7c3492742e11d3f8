// SPDX-License-Identifier: Apache-2.0
// Changed bits and missing objects are found, and healed if another copy exists.

import Foundation
import RegnumBackup
import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Testing

@Suite struct VerificationTests {
    private func filled(_ seed: UInt64, stores: [MemoryStore]) throws -> (BackupRun, [BackupRepository]) {
        let run = try BackupRun(seed: seed)
        let repositories = try stores.map { try run.repository($0, packByteCount: 32 << 10) }
        for turn in 0..<8 {
            try run.commit(changes: turn == 0 ? 200 : 15)
            // One of them has fewer backups.
            for (number, repository) in repositories.enumerated() where number == 0 || turn % 2 == 1 {
                try repository.backUp(run.database)
            }
        }
        return (run, repositories)
    }

    /// Compares each backup with the model; returns the numbers of those that are not restorable.
    private func lost(_ run: BackupRun, _ repository: BackupRepository) throws -> [UInt64] {
        var lost: [UInt64] = []
        for backup in try repository.backups() {
            do { try run.expectRestored(backup, from: repository) } catch let error as BackupError {
                #expect(error.code == .damaged)
                lost.append(backup.number)
            }
        }
        return lost
    }

    @Test("A whole repository has no findings, and each block is compared once")
    func clean() throws {
        let store = MemoryStore()
        let (run, repositories) = try filled(1, stores: [store])
        let result = try repositories[0].verify()
        #expect(result.findings == [])
        #expect(result.backupCount == 8)
        #expect(result.byteCount <= store.byteCount(below: "packs/"))
        for backup in try repositories[0].backups() {
            #expect(try repositories[0].check(backup, key: nil, path: "/check.realm", in: run.files) == [])
        }
        #expect(try run.files.status("/check.realm") == nil)
    }

    @Test("A changed bit is found or changes nothing, and nothing wrong is restored", arguments: RunSeed.list(1...60))
    func flips(seed: RunSeed) throws {
        let store = MemoryStore()
        let (run, _) = try filled(seed.value % 5, stores: [store])
        var random = SeededRandom(seed: seed.value)
        // Entries that are no backups have no copy, and are not needed.
        let entries = Set(try run.repository(store).backups().map { String($0.number, radix: 16) })
        let names = store.names.filter { name in
            if name.hasPrefix("log/") { return entries.contains { name.hasSuffix("0" + $0) } }
            return name != "repository"
        }
        let name = names[random.below(names.count)]
        store.flip(name, bit: random.below(1 << 22))
        let repository = try run.repository(store)
        let result = try repository.verify()
        let missing = try lost(run, repository)
        // A bit of a block that no backup needs any more is not found.
        if name.contains("packs/") {
            #expect(result.isRestorable == missing.isEmpty)
        } else {
            #expect(result.isRestorable)
            #expect(missing == [])
            #expect(!result.findings.isEmpty, "\(name)")
        }
        #expect(Set(missing).isSubset(of: Set(result.findings.flatMap(\.lostBackups))))
    }

    @Test("Damage is healed from another repository of the same database", arguments: RunSeed.list(1...20))
    func healing(seed: RunSeed) throws {
        let stores = [MemoryStore(), MemoryStore()]
        let (run, repositories) = try filled(seed.value % 5, stores: stores)
        var random = SeededRandom(seed: seed.value)
        // The other one has every second backup: blocks that the newest one needs are in both.
        let policy = RetentionPolicy()
        run.clock.advance(hours: 2)
        try repositories[0].prune(policy)
        let packs = stores[0].names.filter { $0.hasPrefix("packs/") }
        for _ in 0..<3 {
            let name = packs[random.below(packs.count)]
            if random.below(3) == 0 {
                try stores[0].delete(name)
            } else {
                stores[0].flip(name, bit: random.below(1 << 20))
            }
        }
        for name in stores[0].names where name.hasPrefix("maps/") { stores[0].flip(name, bit: random.below(1 << 12)) }
        let damaged = try run.repository(stores[0])
        let result = try damaged.verify(healing: true, from: [try run.repository(stores[1])])
        #expect(!result.findings.isEmpty)
        #expect(result.isRestorable)
        let left = result.findings.filter { !$0.isHealed }
        #expect(left == [])
        let again = try run.repository(stores[0])
        #expect(try again.verify().isRestorable)
        #expect(try lost(run, again) == [])
    }

    @Test(
        "A backup that is pruned in the meantime has no findings, and is not made to exist again",
        arguments: ["log/", "copies/log/", "maps/", "packs/"])
    func pruned(prefix: String) throws {
        let base = MemoryStore()
        let (run, repositories) = try filled(6, stores: [base])
        run.clock.advance(hours: 2)
        let store = HookStore(base)
        let repository = try run.repository(store)
        let old = try #require(try repositories[0].backups().first)
        var isPruned = false
        store.beforeGet = { name in
            if isPruned || !name.hasPrefix(prefix) { return }
            isPruned = true
            try repositories[0].prune(RetentionPolicy())
        }
        let result = try repository.verify(healing: true)
        #expect(isPruned)
        #expect(result.findings == [])
        #expect {
            try repository.check(old, key: nil, path: "/check.realm", in: run.files)
        } throws: { ($0 as? BackupError)?.code == .noSuchBackup }
        let again = try run.repository(base)
        #expect(try again.backups().count == 1)
        #expect(try again.verify().findings == [])
        #expect(base.names.filter { $0.hasPrefix("copies/log/") }.count == 1)
    }

    @Test("The record of the repository has a copy, from which it is healed")
    func record() throws {
        let store = MemoryStore()
        let (run, repositories) = try filled(7, stores: [store])
        let backups = try repositories[0].backups()
        try store.delete("repository")
        let repository = try run.repository(store)
        #expect(try repository.backups() == backups)
        #expect(try store.byteCount(of: "repository") == nil)
        let result = try repository.verify(healing: true)
        #expect(result.findings.map(\.object) == ["repository"])
        #expect(result.isRestorable)
        #expect(try store.get("repository") == store.get("copies/repository"))
        #expect(try run.repository(store).verify().findings == [])
    }

    @Test("Damage is healed from the database file, which still has the blocks")
    func fromFile() throws {
        let run = try BackupRun(seed: 9)
        try run.commit(changes: 200)
        let store = MemoryStore()
        let backup = try #require(try run.repository(store).backUp(run.database))
        for name in store.names where name.hasPrefix("packs/") { store.flip(name, bit: 77) }
        let repository = try run.repository(store)
        #expect(try !repository.verify().isRestorable)
        let result = try repository.verify(healing: true, paths: [BackupRun.path], in: run.files)
        #expect(!result.findings.isEmpty)
        #expect(result.isRestorable)
        try run.expectRestored(backup, from: repository)
        store.flip(try #require(store.names.first { $0.hasPrefix("copies/packs/") }), bit: 77)
        #expect {
            try repository.verify(healing: true, paths: ["/none.realm"], in: run.files)
        } throws: { ($0 as? BackupError)?.code == .storage }
    }

    @Test("A restored file that a killed process has left is removed after a day")
    func leftovers() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-left-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = ["regnum-check-1-2", "regnum-check-1-3", "other"]
        for name in names { try Data([1]).write(to: folder.appendingPathComponent(name)) }
        for name in [names[0], names[2]] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100_000)],
                ofItemAtPath: folder.appendingPathComponent(name).path)
        }
        let run = try BackupRun(seed: 10)
        let repository = try run.repository(MemoryStore())
        let backup = try #require(try repository.backUp(run.database))
        #expect(try repository.check(backup, in: folder) == [])
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.sorted() == ["other", "regnum-check-1-3"])
    }

    @Test("Damage without another copy is repaired for later backups by a complete one")
    func complete() throws {
        let store = MemoryStore()
        let (run, _) = try filled(3, stores: [store])
        for name in store.names where name.hasPrefix("packs/") { store.flip(name, bit: 77) }
        let repository = try run.repository(store)
        #expect(try !repository.verify().isRestorable)
        let backup = try #require(try repository.backUp(run.database, isComplete: true))
        try run.expectRestored(backup, from: repository)
    }
}
