// SPDX-License-Identifier: Apache-2.0
// A folder without room for a lock file: the database opens all the same, to read and to write, and other processes
// find the lock file in memory.

#if os(Linux)
    import Foundation
    @testable import RegnumEngine
    import RegnumSystem
    import Testing

    // A class, because `deinit` removes the folder.
    @Suite final class LockFileInMemoryTests {
        private let folder: String
        private var path: String { folder + "/a.realm" }

        init() throws {
            var word: UInt64 = 0
            withUnsafeMutableBytes(of: &word) { PosixFileSystem.shared.fillRandom($0) }
            folder =
                FileManager.default.temporaryDirectory
                .appendingPathComponent("regnum-memory-lock-\(String(word, radix: 16))").path
            try PosixFileSystem.shared.makeDirectories(folder)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        private func open(_ files: any FileSystem) throws -> Session {
            try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
        }

        private func insert(_ session: Session, _ id: Int) throws {
            try session.beginWrite()
            if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
            try SpaceTests.insert(try #require(session.table(named: "Row")), id, 10)
            try session.commitWrite()
        }

        private func count(_ session: Session) throws -> Int { try #require(session.table(named: "Row")).count }

        private func fill() throws {
            let session = try open(PosixFileSystem.shared)
            for id in 0..<3 { try insert(session, id) }
        }

        @Test("Without room for a lock file a database opens, and processes see each other's commits and pins")
        func shared() throws {
            try fill()
            try PosixFileSystem.shared.remove(path + ".lock")
            let files = FullFolder()
            let first = try open(files)
            #expect(try count(first) == 3)
            #expect(try PosixFileSystem.shared.status(path + ".lock") == nil)
            let second = try open(files)
            #expect(try count(second) == 3)
            try insert(first, 3)
            #expect(try second.refresh())
            #expect(try count(second) == 4)
            try insert(second, 4)
            #expect(try first.refresh())
            // A version that the other process shows is kept.
            let pin = try second.freeze()
            for id in 5..<40 { try insert(first, id) }
            #expect(try count(pin) == 5)
            let table = try #require(pin.table(named: "Row"))
            for id in 0..<5 {
                let value = try table.value(0, of: table.key(atPosition: id))
                #expect(value == .int(Int64(id)))
            }
            #expect(IntegrityCheck.run(first.database).isClean)
        }

        @Test("When there is room again, the next first process makes a lock file")
        func roomAgain() throws {
            try fill()
            try PosixFileSystem.shared.remove(path + ".lock")
            do {
                let session = try open(FullFolder())
                try insert(session, 3)
            }
            let session = try open(PosixFileSystem.shared)
            #expect(try count(session) == 4)
            #expect(try PosixFileSystem.shared.status(path + ".lock") != nil)
        }
    }

    /// The file system of the machine, in which no new file finds room.
    private final class FullFolder: FileSystem {
        private let base = PosixFileSystem.shared

        func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
            if case .createNew = mode { throw SystemError(.noSpace, "open", path) }
            return try base.open(path, mode)
        }
        func status(_ path: String) throws(SystemError) -> FileStatus? { try base.status(path) }
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
        func fileInMemory() -> (any File)? { base.fileInMemory() }
        var isShared: Bool { base.isShared }
    }
#endif
