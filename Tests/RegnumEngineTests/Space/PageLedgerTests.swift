// SPDX-License-Identifier: Apache-2.0
// Pages that are taken, freed or reclaimed wrongly on purpose, in the ledger itself and by seeded bugs of the protocol:
// the check finds that at the wrong step.

import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumEngine

@Suite(.enabled(if: Invariants.areChecked)) struct PageLedgerTests {
    /// Pages 16 to 99, of which 20 to 29 are free, and their ledger.
    private func made() throws -> FreeSpace {
        var space = FreeSpace(highWater: 100)
        try space.release(Extent(page: 20, pageCount: 10))
        space.ledger = PageLedger(space, isSeeded: false)
        return space
    }

    /// Like `made`, with pages 20 and 21 written by commit 6.
    private func written() throws -> FreeSpace {
        var space = try made()
        #expect(try space.place([1, 1]).pages == [20, 21])
        space.ledger.commit()
        return space
    }

    private func pending(_ page: UInt64, birth: UInt64) -> PendingExtent {
        PendingExtent(extent: Extent(page: page, pageCount: 1), birth: birth, death: 7)
    }

    @Test("Taking, freeing and reclaiming pages in turn has no findings")
    func sound() throws {
        var space = try written()
        let found = try Invariants.collect {
            space.addPending(pending(20, birth: 6))
            space.addPending(pending(50, birth: 2))
            try space.reclaim(pins: [], durable: 7)
            _ = try space.place([200])
            // The transaction has spilled this block and freed it again.
            space.addPending(PendingExtent(extent: Extent(page: 150, pageCount: 1), birth: 8, death: 8))
            try space.release(Extent(page: 100, pageCount: 3))
            space.trim()
            space.ledger.commit()
        }
        #expect(found == [])
        #expect(space.findings() == [])
    }

    @Test("A page that is freed twice is found at the second time")
    func freedTwice() throws {
        var space = try written()
        #expect(Invariants.collect { space.addPending(pending(20, birth: 6)) } == [])
        #expect(
            Invariants.collect { space.addPending(pending(20, birth: 6)) } == [
                "page ledger: page 20 is freed and was pending"
            ])
    }

    @Test("A free page that is freed is found")
    func freeFreed() throws {
        var space = try written()
        #expect(
            Invariants.collect { space.addPending(pending(25, birth: 6)) } == [
                "page ledger: page 25 is freed and was free"
            ])
    }

    @Test("A page that is taken twice is found at the second time")
    func takenTwice() throws {
        var space = try written()
        #expect(
            try Invariants.collect { try space.take(Extent(page: 21, pageCount: 1)) } == [
                "page ledger: page 21 is taken and was live"
            ])
    }

    @Test("A page of a version that is freed at once is found")
    func freedAtOnce() throws {
        var space = try written()
        #expect(
            try Invariants.collect { try space.release(Extent(page: 21, pageCount: 1)) } == [
                "page ledger: page 21 is freed at once and was live"
            ])
    }

    @Test("A page that the ledger does not know as free is found by the full check")
    func full() throws {
        var space = try written()
        space.ledger = try made().ledger
        #expect(space.findings() == [])
        #expect(space.ledger.findings(space) == ["8 pages count as free, the ledger has 10"])
    }

    // MARK: The protocol

    private func open(_ path: String, _ files: any FileSystem, _ mutant: ProtocolMutant? = nil) throws -> Database {
        var options = Database.OpenOptions()
        options.mutant = mutant
        // No thread syncs in the background.
        options.syncDelay = nil
        return try Database.openAsOtherProcess(path: path, fileSystem: files, options: options)
    }

    private func insert(_ session: Session, _ durability: CommitDurability = .full) throws {
        try session.beginWrite()
        if session.table(named: "Row") == nil {
            try session.addTables([NewTable(name: "Row", columns: [NewColumn(name: "number", type: .int)])])
        }
        let table = try #require(session.table(named: "Row"))
        try table.finishInsert(try table.insertRow())
        try session.commitWrite(durability)
    }

    /// Makes commits that free blocks of earlier ones. With `hasReader`, another process reads an old version in the
    /// meantime.
    private func work(_ mutant: ProtocolMutant?, hasReader: Bool) throws -> [String] {
        let path = ProcessTests.newPath()
        let files: any FileSystem = hasReader ? PosixFileSystem.shared : MemoryFileSystem()
        defer {
            for path in [path, path + ".lock"] { try? files.remove(path) }
        }
        return try Invariants.collect {
            let session = try open(path, files, mutant).makeSession()
            try insert(session, .paranoid)
            let reader = hasReader ? try open(path, files).makeSession() : nil
            for i in 0..<8 { try insert(session, i % 4 == 3 ? .full : .relaxed) }
            if let reader { #expect(reader.version < session.version) }
        }
    }

    @Test("The protocol has no findings")
    func noMutant() throws {
        for hasReader in [false, true] { #expect(try work(nil, hasReader: hasReader) == []) }
    }

    @Test(
        "A seeded bug in the protocol is found when it frees or reclaims the page",
        arguments: [
            (ProtocolMutant.freedPagesReusedAtOnce, "freed at once and was live"),
            (.othersPinsIgnored, "the pinned version"),
            (.relaxedSpaceReused, "is durable"),
            (.coveredSpaceReused, "the manifest of the durable slot covers it"),
        ])
    func mutants(mutant: ProtocolMutant, finding: String) throws {
        let found = try work(mutant, hasReader: mutant == .othersPinsIgnored)
        #expect(found.contains { $0.contains(finding) }, "\(found.prefix(3))")
    }

    @Test("Pages that were reclaimed too early are named")
    func reclaimed() {
        let entry = PendingExtent(extent: Extent(page: 20, pageCount: 1), birth: 3, death: 6)
        func found(_ pins: [UInt64], _ floors: [UInt64], durable: UInt64, covered: UInt64) -> Int {
            SpaceManager.findings(
                reclaimed: [entry], but: [], pins: pins, floors: floors, (durable: durable, covered: covered)
            ).count
        }
        #expect(found([2, 6], [6], durable: 6, covered: 3) == 0)
        #expect(found([3], [], durable: 6, covered: 3) == 1)
        #expect(found([5], [5], durable: 6, covered: 3) == 2)
        #expect(found([], [], durable: 5, covered: 2) == 2)
    }
}
