// SPDX-License-Identifier: Apache-2.0
// A store in a folder: objects appear whole, once, and stay.

import Foundation
import RegnumBackup
import RegnumEngine
import RegnumSystem
import Synchronization
import Testing

@Suite struct DirectoryStoreTests {
    private static func newFolder() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("regnum-store-\(UUID().uuidString)")
    }

    private static func remove(_ folder: URL) { try? FileManager.default.removeItem(at: folder) }

    @Test("Objects are put once, read in whole and in part, listed and deleted")
    func calls() throws {
        let folder = Self.newFolder()
        defer { Self.remove(folder) }
        let store = DirectoryStore(folder)
        #expect(try store.list("") == [])
        #expect(try store.get("a/b") == nil)
        #expect(try store.byteCount(of: "a/b") == nil)
        try store.delete("a/b")
        #expect(try store.putIfAbsent("a/b", [1, 2, 3]))
        #expect(try !store.putIfAbsent("a/b", [4]))
        #expect(try store.putIfAbsent("a/c/d", []))
        #expect(try store.putIfAbsent("e", [5]))
        #expect(try store.get("a/b") == [1, 2, 3])
        #expect(try store.get("a/b", range: 1..<3) == [2, 3])
        #expect(try store.get("a/b", range: 2..<9) == [3])
        #expect(try store.get("a/b", range: 7..<9) == [])
        #expect(try store.get("a/x", range: 0..<1) == nil)
        #expect(try store.byteCount(of: "a/b") == 3)
        #expect(try store.list("a/").sorted() == ["a/b", "a/c/d"])
        #expect(try store.list("").sorted() == ["a/b", "a/c/d", "e"])
        try store.delete("a/b")
        #expect(try store.get("a/b") == nil)
        #expect(try DirectoryStore(folder).list("a/") == ["a/c/d"])
    }

    @Test("Of many that put one name at once, one succeeds, and its bytes are there")
    func race() throws {
        let folder = Self.newFolder()
        defer { Self.remove(folder) }
        let winners = Winners()
        DispatchQueue.concurrentPerform(iterations: 16) { number in
            let store = DirectoryStore(folder)
            let bytes = [UInt8](repeating: UInt8(number), count: 5000)
            if (try? store.putIfAbsent("log/1", bytes)) == true { winners.add(number) }
        }
        let found = winners.all
        #expect(found.count == 1)
        #expect(try DirectoryStore(folder).get("log/1") == [UInt8](repeating: UInt8(found.first ?? 0), count: 5000))
    }

    private final class Winners: Sendable {
        private let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    @Test("A list omits unfinished objects")
    func unfinished() throws {
        let folder = Self.newFolder()
        defer { Self.remove(folder) }
        let store = DirectoryStore(folder)
        _ = try store.putIfAbsent("packs/a", [1])
        try Data([1]).write(to: folder.appendingPathComponent("packs/b.12ab.tmp"))
        #expect(try store.list("packs/") == ["packs/a"])
    }

    @Test("A database is backed up, verified, pruned and restored through files")
    func endToEnd() throws {
        let folder = Self.newFolder()
        defer { Self.remove(folder) }
        let url = folder.appendingPathComponent("a.realm")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let database = try Database.open(path: url.path, fileSystem: PosixFileSystem.shared)
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([BackupRun.rows])
        try session.commitWrite()
        let repository = try BackupRepository(
            DirectoryStore(folder.appendingPathComponent("repository")), creating: true)
        for id in 0..<3 {
            try session.beginWrite()
            let table = try #require(session.table(named: "Row"))
            let location = try table.insertRow()
            let key = location.key
            try table.finishInsert(location)
            try table.set(.int(Int64(id)), 0, of: key)
            try session.commitWrite()
            let backup = try repository.backUp(url)
            #expect(backup?.version == session.version)
        }
        #expect(try repository.verify().findings == [])
        #expect(try repository.prune(RetentionPolicy()).removed == [])
        let backups = try repository.backups()
        #expect(backups.count == 3)
        #expect(try repository.check(backups[1], in: folder) == [])
        let restored = folder.appendingPathComponent("b.realm")
        try repository.restore(.version(backups[1].version), to: restored)
        let copy = try Database.open(path: restored.path, fileSystem: PosixFileSystem.shared)
        #expect(try copy.makeSession().table(named: "Row")?.count == 2)
        #expect {
            try repository.restore(.newest, to: restored)
        } throws: { ($0 as? BackupError)?.code == .fileExists }
    }
}
