// SPDX-License-Identifier: Apache-2.0
// Making commits durable: who waits for one does it himself where nobody else is at it, so that many writers share
// a sync; a thread of the database does it for relaxed commits and for those that nobody waits for.
//
// A failed sync is never repeated for the same bytes. Commits in line are abandoned. The pages of relaxed commits,
// which others have seen, are written again from what is mapped, if that still has the hashes of the manifest.

import RegnumSystem

extension Database {
    /// Bytes that a slot's manifest covers at most: what an opening may have to hash.
    static let manifestByteLimit = 16 << 20

    // MARK: Waiting

    /// Returns when the commit is durable, or throws why it is abandoned.
    package func wait(for ticket: CommitTicket) throws(EngineError) {
        while takeSync(for: ticket) { sync() }
        if let error = line.monitor.withLock({ ticket.failure }) { throw error }
    }

    /// Returns when no commit stands in line: with the gate, when the newest version is the published one.
    func settle() {
        while takeSync(if: { !self.line.commits.isEmpty }) { sync() }
    }

    /// Waits until every commit so far is on the medium. Any thread.
    package func makeDurable() throws(EngineError) {
        repeat {
            if line.monitor.withLock({ mustHoldLock }) {
                // Other processes must not write meanwhile. What was acknowledged waits for its turn.
                try enterWriter(waits: true)
                leaveWriter()
            }
            try syncAll()
            // While this thread waited, a sync of another one may have failed.
        } while line.monitor.withLock { mustHoldLock && !line.isIdle }
    }

    /// Inside the monitor: the turn among processes is needed, to write pages again or to meet what others have made.
    private var mustHoldLock: Bool {
        noticeFailures()
        return line.mustMeet || line.mustRewrite && !(line.isLockHeld && line.isKnown) && shared != nil
    }

    /// Inside the monitor: what has failed so far.
    var failures: CommitLine.Failures { CommitLine.Failures(own: line.failures, all: shared?.failureCount) }

    /// Inside the monitor: where a sync has failed since the first relaxed commit that waits for one, in this process or
    /// another, all of them are written again.
    func noticeFailures() {
        if line.unsyncedSlot != nil, failures.hasMoved(since: line.unsyncedFailures) { line.mustRewrite = true }
    }

    /// As `makeDurable`, for the holder of the gate. Does nothing where the lock among processes is needed and not held.
    func syncAll(evenIfLatched: Bool = false) throws(EngineError) {
        while takeSync(if: { !self.line.isIdle && !self.mustHoldLock }) {
            if let error = sync() { throw error }
        }
        if !evenIfLatched, let latch = line.monitor.withLock({ self.line.latch }) { throw .latched(latch) }
    }

    /// As below, for who waits for a commit.
    private func takeSync(for ticket: CommitTicket) -> Bool {
        line.monitor.withLock {
            while ticket.isWaiting, line.isBusy { line.wait(for: ticket) }
            guard ticket.isWaiting else { return false }
            line.isBusy = true
            return true
        }
    }

    /// True where there is something to do, which is the caller's then; waits while somebody else is at it.
    private func takeSync(if isWanted: () -> Bool) -> Bool {
        line.monitor.withLock {
            while line.isBusy {
                if !isWanted() { return false }
                line.monitor.wait()
            }
            guard isWanted() else { return false }
            line.isBusy = true
            return true
        }
    }

    /// Makes everything durable that stands in line or is unsynced. The caller has set `isBusy`, which ends with it.
    @discardableResult
    func sync() -> EngineError? {
        let (work, before, isDropped) = line.monitor.withLock { () -> (CommitLine.Work?, CommitLine.Failures, Bool) in
            // First: what fails from here on is found behind the sync.
            let before = failures
            // Once: what is noticed behind this must not be written again without the lock among processes.
            if !mustHoldLock || !line.commits.isEmpty {
                return (line.work(), before, line.commits.contains { before.hasMoved(since: $0.failures) })
            }
            line.endBusy()
            return (nil, before, false)
        }
        // Noticed just now: the caller takes the lock first.
        guard let work else { return nil }
        var failure: EngineError?
        var isSlotTouched = false
        do throws(SystemError) {
            if isDropped { throw SystemError(.io, "sync", path) }
            if work.mustRewrite { try rewrite(work) }
            if let last = work.last {
                var slot = last.slot
                slot.previousDurable = work.durable
                slot.isTwoStep = work.manifest == nil
                if slot.isTwoStep { try syncFile() }
                slot.manifest = work.manifest ?? []
                isSlotTouched = true
                try writeSlot(slot, at: work.offset)
            }
            if options.mutant != .acknowledgedBeforeSync || (work.last?.slot.version ?? 1) & 1 != 0 {
                try syncFile()
            }
            // What was just synced may have been dropped before.
            if line.monitor.withLock({ failures.hasMoved(since: before) }) { throw SystemError(.io, "sync", path) }
        } catch {
            failure = .system(error)
            if isSlotTouched { abandonSlot(work) }
        }
        if failure == nil {
            if let last = work.last {
                versions.publish(last.version, isDurable: true)
            } else {
                shared?.noteDurable(work.newest)
            }
        }
        let done = line.monitor.withLock {
            // Another process may make commits of those numbers.
            if failure != nil { for commit in line.commits { for run in commit.runs { reader.forget(run) } } }
            let done = failure.map { line.fail($0) } ?? line.succeed(work)
            if failure == nil { line.durableMark = reader.slotMark(at: line.durableSlot) }
            line.endBusy()
            releaseLock()
            return done
        }
        for call in done { call(failure) }
        return failure
    }

    /// Whoever has written to the file learns of it where it fails: what he wrote may be dropped.
    func syncFile() throws(SystemError) { try notingFailure { () throws(SystemError) in try file.sync(.data) } }

    /// Lets the disk begin with pages that were just written.
    func beginWriteback(of runs: [Extent]) throws(EngineError) {
        do {
            try notingFailure { () throws(SystemError) in
                for run in runs { try file.beginWriteback(Int(run.page) << 12..<Int(run.end) << 12) }
            }
        } catch { throw .system(error) }
    }

    /// As `syncFile` says.
    private func notingFailure(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        do throws(SystemError) { try body() } catch {
            line.monitor.withLock { line.noteFailure() }
            shared?.noteFailure()
            throw error
        }
    }

    /// Inside the monitor: lets other processes write, if nobody of this one does. Not while a session shows what has
    /// failed or stands in line: they do not know of its pages, and would use them. Where no commit can tell of them
    /// any more, the lock file does.
    func releaseLock() {
        guard line.isLockHeld, !line.isWriterInside, line.commits.isEmpty, !(line.isBusy && line.mustRewrite) else {
            return
        }
        if versions.isUnpublishedPinned {
            let end = line.abandoned.flatMap(\.runs).map(\.end).max()
            guard line.latch != nil, let end, versions.showFailed(end: end) else {
                if !line.isHeldForFailed { line.unsyncedSince = MonotonicClock.now() }
                line.isHeldForFailed = true
                return
            }
        }
        shared?.unlockWriter()
        line.isLockHeld = false
        line.isHeldForFailed = false
    }

    /// So that other processes do not wait as long as a session shows what has failed: a commit of nothing, which tells
    /// of its pages and its pin.
    private func recordFailed() throws(EngineError) {
        guard line.monitor.withLock({ line.isHeldForFailed }) else { return }
        let session = try makeSession()
        try session.beginWrite()
        try session.commitWrite(.full)
    }

    // MARK: Slots

    func writeSlot(_ slot: CommitSlot, at offset: Int) throws(SystemError) {
        try file.write(bytes(of: slot), at: offset)
    }

    func bytes(of slot: CommitSlot) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: CommitSlot.byteCount) { buffer, count in
            if let base = buffer.baseAddress { slot.write(to: UnsafeMutableRawPointer(base), seal: seal) }
            count = CommitSlot.byteCount
        }
    }

    /// After a failed write or sync of a slot: makes sure that it can never count. The relaxed commit that was in its
    /// place comes back. Tried twice, each time with bytes newly written: a failure of which another process was told
    /// first is told to this one too.
    func abandonSlot(_ work: CommitLine.Work) {
        let bytes = work.slot ?? [UInt8](repeating: 0, count: CommitSlot.byteCount)
        for _ in 0..<2 {
            do throws(SystemError) {
                try file.write(bytes, at: work.offset)
                try syncFile()
                return
            } catch {}
        }
        line.monitor.withLock {
            line.mustRewrite = line.unsyncedSlot != nil
            line.latch = "an earlier commit failed and could not be undone; open the file again to write to it"
        }
    }

    /// Writes the pages of relaxed commits again, and their slot.
    private func rewrite(_ work: CommitLine.Work) throws(SystemError) {
        for run in work.rewrites {
            let start = Int(run.extent.page) << 12
            let bytes = [UInt8](
                UnsafeRawBufferPointer(start: reader.fileBase + start, count: run.extent.pageCount << 12))
            let tag = bytes.withUnsafeBytes { raw in raw.baseAddress.map { seal.hash.tag($0, raw.count) } }
            guard let tag, tag.low == run.low, tag.high == run.high else {
                line.monitor.withLock {
                    line.setSynced()
                    line.latch =
                        "commits that were not yet on the medium are lost; open the file again to write to it"
                }
                throw SystemError(.io, "sync", path)
            }
            try file.write(bytes, at: start)
        }
        if let slot = work.slot { try file.write(slot, at: work.offset) }
    }

    // MARK: In the background

    /// Sees to it that what is relaxed now, or stands in line with nobody who waits, is durable soon.
    func syncSoon() {
        guard options.syncDelay != nil else { return }
        let isStarting = line.monitor.withLock {
            line.monitor.tellAll()
            defer { line.hasThread = true }
            return !line.hasThread
        }
        guard isStarting else { return }
        let isStarted = DetachedThread.start {
            [line, delay = options.syncDelay ?? 0, file = file.identity, weak self] in
            // Held for the sync only: the file must not stay open for this.
            let sync = { [weak self] in
                guard let database = self, !database.isForked else { return false }
                database.syncInBackground()
                return true
            }
            while line.waitForWork(delay) {
                DatabaseRegistry.shared.letsGo(of: file)
                let isThere = sync()
                DatabaseRegistry.shared.hasLetGo(of: file)
                if !isThere { return }
            }
        }
        if !isStarted {
            line.monitor.withLock { line.hasThread = false }
            // As good as in the background, and never left undone.
            try? makeDurable()
        }
    }

    /// What fails is tried again after a while, and told to the next writer.
    private func syncInBackground() {
        do throws(EngineError) {
            try makeDurable()
            try recordFailed()
            shrinkSoon()
        } catch {
            line.monitor.withLock { line.unsyncedSince = MonotonicClock.now() }
        }
    }

    /// Says in the file that the newest commit is on the medium, where this process has written to it: who only looks
    /// leaves it as it is. Nobody waits for it to be there, and nothing is lost where it fails: then damage to that commit
    /// looks like a crash.
    private func writeSettledSlot() {
        guard line.monitor.withLock({ line.hasCommitted }) else { return }
        if let shared { guard (try? shared.tryLockWriter()) == true else { return } }
        defer { shared?.unlockWriter() }
        writeSettledSlotLocked()
    }

    /// As above, below the writer's lock.
    func writeSettledSlotLocked() {
        let (isDue, number, offset, mark) = line.monitor.withLock {
            (line.hasCommitted && line.isIdle && line.latch == nil, line.durable, line.durableSlot, line.durableMark)
        }
        guard isDue else { return }
        // Who has made a newer one says so of that, and another program may have written over the file.
        guard shared.map({ $0.newest == number }) ?? true,
            let slots = try? CommitSlot.readAll(file, seal: seal),
            let placed = slots.first(where: { $0.byteOffset == offset && $0.slot.version == number }),
            mark == nil || placed.mark == mark
        else { return }
        var slot = placed.slot
        slot.manifest = []
        slot.isTwoStep = true
        for offset in CommitSlot.settledByteOffsets { try? writeSlot(slot, at: offset) }
    }

    /// For the last one who lets go of the database.
    func syncAtEnd() {
        if !isForked, !options.isReadOnly, !isVolatile {
            try? makeDurable()
            writeSettledSlot()
        }
        line.monitor.withLock {
            line.isClosed = true
            line.monitor.tellAll()
        }
    }
}

extension CommitLine {
    /// Waits until there is something to sync; false where the thread has nothing to do any more.
    fileprivate func waitForWork(_ delay: UInt64) -> Bool {
        monitor.withLock {
            var idleSince = MonotonicClock.now()
            while true {
                let now = MonotonicClock.now()
                if isClosed || isIdle && !isHeldForFailed && (now - idleSince > 2_000_000_000 || latch != nil) {
                    hasThread = false
                    return false
                }
                if !isIdle { idleSince = now }
                if commits.contains(where: { $0.ticket.onDone != nil }) { return true }
                let isWaitedFor = unsyncedSlot != nil || mustMeet || isHeldForFailed
                if isWaitedFor, commits.isEmpty, now >= unsyncedSince + delay { return true }
                monitor.wait(
                    until: isWaitedFor ? max(now + 1_000_000, unsyncedSince + delay) : now + 2_000_000_000)
            }
        }
    }
}

extension File {
    func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        var failure: SystemError?
        bytes.withUnsafeBytes { raw in
            do throws(SystemError) { try write(raw, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
