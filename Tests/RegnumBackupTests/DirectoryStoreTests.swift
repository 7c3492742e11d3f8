// SPDX-License-Identifier: Apache-2.0
// A store in a folder: objects appear whole, once, and stay.

import Foundation
import RegnumBackup
import RegnumEngine
import RegnumSystem
import Synchronization
import Testing

@Suite struct DirectoryStoreTests {
    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-store-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test("Objects are put once, read in whole and in part, listed and deleted")
    func calls() throws {
        try withFolder { folder in
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
    }

    @Test("Of many that put one name at once, one succeeds, and its bytes are there")
    func race() throws {
        try withFolder { folder in
            let winners = Winners()
            DispatchQueue.concurrentPerform(iterations: 16) { number in
                let store = DirectoryStore(folder)
                let bytes = [UInt8](repeating: UInt8(number), count: 5000)
                if (try? store.putIfAbsent("log/1", bytes)) == true { winners.add(number) }
            }
            let found = winners.all
            #expect(found.count == 1)
            let stored = try DirectoryStore(folder).get("log/1")
            #expect(stored == [UInt8](repeating: UInt8(found.first ?? 0), count: 5000))
        }
    }

    private final class Winners: Sendable {
        private let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    @Test("A list does not follow a link to another folder")
    func links() throws {
        try withFolder { folder in
            let store = DirectoryStore(folder.appendingPathComponent("repository"))
            _ = try store.putIfAbsent("packs/a", [1])
            let other = folder.appendingPathComponent("other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            try Data([1]).write(to: other.appendingPathComponent("b"))
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + "/repository/packs/other", withDestinationPath: other.path)
            #expect(try store.list("packs/") == ["packs/a"])
        }
    }

    @Test("The names of all new folders are made durable, also those that another process has left")
    func folders() throws {
        let files = SyncedFolders()
        let store = DirectoryStore("/a/b/repository", in: files)
        #expect(try store.putIfAbsent("copies/log/1", [1]))
        let inside = ["/a/b", "/a/b/repository", "/a/b/repository/copies", "/a/b/repository/copies/log"]
        #expect(files.take().isSuperset(of: ["/", "/a"] + inside))
        #expect(try store.putIfAbsent("copies/log/2", [1]))
        #expect(files.take() == [inside[3]])
        #expect(try DirectoryStore("/a/b/repository", in: files).putIfAbsent("copies/log/3", [1]))
        #expect(files.take() == Set(inside))
    }

    // A follower stored increments under an empty mount point, and reported success.
    @Test("A folder that is gone is not created again, and its objects are not taken for missing ones")
    func unmounted() throws {
        try withFolder { folder in
            let place = folder.appendingPathComponent("mount/repository")
            let store = DirectoryStore(place)
            #expect(try store.putIfAbsent("log/1", [1]))
            let reopened = DirectoryStore(place)
            #expect(try reopened.get("log/1") == [1])
            try FileManager.default.moveItem(at: place, to: folder.appendingPathComponent("elsewhere"))
            for store in [store, reopened] {
                #expect(throws: BackupError.self) { try store.putIfAbsent("log/2", [2]) }
                #expect(throws: BackupError.self) { try store.get("log/1") }
                #expect(throws: BackupError.self) { try store.byteCount(of: "log/1") }
                #expect(throws: BackupError.self) { try store.list("log/") }
            }
            #expect(!FileManager.default.fileExists(atPath: place.path))
            try FileManager.default.moveItem(at: folder.appendingPathComponent("elsewhere"), to: place)
            #expect(try store.putIfAbsent("log/2", [2]))
        }
    }

    @Test("A file system on which two processes could put one name is refused")
    func unsafeFolder() throws {
        let files = SyncedFolders(hasExclusiveRenames: false)
        let store = DirectoryStore("/a", in: files)
        #expect {
            _ = try store.putIfAbsent("log/1", [1])
        } throws: { ($0 as? BackupError)?.message.contains("hard links") == true }
        #expect(try store.get("log/1") == nil)
    }

    @Test("A deleted object is gone after a power loss, too")
    func durableDeletion() throws {
        let files = SyncedFolders()
        let store = DirectoryStore("/a", in: files)
        _ = try store.putIfAbsent("log/1", [1])
        _ = files.take()
        try store.delete("log/1")
        #expect(files.take() == ["/a/log"])
        try store.delete("log/1")
    }

    @Test("A list omits unfinished objects")
    func unfinished() throws {
        try withFolder { folder in
            let store = DirectoryStore(folder)
            _ = try store.putIfAbsent("packs/a", [1])
            try Data([1]).write(to: folder.appendingPathComponent("packs/b.12ab.tmp"))
            #expect(try store.list("packs/") == ["packs/a"])
        }
    }

    @Test("A database is backed up, verified, pruned and restored through files")
    func endToEnd() throws {
        try withFolder { folder in
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
}

/// Files in memory. Records which folders are synced. Any thread.
private final class SyncedFolders: FileSystem {
    private let base = MemoryFileSystem()
    private let synced = Mutex<Set<String>>([])
    private let hasExclusiveRenames: Bool

    init(hasExclusiveRenames: Bool = true) { self.hasExclusiveRenames = hasExclusiveRenames }

    /// Returns the folders that were synced since the last call.
    func take() -> Set<String> {
        synced.withLock { synced in
            defer { synced = [] }
            return synced
        }
    }

    var isShared: Bool { base.isShared }
    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File { try base.open(path, mode) }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
    func remove(_ path: String) throws(SystemError) { try base.remove(path) }
    func rename(_ source: String, to target: String) throws(SystemError) { try base.rename(source, to: target) }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try base.renameIfAbsent(source, to: target)
    }
    func renameInOneStepIfAbsent(_ source: String, to target: String) throws(SystemError) {
        guard hasExclusiveRenames else { throw SystemError(.unsupported, "rename", target) }
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) { try base.makeDirectories(path) }
    func syncDirectory(containing path: String) throws(SystemError) {
        synced.withLock { _ = $0.insert(parentPath(path)) }
    }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }
}
