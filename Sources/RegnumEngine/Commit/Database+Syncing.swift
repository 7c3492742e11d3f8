// SPDX-License-Identifier: Apache-2.0
// Makes commits durable. The first waiting thread syncs for all queued commits, so that many writers share a sync
// (group commit); a background thread of the database syncs relaxed commits and those that no thread waits for. The
// order of blocks, sync and slot, and which commits need two syncs, is in `Commit.swift`.
//
// A failed sync is never repeated for the same bytes. Queued commits are abandoned. The pages of relaxed commits, which
// other readers have seen, are rewritten from the mapped memory if it still matches the hashes of the manifest.

import RegnumSystem

extension Database {
    /// The maximum number of bytes that a slot's manifest may name, and therefore that an opening has to hash.
    static let manifestByteLimit = 16 << 20

    // MARK: Waiting

    /// Returns when the commit is durable; throws the reason if it was abandoned.
    package func wait(for ticket: CommitTicket) throws(EngineError) {
        while takeSync(for: ticket) { sync() }
        if let error = queue.monitor.withLock({ ticket.failure }) { throw error }
    }

    /// Returns when no commit is queued. If the caller holds the writer lock, the newest version is then the published
    /// one.
    func settle() {
        while takeSync(if: { !self.queue.commits.isEmpty }) { sync() }
    }

    /// Waits until every commit so far is on stable storage. Any thread.
    package func makeDurable() throws(EngineError) {
        repeat {
            if queue.monitor.withLock({ mustHoldLock }) {
                // Other processes must not write in the meantime. Waits without a timeout: these commits were
                // acknowledged.
                try enterWriter(waits: true)
                leaveWriter()
            }
            try syncAll()
            // While this thread waited, a sync of another thread may have failed.
        } while queue.monitor.withLock { mustHoldLock && !queue.isIdle }
    }

    /// True if the cross-process writer lock is needed, to rewrite pages or to catch up with the newest commit of other
    /// processes. Call inside the monitor.
    private var mustHoldLock: Bool {
        noticeFailures()
        return queue.mustCatchUp
            || queue.mustRewrite && !(queue.processLock.isHeld && queue.isKnown) && shared != nil
    }

    /// The current failure counts. Call inside the monitor.
    var failures: CommitQueue.Failures { CommitQueue.Failures(own: queue.failures, all: shared?.syncCounts) }

    /// If a sync has failed, in this process or another, since the first of the relaxed commits that wait for a sync,
    /// marks all of these for rewriting. Call inside the monitor.
    func noticeFailures() {
        if let unsynced = queue.unsynced, failures.hasMoved(since: unsynced.failures) { queue.requireRewrite() }
    }

    /// Like `makeDurable`, for the holder of the writer lock. Does nothing if the cross-process writer lock is needed
    /// and not held.
    func syncAll(evenIfLatched: Bool = false) throws(EngineError) {
        while takeSync(if: { !self.queue.isIdle && !self.mustHoldLock }) {
            if let error = sync() { throw error }
        }
        if !evenIfLatched, let why = queue.monitor.withLock({ queue.failure }) { throw .latched(why) }
    }

    /// Like `takeSync(if:)`, for a thread that waits for a commit.
    private func takeSync(for ticket: CommitTicket) -> Bool {
        queue.monitor.withLock {
            while ticket.isWaiting, queue.isBusy { queue.wait(for: ticket) }
            guard ticket.isWaiting else { return false }
            queue.take()
            return true
        }
    }

    /// Returns true, with `isBusy` set, if there is something to sync, which the caller must then do. Waits while
    /// another thread is busy.
    private func takeSync(if isWanted: () -> Bool) -> Bool {
        queue.monitor.withLock {
            while queue.isBusy {
                if !isWanted() { return false }
                queue.monitor.wait()
            }
            guard isWanted() else { return false }
            queue.take()
            return true
        }
    }

    /// Makes all queued and unsynced commits durable. The caller has set `isBusy`; this call clears it.
    @discardableResult
    func sync() -> EngineError? {
        let (work, before, isDropped) = queue.monitor.withLock {
            () -> (CommitQueue.Work?, CommitQueue.Failures, Bool) in
            // Read first, so that a failure from here on is noticed after the sync.
            let before = failures
            // Checked once: a failure noticed later must not cause a rewrite without the cross-process writer lock.
            if !mustHoldLock || !queue.commits.isEmpty {
                return (queue.work(), before, queue.commits.contains { before.hasMoved(since: $0.failures) })
            }
            queue.endBusy()
            return (nil, before, false)
        }
        // A failure was noticed just now: the caller takes the lock first.
        guard let work else { return nil }
        showSync(true)
        var failure: EngineError?
        var isSlotTouched = false
        do throws(SystemError) {
            if isDropped { throw SystemError(.io, "sync", path) }
            // Never writes to a file that another program has put there.
            if !isIdentified { throw SystemError(.io, "sync", path) }
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
            if queue.monitor.withLock({ failures.hasMoved(since: before) }) { throw SystemError(.io, "sync", path) }
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
        showSync(false)
        let done = queue.monitor.withLock {
            // Another process may make commits with those numbers.
            if failure != nil { for commit in queue.commits { for run in commit.runs { reader.forget(run) } } }
            // Before the threads that wait for the commits wake up.
            countCommits(work, haveFailed: failure != nil)
            let done = failure.map { queue.fail($0) } ?? queue.succeed(work)
            if failure == nil { queue.setMark(reader.slotMark(at: queue.durableSlot)) }
            queue.endBusy()
            releaseLock()
            return done
        }
        for call in done { call(failure) }
        return failure
    }

    /// Counts the commits that a sync has made durable, or that fail with it. Call inside the monitor, before they leave
    /// the queue.
    private func countCommits(_ work: CommitQueue.Work, haveFailed: Bool) {
        if haveFailed { return counters.noteFailedCommits(queue.commits.count) }
        guard work.count > 0 else { return }
        counters.noteCommits(
            work.count, byteCount: queue.commits.prefix(work.count).reduce(0) { $0 + $1.byteCount })
    }

    /// Shows other processes that a sync begins, or that its result is recorded.
    func showSync(_ begins: Bool) {
        guard let shared, options.mutant != .syncNotShown else { return }
        if begins { shared.beginSync() } else { shared.endSync() }
    }

    /// Syncs the file. Reports a failure to every process that has written to the file: its pages may have been
    /// dropped. The caller shows the sync (`showSync`).
    func syncFile() throws(SystemError) {
        let begin = MonotonicClock.now()
        defer { counters.noteSync(since: begin) }
        try notingFailure { () throws(SystemError) in try file.sync(.data) }
    }

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
            queue.monitor.withLock { queue.noteFailure() }
            shared?.noteFailure()
            // The system may have dropped what was written, and show earlier bytes.
            reader.setTrusted(false)
            throw error
        }
    }

    /// Releases the cross-process writer lock if no thread of this process writes. Keeps it while a session shows a
    /// failed or queued commit: other processes do not know its pages and would reuse them. Once the database has
    /// failed, no commit can name those pages, so the lock file does. Call inside the monitor.
    func releaseLock() {
        guard queue.processLock.isHeld, !queue.processLock.isWriterInside, queue.commits.isEmpty,
            !(queue.isBusy && queue.mustRewrite)
        else { return }
        if versions.isUnpublishedPinned {
            let end = queue.abandoned.flatMap(\.runs).map(\.end).max()
            guard queue.failure != nil, let end, versions.showFailed(end: end) else {
                if !queue.processLock.isKeptForFailed { queue.postpone() }
                queue.processLock.keepForFailed()
                return
            }
        }
        shared?.unlockWriter()
        queue.processLock.released()
    }

    /// Commits an empty transaction, which records the pages of failed commits and their pin, so that other processes
    /// need not wait for as long as a session shows a failed commit.
    private func recordFailed() throws(EngineError) {
        guard queue.monitor.withLock({ queue.processLock.isKeptForFailed }) else { return }
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
            if let base = buffer.baseAddress { slot.write(to: UnsafeMutableRawPointer(base), protection: protection) }
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
        queue.monitor.withLock {
            queue.giveUp("an earlier commit failed and could not be undone; open the file again to write to it")
        }
    }

    /// Rewrites the pages of relaxed commits, and their slot.
    private func rewrite(_ work: CommitQueue.Work) throws(SystemError) {
        for run in work.rewrites {
            let start = Int(run.extent.page) << 12
            let bytes = [UInt8](
                UnsafeRawBufferPointer(start: reader.fileBase + start, count: run.extent.pageCount << 12))
            let tag = bytes.withUnsafeBytes { raw in raw.baseAddress.map { protection.hash.tag($0, raw.count) } }
            guard let tag, tag.low == run.low, tag.high == run.high else {
                queue.monitor.withLock {
                    queue.giveUp(
                        "commits that were not yet on stable storage are lost; open the file again to write to it",
                        isLost: true)
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
        let isStarting = queue.monitor.withLock {
            queue.needsThread()
        }
        guard isStarting else { return }
        let isStarted = DetachedThread.start {
            [queue, delay = options.syncDelay ?? 0, file = file.identity, weak self] in
            // Holds the database during the sync only: this thread must not keep the file open.
            let sync = { [weak self] in
                guard let database = self, !database.isForked else { return false }
                database.syncInBackground()
                return true
            }
            while queue.waitForWork(delay) {
                DatabaseRegistry.shared.letsGo(of: file)
                let isThere = sync()
                DatabaseRegistry.shared.hasLetGo(of: file)
                if !isThere { return }
            }
        }
        if !isStarted {
            queue.monitor.withLock { queue.threadFailed() }
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
            queue.monitor.withLock { queue.postpone() }
        }
    }

    /// Writes the clean-shutdown record: the newest commit is on stable storage. Only if this process has written to
    /// the file; a process that only reads leaves it unchanged. The record is not synced, and a failure loses nothing:
    /// damage to that commit then looks like a crash.
    private func writeSettledSlot() {
        guard queue.monitor.withLock({ queue.hasCommitted }) else { return }
        if let shared { guard (try? shared.tryLockWriter()) == true else { return } }
        defer { shared?.unlockWriter() }
        writeSettledSlotLocked()
    }

    /// As above, for the holder of the writer locks.
    func writeSettledSlotLocked() {
        let (isDue, number, offset, mark) = queue.monitor.withLock {
            (
                queue.hasCommitted && queue.isIdle && queue.failure == nil, queue.durable, queue.durableSlot,
                queue.durableMark
            )
        }
        guard isDue else { return }
        // A process that made a newer commit records that one itself, and another program may have overwritten the
        // file.
        guard isIdentified, shared.map({ $0.newest == number }) ?? true,
            let slots = try? CommitSlot.readAll(file, protection: protection),
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
        queue.monitor.withLock { queue.close() }
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
