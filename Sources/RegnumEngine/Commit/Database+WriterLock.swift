// SPDX-License-Identifier: Apache-2.0
// Acquiring and releasing the right to write: first the writer lock of this process, then the cross-process writer
// lock, then catching up with the newest commit.

import RegnumSystem

extension Database {
    /// Takes the writer lock: waits until no other thread and no other process writes, and catches up with the newest
    /// commit. Throws `.busy` after the timeout of the options, unless `waits`. `origin` opened the session that wants
    /// to write.
    func enterWriter(waits: Bool = false, for origin: SessionOrigin? = nil) throws(EngineError) {
        if writerLock.takeOffer() { return }
        let begin = options.busyTimeout == nil ? 0 : MonotonicClock.now()
        let deadline = waits ? FairLock.never : options.writeDeadline
        let isEntered = writerLock.enter(until: deadline) { wait in
            WriterWait.shared.during(self, for: origin, waited: WriterWait.patience) { wait() }
        }
        guard isEntered else { throw busyError(since: begin) }
        do throws(EngineError) {
            _ = try lockAcrossProcesses(until: deadline, since: begin, for: origin)
        } catch {
            leaveWriter()
            throw error
        }
    }

    /// Like `enterWriter`, without waiting: returns false if another thread or process writes.
    func tryEnterWriter() throws(EngineError) -> Bool {
        guard writerLock.tryEnter() else { return false }
        do throws(EngineError) {
            if try lockAcrossProcesses(waits: false) { return true }
        } catch {
            leaveWriter()
            throw error
        }
        leaveWriter()
        return false
    }

    /// Like `tryEnterWriter`, but also returns false if it is the turn of other processes: queued commits have kept the
    /// cross-process writer lock for as long as they may.
    func tryEnterWriterInTurn() throws(EngineError) -> Bool {
        let heldSince = queue.monitor.withLock { queue.processLock.isHeld ? queue.processLock.acquiredAt : nil }
        if let heldSince, MonotonicClock.now() - heldSince > options.longestHold, shared?.hasCompany ?? false {
            return false
        }
        return try tryEnterWriter()
    }

    /// Takes the cross-process writer lock, unless it is still held for queued commits. Returns false if another
    /// process holds it and `waits` is false.
    private func lockAcrossProcesses(
        waits: Bool = true, until deadline: UInt64 = FairLock.never, since begin: UInt64 = 0,
        for origin: SessionOrigin? = nil
    ) throws(EngineError) -> Bool {
        let (heldSince, isKnown) = queue.monitor.withLock { () -> (UInt64?, Bool) in
            queue.processLock.writerEntered()
            return (queue.processLock.isHeld ? queue.processLock.acquiredAt : nil, queue.isKnown)
        }
        if let heldSince {
            // Catching up has failed, and the lock was kept.
            if !isKnown {
                try catchUpWithOthers(isKnown: false)
                return true
            }
            guard waits, MonotonicClock.now() - heldSince > options.longestHold, shared?.hasCompany ?? false else {
                return true
            }
            settle()
            let isReleased = queue.monitor.withLock {
                queue.processLock.writerLeft()
                releaseLock()
                queue.processLock.writerEntered()
                return !queue.processLock.isHeld
            }
            guard isReleased else { return true }
            // Yields the processor to a process that waits for the lock.
            CurrentThread.sleep(nanoseconds: 50_000)
        }
        if let shared, options.mutant != .writerNotLocked, try !shared.tryLockWriter() {
            guard waits else { return false }
            let isLocked = try WriterWait.shared.during(self, for: origin) { () throws(EngineError) in
                try shared.lockWriter(until: deadline)
            }
            guard isLocked else { throw busyError(since: begin) }
        }
        let wasKnown = queue.monitor.withLock {
            queue.processLock.acquired(isShared: shared != nil)
            // Set only after catching up: the state of commits that wait for a sync here may be stale.
            defer { queue.markStale() }
            return queue.isKnown
        }
        if !isVolatile, !options.isReadOnly { try catchUpWithOthers(isKnown: wasKnown) }
        return true
    }

    /// Releases the writer lock, and the cross-process one unless commits keep it.
    func leaveWriter() {
        writerLock.willLeave()
        queue.monitor.withLock {
            queue.processLock.writerLeft()
            releaseLock()
        }
        writerLock.leave()
    }

    // MARK: Holder and hand-off

    /// Records whether the calling thread is notifying observers that the write begins. For the session that writes;
    /// the end of the write resets it.
    package func setTelling(_ isTelling: Bool) { writerLock.setNotifying(isTelling) }

    /// True on the thread that is notifying observers: it would deadlock if it took the writer lock again.
    package var isTellingHere: Bool { writerLock.isNotifyingHere }

    /// True on the thread that began the running write.
    package var hasBegunWriteHere: Bool { writerLock.isHeld(by: CurrentThread.id) }

    /// The holder of the writer lock; nil if the lock is free or its holder is unknown.
    package var writerNote: WriterLockHolder? { shared?.otherWriter ?? writerLock.holder }

    /// Waits for the writer lock and leaves it offered as `number`, for `Session.beginWrite(acceptingTurn:)` or
    /// `declineTurn`. If another thread begins a write first, it takes the lock and calls `onTaken`. Any thread; only
    /// one offer exists at a time.
    package func offerTurn(_ number: UInt64, onTaken: @escaping @Sendable () -> Void) throws(EngineError) {
        while true {
            try enterWriter()
            if writerLock.offer(number, onTaken) { return }
            leaveWriter()
        }
    }

    /// Releases an offered writer lock; false if it is no longer offered.
    package func declineTurn(_ number: UInt64) -> Bool {
        guard writerLock.accept(number) else { return false }
        leaveWriter()
        return true
    }
}
