// SPDX-License-Identifier: Apache-2.0
// Effects of one process's failed or unfinished sync on the other processes that have the file open.

import Foundation
@testable import RegnumEngine
import RegnumSimulation
import RegnumSystem
import Synchronization
import Testing

extension DurabilityTests {
    func failNextSync(_ files: SimulatedFileSystem) {
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "sync"), kind: .io, isPersistent: false, operation: "sync")
    }

    /// Makes the sync of the unsynced commits of `session`'s process fail, and nothing else.
    func failToSync(_ session: Session, _ files: SimulatedFileSystem) {
        failNextSync(files)
        #expect(throws: EngineError.self) { try session.database.makeDurable() }
        files.failure = nil
    }

    /// Expects this number of rows after a power loss at this moment.
    func expectAfterPowerLoss(_ files: SimulatedFileSystem, _ expected: Int, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for model in LossModel.allCases {
            #expect(try count(files.crash(model: model, random: &random)) == expected, "seed \(seed), \(model)")
        }
    }

    /// A row in pages of its own, which the following commits do not write.
    func insertLarge(_ session: Session, _ id: Int) throws {
        try insert(session, id, .relaxed, byteCount: 20_000)
    }

    /// A process that is suspended between its writes blocks no other process.
    @Test("The writer lock is free when a commit returns, and once an asynchronous commit is durable")
    func lockBehindCommits() throws {
        let files = files()
        let first = try makeFile(files)
        let other = try open(files)
        let shared = try #require(other.shared)
        func isFree() throws -> Bool {
            guard try shared.tryLockWriter() else { return false }
            shared.unlockWriter()
            return true
        }
        for (id, level) in [CommitDurability.full, .relaxed, .paranoid].enumerated() {
            try insert(first, id, level)
            #expect(try isFree(), "\(level)")
        }
        let done = Done()
        try insertLater(first, 3, done)
        #expect(try !isFree())
        try first.database.makeDurable()
        #expect(done.durable == 1)
        #expect(try isFree())
    }

    /// Otherwise a process with commits queued all the time would keep the others from writing.
    @Test("A process that has held the writer lock for long lets another process write before its next write")
    func lockKeptForLong() throws {
        let files = files()
        let other = try makeFile(files)
        let hooked = HookedFileSystem(files)
        var options = options()
        options.longestHold = 0
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options)
            .makeSession()
        let done = Done()
        try insertLater(session, 0, done)
        let inserted = Mutex(0)
        hooked.after = { call, _ in
            guard call == .unlock(byte: 1 << 62), inserted.withLock({ $0 }) == 0 else { return }
            inserted.withLock { $0 += 1 }
            #expect(throws: Never.self) { try self.insert(other, 1, .full) }
        }
        try session.beginWrite()
        hooked.after = { _, _ in }
        #expect(inserted.withLock { $0 } == 1)
        #expect(done.durable == 1)
        try SpaceTests.insert(try #require(session.table(named: "Row")), 2, 300)
        try session.commitWrite()
        #expect(try count(files) == 3)
    }

    // Without this limit a writer of the lock file could make a commit skip billions of pages, or use a version that no
    // opening accepts.
    @Test("Failed commits in a lock file are believed only up to the length of the file")
    func failedBeyondTheFile() throws {
        let files = files()
        let first = try makeFile(files)
        let other = try open(files)
        let shared = try #require(other.shared)
        #expect(shared.showFailed(LockFile.Failed(last: CommitSlot.versionLimit, end: 1 << 40)))
        for id in 0..<3 { try insert(first, id, .full) }
        #expect(first.version < 20)
        #expect(try files.open(Self.path, .readOnly).byteCount() < 4 << 20)
        #expect(try count(files) == 3)
    }

    enum Successor: CaseIterable { case hasItOpen, opensBeside, opensAlone, opensWhileOneLeaves }

    /// The system may have dropped the pages, and another process's sync of them proves nothing.
    @Test(
        "The next writer rewrites the pages that another process failed to sync",
        arguments: Successor.allCases)
    func failedElsewhere(successor: Successor) throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            var first: Session? = try makeFile(files)
            var next: Session?
            if successor == .hasItOpen { next = try open(files).makeSession() }
            for id in 0..<3 { try insertLarge(try #require(first), id) }
            failNextSync(files)
            #expect(throws: EngineError.self) { try first?.database.makeDurable() }
            var lockFile: (any File)?
            if successor == .opensAlone || successor == .opensWhileOneLeaves {
                // The process is killed, so it does not shut down normally.
                files.crashAfterCall(files.operationCount)
                first = nil
                files.crashAfterCall(.max)
            }
            files.failure = nil
            if successor == .opensWhileOneLeaves {
                // It has closed the database file, but not yet the lock file.
                lockFile = try files.open(Self.path + ".lock", .readWrite)
                #expect(try lockFile?.tryLock(byte: 1 << 62 + 1000) == true)
            }
            defer { lockFile?.close() }
            let writer = try next ?? open(files).makeSession()
            try insert(writer, 3, .full)
            try expectAfterPowerLoss(files, 4, seed: seed)
            if let first {
                try insert(first, 4, .full)
                #expect(try count(nothing(files)) == 5)
            }
        }
    }

    /// A process opens the file between the failed sync of another one and its record: the system does not tell it of
    /// the failure, and the number of failures does not yet. Or the other one ends in between. Returns the numbers of
    /// rows after power losses that follow a full commit.
    private func openAfterFailedSync(
        endsThere: Bool, _ mutant: ProtocolMutant? = nil, seed: UInt64
    ) throws -> Set<Int> {
        let files = files(seed)
        let hooked = HookedFileSystem(files)
        _ = try makeFile(files)
        var options = options()
        options.mutant = mutant
        var first: Session? = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options)
            .makeSession()
        for id in 0..<3 { try insertLarge(try #require(first), id) }
        let next = HookedFileSystem(files)
        let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        next.before = { call, _ in if call == .lock(byte: LockFile.writerByte) { begun.signal() } }
        let insertNext = { @Sendable in
            let options = self.options()
            #expect(throws: Never.self) {
                let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: next, options: options)
                try self.insert(try database.makeSession(), 3, .full)
            }
            done.signal()
        }
        failNextSync(files)
        hooked.after = { call, _ in
            guard call == .failedSync else { return }
            files.failure = nil
            if endsThere { return files.crashAfterCall(files.operationCount) }
            Thread.detachNewThread(insertNext)
            // The other process waits for the record, unless this one does not show that it is syncing.
            begun.wait()
            if mutant == nil { Thread.sleep(forTimeInterval: 0.02) } else { done.wait() }
        }
        #expect(throws: EngineError.self) { try first?.database.makeDurable() }
        hooked.after = { _, _ in }
        if endsThere {
            first = nil
            files.crashAfterCall(.max)
            insertNext()
        }
        if endsThere || mutant == nil { done.wait() }
        var random = SeededRandom(seed: seed)
        return Set(LossModel.allCases.map { (try? count(files.crash(model: $0, random: &random))) ?? -1 })
    }

    @Test(
        "A process that opens the file between a failed sync and its record rewrites the pages",
        arguments: [false, true])
    func failedBeforeOpening(endsThere: Bool) throws {
        for seed in UInt64(1)...8 {
            #expect(try openAfterFailedSync(endsThere: endsThere, seed: seed) == [4], "seed \(seed)")
        }
    }

    @Test("The test reveals a sync that the lock file does not show", arguments: [false, true])
    func syncNotShown(endsThere: Bool) throws {
        var rows: Set<Int> = []
        for seed in UInt64(1)...8 {
            rows.formUnion(try openAfterFailedSync(endsThere: endsThere, .syncNotShown, seed: seed))
        }
        #expect(rows != [4])
    }

    /// The system reports a failure to a process that has the file open: it needs no other sign.
    @Test("The end of a process in a sync fails no commit of another process")
    func endedInSyncElsewhere() throws {
        let files = files()
        let hooked = HookedFileSystem(files)
        var first: Session? = try makeFile(files)
        let other = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
            .makeSession()
        let shared = try #require(first?.database.shared)
        let slot = shared.slot
        shared.pinWord(slot, LockFile.syncingWord).value = 1
        files.crashAfterCall(files.operationCount)
        first = nil
        files.crashAfterCall(.max)
        var third: Session?
        hooked.before = { call, path in
            guard call == .sync, path == Self.path, third == nil else { return }
            // It takes the slot of the first process.
            #expect(throws: Never.self) { third = try self.open(files).makeSession() }
        }
        try insert(other, 0, .full)
        hooked.before = { _, _ in }
        #expect(third?.database.shared?.slot == slot)
        #expect(third?.database.shared?.syncCounts == LockFile.SyncCounts(failed: 0, unknown: 1))
        #expect(try count(files) == 1)
    }

    @Test("If the next writer's sync fails too, nothing counts as durable, and the writer after it writes again")
    func failedTwice() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let first = try makeFile(files)
            let other = try open(files).makeSession()
            for id in 0..<3 { try insertLarge(first, id) }
            failNextSync(files)
            #expect(throws: EngineError.self) { try first.database.makeDurable() }
            failNextSync(files)
            #expect(throws: EngineError.self) { try insert(other, 3, .full) }
            files.failure = nil
            try other.database.makeDurable()
            try insert(other, 3, .full)
            try expectAfterPowerLoss(files, 4, seed: seed)
        }
    }

    @Test("A process with successful syncs does not count another process's failed sync as durable")
    func failedOnlyElsewhere() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let first = try makeFile(files)
            let other = try open(files).makeSession()
            for id in 0..<3 { try insertLarge(first, id) }
            failNextSync(files)
            #expect(throws: EngineError.self) { try insert(other, 3, .full) }
            files.failure = nil
            try (seed % 2 == 0 ? first : other).database.makeDurable()
            try expectAfterPowerLoss(files, 3, seed: seed)
        }
    }

    @Test("A second failed sync, while a failed commit is undone, does not stop writing")
    func undoneTwice() throws {
        let files = files()
        let hooked = HookedFileSystem(files)
        let first = try makeFile(files)
        let session = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
            .makeSession()
        let left = Mutex(2)
        hooked.before = { call, _ in
            let fails = left.withLock { left in
                guard call == .sync, left > 0 else { return false }
                left -= 1
                return true
            }
            if fails { self.failNextSync(files) }
        }
        #expect(throws: EngineError.self) { try insert(session, 0, .full) }
        #expect(left.withLock { $0 } == 0)
        files.failure = nil
        try insert(session, 0, .full)
        try insert(first, 1, .full)
        #expect(try count(nothing(files)) == 2)
        try expectAfterPowerLoss(files, 2, seed: 3)
    }

    /// The process that holds the writer lock rewrites the pages, whenever the failure is noticed.
    @Test("If a sync fails elsewhere, a process that is about to sync handles the failure under the writer lock")
    func failedMeanwhile() throws {
        var tried = 0
        for looks in 0..<12 {
            let files = files(UInt64(looks))
            let hooked = HookedFileSystem(files)
            let first = try makeFile(files)
            let late = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
                .makeSession()
            try insertLarge(late, 0)
            let left = Mutex(looks)
            var fires = false
            hooked.after = { call, path in
                guard call == .look, path.hasSuffix(".lock"),
                    left.withLock({
                        $0 -= 1
                        return $0 == -1
                    }), (try? first.database.shared?.tryLockWriter()) == true
                else { return }
                first.database.shared?.unlockWriter()
                fires = true
                self.failNextSync(files)
                #expect(throws: EngineError.self) { try self.insert(first, 1, .full) }
                files.failure = nil
                #expect(throws: Never.self) {
                    try self.insert(first, 1, .full)
                    try self.insert(first, 2, .full)
                }
            }
            // The failure may be reported to this process, but only once.
            if (try? late.database.makeDurable()) == nil { try late.database.makeDurable() }
            hooked.after = { _, _ in }
            #expect(try count(nothing(files)) == (fires ? 3 : 1), "\(looks) looks")
            try expectAfterPowerLoss(files, fires ? 3 : 1, seed: UInt64(looks))
            if fires { tried += 1 }
        }
        #expect(tried > 3)
    }

    @Test("A transaction that wrote pages before a sync failed is not acknowledged", arguments: [true, false])
    func failedBetween(isElsewhere: Bool) throws {
        let files = files()
        let hooked = HookedFileSystem(files)
        let first = try makeFile(files)
        let database = try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
        let session = try database.makeSession()
        if isElsewhere { try insertLarge(first, 0) } else { try insertLarge(session, 0) }
        try session.beginWrite()
        try SpaceTests.insert(try #require(session.table(named: "Row")), 1, 20_000)
        let isArmed = Mutex(true)
        hooked.after = { call, _ in
            guard case .write(_, let byteCount) = call, byteCount > 4096,
                isArmed.withLock({ armed in
                    defer { armed = false }
                    return armed
                })
            else { return }
            // Its blocks are written, and it is not queued yet.
            self.failNextSync(files)
            let syncing = isElsewhere ? first.database : database
            syncing.queue.monitor.withLock { syncing.queue.take() }
            #expect(throws: EngineError.self) { try syncing.sync().map { throw $0 } }
            files.failure = nil
        }
        let isCommitted = (try? session.commitWrite()) != nil
        #expect(!isArmed.withLock { $0 })
        hooked.after = { _, _ in }
        // The state that the other process relied on was durable when this transaction began, so it had nothing to
        // sync.
        #expect(!isCommitted)
        try insert(session, 1)
        try expectAfterPowerLoss(files, 2, seed: 2)
    }

    @Test("The writer lock stays held while pages are rewritten, even if a session releases a failed commit")
    func lockedWhileRewriting() throws {
        let base = files()
        let files = HookedFileSystem(base)
        func open() throws -> Session {
            try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options()).makeSession()
        }
        let first = try open()
        try first.beginWrite()
        try first.addTables([SpaceTests.rows])
        try first.commitWrite()
        let other = try open()
        for id in 0..<3 { try insertLarge(first, id) }
        try insertLater(first, 3, Done())
        failToSync(first, base)
        let shared = try #require(other.database.shared)
        let wasLocked = Mutex([Bool]())
        files.before = { call, path in
            guard case .write = call, path == Self.path else { return }
            if wasLocked.withLock({ $0.isEmpty }) { #expect(throws: Never.self) { try first.comeBack() } }
            let isFree = (try? shared.tryLockWriter()) == true
            if isFree { shared.unlockWriter() }
            wasLocked.withLock { $0.append(!isFree) }
        }
        try first.database.makeDurable()
        files.before = { _, _ in }
        #expect(wasLocked.withLock { $0.count > 1 && !$0.contains(false) })
        try insert(other, 3)
        try insert(first, 4)
        #expect(try count(base) == 5)
    }

    @Test("A process that failed to read the slots of other processes reads them again before it writes")
    func failedMeeting() throws {
        let files = files()
        let first = try makeFile(files)
        try insert(first, 0)
        let other = try open(files).makeSession()
        for id in 1..<4 { try insert(other, id) }
        files.failure = SimulatedFailure(
            call: files.operationCount(of: "read"), kind: .io, isPersistent: false, operation: "read")
        #expect(throws: EngineError.self) { try first.beginWrite() }
        files.failure = nil
        try insert(first, 4)
        _ = try other.refresh()
        #expect(rows(other) == 5)
        #expect(try count(files) == 5)
    }

    @Test("The last durable version that processes share never decreases")
    func durableNumber() throws {
        let files = HookedFileSystem(files())
        func open() throws -> Session {
            try Database.openAsOtherProcess(path: Self.path, fileSystem: files, options: options()).makeSession()
        }
        let first = try open()
        try first.beginWrite()
        try first.addTables([SpaceTests.rows])
        try first.commitWrite()
        let other = try open()
        // Before its first commit it would wait for the sync below.
        try insert(other, 2, .full)
        try insert(first, 0, .relaxed)
        let isArmed = Mutex(true)
        files.after = { call, _ in
            let isFirst = isArmed.withLock { armed in
                defer { if call == .sync { armed = false } }
                return armed
            }
            guard call == .sync, isFirst else { return }
            // Between the first process's sync and its record of it.
            #expect(throws: Never.self) { try self.insert(other, 1, .full) }
        }
        try first.database.makeDurable()
        files.after = { _, _ in }
        let shared = try #require(other.database.shared)
        #expect(shared.enter(other.database.header, knowing: 0)?.newest == shared.durable)
    }

    /// Such a slot names no pages to verify. Opening once accepted it, after a process that did not consider it the
    /// newest version had overwritten its pages and ended too.
    @Test("A commit whose process ended in its last sync does not count after others have written")
    func endedInLastSync() throws {
        let files = files()
        var first: Session? = try makeFile(files)
        for id in 0..<4 { try insert(try #require(first), id) }
        var other: Session? = try open(files).makeSession()
        let syncs = files.operationCount(of: "sync")
        // The second sync, with the slot written.
        files.beforeSync = { if $0.operationCount(of: "sync") == syncs + 1 { $0.crashAfterCall($0.operationCount) } }
        #expect(throws: EngineError.self) { try insert(try #require(first), 4, .paranoid) }
        first = nil
        files.beforeSync = nil
        files.crashAfterCall(.max)
        // Writes its blocks and ends before its slot.
        let done = Done()
        for id in 4..<7 { try insertLater(try #require(other), id, done) }
        files.crashAfterCall(files.operationCount)
        other = nil
        files.crashAfterCall(.max)
        #expect(try count(files) == 4)
    }

    @Test("The clearing of a slot survives the end of the process that clears it, and a power loss")
    func endedInClearing() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            var first: Session? = try makeFile(files)
            for id in 0..<4 { try insert(try #require(first), id) }
            var other: Session? = try open(files).makeSession()
            let last = try open(files).makeSession()
            func dieInSync(_ number: Int) {
                let syncs = files.operationCount(of: "sync") + number
                files.beforeSync = {
                    if $0.operationCount(of: "sync") == syncs { $0.crashAfterCall($0.operationCount) }
                }
            }
            dieInSync(1)
            #expect(throws: EngineError.self) { try insert(try #require(first), 4, .paranoid) }
            first = nil
            files.crashAfterCall(.max)
            dieInSync(0)
            #expect(throws: EngineError.self) { try insert(try #require(other), 4) }
            other = nil
            files.beforeSync = nil
            files.crashAfterCall(.max)
            let done = Done()
            for id in 4..<7 { try insertLater(last, id, done) }
            try expectAfterPowerLoss(files, 4, seed: seed)
            try last.database.makeDurable()
            #expect(done.durable == 3)
        }
    }

    @Test("The last writer of a lock file repairs its header")
    func mendedHead() throws {
        let files = files()
        let first = try makeFile(files)
        let other = try open(files).makeSession()
        try insert(first, 0)
        try insert(other, 1)
        let lock = try files.open(Self.path + ".lock", .readWrite)
        try lock.write([UInt8](repeating: 0xA5, count: 8), at: 0)
        try insert(first, 2)
        try insert(other, 3)
        _ = try first.refresh()
        #expect(rows(first) == 4)
        #expect(try count(files) == 4)
    }

    @Test("A second name of the file, with a lock file of its own, is refused while the file is open by the first")
    func twoNames() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/regnum-names-\(MonotonicClock.now())"
        try PosixFileSystem.shared.makeDirectories(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func open(_ name: String) throws -> Database {
            try Database.openAsOtherProcess(
                path: folder + "/" + name, fileSystem: PosixFileSystem.shared, options: options())
        }
        _ = try open("a.realm")
        try FileManager.default.linkItem(atPath: folder + "/a.realm", toPath: folder + "/b.realm")
        // Leaves a valid lock file.
        _ = try open("b.realm")
        var first: Database? = try open("a.realm")
        #if os(Linux)
            // The lock file beside the other name is found among the open files.
            #expect(try open("b.realm").pinsOfOthers().isEmpty)
        #else
            #expect(throws: EngineError.self) { try open("b.realm") }
        #endif
        withExtendedLifetime(first) {}
        first = nil
        _ = try open("b.realm")
    }

    @Test("A file of zeros, left by a killed process, becomes a new database", arguments: [1, 4096, 40_960])
    func zeros(byteCount: Int) throws {
        let files = files()
        let file = try files.open(Self.path, .readWriteCreate)
        try file.write([UInt8](repeating: 0, count: byteCount), at: 0)
        #expect(try count(files) == 0)
    }

    @Test("No pages are rewritten before the commits of others are known")
    func rewritingUnknown() throws {
        let files = files()
        let session = try makeFile(files)
        let database = session.database
        try insert(session, 0, .relaxed)
        let queue = database.queue
        queue.monitor.withLock {
            queue.requireRewrite()
            queue.processLock.writerEntered()
            queue.processLock.acquired(isShared: true)
            queue.processLock.writerLeft()
            queue.markStale()
        }
        let writes = files.operationCount(of: "write")
        try database.syncAll()
        #expect(files.operationCount(of: "write") == writes)
        queue.monitor.withLock {
            queue.processLock.released()
            queue.confirm()
        }
        try database.makeDurable()
        #expect(files.operationCount(of: "write") > writes)
    }

    @Test("Relaxed commits of processes that alternate are not rewritten", arguments: [true, false])
    func turns(isFailing: Bool) throws {
        let files = files()
        let first = try makeFile(files)
        let other = try open(files).makeSession()
        try insertLarge(first, 0)
        if isFailing {
            failToSync(first, files)
        }
        files.recordedCalls = []
        try other.beginWrite()
        let calls = try #require(files.recordedCalls)
        files.recordedCalls = nil
        #expect(calls.contains("write") == isFailing)
        #expect(calls.filter { $0 == "sync" }.count == 1)
        other.rollbackWrite()
    }

    @Test("A failed sync is not forgotten if the lock file is damaged")
    func failedAndDamaged() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let first = try makeFile(files)
            for id in 0..<3 { try insertLarge(first, id) }
            failToSync(first, files)
            let lock = try files.open(Self.path + ".lock", .readWrite)
            try lock.write([UInt8](repeating: 0xA5, count: 4096), at: 0)
            try insert(first, 3)
            try expectAfterPowerLoss(files, 4, seed: seed)
        }
    }

    @Test("Earlier relaxed commits are rewritten if a slot can neither be written nor restored")
    func latchedRelaxed() throws {
        for seed in UInt64(1)...8 {
            let files = files(seed)
            let session = try makeFile(files)
            try insert(session, 0, .full)
            for id in 1..<4 { try insert(session, id, .relaxed) }
            // A commit writes its slot last.
            let before = files.operationCount(of: "write")
            try insert(session, 4, .relaxed)
            let writes = files.operationCount(of: "write") - before
            files.failure = SimulatedFailure(
                call: files.operationCount(of: "write") + writes - 1, kind: .io, isPersistent: true,
                operation: "write")
            #expect(throws: EngineError.self) { try insert(session, 5, .relaxed) }
            files.failure = nil
            #expect(throws: EngineError.self) { try session.database.makeDurable() }
            try expectAfterPowerLoss(files, 5, seed: seed)
        }
    }

    /// The next commit overwrites the slot of a relaxed commit before it is published. A process that read the slot at
    /// that moment once waited for the writer lock, which may be held for another transaction.
    @Test("A reader does not wait for another process's transaction", arguments: [true, false])
    func readersDoNotWait(isOpening: Bool) throws {
        let hooked = HookedFileSystem(files())
        @Sendable func open() throws -> Database {
            try Database.openAsOtherProcess(path: Self.path, fileSystem: hooked, options: options())
        }
        let first = try open().makeSession()
        try first.beginWrite()
        try first.addTables([SpaceTests.rows])
        try first.commitWrite()
        let reader = isOpening ? nil : try open()
        let second = try first.database.makeSession()
        try insert(first, 0, .relaxed)
        try insertLater(first, 1, Done())
        try second.beginWrite()

        let state = Monitor()
        let has = Mutex((asked: false, rows: -1))
        let own = CurrentThread.id
        hooked.before = { call, _ in
            switch call {
            case .lock(byte: 1 << 62) where CurrentThread.id != own:
                // The writer lock: the reader has found the slot being overwritten.
                state.withLock {
                    has.withLock { $0.asked = true }
                    state.tellAll()
                }
            case .sync where CurrentThread.id == own:
                _ = DetachedThread.start {
                    let session = try? (reader ?? open()).makeSession()
                    let rows = session.map(self.rows) ?? -2
                    state.withLock {
                        has.withLock { $0.rows = rows }
                        state.tellAll()
                    }
                }
                let end = MonotonicClock.now() + 1_800_000_000_000
                state.withLock {
                    while !has.withLock({ $0.asked }), MonotonicClock.now() < end { state.wait(until: end) }
                }
            default: break
            }
        }
        try first.database.makeDurable()
        let end = MonotonicClock.now() + 1_800_000_000_000
        state.withLock {
            while has.withLock({ $0.rows }) == -1, MonotonicClock.now() < end { state.wait(until: end) }
        }
        #expect(has.withLock { $0.asked })
        #expect(has.withLock { $0.rows } == 2)
        hooked.before = { _, _ in }
        second.rollbackWrite()
    }
}
