// SPDX-License-Identifier: Apache-2.0
// Free space, locks, versions and the commit queue that are broken on purpose: the check at the end of the transition
// finds the break.

import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumEngine

@Suite(.enabled(if: Invariants.areChecked)) struct StateInvariantTests {
    private func open() throws -> Database {
        var options = Database.OpenOptions()
        // No thread syncs in the background.
        options.syncDelay = nil
        return try Database.openAsOtherProcess(path: "/s.realm", fileSystem: MemoryFileSystem(), options: options)
    }

    // MARK: Free space

    @Test("The local check finds pages that were not freed or not taken, and the full check finds pages freed twice")
    func freeSpace() throws {
        var space = FreeSpace(highWater: 100)
        #expect(try Invariants.collect { try space.release(Extent(page: 20, pageCount: 10)) } == [])
        #expect(space.findings(Extent(page: 20, pageCount: 10), isFreed: true) == [])
        #expect(space.findings(Extent(page: 30, pageCount: 1), isFreed: true) == ["page 30 was freed and is not"])
        #expect(space.findings(Extent(page: 29, pageCount: 2), isFreed: false) == ["page 29 was taken and is not"])
        #expect(space.findings(Extent(page: 100, pageCount: 1), isFreed: false) == ["page 100 lies beyond the end"])
        try space.checkInvariants(nil)
        space.addPending(PendingExtent(extent: Extent(page: 25, pageCount: 1), birth: 6, death: 7))
        // Damage of the file can cause this, so it throws.
        let freedTwice = space
        #expect(throws: EngineError.self) { try freedTwice.checkInvariants(nil) }
    }

    // MARK: State machines

    @Test("A holder that is not the one to whom the lock is offered is found")
    func offered() {
        let lock = WriterLock()
        #expect(lock.tryEnter())
        let found = Invariants.collect {
            _ = lock.offer(1) {}
            lock.setHolder(WriterLockHolder(.thread(7)))
        }
        #expect(found == ["writer lock: an offered lock has another holder"])
        #expect(lock.accept(1))
    }

    @Test("Two writers, and a cross-process lock that is kept or released at the wrong time, are found")
    func processLock() {
        var state = ProcessLockState()
        let sound = Invariants.collect {
            state.writerEntered()
            state.acquired(isShared: true)
            state.writerLeft()
            state.keepForFailed()
            state.released()
        }
        #expect(sound == [])
        #expect(
            Invariants.collect { state.keepForFailed() }.first == "process lock: a lock that is not held cannot be kept"
        )
        state.released()
        #expect(
            Invariants.collect { state.acquired(isShared: true) } == [
                "process lock: a lock that no writer has asked for"
            ])
        state.writerEntered()
        #expect(Invariants.collect { state.writerEntered() } == ["process lock: two writers"])
        #expect(Invariants.collect { state.released() } == ["process lock: the lock of a writer at work was released"])
    }

    @Test("Pins without a count, and versions that nobody holds, are found by the next transition")
    func versions() throws {
        let database = try open()
        let session = try database.makeSession()
        let version = session.version
        func found(_ body: (inout VersionRegistry.State) -> Void) -> [String] {
            database.versions.corrupt(body)
            return Invariants.collect {
                database.versions.pin(version)
                database.versions.unpin(version)
            }
        }
        #expect(found { $0.pins[99] = 0 }.first == "version registry: version 99 has 0 pins")
        #expect(found { $0.pins[99] = nil } == [])
        #expect(found { $0.unshown = [42] }.first?.contains("version 42 was never published") == true)
        #expect(
            found { ($0.unshown, $0.failed) = ([version], [version]) }.first?.contains("a failed version") == true)
        database.versions.corrupt { ($0.unshown, $0.failed) = ([], []) }
    }

    @Test("A queued commit that is not newer than the one before is found when it is queued")
    func queued() throws {
        let database = try open()
        let newest = database.versions.newest
        let slot = CommitSlot(
            version: newest.number, nonce: 1, previousDurable: 0, highWater: newest.highWater, catalog: newest.catalog,
            freeLog: newest.freeLog)
        let queue = CommitQueue(slot, nil)
        let found = queue.monitor.withLock {
            Invariants.collect {
                queue.enqueue(
                    CommitQueue.Commit(
                        version: newest, slot: slot, runs: [], manifest: nil, byteCount: 0, ticket: CommitTicket(nil),
                        failures: CommitQueue.Failures()))
            }
        }
        #expect(found == ["commit queue: commit \(newest.number) follows \(newest.number)"])
    }
}
