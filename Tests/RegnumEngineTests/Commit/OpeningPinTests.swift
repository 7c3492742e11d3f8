// SPDX-License-Identifier: Apache-2.0
// A process that opens a file pins the version that it reads, at the moment at which others make its pages free.

import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

@testable import RegnumEngine

// Random interleavings hit this moment too rarely: an opening has few calls between the two.
@Suite struct OpeningPinTests {
    private static let path = "/o/a.realm"

    private static func open(_ files: any FileSystem, _ mutant: ProtocolMutant? = nil) throws -> Database {
        var options = Database.OpenOptions()
        options.syncDelay = nil
        options.mutant = mutant
        return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    /// Writes each object again.
    private static func rewrite(_ session: Session, _ byte: UInt8) throws {
        try session.beginWrite()
        let table = try #require(session.table(named: "Row"))
        for position in 0..<table.count {
            try table.set(
                .data([UInt8](repeating: byte, count: 900)), 2, of: try table.key(atPosition: position))
        }
        try session.commitWrite()
    }

    /// Opens the file while another process makes eight commits after the slots are read. Returns the number of
    /// objects.
    private static func openBetweenCommits(_ mutant: ProtocolMutant?) throws -> Int {
        let files = SimulatedFileSystem(seed: 1, reservedByteCount: 64 << 20)
        let writer = try open(files).makeSession()
        try writer.beginWrite()
        try writer.addTables([SpaceTests.rows])
        for id in 0..<40 { try SpaceTests.insert(try #require(writer.table(named: "Row")), id, 900) }
        try writer.commitWrite()
        let hooked = HookedFileSystem(files)
        let reads = Mutex(0)
        hooked.after = { call, name in
            guard name == path, call == .read(at: FormatLimits.slotBByteOffset) else { return }
            let count = reads.withLock { count in
                count += 1
                return count
            }
            if count > 3 { return }
            #expect(throws: Never.self) { for byte in 0..<8 { try rewrite(writer, UInt8(byte)) } }
        }
        let database = try open(hooked, mutant)
        #expect(reads.withLock { $0 } > 0)
        hooked.after = { _, _ in }
        #expect(IntegrityCheck.run(database).isClean)
        return try #require(try database.makeSession().table(named: "Row")).count
    }

    @Test("Writers do not overwrite pages that an opening reads")
    func pinned() throws {
        #expect(try Self.openBetweenCommits(nil) == 40)
    }

    @Test("The test reveals an opening without a pin")
    func mutant() throws {
        #expect(throws: EngineError.self) { _ = try Self.openBetweenCommits(.openingNotPinned) }
    }
}
