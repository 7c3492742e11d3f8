// SPDX-License-Identifier: Apache-2.0
// A process that calls `exit` with a database open closes it.

import Foundation
import RegnumSystem
import Testing

@testable import RegnumEngine

#if canImport(Glibc)
    import Glibc
#endif

// Otherwise a flipped bit of the newest commit undid that commit once the lock file was gone too: the file alone could
// not distinguish damage from an incomplete commit.
@Suite struct EndOfProcessTests {
    enum Ending: String, CaseIterable, Codable {
        case held, relaxed, withinWrite, onOtherThread
    }

    private static func insert(_ session: Session, _ ids: Range<Int>, _ wanted: CommitDurability = .full) throws {
        try session.beginWrite()
        if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
        for id in ids { try SpaceTests.insert(try #require(session.table(named: "Row")), id, 900) }
        try session.commitWrite(wanted)
    }

    /// Two commits, then the end of the process with everything open.
    private static func commitAndExit(_ path: String, _ ending: Ending) throws -> Never {
        let database = try Database.open(path: path, fileSystem: PosixFileSystem.shared)
        let session = try database.makeSession()
        try insert(session, 0..<40)
        try insert(session, 40..<60, ending == .relaxed ? .relaxed : .full)
        let reader = try database.makeSession()
        if ending == .withinWrite {
            try session.beginWrite()
            try SpaceTests.insert(try #require(session.table(named: "Row")), 60, 900)
        }
        if ending == .onOtherThread {
            _ = DetachedThread.start { exit(0) }
            while true { sleep(1) }
        }
        withExtendedLifetime((database, session, reader)) { exit(0) }
    }

    /// Two commits, then a child that ends by `exit`, and the end of this process without it.
    private static func commitAndFork(_ path: String) throws -> Never {
        let database = try Database.open(path: path, fileSystem: PosixFileSystem.shared)
        let session = try database.makeSession()
        try insert(session, 0..<40)
        try insert(session, 40..<60)
        let child = fork_()
        if child == 0 { exit(0) }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        withExtendedLifetime((database, session)) { _exit(0) }
    }

    /// The file's protection and the clean-shutdown record.
    private static func settled(_ file: any File) throws -> (FileProtection, CommitSlot.Placed?) {
        let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { header.deallocate() }
        _ = try file.read(header, at: 0)
        let protection = try FileProtection(
            FileHeader(reading: try #require(header.baseAddress), path: ""), nil, path: "")
        return (protection, try CommitSlot.readSettled(file, protection: protection))
    }

    @Test("The exit of a forked child does not affect its parent's database")
    func child() async throws {
        let path = ProcessTests.newPath()
        defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
        await #expect(processExitsWith: .success) { [path = path as String] in
            try EndOfProcessTests.commitAndFork(path)
        }
        let file = try PosixFileSystem.shared.open(path, .readWrite)
        defer { file.close() }
        #expect(try Self.settled(file).1 == nil)
    }

    @Test("An exit closes an open database, so that no flipped bit shows an older state", arguments: Ending.allCases)
    func exits(ending: Ending) async throws {
        // A process that ends takes three seconds at most to close its databases. If that was too short, because the
        // machine is busy, another process tries.
        var isClosed = false
        for _ in 0..<20 where !isClosed {
            let path = ProcessTests.newPath()
            defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
            await #expect(processExitsWith: .success) { [path = path as String, ending = ending as Ending] in
                try EndOfProcessTests.commitAndExit(path, ending)
            }
            isClosed = try Self.expectClosed(path)
        }
        #expect(isClosed)
    }

    /// Returns false if the process that used the file has not closed it.
    private static func expectClosed(_ path: String) throws -> Bool {
        try PosixFileSystem.shared.remove(path + ".lock")
        let file = try PosixFileSystem.shared.open(path, .readWrite)
        defer { file.close() }
        let (protection, record) = try settled(file)
        let newest = try #require(
            try CommitSlot.readAll(file, protection: protection).max { $0.slot.version < $1.slot.version }?.slot)
        guard let record, record.slot.isSameCommit(as: newest) else { return false }
        // A bit in the pages that the newest commit wrote.
        let at = Int(newest.catalog.page) << 12 + 50
        let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        _ = try file.read(byte, at: at)
        try file.write([byte[0] ^ 1], at: at)
        #expect(throws: EngineError.self) {
            try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
        }
        try file.write([byte[0]], at: at)
        try? PosixFileSystem.shared.remove(path + ".lock")
        let database = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
        #expect(try database.makeSession().table(named: "Row")?.count == 60)
        #expect(IntegrityCheck.run(database).isClean)
        return true
    }
}

/// Not imported, because few programs may use it.
@_silgen_name("fork") private func fork_() -> Int32
