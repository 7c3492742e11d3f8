// SPDX-License-Identifier: Apache-2.0
// Processes with little address space (`ulimit -v`, small containers): the address space used grows with the file.

import Foundation
import RegnumSystem
import Testing

@testable import RegnumEngine

#if canImport(Glibc)
    import Glibc
#endif

#if os(Linux)
    // An earlier version reserved 1 GiB of address space to open a file of 1 MB, and 2 GiB to write to it, for any file
    // size.
    @Suite struct AddressSpaceTests {
        /// Limits the address space of this process to the current size plus `added` bytes.
        private static func limit(to added: Int) throws {
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            let now = try #require(pages.first.flatMap { Int($0) }) * Int(sysconf(Int32(_SC_PAGESIZE)))
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { exit(2) }
            limit.rlim_cur = rlim_t(now + added)
            guard setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { exit(2) }
        }

        private static func insert(_ session: Session, _ ids: Range<Int>, _ byteCount: Int) throws {
            try session.beginWrite()
            if session.tables.isEmpty { try session.addTables([SpaceTests.rows]) }
            for id in ids { try SpaceTests.insert(try #require(session.table(named: "Row")), id, byteCount) }
            try session.commitWrite()
        }

        private static func use(_ path: String, _ files: any FileSystem) throws {
            do {
                let session = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
                // The file grows to about 20 MB while it is open.
                for turn in 0..<20 { try insert(session, turn * 1000..<(turn + 1) * 1000, 800) }
                #expect(session.table(named: "Row")?.count == 20_000)
                #expect(IntegrityCheck.run(session.database).isClean)
            }
            if files.isShared {
                // The address space of the grown file is released.
                for _ in 0..<20 {
                    let session = try Database.openAsOtherProcess(path: path, fileSystem: files).makeSession()
                    try insert(session, 100_000..<100_001, 10)
                    let table = try #require(session.table(named: "Row"))
                    try session.beginWrite()
                    try table.delete(try table.key(atPosition: table.count - 1))
                    try session.commitWrite()
                    #expect(table.count == 20_000)
                }
            }
        }

        @Test("A file can be used if the address space has room for little more than the file")
        func file() async throws {
            let path = ProcessTests.newPath()
            defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
            await #expect(processExitsWith: .success) { [path = path as String] in
                try AddressSpaceTests.limit(to: 200 << 20)
                try AddressSpaceTests.use(path, PosixFileSystem.shared)
            }
            let database = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
            #expect(try database.makeSession().table(named: "Row")?.count == 20_000)
        }

        @Test("A database in memory needs as little address space as a file")
        func memory() async throws {
            await #expect(processExitsWith: .success) {
                try AddressSpaceTests.limit(to: 200 << 20)
                try AddressSpaceTests.use("/a.realm", MemoryFileSystem())
            }
        }

        @Test("A write throws if address space runs out, and the file stays usable")
        func tooMuch() async throws {
            let path = ProcessTests.newPath()
            defer { for end in ["", ".lock"] { try? PosixFileSystem.shared.remove(path + end) } }
            await #expect(processExitsWith: .success) { [path = path as String] in
                try AddressSpaceTests.limit(to: 200 << 20)
                let database = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
                let session = try database.makeSession()
                try AddressSpaceTests.insert(session, 0..<10, 100)
                try AddressSpaceTests.limit(to: 4 << 20)
                #expect(throws: EngineError.self) {
                    while true { try AddressSpaceTests.insert(try database.makeSession(), 10..<200, 100_000) }
                }
                if session.isWriting { session.rollbackWrite() }
                try AddressSpaceTests.limit(to: 100 << 20)
                try AddressSpaceTests.insert(session, 5000..<5010, 100)
            }
            let database = try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared)
            #expect(IntegrityCheck.run(database).isClean)
        }
    }
#endif
