// SPDX-License-Identifier: Apache-2.0
// Writes that begin only if they need not wait, beside queued commits and other processes.

@testable import RegnumEngine
import RegnumSimulation
import Testing

extension DurabilityTests {
    @Test(
        "A write that is tried joins queued commits, but not if these have kept other processes from writing for long",
        arguments: [UInt64.max, 0])
    func tried(longestHold: UInt64) throws {
        let files = files()
        let other = try makeFile(files)
        var options = options()
        options.longestHold = longestHold
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options)
            .makeSession()
        let done = Done()
        try insertLater(session, 0, done)
        #expect(try !other.tryBeginWrite())
        let hasBegun = try session.tryBeginWrite()
        #expect(hasBegun == (longestHold == .max))
        #expect(done.durable == 0)
        if hasBegun {
            try SpaceTests.insert(try #require(session.table(named: "Row")), 1, 300)
            try session.commitWrite()
        }
        try session.database.makeDurable()
        #expect(done.durable == 1)
        #expect(session.database.commitGroups.syncs == 1)
        #expect(session.database.commitGroups.commits == (hasBegun ? 2 : 1))
        #expect(try other.tryBeginWrite())
        #expect(try !session.tryBeginWrite())
        try other.commitWrite()
        #expect(try session.tryBeginWrite())
        session.rollbackWrite()
        #expect(try count(files) == (hasBegun ? 2 : 1))
    }
}
