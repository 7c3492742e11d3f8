// SPDX-License-Identifier: Apache-2.0
// Files that others keep locked: openings and writes wait until their timeout, then the error names the holder. Also
// foreign files that have the name of the lock file.

import Foundation
@testable import RegnumEngine
import RegnumSystem
import Testing

// A class, because `deinit` removes the folder.
@Suite final class BusyFileTests {
    private let files = PosixFileSystem.shared
    private let folder: String
    private var path: String { folder + "/a.realm" }
    private static let opening = 1 << 62 + 1

    init() throws {
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
        folder =
            FileManager.default.temporaryDirectory.appendingPathComponent("regnum-busy-\(String(word, radix: 16))").path
        try files.makeDirectories(folder)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func open(_ path: String? = nil, timeout: UInt64? = nil, readOnly: Bool = false) throws -> Database {
        var options = Database.OpenOptions(isReadOnly: readOnly)
        options.busyTimeout = timeout
        return try Database.openAsOtherProcess(path: path ?? self.path, fileSystem: files, options: options)
    }

    private func insert(_ session: Session) throws {
        try session.beginWrite()
        if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
        let table = try #require(session.table(named: "Row"))
        try SpaceTests.insert(table, table.count, 10)
        try session.commitWrite()
    }

    private func words(of body: () throws -> Void) -> String? {
        do { try body() } catch EngineError.busy(let words) { return words } catch { Issue.record(error) }
        return nil
    }

    @Test("An opening that times out names the process that holds the lock; a shared lock does not block it")
    func openings() throws {
        let first = try open()
        try insert(try first.makeSession())
        let holder = try files.open(path, .readWrite)
        #expect(try holder.tryLock(byte: Self.opening))
        let refused = try #require(words { _ = try open(timeout: 20_000_000) })
        #if os(Linux)
            #expect(refused.contains("process \(CurrentProcess.id) ("))
        #endif
        #expect(refused.contains("try again later"))
        holder.unlock(byte: Self.opening)
        // Like a process that was stopped while it opened the file, and like a process that may only read.
        let reader = try files.open(path, .readOnly)
        #expect(try reader.tryLockShared(byte: Self.opening))
        try insert(try open(timeout: 20_000_000).makeSession())
        #expect(try open(timeout: 20_000_000, readOnly: true).makeSession().table(named: "Row")?.count == 2)
    }

    @Test("A read-only opening does not wait for the opening lock")
    func reading() throws {
        do { try insert(try open().makeSession()) }
        let holder = try files.open(path, .readWrite)
        #expect(try holder.tryLock(byte: Self.opening))
        #expect(try open(timeout: 0, readOnly: true).makeSession().table(named: "Row")?.count == 1)
    }

    @Test("A write that times out names the writing process, and a later write succeeds")
    func otherProcess() throws {
        let (one, two) = (try open().makeSession(), try open(timeout: 20_000_000).makeSession())
        try insert(one)
        try one.beginWrite()
        let refused = try #require(words { try two.beginWrite() })
        #expect(refused.contains("process \(CurrentProcess.id) (") && refused.contains("has been writing for "))
        #expect(!two.isWriting)
        one.rollbackWrite()
        try insert(two)
        #expect(two.table(named: "Row")?.count == 2)
        #expect(IntegrityCheck.run(two.database).isClean)
    }

    @Test("A write that times out names the process that holds a foreign lock")
    func stranger() throws {
        let session = try open(timeout: 20_000_000).makeSession()
        try insert(session)
        let reader = try files.open(path, .readOnly)
        #expect(try reader.tryLockShared(byte: 1 << 62))
        let refused = try #require(words { try session.beginWrite() })
        #if os(Linux)
            #expect(refused.contains("process \(CurrentProcess.id) ("))
        #endif
        reader.close()
        try insert(session)
        #expect(IntegrityCheck.run(session.database).isClean)
    }

    @Test("A write that times out names the source location of this process's writer")
    func otherThread() throws {
        let database = try open(timeout: 20_000_000)
        let one = try database.makeSession(origin: SessionOrigin(.opened, fileID: "App/Main.swift", line: 12))
        try insert(one)
        try one.beginWrite()
        let two = try database.makeSession()
        let refused = try #require(words { try two.beginWrite() })
        #expect(refused.contains("in the Realm opened at App/Main.swift:12"))
        one.rollbackWrite()
        try insert(two)
        #expect(two.table(named: "Row")?.count == 2)
    }

    @Test("A reader does not touch a file that another process is creating")
    func readerBesideMaker() throws {
        let making = MakingFileSystem(files)
        #expect(throws: EngineError.notADatabase(path: path, why: .tooSmall)) {
            try Database.openAsOtherProcess(
                path: path, fileSystem: making, options: Database.OpenOptions(isReadOnly: true))
        }
        #expect(making.hasMade)
        #expect(try files.status(path)?.byteCount == 0)
    }

    @Test("The error for exhausted locks does not count as missing lock support")
    func noLockNow() {
        #expect(!SystemError(.noLocks, "lock", path, code: 37).isUnsupportedLock)
        #expect(SystemError(.unsupported, "lock", path, code: 95).isUnsupportedLock)
    }

    // MARK: Names

    @Test("A foreign file with the lock file's name is not changed, and no database is created beside it")
    func foreign() throws {
        let lock = path + ".lock"
        let page = String(repeating: "\0", count: 4096)
        let texts = [
            "# yarn lockfile v1\n", "R", String(repeating: "x", count: LockFile.byteCount),
            // Zeros at the start are not enough, and a file of zeros that is longer than a lock file is refused.
            page + String(repeating: "x", count: LockFile.byteCount - page.utf8.count),
            String(repeating: "\0", count: LockFile.byteCount + 1),
        ]
        for text in texts {
            try Data(text.utf8).write(to: URL(fileURLWithPath: lock))
            #expect(throws: EngineError.foreignLockFile(path: lock)) { try open() }
            #expect(try String(contentsOfFile: lock, encoding: .utf8) == text)
            #expect(try files.status(path) == nil)
            // Also if the database exists already.
            try files.remove(lock)
            do { try insert(try open().makeSession()) }
            try Data(text.utf8).write(to: URL(fileURLWithPath: lock))
            #expect(throws: EngineError.foreignLockFile(path: lock)) { try open() }
            #expect(try String(contentsOfFile: lock, encoding: .utf8) == text)
            #expect(try open(readOnly: true).makeSession().table(named: "Row")?.count == 1)
            try files.remove(lock)
            try files.remove(path)
        }
    }

    @Test(
        "An empty file, zeros, and the lock file of another database are accepted as lock file",
        arguments: [0, 100, LockFile.byteCount])
    func taken(count: Int) throws {
        try Data(count: count).write(to: URL(fileURLWithPath: path + ".lock"))
        do { try insert(try open().makeSession()) }
        do { try insert(try open(folder + "/b.realm").makeSession()) }
        try files.remove(path + ".lock")
        try files.rename(folder + "/b.realm.lock", to: path + ".lock")
        try insert(try open().makeSession())
    }

    @Test("A hard link with the lock file's name is replaced or refused, and its target is never written")
    func hardLink() throws {
        let victim = folder + "/victim"
        for text in ["", "precious"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: victim))
            try FileManager.default.linkItem(atPath: victim, toPath: path + ".lock")
            if text.isEmpty {
                try insert(try open().makeSession())
            } else {
                #expect(throws: EngineError.foreignLockFile(path: path + ".lock")) { try open() }
            }
            #expect(try String(contentsOfFile: victim, encoding: .utf8) == text)
            try files.remove(victim)
            try files.remove(path + ".lock")
        }
    }
}

/// A file system in which another process starts to create each missing file whose status is requested.
private final class MakingFileSystem: FileSystem {
    private let base: any FileSystem
    nonisolated(unsafe) private(set) var hasMade = false

    init(_ base: any FileSystem) { self.base = base }

    func status(_ path: String) throws(SystemError) -> FileStatus? {
        let status = try base.status(path)
        if status == nil, !path.hasSuffix(".lock"), !hasMade {
            hasMade = true
            try base.open(path, .readWriteCreate).close()
        }
        return status
    }

    func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File { try base.open(path, mode) }
    func linked(_ path: String) -> String { base.linked(path) }
    func remove(_ path: String) throws(SystemError) { try base.remove(path) }
    func rename(_ source: String, to target: String) throws(SystemError) { try base.rename(source, to: target) }
    func renameIfAbsent(_ source: String, to target: String) throws(SystemError) {
        try base.renameIfAbsent(source, to: target)
    }
    func makeDirectories(_ path: String) throws(SystemError) { try base.makeDirectories(path) }
    func syncDirectory(containing path: String) throws(SystemError) { try base.syncDirectory(containing: path) }
    func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { base.fillRandom(buffer) }
    func filesLocked(at bytes: Range<Int>, besides file: FileIdentity) -> [any File] {
        base.filesLocked(at: bytes, besides: file)
    }
    var isShared: Bool { base.isShared }
}
