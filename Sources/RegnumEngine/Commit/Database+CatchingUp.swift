// SPDX-License-Identifier: Apache-2.0
// Catching up with the newest commit in the file, by a writer that has just taken the cross-process writer lock. A
// writer always does so before it commits: other processes may have committed, or ended in the middle of a commit.

import RegnumSystem

extension Database {
    /// Catches up with the newest commit of other processes. Commits that may not be on stable storage are made durable
    /// first: the next commit relies on them. Guard: both writer locks.
    func catchUpWithOthers(isKnown: Bool) throws(EngineError) {
        guard let shared else {
            if isKnown { try confirm() } else { try catchUp(with: versions.newest.number, durable: nil) }
            return
        }
        // With that seeded bug, other processes see an older version than this process knows.
        let known = options.mutant == .unfinishedNotPublished ? 0 : versions.newest.number
        if let entry = shared.enter(header, knowing: known) {
            if isKnown, entry.isOurs || options.mutant == .othersNotMet {
                try confirm()
            } else {
                try shared.awaitSyncs()
                // Read after the waiting, which may have made it newer.
                try catchUp(with: entry.newest, durable: shared.durable)
            }
        } else {
            try restoreShared(shared)
        }
        if queue.monitor.withLock({ queue.mustRewrite }) { try syncAll(evenIfLatched: true) }
    }

    private func confirm() throws(EngineError) {
        try checkDurableSlot()
        queue.monitor.withLock { queue.confirm() }
    }

    /// Catches up with version `number`. `durable` is the newest version known to be on stable storage, if any.
    private func catchUp(with number: UInt64, durable: UInt64?) throws(EngineError) {
        if !isIdentified { throw .overwritten(path: path) }
        let slots = try Self.readSlots(file, protection)
        var found = slots.first { $0.slot.version == number }
        let isFound = found != nil
        // A process has ended between writing its slot and publishing its number.
        if found == nil {
            let later = slots.filter { $0.slot.version > number }
            // The other slot is that of the last durable commit, which is published.
            if later.count > 1, options.mutant != .overwrittenNotNoticed { throw .overwritten(path: path) }
            found = later.first
        }
        guard let found else { throw corrupted("the newest commit's slot is damaged") }
        try checkKnown(found.slot)
        if isFound, options.mutant != .ghostCommit {
            // The remains of a commit whose process ended before acknowledging it: its pages are not kept, and it must
            // never count. If the slot cannot be read, a process ended while clearing it.
            let other = slots.first { $0.byteOffset != found.byteOffset }
            if other.map({ $0.slot.version > number }) ?? true {
                try clearSlot(at: CommitSlot.otherByteOffset(found.byteOffset))
            }
        }
        try reader.extend(toPages: found.slot.highWater)
        queue.monitor.withLock {
            while queue.isBusy { queue.monitor.wait() }
            queue.catchUp(
                with: found, durable: durable, failures,
                hasFailed: options.mutant != .failureNotMet && shared?.hasFailedSinceUnsynced ?? false)
        }
        if found.slot.version != versions.newest.number { reader.setTrusted(false) }
        versions.learn(Version(found.slot, in: reader))
        spaceManager.invalidate()
        if durable != found.slot.version {
            do throws(EngineError) { try syncAll(evenIfLatched: true) } catch {
                queue.monitor.withLock {
                    while queue.isBusy { queue.monitor.wait() }
                    queue.forget()
                }
                throw error
            }
        }
        if !isFound, options.mutant != .unfinishedNotPublished {
            versions.publish(Version(found.slot, in: reader), isDurable: true)
        }
    }

    private func clearSlot(at offset: Int) throws(EngineError) {
        showSync(true)
        defer { showSync(false) }
        do throws(SystemError) {
            try file.write([UInt8](repeating: 0, count: CommitSlot.byteCount), at: offset)
            try syncFile()
        } catch { throw .system(error) }
    }

    /// Restores the lock file after another program has overwritten it. The newest commit in the file counts, because a
    /// process writes its slot after everything else. Guard: both writer locks.
    private func restoreShared(_ shared: LockFile) throws(EngineError) {
        let newest = try Self.readSlots(file, protection).map(\.slot.version).max() ?? 0
        let number = max(newest, versions.newest.number)
        try catchUp(with: number, durable: shared.durable.flatMap { $0 <= number ? $0 : nil })
        versions.restore(header, newest: versions.newest.number)
    }
}
