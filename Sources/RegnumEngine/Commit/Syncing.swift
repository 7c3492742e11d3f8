// SPDX-License-Identifier: Apache-2.0
// Makes commits durable. The first waiting thread syncs for all queued commits, so that many writers share a sync
// (group commit); a background thread of the database syncs relaxed commits and those that no thread waits for.
//
// A failed sync is never repeated for the same bytes. Queued commits are abandoned. The pages of relaxed commits, which
// other readers have seen, are rewritten from the mapped memory if it still matches the hashes of the manifest.

import RegnumSystem

extension Database {
    /// The most bytes that a slot's manifest may name, and so the most that an opening has to hash.
    static let manifestByteLimit = 16 << 20

    // MARK: Waiting

    /// Returns when the commit is durable; throws the reason if it was abandoned.
    package func wait(for ticket: CommitTicket) throws(EngineError) {
        while takeSync(for: ticket) { sync() }
        if let error = line.monitor.withLock({ ticket.failure }) { throw error }
    }

    /// Returns when no commit is queued. If the caller holds the writer lock, the newest version is then the published
    /// one.
    func settle() {
        while takeSync(if: { !self.line.commits.isEmpty }) { sync() }
    }

    /// Waits until every commit so far is on stable storage. Any thread.
    package func makeDurable() throws(EngineError) {
        repeat {
            if line.monitor.withLock({ mustHoldLock }) {
                // Other processes must not write meanwhile. Waits without a timeout: these commits were acknowledged.
                try enterWriter(waits: true)
                leaveWriter()
            }
            try syncAll()
            // While this thread waited, a sync of another thread may have failed.
        } while line.monitor.withLock { mustHoldLock && !line.isIdle }
    }

    /// True if the cross-process writer lock is needed, to rewrite pages or to catch up with the newest commit of other
    /// processes. Call inside the monitor.
    private var mustHoldLock: Bool {
        noticeFailures()
        return line.mustMeet || line.mustRewrite && !(line.isLockHeld && line.isKnown) && shared != nil
    }

    /// The current failure counts. Call inside the monitor.
    var failures: CommitQueue.Failures { CommitQueue.Failures(own: line.failures, all: shared?.failureCount) }

    /// Marks all relaxed commits that wait for a sync for rewriting if a sync has failed since the first of them, in
    /// this process or another. Call inside the monitor.
    func noticeFailures() {
        if line.unsyncedSlot != nil, failures.hasMoved(since: line.unsyncedFailures) { line.mustRewrite = true }
    }

    /// As `makeDurable`, for the holder of the writer lock. Does nothing if the cross-process writer lock is needed and
    /// not held.
    func syncAll(evenIfLatched: Bool = false) throws(EngineError) {
        while takeSync(if: { !self.line.isIdle && !self.mustHoldLock }) {
            if let error = sync() { throw error }
        }
        if !evenIfLatched, let latch = line.monitor.withLock({ self.line.latch }) { throw .latched(latch) }
    }

    /// As `takeSync(if:)`, for a thread that waits for a commit.
    private func takeSync(for ticket: CommitTicket) -> Bool {
        line.monitor.withLock {
            while ticket.isWaiting, line.isBusy { line.wait(for: ticket) }
            guard ticket.isWaiting else { return false }
            line.isBusy = true
            return true
        }
    }

    /// Returns true, with `isBusy` set, if there is something to sync, which the caller must then do. Waits while
    /// another thread is busy.
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

    /// Makes all queued and unsynced commits durable. The caller has set `isBusy`; this call clears it.
    @discardableResult
    func sync() -> EngineError? {
        let (work, before, isDropped) = line.monitor.withLock { () -> (CommitQueue.Work?, CommitQueue.Failures, Bool) in
            // Read first, so that a failure from here on is noticed after the sync.
            let before = failures
            // Checked once: a failure noticed later must not cause a rewrite without the cross-process writer lock.
            if !mustHoldLock || !line.commits.isEmpty {
                return (line.work(), before, line.commits.contains { before.hasMoved(since: $0.failures) })
            }
            line.endBusy()
            return (nil, before, false)
        }
        // A failure was noticed just now: the caller takes the lock first.
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
            // The bytes just synced may have been dropped before the sync.
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
            // Another process may make commits with those numbers.
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

    /// Syncs the file. Reports a failure to every process that has written to the file: what it wrote may have been
    /// dropped.
    func syncFile() throws(SystemError) { try notingFailure { () throws(SystemError) in try file.sync(.data) } }

    /// Starts writeback of pages that were just written.
    func beginWriteback(of runs: [Extent]) throws(EngineError) {
        do {
            try notingFailure { () throws(SystemError) in
                for run in runs { try file.beginWriteback(Int(run.page) << 12..<Int(run.end) << 12) }
            }
        } catch { throw .system(error) }
    }

    /// Counts a failure of `body`, see `syncFile`.
    private func notingFailure(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        do throws(SystemError) { try body() } catch {
            line.monitor.withLock { line.noteFailure() }
            shared?.noteFailure()
            throw error
        }
    }

    /// Releases the cross-process writer lock if no thread of this process writes. Keeps it while a session shows a
    /// failed or queued commit: other processes do not know its pages and would reuse them. Once the database has
    /// failed no commit can name those pages any more, so the lock file does. Call inside the monitor.
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

    /// Commits an empty transaction, which records the pages of failed commits and their pin, so that other processes
    /// need not wait as long as a session shows a failed commit.
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

    /// Ensures, after a failed write or sync of a slot, that the slot can never count: restores the relaxed commit that
    /// it overwrote, or clears it. Tries twice and writes the bytes again each time, because an error may have been
    /// reported to another process first and be reported to this one only now.
    func abandonSlot(_ work: CommitQueue.Work) {
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

    /// Rewrites the pages of relaxed commits, and their slot.
    private func rewrite(_ work: CommitQueue.Work) throws(SystemError) {
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

    /// Ensures that relaxed commits, and queued commits that no thread waits for, become durable soon.
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
            // Holds the database during the sync only: this thread must not keep the file open.
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
            // Syncs on the calling thread instead, rather than never.
            try? makeDurable()
        }
    }

    /// Makes all commits durable, records failed ones, and shortens the file if it is long. A failure is retried after
    /// a delay and reported to the next writer.
    private func syncInBackground() {
        do throws(EngineError) {
            try makeDurable()
            try recordFailed()
            shrinkSoon()
        } catch {
            line.monitor.withLock { line.unsyncedSince = MonotonicClock.now() }
        }
    }

    /// Writes the clean-shutdown record: the newest commit is on stable storage. Only if this process has written to
    /// the file; a process that only reads leaves it unchanged. The record is not synced, and a failure loses nothing:
    /// damage to that commit then looks like a crash.
    private func writeSettledSlot() {
        guard line.monitor.withLock({ line.hasCommitted }) else { return }
        if let shared { guard (try? shared.tryLockWriter()) == true else { return } }
        defer { shared?.unlockWriter() }
        writeSettledSlotLocked()
    }

    /// As above, for the holder of the writer locks.
    func writeSettledSlotLocked() {
        let (isDue, number, offset, mark) = line.monitor.withLock {
            (line.hasCommitted && line.isIdle && line.latch == nil, line.durable, line.durableSlot, line.durableMark)
        }
        guard isDue else { return }
        // A process that made a newer commit records that one itself, and another program may have overwritten the
        // file.
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

    /// Called when the last reference to the database is released.
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

extension CommitQueue {
    /// Waits until there is something to sync. Returns false if the thread has nothing to do any more.
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
