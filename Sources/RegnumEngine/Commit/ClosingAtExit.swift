// SPDX-License-Identifier: Apache-2.0
// A process that ends by `exit`, or by the return of its main function, while databases are open: no `deinit` runs, so
// what a database does when it is let go of is done here, as far as nobody is in the way.

import RegnumSystem

extension DatabaseRegistry {
    /// To be touched by whoever commits: processes that only read have nothing to do at their end.
    static let closesAtExit: Void = ProcessEnd.call { DatabaseRegistry.shared.closeAllAtExit() }

    /// How long the end of a process waits for a sync that is running, and for threads that write.
    private static let patience: UInt64 = 3_000_000_000

    private func closeAllAtExit() {
        // In the child of a fork its parent's threads may have had any lock.
        guard ForkWatch.generation == generationOfOpening else { return }
        let deadline = MonotonicClock.now() + Self.patience
        let thread = CurrentThread.id
        // An exit within a write transaction, or in a signal handler, has interrupted whatever this thread was in.
        ProcessEnd.run(until: deadline) {
            for database in self.openFiles { database.closeAtExit(of: thread, until: deadline) }
        }
    }
}

extension Database {
    /// Makes durable what is not yet, and says in the file that its newest commit is on the medium. `thread` ends the
    /// process: a transaction that it has begun goes no further. Others may go on writing meanwhile.
    fileprivate func closeAtExit(of thread: UInt, until deadline: UInt64) {
        if isForked || options.isReadOnly || isVolatile || !line.monitor.withLock({ line.hasCommitted }) { return }
        let isWithinWrite = writer.withLock { note in
            if case .thread(thread)? = note?.holder { true } else { false }
        }
        if !isWithinWrite {
            while (try? tryEnterWriter()) != true {
                if MonotonicClock.now() > deadline { return }
                CurrentThread.sleep(nanoseconds: 1_000_000)
            }
        }
        do { try syncAll() } catch {}
        writeSettledSlotLocked()
        if !isWithinWrite { leaveWriter() }
    }
}
